"""Voters whose symbols are in order: their prior, and the M-step that keeps the order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.isotonic import order_counts

STRENGTH = 30.0  # pseudo-votes of a row where the model holds: on 60 panels +0.3 over 1.5, the strength for labels
TILT = 2 / 3  # with two even bins and 1.5 pseudo-votes this is the prior of labels, (1, 0.5)
AGAINST_ORDER = 3.0  # log-likelihood that the falling order must gain: a voter against the others
_FEWEST = 1e-6  # of a voter's answers: a bin that nobody used is not impossible
_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class Ordered:
    """What is expected of voters whose symbols are ordered bins, towards two states.

    A bin that a voter uses with share p, in the middle of the ranks u of its answers, has the pseudo-votes
    ``c p (1 + tau (2 u - 1))`` in the positive state and ``c p (1 - tau (2 u - 1))`` in the negative one. Many
    pseudo-votes make all voters equal, which is nearly the mean of their ranks. These are 2 c items of two even
    classes; of uneven ones that are known, the odds of every bin are multiplied by what makes the sums uneven alike,
    so that a voter is expected to turn where the rare class begins and not at its median.
    """

    share: NDArray[np.float64]  # (n_voters, n_symbols): share of the answers of each voter in each bin
    n_bins: NDArray[np.int64]  # (n_voters,): how many bins each voter has
    # (n_voters, n_symbols): how far each bin speaks for the positive state when EM starts, from 0 to 1
    positive: NDArray[np.float64]
    by_rank: bool = True  # whether that is a rank and no probability
    # strength, tilt: c and tau
    strength: float = STRENGTH
    tilt: float = TILT
    balance: float = 0.5  # share of the positive state, if it is known; one half else

    @property
    def midranks(self) -> NDArray[np.float64]:
        """Middle of the ranks of the answers in each bin, from 0 to 1."""
        return midranks_of(self.share)

    def extended(self, n_voters: int) -> Ordered:
        """Return the same with voters of two even bins behind, up to a number."""
        n_more = n_voters - len(self.n_bins)
        if not n_more:
            return self
        more = np.zeros((n_more, self.share.shape[1]))
        more[:, :2] = 0.5
        says = np.zeros(more.shape)
        says[:, 1] = 1.0
        return replace(
            self,
            share=np.concatenate([self.share, more]),
            n_bins=np.concatenate([self.n_bins, np.full(n_more, 2)]),
            positive=np.concatenate([self.positive, says]),
        )

    @cached_property
    def pseudo_votes(self) -> NDArray[np.float64]:
        """Pseudo-votes of the negative and the positive state, shape (n_voters, 2, n_symbols)."""
        used = np.arange(self.share.shape[1]) < self.n_bins[:, None]
        share = np.where(used, np.maximum(self.share, _FEWEST), 0.0)
        positive = (1 + self.tilt * (2 * self.midranks - 1)) / 2
        if self.balance != 0.5:
            positive = _with_mean(positive, share, self.balance)
        return 2 * self.strength * share[:, None, :] * np.stack([1 - positive, positive], axis=1)

    def arranged(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return counts, shape (n_voters, 2, n_symbols), in likelihood-ratio order."""
        arranged, falls = np.array(counts), np.zeros(len(counts), dtype=np.bool_)
        order_counts(arranged, self.n_bins, AGAINST_ORDER, falls)
        return arranged

    def n_falling(self, votes: NDArray[np.float64]) -> int:
        """Return how many voters have the falling order in tables of probabilities."""
        return int(falling(votes, self.n_bins).sum())


def _with_mean(probability: NDArray[np.float64], share: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """Return probabilities, a row for each voter, with their odds multiplied so that they have this mean."""
    odds = probability / (1 - probability)
    total = share.sum(axis=1, keepdims=True)
    low, high = (np.full((len(share), 1), end) for end in (-40.0, 40.0))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        found = 1 / (1 + np.exp(-middle) / odds)
        above = (share * found).sum(axis=1, keepdims=True) > mean * total
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return found


def auc_of(confusion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how often each voter ranks a positive item above a negative one, from Pr(bin | Y).

    ``sum_b P(b | +) (P(below b | -) + P(b | -) / 2)``.
    """
    negative, positive = confusion[:, 0], confusion[:, 1]
    return (positive * (np.cumsum(negative, axis=1) - negative / 2)).sum(axis=1)


def midranks_of(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the middle of the ranks of each bin from the shares of the bins, along the last axis."""
    return np.cumsum(share, axis=-1) - share / 2


def share_above(values: NDArray[np.float64], counts: NDArray[np.float64], share: float) -> float:
    """Return the number above which this share of the values lies."""
    order = np.argsort(-values, kind="stable")
    total = np.cumsum(counts[order])
    position = int(np.searchsorted(total, share * total[-1], side="right"))
    if position == 0:
        return float(values[order[0]]) + 1.0
    if position == len(order):
        return float(values[order[-1]]) - 1.0
    return float(values[order[position - 1]] + values[order[position]]) / 2


def falling(votes: NDArray[np.float64], n_bins: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for which voters the first bin speaks more for the positive state than the last one."""
    voters, last = np.arange(len(votes)), n_bins - 1
    return votes[:, 1, 0] * votes[voters, 0, last] > votes[:, 0, 0] * votes[voters, 1, last] * (1 + 1e-9)
