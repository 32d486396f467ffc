"""Rows that nobody called: items that are in the votes only if enough voters say "positive".

A caller file lists the sites that at least c callers call, and no others. Let P(x) be the model and T the patterns
with fewer than c calls. The likelihood of what is listed is conditional, ``sum log P(x_i) - n log(1 - P(T))``. EM
finds its largest value (Dempster, Laird and Rubin 1977) if every pattern of T counts as ``n P(x) / (1 - P(T))``
items; for c = 1 that is one row without a call. Where votes are missing, it has the voters of the rows seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.sparse import SparseCodes, tally
from goldless.kernels.sparse_tree import SparseLayout
from goldless.maths.em import ExpectedCounts
from goldless.maths.tree import TreeModel
from goldless.votes.grouped import GroupedCodes, are_few, expected_of_lists
from goldless.votes.rows import PatternTable, Rows
from goldless.votes.sparse import SparseRows
from goldless.votes.votes import Votes

_MOST_ROWS = 200_000
_LEAST_SEEN = 1e-12  # smallest probability of being seen: below, the votes say nothing about the rest


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """The patterns with too few calls to be seen."""

    codes: SparseCodes  # the patterns, of the fitted voters
    kind: NDArray[np.int64]  # (n_patterns,): which set of voters each is of
    share: NDArray[np.float64]  # (n_kinds,): share of the items seen that have a vote of just these voters
    n_known: float | None = None  # how many such items there are, if that is known

    @classmethod
    def of(
        cls, table: PatternTable | SparseRows, at_least: int, copies: NDArray[np.int64], n_known: float | None = None
    ) -> UnseenRows:
        """Return the patterns that fewer than ``at_least`` voters call.

        ``table``: votes of the fitted voters on the items seen; 1 is a call and 0 is none; ``at_least``: how many
        calls a row needs to be seen; ``copies`` (n_fitted,): for how many voters, its exact copies among them, a
        fitted voter speaks; ``n_known``: how many items are unseen, if that is known.
        """
        counts = table.counts.astype(np.float64)
        if isinstance(table, SparseRows):
            if at_least > 1:
                raise ValueError("at_least is at most 1 for a crowd, where every item has voters of its own.")
            codes = replace(table.codes, symbols=np.zeros_like(table.codes.symbols))
            return cls(codes, np.arange(len(codes)), counts / counts.sum(), n_known)
        sets = PatternTable.of((table.codes >= 0).astype(np.int8), 2, table.counts)
        rows, kind = [], []
        for number, voted in enumerate(sets.codes == 1):
            for called in _too_few(np.flatnonzero(voted), at_least, copies):
                row = np.where(voted, 0, -1).astype(np.int8)
                row[called] = 1
                rows.append(row)
                kind.append(number)
            if len(rows) > _MOST_ROWS:
                raise ValueError(
                    f"at_least={at_least} leaves more than {_MOST_ROWS:,} patterns unseen: too many to count."
                )
        unseen = SparseCodes.of(np.array(rows, dtype=np.int8).reshape(len(rows), table.n_voters))
        return cls(unseen, np.array(kind, dtype=np.int64), sets.counts / sets.counts.sum(), n_known)

    @cached_property
    def _few(self) -> Rows | None:
        """The patterns as a matrix, if they are so few that nothing need be compiled for them."""
        return Rows.of(self.codes.dense(), 2) if are_few(*self.codes.shape, 2) else None

    @cached_property
    def _layout(self) -> SparseLayout:
        return SparseLayout.of(self.codes, 2, np.ones(len(self.codes)))

    def items(self, model: TreeModel, n_seen: float) -> tuple[NDArray[np.float64], float]:
        """Return the expected items of every pattern, and what the log-likelihood of those seen gains.

        ``n_seen``: how many items are seen.
        """
        few = self._few
        return self._items(model.log_likelihood(self.codes if few is None else few.codes), n_seen)

    def _items(self, log_likelihood: NDArray[np.float64], n_seen: float) -> tuple[NDArray[np.float64], float]:
        """Return the same from the log-likelihood of every pattern."""
        probability = np.exp(log_likelihood)
        hidden = np.bincount(self.kind, probability, minlength=len(self.share))
        if self.n_known is not None:
            total = float(self.share @ hidden)
            weight = self.n_known * (self.share[self.kind] * probability) / max(total, 1e-300)
            return weight, self.n_known * np.log(max(total, 1e-300))
        seen = np.maximum(1 - hidden, _LEAST_SEEN)
        weight = n_seen * (self.share / seen)[self.kind] * probability
        return weight, float(-n_seen * (self.share * np.log(seen)).sum())

    def added_to(self, counts: ExpectedCounts, model: TreeModel) -> ExpectedCounts:
        """Return the expected counts of the items seen with those of the items unseen (E-step)."""
        n_seen = float(counts.labels.sum())
        if self._few is None:
            weight, gain = self.items(model, n_seen)
            more = expected_of_lists(model.sparse_tree().expect(replace(self._layout, counts=weight)), model)
        else:
            rows = GroupedCodes(self._few, model.groups)
            weight, gain = self._items(rows.log_likelihoods(model), n_seen)
            more = rows.expect(model, weight)
        return counts + replace(more, log_likelihood=gain)

    def rows(self, model: TreeModel, n_seen: float) -> PatternTable:
        """Return the patterns with their expected items, rounded."""
        weight = self.items(model, n_seen)[0].round().astype(np.int64)
        return PatternTable.of(self.codes.dense(), 2, weight)


def count_listed(votes: Votes, weights: NDArray[np.int64] | None, at_least: int | None) -> NDArray[np.int64] | None:
    """Return how many items each row stands for: none if it has too few calls to be listed, by the votes' own rule.

    Such rows come with candidates that callers saw and did not trust. They are labelled like others; in the fit they
    would make ordinary positions of candidates. ``at_least`` is what the user says: 0 takes rows as they are.
    """
    if votes.at_least is None or at_least == 0 or votes.n_classes != 2:
        return weights
    listed = tally(votes.codes, 2)[:, 1] >= votes.at_least
    return weights if listed.all() else listed * (1 if weights is None else weights)


def _too_few(voters: NDArray[np.int64], at_least: int, copies: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the sets of voters, the empty one first, that are fewer than so many with their copies."""
    for size in range(min(at_least, len(voters) + 1)):
        for called in combinations(voters.tolist(), size):
            chosen = np.array(called, dtype=np.int64)
            if copies[chosen].sum() < at_least:
                yield chosen
