"""Other groupings that explain the same votes: which hidden node is Y, and how many labels hang on it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.core import FitVotes
from goldless.fitting.fitted import Alternative
from goldless.fitting.solve import fit_groups
from goldless.maths.em import Dirichlet
from goldless.maths.structure.partitions import voters_in_groups
from goldless.maths.structure.result import UNDECIDED_MARGIN, Reading, Structure
from goldless.maths.tree import TreeModel
from goldless.progress import part
from goldless.votes.grouped import grouped
from goldless.votes.passes import VoteSums

NOTABLE_CHANGE = 0.05  # share of labels: groupings that differ in fewer are one
_FAINT = 0.1  # correlation beyond Y that is worth a word when it could not be seen
_CLEAR_MISFIT = 3.0  # standard deviations of the residual
_FITTED = 6
_ITERATIONS = 60
_TOL = 1e-5


def nearby_groupings(
    votes: VoteSums, model: TreeModel, structure: Structure, prior: Dirichlet
) -> tuple[Alternative, ...]:
    """Fit the nearest other groupings of the search and compare their labels, nearest first."""
    table = votes.table
    labels = grouped(table, model.groups).labels(model)
    chosen, others = other_groupings(structure, model.groups)
    found, compared = [], others[:_FITTED]
    for number, reading in enumerate(compared):
        with part("comparing other groupings", number / len(compared), (number + 1) / len(compared)):
            other = fit_groups(votes, reading.groups, prior, _ITERATIONS, _TOL).model
            differs = votes.packed(reading.groups).labels(other) != labels
        margin = max(0.0, reading.objective - chosen.objective) / structure.penalty
        found.append(Alternative(reading.groups, float(margin), float(table.counts @ differs / table.n_items)))
    return tuple(found)


def other_groupings(structure: Structure, groups: NDArray[np.int64]) -> tuple[Reading, list[Reading]]:
    """Return what the search found that has these groups, or else its best, and what else it found, nearest first.

    A grouping that only adds voters to groups, and hardly fits better for it, is no other grouping and left out.
    """
    same = [reading for reading in structure.readings if np.array_equal(reading.groups, groups)]
    chosen = (same or structure.readings)[0]
    others = [other for other in structure.readings if other is not chosen]
    return chosen, [other for other in others if not other.is_idle_extension_of(chosen)]


def undecided_by(others: Iterable[Alternative], margin: float = UNDECIDED_MARGIN) -> Alternative | None:
    """Return the nearest grouping that would change many labels, if it is not behind by so many prices of a voter."""
    nearest = next((other for other in others if other.labels_changed > NOTABLE_CHANGE), None)
    return nearest if nearest is not None and nearest.margin < margin else None


def describe_undecided(groups: NDArray[np.int64], other: Alternative) -> str:
    """Return in one sentence why the groups that were found are not used."""
    return (
        f"Two groupings ({voters_in_groups(groups)} or {voters_in_groups(other.groups)} of {len(groups)} voters in "
        f"groups) fit almost equally well, and {100 * other.labels_changed:.0f} % of the labels differ. No groups "
        "were used; a few labelled items, a known class balance or one trusted voter can decide."
    )


def describe_groups(groups: NDArray[np.int64], n_voters: int) -> str:
    """Return the start of a sentence: how many voters the labels count in groups, copies and silent ones aside.

    Whether voters depend on each other is for a diagnosis to say (:mod:`goldless.diagnosis.naming`).
    """
    grouped, n_groups = voters_in_groups(groups), int((np.bincount(groups) > 1).sum())
    voters = f"{len(groups)} voters" if len(groups) == n_voters else f"{len(groups)} different voters"
    if not grouped:
        return f"No groups among {voters}"
    return f"{grouped} of {voters} are counted in {n_groups} group{'s' * (n_groups > 1)}"


def describe_grouping(
    votes: FitVotes,
    groups: NDArray[np.int64],
    nearest: Alternative | None,
    ambiguous: bool,
    structure: Structure | None,
    guarded: bool,
) -> str:
    """Return in one sentence which grouping was used, what could not be seen, and what others would change.

    ``guarded`` says that groups were found and not believed.
    """
    m, grouped, used = len(groups), voters_in_groups(groups), describe_groups(groups, len(votes.core_voter))
    if m < 3:
        count = "One voter" if m == 1 else "Two different voters"
        return f"{count} cannot show who is right: the labels assume that each does better than chance."
    if structure is None:
        few = votes.n_items < 2 * m
        reason = f"only {votes.n_items} items for {m} voters" if few else "no structure was searched"
        if m == 3:
            reason = "between three voters no number of items can show it"
        return f"{used} ({reason}); dependence is not ruled out." if not grouped else f"{used}, as given."
    if guarded:
        return (
            f"{voters_in_groups(structure.groups)} of {m} voters agree more than the others, but easy and hard items "
            "explain that as well: taken for skill and not for echo."
        )
    unseen = "" if grouped else _too_faint(structure)
    return f"{used}{unseen}{_beside_others(structure, groups, nearest, ambiguous)}{_left_over(structure)}."


def _too_faint(structure: Structure) -> str:
    """Return from which correlation beyond Y on an echo would show, if weak ones would not."""
    if structure.faintest_pair < _FAINT:
        return ""
    if structure.faintest_pair >= 1:
        return " (too few items to detect it)"
    return f" (detectable from a correlation of {structure.faintest_pair:.2f})"


def _beside_others(
    structure: Structure, groups: NDArray[np.int64], nearest: Alternative | None, ambiguous: bool
) -> str:
    """Return how the grouping that was used compares with the nearest other one."""
    if nearest is None:
        share = f"{100 * NOTABLE_CHANGE:.0f} %"
        return f". No other grouping near it would change more than {share} of the labels"
    change = f"{100 * nearest.labels_changed:.0f} % of the labels"
    n_others = voters_in_groups(nearest.groups)
    other = f"Another grouping ({n_others} voters in groups)" if n_others else "A model without groups"
    if ambiguous:
        return (
            f". {other} fits almost equally well and would change {change}. The votes cannot decide; a few labelled "
            "items, a known class balance or one trusted voter can"
        )
    if _fit_gap(structure, groups, nearest.groups) < structure.penalty:
        return (
            f". {other} fits equally well and would change {change}. The simpler one was used; a few labelled items "
            "would decide"
        )
    return f". {other} would change {change}, but fits clearly worse"


def _left_over(structure: Structure) -> str:
    """Return that the voters share more than the groups explain, if the residual is clearly above its expectation."""
    excess = structure.residual - structure.dof
    if excess < _CLEAR_MISFIT * np.sqrt(2 * structure.dof):
        return ""
    times = structure.residual / structure.dof
    return (
        f". Voters share more than the groups explain (residual {times:.1f} times what chance leaves), so their "
        "accuracies come out too high"
    )


def _fit_gap(structure: Structure, groups: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return how much larger the residual of another grouping is, prices aside."""
    residual = {reading.groups.tobytes(): reading.objective - reading.price for reading in structure.readings}
    used = residual.get(groups.tobytes(), structure.residual)
    return residual[other.tobytes()] - used
