"""What every method did on every panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from research.experiments.peers import PEERS

OURS = {
    "vote": "MajorityVote",
    "mean": "mean",
    "median": "median",
    "mean_rank": 'MajorityVote(kind="scores"), mean rank',
    "cut_vote": "MajorityVote, votes cut",
    "textbook": "DawidSkene, textbook",
    "dawid_skene": "DawidSkene()",
    "sml_em": "SpectralMetaLearner()",
    "summa": "SpectralMetaLearner(), SUMMA",
    "paper": 'LatentSML(structure="paper")',
    "independent": 'LatentSML(structure="independent")',
    "cut_search": "LatentSML(), votes cut",
    "search": "LatentSML()",
}
LABELS = OURS | {method: label for peer in PEERS for method, label in peer.methods.items()}
PLAIN_WAY = {"vote": "majority vote", "mean_rank": "mean rank"}
_MOST = 0.8  # of the panels: who finished fewer does not decide which panels are common
PERCENT = ("recall", "accuracy", "auc")


class Board:
    """Figures by method and panel; shares in %. What methods are compared by is macro recall.

    Attributes
    ----------
    base : str
        The plain way that others are compared with: the majority vote, or of numbers the mean rank.
    ran : list of str
        Methods that finished at least one panel that the plain way finished.
    common : list of str
        Panels that every method finished that finished most.
    """

    def __init__(self, entries: list[dict[str, Any]]):
        self.results: dict[str, dict[str, dict[str, Any]]] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.unfit: dict[str, str] = {}
        for entry in entries:
            panel, result = entry["parameters"]["panel"], entry["result"]
            if "skipped" in result:
                self.unfit[panel] = result["skipped"]
                continue
            self.facts[panel] = {**result, "family": entry["parameters"]["family"]}
            for method, measured in result["methods"].items():
                self.results.setdefault(method, {})[panel] = measured
        self.panels = list(self.facts)
        self.families = sorted({facts["family"] for facts in self.facts.values()})
        self.methods = [name for name in LABELS if name in self.results]
        self.base = "mean_rank" if "mean_rank" in self.results else "vote"
        self.ran = [name for name in self.methods if self.both(name, self.base)]
        finished = [set(self.finished(method)) for method in self.ran]
        most = [panels for panels in finished if len(panels) >= _MOST * len(self.panels)]
        self.common = [panel for panel in self.panels if all(panel in panels for panels in most)]

    def value(self, method: str, panel: str, what: str = "recall") -> float | None:
        """A figure of a method on a panel; None if it did not finish the panel, or has no such figure."""
        value = self.results[method].get(panel, {}).get(what)
        return 100 * value if value is not None and what in PERCENT else value

    def finished(self, method: str, what: str = "recall") -> list[str]:
        """The panels that a method labelled."""
        return [panel for panel in self.panels if self.value(method, panel, what) is not None]

    def both(self, method: str, other: str, panels: Sequence[str] | None = None, what: str = "recall") -> list[str]:
        """Those of the panels that two methods finished."""
        theirs = set(self.finished(method, what)) & set(self.finished(other, what))
        return [panel for panel in (self.panels if panels is None else panels) if panel in theirs]

    def values(self, method: str, panels: Sequence[str], what: str = "recall") -> np.ndarray:
        """Figures of a method on panels that it finished."""
        return np.array([self.value(method, panel, what) for panel in panels], dtype=float)

    def gains(self, method: str, panels: Sequence[str] | None = None) -> np.ndarray:
        """Points over the plain way on the panels that both finished."""
        shared = self.both(method, self.base, panels)
        return self.values(method, shared) - self.values(self.base, shared)

    def of_family(self, family: str, panels: Sequence[str]) -> list[str]:
        """Those of the panels that are of a family."""
        return [panel for panel in panels if self.facts[panel]["family"] == family]

    def families_of(self, panels: Sequence[str]) -> list[str]:
        """The family of each panel."""
        return [self.facts[panel]["family"] for panel in panels]

    def mean(self, method: str, panels: Sequence[str]) -> float | None:
        """Mean over panels; None unless all were finished."""
        known = set(self.finished(method))
        return float(self.values(method, panels).mean()) if panels and known >= set(panels) else None

    def mean_of_families(self, method: str) -> float | None:
        """Mean over families of the mean over their panels; None unless all were finished."""
        means = [self.mean(method, self.of_family(family, self.panels)) for family in self.families]
        known = [mean for mean in means if mean is not None]
        return float(np.mean(known)) if len(known) == len(means) else None


def interval(values: np.ndarray, families: Sequence[str]) -> tuple[float, float]:
    """95 % bootstrap interval of a mean over panels; families are drawn whole, always in the same way."""
    _, place = np.unique(list(families), return_inverse=True)
    total, size = np.bincount(place, weights=values), np.bincount(place)
    chosen = np.random.default_rng(0).integers(0, len(size), (2000, len(size)))
    low, high = np.quantile(total[chosen].sum(axis=1) / size[chosen].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)
