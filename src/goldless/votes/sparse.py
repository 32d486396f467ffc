"""Sparse rows: votes of a long table from where they are read to where they are counted, never made dense.

:class:`SparseRows` stands where :class:`~goldless.votes.rows.PatternTable` does for packed votes, and
:class:`SparsePairs` where :class:`~goldless.votes.pairs.PairTables` does. Every row is a pattern of its own, for rows
of a crowd hardly repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from goldless.kernels.sparse import SparseCodes
from goldless.kernels.sparse_tree import SparseLayout
from goldless.maths.covariance import CovarianceEstimate
from goldless.votes.pairs import PairTables

MOST_COMPARED = 500  # voters: of more, only those are compared with each other that share enough items
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Some rows of votes that name their voters.

    Attributes
    ----------
    codes : SparseCodes
        The votes.
    n_symbols : int
        Number of symbols that a vote may be.
    counts : ndarray of shape (n_rows,)
        How many items each row stands for.
    """

    codes: SparseCodes
    n_symbols: int
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, codes: SparseCodes, n_symbols: int, counts: NDArray[np.int64] | None = None) -> SparseRows:
        """Return rows that stand for ``counts`` items, by default one each."""
        return cls(codes, n_symbols, np.ones(len(codes), dtype=np.int64) if counts is None else counts)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.codes.n_voters

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    n_patterns = n_rows

    @property
    def inverse(self) -> NDArray[np.int64]:
        """Pattern of each row: itself."""
        return np.arange(self.n_rows)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    @property
    def n_bytes(self) -> int:
        """Memory the rows take."""
        return self.codes.nbytes + self.counts.nbytes

    @property
    def complete(self) -> bool:
        """Whether no vote is missing."""
        return self.codes.n_votes == self.n_rows * self.n_voters

    @property
    def weights(self) -> NDArray[np.float64]:
        """How many items each row stands for, as floats."""
        return self.counts.astype(np.float64)

    @property
    def n_voted_items(self) -> int:
        """Number of items with at least one vote."""
        return int(self.counts @ (self.codes.lengths > 0))

    def take(self, chosen: Any) -> SparseRows:
        """Return some of the rows."""
        return SparseRows(self.codes[chosen], self.n_symbols, self.counts[chosen])

    def recoded(self, code_of: NDArray[np.int8], n_symbols: int) -> SparseRows:
        """Return the rows in other codes; ``code_of`` has the new one of every code."""
        return SparseRows(self.codes.recoded(code_of), n_symbols, self.counts)

    def voted(self, voters: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which rows hold a vote of one of these voters."""
        asked = np.zeros(self.n_voters, dtype=bool)
        asked[voters] = True
        return self.codes.keep(asked[self.codes.voters]).lengths > 0

    def voters(self, chosen: NDArray[np.integer]) -> SparseRows:
        """Return the rows of some of the voters."""
        return replace(self, codes=self.codes.of_voters(chosen))

    def informative(self, chosen: NDArray[np.integer]) -> SparseRows:
        """Return the rows of some of the voters, without the items that none of them voted on."""
        everyone = len(chosen) == self.n_voters
        codes = self.codes if everyone else self.codes.of_voters(chosen)
        voted = (codes.lengths > 0) & (self.counts > 0)
        if voted.all():
            return replace(self, codes=codes)
        return SparseRows(codes[voted], self.n_symbols, self.counts[voted])

    def distinct(self) -> SparseRows:
        """Return the rows: each is a pattern of its own."""
        return self

    @cached_property
    def layout(self) -> SparseLayout:
        """The votes laid out for passes of EM."""
        return SparseLayout.of(self.codes, self.n_symbols, self.weights)

    @cached_property
    def pairs(self) -> SparsePairs:
        """What voters said, alone and two by two."""
        return SparsePairs(self)


def joined_sparse(parts: Sequence[SparseRows]) -> SparseRows:
    """Put sparse rows below each other."""
    codes = [part.codes for part in parts]
    lengths = np.concatenate([part.lengths for part in codes])
    return SparseRows(
        SparseCodes(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate([part.voters for part in codes]),
            np.concatenate([part.symbols for part in codes]),
            codes[0].n_voters,
        ),
        max(part.n_symbols for part in parts),
        np.concatenate([part.counts for part in parts]),
    )


@dataclass(frozen=True, eq=False)
class SparsePairs:
    """What voters of sparse rows said, alone and two by two; tables of two by two only of those that are asked for.

    Attributes
    ----------
    rows : SparseRows
    """

    rows: SparseRows

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.rows.n_voters

    @property
    def n_symbols(self) -> int:
        """Number of symbols."""
        return self.rows.n_symbols

    @cached_property
    def cast(self) -> NDArray[np.int64]:
        """Number of votes of each voter for each symbol, shape (n_symbols, n_voters)."""
        return self.rows.codes.cast(self.n_symbols, self.rows.counts)

    def voters(self, chosen: NDArray[np.integer]) -> PairTables:
        """Return the tables of some of the voters: work and memory follow their number squared."""
        codes = self.rows.codes.of_voters(np.asarray(chosen))
        n_chosen, n_symbols = len(chosen), self.n_symbols
        counts = self.rows.counts.astype(np.float64)
        said = csr_array(
            (
                np.ones(codes.n_votes),
                codes.voters.astype(np.int64) + n_chosen * codes.symbols.astype(np.int64),
                codes.starts,
            ),
            shape=(len(codes), n_chosen * n_symbols),
        )  # counts below 2**53 are exact as floats
        both = (said.multiply(counts[:, None]).T @ said).toarray() if len(codes) else np.zeros((said.shape[1],) * 2)
        tables = both.round().astype(np.int64).reshape(n_symbols, n_chosen, n_symbols, n_chosen)
        return PairTables(np.ascontiguousarray(tables.transpose(0, 2, 1, 3)))

    def covariance(self) -> CovarianceEstimate:
        """Return the covariance of all voters: for panels of at most ``MOST_COMPARED``."""
        return self.voters(np.arange(self.n_voters)).covariance()

    def sharing(self, chosen: NDArray[np.integer], n_shared: float, n_partners: int, most: int) -> NDArray[np.int64]:
        """Return those of some voters that share so many items with so many others of them, in order.

        Of more than ``most`` those are returned that share them with most others.
        """
        chosen = np.asarray(chosen)
        n_votes = self.cast[:, chosen].sum(axis=0)
        able = chosen[n_votes >= n_shared]
        while True:  # a voter that is left out is nobody's partner
            if len(able) <= n_partners:
                return able[:0]
            partners = self._partners(able, n_shared)
            if (partners >= n_partners).all():
                break
            able = able[partners >= n_partners]
        if len(able) > most:
            able = able[np.sort(np.argsort(-partners, kind="stable")[:most])]
        return able

    def _partners(self, chosen: NDArray[np.int64], n_shared: float) -> NDArray[np.int64]:
        """Return with how many of the others each of some voters shares so many items."""
        codes = self.rows.codes.of_voters(chosen)
        voted = csr_array(
            (np.ones(codes.n_votes), codes.voters.astype(np.int64), codes.starts), shape=(len(codes), len(chosen))
        )
        weighted = voted.multiply(self.rows.counts.astype(np.float64)[:, None]).tocsr()
        columns, partners = voted.tocsc(), np.zeros(len(chosen), dtype=np.int64)
        step = max(1, _CELLS_AT_ONCE // max(len(chosen), 1))
        for start in range(0, len(chosen), step):
            shared = weighted[:, start : start + step].T @ columns
            enough = shared.tocoo()
            row, column = enough.coords
            far = (enough.data >= n_shared) & (row + start != column)
            partners += np.bincount(row[far] + start, minlength=len(chosen))
        return partners

    def first_copies(self, min_votes: int = 20) -> NDArray[np.int64]:
        """Return for each voter the first voter with exactly the same votes, or itself.

        Voters with fewer than ``min_votes`` votes, or one symbol only, may coincide by chance and are left alone.
        """
        codes, cast = self.rows.codes, self.cast
        telling = (cast.sum(axis=0) >= min_votes) & ((cast > 0).sum(axis=0) > 1)
        first = np.arange(self.n_voters)
        # the votes of each voter, one after the other
        asked = telling[codes.voters] & (self.rows.counts > 0)[codes.rows]
        kept = codes.keep(asked)
        order = np.argsort(kept.voters, kind="stable")
        own = (kept.rows * 128 + kept.symbols)[order]
        ends = np.searchsorted(kept.voters[order], np.arange(self.n_voters + 1))
        known: dict[bytes, int] = {}
        for voter in np.flatnonzero(telling):
            first[voter] = known.setdefault(own[ends[voter] : ends[voter + 1]].tobytes(), int(voter))
        return first
