"""Probabilities by a line on the log-likelihood: without the pull of a prior, no surer than one more voter is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.threads import ordered_map, row_chunks
from goldless.maths.rates import log_rates, normalised, probability
from goldless.maths.soft_logistic import Sums, logistic_sums, soft_logistic
from goldless.maths.tree import TreeModel
from goldless.votes.engine import added
from goldless.votes.rows import PatternTable
from goldless.votes.sparse import SparseRows

# a function of the log-likelihood of rows, of what their voters say, and of the items each stands for; and what adds
# it up over all rows
OfRows = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], Any]
Total = Callable[[OfRows], Any]

_LARGEST_RATIO = 30.0  # log-likelihoods that differ by more say the same
_ALIKE = 5e-5  # a standard deviation: those that differ by less differ by rounding, or by where EM ended
_CHUNK_CELLS = 1 << 15  # of rows and classes, that stay in the cache
_USUAL_SLOPE = 0.2  # of one more voter: where the search for it starts
_LINE_ITEMS = 5.0  # labelled items that the line without labels is worth, for each offset
_LARGEST_TEMPER = 1.25  # a free fit that is so much surer is another reading and no calibration


class Calibration(NamedTuple):
    """How to make probabilities less sure, or their class balance free; see ``predict_proba``."""

    temper: float  # factor on the log-likelihood of the votes
    # (n_classes,): class balance to count with: the share of positive items, or of more than two classes all shares
    class_balance: float | NDArray[np.float64]

    @property
    def class_prior(self) -> NDArray[np.float64]:
        """The share of every class."""
        if np.ndim(self.class_balance):
            return np.asarray(self.class_balance)
        return np.array([1 - float(self.class_balance), float(self.class_balance)])

    @classmethod
    def of_offsets(cls, temper: float, offsets: NDArray[np.float64]) -> Calibration:
        """Return the line of a factor, and of what is added to the log-likelihood of each class, the first 0."""
        if len(offsets) == 2:
            return cls(temper, float(probability(offsets[1])))
        return cls(temper, normalised(offsets[None])[0])


def calibrated_to(table: PatternTable | SparseRows, model: TreeModel, free: TreeModel) -> Calibration | None:
    """Return the line on a two-class model's log-likelihood ratio that is nearest to the posterior of a free fit.

    The prior that holds the class balance near one half is good for labels, and biases every probability. The free
    fit has no such bias. Its posterior q is a target without labels: ``temper * ratio + log-odds(balance)`` is the
    logistic regression of q on the ratio. One line for all items leaves their order, and so the labels, as they were.

    ``table``: patterns of the voters of both models; ``model`` and ``free``: the model behind the labels, and the
    same fitted without a prior on the class balance. Returns None if there is no such line, or there are more than
    two classes.
    """
    if model.n_classes > 2:
        return None
    evidence, counts = model.class_evidence(table.codes), table.counts.astype(np.float64)
    return soft_logistic_line(evidence, free.posterior(table.codes), counts)


def soft_logistic_line(
    evidence: NDArray[np.float64], target: NDArray[np.float64], weights: NDArray[np.float64]
) -> Calibration | None:
    """Return the line on log-likelihoods that is nearest to probabilities: one slope, and an offset for each class.

    None if there is no such line with a positive slope of at most 1.25, as when all log-likelihoods are alike.

    ``evidence`` (n_rows, n_classes): log-likelihood of the classes; ``target`` (n_rows, n_classes): probabilities;
    ``weights`` (n_rows,).
    """
    return _nearest(total_of(evidence, target, weights), _even(1.0, evidence.shape[1])) if len(evidence) else None


def total_of(evidence: NDArray[np.float64], said: NDArray[np.float64], counts: NDArray[np.float64]) -> Total:
    """Return what adds up a function of rows that are in memory."""
    # by class, one class behind the other: what is added up over the classes of an item is then added item by item
    evidence, said = np.asfortranarray(evidence), np.asfortranarray(said)

    def total(function: OfRows) -> Any:
        chunks = row_chunks(len(counts), _CHUNK_CELLS // evidence.shape[1])
        return reduce(added, ordered_map(lambda rows: function(evidence[rows], said[rows], counts[rows]), chunks))

    return total


def one_more_voter(total: Total, means: NDArray[np.float64], start: Calibration | None = None) -> Calibration | None:
    """Return the line on the log-likelihood that makes the truth like one more voter of the panel.

    Voters that share a view fix their consensus almost surely, and nothing in the votes says how far the truth is
    from it. The slope is that of the logistic regression of what the voters say on the log-likelihood; the offsets
    keep the mean of every class. None if there is no such line, or it would be surer than the model.

    ``total``: adds up a function of the items: of the log-likelihood of the classes, of what the voters of an item
    say in the mean (the share of their votes for each class, or of numbers the mean midrank), and of how many items
    each row stands for; ``means`` (n_classes,): means of the probabilities; ``start``: a line that is near.
    """
    begin = _even(_USUAL_SLOPE, len(means)) if start is None else _slope_and_offsets(start)
    line = _nearest(total, begin)
    return None if line is None or line.temper >= 1 else keeping_means(total, means, line)


def keeping_means(total: Total, means: NDArray[np.float64], line: Calibration) -> Calibration:
    """Return the line of the same slope whose probabilities have these means."""
    begin = _slope_and_offsets(line)
    found = soft_logistic(lambda at: total(partial(_from_means, at, means)), begin, keeps_slope=True)
    assert found is not None
    return Calibration.of_offsets(line.temper, found[1:])


def with_labels(
    line: Calibration, total: Total, n_items: float, known: NDArray[np.float64], labels: NDArray[np.int8]
) -> Calibration:
    """Return a line that known labels move: those of a few items, and the line without labels as five more.

    ``line``: the line without labels; ``total``: as for :func:`one_more_voter`; ``n_items``: how many items it adds
    up; ``known`` (n_known, n_classes) and ``labels`` (n_known,): log-likelihood and code of the items with a known
    label. Of more than two classes a line has more offsets, and is worth five items for each of them.
    """
    if not len(labels):
        return line
    n_classes = known.shape[1]
    ratios, right = bounded_ratios(known), np.eye(n_classes)[labels]
    each, one = _LINE_ITEMS * (n_classes - 1) / n_items, np.ones(len(labels))

    def sums_at(at: NDArray[np.float64]) -> Sums:
        of_line = total(partial(_from_line, at, line, each))
        of_labels = logistic_sums(at, ratios, right, one)
        return added(of_line, of_labels)

    moved = _line_if_sound(soft_logistic(sums_at, _slope_and_offsets(line)))
    return line if moved is None else moved


def bounded_ratios(evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-likelihoods less that of the first class, none further below the largest than says something."""
    bounded = np.maximum(evidence - evidence.max(axis=1, keepdims=True), -_LARGEST_RATIO)
    return bounded - bounded[:, :1]


def _nearest(total: Total, start: NDArray[np.float64]) -> Calibration | None:
    """Return the line that is nearest to what voters say."""
    items, ratios, squares = total(_moments)
    if not (np.sqrt(np.maximum(squares / items - (ratios / items) ** 2, 0.0)) > _ALIKE).any():
        return None
    return _line_if_sound(soft_logistic(lambda at: total(partial(_from_said, at)), start))


def _line_if_sound(found: NDArray[np.float64] | None) -> Calibration | None:
    if found is None or not 0 < found[0] <= _LARGEST_TEMPER:
        return None
    return Calibration.of_offsets(float(found[0]), found[1:])


def _even(slope: float, n_classes: int) -> NDArray[np.float64]:
    """Return slope and offsets of a line with an even prior."""
    return np.append(slope, np.zeros(n_classes))


def _slope_and_offsets(line: Calibration) -> NDArray[np.float64]:
    offsets = log_rates(line.class_prior)
    return np.append(line.temper, offsets - offsets[0])


# What is added up over rows: functions that engines may send to where the rows are.


def _moments(
    evidence: NDArray[np.float64], said: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    ratios = bounded_ratios(evidence)
    return float(counts.sum()), counts @ ratios, counts @ ratios**2


def _from_said(
    at: NDArray[np.float64], evidence: NDArray[np.float64], said: NDArray[np.float64], counts: NDArray[np.float64]
) -> Sums:
    return logistic_sums(at, bounded_ratios(evidence), said, counts)


def _from_means(
    at: NDArray[np.float64],
    means: NDArray[np.float64],
    evidence: NDArray[np.float64],
    said: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> Sums:
    return logistic_sums(at, evidence - evidence[:, :1], means[None], counts)


def _from_line(
    at: NDArray[np.float64],
    line: Calibration,
    each: float,
    evidence: NDArray[np.float64],
    said: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> Sums:
    ratios = bounded_ratios(evidence)
    return logistic_sums(at, ratios, normalised(line.temper * ratios + log_rates(line.class_prior)), each * counts)
