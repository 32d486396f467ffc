"""Which items to label next: those whose labels would best separate the readings that votes cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from goldless.fitting.alternatives import NOTABLE_CHANGE
from goldless.fitting.settling import LARGEST_RATIO
from goldless.maths.tree import LatentModel, probability
from goldless.votes.patterns import PatternTable
from goldless.votes.votes import Votes

_TEMPER = 0.3  # how far to believe a reading's log-odds; real votes depend more than modelled
_LARGEST_PRIOR_ODDS = 3.0
_DOUBT = 0.02  # weight of an item's own doubt, so that the hardest items are asked once readings agree
_DECISIVE = np.log(19.0)  # log-odds of 95 to 5
_REPEATED = 0.5  # a second label for the same pattern of votes tells less
_LEAST_WEIGHT = 1e-3  # readings less probable than this are ruled out


@dataclass(frozen=True, eq=False)
class Questions:
    """Items worth a label.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Rows of X, most useful first.
    enough : int or None
        How many such labels are likely to settle which reading is right; 0 if no other reading would change more
        than 5 % of the labels, None if no number of them is likely to.
    n_readings : int
        How many readings of the votes differ in their labels.
    """

    rows: NDArray[np.int64]
    enough: int | None
    n_readings: int


def next_to_label(model: Any, votes: Votes, weights: ArrayLike | None = None, n: int = 20) -> Questions:
    """Choose items worth a label for any estimator with a latent model: the most doubtful if it knows one reading."""
    if hasattr(model, "next_to_label"):
        return model.next_to_label(votes, n, weights)
    table = PatternTable.of(votes.codes)
    return choose_questions(table, (model.latent_model_,), np.ones(1), n, np.array([], dtype=np.int64))


def choose_questions(
    table: PatternTable,
    readings: tuple[LatentModel, ...],
    weights: NDArray[np.float64],
    n: int,
    known: NDArray[np.int64],
) -> Questions:
    """Choose items by how much their label is expected to tell about which reading is right.

    That is the mutual information of label and reading, H(mean p) - mean H(p), with p the probability of a positive
    label under each reading; to this comes a little of the item's own doubt.

    Parameters
    ----------
    table : PatternTable
        Patterns of the readings' voters, with the pattern of each row.
    readings : tuple of LatentModel
    weights : ndarray of shape (n_readings,)
        How probable each is.
    n : int
        How many items to choose.
    known : ndarray
        Rows that have a label already.
    """
    open_readings = np.flatnonzero(weights >= _LEAST_WEIGHT)
    readings, weights = tuple(readings[number] for number in open_readings), weights[open_readings]
    weights = weights / weights.sum()
    ratios = np.array([reading.log_likelihood_ratio(table.codes) for reading in readings])
    ratios = ratios.clip(-LARGEST_RATIO, LARGEST_RATIO)
    # one class balance for all: readings are to be told apart by which items are positive, not by how many
    prior = np.clip(readings[int(np.argmax(weights))].log_prior_odds, -_LARGEST_PRIOR_ODDS, _LARGEST_PRIOR_ODDS)
    positive = probability(_TEMPER * ratios + prior)
    told = _entropy(weights @ positive) - weights @ _entropy(positive)
    useful = told + _DOUBT * _entropy(weights @ probability(_TEMPER * ratios))
    free = np.ones(len(table.inverse), dtype=bool)
    free[known] = False
    rows = _spread_over_patterns(useful, table.inverse, free, n)
    return Questions(rows, _labels_needed(table, ratios, positive, weights, rows), len(readings))


def _spread_over_patterns(
    useful: NDArray[np.float64], pattern_of_row: NDArray[np.int64], free: NDArray[np.bool_], n: int
) -> NDArray[np.int64]:
    """Take rows of the most useful patterns; a pattern is worth half as much each time it was taken."""
    rows = np.flatnonzero(free)
    by_pattern = rows[np.argsort(pattern_of_row[rows], kind="stable")]
    left = np.bincount(pattern_of_row[rows], minlength=len(useful))
    next_row = np.concatenate([[0], np.cumsum(left)[:-1]])
    worth = np.where(left > 0, useful, -np.inf)
    chosen = []
    for _ in range(min(n, len(rows))):
        pattern = int(np.argmax(worth))
        chosen.append(by_pattern[next_row[pattern]])
        next_row[pattern] += 1
        left[pattern] -= 1
        worth[pattern] = worth[pattern] * _REPEATED if left[pattern] else -np.inf
    return np.array(chosen, dtype=np.int64)


def _labels_needed(
    table: PatternTable,
    ratios: NDArray[np.float64],
    positive: NDArray[np.float64],
    weights: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> int | None:
    """Return how many labels like those of ``rows`` would raise any other reading, if it is right, to 95 %."""
    best = int(np.argmax(weights))
    changed = ((ratios > 0) != (ratios[best] > 0)) @ table.counts / table.n_items
    rivals = np.flatnonzero(changed > NOTABLE_CHANGE)
    if not len(rivals):
        return 0
    asked = positive[:, table.inverse[rows]]
    gain = (asked[rivals] * np.log(asked[rivals] / asked[best])).sum(axis=1)
    gain += ((1 - asked[rivals]) * np.log((1 - asked[rivals]) / (1 - asked[best]))).sum(axis=1)
    needed = (np.log(weights[best] / weights[rivals]) + _DECISIVE) / np.maximum(gain / max(len(rows), 1), 1e-12)
    most = int(np.ceil(needed.max()))
    return most if most <= table.n_items else None


def _entropy(positive: NDArray[np.float64]) -> NDArray[np.float64]:
    return entr(positive) + entr(1 - positive)
