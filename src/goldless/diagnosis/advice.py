"""Which labels to use and why: in plain words, and in one sentence with figures."""

from __future__ import annotations

from typing import NamedTuple

from goldless.diagnosis.refit import FEWEST_TO_SEE_ECHOES, PanelVotes
from goldless.diagnosis.result import Expectation, GroupTest, OtherGrouping
from goldless.fitting.alternatives import NOTABLE_CHANGE
from goldless.fitting.ask import Questions
from goldless.fitting.fitted import Alternative
from goldless.maths.echo import SameWrongAnswer
from goldless.maths.structure.partitions import voters_in_groups
from goldless.maths.structure.result import UNDECIDED_MARGIN
from goldless.words import p_value, percent

FEWEST_ITEMS = 50
SAME_LABELS = 0.005  # share of the items; ways that differ on fewer give the same labels
_REJECTED = 0.05
_TENTATIVE = 10  # voters; among fewer, groups are hints
_PAIRS_NAMED = 3
_NEAR_CHANCE = 0.1  # of the way from a guess to certainty
_NOTABLE_LIFT = 0.1  # share of the items on which two voters are both wrong


def what_is_open(
    panel: PanelVotes, alternatives: tuple[OtherGrouping, ...], questions: Questions, expected: float
) -> list[str]:
    """Return what the votes leave open, most important first; ``expected`` is that of the combined labels."""
    found = []
    if questions.open:
        near = [r for r in alternatives if r.margin < UNDECIDED_MARGIN and r.labels_changed > NOTABLE_CHANGE]
        change = f"{percent(near[0].labels_changed, 0)} of the labels" if near else "many labels"
        found.append(
            f"another grouping of the voters fits almost as well and would change {change} ({questions.settles})"
        )
    n_items, n_voters, chance = panel.table.n_items, len(panel.voters), 1 / panel.n_classes
    if expected < chance + _NEAR_CHANCE * (1 - chance):
        found.append(f"the model itself expects no more than {percent(expected)}, hardly better than a guess")
    if n_items < FEWEST_ITEMS:
        found.append(f"{n_items} items are too few for intervals, which need {FEWEST_ITEMS} at the least")
    if n_voters < 3:
        found.append("fewer than three different voters cannot show who is right")
    elif n_voters < FEWEST_TO_SEE_ECHOES:
        found.append("with three different voters dependence cannot be seen")
    elif n_items < 2 * n_voters:
        found.append(f"{n_items} items are too few to look for groups among {n_voters} voters")
    return found


def dependence(
    panel: PanelVotes, groups: tuple[tuple[int, ...], ...], tests: tuple[GroupTest, ...], independence: float | None
) -> str:
    """Return in a sentence whether voters depend on each other: the one place that says so.

    ``groups`` are those that are named, copies among them.
    """
    n_voters, few = len(panel.voters), len(panel.voters) < _TENTATIVE
    if n_voters == 1:
        return "One voter depends on nobody."
    if n_voters < FEWEST_TO_SEE_ECHOES:
        return f"{n_voters} voters are too few to see dependence."
    if panel.groups_doubted:
        return _guarded(panel)
    if groups:
        grouped, named = sum(map(len, groups)), f"{len(groups)} group{'s' * (len(groups) > 1)}"
        found = f"{grouped} of {panel.votes.n_voters} voters depend on others, in {named}"
        return f"{found}; with so few voters, treat groups as tentative." if few else f"{found}."
    if independence is not None and independence < _REJECTED:
        sought = not panel.groups_unsought
        told = "but in which groups cannot be told" if sought else "and this model looks for no groups"
        return f"The {n_voters} voters share more than independent ones would, {told}."
    copies = n_voters < int(panel.fitted.informative.sum())
    found = f"No dependence found among {n_voters} {'different ' * copies}voters"
    if panel.table.n_items < 2 * n_voters:
        return f"{found}; {panel.table.n_items} items are too few to look for groups."
    if tests:
        return f"{found}; {_power(tests)}."
    return f"{found}; with so few, weak dependence would not show." if few else f"{found}."


def _power(weak: tuple[GroupTest, ...]) -> str:
    """Return what dependence could have been told among voters that the labels count together."""
    least = min(test.detectable for test in weak)
    if least >= 1:
        return "too few shared items to detect any"
    return f"detectable from a correlation of {least:.2f}"


def remarks(panel: PanelVotes, same_wrong: SameWrongAnswer | None) -> list[str]:
    """Return what the reader should know besides which labels to use, a sentence each."""
    found = []
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
    panel: PanelVotes,
    expected: dict[str, Expectation],
    cannot_tell: list[str],
    pvalues: tuple[float | None, float | None],
    groups: tuple[tuple[int, ...], ...],
) -> Verdict:
    """Return which labels to use and why.

    What a model expects of majority, of one voter alone or of a fit without groups does not decide: on 75 real panels
    the combined labels were not worse where it expected less of them. ``pvalues`` are those of independence and of
    the fit of the groups; ``groups`` those that are named, copies among them.
    """
    figures = [f"{_name(row, type(panel.model).__name__)} {_figure(row)}" for row in expected.values()]
    listed = f"expected balanced accuracy {', '.join(figures)}"
    if pvalues[1] is not None and pvalues[1] < _REJECTED:
        listed += ", all too high, because voters share more than the groups explain"
    at_risk = panel.fitted.at_risk
    if cannot_tell:
        plain = unanswered(cannot_tell[0])
        return Verdict(
            "check" if at_risk else "unknown",
            f"{plain} {at_risk}" if at_risk else plain,
            f"The votes cannot tell how good the labels are, for {cannot_tell[0]}; if the model is right, {listed}.",
        )
    if at_risk:
        return Verdict("check", at_risk, f"{at_risk} If the model is right, {listed}.")
    differ = panel.differ("combined", "majority vote")
    if differ < SAME_LABELS:
        same = "gives the same labels" + (f" on {percent(1 - differ)} of the items" if differ else "")
        return Verdict(
            "majority",
            f"Use the majority vote: it {same} and is easier to explain.",
            f"Use the majority vote, which {same} and is easier to explain: {listed}.",
        )
    if groups:
        echoing = f"{sum(map(len, groups))} of {panel.votes.n_voters} voters echo others"
        why = f"{echoing} and independence is {_rejected(pvalues[0])}"
        plain = f"{echoing}. A majority vote counts each of them; the combined labels count a group once"
    else:
        why = "the voters differ in accuracy"
        plain = "some voters are better than others, and the combined labels give them more weight"
    return Verdict(
        "combined", f"Use the combined labels: {plain}.", f"Use the combined labels, because {why}: {listed}."
    )


def unanswered(why: str) -> str:
    """Return that the votes cannot tell how good the labels are, and why."""
    return f"The votes cannot tell how good the labels are: {why}."


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


def plain_grouping(other: Alternative, panel: PanelVotes) -> OtherGrouping:
    """Return another grouping with what would settle whether it is right."""
    return OtherGrouping(other.groups, other.margin, other.labels_changed, settled_by(panel, other.labels_changed))
