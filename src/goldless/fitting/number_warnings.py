"""What is odd about votes that are numbers, each in one sentence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.errors import warn_user
from goldless.fitting.core import FitVotes
from goldless.fitting.fitted import Fitted
from goldless.fitting.groups import can_be_searched
from goldless.fitting.number_facts import auc_of, direction_of
from goldless.fitting.numbers import consensus_of
from goldless.maths.ordered import share_above
from goldless.votes.votes import voter_name
from goldless.words import listed

_CLEARLY_AGAINST = 0.4  # AUC of a voter that runs against the others, and not merely weak
_ONE_LEVEL = 0.9  # share of a voter's answers
_DISAGREEMENT = 0.1  # of the labels


def warn_about_numbers(votes: FitVotes, fitted: Fitted, evidence: NDArray[np.float64]) -> None:
    """Say which voters run against the others or say one number, and where the consensus would label otherwise.

    ``evidence`` is the log-likelihood of the classes on the patterns of the fit.
    """
    assert fitted.bins is not None
    assert fitted.symbol_share is not None
    against = np.flatnonzero((direction_of(fitted) != fitted.bins.sign) & (auc_of(fitted) < _CLEARLY_AGAINST))
    if len(against):
        which = "lower" if (fitted.bins.sign[against] > 0).all() else "higher"
        warn_user(f"Runs against the others: {_named(fitted, against)}; is {which} positive there?")
    flat = np.flatnonzero((fitted.symbol_share.max(axis=1) > _ONE_LEVEL) & fitted.informative)
    if len(flat):
        warn_user(f"Nine answers in ten are the same number or nearly so: {_named(fitted, flat)}.")
    n_voters = len(votes.voters)
    if n_voters >= 4 and not can_be_searched(votes):
        warn_user(f"{votes.n_items} items for {n_voters} voters: too few to find groups from numbers (10 a voter).")
    table = votes.counted.sketch.table
    labels = fitted.decide(evidence)
    consensus, counts = consensus_of(fitted, table.codes), table.counts.astype(np.float64)
    stated = votes.ranked is not None and votes.ranked.class_prior is not None
    cut = share_above(consensus, counts, float(counts @ (labels == 1) / counts.sum())) if stated else 0.5
    otherwise = (consensus > cut) != (labels == 1)
    share = float(table.counts @ otherwise / max(table.n_items, 1))
    if share > _DISAGREEMENT:
        warn_user(
            f"The mean rank of the votes would label {100 * share:.0f} % of the items otherwise: it counts all "
            "voters alike, the model follows those that agree with each other."
        )


def _named(fitted: Fitted, voters: NDArray[np.integer]) -> str:
    return listed((voter_name(fitted.voters, int(voter)) for voter in voters), 5)
