"""Abstention as a vote of its own, on all votes wherever they are."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.fitted import with_silence
from goldless.kernels.sparse import dense_codes
from goldless.maths.em import Dirichlet
from goldless.maths.tree import TreeModel
from goldless.votes.engine import MappedEngine
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable, Rows
from goldless.votes.sparse import SparseRows


def _silence_of_rows(columns: NDArray[np.int64], abstainers: NDArray[np.int64], rows: Rows) -> Rows:
    """Return the votes of some voters, then whether some of these vote; rows without a vote of them are left out."""
    chosen = rows.of_voters(columns)
    return Rows.of(dense_codes(with_silence(chosen.codes, abstainers)), rows.n_symbols, chosen.counts)


def silent_sums(votes: VoteSums, abstainers: NDArray[np.int64]) -> VoteSums:
    """Return all votes with a second vote of some voters on whether they vote."""
    if not len(abstainers):
        return votes
    if isinstance(votes.table, SparseRows):
        raise ValueError("abstain='informative' is not for a crowd: there silence says who was asked.")
    table = PatternTable.of(
        dense_codes(with_silence(votes.table.codes, abstainers)), votes.table.n_symbols, votes.table.counts
    )
    if votes.engine is None:
        return VoteSums.of_table(table)
    n_columns = table.n_voters
    engine = MappedEngine(votes.engine, partial(_silence_of_rows, votes.columns, abstainers))
    return replace(
        votes,
        table=table,
        engine=engine,
        columns=np.arange(n_columns),
        n_columns=n_columns,
        complete=False,
        _packed={},
    )


def with_silent_voters(model: TreeModel, voters: NDArray[np.int64]) -> TreeModel:
    """Return the model of votes and abstentions in which abstention says nothing yet, for EM to start from.

    The abstention of a voter in a group hangs on the group's latent, that of a voter alone on Y.
    """
    if not len(voters):
        return model
    groups = model.groups[voters]
    alone = (np.bincount(model.groups) == 1)[groups]
    fresh = model.n_groups + np.cumsum(alone) - 1
    even = np.full((len(voters), *model.votes.shape[1:]), 1 / model.n_symbols)
    return TreeModel(
        np.concatenate([model.groups, np.where(alone, fresh, groups)]),
        model.prior,
        np.concatenate([model.latents, np.tile(np.eye(model.n_states), (int(alone.sum()), 1, 1))]),
        np.concatenate([model.votes, even]),
    )


def hearing(
    prior: Dirichlet, abstainers: NDArray[np.int64], n_voters: int, n_columns: int | None = None
) -> Dirichlet:
    """Return pseudo-counts that know which votes are on voting at all: those that follow on the voters'.

    Of two classes they are pseudo-votes like any others.
    """
    if prior.start.n_classes == 2 or not len(abstainers):
        return prior
    silent = np.zeros(prior.start.n_voters if n_columns is None else n_columns, dtype=bool)
    silent[n_voters : n_voters + len(abstainers)] = True
    return replace(prior, silent=silent)
