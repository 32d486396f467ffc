"""The counting pass: everything that is learnt from going through the votes once, in bounded memory.

Pair counts are exact. Patterns are collapsed block by block and merged. As long as there are few, they stand for all
items and the votes need not be read again. Once there are many, a sample of them is kept to work on, and passes over
all votes finish the work: over the patterns or the rows in memory if they fit, else over the stream.

The sample is every pattern whose hash is small: the same patterns whatever the order and the blocks they came in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import row_hashes, rows_below
from goldless.votes.pairs import PairCounts
from goldless.votes.patterns import PatternTable, join_bits
from goldless.votes.picking import RowPicker
from goldless.votes.rows import Block, Blocks, MemoryBlocks, StreamBlocks

MANY_PATTERNS = 1 << 17  # more distinct patterns than this are worked on through a sample
SAMPLE_PATTERNS = 1 << 15
MEMORY_LIMIT = 1 << 28  # bytes of packed votes of a stream that are kept in memory
_ALL_HASHES = (1 << 64) - 1
_ROWS_TO_JUDGE = 1 << 18  # after so many rows it is decided whether patterns repeat


@dataclass(frozen=True, eq=False)
class BlockCount:
    """What one block adds to a tally.

    ``rows`` are its distinct patterns if ``collapsed``, and otherwise the block as it is. ``sampled`` are the rows
    whose hash is below the limit.
    """

    counts: PairCounts
    n_rows: int
    n_items: int
    n_empty: int
    first_empty: int
    rows: Block
    collapsed: bool
    sampled: Block | None

    @classmethod
    def of(cls, block: Block, collapse: bool, limit: int | None) -> BlockCount:
        """Count a block; ``limit`` is that of the sample, None while there is none."""
        empty = np.flatnonzero(~block.spoken(np.arange(block.n_voters)) & (block.weights > 0))
        n_empty = len(empty) if block.counts is None else int(block.counts[empty].sum())
        rows = block
        if collapse:
            table = PatternTable.of_bits(block.bits, block.n_voters, block.counts)
            rows = Block(table.packed, table.n_voters, table.counts)
        return cls(
            PairCounts.of_bits(block.bits, block.n_voters, block.counts),
            block.n_rows,
            block.n_items,
            n_empty,
            int(empty[0]) if len(empty) else -1,
            rows,
            collapse,
            None if limit is None else rows.rows(rows_below(rows.bits, np.uint64(limit))),
        )


@dataclass(eq=False)
class Tally:
    """The state of the counting pass. Adding blocks in any order and of any size gives the same counts.

    Attributes
    ----------
    n_voters : int
        Number of voters.
    memory_limit : int or None
        Most bytes of packed votes to keep; None for no limit.
    counts : PairCounts or None
        Pair counts of all voters.
    n_rows, n_items, n_empty, first_empty : int
        Rows, items, items without a vote and the first row of one (-1 if none).
    collapsing : bool
        Whether patterns are still collapsed.
    """

    n_voters: int
    memory_limit: int | None = None
    counts: PairCounts | None = None
    n_rows: int = 0
    n_items: int = 0
    n_empty: int = 0
    first_empty: int = -1
    collapsing: bool = True
    _patterns: PatternTable | None = None
    _pending: list[Block] = field(default_factory=list)
    _rows: list[Block] | None = field(default_factory=list)
    _sample: PatternTable | None = None
    _candidates: list[Block] = field(default_factory=list)
    _limit: int | None = None

    def add_all(self, stream: StreamBlocks, picker: RowPicker | None = None) -> Tally:
        """Count blocks as they come, in threads; show each to ``picker`` as well."""

        def count(block: Block) -> tuple[BlockCount, Block | None]:
            return BlockCount.of(block, self.collapsing, self._limit), None if picker is None else block

        for counted, block in stream.each(count):
            self.add(counted)
            if picker is not None and block is not None:
                picker.see(block)
        return self.finish()

    def finish(self) -> Tally:
        """Merge what is still apart."""
        self._merge()
        self._trim_sample()
        return self

    def add(self, block: BlockCount) -> None:
        """Add what was counted in a block."""
        self.counts = block.counts if self.counts is None else self.counts + block.counts
        if self.first_empty < 0 <= block.first_empty:
            self.first_empty = self.n_rows + block.first_empty
        self.n_rows += block.n_rows
        self.n_items += block.n_items
        self.n_empty += block.n_empty
        if self.collapsing and block.collapsed:
            self._pending.append(block.rows)
            known = 0 if self._patterns is None else self._patterns.n_patterns
            if sum(part.n_rows for part in self._pending) > max(known, MANY_PATTERNS):
                self._merge()
            return
        if self._rows is not None:
            self._rows.append(block.rows)
            self._stay_within_memory()
        self._add_to_sample(block.rows if block.sampled is None else block.sampled)

    def _merge(self) -> None:
        """Merge the patterns of recent blocks into those known, and decide how to go on."""
        if not self._pending:
            return
        parts = self._pending
        if self._patterns is not None:
            parts = [Block(self._patterns.packed, self.n_voters, self._patterns.counts), *parts]
        before = self._patterns
        self._patterns = collapsed(parts)
        fresh, self._pending = self._pending, []
        if self._limit is None and self._patterns.n_patterns > MANY_PATTERNS:
            self._limit = _ALL_HASHES
            self._add_to_sample(Block(self._patterns.packed, self.n_voters, self._patterns.counts))
        elif self._limit is not None and before is not None:
            for part in fresh:
                self._add_to_sample(part)
        repeats = self.n_rows < _ROWS_TO_JUDGE or 2 * self._patterns.n_patterns <= self.n_rows
        if self._limit is not None and not repeats:
            self._stop_collapsing()
        self._stay_within_memory()

    def _stop_collapsing(self) -> None:
        self.collapsing = False
        if self._patterns is not None and self._rows is not None:
            self._rows.append(Block(self._patterns.packed, self.n_voters, self._patterns.counts))
        self._patterns = None

    def _stay_within_memory(self) -> None:
        """Let go of the rows when they take more memory than allowed; they will be read again."""
        if self.memory_limit is None or self._limit is None or self._rows is None:
            return
        held = sum(part.n_bytes for part in self._rows)
        held += 0 if self._patterns is None else self._patterns.packed.nbytes + self._patterns.counts.nbytes
        if held > self.memory_limit:
            self._stop_collapsing()
            self._rows = None

    def _add_to_sample(self, rows: Block) -> None:
        """Add rows to the sample."""
        assert self._limit is not None
        self._candidates.append(rows.rows(rows_below(rows.bits, np.uint64(self._limit))))
        if sum(part.n_rows for part in self._candidates) > SAMPLE_PATTERNS:
            self._trim_sample()

    def _trim_sample(self) -> None:
        """Merge recent rows into the sample, and halve the limit on hashes while there are too many."""
        if not self._candidates or self._limit is None:
            return
        parts, self._candidates = self._candidates, []
        if self._sample is not None:
            parts.insert(0, Block(self._sample.packed, self.n_voters, self._sample.counts))
        self._sample = collapsed(parts)
        while self._sample.n_patterns > SAMPLE_PATTERNS:
            self._limit //= 2
            few = row_hashes(self._sample.packed) <= np.uint64(self._limit)
            self._sample = PatternTable.of_bits(self._sample.packed[few], self.n_voters, self._sample.counts[few])

    def with_patterns(self, table: PatternTable) -> Tally:
        """Return this tally of counts with the patterns of all items, counted elsewhere."""
        self._patterns = table
        return self

    def with_sample(self, table: PatternTable) -> Tally:
        """Return this tally of counts with a sample of the patterns; the rows are elsewhere."""
        self._sample, self._rows, self.collapsing = table, None, False
        return self

    # -- results --------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether no vote is missing."""
        return self.counts is None or bool((self.counts.both == self.n_items).all())

    @property
    def table(self) -> PatternTable:
        """The patterns of all items if they are few, otherwise the sample of them."""
        table = self._patterns if self._sample is None else self._sample
        assert table is not None
        return table

    @property
    def is_sample(self) -> bool:
        """Whether ``table`` is a sample."""
        return self._sample is not None

    def all_rows(self, stream: Blocks | None) -> Blocks | None:
        """Return all votes, to be gone through again; None if they are neither in memory nor in the stream."""
        if self._rows is None:
            return stream
        if self._patterns is None:
            return MemoryBlocks(self._rows)
        return MemoryBlocks([Block(self._patterns.packed, self.n_voters, self._patterns.counts), *self._rows])

    def describe(self) -> str:
        """Say in a sentence what was counted and how the passes of EM go."""
        items = f"{self.n_items:,} items"
        if not self.is_sample:
            return f"{items} in {self.table.n_patterns:,} patterns, counted once."
        share = f"a sample of {self.table.n_patterns:,} patterns, then all items"
        if self._rows is None:
            return f"{items} whose patterns do not fit in memory: {share}, read again at every pass."
        if self._patterns is not None:
            return f"{items} in {self._patterns.n_patterns:,} patterns: {share}, in memory."
        return f"{items} whose patterns hardly repeat, so they were not collapsed: {share}, in memory."


def collapsed(parts: list[Block]) -> PatternTable:
    """Return the distinct rows of several blocks."""
    bits = join_bits([part.bits for part in parts], parts[0].n_voters)
    counts: list[NDArray[np.int64]] = [
        np.ones(part.n_rows, dtype=np.int64) if part.counts is None else part.counts for part in parts
    ]
    return PatternTable.of_bits(bits, parts[0].n_voters, np.concatenate(counts))
