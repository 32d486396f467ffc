"""Spark DataFrames as sources of votes, one row an item or one row a vote; and files that workers of Spark read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.arrays import table_of_lists
from goldless.io.encode import columns_of, labels_in
from goldless.io.numbers import added_levels, alphabet_of_levels, kinds_of_block, levels_of
from goldless.io.open import pack_table
from goldless.io.readers.base import Progress
from goldless.io.readers.stream import FileVotes, LongFiles, Piece, pieces_of
from goldless.io.roles import ReadOptions
from goldless.votes.alphabet import MISSING_TOKENS, TOO_EARLY, Alphabet, LabelRules
from goldless.votes.bins import Levels, NumberAlphabet
from goldless.votes.rows import Beside, Rows
from goldless.votes.source import Passes, VoteSource
from goldless.votes.spark import SparkEngine, mapped, packed_rows, results_in_batches, sum_of

_ROWS_LOOKED_AT = 10_000
_LISTS = "votes"  # a column that holds the votes of all voters
_NUMBERS = frozenset({"boolean", "tinyint", "smallint", "int", "bigint", "float", "double"})


def open_spark(
    frame: Any, options: ReadOptions, known: NumberAlphabet | None, progress: Progress | None
) -> VoteSource:
    """Return a DataFrame of Spark as a source; its rows stay where Spark has them."""
    item, rules = options.id_column, options.rules
    if options.item is not None or options.voter is not None or options.label is not None:
        frame, item = _wide(frame, options), options.item
    ignored = options.ignore if options.truth is None else options.ignore | {options.truth}
    titles = list(frame.columns)
    for name in (item, *sorted(ignored)):
        if name is not None:
            _place(titles, name)
    chosen = [number for number, title in enumerate(titles) if title != item and title not in ignored]
    names = None if item is None else f"c{_place(titles, item)}"
    frame, titled = _renamed(frame), [titles[number] for number in chosen]
    columns = [f"c{number}" for number in chosen]
    first = frame.select(*columns).limit(_ROWS_LOOKED_AT).toArrow().rename_columns(titled)
    if not first.num_rows:
        raise VotesError("empty", "Found array with 0 sample(s): the frame has no rows")
    voters, n_voters = columns_of(first)
    in_lists = _in_lists(frame, columns)
    votes = frame.select(*in_lists)
    alphabet = known or _alphabet(votes, first, voters, rules)

    def open_in(alphabet: Alphabet) -> Passes:
        pack = _Pack(alphabet, voters, n_voters, titled)
        engine = SparkEngine(lambda: mapped(votes, pack.packed), n_voters, len(alphabet), progress)

        def rows(function: Callable[[Rows], Any]) -> Iterator[tuple[Any, Beside]]:
            named = frame.select(*in_lists, *([] if names is None else [names]))
            return results_in_batches(named, partial(pack.answers, function, names))

        return Passes(engine, rows)

    return VoteSource(alphabet, voters, n_voters, open_in, item_title=item or "item")


def _place(titles: list[str], name: str) -> int:
    if name not in titles:
        raise VotesError("columns", f"no column {name!r}", where={"column": name})
    return titles.index(name)


def _renamed(frame: Any) -> Any:
    """Return a frame with columns c0, c1 and so on: Spark takes dots and quotes in names for syntax."""
    return frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))


def _in_lists(frame: Any, columns: list[str]) -> list[Any]:
    """Return votes that are numbers of one type as a list a row, which Spark hands over in half the time."""
    from pyspark.sql import functions

    kinds = {kind for name, kind in frame.dtypes if name in columns}
    return [functions.array(*columns).alias(_LISTS)] if len(kinds) == 1 and kinds <= _NUMBERS else columns


def _wide(frame: Any, options: ReadOptions) -> Any:
    """Return one row an item, sorted, and one column a voter of a frame with one row a vote."""
    from pyspark.sql import functions

    if options.item is None or options.voter is None or options.label is None:
        raise VotesError("columns", "a long frame has three columns: item, voter and label")
    titles = list(frame.columns)
    item, voter, label = (f"c{_place(titles, name)}" for name in (options.item, options.voter, options.label))
    votes = _renamed(frame).select(item, voter, label)
    twice = votes.groupBy(item, voter).count().where("count > 1").limit(1).collect()
    if twice:
        who, what = twice[0][voter], twice[0][item]
        raise VotesError("duplicate", f"{who!r} votes more than once on {what!r}", where={"item": what, "voter": who})
    answers = votes.groupBy(item).pivot(voter).agg(functions.first(label)).orderBy(item)
    return answers.toDF(options.item, *answers.columns[1:])


def _alphabet(votes: Any, first: Any, voters: NDArray | None, rules: LabelRules) -> Alphabet:
    """Return the alphabet of the first rows, or of all if those are too few; of numbers all are gone through."""
    kinds, rules = kinds_of_block(first, rules)
    if kinds is not None:
        counted = sum_of(votes, partial(_levels, rules, first.column_names), votes.rdd.getNumPartitions())
        return alphabet_of_levels(counted.levels, kinds, voters, rules)
    try:
        return rules.alphabet(dict.fromkeys(labels_in(first)))
    except VotesError as error:
        if error.kind not in TOO_EARLY:
            raise
    found = sum_of(votes, partial(_labels, first.column_names), votes.rdd.getNumPartitions())
    return rules.alphabet(dict.fromkeys(found))


@dataclass(frozen=True, eq=False)
class _SumOfLevels:
    """The answers of every voter, counted; they add."""

    levels: list[Levels]

    def __add__(self, other: _SumOfLevels) -> _SumOfLevels:
        return _SumOfLevels(added_levels(self.levels, other.levels))


def _levels(rules: LabelRules, titles: list[str], batches: Iterator[Any]) -> Iterable[_SumOfLevels]:
    return (_SumOfLevels(levels_of(_table(batch, titles), rules)) for batch in batches if batch.num_rows)


def _labels(titles: list[str], batches: Iterator[Any]) -> Iterable[list[Any]]:
    return ([*dict.fromkeys(labels_in(_table(batch, titles)))] for batch in batches if batch.num_rows)


def _table(votes: Any, titles: list[str]) -> Any:
    """Return a record batch of votes as a table: columns, or one column of lists."""
    import pyarrow as pa

    if votes.schema.names == [_LISTS]:
        return table_of_lists(votes.column(0), titles)
    return pa.Table.from_batches([votes]).rename_columns(titles)


@dataclass(frozen=True)
class _Pack:
    """Record batches to rows, in an alphabet."""

    alphabet: Alphabet
    voters: NDArray | None
    n_voters: int
    titles: list[str]

    def __call__(self, batch: Any) -> Rows:
        """Pack a batch."""
        return pack_table(_table(batch, self.titles), self.alphabet, self.voters, self.n_voters)

    def packed(self, batches: Iterator[Any]) -> Iterator[Rows]:
        """Pack the batches of a partition."""
        return packed_rows(partial(self, batch) for batch in batches)

    def answers(
        self, function: Callable[[Rows], Any], names: str | None, batches: Iterator[Any]
    ) -> Iterator[tuple[Any, Beside]]:
        """Apply a function to the rows of each batch; ``names`` is the last column, if it names the items."""
        for batch in batches:
            if batch.num_rows:
                votes = batch if names is None else batch.select([*range(batch.num_columns - 1)])
                yield function(self(votes)), Beside(None if names is None else batch.column(names))


# -- files --------------------------------------------------------------------------------------------------


def open_files_on_spark(files: FileVotes, session: Any, progress: Progress | None) -> VoteSource:
    """Return files as a source whose pieces workers read themselves, several times faster than Spark does."""
    pieces = pieces_of(files)
    voters, frame = np.array(files.voters, dtype=object), _numbered(session, pieces)

    def open_in(alphabet: Alphabet) -> Passes:
        read = _Pieces(replace(files, alphabet=alphabet, pieces=[]), pieces)
        engine = SparkEngine(lambda: mapped(frame, read.packed), len(voters), len(alphabet), progress)
        return Passes(engine, lambda function: results_in_batches(frame, partial(read.answers, function)))

    title = files.id_column or "item"
    assert files.alphabet is not None
    return VoteSource(files.alphabet, voters, len(voters), open_in, how=files.how, item_title=title)


def levels_on_spark(files: FileVotes, rules: LabelRules, session: Any) -> list[Levels]:
    """Count the answers of every voter of files of numbers, each piece where a worker reads it."""
    pieces = pieces_of(files)
    read = _Pieces(replace(files, pieces=[]), pieces)
    frame = _numbered(session, pieces)
    return sum_of(frame, partial(read.levels, rules), frame.rdd.getNumPartitions()).levels


def open_long_on_spark(
    files: LongFiles, session: Any, options: ReadOptions, known: NumberAlphabet | None, progress: Progress | None
) -> VoteSource:
    """Return a long table in files as a source: Spark reads it, and joins the votes of an item."""
    frames = (
        session.read.csv(piece.path, header=True, inferSchema=True)
        if piece.kind == "csv"
        else session.read.parquet(piece.path)
        for piece in files.pieces
    )
    roles, rules = files.roles, options.rules
    rules = replace(rules, missing=(*rules.missing, *sorted(MISSING_TOKENS)))  # as in every file
    named = replace(options, item=roles.item, voter=roles.voter, label=roles.label, rules=rules)
    return open_spark(reduce(lambda one, other: one.union(other), frames), named, known, progress)


def _numbered(session: Any, pieces: list[Piece]) -> Any:
    """Return a frame of the numbers of pieces, a partition for each core: a task costs Spark something too."""
    n_parts = min(len(pieces), session.sparkContext.defaultParallelism)
    return session.range(0, len(pieces), 1, max(n_parts, 1))


@dataclass(frozen=True)
class _Pieces:
    """Pieces of files, read where their numbers are."""

    files: FileVotes
    pieces: list[Piece]

    def packed(self, batches: Iterator[Any]) -> Iterator[Rows]:
        """Pack pieces."""
        return packed_rows(self.files.makers(self._of(batches)))

    def answers(self, function: Callable[[Rows], Any], batches: Iterator[Any]) -> Iterator[tuple[Any, Beside]]:
        """Apply a function to the rows of pieces, some at a time."""
        return ((function(make()), beside) for make, beside in self.files.labelled(self._of(batches)))

    def levels(self, rules: LabelRules, batches: Iterator[Any]) -> Iterator[_SumOfLevels]:
        """Count the answers of every voter."""
        tables = replace(self.files, pieces=self._of(batches)).tables(rules)
        return (_SumOfLevels(levels_of(table, rules)) for table in tables)

    def _of(self, batches: Iterator[Any]) -> list[Piece]:
        return [self.pieces[number] for batch in batches for number in batch.column(0).to_pylist()]
