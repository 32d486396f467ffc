"""The generative model ``Y -> alpha_k -> f_i`` of the paper as a tree of tables, for any number of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.kernels.evaluate import evaluate_codes
from goldless.kernels.packing import PackingPlan
from goldless.kernels.sparse import Codes, SparseCodes
from goldless.kernels.sparse_tree import SparseTree
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.kernels.tree_tables import UnitTables
from goldless.kernels.vote_shares import scale_rows
from goldless.maths.checks import as_groups, relabel

VOTERS_AT_ONCE = 1 << 13  # of a crowd: what is made of so many stays in the cache
_CLIP = 1e-12  # probabilities are kept this far from 0 and 1 when logarithms are taken


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Votes f_i that depend on the label Y only through the latent alpha of their group.

    What may be *said* (V symbols) is not what may be *true* (C classes). The hub has S states: the classes, or
    several kinds of items in each class, such as easy and hard ones. Groups of voters have a latent of A states.

    Attributes
    ----------
    groups : ndarray of shape (n_voters,)
        Group of each voter, the assignment function c; numbered 0, 1, ... in order of first appearance.
    prior : ndarray of shape (n_states,)
        Pr(state of the hub).
    latents : ndarray of shape (n_groups, n_latent_states, n_states)
        Pr(alpha_k = a | state). A voter that is alone usually has the identity, so that alpha_k is the hub itself.
    votes : ndarray of shape (n_voters, max(n_states, n_latent_states), n_symbols)
        Pr(vote | alpha = a) of a voter in a group, Pr(vote | state) of a voter that is alone.
    state_class : ndarray of shape (n_states, n_classes)
        Share of the items of each state that are of each class.
    class_prior : ndarray of shape (n_classes,)
        Pr(Y) that the shares of the states are compared with.
    copy_of : ndarray of shape (n_voters,)
        ``copy_of[i] = j`` says that voter i repeats voter j exactly and is no evidence of its own. By default every
        voter is its own original.

    Notes
    -----
    Codes are int8: -1 missing, then 0 to V - 1. Missing votes are skipped, that is, taken to say nothing about Y. Of
    a voter and its copies, the first that voted counts. :func:`LatentModel` makes the model of two classes from
    rates.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(2_000, groups=[4] + [1] * 8, random_state=0)
    >>> tree = gl.LatentSML(structure=[0] * 4 + list(range(1, 9))).fit(X).latent_model_
    >>> tree.n_groups, tree.confusion.shape
    (9, (12, 2, 2))
    """

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

    @classmethod
    def unchecked(
        cls,
        groups: NDArray[np.int64],
        prior: NDArray[np.float64],
        latents: NDArray[np.float64],
        votes: NDArray[np.float64],
        state_class: NDArray[np.float64] | None = None,
        copy_of: NDArray[np.int64] | None = None,
    ) -> TreeModel:
        """Return a model of arrays as they are: nothing is checked, nothing is copied."""
        model = object.__new__(cls)
        state_class = np.eye(len(prior)) if state_class is None else state_class
        model.__dict__.update(
            groups=groups,
            prior=prior,
            latents=latents,
            votes=votes,
            state_class=state_class,
            class_prior=prior @ state_class,
            copy_of=np.arange(len(groups)) if copy_of is None else copy_of,
        )
        return model

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

    @property
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
        state_given_class = state_given_class / np.maximum(state_given_class.sum(axis=0), _CLIP)
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
        given = joint / np.maximum(joint.sum(axis=0), _CLIP)
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

    # -- likelihood -----------------------------------------------------------------------------------------

    def log_likelihood(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return log Pr(votes) of every item."""
        joint = self._evaluate(codes, UnitTables.hub_log_likelihood) + np.log(np.maximum(self.prior, _CLIP))
        return np.logaddexp.reduce(joint, axis=1)

    def class_log_likelihood(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return log Pr(votes | Y) of every item, a column for each class."""
        of_states = self._evaluate(codes, UnitTables.hub_log_likelihood)
        if self.states_are_classes:
            return of_states
        joint = self.prior[:, None] * self.state_class
        given_class = log_rates(joint / np.maximum(joint.sum(axis=0), _CLIP))
        return np.logaddexp.reduce(of_states[:, :, None] + given_class, axis=1)

    def class_evidence(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return log Pr(votes | Y) of every item, less that of the first class; a column for each class.

        Differences between classes are more precise than those of :meth:`class_log_likelihood`.
        """
        ratios = self._evaluate(codes, UnitTables.hub_log_ratio)
        of_states = np.concatenate([np.zeros((len(ratios), 1)), ratios], axis=1)
        if self.states_are_classes:
            return of_states
        by_class = log_rates(_normalised(of_states + log_rates(self.prior)) @ self.state_class)
        by_class -= log_rates(self.class_prior)
        return by_class - by_class[:, :1]

    def log_likelihood_ratio(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return log Pr(votes | positive) - log Pr(votes | negative) of every item, of two classes."""
        self._two(self.class_prior, "log_likelihood_ratio")
        return self.class_evidence(codes)[:, 1]

    def posterior(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return Pr(Y | votes) of every item, a column for each class."""
        return _normalised(self.class_evidence(codes) + log_rates(self.class_prior))

    def state_posterior(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return Pr(state of the hub | votes) of every item."""
        ratios = self._evaluate(codes, UnitTables.hub_log_ratio)
        joint = np.tile(log_rates(self.prior), (len(ratios), 1))
        joint[:, 1:] += ratios
        return _normalised(joint)

    @property
    def log_prior_odds(self) -> float:
        """Log-odds of the class balance, of two classes."""
        negative, positive = self._two(log_rates(self.class_prior), "log_prior_odds")
        return float(positive - negative)

    def group_posterior(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return Pr(alpha_k = a | votes) of every item and group, shape (n_items, n_groups, n_latent_states)."""
        return self._evaluate(codes, UnitTables.latent_posterior)

    def _evaluate(
        self,
        codes: ArrayLike | SparseCodes,
        of_packed: Callable[[UnitTables, NDArray[np.uint8]], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Check codes and evaluate them, the first of a voter and its copies speaking for all of them."""
        if isinstance(codes, SparseCodes):
            return self._evaluate_sparse(codes, of_packed)
        checked = np.ascontiguousarray(codes, dtype=np.int8)
        if checked.ndim != 2 or checked.shape[1] != self.n_voters:
            raise ValueError(f"codes of {self.n_voters} voters are needed, got shape {checked.shape}")
        if checked.size and (checked.min() < -1 or checked.max() >= self.n_symbols):
            raise ValueError(f"codes must be -1 (missing) or 0 to {self.n_symbols - 1}")
        original = self.copy_of == np.arange(self.n_voters)
        groups = np.where(original, self.groups, -1)
        merged = np.asarray(merge_copies(checked, self.copy_of))
        return evaluate_codes(merged, groups, self.n_symbols, partial(self.unit_tables, once=True), of_packed)

    def _evaluate_sparse(
        self, codes: SparseCodes, of_packed: Callable[[UnitTables, NDArray[np.uint8]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Evaluate rows that name their voters, as the function of packed rows would."""
        if codes.n_voters != self.n_voters:
            raise ValueError(f"codes of {self.n_voters} voters are needed, got shape {codes.shape}")
        tree, merged = self.sparse_tree(), codes.merged(self.copy_of)
        if of_packed is UnitTables.latent_posterior:
            hub = _normalised(tree.hub_log_likelihood(merged) + log_rates(self.prior))
            out = np.einsum("gas,ns->nga", self.latents, hub)
            out[:, self.has_latent] = tree.latent_posterior(merged)
            return out
        found = tree.hub_log_likelihood(merged)
        return found if of_packed is UnitTables.hub_log_likelihood else found[:, 1:] - found[:, :1]

    def sparse_tree(self) -> SparseTree:
        """Return the model as passes over rows that name their voters read it."""
        return SparseTree.of(self.log_votes, self.groups, self.latents, self.has_latent, self.prior)

    @cached_property
    def log_votes(self) -> NDArray[np.float64]:
        """Log-probability of a vote given the state of the voter's parent, of the shape of ``votes``."""
        if self.n_voters <= VOTERS_AT_ONCE:
            return np.log(self.votes.clip(_CLIP, 1.0))
        logarithms = np.empty_like(self.votes)  # in the same order in memory

        def fill(voters: slice) -> None:
            np.maximum(self.votes[voters], _CLIP, out=logarithms[voters])
            np.log(logarithms[voters], out=logarithms[voters])

        ordered_map(fill, row_chunks(self.n_voters, VOTERS_AT_ONCE))
        return logarithms

    def unit_tables(self, plan: PackingPlan, once: bool = False) -> UnitTables:
        """Return the model as tables over byte values, for many passes or once."""
        return UnitTables.of(plan, self.log_votes, self.latents, self.has_latent, self.prior, once)

    # -- parameters without bounds, for EM --------------------------------------------------------------------

    def unbounded(self, own: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.float64], ...]:
        """Return the probabilities of votes, of latents, and of states on a scale without bounds.

        ``own`` says which latents; by default those that are no hub.
        """
        votes = log_odds(self.votes[..., 1]) if self.n_symbols == 2 else self.log_votes
        own = self.has_latent if own is None else own
        return votes, _unbounded(self.latents[own].transpose(0, 2, 1)), _unbounded(self.prior[None])

    def bounded(
        self, values: Sequence[Callable[[slice], NDArray[np.float64]]], own: NDArray[np.bool_] | None = None
    ) -> TreeModel:
        """Return the model of the same shape whose unbounded parameters are these, asked for some voters at a time.

        ``own`` says of which latents there are parameters; those that hang on the hub stay there.
        """
        votes = np.empty_like(self.votes)

        def fill(voters: slice) -> None:
            votes[voters] = _bounded(values[0](voters), self.n_symbols)

        ordered_map(fill, row_chunks(self.n_voters, VOTERS_AT_ONCE))
        latents = _bounded(values[1](slice(None)), self.latents.shape[1]).transpose(0, 2, 1)
        if own is not None:
            latents = latents[self.has_latent[own]]
        prior = _bounded(values[2](slice(None)), self.n_states)[0]
        return self.with_tables(prior, self.with_own_latents(latents), votes)

    def with_own_latents(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the latents with those that do not hang on the hub replaced."""
        if not len(own):
            return self.latents
        latents = self.latents.copy()
        latents[self.has_latent] = own
        return latents

    def with_tables(
        self, prior: NDArray[np.float64], latents: NDArray[np.float64], votes: NDArray[np.float64]
    ) -> TreeModel:
        """Return the model with other probabilities, not checked; classes keep their shares of the states."""
        model = TreeModel.unchecked(self.groups, prior, latents, votes, self.state_class, self.copy_of)
        if latents is self.latents:
            model.__dict__["has_latent"] = self.has_latent  # the same latents hang on the hub
        return model

    # -- new models and data --------------------------------------------------------------------------------

    def sample(
        self, n_items: int, random_state: int | np.random.Generator = 0
    ) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int8]]:
        """Draw items of a model whose states are the classes.

        Returns
        -------
        codes : ndarray of shape (n_items, n_voters)
        labels : ndarray of shape (n_items,)
        latents : ndarray of shape (n_items, n_groups)
            All int8, from 0.
        """
        if not self.states_are_classes:
            raise ValueError("items can be drawn only if every state of the hub is a class")
        rng = np.random.default_rng(random_state)
        labels = _draw(rng.random(n_items), self.prior[None, :])
        latents = _draw(rng.random((n_items, self.n_groups)), self.latents[:, :, labels].transpose(2, 0, 1))
        parents = latents[:, self.groups]
        votes = _draw(rng.random((n_items, self.n_voters)), self.votes[np.arange(self.n_voters), parents])
        return votes[:, self.copy_of].astype(np.int8), labels.astype(np.int8), latents.astype(np.int8)

    def subset(self, voters: ArrayLike) -> TreeModel:
        """Return the model of some of the voters: exactly the marginal distribution of their votes."""
        voters = np.asarray(voters, dtype=np.int64)
        kept, groups = np.unique(self.groups[voters], return_inverse=True)
        numbered = as_groups(groups, len(voters))
        order = np.empty(len(kept), dtype=np.int64)
        order[numbered] = self.groups[voters]
        originals = self.copy_of[voters]
        copy_of = first_like(originals)
        left_alone = (np.bincount(numbered) == 1) & self.has_latent[order]
        model = replace(self, groups=numbered, latents=self.latents[order], votes=self.votes[voters], copy_of=copy_of)
        if not left_alone.any() or self.latents.shape[1] == self.n_states:
            return model
        # a latent with another number of states than the hub is summed out when one voter of its group is left
        alone = left_alone[numbered]
        votes = np.where(alone[:, None, None], self.votes_given_state[voters], model.votes)
        return replace(model, votes=votes)

    def dissolved(self, members: NDArray[np.int64]) -> TreeModel:
        """Return the model in which some voters hang on Y itself, with the same Pr(vote | Y)."""
        groups = self.groups.copy()
        groups[members] = self.n_groups + np.arange(len(members))
        new = relabel(groups)
        latents = np.tile(np.eye(self.n_states), (int(new.max()) + 1, 1, 1))
        kept = np.setdiff1d(np.arange(self.n_voters), members)
        latents[new[kept]] = self.latents[self.groups[kept]]
        votes = self.votes.copy()
        votes[members] = self.votes_given_state[members]
        return replace(self, groups=new, latents=latents, votes=votes)

    def renamed(self, order: ArrayLike) -> TreeModel:
        """Return the same distribution of votes with other names of the states: state s was state ``order[s]``.

        Votes keep their names; Y and every alpha are renamed.
        """
        order = np.asarray(order, dtype=np.int64)
        return replace(
            self,
            prior=self.prior[order],
            latents=self.latents[:, order][:, :, order],
            votes=self.votes[:, order],
            class_prior=self.class_prior[order],
        )

    def flipped(self) -> TreeModel:
        """Return the same distribution of votes with the two classes exchanged."""
        return self.renamed([1, 0])


def LatentModel(
    groups: ArrayLike,
    class_balance: float,
    group_sensitivity: ArrayLike,
    group_specificity: ArrayLike,
    sensitivity_given_group: ArrayLike,
    specificity_given_group: ArrayLike,
    copy_of: ArrayLike | None = None,
) -> TreeModel:
    """Return the model of two classes from its rates.

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
        ``copy_of[i] = j`` says that voter i repeats voter j exactly and is no evidence of its own.

    Examples
    --------
    >>> model = LatentModel([0, 0, 1], 0.5, [0.8, 1], [0.8, 1], [0.9, 0.9, 0.7], [0.9, 0.9, 0.7])
    >>> model.sensitivity.round(2)
    array([0.74, 0.74, 0.7 ])
    >>> model.posterior([[1, 1, 0], [-1, -1, 1]])[:, 1].round(3)
    array([0.621, 0.7  ])
    """
    n_voters, n_groups = np.size(groups), int(np.max(groups, initial=-1)) + 1
    balance = _rates("class_balance", class_balance, ())
    of_groups = [
        _rates(name, values, (n_groups,))
        for name, values in (("group_specificity", group_specificity), ("group_sensitivity", group_sensitivity))
    ]
    of_voters = [
        _rates(name, values, (n_voters,))
        for name, values in (
            ("specificity_given_group", specificity_given_group),
            ("sensitivity_given_group", sensitivity_given_group),
        )
    ]
    return TreeModel(
        np.asarray(groups),
        np.array([1 - balance, balance]),
        _two_by_two(*of_groups).transpose(0, 2, 1),
        _two_by_two(*of_voters),
        copy_of=copy_of,  # type: ignore[arg-type]  # None and lists are taken too
    )


def _two_by_two(right_negative: NDArray[np.float64], right_positive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return tables [given, said] from how often each of two is said rightly."""
    return np.stack(
        [
            np.stack([right_negative, 1 - right_negative], axis=-1),
            np.stack([1 - right_positive, right_positive], axis=-1),
        ],
        axis=-2,
    )


def independent_model(prior: ArrayLike, confusion: ArrayLike) -> TreeModel:
    """Return the model of Dawid and Skene: every voter alone with Y.

    Parameters
    ----------
    prior : array-like of shape (n_classes,)
        Pr(Y).
    confusion : array-like of shape (n_voters, n_classes, n_symbols)
        Pr(vote | Y) of each voter.
    """
    confusion = np.asarray(confusion, dtype=np.float64)
    n_voters, n_classes, _ = confusion.shape
    return TreeModel(np.arange(n_voters), np.asarray(prior), np.tile(np.eye(n_classes), (n_voters, 1, 1)), confusion)


def independent_rates(class_balance: float, sensitivity: ArrayLike, specificity: ArrayLike) -> TreeModel:
    """Return the model of two classes in which every voter is alone with Y, from their rates."""
    ones = np.ones(np.size(sensitivity))
    return LatentModel(np.arange(len(ones)), class_balance, ones, ones, sensitivity, specificity)


def embed(core: TreeModel, core_voter: NDArray[np.int64], symbol_share: NDArray[np.float64]) -> TreeModel:
    """Return the model of all voters from the model of the distinct, informative ones.

    Parameters
    ----------
    core : TreeModel
        Model of the voters that were fitted; its states are the classes.
    core_voter : ndarray of shape (n_voters,)
        Voter of the core that each voter repeats, or -1 for a voter that carries no information.
    symbol_share : ndarray of shape (n_voters, n_symbols)
        Share of each voter's votes for each symbol. A voter without information says a symbol with this probability
        whatever Y is.
    """
    n_voters = len(core_voter)
    known = core_voter >= 0
    groups = relabel(np.where(known, core.groups[core_voter], core.n_groups + np.arange(n_voters)))
    first = np.unique(groups, return_index=True)[1]
    copy_of = np.where(known, first_like(core_voter), np.arange(n_voters))
    of_core = core.latents[core.groups[core_voter[first]]]
    return TreeModel(
        groups=groups,
        prior=core.prior,
        latents=np.where(known[first][:, None, None], of_core, np.eye(core.n_states)),
        votes=np.where(known[:, None, None], core.votes[core_voter], symbol_share[:, None, :]),
        copy_of=copy_of,
    )


def first_like(labels: NDArray) -> NDArray[np.int64]:
    """Return the first place that holds the same label, for every place."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse.reshape(-1)].astype(np.int64)


def merge_copies(codes: Codes, copy_of: NDArray[np.int64]) -> Codes:
    """Fill a missing vote of an original from the first of its copies that voted."""
    if isinstance(codes, SparseCodes):
        return codes.merged(copy_of)
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


def log_rates(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of probabilities, finite also at 0."""
    return np.log(np.maximum(rates, _CLIP))


def _normalised(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities that are proportional to numbers given by their logarithms, row by row."""
    if logarithms.shape[1] == 2:
        positive = probability(logarithms[:, 1] - logarithms[:, 0])
        return np.stack([1 - positive, positive], axis=1)
    joint = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def _unbounded(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of probabilities without bounds: two are one log-odds, more are their logarithms."""
    return log_odds(table[..., 1]) if table.shape[-1] == 2 else log_rates(table)


def _bounded(values: NDArray[np.float64], n_values: int) -> NDArray[np.float64]:
    """Return the rows of so many probabilities that :func:`_unbounded` made values of."""
    if n_values == 2:
        return np.stack([probability(-values), probability(values)], axis=-1)
    rates = np.exp(values)
    if rates.ndim == 3 and len(rates) >= VOTERS_AT_ONCE:
        scale_rows(rates)
    else:
        rates /= rates.sum(axis=-1, keepdims=True)
    return rates


def _draw(uniform: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return what uniform numbers draw from rows of probabilities; the last is drawn by the smallest numbers."""
    above = np.cumsum(rates[..., :0:-1], axis=-1)
    return rates.shape[-1] - 1 - (uniform[..., None] >= above).sum(axis=-1)


def _rates(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    rates = np.array(values, dtype=np.float64)
    if rates.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {rates.shape}")
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError(f"{name} must lie between 0 and 1")
    return rates
