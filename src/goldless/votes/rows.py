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
_LOOKED_AT = 1 << 10  # rows that show whether many are alike


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
        words = _words(~absent & pack_bits(asked, 2))
        return np.asarray(words[:, 0] > 0 if words.shape[1] == 1 else words.any(axis=1))

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
        hashes = len(bits) > _FEW_ROWS and _repeat(bits[:_LOOKED_AT])
        first, inverse = (_distinct_by_hashing if hashes else _distinct_by_sorting)(bits)
        if self.counts is None:
            counts = np.bincount(inverse, minlength=len(first)).astype(np.int64)
        else:
            counts = np.zeros(len(first), dtype=np.int64)
            np.add.at(counts, inverse, self.counts)
        table = PatternTable(bits[first], self.n_voters, self.n_symbols, counts, inverse)
        if "codes" in vars(self):
            vars(table)["codes"] = self.codes[first]
        return table


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
        voted = self.voted(chosen) & (self.counts > 0)
        if voted.all() and np.array_equal(chosen, np.arange(self.n_voters)):
            return self
        codes = self.codes[:, chosen]
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


def _repeat(bits: NDArray[np.uint8]) -> bool:
    """Whether many rows are like others: where few are, sorting them is faster than hashing."""
    return 4 * len(_distinct_by_sorting(bits)[0]) < 3 * len(bits)


def _distinct_by_hashing(bits: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of every distinct pattern, sorted, and the pattern of every row."""
    first, inverse = distinct_rows(bits)
    order = _order_of(_words(bits[first]))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


def _distinct_by_sorting(bits: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Do what :func:`_distinct_by_hashing` does."""
    words = _words(bits)
    order = _order_of(words)
    first = words[order, 0]
    is_new = np.ones(len(bits), dtype=bool)
    is_new[1:] = first[1:] != first[:-1]
    alike = np.flatnonzero(~is_new)
    is_new[alike] = (words[order[alike]] != words[order[alike - 1]]).any(axis=1)
    inverse = np.empty(len(bits), dtype=np.int64)
    inverse[order] = np.cumsum(is_new) - 1
    return order[is_new], inverse


def _words(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return rows of bytes as rows of words that compare as they do, eight bytes each."""
    n_rows, n_bytes = bits.shape
    padded = np.zeros((n_rows, max(-(-n_bytes // 8), 1) * 8), dtype=np.uint8)
    padded[:, :n_bytes] = bits
    return padded.view(">u8").astype(np.uint64)


def _order_of(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Sort rows of words; those that are the same stay in their order.

    Most rows differ in their first word, and one key is sorted several times faster than many.
    """
    order = np.argsort(words[:, 0])
    first = words[order, 0]
    same = np.zeros(len(words) + 1, dtype=bool)  # as the one before
    same[1:-1] = first[1:] == first[:-1]
    tied = np.flatnonzero(same[1:] | same[:-1])
    if len(tied):
        rows = np.sort(order[tied])
        order[tied] = rows[np.lexsort(words[rows].T[::-1])]
    return order
