"""Why an item got its label: log-odds by group, and what one more vote would tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.calibration import Calibration
from goldless.fitting.fitted import Fitted, probabilities
from goldless.kernels.sparse import Codes, dense_codes
from goldless.maths.rates import log_rates
from goldless.maths.tree import TreeModel, merge_copies
from goldless.shown import Shown
from goldless.votes.rows import PatternTable
from goldless.votes.source import VoteSource, names_in

_CHUNK_ROWS = 4096
_MOST_HELD = 1 << 31  # bytes
_NOT_BY_ITEM = ("groups", "items", "voters")


@dataclass(frozen=True, eq=False)
class Explanation(Shown):
    """What made the labels of items. ``prior + by_group.sum(axis=1) + other`` is ``log_odds``.

    Log-odds are those of the positive class, or of more than two classes those of the most probable class (``label``)
    against the next (``runner_up``).

    Attributes
    ----------
    probability : ndarray of shape (n_items,)
        Pr(label | votes), as in ``predict_proba``; of two classes that of the positive one.
    log_odds : ndarray of shape (n_items,)
        Log-odds of that class against the other.
    prior : float or ndarray of shape (n_items,)
        Log-odds of the class balance that probabilities count with.
    by_group : ndarray of shape (n_items, n_groups)
        Log-odds that the votes of each group add. However many voters of a group say the same, they cannot add more
        than their common source is worth; a copy of a voter adds nothing.
    other : ndarray of shape (n_items,)
        What kinds of items and abstention add, where the model has them; otherwise zero.
    groups : tuple of ndarray
        Columns of the voters of each group.
    next_voter : ndarray of shape (n_items,)
        Column of the voter who has not voted on the item and would tell most; -1 if all have voted: then a new
        voter of average quality is meant.
    next_gain : ndarray of shape (n_items,)
        Bits that this vote is expected to tell about the label. The items with the largest need it most.
    label, runner_up : ndarray of shape (n_items,)
        Codes of the two classes that log-odds compare; of two classes always the positive and the negative one.
    items, voters : ndarray or None
        Names of the items (the index of a frame) and of the voters, if they have names.
    """

    probability: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    prior: float | NDArray[np.float64]
    by_group: NDArray[np.float64]
    other: NDArray[np.float64]
    groups: tuple[NDArray[np.int64], ...]
    next_voter: NDArray[np.int64]
    next_gain: NDArray[np.float64]
    label: NDArray[np.int64]
    runner_up: NDArray[np.int64]
    items: NDArray | None = None
    voters: NDArray | None = None

    @property
    def item_names(self) -> list[Any]:
        """Names of the items, or their rows from 0."""
        return list(range(len(self.probability))) if self.items is None else list(self.items)

    @property
    def voter_names(self) -> list[str]:
        """Names of the voters, or their columns."""
        if self.voters is not None:
            return [str(name) for name in self.voters]
        return [f"voter {column}" for column in range(sum(map(len, self.groups)))]

    def to_frame(self) -> Any:
        """Return it as a pandas frame with the items as its index and the user's names for its columns.

        Examples
        --------
        >>> import goldless as gl
        >>> X, _ = gl.simulate_votes(500, groups=[3, 1, 1, 1], random_state=0)
        >>> list(gl.LatentSML(structure=[0, 0, 0, 1, 2, 3]).fit(X).explain(X).to_frame().columns)[:3]
        ['probability', 'log_odds', 'prior_log_odds']
        """
        import pandas as pd

        names = self.voter_names
        sources = [", ".join(names[voter] for voter in members) for members in self.groups]
        frame = pd.DataFrame(self.by_group, columns=[f"from {name}" for name in sources], index=self.item_names)
        frame.insert(0, "probability", self.probability)
        frame.insert(1, "log_odds", self.log_odds)
        frame.insert(2, "prior_log_odds", self.prior)
        frame["next_voter"] = [names[voter] if voter >= 0 else None for voter in self.next_voter]
        frame["expected_gain_bits"] = self.next_gain
        return frame

    def neediest(self, n: int = 20) -> NDArray[np.int64]:
        """Return the rows of the n items that most need one more vote, neediest first."""
        return np.argsort(-self.next_gain.round(9), kind="stable")[:n]


def explain_patterns(
    model: TreeModel, codes: NDArray[np.int8], evidence: NDArray[np.float64], calibration: Calibration | None = None
) -> Explanation:
    """Explain rows of codes.

    ``model``: the model whose states are the classes; ``codes`` (n_rows, n_voters); ``evidence`` (n_rows, n_classes):
    log-likelihood of the classes that decides, which may hold more than the model says; ``calibration``: factor on
    the log-likelihood, and class balance to count with, if not those of the model.
    """
    n_rows = len(codes)
    temper = 1.0 if calibration is None else calibration.temper
    prior = log_rates(model.class_prior if calibration is None else calibration.class_prior)
    joint = temper * evidence + prior
    posterior = probabilities(joint)
    if model.n_classes == 2:
        label, runner_up = np.ones(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    else:
        order = np.argsort(-joint, axis=1, kind="stable")
        label, runner_up = order[:, 0], order[:, 1]
    rows = np.arange(n_rows)
    by_group = np.empty((n_rows, model.n_groups))
    next_voter, next_gain = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    originals = model.copy_of == np.arange(model.n_voters)
    for start in range(0, n_rows, _CHUNK_ROWS):
        part = slice(start, start + _CHUNK_ROWS)
        merged = np.where(originals, dense_codes(merge_copies(codes[part], model.copy_of)), -1)
        given_label, latent = model.group_messages(merged)
        here = np.arange(len(merged))
        by_group[part] = temper * (given_label[here, :, label[part]] - given_label[here, :, runner_up[part]])
        next_voter[part], next_gain[part] = _next_vote(model, merged, latent, posterior[part], originals)
    log_odds = joint[rows, label] - joint[rows, runner_up]
    of_prior = prior[label] - prior[runner_up]
    return Explanation(
        probability=posterior[rows, label],
        log_odds=log_odds,
        prior=float(prior[1] - prior[0]) if model.n_classes == 2 else of_prior,
        by_group=by_group,
        other=log_odds - of_prior - by_group.sum(axis=1),
        groups=tuple(np.flatnonzero(model.groups == group) for group in range(model.n_groups)),
        next_voter=next_voter,
        next_gain=next_gain,
        label=label,
        runner_up=runner_up,
    )


def _next_vote(
    model: TreeModel,
    codes: NDArray[np.int8],
    latent: NDArray[np.float64],
    posterior: NDArray[np.float64],
    originals: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the missing voter that would tell most of each row, and how many bits; -1 for a new voter."""
    gain = np.full(codes.shape, -1.0)
    for voter in np.flatnonzero(originals):
        absent = np.flatnonzero(codes[:, voter] < 0)
        if len(absent):
            own = latent[absent, model.groups[voter]]  # Pr(alpha of the voter's group | Y, votes)
            says = np.einsum("rac,av->rcv", own, model.votes[voter, : own.shape[1]])
            gain[absent, voter] = _information(says, posterior[absent])
    best = np.argmax(gain, axis=1)
    most = gain[np.arange(len(gain)), best]
    average = model.confusion[originals].mean(axis=0)
    fresh = _information(average[None], posterior)
    return np.where(most >= 0, best, -1), np.where(most >= 0, most, fresh).clip(0.0)


def _information(says: NDArray[np.float64], posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected fall of the label's entropy, in bits, from a vote.

    ``says`` (n_rows or 1, n_classes, n_symbols): Pr(vote | Y); ``posterior`` (n_rows, n_classes): Pr(Y) before the
    vote.
    """
    joint = posterior[:, :, None] * says
    of_vote = joint.sum(axis=1)
    after = joint / np.maximum(of_vote, 1e-300)[:, None, :]
    return _entropy(posterior) - (of_vote * _entropy(after.transpose(0, 2, 1))).sum(axis=1)


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = shares.clip(1e-15, 1.0)
    return -(clipped * np.log2(clipped)).sum(axis=-1)


def explain_codes(fitted: Fitted, codes: Codes) -> Explanation:
    """Explain rows of codes by what a fit learnt."""
    table = PatternTable.of(dense_codes(codes), fitted.n_symbols)
    why = explain_patterns(fitted.model, table.codes, fitted.log_likelihood(table.codes), fitted.printed)
    return spread_rows(why, table.inverse)


def explain_source(fitted: Fitted, source: VoteSource) -> Explanation:
    """Explain all items of a source, in one pass over it."""
    parts, names, held = list[Explanation](), list[Any](), 0
    for why, beside in source.rows(partial(_explain_rows, fitted)):
        parts.append(why)
        names.extend(() if beside.items is None else names_in(beside.items))
        held += why.by_group.nbytes
        if held > _MOST_HELD:
            raise ValueError(
                f"explain holds a number for each of {why.by_group.shape[1]:,} groups and every item, and there are "
                "too many items for that: explain those in question, as next_to_label or an audit names them."
            )
    whole = _by_item(parts[0], lambda name: np.concatenate([getattr(part, name) for part in parts]))
    return replace(whole, items=np.array(names, dtype=object) if names else None)


def _explain_rows(fitted: Fitted, rows: Any) -> Explanation:
    return explain_codes(fitted, rows.codes)


def spread_rows(explanation: Explanation, inverse: NDArray[np.int64]) -> Explanation:
    """Return the explanation of every item from that of the distinct patterns."""
    return _by_item(explanation, lambda name: getattr(explanation, name)[inverse])


def _by_item(explanation: Explanation, make: Callable[[str], NDArray]) -> Explanation:
    """Return an explanation with other values of what it says of each item."""
    by_item = [name for name, value in vars(explanation).items() if name not in _NOT_BY_ITEM and np.ndim(value) > 0]
    made: dict[str, Any] = {name: make(name) for name in by_item}
    return replace(explanation, **made)
