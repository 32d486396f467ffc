"""What is diagnosed: a fitted model, its votes as patterns, and what it says of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from goldless.diagnosis.scores import PatternScores
from goldless.estimators.base import LatentEstimator, as_counts
from goldless.estimators.majority import MajorityVote
from goldless.estimators.tree_fit import fit_tree
from goldless.maths.em import RatePrior, run_em
from goldless.maths.latent_model import LatentModel
from goldless.maths.search import covariance_misfit
from goldless.votes.encoding import Votes, encode_votes
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable

_ITERATIONS = 300
_TOL = 1e-8
_SMALLEST_PRIOR = 0.5


@dataclass(frozen=True)
class PanelVotes:
    """A fitted model and its votes.

    Attributes
    ----------
    model : LatentEstimator
        The fitted estimator.
    votes : Votes
        The votes, encoded.
    table : PatternTable
        Patterns of all voters.
    voters : ndarray of shape (n_core,)
        Columns of the voters that carry information of their own: neither copies nor constant.
    """

    model: Any
    votes: Votes
    table: PatternTable
    voters: NDArray[np.int64]

    @classmethod
    def of(cls, model: Any, X: Any, sample_weight: ArrayLike | None = None) -> PanelVotes:
        """Check and encode."""
        check_is_fitted(model)
        if not isinstance(model, LatentEstimator):
            raise TypeError(f"a diagnosis needs a model of the voters such as LatentSML, not {type(model).__name__}")
        votes = encode_votes(X, classes=model.classes_, missing=model.missing)
        if votes.n_voters != model.n_features_in_:
            raise ValueError(f"the model has {model.n_features_in_} voters, the votes have {votes.n_voters}")
        table = PatternTable.of(votes.codes, as_counts(sample_weight, votes.n_items))
        cast, positive = table.pair_counts.votes_cast, table.pair_counts.positive_votes
        one_sided = (positive == 0) | (positive == cast)
        informative = (cast > 0) & ~(one_sided & (cast == table.n_voted_items))
        original = model.latent_model_.copy_of == np.arange(votes.n_voters)
        return cls(model, votes, table, np.flatnonzero(informative & original))

    @property
    def latent(self) -> LatentModel:
        """The fitted model of all voters."""
        return self.model.latent_model_

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the voters."""
        names = getattr(self.model, "feature_names_in_", None)
        names = self.votes.voters if names is None else names
        if names is None:
            return tuple(f"voter {voter}" for voter in range(self.votes.n_voters))
        return tuple(str(name) for name in names)

    @cached_property
    def core(self) -> PatternTable:
        """Patterns of the voters that carry information."""
        return self.table.informative(self.voters)

    @cached_property
    def core_codes(self) -> NDArray[np.int8]:
        """Their votes in the patterns of all voters."""
        return np.ascontiguousarray(self.table.codes[:, self.voters])

    @cached_property
    def overdispersion(self) -> float:
        """Misfit of the covariance model, 1 when it holds."""
        known = getattr(self.model, "overdispersion_", None)
        return covariance_misfit(self.core.pair_counts.covariance()) if known is None else float(known)

    @property
    def rate_prior(self) -> RatePrior:
        """The estimator's pseudo-votes, and next to no prior on the class balance, which would bias intervals."""
        right, wrong = getattr(self.model, "prior", (_SMALLEST_PRIOR, _SMALLEST_PRIOR))
        return RatePrior(max(right, _SMALLEST_PRIOR), max(wrong, _SMALLEST_PRIOR), balance=_SMALLEST_PRIOR)

    @property
    def centred_on_report(self) -> bool:
        """Whether intervals are centred on what the model reports, and not on the free refit.

        So it is if labels are averaged over item subtypes, which the two-class model does not describe, and if facts
        besides the votes went into the fit.
        """
        return bool(getattr(self.model, "subtype_models_", ()) or getattr(self.model, "_settled_", ()))

    @cached_property
    def free_model(self) -> LatentModel:
        """The model of the core voters, refitted from where it is without a prior on the class balance."""
        start = self.latent.subset(self.voters)
        if getattr(self.model, "_settled_", ()):
            return start
        passes = GroupedPatterns(self.core, start.groups)
        return run_em(start, passes.expect, prior=self.rate_prior, max_iter=_ITERATIONS, tol=_TOL).model

    @cached_property
    def independent_model(self) -> LatentModel:
        """The model of the core voters in which every voter is alone (Dawid and Skene)."""
        alone = np.arange(len(self.voters))
        if np.array_equal(self.free_model.groups, alone):
            return self.free_model
        return fit_tree(self.core, alone, self.rate_prior, _ITERATIONS, _TOL).model

    @cached_property
    def scores(self) -> PatternScores:
        """Derivatives of the free model on the patterns of all voters."""
        return PatternScores(self.core_codes, self.table.counts, self.free_model)

    @cached_property
    def posterior(self) -> NDArray[np.float64]:
        """Pr(Y positive | votes) of every pattern, as the estimator says it."""
        return self.model.predict_proba(self._patterns)[:, 1]

    @property
    def _patterns(self) -> Votes:
        return Votes(self.table.codes, self.votes.classes, getattr(self.model, "feature_names_in_", None))

    @cached_property
    def labels(self) -> dict[str, NDArray[np.int64]]:
        """Labels of every pattern, as codes, by each way to combine the votes."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            majority = MajorityVote().fit(self._patterns, sample_weight=self.table.counts)
        second = self.votes.classes[1]
        flat = self.independent_model.log_likelihood_ratio(self.core_codes)
        return {
            "combined": np.array([label == second for label in self.model.predict(self._patterns)], dtype=np.int64),
            "Dawid-Skene": (flat > 0).astype(np.int64),
            "majority vote": np.array(
                [label == second for label in majority.predict(self._patterns)], dtype=np.int64
            ),
        }

    def spread(self, per_core_voter: NDArray[np.float64], otherwise: float) -> NDArray[np.float64]:
        """Return values of all voters from those of the core: a copy has its original's, a silent one has none."""
        place = np.full(self.votes.n_voters, -1)
        place[self.voters] = np.arange(len(self.voters))
        place = place[self.latent.copy_of]
        shape = (-1,) + (1,) * (per_core_voter.ndim - 1)
        return np.where((place >= 0).reshape(shape), per_core_voter[place], otherwise)
