"""Votes that are too many to go through often: a sample to work on, and passes over all of them to finish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.packing import PackingPlan
from goldless.kernels.tree_tables import RowSums, UnitTables, byte_totals
from goldless.maths.em import ExpectedCounts
from goldless.maths.subtypes import SubtypeModel
from goldless.maths.tree import LatentModel
from goldless.votes.rows import Block, Blocks

TreeModel = LatentModel | SubtypeModel


@dataclass(frozen=True, eq=False)
class WholeVotes:
    """All votes of some voters, block by block.

    Attributes
    ----------
    blocks : Blocks
        The votes of all voters.
    voters : ndarray of shape (n_chosen,)
        Columns of the voters in question. Items that none of them voted on do not count.
    n_voters : int
        Number of all voters.
    complete : bool
        Whether no vote is missing anywhere.
    n_items : int
        Number of items with a vote of the voters in question.
    """

    blocks: Blocks
    voters: NDArray[np.int64]
    n_voters: int
    complete: bool
    n_items: int

    def expect(self, model: TreeModel) -> ExpectedCounts:
        """Return the expected counts under a model (E-step): one pass over all votes."""
        step = ExpectPass(model, self.voters, self.n_voters, self.complete)
        sums, totals = self.blocks.sum(step)
        latents, votes = step.tables.expected(sums, totals)
        return ExpectedCounts(sums.labels, latents, votes, sums.log_likelihood + step.tables.base(totals))

    def sum_codes(self, function: Callable[[NDArray[np.int8], NDArray[np.float64]], Any]) -> Any:
        """Add up a function of codes of all voters and the items each row stands for: one pass."""
        return self.blocks.sum(CodesPass(function))


@dataclass(frozen=True, eq=False)
class ExpectPass:
    """The E-step of one block: small enough to be sent to where the block is."""

    model: TreeModel
    voters: NDArray[np.int64]
    n_voters: int
    complete: bool

    @cached_property
    def plan(self) -> PackingPlan:
        """How the voters in question are packed."""
        return PackingPlan.for_groups(self.model.groups, 2 if self.complete else 3)

    @cached_property
    def _column_plan(self) -> PackingPlan:
        """The same plan, reading the columns of all voters."""
        return replace(self.plan, voters=self.voters[self.plan.voters], n_voters=self.n_voters)

    @cached_property
    def tables(self) -> UnitTables:
        """The model as tables."""
        return self.model.unit_tables(self.plan)

    def __call__(self, block: Block) -> tuple[RowSums, NDArray[np.float64]]:
        """Return the sums of the block, and how many items have each value of each byte."""
        packed = self._column_plan.pack_bits(block.bits)
        weights = block.weights
        if not self.complete:
            weights *= block.spoken(self.voters)
        return self.tables.sums(packed, weights), byte_totals(self.plan, packed, weights)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("model", "voters", "n_voters", "complete")}


@dataclass(frozen=True)
class CodesPass:
    """A function of codes and weights, of one block."""

    function: Callable[[NDArray[np.int8], NDArray[np.float64]], Any]

    def __call__(self, block: Block) -> Any:
        """Return the function of the block's codes."""
        return self.function(block.codes, block.weights)


@dataclass(frozen=True)
class SpokenPass:
    """Number of items with a vote of some voters, of one block."""

    voters: NDArray[np.int64]

    def __call__(self, block: Block) -> int:
        """Count the items."""
        return int(block.weights @ block.spoken(self.voters))
