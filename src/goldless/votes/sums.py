"""Sums over all votes, whether their patterns are in one table or they are gone through block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.threads import row_chunks
from goldless.maths.em import ExpectedCounts
from goldless.maths.tree import LatentModel
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable
from goldless.votes.rows import Block, added
from goldless.votes.sketch import MANY_PATTERNS, collapsed
from goldless.votes.whole import WholeVotes

_CHUNK_ROWS = 1 << 13

OfCodes = Callable[[NDArray[np.int8], NDArray[np.float64]], Any]


class VoteSums(Protocol):
    """What can be summed over the votes of some voters."""

    @property
    def n_voters(self) -> int:
        """Number of voters."""

    def expect(self, model: LatentModel) -> ExpectedCounts:
        """Return the expected counts under a model, and its log-likelihood."""

    def look(self, model: LatentModel) -> float:
        """Return the log-likelihood of votes that are quickly gone through: all of them, or a sample."""

    def sum(self, function: OfCodes) -> Any:
        """Add up a function of rows of codes and the items each stands for."""

    def voters(self, chosen: NDArray[np.int64]) -> VoteSums:
        """Return the sums over the votes of some of the voters."""


@dataclass(frozen=True, eq=False)
class TableSums:
    """Sums over a table of patterns."""

    table: PatternTable
    _packed: dict[bytes, GroupedPatterns] = field(default_factory=dict, repr=False)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.table.n_voters

    def expect(self, model: LatentModel) -> ExpectedCounts:
        """Return the expected counts under a model, and its log-likelihood."""
        key = model.groups.tobytes()
        if key not in self._packed:
            self._packed.clear()
            self._packed[key] = GroupedPatterns(self.table, model.groups)
        return self._packed[key].expect(model)

    def look(self, model: LatentModel) -> float:
        """Return the log-likelihood."""
        return self.expect(model).log_likelihood

    def sum(self, function: OfCodes) -> Any:
        """Add up a function of rows of codes and the items each stands for."""
        return in_chunks(function, self.table.codes, self.table.counts.astype(np.float64))

    def voters(self, chosen: NDArray[np.int64]) -> TableSums:
        """Return the sums over the votes of some of the voters."""
        return TableSums(self.table.voters(chosen))


@dataclass(frozen=True, eq=False)
class WholeSums:
    """Sums over votes that are too many for a table; each is a pass over all of them.

    Attributes
    ----------
    whole : WholeVotes
        All votes.
    sample : PatternTable
        Patterns of a sample of them.
    """

    whole: WholeVotes
    sample: PatternTable

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.whole.voters)

    def expect(self, model: LatentModel) -> ExpectedCounts:
        """Return the expected counts under a model, and its log-likelihood."""
        return self.whole.expect(model)

    def look(self, model: LatentModel) -> float:
        """Return the log-likelihood of the sample."""
        return self._on_sample.look(model)

    @cached_property
    def _on_sample(self) -> TableSums:
        return TableSums(self.sample)

    def sum(self, function: OfCodes) -> Any:
        """Add up a function of rows of codes and the items each stands for."""
        return self.whole.blocks.sum(ChosenCodes(function, self.whole.voters))

    def voters(self, chosen: NDArray[np.int64]) -> VoteSums:
        """Return the sums over the votes of some of the voters: few of them have few patterns, which are counted."""
        counted = self.whole.blocks.sum(CountPatterns(self.whole.voters[chosen])).block
        if counted is not None:
            return TableSums(PatternTable.of_bits(counted.bits, counted.n_voters, counted.counts))
        return WholeSums(replace(self.whole, voters=self.whole.voters[chosen]), self.sample.voters(chosen))


def in_chunks(function: OfCodes, codes: NDArray[np.int8], counts: NDArray[np.float64]) -> Any:
    """Add up a function of a few thousand rows at a time: what it makes of them stays small."""
    return reduce(added, [function(codes[rows], counts[rows]) for rows in row_chunks(len(codes), _CHUNK_ROWS)])


@dataclass(frozen=True, eq=False)
class ChosenCodes:
    """A function of the codes of some voters, of one block."""

    function: OfCodes
    voters: NDArray[np.int64]

    def __call__(self, block: Block) -> Any:
        """Return the function, added up; items that none of the voters voted on do not count."""
        spoken = block.rows(block.spoken(self.voters))
        codes = np.ascontiguousarray(spoken.codes[:, self.voters])
        return in_chunks(self.function, codes, spoken.weights) if len(codes) else self.function(codes, spoken.weights)


@dataclass(frozen=True, eq=False)
class CountPatterns:
    """The patterns of some voters, of one block."""

    voters: NDArray[np.int64]

    def __call__(self, block: Block) -> FewPatterns:
        """Return them."""
        return FewPatterns.of(Block.of(np.ascontiguousarray(block.codes[:, self.voters]), block.counts))


@dataclass(frozen=True, eq=False)
class FewPatterns:
    """Distinct patterns with their counts, as long as there are few; they add."""

    block: Block | None

    @classmethod
    def of(cls, *parts: Block) -> FewPatterns:
        """Collapse blocks."""
        table = collapsed(list(parts))
        many = table.n_patterns > MANY_PATTERNS
        return cls(None if many else Block(table.packed, table.n_voters, table.counts))

    def __add__(self, other: FewPatterns) -> FewPatterns:
        if self.block is None or other.block is None:
            return FewPatterns(None)
        return FewPatterns.of(self.block, other.block)
