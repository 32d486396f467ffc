"""Scores against a known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.io.encode import encode_truth, encode_votes
from goldless.kernels.sparse import dense_codes
from goldless.votes.alphabet import is_missing
from goldless.votes.pairs import PairTables


def balanced_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the mean over the classes of ``y_true`` of the share of items labelled rightly.

    For two classes this is the mean of sensitivity and specificity.

    Examples
    --------
    >>> balanced_accuracy([1, 1, 1, 0], [1, 1, 0, 0])
    0.8333333333333333
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


def conditional_covariance(
    X: Any, y: ArrayLike, *, missing: Any = None, positive: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return C+ and C-: the covariance of the votes among positive and among negative items (eq. con_cor).

    Under conditional independence both are zero off the diagonal. Votes are coded -1, +1 and centred within
    the class.

    Parameters
    ----------
    X : array-like or frame of shape (n_items, n_voters)
        Votes.
    y : array-like of shape (n_items,)
        True labels.
    missing, positive : label, optional
        A label that means "no vote", and the label to call positive.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(20_000, groups=[2, 1, 1], random_state=0)
    >>> positive, negative = conditional_covariance(X, y)
    >>> bool(positive[0, 1] > 0.1 > abs(positive[0, 2]))
    True
    """
    votes = encode_votes(X, missing=missing, positive=positive)
    if votes.n_classes > 2:
        raise ValueError(f"C+ and C- are of two classes, and the votes have {votes.n_classes}.")
    truth = encode_truth(y, votes)
    if min(np.bincount(truth, minlength=2)) < 2:
        raise ValueError("y must hold two items of each class: a single item does not vary.")
    negative_items, positive_items = (
        PairTables.of(dense_codes(votes.codes)[truth == code]).covariance().covariance for code in (0, 1)
    )
    return positive_items, negative_items
