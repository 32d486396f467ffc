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

from goldless.diagnosis.information import PatternScores
from goldless.diagnosis.known import KnownFacts, row_labels
from goldless.estimators.base import VoteEstimator, votes_of_model
from goldless.estimators.cut_numbers import CutVotes, Said
from goldless.estimators.majority import MajorityVote
from goldless.fitting.calibration import Calibration
from goldless.fitting.core import as_counts
from goldless.fitting.crowd import looked_at
from goldless.fitting.fitted import Fitted
from goldless.fitting.known_labels import WithLabels, with_label_voter
from goldless.fitting.solve import fit_groups, pooled_votes
from goldless.kernels.sparse import dense_codes
from goldless.maths.checks import relabel
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.em import Dirichlet, EMResult, run_em
from goldless.maths.structure.partitions import voters_in_groups
from goldless.maths.structure.prices import weak_group_prices
from goldless.maths.structure.search import CLEAR_MISFIT, covariance_misfit, search_structure
from goldless.maths.tree import TreeModel
from goldless.votes.alphabet import codes_of
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable
from goldless.votes.unseen import UnseenRows, count_listed
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
    """A fitted model and its votes."""

    model: VoteEstimator  # the fitted estimator
    votes: Votes  # the votes, encoded
    table: PatternTable  # patterns of all voters; items with a known label make patterns of their own
    # (n_core,): columns of the voters that carry information of their own: neither copies nor constant
    voters: NDArray[np.int64]
    known: KnownFacts  # what the model was told besides the votes
    weights: NDArray[np.int64] | None = None  # (n_items,): how many items each row stands for
    columns: NDArray[np.int64] | None = None  # (n_voters,): which voters of the model these are, if some are left out
    unseen: str = ""  # why what is seen of a crowd says little of its labels, in words
    said: Said | None = None  # what the numbers of every pattern say, if the votes are numbers that were cut

    @classmethod
    def of(cls, model: Any, X: Any, sample_weight: ArrayLike | None = None) -> PanelVotes:
        """Check and encode."""
        votes = votes_of_model(model, X, "a diagnosis")
        said = X.said if isinstance(X, CutVotes) else None
        counts = as_counts(sample_weight, votes.n_items)
        weights = count_listed(votes, counts, getattr(model, "at_least", None))
        n_items = votes.n_items
        model, votes, rows, columns, _, unseen = looked_at(model, votes)
        fitted, codes = model.fitted_, dense_codes(votes.codes)
        weights = weights if rows is None or weights is None else weights[rows]
        labels = row_labels(fitted.facts, n_items)
        labels = labels if rows is None else labels[rows]
        if said is not None:
            table, said = said.collapsed(np.column_stack([codes, labels]), weights)
            labels, table = table.codes[:, -1], table.without_last_voter()
        elif (labels >= 0).any():
            table = PatternTable.of(np.column_stack([codes, labels]), fitted.n_classes, weights)
            labels, table = table.codes[:, -1], table.without_last_voter()
        else:
            table = PatternTable.of(codes, fitted.n_classes, weights)
            labels = labels[: table.n_patterns]
        original = fitted.model.copy_of == np.arange(votes.n_voters)
        voters = np.flatnonzero(fitted.informative & original)
        known = KnownFacts.of(fitted, labels, voters)
        if known.class_prior is None and _one_sided(table, voters):  # the fit took the classes for equally frequent
            known = replace(known, class_prior=np.full(fitted.n_classes, 1 / fitted.n_classes))
        return cls(model, votes, table, voters, known, weights, columns, unseen, said)

    @property
    def fitted(self) -> Fitted:
        """What the estimator learnt."""
        return self.model.fitted_

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.fitted.n_classes

    @property
    def latent(self) -> TreeModel:
        """The fitted model of all voters."""
        return self.fitted.model

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the voters."""
        names = self.votes.voters if self.fitted.voters is None else self.fitted.voters
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
        grouping = self.fitted.grouping
        return covariance_misfit(self.core.pairs.covariance()) if grouping is None else grouping.overdispersion

    def rate_prior(self, groups: NDArray[np.int64]) -> Dirichlet:
        """Return the estimator's pseudo-votes; next to no prior on the class balance, which would bias intervals."""
        right, wrong = (max(pseudo, _SMALLEST_PRIOR) for pseudo in self.fitted.pseudo_votes)
        pooled = 0.0 if self.balance_is_a_guess else pooled_votes(self.n_classes, len(self.voters))
        return Dirichlet.of_classes(groups, self.n_classes, right, wrong, _SMALLEST_PRIOR, pooled)

    @property
    def centred_on_report(self) -> bool:
        """Whether intervals are centred on what the model reports, and not on the free refit.

        So it is if labels are averaged over kinds of items, which the model of the classes does not describe, and if
        they come from numbers.
        """
        return len(self.fitted.evidence) > 1 or self.said is not None

    @property
    def balance_is_a_guess(self) -> bool:
        """Whether the fit took the classes for equally frequent, because most votes come from one-sided voters."""
        facts = self.fitted.facts
        return self.known.class_prior is not None and (facts is None or facts.class_prior is None)

    @property
    def without_reference(self) -> str | None:
        """Why no real panels are known that looked like this one; None if there are such panels."""
        if self.balance_is_a_guess:
            return "most votes come from voters that only ever say one class, which too few panels have"
        return None

    @cached_property
    def free_fit(self) -> EMResult:
        """The model of the core voters, refitted from where it is without a prior on the class balance."""
        return self.refit_from(_alone_on_hub(self.latent.subset(self.voters)))

    def refit_from(self, start: TreeModel) -> EMResult:
        """Run EM on the core voters, with what is known besides the votes."""
        passes, prior = self._sums.packed(start.groups).expect, self.rate_prior(start.groups)
        if not self.known.any:
            return run_em(start, passes, prior=prior, max_iter=_ITERATIONS, tol=_TOL)
        start = with_label_voter(start)
        prior = self.known.prior(prior, start)
        rows = np.flatnonzero((self.known.labels >= 0) & (self.core_codes >= 0).any(axis=1))
        told = self.core_codes[rows], self.known.labels[rows], self.table.counts[rows]
        expect = WithLabels.of(passes, *told, start)
        result = run_em(prior.impose(start), expect, prior=prior, max_iter=_ITERATIONS, tol=_TOL)
        return replace(result, model=result.model.subset(np.arange(len(self.voters))))

    @cached_property
    def _sums(self) -> VoteSums:
        sums, unseen = VoteSums.of_table(self.core), self.fitted.unseen
        if unseen is None:
            return sums
        copies = np.bincount(self.latent.copy_of, minlength=self.votes.n_voters)[self.voters]
        n_known = unseen.items if unseen.given else None
        return replace(sums, unseen=UnseenRows.of(self.core, unseen.at_least, copies, n_known))

    @cached_property
    def free_model(self) -> TreeModel:
        """The model behind the intervals: the free refit, with weak echoes that the labels leave out.

        Groups for labels must pay for having been chosen among many, and weak ones stay out. Left out of the
        intervals too, they would bias every figure. So groups are looked for in the covariance at low prices, and let
        in if the likelihood of all votes, which sees more than the covariance, asks for them by BIC. Where no groups
        fit (an over-dispersion above 1.5), weak ones cannot be told from misfit and are left out.
        """
        best, candidates = self.free_fit, self._weak_groups(self.free_fit.model.groups)
        while candidates:
            fits = [self.fit_with_groups(_joined(best.model.groups, members)) for members in candidates]
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
        labels = [fit.model.class_log_likelihood(self.core.codes).argmax(axis=1) for fit in (self.free_fit, after)]
        same = self.core.counts @ (labels[0] == labels[1]) > self.core.n_items / 2
        return after.log_likelihood - before.log_likelihood - price if same else -np.inf

    def fit_with_groups(self, groups: NDArray[np.int64]) -> EMResult:
        """Fit other groups to the votes and what is known besides."""
        result = fit_groups(self._sums, groups, self.rate_prior(groups), _ITERATIONS, _TOL)
        return self.refit_from(result.model) if self.known.any else result

    def _weak_groups(self, groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return sets of voters that may be weak groups, or belong to the model's groups.

        Of two classes only: with more, weak groups cannot be told from items that are hard for everybody.
        """
        few = len(groups) <= LARGEST_SEARCHED and self.overdispersion < CLEAR_MISFIT
        if not self.searched or not few or self.centred_on_report or self.n_classes > 2:
            return []
        estimate, n_items = self.core.pairs.covariance(), self.core.n_items
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
        grouping = self.fitted.grouping
        return grouping is not None and len(grouping.candidates) > 0

    @property
    def groups_given(self) -> bool:
        """Whether the user named the groups."""
        return not isinstance(getattr(self.model, "structure", ""), str)

    @property
    def groups_unsought(self) -> bool:
        """Whether the model takes every voter for alone, without a look at the votes."""
        structure = getattr(self.model, "structure", "independent")
        return isinstance(structure, str) and structure == "independent"

    @property
    def groups_doubted(self) -> bool:
        """Whether groups were found that easy and hard items explain as well."""
        grouping = self.fitted.grouping
        return grouping is not None and grouping.guard is not None and not grouping.guard.kept

    @cached_property
    def independent_model(self) -> TreeModel:
        """The model of the core voters in which every voter is alone (Dawid and Skene)."""
        alone = np.arange(len(self.voters))
        for known in (self.free_fit.model, self.free_model):
            if np.array_equal(known.groups, alone):
                return known
        return fit_groups(self._sums, alone, self.rate_prior(alone), _ITERATIONS, _TOL).model

    @cached_property
    def scores(self) -> PatternScores:
        """Derivatives of the free model on the patterns of all voters and what is known of them."""
        codes = self.known.with_labels(self.core_codes)
        return PatternScores(codes, self.table.counts, self.known.spoken_for(self.free_model))

    @cached_property
    def belief(self) -> NDArray[np.float64]:
        """Pr(Y | votes) of every pattern that expectations are taken under."""
        return self.posterior if self.centred_on_report else self.scores.model.posterior(self.scores.codes)

    @cached_property
    def posterior(self) -> NDArray[np.float64]:
        """Pr(Y | votes) of every pattern, as the estimator says it; known labels are certain."""
        return self.calibrated(None)

    def calibrated(self, calibration: Calibration | None) -> NDArray[np.float64]:
        """Return Pr(Y | votes) of every pattern with a calibration; known labels are certain."""
        certain = np.eye(self.n_classes)[self.known.labels]
        # the model's own probabilities: printed ones are those of one more voter, and say nothing of the model
        own = self.fitted.calibration if calibration is None else calibration
        if self.said is not None:
            return np.where((self.known.labels >= 0)[:, None], certain, self.said.posterior)
        posterior = self.model.predict_proba(self._patterns, calibration=own)
        return np.where((self.known.labels >= 0)[:, None], certain, posterior)

    @property
    def _patterns(self) -> Votes:
        return Votes(self.table.codes, self.fitted.classes, self.fitted.voters)

    @cached_property
    def labels(self) -> dict[str, NDArray[np.int64]]:
        """Labels of every pattern, as codes, by each way to combine the votes; combined, items keep known labels."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            majority = MajorityVote().fit(self._patterns, sample_weight=self.table.counts)
            combined = codes_of(self.model.predict(self._patterns), self.fitted.classes)
        alone = self.independent_model.class_log_likelihood(self.core_codes)
        flat = self.fitted.said_only(self.table.codes, alone).argmax(axis=1)
        vote = codes_of(majority.predict(self._patterns), self.fitted.classes)
        if self.said is not None:
            combined, flat, vote = self.said.labels, self.said.flat, self.said.consensus
        return {
            "combined": np.where(self.known.labels >= 0, self.known.labels, combined),
            "Dawid-Skene": flat,
            "majority vote": vote,
        }

    def differ(self, one: str, other: str) -> float:
        """Return on what share of the items two ways to label differ."""
        return float(self.table.counts @ (self.labels[one] != self.labels[other]) / self.table.n_items)

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


def _one_sided(table: PatternTable, voters: NDArray[np.int64]) -> bool:
    """Whether, of more than two classes, most votes come from voters that only ever say one class.

    Such votes say nothing about the class balance: see :attr:`goldless.fitting.core.FitVotes.one_sided`.
    """
    cast = table.pairs.cast[:, voters]
    return len(cast) > 2 and bool(2 * cast[:, (cast > 0).sum(axis=0) == 1].sum() > cast.sum())


def _alone_on_hub(model: TreeModel) -> TreeModel:
    """Return the same distribution of votes with voters whose group has lost all others hanging on Y itself."""
    lone = (np.bincount(model.groups) == 1) & model.has_latent
    if not lone.any():
        return model
    votes = np.where(lone[model.groups][:, None, None], model.votes_given_state, model.votes)
    return replace(model, latents=np.where(lone[:, None, None], np.eye(model.n_states), model.latents), votes=votes)


def _joined(groups: NDArray[np.int64], members: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups with some voters put into one."""
    return relabel(np.where(np.isin(np.arange(len(groups)), members), groups[members[0]], groups))


def _is_group(members: NDArray[np.int64], groups: NDArray[np.int64]) -> bool:
    return np.array_equal(np.flatnonzero(groups == groups[members[0]]), members)
