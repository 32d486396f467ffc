"""Two batches of votes by the same voters: what changed between them, with tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from goldless.diagnosis.diagnose import diagnose
from goldless.diagnosis.result import Diagnosis
from goldless.plain import plain_tree
from goldless.shown import Shown
from goldless.words import listed

_SMALLEST_ERROR = 1e-9


class Change(NamedTuple):
    """One number in two batches.

    Attributes
    ----------
    what : str
        "sensitivity", "specificity", "class balance" or "correlation"; of more than two classes "recall of ..." and
        "share of ..." with the class.
    voters : tuple of str
        The voter, the pair of voters, or nobody.
    before, after : float
        Estimates in the two batches.
    pvalue : float
        P-value of no change, corrected for the number of tests of its kind (Holm).
    """

    what: str
    voters: tuple[str, ...]
    before: float
    after: float
    pvalue: float


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """What changed between two batches of votes; see :func:`goldless.compare`.

    Attributes
    ----------
    voters : tuple of str
        Names of the voters.
    level : float
        Probability of any false alarm within each kind of change.
    classes : tuple of str
        Names of the classes; of two, (negative, positive).
    recall_pvalue : ndarray of shape (n_voters, n_classes)
        Corrected p-values of "as often right as before" for each voter and class; NaN for a voter silent in a batch.
        Of two classes, ``specificity_pvalue`` and ``sensitivity_pvalue`` are its columns.
    class_balance_pvalue : float or ndarray of shape (n_classes,)
        P-value of "as many positive items as before", or of more than two classes corrected ones of all shares.
    correlation_pvalue : ndarray of shape (n_voters, n_voters)
        Corrected p-values of "these two echo each other as before"; NaN on the diagonal.
    changes : tuple of Change
        What changed at this level, most certain first within each kind.
    verdict : str
        The changes in a sentence.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(2_000, groups=[1] * 6, random_state=1)
    >>> model = gl.LatentSML().fit(X)
    >>> gl.compare(model, model, X, X).changes
    ()
    """

    voters: tuple[str, ...]
    classes: tuple[str, ...]
    level: float
    recall_pvalue: NDArray[np.float64]
    class_balance_pvalue: float | NDArray[np.float64]
    correlation_pvalue: NDArray[np.float64]
    changes: tuple[Change, ...]
    verdict: str

    def __post_init__(self) -> None:
        for name in ("recall_pvalue", "correlation_pvalue"):
            getattr(self, name).setflags(write=False)

    @property
    def sensitivity_pvalue(self) -> NDArray[np.float64]:
        """Corrected p-values of "as often right on positive items as before" (two classes)."""
        return self._of_two("sensitivity_pvalue")[:, 1]

    @property
    def specificity_pvalue(self) -> NDArray[np.float64]:
        """Corrected p-values of "as often right on negative items as before" (two classes)."""
        return self._of_two("specificity_pvalue")[:, 0]

    def _of_two(self, name: str) -> NDArray[np.float64]:
        """Return the p-values by class, if there are two."""
        if len(self.classes) != 2:
            raise AttributeError(f"{name} is for two classes, and there are {len(self.classes)}: see recall_pvalue")
        return self.recall_pvalue

    def __repr__(self) -> str:
        return f"Comparison of {len(self.voters)} voters in two batches\n  {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, strings, lists and dictionaries."""
        found = plain_tree(self)
        if len(self.classes) == 2:
            found |= {name: plain_tree(getattr(self, name)) for name in ("sensitivity_pvalue", "specificity_pvalue")}
        return found


def compare(
    a: Any, b: Any, X_a: Any = None, X_b: Any = None, *, level: float = 0.05, random_state: int = 0
) -> Comparison:
    """Compare two batches of votes by the same voters: accuracies, class balance, and who echoes whom.

    Parameters
    ----------
    a, b : fitted estimator or Diagnosis
        The earlier and the later batch. An estimator comes with its votes; a diagnosis is taken as it is.
    X_a, X_b : array-like or frame of shape (n_items, n_voters), optional
        The votes the estimators were fitted on.
    level : float, default=0.05
        Probability of any false alarm within each kind of change: accuracies, class balance, correlations.
    random_state : int, default=0
        Source of the resamples of the diagnoses.

    Notes
    -----
    Differences of log-odds over their standard errors (z-tests), corrected by Holm's rule over all accuracies and
    over all pairs. Estimates are those without a prior on the class balance, and errors are widened by the
    over-dispersion. Voters are matched by position, and must have the same names if both batches have names. Who
    echoes whom is compared by the correlation of votes within the classes, not by the groups, which may flip by
    chance.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(4000, groups=[1] * 6, random_state=1, group_accuracy=(0.8, 0.95))
    >>> before, after = X[:2000], X[2000:].copy()
    >>> after[::3, 2] *= -1  # the third voter gets worse
    >>> fitted = [gl.LatentSML().fit(batch) for batch in (before, after)]
    >>> sorted({change.voters for change in gl.compare(*fitted, before, after).changes})
    [('voter 2',)]
    """
    first, second = (
        side if isinstance(side, Diagnosis) else _diagnosed(side, votes, random_state)
        for side, votes in ((a, X_a), (b, X_b))
    )
    if len(first.voters) != len(second.voters) or first.voters != second.voters:
        raise ValueError(
            f"the batches must have the same voters in the same order, got {len(first.voters)} and "
            f"{len(second.voters)} voters{_first_difference(first.voters, second.voters)}"
        )
    if first.classes != second.classes:
        raise ValueError(
            f"the batches must have the same classes, got {', '.join(first.classes)} and {', '.join(second.classes)}"
        )
    one, other = first.free_estimates, second.free_estimates
    accuracies = holm(_z_test(one.recall, one.recall_error, other.recall, other.recall_error))
    shares = _z_test(one.class_prior, one.class_prior_error, other.class_prior, other.class_prior_error)
    shares = shares if len(shares) == 2 else holm(shares)  # two shares are one test
    pairs = _pair_tests(first, second)
    changes = _changes(first, second, accuracies, shares, pairs, level)
    return Comparison(
        voters=first.voters,
        classes=first.classes,
        level=level,
        recall_pvalue=accuracies,
        class_balance_pvalue=float(shares[1]) if len(shares) == 2 else shares,
        correlation_pvalue=pairs,
        changes=changes,
        verdict=_verdict(changes, level),
    )


def _diagnosed(model: Any, votes: Any, random_state: int) -> Diagnosis:
    if votes is None:
        raise ValueError("an estimator is compared together with its votes: pass X_a and X_b, or two diagnoses.")
    return diagnose(model, votes, resamples=0, random_state=random_state)


def _first_difference(first: tuple[str, ...], second: tuple[str, ...]) -> str:
    for position, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return f", and column {position} is {one!r} in the one and {other!r} in the other"
    return ""


def _z_test(
    before: NDArray[np.float64], before_error: NDArray, after: NDArray[np.float64], after_error: NDArray
) -> NDArray[np.float64]:
    """Return two-sided p-values of equal rates, on the log-odds scale."""
    parts = []
    for rate, error in ((before, before_error), (after, after_error)):
        inside = rate.clip(_SMALLEST_ERROR, 1 - _SMALLEST_ERROR)
        parts.append((np.log(inside) - np.log1p(-inside), error / (inside * (1 - inside))))
    spread = np.maximum(np.hypot(parts[0][1], parts[1][1]), _SMALLEST_ERROR)
    return 2 * ndtr(-np.abs(parts[0][0] - parts[1][0]) / spread)


def _pair_tests(first: Diagnosis, second: Diagnosis) -> NDArray[np.float64]:
    """Return corrected p-values of equal correlations, on Fisher's scale."""
    n_voters = len(first.voters)
    upper = np.triu_indices(n_voters, 1)
    scaled = []
    for side in (first, second):
        correlation = side.correlation[upper].clip(-0.999, 0.999)
        scaled.append((np.arctanh(correlation), side.correlation_error[upper] / (1 - correlation**2)))
    spread = np.maximum(np.hypot(scaled[0][1], scaled[1][1]), _SMALLEST_ERROR)
    difference = np.abs(scaled[0][0] - scaled[1][0])
    pvalues = np.where(difference < _SMALLEST_ERROR, 1.0, 2 * ndtr(-difference / spread))
    pvalues = np.where(np.isfinite(spread), pvalues, np.nan)
    corrected = np.full((n_voters, n_voters), np.nan)
    corrected[upper] = holm(pvalues)
    return np.fmin(corrected, corrected.T)


def holm(pvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values corrected for their number (Holm 1979); NaN stays NaN and is not counted.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, np.nan, 0.03]))
    array([0.03, 0.06,  nan, 0.06])
    """
    flat = pvalues.ravel()
    known = np.flatnonzero(np.isfinite(flat))
    order = known[np.argsort(flat[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected = flat.copy()
    corrected[order] = np.minimum(np.maximum.accumulate(flat[order] * factors), 1.0)
    return corrected.reshape(pvalues.shape)


def _changes(
    first: Diagnosis,
    second: Diagnosis,
    accuracies: NDArray[np.float64],
    shares: NDArray[np.float64],
    pairs: NDArray[np.float64],
    level: float,
) -> tuple[Change, ...]:
    """Return what changed, kind by kind."""
    names, one, other = first.voters, first.free_estimates, second.free_estimates
    found: list[Change] = []
    two = len(first.classes) == 2
    for label in np.flatnonzero(shares < level):
        if not two or label == 1:
            what = "class balance" if two else f"share of {first.classes[label]}"
            before, after = float(one.class_prior[label]), float(other.class_prior[label])
            found.append(Change(what, (), before, after, float(shares[label])))
    rates = ("specificity", "sensitivity") if two else tuple(f"recall of {label}" for label in first.classes)
    of_voters = [
        Change(
            rates[label],
            (names[voter],),
            float(one.recall[voter, label]),
            float(other.recall[voter, label]),
            float(accuracies[voter, label]),
        )
        for voter, label in zip(*np.nonzero(accuracies < level), strict=True)
    ]
    of_pairs = [
        Change(
            "correlation",
            (names[i], names[j]),
            float(first.correlation[i, j]),
            float(second.correlation[i, j]),
            float(pairs[i, j]),
        )
        for i, j in zip(*np.nonzero(np.triu(pairs < level, 1)), strict=True)
    ]
    for kind in (of_voters, of_pairs):
        found += sorted(kind, key=lambda change: (change.pvalue, change.voters))
    return tuple(found)


def _verdict(changes: tuple[Change, ...], level: float) -> str:
    """Return the changes in a sentence."""
    if not changes:
        return f"Nothing changed that the votes can show (level {level:g} for each kind of change)."
    said = [
        f"{_share_named(change.what)} went from {change.before:.3f} to {change.after:.3f}"
        for change in changes
        if not change.voters
    ]
    worse = [change for change in changes if len(change.voters) == 1]
    if worse:
        names = list(dict.fromkeys(change.voters[0] for change in worse))
        said.append(f"the accuracy of {listed(names, 5)} changed")
    pairs = [change for change in changes if change.what == "correlation"]
    if pairs:
        shown = ", ".join(" and ".join(change.voters) for change in pairs[:3])
        more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
        said.append(f"{shown}{more} echo each other more or less than before")
    sentence = "; ".join(said)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _share_named(what: str) -> str:
    return "the share of positive items" if what == "class balance" else f"the {what}"
