"""Covariance of the votes from pair tables, with its sampling error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldless.maths.checks import matrix_rows

_FEW_ITEMS = 100  # common items, below which their own variance is not believed
_PSEUDO_ITEMS = 5.0


@dataclass(frozen=True)
class CovarianceEstimate:
    """Covariance of votes, from the items both voters voted on.

    Two labels are coded -1 and +1. More are corners of a regular simplex, so that the covariance of two voters is how
    much more often they agree than by chance.
    """

    # (n_voters, n_voters): unbiased sample covariance; 0 for a pair with fewer than two common items
    covariance: NDArray[np.float64]
    # (n_voters, n_voters): sampling standard error of every entry; infinite for a pair with fewer than two common
    # items
    standard_error: NDArray[np.float64]
    n_pairs: NDArray[np.int64]  # (n_voters, n_voters): number of items both voted on
    variance: NDArray[np.float64]  # (n_voters,): variance of each voter's votes
    # (n_voters,): mean vote of each voter over all its votes, coded -1 and +1; not a number for more than two labels
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


def covariance_of(tables: NDArray[np.int64]) -> CovarianceEstimate:
    """Estimate the covariance from pair tables.

    ``tables`` (n_symbols, n_symbols, n_voters, n_voters): items on which i said a and j said b.

    Notes
    -----
    How alike two symbols are, K, is V / (V - 1) if they are the same and 0 otherwise, which for two labels makes the
    covariance that of votes -1 and +1. With J the joint shares of a pair and ``z_ab = K_ab - E K_a. - E K_.b + E K``
    the product of two centred votes is z, so the covariance is ``r = sum J z`` and its sampling variance
    ``(sum J z^2 - r^2) / n``.

    Of few common items the variance would be far too small as often as they happen to agree: two voters that say the
    same on five items have none. So below 100 items it is that of the items and of five more on which the two voters
    vote independently. Without this the misfit of 250 independent voters with 5 items in common was 97 in place of 1.
    """
    n_symbols = len(tables)
    alike = n_symbols / (n_symbols - 1)
    n_voters = tables.shape[2]
    cast = np.einsum("aaii->ai", tables)
    share = cast / np.maximum(cast.sum(axis=0), 1)
    both, covariance, standard_error = (np.empty((n_voters, n_voters), dtype) for dtype in (np.int64, float, float))
    for rows in matrix_rows(n_voters):
        part = tables[:, :, rows]
        both[rows] = part.sum(axis=(0, 1))
        enough = both[rows] >= 2
        count = np.where(enough, both[rows], 2).astype(float)
        biased, squares = _moments(part, tables[:, :, :, rows], count)
        biased = np.where(enough, biased, 0.0)
        variance_of_product = squares - biased**2
        few = enough & (both[rows] < _FEW_ITEMS)
        if few.any():
            chance = _PSEUDO_ITEMS * np.einsum("ai,bj->abij", share[:, rows], share)
            turned = chance.transpose(1, 0, 3, 2)
            smooth, smooth_squares = _moments(part + chance, tables[:, :, :, rows] + turned, count + _PSEUDO_ITEMS)
            variance_of_product = np.where(few, smooth_squares - smooth**2, variance_of_product)
        covariance[rows] = biased * count / (count - 1)
        standard_error[rows] = np.where(enough, np.sqrt(np.maximum(variance_of_product, 0.0) / count), np.inf)
    variance = alike * (share - share**2).sum(axis=0)
    mean = 2 * share[1] - 1.0 if n_symbols == 2 else np.full(len(both), np.nan)
    return CovarianceEstimate(
        covariance,
        standard_error,
        both,
        np.where(cast.any(axis=0), variance, 1.0),
        np.where(cast.any(axis=0), mean, 0.0),
    )


def covariance_of_values(tables: NDArray[np.int64], values: NDArray[np.float64]) -> CovarianceEstimate:
    """Estimate the covariance of numbers that symbols stand for, such as midranks, scaled to unit variance.

    For any function g_i of a voter's vote, ``Cov(g_i, g_j) = Var(alpha_k) D_i D_j`` within a group and
    ``Cov(alpha_k, alpha_l) D_i D_j`` across, with ``D_i = E[g_i | +] - E[g_i | -]``: Lemma 1 as it stands.

    ``tables`` (n_symbols, n_symbols, n_voters, n_voters): items on which i said a and j said b; ``values`` (n_voters,
    n_symbols): what each symbol of each voter stands for.

    Notes
    -----
    With x, y centred on the common items of a pair, ``r = mean(x y)`` has the sampling variance
    ``(mean(x^2 y^2) - r^2) / n``. Both come from the moments ``mean(g^p h^q)`` with p, q up to 2.
    """
    cast = np.einsum("aaii->ia", tables)
    share = cast / np.maximum(cast.sum(axis=1, keepdims=True), 1)
    mean = (share * values).sum(axis=1, keepdims=True)
    spread = np.sqrt((share * (values - mean) ** 2).sum(axis=1, keepdims=True))
    scaled = (values - mean) / np.where(spread > 0, spread, 1.0)
    both = tables.sum(axis=(0, 1))
    enough = both >= 2
    count = np.where(enough, both, 2).astype(float)
    powers = [scaled.T**power for power in range(3)]
    moment = {
        (p, q): np.einsum("abij,ai,bj->ij", tables, powers[p], powers[q], optimize=True) / count
        for p in range(3)
        for q in range(3)
    }
    first, second = moment[1, 0], moment[0, 1]  # means of i and of j on the common items
    biased = moment[1, 1] - first * second
    squares = (
        moment[2, 2]
        - 2 * second * moment[2, 1]
        - 2 * first * moment[1, 2]
        + second**2 * moment[2, 0]
        + first**2 * moment[0, 2]
        + 4 * first * second * moment[1, 1]
        - 3 * first**2 * second**2
    )
    biased, squares = (biased + biased.T) / 2, (squares + squares.T) / 2  # symmetric to the last bit
    biased = np.where(enough, biased, 0.0)
    standard_error = np.where(enough, np.sqrt(np.maximum(squares - biased**2, 0.0) / count), np.inf)
    n_voters = len(values)
    return CovarianceEstimate(
        biased * count / (count - 1), standard_error, both, np.ones(n_voters), np.zeros(n_voters)
    )


def _moments(
    tables: NDArray, turned: NDArray, count: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means of the product of two centred votes and of its square, for pairs of some voters with all.

    ``turned`` has the same pairs the other way round: sums of both are symmetric to the last bit.
    """
    of_pairs = _one_way(tables, count)
    of_turned = of_pairs if tables.shape == turned.shape else _one_way(turned, count.T)
    return (of_pairs[0] + of_turned[0].T) / 2, (of_pairs[1] + of_turned[1].T) / 2


def _one_way(tables: NDArray, count: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means of the product of two centred votes and of its square, as the sums come."""
    n_symbols, alike = len(tables), len(tables) / (len(tables) - 1)
    first = tables.sum(axis=1) / count  # share of a among the votes of i on common items
    second = tables.sum(axis=0) / count  # share of b among those of j
    like_second, like_first = alike * second, alike * first  # E K_a. and E K_.b
    like_both = (first * like_second).sum(axis=0)  # E K
    product_mean, square_mean = np.zeros(count.shape), np.zeros(count.shape)
    for a in range(n_symbols):
        for b in range(n_symbols):
            joint = tables[a, b] / count
            product = alike * (a == b) - like_second[a] - like_first[b] + like_both
            product_mean += joint * product
            square_mean += joint * product**2
    return product_mean, square_mean
