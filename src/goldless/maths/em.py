"""Exact EM on the latent model: the tree makes every expectation closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldless.maths.latent_model import LatentModel

_CLIP = 1e-10
_LOG_ODDS_LIMIT = 20.0


@dataclass(frozen=True)
class ExpectedCounts:
    """What the E-step counts, summed over items. Counts of two blocks of items add.

    Attributes
    ----------
    labels : ndarray of shape (2,)
        Expected items with Y negative and positive.
    latents : ndarray of shape (n_groups, 2, 2)
        Expected items with (alpha_k, Y); for a group of one voter alpha is Y.
    votes : ndarray of shape (n_voters, 2, 2)
        Expected (latent of the voter's group, vote) over the voter's votes.
    log_likelihood : float
        Log-likelihood of the votes.
    """

    labels: NDArray[np.float64]
    latents: NDArray[np.float64]
    votes: NDArray[np.float64]
    log_likelihood: float

    def __add__(self, other: ExpectedCounts) -> ExpectedCounts:
        return ExpectedCounts(
            self.labels + other.labels,
            self.latents + other.latents,
            self.votes + other.votes,
            self.log_likelihood + other.log_likelihood,
        )


@dataclass(frozen=True)
class RatePrior:
    """Pseudo-counts that keep rates away from 0 and 1.

    Attributes
    ----------
    right, wrong : float
        Pseudo-votes added to the agreements and the disagreements of every sensitivity and specificity.
    balance : float
        Pseudo-items added to each class.
    """

    right: float = 0.01
    wrong: float = 0.01
    balance: float = 0.01

    def log_density(self, model: LatentModel, own_latent: NDArray[np.bool_]) -> float:
        """Return the log-density of a model up to a constant; ``own_latent`` marks groups of two or more."""
        total = self.balance * (_log(model.class_balance) + _log(1 - model.class_balance))
        for rates in (
            model.sensitivity_given_group,
            model.specificity_given_group,
            model.group_sensitivity[own_latent],
            model.group_specificity[own_latent],
        ):
            total += (self.right * _log(rates) + self.wrong * _log(1 - rates)).sum()
        return float(total)


@dataclass(frozen=True)
class EMResult:
    """Outcome of :func:`run_em`.

    Attributes
    ----------
    model : LatentModel
        Parameters after the last M-step.
    log_likelihood : float
        Log-likelihood of the votes under the parameters of the last E-step.
    objective : ndarray of shape (n_accepted,)
        Penalised log-likelihood at every model that was accepted; never falls.
    n_iter : int
        Number of E-steps, that is, of passes over the votes.
    converged : bool
        Whether the last plain step gained at most ``tol`` per item.
    gap : float
        The last gain of a plain step, per item.
    """

    model: LatentModel
    log_likelihood: float
    objective: NDArray[np.float64]
    n_iter: int
    converged: bool
    gap: float


def maximise(counts: ExpectedCounts, groups: NDArray[np.int64], prior: RatePrior) -> LatentModel:
    """Return the model that maximises the expected log-likelihood plus the log prior (M-step)."""
    own_latent = np.bincount(groups) >= 2
    labels = counts.labels + prior.balance
    # a group of one voter has alpha = Y, exactly
    group_sensitivity = np.where(own_latent, _rate(counts.latents[:, 1, 1], counts.latents[:, 0, 1], prior), 1.0)
    group_specificity = np.where(own_latent, _rate(counts.latents[:, 0, 0], counts.latents[:, 1, 0], prior), 1.0)
    return LatentModel(
        groups=groups,
        class_balance=labels[1] / labels.sum(),
        group_sensitivity=group_sensitivity,
        group_specificity=group_specificity,
        sensitivity_given_group=_rate(counts.votes[:, 1, 1], counts.votes[:, 1, 0], prior),
        specificity_given_group=_rate(counts.votes[:, 0, 0], counts.votes[:, 0, 1], prior),
    )


def run_em(
    start: LatentModel,
    expect: Callable[[LatentModel], ExpectedCounts],
    *,
    prior: RatePrior,
    max_iter: int,
    tol: float,
) -> EMResult:
    """Alternate E- and M-steps, with extrapolation, until a plain step gains at most ``tol`` per item.

    Every two plain steps are followed by a jump along their direction (squared extrapolation of Varadhan and
    Roland 2008, on the log-odds of all rates). A jump that would lower the objective is not taken, so the
    objective never falls, and each E-step counts as one iteration.

    Parameters
    ----------
    start : LatentModel
        Starting point; its groups are kept.
    expect : callable
        One pass over the votes: the expected counts under a model.
    prior : RatePrior
        Pseudo-counts.
    max_iter, tol : int, float
        When to stop.
    """
    own_latent = np.bincount(start.groups) >= 2
    accepted: list[float] = []

    def visit(model: LatentModel) -> tuple[ExpectedCounts, float]:
        counts = expect(model)
        return counts, counts.log_likelihood + prior.log_density(model, own_latent)

    model = start
    counts, objective = visit(model)
    accepted.append(objective)
    n_visits, gap = 1, np.inf
    while n_visits < max_iter:
        first = maximise(counts, start.groups, prior)
        first_counts, first_objective = visit(first)
        n_visits += 1
        accepted.append(first_objective)
        gap = (first_objective - objective) / max(float(counts.labels.sum()), 1.0)
        if gap <= tol:
            model, counts = first, first_counts
            break
        second = maximise(first_counts, start.groups, prior)
        jump = _extrapolate(model, first, second)
        model, counts, objective = first, first_counts, first_objective
        if n_visits < max_iter:
            jump_counts, jump_objective = visit(jump)
            n_visits += 1
            if jump_objective >= first_objective:
                model, counts, objective = jump, jump_counts, jump_objective
                accepted.append(objective)
    return EMResult(
        model=maximise(counts, start.groups, prior),
        log_likelihood=counts.log_likelihood,
        objective=np.array(accepted),
        n_iter=n_visits,
        converged=bool(gap <= tol),
        gap=float(gap),
    )


def _extrapolate(model: LatentModel, first: LatentModel, second: LatentModel) -> LatentModel:
    """Jump along the path of two steps, on log-odds, by the length that would end it if it were linear."""
    at_start, at_first, at_second = _log_odds(model), _log_odds(first), _log_odds(second)
    step = at_first - at_start
    bend = at_second - at_first - step
    length = float(np.sqrt((step @ step) / max(float(bend @ bend), 1e-300)))
    if length <= 1:
        return second
    length = min(length, 64.0)
    odds = (at_start + 2 * length * step + length**2 * bend).clip(-_LOG_ODDS_LIMIT, _LOG_ODDS_LIMIT)
    rates = 0.5 * (1 + np.tanh(0.5 * odds))
    n_voters, n_groups = model.n_voters, model.n_groups
    own_latent = np.bincount(model.groups) >= 2
    bounds = np.cumsum([n_voters, n_voters, n_groups, n_groups])
    sensitivity, specificity, group_sensitivity, group_specificity, balance = np.split(rates, bounds)
    return LatentModel(
        groups=model.groups,
        class_balance=balance[0],
        group_sensitivity=np.where(own_latent, group_sensitivity, 1.0),
        group_specificity=np.where(own_latent, group_specificity, 1.0),
        sensitivity_given_group=sensitivity,
        specificity_given_group=specificity,
    )


def _log_odds(model: LatentModel) -> NDArray[np.float64]:
    """Return the log-odds of all rates as one vector."""
    rates = np.concatenate(
        [
            model.sensitivity_given_group,
            model.specificity_given_group,
            model.group_sensitivity,
            model.group_specificity,
            [model.class_balance],
        ]
    ).clip(_CLIP, 1 - _CLIP)
    return np.log(rates) - np.log1p(-rates)


def _rate(right: NDArray[np.float64], wrong: NDArray[np.float64], prior: RatePrior) -> NDArray[np.float64]:
    """Return the smoothed share of ``right``; 1/2 where there is neither a vote nor a prior."""
    total = right + wrong + prior.right + prior.wrong
    share = (right + prior.right) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, share, 0.5).clip(_CLIP, 1 - _CLIP)


def _log(rates: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return np.log(np.maximum(rates, _CLIP))
