"""Spark DataFrames as sources of votes: one row an item and one column a voter, or one row a vote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.encode import columns_of, labels_in
from goldless.io.numbers import added_levels, alphabet_of_levels, kinds_of_block, levels_of
from goldless.io.open import pack_table
from goldless.io.readers.base import Progress
from goldless.io.roles import ReadOptions
from goldless.votes.alphabet import TOO_EARLY, Alphabet, LabelRules
from goldless.votes.bins import Levels, NumberAlphabet
from goldless.votes.rows import Beside, Rows
from goldless.votes.source import Passes, VoteSource
from goldless.votes.spark import SparkEngine, mapped, packed_rows, results_in_batches, sum_of

_ROWS_LOOKED_AT = 10_000


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
    frame = _renamed(frame).select(*([] if names is None else [names]), *(f"c{number}" for number in chosen))
    votes = frame.select(*(f"c{number}" for number in chosen))
    titled = [titles[number] for number in chosen]
    first = votes.limit(_ROWS_LOOKED_AT).toArrow().rename_columns(titled)
    if not first.num_rows:
        raise VotesError("empty", "Found array with 0 sample(s): the frame has no rows")
    voters, n_voters = columns_of(first)
    alphabet = known or _alphabet(votes, first, voters, rules)

    def open_in(alphabet: Alphabet) -> Passes:
        pack = _Pack(alphabet, voters, n_voters, titled, names)
        engine = SparkEngine(lambda: mapped(frame, partial(packed_rows, pack)), n_voters, len(alphabet), progress)

        def rows(function: Callable[[Rows], Any]) -> Iterator[tuple[Any, Beside]]:
            return results_in_batches(frame, partial(pack.answers, function))

        return Passes(engine, rows)

    return VoteSource(alphabet, voters, n_voters, open_in, item_title=item or "item")


def _place(titles: list[str], name: str) -> int:
    if name not in titles:
        raise VotesError("columns", f"no column {name!r}", where={"column": name})
    return titles.index(name)


def _renamed(frame: Any) -> Any:
    """Return a frame with columns c0, c1 and so on: Spark takes dots and quotes in names for syntax."""
    return frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))


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
        counted = sum_of(votes, partial(_levels, rules, first.column_names))
        return alphabet_of_levels(counted.levels, kinds, voters, rules)
    try:
        return rules.alphabet(dict.fromkeys(labels_in(first)))
    except VotesError as error:
        if error.kind not in TOO_EARLY:
            raise
    return rules.alphabet(dict.fromkeys(sum_of(votes, _labels)))


@dataclass(frozen=True, eq=False)
class _SumOfLevels:
    """The answers of every voter, counted; they add."""

    levels: list[Levels]

    def __add__(self, other: _SumOfLevels) -> _SumOfLevels:
        return _SumOfLevels(added_levels(self.levels, other.levels))


def _levels(rules: LabelRules, titles: list[str], batches: Iterator[Any]) -> Iterable[_SumOfLevels]:
    return (
        _SumOfLevels(levels_of(_table(batch).rename_columns(titles), rules)) for batch in batches if batch.num_rows
    )


def _labels(batches: Iterator[Any]) -> Iterable[list[Any]]:
    return ([*dict.fromkeys(labels_in(_table(batch)))] for batch in batches if batch.num_rows)


def _table(batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([batch])


@dataclass(frozen=True)
class _Pack:
    """Record batches to rows, in an alphabet; ``names`` is the column that names the items, the first."""

    alphabet: Alphabet
    voters: NDArray | None
    n_voters: int
    titles: list[str]
    names: str | None

    def __call__(self, batch: Any) -> Rows:
        """Pack a batch."""
        table = _table(batch)
        votes = table if self.names is None else table.drop_columns([self.names])
        return pack_table(votes.rename_columns(self.titles), self.alphabet, self.voters, self.n_voters)

    def answers(self, function: Callable[[Rows], Any], batches: Iterator[Any]) -> Iterator[tuple[Any, Beside]]:
        """Apply a function to the rows of each batch."""
        for batch in batches:
            if batch.num_rows:
                names = None if self.names is None else batch.column(self.names)
                yield function(self(batch)), Beside(names)
