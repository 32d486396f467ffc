"""EM on votes some of which have a known label, spoken by one more voter that is alone and certain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.calibration import Calibration, calibrated_to
from goldless.fitting.core import FitVotes
from goldless.fitting.facts import Facts, certain_votes
from goldless.fitting.fitted import with_silence
from goldless.fitting.given_groups import FitOptions
from goldless.fitting.settling import known_rates
from goldless.fitting.silence import hearing
from goldless.fitting.solve import Solver, free_balance
from goldless.kernels.sparse import Codes, SparseCodes, codes_of_voters
from goldless.maths.em import Dirichlet, EMResult, ExpectedCounts
from goldless.maths.tree import TreeModel
from goldless.votes.grouped import Grouped, grouped
from goldless.votes.passes import VoteSums
from goldless.votes.sparse import counted_rows

Expect = Callable[[TreeModel], ExpectedCounts]


@dataclass(frozen=True, eq=False)
class WithLabels:
    """One pass over all votes, and what known labels change in it: the rows that have one are few and in memory.

    Expected counts add, so those of the rows with a label are taken out of the pass as if they had none and put back
    as they are with it. All votes are gone through once, wherever they are.
    """

    of_votes: Expect  # the expected counts of all votes under a model of the voters
    # unlabelled, labelled: the rows with a known label, without and with the voter that speaks it; None if there are
    # none
    unlabelled: Grouped | None = None
    labelled: Grouped | None = None

    @classmethod
    def of(
        cls,
        of_votes: Expect,
        codes: Codes,
        labels: NDArray[np.int8],
        items: NDArray[np.int64] | None,
        model: TreeModel,
    ) -> WithLabels:
        """Take the rows with a known label.

        ``of_votes``: one pass over all votes; ``codes`` (n_known, n_voters): votes on the rows with a known label;
        ``labels`` (n_known,): codes of the labels; ``items`` (n_known,): how many items each row stands for; None if
        one; ``model``: model of the voters, and of the one that speaks the labels.
        """
        if not len(labels):
            return cls(of_votes)
        told = codes.with_voter(labels) if isinstance(codes, SparseCodes) else np.column_stack([codes, labels])
        silent, spoken = (counted_rows(rows, model.n_symbols, items) for rows in (codes, told))
        return cls(of_votes, grouped(silent, model.groups[:-1]), grouped(spoken, model.groups))

    def __call__(self, model: TreeModel) -> ExpectedCounts:
        """Return the expected counts under a model whose last voter speaks the labels."""
        voters = model.subset(np.arange(model.n_voters - 1))
        counts = _with_silent_voter(self.of_votes(voters))
        if self.unlabelled is None or self.labelled is None:
            return counts
        less, more = _with_silent_voter(self.unlabelled.expect(voters)), self.labelled.expect(model)
        return ExpectedCounts(
            np.maximum(counts.labels - less.labels, 0.0) + more.labels,
            np.maximum(counts.latents - less.latents, 0.0) + more.latents,
            np.maximum(counts.votes - less.votes, 0.0) + more.votes,
            counts.log_likelihood - less.log_likelihood + more.log_likelihood,
        )


def with_label_voter(model: TreeModel) -> TreeModel:
    """Return the model with one more voter, alone and certain, that speaks the known labels."""
    votes = np.zeros((1, model.n_classes, model.n_symbols))
    votes[0, :, : model.n_classes] = certain_votes(model.n_classes)
    return with_voters_alone(model, votes)


def with_voters_alone(model: TreeModel, votes: NDArray[np.float64]) -> TreeModel:
    """Return the model with more voters, each alone with Y, that have these confusions."""
    n_more = len(votes)
    return TreeModel(
        np.concatenate([model.groups, model.n_groups + np.arange(n_more)]),
        model.prior,
        np.concatenate([model.latents, np.tile(np.eye(model.n_states), (n_more, 1, 1))]),
        np.concatenate([model.votes, votes]),
    )


def _with_silent_voter(counts: ExpectedCounts) -> ExpectedCounts:
    """Return the counts with one more voter, alone, that said nothing."""

    def padded(array: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([array, np.zeros((1, *array.shape[1:]))])

    return ExpectedCounts(counts.labels, padded(counts.latents), padded(counts.votes), counts.log_likelihood)


def fit_with_facts(
    votes: FitVotes,
    facts: Facts,
    options: FitOptions,
    model: TreeModel,
    prior: Dirichlet,
    sums: VoteSums,
    abstainers: NDArray[np.int64],
    overdispersion: float,
) -> tuple[EMResult, Calibration | None]:
    """Run EM on the votes and one more voter, certain and alone, that speaks the known labels."""
    picked = votes.counted.picked
    voted = picked.voted(votes.voters)
    rows = picked.take(voted)
    codes = with_silence(codes_of_voters(rows.codes, votes.voters), abstainers)
    start = with_label_voter(model)
    known = hearing(known_rates(votes, facts, prior, start), abstainers, votes.sums.n_voters)
    start = known.impose(start)
    labelled = WithLabels.of(sums.expect, codes, facts.labels[voted], rows.counts, start)
    # a sample knows no labels: what they change is part of what it lacks
    on_table = labelled if sums.engine is None else WithLabels(sums.expect_table)
    solver = Solver(on_table, None if sums.engine is None else labelled, options.max_iter, options.tol)
    result = solver.finish_from(start, known)
    voters = np.arange(model.n_voters)
    of_voters = result.model.subset(voters)
    without = replace(result, model=of_voters)
    if not isinstance(options.balance_prior, str) or len(abstainers) or votes.ranked is not None:
        return without, None
    again = partial(solver.finish_from, result.model)
    free = free_balance(again, votes.n_items, result.log_likelihood, known, overdispersion)
    if free is None:
        return without, None
    return without, calibrated_to(sums.table, of_voters, free.result.model.subset(voters))
