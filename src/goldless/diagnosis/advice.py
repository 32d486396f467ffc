"""Which labels to use and why: in plain words, and in one sentence with figures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.diagnosis.refit import FEWEST_TO_SEE_ECHOES, PanelVotes
from goldless.diagnosis.result import Expectation, GroupTest, OtherReading
from goldless.fitting.alternatives import NOTABLE_CHANGE
from goldless.fitting.fitted import Alternative
from goldless.maths.echo import SameWrongAnswer
from goldless.maths.structure.partitions import voters_in_groups
from goldless.maths.structure.result import UNDECIDED_MARGIN
from goldless.words import p_value, percent

FEWEST_ITEMS = 50
_WORTH_IT = 0.005  # a gain in balanced accuracy for which a less plain method is worth using
_ERRORS_SAVED = 0.1
_REJECTED = 0.05
_Z = 1.96
_TENTATIVE = 10  # voters; among fewer, groups are hints
_PAIRS_NAMED = 3
_NOTABLE_LIFT = 0.1  # share of the items on which two voters are both wrong


class Contest(NamedTuple):
    """The combined labels against another way: the other's expected accuracy, the gain over it, and its error."""

    method: str
    other: float
    gain: float
    error: float

    @property
    def worth_it(self) -> bool:
        """Whether the gain is half a point, or a tenth of the other's errors."""
        return self.gain > min(_WORTH_IT, _ERRORS_SAVED * (1 - self.other))

    @property
    def open(self) -> bool:
        """Whether either could be the better one."""
        return abs(self.gain) < _Z * self.error


def what_is_open(panel: PanelVotes, readings: tuple[OtherReading, ...]) -> list[str]:
    """Return what the votes leave open, most important first."""
    found = []
    grouping = panel.fitted.grouping
    if grouping is not None and grouping.ambiguous:  # the fit's own decision, which asking for labels follows too
        near = [r for r in readings if r.margin < UNDECIDED_MARGIN and r.labels_changed > NOTABLE_CHANGE]
        change = f"{percent(near[0].labels_changed, 0)} of the labels" if near else "many labels"
        found.append(f"another grouping of the voters fits almost as well and would change {change}")
    n_items, n_voters = panel.table.n_items, len(panel.voters)
    if n_items < FEWEST_ITEMS:
        found.append(f"{n_items} items are too few for intervals, which need {FEWEST_ITEMS} at the least")
    if n_voters < 3:
        found.append("fewer than three different voters cannot show who is right")
    elif n_voters < FEWEST_TO_SEE_ECHOES:
        found.append("with three different voters dependence cannot be seen")
    elif n_items < 2 * n_voters:
        found.append(f"{n_items} items are too few to look for groups among {n_voters} voters")
    return found


def dependence(panel: PanelVotes, tests: tuple[GroupTest, ...], independence: float | None) -> str:
    """Return in a sentence whether voters depend on each other: the one place that says so."""
    n_voters, few = len(panel.voters), len(panel.voters) < _TENTATIVE
    if n_voters == 1:
        return "One voter depends on nobody."
    if n_voters < FEWEST_TO_SEE_ECHOES:
        return f"{n_voters} voters are too few to see dependence."
    if panel.groups_doubted:
        return _guarded(panel)
    named, weak = [test for test in tests if test.named], [test for test in tests if not test.named]
    if named:
        grouped = int(np.isin(panel.voters, [voter for test in named for voter in test.voters]).sum())
        found = f"{grouped} of {n_voters} voters depend on others, in {len(named)} group{'s' * (len(named) > 1)}"
        return f"{found}; with so few voters, treat groups as tentative." if few else f"{found}."
    if independence is not None and independence < _REJECTED:
        return (
            f"The {n_voters} voters share more than independent ones would, but which of them depend on each other "
            "cannot be told."
        )
    found = f"No dependence found among {n_voters} voters"
    if weak:
        return f"{found}; {_power(weak)}."
    return f"{found}; with so few, weak dependence would not show." if few else f"{found}."


def _power(weak: list[GroupTest]) -> str:
    """Return what dependence could have been told among voters that the labels count together."""
    least = min(test.detectable for test in weak)
    if least >= 1:
        return "too few shared items to detect any"
    return f"detectable from a correlation of {least:.2f}"


def remarks(panel: PanelVotes, same_wrong: SameWrongAnswer | None) -> list[str]:
    """Return what the reader should know besides which labels to use, a sentence each."""
    found = []
    if panel.fitted.at_risk is not None:
        found.append(panel.fitted.at_risk)
    if panel.groups_doubted:
        found.append(_guarded(panel))
    if panel.balance_is_a_guess:
        found.append(
            "Most votes come from voters that only ever say one class, so the votes cannot show how frequent the "
            "classes are: they are taken for equally frequent."
        )
    pairs = [] if same_wrong is None else same_wrong.clear_pairs(least=_NOTABLE_LIFT)
    if pairs:
        named = "; ".join(f"{panel.names[one]} and {panel.names[other]}" for one, other in pairs[:_PAIRS_NAMED])
        more = f"; and {len(pairs) - _PAIRS_NAMED} more pairs" if len(pairs) > _PAIRS_NAMED else ""
        found.append(f"Voters that give the same wrong answers more often than expected: {named}{more}.")
    return found


def _guarded(panel: PanelVotes) -> str:
    """Return that groups were found and not used."""
    grouping = panel.fitted.grouping
    assert grouping is not None
    assert grouping.guard is not None
    n_grouped = voters_in_groups(grouping.guard.groups[panel.voters])
    return (
        f"{n_grouped} of {len(panel.voters)} voters agree more than the others, but easy and hard items explain that "
        "as well. It is taken for skill, so no groups are used."
    )


class Verdict(NamedTuple):
    """Which labels to ``use`` and why: ``advice`` to a person without statistics, ``said`` with tests and figures."""

    use: str
    advice: str
    said: str


def verdict(
    expected: dict[str, Expectation],
    contests: list[Contest],
    cannot_tell: list[str],
    pvalues: tuple[float | None, float | None],
    groups: NDArray[np.int64],
    all_groups: NDArray[np.int64],
    method: str,
) -> Verdict:
    """Return which way to label to use and why.

    ``pvalues`` are those of independence and of the fit of the groups; ``groups`` those of the voters that count,
    ``all_groups`` those of all voters, copies among them.
    """
    best = expected["best single voter"]
    figures = [f"{_name(row, method)} {_figure(row)}" for row in expected.values()]
    listed = f"expected balanced accuracy {', '.join(figures)}"
    if pvalues[1] is not None and pvalues[1] < _REJECTED:
        listed += ", all too high, because voters share more than the groups explain"
    if cannot_tell:
        return Verdict(
            "unknown",
            f"The votes cannot tell how good the labels are: {cannot_tell[0]}.",
            f"The votes cannot tell how good the labels are, for {cannot_tell[0]}; if the model is right, {listed}.",
        )
    grouped, grouped_of_all = (int(sizes[sizes > 1].sum()) for sizes in map(np.bincount, (groups, all_groups)))
    by_method = {contest.method: contest for contest in contests}
    to_majority, to_best = by_method["majority vote"], by_method["best single voter"]
    flat = by_method.get("Dawid-Skene")
    if -to_best.gain > _WORTH_IT and not to_best.open:
        return Verdict(
            "voter",
            f"Use {best.voter} alone: it is expected to be right more often than all voters together.",
            f"Use {best.voter} alone, which is expected to beat all voters together: {listed}.",
        )
    if not to_majority.worth_it:
        same = "is expected to do as well" if to_majority.gain > -_WORTH_IT else "is expected to do better"
        return Verdict(
            "majority",
            f"Use the majority vote: it {same} and is easier to explain.",
            f"Use the majority vote, which {same} and is easier to explain: {listed}.",
        )
    unsure = " (though the difference to the majority vote is within its error)" if to_majority.open else ""
    if flat is not None and not flat.worth_it:
        if grouped:
            why = f"the {grouped} voters that echo others hardly change the labels"
            plain = f"the {grouped_of_all} voters that echo others hardly change the labels"
        elif pvalues[0] is not None and pvalues[0] < _REJECTED:
            why = f"no groups explain what the voters share, though independence is {_rejected(pvalues[0])}"
            plain = "no groups explain what the voters share"
        else:
            why = plain = "no dependence among the voters was found"
        return Verdict(
            "independent",
            f'Weigh every voter by its own accuracy and leave groups out (structure "independent"){unsure}: {plain}.',
            f"Use weights for single voters (Dawid-Skene){unsure}, because {why}: {listed}.",
        )
    if grouped:
        why = f"{grouped} of {len(groups)} voters echo others and independence is {_rejected(pvalues[0])}"
        plain = (
            f"{grouped_of_all} of {len(all_groups)} voters echo others. A majority vote counts each of them; the "
            "combined labels count a group once"
        )
    else:
        why = "the voters differ in accuracy"
        plain = "some voters are better than others, and the combined labels give them more weight"
    return Verdict(
        "combined",
        f"Use the combined labels{unsure}: {plain}.",
        f"Use the combined labels{unsure}, because {why}: {listed}.",
    )


def settled_by(panel: PanelVotes, labels_changed: float) -> str:
    """Return what would settle which of two groupings is right."""
    n_differ = round(labels_changed * panel.table.n_items)
    if n_differ == 0:
        return "no label would change"
    return (
        f"labels of a few of the {n_differ:,} items on which the groupings differ, a known class balance or one "
        "trusted voter would settle it"
    )


def _name(row: Expectation, method: str) -> str:
    if row.method == "combined":
        return "L-SML" if method == "LatentSML" else method
    return f"voter with the highest estimate ({row.voter})" if row.voter is not None else row.method


def _figure(row: Expectation) -> str:
    low, high = row.model_interval
    return f"{percent(row.balanced_accuracy)} ({100 * low:.1f} to {100 * high:.1f})"


def _rejected(pvalue: float | None) -> str:
    if pvalue is None or pvalue >= _REJECTED:
        return "not what explains the votes best"
    return f"rejected ({p_value(pvalue)})"


def plain_reading(other: Alternative, panel: PanelVotes) -> OtherReading:
    """Return another grouping with what would settle whether it is right."""
    return OtherReading(other.groups, other.margin, other.labels_changed, settled_by(panel, other.labels_changed))
