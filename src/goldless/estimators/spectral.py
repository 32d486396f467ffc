"""The spectral meta-learner, alone or as the start of EM (SML+EM)."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from goldless.estimators.incremental import InParts
from goldless.estimators.latent_base import LatentEstimator
from goldless.fitting.moments import ImbalanceRule, independent_estimate


class SpectralMetaLearner(InParts, LatentEstimator):
    """Accuracies of conditionally independent voters from second and third moments, then EM.

    Parameters
    ----------
    em : bool, default=True
        Whether EM follows (SML+EM); otherwise the moment estimates are used as they are.
    imbalance : {"restricted", "tensor"} or float, default="restricted"
        How the class imbalance b is found: by restricted likelihood, by the third-moment tensor (Jaffe et al.
        2015), or known.
    decision : {"ml", "map"}, default="ml"
        "ml" takes the larger likelihood (best balanced accuracy), "map" the more probable class.
    prior : tuple of float (right, wrong), default=(0.01, 0.01)
        Pseudo-votes added to every rate in EM.
    balance_prior : "auto" or float, default=0.02
        How many pseudo-items hold the class balance near one half in EM; see :class:`~goldless.LatentSML`.
    max_iter, tol : int, float
        When EM stops: after ``max_iter`` iterations, or a gain of at most ``tol`` per item.
    missing, positive : label, optional
        A label that means "no vote", and the label to call positive.

    Attributes
    ----------
    latent_model_ : LatentModel
        Fitted model, every voter alone with Y.
    sensitivity_, specificity_, balanced_accuracy_ : ndarray of shape (n_voters,)
        Estimated accuracies.
    class_balance_, imbalance_ : float
        Pr(Y positive) and b.
    covariance_ : ndarray of shape (n_voters, n_voters)
        Sample covariance of the votes coded -1, +1.
    log_likelihood_, n_iter_, converged_ : float, int, bool
        How EM ended; only if ``em``.

    Notes
    -----
    The sign is fixed by taking most voters to beat a coin.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(5000, [1] * 6, imbalance=-0.4, group_accuracy=(0.8, 1), random_state=1)
    >>> model = gl.SpectralMetaLearner().fit(X)
    >>> round(model.imbalance_, 1)
    -0.4
    """

    def __init__(
        self,
        *,
        em: bool = True,
        imbalance: str | float = "restricted",
        decision: str = "ml",
        prior: tuple[float, float] = (0.01, 0.01),
        balance_prior: str | float = 0.02,
        max_iter: int = 500,
        tol: float = 1e-7,
        missing: Any = None,
        positive: Any = None,
    ):
        self.em = em
        self.imbalance = imbalance
        self.decision = decision
        self.prior = prior
        self.balance_prior = balance_prior
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.positive = positive

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> SpectralMetaLearner:
        """Estimate accuracies. ``y`` is ignored.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_voters)
            Votes; NaN and None are missing.
        y : ignored
        sample_weight : array-like of int of shape (n_items,), optional
            How many items each row stands for.
        """
        rule = ImbalanceRule(self.imbalance)
        votes = self._read_for_fit(X, sample_weight)
        table = votes.table
        whole = None if self.em else votes.whole  # where EM follows, moments of a sample are a good start
        model = independent_estimate(table, votes.counts.covariance(), rule, whole)
        if self.em:
            prior = self._rate_prior(votes.n_items, overdispersion=1.0)
            model = self._finish(self._improve(model, table, prior, votes.whole), table, prior, votes.whole)
        self.latent_model_ = votes.embed(model)
        self.covariance_ = votes.all_counts.covariance().covariance
        return self
