"""Which items an audit draws: strata by predicted label and confidence, and how many labels each gets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FEWEST_IN_STRATUM = 5  # labels; with three, intervals of bad labels held too rarely
_MOST_STRATA = 4  # for each predicted label; with five the lowest family of panels fell to 91 %
_FEWEST_IN_BLOCK = 3  # labels
_LEAST_SHARE = 0.1  # of the labels, for each predicted label
# The error rate that strata are planned with: the model's posterior tempered as real votes ask for, and never below
# 10 %, for the model is too sure (its raw posterior made samples worse than simple random ones).
_TEMPER, _FLOOR = 2.6, 0.1


class Design(NamedTuple):
    """Strata of items, and how many are drawn from each."""

    stratum: NDArray[np.int64]  # (n_items,): stratum of every item
    # (n_strata,): strata of one block hold items with the same predicted label; all are of one block if labels are
    # too few
    block: NDArray[np.int64]
    # size, drawn: (n_strata,): how many items a stratum has, and how many of them are drawn
    size: NDArray[np.int64]
    drawn: NDArray[np.int64]
    planned_error: NDArray[np.float64]  # (n_strata,): the error rate that it was planned with


def margins_of(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return by how much the score of each item's label exceeds that of the best other class, in spreads of scores.

    ``scores`` are log-odds, shape (n_items, n_classes). A label that is not the largest has a negative margin.
    """
    rows = np.arange(len(scores))
    others = scores.copy()
    others[rows, labels] = -np.inf
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = 2 * np.sqrt(centred.var(axis=0).mean())  # of two classes the standard deviation of the log-odds
    return (scores[rows, labels] - others.max(axis=1)) / (spread + 0.5)


def make_design(labels: NDArray[np.int64], margins: NDArray[np.float64], n: int, rng: np.random.Generator) -> Design:
    """Return strata for a sample of ``n`` items, from their predicted labels and margins.

    Labels per block are as the square root of its size, for balanced accuracy looks at classes alike. Within a block
    strata have equal sums of sqrt(e (1 - e)), e the planned error, and equal numbers of labels: Neyman's allocation.
    """
    blocks = _blocks(labels, n)
    numbers = _shared_out(np.sqrt(np.bincount(blocks)), np.bincount(blocks), n)
    error = _FLOOR + (1 - 2 * _FLOOR) / (1 + np.exp(np.clip(_TEMPER * margins, -50, 50)))
    stratum = np.empty(len(labels), dtype=np.int64)
    of_block, sizes, drawn = list[int](), list[int](), list[int]()
    for block, number in enumerate(numbers.tolist()):
        items = np.flatnonzero(blocks == block)
        items = items[np.lexsort([rng.random(len(items)), margins[items]])]
        n_strata = max(1, min(_MOST_STRATA, number // FEWEST_IN_STRATUM))
        weight = np.cumsum(np.sqrt(error[items] * (1 - error[items])))
        part = np.minimum((n_strata * (weight - weight[0]) / weight[-1]).astype(np.int64), n_strata - 1)
        part = np.unique(part, return_inverse=True)[1]
        size = np.bincount(part)
        stratum[items] = len(sizes) + part
        of_block += [block] * len(size)
        drawn += _shared_out(np.ones(len(size)), size, number).tolist()
        sizes += size.tolist()
    planned = np.bincount(stratum, error) / np.array(sizes)
    return Design(stratum, np.array(of_block), np.array(sizes), np.array(drawn), planned)


def _blocks(labels: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the block of every item: its predicted label; one for all if there are too few labels for that."""
    predicted, blocks = np.unique(labels, return_inverse=True)
    return blocks if n >= _FEWEST_IN_BLOCK * len(predicted) else np.zeros_like(blocks)


def _shared_out(weights: NDArray[np.float64], room: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Share out n whole numbers as the weights say, each at least a tenth of all, none more than there is room."""
    least = np.minimum(room, min(max(2.0, _LEAST_SHARE * n), n / len(room)))
    given, free = np.minimum(least, room).astype(np.float64), np.ones(len(room), dtype=bool)
    for _ in range(2 * len(room)):
        left = n - given[~free].sum()
        share = np.where(free, weights * left / max(weights[free].sum(), 1e-300) if free.any() else 0.0, given)
        bound = share.clip(least, room)
        worst = np.abs(bound - share) * free
        given = np.where(free, share, given)
        if not worst.any():
            break
        # fix what would get too much before what would get too little: it sets labels free
        excess = float((bound - share)[free].sum())
        fixed = free & ((bound < share) if excess <= 0 else (bound > share))
        given[fixed], free = bound[fixed], free & ~fixed
    whole = np.floor(given + 1e-9).astype(np.int64)
    order = np.lexsort([-weights, -(given - whole)])
    for place in np.concatenate([order, order]):
        if whole.sum() < min(n, room.sum()) and whole[place] < room[place]:
            whole[place] += 1
    return whole
