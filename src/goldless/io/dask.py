"""Passes over votes that live on a Dask cluster: the work goes to the blocks, and only small arrays come back.

Every partition becomes one packed block that stays where it was made (one bit a vote, two if votes are missing); Dask
spills blocks to disk when memory is short, and makes them again when a worker dies. Results are added on the cluster
in the order of the partitions, so a lost worker changes no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.io.encode import classes_among, encode_votes, labels_in
from goldless.io.open import row_names
from goldless.io.readers.stream import FileVotes, Piece, list_pieces
from goldless.kernels.bits import row_hashes, rows_below
from goldless.votes.engine import EncodedSource, n_rows_of
from goldless.votes.pairs import PairCounts
from goldless.votes.patterns import PatternTable
from goldless.votes.picking import RowPicker, joined
from goldless.votes.rows import Beside, Block, MemoryBlocks, StreamBlocks, added
from goldless.votes.sketch import MANY_PATTERNS, SAMPLE_PATTERNS, Tally, collapsed

_FAN_IN = 8  # results are added eight at a time
_ALL_HASHES = (1 << 64) - 1

Progress = Callable[[float], None]


def open_dask(
    collection: Any,
    client: Any,
    classes: NDArray | None,
    missing: list,
    positive: Any,
    memory_limit: int,
    progress: Progress | None,
) -> EncodedSource:
    """Return a Dask DataFrame, or a bag of blocks, as a source.

    On a cluster the partitions stay there. Without one they are made here, one by one, at every pass.
    """
    if not hasattr(collection, "to_delayed"):
        raise TypeError(f"Votes on Dask are a DataFrame or a bag of blocks, got a {type(collection).__name__}.")
    if len(missing) > 1:
        raise ValueError(f"Votes on Dask may have one label for a missing vote, got {missing!r}.")
    gone = missing[0] if missing else None
    parts = np.ravel(np.array(collection.to_delayed(), dtype=object)).tolist()
    client = client or _running_client()
    from dask import delayed

    look = delayed(partial(_look, missing=gone))
    labels: dict[Any, None] = {}
    first = None
    for part in parts:  # usually the first is enough
        task = look(part)
        found, table = task.compute() if client is None else client.compute(task).result()
        labels.update(dict.fromkeys(found))
        first = table if first is None else first
        if first is not None and (classes is not None or len(labels) >= 2):
            break
    if first is None:
        raise ValueError("Found array with 0 sample(s): the partitions are empty.")
    if classes is None:
        classes = classes_among(labels, positive=positive)
    head = encode_votes(first, classes=classes, missing=gone)
    pack = partial(
        _pack_tables, classes=np.asarray(classes), missing=gone, voters=head.voters, n_voters=head.n_voters
    )
    if client is not None:

        def packed() -> list[Any]:
            return [client.compute(delayed(pack)(part)) for part in parts]

        blocks: Any = DaskBlocks(client, packed, head.n_voters, progress)
        rows: Any = partial(_rows_of_parts, client, parts, pack)
    else:

        def makers() -> Iterator[Callable[[], Block]]:
            return (partial(_pack_here, pack, part) for part in parts)

        blocks = StreamBlocks(makers)
        rows = partial(_rows_here, parts, pack)
    return EncodedSource(np.asarray(classes), head.voters, head.n_voters, blocks, rows, memory_limit)


def open_files_on_cluster(files: FileVotes, client: Any, progress: Progress | None) -> EncodedSource:
    """Return files as a source whose pieces (row groups of Parquet, whole files of other kinds) workers read."""
    pieces = [piece for file in files.pieces for piece in list_pieces(file.path, by_row_group=True) or ()]

    def packed() -> list[Any]:
        return [client.submit(_pack_piece, files, piece, pure=False) for piece in pieces]

    return EncodedSource(
        files.classes,
        np.array(files.voters, dtype=object),
        len(files.voters),
        DaskBlocks(client, packed, len(files.voters), progress),
        partial(_rows_of_pieces, client, files, pieces),
        how=files.how,
        notes=files.notes,
    )


def _running_client() -> Any:
    """Return the client that is active, if there is one."""
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


# -- passes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """Packed blocks on the workers of a cluster.

    Attributes
    ----------
    client : distributed.Client
    make : callable
        Has the workers make the blocks; returns a future for each partition. Called when a pass needs them.
    n_voters : int
    progress : callable, optional
        Called with the share of a pass that is done.
    """

    client: Any
    make: Callable[[], list[Any]]
    n_voters: int
    progress: Progress | None = None

    @cached_property
    def futures(self) -> list[Any]:
        """One block for each partition."""
        return self.make()

    def sum(self, function: Callable[[Block], Any]) -> Any:
        """Apply a function where the blocks are, and add the results there, in order."""
        return self._fold(partial(_sum_block, function), _add_all)

    def _fold(self, of_block: Callable[[Block], Any], combine: Callable[..., Any]) -> Any:
        """Apply a function to every block and combine the results in a tree of fixed shape."""
        submit = partial(self.client.submit, pure=False)
        shared = submit(_identity, of_block)  # held once by the cluster, and made again if it is lost
        leaves = [submit(_call, shared, block) for block in self.futures]
        level = leaves
        while len(level) > 1:
            level = [submit(combine, *level[i : i + _FAN_IN]) for i in range(0, len(level), _FAN_IN)]
        self._watch(level[0], leaves)
        return level[0].result()

    def _watch(self, root: Any, leaves: Sequence[Any]) -> None:
        """Say how much of a pass is done until it is."""
        if self.progress is None:
            return
        from distributed import TimeoutError as TooEarly
        from distributed import wait

        while True:
            try:
                wait([root], timeout=0.25)
            except TooEarly:
                self.progress(sum(leaf.done() for leaf in leaves) / len(leaves))
                continue
            self.progress(1.0)
            return

    def tally(self) -> Tally:
        """Make the counting pass: counts, then either all patterns or a sample of them."""
        counted: PartCount = self._fold(PartCount.of, _add_all)
        tally = Tally(
            self.n_voters,
            counts=counted.counts,
            n_rows=counted.n_rows,
            n_items=counted.n_items,
            n_empty=counted.n_empty,
            first_empty=counted.first_empty,
        )
        patterns = self._fold(_few_patterns, _merge_few)
        if patterns is not None:
            return tally.with_patterns(_table(patterns))
        level = max(0, int(counted.n_rows / SAMPLE_PATTERNS).bit_length() - 1)
        sample = self._sample(level)
        while sample.n_patterns <= SAMPLE_PATTERNS and level > 0:  # the largest sample that is small enough
            larger = self._sample(level - 1)
            if larger.n_patterns > SAMPLE_PATTERNS:
                break
            level, sample = level - 1, larger
        while sample.n_patterns > SAMPLE_PATTERNS:
            level += 1
            few = row_hashes(sample.packed) <= np.uint64(_ALL_HASHES >> level)
            sample = PatternTable.of_bits(sample.packed[few], self.n_voters, sample.counts[few])
        return tally.with_sample(sample)

    def pick(self, rows: NDArray[np.int64]) -> Block:
        """Return some rows, by their numbers in order."""
        if not len(rows):
            return joined([], self.n_voters)
        submit, picker = partial(self.client.submit, pure=False), RowPicker(rows)
        sizes = self.client.gather([submit(n_rows_of, block) for block in self.futures])
        wanted = [(block, picker.local(n_rows)) for block, n_rows in zip(self.futures, sizes, strict=True)]
        found = self.client.gather([submit(_rows_of_block, block, here) for block, here in wanted if len(here)])
        return joined(found, self.n_voters)

    def _sample(self, level: int) -> PatternTable:
        return _table(self._fold(partial(_sampled, limit=_ALL_HASHES >> level), _merge))


@dataclass(frozen=True, eq=False)
class PartCount:
    """Counts of a partition; they add in the order of the partitions."""

    counts: PairCounts
    n_rows: int
    n_items: int
    n_empty: int
    first_empty: int

    @classmethod
    def of(cls, block: Block) -> PartCount:
        """Count a block."""
        empty = np.flatnonzero(~block.spoken(np.arange(block.n_voters)))
        counts = PairCounts.of_bits(block.bits, block.n_voters, block.counts)
        return cls(counts, block.n_rows, block.n_items, len(empty), int(empty[0]) if len(empty) else -1)

    def __add__(self, other: PartCount) -> PartCount:
        later = self.n_rows + other.first_empty if other.first_empty >= 0 else -1
        return PartCount(
            self.counts + other.counts,
            self.n_rows + other.n_rows,
            self.n_items + other.n_items,
            self.n_empty + other.n_empty,
            self.first_empty if self.first_empty >= 0 else later,
        )


def _rows_of_block(block: Block, rows: NDArray[np.int64]) -> Block:
    return block.rows(rows)


def _identity(value: Any) -> Any:
    return value


def _call(function: Callable[[Block], Any], block: Block) -> Any:
    return function(block)


def _sum_block(function: Callable[[Block], Any], block: Block) -> Any:
    return MemoryBlocks([block]).sum(function) if block.n_rows else function(block)


def _add_all(*results: Any) -> Any:
    return reduce(added, results)


def _few_patterns(block: Block) -> Block | None:
    """Return the patterns of a block, None if they are many."""
    head = block.rows(slice(0, 2 * MANY_PATTERNS))
    table = PatternTable.of_bits(head.bits, block.n_voters, head.counts)
    if table.n_patterns > MANY_PATTERNS:
        return None
    if head.n_rows < block.n_rows:
        table = PatternTable.of_bits(block.bits, block.n_voters, block.counts)
    return Block(table.packed, table.n_voters, table.counts) if table.n_patterns <= MANY_PATTERNS else None


def _merge_few(*parts: Block | None) -> Block | None:
    """Merge patterns, None as soon as they are many."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    merged = _merge(*known)
    return merged if merged.n_rows <= MANY_PATTERNS else None


def _sampled(block: Block, limit: int) -> Block:
    """Return the patterns of a block whose hash is small."""
    return _merge(block.rows(rows_below(block.bits, np.uint64(limit))))


def _merge(*parts: Block) -> Block:
    table = collapsed(list(parts))
    return Block(table.packed, table.n_voters, table.counts)


def _table(block: Block) -> PatternTable:
    return PatternTable.of_bits(
        block.bits, block.n_voters, _merge(block).counts if block.counts is None else block.counts
    )


# -- partitions to blocks -----------------------------------------------------------------------------------


def _as_tables(part: Any) -> list[Any]:
    """Return the tables of a partition: a frame is one, a partition of a bag is a list of them."""
    tables = list(part) if isinstance(part, list | tuple) else [part]
    return [table for table in tables if len(table)]


def _look(part: Any, missing: Any) -> tuple[list, Any]:
    """Return the labels of a partition and its first row."""
    tables = _as_tables(part)
    labels = dict.fromkeys(label for table in tables for label in labels_in(table, missing))
    return list(labels), tables[0][:1] if tables else None


def _pack_tables(part: Any, *, classes: NDArray, missing: Any, voters: NDArray | None, n_voters: int) -> Block:
    blocks = []
    for table in _as_tables(part):
        votes = encode_votes(table, classes=classes, missing=missing)
        names = None if votes.voters is None else list(votes.voters)
        if votes.n_voters != n_voters or (voters is not None and list(voters) != names):
            raise ValueError(
                f"A partition has {votes.n_voters} columns where the first has {n_voters}, or other names."
            )
        blocks.append(Block.of(votes.codes))
    return joined(blocks, n_voters)


def _pack_here(pack: Callable[[Any], Block], part: Any) -> Block:
    return pack(part.compute(scheduler="synchronous"))


def _pack_piece(files: FileVotes, piece: Piece) -> Block:
    import pyarrow as pa

    block = joined([make() for make in files.makers([piece])], len(files.voters))
    pa.default_memory_pool().release_unused()  # the worker may have little memory, and the next piece may be far off
    return block


# -- answers in the input's order ---------------------------------------------------------------------------


def _in_order(client: Any, tasks: list[Callable[[], Any]]) -> Iterator[Any]:
    """Run tasks on the cluster, a few ahead, and yield their results in order."""
    ahead = 2 * max(len(client.scheduler_info()["workers"]), 1) + 2
    waiting = [task() for task in tasks[:ahead]]
    for number in range(len(tasks)):
        yield from waiting.pop(0).result()
        if number + ahead < len(tasks):
            waiting.append(tasks[number + ahead]())


def _rows_of_parts(
    client: Any, parts: list[Any], pack: Callable[[Any], Block], function: Callable[[Block], Any]
) -> Iterator[tuple[Any, Beside]]:
    from dask import delayed

    answer = delayed(partial(_answer_part, pack, function))
    return _in_order(client, [partial(client.compute, answer(part)) for part in parts])


def _answer_part(
    pack: Callable[[Any], Block], function: Callable[[Block], Any], part: Any
) -> list[tuple[Any, Beside]]:
    return [(function(pack(table)), row_names(table)) for table in _as_tables(part)]


def _rows_here(
    parts: list[Any], pack: Callable[[Any], Block], function: Callable[[Block], Any]
) -> Iterator[tuple[Any, Beside]]:
    for part in parts:
        yield from _answer_part(pack, function, part.compute())


def _rows_of_pieces(
    client: Any, files: FileVotes, pieces: list[Piece], function: Callable[[Block], Any]
) -> Iterator[tuple[Any, Beside]]:
    submit = partial(client.submit, _answer_piece, files, function, pure=False)
    return _in_order(client, [partial(submit, piece) for piece in pieces])


def _answer_piece(files: FileVotes, function: Callable[[Block], Any], piece: Piece) -> list[tuple[Any, Beside]]:
    return [(function(make()), beside) for make, beside in files.labelled([piece])]
