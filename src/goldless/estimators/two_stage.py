"""Moment estimates of the latent model from patterns: one stage without groups, two with (Algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.latent_model import LatentModel, independent_model
from goldless.maths.spectral import (
    imbalance_by_likelihood,
    imbalance_from_third_moment,
    rates_from_loadings,
    spectral_loadings,
)
from goldless.votes.passes import GroupedPatterns, centred_votes, third_moment
from goldless.votes.patterns import PatternTable

IMBALANCE_METHODS = ("restricted", "tensor", "restricted-as-published")
_ATTENUATION_FLOOR = 0.05


@dataclass(frozen=True)
class ImbalanceRule:
    """How the class imbalance is found.

    ``restricted``: largest likelihood with all accuracies tied to b by the moments. ``tensor``: third moments.
    ``restricted-as-published``: as restricted, with the formula of a public copy of the authors' code. A number
    is b itself.
    """

    method: str | float

    def __post_init__(self) -> None:
        if isinstance(self.method, str):
            if self.method not in IMBALANCE_METHODS:
                raise ValueError(f"imbalance must be a number or one of {IMBALANCE_METHODS}, got {self.method!r}")
        elif not -1 < self.method < 1:
            raise ValueError(f"a known imbalance lies between -1 and 1, got {self.method}")

    @property
    def as_published(self) -> bool:
        """Whether rates follow the published code instead of the theory."""
        return self.method == "restricted-as-published"

    @property
    def of_latents(self) -> ImbalanceRule:
        """The rule for a group's latent, whose balance is never the known one of Y."""
        return self if isinstance(self.method, str) else ImbalanceRule("restricted")

    def find(self, moment: Callable[[], float], log_likelihood: Callable[[float], float]) -> float:
        """Return b."""
        if not isinstance(self.method, str):
            return float(self.method)
        if self.method == "tensor":
            return imbalance_from_third_moment(moment())
        return imbalance_by_likelihood(log_likelihood)


def independent_estimate(table: PatternTable, estimate: CovarianceEstimate, rule: ImbalanceRule) -> LatentModel:
    """Return the spectral estimate of accuracies and class balance for conditionally independent voters.

    Two voters are not enough to tell accuracies apart: both get the same loading, and the class balance is
    read off their mean vote.
    """
    loadings = spectral_loadings(estimate.covariance, estimate.known, _pair_weights(estimate))

    def model(imbalance: float) -> LatentModel:
        rates = rates_from_loadings(estimate.mean, loadings, imbalance, rule.as_published)
        return independent_model((1 + imbalance) / 2, *rates)

    if table.n_voters < 3:
        return model(float(np.clip((np.sign(loadings) * estimate.mean).mean(), -0.9, 0.9)))
    passes = GroupedPatterns(table, np.arange(table.n_voters))
    values, observed = centred_votes(table, estimate.mean)
    return model(
        rule.find(
            lambda: third_moment(values, observed, loadings, table.counts),
            lambda imbalance: passes.log_likelihood(model(imbalance)),
        )
    )


class LatentValues(NamedTuple):
    """What the first stage says of the latents, one row a pattern.

    ``values`` are E[alpha_k | votes of the group], coded -1 to +1; ``observed`` says where the group voted;
    ``attenuation`` is Var(values) / Var(alpha_k): how much smaller covariances with the values are than with
    alpha_k itself. ``contrary`` marks pairs that disagree more than by chance: which way their latent points is
    anybody's guess.
    """

    values: NDArray[np.float64]
    observed: NDArray[np.bool_]
    attenuation: NDArray[np.float64]
    sensitivity: NDArray[np.float64]
    specificity: NDArray[np.float64]
    contrary: NDArray[np.bool_]


def first_stage(
    table: PatternTable,
    estimate: CovarianceEstimate,
    groups: NDArray[np.int64],
    rule: ImbalanceRule,
    hard: bool,
) -> LatentValues:
    """Estimate every group by itself: accuracies towards its latent, and the value of the latent."""
    n_groups = int(groups.max()) + 1
    values = np.zeros((table.n_patterns, n_groups))
    observed = np.zeros((table.n_patterns, n_groups), dtype=bool)
    attenuation, contrary = np.ones(n_groups), np.zeros(n_groups, dtype=bool)
    sensitivity, specificity = np.ones(table.n_voters), np.ones(table.n_voters)
    for group in range(n_groups):
        members = np.flatnonzero(groups == group)
        codes = table.codes[:, members]
        observed[:, group] = (codes >= 0).any(axis=1)
        if len(members) == 1:  # alpha is the vote itself until Y is brought in
            values[:, group] = np.where(codes[:, 0] >= 0, 2.0 * codes[:, 0] - 1, 0.0)
            continue
        contrary[group] = len(members) == 2 and estimate.covariance[members[0], members[1]] < 0
        part = table.voters(members)
        model = independent_estimate(part, _of_voters(estimate, members), rule.of_latents)
        sensitivity[members], specificity[members] = model.sensitivity, model.specificity
        if hard:
            values[:, group] = np.sign(model.log_likelihood_ratio(part.codes))[part.inverse]
            continue
        values[:, group] = (2 * model.posterior(part.codes) - 1)[part.inverse]
        weight = table.counts * observed[:, group]
        mean = weight @ values[:, group] / max(weight.sum(), 1)
        variance = weight @ (values[:, group] - mean) ** 2 / max(weight.sum(), 1)
        attenuation[group] = np.clip(variance / max(1 - mean**2, 1e-9), _ATTENUATION_FLOOR, 1.0)
    return LatentValues(values, observed, attenuation, sensitivity, specificity, contrary)


def two_stage_estimate(
    table: PatternTable,
    estimate: CovarianceEstimate,
    groups: NDArray[np.int64],
    rule: ImbalanceRule,
    hard: bool = False,
) -> LatentModel:
    """Estimate the latent model for known groups (Algorithm 3).

    First every group by itself, as independent voters on its latent; then the latents, as independent voters
    on Y. With soft latent values the covariances between groups are divided by their attenuation: for votes of
    group k independent of everything else given alpha_k, Cov(E[alpha_k | votes], Z) =
    Cov(alpha_k, Z) Var(E[alpha_k | votes]) / Var(alpha_k).

    A group of one voter has alpha = Y. With two groups the two loadings cannot be told apart and are equal.
    """
    latents = first_stage(table, estimate, groups, rule, hard)
    weight = latents.observed * table.counts[:, None].astype(float)
    both = weight.T @ latents.observed
    common = np.maximum(both, 1.0)
    mean_first = (weight * latents.values).T @ latents.observed / common
    covariance = (weight * latents.values).T @ (latents.observed * latents.values) / common
    covariance = (covariance - mean_first * mean_first.T) / np.outer(latents.attenuation, latents.attenuation)
    mean = np.diag(mean_first)
    known = (both >= 2) & ~np.eye(len(mean), dtype=bool)
    loadings = spectral_loadings(np.where(known, covariance, 0.0), known, counted=~latents.contrary)
    # the latent of a contrary pair is made to follow Y, so that the order of the voters does not matter
    turned = latents.contrary & (loadings < 0)
    loadings, mean = np.where(turned, -loadings, loadings), np.where(turned, -mean, mean)
    latents = _turn(latents, turned, groups)
    alone = np.bincount(groups) == 1
    passes = GroupedPatterns(table, groups)

    def model(imbalance: float) -> LatentModel:
        sensitivity, specificity = rates_from_loadings(mean, loadings, imbalance, rule.as_published)
        single = alone[groups]
        return LatentModel(
            groups=groups,
            class_balance=(1 + imbalance) / 2,
            group_sensitivity=np.where(alone, 1.0, sensitivity),
            group_specificity=np.where(alone, 1.0, specificity),
            sensitivity_given_group=np.where(single, sensitivity[groups], latents.sensitivity),
            specificity_given_group=np.where(single, specificity[groups], latents.specificity),
        )

    def moment() -> float:
        centred = (latents.values - mean) / latents.attenuation
        return third_moment(centred, latents.observed, loadings, table.counts)

    if len(mean) < 3:
        return model(float(np.clip(mean.mean(), -0.9, 0.9)))
    return model(rule.find(moment, lambda imbalance: passes.log_likelihood(model(imbalance))))


def _turn(latents: LatentValues, turned: NDArray[np.bool_], groups: NDArray[np.int64]) -> LatentValues:
    """Exchange the meanings of positive and negative for some latents."""
    of_voter = turned[groups]
    return latents._replace(
        values=np.where(turned, -latents.values, latents.values),
        sensitivity=np.where(of_voter, 1 - latents.specificity, latents.sensitivity),
        specificity=np.where(of_voter, 1 - latents.sensitivity, latents.specificity),
    )


def _of_voters(estimate: CovarianceEstimate, voters: NDArray[np.integer]) -> CovarianceEstimate:
    block = np.ix_(voters, voters)
    return CovarianceEstimate(
        estimate.covariance[block],
        estimate.standard_error[block],
        estimate.mean[voters],
        estimate.n_pairs[block],
    )


def _pair_weights(estimate: CovarianceEstimate) -> NDArray[np.float64] | None:
    """Weigh pairs by their common items; None when all have the same."""
    n_pairs = estimate.n_pairs
    if (n_pairs == n_pairs[0, 0]).all():
        return None
    return n_pairs / n_pairs.max()
