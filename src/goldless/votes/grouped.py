"""Votes and a grouping, ready for EM: few patterns as they are, many packed, a crowd as lists of voters."""

from __future__ import annotations

from functools import cached_property, reduce
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.packing import PackingPlan
from goldless.kernels.posterior import Message, posterior
from goldless.kernels.sparse_tree import SparseLayout, SparseSums, SparseTree
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.kernels.tree_tables import RowSums, byte_totals
from goldless.kernels.unit_means import UnitMeans
from goldless.maths.em import ExpectedCounts
from goldless.maths.tree import TreeModel
from goldless.votes.rows import PatternTable, Rows
from goldless.votes.sparse import SparseRows

if TYPE_CHECKING:
    from goldless.votes.unseen import UnseenRows

_TINY = 1e-300
_N_CHUNKS = 16
_SMALLEST_CHUNK = 4096  # fewer rows are not cut: that costs more in histograms than it saves
_FEW_PRODUCTS = 1 << 18  # in a pass: so many take numpy as long as a kernel, which would be compiled first


class GroupedCodes:
    """A few rows and a grouping, ready for EM in plain numpy.

    The same numbers as :class:`GroupedPatterns` gives, but for rounding, and nothing to compile.
    """

    def __init__(self, table: Rows, groups: NDArray[np.int64], unseen: UnseenRows | None = None):
        self.groups = groups
        self._unseen = unseen
        self._counts = table.weights
        self._n_symbols = table.n_symbols
        said = table.codes.T[:, None, :] == np.arange(table.n_symbols)[:, None]
        self._said = said.astype(np.float64)  # 1 where voter i said symbol v of row r: [i, v, r]
        self._grouped = np.bincount(groups) >= 2
        self._units = [np.flatnonzero(groups == group) for group in range(len(self._grouped))]

    def expect(self, model: TreeModel, items: NDArray[np.float64] | None = None) -> ExpectedCounts:
        """Return the expected counts under a model with these groups (E-step), of other ``items`` a row if given."""
        own = np.flatnonzero(model.has_latent)
        hanging = np.flatnonzero(~model.has_latent[self.groups])
        n_latent, n_states = model.latents.shape[1:]
        hub, messages = self._evidence(model, hanging, own)
        found = posterior(hub, messages, self._counts if items is None else items)
        latents, votes = np.zeros(model.latents.shape), np.zeros(model.votes.shape)
        votes[hanging, :n_states] = self._votes(hanging, found.hub)
        for group, joint, parents in zip(own, found.latents, found.parents, strict=True):
            latents[group] = joint
            votes[self._units[group], :n_latent] = self._votes(self._units[group], parents)
        counts = ExpectedCounts(found.hub.sum(axis=1), latents, votes, found.log_likelihood)
        return counts if self._unseen is None else self._unseen.added_to(counts, model)

    def log_likelihoods(self, model: TreeModel) -> NDArray[np.float64]:
        """Return the log-likelihood of every row under a model with these groups."""
        own = np.flatnonzero(model.has_latent)
        hub, messages = self._evidence(model, np.flatnonzero(~model.has_latent[self.groups]), own)
        for message in messages:
            hub += np.log(message.mixed) + message.log_scale
        return np.logaddexp.reduce(hub, axis=0)

    def _evidence(
        self, model: TreeModel, hanging: NDArray[np.int64], own: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], list[Message]]:
        """Return the log-probability of each state with the votes of voters on the hub, and the groups' messages."""
        n_latent, n_states = model.latents.shape[1:]
        hub = self._log_likelihood(model, hanging, n_states) + np.log(np.maximum(model.prior, _TINY))[:, None]
        evidence = [self._log_likelihood(model, self._units[group], n_latent) for group in own]
        return hub, [Message.of(of, model.latents[group]) for of, group in zip(evidence, own, strict=True)]

    def _log_likelihood(self, model: TreeModel, voters: NDArray[np.int64], n_parents: int) -> NDArray[np.float64]:
        """Return the log-likelihood of the votes of some voters in each state of their parent, by state and row."""
        of_votes = model.log_votes[voters, :n_parents].transpose(1, 0, 2).reshape(n_parents, -1)
        return of_votes @ self._said[voters].reshape(-1, len(self._counts))

    def _votes(self, voters: NDArray[np.int64], parents: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected votes of some voters from the items in each state of their parent, by state and row."""
        votes = self._said[voters].reshape(-1, len(self._counts)) @ parents.T
        return votes.reshape(len(voters), self._n_symbols, len(parents)).transpose(0, 2, 1)

    def labels(self, model: TreeModel) -> NDArray[np.int64]:
        """Return which class is likeliest for every pattern under a model with these groups; of two, the first."""
        n_latent, n_states = model.latents.shape[1:]
        hub = self._log_likelihood(model, np.flatnonzero(~model.has_latent[self.groups]), n_states)
        for group in np.flatnonzero(model.has_latent):
            evidence = self._log_likelihood(model, self._units[group], n_latent)
            hub += np.log(Message.of(evidence, model.latents[group]).mixed)
        return hub.argmax(axis=0)

    def unit_votes(self, hub: NDArray[np.float64] | None = None) -> ExpectedCounts:
        """Return expected counts to start EM from: every group, and every voter that is alone, has one soft vote."""
        said = np.array([self._said[members].sum(axis=0) for members in self._units])
        cast = said.sum(axis=1)
        shares = said / np.maximum(cast, 1)[:, None]
        if hub is None:
            weights = shares.sum(axis=0) / np.maximum((cast > 0).sum(axis=0), 1)
            weights[0] = 1 - weights[1:].sum(axis=0)
        else:
            weights = hub.T
        weights = weights * self._counts
        n_states = len(weights)
        latents = np.zeros((len(said), self._n_symbols, n_states))
        votes = np.zeros((len(self.groups), max(n_states, self._n_symbols), self._n_symbols))
        alone = np.flatnonzero(~self._grouped[self.groups])
        votes[alone, :n_states] = self._votes(alone, weights)
        for group in np.flatnonzero(self._grouped):
            latents[group] = shares[group] @ weights.T
            parents = shares[group] * weights.sum(axis=0)
            votes[self._units[group], : self._n_symbols] = self._votes(self._units[group], parents)
        return ExpectedCounts(weights.sum(axis=1), latents, votes, -np.inf)

    def log_likelihood(self, model: TreeModel) -> float:
        """Return the log-likelihood of all votes under a model with these groups."""
        return self.expect(model).log_likelihood


class GroupedPatterns:
    """A pattern table packed for a given grouping, ready for EM.

    The voters of a group share a byte; a voter that is alone hangs on Y directly.
    """

    def __init__(self, table: PatternTable, groups: NDArray[np.int64], unseen: UnseenRows | None = None):
        self.groups = groups
        self._unseen = unseen
        self._table = table
        self._counts = table.counts.astype(np.float64)
        n_rows = table.n_patterns
        n_chunks = min(1 if n_rows <= _SMALLEST_CHUNK else 2 * -(-n_rows // (2 * _SMALLEST_CHUNK)), _N_CHUNKS)
        self._chunks = row_chunks(n_rows, max(-(-n_rows // n_chunks), 1))

    @cached_property
    def _plan(self) -> PackingPlan:
        return PackingPlan.for_groups(self.groups, self._table.n_symbols, missing=not self._table.complete)

    @cached_property
    def _packed(self) -> NDArray[np.uint8]:
        return self._plan.pack_bits(self._table.bits)

    @cached_property
    def _totals(self) -> NDArray[np.float64]:
        """How many items have each value of each byte."""
        plan, packed, counts = self._plan, self._packed, self._counts
        return np.sum(ordered_map(lambda rows: byte_totals(plan, packed[rows], counts[rows]), self._chunks), axis=0)

    @cached_property
    def _lists(self) -> SparseLayout:
        """The same votes as lists: where voters are alone, tables of single votes are smaller than those of bytes."""
        return SparseLayout.of(self._table.codes, self._table.n_symbols, self._counts)

    def expect(self, model: TreeModel) -> ExpectedCounts:
        """Return the expected counts under a model with these groups (E-step).

        The rows are cut into pieces that depend on the table alone and added in order, so the result has the
        same bits for any number of threads.
        """
        if model.latents.shape[1] > 2 and not model.has_latent.any():
            counts = expected_of_lists(model.sparse_tree().expect(self._lists), model)
        else:
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

        ``hub`` (n_patterns, n_states): start of Pr(state | votes); by default the mean over units of their mean vote.
        """
        if self._table.n_symbols > 2 and len(np.unique(self.groups)) == len(self.groups):
            return start_by_lists(self._lists, self.groups, hub)
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

    def expect(self, model: TreeModel) -> ExpectedCounts:
        """Return the expected counts under a model with these groups (E-step)."""
        counts = expected_of_lists(model.sparse_tree().expect(self._table.layout), model)
        return counts if self._unseen is None else self._unseen.added_to(counts, model)

    def labels(self, model: TreeModel) -> NDArray[np.int64]:
        """Return which class is likeliest for every row under a model with these groups; of two, the first."""
        return model.sparse_tree().hub_log_likelihood(self._table.codes).argmax(axis=1)

    def unit_votes(self, hub: NDArray[np.float64] | None = None) -> ExpectedCounts:
        """Return expected counts to start EM from: every group, and every voter that is alone, has one soft vote."""
        return start_by_lists(self._table.layout, self.groups, hub)

    def log_likelihood(self, model: TreeModel) -> float:
        """Return the log-likelihood of all votes under a model with these groups."""
        return self.expect(model).log_likelihood


def expected_of_lists(sums: SparseSums, model: TreeModel) -> ExpectedCounts:
    """Return the expected counts from sums over sparse rows."""
    # where a group does not vote, its latent is as probable as the hub makes it
    silent = np.maximum(sums.labels - sums.voted, 0.0)
    own = sums.latents + model.latents[model.has_latent] * silent[:, None, :]
    return _counts_of_lists(sums, own, model.has_latent, sums.log_likelihood)


def unit_tree(groups: NDArray[np.int64], n_symbols: int, n_states: int | None = None) -> SparseTree:
    """Return a grouping as passes over sparse rows read it; by default the states are the symbols."""
    n_states, has_latent = n_states or n_symbols, np.bincount(groups) >= 2
    return SparseTree.of(
        np.zeros((len(groups), max(n_states, n_symbols), n_symbols)),
        groups,
        np.zeros((len(has_latent), n_symbols, n_states)),
        has_latent,
        np.ones(n_states),
    )


def start_by_lists(
    layout: SparseLayout, groups: NDArray[np.int64], hub: NDArray[np.float64] | None
) -> ExpectedCounts:
    """Return expected counts to start EM from: every group, and every voter that is alone, has one soft vote."""
    tree = unit_tree(groups, layout.n_symbols, None if hub is None else hub.shape[1])
    return start_of_lists(tree.unit_votes(layout, hub), groups)


def start_of_lists(sums: SparseSums, groups: NDArray[np.int64]) -> ExpectedCounts:
    """Return expected counts to start EM from, from sums over sparse rows."""
    return _counts_of_lists(sums, sums.latents, np.bincount(groups) >= 2, -np.inf)


def _counts_of_lists(
    sums: SparseSums, own: NDArray[np.float64], has_latent: NDArray[np.bool_], log_likelihood: float
) -> ExpectedCounts:
    latents = np.zeros((len(has_latent), *sums.latents.shape[1:]))
    latents[has_latent] = own
    return ExpectedCounts(sums.labels, latents, sums.votes.transpose(0, 2, 1), log_likelihood)


Grouped: TypeAlias = GroupedCodes | GroupedPatterns | GroupedRows


def are_few(n_rows: int, n_voters: int, n_symbols: int) -> bool:
    """Whether passes over so many rows need nothing compiled."""
    return n_rows * n_voters * n_symbols**2 <= _FEW_PRODUCTS


def grouped(table: PatternTable | SparseRows, groups: NDArray[np.int64], unseen: UnseenRows | None = None) -> Grouped:
    """Return a table ready for EM on a grouping, with the rows that are unseen."""
    if isinstance(table, SparseRows):
        return GroupedRows(table, groups, unseen)
    if are_few(table.n_patterns, table.n_voters, table.n_symbols):
        return GroupedCodes(table, groups, unseen)
    return GroupedPatterns(table, groups, unseen)
