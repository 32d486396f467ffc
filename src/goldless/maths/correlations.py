"""How strongly voters agree beyond what the truth makes them agree, and how many independent ones they are worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_CLEARLY = 2.0  # standard errors, below which a correlation is taken for chance
_SMALLEST_VARIANCE = 1e-9


class Correlations(NamedTuple):
    """How strongly every two voters agree beyond what the truth makes them agree.

    Attributes
    ----------
    by_class : ndarray of shape (2, n_voters, n_voters)
        Correlation of the votes given a negative and given a positive label.
    pooled : ndarray of shape (n_voters, n_voters)
        The same over both classes together.
    items : ndarray of shape (3, n_voters, n_voters)
        Expected number of items behind each: negative, positive, all.
    """

    by_class: NDArray[np.float64]
    pooled: NDArray[np.float64]
    items: NDArray[np.float64]

    def clear(self) -> Correlations:
        """Return them with correlations that are negative, or may well be chance, set to zero."""
        stacked = np.concatenate([self.by_class, self.pooled[None]])
        kept = np.where(stacked > _CLEARLY / np.sqrt(np.maximum(self.items, 1.0)), stacked, 0.0)
        kept[:, np.arange(len(self.pooled)), np.arange(len(self.pooled))] = 1.0
        return Correlations(kept[:2], kept[2], self.items)

    def least_effective_votes(self, reach: float) -> NDArray[np.float64]:
        """Return the effective votes if every two voters correlate as much as the mean over all pairs allows.

        That is the mean, weighted by items, plus ``reach`` standard errors; three values: negative, positive, all.
        """
        n_voters = len(self.pooled)
        if n_voters == 1:
            return np.ones(3)
        pairs = np.triu_indices(n_voters, 1)
        stacked = np.concatenate([self.by_class, self.pooled[None]])[:, pairs[0], pairs[1]]
        items = np.maximum(self.items[:, pairs[0], pairs[1]], _SMALLEST_VARIANCE)
        total = items.sum(axis=1)
        most = np.clip((stacked * items).sum(axis=1) / total + reach / np.sqrt(total), 0.0, 1.0)
        return n_voters / (1 + (n_voters - 1) * most)


def within_class_correlations(
    codes: NDArray[np.int8], counts: NDArray[np.number], posterior: NDArray[np.float64]
) -> Correlations:
    """Return the correlations of the votes within the classes, from items and their posterior.

    Parameters
    ----------
    codes : ndarray of shape (n_patterns, n_voters)
        -1 missing, 0 negative, 1 positive.
    counts, posterior : ndarray of shape (n_patterns,)
        Items with each pattern, and Pr(Y positive | votes).
    """
    return class_correlations(codes, np.stack([counts * (1 - posterior), counts * posterior]))


def class_correlations(codes: NDArray[np.int8], items: NDArray[np.floating]) -> Correlations:
    """Return the correlations of the votes within the classes.

    Items are weighted by Pr(Y | votes). If the posterior is right, the mean of any product of votes weighted so is
    its mean in the class (tower property); no more is used of the model, so dependence that its groups miss counts
    too. A posterior that follows an error that voters share takes it for truth, and the correlation is then too low.

    Parameters
    ----------
    codes : ndarray of shape (n_patterns, n_voters)
        -1 missing, 0 negative, 1 positive.
    items : ndarray of shape (2, n_patterns)
        Expected negative and positive items with each pattern.
    """
    positive = (codes == 1).astype(np.float64)
    voted = (codes >= 0).astype(np.float64) if codes.size and codes.min() < 0 else None
    n_voters = codes.shape[1]
    covariances, variances, shared = [], [], []
    for weight in items:
        weighted = positive * weight[:, None]
        both_positive = weighted.T @ positive
        if voted is None:
            both = np.full((n_voters, n_voters), weight.sum())
            first_positive = np.repeat(np.diag(both_positive)[:, None], n_voters, axis=1)
        else:
            both = (voted * weight[:, None]).T @ voted
            first_positive = weighted.T @ voted
        total = np.maximum(both, _SMALLEST_VARIANCE)
        share = first_positive / total
        covariances.append(np.where(both > 1, both_positive / total - share * share.T, 0.0))
        own = np.diag(share)
        variances.append(own * (1 - own))
        shared.append(both)
    by_class = [scaled(*pair) for pair in zip(covariances, variances, strict=True)]
    both = shared[0] + shared[1]
    total = np.maximum(both, _SMALLEST_VARIANCE)
    mean = (shared[0] * covariances[0] + shared[1] * covariances[1]) / total
    of_votes = [np.diag(of_class) for of_class in shared]
    variance = (of_votes[0] * variances[0] + of_votes[1] * variances[1]) / np.diag(total)
    return Correlations(np.stack(by_class), scaled(mean, variance), np.stack([*shared, both]))


def scaled(covariance: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return correlations from covariances; 0 with a voter that does not vary."""
    scale = np.sqrt(np.maximum(variance, _SMALLEST_VARIANCE))
    correlation = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
    correlation[(variance <= _SMALLEST_VARIANCE)[:, None] | (variance <= _SMALLEST_VARIANCE)[None, :]] = 0.0
    np.fill_diagonal(correlation, 1.0)
    return correlation


def uniqueness(correlation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each voter that is its own: 1 if it is independent of the others, 1/k for one of k copies.

    Examples
    --------
    >>> uniqueness(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    array([0.5, 0.5, 1. ])
    """
    return 1 / correlation.sum(axis=1)


def effective_votes(correlation: NDArray[np.float64]) -> float:
    """Return how many independent voters these are worth: the sum of what is their own.

    For m voters of equal correlation rho this is m / (1 + (m - 1) rho); a copy of a voter adds nothing.

    Examples
    --------
    >>> effective_votes(np.full((9, 9), 0.5) + 0.5 * np.eye(9))
    1.8
    """
    return float(uniqueness(correlation).sum())


def effective_votes_of(echo: NDArray[np.float64], silent: NDArray[np.bool_], voters: ArrayLike) -> float:
    """Return how many independent voters some columns are worth; voters that say nothing are worth nothing.

    Parameters
    ----------
    echo : ndarray of shape (n_voters, n_voters)
        Clear correlations of all voters.
    silent : ndarray of shape (n_voters,)
        Voters that say nothing.
    voters : array-like of int
        Columns of the voters in question.
    """
    chosen = np.asarray(voters, dtype=np.int64)
    chosen = chosen[~silent[chosen]]
    return effective_votes(echo[np.ix_(chosen, chosen)]) if len(chosen) else 0.0
