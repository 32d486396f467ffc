"""Passes over the votes: what a model needs to know of them, as sums of counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.packing import PackingPlan
from goldless.kernels.sparse import Codes, SparseCodes
from goldless.kernels.sparse_tree import SparseLayout, SparseSums, SparseTree
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.kernels.tree_tables import RowSums, UnitTables, byte_totals
from goldless.kernels.unit_means import UnitMeans
from goldless.maths.em import ExpectedCounts
from goldless.maths.tree import TreeModel
from goldless.votes.engine import Engine, added
from goldless.votes.rows import PatternTable, Rows, joined
from goldless.votes.sketch import MANY_PATTERNS
from goldless.votes.sparse import SparseRows
from goldless.votes.unseen import UnseenRows

_N_CHUNKS = 16
_SMALLEST_CHUNK = 4096  # fewer rows are not cut: that costs more in histograms than it saves
_CHUNK_ROWS = 1 << 13
_PACKED_AT_ONCE = 3
_CELLS_AT_ONCE = 1 << 21


OfCodes = Callable[[Any, NDArray[np.float64]], Any]  # of rows of codes, and of the items each stands for


class GroupedPatterns:
    """A pattern table packed for a given grouping, ready for EM.

    The voters of a group share a byte; a voter that is alone hangs on Y directly.
    """

    def __init__(self, table: PatternTable, groups: NDArray[np.int64], unseen: UnseenRows | None = None):
        self.groups = groups
        self._unseen = unseen
        self._plan = PackingPlan.for_groups(groups, table.n_symbols, missing=not table.complete)
        self._packed = self._plan.pack_bits(table.bits)
        self._counts = table.counts.astype(np.float64)
        n_rows = len(self._packed)
        n_chunks = min(1 if n_rows <= _SMALLEST_CHUNK else 2 * -(-n_rows // (2 * _SMALLEST_CHUNK)), _N_CHUNKS)
        self._chunks = row_chunks(n_rows, max(-(-n_rows // n_chunks), 1))
        counted = ordered_map(
            lambda rows: byte_totals(self._plan, self._packed[rows], self._counts[rows]), self._chunks
        )
        self._totals = np.sum(counted, axis=0)

    def expect(self, model: TreeModel) -> ExpectedCounts:
        """Return the expected counts under a model with these groups (E-step).

        The rows are cut into pieces that depend on the table alone and added in order, so the result has the
        same bits for any number of threads.
        """
        tables = model.unit_tables(self._plan)
        parts = ordered_map(lambda rows: tables.sums(self._packed[rows], self._counts[rows]), self._chunks)
        sums = reduce(RowSums.plus, parts)
        latents, votes = tables.expected(sums, self._totals)
        counts = ExpectedCounts(sums.labels, latents, votes, sums.log_likelihood + tables.base(self._totals))
        return counts if self._unseen is None else self._unseen.added_to(counts, model)

    def labels(self, model: TreeModel) -> NDArray[np.int64]:
        """Return which class is likeliest for every pattern under a model with these groups; of two, the first."""
        tables = model.unit_tables(self._plan)

        def of_rows(rows: slice) -> NDArray[np.int64]:
            ratios = tables.hub_log_ratio(self._packed[rows])
            return np.where(ratios.max(axis=1) > 0, 1 + ratios.argmax(axis=1), 0)

        return np.concatenate(ordered_map(of_rows, self._chunks))

    def unit_votes(self, hub: NDArray[np.float64] | None = None) -> ExpectedCounts:
        """Return expected counts to start EM from: every group, and every voter that is alone, has one soft vote.

        Parameters
        ----------
        hub : ndarray of shape (n_patterns, n_states), optional
            Start of Pr(state | votes); by default the mean over units of their mean vote.
        """
        means = UnitMeans.of(self._plan)

        def sums_of(rows: slice) -> RowSums:
            packed = self._packed[rows]
            of_wide = means.wide_means(packed)
            weights = means.hub_shares(packed, of_wide) if hub is None else hub[rows]
            return means.sums(packed, weights * self._counts[rows, None], of_wide)

        sums = reduce(RowSums.plus, ordered_map(sums_of, self._chunks))
        latents, votes = means.expected(sums, self._totals, np.bincount(self.groups) >= 2)
        return ExpectedCounts(sums.labels, latents, votes, -np.inf)

    def log_likelihood(self, model: TreeModel) -> float:
        """Return the log-likelihood of all votes under a model with these groups."""
        return self.expect(model).log_likelihood


class GroupedRows:
    """Sparse rows and a grouping, ready for EM: what :class:`GroupedPatterns` is for packed rows."""

    def __init__(self, table: SparseRows, groups: NDArray[np.int64], unseen: UnseenRows | None = None):
        self.groups = groups
        self._unseen = unseen
        self._table = table

    @cached_property
    def _layout(self) -> SparseLayout:
        return self._table.layout

    def expect(self, model: TreeModel) -> ExpectedCounts:
        """Return the expected counts under a model with these groups (E-step)."""
        counts = _expected_of_lists(model.sparse_tree().expect(self._layout), model)
        return counts if self._unseen is None else self._unseen.added_to(counts, model)

    def labels(self, model: TreeModel) -> NDArray[np.int64]:
        """Return which class is likeliest for every row under a model with these groups; of two, the first."""
        return model.sparse_tree().hub_log_likelihood(self._table.codes).argmax(axis=1)

    def unit_votes(self, hub: NDArray[np.float64] | None = None) -> ExpectedCounts:
        """Return expected counts to start EM from: every group, and every voter that is alone, has one soft vote."""
        tree = _unit_tree(self.groups, self._table.n_symbols, None if hub is None else hub.shape[1])
        return _start_of_lists(tree.unit_votes(self._layout, hub), self.groups)

    def log_likelihood(self, model: TreeModel) -> float:
        """Return the log-likelihood of all votes under a model with these groups."""
        return self.expect(model).log_likelihood


def _expected_of_lists(sums: SparseSums, model: TreeModel) -> ExpectedCounts:
    """Return the expected counts from sums over sparse rows."""
    # where a group does not vote, its latent is as probable as the hub makes it
    silent = np.maximum(sums.labels - sums.voted, 0.0)
    own = sums.latents + model.latents[model.has_latent] * silent[:, None, :]
    return _counts_of_lists(sums, own, model.has_latent, sums.log_likelihood)


def _unit_tree(groups: NDArray[np.int64], n_symbols: int, n_states: int | None = None) -> SparseTree:
    """Return a grouping as passes over sparse rows read it; by default the states are the symbols."""
    n_states, has_latent = n_states or n_symbols, np.bincount(groups) >= 2
    return SparseTree.of(
        np.zeros((len(groups), max(n_states, n_symbols), n_symbols)),
        groups,
        np.zeros((len(has_latent), n_symbols, n_states)),
        has_latent,
        np.ones(n_states),
    )


def _start_of_lists(sums: SparseSums, groups: NDArray[np.int64]) -> ExpectedCounts:
    """Return expected counts to start EM from, from sums over sparse rows."""
    return _counts_of_lists(sums, sums.latents, np.bincount(groups) >= 2, -np.inf)


def _counts_of_lists(
    sums: SparseSums, own: NDArray[np.float64], has_latent: NDArray[np.bool_], log_likelihood: float
) -> ExpectedCounts:
    latents = np.zeros((len(has_latent), *sums.latents.shape[1:]))
    latents[has_latent] = own
    return ExpectedCounts(sums.labels, latents, sums.votes.transpose(0, 2, 1), log_likelihood)


@dataclass(frozen=True, eq=False)
class VoteSums:
    """What can be summed over the votes of some voters: from a table of all patterns, or of a sample and all rows.

    Attributes
    ----------
    table : PatternTable or SparseRows
        Patterns of the voters in question on the items they voted on, or of a sample of these.
    n_items : int
        Number of items with a vote of the voters in question.
    engine : Engine or None
        The votes of all voters, if the table is only a sample.
    columns : ndarray of shape (n_voters,)
        Columns of the voters in question among all.
    n_columns : int
        Number of all voters.
    complete : bool
        Whether no vote is missing anywhere.
    unseen : UnseenRows or None
        The rows that are not among the votes because too few voters call them.
    """

    table: PatternTable | SparseRows
    n_items: int
    engine: Engine | None
    columns: NDArray[np.int64]
    n_columns: int
    complete: bool
    unseen: UnseenRows | None = None
    _packed: dict[bytes, GroupedPatterns | GroupedRows] = field(default_factory=dict, repr=False)

    @classmethod
    def of_table(cls, table: PatternTable | SparseRows) -> VoteSums:
        """Return the sums over a table of all patterns."""
        return cls(table, table.n_items, None, np.arange(table.n_voters), table.n_voters, table.complete)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.columns)

    def packed(self, groups: NDArray[np.int64]) -> GroupedPatterns | GroupedRows:
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
            counts = _expected_of_lists(self.engine.sum(ExpectLists(model, self.columns)), model)
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
        return _start_of_lists(self.engine.sum(UnitLists(groups, self.columns)), groups)

    def sum(self, function: OfCodes) -> Any:
        """Add up a function of rows of codes and the items each stands for."""
        if isinstance(self.table, SparseRows):
            if self.engine is None:
                return function(self.table.codes, self.table.weights)
            return self.engine.sum(ChosenLists(function, self.columns))
        if self.engine is None:
            return in_chunks(function, self.table.codes, self.table.weights)
        return self.engine.sum(ChosenCodes(function, self.columns))

    def in_order(self, order: NDArray[np.int64]) -> VoteSums:
        """Return the sums over the same votes, the voters in another order."""
        return replace(self, table=self.table.voters(order), columns=self.columns[order], _packed={})

    def voters(self, chosen: NDArray[np.int64]) -> VoteSums:
        """Return the sums over the votes of some of the voters: few of them have few patterns, which are counted."""
        if self.engine is None:
            return VoteSums.of_table(self.table.voters(chosen))
        if isinstance(self.table, SparseRows):
            return self.in_order(chosen)
        counted = self.engine.sum(CountPatterns(self.columns[chosen])).rows
        if counted is not None:
            return VoteSums.of_table(counted.distinct())
        return self.in_order(chosen)


def grouped(
    table: PatternTable | SparseRows, groups: NDArray[np.int64], unseen: UnseenRows | None = None
) -> GroupedPatterns | GroupedRows:
    """Return a table ready for EM on a grouping, with the rows that are unseen."""
    if isinstance(table, SparseRows):
        return GroupedRows(table, groups, unseen)
    return GroupedPatterns(table, groups, unseen)


def in_chunks(function: OfCodes, codes: Codes, counts: NDArray[np.float64]) -> Any:
    """Add up a function of a few thousand rows at a time: what it makes of them stays small."""
    return reduce(added, [function(codes[rows], counts[rows]) for rows in row_chunks(len(codes), _CHUNK_ROWS)])


@dataclass(frozen=True, eq=False)
class InMatrix:
    """A function that needs a matrix of codes; of rows that name their voters a few at a time are made dense."""

    function: OfCodes

    def __call__(self, codes: Codes, counts: NDArray[np.float64]) -> Any:
        """Return the function, added up."""
        if not isinstance(codes, SparseCodes):
            return self.function(codes, counts)
        chunks = row_chunks(len(codes), max(_CELLS_AT_ONCE // max(codes.n_voters, 1), 1))
        return reduce(added, [self.function(codes[rows].dense(), counts[rows]) for rows in chunks])


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


@dataclass(frozen=True, eq=False)
class UnitLists:
    """What starts EM on some sparse rows."""

    groups: NDArray[np.int64]
    columns: NDArray[np.int64]

    def __call__(self, rows: SparseRows) -> SparseSums:
        """Return the sums of the rows."""
        return _unit_tree(self.groups, rows.n_symbols).unit_votes(rows.informative(self.columns).layout, None)


@dataclass(frozen=True, eq=False)
class ChosenLists:
    """A function of the codes of some voters, of some sparse rows."""

    function: OfCodes
    columns: NDArray[np.int64]

    def __call__(self, rows: SparseRows) -> Any:
        """Return the function; items that none of the voters voted on do not count."""
        chosen = rows.informative(self.columns)
        return self.function(chosen.codes, chosen.weights)


@dataclass(frozen=True, eq=False)
class ChosenCodes:
    """A function of the codes of some voters, of some rows."""

    function: OfCodes
    columns: NDArray[np.int64]

    def __call__(self, rows: Rows) -> Any:
        """Return the function, added up; items that none of the voters voted on do not count."""
        chosen = rows.of_voters(self.columns)
        if not chosen.n_rows:
            return self.function(chosen.codes, chosen.weights)
        return in_chunks(self.function, chosen.codes, chosen.weights)


@dataclass(frozen=True)
class VotedPass:
    """Number of items with a vote of some voters, of some rows."""

    columns: NDArray[np.int64]

    def __call__(self, rows: Rows) -> int:
        """Count the items."""
        return int(rows.weights @ rows.voted(self.columns))


@dataclass(frozen=True, eq=False)
class CountPatterns:
    """The patterns of some voters, of some rows."""

    columns: NDArray[np.int64]

    def __call__(self, rows: Rows) -> FewPatterns:
        """Return them."""
        return FewPatterns.of(Rows.of(np.ascontiguousarray(rows.codes[:, self.columns]), rows.n_symbols, rows.counts))


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


def third_moment(
    values: NDArray[np.float64], observed: NDArray[np.bool_] | None, loadings: NDArray, counts: NDArray
) -> float:
    """Return the third moment of centred values in units of v_i v_j v_k, by least squares over triples.

    ``sum_ijk T_ijk v_i v_j v_k / sum_ijk (v_i v_j v_k)^2`` over i < j < k, where both sums run over the triples
    observed on each item. The sum over triples is an elementary symmetric polynomial of ``x_i v_i``, so the
    m x m x m tensor is never formed.

    Parameters
    ----------
    values : ndarray of shape (n_rows, m)
        Centred votes; entries that are not observed are ignored.
    observed : ndarray of shape (n_rows, m) or None
        Which entries are; None if all.
    loadings : ndarray of shape (m,)
    counts : ndarray of shape (n_rows,)
    """
    numerator, denominator = third_moment_sums(values, observed, loadings, counts)
    return numerator / denominator if denominator > 0 else 0.0


def third_moment_sums(
    values: NDArray[np.float64], observed: NDArray[np.bool_] | None, loadings: NDArray, counts: NDArray
) -> tuple[float, float]:
    """Return the two sums over items whose ratio is :func:`third_moment`."""
    terms = values * loadings
    squares = np.broadcast_to(loadings**2, terms.shape)
    if observed is not None:
        terms, squares = terms * observed, squares * observed
    return float(counts @ _triples(terms)), float(counts @ _triples(squares))


def _triples(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of products over triples i < j < k in every row, from power sums (Newton)."""
    first, second, third = terms.sum(axis=1), (terms**2).sum(axis=1), (terms**3).sum(axis=1)
    return (first**3 - 3 * first * second + 2 * third) / 6


def centred_votes(
    table: PatternTable, mean: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Return votes -1, +1 less their mean, one row a pattern, and which are observed (None if all)."""
    codes = table.codes
    return 2.0 * codes - 1.0 - mean, None if table.complete else codes >= 0
