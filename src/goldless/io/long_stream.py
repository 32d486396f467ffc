"""Long tables as sources of votes: merged by item once, in a temporary folder or on a cluster, then gone through."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from goldless.errors import Note, VotesError
from goldless.io.arrays import arrow_table
from goldless.io.frames import unknown_truth
from goldless.io.merge import (
    LINES_OF_A_PART,
    Grouped,
    LongLines,
    LongNames,
    arrange_rows,
    batches_of_lines,
    cut_rows,
    group_lines,
    line_bounds,
    n_parts_for,
    rows_of,
    split_lines,
)
from goldless.io.readers.base import Progress, Roles
from goldless.io.readers.columns import Column
from goldless.io.readers.stream import LongFiles
from goldless.io.roles import ReadOptions, are_numbers, column_of_numbers
from goldless.io.tables import (
    JUDGED_CELLS,
    common_labels,
    nameless_notes,
    refuse_wrong_guess,
    repeat_notes,
    truth_words,
    two_labels,
    with_changes,
)
from goldless.kernels.sparse import first_vote
from goldless.kernels.threads import ordered_stream
from goldless.plain import is_number
from goldless.votes.alphabet import UNKNOWN, Alphabet
from goldless.votes.engine import StreamEngine
from goldless.votes.kinds import JUDGED_ITEMS
from goldless.votes.long import are_sparse
from goldless.votes.rows import Beside, Rows
from goldless.votes.source import Passes, VoteSource
from goldless.votes.sparse import SparseRows
from goldless.votes.words import are_usual, are_words


@dataclass(frozen=True, eq=False)
class LongFrames:
    """A long table in frames that are made when they are needed; what :class:`LongFiles` is for files."""

    pieces: list[Any]  # frames, or objects whose `compute` makes them
    # roles, options, name, how, certain: as of `LongFiles`
    roles: Roles
    options: ReadOptions
    name: str = "the votes"
    how: str = "a frame of dask"
    certain: bool = False

    @property
    def n_lines(self) -> int:
        """Number of lines, about."""
        return len(self.pieces) * LINES_OF_A_PART // 2

    def batches(self, piece: Any, columns: list[str]) -> Iterator[Any]:
        """Yield the lines of a piece."""
        frame = piece.compute(scheduler="synchronous") if hasattr(piece, "compute") else piece
        table = arrow_table(frame)
        if table is not None and table.num_rows:
            yield table.select(columns)

    def by_row_group(self) -> LongFrames:
        """Return the same frames."""
        return self


LongInput = LongFiles | LongFrames


@dataclass(frozen=True, eq=False)
class LongTable:
    """A long table that was merged by item."""

    files: LongInput  # what was merged
    names: LongNames  # voters, labels and true labels
    # labels, symbol_of: distinct labels after spellings were joined, and which of them each label is
    labels: list[Any]
    symbol_of: NDArray[np.int8]
    merged: Any  # has `tables()`, `n_items`, `n_repeated`, `n_changed` and `open(...)`
    notes: tuple[Note, ...]  # what was left out

    @property
    def voters(self) -> NDArray:
        """Names of the voters."""
        return np.array([*map(str, self.names.voters.values.to_pylist()), None], dtype=object)[:-1]

    def source(self, options: ReadOptions, memory_limit: int, progress: Progress | None) -> VoteSource:
        """Return the votes in the classes that the options name, or else those that occur."""
        files, name = self.files, self.files.name
        label = self._label_column()
        mixed = _words_beside_numbers(label, options)
        if mixed or are_numbers([label], options.rules, lambda: self._numbers(label, options)):
            raise VotesError(
                "too-large",
                f"{name}: numbers of {len(self.names.voters):,} voters on {self.merged.n_items:,} items are too many "
                "to be held",
                "kind-labels",
                where={"file": name},
            )
        try:
            alphabet = options.rules.alphabet(self.labels, text=True)
        except VotesError as error:
            raise error.within(name, file=name) from None
        voters = self.voters
        lists = are_sparse(self.merged.n_items, len(voters), self.names.n_said - self.merged.n_repeated)

        def open_in(alphabet: Alphabet) -> Passes:
            code_of = np.array([alphabet.code(label) for label in self.labels], dtype=np.int8)
            if UNKNOWN in code_of:
                self._refuse_unknown(alphabet, code_of, voters)
            truth = None if files.options.truth is None else self._truth_codes(alphabet)
            return self.merged.open(MakeRows(len(voters), code_of, len(alphabet), truth, lists), progress)

        how = (
            f"Read as {files.how}, long ({files.roles.item!r}, {files.roles.voter!r}, {files.roles.label!r}), merged "
            f"by item: {self.names.n_said:,} votes of {len(voters):,} voters on {self.merged.n_items:,} items"
            + truth_words(files.options.truth)
            + "."
        )
        how = with_changes(how, self.merged.n_changed, files.options, "the most frequent")
        return VoteSource(
            alphabet,
            voters,
            len(voters),
            open_in,
            memory_limit,
            how=how,
            item_title=files.roles.item or "item",
            lists=lists,
        )

    def _label_column(self) -> Column:
        values = self.names.labels.values.to_pylist() if self.names.labels.values is not None else []
        return Column(str(self.files.roles.label), np.arange(len(values), dtype=np.int32), values)

    def _numbers(self, label: Column, options: ReadOptions) -> NDArray[np.float64]:
        """Return the answers on the first items as numbers, a column a voter."""
        number_of, n_voters = column_of_numbers(label, options.rules), len(self.names.voters)
        of_symbol = np.full(len(self.labels) + 1, np.nan)
        of_symbol[self.symbol_of] = number_of
        n_items = max(min(JUDGED_ITEMS, JUDGED_CELLS // max(n_voters, 1)), 1)
        table = next(iter(self.merged.tables())).slice(0, n_items)
        same = np.arange(len(self.labels), dtype=np.int8)
        return of_symbol[rows_of(table, n_voters, same, len(same)).codes.dense()]

    def _refuse_unknown(self, alphabet: Alphabet, code_of: NDArray[np.int8], voters: NDArray) -> None:
        """Raise the error of the first vote that is neither a class nor missing."""
        same, start = np.arange(len(self.labels), dtype=np.int8), 0
        for table in self.merged.tables():
            codes = rows_of(table, len(voters), same, len(same)).codes
            for symbol in np.flatnonzero(code_of == UNKNOWN):
                place = first_vote(codes, int(symbol))
                if place is not None:
                    row, voter = start + place[0], voters[place[1]]
                    where = f"row {row}, column {voter!r}"
                    error = alphabet.unknown(self.labels[symbol], where, row=row, column=voter)
                    raise error.within(self.files.name, file=self.files.name)
            start += len(codes)

    def _truth_codes(self, alphabet: Alphabet) -> NDArray[np.int8]:
        values = [] if self.names.truths.values is None else self.names.truths.values.to_pylist()
        codes = np.array([*map(alphabet.code, values), -1], dtype=np.int8)
        if UNKNOWN in codes:
            raise unknown_truth(values[int(np.flatnonzero(codes == UNKNOWN)[0])], alphabet, self.files.name)
        return codes


def _words_beside_numbers(label: Column, options: ReadOptions) -> bool:
    """Whether votes are words for a verdict and numbers that are no labels."""
    if options.rules.numbers.are_labels or options.rules.classes is not None:
        return False
    draft = options.rules.alphabet_draft(text=True)
    said = [value for value in label.values if not draft.means_missing(value)]
    words = [value for value in said if not is_number(value)]
    return len(said) - len(words) > 2 and are_words(words) and are_usual(words, options.rules)


@dataclass(frozen=True, eq=False)
class MakeRows:
    """Merged rows to votes."""

    n_voters: int
    code_of: NDArray[np.int8]  # (n_labels,): code of every label
    n_symbols: int
    truth: NDArray[np.int8] | None = None  # code of every true label, -1 at the end
    lists: bool = True  # whether rows name their voters; packed otherwise

    def __call__(self, table: Any) -> SparseRows | Rows:
        """Return the votes."""
        rows = rows_of(table, self.n_voters, self.code_of, self.n_symbols)
        return rows if self.lists else Rows.of(rows.codes.dense(), self.n_symbols)

    def beside(self, table: Any) -> Beside:
        """Return the names of the items and their truth."""
        truth = None if self.truth is None else self.truth[table.column("truth").to_numpy()]
        return Beside(table.column("item"), truth)

    def answers(self, function: Callable[[Any], Any], table: Any) -> list[tuple[Any, Beside]]:
        """Return a function of the votes, with what stands beside them."""
        return [(function(self(table)), self.beside(table))]


def long_source(files: LongInput, before: LongTable | None, client: Any) -> LongTable:
    """Merge a long table, unless it was merged before with the same reading of its labels."""
    joins = files.options.rules.classes is None
    if before is not None and (before.files.options.rules.classes is None) == joins:
        return before
    merge: Callable[..., tuple[LongNames, Any]] = _merge_here
    if client is not None:
        from goldless.io.dask import merge_on_cluster

        merge = partial(merge_on_cluster, client)
    found: list[Any] = []

    def symbols(names: LongNames) -> NDArray[np.int8]:
        """Join spellings, once all labels are known."""
        values = [] if names.labels.values is None else names.labels.values.to_pylist()
        column = Column(str(files.roles.label), np.arange(len(values), dtype=np.int32), values)
        labels, positions, notes = common_labels([column], files.options)
        found.extend((labels, positions[:, 0], notes))
        return positions[:, 0]

    names, merged = merge(files, symbols)
    labels, symbol_of, joined = found
    voters = [] if names.voters.values is None else names.voters.values.to_pylist()
    refuse_wrong_guess(files, files.roles, files.options, files.name, merged.n_items, voters, names.n_said)
    notes = [*nameless_notes(names.n_nameless), *repeat_notes(merged.n_repeated), *joined]
    return LongTable(files, names, labels, symbol_of, merged, tuple(notes))


def lines_of(table: LongInput, pieces: Sequence[Any]) -> Iterator[LongLines]:
    """Yield the lines of some pieces, many at a time."""
    titles = (table.roles.item, table.roles.voter, table.roles.label, table.options.truth)
    used = [title for title in dict.fromkeys(titles) if title]
    lines = (LongLines.of(batch, titles, table.name) for piece in pieces for batch in table.batches(piece, used))
    return batches_of_lines(lines, LINES_OF_A_PART // 4)


def clash(name: str, voters: Any, item: Any, voter: int | None) -> VotesError:
    """Return the error of two answers where there may be one."""
    return two_labels(name, item, None if voter is None else voters[voter].as_py())


# -- on disk ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MergedFile:
    """Merged rows in a file, in the order of the input; it is gone when nobody needs it any more."""

    path: Path
    n_items: int
    n_repeated: int
    n_changed: int

    def tables(self) -> Iterator[Any]:
        """Yield the rows, a record batch at a time."""
        with pa.OSFile(str(self.path)) as source, pa.ipc.open_file(source) as file:
            for number in range(file.num_record_batches):
                yield file.get_batch(number)

    def open(self, make: MakeRows, progress: Progress | None) -> Passes:
        """Return how the rows are gone through."""

        def makers() -> Iterator[Callable[[], Any]]:
            return (partial(make, table) for table in self.tables())

        def rows(function: Callable[[Any], Any]) -> Iterator[tuple[Any, Beside]]:
            for answers in ordered_stream(partial(make.answers, function), self.tables()):
                yield from answers

        return Passes(StreamEngine(makers, progress, self.n_items), rows)


class _Runs:
    """Parts of a table on disk, each a file that is written bit by bit."""

    def __init__(self, folder: Path, name: str, n_parts: int):
        self.paths = [folder / f"{name}-{number}.arrow" for number in range(n_parts)]
        self._writers: list[Any] = [None] * n_parts

    def write(self, tables: Sequence[Any]) -> None:
        """Add to every part."""
        for number, table in enumerate(tables):
            if table.num_rows:
                if self._writers[number] is None:
                    self._writers[number] = pa.ipc.new_stream(str(self.paths[number]), table.schema)
                self._writers[number].write_table(table)

    def close(self) -> None:
        """End writing."""
        for writer in self._writers:
            if writer is not None:
                writer.close()

    def taken(self) -> Iterator[list[Any]]:
        """Yield the tables of each part that is not empty, and forget them."""
        for path in self.paths:
            if path.exists():
                with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as stream:
                    table = stream.read_all()
                path.unlink()
                yield [table]


def _merge_here(files: LongInput, symbols: Callable[[LongNames], NDArray[np.int8]]) -> tuple[LongNames, MergedFile]:
    """Merge files by item in a temporary folder, in memory that their number of lines does not change."""
    folder = Path(tempfile.mkdtemp(prefix="goldless-"))
    try:
        names, merged = _merge_in(folder, files, symbols)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(merged, shutil.rmtree, folder, ignore_errors=True)
    return names, merged


def _merge_in(
    folder: Path, files: LongInput, symbols: Callable[[LongNames], NDArray[np.int8]]
) -> tuple[LongNames, MergedFile]:
    names, n_parts = LongNames.none(), n_parts_for(files.n_lines)
    split = _Runs(folder, "lines", n_parts)
    for lines in lines_of(files, files.pieces):
        first_line = names.n_lines
        names.add(lines)
        split.write(split_lines(lines.coded(names, first_line), n_parts))
    split.close()
    refuse, symbol_of, bounds = partial(clash, files.name, names.voters.values), symbols(names), None
    ranges = _Runs(folder, "rows", n_parts)
    n_items = n_repeated = n_changed = 0
    for tables in split.taken():
        grouped: Grouped = group_lines(tables, len(names.voters), symbol_of, files.options.repeats, refuse)
        bounds = line_bounds(grouped.rows, n_parts) if bounds is None else bounds
        ranges.write(cut_rows(grouped.rows, bounds))
        n_items += grouped.rows.num_rows
        n_repeated, n_changed = n_repeated + grouped.n_repeated, n_changed + grouped.n_changed
    ranges.close()
    path, writer = folder / "merged.arrow", None
    for tables in ranges.taken():
        table = arrange_rows(tables)
        writer = pa.ipc.new_file(str(path), table.schema) if writer is None else writer
        writer.write_table(table)
    if writer is None:
        raise VotesError("empty", f"{files.name} names no item", where={"file": files.name})
    writer.close()
    return names, MergedFile(path, n_items, n_repeated, n_changed)
