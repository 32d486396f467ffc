"""How much voters are worth together: estimates from the fitted model and the votes, without labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.maths.latent_model import LatentModel

_CLEARLY = 2.0  # standard errors, below which a correlation is taken for chance
_SMALLEST_VARIANCE = 1e-9


def correlation_within_classes(
    latent: LatentModel, covariance: NDArray[np.float64], standard_error: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how strongly every two voters agree beyond what the estimated truth makes them agree.

    The covariance of two votes is (1 - b^2) d_i d_j for their accuracies (d = sensitivity + specificity - 1), plus
    their covariance within the classes. The first is taken from the model, the sum from the votes, so what the
    model's groups do not explain is counted too. Scaled by the variances within the classes; correlations that are
    negative or within two standard errors of zero, and pairs that share no items, count as zero.

    Parameters
    ----------
    latent : LatentModel
        The fitted model.
    covariance, standard_error : ndarray of shape (n_voters, n_voters)
        Of the votes, coded -1 and +1.
    """
    skill = latent.sensitivity + latent.specificity - 1
    between = (1 - latent.imbalance**2) * np.outer(skill, skill)
    within = covariance - between
    variance = np.maximum(np.diag(within), _SMALLEST_VARIANCE)
    scale = np.sqrt(np.outer(variance, variance))
    clear = np.isfinite(standard_error) & (within > _CLEARLY * standard_error)
    correlation = np.where(clear, np.clip(within / scale, 0.0, 1.0), 0.0)
    correlation[latent.copy_of[:, None] == latent.copy_of[None, :]] = 1.0
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


def expected_balanced_accuracy(
    labels: NDArray[np.integer], posterior: NDArray[np.float64], counts: NDArray[np.integer]
) -> float:
    """Return the balanced accuracy of labels if the posterior of the fitted model is right.

    Parameters
    ----------
    labels : ndarray of shape (n_patterns,)
        0 and 1.
    posterior : ndarray of shape (n_patterns,)
        Pr(Y positive | votes).
    counts : ndarray of shape (n_patterns,)
        Items with each pattern.
    """
    positive, negative = counts * posterior, counts * (1 - posterior)
    sensitivity = positive @ (labels == 1) / max(positive.sum(), 1e-300)
    specificity = negative @ (labels == 0) / max(negative.sum(), 1e-300)
    return float((sensitivity + specificity) / 2)


def unexplained_share(
    covariance: NDArray[np.float64], fitted: NDArray[np.float64], standard_error: NDArray[np.float64]
) -> float:
    """Return the share of the squared covariances that the model leaves over, beyond what chance leaves."""
    off = ~np.eye(len(covariance), dtype=bool)
    known = off & np.isfinite(covariance) & np.isfinite(standard_error)
    total = float((covariance[known] ** 2).sum())
    left = float(((covariance - fitted)[known] ** 2 - standard_error[known] ** 2).sum())
    return float(np.clip(left / total, 0.0, 1.0)) if total > 0 else 0.0
