"""Covariance of the votes from pair tables, with its sampling error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CovarianceEstimate:
    """Covariance of votes under a likeness of symbols, from the items both voters voted on.

    Two labels are coded -1 and +1. More are corners of a regular simplex, so that the covariance of two voters is how
    much more often they agree than by chance.

    Attributes
    ----------
    covariance : ndarray of shape (n_voters, n_voters)
        Unbiased sample covariance; 0 for a pair with fewer than two common items.
    standard_error : ndarray of shape (n_voters, n_voters)
        Sampling standard error of every entry; infinite for a pair with fewer than two common items.
    n_pairs : ndarray of shape (n_voters, n_voters)
        Number of items both voted on.
    variance : ndarray of shape (n_voters,)
        Variance of each voter's votes.
    mean : ndarray of shape (n_voters,)
        Mean vote of each voter over all its votes, coded -1 and +1; not a number for more than two labels.
    """

    covariance: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    n_pairs: NDArray[np.int64]
    variance: NDArray[np.float64]
    mean: NDArray[np.float64]

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.covariance)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Pairs of different voters with at least two common items."""
        return (self.n_pairs >= 2) & ~np.eye(self.n_voters, dtype=bool)

    def voters(self, chosen: NDArray[np.integer]) -> CovarianceEstimate:
        """Return the covariance of some of the voters."""
        block = np.ix_(chosen, chosen)
        return CovarianceEstimate(
            self.covariance[block],
            self.standard_error[block],
            self.n_pairs[block],
            self.variance[chosen],
            self.mean[chosen],
        )


def own_order(covariance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the voters in an order that their covariances alone decide.

    Where two answers are equally good, the order of the voters decides between them, by ties of eigenvectors, pivots
    and roots: in this order no answer depends on that of the columns.
    """
    scale = float(np.abs(covariance).max(initial=0.0)) or 1.0
    rows = np.round(covariance / scale, 9) + 0.0  # no negative zeros
    np.fill_diagonal(rows, np.inf)  # it is not read
    return np.lexsort(np.sort(rows, axis=1).T[::-1])


def covariance_of(tables: NDArray[np.int64], likeness: NDArray[np.float64] | None = None) -> CovarianceEstimate:
    """Estimate the covariance from pair tables.

    Parameters
    ----------
    tables : ndarray of shape (n_symbols, n_symbols, n_voters, n_voters)
        Items on which i said a and j said b.
    likeness : ndarray of shape (n_symbols, n_symbols), optional
        How alike two symbols are, K; by default V / (V - 1) if they are the same and 0 otherwise, which for two
        labels is the covariance of votes -1 and +1.

    Notes
    -----
    With J the joint shares of a pair and ``z_ab = K_ab - E K_a. - E K_.b + E K`` the product of two centred votes is
    z, so the covariance is ``r = sum J z`` and its sampling variance ``(sum J z^2 - r^2) / n``.
    """
    n_symbols = len(tables)
    if likeness is None:
        likeness = np.eye(n_symbols) * n_symbols / (n_symbols - 1)
    both = tables.sum(axis=(0, 1))
    enough = both >= 2
    count = np.where(enough, both, 2).astype(float)
    first = tables.sum(axis=1) / count  # share of a among the votes of i on common items
    second = tables.sum(axis=0) / count  # share of b among those of j
    like_second = np.tensordot(likeness, second, axes=(1, 0))  # E K_a.
    like_first = np.tensordot(likeness, first, axes=(0, 0))  # E K_.b
    like_both = (first * like_second).sum(axis=0)  # E K
    biased, squares = np.zeros(both.shape), np.zeros(both.shape)
    for a in range(n_symbols):
        for b in range(n_symbols):
            joint = tables[a, b] / count
            product = likeness[a, b] - like_second[a] - like_first[b] + like_both
            biased += joint * product
            squares += joint * product**2
    biased, squares = (biased + biased.T) / 2, (squares + squares.T) / 2  # symmetric to the last bit
    biased = np.where(enough, biased, 0.0)
    variance_of_product = squares - biased**2
    standard_error = np.where(enough, np.sqrt(np.maximum(variance_of_product, 0.0) / count), np.inf)
    cast = np.einsum("aaii->ai", tables)
    share = cast / np.maximum(cast.sum(axis=0), 1)
    variance = np.diag(likeness) @ share - np.einsum("ai,ab,bi->i", share, likeness, share)
    mean = 2 * share[1] - 1.0 if n_symbols == 2 else np.full(len(both), np.nan)
    return CovarianceEstimate(
        biased * count / (count - 1),
        standard_error,
        both,
        np.where(cast.any(axis=0), variance, 1.0),
        np.where(cast.any(axis=0), mean, 0.0),
    )
