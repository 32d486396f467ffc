"""Exact EM on the latent model: the tree makes every expectation closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goldless.maths.tree import LatentModel
from goldless.progress import tell

_CLIP = 1e-10
_LOG_ODDS_LIMIT = 20.0
_LONGEST_JUMP = 64.0


@dataclass(frozen=True)
class ExpectedCounts:
    """What the E-step counts, summed over items. Counts of two blocks of items add.

    Attributes
    ----------
    labels : ndarray of shape (n_states,)
        Expected items in each state of the hub: Y negative and positive, or subtypes of them.
    latents : ndarray of shape (n_groups, 2, n_states)
        Expected items with (alpha_k, hub); nothing for a voter that is alone, which hangs on the hub itself.
    votes : ndarray of shape (n_voters, n_parent_states, 2)
        Expected (state of the voter's parent, vote) over the voter's votes.
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


class TreeModel(Protocol):
    """What EM needs to know of a model: its parameters as one vector of log-odds."""

    def to_log_odds(self) -> NDArray[np.float64]:
        """Return all free parameters on a scale without bounds."""

    def from_log_odds(self, vector: NDArray[np.float64]) -> Any:
        """Return the model of the same shape with these parameters."""


class Prior(Protocol):
    """Pseudo-counts: the M-step they lead to, and their log-density."""

    def maximise(self, counts: ExpectedCounts, groups: NDArray[np.int64]) -> Any:
        """Return the model of largest expected log-likelihood plus log prior (M-step)."""

    def log_density(self, model: Any) -> float:
        """Return the log-density of a model up to a constant."""


@dataclass(frozen=True)
class RatePrior:
    """Pseudo-counts that keep the rates of a latent model away from 0 and 1.

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

    def maximise(self, counts: ExpectedCounts, groups: NDArray[np.int64]) -> LatentModel:
        """Return the model of largest expected log-likelihood plus log prior (M-step)."""
        own_latent = np.bincount(groups) >= 2
        labels = counts.labels + self.balance
        # a group of one voter has alpha = Y, exactly
        group_sensitivity = np.where(own_latent, self._rate(counts.latents[:, 1, 1], counts.latents[:, 0, 1]), 1.0)
        group_specificity = np.where(own_latent, self._rate(counts.latents[:, 0, 0], counts.latents[:, 1, 0]), 1.0)
        return LatentModel(
            groups=groups,
            class_balance=labels[1] / labels.sum(),
            group_sensitivity=group_sensitivity,
            group_specificity=group_specificity,
            sensitivity_given_group=self._rate(counts.votes[:, 1, 1], counts.votes[:, 1, 0]),
            specificity_given_group=self._rate(counts.votes[:, 0, 0], counts.votes[:, 0, 1]),
        )

    def log_density(self, model: LatentModel) -> float:
        """Return the log-density of a model up to a constant."""
        own_latent = np.bincount(model.groups) >= 2
        total = self.balance * (_log(model.class_balance) + _log(1 - model.class_balance))
        for rates in (
            model.sensitivity_given_group,
            model.specificity_given_group,
            model.group_sensitivity[own_latent],
            model.group_specificity[own_latent],
        ):
            total += (self.right * _log(rates) + self.wrong * _log(1 - rates)).sum()
        return float(total)

    def with_balance(self, balance: float) -> RatePrior:
        """Return the prior with another number of pseudo-items in each class."""
        return replace(self, balance=balance)

    def _rate(self, right: NDArray[np.float64], wrong: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smoothed share of ``right``; 1/2 where there is neither a vote nor a prior."""
        total = right + wrong + self.right + self.wrong
        share = (right + self.right) / np.where(total > 0, total, 1.0)
        return np.where(total > 0, share, 0.5).clip(_CLIP, 1 - _CLIP)


@dataclass(frozen=True)
class KnownRates:
    """Pseudo-counts, and some parameters that are known: the M-step leaves these where they are.

    Attributes
    ----------
    prior : RatePrior
        Pseudo-counts of all other parameters.
    sensitivity, specificity : ndarray of shape (n_voters,)
        Known rates of voters that are alone, NaN where unknown.
    class_balance : float or None
        Known Pr(Y = positive).
    """

    prior: RatePrior
    sensitivity: NDArray[np.float64]
    specificity: NDArray[np.float64]
    class_balance: float | None = None

    def maximise(self, counts: ExpectedCounts, groups: NDArray[np.int64]) -> LatentModel:
        """Return the model of largest expected log-likelihood plus log prior, known parameters fixed (M-step)."""
        return self.impose(self.prior.maximise(counts, groups))

    def impose(self, model: LatentModel) -> LatentModel:
        """Return a model with the known parameters put in."""
        known = ~np.isnan(self.sensitivity)
        return replace(
            model,
            class_balance=model.class_balance if self.class_balance is None else self.class_balance,
            sensitivity_given_group=np.where(known, self.sensitivity, model.sensitivity_given_group),
            specificity_given_group=np.where(known, self.specificity, model.specificity_given_group),
        )

    @property
    def balance(self) -> float:
        """Pseudo-items added to each class; none if the class balance is known."""
        return self.prior.balance if self.class_balance is None else 0.0

    def with_balance(self, balance: float) -> KnownRates:
        """Return the prior with another number of pseudo-items in each class."""
        return replace(self, prior=self.prior.with_balance(balance))

    def log_density(self, model: LatentModel) -> float:
        """Return the log-density of a model up to a constant."""
        return self.prior.log_density(model)


@dataclass(frozen=True)
class EMResult:
    """Outcome of :func:`run_em`.

    Attributes
    ----------
    model : LatentModel or SubtypeModel
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

    model: Any
    log_likelihood: float
    objective: NDArray[np.float64]
    n_iter: int
    converged: bool
    gap: float


def run_em(
    start: Any,
    expect: Callable[[Any], ExpectedCounts],
    *,
    prior: Prior,
    max_iter: int,
    tol: float,
) -> EMResult:
    """Alternate E- and M-steps, with extrapolation, until a plain step gains at most ``tol`` per item.

    Every two plain steps are followed by a jump along their direction (squared extrapolation of Varadhan and
    Roland 2008, on the log-odds of all rates). A jump that would lower the objective is not taken, so the
    objective never falls, and each E-step counts as one iteration.

    Parameters
    ----------
    start : TreeModel
        Starting point; its groups are kept.
    expect : callable
        One pass over the votes: the expected counts under a model.
    prior : Prior
        Pseudo-counts and the M-step.
    max_iter, tol : int, float
        When to stop.
    """
    groups = start.groups

    def visit(model: Any) -> tuple[ExpectedCounts, float]:
        counts = expect(model)
        return counts, counts.log_likelihood + prior.log_density(model)

    model = start
    counts, objective = visit(model)
    accepted = [objective]
    n_visits, gap = 1, np.inf
    while n_visits < max_iter:
        first = prior.maximise(counts, groups)
        first_counts, first_objective = visit(first)
        n_visits += 1
        accepted.append(first_objective)
        previous, gap = gap, (first_objective - objective) / max(float(counts.labels.sum()), 1.0)
        tell("estimating accuracies", _share_done(n_visits, max_iter, previous, gap, tol))
        if gap <= tol:
            counts = first_counts
            break
        second = prior.maximise(first_counts, groups)
        jump = _extrapolate(model, first, second)
        model, counts, objective = first, first_counts, first_objective
        if n_visits < max_iter:
            jump_counts, jump_objective = visit(jump)
            n_visits += 1
            if jump_objective >= first_objective:
                model, counts, objective = jump, jump_counts, jump_objective
                accepted.append(objective)
    return EMResult(
        model=prior.maximise(counts, groups),
        log_likelihood=counts.log_likelihood,
        objective=np.array(accepted),
        n_iter=n_visits,
        converged=bool(gap <= tol),
        gap=float(gap),
    )


def _share_done(n_visits: int, max_iter: int, previous: float, gap: float, tol: float) -> float:
    """Guess which share of the passes is done, if the gain goes on falling as it just did (two passes a round)."""
    if not (0 < tol < gap < previous < np.inf):
        return n_visits / max_iter if gap > tol else 1.0
    left = 2 * np.log(gap / tol) / np.log(previous / gap)
    return n_visits / min(n_visits + left, max_iter)


def _extrapolate(model: TreeModel, first: TreeModel, second: TreeModel) -> Any:
    """Jump along the path of two steps, on log-odds, by the length that would end it if it were linear."""
    at_start, at_first, at_second = model.to_log_odds(), first.to_log_odds(), second.to_log_odds()
    step = at_first - at_start
    bend = at_second - at_first - step
    length = float(np.sqrt((step @ step) / max(float(bend @ bend), 1e-300)))
    if length <= 1:
        return second
    length = min(length, _LONGEST_JUMP)
    jump = at_start + 2 * length * step + length**2 * bend
    return model.from_log_odds(jump.clip(-_LOG_ODDS_LIMIT, _LOG_ODDS_LIMIT))


def _log(rates: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return np.log(np.maximum(rates, _CLIP))
