"""Majority vote, the baseline every other method must beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.estimators.base import VoteEstimator


class MajorityVote(VoteEstimator):
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
    sensitivity_, specificity_, balanced_accuracy_ : ndarray of shape (n_voters,)
        Agreement of each voter with the majority, which is not its accuracy.

    Notes
    -----
    ``decision_function`` is the log-odds of the share of positive votes with one vote added to each side, so
    that unanimous items stay finite. A tie goes to the class that has more votes at fit.

    Examples
    --------
    >>> from goldless import MajorityVote
    >>> X = [["spam", "ham", "spam"], ["ham", "ham", "spam"], ["ham", "ham", "ham"]]
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
        table = votes.table
        margin = self._log_odds(table.codes)
        positive = np.where(margin == 0, 0.5, margin > 0)
        weight = np.stack([table.counts * (1 - positive), table.counts * positive])
        said = [[label @ (table.codes == code) for code in (0, 1)] for label in weight]
        specificity = said[0][0] / np.maximum(said[0][0] + said[0][1], 0.5)
        sensitivity = said[1][1] / np.maximum(said[1][0] + said[1][1], 0.5)
        informative = votes.core_voter >= 0
        share = votes.positive_share
        self.sensitivity_ = np.where(informative, votes.spread(sensitivity), share)
        self.specificity_ = np.where(informative, votes.spread(specificity), 1 - share)
        self.class_balance_ = float(weight[1].sum() / weight.sum())
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
        positive, negative = (codes == 1).sum(axis=1), (codes == 0).sum(axis=1)
        return np.log((positive + 1) / (negative + 1))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of votes for each class; one half each for an item nobody voted on."""

        def share(codes: NDArray[np.int8]) -> NDArray[np.float64]:
            cast = (codes >= 0).sum(axis=1)
            return np.where(cast > 0, (codes == 1).sum(axis=1) / np.maximum(cast, 1), 0.5)

        positive = self._on_patterns(X, share)
        return np.stack([1 - positive, positive], axis=1)
