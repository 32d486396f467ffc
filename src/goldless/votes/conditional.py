"""Covariances within the classes of a known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.votes.counts import PairCounts
from goldless.votes.encoding import encode_truth, encode_votes


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
    """
    votes = encode_votes(X, missing=missing, positive=positive)
    truth = encode_truth(y, votes)
    if min(np.bincount(truth, minlength=2)) < 2:
        raise ValueError("y must hold two items of each class: a single item does not vary.")
    negative_items, positive_items = (
        PairCounts.of(votes.codes[truth == code]).covariance().covariance for code in (0, 1)
    )
    return positive_items, negative_items
