"""Probabilities without the pull of a prior: a line on the log-odds that a free fit says is better calibrated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.maths.tree import TreeModel, probability
from goldless.votes.rows import PatternTable
from goldless.votes.sparse import SparseRows

_LARGEST_RATIO = 30.0  # log-odds beyond this say the same
_STEPS = 50
_LARGEST_TEMPER = 1.25  # a free fit that is so much surer is another reading and no calibration


class Calibration(NamedTuple):
    """How to make probabilities less sure, or their class balance free; see ``predict_proba``.

    Attributes
    ----------
    temper : float
        Factor on the log-likelihood ratio of the votes.
    class_balance : float or ndarray of shape (n_classes,)
        Class balance to count with: the share of positive items, or of more than two classes all shares.
    """

    temper: float
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

    Parameters
    ----------
    table : PatternTable
        Patterns of the voters of both models.
    model, free : TreeModel
        The model behind the labels, and the same fitted without a prior on the class balance.

    Returns
    -------
    Calibration or None
        None if there is no such line, or there are more than two classes.
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
