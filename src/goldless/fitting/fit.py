"""From counted votes to a fit: groups, EM, facts, kinds of items, and what else would explain the votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from goldless.errors import AmbiguousGroupingWarning, warn_user
from goldless.fitting.alternatives import (
    NOTABLE_CHANGE,
    describe_grouping,
    describe_undecided,
    nearby_groupings,
    other_groupings,
    undecided_by,
)
from goldless.fitting.believe import believe
from goldless.fitting.calibration import Calibration, calibrated_to
from goldless.fitting.core import FitVotes
from goldless.fitting.cut import Cut, KnownItems, find_cut, mean_votes
from goldless.fitting.facts import Facts
from goldless.fitting.fitted import Convergence, Fitted, Grouping, Guard, Settled, probabilities
from goldless.fitting.given_groups import FitOptions, Fits, fit_given, start_prior
from goldless.fitting.groups import FoundGroups, find_groups
from goldless.fitting.keep import with_sample
from goldless.fitting.known_labels import fit_with_facts
from goldless.fitting.levels import supported_levels
from goldless.fitting.moments import ImbalanceRule, independent_estimate
from goldless.fitting.number_warnings import warn_about_numbers
from goldless.fitting.numbers import RankedVotes, spectral_ranks
from goldless.fitting.probability_line import label_line, number_line
from goldless.fitting.risk import Risk, expected_balanced_accuracy
from goldless.fitting.settling import describe_settled, is_open, most_different, settle
from goldless.fitting.silence import hearing, silent_sums, with_silent_voters
from goldless.fitting.solve import Solver
from goldless.fitting.unseen import add_unseen, seen_if, unseen_of
from goldless.kernels.sparse import codes_of_voters
from goldless.maths.em import Dirichlet, EMResult
from goldless.maths.spectral import spectral_loadings
from goldless.maths.structure.search import covariance_misfit
from goldless.maths.tree import TreeModel, merge_copies
from goldless.votes.passes import VoteSums

_NEAREST = 3  # other groupings that count as nearest
_HARD_ITEMS_MISFIT = 1.5  # of the model without groups, from which easy and hard items are averaged in (C > 2)


def fit_tree(votes: FitVotes, options: FitOptions, facts: Facts | None = None) -> Fitted:
    """Find groups, estimate the tree, and settle by facts what the votes leave open."""
    known = facts is not None and facts.any
    options = seen_if(votes, options)
    votes = add_unseen(votes, options)
    found = find_groups(votes, options.structure, options.n_groups)
    fits = Fits(votes, options, found.overdispersion)
    found, fit, guard = believe(fits, found)
    prior, model = fit.prior, fit.result.model
    groupings: tuple[NDArray[np.int64], ...] = ()
    if found.structure is not None:  # the best of the search, which need not be what is used, and its rivals
        chosen, others = other_groupings(found.structure, model.groups)
        groupings = tuple(reading.groups for reading in (chosen, *others))
    settled = settle(votes, facts, model, groupings, prior) if known and facts is not None else None
    if settled is not None:
        model = settled.candidates[settled.best]
    grouping = _compare(votes, model, found, guard, settled, prior, groupings)
    # abstention as a vote
    heard = options.abstain == "informative" and options.em
    abstains = votes.cast.sum(axis=0) < votes.n_items
    abstainers = np.flatnonzero(abstains) if heard else np.array([], dtype=np.int64)
    sums, model = silent_sums(votes.sums, abstainers), with_silent_voters(model, abstainers)
    calibration = None
    result = fit.result
    if known and facts is not None:
        result, calibration = fit_with_facts(
            votes, facts, options, model, prior, sums, abstainers, found.overdispersion
        )
        model = result.model
    elif len(abstainers):
        silent_prior = hearing(prior.for_groups(model.groups), abstainers, votes.sums.n_voters)
        solver = Solver.of(sums, options.max_iter, options.tol)
        result = solver.finish(solver.run(model, silent_prior), silent_prior)
        model = result.model
    elif fit.free is not None:
        calibration = calibrated_to(votes.table, fit.table_model, fit.free)
    core = model.subset(np.arange(votes.sums.n_voters))
    level_prior = hearing(prior, abstainers, votes.sums.n_voters, model.n_voters)
    as_found = not known and not len(abstainers) and sums.engine is None  # then kinds of items may be fitted already
    levels = _find_levels(votes, sums, options, model, result, level_prior, known, fits if as_found else None)
    line, separation, cut = None, None, 0.0
    if votes.ranked is not None:
        line, separation, cut = number_line(votes, votes.ranked, core, facts)
    if votes.ranked is not None or calibration is None or levels or len(abstainers):
        calibration = Calibration(1.0, core.class_balance)
    fitted = votes.fitted(
        core,
        evidence=(model, *levels),
        columns=votes.voters,
        abstainers=abstainers,
        calibration=calibration,
        probability_line=line,
        convergence=_convergence(result) if options.em else None,
        balance_items=prior.balance,
        pseudo_votes=options.prior,
        grouping=grouping,
        facts=facts,
        settled=settled,
        separation=separation,
        number_cut=cut,
        unseen=unseen_of(votes, options, core, prior),
    )
    if votes.ranked is not None:
        evidence = fitted.log_likelihood(votes.counted.sketch.table.codes)
        warn_about_numbers(votes, fitted, evidence)
        return with_sample(votes, fitted, evidence)
    fitted = replace(fitted, probability_line=label_line(votes, fitted, facts))
    if votes.n_classes == 2:
        flat = _without_groups(fitted, fits)
        fitted = replace(fitted, cut=_find_cut(votes, fitted, facts, settled, flat))
        if isinstance(options.structure, str) and options.structure == "search":
            fitted = replace(fitted, risk=_risk(votes, fitted, flat()))
    return with_sample(votes, fitted)


def fit_independent(votes: FitVotes, options: FitOptions) -> Fitted:
    """Estimate voters that are independent given the label, by EM from one soft vote each (Dawid and Skene)."""
    groups = np.arange(votes.sums.n_voters)
    options = seen_if(votes, options)
    votes = add_unseen(votes, options)
    fit = fit_given(votes, options, groups, covariance_misfit(votes.covariance), calibrates=False)
    model = fit.result.model
    line, separation, cut = None, None, 0.0
    if votes.ranked is not None:
        line, separation, cut = number_line(votes, votes.ranked, model, None)
    fitted = votes.fitted(
        model,
        probability_line=line,
        separation=separation,
        number_cut=cut,
        convergence=_convergence(fit.result),
        balance_items=fit.prior.balance,
        pseudo_votes=options.prior,
        unseen=unseen_of(votes, options, model, fit.prior),
    )
    textbook = not any(options.prior) and options.balance_prior == 0  # its probabilities are the posterior
    return fitted if textbook or votes.ranked is not None else _less_sure(votes, fitted)


def fit_moments(votes: FitVotes, options: FitOptions) -> Fitted:
    """Estimate independent voters of two classes from second and third moments, then by EM."""
    if votes.ranked is not None:
        return _fit_spectral_ranks(votes, votes.ranked)
    if votes.shown is not None:
        raise ValueError(
            f"SpectralMetaLearner compares every two voters, and the {votes.votes.n_voters:,} of this crowd are too "
            "many: use DawidSkene or LatentSML."
        )
    rule = ImbalanceRule(options.imbalance)
    sums = votes.sums
    # where EM follows, moments of a sample are a good start
    model = independent_estimate(replace(sums, engine=None) if options.em else sums, votes.covariance, rule)
    covariance = _covariance_alone(votes)
    if not options.em:
        return _less_sure(votes, votes.fitted(model, pseudo_votes=options.prior, grouping=covariance))
    prior = start_prior(votes, options, model.groups, overdispersion=1.0)
    solver = Solver.of(sums, options.max_iter, options.tol)
    result = solver.finish(solver.run(model, prior), prior)
    ended = _convergence(result)
    fitted = votes.fitted(result.model, convergence=ended, pseudo_votes=options.prior, grouping=covariance)
    return _less_sure(votes, fitted)


def _fit_spectral_ranks(votes: FitVotes, ranked: RankedVotes) -> Fitted:
    """Weigh ranks by the leading rank-one part of their covariance (SUMMA)."""
    estimate = votes.covariance
    model = spectral_ranks(ranked, spectral_loadings(estimate.covariance, estimate.known).clip(-0.99, 0.99))
    line, separation, cut = number_line(votes, ranked, model, None)
    grouping = _covariance_alone(votes)
    return votes.fitted(model, probability_line=line, separation=separation, number_cut=cut, grouping=grouping)


def _less_sure(votes: FitVotes, fitted: Fitted) -> Fitted:
    """Return the fit of labels with the line that its probabilities are printed with."""
    fitted = replace(fitted, calibration=Calibration(1.0, fitted.model.class_balance))
    return replace(fitted, probability_line=label_line(votes, fitted, None))


def _covariance_alone(votes: FitVotes) -> Grouping:
    """Return what there is to keep of a fit that groups nobody: the covariance."""
    return Grouping(
        votes.shown_covariance,
        *(np.zeros((0, 0)), np.zeros(0), np.zeros(0)),
        residual=0.0, residual_path={}, overdispersion=covariance_misfit(votes.covariance), alternatives=(),
        ambiguous=False, verdict="",
    )  # fmt: skip


def _without_groups(fitted: Fitted, fits: Fits) -> Callable[[], TreeModel]:
    """Return what fits the model of the fitted voters without groups."""
    alone = np.arange(fits.votes.sums.n_voters)
    core = fitted.evidence[0].subset(alone)
    return lambda: core if core.n_groups == core.n_voters else fits.of(alone, finish=False).table_model


def _risk(votes: FitVotes, fitted: Fitted, flat: TreeModel) -> Risk:
    """Return what goes before a disaster."""
    table = votes.counted.sketch.table
    evidence = fitted.log_likelihood(table.codes)
    assert fitted.cut is not None
    labels = fitted.decide(fitted.cut.log_odds(fitted, table.codes, evidence))
    own = expected_balanced_accuracy(labels, probabilities(fitted.log_posterior(evidence)), table.counts)
    core = codes_of_voters(merge_copies(table.codes, fitted.model.copy_of), votes.voters)
    of_flat = flat.class_evidence(core).argmax(axis=1)
    by_majority = mean_votes(table.codes)
    grouping = fitted.grouping
    others = () if grouping is None else grouping.alternatives[:_NEAREST]
    differ = of_flat != evidence.argmax(axis=1), (by_majority != 0) & ((by_majority > 0) != labels)
    changed = [*(other.labels_changed for other in others), *np.stack(differ) @ table.counts / table.n_items]
    misfit = np.inf if grouping is None else grouping.overdispersion
    return Risk(votes.n_items, votes.sums.n_voters, own, float(max(changed)), misfit)


def _find_cut(
    votes: FitVotes, fitted: Fitted, facts: Facts | None, settled: Settled | None, flat: Callable[[], TreeModel]
) -> Cut:
    """Find where the labels of two classes are cut."""
    everyone = votes.counted.sums(np.arange(votes.votes.n_voters))
    known = None
    if facts is not None and len(facts.rows):
        picked = votes.counted.picked
        known = KnownItems(picked.codes, facts.labels.astype(np.int64), picked.weights)
    other = None if settled is None else most_different(settled, votes.table)
    return find_cut(everyone, fitted, flat, known, other)


def _compare(
    votes: FitVotes,
    model: TreeModel,
    found: FoundGroups,
    guard: Guard | None,
    settled: Settled | None,
    prior: Dirichlet,
    groupings: tuple[NDArray[np.int64], ...],
) -> Grouping:
    """Fit the nearest other groupings, say what they would change, and warn if votes and facts cannot decide."""
    structure = found.structure
    others = () if structure is None else nearby_groupings(votes.sums, model, structure, prior)
    guarded = guard is not None and not guard.kept
    if settled is None and structure is not None and found.undecided is not None:
        ambiguous, verdict = True, describe_undecided(structure.groups, found.undecided)
    elif settled is None:
        nearest = next((other for other in others if other.labels_changed > NOTABLE_CHANGE), None)
        ambiguous = undecided_by(others) is not None and not guarded
        verdict = describe_grouping(votes, model.groups, nearest, ambiguous, structure, guarded)
    else:
        ambiguous = is_open(settled, votes.table)
        verdict = describe_settled(settled, len(votes.core_voter))
    if ambiguous:
        warn_user(verdict, AmbiguousGroupingWarning)
    return Grouping(
        votes.shown_covariance,
        found.score,
        found.v_on,
        found.v_off,
        found.residual,
        found.residual_path,
        found.overdispersion,
        tuple(replace(other, groups=votes.spread_groups(other.groups)) for other in others),
        ambiguous,
        verdict,
        guard,
        groupings,
        votes.shown,
    )


def _find_levels(
    votes: FitVotes,
    sums: VoteSums,
    options: FitOptions,
    model: TreeModel,
    result: EMResult,
    prior: Dirichlet,
    known: bool,
    fits: Fits | None,
) -> tuple[TreeModel, ...]:
    """Return the hubs with kinds of items that the votes support, if they are wanted.

    ``fits`` are those made before of the same votes with the same prior, if they are.
    """
    if not (options.levels and options.em) or votes.ranked is not None:
        return ()
    if votes.n_classes > 2 and covariance_misfit(votes.covariance) < _HARD_ITEMS_MISFIT:
        return ()
    of_votes = result.log_likelihood
    if known or sums.engine is not None:  # that of votes and known labels, or of all votes
        of_votes = sums.packed(model.groups).log_likelihood(model)
    two = None if fits is None else fits.levels_made(model.groups)
    return supported_levels(sums, model, of_votes, prior, two)


def _convergence(result: EMResult) -> Convergence:
    return Convergence(result.log_likelihood, result.n_iter, result.converged, result.gap)
