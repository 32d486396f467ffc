"""Sparse rows: votes of a long table from where they are read to where they are counted, never made dense.

:class:`SparseRows` stands where :class:`~goldless.votes.rows.PatternTable` does for packed votes, and
:class:`SparsePairs` where :class:`~goldless.votes.pairs.PairTables` does. Every row is a pattern of its own, for rows
of a crowd hardly repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from goldless.kernels.sparse import Codes, SparseCodes, count_partners, count_shared
from goldless.kernels.sparse_tree import SparseLayout
from goldless.maths.covariance import CovarianceEstimate
from goldless.votes.pairs import FEWEST_TO_COPY, PairTables
from goldless.votes.rows import PatternTable

MOST_COMPARED = 500  # voters: of more, only those are compared with each other that share enough items
_MOST_STREAMED = 2000  # voters of votes that are not in memory of whom all pairs are looked at
_CELLS_OF_BUCKETS = 1 << 21


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Some rows of votes that name their voters."""

    codes: SparseCodes  # the votes
    n_symbols: int  # number of symbols that a vote may be
    counts: NDArray[np.int64]  # (n_rows,): how many items each row stands for

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
        everyone = np.array_equal(chosen, np.arange(self.n_voters))
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


def counted_rows(codes: Codes, n_symbols: int, counts: NDArray[np.int64] | None = None) -> PatternTable | SparseRows:
    """Return the distinct rows of a matrix, or lists of voters as they are: they hardly repeat."""
    if isinstance(codes, SparseCodes):
        return SparseRows.of(codes, n_symbols, counts)
    return PatternTable.of(np.ascontiguousarray(codes), n_symbols, counts)


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
    """What voters of sparse rows said, alone and two by two; tables of two only of those that are asked for."""

    rows: SparseRows  # all rows, or a sample of them
    engine: Any = None  # all rows, to be gone through, if they are not in memory

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.rows.n_voters

    @property
    def n_symbols(self) -> int:
        """Number of symbols."""
        return self.rows.n_symbols

    def _sum(self, function: Callable[[SparseRows], Any]) -> Any:
        return function(self.rows) if self.engine is None else self.engine.sum(function)

    @cached_property
    def cast(self) -> NDArray[np.int64]:
        """Number of votes of each voter for each symbol, shape (n_symbols, n_voters)."""
        return self._sum(_cast)

    def voters(self, chosen: NDArray[np.integer]) -> PairTables:
        """Return the tables of some of the voters: work and memory follow their number squared."""
        if not len(chosen):
            return PairTables(np.zeros((self.n_symbols, self.n_symbols, 0, 0), dtype=np.int64))
        return PairTables(self._sum(partial(_pair_tables, np.asarray(chosen, dtype=np.int64))))

    def covariance(self) -> CovarianceEstimate:
        """Return the covariance of all voters: for panels of at most ``MOST_COMPARED``."""
        return self.voters(np.arange(self.n_voters)).covariance()

    def sharing(self, chosen: NDArray[np.integer], n_shared: float, n_partners: int, most: int) -> NDArray[np.int64]:
        """Return those of some voters that share so many items with so many others of them, in order.

        Of more than ``most`` those are returned that share them with most others. Of votes that are not in memory
        only the voters with most votes are looked at.
        """
        chosen = np.asarray(chosen)
        n_votes = self.cast[:, chosen].sum(axis=0)
        able = chosen[n_votes >= n_shared]
        if self.engine is not None and len(able) > _MOST_STREAMED:
            busy = np.argsort(-n_votes[n_votes >= n_shared], kind="stable")[:_MOST_STREAMED]
            able = able[np.sort(busy)]
        counters = self._partner_counters(able, n_shared) if len(able) > n_partners else ()
        kept = np.arange(len(able))
        while True:  # a voter that is left out is nobody's partner
            if len(kept) <= n_partners:
                return able[:0]
            for count in counters:
                partners = count(kept)
                if partners.min() < n_partners:
                    break
            else:
                break
            kept = kept[partners >= n_partners]
        if len(kept) > most:
            kept = kept[np.sort(np.argsort(-partners, kind="stable")[:most])]
        return able[kept]

    def _partner_counters(self, voters: NDArray[np.int64], n_shared: float) -> tuple[Callable[..., NDArray], ...]:
        """Return functions of which voters are left: how many of the others each shares so many items with.

        The last counts them, one before it at most how many there can be.
        """
        if self.engine is None:
            return (
                lambda kept: self._most_partners(voters[kept], n_shared),
                lambda kept: self._partners(voters[kept], n_shared),
            )
        shared = self.engine.sum(partial(_items_shared, voters))
        np.fill_diagonal(shared, 0)
        enough = shared >= n_shared
        return (lambda kept: enough[np.ix_(kept, kept)].sum(axis=1),)

    def _most_partners(self, chosen: NDArray[np.int64], n_shared: float) -> NDArray[np.float32]:
        """Return a bound: items shared with a bucket of voters are counted much faster than with each of them."""
        number = np.full(self.n_voters, -1, dtype=np.int32)
        number[chosen] = np.arange(len(chosen), dtype=np.int32)
        n_buckets = 1 << int(np.clip(np.log2(_CELLS_OF_BUCKETS / len(chosen)), 3, 7))
        shared = np.zeros((len(chosen), n_buckets), dtype=np.float32)  # whole numbers are exact as far as they matter
        codes = self.rows.codes
        count_shared(codes.starts, codes.voters, number, self.rows.counts.astype(np.float32), shared)
        return (shared // np.float32(np.ceil(n_shared))).sum(axis=1)

    def _partners(self, chosen: NDArray[np.int64], n_shared: float) -> NDArray[np.int64]:
        voted = _votes_of(self.rows, chosen)
        columns, partners = voted.tocsc(), np.zeros(len(chosen), dtype=np.int64)
        counts = self.rows.counts.astype(np.float64)
        count_partners(
            columns.indptr, columns.indices, voted.indptr, voted.indices, counts, float(n_shared), partners
        )
        return partners

    def first_copies(self) -> NDArray[np.int64]:
        """Return for each voter the first voter with exactly the same votes, or itself.

        Voters with fewer than 20 votes, or one symbol only, may coincide by chance and are left alone.
        """
        telling = (self.cast.sum(axis=0) >= FEWEST_TO_COPY) & ((self.cast > 0).sum(axis=0) > 1)
        first = np.arange(self.n_voters)
        if telling.any():
            voters = np.flatnonzero(telling)
            _, place, same = np.unique(self._sum(_hashes)[voters], return_index=True, return_inverse=True)
            first[voters] = voters[place[same]]
        return first


def _cast(rows: SparseRows) -> NDArray[np.int64]:
    return rows.codes.cast(rows.n_symbols, rows.counts)


def _hashes(rows: SparseRows) -> NDArray[np.uint64]:
    counted = rows.counts > 0
    return (rows.codes if counted.all() else rows.codes[counted]).voter_hashes()


def _votes_of(rows: SparseRows, chosen: NDArray[np.int64], n_symbols: int = 0) -> csr_array:
    """Return who votes on each row, or with ``n_symbols`` who says what, as a sparse matrix of ones."""
    codes = rows.codes.of_voters(chosen)
    column = codes.voters.astype(np.int64)
    if n_symbols:
        column += len(chosen) * codes.symbols.astype(np.int64)
    shape = (len(codes), len(chosen) * max(n_symbols, 1))
    return csr_array((np.ones(codes.n_votes), column, codes.starts), shape=shape)


def _products(votes: csr_array, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many items have both of every two columns; counts below 2**53 are exact as floats."""
    if not votes.shape[0]:
        return np.zeros((votes.shape[1],) * 2, dtype=np.int64)
    both = votes.multiply(counts.astype(np.float64)[:, None]).T @ votes
    return both.toarray().round().astype(np.int64)


def _items_shared(chosen: NDArray[np.int64], rows: SparseRows) -> NDArray[np.int64]:
    return _products(_votes_of(rows, chosen), rows.counts)


def _pair_tables(chosen: NDArray[np.int64], rows: SparseRows) -> NDArray[np.int64]:
    n_symbols, n_chosen = rows.n_symbols, len(chosen)
    both = _products(_votes_of(rows, chosen, n_symbols), rows.counts)
    tables = both.reshape(n_symbols, n_chosen, n_symbols, n_chosen)
    return np.ascontiguousarray(tables.transpose(0, 2, 1, 3))


@dataclass(frozen=True, eq=False)
class SparseTotals:
    """What is counted of sparse rows that are not in memory. Totals add in the order of the rows."""

    cast: NDArray[np.int64]  # (n_symbols, n_voters): votes of each voter for each symbol
    # n_rows, n_items, n_empty, first_empty: rows, items, items without a vote, and the first row of one (-1 if none)
    n_rows: int
    n_items: int
    n_empty: int
    first_empty: int
    n_bytes: int  # memory that the rows would take

    @classmethod
    def of(cls, rows: SparseRows) -> SparseTotals:
        """Count rows."""
        empty = np.flatnonzero((rows.codes.lengths == 0) & (rows.counts > 0))
        n_empty, first = int(rows.counts[empty].sum()), int(empty[0]) if len(empty) else -1
        return cls(_cast(rows), rows.n_rows, rows.n_items, n_empty, first, rows.n_bytes)

    def __add__(self, other: SparseTotals) -> SparseTotals:
        later = self.n_rows + other.first_empty if other.first_empty >= 0 else -1
        return SparseTotals(
            self.cast + other.cast,
            self.n_rows + other.n_rows,
            self.n_items + other.n_items,
            self.n_empty + other.n_empty,
            self.first_empty if self.first_empty >= 0 else later,
            self.n_bytes + other.n_bytes,
        )


def as_list(rows: SparseRows) -> list[SparseRows]:
    """Return rows as a list of one: lists add."""
    return [rows]
