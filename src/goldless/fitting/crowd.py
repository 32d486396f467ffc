"""The voters of a crowd that matter: those in groups, the most active, the best and the worst."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.fitted import Fitted, probabilities
from goldless.kernels.sparse import SparseCodes
from goldless.votes.rows import PatternTable
from goldless.votes.sample import VoteSample
from goldless.votes.sparse import MOST_COMPARED
from goldless.votes.votes import Votes

MOST_SHOWN = 60
_SHOWN_OF_A_KIND = 12  # the best, and the worst
_ENOUGH_SEEN = 0.5  # share of the votes that those shown must cast for figures of them to say something of all
_VOTES_TO_JUDGE = 20  # of a voter that may be called one of the best or the worst
_CELLS_IN_MEMORY = 1 << 27  # items times voters that may be made dense for a diagnosis


def main_voters(fitted: Fitted, codes: SparseCodes, most: int = MOST_SHOWN) -> NDArray[np.int64]:
    """Return the columns of the voters to look at, in order: at most ``most``.

    Those in groups, busiest first; then the best and the worst of those with enough votes to tell, and the busiest.
    """
    n_votes = np.bincount(codes.voters, minlength=fitted.n_voters)
    together = (np.bincount(fitted.model.groups)[fitted.model.groups] > 1) & fitted.informative
    busiest = np.lexsort([-n_votes, ~fitted.informative])
    judged = busiest[(fitted.informative & (n_votes >= _VOTES_TO_JUDGE))[busiest]]
    by_accuracy = judged[np.argsort(-fitted.recalls[judged].mean(axis=1), kind="stable")]
    grouped = busiest[together[busiest]][: most - 3 * _SHOWN_OF_A_KIND]
    wanted = [*grouped, *by_accuracy[:_SHOWN_OF_A_KIND], *by_accuracy[-_SHOWN_OF_A_KIND:], *busiest]
    return np.sort(np.fromiter(dict.fromkeys(wanted), dtype=np.int64)[:most])


def _words(fitted: Fitted, codes: SparseCodes, columns: NDArray[np.int64]) -> tuple[str, str]:
    """Say who is shown of a crowd and what the others are like; and if they cast few votes, what cannot be told."""
    n_votes = np.bincount(codes.voters, minlength=fitted.n_voters)
    share = float(n_votes[columns].sum() / max(codes.n_votes, 1))
    worse = int((fitted.recalls.mean(axis=1) < 1 / fitted.n_classes)[fitted.informative].sum())
    shown = f"{len(columns)} of {fitted.n_voters:,} voters, with {100 * share:.1f} % of the votes"
    remark = (
        f"Figures and labels here are of {shown}: those in groups, the best and worst of those with enough votes, "
        "and those with most votes. The combined labels of all voters rest on more. "
        f"Of all voters {int((n_votes < _VOTES_TO_JUDGE).sum()):,} have fewer than {_VOTES_TO_JUDGE} votes, and "
        f"{worse:,} are estimated to be worse than chance."
    )
    return remark, "" if share >= _ENOUGH_SEEN else f"this crowd is looked at through {shown}"


class LookedAt(NamedTuple):
    """What a diagnosis or a page is made of."""

    model: Any  # the model, or that of the voters that matter
    votes: Votes  # their votes, as a matrix
    rows: NDArray[np.int64] | None = None  # (n_items,): which items these are; None for all
    columns: NDArray[np.int64] | None = None  # (n_voters,): which voters these are; None for all
    remark: str = ""  # what was left out, in a sentence; empty if nothing
    unseen: str = ""  # why that says little of the labels, in words; empty if it says enough


def looked_at(model: Any, votes: Votes) -> LookedAt:
    """Return a model and votes as a diagnosis reads them.

    Lists of a panel are made a matrix. Of a crowd the voters that matter are kept, on the items they voted on: all
    figures are then those of these voters, with the accuracies learnt from all.
    """
    codes, fitted = votes.codes, model.fitted_
    if not isinstance(codes, SparseCodes):
        return LookedAt(model, votes)
    if fitted.n_voters <= MOST_COMPARED and codes.shape[0] * codes.shape[1] <= _CELLS_IN_MEMORY:
        return LookedAt(model, replace(votes, codes=codes.dense()))
    columns = main_voters(fitted, codes)
    chosen = codes.of_voters(columns)
    rows = np.flatnonzero(chosen.lengths)[: _CELLS_IN_MEMORY // len(columns)]
    table = PatternTable.of(chosen[rows].dense(), fitted.n_classes)
    few = fitted.subset(columns)
    posterior = probabilities(few.log_posterior(few.log_likelihood(table.codes)))
    part = copy(model)
    part.fitted_ = replace(few, sample=VoteSample.of(table.codes, table.counts, posterior))
    names = None if votes.voters is None else votes.voters[columns]
    items = None if votes.items is None else np.asarray(votes.items)[rows]
    return LookedAt(
        part,
        Votes(table.codes[table.inverse], votes.classes, names, items),
        rows,
        columns,
        *_words(fitted, codes, columns),
    )
