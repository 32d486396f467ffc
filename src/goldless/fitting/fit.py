"""Fit the latent tree for given groups: one vote a unit to start, EM, and item subtypes if the votes support them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from goldless.maths.em import EMResult, ExpectedCounts, KnownRates, RatePrior, run_em
from goldless.maths.em_large import finish_em
from goldless.maths.subtypes import SubtypeModel, SubtypePrior, subtype_bins
from goldless.maths.tree import LatentModel, probability
from goldless.progress import part
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable
from goldless.votes.whole import WholeVotes

_BALANCE_PRIOR_ITEMS = 100.0
_FREE_BALANCE = 0.5  # pseudo-items of each class that are left when the prior gives way
_ENOUGH_TO_CALIBRATE = 0.5  # of the items that the prior is worth
_SUBTYPES_PER_CLASS = (2, 3)
_SUBTYPE_ITERATIONS = 100
_SUBTYPE_TOL = 1e-5


def balance_prior_items(n_items: int, overdispersion: float) -> float:
    """Return how many items the prior on the class balance is worth, half of them in each class.

    Beta(kappa / 2, kappa / 2) with kappa = min(n, 100 phi): as much as a hundred labelled items (a standard
    deviation of 0.05) where the model holds, so it fades as n grows. Under over-dispersion phi the likelihood
    counts phi times too much (quasi-likelihood), so the prior is given phi times its weight instead; it is never
    heavier than the data. Where the votes speak against it, it gives way: :func:`free_balance`.
    """
    return min(float(n_items), _BALANCE_PRIOR_ITEMS * overdispersion)


BalancePrior = TypeVar("BalancePrior", RatePrior, KnownRates)


@dataclass(frozen=True)
class FreeFit(Generic[BalancePrior]):
    """A fit without a prior on the class balance, what is left of the prior, and whether the votes ask for it."""

    result: EMResult
    prior: BalancePrior
    asked_for: bool


def free_balance(
    solve: Callable[..., EMResult], n_items: int, log_likelihood: float, prior: BalancePrior, overdispersion: float
) -> FreeFit[BalancePrior] | None:
    """Fit again with a free class balance, and say if the votes ask for it; None if too few items were seen.

    The prior of :func:`balance_prior_items` helps where the votes say little about the class balance, and costs up
    to ten points where they say clearly that it is far from one half. It gives way on two conditions. Freeing it
    must gain more than phi log(n) / 2 in log-likelihood, the price of one parameter under over-dispersion. And the
    free fit must see at least 100 phi items in each class, as many as the prior is worth: with fewer a class is too
    small to learn rates from, and likelihood gains by shrinking it to a few odd items (rules that all vote for one
    class do this). Half of that is enough to learn from it how probabilities are biased
    (:func:`goldless.fitting.calibration.calibrated_to`).

    Parameters
    ----------
    solve : callable
        ``solve(prior=...)`` runs EM from the fit with the prior.
    n_items : int
        Number of items behind it.
    log_likelihood : float
        Of the fit with the prior.
    prior : RatePrior or KnownRates
    overdispersion : float
    """
    needed = _BALANCE_PRIOR_ITEMS * overdispersion
    free = prior.with_balance(_FREE_BALANCE)
    if n_items < 2 * _ENOUGH_TO_CALIBRATE * needed or prior.balance <= _FREE_BALANCE:
        return None
    fitted = solve(prior=free)
    balance = fitted.model.class_balance
    fewest = n_items * min(balance, 1 - balance)
    if fewest < _ENOUGH_TO_CALIBRATE * needed:
        return None
    gain = fitted.log_likelihood - log_likelihood
    return FreeFit(fitted, free, gain > overdispersion * np.log(n_items) / 2 and fewest >= needed)


def unit_vote_counts(
    table: PatternTable, groups: NDArray[np.int64], hub: NDArray[np.float64] | None = None
) -> ExpectedCounts:
    """Return expected counts to start EM from: every group, and every voter that is alone, has one soft vote.

    Parameters
    ----------
    table : PatternTable
    groups : ndarray of shape (n_voters,)
    hub : ndarray of shape (n_patterns, n_states), optional
        Start of Pr(state | votes); by default (negative, positive) by the mean over units of their mean vote.
        This also fixes the sign: most independent *units* are taken to beat a coin, not most voters.
    """
    return GroupedPatterns(table, groups).unit_votes(hub)


def fit_tree(table: PatternTable, groups: NDArray[np.int64], prior: RatePrior, max_iter: int, tol: float) -> EMResult:
    """Run EM for given groups from one soft vote a unit."""
    return fit_passes(GroupedPatterns(table, groups), prior, max_iter, tol)


def fit_passes(passes: GroupedPatterns, prior: RatePrior, max_iter: int, tol: float) -> EMResult:
    """Run EM on votes packed for their groups from one soft vote a unit."""
    start = prior.maximise(passes.unit_votes(), passes.groups)
    return run_em(start, passes.expect, prior=prior, max_iter=max_iter, tol=tol)


def fit_subtypes(
    table: PatternTable,
    model: LatentModel,
    log_likelihood: float,
    prior: RatePrior,
    whole: WholeVotes | None = None,
) -> tuple[SubtypeModel, ...]:
    """Return the hubs with subtypes that the votes support: two in each class, then three.

    A hub is supported if its gain in log-likelihood over two states passes the BIC price, log(n) / 2 for each
    parameter. On real, misspecified votes the likelihood always asks for more states, so it decides whether there
    are subtypes and not how many; those supported are averaged with the two-state model. Each state keeps the
    share of positive items that the two-state model sees in it: a state it leaves open stays open.

    If the table is a sample of ``whole``, the sample decides, and hubs that it supports are finished on all votes.
    """
    codes, counts = table.codes, table.counts
    ratio = model.log_likelihood_ratio(codes)
    if (ratio > 0).all() or (ratio <= 0).all():
        return ()
    positive = probability(ratio + model.log_prior_odds)
    passes = GroupedPatterns(table, model.groups)
    if whole is not None:
        log_likelihood = passes.log_likelihood(model)
    supported: list[SubtypeModel] = []
    for number, per_class in enumerate(_SUBTYPES_PER_CLASS):
        hub, is_positive = subtype_bins(ratio, counts, per_class)
        n_states = len(is_positive)
        empty = SubtypeModel(
            groups=model.groups,
            state_weights=np.full(n_states, 1 / n_states),
            state_is_positive=is_positive,
            positive_share=is_positive.astype(float),
            positive_prior=0.5,
            group_positive=np.full((model.n_groups, n_states), 0.5),
            vote_positive=np.full((model.n_voters, n_states), 0.5),
        )
        subtype_prior = SubtypePrior(prior.right, prior.wrong, prior.balance, empty)
        start = subtype_prior.maximise(passes.unit_votes(hub), model.groups)
        with part("looking for item subtypes", number / 2, (number + 1) / 2):
            fitted = run_em(start, passes.expect, prior=subtype_prior, max_iter=_SUBTYPE_ITERATIONS, tol=_SUBTYPE_TOL)
        price = 0.5 * np.log(table.n_items) * (n_states - 2) * (model.n_groups + 1)
        if fitted.log_likelihood - log_likelihood <= price:
            break
        if whole is None:
            supported.append(fitted.model.with_classes(codes, counts, positive))
            continue
        fitted = finish_em(
            fitted.model,
            passes.expect,
            whole.expect,
            prior=subtype_prior,
            max_iter=_SUBTYPE_ITERATIONS,
            tol=_SUBTYPE_TOL,
        )
        shares = whole.sum_codes(partial(_class_shares, fitted.model, model, whole.voters))
        supported.append(fitted.model.with_shares(*shares))
    return tuple(supported)


def _class_shares(
    subtypes: SubtypeModel,
    model: LatentModel,
    voters: NDArray[np.int64],
    codes: NDArray[np.int8],
    counts: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the items of each state, and those of them that the two-state model sees as positive."""
    core = np.ascontiguousarray(codes[:, voters])
    counts = counts * (core >= 0).any(axis=1)
    positive = probability(model.log_likelihood_ratio(core) + model.log_prior_odds)
    states = subtypes.state_posterior(core)
    return counts @ states, (counts * positive) @ states


def averaged_ratio(ratios: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Average log-likelihood ratios as posteriors with even odds, and return the log-odds of the mean."""
    if len(ratios) == 1:
        return ratios[0]
    mean = np.mean([np.tanh(ratio / 2) for ratio in ratios], axis=0)
    return 2 * np.arctanh(mean.clip(-1 + 1e-15, 1 - 1e-15))


def with_abstention(codes: NDArray[np.int8], voters: NDArray[np.int64]) -> NDArray[np.int8]:
    """Add, for some voters, a vote on whether they vote at all.

    Given the state of a voter's parent, Pr(vote, voted) = Pr(voted) Pr(vote | voted), so a second voter beside the
    first says all there is to say.
    """
    if not len(voters):
        return np.ascontiguousarray(codes)
    return np.ascontiguousarray(np.hstack([codes, (codes[:, voters] >= 0).astype(np.int8)]))


def with_silent_abstention(model: LatentModel, voters: NDArray[np.int64]) -> LatentModel:
    """Return the model of votes and abstentions in which abstention says nothing yet, for EM to start from.

    The abstention of a voter in a group hangs on the group's latent, that of a voter alone on Y.
    """
    groups = model.groups[voters]
    alone = (np.bincount(model.groups) == 1)[groups]
    fresh = model.n_groups + np.cumsum(alone) - 1
    even, ones = np.full(len(voters), 0.5), np.ones(int(alone.sum()))
    return LatentModel(
        groups=np.concatenate([model.groups, np.where(alone, fresh, groups)]),
        class_balance=model.class_balance,
        group_sensitivity=np.concatenate([model.group_sensitivity, ones]),
        group_specificity=np.concatenate([model.group_specificity, ones]),
        sensitivity_given_group=np.concatenate([model.sensitivity_given_group, even]),
        specificity_given_group=np.concatenate([model.specificity_given_group, even]),
    )
