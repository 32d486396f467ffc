"""How far a covariance lies from the latent model: a weighted residual, with the model's own directions taken out.

Given Y the votes of independent voters are ``f_i = E f_i + v_i Z + e_i``, with Z the standardised label and errors e
independent given Y. In a product ``f_i f_j`` all terms but ``e_i e_j`` move along the model (they change a loading),
so after the projection only the means of ``e_i e_j`` remain, which are uncorrelated between pairs. Weighted by their
variances the residual of two classes is about chi-square; the exact reference is drawn from the fitted model by the
caller. With more classes votes are corners of a simplex, a voter has one loading along what all voters share, and the
covariance of the model is the centre from which loadings move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.tree import TreeModel

_FEWEST_COMMON_ITEMS = 5
_VARIANCE_FLOOR = 1e-3  # of the product of two errors, so that rare votes do not get endless weight
_STEPS = 4
_RIDGE = 1e-9


@dataclass(frozen=True)
class ResidualTest:
    """The residual of covariances around a latent model with given groups."""

    groups: NDArray[np.int64]  # (n_voters,)
    centre: NDArray[np.float64]  # (n_pairs,): covariance of every pair under the model
    loadings: NDArray[np.float64]  # (n_voters,): u of the model: v_on, and v_off for voters that are alone
    couplings: NDArray[np.float64]  # (n_groups,): t of the model: 1 for a voter that is alone
    variance: NDArray[np.float64]  # (n_pairs,): variance of `e_i e_j` of one item
    # first, second: (n_pairs,): the pairs of voters
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @classmethod
    def around(cls, model: TreeModel) -> ResidualTest:
        """Return the test of a fitted model of distinct voters, its states the classes."""
        first, second = np.triu_indices(model.n_voters, 1)
        loadings, couplings = _loadings(model)
        return cls(
            model.groups,
            model.population_covariance()[first, second],
            loadings,
            couplings,
            np.maximum(_error_variance(model)[first, second], _VARIANCE_FLOOR),
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
        weighted = (jacobian * mean_weight[:, None]).tocsr()
        normal = (jacobian.T @ weighted).toarray()
        normal[np.diag_indices_from(normal)] += _RIDGE * max(float(np.trace(normal)) / len(normal), 1.0)
        # with missing votes every draw has its own weights
        scale = weight / np.where(mean_weight > 0, mean_weight, 1.0)
        loadings, couplings = np.tile(self.loadings, (len(pairs), 1)), np.tile(self.couplings, (len(pairs), 1))
        n_voters, smallest = len(self.loadings), np.full(len(pairs), np.inf)
        pairs = pairs - self.centre + self._fitted(loadings[:1], couplings[:1])
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

    def _jacobian(self, own: NDArray[np.int64]) -> csr_array:
        """Return the derivative of every pair by the loadings and the couplings of groups of two or more."""
        first, second, groups = self.first, self.second, self.groups
        same = groups[first] == groups[second]
        link = np.where(same, 1.0, self.couplings[groups[first]] * self.couplings[groups[second]])
        pairs, m = np.arange(len(first)), len(self.loadings)
        product = self.loadings[first] * self.loadings[second]
        of_group = np.full(len(self.couplings), -1)
        of_group[own] = m + np.arange(len(own))
        rows, columns, values = (
            [pairs, pairs],
            [first, second],
            [link * self.loadings[second], link * self.loadings[first]],
        )
        for one, other in ((first, second), (second, first)):
            through = np.flatnonzero(~same & (of_group[groups[one]] >= 0))
            rows.append(through)
            columns.append(of_group[groups[one][through]])
            values.append((product * self.couplings[groups[other]])[through])
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return csr_array(entries, shape=(len(first), m + len(own)))


def _error_variance(model: TreeModel) -> NDArray[np.float64]:
    """Return the variance of the product of the errors of every two voters, if they are independent given Y.

    Given Y, an error e is a vote as a corner of the simplex less its mean, of covariance S; the product of two has
    variance tr(S_i S_j).
    """
    n_symbols = model.n_symbols
    scale = (n_symbols / (n_symbols - 1)) ** 2
    total = np.zeros((model.n_voters, model.n_voters))
    for weight, rates in zip(model.class_prior, model.confusion.transpose(1, 0, 2), strict=True):
        spread = rates[:, :, None] * np.eye(n_symbols) - rates[:, :, None] * rates[:, None, :]
        flat = spread.reshape(len(rates), -1)
        total += weight * scale * (flat @ flat.T)
    return total


def _loadings(model: TreeModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return loadings u and couplings t: the covariance is u_i u_j within a group, and t_k t_l u_i u_j across.

    Exactly so for two classes, and for voters that know the truth or guess. Otherwise a voter's loading is how far it
    follows the classes as all voters do.
    """
    scale = np.sqrt(model.n_symbols / (model.n_symbols - 1))
    given, n_latent = model.votes_given_state, model.latents.shape[1]
    of_hub = _along_common(scale * _centred(given, model.prior), model.prior)
    loadings, couplings = of_hub.copy(), np.ones(model.n_groups)
    for group in np.flatnonzero(model.has_latent):
        members = np.flatnonzero(model.groups == group)
        shares = model.latents[group] @ model.prior
        loadings[members] = _along_common(scale * _centred(model.votes[members, :n_latent], shares), shares)
        inside = float(loadings[members] @ loadings[members])
        couplings[group] = float(loadings[members] @ of_hub[members]) / max(inside, 1e-12)
    return loadings, couplings


def _centred(votes: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pr(vote | state) less its mean over states with these shares."""
    return votes - np.einsum("s,isv->iv", shares, votes)[:, None, :]


def _along_common(shapes: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the loadings of voters on the shape that fits all of them best (the first singular vector)."""
    flat = (shapes * np.sqrt(shares)[:, None]).reshape(len(shapes), -1)
    left, size, _ = np.linalg.svd(flat, full_matrices=False)
    return left[:, 0] * size[0]
