"""Pair counts: integers that add exactly, from which the covariance follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.counts import pair_counts
from goldless.maths.covariance import CovarianceEstimate, covariance_from_counts

_EXACT_FLOAT = 2**53


@dataclass(frozen=True, eq=False)
class PairCounts:
    """What every two voters said on the items both voted on. Counts of disjoint items add, exactly.

    Attributes
    ----------
    both, first_positive, both_positive : ndarray of shape (n_voters, n_voters)
        int64: items voted on by i and j, those where i said positive, those where both did.
    """

    both: NDArray[np.int64]
    first_positive: NDArray[np.int64]
    both_positive: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.int8], weights: NDArray[np.int64] | None = None) -> PairCounts:
        """Count rows of codes, each standing for ``weights`` items (by default one)."""
        if weights is None or (weights == 1).all():
            return cls(*pair_counts(codes, complete=bool(not codes.size or codes.min() >= 0)))
        return cls(*_weighted_pair_counts(codes, weights))

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(
            self.both + other.both,
            self.first_positive + other.first_positive,
            self.both_positive + other.both_positive,
        )

    @property
    def votes_cast(self) -> NDArray[np.int64]:
        """Number of votes of each voter."""
        return np.diag(self.both).copy()

    @property
    def positive_votes(self) -> NDArray[np.int64]:
        """Number of positive votes of each voter."""
        return np.diag(self.both_positive).copy()

    @property
    def disagreements(self) -> NDArray[np.int64]:
        """Number of items on which i and j said different things."""
        return self.first_positive + self.first_positive.T - 2 * self.both_positive

    def covariance(self) -> CovarianceEstimate:
        """Return the covariance of the votes with its sampling error."""
        return covariance_from_counts(self.both, self.first_positive, self.both_positive)

    def first_copies(self, min_votes: int = 20) -> NDArray[np.int64]:
        """Return for each voter the first voter with exactly the same votes, or itself.

        Voters with fewer than ``min_votes`` votes, or one class only, may coincide by chance and are left alone.
        """
        cast, positive = self.votes_cast, self.positive_votes
        same = (self.disagreements == 0) & (self.both == cast[:, None]) & (self.both == cast[None, :])
        telling = (cast >= min_votes) & (positive > 0) & (positive < cast)
        same &= telling[:, None] & telling[None, :]
        np.fill_diagonal(same, True)
        return same.argmax(axis=1)


def _weighted_pair_counts(codes: NDArray[np.int8], weights: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Count by matrix products in float64, which are exact below 2**53."""
    if int(weights.sum()) >= _EXACT_FLOAT:
        raise ValueError("more than 2**53 items cannot be counted exactly")
    n_voters = codes.shape[1]
    totals = np.zeros((3, n_voters, n_voters))
    for start in range(0, len(codes), 1 << 16):
        block = codes[start : start + (1 << 16)]
        weight = weights[start : start + (1 << 16), None].astype(np.float64)
        positive, observed = (block == 1).astype(np.float64), (block >= 0).astype(np.float64)
        weighted = positive * weight
        totals += np.stack([(observed * weight).T @ observed, weighted.T @ observed, weighted.T @ positive])
    both, first_positive, both_positive = totals.astype(np.int64)
    return both, first_positive, both_positive
