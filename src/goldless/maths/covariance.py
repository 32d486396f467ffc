"""Covariance of the votes from counts, with its sampling error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CovarianceEstimate:
    """Covariance of votes coded -1 and +1, from the items both voters voted on.

    Attributes
    ----------
    covariance : ndarray of shape (n_voters, n_voters)
        Unbiased sample covariance; 0 for a pair with fewer than two common items.
    standard_error : ndarray of shape (n_voters, n_voters)
        Sampling standard error of every entry; infinite for a pair with fewer than two common items.
    mean : ndarray of shape (n_voters,)
        Mean vote of each voter over all its votes.
    n_pairs : ndarray of shape (n_voters, n_voters)
        Number of items both voted on.
    """

    covariance: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    mean: NDArray[np.float64]
    n_pairs: NDArray[np.int64]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Pairs of different voters with at least two common items."""
        return (self.n_pairs >= 2) & ~np.eye(len(self.mean), dtype=bool)


def covariance_from_counts(
    both: NDArray[np.int64], first_positive: NDArray[np.int64], both_positive: NDArray[np.int64]
) -> CovarianceEstimate:
    """Estimate the covariance from pair counts.

    Parameters
    ----------
    both, first_positive, both_positive : ndarray of shape (n_voters, n_voters)
        Items voted on by i and j, those where i said positive, those where both did.

    Notes
    -----
    A vote f = -1, +1 with mean mu has (f - mu)^2 = (1 - mu^2) - 2 mu (f - mu). So the product of two centred
    votes has variance (1 - mu_i^2)(1 - mu_j^2) + 4 mu_i mu_j r_ij - r_ij^2, which needs no fourth moments.
    """
    enough = both >= 2
    count = np.where(enough, both, 2).astype(float)
    share_first = first_positive / count
    share_second = share_first.T
    # Cov(+-1 votes) = 4 Cov(0/1 votes)
    biased = np.where(enough, 4 * (both_positive / count - share_first * share_second), 0.0)
    covariance = biased * count / (count - 1)
    mean_first, mean_second = 2 * share_first - 1, 2 * share_second - 1
    variance = (1 - mean_first**2) * (1 - mean_second**2) + 4 * mean_first * mean_second * biased - biased**2
    standard_error = np.where(enough, np.sqrt(np.maximum(variance, 0.0) / count), np.inf)
    votes_cast = np.diag(both)
    mean = 2 * np.diag(both_positive) / np.maximum(votes_cast, 1) - 1.0
    return CovarianceEstimate(covariance, standard_error, np.where(votes_cast > 0, mean, 0.0), both)
