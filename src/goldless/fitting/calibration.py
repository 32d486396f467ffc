"""Probabilities by a line on the log-odds: without the pull of a prior, and no surer than one more voter would be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.maths.rates import log_odds, probability
from goldless.maths.tree import TreeModel
from goldless.votes.rows import PatternTable
from goldless.votes.sparse import SparseRows

_LARGEST_RATIO = 30.0  # log-odds beyond this say the same
_ALIKE = 1e-4  # log-odds that differ by less differ by rounding, or by where EM ended
_STEPS = 50
_BISECTIONS = 100
_LINE_ITEMS = 5.0  # labelled items that the line without labels is worth
_LARGEST_TEMPER = 1.25  # a free fit that is so much surer is another reading and no calibration


class Calibration(NamedTuple):
    """How to make probabilities less sure, or their class balance free; see ``predict_proba``."""

    temper: float  # factor on the log-likelihood ratio of the votes
    # (n_classes,): class balance to count with: the share of positive items, or of more than two classes all shares
    class_balance: float | NDArray[np.float64]

    @property
    def class_prior(self) -> NDArray[np.float64]:
        """The share of every class."""
        if np.ndim(self.class_balance):
            return np.asarray(self.class_balance)
        return np.array([1 - float(self.class_balance), float(self.class_balance)])


def calibrated_to(table: PatternTable | SparseRows, model: TreeModel, free: TreeModel) -> Calibration | None:
    """Return the line on a two-class model's log-likelihood ratio that is nearest to the posterior of a free fit.

    The prior that holds the class balance near one half is good for labels, and biases every probability. The free
    fit has no such bias. Its posterior q is a target without labels: ``temper * ratio + log-odds(balance)`` is the
    logistic regression of q on the ratio. One line for all items leaves their order, and so the labels, as they were.

    ``table``: patterns of the voters of both models; ``model`` and ``free``: the model behind the labels, and the
    same fitted without a prior on the class balance. Returns None if there is no such line, or there are more than
    two classes.
    """
    if model.n_classes > 2:
        return None
    ratio = model.log_likelihood_ratio(table.codes).clip(-_LARGEST_RATIO, _LARGEST_RATIO)
    line = soft_logistic_line(ratio, free.posterior(table.codes)[:, 1], table.counts.astype(np.float64))
    return None if line is None else Calibration(line[0], float(probability(np.array(line[1]))))


def soft_logistic_line(
    ratio: NDArray[np.float64], target: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float] | None:
    """Return slope and intercept of the logistic regression of probabilities on log-odds, by Newton's method.

    None if there is no such line with a positive slope of at most 1.25, as when all ratios are alike.
    """
    if not ratio.size or np.ptp(ratio) < _ALIKE:
        return None
    slope, intercept = 1.0, 0.0
    for _ in range(_STEPS):
        fitted = probability(slope * ratio + intercept)
        left, spread = weights * (target - fitted), weights * fitted * (1 - fitted)
        total, first, second = spread.sum(), spread @ ratio, spread @ ratio**2
        determinant = total * second - first**2
        if not determinant > 1e-12 * max(total * second, 1e-300):
            return None
        step = np.array([total * (left @ ratio) - first * left.sum(), second * left.sum() - first * (left @ ratio)])
        step = (step / determinant).clip(-1.0, 1.0)
        slope, intercept = slope + float(step[0]), intercept + float(step[1])
        if np.abs(step).max() < 1e-9:
            break
    return (slope, intercept) if 0 < slope <= _LARGEST_TEMPER else None


def one_more_voter(
    ratio: NDArray[np.float64], target: NDArray[np.float64], counts: NDArray[np.float64], mean: float
) -> Calibration | None:
    """Return the line on the log-likelihood ratio that makes the truth like one more voter of the panel.

    Voters that share a view fix their consensus almost surely, and nothing in the votes says how far the truth is
    from it. The slope is that of the logistic regression of what the voters say on the log-odds; the intercept keeps
    the mean. None if there is no such line, or it would be surer than the model.

    ``ratio`` (n_rows,): log-likelihood ratio of the items; ``target`` (n_rows,): what the voters of an item say in
    the mean, from 0 to 1: the share of positive votes, or the mean midrank; ``counts`` (n_rows,): items of each row;
    ``mean``: mean of the probabilities.
    """
    line = soft_logistic_line(ratio.clip(-_LARGEST_RATIO, _LARGEST_RATIO), target, counts)
    if line is None or line[0] >= 1:
        return None
    return Calibration(line[0], intercept_keeping(line[0] * ratio, counts, mean))


def intercept_keeping(odds: NDArray[np.float64], counts: NDArray[np.float64], mean: float) -> float:
    """Return the class balance whose log-odds, added to others, give probabilities of this mean."""
    low, high = -60.0, 60.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if counts @ probability(odds + middle) < mean * counts.sum():
            low = middle
        else:
            high = middle
    return float(probability(np.array((low + high) / 2)))


def with_labels(
    line: Calibration,
    ratio: NDArray[np.float64],
    counts: NDArray[np.float64],
    known: NDArray[np.float64],
    labels: NDArray[np.int8],
) -> Calibration:
    """Return a line that known labels move: those of a few items, and the line without labels as five more.

    ``line``: the line without labels; ``ratio`` and ``counts`` (n_rows,): log-likelihood ratio of all items, and how
    many there are of each; ``known`` and ``labels`` (n_known,): log-likelihood ratio and code of the items with a
    known label.
    """
    if not len(labels):
        return line
    clipped = ratio.clip(-_LARGEST_RATIO, _LARGEST_RATIO)
    prior = float(log_odds(np.array(float(np.asarray(line.class_prior)[1]))))
    moved = soft_logistic_line(
        np.concatenate([clipped, known.clip(-_LARGEST_RATIO, _LARGEST_RATIO)]),
        np.concatenate([probability(line.temper * clipped + prior), labels.astype(np.float64)]),
        np.concatenate([_LINE_ITEMS * counts / counts.sum(), np.ones(len(labels))]),
    )
    return line if moved is None else Calibration(moved[0], float(probability(np.array(moved[1]))))
