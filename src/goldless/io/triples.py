"""Tables of one vote a row whose titles say nothing: what their columns are, by what they hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goldless.errors import Note, VotesError
from goldless.io.readers.base import Roles
from goldless.io.readers.columns import Column
from goldless.io.roles import is_numeric, words_of
from goldless.votes.alphabet import MAX_CLASSES

_UNIQUE = 2 / 3  # of the rows have a pair of names of their own: the others are repeated votes
_REPEATED = 1.5  # rows a name, on average: names of items and of voters occur again and again
_GROUPED = 1.5  # rows a run of equal names, in a table that is sorted by them
_MORE_NAMES = 3  # times as many names as labels
_FEW_LABELS = 20  # more that are numbers are scores
_SURE = 3  # standard errors
_CLEAR = 2  # times the agreement, and times the spread


def roles_by_content(columns: Sequence[Column], name: str) -> tuple[Roles, Note] | None:
    """Return the columns of a table with one vote a row, by what they hold, and words on it; None for other tables.

    The votes on an item agree, those of a voter need not; and items get about as many votes each, where few voters
    cast most. What clearly shows both ways, or no way, is asked.

    Raises
    ------
    VotesError
        If each row is a vote, and which of two columns names the items cannot be told.
    """
    found = [column for column in columns if len(column.values) < len(column.positions)]  # others number the rows
    if len(found) != 3 or any((column.positions < 0).any() for column in found):
        return None
    label = min(found, key=lambda column: len(column.values))
    first, second = (column for column in found if column is not label)
    if not (2 <= len(label.values) <= MAX_CLASSES and _are_names(first, second, label)):
        return None
    item = _items_among(first, second, _features(label))
    if item is None:
        raise VotesError(
            "two-readings",
            f"each row of {name} looks like one vote, and {first.name!r} or {second.name!r} could name the items",
            "items-or-voters",
            {"file": name},
            one=repr(first.name),
            other=repr(second.name),
            votes=repr(label.name),
        )
    voter = second if item is first else first
    said = f"Each row was read as one vote: labels on one name in {item.name!r} agree, so it names the items"
    return Roles(item.name, voter.name, label.name), Note(said)


def _items_among(first: Column, second: Column, votes: NDArray[np.float64]) -> Column | None:
    """Return the column that names the items; None if that cannot be told."""
    both = (first, second)
    (high, high_error), (low, low_error) = (_agreement(column.positions, votes) for column in both)
    error = _SURE * (high_error + low_error)
    agree = [high - low > error and high > _CLEAR * low, low - high > error and low > _CLEAR * high]
    spread = [float(np.std(size) / np.mean(size)) for size in (np.bincount(column.positions) for column in both)]
    even = [_CLEAR * spread[0] < spread[1], _CLEAR * spread[1] < spread[0]]
    beyond_chance = [high > _SURE * high_error, low > _SURE * low_error]
    for number, column in enumerate(both):
        other = 1 - number
        if beyond_chance[number] and (agree[number] or even[number]) and not (agree[other] or even[other]):
            return column
    return None


def _are_names(first: Column, second: Column, label: Column) -> bool:
    """Whether two columns name items and voters of the votes in a third."""
    n_rows = len(label.positions)
    pairs = len(np.unique(first.positions.astype(np.int64) * len(second.values) + second.positions))
    if pairs < _UNIQUE * n_rows:
        return False
    both = (first, second)
    if any(len(c.values) <= len(label.values) or _REPEATED * len(c.values) > n_rows for c in both):
        return False
    apart = [words_of(column).isdisjoint(words_of(label)) for column in both]
    grouped = [_GROUPED * (1 + np.count_nonzero(np.diff(column.positions))) < n_rows for column in both]
    many = [len(column.values) >= _MORE_NAMES * len(label.values) for column in both]
    told = [a or (g and m) for a, g, m in zip(apart, grouped, many, strict=True)]
    return any(told) and all(t or m for t, m in zip(told, many, strict=True))


def _features(label: Column) -> NDArray[np.float64]:
    """Return votes as vectors: centred, of length 1 on average. Many numbers are ranks, labels are indicators."""
    if len(label.values) > _FEW_LABELS and is_numeric(label):
        rank = np.argsort(np.argsort([float(value) for value in label.values]))
        votes = rank[label.positions][:, None].astype(float)
    else:
        votes = np.eye(len(label.values))[label.positions]
    votes -= votes.mean(axis=0)
    return votes / np.sqrt(np.mean(np.sum(votes**2, axis=1)))


def _agreement(names: NDArray[np.int32], votes: NDArray[np.float64]) -> tuple[float, float]:
    """Return the agreement of two votes of one name beyond chance, 1 if they are always the same, and its error."""
    size = np.bincount(names).astype(float)
    total = np.stack([np.bincount(names, weights=column) for column in votes.T])
    n_pairs = np.sum(size * (size - 1))
    return float((np.sum(total**2) - np.sum(votes**2)) / n_pairs), float(np.sqrt(2 / n_pairs))
