"""How good labels and probabilities are, given the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

import goldless as gl

LEAST = 1e-3  # no probability counts as less: one item that is taken for certain must not decide a panel
_BINS = 10


def scored(
    truth: NDArray[np.int64],
    labels: NDArray[Any],
    probabilities: NDArray[np.float64] | None = None,
    order: NDArray[np.float64] | None = None,
) -> dict[str, float]:
    """Return accuracy, macro recall, and of probabilities log loss and calibration error; of two classes AUC too.

    Parameters
    ----------
    truth, labels : array of shape (n_items,)
        Classes 0 to C - 1; items without truth (-1) are left out.
    probabilities : array of shape (n_items, C), optional
    order : array of shape (n_items,), optional
        What ranks items of two classes; by default the probability of class 1.
    """
    known = truth >= 0
    y, labels = truth[known], np.asarray(labels)[known]
    found = {"accuracy": float((labels == y).mean()), "recall": gl.balanced_accuracy(y, labels)}
    if probabilities is not None:
        probabilities = np.asarray(probabilities, dtype=float)
        found |= {
            "log_loss": log_loss(y, probabilities[known]),
            "calibration": calibration_error(y, probabilities[known]),
        }
        if order is None and probabilities.shape[1] == 2:
            order = probabilities[:, 1]
    if order is not None and len(np.unique(y)) == 2:
        found["auc"] = float(roc_auc_score(y, order[known]))
    return found


def log_loss(truth: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Return the mean of minus the logarithm of what the true class was given, none less than ``LEAST``."""
    bounded = np.maximum(probabilities, LEAST)
    bounded /= bounded.sum(axis=1, keepdims=True)
    return float(-np.log(bounded[np.arange(len(truth)), truth]).mean())


def calibration_error(truth: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Return how far the largest probability is from how often its class is true: ten bins, mean over items."""
    top, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    place = np.minimum((top * _BINS).astype(int), _BINS - 1)
    gap = np.bincount(place, weights=right - top, minlength=_BINS)
    return float(np.abs(gap).sum() / len(truth))
