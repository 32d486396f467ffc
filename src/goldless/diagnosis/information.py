"""Scores and information of the tree over vote patterns: the derivatives behind every interval.

Every row of probabilities is a softmax of log-ratios against the class that is right in that row, and the class
shares against the first class. On this scale the derivative of the complete-data log-likelihood is "observed minus
expected". Fisher's identity averages it over the hidden labels; Louis' identity gives the observed information. The
tree makes both closed form: given Y the groups are independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from goldless.maths.em import Dirichlet
from goldless.maths.rates import log_rates
from goldless.maths.tree import TreeModel

_BLOCK_CELLS = 1 << 22  # rows times parameters of one block
_MOST_TOGETHER = 4000  # parameters; with more, each voter or group is taken as if the rates of the others were known
_MOST_OF_GROUP = 1500  # parameters; with more, each row of it is taken as if the other rows were known


class OfState(NamedTuple):
    """Derivative of the log-likelihood of votes and Y, if Y has one value; zero in all other columns."""

    columns: NDArray[np.int64]  # (n_columns,): parameters
    values: NDArray[np.float64]  # (n_rows, n_columns): derivatives by these


@dataclass(frozen=True, eq=False)
class ScoreBlock:
    """What a model says of some patterns."""

    rows: slice  # the patterns
    posterior: NDArray[np.float64]  # (n_rows, n_classes): Pr(Y | votes)
    by_state: tuple[OfState, ...]  # for each class, the derivative if Y is that class
    # (n_own, n_rows, n_classes, n_classes): Pr(alpha_k = a | Y, votes) of the groups with a latent of their own; the
    # last axis is Y
    latents: NDArray[np.float64]
    n_parameters: int  # number of parameters

    @cached_property
    def score(self) -> NDArray[np.float64]:
        """Derivative of the log-likelihood of each pattern, shape (n_rows, n_parameters): Fisher's identity."""
        score = np.zeros((len(self.posterior), self.n_parameters))
        for state, (columns, values) in enumerate(self.by_state):
            score[:, columns] += self.posterior[:, state, None] * values
        return score

    def contrast(self) -> NDArray[np.float64]:
        """Return the derivative of the log-odds of the most probable class against the next, for each pattern."""
        contrast = np.zeros((len(self.posterior), self.n_parameters))
        order = np.argsort(self.posterior, axis=1)
        for state, (columns, values) in enumerate(self.by_state):
            sign = (order[:, -1] == state).astype(np.float64) - (order[:, -2] == state)
            contrast[:, columns] += sign[:, None] * values
        return contrast


@dataclass(frozen=True)
class PatternScores:
    """Derivatives of a tree of distinct voters, its states and symbols the classes, on patterns and their counts.

    The parameters are, for C classes: C - 1 log-ratios for each row of Pr(vote | alpha) of every voter, then for each
    row of Pr(alpha | Y) of every group with a latent, each against the right class; then the log-ratios of the class
    shares against the first. Of two classes each is the log-odds of a rate.
    """

    codes: NDArray[np.int8]
    counts: NDArray[np.integer]
    model: TreeModel

    # -- parameters -----------------------------------------------------------------------------------------

    @property
    def _n_classes(self) -> int:
        return self.model.n_classes

    @cached_property
    def _own(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.model.has_latent)

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        n_rows = self._n_classes * (self.model.n_voters + len(self._own)) + 1
        return n_rows * (self._n_classes - 1)

    @cached_property
    def _wrong(self) -> NDArray[np.int64]:
        """The classes other than each class, shape (n_classes, n_classes - 1)."""
        every = np.arange(self._n_classes)
        return np.array([np.delete(every, label) for label in every])

    @cached_property
    def columns_of_votes(self) -> NDArray[np.int64]:
        """Parameters of each voter, shape (n_voters, n_classes, n_classes - 1)."""
        shape = (self.model.n_voters, self._n_classes, self._n_classes - 1)
        return np.arange(np.prod(shape)).reshape(shape)

    @cached_property
    def columns_of_latents(self) -> NDArray[np.int64]:
        """Parameters of each group with a latent, shape (n_own, n_classes, n_classes - 1); rows are Y."""
        shape = (len(self._own), self._n_classes, self._n_classes - 1)
        return self.columns_of_votes.size + np.arange(np.prod(shape)).reshape(shape)

    @cached_property
    def columns_of_prior(self) -> NDArray[np.int64]:
        """Parameters of the class shares, all but the first."""
        return np.arange(self.n_parameters - self._n_classes + 1, self.n_parameters)

    @cached_property
    def parts(self) -> tuple[NDArray[np.int64], ...]:
        """Sets of parameters whose information is taken together.

        All; or with too many, or many more than votes, one set a voter or group; and of those with too many one set
        a row.
        """
        n_votes = int(self.counts @ (self.codes >= 0).sum(axis=1))
        if self.n_parameters <= min(_MOST_TOGETHER, max(n_votes, _MOST_OF_GROUP)):
            return (np.arange(self.n_parameters),)
        place = {group: number for number, group in enumerate(self._own.tolist())}
        found: list[NDArray[np.int64]] = []
        for group in range(self.model.n_groups):
            members = self.columns_of_votes[self.model.groups == group]
            latent = self.columns_of_latents[[place[group]] if group in place else []]
            rows = np.concatenate([members, latent]).reshape(-1, self._n_classes - 1)
            found += list(rows) if rows.size > _MOST_OF_GROUP else [rows.ravel()]
        return (*found, self.columns_of_prior)

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The part of each parameter, and its place there."""
        part_of, place = np.empty((2, self.n_parameters), dtype=np.int64)
        for number, part in enumerate(self.parts):
            part_of[part], place[part] = number, np.arange(len(part))
        return part_of, place

    @cached_property
    def _rows(self) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Parameters and probabilities of every row of the model, wrong classes only."""
        every = range(self._n_classes)
        of_votes = [
            (self.columns_of_votes[voter, a], self.model.votes[voter, a, self._wrong[a]])
            for voter in range(self.model.n_voters)
            for a in every
        ]
        of_latents = [
            (self.columns_of_latents[number, s], self.model.latents[group, self._wrong[s], s])
            for number, group in enumerate(self._own)
            for s in every
        ]
        return [*of_votes, *of_latents, (self.columns_of_prior, self.model.prior[1:])]

    def stepped(self, step: NDArray[np.float64]) -> TreeModel:
        """Return the model whose log-ratios are moved by a step."""
        right = np.arange(self._n_classes)[:, None]
        votes = log_rates(self.model.votes)
        votes[:, right, self._wrong] += step[self.columns_of_votes]
        latents = log_rates(self.model.latents).transpose(0, 2, 1)
        latents[self._own[:, None, None], right, self._wrong] += step[self.columns_of_latents]
        prior = log_rates(self.model.prior)
        prior[1:] += step[self.columns_of_prior]
        votes, latents, prior = (
            np.exp(part - logsumexp(part, axis=-1, keepdims=True)) for part in (votes, latents, prior)
        )
        own = self.model.has_latent[:, None, None]
        return self.model.with_tables(prior, np.where(own, latents.transpose(0, 2, 1), self.model.latents), votes)

    # -- scores ---------------------------------------------------------------------------------------------

    def blocks(self) -> Iterator[ScoreBlock]:
        """Yield scores block by block; the cut depends on their number alone."""
        n_rows = max(1, _BLOCK_CELLS // self.n_parameters)
        return (self._block(slice(first, first + n_rows)) for first in range(0, len(self.codes), n_rows))

    def _left(self, rows: slice) -> NDArray[np.float64]:
        """Return observed minus expected votes for each row of each voter, wrong classes only.

        Shape (n_rows, n_voters, n_classes, n_classes - 1).
        """
        codes, every = self.codes[rows], np.arange(self._n_classes)
        observed = (codes[:, :, None] == every)[:, :, self._wrong]
        expected = self.model.votes[:, every[:, None], self._wrong]
        return observed - (codes >= 0)[:, :, None, None] * expected

    def _block(self, rows: slice) -> ScoreBlock:
        """Return the scores of some rows."""
        model, every = self.model, np.arange(self._n_classes)
        codes = self.codes[rows]
        n_rows = len(codes)
        said = (codes[:, :, None] == every).astype(np.float64)
        log_votes, log_latents = model.log_votes, log_rates(model.latents)
        alone = np.flatnonzero(~model.has_latent[model.groups])
        hub = np.einsum("niv,isv->ns", said[:, alone], log_votes[alone], optimize=True)
        latents = np.zeros((len(self._own), n_rows, len(every), len(every)))
        for number, group in enumerate(self._own):
            members = model.groups == group
            of_latent = np.einsum("niv,iav->na", said[:, members], log_votes[members], optimize=True)
            joint = of_latent[:, :, None] + log_latents[group]  # log Pr(alpha_k = a and its votes | Y)
            mixed = logsumexp(joint, axis=1)
            latents[number] = np.exp(joint - mixed[:, None, :])
            hub += mixed
        joint = hub + log_rates(model.prior)
        posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        left = self._left(rows)
        by_state = []
        for state in every:
            columns = [self.columns_of_votes[alone, state].ravel()]
            values = [left[:, alone, state].reshape(n_rows, -1)]
            for number, group in enumerate(self._own):
                members, chance = np.flatnonzero(model.groups == group), latents[number, :, :, state]
                columns += [self.columns_of_votes[members].ravel(), self.columns_of_latents[number, state]]
                values += [
                    (left[:, members] * chance[:, None, :, None]).reshape(n_rows, -1),
                    chance[:, self._wrong[state]] - model.latents[group, self._wrong[state], state],
                ]
            columns.append(self.columns_of_prior)
            values.append(np.tile((every == state)[1:] - model.prior[1:], (n_rows, 1)))
            by_state.append(OfState(np.concatenate(columns), np.hstack(values)))
        return ScoreBlock(rows, posterior, tuple(by_state), latents, self.n_parameters)

    # -- information ----------------------------------------------------------------------------------------

    @cached_property
    def observed_information(self) -> tuple[NDArray[np.float64], ...]:
        """Minus the second derivative of the log-likelihood (Louis 1982), a matrix for each of ``parts``."""
        part_of, place = self._places
        found = [np.zeros((len(part), len(part))) for part in self.parts]
        items = np.zeros(self.n_parameters)
        for block in self.blocks():
            counts = self.counts[block.rows].astype(np.float64)
            items += self._items_of_rows(block, counts)
            # the variance of the complete-data score given the votes is what the hidden labels leave open
            terms = [(np.arange(self.n_parameters), block.score, -counts)]
            for state, (columns, values) in enumerate(block.by_state):
                terms.append((columns, values, counts * block.posterior[:, state]))
            terms += self._open_latents(block, counts)
            for columns, values, weight in terms:
                for part, chosen in _by_part(part_of[columns]):
                    _subtract_products(found[part], place[columns[chosen]], values[:, chosen], weight)
        self._add_rows(found, items)
        return tuple(found)

    def _items_of_rows(self, block: ScoreBlock, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many items each row of the model is expected to have been used on, by parameter."""
        model, posterior = self.model, block.posterior
        parent = np.repeat(posterior[:, None, :], model.n_voters, axis=1)
        for number, group in enumerate(self._own):
            parent[:, model.groups == group] = np.einsum("nas,ns->na", block.latents[number], posterior)[:, None, :]
        voted = (self.codes[block.rows] >= 0) * counts[:, None]
        items = np.zeros(self.n_parameters)
        items[self.columns_of_votes] = np.einsum("ni,nia->ia", voted, parent)[:, :, None]
        items[self.columns_of_latents] = (counts @ posterior)[None, :, None]
        items[self.columns_of_prior] = counts.sum()
        return items

    def _open_latents(
        self, block: ScoreBlock, counts: NDArray[np.float64]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]]:
        """Return what the hidden latents of groups leave open given Y, as weighted products."""
        terms = []
        left = self._left(block.rows) if len(self._own) else np.zeros(0)
        for number, group in enumerate(self._own):
            members = np.flatnonzero(self.model.groups == group)
            for state, (columns, values) in enumerate(block.by_state):
                weight = counts * block.posterior[:, state]
                wrong = self._wrong[state]
                of_latent = self.columns_of_latents[number, state]
                mine = np.isin(columns, np.concatenate([self.columns_of_votes[members].ravel(), of_latent]))
                terms.append((columns[mine], values[:, mine], -weight))
                for a in range(self._n_classes):
                    step = (wrong == a) - self.model.latents[group, wrong, state]
                    of_votes = left[:, members, a].reshape(len(counts), -1)
                    derivative = np.hstack([of_votes, np.tile(step, (len(counts), 1))])
                    own = np.concatenate([self.columns_of_votes[members, a].ravel(), of_latent])
                    terms.append((own, derivative, weight * block.latents[number, :, a, state]))
        return terms

    def _add_rows(self, found: list[NDArray[np.float64]], items: NDArray[np.float64]) -> None:
        """Add to the parts the information of rows that were used on so many items: that of a multinomial."""
        part_of, place = self._places
        for columns, rates in self._rows:
            own = np.ix_(place[columns], place[columns])
            found[part_of[columns[0]]][own] += items[columns[0]] * (np.diag(rates) - np.outer(rates, rates))

    def prior_information(self, prior: Dirichlet) -> tuple[NDArray[np.float64], ...]:
        """Minus the second derivative of the log prior, a matrix for each of ``parts``."""
        pseudo = np.full(self.n_parameters, prior.right + prior.wrong + prior.pooled)
        pseudo[self.columns_of_prior] = prior.items.sum()
        found = [np.zeros((len(part), len(part))) for part in self.parts]
        self._add_rows(found, pseudo)
        return tuple(found)

    # -- what follows from the parameters ---------------------------------------------------------------------

    def recall_gradients(self, voter: int) -> OfState:
        """Return the derivatives of how often a voter is right in each class (eq. bla), a row for each class."""
        model, every = self.model, np.arange(self._n_classes)
        group, votes = int(model.groups[voter]), model.votes[voter]
        # derivative of Pr(vote = c | parent = a) by the log-ratio of each wrong class v of the row a
        slope = np.zeros((len(every), len(every), len(every) - 1))  # c, a, v
        for a in every:
            wrong = self._wrong[a]
            slope[:, a] = votes[a][:, None] * ((every[:, None] == wrong) - votes[a, wrong])
        of_votes = self.columns_of_votes[voter].ravel()
        if not model.has_latent[group]:
            of_class = np.eye(len(every))[:, :, None] * slope
            return OfState(of_votes, of_class.reshape(len(every), -1))
        through = model.latents[group].T  # Y, alpha
        of_class = through[:, :, None] * slope
        number = int(np.flatnonzero(self._own == group)[0])
        of_latents = np.zeros((len(every), len(every), len(every) - 1))  # c, Y, wrong latent
        for c in every:
            wrong = self._wrong[c]
            change = through[c][:, None] * ((every[:, None] == wrong) - through[c, wrong])
            of_latents[c, c] = votes[:, c] @ change
        return OfState(
            np.concatenate([of_votes, self.columns_of_latents[number].ravel()]),
            np.hstack([of_class.reshape(len(every), -1), of_latents.reshape(len(every), -1)]),
        )

    def prior_gradients(self) -> OfState:
        """Return the derivatives of the class shares, a row for each class."""
        prior, every = self.model.prior, np.arange(self._n_classes)
        return OfState(self.columns_of_prior, prior[:, None] * ((every[:, None] == every[1:]) - prior[1:]))


def _by_part(parts: NDArray[np.int64]) -> Iterator[tuple[int, Any]]:
    """Yield the parts that columns belong to, each with the columns that do."""
    if (parts == parts[0]).all():
        yield int(parts[0]), slice(None)
        return
    order = np.argsort(parts, kind="stable")
    for chosen in np.split(order, np.flatnonzero(np.diff(parts[order])) + 1):
        yield int(parts[chosen[0]]), chosen


def _subtract_products(
    total: NDArray[np.float64], place: NDArray[np.int64], values: NDArray[np.float64], weight: NDArray[np.float64]
) -> None:
    """Subtract the weighted sum of products of columns from a matrix; all weights have one sign."""
    scaled = values * np.sqrt(np.abs(weight))[:, None]
    products = scaled.T @ scaled  # of one array with itself: half the work
    if weight.sum() < 0:
        products = -products
    if len(place) == len(total) and np.array_equal(place, np.arange(len(total))):
        total -= products
    else:
        total[np.ix_(place, place)] -= products
