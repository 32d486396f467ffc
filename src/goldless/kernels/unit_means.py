"""Where EM starts: every group, and every voter that is alone, has one soft vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.packing import PackingPlan
from goldless.kernels.tree import read_rows
from goldless.kernels.tree_tables import RowSums, UnitTables, added_rows, without_first


@cache
def _votes_of_values(radix: int, missing: int, n_votes: int) -> NDArray[np.int64]:
    """Return the number of votes for every class in every value of a unit of so many voters."""
    digits = np.arange(radix**n_votes)[:, None] // radix ** np.arange(n_votes) % radix
    return (digits[:, :, None] == missing + np.arange(radix - missing)).sum(axis=1)


@dataclass(frozen=True, eq=False)
class UnitMeans:
    """The mean vote of every unit, as tables over byte values: to start EM from."""

    plan: PackingPlan
    # (n_narrow, n_values, n_classes): sum over the units in a byte of the share of their votes for a class, but for
    # the first class: number of units that voted
    tables: NDArray[np.float64]
    wide: NDArray[np.float64]  # (n_wide_bytes, n_values, n_classes): number of votes for each class
    # (n_units, n_values, n_classes): share of the votes of a unit for each class; zero where it did not vote
    likelihood: NDArray[np.float64]

    @classmethod
    def of(cls, plan: PackingPlan) -> UnitMeans:
        """Fill the tables."""
        n_classes = plan.radix - plan.missing
        tables = np.zeros((plan.n_narrow, plan.n_values, n_classes))
        wide = np.zeros((int(plan.wide_start[-1]), plan.n_values, n_classes))
        likelihood = np.zeros((len(plan.unit_group), plan.n_values, n_classes))
        for unit, byte in enumerate(plan.unit_byte):
            n_votes = int(plan.unit_start[unit + 1] - plan.unit_start[unit])
            votes = _votes_of_values(plan.radix, plan.missing, n_votes)
            size, cast = len(votes), votes.sum(axis=1)
            if byte >= plan.n_narrow:
                wide[byte - plan.n_narrow, :size] = votes
                continue
            mean = _shares(votes)
            likelihood[unit, :size] = mean
            local = np.arange(plan.n_values) // plan.unit_weight[unit] % size
            tables[byte, :, 1:] += mean[local, 1:]
            tables[byte, :, 0] += (cast > 0)[local]
        return cls(plan, tables, wide, likelihood)

    def wide_means(self, packed: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the shares of wide groups' votes, zero if there are none, shape (n_wide, n_rows, n_classes)."""
        plan = self.plan
        votes = np.zeros((len(plan.wide_groups), len(packed), self.wide.shape[2]))
        for number in range(len(plan.wide_groups)):
            for byte in range(plan.wide_start[number], plan.wide_start[number + 1]):
                votes[number] += self.wide[byte, packed[:, plan.n_narrow + byte]]
        return _shares(votes)

    def hub_shares(self, packed: NDArray[np.uint8], of_wide: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean over units of their mean vote, shape (n_rows, n_classes); ``of_wide`` are its wide means.

        A row without a vote counts for the first class.
        """
        sums = read_rows(packed, self.tables).T
        voted = sums[:, 0] + of_wide.any(axis=2).sum(axis=0)
        shares = (sums + of_wide.sum(axis=0)) / np.maximum(voted, 1)[:, None]
        shares[:, 0] = 1 - shares[:, 1:].sum(axis=1)
        return shares

    def sums(self, packed: NDArray[np.uint8], weights: NDArray[np.float64], of_wide: NDArray[np.float64]) -> RowSums:
        """Return what rows with these weights, one for each state of the hub, add to an M-step."""
        plan = self.plan
        histogram = added_rows(plan, packed, np.ascontiguousarray(weights.T))
        wide_histogram = np.zeros(self.wide.shape)
        for number in range(len(plan.wide_groups)):
            own = slice(plan.wide_start[number], plan.wide_start[number + 1])
            own_bytes = np.ascontiguousarray(packed[:, plan.n_narrow :][:, own])
            own_weights = np.ascontiguousarray((of_wide[number] * weights.sum(axis=1)[:, None]).T)
            wide_histogram[own] = added_rows(plan, own_bytes, own_weights, n_bytes=own_bytes.shape[1])
        latents = of_wide.transpose(0, 2, 1) @ weights
        return RowSums(weights.sum(axis=0), without_first(histogram), latents, without_first(wide_histogram), -np.inf)

    def expected(
        self, sums: RowSums, totals: NDArray[np.float64], has_latent: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected counts behind the sums, as :meth:`UnitTables.expected` does."""
        n_states = len(sums.labels)
        rates = np.ones((len(has_latent), self.likelihood.shape[2], n_states))
        narrow = np.zeros((self.plan.n_narrow, self.plan.n_values, n_states))
        nothing = np.zeros(n_states)
        tables = UnitTables(self.plan, rates, has_latent, nothing, narrow, self.wide, self.likelihood)
        return tables.expected(sums, totals)


def _shares(votes: NDArray[np.number]) -> NDArray[np.float64]:
    """Return the share of the votes for each class, zero where there is none."""
    return votes / np.maximum(votes.sum(axis=-1, keepdims=True), 1)
