"""A small weighted sample of the votes that a fitted model keeps, to judge panels by real votes later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.maths.correlations import class_correlations

_MOST_PATTERNS = 1 << 14


@dataclass(frozen=True, eq=False)
class VoteSample:
    """Patterns of votes, and how much of each class they stand for.

    Attributes
    ----------
    packed : ndarray of shape (2, n_patterns, n_bytes)
        Who voted, and who voted positive, one bit a voter.
    weights : ndarray of shape (2, n_patterns)
        Share of the negative and of the positive items with each pattern, by the posterior; float32.
    n_voters : int
        Number of voters.
    n_items : tuple of float
        Expected negative and positive items that it stands for; by default so many that nothing is chance.
    """

    packed: NDArray[np.uint8]
    weights: NDArray[np.float32]
    n_voters: int
    n_items: tuple[float, float] = (1e12, 1e12)

    @classmethod
    def of(cls, codes: NDArray[np.int8], counts: NDArray[np.int64], posterior: NDArray[np.float64]) -> VoteSample:
        """Return a sample of distinct patterns in sorted order.

        Up to 16,384 patterns are all kept. Of more, half as many items of each class are taken, evenly spaced in the
        order of the patterns, so the sample does not depend on the order of the items.

        Parameters
        ----------
        codes : ndarray of shape (n_patterns, n_voters)
        counts : ndarray of shape (n_patterns,)
            Items with each pattern.
        posterior : ndarray of shape (n_patterns,)
            Pr(Y positive | votes).
        """
        shares, n_items = [], []
        for items in (counts * (1 - posterior), counts * posterior):
            total = np.cumsum(items)
            n_items.append(float(total[-1]))
            if len(counts) > _MOST_PATTERNS and total[-1] > 0:
                n_taken = _MOST_PATTERNS // 2
                places = (np.arange(n_taken) + 0.5) * (total[-1] / n_taken)
                rows = np.searchsorted(total, places, side="right").clip(max=len(counts) - 1)
                shares.append(np.bincount(rows, minlength=len(counts)) / n_taken)
            else:
                shares.append(items / max(float(total[-1]), 1e-300))
        weights = np.stack(shares)
        kept = np.flatnonzero(weights.any(axis=0))
        sampled = _packed(codes[kept]), weights[:, kept].astype(np.float32)
        return cls(*sampled, codes.shape[1], (n_items[0], n_items[1]))

    @property
    def codes(self) -> NDArray[np.int8]:
        """Patterns as codes, shape (n_patterns, n_voters)."""
        voted, positive = np.unpackbits(self.packed, axis=2, count=self.n_voters).astype(np.int8)
        return np.where(voted, positive, -1).astype(np.int8)

    def subset(self, voters: ArrayLike) -> VoteSample:
        """Return the sample of some of the voters."""
        codes = self.codes[:, np.asarray(voters, dtype=np.int64)]
        return VoteSample(_packed(codes), self.weights, codes.shape[1], self.n_items)

    def echo(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the clear correlations of the votes within the classes, and which voters say nothing."""
        codes = self.codes
        items = self.weights.astype(np.float64) * np.array(self.n_items)[:, None]
        says_both = (codes == 1).any(axis=0) & (codes == 0).any(axis=0)
        abstains = (codes < 0).any(axis=0) & (codes >= 0).any(axis=0)
        return class_correlations(codes, items).clear().pooled, ~(says_both | abstains)


def _packed(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    return np.stack([np.packbits(codes >= 0, axis=1), np.packbits(codes == 1, axis=1)])
