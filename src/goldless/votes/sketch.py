"""The counting pass: everything that is learnt from going through the votes once, in bounded memory.

Pair tables are exact. Patterns are collapsed and merged. As long as there are few, they stand for all items and the
votes need not be read again. Once there are many, a sample of them is kept to work on, and passes over all votes
finish the work: over the rows in memory if they fit, else over the source.

The sample is every pattern whose hash is small: the same patterns whatever the order and the parts they came in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import plane_bytes, row_hashes, rows_below
from goldless.votes.engine import Engine, MemoryEngine, RowPicker, StreamEngine
from goldless.votes.rows import PatternTable, Rows, joined
from goldless.votes.sparse import SparsePairs, SparseRows, SparseTotals, as_list, joined_sparse

MANY_PATTERNS = 1 << 17  # more distinct patterns than this are worked on through a sample
SAMPLE_PATTERNS = 1 << 15
SAMPLE_VOTES = 1 << 21  # of rows that name their voters
MEMORY_LIMIT = 1 << 28  # bytes of packed votes of a stream that are kept in memory
_ALL_HASHES = (1 << 64) - 1
_ADDED_AT_ONCE = 8
_FEW_VOTERS = 24  # that say one of two things: their 16,777,216 patterns can be counted in a table
_ROWS_TO_JUDGE = 1 << 18  # after so many rows it is decided whether patterns repeat


@dataclass(frozen=True, eq=False)
class Sketch:
    """What the counting pass learns of votes. Sketches add in the order of the rows; any tree of sums is the same."""

    pairs: Any  # PairTables, which add, or SparsePairs: what voters said, alone and two by two
    n_rows: int
    n_items: int
    n_empty: int  # items without a vote
    first_empty: int  # the first row of one, -1 if none
    table: Any  # PatternTable, or SparseRows: patterns of all items, or those whose hash is at most `limit`
    limit: int = _ALL_HASHES  # largest hash of a pattern in the table

    @classmethod
    def of(cls, rows: Rows, limit: int = _ALL_HASHES, patterns: PatternTable | None = None) -> Sketch:
        """Count rows; patterns with a hash above ``limit`` are left out from the start.

        ``patterns`` are the distinct rows, if they are known.
        """
        empty = np.flatnonzero(~rows.voted(np.arange(rows.n_voters)) & (rows.weights > 0))
        if patterns is None and limit == _ALL_HASHES:
            patterns = rows.distinct()
        few: Rows = rows if patterns is None else patterns
        counted = patterns if patterns is not None and 8 * patterns.n_patterns <= rows.n_rows else rows
        if limit < _ALL_HASHES:
            few = few.take(rows_below(few.bits, np.uint64(limit)))
        return cls(
            counted.pair_tables(),
            rows.n_rows,
            rows.n_items,
            int(rows.weights[empty].sum()),
            int(empty[0]) if len(empty) else -1,
            few if isinstance(few, PatternTable) else few.distinct(),
            limit,
        )._trimmed()

    @classmethod
    def of_sparse(cls, rows: SparseRows) -> Sketch:
        """Count rows that name their voters: they are kept as they are."""
        empty = np.flatnonzero((rows.codes.lengths == 0) & (rows.counts > 0))
        first = int(empty[0]) if len(empty) else -1
        return cls(rows.pairs, rows.n_rows, rows.n_items, int(rows.counts[empty].sum()), first, rows)

    @classmethod
    def of_sample(cls, totals: SparseTotals, rows: SparseRows, engine: Engine) -> Sketch:
        """Return what was counted of rows that name their voters and are too many for memory, with some of them."""
        pairs = SparsePairs(rows, engine)
        vars(pairs)["cast"] = totals.cast  # counted already
        return cls(pairs, totals.n_rows, totals.n_items, totals.n_empty, totals.first_empty, rows, limit=0)

    def __add__(self, other: Sketch) -> Sketch:
        limit = min(self.limit, other.limit)
        tables = [part._below(limit) for part in (self, other)]
        later = self.n_rows + other.first_empty if other.first_empty >= 0 else -1
        return Sketch(
            self.pairs + other.pairs,
            self.n_rows + other.n_rows,
            self.n_items + other.n_items,
            self.n_empty + other.n_empty,
            self.first_empty if self.first_empty >= 0 else later,
            joined(tables).distinct(),
            limit,
        )._trimmed()

    def _below(self, limit: int) -> Rows:
        """Return the patterns whose hash is at most ``limit``."""
        if limit >= self.limit:
            return self.table
        return self.table.take(row_hashes(self.table.bits) <= np.uint64(limit))

    def _trimmed(self) -> Sketch:
        """Return the sketch with few patterns: many are halved, by their hashes, until they fit a sample."""
        if self.table.n_patterns <= (SAMPLE_PATTERNS if self.is_sample else MANY_PATTERNS):
            return self
        limit, hashes = self.limit, row_hashes(self.table.bits)
        while int((hashes <= np.uint64(limit)).sum()) > SAMPLE_PATTERNS:
            limit //= 2
        few = self.table.take(hashes <= np.uint64(limit)).distinct()
        return Sketch(self.pairs, self.n_rows, self.n_items, self.n_empty, self.first_empty, few, limit)

    @property
    def is_sample(self) -> bool:
        """Whether the table is a sample of the patterns."""
        return self.limit < _ALL_HASHES

    @property
    def complete(self) -> bool:
        """Whether no vote is missing."""
        return bool((self.pairs.both == self.n_items).all())

    @property
    def n_voted_items(self) -> int:
        """Number of items with at least one vote."""
        return self.n_items - self.n_empty


@dataclass(eq=False)
class RowCache:
    """Rows that are kept in memory while a stream is read, collapsed as long as that pays."""

    memory_limit: int | None  # most bytes to keep; None for no limit
    parts: list[Rows] | None = field(default_factory=list)  # what is kept; None once it was too much
    collapsing: bool = True  # whether rows are still collapsed
    _n_rows: int = 0
    _n_fresh: int = 0  # patterns that were added since all were merged

    def add(self, rows: Rows, n_rows: int) -> None:
        """Keep rows, or their patterns, that were ``n_rows`` rows."""
        self._n_rows += n_rows
        if self.parts is None:
            return
        self.parts.append(rows)
        self._n_fresh += rows.n_rows
        if self.collapsing and self._n_fresh > max(sum(part.n_rows for part in self.parts) // 2, MANY_PATTERNS):
            self.merge()
        if self.memory_limit is not None and sum(part.n_bytes for part in self.parts) > self.memory_limit:
            if self.collapsing:
                self.merge()
            if sum(part.n_bytes for part in self.parts) > self.memory_limit:
                self.parts = None

    def merge(self) -> None:
        """Collapse all that is kept, and stop doing so when patterns hardly repeat."""
        if not self.parts:
            return
        self.parts, self._n_fresh = [joined(self.parts).distinct()], 0
        self.collapsing = self._n_rows < _ROWS_TO_JUDGE or 2 * self.parts[0].n_rows <= self._n_rows


def count_all_patterns(stream: StreamEngine, n_voters: int, n_symbols: int) -> PatternTable | None:
    """Count every pattern there can be of few voters and two symbols, in a table of all of them.

    That costs a look-up a row, however many patterns there are; None if there can be too many, if there are too few
    rows to fill such a table, or if votes are missing.
    """
    if n_symbols != 2 or n_voters > _FEW_VOTERS or (stream.n_rows or 0) < max(1 << n_voters >> 2, _ROWS_TO_JUDGE):
        return None
    counts = np.zeros(1 << n_voters, dtype=np.int64)
    width = plane_bytes(n_voters)

    def keys_of(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64] | None] | None:
        if rows.n_symbols != 2 or rows.bits.shape[1] != width:
            return None
        places = 1 << 8 * np.arange(width)
        return rows.bits @ places, rows.counts

    for found in stream.each(keys_of):
        if found is None:
            return None
        np.add.at(counts, found[0], 1 if found[1] is None else found[1])
    keys = np.flatnonzero(counts)
    bits = (keys[:, None] >> 8 * np.arange(width) & 255).astype(np.uint8)
    return Rows(bits, n_voters, n_symbols, counts[keys]).distinct()


def count_stream(
    stream: StreamEngine, memory_limit: int | None, picker: RowPicker | None = None
) -> tuple[Sketch | None, Engine]:
    """Make the counting pass over a stream; return the sketch, None if there are no rows, and the fastest engine.

    Rows are kept in memory as long as they fit, and shown to ``picker``.
    """
    cache, limit = RowCache(memory_limit), _ALL_HASHES
    sketches: list[Sketch] = []  # added a few at a time, because every sum merges all patterns so far

    def count(rows: Rows) -> tuple[Sketch, Rows, PatternTable | None]:
        patterns = rows.distinct() if cache.collapsing and cache.parts is not None else None
        return Sketch.of(rows, limit, patterns), rows, patterns

    for sketch, rows, patterns in stream.each(count):
        sketches.append(sketch)
        # what is kept must not depend on how far threads are ahead: once collapsing ends, it has ended for the next
        cache.add(patterns if cache.collapsing and patterns is not None else rows, sketch.n_rows)
        if len(sketches) > _ADDED_AT_ONCE:
            sketches = [sketches[0] + reduce(Sketch.__add__, sketches[1:])]
            limit = sketches[0].limit
        if picker is not None:
            picker.see(rows)
    total = reduce(Sketch.__add__, sketches) if sketches else None
    return total, stream if cache.parts is None else MemoryEngine(cache.parts)


def count_sparse(
    engine: Engine, memory_limit: int, wanted: NDArray[np.int64], pick: Callable[[NDArray[np.int64]], SparseRows]
) -> tuple[Sketch | None, SparseRows | None]:
    """Count rows that name their voters; return the sketch, None if there are no rows, and the wanted rows.

    If they fit in memory all of them are kept there. Otherwise every so-many-th row is, and the engine is gone
    through again.
    """
    totals = engine.sum(SparseTotals.of)
    if totals is None:
        return None, None
    if totals.n_bytes <= memory_limit:
        rows = joined_sparse(engine.sum(as_list))
        return Sketch.of_sparse(rows), rows.take(wanted)
    n_votes = max(int(totals.cast.sum()), 1)
    sample = pick(np.arange(0, totals.n_rows, -(-n_votes // SAMPLE_VOTES)))
    return Sketch.of_sample(totals, sample, engine), pick(wanted)
