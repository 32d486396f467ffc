"""What estimators with a latent model share: EM, probabilities, and why an item gets its label."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from goldless.errors import warn_user
from goldless.estimators.base import VoteEstimator
from goldless.estimators.notebook import small_html
from goldless.fitting.calibration import Calibration, calibrated_to
from goldless.fitting.explain import Explanation, explain_patterns, spread_rows
from goldless.fitting.fit import balance_prior_items, free_balance
from goldless.maths.em import EMResult, Prior, RatePrior, run_em
from goldless.maths.em_large import finish_em
from goldless.maths.tree import LatentModel, log_odds, probability
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable
from goldless.votes.whole import WholeVotes


class LatentEstimator(VoteEstimator):
    """An estimator whose answer is a fitted :class:`~goldless.LatentModel` in ``latent_model_``."""

    def _check_parameters(self) -> None:
        if self.decision not in ("ml", "map"):
            raise ValueError(f"decision must be 'ml' or 'map', got {self.decision!r}")

    def _log_odds(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        self._check_parameters()
        return self._deciding(self._likelihood_ratio(codes))

    def _deciding(self, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds that decide from the log-likelihood ratio."""
        return self._calibrated(ratio) if self.decision == "map" else ratio

    def _likelihood_ratio(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return log Pr(votes | positive) - log Pr(votes | negative) for rows of codes."""
        return self.latent_model_.log_likelihood_ratio(codes)

    def _calibrated(
        self, ratio: NDArray[np.float64], calibration: tuple[float, float] | None = None
    ) -> NDArray[np.float64]:
        """Return the log-odds of the positive class from the log-likelihood ratio."""
        known = getattr(self, "calibration_", None) if calibration is None else calibration
        if known is None:
            return ratio + self.latent_model_.log_prior_odds
        return float(known[0]) * ratio + float(log_odds(np.array(known[1])))

    def _answer(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        ratio = self._likelihood_ratio(codes)
        return np.stack([self._decide(self._deciding(ratio)), probability(self._calibrated(ratio))], axis=1)

    def predict_proba(self, X: Any, calibration: tuple[float, float] | None = None) -> NDArray[np.float64]:
        """Return Pr(class | votes) of every item, columns in the order of ``classes_``.

        The class balance enters here whatever the ``decision``, so with ``decision="ml"`` the most probable class
        need not be the predicted one.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit.
        calibration : (temper, class_balance), optional
            A factor on the log-likelihood ratio of the votes and the class balance to count with, as in
            ``goldless.diagnose(model, X).calibration``; by default ``calibration_`` where the model has it, and
            otherwise 1 and the class balance of the model.
        """
        check_is_fitted(self)
        positive = self._on_patterns(
            X, lambda codes: probability(self._calibrated(self._likelihood_ratio(codes), calibration))
        )
        return np.stack([1 - positive, positive], axis=1)

    def explain(self, X: Any) -> Explanation:
        """Return why items get their labels: log-odds by group of voters, and what one more vote would tell.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit.

        Examples
        --------
        >>> import goldless as gl
        >>> X, _ = gl.simulate_votes(2_000, groups=[1] * 9, missing_rate=0.2, random_state=0)
        >>> model = gl.DawidSkene().fit(X)
        >>> why = model.explain(X[:3])
        >>> bool(np.allclose(why.prior + why.by_group.sum(axis=1), why.log_odds))
        True
        >>> why.neediest(1)                                      # the item that one more vote would help most
        array([0])
        >>> why.next_voter                                       # whose vote; -1: all have voted, a new voter's
        array([-1,  3,  1])
        """
        check_is_fitted(self)
        table = PatternTable.of(self._read(X, reset=False).codes)
        ratio, calibration = self._likelihood_ratio(table.codes), getattr(self, "calibration_", None)
        why = explain_patterns(self.latent_model_, table.codes, ratio, calibration)
        return spread_rows(why, table.inverse)

    def _rate_prior(self, n_items: int, overdispersion: float) -> RatePrior:
        """Return the pseudo-counts of this estimator's EM."""
        if np.shape(self.prior) != (2,) or not all(pseudo >= 0 for pseudo in self.prior):
            raise ValueError(f"prior must be two pseudo-counts (right, wrong), none negative, got {self.prior!r}")
        items = self.balance_prior
        if isinstance(items, str) and items == "auto":
            items = balance_prior_items(n_items, overdispersion)
        if isinstance(items, str) or not items >= 0:
            raise ValueError(f"balance_prior must be 'auto' or a number of items, got {self.balance_prior!r}")
        right, wrong = self.prior
        return RatePrior(right, wrong, balance=items / 2)

    def _improve(
        self, start: LatentModel, table: PatternTable, prior: Prior, whole: WholeVotes | None = None
    ) -> LatentModel:
        """Run EM from a model; on a table that is a sample of ``whole``, to a good start for :meth:`_finish`."""
        if not self.max_iter >= 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter!r}")
        passes = GroupedPatterns(table, start.groups)
        result = run_em(start, passes.expect, prior=prior, max_iter=self.max_iter, tol=self.tol)
        self._store_em(result, final=whole is None)
        return result.model

    def _release_balance(
        self,
        model: LatentModel,
        table: PatternTable,
        prior: RatePrior,
        overdispersion: float,
        whole: WholeVotes | None = None,
    ) -> tuple[LatentModel, RatePrior, Calibration | None]:
        """Drop the prior on the class balance where the votes, or the sample of them, speak against it.

        Where it stays, say how to take its pull out of the probabilities.
        """
        if not isinstance(self.balance_prior, str):
            return model, prior, None
        expect = GroupedPatterns(table, model.groups).expect
        solve = partial(run_em, model, expect, max_iter=self.max_iter, tol=self.tol)
        free = free_balance(solve, table.n_items, self.log_likelihood_, prior, overdispersion)
        if free is None:
            return model, prior, None
        if not free.asked_for:
            return model, prior, calibrated_to(table, model, free.result.model)
        self._store_em(free.result, final=whole is None)
        return free.result.model, free.prior, None

    def _finish(self, model: LatentModel, table: PatternTable, prior: Prior, whole: WholeVotes | None) -> LatentModel:
        """Go on with EM from the optimum on a sample to that on all votes."""
        if whole is None:
            return model
        on_sample = GroupedPatterns(table, model.groups).expect
        result = finish_em(model, on_sample, whole.expect, prior=prior, max_iter=self.max_iter, tol=self.tol)
        self._store_em(result)
        return result.model

    def _store_em(self, result: EMResult, final: bool = True) -> None:
        """Keep how EM ended, and warn if it was stopped and nothing follows."""
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.log_likelihood_ = result.log_likelihood
        if final and not result.converged:
            warn_user(
                f"EM stopped after {result.n_iter} iterations while still gaining {result.gap:.2g} in "
                f"log-likelihood per item (tol={self.tol:g}); raise max_iter.",
                ConvergenceWarning,
            )

    def _repr_html_(self) -> str:
        """Return a small table for notebooks; what scikit-learn shows if not fitted."""
        return small_html(self) if hasattr(self, "latent_model_") else super()._repr_html_()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        if not hasattr(self, "latent_model_"):
            return super()._repr_mimebundle_(**options)
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def sensitivity_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote positive | Y positive) of each voter."""
        return self.latent_model_.sensitivity

    @property
    def specificity_(self) -> NDArray[np.float64]:
        """Estimated Pr(vote negative | Y negative) of each voter."""
        return self.latent_model_.specificity

    @property
    def balanced_accuracy_(self) -> NDArray[np.float64]:
        """Mean of sensitivity and specificity of each voter."""
        return self.latent_model_.balanced_accuracy

    @property
    def class_balance_(self) -> float:
        """Estimated Pr(Y positive)."""
        return self.latent_model_.class_balance

    @property
    def imbalance_(self) -> float:
        """Estimated class imbalance b = Pr(Y positive) - Pr(Y negative)."""
        return self.latent_model_.imbalance
