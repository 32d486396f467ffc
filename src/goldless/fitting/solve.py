"""EM on the votes of a fit, and the prior on the class balance that gives way where the votes speak against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.numbers import soft_votes
from goldless.maths.em import Dirichlet, EMResult, ExpectedCounts, run_em
from goldless.maths.em_large import finish_em
from goldless.maths.tree import TreeModel
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable

_BALANCE_PRIOR_ITEMS = 100.0
FREE_BALANCE = 0.5  # pseudo-items of each class that are left when the prior gives way
_ENOUGH_TO_CALIBRATE = 0.5  # of the items that the prior is worth
_FEW_VOTERS = 20  # fewer are no population to pull a voter's errors towards


def balance_prior_items(n_items: int, overdispersion: float) -> float:
    """Return how many items the prior on the class balance is worth, as many in each class.

    A Dirichlet with kappa = min(n, 100 phi) items: as much as a hundred labelled items (a standard deviation of 0.05
    for two classes) where the model holds, so it fades as n grows. Under over-dispersion phi the likelihood counts
    phi times too much (quasi-likelihood), so the prior is given phi times its weight instead; it is never heavier
    than the data. Where the votes speak against it, it gives way: :func:`free_balance`.
    """
    return min(float(n_items), _BALANCE_PRIOR_ITEMS * overdispersion)


def pooled_votes(n_classes: int, n_voters: int) -> float:
    """Return how many pseudo-votes a row of a voter's confusions gets from those of all voters: (C - 2) / 2.

    None for two classes, where a row has one parameter, and none without a population: with 4 to 10 voters the pull
    feeds their common confusions back to them.
    """
    return (n_classes - 2) / 2 if n_voters >= _FEW_VOTERS else 0.0


@dataclass(frozen=True, eq=False)
class Solver:
    """EM on votes: on their table, then on all of them if the table is a sample."""

    on_table: Callable[[TreeModel], ExpectedCounts]  # one pass over the table: the expected counts under a model
    on_all: Callable[[TreeModel], ExpectedCounts] | None  # one pass over all votes, if the table is a sample
    # max_iter, tol: when EM stops
    max_iter: int
    tol: float

    @classmethod
    def of(cls, votes: VoteSums, max_iter: int, tol: float, of_all: bool = False) -> Solver:
        """Return the solver of votes as they are; ``of_all`` takes no step on a sample."""
        if not max_iter >= 1:
            raise ValueError(f"max_iter must be at least 1, got {max_iter!r}")
        if of_all:
            return cls(votes.expect, None, max_iter, tol)
        return cls(votes.expect_table, None if votes.engine is None else votes.expect, max_iter, tol)

    def run(self, start: TreeModel, prior: Dirichlet, worth: float = 0.0) -> EMResult:
        """Run EM on the table, as long as a rise of the log-likelihood by ``worth`` can be hoped for."""
        return run_em(start, self.on_table, prior=prior, max_iter=self.max_iter, tol=self.tol, worth=worth)

    def finish(self, result: EMResult, prior: Dirichlet) -> EMResult:
        """Go on with EM from the optimum on a sample to that on all votes."""
        if self.on_all is None:
            return result
        return self.finish_from(result.model, prior)

    def finish_from(self, start: TreeModel, prior: Dirichlet) -> EMResult:
        """Run EM to the optimum on all votes."""
        if self.on_all is None:
            return self.run(start, prior)
        return finish_em(start, self.on_table, self.on_all, prior=prior, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, eq=False)
class FreeFit:
    """A fit without a prior on the class balance, what is left of the prior, and whether the votes ask for it."""

    result: EMResult
    prior: Dirichlet
    asked_for: bool


def free_balance(
    solve: Callable[..., EMResult],
    n_items: int,
    log_likelihood: float,
    prior: Dirichlet,
    overdispersion: float,
    calibrates: bool = True,
) -> FreeFit | None:
    """Fit again with a free class balance, and say if the votes ask for it; None if too few items were seen.

    The prior of :func:`balance_prior_items` helps where the votes say little about the class balance, and costs up
    to ten points where they say clearly that it is far from even. It gives way on two conditions. Freeing it must
    gain more than phi log(n) / 2 in log-likelihood for each of C - 1 parameters, their price under over-dispersion.
    And the free fit must see at least 200 phi / C items in each class, as many as the prior is worth for two: with
    fewer a class is too small to learn rates from, and likelihood gains by shrinking it to a few odd items (rules
    that all vote for one class do this). Half of that is enough to learn from it how probabilities are biased
    (:func:`goldless.fitting.calibration.calibrated_to`).

    ``solve``: ``solve(prior=...)`` runs EM from the fit with the prior; ``n_items``: number of items behind it;
    ``log_likelihood``: of the fit with the prior; ``calibrates``: whether the free fit is of use also where it is not
    asked for; else ``solve(prior=..., worth=...)`` may stop once it can no longer be.
    """
    n_classes = len(prior.items)
    needed = 2 * _BALANCE_PRIOR_ITEMS * overdispersion / n_classes
    free = prior.with_balance(FREE_BALANCE)
    if n_items < _BALANCE_PRIOR_ITEMS * overdispersion or prior.balance <= FREE_BALANCE:
        return None
    price = overdispersion * (n_classes - 1) * np.log(n_items) / 2
    fitted = solve(prior=free) if calibrates else solve(prior=free, worth=price)
    fewest = n_items * float(fitted.model.class_prior.min())
    if fewest < _ENOUGH_TO_CALIBRATE * needed:
        return None
    gain = fitted.log_likelihood - log_likelihood
    return FreeFit(fitted, free, gain > price and fewest >= needed)


@dataclass(frozen=True, eq=False)
class Balanced:
    """A fit whose prior on the class balance has given way, or has not."""

    result: EMResult
    prior: Dirichlet  # what is left of the prior
    # the model with a free balance, where it could be fitted, was not asked for, and calibrates
    free: TreeModel | None = None


def fit_groups(votes: VoteSums, groups: NDArray[np.int64], prior: Dirichlet, max_iter: int, tol: float) -> EMResult:
    """Run EM on the table for given groups from one soft vote a unit."""
    packed, prior = votes.packed(groups), prior.for_groups(groups)
    return run_em(start_of(votes, groups, prior), packed.expect, prior=prior, max_iter=max_iter, tol=tol)


def start_of(votes: VoteSums, groups: NDArray[np.int64], prior: Dirichlet, of_all: bool = False) -> TreeModel:
    """Return the model of one soft vote a unit, on the table or on all votes."""
    if prior.ordered is None:
        return prior.maximise(votes.unit_votes(groups, of_all))
    assert isinstance(votes.table, PatternTable)  # numbers are never sparse
    return prior.maximise(soft_votes(prior.ordered, votes.table, groups))


def fit_balanced(
    solver: Solver, start: TreeModel, prior: Dirichlet, n_items: int, overdispersion: float, calibrates: bool
) -> Balanced:
    """Run EM on the table, and free the class balance if the votes ask for it."""
    held = solver.run(start, prior)
    again = partial(solver.run, held.model)
    free = free_balance(again, n_items, held.log_likelihood, prior, overdispersion, calibrates)
    if free is not None and free.asked_for:
        return Balanced(free.result, free.prior)
    return Balanced(held, prior, free.result.model if free is not None and calibrates else None)
