"""Voters that say numbers, seen as voters of two labels: each cut at its own turning point.

What is claimed of single voters and of pairs of them (intervals, tests, effective votes, panels, the page) is claimed
of these votes. Labels and probabilities of items are those of the numbers themselves, and go along with the votes.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.estimators.dawid_skene import DawidSkene
from goldless.fitting.calibration import Calibration
from goldless.fitting.fitted import probabilities
from goldless.fitting.number_facts import auc_of, cut_codes, cut_fit
from goldless.fitting.numbers import consensus_of
from goldless.votes.rows import PatternTable
from goldless.votes.votes import Votes


class Said(NamedTuple):
    """What numbers say of rows, before they are cut."""

    # labels, flat, consensus: (n_rows,): codes of the labels by the model, by the model without groups, and by the
    # mean of midranks
    labels: NDArray[np.int64]
    flat: NDArray[np.int64]
    consensus: NDArray[np.int64]
    # posterior, printed: (n_rows, n_classes): Pr(Y | numbers) of the model, and as it is printed
    posterior: NDArray[np.float64]
    printed: NDArray[np.float64]
    calibration: Calibration | None  # what printed probabilities count with
    auc: NDArray[np.float64]  # (n_voters,): how often each voter ranks a positive item above a negative one

    def collapsed(self, codes: NDArray[np.int8], counts: NDArray[np.int64] | None) -> tuple[PatternTable, Said]:
        """Return the patterns of codes on which labels do not differ, and what is said of them."""
        both = np.column_stack([codes, self.labels, self.flat, self.consensus]).astype(np.int8)
        table = PatternTable.of(both, 2, counts)
        weight = np.ones(len(codes)) if counts is None else counts.astype(np.float64)
        items = np.maximum(np.bincount(table.inverse, weight, table.n_patterns), 1e-300)
        means = [
            np.stack([np.bincount(table.inverse, weight * of, table.n_patterns) / items for of in rows.T], axis=1)
            for rows in (self.posterior, self.printed)
        ]
        labels, flat, consensus = table.codes[:, -3:].T.astype(np.int64)
        for _ in range(3):
            table = table.without_last_voter()
        return table, Said(labels, flat, consensus, means[0], means[1], self.calibration, self.auc)


@dataclass(frozen=True, eq=False)
class CutVotes(Votes):
    """Votes cut at turning points, with what the numbers say of every row."""

    said: Said | None = None


def as_labels(model: Any, X: Any) -> tuple[Any, Any]:
    """Return a fitted model and votes as they are if they are labels, else every voter cut at its turning point."""
    fitted = vars(model).get("fitted_")
    if fitted is None or fitted.bins is None:
        return model, X
    votes = model._read(X, reset=False)
    seen = copy(model)
    seen.fitted_ = cut_fit(fitted)
    answers = model._answer(votes.codes)
    consensus = (consensus_of(fitted, votes.codes) > 0.5).astype(np.int64)
    labels = answers[:, 0].astype(np.int64)
    flat = labels
    if fitted.model.n_groups < fitted.n_voters:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flat = DawidSkene().fit(votes).fitted_.log_likelihood(votes.codes).argmax(axis=1)
    posterior = probabilities(fitted.log_posterior(fitted.log_likelihood(votes.codes)))
    said = Said(labels, flat, consensus, posterior, answers[:, 1:], fitted.printed, auc_of(fitted))
    return seen, CutVotes(cut_codes(fitted, votes.codes), fitted.classes, votes.voters, votes.items, said=said)
