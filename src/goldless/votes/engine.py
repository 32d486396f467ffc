"""Votes whose classes and voters are known, to be gone through wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.votes.picking import RowPicker, joined
from goldless.votes.rows import Beside, Block, Blocks, StreamBlocks
from goldless.votes.sketch import MEMORY_LIMIT, Tally


@dataclass(frozen=True, eq=False)
class EncodedSource:
    """A source whose classes and voters are known.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        Labels, (negative, positive).
    voters : ndarray of shape (n_voters,) or None
        Names.
    n_voters : int
    blocks : Blocks
        The votes, to be gone through.
    rows : callable
        Takes a function of blocks and yields its result for every block, in the input's order, with what stands
        beside the rows.
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
    blocks: Blocks
    rows: Callable[[Callable[[Block], Any]], Iterator[tuple[Any, Beside]]]
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

    def tally(self, rows: NDArray[np.int64]) -> tuple[Tally, Block]:
        """Make the counting pass; return what was counted, and the votes of some rows."""
        if isinstance(self.blocks, StreamBlocks):
            picker = RowPicker(rows) if len(rows) else None
            tally = Tally(self.n_voters, self.memory_limit).add_all(self.blocks, picker)
            return tally, joined([] if picker is None else picker.found, self.n_voters)
        return self.blocks.tally(), self.blocks.pick(rows)  # type: ignore[attr-defined]  # Dask counts where they are


def n_rows_of(block: Block) -> int:
    """Return how many rows a block has."""
    return block.n_rows
