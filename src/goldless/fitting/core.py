"""The votes of a fit, reduced to what carries information, and what is odd about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.errors import warn_user
from goldless.fitting.fitted import Fitted
from goldless.fitting.numbers import RankedVotes
from goldless.kernels.sparse import dense_codes
from goldless.maths.checks import relabel
from goldless.maths.covariance import CovarianceEstimate, covariance_of_values
from goldless.maths.ordered import midranks_of
from goldless.maths.structure.prices import items_to_share
from goldless.maths.tree import TreeModel
from goldless.maths.tree_makers import embed
from goldless.votes.counted import CountedVotes
from goldless.votes.order import FEW_CELLS, own_order
from goldless.votes.pairs import PairTables
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable
from goldless.votes.sparse import MOST_COMPARED, SparsePairs, SparseRows
from goldless.votes.votes import Votes, voter_name
from goldless.words import listed

PARTNERS = 2  # a voter is compared if it shares enough items with so many others
_EXACT = 2**53  # whole numbers below this are exact as floats


@dataclass(frozen=True, eq=False)
class FitVotes:
    """The votes of a fit, reduced to what carries information."""

    counted: CountedVotes  # everything that was counted, of all voters
    # (n_voters,): fitted voter that speaks for each voter, or -1 for a voter that says nothing
    core_voter: NDArray[np.int64]
    sums: VoteSums  # the votes of the fitted voters, on the items they voted on
    # expected rows of the fitted voters that too few of them call to be seen, as the covariance counts them
    unseen: PatternTable | None = None

    @property
    def votes(self) -> Votes:
        """Classes and names, and the codes if they are in memory."""
        return self.counted.votes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.votes.n_classes

    @property
    def n_items(self) -> int:
        """Number of items that the fitted voters voted on."""
        return self.sums.n_items

    @property
    def table(self) -> PatternTable | SparseRows:
        """Patterns of the fitted voters: of all items, or of a sample."""
        return self.sums.table

    @property
    def voters(self) -> NDArray[np.int64]:
        """Column of X behind each fitted voter."""
        core, first = np.unique(self.core_voter, return_index=True)
        return first[core >= 0]

    @property
    def cast(self) -> NDArray[np.int64]:
        """Votes of each fitted voter for each class, shape (n_classes, n_fitted)."""
        return self.counted.sketch.pairs.cast[:, self.voters]

    @cached_property
    def compared(self) -> NDArray[np.int64]:
        """The fitted voters that are compared two by two: all, or of a crowd those that share enough items."""
        pairs, voters = self.counted.sketch.pairs, self.voters
        if not isinstance(pairs, SparsePairs) or len(voters) <= MOST_COMPARED:
            return np.arange(len(voters))
        able = pairs.sharing(voters, items_to_share(self.n_items, len(voters)), PARTNERS, MOST_COMPARED)
        return np.searchsorted(voters, able)

    @cached_property
    def covariance(self) -> CovarianceEstimate:
        """Covariance of the fitted voters that are compared."""
        pairs = self.counted.sketch.pairs.voters(self.voters[self.compared])
        if self.unseen is not None:
            pairs = pairs + self.unseen.pairs.voters(self.compared)
        return self._covariance_of(pairs, self.voters[self.compared])

    @property
    def shown(self) -> NDArray[np.int64] | None:
        """Columns of X that a covariance is kept of; None for all."""
        crowd = isinstance(self.counted.sketch.pairs, SparsePairs) and self.votes.n_voters > MOST_COMPARED
        return self.voters[self.compared] if crowd else None

    @property
    def shown_covariance(self) -> NDArray[np.float64]:
        """Covariance of these voters."""
        if self.shown is not None:
            return self.covariance.covariance
        if self.unseen is None and len(self.voters) == self.votes.n_voters:
            return self.covariance.covariance[np.ix_(self.core_voter, self.core_voter)]
        return self._covariance_of(self.counted.sketch.pairs, np.arange(self.votes.n_voters)).covariance

    def _covariance_of(self, pairs: PairTables, voters: NDArray[np.int64]) -> CovarianceEstimate:
        """Return the covariance of some voters: of their labels, or of the midranks of their numbers."""
        if self.votes.bins is None:
            return pairs.covariance()
        return covariance_of_values(pairs.tables, midranks_of(self.symbol_share[voters]))

    @cached_property
    def ranked(self) -> RankedVotes | None:
        """What the numbers of the fitted voters stand for; None if votes are labels."""
        if self.votes.bins is None:
            return None
        return RankedVotes(self.votes.bins.subset(self.voters), self.symbol_share[self.voters])

    @property
    def tie_order(self) -> NDArray[np.int64]:
        """The classes in the order of how often the fitted voters vote for them; of several, the first one first."""
        if self.votes.bins is not None:
            return np.arange(self.n_classes)
        return np.argsort(-self.cast.sum(axis=1), kind="stable")

    @property
    def seldom(self) -> NDArray[np.bool_] | None:
        """Which of more than two classes at most half of the fitted voters ever say; None if there are none."""
        if self.votes.bins is not None or self.n_classes == 2:
            return None
        found = 2 * (self.cast > 0).sum(axis=1) <= self.cast.shape[1]
        return found if found.any() else None

    @property
    def one_sided(self) -> bool:
        """Whether more than half of the votes come from voters that only ever say one class."""
        if self.votes.bins is not None:
            return False
        of_voters = self.cast.sum(axis=0)
        return bool(2 * of_voters[(self.cast > 0).sum(axis=0) == 1].sum() > of_voters.sum())

    @property
    def symbol_share(self) -> NDArray[np.float64]:
        """Share of the votes of every voter for each class, even if it has none, shape (n_voters, n_classes)."""
        cast = self.counted.sketch.pairs.cast
        total = cast.sum(axis=0)
        return np.where(total > 0, cast / np.maximum(total, 1), 1 / len(cast)).T

    def embed(self, core: TreeModel) -> TreeModel:
        """Return the model of all voters."""
        return embed(core, self.core_voter, self.symbol_share)

    def fitted(self, core: TreeModel, **more: Any) -> Fitted:
        """Return the fit of all voters from the model of the fitted ones."""
        return Fitted(
            classes=self.votes.classes,
            voters=self.votes.voters,
            model=self.embed(core),
            tie_order=self.tie_order,
            seldom=self.seldom,
            how_counted=self.counted.how,
            informative=self.core_voter >= 0,
            bins=self.votes.bins,
            symbol_share=None if self.votes.bins is None else self.symbol_share,
            **more,
        )

    def spread_groups(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the groups of all voters; a copy is in the group of its original, a silent voter alone."""
        n_voters = len(self.core_voter)
        return relabel(np.where(self.core_voter >= 0, groups[self.core_voter], n_voters + np.arange(n_voters)))

    def spread(self, per_core_voter: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each voter from values of the fitted ones; 0 for a voter that says nothing."""
        return np.where(self.core_voter >= 0, per_core_voter[self.core_voter], 0.0)

    def spread_matrix(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of the voters shown from that of the fitted; copies score highest, a silent voter 0."""
        if self.shown is not None:
            return score
        known = self.core_voter >= 0
        spread = np.where(known[:, None] & known[None, :], score[np.ix_(self.core_voter, self.core_voter)], 0.0)
        copies = (self.core_voter[:, None] == self.core_voter[None, :]) & known[:, None]
        spread[copies] = score.max(initial=0.0)
        np.fill_diagonal(spread, 0.0)
        return spread


def reduce_votes(counted: CountedVotes, name: str, least: int, merges_copies: bool) -> FitVotes:
    """Leave out what carries no information, and say what is odd.

    ``name`` and ``least`` are the estimator and the number of voters that it needs.
    """
    n_voters = counted.votes.n_voters
    pairs = counted.sketch.pairs
    cast = pairs.cast
    n_votes = cast.sum(axis=0)
    # a voter that says one thing on all items tells nothing; one that says it on some, and abstains on
    # others, is a one-sided rule and may tell a lot
    one_sided = (cast > 0).sum(axis=0) <= 1
    informative = (n_votes > 0) & ~(one_sided & (n_votes == counted.sketch.n_voted_items))
    copy_of = pairs.first_copies()
    _warn_about(counted, informative, copy_of, merges_copies)
    fitted = informative & (copy_of == np.arange(n_voters)) if merges_copies else informative
    if not fitted.any():
        raise ValueError(
            f"{name} has nothing to tell items apart by: none of {n_voters} voters uses {_classes(counted.votes)} "
            f"(n_samples = {counted.sketch.n_rows})."
        )
    if fitted.sum() < least:
        raise ValueError(
            f"{name} needs {least} different voters that use {_classes(counted.votes)}, but there are only "
            f"{int(fitted.sum())} among {n_voters} (n_samples = {counted.sketch.n_rows}); use MajorityVote."
        )
    order = _in_own_order(counted, np.flatnonzero(fitted))
    number = np.zeros(n_voters, dtype=np.int64)
    number[order] = np.arange(len(order))
    core_voter = np.where(informative, number[copy_of] if merges_copies else number, -1)
    return FitVotes(counted, core_voter, counted.sums(order))


def _in_own_order(counted: CountedVotes, voters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return voters in an order that the votes decide; if votes are too many to be tied, as they come."""
    table = counted.sketch.table
    if counted.sketch.is_sample or table.n_rows * table.n_voters > FEW_CELLS:
        return voters
    return voters[own_order(dense_codes(table.codes)[:, voters], table.counts)]


def _classes(votes: Votes) -> str:
    if votes.bins is not None:
        return "several numbers"
    return "both classes" if votes.n_classes == 2 else "several classes"


def as_counts(sample_weight: ArrayLike | None, n_items: int) -> NDArray[np.int64] | None:
    """Check that weights count items."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.ndim != 1 or len(weights) != n_items:
        raise ValueError(f"sample_weight must be one count for each of {n_items} rows, got shape {weights.shape}.")
    if not np.issubdtype(weights.dtype, np.number) or not np.isfinite(weights).all():
        raise ValueError("sample_weight must be finite numbers.")
    bad = np.flatnonzero((weights != np.floor(weights)) | (weights < 0))
    if len(bad):
        raise ValueError(
            f"sample_weight counts how many items a row stands for, so it must be a whole number, not "
            f"{weights[bad[0]]} (row {bad[0]})."
        )
    total = float(weights.sum(dtype=float))
    if total == 0:
        raise ValueError("sample_weight is zero everywhere: there are no items.")
    if total >= _EXACT:
        raise ValueError(f"sample_weight adds up to {total:g} items; fewer than 2**53 can be counted exactly.")
    return weights.astype(np.int64)


def _warn_about(counted: CountedVotes, informative: NDArray, copy_of: NDArray, merges_copies: bool) -> None:
    """Say what is odd about the votes, each in one sentence with what was done about it."""
    votes, sketch = counted.votes, counted.sketch
    cast = sketch.pairs.cast
    n_votes = cast.sum(axis=0)

    def named(voters: NDArray[np.integer]) -> str:
        return listed((voter_name(votes.voters, voter) for voter in voters), 5)

    silent = np.flatnonzero(n_votes == 0)
    if len(silent):
        warn_user(f"No votes at all from {named(silent)}: ignored (accuracy set to 0.5).")
    constant = np.flatnonzero(~informative & (n_votes > 0))
    if len(constant):
        warn_user(f"Always the same vote from {named(constant)}: ignored (accuracy set to 0.5).")
    unused = np.flatnonzero(cast.sum(axis=1) == 0)
    if len(unused) and votes.bins is None:
        named_classes = ", ".join(repr(label) for label in votes.classes[unused].tolist())
        warn_user(f"Nobody votes for {named_classes}: without known labels of it no item is labelled so.")
    copies = np.flatnonzero(copy_of != np.arange(votes.n_voters))
    if len(copies):
        pairs = listed(
            (f"{votes.voter_name(copy)} of {votes.voter_name(copy_of[copy])}" for copy in copies.tolist()), 5, str
        )
        effect = "a voter and its copies count as one" if merges_copies else "each still counts as a voter of its own"
        warn_user(f"Exact copies among the voters: {pairs}; {effect}.")
    if sketch.n_empty:
        warn_user(
            f"{sketch.n_empty} item(s) without any vote, the first in row {sketch.first_empty}: ignored by the fit, "
            "and labelled by a guess."
        )
    if votes.n_voters >= 20 and votes.n_voters > 2 * sketch.n_items:
        warn_user(
            f"{votes.n_voters} columns but only {sketch.n_items} rows: rows are items and columns are voters; if "
            "yours is the other way round, pass the transpose."
        )
