"""How far a covariance lies from the latent model: a weighted residual, with the model's own directions taken out.

Given Y the votes of independent voters are ``f_i = E f_i + v_i Z + e_i``, with Z the standardised label and errors e
independent given Y. In a product ``f_i f_j`` all terms but ``e_i e_j`` move along the model (they change a loading),
so after the projection only the means of ``e_i e_j`` remain, which are uncorrelated between pairs. Weighted by their
variances the residual is about chi-square; the exact reference is drawn from the fitted model by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.tree import LatentModel

_FEWEST_COMMON_ITEMS = 5
_VARIANCE_FLOOR = 1e-3  # of the product of two errors, so that rare votes do not get endless weight
_STEPS = 4
_RIDGE = 1e-9


@dataclass(frozen=True)
class ResidualTest:
    """The residual of covariances around a latent model with given groups.

    Attributes
    ----------
    groups : ndarray of shape (n_voters,)
    loadings : ndarray of shape (n_voters,)
        u of the model: v_on, and v_off for voters that are alone.
    couplings : ndarray of shape (n_groups,)
        t of the model: 1 for a voter that is alone.
    variance : ndarray of shape (n_pairs,)
        Variance of ``e_i e_j`` of one item.
    first, second : ndarray of shape (n_pairs,)
        The pairs of voters.
    """

    groups: NDArray[np.int64]
    loadings: NDArray[np.float64]
    couplings: NDArray[np.float64]
    variance: NDArray[np.float64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @classmethod
    def around(cls, model: LatentModel) -> ResidualTest:
        """Return the test of a fitted model of distinct voters."""
        first, second = np.triu_indices(model.n_voters, 1)
        variance = np.zeros(len(first))
        for weight, rate in ((model.class_balance, model.sensitivity), (1 - model.class_balance, model.specificity)):
            spread = 4 * rate * (1 - rate)
            variance += weight * spread[first] * spread[second]
        own_latent = np.bincount(model.groups) >= 2
        spread_y, spread_alpha = np.sqrt(1 - model.imbalance**2), np.sqrt(np.maximum(1 - model.group_mean**2, 1e-12))
        coupling = spread_y / spread_alpha * (model.group_sensitivity + model.group_specificity - 1)
        return cls(
            model.groups,
            np.where(own_latent[model.groups], model.v_on, model.v_off),
            np.where(own_latent, coupling, 1.0),
            np.maximum(variance, _VARIANCE_FLOOR),
            first,
            second,
        )

    @property
    def dof(self) -> int:
        """Number of pairs less the number of parameters; with none to spare nothing can be tested."""
        return len(self.first) - len(self.loadings) - int((np.bincount(self.groups) >= 2).sum())

    def values(self, estimates: Sequence[CovarianceEstimate]) -> NDArray[np.float64]:
        """Return the weighted residual of each covariance after loadings and couplings are fitted to it.

        The fit is a few Gauss-Newton steps from the model with its derivative, so it costs the same for all.
        """
        pairs = np.stack([estimate.covariance[self.first, self.second] for estimate in estimates])
        common = np.stack([estimate.n_pairs[self.first, self.second] for estimate in estimates])
        weight = np.where(common >= _FEWEST_COMMON_ITEMS, common, 0) / self.variance
        own = np.flatnonzero(np.bincount(self.groups) >= 2)
        jacobian = self._jacobian(own)
        mean_weight = weight.mean(axis=0)
        weighted = jacobian * mean_weight[:, None]
        normal = jacobian.T @ weighted
        normal[np.diag_indices_from(normal)] += _RIDGE * max(float(np.trace(normal)) / len(normal), 1.0)
        # with missing votes every draw has its own weights
        scale = weight / np.where(mean_weight > 0, mean_weight, 1.0)
        loadings, couplings = np.tile(self.loadings, (len(pairs), 1)), np.tile(self.couplings, (len(pairs), 1))
        n_voters, smallest = len(self.loadings), np.full(len(pairs), np.inf)
        for _ in range(_STEPS):
            left = pairs - self._fitted(loadings, couplings)
            smallest = np.fmin(smallest, (weight * left**2).sum(axis=1))
            step = np.linalg.solve(normal, ((left * scale) @ weighted).T).T
            loadings = loadings + step[:, :n_voters]
            couplings[:, own] += step[:, n_voters:]
        left = pairs - self._fitted(loadings, couplings)
        return np.fmin(smallest, (weight * left**2).sum(axis=1))

    def _fitted(self, loadings: NDArray, couplings: NDArray) -> NDArray[np.float64]:
        same = self.groups[self.first] == self.groups[self.second]
        through = couplings[:, self.groups[self.first]] * couplings[:, self.groups[self.second]]
        return loadings[:, self.first] * loadings[:, self.second] * np.where(same, 1.0, through)

    def _jacobian(self, own: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the derivative of every pair by the loadings and the couplings of groups of two or more."""
        first, second, groups = self.first, self.second, self.groups
        same = groups[first] == groups[second]
        link = np.where(same, 1.0, self.couplings[groups[first]] * self.couplings[groups[second]])
        rows, m = np.arange(len(first)), len(self.loadings)
        jacobian = np.zeros((len(first), m + len(own)))
        jacobian[rows, first] = link * self.loadings[second]
        jacobian[rows, second] = link * self.loadings[first]
        product = self.loadings[first] * self.loadings[second]
        for number, group in enumerate(own):
            one, other = (groups[first] == group) & ~same, (groups[second] == group) & ~same
            jacobian[one, m + number] = (product * self.couplings[groups[second]])[one]
            jacobian[other, m + number] = (product * self.couplings[groups[first]])[other]
        return jacobian
