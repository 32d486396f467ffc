"""Agreement of voters with the majority of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.core import FitVotes
from goldless.fitting.cut import VOTE_TEMPER, Cut, mean_votes, tempered_cut
from goldless.fitting.fitted import Fitted
from goldless.fitting.solve import start_of
from goldless.kernels.sparse import Codes, tally, weighted_votes
from goldless.maths.em import Dirichlet
from goldless.maths.tree_makers import independent_model


def fit_majority(votes: FitVotes) -> Fitted:
    """Count how voters vote given the majority; a tie is shared evenly among its classes.

    Of numbers the majority is the consensus, the mean of midranks: an item is positive as far as its rank is high.
    """
    if votes.ranked is not None:
        groups = np.arange(votes.sums.n_voters)
        prior = Dirichlet.of_classes(groups, 2, 0.0, 0.0, 0.0, ordered=replace(votes.ranked.ordered, strength=0.01))
        return votes.fitted(start_of(votes.sums, groups, prior))
    said, items = votes.sums.sum(partial(_count, votes.n_classes))
    total = said.sum(axis=2, keepdims=True)
    confusion = np.where(total > 0, said / np.where(total > 0, total, 1), 1 / votes.n_classes)
    cut = None
    if votes.n_classes == 2:
        at = tempered_cut(votes.sums, mean_votes, VOTE_TEMPER)
        cut = Cut(0.0 if at is None else at, np.array([0.0, 1.0]))
    return votes.fitted(independent_model(items / items.sum(), confusion), cut=cut)


def _count(
    n_classes: int, codes: Codes, counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return votes of each voter by (majority, vote), and items by majority."""
    votes = tally(codes, n_classes)
    most = votes == votes.max(axis=1, keepdims=True)
    weight = counts[:, None] * (most / most.sum(axis=1, keepdims=True))
    return weighted_votes(codes, weight, n_classes), weight.sum(axis=0)
