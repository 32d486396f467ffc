"""Votes of any source after the counting pass: what every estimator starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.threads import row_chunks
from goldless.votes.engine import EncodedSource
from goldless.votes.pairs import PairCounts
from goldless.votes.patterns import PatternTable
from goldless.votes.rows import CHUNK_ROWS, Block, Blocks, StreamBlocks
from goldless.votes.sketch import MANY_PATTERNS, Tally
from goldless.votes.votes import Votes
from goldless.votes.whole import SpokenPass, WholeVotes


@dataclass(frozen=True, eq=False)
class CountedVotes:
    """What is known of votes after going through them once.

    Attributes
    ----------
    votes : Votes
        Classes and names, and the codes if they are in memory (otherwise no rows).
    weights : ndarray of shape (n_rows,) or None
        How many items each row stands for.
    table : PatternTable
        Patterns of all items, or a sample of them.
    rows : Blocks or None
        All votes, if ``table`` is a sample.
    counts : PairCounts
        Pair counts of all items.
    n_rows, n_items, n_empty, first_empty : int
        Rows, items, items without a vote, and the first row of one (-1 if none).
    how : str
        In a sentence: what was counted and how passes go.
    picked : Block
        The votes of the rows that were asked for.
    """

    votes: Votes
    weights: NDArray[np.int64] | None
    table: PatternTable
    rows: Blocks | None
    counts: PairCounts
    n_rows: int
    n_items: int
    n_empty: int
    first_empty: int
    how: str
    picked: Block

    @classmethod
    def of_votes(cls, votes: Votes, weights: NDArray[np.int64] | None, rows: NDArray[np.int64]) -> CountedVotes:
        """Count votes in memory, and keep some rows as they are."""
        picked = Block.of(votes.codes[rows], None if weights is None else weights[rows])
        if votes.n_items > MANY_PATTERNS:
            return cls._of_tally(votes, weights, _tally_codes(votes.codes, weights), None, picked)
        return cls._of_table(votes, weights, PatternTable.of(votes.codes, weights), picked)

    @classmethod
    def _of_table(
        cls, votes: Votes, weights: NDArray[np.int64] | None, table: PatternTable, picked: Block
    ) -> CountedVotes:
        empty = np.empty(0, dtype=np.int64)
        if not table.complete:
            empty = np.flatnonzero((table.codes < 0).all(axis=1) & (table.counts > 0))
        first = int(np.flatnonzero(np.isin(table.inverse, empty))[0]) if len(empty) and len(table.inverse) else -1
        return cls(
            votes,
            weights,
            table,
            None,
            table.pair_counts,
            len(table.inverse),
            table.n_items,
            int(table.counts[empty].sum()),
            first,
            f"{table.n_items:,} items in {table.n_patterns:,} patterns, counted once.",
            picked,
        )

    @classmethod
    def of_source(cls, source: EncodedSource, rows: NDArray[np.int64]) -> CountedVotes:
        """Count votes as they are read, and keep some rows as they are."""
        tally, picked = source.tally(rows)
        if tally.counts is None or not tally.n_items:
            raise ValueError("Found array with 0 sample(s): the source has no rows.")
        votes = Votes(np.empty((0, source.n_voters), dtype=np.int8), source.classes, source.voters)
        all_rows = tally.all_rows(source.blocks if source.again else None)
        if tally.is_sample and all_rows is None:
            raise ValueError(
                f"The votes have more than {MANY_PATTERNS:,} different patterns, and an iterator can be read only "
                "once: pass a path, or a callable that returns a new iterator."
            )
        return cls._of_tally(votes, None, tally, all_rows, picked)

    @classmethod
    def _of_tally(
        cls, votes: Votes, weights: NDArray[np.int64] | None, tally: Tally, rows: Blocks | None, picked: Block
    ) -> CountedVotes:
        assert tally.counts is not None
        return cls(
            votes,
            weights,
            tally.table,
            (rows if rows is not None else tally.all_rows(None)) if tally.is_sample else None,
            tally.counts,
            tally.n_rows,
            tally.n_items,
            tally.n_empty,
            tally.first_empty,
            tally.describe(),
            picked,
        )

    @property
    def n_voted_items(self) -> int:
        """Number of items with at least one vote."""
        return self.n_items - self.n_empty

    def whole(self, voters: NDArray[np.int64]) -> WholeVotes | None:
        """Return all votes of some voters, if the table is only a sample of them."""
        if self.rows is None:
            return None
        n_voters = self.votes.n_voters
        complete = bool((self.counts.both == self.n_items).all())
        n_items = self.n_voted_items if len(voters) == n_voters else self.rows.sum(SpokenPass(voters))
        return WholeVotes(self.rows, voters, n_voters, complete, n_items)


def _tally_codes(codes: NDArray[np.int8], weights: NDArray[np.int64] | None) -> Tally:
    def makers() -> Any:
        for rows in row_chunks(len(codes), CHUNK_ROWS):
            yield lambda rows=rows: Block.of(codes[rows], None if weights is None else weights[rows])

    return Tally(codes.shape[1]).add_all(StreamBlocks(makers))


def on_distinct_rows(codes: NDArray[np.int8], function: Callable[[NDArray[np.int8]], NDArray]) -> NDArray:
    """Apply a function of rows to each distinct row only, as long as rows repeat."""
    results, repeats = [], True
    for rows in row_chunks(len(codes), 2 * CHUNK_ROWS):
        part = codes[rows]
        if repeats:
            table = PatternTable.of(part)
            results.append(function(table.codes)[table.inverse])
            repeats = 2 * table.n_patterns <= len(part)
        else:
            results.append(function(part))
    return np.concatenate(results)


@dataclass(frozen=True)
class DistinctPass:
    """A function of rows of codes, of one block."""

    function: Callable[[NDArray[np.int8]], NDArray]

    def __call__(self, block: Block) -> NDArray:
        """Return the function of every row."""
        return on_distinct_rows(block.codes, self.function)
