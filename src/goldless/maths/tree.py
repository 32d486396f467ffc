"""The generative model ``Y -> alpha_k -> f_i`` of the paper as a tree of tables, for any number of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.kernels.evaluate import evaluate_codes, sums_of_votes
from goldless.kernels.packing import PackingPlan
from goldless.kernels.sparse import Codes, SparseCodes, dense_codes
from goldless.kernels.sparse_tree import SparseTree
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.kernels.tree_tables import UnitTables
from goldless.maths.checks import as_groups, relabel
from goldless.maths.rates import LEAST_RATE, VOTERS_AT_ONCE, bounded, log_odds, log_rates, normalised, unbounded
from goldless.maths.tables import TreeTables

_ROWS_AT_ONCE = 1 << 12  # of which a number for each group, latent and state is held


@dataclass(frozen=True, eq=False)
class TreeModel(TreeTables):
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

    # -- likelihood -----------------------------------------------------------------------------------------

    def log_likelihood(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return log Pr(votes) of every item."""
        joint = self._evaluate(codes, UnitTables.hub_log_likelihood) + np.log(np.maximum(self.prior, LEAST_RATE))
        return np.logaddexp.reduce(joint, axis=1)

    def class_log_likelihood(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return log Pr(votes | Y) of every item, a column for each class."""
        of_states = self._evaluate(codes, UnitTables.hub_log_likelihood)
        if self.states_are_classes:
            return of_states
        joint = self.prior[:, None] * self.state_class
        given_class = log_rates(joint / np.maximum(joint.sum(axis=0), LEAST_RATE))
        return np.logaddexp.reduce(of_states[:, :, None] + given_class, axis=1)

    def class_evidence(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return log Pr(votes | Y) of every item, less that of the first class; a column for each class.

        Differences between classes are more precise than those of :meth:`class_log_likelihood`.
        """
        ratios = self._evaluate(codes, UnitTables.hub_log_ratio)
        of_states = np.concatenate([np.zeros((len(ratios), 1)), ratios], axis=1)
        if self.states_are_classes:
            return of_states
        by_class = log_rates(normalised(of_states + log_rates(self.prior)) @ self.state_class)
        by_class -= log_rates(self.class_prior)
        return by_class - by_class[:, :1]

    def log_likelihood_ratio(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return log Pr(votes | positive) - log Pr(votes | negative) of every item, of two classes."""
        self._two(self.class_prior, "log_likelihood_ratio")
        return self.class_evidence(codes)[:, 1]

    def posterior(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return Pr(Y | votes) of every item, a column for each class."""
        return normalised(self.class_evidence(codes) + log_rates(self.class_prior))

    def state_posterior(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return Pr(state of the hub | votes) of every item."""
        ratios = self._evaluate(codes, UnitTables.hub_log_ratio)
        joint = np.tile(log_rates(self.prior), (len(ratios), 1))
        joint[:, 1:] += ratios
        return normalised(joint)

    @property
    def log_prior_odds(self) -> float:
        """Log-odds of the class balance, of two classes."""
        negative, positive = self._two(log_rates(self.class_prior), "log_prior_odds")
        return float(positive - negative)

    def group_posterior(self, codes: ArrayLike | SparseCodes) -> NDArray[np.float64]:
        """Return Pr(alpha_k = a | votes) of every item and group, shape (n_items, n_groups, n_latent_states)."""
        hub, originals = self.state_posterior(codes), self.copy_of == np.arange(self.n_voters)
        merged = np.where(originals, dense_codes(merge_copies(_as_codes(codes), self.copy_of)), -1)
        found = np.empty((len(merged), *self.latents.shape[:2]))
        for rows in row_chunks(len(merged), _ROWS_AT_ONCE):
            found[rows] = np.einsum("ngas,ns->nga", self.group_messages(merged[rows])[1], hub[rows])
        return found.clip(0.0, 1.0)

    def group_messages(self, codes: NDArray[np.int8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return log Pr(votes of k | state), shape (n_rows, n_groups, n_states), and Pr(alpha_k = a | state, votes).

        ``codes`` are of originals: copies have no votes.
        """
        member = (self.groups[:, None] == np.arange(self.n_groups)).astype(np.float64)
        n_latent = self.latents.shape[1]
        by_latent = np.zeros((len(codes), self.n_groups, n_latent))
        for symbol in range(self.n_symbols):
            for a in range(n_latent):
                by_latent[:, :, a] += (codes == symbol) @ (self.log_votes[:, a, symbol][:, None] * member)
        with np.errstate(divide="ignore"):
            of_latent = np.log(self.latents)  # (group, alpha, state)
        joint = by_latent[:, :, :, None] + of_latent
        given_state = np.logaddexp.reduce(joint, axis=2)
        return given_state, np.exp(joint - given_state[:, :, None, :])

    def _evaluate(
        self,
        codes: ArrayLike | SparseCodes,
        of_packed: Callable[[UnitTables, NDArray[np.uint8]], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Check codes and evaluate them, the first of a voter and its copies speaking for all of them."""
        if isinstance(codes, SparseCodes):
            return self._evaluate_sparse(codes, of_packed)
        checked = np.ascontiguousarray(_as_codes(codes))
        if checked.ndim != 2 or checked.shape[1] != self.n_voters:
            raise ValueError(f"codes of {self.n_voters} voters are needed, got shape {checked.shape}")
        if checked.size and (checked.min() < -1 or checked.max() >= self.n_symbols):
            raise ValueError(f"codes must be -1 (missing) or 0 to {self.n_symbols - 1}")
        original = self.copy_of == np.arange(self.n_voters)
        groups = np.where(original, self.groups, -1)
        merged = np.asarray(merge_copies(checked, self.copy_of))
        if min(self.n_symbols, self.n_states) > 2 and not self.has_latent.any():
            log_votes = self.log_votes[:, : self.n_states] * original[:, None, None]
            if of_packed is UnitTables.hub_log_likelihood:
                return sums_of_votes(merged, log_votes)
            return sums_of_votes(merged, log_votes[:, 1:] - log_votes[:, :1])
        return evaluate_codes(merged, groups, self.n_symbols, partial(self.unit_tables, once=True), of_packed)

    def _evaluate_sparse(
        self, codes: SparseCodes, of_packed: Callable[[UnitTables, NDArray[np.uint8]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Evaluate rows that name their voters, as the function of packed rows would."""
        if codes.n_voters != self.n_voters:
            raise ValueError(f"codes of {self.n_voters} voters are needed, got shape {codes.shape}")
        tree, merged = self.sparse_tree(), codes.merged(self.copy_of)
        found = tree.hub_log_likelihood(merged)
        return found if of_packed is UnitTables.hub_log_likelihood else found[:, 1:] - found[:, :1]

    def sparse_tree(self) -> SparseTree:
        """Return the model as passes over rows that name their voters read it."""
        return SparseTree.of(self.log_votes, self.groups, self.latents, self.has_latent, self.prior)

    @cached_property
    def log_votes(self) -> NDArray[np.float64]:
        """Log-probability of a vote given the state of the voter's parent, of the shape of ``votes``."""
        if self.n_voters <= VOTERS_AT_ONCE:
            return np.log(self.votes.clip(LEAST_RATE, 1.0))
        logarithms = np.empty_like(self.votes)  # in the same order in memory

        def fill(voters: slice) -> None:
            np.maximum(self.votes[voters], LEAST_RATE, out=logarithms[voters])
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
        return votes, unbounded(self.latents[own].transpose(0, 2, 1)), unbounded(self.prior[None])

    def bounded(
        self, values: Sequence[Callable[[slice], NDArray[np.float64]]], own: NDArray[np.bool_] | None = None
    ) -> TreeModel:
        """Return the model of the same shape whose unbounded parameters are these, asked for some voters at a time.

        ``own`` says of which latents there are parameters; those that hang on the hub stay there.
        """
        votes = np.empty_like(self.votes)

        def fill(voters: slice) -> None:
            votes[voters] = bounded(values[0](voters), self.n_symbols)

        ordered_map(fill, row_chunks(self.n_voters, VOTERS_AT_ONCE))
        latents = bounded(values[1](slice(None)), self.latents.shape[1]).transpose(0, 2, 1)
        if own is not None:
            latents = latents[self.has_latent[own]]
        prior = bounded(values[2](slice(None)), self.n_states)[0]
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
        self, n_items: int, random_state: int | np.random.Generator = 0, shown: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int8]]:
        """Draw items of a model whose states are the classes; ``shown`` says which votes are cast, if not all.

        Returns
        -------
        codes : ndarray of shape (n_items, n_voters)
        labels : ndarray of shape (n_items,)
        latents : ndarray of shape (n_items, n_groups)
            All int8, from 0; codes of votes that are not shown are -1.
        """
        if not self.states_are_classes:
            raise ValueError("items can be drawn only if every state of the hub is a class")
        rng = np.random.default_rng(random_state)
        labels = _draw(rng.random(n_items), self.prior[None, :])
        uniform, latents = rng.random((n_items, self.n_groups)), np.repeat(labels[:, None], self.n_groups, axis=1)
        own = np.flatnonzero(self.has_latent)  # the others hang on the hub itself
        latents[:, own] = _draw(uniform[:, own], self.latents[own][:, :, labels].transpose(2, 0, 1))
        uniform, voters = rng.random((n_items, self.n_voters)), np.arange(self.n_voters)
        if shown is None:
            votes = _draw(uniform, self.votes[voters, latents[:, self.groups]])
            return votes[:, self.copy_of].astype(np.int8), labels.astype(np.int8), latents.astype(np.int8)
        codes = np.full((n_items, self.n_voters), -1, dtype=np.int8)
        items, voters = np.nonzero(shown)
        originals = self.copy_of[voters]
        parents = latents[items, self.groups[originals]]
        codes[items, voters] = _draw(uniform[items, originals], self.votes[originals, parents])
        return codes, labels.astype(np.int8), latents.astype(np.int8)

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


def _as_codes(codes: ArrayLike | SparseCodes) -> Codes:
    return codes if isinstance(codes, SparseCodes) else np.asarray(codes, dtype=np.int8)


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


def _draw(uniform: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return what uniform numbers draw from rows of probabilities; the last is drawn by the smallest numbers."""
    above = np.cumsum(rates[..., :0:-1], axis=-1)
    return rates.shape[-1] - 1 - (uniform[..., None] >= above).sum(axis=-1)
