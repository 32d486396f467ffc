"""The spectral meta-learner, alone or as the start of EM (SML+EM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.estimators import incremental
from goldless.estimators.base import VoteEstimator
from goldless.fitting.fit import fit_moments
from goldless.fitting.given_groups import FitOptions
from goldless.fitting.moments import ImbalanceRule

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(eq=False, repr=False, kw_only=True)
class SpectralMetaLearner(VoteEstimator):
    """Accuracies of conditionally independent voters from second and third moments, then EM; two classes.

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
    missing, positive, classes, kind, lower_is_positive, positive_from : optional
        How votes are read: as of :class:`~goldless.LatentSML`.

    Attributes
    ----------
    latent_model_ : TreeModel
        Fitted model, every voter alone with Y.
    sensitivity_, specificity_, balanced_accuracy_ : ndarray of shape (n_voters,)
        Estimated accuracies.
    class_balance_, imbalance_ : float
        Pr(Y positive) and b.
    calibration_ : tuple of float (temper, class_balance)
        What ``predict_proba`` counts with; see :class:`~goldless.LatentSML`.
    covariance_ : ndarray of shape (n_voters, n_voters)
        Sample covariance of the votes coded -1, +1.
    log_likelihood_, n_iter_, converged_ : float, int, bool
        How EM ended; only if ``em``.

    Notes
    -----
    The sign is fixed by taking most voters to do better than chance.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(5000, [1] * 6, imbalance=-0.4, group_accuracy=(0.8, 1), random_state=1)
    >>> model = gl.SpectralMetaLearner().fit(X)
    >>> round(model.imbalance_, 1)
    -0.4
    """

    em: bool = True
    imbalance: str | float = "restricted"
    prior: tuple[float, float] = (0.01, 0.01)
    balance_prior: str | float = 0.02
    max_iter: int = 500
    tol: float = 1e-7

    _two_classes_only = "SpectralMetaLearner is for two classes"

    partial_fit = incremental.partial_fit
    merge = incremental.merge

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate accuracies. ``y`` is ignored.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_voters)
            Votes; NaN and None are missing.
        y : ignored
        sample_weight : array-like of int of shape (n_items,), optional
            How many items each row stands for.
        """
        options = FitOptions(
            self.prior, self.balance_prior, self.max_iter, self.tol, em=self.em, imbalance=self.imbalance
        )
        return self._store(fit_moments(self._read_for_fit(X, sample_weight), options))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        ImbalanceRule(self.imbalance)

    @property
    def covariance_(self) -> NDArray[np.float64]:
        """Sample covariance of the votes coded -1, +1."""
        grouping = self._of_fit("covariance_").grouping
        assert grouping is not None
        return grouping.covariance
