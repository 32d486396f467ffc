"""Why an item got its label: log-odds by group, and what one more vote would tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.maths.tree import LatentModel, log_odds, merge_copies, probability

_CHUNK_ROWS = 4096
_CLIP = 1e-12


@dataclass(frozen=True, eq=False)
class Explanation:
    """What made the labels of items. ``prior + by_group.sum(axis=1) + other`` is ``log_odds``.

    Attributes
    ----------
    probability : ndarray of shape (n_items,)
        Pr(positive | votes), as in ``predict_proba``.
    log_odds : ndarray of shape (n_items,)
        Its log-odds.
    prior : float
        Log-odds of the class balance that probabilities count with.
    by_group : ndarray of shape (n_items, n_groups)
        Log-odds that the votes of each group add. However many voters of a group say the same, they cannot add more
        than their common source is worth; a copy of a voter adds nothing.
    other : ndarray of shape (n_items,)
        What item subtypes and abstention add, where the model has them; otherwise zero.
    groups : tuple of ndarray
        Columns of the voters of each group.
    next_voter : ndarray of shape (n_items,)
        Column of the voter who has not voted on the item and would tell most; -1 if all have voted: then a new
        voter of average quality is meant.
    next_gain : ndarray of shape (n_items,)
        Bits that this vote is expected to tell about the label. The items with the largest need it most.
    """

    probability: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    prior: float
    by_group: NDArray[np.float64]
    other: NDArray[np.float64]
    groups: tuple[NDArray[np.int64], ...]
    next_voter: NDArray[np.int64]
    next_gain: NDArray[np.float64]

    def neediest(self, n: int = 20) -> NDArray[np.int64]:
        """Return the rows of the n items that most need one more vote, neediest first."""
        return np.argsort(-self.next_gain.round(9), kind="stable")[:n]


def explain_patterns(
    model: LatentModel,
    codes: NDArray[np.int8],
    ratio: NDArray[np.float64],
    calibration: tuple[float, float] | None = None,
) -> Explanation:
    """Explain rows of codes.

    Parameters
    ----------
    model : LatentModel
        The model with two classes.
    codes : ndarray of shape (n_rows, n_voters)
    ratio : ndarray of shape (n_rows,)
        Log-likelihood ratio that decides, which may hold more than the model of two classes says.
    calibration : (temper, class_balance), optional
        Factor on the log-likelihood ratio, and class balance to count with, if not those of the model.
    """
    temper, prior = 1.0, model.log_prior_odds
    if calibration is not None:
        temper, prior = float(calibration[0]), float(log_odds(np.array(calibration[1])))
    n_rows, ratio = len(codes), temper * ratio
    by_group = np.empty((n_rows, model.n_groups))
    next_voter, next_gain = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    positive = probability(ratio + prior)
    originals = model.copy_of == np.arange(model.n_voters)
    for start in range(0, n_rows, _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        merged = np.where(originals, merge_copies(codes[rows], model.copy_of), -1)
        given_label, of_source = _group_messages(model, merged)
        by_group[rows] = temper * (given_label[1] - given_label[0])
        next_voter[rows], next_gain[rows] = _next_vote(model, merged, of_source, positive[rows], originals)
    return Explanation(
        probability=positive,
        log_odds=ratio + prior,
        prior=prior,
        by_group=by_group,
        other=ratio - by_group.sum(axis=1),
        groups=tuple(np.flatnonzero(model.groups == group) for group in range(model.n_groups)),
        next_voter=next_voter,
        next_gain=next_gain,
    )


def _group_messages(model: LatentModel, codes: NDArray[np.int8]) -> tuple[NDArray, NDArray]:
    """Return log Pr(votes of k | Y) and Pr(alpha_k positive | Y, votes of k), shape (2, n_rows, n_groups) each."""
    member = (model.groups[:, None] == np.arange(model.n_groups)).astype(np.float64)
    rates = _vote_rates(model)
    by_source = np.stack(
        [(codes == 1) @ (np.log(rate)[:, None] * member) + (codes == 0) @ (np.log1p(-rate)[:, None] * member)
         for rate in rates]
    )  # fmt: skip
    with np.errstate(divide="ignore"):
        source = np.log(model.group_rates)  # (group, alpha, Y)
    joint = by_source[None] + source.transpose(2, 1, 0)[:, :, None, :]  # (Y, alpha, row, group)
    given_label = np.logaddexp(joint[:, 0], joint[:, 1])
    return given_label, np.exp(joint[:, 1] - given_label)


def _next_vote(
    model: LatentModel, codes: NDArray, of_source: NDArray, positive: NDArray, originals: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the missing voter that would tell most of each row, and how many bits; -1 for a new voter."""
    low, high = _vote_rates(model)
    own_source = of_source[:, :, model.groups]  # Pr(alpha of the voter's group | Y, votes)
    says_positive = own_source * high + (1 - own_source) * low
    gain = np.where((codes < 0) & originals, _information(says_positive, positive[:, None]), -1.0)
    voter = np.argmax(gain, axis=1)
    best = gain[np.arange(len(gain)), voter]
    average = np.array([1 - model.specificity[originals].mean(), model.sensitivity[originals].mean()])
    fresh = _information(average[:, None], positive)
    return np.where(best >= 0, voter, -1), np.where(best >= 0, best, fresh).clip(0.0)


def _information(says_positive: NDArray, positive: NDArray) -> NDArray[np.float64]:
    """Return the expected fall of the label's entropy, in bits, from a vote.

    Parameters
    ----------
    says_positive : ndarray of shape (2, ...)
        Pr(vote positive | Y) for Y negative and positive.
    positive : ndarray
        Pr(Y positive) before the vote.
    """
    left = np.zeros(np.broadcast_shapes(says_positive.shape[1:], positive.shape))
    for negative_side, positive_side in (says_positive, 1 - says_positive):
        from_negative, from_positive = (1 - positive) * negative_side, positive * positive_side
        total = from_negative + from_positive
        left += total * _entropy(from_positive / np.maximum(total, 1e-300))
    return _entropy(positive) - left


def _entropy(share: NDArray) -> NDArray[np.float64]:
    share = share.clip(1e-15, 1 - 1e-15)
    return -(share * np.log2(share) + (1 - share) * np.log2(1 - share))


def _vote_rates(model: LatentModel) -> NDArray[np.float64]:
    """Return Pr(vote positive | alpha), shape (2, n_voters)."""
    return np.stack([1 - model.specificity_given_group, model.sensitivity_given_group]).clip(_CLIP, 1 - _CLIP)


def spread_rows(explanation: Explanation, inverse: NDArray[np.int64]) -> Explanation:
    """Return the explanation of every item from that of the distinct patterns."""
    fields: dict[str, Any] = vars(explanation)
    whole = {"prior", "groups"}
    return Explanation(**{name: value if name in whole else value[inverse] for name, value in fields.items()})
