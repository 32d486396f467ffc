"""Votes whose classes and voters are known, to be gone through wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.votes.engine import Engine, RowPicker, StreamEngine
from goldless.votes.rows import Beside, Rows
from goldless.votes.sketch import MEMORY_LIMIT, Sketch, count_stream


@dataclass(frozen=True, eq=False)
class VoteSource:
    """A source of votes whose classes and voters are known.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels; of two, (negative, positive).
    voters : ndarray of shape (n_voters,) or None
        Names.
    n_voters : int
    engine : Engine
        The votes, to be gone through.
    rows : callable
        Takes a function of rows and yields its results, in the input's order, with what stands beside the rows.
    memory_limit : int
        Bytes of packed votes to keep.
    again : bool
        Whether it can be gone through more than once.
    how, notes : str, tuple of str
        How it was read, and what may have been read otherwise than it was meant.
    """

    classes: NDArray
    voters: NDArray | None
    n_voters: int
    engine: Engine
    rows: Callable[[Callable[[Rows], Any]], Iterator[tuple[Any, Beside]]]
    memory_limit: int = MEMORY_LIMIT
    again: bool = True
    how: str = ""
    notes: tuple[str, ...] = ()

    def find_rows(self, items: Collection[str]) -> dict[str, int]:
        """Return the row, from 0, of each of some items that are named: the first if there are several."""
        wanted, found, start = set(items), dict[str, int](), 0
        for n_rows, beside in self.rows(n_rows_of):
            if beside.items is None:
                names: Iterable[str] = map(str, range(start + 1, start + n_rows + 1))
            else:
                values = beside.items.to_pylist() if hasattr(beside.items, "to_pylist") else beside.items.tolist()
                names = map(str, values)
            for row, name in enumerate(names, start):
                if name in wanted:
                    found.setdefault(name, row)
            start += n_rows
        return found

    def count(self, wanted: NDArray[np.int64]) -> tuple[Sketch | None, Engine, Rows]:
        """Make the counting pass; return what was counted, the engine for further passes, and some rows."""
        if isinstance(self.engine, StreamEngine):
            picker = RowPicker(wanted)
            sketch, engine = count_stream(self.engine, self.memory_limit, picker if len(wanted) else None)
            return sketch, engine, picker.joined(self.n_voters, len(self.classes))
        return self.engine.sum(Sketch.of), self.engine, self.engine.pick(wanted)  # type: ignore[attr-defined]


def n_rows_of(rows: Rows) -> int:
    """Return how many rows there are."""
    return rows.n_rows
