"""The diagnosis as a value."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.diagnosis.panel_scale import rescaled
from goldless.diagnosis.reference_class import reference_class
from goldless.errors import renamed
from goldless.fitting.calibration import Calibration
from goldless.maths.correlations import effective_votes_of
from goldless.maths.echo import SameWrongAnswer
from goldless.plain import plain_tree
from goldless.shown import Shown
from goldless.words import p_value

_WITHOUT = {
    "independence_pvalue": ("No test of", "independence"),
    "fit_pvalue": ("No test of", "the groups"),
    "co_membership": ("No measure of", "how stable the groups are"),
    "class_balance_interval": ("No interval for", "the class balance"),
    "expected": ("No figures of real panels for", "the labels"),
    "effective_votes_interval": ("No interval for", "the effective votes"),
    "effective_votes_by_class_interval": ("No interval for", "the effective votes in each class"),
    "uniqueness_interval": ("No interval for", "what is each voter's own"),
}


_OF_TWO = ("sensitivity", "specificity", "sensitivity_interval", "specificity_interval")


class Expectation(NamedTuple):
    """What can be expected of one way to label the items.

    Attributes
    ----------
    method : str
        "combined" (the labels of the model), "Dawid-Skene" (as if all voters were independent), "majority vote" or
        "voter thought best".
    balanced_accuracy : float
        Balanced accuracy over the items at hand that the fitted model expects.
    interval : tuple of float or None
        90 % interval of what is true: on real panels that looked like this one, nine in ten were within
        (:mod:`goldless.diagnosis.reference_class`). None where no real panels say.
    model_interval : tuple of float
        95 % interval if the model holds.
    held : float or None
        How often the combined labels were better on real panels: than this way to label or, in the row of the
        combined labels, than the majority vote. As good counts half.
    voter, column : str, int or None
        Name and column of the voter thought best.
    printed : float or None
        Of votes that are numbers: what the printed probabilities expect, by which real panels are alike.
    """

    method: str
    balanced_accuracy: float
    interval: tuple[float, float] | None
    model_interval: tuple[float, float]
    held: float | None = None
    voter: str | None = None
    column: int | None = None
    printed: float | None = None


class OtherGrouping(NamedTuple):
    """Another grouping of the voters.

    Attributes
    ----------
    groups : ndarray of shape (n_voters,)
        Its groups.
    margin : float
        How much worse it fits, in prices of one voter in a group; below 3 the votes cannot tell.
    labels_changed : float
        Share of the labels it would change.
    settled_by : str
        What would settle which grouping is right.
    """

    groups: NDArray[np.int64]
    margin: float
    labels_changed: float
    settled_by: str


class GroupTest(NamedTuple):
    """Whether a group of voters that the labels count with may be named (:mod:`goldless.diagnosis.naming`).

    Attributes
    ----------
    voters : tuple of int
        Columns of its members, copies among them.
    pvalue : float
        P-value of "its members are independent given the truth", corrected for the choice among all groups.
    stability : float
        Share of resamples of the items in which the test rejects again.
    shared_items : int
        Items that a member shares with other members, counted for each of them; of the member that shares fewest.
    detectable : float
        Correlation within the classes from which on dependence among these voters could be told; 1 if from none.
    named : bool
        Whether the group is named.
    reason : str
        Why it is not: ``voters`` (too few), ``shared items``, ``test`` or ``stability``; of a named group ``given``
        or ``found``.
    """

    voters: tuple[int, ...]
    pvalue: float
    stability: float
    shared_items: int
    detectable: float
    named: bool
    reason: str


class Duplicate(NamedTuple):
    """Two voters that are one in all but name.

    Attributes
    ----------
    first, second : int
        Columns of the voters.
    agreement : float
        Share of their common items on which they agree.
    correlation : float
        Correlation of their votes within the classes.
    """

    first: int
    second: int
    agreement: float
    correlation: float


@dataclass(frozen=True, eq=False)
class Diagnosis(Shown):
    """What can be trusted of a fitted model, from the votes alone; see :func:`goldless.diagnose`.

    What is shown of labels, of voters and of the class balance has two intervals. The first is a 90 % interval of
    what was true of real panels that looked like this one (:mod:`goldless.diagnosis.reference_class`). The second,
    and all others, is a 95 % interval that holds if the model does; where the covariance of the votes does not fit
    the model it is widened by the over-dispersion. A number without an interval is named in ``without``.

    Attributes
    ----------
    verdict : str
        Which labels to use and why, with figures, or that the votes cannot tell.
    use : str
        What the advice is: ``combined``, ``majority`` (which gives the same labels), ``check`` (label some items
        first, see ``at_risk``) or ``unknown``.
    advice : str
        The same in plain words, without figures.
    at_risk : str or None
        Why some items should be labelled before these labels are used, in a sentence; None if nothing speaks for it.
    dependence : str
        Whether voters depend on each other, in a sentence.
    voters : tuple of str
        Names of the voters.
    families : tuple of str or None
        Family of each voter, as given or as names share it; None where it has none.
    classes : tuple of str
        Names of the classes; of two, (negative, positive).
    n_items : int
        Number of items.
    independence_pvalue : float or None
        P-value of "given the truth, these voters are independent".
    fit_pvalue : float or None
        P-value of the fitted groups: small when voters share more than the groups explain.
    overdispersion : float
        Misfit of the covariance, 1 when the model holds; intervals are its square root times wider.
    recall, recall_interval : ndarray of shape (n_voters, n_classes), (n_voters, n_classes, 2)
        How often each voter is right in each class, as the model estimates it; the interval is NaN for a voter that
        says nothing. Of two classes, ``specificity`` and ``sensitivity`` and their intervals are its columns.
    balanced_accuracy : ndarray of shape (n_voters,)
        Its mean over the classes.
    balanced_accuracy_interval, balanced_accuracy_model_interval : ndarray of shape (n_voters, 2)
        What was true of such voters of real panels, and the interval if the model holds.
    class_balance : float
        The share of positive items; of more than two classes the shares of all, shape (n_classes,).
    class_balance_interval, class_balance_model_interval : ndarray of shape (2,)
        What was true of real panels, and the interval if the model holds; shape (n_classes, 2) of more than two
        classes, where no real panels say and the first is NaN.
    expected : tuple of Expectation
        Balanced accuracy expected of the combined labels, of Dawid and Skene's, of majority, of the best voter.
    calibration : Calibration
        ``model.predict_proba(X, calibration=diagnosis.calibration)`` gives calibrated probabilities where the model
        holds, and less overconfident ones where it does not. Labels never change.
    effective_votes : float
        How many voters with independent errors the panel is worth.
    effective_votes_interval : ndarray of shape (2,)
        Its interval; NaN with three voters, whose dependence cannot be seen.
    effective_votes_by_class, effective_votes_by_class_interval : ndarray of shape (n_classes,), (n_classes, 2)
        The same among the items of each class.
    one_more : dict of int to float
        What one more voter like those of a group would add, by place in ``groups``; one more independent voter adds
        1.
    one_more_interval : dict of int to tuple of float
        Its interval.
    uniqueness, uniqueness_interval : ndarray of shape (n_voters,), (n_voters, 2)
        Share of each voter that is its own.
    correlation, correlation_error : ndarray of shape (n_voters, n_voters)
        Correlation of the votes within the classes, and its standard error.
    echo : ndarray of shape (n_voters, n_voters)
        The same with correlations that are negative, or may well be chance, set to zero.
    same_wrong_answer : SameWrongAnswer or None
        How much more often two voters give the same wrong answer than the popularity of that answer explains; None
        for two classes, which have no such thing.
    co_membership : ndarray of shape (n_voters, n_voters) or None
        Share of resamples in which two voters are found in one group.
    n_resamples : int
        Number of resamples behind it.
    copies : tuple of tuple (copy, original)
        Voters that repeat another exactly.
    near_duplicates : tuple of Duplicate
        Voters that nearly repeat another: their errors correlate at 0.8 or more.
    groups : tuple of tuple of int
        Columns of the voters of each group that may be named, the largest first; empty where none may.
        ``model.groups_`` has those that labels use.
    weak_groups : tuple of tuple of int
        Columns of groups that labels or intervals count with, and that cannot be told from chance.
    group_tests : tuple of GroupTest
        For every group that the labels count with: its test, its stability, and why it is named or not.
    alternatives : tuple of OtherGrouping
        Other groupings that explain the votes, nearest first.
    next_to_label : ndarray of shape (n_asked,)
        Rows of the items whose labels, passed as ``anchors``, would best separate the groupings; most useful first.
    labels_enough : int or None
        How many such labels are likely to settle what is open, None if no number of them is likely to. Where nothing
        is open it is 0, or what a check of labels at risk needs.
    cannot_tell : tuple of str
        Why the votes cannot tell how good the labels are; empty if they can.
    without : dict of str to str
        Numbers that have no value or no interval, by field or by name of the voter, and why;
        :meth:`said_without` has the same in sentences.
    free_estimates : FreeEstimates
        What :func:`goldless.compare` compares.
    auc : ndarray of shape (n_voters,) or None
        Of votes that are numbers: how often each voter ranks a positive item above a negative one, by the fit that
        labels. None if votes are labels.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(2_000, groups=[4] + [1] * 8, random_state=0)
    >>> diagnosis = gl.diagnose(gl.LatentSML(structure="independent").fit(X), X, resamples=0)
    >>> [row.method for row in diagnosis.expected]
    ['combined', 'Dawid-Skene', 'majority vote', 'voter thought best']
    >>> bool(1 < diagnosis.effective_votes < 12)
    True
    """

    verdict: str
    use: str
    advice: str
    at_risk: str | None
    dependence: str
    voters: tuple[str, ...]
    families: tuple[str | None, ...]
    classes: tuple[str, ...]
    n_items: int
    independence_pvalue: float | None
    fit_pvalue: float | None
    overdispersion: float
    recall: NDArray[np.float64]
    balanced_accuracy: NDArray[np.float64]
    class_balance: float | NDArray[np.float64]
    recall_interval: NDArray[np.float64]
    balanced_accuracy_interval: NDArray[np.float64]
    balanced_accuracy_model_interval: NDArray[np.float64]
    class_balance_interval: NDArray[np.float64]
    class_balance_model_interval: NDArray[np.float64]
    expected: tuple[Expectation, ...]
    calibration: Calibration
    effective_votes: float
    effective_votes_interval: NDArray[np.float64]
    effective_votes_by_class: NDArray[np.float64]
    effective_votes_by_class_interval: NDArray[np.float64]
    one_more: dict[int, float]
    one_more_interval: dict[int, tuple[float, float]]
    uniqueness: NDArray[np.float64]
    uniqueness_interval: NDArray[np.float64]
    correlation: NDArray[np.float64]
    correlation_error: NDArray[np.float64]
    echo: NDArray[np.float64]
    same_wrong_answer: SameWrongAnswer | None
    co_membership: NDArray[np.float64] | None
    n_resamples: int
    copies: tuple[tuple[int, int], ...]
    near_duplicates: tuple[Duplicate, ...]
    groups: tuple[tuple[int, ...], ...]
    weak_groups: tuple[tuple[int, ...], ...]
    group_tests: tuple[GroupTest, ...]
    alternatives: tuple[OtherGrouping, ...]
    next_to_label: NDArray[np.int64]
    labels_enough: int | None
    cannot_tell: tuple[str, ...]
    without: dict[str, str]
    free_estimates: FreeEstimates = field(repr=False)
    auc: NDArray[np.float64] | None = None

    readings = renamed("readings", "alternatives")

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                value = value.copy()
                value.setflags(write=False)
                object.__setattr__(self, entry.name, value)

    def __repr__(self) -> str:
        low, high = self.effective_votes_interval
        between = f"({low:.1f} to {high:.1f})" if np.isfinite(low) else "(no interval: see without)"
        lines = [
            f"Diagnosis of {len(self.voters)} voters on {self.n_items:,} items",
            f"  independence: {p_value(self.independence_pvalue)}",
            f"  fit of the groups: {p_value(self.fit_pvalue)}",
            f"  effective votes: {self.effective_votes:.1f} {between}",
        ]
        for row in self.expected:
            real = "" if row.interval is None else f"{row.interval[0]:.2f} to {row.interval[1]:.2f} on real panels; "
            low, high = row.model_interval
            own = f"{row.balanced_accuracy:.3f} ({low:.3f} to {high:.3f}) if the model holds"
            lines.append(f"  balanced accuracy, {row.method}: {real}{own}")
        return "\n".join([*lines, f"  {self.verdict}"])

    @property
    def sensitivity(self) -> NDArray[np.float64]:
        """How often each voter is right on positive items (two classes)."""
        return self._of_two(self.recall, "sensitivity")[:, 1]

    @property
    def specificity(self) -> NDArray[np.float64]:
        """How often each voter is right on negative items (two classes)."""
        return self._of_two(self.recall, "specificity")[:, 0]

    @property
    def sensitivity_interval(self) -> NDArray[np.float64]:
        """Interval of the sensitivity, shape (n_voters, 2) (two classes)."""
        return self._of_two(self.recall_interval, "sensitivity_interval")[:, 1]

    @property
    def specificity_interval(self) -> NDArray[np.float64]:
        """Interval of the specificity, shape (n_voters, 2) (two classes)."""
        return self._of_two(self.recall_interval, "specificity_interval")[:, 0]

    def _of_two(self, values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        """Return values by class, if there are two."""
        if len(self.classes) != 2:
            raise AttributeError(f"{name} is for two classes, and there are {len(self.classes)}: see recall")
        return values

    def expectation(self, method: str) -> Expectation:
        """Return what is expected of one way to label."""
        for row in self.expected:
            if row.method == method:
                return row
        raise KeyError(f"there is no {method!r} among {[row.method for row in self.expected]}")

    def said_without(self) -> list[str]:
        """Return what has no value or no interval, and why, one sentence for each reason."""
        sentences: dict[tuple[str, str], list[str]] = {}
        for name, reason in self.without.items():
            start, what = _WITHOUT.get(name, ("No interval for", name))
            sentences.setdefault((start, reason), []).append(what)
        return [f"{start} {', '.join(named)}: {reason}." for (start, reason), named in sentences.items()]

    def effective_votes_of(self, voters: ArrayLike) -> float:
        """Return how many voters with independent errors some of the voters (columns) are worth."""
        return effective_votes_of(self.echo, self.uniqueness == 0, voters)

    def of_panel(self, balanced_accuracy: float) -> tuple[tuple[float, float] | None, float | None]:
        """Return what was true of real panels of five chosen voters of whom the model expected so much.

        A 90 % interval of their balanced accuracy, and how often the combined labels of all voters were better; None
        where no real panels say.
        """
        majority = self.expectation("majority vote")
        if majority.interval is None:
            return None, None
        known, n_classes = reference_class(len(self.classes), self.auc is not None), len(self.classes)
        if "panel" not in known.claims:
            return None, None
        own = self.as_printed(balanced_accuracy)
        ends = known.of_labels("panel", own, majority.balanced_accuracy, n_classes)
        return ends, known.comparisons["panel"].held

    def as_printed(self, balanced_accuracy: float) -> float:
        """Return what real panels are alike by: of numbers, what printed probabilities expect of the same panel."""
        combined = self.expectation("combined")
        if combined.printed is None:
            return balanced_accuracy
        return rescaled(balanced_accuracy, combined.balanced_accuracy, combined.printed, 1 / len(self.classes))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, strings, lists and dictionaries; what is not a number is None."""
        found = {entry.name: plain_tree(getattr(self, entry.name)) for entry in fields(self)}
        if len(self.classes) == 2:
            found |= {name: plain_tree(getattr(self, name)) for name in _OF_TWO}
        return found


@dataclass(frozen=True, eq=False)
class FreeEstimates:
    """Estimates without a prior on the class balance, with standard errors: what `compare` compares."""

    # recall, recall_error: (n_voters, n_classes): NaN for a voter that says nothing
    recall: NDArray[np.float64]
    recall_error: NDArray[np.float64]
    # class_prior, class_prior_error: (n_classes,)
    class_prior: NDArray[np.float64]
    class_prior_error: NDArray[np.float64]
