"""Dask collections, and files that the workers of a Dask cluster read, as sources of votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import getitem
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.encode import columns_of, in_order_of, labels_in
from goldless.io.files import MOST_LONG_COLUMNS
from goldless.io.long_stream import LongFrames, LongInput, MakeRows, clash, lines_of
from goldless.io.merge import (
    Grouped,
    LongNames,
    arrange_rows,
    cut_rows,
    group_lines,
    line_bounds,
    n_parts_for,
    split_lines,
)
from goldless.io.numbers import added_levels, alphabet_of_levels, kinds_of_block, levels_of
from goldless.io.open import pack_table, read_within, row_names
from goldless.io.readers.base import Progress
from goldless.io.readers.stream import FileVotes, Piece, list_pieces
from goldless.io.roles import ReadOptions, long_roles
from goldless.votes.alphabet import TOO_EARLY, Alphabet, LabelRules
from goldless.votes.bins import Levels, NumberAlphabet
from goldless.votes.dask import DaskEngine, make_all, new_or
from goldless.votes.engine import StreamEngine
from goldless.votes.rows import Beside, Rows, joined
from goldless.votes.source import Passes, VoteSource

Answers = list[tuple[Any, Beside]]  # what a function says of rows, with what stands beside them


def open_dask(
    collection: Any,
    client: Any,
    rules: LabelRules,
    known: NumberAlphabet | None,
    memory_limit: int,
    progress: Progress | None,
) -> VoteSource:
    """Return a Dask DataFrame, or a bag of blocks, as a source.

    On a cluster the partitions stay there. Without one they are made here, one by one, at every pass.
    """
    if not hasattr(collection, "to_delayed"):
        raise TypeError(f"Votes on Dask are a DataFrame or a bag of blocks, got a {type(collection).__name__}.")
    parts = np.ravel(np.array(collection.to_delayed(), dtype=object)).tolist()
    client = client or running_client()
    run = _Here() if client is None else _OnCluster(client)
    alphabet, voters, n_voters = _look_at(parts, run, rules, known)

    def open_in(alphabet: Alphabet) -> Passes:
        pack = _PackPartition(alphabet, voters, n_voters)
        if client is None:
            makers = [partial(_compute, partial(pack, number), part) for number, part in enumerate(parts)]
            engine: Any = StreamEngine(lambda: iter(makers))
        else:
            engine = DaskEngine(
                client,
                lambda: [run.start(partial(new_or, pack, number), part) for number, part in enumerate(parts)],
                n_voters,
                len(alphabet),
                progress,
            )

        def rows(function: Callable[[Rows], Any]) -> Iterator[tuple[Any, Beside]]:
            return run.in_order(
                [partial(run.start, partial(pack.answers, function, n), part) for n, part in enumerate(parts)]
            )

        return Passes(engine, rows)

    return VoteSource(alphabet, voters, n_voters, open_in, memory_limit)


def levels_on_cluster(files: FileVotes, rules: LabelRules, client: Any) -> list[Levels]:
    """Count the answers of every voter of files of numbers, each piece where a worker reads it."""
    count = partial(_levels_of_piece, replace(files, pieces=[]), rules)
    counted = client.gather([client.submit(count, piece, pure=False) for piece in _pieces_of(files)])
    return reduce(added_levels, filter(None, counted))


def _levels_of_piece(files: FileVotes, rules: LabelRules, piece: Piece) -> list[Levels] | None:
    counted = [levels_of(table, rules) for table in replace(files, pieces=[piece]).tables(rules)]
    return reduce(added_levels, counted) if counted else None


def _pieces_of(files: FileVotes) -> list[Piece]:
    return [piece for file in files.pieces for piece in list_pieces(file.path, by_row_group=True) or ()]


def open_files_on_cluster(files: FileVotes, client: Any, progress: Progress | None) -> VoteSource:
    """Return files as a source whose pieces (row groups of Parquet, whole files of other kinds) workers read."""
    pieces, submit = _pieces_of(files), partial(client.submit, pure=False)

    def open_in(alphabet: Alphabet) -> Passes:
        read = replace(files, alphabet=alphabet)

        def packed() -> list[Any]:
            return [submit(new_or, _pack_piece, read, piece) for piece in pieces]

        def rows(function: Callable[[Rows], Any]) -> Iterator[tuple[Any, Beside]]:
            return _OnCluster(client).in_order(
                [partial(submit, _answer_piece, read, function, piece) for piece in pieces]
            )

        return Passes(DaskEngine(client, packed, len(read.voters), len(alphabet), progress), rows)

    voters = np.array(files.voters, dtype=object)
    title = files.id_column or "item"
    assert files.alphabet is not None
    return VoteSource(files.alphabet, voters, len(voters), open_in, how=files.how, item_title=title)


def running_client() -> Any:
    """Return the client that is active, if there is one."""
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


# -- where partitions are worked on -------------------------------------------------------------------------


class _Here:
    """Work on partitions in this process, one after the other."""

    def start(self, function: Callable[[Any], Any], part: Any) -> Any:
        """Return the result for a partition."""
        return _compute(function, part)

    def in_order(self, tasks: list[Callable[[], Answers]]) -> Iterator[tuple[Any, Beside]]:
        """Run tasks and yield what they say."""
        for task in tasks:
            yield from task()

    def result(self, started: Any) -> Any:
        """Return a result."""
        return started


@dataclass(frozen=True)
class _OnCluster:
    """Work on partitions where they are."""

    client: Any

    def start(self, function: Callable[[Any], Any], part: Any) -> Any:
        """Return a future for the result for a partition."""
        from dask import delayed

        return self.client.compute(delayed(function)(part))

    def in_order(self, tasks: list[Callable[[], Any]]) -> Iterator[tuple[Any, Beside]]:
        """Run tasks on the cluster, a few ahead, and yield what they say in order."""
        ahead = 2 * max(len(self.client.scheduler_info()["workers"]), 1) + 2
        waiting = [task() for task in tasks[:ahead]]
        for number in range(len(tasks)):
            yield from waiting.pop(0).result()
            if number + ahead < len(tasks):
                waiting.append(tasks[number + ahead]())

    def result(self, started: Any) -> Any:
        """Return a result."""
        return started.result()


def _compute(function: Callable[[Any], Any], part: Any) -> Any:
    return function(part.compute(scheduler="synchronous"))


# -- partitions to rows -------------------------------------------------------------------------------------


def _look_at(
    parts: list[Any], run: Any, rules: LabelRules, known: NumberAlphabet | None
) -> tuple[Alphabet, NDArray | None, int]:
    """Return the alphabet of the first partitions that hold two labels, and names and number of the voters.

    Of numbers all partitions are gone through, to cut bins.
    """
    labels: dict[Any, None] = {}
    columns, alphabet = None, None
    for part in parts:  # usually the first is enough
        kinds, found, of_part, worded = run.result(run.start(partial(_look, rules), part))
        labels.update(dict.fromkeys(found))
        columns = of_part if columns is None else columns
        if columns is not None and known is not None:
            return known, *columns
        if columns is not None and kinds is not None:
            count = partial(_count_levels, worded, columns)
            counted = [run.start(partial(count, number), part) for number, part in enumerate(parts)]
            levels = reduce(added_levels, filter(None, map(run.result, counted)))
            return alphabet_of_levels(levels, kinds, columns[0], worded), *columns
        try:
            alphabet = rules.alphabet(labels)
        except VotesError as error:
            if error.kind not in TOO_EARLY:
                raise
        if columns is not None and alphabet is not None:
            return alphabet, *columns
    if columns is None:
        raise VotesError("empty", "Found array with 0 sample(s): the partitions are empty")
    return rules.alphabet(labels), *columns


def _look(
    rules: LabelRules, part: Any
) -> tuple[tuple[str, ...] | None, list, tuple[NDArray | None, int] | None, LabelRules]:
    """Return the kinds of voters that say numbers, or the labels of a partition; names and number of its columns.

    And rules that know the words of voters, where others say numbers.
    """
    tables = _as_tables(part)
    columns = columns_of(tables[0]) if tables else None
    kinds, rules = kinds_of_block(tables[0], rules) if tables else (None, rules)
    if kinds is not None:
        return kinds, [], columns, rules
    return None, list(dict.fromkeys(label for table in tables for label in labels_in(table))), columns, rules


def _count_levels(
    rules: LabelRules, columns: tuple[NDArray | None, int], number: int, part: Any
) -> list[Levels] | None:
    """Count the answers of every voter of a partition; None if it is empty."""
    tables = [read_within("Partition", number, partial(in_order_of, *columns, table)) for table in _as_tables(part)]
    return reduce(added_levels, (levels_of(table, rules) for table in tables)) if tables else None


def _as_tables(part: Any) -> list[Any]:
    """Return the tables of a partition: a frame is one, a partition of a bag is a list of them."""
    tables = list(part) if isinstance(part, list | tuple) else [part]
    return [table for table in tables if len(table)]


@dataclass(frozen=True)
class _PackPartition:
    """Partitions to rows, in an alphabet and with the columns of the first."""

    alphabet: Alphabet
    voters: NDArray | None
    n_voters: int

    def __call__(self, number: int, part: Any) -> Rows:
        """Pack a partition."""
        rows = make_all(partial(self._pack, number, table) for table in _as_tables(part))
        return joined(rows, self.n_voters, len(self.alphabet))

    def answers(self, function: Callable[[Rows], Any], number: int, part: Any) -> Answers:
        """Apply a function to the rows of each table."""
        return [(function(self._pack(number, table)), row_names(table)) for table in _as_tables(part)]

    def _pack(self, number: int, table: Any) -> Rows:
        return read_within("Partition", number, partial(pack_table, table, self.alphabet, self.voters, self.n_voters))


def _pack_piece(files: FileVotes, piece: Piece) -> Rows:
    import pyarrow as pa

    assert files.alphabet is not None
    rows = joined(make_all(files.makers([piece])), len(files.voters), len(files.alphabet))
    pa.default_memory_pool().release_unused()  # the worker may have little memory, and the next piece may be far off
    return rows


def _answer_piece(files: FileVotes, function: Callable[[Rows], Any], piece: Piece) -> Answers:
    return [(function(make()), beside) for make, beside in files.labelled([piece])]


# -- long tables --------------------------------------------------------------------------------------------


def long_frames(collection: Any, options: ReadOptions) -> LongFrames | None:
    """Return a Dask DataFrame whose columns are those of a long table; None if it is something else."""
    titles = [title for title in getattr(collection, "columns", ()) if isinstance(title, str)]
    roles = long_roles(titles, options) if len(titles) > 2 else None
    if roles is None or not (options.names_columns or len(titles) <= MOST_LONG_COLUMNS):
        return None
    return LongFrames(list(collection.to_delayed()), roles, options)


@dataclass(frozen=True, eq=False)
class MergedOnCluster:
    """The rows of a long table on the workers of a cluster, in the order of the input."""

    client: Any
    parts: list[Any]
    n_items: int
    n_repeated: int
    n_changed: int

    def tables(self) -> Iterator[Any]:
        """Yield the rows, a part at a time."""
        return (part.result() for part in self.parts)

    def open(self, make: MakeRows, progress: Progress | None) -> Passes:
        """Return how the rows are gone through."""
        submit = partial(self.client.submit, pure=False)
        engine = DaskEngine(
            self.client, lambda: [submit(make, part) for part in self.parts], make.n_voters, make.n_symbols, progress
        )

        def rows(function: Callable[[Rows], Any]) -> Iterator[tuple[Any, Beside]]:
            return _OnCluster(self.client).in_order(
                [partial(submit, make.answers, function, part) for part in self.parts]
            )

        return Passes(engine, rows)


def merge_on_cluster(
    client: Any, table: LongInput, symbols: Callable[[LongNames], NDArray[np.int8]]
) -> tuple[LongNames, MergedOnCluster]:
    """Merge a long table by item on a cluster: lines and rows go from worker to worker, and only names come here."""
    run, table = _OnCluster(client), table.by_row_group()
    bare, submit = replace(table, pieces=[]), partial(client.submit, pure=False)
    found = client.gather([run.start(partial(_names_in, bare), piece) for piece in table.pieces])
    names = reduce(LongNames.joined, found, LongNames.none())
    n_parts = max(n_parts_for(names.n_lines), len(client.scheduler_info()["workers"]))
    first_lines = np.cumsum([0, *(part.n_lines for part in found)]).tolist()
    if not names.n_lines:
        raise VotesError("empty", f"{table.name} has no rows", where={"file": table.name})
    known = client.scatter(names)
    split = [
        submit(_split_frame, bare, known, run.start(_same, piece), first_line, n_parts)
        for piece, part, first_line in zip(table.pieces, found, first_lines, strict=False)
        if part.n_lines
    ]
    refuse, symbol_of = partial(clash, table.name, names.voters.values), symbols(names)
    grouped = [
        submit(group_lines, [submit(getitem, lines, part) for lines in split], len(names.voters), symbol_of,
               table.options.repeats, refuse)
        for part in range(n_parts)
    ]  # fmt: skip
    sizes = np.array(client.gather([submit(_sizes, part) for part in grouped]))
    if not sizes[:, 0].sum():
        raise VotesError("empty", f"{table.name} names no item", where={"file": table.name})
    bounds = submit(_bounds, grouped[int(sizes[:, 0].argmax())], n_parts)
    cut = [submit(_cut, part, bounds) for part in grouped]
    arranged = [submit(arrange_rows, [submit(getitem, part, number) for part in cut]) for number in range(n_parts)]
    return names, MergedOnCluster(client, arranged, *sizes.sum(axis=0).tolist())


def _same(piece: Any) -> Any:
    return piece


def _names_in(table: LongInput, piece: Any) -> LongNames:
    names = LongNames.none()
    for lines in lines_of(table, [piece]):
        names.add(lines)
    return names


def _split_frame(table: LongInput, names: LongNames, piece: Any, first_line: int, n_parts: int) -> list[Any]:
    """Split the lines of a piece by their items."""
    found = []
    for lines in lines_of(table, [piece]):
        found.append(split_lines(lines.coded(names, first_line), n_parts))
        first_line += len(lines.items)
    return [pa.concat_tables(parts) for parts in zip(*found, strict=True)]


def _sizes(part: Grouped) -> tuple[int, int, int]:
    return part.rows.num_rows, part.n_repeated, part.n_changed


def _bounds(part: Grouped, n_parts: int) -> NDArray[np.int64]:
    return line_bounds(part.rows, n_parts)


def _cut(part: Grouped, bounds: NDArray[np.int64]) -> list[Any]:
    return cut_rows(part.rows, bounds)
