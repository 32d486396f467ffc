"""A richer hub: subtypes of items, such as easy and hard ones, within each class.

Errors are also shared because some items are hard for everybody. Here the hub has S states instead of the two
classes; groups and single voters hang on it as before, and EM is as exact as for two states. A state says how items
cluster, not which class they are, so every state carries the share of its items that are positive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.evaluate import evaluate_codes
from goldless.kernels.packing import PackingPlan
from goldless.kernels.tree_tables import UnitTables
from goldless.maths.em import ExpectedCounts
from goldless.maths.tree import log_odds, probability

_CLIP = 1e-12
_START_CERTAINTY = 0.8  # weight of an item on its own bin when EM starts


@dataclass(frozen=True, eq=False)
class SubtypeModel:
    """Votes given a hub of several states.

    Attributes
    ----------
    groups : ndarray of shape (n_voters,)
        Group of each voter; a voter that is alone hangs on the hub itself.
    state_weights : ndarray of shape (n_states,)
        Pr(state).
    state_is_positive : ndarray of shape (n_states,)
        The class a state was started from; pseudo-counts expect it to say that class.
    positive_share : ndarray of shape (n_states,)
        Share of the items of each state that are positive.
    positive_prior : float
        Share of all items that are positive.
    group_positive : ndarray of shape (n_groups, n_states)
        Pr(alpha_k = positive | state).
    vote_positive : ndarray of shape (n_voters, n_states)
        Pr(vote positive | state) of a voter that is alone; for a voter in a group the first two columns are
        Pr(vote positive | alpha), negative and positive.
    """

    groups: NDArray[np.int64]
    state_weights: NDArray[np.float64]
    state_is_positive: NDArray[np.bool_]
    positive_share: NDArray[np.float64]
    positive_prior: float
    group_positive: NDArray[np.float64]
    vote_positive: NDArray[np.float64]

    @property
    def n_states(self) -> int:
        """Number of states of the hub."""
        return len(self.state_weights)

    @property
    def own_latent(self) -> NDArray[np.bool_]:
        """Which groups have two voters or more, and so a latent of their own."""
        return np.bincount(self.groups) >= 2

    @property
    def group_rates(self) -> NDArray[np.float64]:
        """Pr(alpha_k = a | state), shape (n_groups, 2, n_states)."""
        return np.stack([1 - self.group_positive, self.group_positive], axis=1)

    @property
    def log_votes(self) -> NDArray[np.float64]:
        """Log-probability of a vote given the state of the voter's parent, shape (n_voters, n_states, 2)."""
        positive = self.vote_positive.clip(_CLIP, 1 - _CLIP)
        return np.stack([np.log1p(-positive), np.log(positive)], axis=2)

    def unit_tables(self, plan: PackingPlan) -> UnitTables:
        """Return the model as tables over byte values."""
        return UnitTables.of(plan, self.log_votes, self.group_rates, self.own_latent, self.state_weights)

    def to_log_odds(self) -> NDArray[np.float64]:
        """Return all parameters as one vector; state weights by their logarithms."""
        return np.concatenate(
            [
                log_odds(self.vote_positive.ravel()),
                log_odds(self.group_positive.ravel()),
                np.log(self.state_weights.clip(_CLIP)),
            ]
        )

    def from_log_odds(self, vector: NDArray[np.float64]) -> SubtypeModel:
        """Return the model of the same shape with these parameters."""
        n_votes, n_latents = self.vote_positive.size, self.group_positive.size
        weights = np.exp(vector[n_votes + n_latents :])
        return replace(
            self,
            vote_positive=probability(vector[:n_votes]).reshape(self.vote_positive.shape),
            group_positive=probability(vector[n_votes : n_votes + n_latents]).reshape(self.group_positive.shape),
            state_weights=weights / weights.sum(),
        )

    def state_posterior(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return Pr(state | votes) of every item."""
        ratio = evaluate_codes(codes, self.groups, self.unit_tables, UnitTables.hub_log_ratio)
        joint = np.tile(np.log(self.state_weights.clip(_CLIP)), (len(codes), 1))
        joint[:, 1:] += ratio
        joint = np.exp(joint - joint.max(axis=1, keepdims=True))
        return joint / joint.sum(axis=1, keepdims=True)

    def log_likelihood_ratio(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return log Pr(votes | positive) - log Pr(votes | negative), by the shares of the states."""
        positive = self.state_posterior(codes) @ self.positive_share
        return log_odds(positive) - float(log_odds(np.array(self.positive_prior)))

    def with_classes(
        self, codes: NDArray[np.int8], counts: NDArray[np.integer], positive: NDArray[np.float64]
    ) -> SubtypeModel:
        """Return the model whose states have the share of positive items that ``positive`` sees in them."""
        items = self.state_posterior(codes) * counts[:, None]
        return self.with_shares(items.sum(axis=0), positive @ items)

    def with_shares(self, items: NDArray[np.float64], positive_items: NDArray[np.float64]) -> SubtypeModel:
        """Return the model whose states hold so many items, and so many positive ones."""
        share = positive_items / np.maximum(items, 1e-9)
        return replace(
            self, positive_share=share, positive_prior=float(positive_items.sum() / max(float(items.sum()), 1e-9))
        )


@dataclass(frozen=True)
class SubtypePrior:
    """Pseudo-counts of a subtype model: a state expects votes of the class it was started from.

    Attributes
    ----------
    right, wrong : float
        Pseudo-votes for and against that class, for every rate.
    balance : float
        Pseudo-items of each class, shared evenly among its states.
    start : SubtypeModel
        Model whose ``state_is_positive`` and ``positive_share`` are kept.
    """

    right: float
    wrong: float
    balance: float
    start: SubtypeModel

    def _expected_positive(self, n_columns: int, alone: bool) -> NDArray[np.float64]:
        """Pseudo-votes that are positive, for each state of the parent."""
        is_positive = self.start.state_is_positive if alone else np.arange(n_columns) == 1
        return np.where(is_positive, self.right, self.wrong)

    @cached_property
    def _pseudo_votes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Pseudo-votes of every voter, positive and negative, shape (n_voters, n_states)."""
        alone = ~self.start.own_latent[self.start.groups]
        n_columns = self.start.vote_positive.shape[1]
        both = self.right + self.wrong
        positive = np.where(
            alone[:, None], self._expected_positive(n_columns, True), self._expected_positive(n_columns, False)
        )
        return positive, both - positive

    def maximise(self, counts: ExpectedCounts, groups: NDArray[np.int64]) -> SubtypeModel:
        """Return the model of largest expected log-likelihood plus log prior (M-step)."""
        positive, negative = self._pseudo_votes
        votes_positive, votes_negative = counts.votes[:, :, 1] + positive, counts.votes[:, :, 0] + negative
        state_positive = self._expected_positive(self.start.n_states, True)
        state_negative = self.right + self.wrong - state_positive
        latent_positive, latent_negative = (
            counts.latents[:, 1] + state_positive,
            counts.latents[:, 0] + state_negative,
        )
        states = counts.labels + self._pseudo_items()
        return replace(
            self.start,
            state_weights=states / states.sum(),
            group_positive=latent_positive / (latent_positive + latent_negative),
            vote_positive=votes_positive / (votes_positive + votes_negative),
        )

    def _pseudo_items(self) -> NDArray[np.float64]:
        is_positive = self.start.state_is_positive
        return (self.balance + 0.5) / np.where(is_positive, is_positive.sum(), (~is_positive).sum())

    def log_density(self, model: SubtypeModel) -> float:
        """Return the log-density of a model up to a constant."""
        positive, negative = self._pseudo_votes
        used = np.ones(model.vote_positive.shape, dtype=bool)
        used[:, 2:] = ~model.own_latent[model.groups][:, None]
        votes = model.vote_positive.clip(_CLIP, 1 - _CLIP)
        total = (positive * np.log(votes) + negative * np.log1p(-votes))[used].sum()
        latents = model.group_positive[model.own_latent].clip(_CLIP, 1 - _CLIP)
        state_positive = self._expected_positive(model.n_states, True)
        state_negative = self.right + self.wrong - state_positive
        total += (state_positive * np.log(latents) + state_negative * np.log1p(-latents)).sum()
        return float(total + self._pseudo_items() @ np.log(model.state_weights.clip(_CLIP)))


def subtype_bins(
    ratio: NDArray[np.float64], counts: NDArray[np.integer], per_class: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Cut the items of each class into equal shares by their log-likelihood ratio, to start EM from.

    Returns
    -------
    responsibility : ndarray of shape (n_patterns, 2 * per_class)
        Start of Pr(state | votes).
    state_is_positive : ndarray of shape (2 * per_class,)
    """
    n_states = 2 * per_class
    bins = np.empty(len(ratio), dtype=np.int64)
    for first, members in ((0, np.flatnonzero(ratio <= 0)), (per_class, np.flatnonzero(ratio > 0))):
        order = members[np.argsort(ratio[members], kind="stable")]
        middle = np.cumsum(counts[order]) - counts[order] / 2
        share = (middle / max(float(counts[order].sum()), 1.0) * per_class).astype(np.int64)
        bins[order] = first + np.minimum(share, per_class - 1)
    responsibility = np.full((len(ratio), n_states), (1 - _START_CERTAINTY) / (n_states - 1))
    responsibility[np.arange(len(ratio)), bins] = _START_CERTAINTY
    return responsibility, np.arange(n_states) >= per_class
