"""Majority vote, the baseline every other method must beat."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.estimators.incremental import InParts


class MajorityVote(InParts):
    """Label every item by the majority of its votes.

    Parameters
    ----------
    missing : label, optional
        A label that means "no vote"; NaN and None always do.
    positive : label, optional
        The label to call positive; by default the second in sorted order.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, (negative, positive).
    class_balance_ : float
        Share of items labelled positive; a tie counts for both classes, half each.
    counted_ : ndarray of shape (n_voters,)
        Which voters are counted: those that use both classes.
    sensitivity_, specificity_, balanced_accuracy_ : ndarray of shape (n_voters,)
        Agreement of each voter with the majority, which is not its accuracy.

    Notes
    -----
    ``decision_function`` is the log-odds of the share of positive votes with one vote added to each side, so
    that unanimous items stay finite. A tie goes to the class that has more votes at fit. A voter that always says
    the same thing tells items apart as little as one that never votes, and is not counted.

    Examples
    --------
    >>> from goldless import MajorityVote
    >>> X = [["spam", "ham", "spam"], ["ham", "ham", "spam"], ["ham", "spam", "ham"]]
    >>> MajorityVote().fit_predict(X)
    array(['spam', 'ham', 'ham'], dtype='<U4')
    """

    _min_voters = 1

    def __init__(self, *, missing: Any = None, positive: Any = None):
        self.missing = missing
        self.positive = positive

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> MajorityVote:
        """Count votes. ``y`` is ignored."""
        votes = self._read_for_fit(X, sample_weight)
        count = partial(_count_majority, votes.voters)
        if votes.whole is None:
            said, weight = count(votes.all_table.codes, votes.all_table.counts.astype(float))
        else:
            said, weight = votes.whole.sum_codes(count)
        specificity, sensitivity = _share(said[0, 0], said[0, 1]), _share(said[1, 1], said[1, 0])
        self.counted_ = votes.core_voter >= 0
        self.sensitivity_ = np.where(self.counted_, votes.spread(sensitivity), votes.positive_share)
        self.specificity_ = np.where(self.counted_, votes.spread(specificity), 1 - votes.positive_share)
        self.class_balance_ = float(weight[1] / weight.sum())
        return self

    @property
    def balanced_accuracy_(self) -> NDArray[np.float64]:
        """Mean of sensitivity and specificity against the majority."""
        return (self.sensitivity_ + self.specificity_) / 2

    @property
    def imbalance_(self) -> float:
        """Share of items labelled positive minus share labelled negative."""
        return 2 * self.class_balance_ - 1

    def _log_odds(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        positive, negative = _votes_for(codes[:, self.counted_])
        return np.log((positive + 1) / (negative + 1))

    def _answer(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        share = _share(*_votes_for(codes[:, self.counted_]))
        return np.stack([self._decide(self._log_odds(codes)), share], axis=1)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of votes for each class; one half each for an item nobody voted on."""
        positive = self._on_patterns(X, lambda codes: _share(*_votes_for(codes[:, self.counted_])))
        return np.stack([1 - positive, positive], axis=1)


def _count_majority(
    voters: NDArray[np.int64], codes: NDArray[np.int8], counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return votes of each voter by (majority, vote), shape (2, 2, n_voters), and items by majority, shape (2,)."""
    codes = codes[:, voters]
    spoken = (codes >= 0).any(axis=1)
    codes, counts = codes[spoken], counts[spoken]
    for_positive, for_negative = _votes_for(codes)
    positive = (np.sign(for_positive - for_negative) + 1) / 2  # a tie is half an item of each class
    weight = np.stack([counts * (1 - positive), counts * positive])
    said = np.stack([weight @ (codes == code) for code in (0, 1)], axis=1)
    return said, weight.sum(axis=1)


def _votes_for(codes: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of positive and of negative votes on each item."""
    return (codes == 1).sum(axis=1), (codes == 0).sum(axis=1)


def _share(these: NDArray, others: NDArray) -> NDArray[np.float64]:
    """Return the share of these among all, one half where there are none."""
    total = these + others
    return np.where(total > 0, these / np.where(total > 0, total, 1), 0.5)
