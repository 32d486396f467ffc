"""Pair counts: integers that add exactly, from which the covariance follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import pack_bits
from goldless.kernels.pair_counts import pair_counts
from goldless.maths.covariance import CovarianceEstimate, covariance_from_counts


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
        complete = bool(not codes.size or codes.min() >= 0)
        return cls.of_bits(pack_bits(np.ascontiguousarray(codes), complete), codes.shape[1], weights)

    @classmethod
    def of_bits(cls, bits: NDArray[np.uint8], n_voters: int, weights: NDArray[np.int64] | None = None) -> PairCounts:
        """Count rows of votes as bits (:mod:`goldless.kernels.bits`)."""
        if weights is None:
            return cls(*pair_counts(bits, n_voters))
        # one exact popcount for each binary digit of the weights, over the rows that have it
        total = cls(*pair_counts(bits[weights & 1 == 1], n_voters))
        for digit in range(1, int(weights.max(initial=0)).bit_length()):
            total += cls(*(pair_counts(bits[weights >> digit & 1 == 1], n_voters))) * 2**digit
        return total

    def voters(self, chosen: NDArray[np.integer]) -> PairCounts:
        """Return the counts of some of the voters."""
        block = np.ix_(chosen, chosen)
        return PairCounts(self.both[block], self.first_positive[block], self.both_positive[block])

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(
            self.both + other.both,
            self.first_positive + other.first_positive,
            self.both_positive + other.both_positive,
        )

    def __mul__(self, times: int) -> PairCounts:
        return PairCounts(self.both * times, self.first_positive * times, self.both_positive * times)

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
