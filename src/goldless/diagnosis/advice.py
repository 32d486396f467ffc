"""Which labels to use and why: in plain words, and in one sentence with figures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from goldless.diagnosis.refit import FEWEST_TO_SEE_ECHOES, PanelVotes
from goldless.diagnosis.result import Expectation, OtherReading
from goldless.fitting.alternatives import NOTABLE_CHANGE
from goldless.maths.structure.result import UNDECIDED_MARGIN

FEWEST_ITEMS = 50
_WORTH_IT = 0.005  # a gain in balanced accuracy for which a less plain method is worth using
_ERRORS_SAVED = 0.1
_REJECTED = 0.05
_Z = 1.96


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
    near = [r for r in readings if r.margin < UNDECIDED_MARGIN and r.labels_changed > NOTABLE_CHANGE]
    if near:
        found.append(
            f"another reading of who echoes whom explains them almost as well and would change "
            f"{_percent(near[0].labels_changed, 0)} of the labels"
        )
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


class Verdict(NamedTuple):
    """Which labels to use and why: ``advice`` to a person without statistics, ``said`` with tests and figures."""

    advice: str
    said: str


def verdict(
    expected: dict[str, Expectation],
    contests: list[Contest],
    cannot_tell: list[str],
    pvalues: tuple[float | None, float | None],
    groups: np.ndarray,
    all_groups: np.ndarray,
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
        listed += ", all rather too high because voters share more than the groups explain"
    if cannot_tell:
        return Verdict(
            f"The votes cannot tell how good the labels are: {cannot_tell[0]}.",
            f"The votes cannot tell how good the labels are, for {cannot_tell[0]}; if the model is right, {listed}.",
        )
    grouped, grouped_of_all = (int(sizes[sizes > 1].sum()) for sizes in map(np.bincount, (groups, all_groups)))
    by_method = {contest.method: contest for contest in contests}
    to_majority, to_best = by_method["majority vote"], by_method["best single voter"]
    flat = by_method.get("Dawid-Skene")
    if -to_best.gain > _WORTH_IT and not to_best.open:
        return Verdict(
            f"Use {best.voter} alone: it is expected to be right more often than all voters together.",
            f"Use {best.voter} alone, which is expected to beat all voters together: {listed}.",
        )
    if not to_majority.worth_it:
        same = "is expected to do as well" if to_majority.gain > -_WORTH_IT else "is expected to do better"
        return Verdict(
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
            f'Weigh every voter by its own accuracy and leave groups out (structure "independent"){unsure}: {plain}.',
            f"Use weights for single voters (Dawid-Skene){unsure}, because {why}: {listed}.",
        )
    if grouped:
        why = f"{grouped} of {len(groups)} voters echo others and independence is {_rejected(pvalues[0])}"
        plain = (
            f"{grouped_of_all} of {len(all_groups)} voters echo others, which a majority counts as often as it hears "
            "them and the combination once"
        )
    else:
        why = "the voters differ in accuracy"
        plain = "some voters are better than others, and the combination listens to them more"
    return Verdict(
        f"Use the combined labels{unsure}: {plain}.", f"Use the combined labels{unsure}, because {why}: {listed}."
    )


def settled_by(panel: PanelVotes, labels_changed: float) -> str:
    """Return what would settle which of two readings is right."""
    n_differ = round(labels_changed * panel.table.n_items)
    if n_differ == 0:
        return "nothing hangs on it, for no label changes"
    return (
        f"labels of a few of the {n_differ:,} items on which the readings differ, a known class balance or one "
        "trusted voter would settle it"
    )


def _name(row: Expectation, method: str) -> str:
    if row.method == "combined":
        return "L-SML" if method == "LatentSML" else method
    return f"best single voter ({row.voter})" if row.voter is not None else row.method


def _figure(row: Expectation) -> str:
    low, high = row.interval
    return f"{_percent(row.balanced_accuracy)} ({100 * low:.1f} to {100 * high:.1f})"


def _rejected(pvalue: float | None) -> str:
    if pvalue is None or pvalue >= _REJECTED:
        return "not what explains the votes best"
    return "rejected (p < 0.001)" if pvalue < 0.001 else f"rejected (p = {pvalue:.3f})"


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def plain_reading(reading: Any, panel: PanelVotes) -> OtherReading:
    """Return a reading of the search with what would settle it."""
    return OtherReading(
        np.asarray(reading.groups),
        float(reading.margin),
        float(reading.labels_changed),
        settled_by(panel, reading.labels_changed),
    )
