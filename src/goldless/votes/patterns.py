"""The pattern table: distinct rows of votes with integer counts, an exact summary of all items."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import pack_bits, plane_bytes, unpack_bits
from goldless.kernels.patterns import distinct_rows
from goldless.votes.pairs import PairCounts


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Distinct vote patterns and how many items have each.

    Rows are sorted, so two tables of the same items are equal whatever the order of the items. Tables add:
    the sum is exactly the table of all items together.

    Attributes
    ----------
    packed : ndarray of shape (n_patterns, n_bytes)
        Distinct rows as bits (:mod:`goldless.kernels.bits`).
    counts : ndarray of shape (n_patterns,)
        int64 number of items with each pattern.
    n_voters : int
        Number of voters.
    inverse : ndarray of shape (n_rows,)
        Pattern of each row the table was made of.
    """

    packed: NDArray[np.uint8]
    counts: NDArray[np.int64]
    n_voters: int
    inverse: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, codes: NDArray[np.int8], weights: NDArray[np.int64] | None = None) -> PatternTable:
        """Collapse rows of codes; ``weights`` says how many items each row stands for."""
        complete = bool(not codes.size or codes.min() >= 0)
        return cls.of_bits(pack_bits(codes, complete), codes.shape[1], weights)

    @classmethod
    def of_bits(
        cls, bits: NDArray[np.uint8], n_voters: int, weights: NDArray[np.int64] | None = None
    ) -> PatternTable:
        """Collapse rows of votes as bits."""
        width = plane_bytes(n_voters)
        if bits.shape[1] > width and not bits[:, width:].any():
            bits = np.ascontiguousarray(bits[:, :width])
        first, inverse = distinct_rows(bits)
        packed = bits[first]
        order = _lexicographic_order(packed)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        inverse = rank[inverse]
        if weights is None:
            counts = np.bincount(inverse, minlength=len(order)).astype(np.int64)
        else:
            counts = np.zeros(len(order), dtype=np.int64)
            np.add.at(counts, inverse, weights)
        return cls(packed[order], counts, n_voters, inverse)

    def __add__(self, other: PatternTable) -> PatternTable:
        if self.n_voters != other.n_voters:
            raise ValueError(f"tables of {self.n_voters} and {other.n_voters} voters do not add")
        merged = PatternTable.of_bits(
            join_bits([self.packed, other.packed], self.n_voters),
            self.n_voters,
            np.concatenate([self.counts, other.counts]),
        )
        rows = np.concatenate([self.inverse, other.inverse + self.n_patterns])
        return PatternTable(merged.packed, merged.counts, self.n_voters, merged.inverse[rows])

    @property
    def complete(self) -> bool:
        """Whether no vote is missing."""
        return self.packed.shape[1] == plane_bytes(self.n_voters)

    @property
    def n_patterns(self) -> int:
        """Number of distinct patterns."""
        return len(self.counts)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    @property
    def n_voted_items(self) -> int:
        """Number of items with at least one vote."""
        return self.n_items if self.complete else int(self.counts @ (self.codes >= 0).any(axis=1))

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """Distinct rows as codes, shape (n_patterns, n_voters)."""
        return unpack_bits(self.packed, self.n_voters)

    def voters(self, chosen: NDArray[np.integer]) -> PatternTable:
        """Return the table of some of the voters; its rows are the patterns of this table."""
        return PatternTable.of(np.ascontiguousarray(self.codes[:, chosen]), self.counts)

    def without_last_voter(self) -> PatternTable:
        """Return the table without the last column, patterns that differed only there still apart."""
        codes = np.ascontiguousarray(self.codes[:, :-1])
        complete = bool(not codes.size or codes.min() >= 0)
        return PatternTable(pack_bits(codes, complete), self.counts, self.n_voters - 1, self.inverse)

    def informative(self, chosen: NDArray[np.integer]) -> PatternTable:
        """Return the table of some of the voters, without the items that none of them voted on."""
        codes = self.codes[:, chosen]
        spoken = (codes >= 0).any(axis=1) & (self.counts > 0)
        if spoken.all() and len(chosen) == self.n_voters:
            return self
        return PatternTable.of(np.ascontiguousarray(codes[spoken]), self.counts[spoken])

    @cached_property
    def pair_counts(self) -> PairCounts:
        """Counts of what every two voters said, over all items."""
        return PairCounts.of_bits(self.packed, self.n_voters, self.counts)


def join_bits(parts: list[NDArray[np.uint8]], n_voters: int) -> NDArray[np.uint8]:
    """Put rows of bits below each other; those without a plane of missing votes get an empty one if others have."""
    if len({part.shape[1] for part in parts}) == 1:
        return np.concatenate(parts)
    widest = 2 * plane_bytes(n_voters)
    return np.concatenate([np.pad(part, ((0, 0), (0, widest - part.shape[1]))) for part in parts])


def _lexicographic_order(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Sort rows of bytes, eight bytes a key."""
    n_rows, n_bytes = packed.shape
    padded = np.zeros((n_rows, -(-n_bytes // 8) * 8), dtype=np.uint8)
    padded[:, :n_bytes] = packed
    words = padded.view(">u8").astype(np.uint64)
    return np.lexsort(words.T[::-1])
