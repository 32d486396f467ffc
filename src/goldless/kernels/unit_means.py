"""Where EM starts: every group, and every voter that is alone, has one soft vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from goldless.kernels import tree as kernel
from goldless.kernels.packing import PackingPlan
from goldless.kernels.tree_tables import NO_WIDE, NO_WIDE_START, RowSums, UnitTables


@cache
def _votes_of_values(n_states: int, n_votes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of positive votes, and of all, in every value of a unit of so many voters."""
    digits = np.arange(n_states**n_votes)[:, None] // n_states ** np.arange(n_votes) % n_states
    votes = digits - (n_states - 2)
    return (votes == 1).sum(axis=1), (votes >= 0).sum(axis=1)


WideMeans = tuple[NDArray[np.float64], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class UnitMeans:
    """The mean vote of every unit, as tables over byte values: to start EM from.

    Attributes
    ----------
    plan : PackingPlan
    tables : ndarray of shape (2, n_narrow, 256)
        Sum of the mean votes of the units in a byte, and number of its units that voted.
    wide : ndarray of shape (n_wide_bytes, 256, 2)
        Number of negative and of positive votes.
    likelihood : ndarray of shape (n_units, 256, 2)
        1 - mean and mean; zero where a unit did not vote.
    """

    plan: PackingPlan
    tables: NDArray[np.float64]
    wide: NDArray[np.float64]
    likelihood: NDArray[np.float64]

    @classmethod
    def of(cls, plan: PackingPlan) -> UnitMeans:
        """Fill the tables."""
        tables = np.zeros((2, plan.n_narrow, 256))
        wide = np.zeros((int(plan.wide_start[-1]), 256, 2))
        likelihood = np.zeros((len(plan.unit_group), 256, 2))
        for unit, byte in enumerate(plan.unit_byte):
            positive, said = _votes_of_values(plan.n_states, int(plan.unit_start[unit + 1] - plan.unit_start[unit]))
            size = len(said)
            if byte >= plan.n_narrow:
                wide[byte - plan.n_narrow, :size] = np.stack([said - positive, positive], axis=1)
                continue
            asked = said > 0
            mean = positive / np.maximum(said, 1)
            likelihood[unit, :size] = np.stack([1 - mean, mean], axis=1) * asked[:, None]
            local = np.arange(256) // plan.unit_weight[unit] % size
            tables[:, byte] += np.stack([mean, asked])[:, local]
        return cls(plan, tables, wide, likelihood)

    def wide_means(self, packed: NDArray[np.uint8]) -> WideMeans:
        """Return the mean vote of each wide group and whether it voted, shape (n_wide, n_rows)."""
        plan = self.plan
        votes = np.zeros((len(plan.wide_groups), len(packed), 2))
        for number in range(len(plan.wide_groups)):
            for byte in range(plan.wide_start[number], plan.wide_start[number + 1]):
                votes[number] += self.wide[byte, packed[:, plan.n_narrow + byte]]
        said = votes.sum(axis=2)
        return votes[:, :, 1] / np.maximum(said, 1), said > 0

    def hub_share(self, packed: NDArray[np.uint8], of_wide: WideMeans) -> NDArray[np.float64]:
        """Return the mean over units of their mean vote, for every row; ``of_wide`` are its :meth:`wide_means`."""
        sums = np.empty((len(packed), 2))
        kernel.evaluate(packed, self.tables, NO_WIDE, NO_WIDE_START, np.zeros((0, 2, 2)), sums)
        mean, asked = of_wide
        return (sums[:, 0] + (mean * asked).sum(axis=0)) / np.maximum(sums[:, 1] + asked.sum(axis=0), 1)

    def sums(self, packed: NDArray[np.uint8], weights: NDArray[np.float64], of_wide: WideMeans) -> RowSums:
        """Return what rows with these weights, one for each state of the hub, add to an M-step."""
        plan = self.plan
        histogram = np.zeros((weights.shape[1], plan.n_narrow, 256))
        kernel.accumulate(packed, weights, histogram)
        mean, asked = of_wide
        latent = np.stack([1 - mean, mean], axis=1) * asked[:, None]
        wide_histogram = np.zeros((len(self.wide), 256))
        for number in range(len(plan.wide_groups)):
            first, last = plan.wide_start[number], plan.wide_start[number + 1]
            part = np.zeros((1, last - first, 256))
            own_bytes = np.ascontiguousarray(packed[:, plan.n_narrow + first : plan.n_narrow + last])
            kernel.accumulate(own_bytes, (mean[number] * weights.sum(axis=1))[:, None], part)
            wide_histogram[first:last] = part[0]
        return RowSums(weights.sum(axis=0), histogram[1:], latent @ weights, wide_histogram, -np.inf)

    def expected(
        self, sums: RowSums, totals: NDArray[np.float64], has_latent: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected counts behind the sums, as :meth:`UnitTables.expected` does."""
        n_states = len(sums.labels)
        rates = np.ones((len(has_latent), 2, n_states))
        narrow = np.zeros((n_states, self.plan.n_narrow, 256))
        nothing = np.zeros(n_states)
        tables = UnitTables(self.plan, rates, has_latent, nothing, narrow, self.wide, self.likelihood)
        return tables.expected(sums, totals)
