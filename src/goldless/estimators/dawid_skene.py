"""Dawid and Skene 1979: EM for conditionally independent voters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goldless.estimators.incremental import InParts
from goldless.estimators.latent_base import LatentEstimator
from goldless.fitting.fit import unit_vote_counts
from goldless.maths.structure.search import covariance_misfit


class DawidSkene(InParts, LatentEstimator):
    """Two-class Dawid-Skene: voters independent given the label, EM from majority labels.

    With weak priors by default; ``DawidSkene(prior=(0, 0), balance_prior=0, decision="map")`` is the textbook.

    Parameters
    ----------
    prior : tuple of float (right, wrong), default=(1.0, 0.5)
        Pseudo-votes added to the agreements and disagreements of every rate: they stop degenerate solutions.
    balance_prior : "auto" or float, default="auto"
        How many pseudo-items hold the class balance near one half. "auto" is 100 times the over-dispersion of the
        covariance, and at most the number of items; it gives way where the votes clearly say otherwise.
    decision : {"ml", "map"}, default="ml"
        "ml" takes the larger likelihood (best balanced accuracy), "map" the more probable class (best accuracy).
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

    _min_voters = 1
    _voters_to_judge = 3

    def __init__(
        self,
        *,
        prior: tuple[float, float] = (1.0, 0.5),
        balance_prior: str | float = "auto",
        decision: str = "ml",
        max_iter: int = 500,
        tol: float = 1e-7,
        missing: Any = None,
        positive: Any = None,
    ):
        self.prior = prior
        self.balance_prior = balance_prior
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
        table, alone = votes.table, np.arange(votes.table.n_voters)
        overdispersion = covariance_misfit(votes.counts.covariance())
        prior = self._rate_prior(votes.n_items, overdispersion)
        start = prior.maximise(unit_vote_counts(table, alone), alone)
        model = self._improve(start, table, prior, votes.whole)
        model, prior, _ = self._release_balance(model, table, prior, overdispersion, votes.whole)
        model = self._finish(model, table, prior, votes.whole)
        self.latent_model_ = votes.embed(model)
        return self
