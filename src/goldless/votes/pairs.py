"""Pair tables: integers that add exactly, from which the covariance follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import pack_bits, unpack_bits
from goldless.kernels.pair_counts import pair_counts
from goldless.kernels.threads import one_linear_algebra_thread
from goldless.maths.covariance import CovarianceEstimate, covariance_of

FEWEST_TO_COPY = 20  # votes: with fewer two voters may well say the same
_FEW_PRODUCTS = 1 << 23  # that numpy adds before a kernel would be compiled


@dataclass(frozen=True, eq=False)
class PairTables:
    """What every two voters said on the items both voted on. Tables of disjoint items add, exactly."""

    # (n_symbols, n_symbols, n_voters, n_voters): int64: items on which voter i said a and voter j said b
    tables: NDArray[np.int64]

    @classmethod
    def of(
        cls, codes: NDArray[np.int8], n_symbols: int | None = None, weights: NDArray[np.int64] | None = None
    ) -> PairTables:
        """Count rows of codes, each standing for ``weights`` items (by default one)."""
        if n_symbols is None:
            n_symbols = max(int(codes.max(initial=1)) + 1, 2)
        return cls.of_bits(pack_bits(np.ascontiguousarray(codes), n_symbols), codes.shape[1], n_symbols, weights)

    @classmethod
    def of_bits(
        cls, bits: NDArray[np.uint8], n_voters: int, n_symbols: int, weights: NDArray[np.int64] | None = None
    ) -> PairTables:
        """Count rows of votes as bits (:mod:`goldless.kernels.bits`)."""
        if len(bits) * (n_voters * n_symbols) ** 2 <= _FEW_PRODUCTS:
            return cls(_by_product(unpack_bits(bits, n_voters), n_symbols, weights))
        if weights is None:
            return cls(pair_counts(bits, n_voters, n_symbols))
        # one exact popcount for each binary digit of the weights, over the rows that have it
        total = pair_counts(bits[weights & 1 == 1], n_voters, n_symbols)
        for digit in range(1, int(weights.max(initial=0)).bit_length()):
            total += pair_counts(bits[weights >> digit & 1 == 1], n_voters, n_symbols) * 2**digit
        return cls(total)

    def voters(self, chosen: NDArray[np.integer]) -> PairTables:
        """Return the tables of some of the voters."""
        if np.array_equal(chosen, np.arange(self.n_voters)):
            return self
        return PairTables(self.tables[:, :, chosen[:, None], chosen[None, :]])

    def __add__(self, other: PairTables) -> PairTables:
        if self.n_symbols != other.n_symbols:  # of an alphabet that has grown in between
            more = max(self.n_symbols, other.n_symbols)
            return PairTables(self._padded(more) + other._padded(more))
        return PairTables(self.tables + other.tables)

    def _padded(self, n_symbols: int) -> NDArray[np.int64]:
        """Return the tables of more symbols, those that are added never said."""
        more = (0, n_symbols - self.n_symbols)
        return np.pad(self.tables, (more, more, (0, 0), (0, 0)))

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.tables.shape[-1]

    @property
    def n_symbols(self) -> int:
        """Number of symbols."""
        return len(self.tables)

    @property
    def both(self) -> NDArray[np.int64]:
        """Number of items that both voted on, shape (n_voters, n_voters)."""
        return self.tables.sum(axis=(0, 1))

    @property
    def cast(self) -> NDArray[np.int64]:
        """Number of votes of each voter for each symbol, shape (n_symbols, n_voters)."""
        return np.einsum("aaii->ai", self.tables).copy()

    @property
    def agreements(self) -> NDArray[np.int64]:
        """Number of items on which i and j said the same."""
        return np.einsum("aaij->ij", self.tables)

    def covariance(self) -> CovarianceEstimate:
        """Return the covariance of the votes with its sampling error."""
        return covariance_of(self.tables)

    def first_copies(self) -> NDArray[np.int64]:
        """Return for each voter the first voter with exactly the same votes, or itself.

        Voters with fewer than 20 votes, or one symbol only, may coincide by chance and are left alone.
        """
        cast, both = self.cast, self.both
        n_votes = cast.sum(axis=0)
        same = (self.agreements == both) & (both == n_votes[:, None]) & (both == n_votes[None, :])
        telling = (n_votes >= FEWEST_TO_COPY) & ((cast > 0).sum(axis=0) > 1)
        same &= telling[:, None] & telling[None, :]
        np.fill_diagonal(same, True)
        return same.argmax(axis=1)


@one_linear_algebra_thread()
def _by_product(codes: NDArray[np.int8], n_symbols: int, weights: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Count a few rows: whole numbers below 2**53, so that a product of matrices adds them exactly."""
    said = (codes[:, None, :] == np.arange(n_symbols)[:, None]).astype(np.float64)
    n_rows, _, n_voters = said.shape
    flat = said.reshape(n_rows, n_symbols * n_voters)
    total = (flat if weights is None else flat * weights[:, None]).T @ flat
    return total.reshape(n_symbols, n_voters, n_symbols, n_voters).transpose(0, 2, 1, 3).round().astype(np.int64)
