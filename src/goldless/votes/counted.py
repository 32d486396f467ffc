"""Votes of any source after the counting pass: what every estimator starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.kernels.sparse import Codes, SparseCodes
from goldless.kernels.threads import row_chunks
from goldless.votes.bins import NumberAlphabet
from goldless.votes.engine import CHUNK_ROWS, Engine, MemoryEngine, StreamEngine
from goldless.votes.passes import VoteSums, n_voted
from goldless.votes.rows import PatternTable, Rows
from goldless.votes.sketch import MANY_PATTERNS, Sketch, count_all_patterns, count_stream
from goldless.votes.source import VoteSource
from goldless.votes.sparse import SparseRows
from goldless.votes.votes import Votes

_FIRST_ROWS = 1 << 10


@dataclass(frozen=True, eq=False)
class CountedVotes:
    """What is known of votes after going through them once."""

    votes: Votes  # classes and names, and the codes if they are in memory (otherwise no rows)
    weights: NDArray[np.int64] | None  # (n_rows,): how many items each row stands for
    sketch: Sketch  # what was counted
    engine: Engine | None  # all votes, if the table of the sketch is a sample
    picked: Rows | SparseRows  # the votes of the rows that were asked for

    @classmethod
    def of_votes(cls, votes: Votes, weights: NDArray[np.int64] | None, wanted: NDArray[np.int64]) -> CountedVotes:
        """Count votes in memory, and keep some rows as they are."""
        n_symbols = votes.n_symbols
        if isinstance(votes.codes, SparseCodes):
            rows = SparseRows.of(votes.codes, n_symbols, weights)
            return cls(votes, weights, Sketch.of_sparse(rows), None, rows.take(wanted))
        codes = votes.codes
        picked = Rows.of(codes[wanted], n_symbols, None if weights is None else weights[wanted])
        if votes.n_items <= MANY_PATTERNS:
            packed = Rows.of(codes, n_symbols, weights)
            vars(packed)["codes"] = codes  # which nobody has to unpack
            sketch = Sketch.of(packed)
            return cls(votes, weights, sketch, None, picked)

        def makers():  # type: ignore[no-untyped-def]
            for rows in row_chunks(len(codes), CHUNK_ROWS):
                yield lambda rows=rows: Rows.of(codes[rows], n_symbols, None if weights is None else weights[rows])

        stream = StreamEngine(makers, n_rows=votes.n_items)
        patterns = count_all_patterns(stream, votes.n_voters, n_symbols)
        counted: Sketch | None
        if patterns is not None:
            counted = replace(Sketch.of(patterns, patterns=patterns), n_rows=votes.n_items)
            engine: Engine = MemoryEngine([patterns])
        else:
            counted, engine = count_stream(stream, None)
        assert counted is not None
        return cls(votes, weights, counted, engine if counted.is_sample else None, picked)

    @classmethod
    def of_source(cls, source: VoteSource, wanted: NDArray[np.int64]) -> CountedVotes:
        """Count votes as they are read, and keep some rows as they are."""
        alphabet, sketch, engine, picked = source.count(wanted)
        if sketch is None or not sketch.n_items:
            raise ValueError("Found array with 0 sample(s): the source has no rows.")
        bins = alphabet.bins if isinstance(alphabet, NumberAlphabet) else None
        votes = Votes(np.empty((0, source.n_voters), dtype=np.int8), alphabet.values, source.voters, bins=bins)
        if sketch.is_sample and not source.again and not isinstance(engine, MemoryEngine):
            raise VotesError(
                "read-once",
                f"The votes have more than {MANY_PATTERNS:,} different patterns, and an iterator can be read only "
                "once",
                "read-again",
            )
        return cls(votes, None, sketch, engine if sketch.is_sample else None, picked)

    @property
    def how(self) -> str:
        """In a sentence: what was counted and how passes go."""
        items, patterns = f"{self.sketch.n_items:,} items", f"{self.sketch.table.n_patterns:,} patterns"
        if isinstance(self.sketch.table, SparseRows):
            n_votes = int(self.sketch.pairs.cast.sum())
            kept = "kept as lists of voters" if self.engine is None else "read again at every pass"
            return f"{items} with {n_votes:,} votes, {kept}."
        if self.engine is None:
            return f"{items} in {patterns}, counted once."
        where = "in memory" if isinstance(self.engine, MemoryEngine) else "read again at every pass"
        return f"{items}, mostly distinct vote patterns: a sample of {patterns}, then all items, {where}."

    def sums(self, voters: NDArray[np.int64]) -> VoteSums:
        """Return the sums over the votes of some voters, on the items that they voted on."""
        table, n_voters = self.sketch.table.informative(voters), self.votes.n_voters
        if self.engine is None:
            return VoteSums.of_table(table)
        n_items = self.sketch.n_voted_items
        if len(voters) < n_voters:
            n_items = self.engine.sum(partial(n_voted, voters))
        complete = not isinstance(table, SparseRows) and self.sketch.complete
        return VoteSums(table, n_items, self.engine, voters, n_voters, complete)


def on_distinct_rows(codes: Codes, n_symbols: int, function: Callable[[Any], NDArray]) -> NDArray:
    """Apply a function of rows to each distinct row only, as long as rows repeat."""
    if isinstance(codes, SparseCodes):
        return np.concatenate([function(codes[rows]) for rows in row_chunks(len(codes), 2 * CHUNK_ROWS)])
    first = codes[:_FIRST_ROWS]
    # of rows that hardly repeat at first, those that do are not worth finding
    results, repeats = (
        [],
        len(codes) <= _FIRST_ROWS or 4 * Rows.of(first, n_symbols).distinct().n_rows < 3 * len(first),
    )
    for rows in row_chunks(len(codes), 2 * CHUNK_ROWS):
        part = codes[rows]
        if repeats:
            table = PatternTable.of(part, n_symbols)
            results.append(function(table.codes)[table.inverse])
            repeats = 2 * table.n_patterns <= len(part)
        else:
            results.append(function(part))
    return np.concatenate(results)


def of_distinct(function: Callable[[NDArray[np.int8]], NDArray], rows: Rows) -> NDArray:
    """Return a function of every row of codes, computed once for rows that repeat."""
    table = rows.distinct()
    if 2 * table.n_patterns > rows.n_rows:
        return function(rows.codes)
    return function(table.codes)[table.inverse]
