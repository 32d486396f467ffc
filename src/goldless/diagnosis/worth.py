"""How much voters are worth together: effective votes, from the votes and the posterior, without labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.maths.latent_model import LatentModel

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
        pairs = np.triu_indices(n_voters, 1)
        stacked = np.concatenate([self.by_class, self.pooled[None]])[:, pairs[0], pairs[1]]
        items = np.maximum(self.items[:, pairs[0], pairs[1]], _SMALLEST_VARIANCE)
        total = items.sum(axis=1)
        most = np.clip((stacked * items).sum(axis=1) / total + reach / np.sqrt(total), 0.0, 1.0)
        return n_voters / (1 + (n_voters - 1) * most)


def within_class_correlations(
    codes: NDArray[np.int8], counts: NDArray[np.number], posterior: NDArray[np.float64]
) -> Correlations:
    """Return the correlations of the votes within the classes.

    Items are weighted by Pr(Y | votes). If the posterior is right, the mean of any product of votes weighted so is
    its mean in the class (tower property); no more is used of the model, so dependence that its groups miss counts
    too. A posterior that follows an error that voters share takes it for truth, and the correlation is then too low.

    Parameters
    ----------
    codes : ndarray of shape (n_patterns, n_voters)
        -1 missing, 0 negative, 1 positive.
    counts, posterior : ndarray of shape (n_patterns,)
        Items with each pattern, and Pr(Y positive | votes).
    """
    positive = (codes == 1).astype(np.float64)
    voted = (codes >= 0).astype(np.float64) if codes.size and codes.min() < 0 else None
    n_voters = codes.shape[1]
    covariances, variances, items = [], [], []
    for weight in (counts * (1 - posterior), counts * posterior):
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
        items.append(both)
    by_class = [_scaled(*pair) for pair in zip(covariances, variances, strict=True)]
    both = items[0] + items[1]
    total = np.maximum(both, _SMALLEST_VARIANCE)
    mean = (items[0] * covariances[0] + items[1] * covariances[1]) / total
    of_votes = [np.diag(of_class) for of_class in items]
    variance = (of_votes[0] * variances[0] + of_votes[1] * variances[1]) / np.diag(total)
    return Correlations(np.stack(by_class), _scaled(mean, variance), np.stack([*items, both]))


def _scaled(covariance: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
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


def modelled_effective_votes(model: LatentModel) -> float:
    """Return the effective votes that the groups of a model alone account for."""
    positive, negative = model.conditional_covariance()
    within = model.class_balance * positive + (1 - model.class_balance) * negative
    return effective_votes(np.clip(_scaled(within, np.diag(within)), 0.0, 1.0))


def one_more(correlation: NDArray[np.float64], groups: NDArray[np.int64]) -> dict[int, float]:
    """Return what one more voter like those of each group of two or more would add to the effective votes.

    The newcomer agrees with every voter as the members of its group do on average; it adds nothing at the least.
    """
    before = effective_votes(correlation)
    gains = {}
    for group in np.flatnonzero(np.bincount(groups) >= 2):
        members = groups == group
        inside = correlation[np.ix_(members, members)]
        size = int(members.sum())
        typical = (inside.sum() - np.trace(inside)) / (size * (size - 1))
        row = np.where(members, typical, correlation[members].mean(axis=0))
        wider = np.block([[correlation, row[:, None]], [row[None, :], np.ones((1, 1))]])
        gains[int(group)] = max(effective_votes(wider) - before, 0.0)
    return gains


def expected_balanced_accuracy(
    labels: NDArray[np.number], posterior: NDArray[np.float64], counts: NDArray[np.integer]
) -> float:
    """Return the balanced accuracy of labels if the posterior of the fitted model is right.

    Parameters
    ----------
    labels : ndarray of shape (n_patterns,)
        1 positive, 0 negative, 1/2 for a coin.
    posterior : ndarray of shape (n_patterns,)
        Pr(Y positive | votes).
    counts : ndarray of shape (n_patterns,)
        Items with each pattern.
    """
    positive, negative = counts * posterior, counts * (1 - posterior)
    sensitivity = positive @ labels / max(positive.sum(), 1e-300)
    specificity = negative @ (1 - labels) / max(negative.sum(), 1e-300)
    return float((sensitivity + specificity) / 2)


def single_accuracies(
    codes: NDArray[np.int8], posterior: NDArray[np.float64], counts: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the expected balanced accuracy of every voter alone, a coin where it does not vote."""
    positive, negative = counts * posterior, counts * (1 - posterior)
    said_positive, said_negative = (codes == 1).astype(np.float64), (codes == 0).astype(np.float64)
    gain = positive @ (said_positive - said_negative) / max(positive.sum(), 1e-300)
    gain += negative @ (said_negative - said_positive) / max(negative.sum(), 1e-300)
    return 0.5 + gain / 4


def unexplained_share(
    covariance: NDArray[np.float64], fitted: NDArray[np.float64], standard_error: NDArray[np.float64]
) -> float:
    """Return the share of the squared covariances that the model leaves over, beyond what chance leaves."""
    off = ~np.eye(len(covariance), dtype=bool)
    known = off & np.isfinite(covariance) & np.isfinite(standard_error)
    total = float((covariance[known] ** 2).sum())
    left = float(((covariance - fitted)[known] ** 2 - standard_error[known] ** 2).sum())
    return float(np.clip(left / total, 0.0, 1.0)) if total > 0 else 0.0
