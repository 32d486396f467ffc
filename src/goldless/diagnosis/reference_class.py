"""The reference class: what was true of real panels, with known labels, that looked like this one.

A model's own interval is right about the model and wrong about the world: real voters share errors that no tree of
groups explains. So every level that is shown is first of all what happened on real panels. For each kind of figure
the true value was regressed, panel by panel, on what is known without labels; the errors that were made on families
of panels left out are the interval. The table behind it, ``reference_class.json``, is made by
``research/reference_class`` and names its panels; it has a part for votes of two classes, of more, and for votes that
are numbers. It holds no votes, and the panel at hand never enters it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

VERSION = 2
FILE = "reference_class.json"
_NEAREST_TO_CERTAIN = 0.004  # figures nearer to 0 or 1 say the same


def log_odds_above_chance(share: ArrayLike, n_classes: ArrayLike) -> NDArray[np.float64]:
    """Return the log-odds of shares, less those of a guess among so many classes."""
    clipped = np.clip(np.asarray(share, dtype=np.float64), _NEAREST_TO_CERTAIN, 1 - _NEAREST_TO_CERTAIN)
    return logit(clipped) - logit(1 / np.asarray(n_classes))


def share_of(value: ArrayLike, n_classes: ArrayLike, scale: str) -> NDArray[np.float64]:
    """Return the shares behind values on the scale of a claim."""
    chance = 1 / np.asarray(n_classes)
    if scale == "log-odds":
        return expit(np.asarray(value) + logit(chance))
    return np.clip(chance + np.asarray(value) * (1 - chance), 0.0, 1.0)


@dataclass(frozen=True)
class Claim:
    """How figures of one kind went on real panels.

    On the scale of the claim the truth is ``location @ features`` plus an error whose size is
    ``exp(spread @ features)``; 90 % of the errors, so scaled, are between ``low`` and ``high``.
    """

    scale: str  # {"share", "log-odds"}: see `share_of`
    # location, spread: coefficients by name of the feature; "one" is the constant
    location: Mapping[str, float]
    spread: Mapping[str, float]
    # low, high: quantiles of the scaled errors on families of panels that were left out
    low: float
    high: float
    # share of panels (of voters, in the mean over panels) whose truth the interval held, their family left out
    covered: float
    width: float  # median width of these intervals
    n_panels: int  # number of panels behind it

    def interval(self, features: Mapping[str, ArrayLike], n_classes: int) -> NDArray[np.float64]:
        """Return the 90 % interval of shares, shape (..., 2)."""
        middle, size = _at(self.location, features), np.exp(_at(self.spread, features))
        ends = np.stack([middle + self.low * size, middle + self.high * size], axis=-1)
        return share_of(ends, n_classes, self.scale)


def _at(coefficients: Mapping[str, float], features: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
    parts = [value * np.asarray(features.get(name, 1.0), dtype=np.float64) for name, value in coefficients.items()]
    return sum(parts[1:], parts[0])


@dataclass(frozen=True)
class Comparison:
    """How often the combined labels were better than another way to label; as good counts half."""

    held: float
    n_panels: int


@dataclass(frozen=True)
class ReferenceClass:
    """What was claimed of real panels of one kind (two classes, more, numbers), and what was true."""

    # names of the panels that intervals and comparisons were judged on. Claims on more than two classes were learnt
    # from panels of two as well (`Claim.n_panels`)
    panels: tuple[str, ...]
    # by way to label ("combined", "Dawid-Skene", "majority vote", "voter thought best", "panel"), and "voter" and, of
    # two classes, "class share"
    claims: Mapping[str, Claim]
    comparisons: Mapping[str, Comparison]  # by way to label, against the combined labels

    def of_labels(self, way: str, own: float, majority: float, n_classes: int) -> tuple[float, float]:
        """Return the interval of the balanced accuracy of a way to label.

        ``own`` and ``majority``: what the model expects of it, and of the majority vote.
        """
        features = {
            "own": log_odds_above_chance(own, n_classes),
            "majority": log_odds_above_chance(majority, n_classes),
        }
        low, high = self.claims[way].interval(features, n_classes)
        return float(low), float(high)

    def of_voters(self, own: NDArray[np.float64], n_votes: NDArray, n_classes: int) -> NDArray[np.float64]:
        """Return the intervals of the balanced accuracies of voters, shape (n_voters, 2)."""
        features = {"own": log_odds_above_chance(own, n_classes), "few": np.maximum(n_votes, 1) ** -0.5}
        return self.claims["voter"].interval(features, n_classes)

    def of_class_share(self, own: float) -> NDArray[np.float64] | None:
        """Return the interval of the share of the positive class; None where no panels say."""
        if "class share" not in self.claims:
            return None
        log_odds = log_odds_above_chance(own, 2)
        return self.claims["class share"].interval({"own": log_odds, "rare": np.abs(log_odds)}, 2)


@cache
def reference_class(n_classes: int, numbers: bool = False) -> ReferenceClass:
    """Return the table that ships with the package, for so many classes, or for votes that are numbers."""
    table = json.loads(files("goldless.diagnosis").joinpath(FILE).read_text(encoding="utf-8"))
    if table["version"] != VERSION:
        raise ValueError(f"the reference class has version {table['version']}, and {VERSION} is needed")
    found = table["numbers" if numbers else "two classes" if n_classes == 2 else "more classes"]
    return ReferenceClass(
        tuple(found["panels"]),
        {name: Claim(**claim) for name, claim in found["claims"].items()},
        {name: Comparison(**entry) for name, entry in found["comparisons"].items()},
    )
