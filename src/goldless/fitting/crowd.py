"""The voters of a crowd that matter: those in groups, then those with most votes."""

from __future__ import annotations

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
_CELLS_IN_MEMORY = 1 << 27  # items times voters that may be made dense for a diagnosis


def main_voters(fitted: Fitted, codes: SparseCodes, most: int = MOST_SHOWN) -> NDArray[np.int64]:
    """Return the columns of the voters to look at, in order: at most ``most``."""
    n_votes = np.bincount(codes.voters, minlength=fitted.n_voters)
    together = np.bincount(fitted.model.groups)[fitted.model.groups] > 1
    order = np.lexsort([-n_votes, ~together, ~fitted.informative])
    return np.sort(order[:most])


class LookedAt(NamedTuple):
    """What a diagnosis or a page is made of.

    Attributes
    ----------
    model : estimator
        The model, or that of the voters that matter.
    votes : Votes
        Their votes, as a matrix.
    rows : ndarray of shape (n_items,) or None
        Which items these are; None for all.
    remark : str
        What was left out, in a sentence; empty if nothing.
    """

    model: Any
    votes: Votes
    rows: NDArray[np.int64] | None = None
    remark: str = ""


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
    part = type(model)(**model.get_params())
    part.fitted_ = replace(few, sample=VoteSample.of(table.codes, table.counts, posterior))
    remark = (
        f"Figures and labels here are of {len(columns)} of {fitted.n_voters:,} voters, with "
        f"{100 * chosen.n_votes / max(codes.n_votes, 1):.0f} % of the votes: those in groups, then those with most "
        "votes. The combined labels of all voters rest on more."
    )
    names = None if votes.voters is None else votes.voters[columns]
    items = None if votes.items is None else np.asarray(votes.items)[rows]
    return LookedAt(part, Votes(table.codes[table.inverse], votes.classes, names, items), rows, remark)
