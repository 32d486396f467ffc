"""How strongly voters agree beyond what the truth makes them agree, and how many independent ones they are worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri

_CLEARLY = 2.0  # standard errors, below which a correlation is taken for chance
_BY_CHANCE = 0.05  # largest share of chance among the correlations that are taken for clear
_FEWEST_NEGATIVE = 20  # negative correlations that show how far chance goes (each pair counts twice)
_LEAST_SUM = 0.5  # of correlations with all voters: of few common items, noise alone may bring it to zero and below
_SMALLEST_VARIANCE = 1e-9
_NEGLIGIBLE = 1e-6  # share of an item
_FEW = 0.05  # of all votes, below which those cast are multiplied one by one


class Correlations(NamedTuple):
    """How strongly every two voters agree beyond what the truth makes them agree."""

    by_class: NDArray[np.float64]  # (n_classes, n_voters, n_voters): correlation of the votes given each class
    pooled: NDArray[np.float64]  # (n_voters, n_voters): the same over all classes together
    # (n_classes + 1, n_voters, n_voters): expected number of items behind each: every class, then all
    items: NDArray[np.float64]

    @property
    def are_clear(self) -> NDArray[np.bool_]:
        """Which are clearly positive, of each class and then pooled, shape (n_classes + 1, n_voters, n_voters)."""
        return self._stacked > self._limits[:, None, None] * self._chance

    @property
    def _limits(self) -> NDArray[np.float64]:
        """Standard errors from which on correlations are clear, of each class and then pooled.

        Two, or more where many pairs share few items and chance would make most of those beyond two: as many as
        Benjamini and Hochberg (1995) ask for.
        """
        above = np.triu_indices(len(self.pooled), 1)
        limits = []
        for standard, items in zip(self._stacked / self._chance, self.items, strict=True):
            n_pairs = max(int((items[above] > 1).sum()), 1)
            beyond = -np.sort(-standard[above][standard[above] > _CLEARLY])
            allowed = _BY_CHANCE * np.arange(1, len(beyond) + 1) / n_pairs
            passed = int(np.flatnonzero(ndtr(-beyond) <= allowed).max(initial=-1)) + 1
            asked = -ndtri(_BY_CHANCE * max(passed, 1) / n_pairs)
            limits.append(_CLEARLY if passed == len(beyond) > 0 else max(_CLEARLY, float(asked)))
        return np.array(limits)

    def clear(self, among: NDArray[np.bool_] | None = None) -> Correlations:
        """Return them with correlations that are negative, or may well be chance, set to zero; or all but some."""
        kept = np.where(self.are_clear if among is None else among, self._stacked.clip(0.0), 0.0)
        kept[:, np.arange(len(self.pooled)), np.arange(len(self.pooled))] = 1.0
        return Correlations(kept[:-1], kept[-1], self.items)

    def effective_votes_beside_chance(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the effective votes of each class and of all, and the variance of their logarithm that chance makes.

        A correlation that is zero passes for clear now and then. Of a normal variable above a limit of t standard
        deviations the mean is phi(t) and the square t phi(t) + Q(t). The mean is taken out; the variance counts for
        pairs that are not clear. How far chance goes is seen on the negative ones: the posterior takes up part of it.
        """
        everyone = np.arange(len(self.pooled))
        chance, unclear, kept = self._chance, ~self.are_clear, self.clear()._stacked
        chance[:, everyone, everyone] = 0.0
        standard = np.divide(self._stacked, chance, out=np.zeros(kept.shape), where=chance > 0)
        negative = standard < 0
        squares = (standard**2 * negative).sum(axis=(1, 2)) / np.maximum(negative.sum(axis=(1, 2)), 1)
        spread = np.sqrt(np.where(negative.sum(axis=(1, 2)) < _FEWEST_NEGATIVE, 1.0, squares)).clip(0.1, 1.0)
        limit = self._limits / spread
        density, beyond = np.exp(-(limit**2) / 2) / np.sqrt(2 * np.pi), ndtr(-limit)
        mean, variance = spread * density, spread**2 * (limit * density + beyond - density**2)
        own = 1 / np.maximum((kept - mean[:, None, None] * chance).sum(axis=2), _LEAST_SUM)
        worth = own.sum(axis=1)
        slopes = (own[:, :, None] ** 2 + own[:, None, :] ** 2) / worth[:, None, None]
        return worth, variance * (slopes**2 * chance**2 * unclear).sum(axis=(1, 2)) / 2

    @property
    def _stacked(self) -> NDArray[np.float64]:
        return np.concatenate([self.by_class, self.pooled[None]])

    @property
    def _chance(self) -> NDArray[np.float64]:
        """Standard errors of correlations that are zero."""
        return 1 / np.sqrt(np.maximum(self.items, 1.0))

    def least_effective_votes(self, reach: float) -> NDArray[np.float64]:
        """Return the effective votes if every two voters correlate as much as the mean over all pairs allows.

        That is the mean, weighted by items, plus ``reach`` standard errors; a value for each class, and for all.
        """
        n_voters = len(self.pooled)
        if n_voters == 1:
            return np.ones(len(self.items))
        pairs = np.triu_indices(n_voters, 1)
        stacked = self._stacked[:, pairs[0], pairs[1]]
        items = np.maximum(self.items[:, pairs[0], pairs[1]], _SMALLEST_VARIANCE)
        total = items.sum(axis=1)
        most = np.clip((stacked * items).sum(axis=1) / total + reach / np.sqrt(total), 0.0, 1.0)
        return n_voters / (1 + (n_voters - 1) * most)


def within_class_correlations(
    codes: NDArray[np.int8], counts: NDArray[np.number], posterior: NDArray[np.float64]
) -> Correlations:
    """Return the correlations of the votes within the classes, from items and their posterior.

    ``codes`` (n_patterns, n_voters): -1 missing, then the symbols; ``counts`` (n_patterns,): items with each pattern;
    ``posterior`` (n_patterns, n_classes): Pr(Y | votes).
    """
    return class_correlations(codes, counts * posterior.T)


def class_correlations(codes: NDArray[np.int8], items: NDArray[np.floating]) -> Correlations:
    """Return the correlations of the votes within the classes.

    Items are weighted by Pr(Y | votes). If the posterior is right, the mean of any product of votes weighted so is
    its mean in the class (tower property); no more is used of the model, so dependence that its groups miss counts
    too. A posterior that follows an error that voters share takes it for truth, and the correlation is then too low.

    ``codes`` (n_patterns, n_voters): -1 missing, then the symbols; ``items`` (n_classes, n_patterns): expected items
    of each class with each pattern.
    """
    n_voters, n_symbols = codes.shape[1], max(int(codes.max(initial=1)) + 1, 2)
    # the second of two symbols has the same covariance as the first
    symbols = range(n_symbols) if n_symbols > 2 else range(1, 2)
    missing = bool(codes.size) and bool(codes.min() < 0)
    covariances, variances, shared = [], [], []
    for weight in items:
        # most items of many classes have next to nothing of one of them
        rows = slice(None) if len(items) == 2 else np.flatnonzero(weight > _NEGLIGIBLE * weight.max(initial=0.0))
        here, weight = codes[rows], weight[rows]
        voted = _indicators(here >= 0) if missing else None
        covariance, variance = np.zeros((n_voters, n_voters)), np.zeros(n_voters)
        both = np.full((n_voters, n_voters), weight.sum()) if voted is None else _together(voted, weight, voted)
        total = np.maximum(both, _SMALLEST_VARIANCE)
        for symbol in symbols:
            said = _indicators(here == symbol)
            together = _together(said, weight, said)
            first = np.repeat(np.diag(together)[:, None], n_voters, axis=1)
            if voted is not None:
                first = _together(said, weight, voted)
            share = first / total
            covariance += np.where(both > 1, together / total - share * share.T, 0.0)
            own = np.diag(share)
            variance += own * (1 - own)
        covariances.append(covariance)
        variances.append(variance)
        shared.append(both)
    by_class = [scaled(*pair) for pair in zip(covariances, variances, strict=True)]
    both = np.sum(shared, axis=0)
    total = np.maximum(both, _SMALLEST_VARIANCE)
    mean = np.sum([part * of_class for part, of_class in zip(shared, covariances, strict=True)], axis=0) / total
    of_votes = [np.diag(part) * of_class for part, of_class in zip(shared, variances, strict=True)]
    variance = np.sum(of_votes, axis=0) / np.diag(total)
    return Correlations(np.stack(by_class), scaled(mean, variance), np.stack([*shared, both]))


def _indicators(does: NDArray[np.bool_]) -> NDArray[np.float64] | csr_array:
    """Return ones where voters do something, as a sparse matrix where few do."""
    return csr_array(does, dtype=np.float64) if does.sum() < _FEW * does.size else does.astype(np.float64)


def _together(
    first: NDArray[np.float64] | csr_array, weight: NDArray[np.floating], second: NDArray[np.float64] | csr_array
) -> NDArray[np.float64]:
    """Return the weight of the items on which a voter does the first and another the second."""
    product = (first * weight[:, None]).T @ second
    return product if isinstance(product, np.ndarray) else product.toarray()


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
    return 1 / np.maximum(correlation.sum(axis=1), _LEAST_SUM)


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

    ``echo`` (n_voters, n_voters): clear correlations of all voters; ``silent`` (n_voters,): voters that say nothing;
    ``voters``: columns of the voters in question.
    """
    chosen = np.asarray(voters, dtype=np.int64)
    chosen = chosen[~silent[chosen]]
    return effective_votes(echo[np.ix_(chosen, chosen)]) if len(chosen) else 0.0
