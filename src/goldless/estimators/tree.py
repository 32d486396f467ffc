"""What estimators with a fitted tree share: decisions, probabilities, and why an item gets its label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.estimators.base import VoteEstimator, check_is_fitted
from goldless.fitting.calibration import Calibration
from goldless.fitting.explain import Explanation, explain_codes, explain_source
from goldless.fitting.fitted import probabilities
from goldless.kernels.sparse import SparseCodes
from goldless.maths.tree import TreeModel
from goldless.votes.source import VoteSource
from goldless.votes.sparse import MOST_COMPARED


class TreeEstimator(VoteEstimator):
    """An estimator whose answer is a fitted :class:`~goldless.TreeModel` in ``latent_model_``."""

    decision: str | None
    _decisions: tuple = ("ml", "map")

    def _check_parameters(self) -> None:
        if self.decision not in self._decisions:
            known = [repr(decision) for decision in self._decisions]
            raise ValueError(f"decision must be {', '.join(known[:-1])} or {known[-1]}, got {self.decision!r}")

    @property
    def _decides_by(self) -> str | None:
        """How labels are decided."""
        return self.decision

    def _log_odds(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        self._check_parameters()
        return self._deciding(codes, self.fitted_.log_likelihood(codes))

    def _deciding(self, codes: NDArray[np.int8], log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what decides from rows of codes and the log-likelihood of their classes."""
        fitted, by = self.fitted_, self._decides_by
        if by == "map":
            return fitted.log_posterior(log_likelihood, fitted.printed)
        if by == "mean" and fitted.cut is not None:
            return fitted.cut.log_odds(fitted, codes, log_likelihood)
        return log_likelihood

    def _probability(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        return probabilities(self.fitted_.log_posterior(self.fitted_.log_likelihood(codes), self.fitted_.printed))

    def _answer(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        evidence = self.fitted_.log_likelihood(codes)
        label = self.fitted_.decide(self._deciding(codes, evidence))
        return np.column_stack([label, probabilities(self.fitted_.log_posterior(evidence, self.fitted_.printed))])

    def predict_proba(
        self, X: Any, calibration: tuple | None = None, *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Return Pr(class | votes) of every item, columns in the order of ``classes_``.

        The class balance enters here whatever the ``decision``, so unless that is "map" the most probable class need
        not be the predicted one.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit.
        calibration : (temper, class_balance), optional
            A factor on the log-likelihood of the votes and the class balance to count with, as in
            ``goldless.diagnose(model, X).calibration``; by default ``calibration_`` where the model has it, and
            otherwise 1 and the class balance of the model.
        unknown : {"error", "missing"}, default="error"
            What a label is that the fit never saw: an error that names its place, or no vote.
        """
        check_is_fitted(self)
        fitted = self.fitted_
        known = fitted.printed if calibration is None else Calibration(*calibration)
        return self._on_patterns(
            X, lambda codes: probabilities(fitted.log_posterior(fitted.log_likelihood(codes), known)), unknown
        )

    def explain(self, X: Any, *, unknown: str = "error") -> Explanation:
        """Return why items get their labels: log-odds by group of voters, and what one more vote would tell.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit. A source is gone through once.
        unknown : {"error", "missing"}, default="error"
            What a label is that the fit never saw: an error that names its place, or no vote.

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
        votes, fitted = self._open(X, reset=False, unknown=unknown), self.fitted_
        sparse = votes.lists if isinstance(votes, VoteSource) else isinstance(votes.codes, SparseCodes)
        if sparse and votes.n_voters > MOST_COMPARED:
            raise ValueError(
                f"explain says what each of up to {MOST_COMPARED} voters adds, and there are {votes.n_voters:,}: "
                "explain the model and the votes of some of them (subset)."
            )
        if isinstance(votes, VoteSource):
            return replace(explain_source(fitted, votes), voters=fitted.voters)
        return replace(explain_codes(fitted, votes.codes), items=votes.items, voters=fitted.voters)

    # -- what was learnt ------------------------------------------------------------------------------------

    @property
    def latent_model_(self) -> TreeModel:
        """The fitted model of all voters, its states the classes."""
        return self._of_fit("latent_model_").model

    @property
    def log_likelihood_(self) -> float:
        """Log-likelihood of the votes where EM ended."""
        return self._ended("log_likelihood_").log_likelihood

    @property
    def n_iter_(self) -> int:
        """Number of passes of EM."""
        return self._ended("n_iter_").n_iter

    @property
    def converged_(self) -> bool:
        """Whether EM converged."""
        return self._ended("converged_").converged

    def _ended(self, name: str) -> Any:
        ended = self._of_fit(name).convergence
        if ended is None:
            raise AttributeError(f"{name}: there was no EM")
        return ended
