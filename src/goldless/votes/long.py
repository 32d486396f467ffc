"""Long tables, one line a vote: items, voters and labels become rows of votes, sparse where most are missing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.kernels.sparse import Codes, SparseCodes

REPEATS = ("refuse", "first", "last", "most")
_SPARSE_FROM = 1 << 20  # items times voters: smaller tables are dense, and then whatever is made of them is too
_SPARSE_BELOW = 0.25  # share of the cells that hold a vote


class TwoLabels(ValueError):
    """One voter gave one item two different labels.

    Attributes
    ----------
    item, voter : int
        Their numbers.
    """

    def __init__(self, item: int, voter: int):
        super().__init__(f"voter {voter} gave item {item} two different labels")
        self.item, self.voter = item, voter


@dataclass(frozen=True, eq=False)
class LongVotes:
    """Votes as (item, voter, symbol), each item and voter at most once."""

    sparse: SparseCodes  # items in the order of their numbers
    n_repeated: int = 0  # lines left out because the voter had voted on the item already
    n_changed: int = 0  # how many votes, of those kept, other lines contradict

    @classmethod
    def of(
        cls,
        items: ArrayLike,
        voters: ArrayLike,
        symbols: ArrayLike,
        n_items: int,
        n_voters: int,
        repeats: str = "refuse",
    ) -> LongVotes:
        """Sort the lines of a long table by item.

        ``items``, ``voters``, ``symbols`` (n_lines,): numbers from 0; a line with a negative number is no vote and is
        left out; ``n_items`` and ``n_voters``: how many there are; items keep the order of their numbers, and may be
        without a vote; ``repeats`` {"refuse", "first", "last", "most"}: what counts if a voter answers an item again.
        The same answer again counts once in any case. Of different answers: an error (:class:`TwoLabels`), the first,
        the last, or the most frequent (of several, the first).

        Examples
        --------
        >>> votes = LongVotes.of([1, 0, 1, 1], [0, 0, 2, 0], [1, 0, 1, 1], n_items=2, n_voters=3)
        >>> votes.codes
        array([[ 0, -1, -1],
               [ 1, -1,  1]], dtype=int8)
        >>> votes.n_repeated
        1
        """
        if repeats not in REPEATS:
            raise ValueError(f"repeats must be one of {REPEATS}, got {repeats!r}")
        item, voter, said = np.asarray(items), np.asarray(voters), np.asarray(symbols, dtype=np.int8)
        kept = (item >= 0) & (voter >= 0) & (said >= 0)
        if not kept.all():
            item, voter, said = item[kept], voter[kept], said[kept]
        cell = np.multiply(item, n_voters, dtype=np.int64, casting="unsafe")  # an empty list is of floats
        cell += voter
        del item, voter, kept
        if len(cell) > 1 and not (cell[1:] > cell[:-1]).all():
            order = np.argsort(cell, kind="stable")  # of one cell the first line stays first
            cell, said = cell[order], said[order]
        first = np.ones(len(cell), dtype=bool)
        first[1:] = cell[1:] != cell[:-1]
        n_lines, changed = len(cell), 0
        if not first.all():
            begin = np.flatnonzero(first)
            differs = np.bitwise_or.reduceat(said != said[begin[np.cumsum(first) - 1]], begin)
            changed = int(differs.sum())
            if changed and repeats == "refuse":
                raise TwoLabels(*divmod(int(cell[begin[np.argmax(differs)]]), n_voters))
            said = _chosen(said, begin, repeats)
            cell = cell[begin]
        starts = np.searchsorted(cell, np.arange(n_items + 1) * n_voters)
        codes = SparseCodes(starts.astype(np.int64), (cell % n_voters).astype(np.int32), said, n_voters)
        return cls(codes, n_lines - codes.n_votes, changed)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.sparse)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.sparse.n_voters

    @property
    def is_sparse(self) -> bool:
        """Whether most votes are missing, of a table too large to fill with gaps."""
        return are_sparse(self.n_items, self.n_voters, self.sparse.n_votes)

    @cached_property
    def codes(self) -> Codes:
        """Rows of votes: lists of voters if most votes are missing, otherwise a matrix with gaps."""
        return self.sparse if self.is_sparse else self.sparse.dense()


def are_sparse(n_items: int, n_voters: int, n_votes: int) -> bool:
    """Whether most votes are missing, of a table too large to fill with gaps."""
    cells = n_items * n_voters
    return cells >= _SPARSE_FROM and n_votes < _SPARSE_BELOW * cells


def _chosen(symbols: NDArray[np.int8], begin: NDArray[np.int64], repeats: str) -> NDArray[np.int8]:
    """Return one symbol of every run of lines of one voter on one item."""
    end = np.append(begin[1:], len(symbols))
    if repeats == "last":
        return symbols[end - 1]
    if repeats == "most":
        found = symbols[begin].copy()
        for run in np.flatnonzero(end - begin > 2):
            values, first, count = np.unique(symbols[begin[run] : end[run]], return_index=True, return_counts=True)
            found[run] = values[np.lexsort([first, -count])[0]]
        return found
    return symbols[begin]
