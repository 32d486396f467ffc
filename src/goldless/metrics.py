"""Scores against a known truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.votes.label_codes import is_missing


def balanced_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the mean over the classes of ``y_true`` of the share of items labelled rightly.

    For two classes this is the mean of sensitivity and specificity.
    """
    truth, labels = np.asarray(y_true), np.asarray(y_pred)
    if truth.shape != labels.shape or truth.ndim != 1:
        raise ValueError(f"y_true and y_pred must be lists of equal length, got {truth.shape} and {labels.shape}")
    if not len(truth):
        raise ValueError("there are no items to score")
    for item, label in enumerate(truth.tolist()):
        if is_missing(label):
            raise ValueError(f"y_true has no label for item {item}; score the items that have one")
    return float(np.mean([(labels[truth == label] == label).mean() for label in np.unique(truth)]))


def balanced_accuracy_of(confusion: NDArray[np.integer]) -> float:
    """Return the balanced accuracy from counts of items, a row for each true class and a column for each label."""
    items = confusion.sum(axis=1)
    if not items.any():
        raise ValueError("there are no items to score")
    return float(np.mean(np.diag(confusion)[items > 0] / items[items > 0]))


def balanced_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return one minus the balanced accuracy: the mean error rate of the classes.

    Examples
    --------
    >>> round(balanced_error([0, 0, 0, 1], [0, 0, 1, 1]), 4)
    0.1667
    """
    return 1 - balanced_accuracy(y_true, y_pred)
