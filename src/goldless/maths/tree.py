"""The generative model ``Y -> alpha_k -> f_i`` of the paper, as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.kernels.evaluate import evaluate_codes
from goldless.kernels.packing import PackingPlan
from goldless.kernels.tree_tables import UnitTables
from goldless.maths.checks import as_groups, relabel

_CLIP = 1e-12  # rates are kept this far from 0 and 1 when logarithms are taken


@dataclass(frozen=True, eq=False)
class LatentModel:
    """Votes f_i that depend on the label Y only through the latent alpha of their group.

    Parameters
    ----------
    groups : array-like of shape (n_voters,)
        Group of each voter, the assignment function c; numbered 0, 1, ... in order of first appearance.
    class_balance : float
        Pr(Y = positive).
    group_sensitivity, group_specificity : array-like of shape (n_groups,)
        Pr(alpha_k = positive | Y = positive) and Pr(alpha_k = negative | Y = negative). A voter that is alone
        in its group usually has both equal to 1, so that alpha_k is Y.
    sensitivity_given_group, specificity_given_group : array-like of shape (n_voters,)
        Pr(f_i = positive | alpha = positive) and Pr(f_i = negative | alpha = negative).
    copy_of : array-like of shape (n_voters,), optional
        ``copy_of[i] = j`` says that voter i repeats voter j exactly and is no evidence of its own. By default
        every voter is its own original.

    Notes
    -----
    Codes are int8: -1 missing, 0 negative, 1 positive. Missing votes are skipped, that is, taken to say
    nothing about Y. Of a voter and its copies, the first that voted counts.

    Examples
    --------
    >>> model = LatentModel([0, 0, 1], 0.5, [0.8, 1], [0.8, 1], [0.9, 0.9, 0.7], [0.9, 0.9, 0.7])
    >>> model.sensitivity.round(2)
    array([0.74, 0.74, 0.7 ])
    >>> model.posterior([[1, 1, 0], [-1, -1, 1]]).round(3)
    array([0.621, 0.7  ])
    """

    groups: NDArray[np.int64]
    class_balance: float
    group_sensitivity: NDArray[np.float64]
    group_specificity: NDArray[np.float64]
    sensitivity_given_group: NDArray[np.float64]
    specificity_given_group: NDArray[np.float64]
    copy_of: NDArray[np.int64] = None  # type: ignore[assignment]  # filled in below

    def __post_init__(self) -> None:
        groups = as_groups(self.groups, np.size(self.groups))
        if not np.array_equal(groups, np.asarray(self.groups)):
            raise ValueError("groups must be numbered 0, 1, ... in order of first appearance")
        n_voters, n_groups = len(groups), int(groups.max(initial=-1)) + 1
        set_field = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        set_field("groups", groups)
        set_field("class_balance", float(_rates("class_balance", self.class_balance, ())))
        for name in ("group_sensitivity", "group_specificity"):
            set_field(name, _rates(name, getattr(self, name), (n_groups,)))
        for name in ("sensitivity_given_group", "specificity_given_group"):
            set_field(name, _rates(name, getattr(self, name), (n_voters,)))
        copy_of = np.arange(n_voters) if self.copy_of is None else np.asarray(self.copy_of, dtype=np.int64)
        if copy_of.shape != (n_voters,) or not np.array_equal(copy_of[copy_of], copy_of):
            raise ValueError("copy_of must point every voter to an original voter")
        if not np.array_equal(groups[copy_of], groups):
            raise ValueError("a copy must be in the group of its original")
        set_field("copy_of", copy_of)

    # -- shape ----------------------------------------------------------------------------------------------

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.groups)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_sensitivity)

    @property
    def imbalance(self) -> float:
        """Class imbalance b = Pr(Y = positive) - Pr(Y = negative)."""
        return 2 * self.class_balance - 1

    # -- accuracies and moments -----------------------------------------------------------------------------

    @property
    def sensitivity(self) -> NDArray[np.float64]:
        """Overall sensitivity Pr(f_i = positive | Y = positive) (eq. bla)."""
        through = self.group_sensitivity[self.groups]
        return through * self.sensitivity_given_group + (1 - through) * (1 - self.specificity_given_group)

    @property
    def specificity(self) -> NDArray[np.float64]:
        """Overall specificity Pr(f_i = negative | Y = negative)."""
        through = self.group_specificity[self.groups]
        return through * self.specificity_given_group + (1 - through) * (1 - self.sensitivity_given_group)

    @property
    def balanced_accuracy(self) -> NDArray[np.float64]:
        """Mean of sensitivity and specificity."""
        return (self.sensitivity + self.specificity) / 2

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean vote, coded -1 and +1."""
        positive = self.class_balance * self.sensitivity + (1 - self.class_balance) * (1 - self.specificity)
        return 2 * positive - 1

    @property
    def group_mean(self) -> NDArray[np.float64]:
        """Mean of each latent, coded -1 and +1."""
        balance = self.class_balance
        return 2 * (balance * self.group_sensitivity + (1 - balance) * (1 - self.group_specificity)) - 1

    @property
    def v_off(self) -> NDArray[np.float64]:
        """Loadings across groups: sqrt(1 - b^2) (psi_i + eta_i - 1) (Lemma 1)."""
        return np.sqrt(1 - self.imbalance**2) * (self.sensitivity + self.specificity - 1)

    @property
    def v_on(self) -> NDArray[np.float64]:
        """Loadings within a group: sqrt(1 - E[alpha]^2) (psi_i^alpha + eta_i^alpha - 1) (Lemma 1)."""
        spread = np.sqrt(1 - self.group_mean**2)[self.groups]
        return spread * (self.sensitivity_given_group + self.specificity_given_group - 1)

    def population_covariance(self) -> NDArray[np.float64]:
        """Return the covariance of the votes, coded -1 and +1 (Lemma 1), with variances on the diagonal."""
        same = self.groups[:, None] == self.groups[None, :]
        covariance = np.where(same, np.outer(self.v_on, self.v_on), np.outer(self.v_off, self.v_off))
        return self._with_copies(covariance, self.mean)

    def conditional_covariance(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return C+ and C-: the covariance of the votes given a positive and a negative label (eq. con_cor)."""
        same = self.groups[:, None] == self.groups[None, :]
        spread = self.sensitivity_given_group + self.specificity_given_group - 1
        by_class = []
        for group_rate, mean in (
            (self.group_sensitivity, 2 * self.sensitivity - 1),
            (self.group_specificity, 1 - 2 * self.specificity),
        ):
            latent_variance = (4 * group_rate * (1 - group_rate))[self.groups]
            by_class.append(self._with_copies(np.where(same, latent_variance * np.outer(spread, spread), 0.0), mean))
        return by_class[0], by_class[1]

    def _with_copies(self, covariance: NDArray, mean: NDArray) -> NDArray[np.float64]:
        """Give every voter, and every voter with its copies, the variance 1 - mean^2."""
        copies = self.copy_of[:, None] == self.copy_of[None, :]
        return np.where(copies, (1 - mean**2)[:, None], covariance)

    # -- likelihood -----------------------------------------------------------------------------------------

    def log_likelihood(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Return log Pr(votes) of every item."""
        by_class = self.class_log_likelihood(codes)
        return np.logaddexp(
            by_class[:, 0] + np.log(max(1 - self.class_balance, _CLIP)),
            by_class[:, 1] + np.log(max(self.class_balance, _CLIP)),
        )

    def log_likelihood_ratio(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Return log Pr(votes | positive) - log Pr(votes | negative) of every item."""
        return self._evaluate(codes, UnitTables.hub_log_ratio)[:, 0]

    def posterior(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Return Pr(Y = positive | votes) of every item."""
        return probability(self.log_likelihood_ratio(codes) + self.log_prior_odds)

    @property
    def log_prior_odds(self) -> float:
        """Log-odds of the class balance."""
        return float(np.log(max(self.class_balance, _CLIP)) - np.log(max(1 - self.class_balance, _CLIP)))

    def class_log_likelihood(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Return log Pr(votes | Y) of every item, columns negative and positive."""
        return self._evaluate(codes, UnitTables.hub_log_likelihood)

    def group_posterior(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Return Pr(alpha_k = positive | votes) of every item and group, shape (n_items, n_groups)."""
        return self._evaluate(codes, UnitTables.latent_posterior)

    def _evaluate(
        self, codes: ArrayLike, of_packed: Callable[[UnitTables, NDArray[np.uint8]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Check codes and evaluate them, the first of a voter and its copies speaking for all of them."""
        checked = np.ascontiguousarray(codes, dtype=np.int8)
        if checked.ndim != 2 or checked.shape[1] != self.n_voters:
            raise ValueError(f"codes of {self.n_voters} voters are needed, got shape {checked.shape}")
        if checked.size and (checked.min() < -1 or checked.max() > 1):
            raise ValueError("codes must be -1 (missing), 0 (negative) or 1 (positive)")
        original = self.copy_of == np.arange(self.n_voters)
        groups = np.where(original, self.groups, -1)
        return evaluate_codes(merge_copies(checked, self.copy_of), groups, self.unit_tables, of_packed)

    @property
    def state_weights(self) -> NDArray[np.float64]:
        """Pr(Y), negative and positive."""
        return np.array([1 - self.class_balance, self.class_balance])

    @property
    def log_votes(self) -> NDArray[np.float64]:
        """Log-probability of a vote given the voter's latent, shape (n_voters, 2, 2), index 0 negative."""
        positive = np.stack([1 - self.specificity_given_group, self.sensitivity_given_group], axis=1)
        positive = positive.clip(_CLIP, 1 - _CLIP)
        return np.stack([np.log1p(-positive), np.log(positive)], axis=2)

    def unit_tables(self, plan: PackingPlan) -> UnitTables:
        """Return the model as tables over byte values."""
        is_hub = (np.bincount(self.groups) == 1) & (self.group_sensitivity == 1) & (self.group_specificity == 1)
        return UnitTables.of(plan, self.log_votes, self.group_rates, ~is_hub, self.state_weights)

    @property
    def group_rates(self) -> NDArray[np.float64]:
        """Pr(alpha_k = a | Y = y), shape (n_groups, 2, 2), index 0 negative."""
        positive = np.stack([1 - self.group_specificity, self.group_sensitivity], axis=1)
        return np.stack([1 - positive, positive], axis=1)

    # -- parameters as one vector, for EM ---------------------------------------------------------------------

    def to_log_odds(self) -> NDArray[np.float64]:
        """Return the log-odds of all rates as one vector."""
        return log_odds(
            np.concatenate(
                [
                    self.sensitivity_given_group,
                    self.specificity_given_group,
                    self.group_sensitivity,
                    self.group_specificity,
                    [self.class_balance],
                ]
            )
        )

    def from_log_odds(self, vector: NDArray[np.float64]) -> LatentModel:
        """Return the model with these rates; the latent of a voter that is alone stays Y."""
        own_latent = np.bincount(self.groups) >= 2
        bounds = np.cumsum([self.n_voters, self.n_voters, self.n_groups, self.n_groups])
        parts = np.split(probability(vector), bounds)
        return replace(
            self,
            sensitivity_given_group=parts[0],
            specificity_given_group=parts[1],
            group_sensitivity=np.where(own_latent, parts[2], 1.0),
            group_specificity=np.where(own_latent, parts[3], 1.0),
            class_balance=parts[4][0],
        )

    # -- new models and data --------------------------------------------------------------------------------

    def sample(
        self, n_items: int, random_state: int | np.random.Generator = 0
    ) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int8]]:
        """Draw items.

        Returns
        -------
        codes : ndarray of shape (n_items, n_voters)
        labels : ndarray of shape (n_items,)
        latents : ndarray of shape (n_items, n_groups)
            All int8, 0 negative and 1 positive.
        """
        rng = np.random.default_rng(random_state)
        labels = rng.random(n_items) < self.class_balance
        latent_rate = np.where(labels[:, None], self.group_sensitivity, 1 - self.group_specificity)
        latents = rng.random((n_items, self.n_groups)) < latent_rate
        vote_rate = np.where(latents[:, self.groups], self.sensitivity_given_group, 1 - self.specificity_given_group)
        votes = rng.random((n_items, self.n_voters)) < vote_rate
        return votes[:, self.copy_of].astype(np.int8), labels.astype(np.int8), latents.astype(np.int8)

    def subset(self, voters: ArrayLike) -> LatentModel:
        """Return the model of some of the voters: exactly the marginal distribution of their votes."""
        voters = np.asarray(voters, dtype=np.int64)
        kept, groups = np.unique(self.groups[voters], return_inverse=True)
        numbered = as_groups(groups, len(voters))
        order = np.empty(len(kept), dtype=np.int64)
        order[numbered] = self.groups[voters]
        originals = self.copy_of[voters]
        return LatentModel(
            groups=numbered,
            class_balance=self.class_balance,
            group_sensitivity=self.group_sensitivity[order],
            group_specificity=self.group_specificity[order],
            sensitivity_given_group=self.sensitivity_given_group[voters],
            specificity_given_group=self.specificity_given_group[voters],
            copy_of=np.array([int(np.flatnonzero(originals == original)[0]) for original in originals]),
        )

    def flipped(self) -> LatentModel:
        """Return the same distribution of votes with the meanings of positive and negative labels exchanged.

        Votes keep their names; Y and every alpha are renamed.
        """
        return replace(
            self,
            class_balance=1 - self.class_balance,
            sensitivity_given_group=1 - self.specificity_given_group,
            specificity_given_group=1 - self.sensitivity_given_group,
            group_sensitivity=self.group_specificity,
            group_specificity=self.group_sensitivity,
        )


def independent_model(class_balance: float, sensitivity: ArrayLike, specificity: ArrayLike) -> LatentModel:
    """Return the model of Dawid and Skene: every voter alone with Y."""
    n_voters = np.size(sensitivity)
    ones = np.ones(n_voters)
    return LatentModel(
        np.arange(n_voters), class_balance, ones, ones, np.asarray(sensitivity), np.asarray(specificity)
    )


def embed(core: LatentModel, core_voter: NDArray[np.int64], positive_share: NDArray[np.float64]) -> LatentModel:
    """Return the model of all voters from the model of the distinct, informative ones.

    Parameters
    ----------
    core : LatentModel
        Model of the voters that were fitted.
    core_voter : ndarray of shape (n_voters,)
        Voter of the core that each voter repeats, or -1 for a voter that carries no information.
    positive_share : ndarray of shape (n_voters,)
        Share of positive votes of each voter. A voter without information says positive with this
        probability whatever Y is, so its balanced accuracy is 1/2.
    """
    n_voters = len(core_voter)
    known = core_voter >= 0
    groups = relabel(np.where(known, core.groups[core_voter], core.n_groups + np.arange(n_voters)))
    first = np.array([int(np.flatnonzero(groups == group)[0]) for group in range(groups.max() + 1)])
    copy_of = [int(np.flatnonzero(core_voter == core_voter[i])[0]) if known[i] else i for i in range(n_voters)]
    core_group = core.groups[core_voter[first]]
    return LatentModel(
        groups=groups,
        class_balance=core.class_balance,
        group_sensitivity=np.where(known[first], core.group_sensitivity[core_group], 1.0),
        group_specificity=np.where(known[first], core.group_specificity[core_group], 1.0),
        sensitivity_given_group=np.where(known, core.sensitivity_given_group[core_voter], positive_share),
        specificity_given_group=np.where(known, core.specificity_given_group[core_voter], 1 - positive_share),
        copy_of=np.array(copy_of),
    )


def merge_copies(codes: NDArray[np.int8], copy_of: NDArray[np.int64]) -> NDArray[np.int8]:
    """Fill a missing vote of an original from the first of its copies that voted."""
    copies = np.flatnonzero(copy_of != np.arange(len(copy_of)))
    if not len(copies):
        return codes
    merged = codes.copy()
    for copy in copies:
        original = merged[:, copy_of[copy]]
        merged[:, copy_of[copy]] = np.where(original < 0, codes[:, copy], original)
    return merged


def probability(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of log-odds, without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * odds))


def log_odds(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of probabilities, finite also at 0 and 1."""
    clipped = rates.clip(_CLIP, 1 - _CLIP)
    return np.log(clipped) - np.log1p(-clipped)


def _rates(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    rates = np.array(values, dtype=np.float64)
    if rates.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {rates.shape}")
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError(f"{name} must lie between 0 and 1")
    return rates
