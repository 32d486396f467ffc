"""Rows of votes on which voters disagree, and the items that the model is least sure of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goldless.plain import rounded
from goldless.report.opened import Opened
from goldless.report.summary import Because, Group, Item, Pattern

_PATTERNS = 12
_ITEMS = 15
_SOURCES = 3
_TELLING = 0.05  # log-odds, below which a source is not named


def pattern_parts(opened: Opened) -> list[Pattern]:
    """Return the commonest patterns in which voters disagree."""
    table, votes = opened.table, _votes_by_class(opened)
    disagree = np.flatnonzero((votes > 0).sum(axis=1) > 1)
    commonest = disagree[np.argsort(-table.counts[disagree], kind="stable")][:_PATTERNS]
    return [
        Pattern(
            votes=table.codes[row].tolist(),
            count=int(table.counts[row]),
            share=rounded(table.counts[row] / max(table.n_items, 1), 6),
            vote_counts=votes[row].tolist(),
            probabilities=[rounded(share) for share in opened.posterior[row]],
            label=int(opened.combined[row]),
            majority=int(opened.majority[row]),
        )
        for row in commonest
    ]


def item_parts(opened: Opened, voters: Sequence[str], groups: list[Group]) -> list[Item]:
    """Return one item of each of the patterns that the model is least sure of, and whose vote would help."""
    table, why, votes = opened.table, opened.why, _votes_by_class(opened)
    letters = {group.index: group.name for group in groups}
    sources = [letters.get(group, together(voters, members)) for group, members in enumerate(why.groups)]
    ranked = np.sort(opened.posterior, axis=1)
    doubt = ((ranked[:, -1] - ranked[:, -2]) / 2).round(4)
    voted = np.flatnonzero(votes.sum(axis=1) > 0)
    unsure = voted[np.lexsort((-table.counts[voted], doubt[voted]))][:_ITEMS]
    first = np.full(table.n_patterns, opened.votes.n_items)
    np.minimum.at(first, table.inverse, np.arange(opened.votes.n_items))
    names = opened.votes.items
    return [
        Item(
            item=str(first[row] + 1 if names is None else names[first[row]]),
            row=int(first[row]),
            alike=int(table.counts[row]) - 1,
            votes=table.codes[row].tolist(),
            vote_counts=votes[row].tolist(),
            probabilities=[rounded(share) for share in opened.posterior[row]],
            label=int(opened.combined[row]),
            majority=int(opened.majority[row]),
            compared=[int(why.label[row]), int(why.runner_up[row])],
            because=because(why.by_group[row], sources),
            ask=voters[why.next_voter[row]] if why.next_voter[row] >= 0 else None,
            gain=rounded(why.next_gain[row]),
        )
        for row in unsure
    ]


def together(voters: Sequence[str], members: NDArray[np.int64]) -> str:
    """Return the name of a voter that is alone, or of voters that the labels count together."""
    more = len(members) - 1
    return f"{voters[members[0]]} and {more} other{'s' * (more > 1)}" if more else voters[members[0]]


def because(log_odds: NDArray[np.float64], sources: list[str]) -> list[Because]:
    """Return the groups, or voters alone, that add most on an item.

    Where all of these say the same, the last makes room for the strongest that says the opposite.
    """
    ordered = [g for g in np.argsort(-np.abs(log_odds).round(9), kind="stable") if abs(log_odds[g]) >= _TELLING]
    strongest = ordered[:_SOURCES]
    against = [g for g in ordered[_SOURCES:] if np.sign(log_odds[g]) != np.sign(log_odds[ordered[0]])]
    if against and len({np.sign(log_odds[g]) for g in strongest}) == 1:
        strongest[-1] = against[0]
    return [Because(sources[group], rounded(log_odds[group], 2)) for group in strongest]


def _votes_by_class(opened: Opened) -> NDArray[np.int64]:
    """Return the number of votes for each class, of every pattern."""
    codes = opened.table.codes
    return np.stack([(codes == label).sum(axis=1) for label in range(opened.n_classes)], axis=1)
