"""Passes over the votes: what a model needs to know of them, as sums of counts."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.packing import PackingPlan
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.kernels.tree_tables import RowSums, byte_totals
from goldless.kernels.unit_means import UnitMeans
from goldless.maths.em import ExpectedCounts
from goldless.maths.subtypes import SubtypeModel
from goldless.maths.tree import LatentModel
from goldless.votes.patterns import PatternTable

_N_CHUNKS = 16
_SMALLEST_CHUNK = 4096  # fewer rows are not cut: that costs more in histograms than it saves


class GroupedPatterns:
    """A pattern table packed for a given grouping, ready for EM.

    The voters of a group share a byte; a voter that is alone hangs on Y directly.
    """

    def __init__(self, table: PatternTable, groups: NDArray[np.int64]):
        self.groups = groups
        self._plan = PackingPlan.for_groups(groups, 2 if table.complete else 3)
        self._packed = self._plan.pack_bits(table.packed)
        self._counts = table.counts.astype(np.float64)
        n_rows = len(self._packed)
        n_chunks = min(max(-(-n_rows // _SMALLEST_CHUNK), 1), _N_CHUNKS)
        self._chunks = row_chunks(n_rows, max(-(-n_rows // n_chunks), 1))
        counted = ordered_map(
            lambda rows: byte_totals(self._plan, self._packed[rows], self._counts[rows]), self._chunks
        )
        self._totals = np.sum(counted, axis=0)

    def expect(self, model: LatentModel | SubtypeModel) -> ExpectedCounts:
        """Return the expected counts under a model with these groups (E-step).

        The rows are cut into pieces that depend on the table alone and added in order, so the result has the
        same bits for any number of threads.
        """
        tables = model.unit_tables(self._plan)
        parts = ordered_map(lambda rows: tables.sums(self._packed[rows], self._counts[rows]), self._chunks)
        sums = reduce(RowSums.plus, parts)
        latents, votes = tables.expected(sums, self._totals)
        return ExpectedCounts(sums.labels, latents, votes, sums.log_likelihood + tables.base(self._totals))

    def positive(self, model: LatentModel) -> NDArray[np.bool_]:
        """Return which patterns are likelier for a positive item under a model with these groups."""
        tables = model.unit_tables(self._plan)
        parts = ordered_map(lambda rows: tables.hub_log_ratio(self._packed[rows])[:, 0] > 0, self._chunks)
        return np.concatenate(parts)

    def unit_votes(self, hub: NDArray[np.float64] | None = None) -> ExpectedCounts:
        """Return expected counts to start EM from: every group, and every voter that is alone, has one soft vote.

        Parameters
        ----------
        hub : ndarray of shape (n_patterns, n_states), optional
            Start of Pr(state | votes); by default (negative, positive) by the mean over units of their mean vote.
        """
        means = UnitMeans.of(self._plan)

        def sums_of(rows: slice) -> RowSums:
            packed = self._packed[rows]
            of_wide = means.wide_means(packed)
            if hub is None:
                share = means.hub_share(packed, of_wide)
                weights = np.stack([1 - share, share], axis=1)
            else:
                weights = hub[rows]
            return means.sums(packed, weights * self._counts[rows, None], of_wide)

        sums = reduce(RowSums.plus, ordered_map(sums_of, self._chunks))
        latents, votes = means.expected(sums, self._totals, np.bincount(self.groups) >= 2)
        return ExpectedCounts(sums.labels, latents, votes, -np.inf)

    def log_likelihood(self, model: LatentModel | SubtypeModel) -> float:
        """Return the log-likelihood of all votes under a model with these groups."""
        return self.expect(model).log_likelihood


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
