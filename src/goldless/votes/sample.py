"""A small weighted sample of the votes that a fitted model keeps, to judge panels by real votes later."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.kernels.bits import pack_bits, unpack_bits
from goldless.kernels.sparse import Codes, SparseCodes
from goldless.maths.correlations import class_correlations

_MOST_PATTERNS = 1 << 14


@dataclass(frozen=True, eq=False)
class VoteSample:
    """Patterns of votes, and how much of each class they stand for."""

    packed: NDArray[np.uint8]  # (n_patterns, n_bytes): the patterns as bits (`bits`)
    # (n_classes, n_patterns): share of the items of each class with each pattern, by the posterior; float32
    weights: NDArray[np.float32]
    n_voters: int  # number of voters
    n_items: NDArray[np.float64]  # (n_classes,): expected items of each class that it stands for

    @classmethod
    def of(cls, codes: Codes, counts: NDArray[np.int64], posterior: NDArray[np.float64]) -> VoteSample:
        """Return a sample of distinct patterns in sorted order.

        Up to 16,384 patterns are all kept. Of more, as many items in all are taken, the same number of each class,
        evenly spaced in the order of the patterns, so the sample does not depend on the order of the items.

        ``codes`` (n_patterns, n_voters); ``counts`` (n_patterns,): items with each pattern; ``posterior``
        (n_patterns, n_classes): Pr(Y | votes).
        """
        shares, n_items = [], []
        for of_class in posterior.T:
            items = counts * of_class
            total = np.cumsum(items)
            n_items.append(float(total[-1]))
            if len(counts) > _MOST_PATTERNS and total[-1] > 0:
                n_taken = _MOST_PATTERNS // posterior.shape[1]
                places = (np.arange(n_taken) + 0.5) * (total[-1] / n_taken)
                rows = np.searchsorted(total, places, side="right").clip(max=len(counts) - 1)
                shares.append(np.bincount(rows, minlength=len(counts)) / n_taken)
            else:
                shares.append(items / max(float(total[-1]), 1e-300))
        weights = np.stack(shares)
        kept = np.flatnonzero(weights.any(axis=0))
        chosen = codes[kept]
        packed = pack_bits(chosen.dense() if isinstance(chosen, SparseCodes) else chosen)
        return cls(packed, weights[:, kept].astype(np.float32), codes.shape[1], np.array(n_items))

    @classmethod
    def of_codes(cls, codes: NDArray[np.int8], other: VoteSample) -> VoteSample:
        """Return another sample with other codes of its patterns."""
        return replace(other, packed=pack_bits(np.ascontiguousarray(codes)))

    @property
    def codes(self) -> NDArray[np.int8]:
        """Patterns as codes, shape (n_patterns, n_voters)."""
        return unpack_bits(self.packed, self.n_voters)

    def subset(self, voters: ArrayLike) -> VoteSample:
        """Return the sample of some of the voters."""
        codes = np.ascontiguousarray(self.codes[:, np.asarray(voters, dtype=np.int64)])
        return replace(self, packed=pack_bits(codes), n_voters=codes.shape[1])

    def echo(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the clear correlations of the votes within the classes, and which voters say nothing."""
        codes = self.codes
        items = self.weights.astype(np.float64) * self.n_items[:, None]
        highest = codes.max(axis=0)
        constant = (np.where(codes < 0, highest, codes) == highest).all(axis=0)
        abstains = (codes < 0).any(axis=0) & (codes >= 0).any(axis=0)
        return class_correlations(codes, items).clear().pooled, constant & ~abstains
