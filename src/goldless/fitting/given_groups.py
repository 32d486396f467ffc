"""A fit for given groups: the pseudo-counts it starts with, EM, and the class balance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.fitting.core import FitVotes
from goldless.fitting.levels import LevelsFit, fit_levels
from goldless.fitting.moments import ImbalanceRule, two_stage_estimate
from goldless.fitting.solve import Balanced, Solver, balance_prior_items, fit_balanced, pooled_votes, start_of
from goldless.maths.em import Dirichlet, EMResult
from goldless.maths.ordered import STRENGTH
from goldless.maths.tree import TreeModel


@dataclass(frozen=True)
class FitOptions:
    """How a tree is fitted; see the parameters of :class:`~goldless.LatentSML`."""

    prior: tuple[float, float] = (1.0, 0.5)
    balance_prior: str | float = "auto"
    max_iter: int = 500
    tol: float = 1e-7
    structure: str | ArrayLike = "independent"
    n_groups: Any = None
    start: str = "votes"
    em: bool = True
    levels: bool = False
    latent_values: str = "soft"
    imbalance: str | float = "restricted"
    abstain: str = "ignore"
    at_least: int | None = None
    n_unseen: float | None = None


def start_prior(votes: FitVotes, options: FitOptions, groups: NDArray[np.int64], overdispersion: float) -> Dirichlet:
    """Return the pseudo-counts that EM starts with."""
    if np.shape(options.prior) != (2,) or not all(pseudo >= 0 for pseudo in options.prior):
        raise ValueError(f"prior must be two pseudo-counts (right, wrong), none negative, got {options.prior!r}")
    items = options.balance_prior
    if isinstance(items, str) and items == "auto":
        items = balance_prior_items(votes.n_items, overdispersion)
    if isinstance(items, str) or not items >= 0:
        raise ValueError(f"balance_prior must be 'auto' or a number of items, got {options.balance_prior!r}")
    n_classes, (right, wrong) = votes.n_classes, options.prior
    if votes.ranked is not None:
        # as with the prior on the balance: under over-dispersion the likelihood counts phi times too much
        ordered = replace(votes.ranked.ordered, strength=overdispersion * STRENGTH)
        prior = Dirichlet.of_classes(groups, 2, right, wrong, items / 2, ordered=ordered)
        return prior.with_known_prior(votes.ranked.class_prior)
    pooled = pooled_votes(n_classes, len(groups))
    return Dirichlet.of_classes(groups, n_classes, right, wrong, items / n_classes, pooled)


@dataclass(frozen=True, eq=False)
class GroupsFit:
    """A fit for given groups: on all votes, and on the table, with what is left of the prior."""

    result: EMResult
    prior: Dirichlet
    table_model: TreeModel
    table_log_likelihood: float
    free: TreeModel | None = None
    finished: bool = True


def fit_given(
    votes: FitVotes,
    options: FitOptions,
    groups: NDArray[np.int64],
    overdispersion: float,
    finish: bool = True,
    calibrates: bool = True,
) -> GroupsFit:
    """Estimate the parameters for given groups; the prior on the class balance may give way.

    Probabilities are calibrated by a fit with a free balance, if they are and the fit is finished.
    """
    sums = votes.sums
    prior = start_prior(votes, options, groups, overdispersion)
    if votes.ranked is not None:
        return _fit_ranked(votes, options, prior, groups, overdispersion, finish)
    of_all = finish and options.em and sums.streams_lists
    if options.start == "two-stage" or not options.em:
        rule, hard = ImbalanceRule(options.imbalance), options.latent_values == "hard"
        on = replace(sums, engine=None) if options.em else sums
        start = two_stage_estimate(on, votes.covariance, groups, rule, hard)
    else:
        start = start_of(sums, groups, prior, of_all)
    if not options.em:
        ended = EMResult(start, np.nan, np.array([]), 0, True, 0.0)
        return GroupsFit(ended, prior, start, np.nan)
    solver = Solver.of(sums, options.max_iter, options.tol, of_all)
    if votes.n_classes > 2 and votes.one_sided:  # votes that name one class each say nothing about the balance
        even = np.full(votes.n_classes, 1 / votes.n_classes)
        prior = replace(prior, known_prior=even, pooled=0.0)
        fit = Balanced(solver.run(start_of(sums, groups, prior, of_all), prior), prior)
    elif isinstance(options.balance_prior, str):
        n_items = sums.n_items if of_all else sums.table.n_items
        fit = fit_balanced(solver, start, prior, n_items, overdispersion, calibrates and finish)
    else:
        fit = Balanced(solver.run(start, prior), prior)
    on_table = fit.result
    result = solver.finish(on_table, fit.prior) if finish else on_table
    of_table = sums.packed(groups).log_likelihood(on_table.model) if of_all else on_table.log_likelihood
    return GroupsFit(result, fit.prior, on_table.model, of_table, fit.free, finish)


@dataclass(frozen=True, eq=False)
class Fits:
    """Fits of groupings of the same votes, each made once."""

    votes: FitVotes
    options: FitOptions
    overdispersion: float
    _made: dict[bytes, GroupsFit] = field(default_factory=dict, repr=False)
    _levels: dict[bytes, LevelsFit | None] = field(default_factory=dict, repr=False)

    def of(self, groups: NDArray[np.int64], finish: bool = True) -> GroupsFit:
        """Return the fit of some groups; ``finish=False`` is content with that on the table."""
        made = self._made.get(groups.tobytes())
        if made is None or (finish and not made.finished):
            made = fit_given(self.votes, self.options, groups, self.overdispersion, finish)
            self._made[groups.tobytes()] = made
        return made

    def levels(self, groups: NDArray[np.int64]) -> LevelsFit | None:
        """Return the fit with two kinds of items in each class, on the table; None if the fit sees one class only."""
        key = groups.tobytes()
        if key not in self._levels:
            made = self.of(groups, finish=False)
            self._levels[key] = fit_levels(self.votes.sums, made.table_model, made.prior, 2)
        return self._levels[key]

    def levels_made(self, groups: NDArray[np.int64]) -> LevelsFit | None:
        """Return that fit if it was made."""
        return self._levels.get(groups.tobytes())


def _fit_ranked(
    votes: FitVotes,
    options: FitOptions,
    prior: Dirichlet,
    groups: NDArray[np.int64],
    overdispersion: float,
    finish: bool,
) -> GroupsFit:
    """Estimate the parameters of voters that say numbers; a class balance that they state is held."""
    solver = Solver.of(votes.sums, options.max_iter, options.tol)
    start = start_of(votes.sums, groups, prior)
    if prior.known_prior is None and isinstance(options.balance_prior, str):
        fit = fit_balanced(solver, start, prior, votes.table.n_items, overdispersion, calibrates=False)
    else:
        fit = Balanced(solver.run(start, prior), prior)
    result = solver.finish(fit.result, fit.prior) if finish else fit.result
    return GroupsFit(result, fit.prior, fit.result.model, fit.result.log_likelihood, finished=finish)
