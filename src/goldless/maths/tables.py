"""The tables of a tree ``Y -> alpha_k -> f_i``, and what follows from them alone: shape, accuracies, moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from goldless.maths.checks import as_groups
from goldless.maths.rates import LEAST_RATE


@dataclass(frozen=True, eq=False)
class TreeTables:
    """What a :class:`~goldless.maths.tree.TreeModel` is made of."""

    groups: NDArray[np.int64]
    prior: NDArray[np.float64]
    latents: NDArray[np.float64]
    votes: NDArray[np.float64]
    state_class: NDArray[np.float64] = None  # type: ignore[assignment]  # filled in below
    class_prior: NDArray[np.float64] = None  # type: ignore[assignment]
    copy_of: NDArray[np.int64] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        groups = as_groups(self.groups, np.size(self.groups))
        if not np.array_equal(groups, np.asarray(self.groups)):
            raise ValueError("groups must be numbered 0, 1, ... in order of first appearance")
        n_voters, n_groups = len(groups), int(groups.max(initial=-1)) + 1
        prior, latents, votes = (  # in one order in memory, on which the last bits of logarithms may hang
            np.array(part, dtype=np.float64, order="C") for part in (self.prior, self.latents, self.votes)
        )
        n_states = len(prior)
        state_class = np.eye(n_states) if self.state_class is None else np.array(self.state_class, dtype=np.float64)
        class_prior = prior @ state_class if self.class_prior is None else np.array(self.class_prior, dtype=float)
        if latents.ndim != 3 or latents.shape[::2] != (n_groups, n_states):
            raise ValueError(f"latents must have shape ({n_groups}, a, {n_states}), got {latents.shape}")
        if votes.ndim != 3 or votes.shape[:2] != (n_voters, max(latents.shape[1:], default=n_states)):
            raise ValueError(
                f"votes must have shape ({n_voters}, {max(latents.shape[1:])}, symbols), got {votes.shape}"
            )
        if state_class.shape != (n_states, len(class_prior)):
            raise ValueError(f"state_class must have shape ({n_states}, {len(class_prior)}), got {state_class.shape}")
        for name, part in {"prior": prior, "latents": latents, "votes": votes, "state_class": state_class}.items():
            if not ((part >= 0) & (part <= 1)).all():
                raise ValueError(f"{name} must lie between 0 and 1")
        copy_of = np.arange(n_voters) if self.copy_of is None else np.asarray(self.copy_of, dtype=np.int64)
        if copy_of.shape != (n_voters,) or not np.array_equal(copy_of[copy_of], copy_of):
            raise ValueError("copy_of must point every voter to an original voter")
        if not np.array_equal(groups[copy_of], groups):
            raise ValueError("a copy must be in the group of its original")
        for name, value in {
            "groups": groups, "prior": prior, "latents": latents, "votes": votes,
            "state_class": state_class, "class_prior": class_prior, "copy_of": copy_of,
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)

    # -- shape ----------------------------------------------------------------------------------------------

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.groups)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.latents)

    @property
    def n_states(self) -> int:
        """Number of states of the hub."""
        return len(self.prior)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_prior)

    @property
    def n_symbols(self) -> int:
        """Number of symbols that a vote may be."""
        return self.votes.shape[2]

    @cached_property
    def states_are_classes(self) -> bool:
        """Whether every state of the hub is one class."""
        return self.n_states == self.n_classes and bool((self.state_class == np.eye(self.n_states)).all())

    @cached_property
    def has_latent(self) -> NDArray[np.bool_]:
        """Which groups have a latent of their own; the others hang on the hub."""
        alone = np.bincount(self.groups, minlength=self.n_groups) == 1
        _, n_latent, n_states = self.latents.shape
        if n_latent != n_states:
            return ~alone
        return ~(alone & (self.latents == np.eye(n_states)).all(axis=(1, 2)))

    # -- accuracies -----------------------------------------------------------------------------------------

    @property
    def class_balance(self) -> float | NDArray[np.float64]:
        """Pr(Y = positive) of two classes, Pr(Y) of more."""
        return float(self.class_prior[1]) if self.n_classes == 2 else self.class_prior

    @property
    def imbalance(self) -> float:
        """Class imbalance b = Pr(Y = positive) - Pr(Y = negative) of two classes."""
        return float(2 * self._two(self.class_prior, "imbalance")[1] - 1)

    @cached_property
    def votes_given_state(self) -> NDArray[np.float64]:
        """Pr(vote | state of the hub), shape (n_voters, n_states, n_symbols)."""
        n_latent, own = self.latents.shape[1], self.has_latent[self.groups]
        through = np.einsum("ias,iav->isv", self.latents[self.groups], self.votes[:, :n_latent])
        return np.where(own[:, None, None], through, self.votes[:, : self.n_states])

    @cached_property
    def confusion(self) -> NDArray[np.float64]:
        """Pr(vote | Y), shape (n_voters, n_classes, n_symbols) (eq. bla)."""
        if self.states_are_classes:
            return self.votes_given_state
        state_given_class = self.prior[:, None] * self.state_class
        state_given_class = state_given_class / np.maximum(state_given_class.sum(axis=0), LEAST_RATE)
        return np.einsum("sc,isv->icv", state_given_class, self.votes_given_state)

    @property
    def recall(self) -> NDArray[np.float64]:
        """Pr(vote = Y | Y) of every voter and class, shape (n_voters, n_classes).

        Where symbols are not the classes, a symbol is for the class that makes it likeliest.
        """
        if self.n_symbols != self.n_classes:
            named = self.confusion.argmax(axis=1)
            of_class = [(self.confusion[:, c] * (named == c)).sum(axis=1) for c in range(self.n_classes)]
            return np.stack(of_class, axis=1)
        return np.einsum("icc->ic", self.confusion[:, :, : self.n_classes])

    @property
    def balanced_accuracy(self) -> NDArray[np.float64]:
        """Mean over the classes of how often a voter is right."""
        return self.recall.mean(axis=1)

    @property
    def sensitivity(self) -> NDArray[np.float64]:
        """Pr(f_i = positive | Y = positive) of two classes."""
        return self._two(self.recall.T, "sensitivity")[1]

    @property
    def specificity(self) -> NDArray[np.float64]:
        """Pr(f_i = negative | Y = negative) of two classes."""
        return self._two(self.recall.T, "specificity")[0]

    @property
    def sensitivity_given_group(self) -> NDArray[np.float64]:
        """Pr(f_i = positive | alpha = positive) of two classes."""
        return self._two(self.votes.transpose(1, 2, 0), "sensitivity_given_group")[1, 1]

    @property
    def specificity_given_group(self) -> NDArray[np.float64]:
        """Pr(f_i = negative | alpha = negative) of two classes."""
        return self._two(self.votes.transpose(1, 2, 0), "specificity_given_group")[0, 0]

    @property
    def group_sensitivity(self) -> NDArray[np.float64]:
        """Pr(alpha_k = positive | Y = positive) of two classes."""
        return self._two(self.latents.transpose(1, 2, 0), "group_sensitivity")[1, 1]

    @property
    def group_specificity(self) -> NDArray[np.float64]:
        """Pr(alpha_k = negative | Y = negative) of two classes."""
        return self._two(self.latents.transpose(1, 2, 0), "group_specificity")[0, 0]

    def _two(self, values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        """Return values by class, if there are two."""
        if self.n_classes != 2:
            raise AttributeError(f"{name} is for two classes, and there are {self.n_classes}: see confusion")
        return values

    # -- moments --------------------------------------------------------------------------------------------

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean vote, coded -1 and +1, of two classes."""
        return 2 * self._two(np.einsum("c,icv->vi", self.class_prior, self.confusion), "mean")[1] - 1

    @property
    def group_mean(self) -> NDArray[np.float64]:
        """Mean of each latent, coded -1 and +1, of two classes."""
        return 2 * self._two(self.latents.transpose(1, 0, 2) @ self.prior, "group_mean")[1] - 1

    @property
    def v_off(self) -> NDArray[np.float64]:
        """Loadings across groups: sqrt(1 - b^2) (psi_i + eta_i - 1) (Lemma 1), of two classes."""
        return np.sqrt(1 - self.imbalance**2) * (self.sensitivity + self.specificity - 1)

    @property
    def v_on(self) -> NDArray[np.float64]:
        """Loadings within a group: sqrt(1 - E[alpha]^2) (psi_i^alpha + eta_i^alpha - 1) (Lemma 1), of two classes."""
        spread = np.sqrt(1 - self.group_mean**2)[self.groups]
        return spread * (self.sensitivity_given_group + self.specificity_given_group - 1)

    def population_covariance(self) -> NDArray[np.float64]:
        """Return the covariance of the votes (Lemma 1), with variances on the diagonal.

        Two labels are coded -1 and +1, more as corners of a regular simplex.
        """
        return self._covariance_given(self.prior)

    def conditional_covariance(self) -> tuple[NDArray[np.float64], ...]:
        """Return the covariance of the votes given each class, the last class first: C+ and C- (eq. con_cor)."""
        joint = self.prior[:, None] * self.state_class
        given = joint / np.maximum(joint.sum(axis=0), LEAST_RATE)
        return tuple(self._covariance_given(given[:, label]) for label in reversed(range(self.n_classes)))

    def _covariance_given(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance of the votes if the hub has these probabilities."""
        scale = self.n_symbols / (self.n_symbols - 1)
        given_state = self.votes_given_state
        mean = np.einsum("s,isv->iv", states, given_state)
        chance = mean @ mean.T
        covariance = np.einsum("s,isv,jsv->ij", states, given_state, given_state) - chance
        n_latent = self.latents.shape[1]
        for group in np.flatnonzero(self.has_latent):
            members = np.flatnonzero(self.groups == group)
            own, alpha = self.votes[members, :n_latent], self.latents[group] @ states
            together = np.einsum("a,iav,jav->ij", alpha, own, own)
            covariance[np.ix_(members, members)] = together - chance[np.ix_(members, members)]
        copies = self.copy_of[:, None] == self.copy_of[None, :]
        return scale * np.where(copies, (1 - (mean**2).sum(axis=1))[:, None], covariance)
