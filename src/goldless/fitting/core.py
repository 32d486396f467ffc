"""The votes of a fit, reduced to what carries information, and what is odd about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.errors import warn_user
from goldless.maths.checks import relabel
from goldless.maths.tree import LatentModel, embed
from goldless.votes.counted import CountedVotes
from goldless.votes.pairs import PairCounts
from goldless.votes.patterns import PatternTable
from goldless.votes.rows import Block
from goldless.votes.votes import Votes, voter_name
from goldless.votes.whole import WholeVotes

_EXACT = 2**53  # whole numbers below this are exact as floats


@dataclass(frozen=True)
class FitVotes:
    """The votes of a fit, reduced to what carries information.

    Attributes
    ----------
    table : PatternTable
        Patterns of the voters that are fitted, on the items they voted on.
    core_voter : ndarray of shape (n_voters,)
        Column of ``table`` that speaks for each voter, or -1 for a voter that says nothing.
    positive_share : ndarray of shape (n_voters,)
        Share of positive votes of each voter (1/2 if it has none).
    all_counts : PairCounts
        Pair counts of all voters.
    votes : Votes
        Everything that was read.
    weights : ndarray of shape (n_items,) or None
        How many items each row stands for.
    counts : PairCounts
        Pair counts of the voters that are fitted, over all items.
    n_items : int
        Number of items that they voted on.
    all_table : PatternTable
        Patterns of all voters.
    whole : WholeVotes or None
        All votes, if the tables are only a sample of their patterns.
    known : Block
        Votes of all voters on the rows that were asked for: those with a known label.
    """

    table: PatternTable
    core_voter: NDArray[np.int64]
    positive_share: NDArray[np.float64]
    all_counts: PairCounts
    votes: Votes
    weights: NDArray[np.int64] | None
    counts: PairCounts
    n_items: int
    all_table: PatternTable
    whole: WholeVotes | None
    known: Block

    @property
    def voters(self) -> NDArray[np.int64]:
        """Column of X behind each column of the table."""
        core, first = np.unique(self.core_voter, return_index=True)
        return first[core >= 0]

    @property
    def positive_is_commoner(self) -> bool:
        """Whether the voters that are fitted cast more positive votes than negative ones."""
        return bool(2 * self.counts.positive_votes.sum() > self.counts.votes_cast.sum())

    def embed(self, core: LatentModel) -> LatentModel:
        """Return the model of all voters."""
        return embed(core, self.core_voter, self.positive_share)

    def spread_groups(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the groups of all voters; a copy is in the group of its original, a silent voter alone."""
        n_voters = len(self.core_voter)
        return relabel(np.where(self.core_voter >= 0, groups[self.core_voter], n_voters + np.arange(n_voters)))

    def spread(self, per_core_voter: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each voter from values of the fitted ones; 0 for a voter that says nothing."""
        return np.where(self.core_voter >= 0, per_core_voter[self.core_voter], 0.0)

    def spread_matrix(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of all voters from that of the fitted ones; copies score highest, a silent voter 0."""
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
    counts = counted.counts
    cast, positive = counts.votes_cast, counts.positive_votes
    # a voter that says one thing on all items tells nothing; one that says it on some, and abstains on
    # others, is a one-sided rule and may tell a lot
    one_sided = (positive == 0) | (positive == cast)
    informative = (cast > 0) & ~(one_sided & (cast == counted.n_voted_items))
    copy_of = counts.first_copies()
    _warn_about(counted, informative, copy_of, merges_copies)
    fitted = informative & (copy_of == np.arange(n_voters)) if merges_copies else informative
    if fitted.sum() < least:
        raise ValueError(
            f"{name} needs {least} different voter(s) that use both classes, but there are only "
            f"{int(fitted.sum())} among {n_voters} (n_samples = {counted.n_rows})"
            + ("; use MajorityVote." if least > 1 else ".")
        )
    number = np.cumsum(fitted) - 1
    core_voter = np.where(informative, number[copy_of] if merges_copies else number, -1)
    share = np.where(cast > 0, positive / np.maximum(cast, 1), 0.5)
    chosen = np.flatnonzero(fitted)
    core, whole = counted.table.informative(chosen), counted.whole(chosen)
    n_items = core.n_items if whole is None else whole.n_items
    return FitVotes(
        core,
        core_voter,
        share,
        counts,
        counted.votes,
        counted.weights,
        counts.voters(chosen),
        n_items,
        counted.table,
        whole,
        counted.picked,
    )


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
    votes, cast = counted.votes, counted.counts.votes_cast

    def named(voters: NDArray[np.integer]) -> str:
        shown = ", ".join(voter_name(votes.voters, voter) for voter in voters[:5])
        return shown + (f" and {len(voters) - 5} more" if len(voters) > 5 else "")

    silent = np.flatnonzero(cast == 0)
    if len(silent):
        warn_user(f"No votes at all from {named(silent)}: kept with accuracy 0.5, without influence.")
    constant = np.flatnonzero(~informative & (cast > 0))
    if len(constant):
        warn_user(f"Always the same vote from {named(constant)}: kept with accuracy 0.5, without influence.")
    copies = np.flatnonzero(copy_of != np.arange(votes.n_voters))
    if len(copies):
        pairs = ", ".join(f"{votes.voter_name(copy)} of {votes.voter_name(copy_of[copy])}" for copy in copies[:5])
        more = f" and {len(copies) - 5} more" if len(copies) > 5 else ""
        effect = "a voter and its copies count as one" if merges_copies else "each still counts as a voter of its own"
        warn_user(f"Exact copies among the voters: {pairs}{more}; {effect}.")
    if counted.n_empty:
        warn_user(
            f"{counted.n_empty} item(s) without any vote, the first in row {counted.first_empty}: without influence, "
            "and labelled by a guess."
        )
    if votes.n_voters >= 20 and votes.n_voters > 2 * counted.n_items:
        warn_user(
            f"{votes.n_voters} columns but only {counted.n_items} rows: rows are items and columns are voters; if "
            "yours is the other way round, pass the transpose."
        )
