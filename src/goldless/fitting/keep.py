"""What a fit keeps of its votes: a sample that panels are judged by, and how far voters agree with the labels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.core import FitVotes
from goldless.fitting.fitted import Fitted, probabilities
from goldless.kernels.sparse import Codes, weighted_votes
from goldless.maths.rates import log_rates
from goldless.votes.engine import added
from goldless.votes.sample import VoteSample


def with_sample(votes: FitVotes, fitted: Fitted, evidence: NDArray[np.float64] | None = None) -> Fitted:
    """Keep what panels are judged by, and with kinds of items how far voters agree with the averaged posterior."""
    table, sample = votes.counted.sketch.table, None
    if votes.shown is None:
        evidence = fitted.log_likelihood(table.codes) if evidence is None else evidence
        sample = VoteSample.of(table.codes, table.counts, probabilities(fitted.log_posterior(evidence)))
    if len(fitted.evidence) == 1:
        return replace(fitted, sample=sample)
    everyone = votes.counted.sums(np.arange(votes.votes.n_voters))
    right, cast = everyone.sum(partial(_agreement, fitted))
    if (
        votes.unseen is not None
    ):  # all voters on the rows that they do not call: the fitted ones speak for their copies
        hidden = votes.unseen.codes[:, np.maximum(votes.core_voter, 0)]
        hidden = np.where(votes.core_voter >= 0, hidden, np.int8(-1))
        right, cast = added((right, cast), _agreement(fitted, hidden, votes.unseen.weights))
    recall = np.divide(right, cast, out=np.full(cast.shape, 1 / votes.n_classes), where=cast > 0)
    return replace(fitted, sample=sample, recall=recall)


def _agreement(
    fitted: Fitted, codes: Codes, counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the expected votes of each voter that are right, and all of them, on the items of each class."""
    posterior = probabilities(fitted.log_likelihood(codes) + log_rates(fitted.model.class_prior))
    items = counts[:, None] * posterior
    said = weighted_votes(codes, items, fitted.n_classes)
    return np.einsum("icc->ic", said).copy(), said.sum(axis=2)
