"""Passes over the votes: what a model needs to know of them, as sums of counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.packing import PackingPlan
from goldless.kernels.sparse import Codes, SparseCodes
from goldless.kernels.sparse_tree import SparseSums, SparseTree
from goldless.kernels.threads import row_chunks
from goldless.kernels.tree_tables import RowSums, UnitTables, byte_totals
from goldless.maths.em import ExpectedCounts
from goldless.maths.tree import TreeModel
from goldless.votes.engine import Engine, added
from goldless.votes.grouped import Grouped, expected_of_lists, grouped, start_of_lists, unit_tree
from goldless.votes.rows import PatternTable, Rows, joined
from goldless.votes.sketch import MANY_PATTERNS
from goldless.votes.sparse import SparseRows
from goldless.votes.unseen import UnseenRows

_CHUNK_ROWS = 1 << 13
_PACKED_AT_ONCE = 3
_CELLS_AT_ONCE = 1 << 21


OfCodes = Callable[[Any, NDArray[np.float64]], Any]  # of rows of codes, and of the items each stands for


@dataclass(frozen=True, eq=False)
class VoteSums:
    """What can be summed over the votes of some voters: from a table of all patterns, or of a sample and all rows."""

    # patterns of the voters in question on the items they voted on, or of a sample of these
    table: PatternTable | SparseRows
    n_items: int  # number of items with a vote of the voters in question
    engine: Engine | None  # the votes of all voters, if the table is only a sample
    columns: NDArray[np.int64]  # (n_voters,): columns of the voters in question among all
    n_columns: int  # number of all voters
    complete: bool  # whether no vote is missing anywhere
    unseen: UnseenRows | None = None  # the rows that are not among the votes because too few voters call them
    _packed: dict[bytes, Grouped] = field(default_factory=dict, repr=False)

    @classmethod
    def of_table(cls, table: PatternTable | SparseRows) -> VoteSums:
        """Return the sums over a table of all patterns."""
        return cls(table, table.n_items, None, np.arange(table.n_voters), table.n_voters, table.complete)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.columns)

    def packed(self, groups: NDArray[np.int64]) -> Grouped:
        """Return the table packed for a grouping; the last few are kept."""
        key = groups.tobytes()
        if key not in self._packed:
            if len(self._packed) >= _PACKED_AT_ONCE:
                self._packed.pop(next(iter(self._packed)))
            self._packed[key] = grouped(self.table, groups, self.unseen)
        return self._packed[key]

    def expect_table(self, model: TreeModel) -> ExpectedCounts:
        """Return the expected counts of the table: all votes, or a sample of them."""
        return self.packed(model.groups).expect(model)

    def expect(self, model: TreeModel) -> ExpectedCounts:
        """Return the expected counts of all votes under a model (E-step)."""
        if self.engine is None:
            return self.expect_table(model)
        if isinstance(self.table, SparseRows):
            counts = expected_of_lists(self.engine.sum(ExpectLists(model, self.columns)), model)
            return counts if self.unseen is None else self.unseen.added_to(counts, model)
        step = ExpectPass(model, self.columns, self.n_columns, self.complete)
        sums, totals = self.engine.sum(step)
        latents, votes = step.tables.expected(sums, totals)
        counts = ExpectedCounts(sums.labels, latents, votes, sums.log_likelihood + step.tables.base(totals))
        return counts if self.unseen is None else self.unseen.added_to(counts, model)

    @property
    def streams_lists(self) -> bool:
        """Whether the votes are sparse rows that are not in memory: of few votes a voter a sample is too small."""
        return self.engine is not None and isinstance(self.table, SparseRows)

    def unit_votes(self, groups: NDArray[np.int64], of_all: bool = False) -> ExpectedCounts:
        """Return expected counts to start EM from: of the table, or of all votes that are sparse rows."""
        if not of_all:
            return self.packed(groups).unit_votes()
        assert self.engine is not None
        return start_of_lists(self.engine.sum(partial(_unit_lists, groups, self.columns)), groups)

    def sum(self, function: OfCodes) -> Any:
        """Add up a function of rows of codes and the items each stands for."""
        if isinstance(self.table, SparseRows):
            if self.engine is None:
                return function(self.table.codes, self.table.weights)
            return self.engine.sum(partial(_of_lists, function, self.columns))
        if self.engine is None:
            return in_chunks(function, self.table.codes, self.table.weights)
        return self.engine.sum(partial(_of_codes, function, self.columns))

    def in_order(self, order: NDArray[np.int64]) -> VoteSums:
        """Return the sums over the same votes, the voters in another order."""
        return replace(self, table=self.table.voters(order), columns=self.columns[order], _packed={})

    def voters(self, chosen: NDArray[np.int64]) -> VoteSums:
        """Return the sums over the votes of some of the voters: few of them have few patterns, which are counted."""
        if self.engine is None:
            return VoteSums.of_table(self.table.voters(chosen))
        if isinstance(self.table, SparseRows):
            return self.in_order(chosen)
        counted = self.engine.sum(partial(_few_patterns, self.columns[chosen])).rows
        if counted is not None:
            return VoteSums.of_table(counted.distinct())
        return self.in_order(chosen)


def in_chunks(function: OfCodes, codes: Codes, counts: NDArray[np.float64]) -> Any:
    """Add up a function of a few thousand rows at a time: what it makes of them stays small."""
    return reduce(added, [function(codes[rows], counts[rows]) for rows in row_chunks(len(codes), _CHUNK_ROWS)])


def in_matrix(function: OfCodes, codes: Codes, counts: NDArray[np.float64]) -> Any:
    """Add up a function that needs a matrix; of rows that name their voters a few at a time are made dense."""
    if not isinstance(codes, SparseCodes):
        return function(codes, counts)
    chunks = row_chunks(len(codes), max(_CELLS_AT_ONCE // max(codes.n_voters, 1), 1))
    return reduce(added, [function(codes[rows].dense(), counts[rows]) for rows in chunks])


@dataclass(frozen=True, eq=False)
class ExpectPass:
    """The E-step of some rows: small enough to be sent to where they are."""

    model: TreeModel
    columns: NDArray[np.int64]
    n_columns: int
    complete: bool

    @cached_property
    def plan(self) -> PackingPlan:
        """How the voters in question are packed."""
        return PackingPlan.for_groups(self.model.groups, self.model.n_symbols, missing=not self.complete)

    @cached_property
    def _column_plan(self) -> PackingPlan:
        """The same plan, reading the columns of all voters."""
        return replace(self.plan, voters=self.columns[self.plan.voters], n_voters=self.n_columns)

    @cached_property
    def tables(self) -> UnitTables:
        """The model as tables."""
        return self.model.unit_tables(self.plan)

    def __call__(self, rows: Rows) -> tuple[RowSums, NDArray[np.float64]]:
        """Return the sums of the rows, and how many items have each value of each byte."""
        packed = self._column_plan.pack_bits(rows.bits)
        weights = rows.weights
        if not self.complete:
            weights *= rows.voted(self.columns)
        return self.tables.sums(packed, weights), byte_totals(self.plan, packed, weights)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("model", "columns", "n_columns", "complete")}


@dataclass(frozen=True, eq=False)
class ExpectLists:
    """The E-step of some sparse rows: small enough to be sent to where they are."""

    model: TreeModel
    columns: NDArray[np.int64]

    @cached_property
    def tree(self) -> SparseTree:
        """The model as passes read it."""
        return self.model.sparse_tree()

    def __call__(self, rows: SparseRows) -> SparseSums:
        """Return the sums of the rows."""
        return self.tree.expect(rows.informative(self.columns).layout)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("model", "columns")}


# What else is asked of some rows: functions that engines take, partial where they need more than the rows.


def _unit_lists(groups: NDArray[np.int64], columns: NDArray[np.int64], rows: SparseRows) -> SparseSums:
    """Return what starts EM on sparse rows."""
    return unit_tree(groups, rows.n_symbols).unit_votes(rows.informative(columns).layout, None)


def _of_lists(function: OfCodes, columns: NDArray[np.int64], rows: SparseRows) -> Any:
    """Return a function of the codes of some voters; items that none of them voted on do not count."""
    chosen = rows.informative(columns)
    return function(chosen.codes, chosen.weights)


def _of_codes(function: OfCodes, columns: NDArray[np.int64], rows: Rows) -> Any:
    """Return a function of the codes of some voters, added up; items that none of them voted on do not count."""
    chosen = rows.of_voters(columns)
    if not chosen.n_rows:
        return function(chosen.codes, chosen.weights)
    return in_chunks(function, chosen.codes, chosen.weights)


def n_voted(columns: NDArray[np.int64], rows: Rows) -> int:
    """Return the number of items with a vote of some voters."""
    return int(rows.weights @ rows.voted(columns))


def _few_patterns(columns: NDArray[np.int64], rows: Rows) -> FewPatterns:
    """Return the patterns of some voters."""
    return FewPatterns.of(Rows.of(np.ascontiguousarray(rows.codes[:, columns]), rows.n_symbols, rows.counts))


@dataclass(frozen=True, eq=False)
class FewPatterns:
    """Distinct patterns with their counts, as long as there are few; they add."""

    rows: Rows | None

    @classmethod
    def of(cls, *parts: Rows) -> FewPatterns:
        """Collapse rows."""
        table = joined(parts).distinct()
        return cls(None if table.n_patterns > MANY_PATTERNS else table)

    def __add__(self, other: FewPatterns) -> FewPatterns:
        if self.rows is None or other.rows is None:
            return FewPatterns(None)
        return FewPatterns.of(self.rows, other.rows)
