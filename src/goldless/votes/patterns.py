"""The pattern table: distinct rows of votes with integer counts, an exact summary of all items."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.packing import PackingPlan
from goldless.kernels.patterns import distinct_rows
from goldless.votes.counts import PairCounts


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Distinct vote patterns and how many items have each.

    Rows are sorted, so two tables of the same items are equal whatever the order of the items. Tables add:
    the sum is exactly the table of all items together.

    Attributes
    ----------
    packed : ndarray of shape (n_patterns, n_bytes)
        Distinct rows, several votes a byte.
    counts : ndarray of shape (n_patterns,)
        int64 number of items with each pattern.
    n_voters : int
        Number of voters.
    complete : bool
        Whether no vote is missing (eight votes a byte instead of five).
    inverse : ndarray of shape (n_rows,)
        Pattern of each row the table was made of.
    """

    packed: NDArray[np.uint8]
    counts: NDArray[np.int64]
    n_voters: int
    complete: bool
    inverse: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, codes: NDArray[np.int8], weights: NDArray[np.int64] | None = None) -> PatternTable:
        """Collapse rows of codes; ``weights`` says how many items each row stands for."""
        complete = bool(not codes.size or codes.min() >= 0)
        plan = _plan(codes.shape[1], complete)
        packed = plan.pack(codes)
        first, inverse = distinct_rows(packed)
        packed = packed[first]
        order = _lexicographic_order(packed)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        inverse = rank[inverse]
        if weights is None:
            counts = np.bincount(inverse, minlength=len(order)).astype(np.int64)
        else:
            counts = np.zeros(len(order), dtype=np.int64)
            np.add.at(counts, inverse, weights)
        return cls(packed[order], counts, codes.shape[1], complete, inverse)

    def __add__(self, other: PatternTable) -> PatternTable:
        if self.n_voters != other.n_voters:
            raise ValueError(f"tables of {self.n_voters} and {other.n_voters} voters do not add")
        merged = PatternTable.of(
            np.concatenate([self.codes, other.codes]), np.concatenate([self.counts, other.counts])
        )
        rows = np.concatenate([self.inverse, other.inverse + self.n_patterns])
        return PatternTable(merged.packed, merged.counts, self.n_voters, merged.complete, merged.inverse[rows])

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
        return _plan(self.n_voters, self.complete).unpack(self.packed)

    def voters(self, chosen: NDArray[np.integer]) -> PatternTable:
        """Return the table of some of the voters; its rows are the patterns of this table."""
        return PatternTable.of(np.ascontiguousarray(self.codes[:, chosen]), self.counts)

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
        return PairCounts.of(self.codes, self.counts)


def _plan(n_voters: int, complete: bool) -> PackingPlan:
    return PackingPlan.in_order(n_voters, 2 if complete else 3)


def _lexicographic_order(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Sort rows of bytes, eight bytes a key."""
    n_rows, n_bytes = packed.shape
    padded = np.zeros((n_rows, -(-n_bytes // 8) * 8), dtype=np.uint8)
    padded[:, :n_bytes] = packed
    words = padded.view(">u8").astype(np.uint64)
    return np.lexsort(words.T[::-1])
