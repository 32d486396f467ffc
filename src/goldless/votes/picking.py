"""Rows of a stream by their number: the few whose votes are wanted as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.votes.patterns import join_bits
from goldless.votes.rows import Block


class RowPicker:
    """Takes wanted rows out of blocks that are shown to it in order.

    Parameters
    ----------
    rows : ndarray of shape (n_wanted,)
        Numbers of the rows, from 0 and in order.

    Attributes
    ----------
    found : list of Block
        What was found so far.
    """

    def __init__(self, rows: NDArray[np.int64]):
        self._rows = rows
        self._n_seen = 0
        self.found: list[Block] = []

    def see(self, block: Block) -> None:
        """Take the wanted rows of the next block."""
        here = self.local(block.n_rows)
        if len(here):
            self.found.append(block.rows(here))

    def local(self, n_rows: int) -> NDArray[np.int64]:
        """Return which of the next ``n_rows`` rows are wanted, counted from the first of them."""
        first, last = np.searchsorted(self._rows, [self._n_seen, self._n_seen + n_rows])
        here = self._rows[first:last] - self._n_seen
        self._n_seen += n_rows
        return here


def joined(blocks: list[Block], n_voters: int) -> Block:
    """Put blocks of rows below each other, each row one item."""
    if not blocks:
        return Block.of(np.empty((0, n_voters), dtype=np.int8))
    return Block(join_bits([block.bits for block in blocks], n_voters), n_voters)
