"""Dawid and Skene 1979: EM for conditionally independent voters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goldless.estimators.base import LatentEstimator
from goldless.maths.em import ExpectedCounts, RatePrior
from goldless.votes.patterns import PatternTable


class DawidSkene(LatentEstimator):
    """Two-class Dawid-Skene: voters independent given the label, EM from majority labels.

    Parameters
    ----------
    prior : tuple of float (right, wrong), default=(0.01, 0.01)
        Pseudo-votes added to the agreements and disagreements of every rate.
    decision : {"ml", "map"}, default="map"
        "map" takes the more probable class (best plain accuracy), "ml" the larger likelihood (best balanced
        accuracy when classes are uneven).
    max_iter : int, default=500
        Most EM iterations.
    tol : float, default=1e-7
        EM stops when the log-likelihood gains at most this much per item.
    missing : label, optional
        A label that means "no vote"; NaN and None always do.
    positive : label, optional
        The label to call positive; by default the second in sorted order.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, (negative, positive).
    latent_model_ : LatentModel
        Fitted model, every voter alone with Y.
    sensitivity_, specificity_, balanced_accuracy_ : ndarray of shape (n_voters,)
        Estimated accuracies.
    class_balance_, imbalance_ : float
        Pr(Y positive) and b.
    log_likelihood_, n_iter_, converged_ : float, int, bool
        How EM ended.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(2000, groups=[1] * 7, group_accuracy=(0.6, 1), random_state=0)
    >>> bool(gl.DawidSkene().fit(X).score(X, y) > gl.MajorityVote().fit(X).score(X, y))
    True
    """

    def __init__(
        self,
        *,
        prior: tuple[float, float] = (0.01, 0.01),
        decision: str = "map",
        max_iter: int = 500,
        tol: float = 1e-7,
        missing: Any = None,
        positive: Any = None,
    ):
        self.prior = prior
        self.decision = decision
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.positive = positive

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> DawidSkene:
        """Estimate accuracies. ``y`` is ignored.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_voters)
            Votes; NaN and None are missing.
        y : ignored
        sample_weight : array-like of int of shape (n_items,), optional
            How many items each row stands for.
        """
        votes = self._read_for_fit(X, sample_weight)
        start = RatePrior().maximise(majority_counts(votes.table), np.arange(votes.table.n_voters))
        self.latent_model_ = votes.embed(self._improve(start, votes.table))
        return self


def majority_counts(table: PatternTable) -> ExpectedCounts:
    """Return expected counts with labels set to each item's share of positive votes; every item has a vote."""
    negative, positive = (table.codes == 0).astype(float), (table.codes == 1).astype(float)
    share = positive.sum(axis=1) / (positive + negative).sum(axis=1)
    weight = np.stack([table.counts * (1 - share), table.counts * share])
    votes = np.stack([weight @ negative, weight @ positive], axis=2).transpose(1, 0, 2)
    return ExpectedCounts(weight.sum(axis=1), np.zeros((table.n_voters, 2, 2)), votes, -np.inf)
