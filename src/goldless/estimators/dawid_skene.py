"""Dawid and Skene 1979: EM for conditionally independent voters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from goldless.estimators import incremental
from goldless.estimators.base import VoteEstimator
from goldless.fitting.fit import fit_independent
from goldless.fitting.given_groups import FitOptions

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(eq=False, repr=False, kw_only=True)
class DawidSkene(VoteEstimator):
    """Dawid-Skene: voters independent given the label, EM from majority labels, any number of classes.

    With weak priors by default; ``DawidSkene(prior=(0, 0), balance_prior=0, decision="map")`` is the textbook of two
    classes. With more, and 20 voters or more, the confusions of a voter are also pulled a little towards those of
    all. Probabilities are printed as if the truth were one more voter, because the posterior is far too sure on real
    votes; without any prior, ``DawidSkene(prior=(0, 0), balance_prior=0)``, they are the posterior.

    Parameters
    ----------
    prior : tuple of float (right, wrong), default=(1.0, 0.5)
        Pseudo-votes added to every row of a voter's confusions, for the right class and for all wrong ones together:
        they stop degenerate solutions.
    balance_prior : "auto" or float, default="auto"
        How many pseudo-items hold the class balance near even. "auto" is 100 times the over-dispersion of the
        covariance, and at most the number of items; it gives way where the votes clearly say otherwise.
    decision : {"ml", "map"}, default="ml"
        "ml" takes the larger likelihood (best balanced accuracy), "map" the more probable class (best accuracy).
    max_iter : int, default=500
        Most EM iterations.
    tol : float, default=1e-7
        EM stops when the log-likelihood gains at most this much per item.
    at_least : int, optional
        If votes are listed only where at least so many voters say positive, as in the merged output of variant
        callers: that number; by default as the votes say, 0 never. See :class:`~goldless.LatentSML`.
    missing : label, optional
        A label that means "no vote"; NaN and None always do.
    positive : label, optional
        Of two labels the one to call positive; by default the second in sorted order. Of words beside numbers, too.
    classes : array-like of label, optional
        Labels there may be, in order; by default those that occur, sorted. Of numbers the names of the two classes,
        (negative, positive), by default 0 and 1; with ``kind="ordinal"`` words are grades in this order.
    kind : {"auto", "labels", "ordinal", "probabilities", "scores"} or mapping of voter to these, default="auto"
        What votes are: names of classes, or grades, probabilities or scores of a positive class (see "Votes that are
        numbers" in the documentation). "auto" looks at them.
    lower_is_positive : bool or list of voters, optional
        Voters, by name or column number, that mean positive by low numbers; True for all.
    positive_from : float, optional
        The smallest number that means positive: the user's own cut.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels; of two, (negative, positive).
    latent_model_ : TreeModel
        Fitted model, every voter alone with Y.
    confusion_ : ndarray of shape (n_voters, n_classes, n_classes)
        Estimated Pr(vote | Y); rows are the truth.
    recall_ : ndarray of shape (n_voters, n_classes)
        Its diagonals; of two classes ``specificity_`` and ``sensitivity_``.
    balanced_accuracy_ : ndarray of shape (n_voters,)
        Their means.
    class_balance_ : float or ndarray of shape (n_classes,)
        Pr(Y positive), or of more than two classes Pr(Y).
    calibration_ : tuple of float (temper, class_balance)
        What ``predict_proba`` counts with; see :class:`~goldless.LatentSML`.
    log_likelihood_, n_iter_, converged_ : float, int, bool
        How EM ended.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(2000, groups=[1] * 7, group_accuracy=(0.6, 1), random_state=0)
    >>> bool(gl.DawidSkene().fit(X).score(X, y) > gl.MajorityVote().fit(X).score(X, y))
    True
    """

    prior: tuple[float, float] = (1.0, 0.5)
    balance_prior: str | float = "auto"
    max_iter: int = 500
    tol: float = 1e-7
    at_least: int | None = None

    _min_voters = 1
    _voters_to_judge = 3

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
        options = FitOptions(self.prior, self.balance_prior, self.max_iter, self.tol, at_least=self.at_least)
        return self._store(fit_independent(self._read_for_fit(X, sample_weight), options))
