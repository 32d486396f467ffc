"""What is diagnosed: a fitted model, its votes as patterns, and what it says of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from goldless.diagnosis.information import PatternScores
from goldless.diagnosis.known import KnownFacts, row_labels
from goldless.estimators.latent_base import LatentEstimator
from goldless.estimators.majority import MajorityVote
from goldless.fitting.core import as_counts
from goldless.fitting.fit import fit_tree
from goldless.fitting.known_labels import WithLabels
from goldless.fitting.settling import with_label_voter
from goldless.io.encode import encode_votes
from goldless.maths.checks import relabel
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.em import EMResult, RatePrior, run_em
from goldless.maths.structure.partitions import voters_in_groups
from goldless.maths.structure.prices import weak_group_prices
from goldless.maths.structure.search import CLEAR_MISFIT, covariance_misfit, search_structure
from goldless.maths.tree import LatentModel
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable
from goldless.votes.votes import Votes

_ITERATIONS = 300
_TOL = 1e-8
_SMALLEST_PRIOR = 0.5
_SEAT = 0.5  # price of a further voter in a weak group
_LEFT_OVER = 4  # sets of voters to start the search for weak groups from
FEWEST_TO_SEE_ECHOES = 4  # voters
LARGEST_SEARCHED = 200  # voters; with more the groups are not searched again


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
        Patterns of all voters; items with a known label make patterns of their own.
    voters : ndarray of shape (n_core,)
        Columns of the voters that carry information of their own: neither copies nor constant.
    known : KnownFacts
        What the model was told besides the votes.
    """

    model: Any
    votes: Votes
    table: PatternTable
    voters: NDArray[np.int64]
    known: KnownFacts

    @classmethod
    def of(cls, model: Any, X: Any, sample_weight: ArrayLike | None = None) -> PanelVotes:
        """Check and encode."""
        check_is_fitted(model)
        if not isinstance(model, LatentEstimator):
            raise TypeError(f"a diagnosis needs a model of the voters such as LatentSML, not {type(model).__name__}")
        votes = encode_votes(X, classes=model.classes_, missing=model.missing)
        if votes.n_voters != model.n_features_in_:
            raise ValueError(f"the model has {model.n_features_in_} voters, the votes have {votes.n_voters}")
        labels, weights = row_labels(model, votes.n_items), as_counts(sample_weight, votes.n_items)
        if (labels >= 0).any():
            table = PatternTable.of(np.column_stack([votes.codes, labels]), weights)
            labels, table = table.codes[:, -1], table.without_last_voter()
        else:
            table = PatternTable.of(votes.codes, weights)
            labels = labels[: table.n_patterns]
        cast, positive = table.pair_counts.votes_cast, table.pair_counts.positive_votes
        one_sided = (positive == 0) | (positive == cast)
        informative = (cast > 0) & ~(one_sided & (cast == table.n_voted_items))
        original = model.latent_model_.copy_of == np.arange(votes.n_voters)
        voters = np.flatnonzero(informative & original)
        return cls(model, votes, table, voters, KnownFacts.of(model, labels, voters))

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

        So it is if labels are averaged over item subtypes, which the two-class model does not describe.
        """
        return bool(getattr(self.model, "subtype_models_", ()))

    @cached_property
    def free_fit(self) -> EMResult:
        """The model of the core voters, refitted from where it is without a prior on the class balance."""
        return self._refit(self.latent.subset(self.voters))

    def _refit(self, start: LatentModel) -> EMResult:
        """Run EM on the core voters, with what is known besides the votes."""
        passes = GroupedPatterns(self.core, start.groups).expect
        if not self.known.any:
            return run_em(start, passes, prior=self.rate_prior, max_iter=_ITERATIONS, tol=_TOL)
        prior, start = self.known.prior(self.rate_prior), with_label_voter(start)
        rows = np.flatnonzero((self.known.labels >= 0) & (self.core_codes >= 0).any(axis=1))
        told = self.core_codes[rows], self.known.labels[rows], self.table.counts[rows]
        expect = WithLabels.of(passes, *told, start.groups)
        result = run_em(prior.impose(start), expect, prior=prior, max_iter=_ITERATIONS, tol=_TOL)
        return replace(result, model=result.model.subset(np.arange(len(self.voters))))

    @cached_property
    def free_model(self) -> LatentModel:
        """The model behind the intervals: the free refit, with weak echoes that the labels leave out.

        Groups for labels must pay for having been chosen among many, and weak ones stay out. Left out of the
        intervals too, they would bias every figure. So groups are looked for in the covariance at low prices, and let
        in if the likelihood of all votes, which sees more than the covariance, asks for them by BIC. Where no groups
        fit (an over-dispersion above 1.5), weak ones cannot be told from misfit and are left out.
        """
        best, candidates = self.free_fit, self._weak_groups(self.free_fit.model.groups)
        while candidates:
            fits = [self._with_groups(_joined(best.model.groups, members)) for members in candidates]
            gains = [self._gain(best, fit) for fit in fits]
            first = int(np.argmax(gains))
            if gains[first] <= 0:
                break
            best, taken = fits[first], candidates[first]
            candidates = [members for members in candidates if not np.isin(members, taken).any()]
        return best.model

    def _gain(self, before: EMResult, after: EMResult) -> float:
        """Return what wider groups gain in likelihood beyond what BIC asks; negative if they change the reading.

        BIC counts two rates for a group; every voter beyond its second costs a little too, so that of readings which
        are the same tree the one with fewer voters in groups is taken.
        """
        old, new = before.model.groups, after.model.groups
        n_more = int((np.bincount(new) > 1).sum() - (np.bincount(old) > 1).sum())
        seats = voters_in_groups(new) - voters_in_groups(old) - 2 * n_more
        price = self.overdispersion * (n_more * np.log(self.core.n_items) + _SEAT * seats)
        labels = [fit.model.log_likelihood_ratio(self.core.codes) > 0 for fit in (self.free_fit, after)]
        same = self.core.counts @ (labels[0] == labels[1]) > self.core.n_items / 2
        return after.log_likelihood - before.log_likelihood - price if same else -np.inf

    def _with_groups(self, groups: NDArray[np.int64]) -> EMResult:
        """Fit other groups to the votes and what is known besides."""
        result = fit_tree(self.core, groups, self.rate_prior, _ITERATIONS, _TOL)
        return self._refit(result.model) if self.known.any else result

    def _weak_groups(self, groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return sets of voters that may be weak groups, or belong to the model's groups."""
        few = len(groups) <= LARGEST_SEARCHED and self.overdispersion < CLEAR_MISFIT
        if not self.searched or not few or self.centred_on_report:
            return []
        estimate, n_items = self.core.pair_counts.covariance(), self.core.n_items
        left_over = self._left_over(groups, estimate)
        starts = [groups, *(_joined(groups, members) for members in left_over)]
        prices = weak_group_prices(len(groups), n_items)
        together, sets = groups[:, None] == groups[None, :], list(left_over)
        for reading in search_structure(estimate, n_items, starts=starts, prices=prices).readings:
            if np.array_equal(reading.groups, groups):
                break
            if ((reading.groups[:, None] == reading.groups[None, :]) | ~together).all():
                sets += [np.flatnonzero(reading.groups == group) for group in range(reading.groups.max() + 1)]
                break
        distinct = {tuple(members): members for members in sets if len(members) > 1}
        return [members for members in distinct.values() if not _is_group(members, groups)]

    def _left_over(self, groups: NDArray[np.int64], estimate: CovarianceEstimate) -> list[NDArray[np.int64]]:
        """Return sets of voters, alone in the model, that covary more than it says: best first, four at most."""
        alone = np.flatnonzero(np.bincount(groups)[groups] == 1)
        if len(alone) < 3:
            return []
        pairs, error = np.ix_(alone, alone), estimate.standard_error
        excess = estimate.covariance - self.free_fit.model.population_covariance()
        known = estimate.known & (error > 0)
        excess = np.where(known, excess / np.where(known, error, 1.0), 0.0)[pairs]
        np.fill_diagonal(excess, excess.max())
        sets = [[voter] for voter in range(len(alone))]
        for one, other, *_ in linkage(squareform(excess.max() - (excess + excess.T) / 2, checks=False), "average"):
            sets.append(sets[int(one)] + sets[int(other)])
        inside = {
            tuple(of): excess[np.ix_(of, of)][np.triu_indices(len(of), 1)]
            for of in sets
            if 1 < len(of) <= len(alone) / 2
        }
        strength = {of: values.sum() / np.sqrt(len(values)) for of, values in inside.items()}
        best = sorted(strength, key=lambda of: -strength[of])[:_LEFT_OVER]
        return [np.sort(alone[list(of)]) for of in best]

    @property
    def searched(self) -> bool:
        """Whether the model's groups come from a search over enough voters and items."""
        by_search = isinstance(getattr(self.model, "structure", None), str) and self.model.structure == "search"
        return by_search and len(self.voters) >= FEWEST_TO_SEE_ECHOES and self.core.n_items >= 2 * len(self.voters)

    @cached_property
    def independent_model(self) -> LatentModel:
        """The model of the core voters in which every voter is alone (Dawid and Skene)."""
        alone = np.arange(len(self.voters))
        for known in (self.free_fit.model, self.free_model):
            if np.array_equal(known.groups, alone):
                return known
        return fit_tree(self.core, alone, self.rate_prior, _ITERATIONS, _TOL).model

    @cached_property
    def scores(self) -> PatternScores:
        """Derivatives of the free model on the patterns of all voters and what is known of them."""
        codes = self.known.with_labels(self.core_codes)
        return PatternScores(codes, self.table.counts, self.known.spoken_for(self.free_model))

    @cached_property
    def belief(self) -> NDArray[np.float64]:
        """Pr(Y positive | votes) of every pattern that expectations are taken under."""
        return self.posterior if self.centred_on_report else self.scores.model.posterior(self.scores.codes)

    @cached_property
    def posterior(self) -> NDArray[np.float64]:
        """Pr(Y positive | votes) of every pattern, as the estimator says it; known labels are certain."""
        labels = self.known.labels
        return np.where(labels >= 0, labels, self.model.predict_proba(self._patterns)[:, 1])

    @property
    def _patterns(self) -> Votes:
        return Votes(self.table.codes, self.votes.classes, getattr(self.model, "feature_names_in_", None))

    @cached_property
    def labels(self) -> dict[str, NDArray[np.int64]]:
        """Labels of every pattern, as codes, by each way to combine the votes; combined, items keep known labels."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            majority = MajorityVote().fit(self._patterns, sample_weight=self.table.counts)
        second = self.votes.classes[1]
        flat = self.independent_model.log_likelihood_ratio(self.core_codes)
        combined = np.array([label == second for label in self.model.predict(self._patterns)], dtype=np.int64)
        return {
            "combined": np.where(self.known.labels >= 0, self.known.labels, combined),
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

    def shared_among_copies(self, per_core_voter: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return shares of all voters from the core's: even among a voter and its copies, 0 for a silent one."""
        spread = self.spread(per_core_voter, 0.0)
        shared_by = np.bincount(self.latent.copy_of, minlength=len(spread))[self.latent.copy_of]
        return spread / shared_by.reshape((-1,) + (1,) * (spread.ndim - 1))


def _joined(groups: NDArray[np.int64], members: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups with some voters put into one."""
    return relabel(np.where(np.isin(np.arange(len(groups)), members), groups[members[0]], groups))


def _is_group(members: NDArray[np.int64], groups: NDArray[np.int64]) -> bool:
    return np.array_equal(np.flatnonzero(groups == groups[members[0]]), members)
