"""Exact EM on the latent model: the tree makes every expectation closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.threads import ordered_map, row_chunks
from goldless.kernels.vote_shares import as_stored, path_jump, path_squares, shares_of_rows, sum_of_kinds
from goldless.maths.ordered import AGAINST_ORDER, Ordered
from goldless.maths.rates import VOTERS_AT_ONCE
from goldless.maths.tree import TreeModel
from goldless.progress import tell

_CLIP = 1e-10
_LOG_ODDS_LIMIT = 20.0
_LONGEST_JUMP = 64.0


@dataclass(frozen=True)
class ExpectedCounts:
    """What the E-step counts, summed over items. Counts of two blocks of items add."""

    labels: NDArray[np.float64]  # (n_states,): expected items in each state of the hub
    # (n_groups, n_latent_states, n_states): expected items with (alpha_k, hub); nothing for a voter that is alone,
    # which hangs on the hub itself
    latents: NDArray[np.float64]
    # (n_voters, n_parent_states, n_symbols): expected (state of the voter's parent, vote) over the voter's votes
    votes: NDArray[np.float64]
    log_likelihood: float  # log-likelihood of the votes

    def __add__(self, other: ExpectedCounts) -> ExpectedCounts:
        return ExpectedCounts(
            self.labels + other.labels,
            self.latents + other.latents,
            self.votes + other.votes,
            self.log_likelihood + other.log_likelihood,
        )


@dataclass(frozen=True, eq=False)
class Dirichlet:
    """Pseudo-counts that are added to the expected counts: the M-step they lead to, and their log-density."""

    start: TreeModel  # a model of the same shape: its classes of the states are kept
    state_label: NDArray[np.int64]  # (n_states,): class that the votes of each state are expected to name
    items: NDArray[np.float64]  # (n_states,): pseudo-items of each state
    # right, wrong: pseudo-votes of every row for the class that is expected, and for all others together
    right: float = 0.01
    wrong: float = 0.01
    # pseudo-votes of every row that are spread as the votes of all voters of a kind, alone or in groups
    pooled: float = 0.0
    known_prior: NDArray[np.float64] | None = None  # (n_states,): known probabilities of the states
    # known probabilities of votes of voters that are alone, not a number where unknown
    known_votes: NDArray[np.float64] | None = None
    # what is expected of voters whose symbols are in order, of two classes; it takes the place of `right` and `wrong`
    # for votes
    ordered: Ordered | None = None
    # (n_voters,): which voters say whether another votes, 0 or 1, of more than two classes: nothing is expected of
    # either, and other voters are not pulled towards them
    silent: NDArray[np.bool_] | None = None

    @classmethod
    def of_classes(
        cls,
        groups: NDArray[np.int64],
        n_classes: int,
        right: float,
        wrong: float,
        balance: float,
        pooled: float = 0.0,
        ordered: Ordered | None = None,
    ) -> Dirichlet:
        """Return the pseudo-counts of a model whose states are the classes, ``balance`` items in each.

        Its symbols are the classes too, or ordered bins.
        """
        return cls(
            even_model(groups, n_classes, None if ordered is None else ordered.share.shape[1]),
            np.arange(n_classes),
            np.full(n_classes, float(balance)),
            right,
            wrong,
            pooled,
            ordered=ordered,
        )

    def for_groups(self, groups: NDArray[np.int64]) -> Dirichlet:
        """Return the same pseudo-counts for another grouping, perhaps with more voters; no votes are known.

        Of labels the class balance is not known either; of ordered bins it is what the votes say.
        """
        if self.ordered is None:
            start = even_model(groups, self.start.n_classes)
            return replace(self, start=start, known_prior=None, known_votes=None, silent=None)
        start = even_model(groups, self.start.n_classes, self.start.n_symbols)
        return replace(self, start=start, known_votes=None, ordered=self.ordered.extended(len(groups)))

    def with_balance(self, balance: float) -> Dirichlet:
        """Return the pseudo-counts with another number of items in each class."""
        return replace(self, items=np.full(len(self.items), float(balance)))

    def with_known_prior(self, prior: NDArray[np.float64] | None) -> Dirichlet:
        """Return the pseudo-counts with the probabilities of the states known, or not."""
        ordered = self.ordered
        if ordered is not None:
            ordered = replace(ordered, balance=0.5 if prior is None else float(prior[1]))
        return replace(self, known_prior=prior, ordered=ordered)

    @property
    def balance(self) -> float:
        """Pseudo-items of a state; none if the class balance is known."""
        return float(self.items[0]) if self.known_prior is None else 0.0

    @cached_property
    def _pseudo(self) -> NDArray[np.float64]:
        """Pseudo-votes of a voter alone, and of one in a group; none in rows that it does not use."""
        _, n_parents, n_symbols = self.start.votes.shape
        _, n_latent, n_states = self.start.latents.shape
        pseudo = np.zeros((2, n_parents, n_symbols))
        pseudo[0, :n_states] = self._expecting(self.state_label, n_symbols)
        pseudo[1, :n_latent] = self._expecting(np.arange(n_latent), n_symbols)
        return pseudo

    @cached_property
    def _latents(self) -> NDArray[np.float64]:
        """Pseudo-items of (alpha, state), shape (n_latent_states, n_states)."""
        return self._expecting(self.state_label, self.start.latents.shape[1]).T

    @cached_property
    def _own_latent(self) -> NDArray[np.bool_]:
        return np.bincount(self.start.groups, minlength=self.start.n_groups) >= 2

    def _expecting(self, labels: NDArray[np.int64], n_values: int) -> NDArray[np.float64]:
        """Return pseudo-counts of values, a row for each label that is expected."""
        pseudo = np.full((len(labels), n_values), self.wrong / max(n_values - 1, 1))
        pseudo[np.arange(len(labels)), labels] = self.right
        return pseudo

    def maximise(self, counts: ExpectedCounts) -> TreeModel:
        """Return the model of largest expected log-likelihood plus log prior (M-step)."""
        own = self._own_latent
        prior = counts.labels + self.items
        latents = self.start.latents
        if own.any():
            latents = self.start.with_own_latents(_shares(counts.latents[own] + self._latents, axis=1))
        pseudo = self._pseudo
        if self.pooled and self.start.states_are_classes:
            pseudo = pseudo + self._pull(counts.votes)
        if self.ordered is None:
            shares = shares_of_rows(counts.votes, pseudo, own[self.start.groups], _CLIP)
        else:
            shares = _shares(self.ordered.arranged(counts.votes + self.ordered.pseudo_votes), axis=2)
        if not self.start.states_are_classes and self.start.n_symbols > 2:
            shares = self._with_shared_errors(counts.votes, shares)
        if self.silent is not None:
            shares = self._with_silence(counts.votes, shares)
        if self.known_votes is not None:
            shares = np.where(np.isnan(self.known_votes), shares, self.known_votes)
        return self.start.with_tables(
            prior / prior.sum() if self.known_prior is None else self.known_prior, latents, shares
        )

    def _pull(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return pseudo-votes that are spread as the votes of all voters that are alone, and of all in groups."""
        kind = self._own_latent[self.start.groups]
        if self.silent is not None:
            votes, kind = votes[~self.silent], kind[~self.silent]
        total = sum_of_kinds(votes, kind)
        return self.pooled * np.stack([_shares(votes, axis=1) for votes in total + self._pseudo])

    def _with_shared_errors(self, votes: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the votes of voters that are alone with the same wrong answers in all states of a class.

        How often a voter is right depends on the state, which wrong answer it gives only on the class: states are
        items that are easy or hard, not other confusions.
        """
        n_states, alone = self.start.n_states, ~self._own_latent[self.start.groups]
        if self.silent is not None:
            alone = alone & ~self.silent
        right = np.eye(self.start.n_symbols)[self.state_label]
        same_class = self.state_label[:, None] == self.state_label[None, :]
        said = votes[alone, :n_states]
        total = said.sum(axis=2)
        accuracy = ((said * right).sum(axis=2) + self.right) / (total + self.right + self.wrong)
        wrong = np.einsum("st,itv->isv", same_class, said) * (1 - right)
        pseudo = self.wrong / (self.start.n_symbols - 1) * (1 - right)
        errors = wrong + pseudo
        if self.pooled:
            errors = errors + self.pooled * _shares(wrong.sum(axis=0) + self.wrong * (1 - right), axis=1)
        errors = errors / errors.sum(axis=2, keepdims=True)
        mended = shares.copy()
        mended[alone, :n_states] = accuracy[:, :, None] * right + (1 - accuracy)[:, :, None] * errors
        return mended.clip(_CLIP, 1.0)

    @property
    def _of_silence(self) -> float:
        """Pseudo-votes for voting, and as many for silence."""
        return (self.right + self.wrong) / 2

    def _with_silence(self, votes: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the votes with those on voting at all: 0 or 1, whatever the classes are."""
        mended = shares.copy()
        mended[self.silent] = _CLIP
        mended[self.silent, :, :2] = _shares(votes[self.silent, :, :2] + self._of_silence, axis=2)
        return mended

    def impose(self, model: TreeModel) -> TreeModel:
        """Return a model with what is known put in."""
        return model.with_tables(
            model.prior if self.known_prior is None else self.known_prior,
            model.latents,
            model.votes
            if self.known_votes is None
            else np.where(np.isnan(self.known_votes), model.votes, self.known_votes),
        )

    def in_order(self, model: TreeModel) -> TreeModel:
        """Return a model with the votes of ordered symbols put in order."""
        if self.ordered is None:
            return model
        return model.with_tables(model.prior, model.latents, _shares(self.ordered.arranged(model.votes), axis=2))

    def log_density(self, model: TreeModel) -> float:
        """Return the log-density of a model up to a constant."""
        of_latents, own = 0.0, self._own_latent
        if own.any():
            of_latents = (self._latents * _log(model.latents[own])).sum()
        return float(self.items @ _log(model.prior) + of_latents + self._log_density_of_votes(model))

    def _log_density_of_votes(self, model: TreeModel) -> float:
        if self.ordered is None:
            own, log_votes = self._own_latent[self.start.groups], model.log_votes
            if self.silent is None:
                return float((self._pseudo * sum_of_kinds(log_votes, own)).sum())
            used = np.asarray(self._pseudo.any(axis=2))[own.astype(np.int64)]  # the rows of each voter that EM fills
            of_silence = (log_votes[self.silent, :, :2].sum(axis=2) * used[self.silent]).sum()
            of_votes = self._pseudo * sum_of_kinds(log_votes[~self.silent], own[~self.silent])
            return float(of_votes.sum() + self._of_silence * of_silence)
        against = AGAINST_ORDER * self.ordered.n_falling(model.votes)
        return float((self.ordered.pseudo_votes * _log(model.votes)).sum() - against)


def even_model(groups: NDArray[np.int64], n_classes: int, n_symbols: int | None = None) -> TreeModel:
    """Return the model of a grouping in which nothing tells anything of anything."""
    n_groups = int(groups.max(initial=-1)) + 1
    alone = np.bincount(groups, minlength=n_groups) == 1
    even, own = np.full((n_classes, n_classes), 1 / n_classes), np.eye(n_classes)
    n_symbols = n_classes if n_symbols is None else n_symbols
    if alone.all():  # of a crowd these tables are large, and all alike
        latents = np.broadcast_to(own, (n_groups, n_classes, n_classes))
    else:
        latents = np.where(alone[:, None, None], own, even)
    votes = np.broadcast_to(1 / n_symbols, (len(groups), n_classes, n_symbols))
    return TreeModel.unchecked(groups, even[0], latents, votes)


def _shares(counts: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return counts as shares of their sum along an axis, even where there are none, and never 0 or 1."""
    total = counts.sum(axis=axis, keepdims=True)
    share = np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1 / counts.shape[axis])
    return share.clip(_CLIP, 1 - _CLIP)


@dataclass(frozen=True)
class EMResult:
    """Outcome of :func:`run_em`."""

    model: TreeModel  # parameters after the last M-step
    log_likelihood: float  # log-likelihood of the votes under the parameters of the last E-step
    # (n_accepted,): penalised log-likelihood at every model that was accepted; never falls
    objective: NDArray[np.float64]
    n_iter: int  # number of E-steps, that is, of passes over the votes
    converged: bool  # whether the last plain step gained at most `tol` per item
    gap: float  # the last gain of a plain step, per item


def run_em(
    start: TreeModel,
    expect: Callable[[TreeModel], ExpectedCounts],
    *,
    prior: Dirichlet,
    max_iter: int,
    tol: float,
    worth: float = 0.0,
) -> EMResult:
    """Alternate E- and M-steps, with extrapolation, until a plain step gains at most ``tol`` per item.

    Every two plain steps are followed by a jump along their direction (squared extrapolation of Varadhan and
    Roland 2008, on the log-odds of all probabilities). A jump that would lower the objective is not taken, so the
    objective never falls, and each E-step counts as one iteration.

    ``start``: starting point; its groups are kept; ``expect``: one pass over the votes: the expected counts under a
    model; ``prior``: pseudo-counts and the M-step; ``max_iter`` and ``tol``: when to stop; ``worth``: a rise of the
    log-likelihood that is asked for: where as many more steps as the longest jump stands for would not reach it by
    the gain of the last one, EM stops.
    """

    def visit(model: TreeModel) -> tuple[ExpectedCounts, float]:
        counts = expect(model)
        return counts, counts.log_likelihood + prior.log_density(model)

    model = start.with_tables(start.prior, start.latents, start.votes)  # what is made of it does not outlive it
    counts, objective = visit(model)
    accepted, needed = [objective], counts.log_likelihood + worth
    n_visits, gap = 1, np.inf
    while n_visits < max_iter:
        first, n_items = prior.maximise(counts), max(float(counts.labels.sum()), 1.0)
        start_of_path = _parameters(model)
        del model, counts  # tables of many voters are large
        first_counts, first_objective = visit(first)
        n_visits += 1
        accepted.append(first_objective)
        previous, gap = gap, (first_objective - objective) / n_items
        tell("estimating accuracies", _share_done(n_visits, max_iter, previous, gap, tol))
        hopeless = worth > 0 and first_counts.log_likelihood + _LONGEST_JUMP * n_items * gap < needed
        if abs(gap) <= tol or hopeless:
            counts = first_counts
            break
        jump = prior.in_order(_extrapolate(start_of_path, first, prior.maximise(first_counts)))
        model, counts, objective = first, first_counts, first_objective
        del start_of_path, first, first_counts
        if n_visits < max_iter:
            jump_counts, jump_objective = visit(jump)
            n_visits += 1
            if jump_objective >= first_objective:
                model, counts, objective = jump, jump_counts, jump_objective
                accepted.append(objective)
            del jump_counts
        del jump
    return EMResult(
        model=prior.maximise(counts),
        log_likelihood=counts.log_likelihood,
        objective=np.array(accepted),
        n_iter=n_visits,
        converged=bool(abs(gap) <= tol),
        gap=float(gap),
    )


def _share_done(n_visits: int, max_iter: int, previous: float, gap: float, tol: float) -> float:
    """Guess which share of the passes is done, if the gain goes on falling as it just did (two passes a round)."""
    if not (0 < tol < gap < previous < np.inf):
        return n_visits / max_iter if gap > tol else 1.0
    left = 2 * np.log(gap / tol) / np.log(previous / gap)
    return n_visits / min(n_visits + left, max_iter)


def _extrapolate(start: Sequence[NDArray[np.float64]], first: TreeModel, second: TreeModel) -> TreeModel:
    """Jump along the path of two steps, on log-odds, by the length that would end it if it were linear."""
    paths = list(zip(start, _parameters(first), _parameters(second), strict=True))
    few = first.n_voters <= VOTERS_AT_ONCE
    squares = _squares(paths) if few else np.sum([_squares_by_parts(*path) for path in paths], axis=0)
    length = float(np.sqrt(squares[0] / max(float(squares[1]), 1e-300)))
    if length <= 1:
        return second
    del second  # nobody else holds its tables
    length = min(length, _LONGEST_JUMP)
    jumps = [partial(_jump, path, length) for path in paths]
    return first.bounded(jumps, _moving(first))


def _moving(model: TreeModel) -> NDArray[np.bool_]:
    """Return which latents are looked at: of few voters also those that hang on the hub, which cost nothing."""
    return np.ones(model.n_groups, dtype=bool) if model.n_voters <= VOTERS_AT_ONCE else model.has_latent


def _parameters(model: TreeModel) -> tuple[NDArray[np.float64], ...]:
    """Return the parameters of a model on a scale without bounds."""
    return model.unbounded(_moving(model))


Path = tuple[NDArray[np.float64], ...]  # some parameters at the start, after one step, and after two


def _squares(paths: Sequence[Path]) -> tuple[float, float]:
    """Return the squared lengths of a first step and of how much the second differs from it."""
    start, once, twice = (np.concatenate([path[number].ravel() for path in paths]) for number in range(3))
    step = once - start
    bend = twice - once - step
    return float(step @ step), float(bend @ bend)


def _squares_by_parts(
    start: NDArray[np.float64], once: NDArray[np.float64], twice: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the squares of some parameters, of many voters a part at a time."""

    def of_rows(rows: slice) -> tuple[float, float]:
        return path_squares(*(as_stored(part[rows]).reshape(-1) for part in (start, once, twice)))

    return np.sum([(0.0, 0.0), *ordered_map(of_rows, row_chunks(len(start), VOTERS_AT_ONCE))], axis=0)


def _jump(path: Path, length: float, rows: slice) -> NDArray[np.float64]:
    """Return where some parameters are after a jump along their path."""
    start, once, twice = path
    return path_jump(start[rows], once[rows], twice[rows], length, _LOG_ODDS_LIMIT)


def _log(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(rates, _CLIP))
