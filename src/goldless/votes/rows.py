"""Rows of votes, packed: what carries votes from where they are read to where they are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import join_bits, missing_plane, pack_bits, unpack_bits, without_empty_planes
from goldless.kernels.patterns import distinct_rows
from goldless.votes.pairs import PairTables

_FEW_ROWS = 1 << 12  # that are sorted before a kernel would be compiled


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of votes."""

    bits: NDArray[np.uint8]  # (n_rows, n_bytes): the rows as bits (`bits`)
    # n_voters, n_symbols: number of voters, and of symbols that a vote may be
    n_voters: int
    n_symbols: int
    counts: NDArray[np.int64] | None = None  # (n_rows,): how many items each row stands for; None if one

    @classmethod
    def of(
        cls, codes: NDArray[np.int8], n_symbols: int | None = None, counts: NDArray[np.int64] | None = None
    ) -> Rows:
        """Pack rows of codes; ``n_symbols`` is by default as many as occur, and at least two."""
        if n_symbols is None:
            n_symbols = max(int(codes.max(initial=1)) + 1, 2)
        return cls(pack_bits(codes, n_symbols), codes.shape[1], n_symbols, counts)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.bits)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.n_rows if self.counts is None else int(self.counts.sum())

    @property
    def n_bytes(self) -> int:
        """Memory the rows take."""
        return self.bits.nbytes + (0 if self.counts is None else self.counts.nbytes)

    @cached_property
    def complete(self) -> bool:
        """Whether no vote is missing."""
        absent = missing_plane(self.bits, self.n_voters)
        return absent is None or not absent.any()

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """The votes as codes, shape (n_rows, n_voters)."""
        return unpack_bits(self.bits, self.n_voters)

    @property
    def weights(self) -> NDArray[np.float64]:
        """How many items each row stands for, as floats."""
        return np.ones(self.n_rows) if self.counts is None else self.counts.astype(np.float64)

    def take(self, chosen: Any) -> Rows:
        """Return some of the rows."""
        counts = None if self.counts is None else self.counts[chosen]
        return Rows(self.bits[chosen], self.n_voters, self.n_symbols, counts)

    def recoded(self, code_of: NDArray[np.int8], n_symbols: int) -> Rows:
        """Return the rows in other codes; ``code_of`` has the new one of every code, and -1 at the end."""
        return Rows.of(code_of[self.codes], n_symbols, self.counts)

    def voted(self, voters: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which rows hold a vote of one of these voters."""
        absent = missing_plane(self.bits, self.n_voters)
        if absent is None:
            return np.ones(self.n_rows, dtype=bool)
        asked = np.zeros((1, self.n_voters), dtype=np.int8)
        asked[0, voters] = 1
        return np.asarray((~absent & pack_bits(asked, 2)).any(axis=1))

    def of_voters(self, voters: NDArray[np.integer]) -> Rows:
        """Return the votes of some voters, on the rows that hold one."""
        kept = self.take(self.voted(voters))
        return Rows.of(np.ascontiguousarray(kept.codes[:, voters]), self.n_symbols, kept.counts)

    def pair_tables(self) -> PairTables:
        """Return what every two voters said, over all items."""
        return PairTables.of_bits(self.bits, self.n_voters, self.n_symbols, self.counts)

    def distinct(self) -> PatternTable:
        """Return the distinct rows, sorted, with how many items have each."""
        bits = without_empty_planes(self.bits, self.n_voters)
        first, inverse = distinct_rows(bits) if len(bits) > _FEW_ROWS else _distinct_by_sorting(bits)
        packed = bits[first]
        order = _lexicographic_order(packed)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        inverse = rank[inverse]
        if self.counts is None:
            counts = np.bincount(inverse, minlength=len(order)).astype(np.int64)
        else:
            counts = np.zeros(len(order), dtype=np.int64)
            np.add.at(counts, inverse, self.counts)
        return PatternTable(packed[order], self.n_voters, self.n_symbols, counts, inverse)


@dataclass(frozen=True, eq=False)
class PatternTable(Rows):
    """Distinct rows of votes and how many items have each: an exact summary of all items.

    Rows are sorted, so two tables of the same items are equal whatever the order of the items. Tables add: the sum is
    exactly the table of all items together.
    """

    counts: NDArray[np.int64]
    # (n_rows_before,): pattern of each row the table was made of
    inverse: NDArray[np.int64] = field(repr=False, default_factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def of(
        cls, codes: NDArray[np.int8], n_symbols: int | None = None, counts: NDArray[np.int64] | None = None
    ) -> PatternTable:
        """Collapse rows of codes; ``counts`` says how many items each row stands for."""
        return Rows.of(codes, n_symbols, counts).distinct()

    def __add__(self, other: PatternTable) -> PatternTable:
        if self.n_voters != other.n_voters:
            raise ValueError(f"cannot merge: {self.n_voters} voters and {other.n_voters} voters")
        merged = joined([self, other]).distinct()
        rows = np.concatenate([self.inverse, other.inverse + self.n_patterns])
        return PatternTable(merged.bits, self.n_voters, merged.n_symbols, merged.counts, merged.inverse[rows])

    @property
    def n_patterns(self) -> int:
        """Number of distinct patterns."""
        return self.n_rows

    @property
    def n_voted_items(self) -> int:
        """Number of items with at least one vote."""
        return int(self.counts @ self.voted(np.arange(self.n_voters)))

    @cached_property
    def pairs(self) -> PairTables:
        """What every two voters said, over all items."""
        return self.pair_tables()

    def voters(self, chosen: NDArray[np.integer]) -> PatternTable:
        """Return the table of some of the voters; its rows are the patterns of this table."""
        return PatternTable.of(np.ascontiguousarray(self.codes[:, chosen]), self.n_symbols, self.counts)

    def without_last_voter(self) -> PatternTable:
        """Return the table without the last column, patterns that differed only there still apart."""
        bits = pack_bits(np.ascontiguousarray(self.codes[:, :-1]), self.n_symbols)
        return PatternTable(bits, self.n_voters - 1, self.n_symbols, self.counts, self.inverse)

    def informative(self, chosen: NDArray[np.integer]) -> PatternTable:
        """Return the table of some of the voters, without the items that none of them voted on."""
        codes = self.codes[:, chosen]
        voted = (codes >= 0).any(axis=1) & (self.counts > 0)
        if voted.all() and np.array_equal(chosen, np.arange(self.n_voters)):
            return self
        return PatternTable.of(np.ascontiguousarray(codes[voted]), self.n_symbols, self.counts[voted])


class Beside(NamedTuple):
    """What stands beside rows of votes."""

    items: Any = None  # names of the items
    truth: NDArray[np.int8] | None = None  # (n_rows,): codes of the true labels, -1 where unknown


def joined(parts: Sequence[Rows], n_voters: int = 0, n_symbols: int = 2) -> Rows:
    """Put rows below each other; no parts are no rows of so many voters and symbols."""
    if not parts:
        return Rows.of(np.empty((0, n_voters), dtype=np.int8), n_symbols)
    counts = None
    if any(part.counts is not None for part in parts):
        counts = np.concatenate(
            [np.ones(part.n_rows, dtype=np.int64) if part.counts is None else part.counts for part in parts]
        )
    n_symbols = max(part.n_symbols for part in parts)
    return Rows(join_bits([part.bits for part in parts]), parts[0].n_voters, n_symbols, counts)


def _distinct_by_sorting(bits: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of every distinct pattern, and the pattern of every row, as :func:`distinct_rows` does."""
    order = _lexicographic_order(bits)
    is_new = np.ones(len(bits), dtype=bool)
    is_new[1:] = (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
    inverse = np.empty(len(bits), dtype=np.int64)
    inverse[order] = np.cumsum(is_new) - 1
    return order[is_new], inverse


def _lexicographic_order(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Sort rows of bytes, eight bytes a key."""
    n_rows, n_bytes = packed.shape
    padded = np.zeros((n_rows, -(-n_bytes // 8) * 8), dtype=np.uint8)
    padded[:, :n_bytes] = packed
    words = padded.view(">u8").astype(np.uint64)
    return np.lexsort(words.T[::-1])
