"""Moment estimates of the latent model of two classes: one stage without groups, two with (Algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from goldless.maths.checks import relabel
from goldless.maths.covariance import CovarianceEstimate, own_order
from goldless.maths.spectral import (
    imbalance_by_slope,
    imbalance_from_third_moment,
    rates_from_loadings,
    spectral_loadings,
)
from goldless.maths.tree import TreeModel
from goldless.maths.tree_makers import LatentModel, independent_rates
from goldless.votes.passes import VoteSums, in_matrix

IMBALANCE_METHODS = ("restricted", "tensor", "restricted-as-published")
_ATTENUATION_FLOOR = 0.05
_STEP = 1e-4  # of b, for the slope of the likelihood: large, so that rounding does not show


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

    def find(self, votes: VoteSums, moment: Callable[[], float], model: Callable[[float], TreeModel]) -> float:
        """Return b: ``moment`` is the third moment, ``model`` the model that the moments tie to b."""
        if not isinstance(self.method, str):
            return float(self.method)
        if self.method == "tensor":
            return imbalance_from_third_moment(moment())

        def evaluate(imbalance: float) -> tuple[float, float]:
            counts = votes.expect(model(imbalance))
            below, above = (model(imbalance + step) for step in (-_STEP, _STEP))
            slope = (
                counts.labels @ (np.log(above.prior) - np.log(below.prior))
                + (counts.latents * (_log(above.latents) - _log(below.latents))).sum()
                + (counts.votes * (above.log_votes - below.log_votes)).sum()
            ) / (2 * _STEP)  # of the expected log-likelihood, which has the slope of the likelihood itself
            return counts.log_likelihood, float(slope)

        return imbalance_by_slope(evaluate, lambda imbalance: votes.expect_table(model(imbalance)).log_likelihood)


def _log(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(rates, 1e-300))


def independent_estimate(votes: VoteSums, estimate: CovarianceEstimate, rule: ImbalanceRule) -> TreeModel:
    """Return the spectral estimate of accuracies and class balance for conditionally independent voters.

    Two voters are not enough to tell accuracies apart: both get the same loading, and the class balance is
    read off their mean vote. All votes are gone through, also if there is a table of a sample.
    """
    loadings = spectral_loadings(estimate.covariance, estimate.known, _pair_weights(estimate))

    def model(imbalance: float) -> TreeModel:
        rates = rates_from_loadings(estimate.mean, loadings, imbalance, rule.as_published)
        return independent_rates((1 + imbalance) / 2, *rates)

    if votes.n_voters < 3:
        return model(float(np.clip((np.sign(loadings) * estimate.mean).mean(), -0.9, 0.9)))
    centred = partial(_centred, _vote_values, estimate.mean, np.ones(votes.n_voters))
    return model(rule.find(votes, lambda: _third_moment(votes, centred, loadings), model))


Values = tuple[NDArray[np.float64], NDArray[np.bool_]]  # values of rows, and which of them are observed
ValuesOf = Callable[[NDArray[np.int8]], Values]


def _vote_values(codes: NDArray[np.int8]) -> Values:
    """Return votes as -1 and +1."""
    return 2 * codes.astype(np.float64) - 1, codes >= 0


def _group_values(
    groups: NDArray[np.int64],
    models: tuple[TreeModel | None, ...],
    hard: bool,
    sign: NDArray[np.float64],
    codes: NDArray[np.int8],
) -> Values:
    """Return what the first stage says of the latents: E[alpha_k | votes of the group], coded -1 to +1.

    ``models``: members as independent voters on the group's latent; None for a voter alone, whose vote is the value;
    ``hard``: whether the more likely value of the latent takes the place of the expected one; ``sign`` (n_groups,):
    -1 for latents whose meanings of positive and negative are exchanged.
    """
    values = np.zeros((len(codes), len(models)))
    observed = np.zeros(values.shape, dtype=bool)
    for group, model in enumerate(models):
        votes = np.ascontiguousarray(codes[:, groups == group])
        observed[:, group] = (votes >= 0).any(axis=1)
        if model is None:  # alpha is the vote itself until Y is brought in
            values[:, group] = np.where(votes[:, 0] >= 0, 2.0 * votes[:, 0] - 1, 0.0)
        elif hard:
            values[:, group] = np.sign(model.log_likelihood_ratio(votes))
        else:
            values[:, group] = 2 * model.posterior(votes)[:, 1] - 1
    return values * sign, observed


def _centred(
    values_of: ValuesOf, mean: NDArray[np.float64], attenuation: NDArray[np.float64], codes: NDArray[np.int8]
) -> Values:
    """Return values less their mean, divided by their attenuation."""
    values, observed = values_of(codes)
    return (values - mean) / attenuation, observed


def _second_moments(
    values_of: ValuesOf, codes: NDArray[np.int8], counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Return sums over items, each pair over those where both values are observed, shape (n_groups, n_groups).

    They are those of 1, of the first value and of the product.
    """
    values, observed = values_of(codes)
    weight, seen = observed * counts[:, None], observed.astype(float)
    return weight.T @ seen, (weight * values).T @ seen, (weight * values).T @ (seen * values)


def third_moment_sums(
    values_of: ValuesOf, loadings: NDArray[np.float64], codes: NDArray[np.int8], counts: NDArray[np.float64]
) -> tuple[float, float]:
    """Return two sums over items; their ratio is the third moment in units of v_i v_j v_k, by least squares.

    ``sum_ijk T_ijk v_i v_j v_k / sum_ijk (v_i v_j v_k)^2`` over i < j < k, where both sums run over the triples
    observed on each item. The sum over triples is an elementary symmetric polynomial of ``x_i v_i``, so the
    m x m x m tensor is never formed.
    """
    values, observed = values_of(codes)
    terms, squares = values * loadings * observed, loadings**2 * observed
    return float(counts @ _triples(terms)), float(counts @ _triples(squares))


def _triples(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of products over triples i < j < k in every row, from power sums (Newton)."""
    first, second, third = terms.sum(axis=1), (terms**2).sum(axis=1), (terms**3).sum(axis=1)
    return (first**3 - 3 * first * second + 2 * third) / 6


def _third_moment(votes: VoteSums, values_of: ValuesOf, loadings: NDArray[np.float64]) -> float:
    numerator, denominator = votes.sum(partial(in_matrix, partial(third_moment_sums, values_of, loadings)))
    return numerator / denominator if denominator > 0 else 0.0


def two_stage_estimate(
    votes: VoteSums, estimate: CovarianceEstimate, groups: NDArray[np.int64], rule: ImbalanceRule, hard: bool = False
) -> TreeModel:
    """Estimate the latent model for known groups (Algorithm 3).

    First every group by itself, as independent voters on its latent; then the latents, as independent voters
    on Y. With soft latent values the covariances between groups are divided by their attenuation: for votes of
    group k independent of everything else given alpha_k, Cov(E[alpha_k | votes], Z) =
    Cov(alpha_k, Z) Var(E[alpha_k | votes]) / Var(alpha_k).

    A group of one voter has alpha = Y. With two groups the two loadings cannot be told apart and are equal. If the
    table is a sample, all votes are gone through: once for every group, once for the latents, and about ten times for
    each class imbalance that is not read off a table of few patterns.
    """
    order = own_order(estimate.covariance)
    found = _in_two_stages(votes.in_order(order), estimate.voters(order), relabel(groups[order]), rule, hard)
    place = np.argsort(order)
    kept = np.unique(groups, return_index=True)[1]  # a voter of every group
    return replace(found, groups=groups, latents=found.latents[found.groups[place][kept]], votes=found.votes[place])


def _in_two_stages(
    votes: VoteSums, estimate: CovarianceEstimate, groups: NDArray[np.int64], rule: ImbalanceRule, hard: bool
) -> TreeModel:
    alone = np.bincount(groups) == 1
    models = tuple(
        None if alone[group] else _of_group(votes, estimate, np.flatnonzero(groups == group), rule)
        for group in range(len(alone))
    )
    values_of = partial(_group_values, groups, models, hard)
    both, first, second = votes.sum(
        partial(in_matrix, partial(_second_moments, partial(values_of, np.ones(len(alone)))))
    )
    common = np.maximum(both, 1.0)
    mean_first = first / common
    mean, power = np.diag(mean_first), np.diag(second / common)
    # Var(values) / Var(alpha_k): how much smaller covariances with the values are than with alpha_k itself
    attenuation = ((power - mean**2) / np.maximum(1 - mean**2, 1e-9)).clip(_ATTENUATION_FLOOR, 1.0)
    attenuation = np.ones(len(alone)) if hard else np.where(alone, 1.0, attenuation)
    covariance = (second / common - mean_first * mean_first.T) / np.outer(attenuation, attenuation)
    known = (both >= 2) & ~np.eye(len(mean), dtype=bool)
    # pairs that disagree more than by chance: which way their latent points is anybody's guess
    contrary = np.array([_is_contrary(estimate, np.flatnonzero(groups == group)) for group in range(len(alone))])
    loadings = spectral_loadings(np.where(known, covariance, 0.0), known, counted=~contrary)
    # the latent of a contrary pair is made to follow Y, so that the order of the voters does not matter
    turned = contrary & (loadings < 0)
    sign = np.where(turned, -1.0, 1.0)
    loadings, mean = sign * loadings, sign * mean
    given = _rates_given_group(groups, models, turned)

    def model(imbalance: float) -> TreeModel:
        sensitivity, specificity = rates_from_loadings(mean, loadings, imbalance, rule.as_published)
        single = alone[groups]
        return LatentModel(
            groups=groups,
            class_balance=(1 + imbalance) / 2,
            group_sensitivity=np.where(alone, 1.0, sensitivity),
            group_specificity=np.where(alone, 1.0, specificity),
            sensitivity_given_group=np.where(single, sensitivity[groups], given[0]),
            specificity_given_group=np.where(single, specificity[groups], given[1]),
        )

    if len(mean) < 3:
        return model(float(np.clip(mean.mean(), -0.9, 0.9)))
    centred = partial(_centred, partial(values_of, sign), mean, attenuation)
    return model(rule.find(votes, lambda: _third_moment(votes, centred, loadings), model))


def _of_group(
    votes: VoteSums, estimate: CovarianceEstimate, members: NDArray[np.int64], rule: ImbalanceRule
) -> TreeModel:
    """Return the members of a group as independent voters on its latent."""
    return independent_estimate(votes.voters(members), estimate.voters(members), rule.of_latents)


def _is_contrary(estimate: CovarianceEstimate, members: NDArray[np.int64]) -> bool:
    return len(members) == 2 and bool(estimate.covariance[members[0], members[1]] < 0)


def _rates_given_group(
    groups: NDArray[np.int64], models: tuple[TreeModel | None, ...], turned: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return sensitivity and specificity of every voter towards its group's latent, 1 for a voter alone."""
    rates = np.ones((2, len(groups)))
    for group, model in enumerate(models):
        if model is not None:
            towards = np.stack([model.sensitivity, model.specificity])
            rates[:, groups == group] = 1 - towards[::-1] if turned[group] else towards
    return rates


def _pair_weights(estimate: CovarianceEstimate) -> NDArray[np.float64] | None:
    """Weigh pairs by their common items; None when all have the same."""
    n_pairs = estimate.n_pairs
    if (n_pairs == n_pairs[0, 0]).all():
        return None
    return n_pairs / n_pairs.max()
