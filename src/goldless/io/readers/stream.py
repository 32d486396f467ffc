"""Files and folders of votes in record batches: what the columns mean is decided from the first rows.

Tables in Parquet, Feather (Arrow) and CSV are streamed, long ones after a merge (:mod:`goldless.io.merge`); other
formats are read into memory by :func:`goldless.io.files.read_votes`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from goldless.errors import Note, VotesError
from goldless.io.files import MOST_LONG_COLUMNS, find_files, has_rule, preset_for, without_truth
from goldless.io.frames import rows_of_batch, truth_of_batch
from goldless.io.numbers import rows_of_numbers, table_of_batch
from goldless.io.readers.base import (
    MAX_COLUMNS,
    File,
    Roles,
    empty_file,
    first_line,
    open_arrow,
    packing_of,
    same_name,
    too_wide,
)
from goldless.io.readers.columns import Columns, as_grades, as_meant, column_of
from goldless.io.readers.presets import CROWDKIT
from goldless.io.readers.registry import sniff
from goldless.io.readers.text import Layout, bad_encoding, bad_text, layout_of, long_line
from goldless.io.roles import ReadOptions, check_names, long_roles, names_items
from goldless.io.tables import doubtful_labels, may_be_grades, truth_words, wide_alphabet
from goldless.io.triples import roles_by_content
from goldless.votes.alphabet import MISSING_TOKENS, TOO_EARLY, Alphabet, LabelRules
from goldless.votes.bins import NumberAlphabet
from goldless.votes.rows import Beside, Rows

_STREAMED = ("parquet", "feather", "csv")
_HEAD_ROWS = 1 << 16
_BATCH_BYTES = 1 << 23  # a batch of Parquet is about as large as a block of CSV
_FEWEST_ROWS = 1 << 12
_LINES_AT_ONCE = 1 << 18
_BYTES_OF_A_LINE = 12  # of a long table, at least
_UNPACKED = 6  # times the size of packed text


@dataclass(frozen=True)
class Piece:
    """A part of a data set that is read by itself: a file, or some row groups of a Parquet file."""

    path: str
    kind: str
    row_groups: tuple[int, ...] | None = None  # of a Parquet file; None if all
    # size and time of the file when it was first looked at: every pass must find the same
    stamp: tuple[int, int] | None = None

    def check(self) -> None:
        """Raise if the file is not what it was when it was first looked at."""
        if self.stamp is not None and stamp_of(self.path) != self.stamp:
            raise VotesError(
                "changed", f"{self.path} changed while it was read", "leave-alone", where={"file": self.path}
            )


def stamp_of(path: str) -> tuple[int, int]:
    """Return the size of a file and when it was last written."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


@dataclass(frozen=True)
class TableReader:
    """How record batches are read: the columns wanted, and how text is cut."""

    batch_rows: int = 1 << 16  # rows of a batch (text is cut by bytes instead)
    # delimiter, header, encoding: how text is read
    delimiter: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"

    def batches(self, piece: Piece, columns: list[str] | None = None) -> Iterator[Any]:
        """Yield the record batches of a piece, with these columns."""
        import pyarrow as pa

        try:
            piece.check()
            if piece.kind == "csv":
                yield from self._text(piece, columns)
            else:
                read = self._parquet if piece.kind == "parquet" else self._feather
                for batch in read(piece, columns):
                    batch.validate(full=True)  # a damaged file may point outside its own bytes
                    yield batch
            piece.check()
        except KeyError as error:
            raise _no_column(piece.path, error.args[0], "which other files have") from None
        except csv.Error as error:
            raise bad_text(piece.path, error) from None
        except UnicodeError as error:
            raise bad_encoding(piece.path, self.encoding, error) from None
        except (pa.ArrowException, OSError) as error:
            piece.check()
            if "straddling object" in str(error):
                raise long_line(piece.path) from None
            raise VotesError(
                "damaged", f"cannot read {piece.path}: {first_line(error)}", where={"file": piece.path}
            ) from None

    def _parquet(self, piece: Piece, columns: list[str] | None) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import parquet

        schema = parquet.read_schema(piece.path)
        names = schema.names if columns is None else columns
        _check_columns(piece.path, names, schema.names)
        texts = [
            n
            for n in names
            if pa.types.is_string(schema.field(n).type) or pa.types.is_large_string(schema.field(n).type)
        ]
        with parquet.ParquetFile(piece.path, read_dictionary=texts, pre_buffer=False) as file:
            groups = None if piece.row_groups is None else list(piece.row_groups)
            width = sum(_width(schema.field(name).type) for name in names)
            rows = min(self.batch_rows, max(_BATCH_BYTES // width, _FEWEST_ROWS))
            yield from file.iter_batches(batch_size=rows, row_groups=groups, columns=names)

    def _feather(self, piece: Piece, columns: list[str] | None) -> Iterator[Any]:
        import pyarrow as pa

        # not mapped into memory: a file that is cut off while it is read would end the process
        with pa.OSFile(piece.path) as source, pa.ipc.open_file(source) as file:
            names = file.schema.names if columns is None else columns
            _check_columns(piece.path, names, file.schema.names)
            for number in range(file.num_record_batches):
                batch = file.get_batch(number).select(names)
                for start in range(0, batch.num_rows, self.batch_rows):
                    yield batch.slice(start, self.batch_rows)

    def _text(self, piece: Piece, columns: list[str] | None) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        layout = self.layout(piece)
        wanted = layout.names if columns is None else columns
        _check_columns(piece.path, wanted, layout.names)
        kind = pa.dictionary(pa.int32(), pa.string())
        with open_arrow(piece.path) as stream:
            reader = arrow_csv.open_csv(
                stream,
                read_options=layout.read_options(),
                parse_options=arrow_csv.ParseOptions(delimiter=layout.delimiter),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, kind),
                    include_columns=wanted,
                    null_values=sorted(MISSING_TOKENS),
                    strings_can_be_null=True,
                ),
            )
            yield from (batch for batch in reader if batch.num_rows)

    def layout(self, piece: Piece) -> Layout:
        """Find out how a text is cut."""
        return layout_of(File(piece.path).head, piece.path, self.delimiter, self.header, self.encoding)


def _width(kind: Any) -> int:
    """Return how many bytes a value takes in a batch, about."""
    try:
        return max(kind.bit_width // 8, 1)
    except ValueError:  # texts are read as numbers of a dictionary
        return 4


def _check_columns(path: str, wanted: list[str], present: list[str]) -> None:
    if len(present) > MAX_COLUMNS:
        raise too_wide(path)
    for name in present if wanted is present else wanted:
        if present.count(name) > 1:
            raise same_name(path, name)
        if name not in present:
            raise _no_column(path, name, "which the first file has")


def _no_column(path: str, name: Any, why: str) -> VotesError:
    return VotesError("unknown-column", f"{path} has no column {name!r}, {why}", where={"file": path, "column": name})


def list_pieces(path: str | os.PathLike, by_row_group: bool = False) -> list[Piece] | None:
    """Return the pieces of a file or folder in order of name; None if it is of a kind that is not streamed."""
    files, _ = without_truth(find_files(path)[0])
    pieces: list[Piece] = []
    for file in files:
        found = sniff(file)
        if found is None or found[1].name not in _STREAMED or file.packing == "xz":
            return None
        pieces.append(Piece(str(file.path), found[1].name, stamp=stamp_of(str(file.path))))
    if len({piece.kind for piece in pieces}) > 1:
        return None
    if by_row_group and pieces[0].kind == "parquet":
        from pyarrow import parquet

        counts = [parquet.read_metadata(piece.path).num_row_groups for piece in pieces]
        return [replace(p, row_groups=(g,)) for p, n in zip(pieces, counts, strict=True) for g in range(n)]
    return pieces


def _stated_rows(pieces: list[Piece]) -> int | None:
    """Return how many rows pieces say they have; None if they do not say it."""
    if pieces[0].kind != "parquet":
        return None
    from pyarrow import parquet

    return sum(parquet.read_metadata(piece.path).num_rows for piece in pieces)


@dataclass(frozen=True, eq=False)
class FileVotes:
    """A file or folder of votes whose columns have been understood."""

    pieces: list[Piece]
    reader: TableReader
    alphabet: Alphabet | None  # the classes, as far as the first rows show them
    voters: list[str]  # columns of votes
    # id_column, truth: columns that name the items and hold the truth
    id_column: str | None
    truth: str | None
    how: str  # one sentence on how the file was read
    notes: tuple[Note, ...] = ()  # what was left out
    left_out: frozenset[str] = frozenset()  # columns that are neither
    rules: LabelRules | None = None  # where words stand beside numbers, rules that know the words

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if the files say so."""
        return _stated_rows(self.pieces)

    def tables(self, rules: LabelRules) -> Iterator[Any]:
        """Yield the votes of numbers, a table for each record batch."""
        for piece in self.pieces:
            for batch in self.reader.batches(piece, self.voters):
                yield table_of_batch(batch, self.voters, rules, piece.path)

    def makers(self, pieces: list[Piece] | None = None) -> Iterator[Callable[[], Rows]]:
        """Yield functions that make rows, in order: read here, pack there."""
        return (make for make, _ in self.labelled(pieces, with_ids=False))

    def labelled(
        self, pieces: list[Piece] | None = None, with_ids: bool = True
    ) -> Iterator[tuple[Callable[[], Rows], Beside]]:
        """Yield functions that make rows, each with the names of the items and their truth."""
        more = [name for name in (self.id_column, self.truth) if with_ids and name is not None]
        for piece in self.pieces if pieces is None else pieces:
            start = 0
            for batch in self.reader.batches(piece, [*self.voters, *more]):

                def make(batch: Any = batch, start: int = start, path: str = piece.path) -> Rows:
                    assert self.alphabet is not None
                    if isinstance(self.alphabet, NumberAlphabet):
                        return rows_of_numbers(batch, self.voters, self.alphabet, path)
                    return rows_of_batch(batch, self.voters, self.alphabet, path, start)

                items = batch.column(self.id_column) if self.id_column in more else None
                truth = None
                if self.truth in more and self.alphabet is not None:
                    truth = truth_of_batch(batch.column(self.truth), self.alphabet, piece.path)
                yield make, Beside(items, truth)
                start += batch.num_rows


def pieces_of(files: FileVotes) -> list[Piece]:
    """Return the pieces of files that are read one by one: row groups of Parquet, whole files of other kinds."""
    return [piece for file in files.pieces for piece in list_pieces(file.path, by_row_group=True) or ()]


@dataclass(frozen=True, eq=False)
class LongFiles:
    """A file or folder that holds a long table, one line a vote."""

    pieces: list[Piece]
    reader: TableReader
    roles: Roles  # its columns
    options: ReadOptions
    # name, how: how to call it, and how it was read
    name: str
    how: str
    certain: bool = False  # whether its columns are those of a known tool

    @property
    def n_lines(self) -> int:
        """Number of lines; about, if the files do not say it."""
        stated = _stated_rows(self.pieces)
        if stated is not None:
            return stated
        sizes = (os.path.getsize(p.path) * (_UNPACKED if packing_of(p.path) else 1) for p in self.pieces)
        return sum(size // _BYTES_OF_A_LINE for size in sizes)

    def batches(self, piece: Piece, columns: list[str]) -> Iterator[Any]:
        """Yield the lines of a piece, many at a time."""
        reader = replace(self.reader, batch_rows=max(self.reader.batch_rows, _LINES_AT_ONCE))
        return reader.batches(piece, columns)

    def by_row_group(self) -> LongFiles:
        """Return the same table in smaller pieces: row groups of Parquet, whole files of other kinds."""
        pieces = [part for piece in self.pieces for part in list_pieces(piece.path, by_row_group=True) or ()]
        return replace(self, pieces=pieces)


def understand(path: str | os.PathLike, options: ReadOptions, reader: TableReader) -> FileVotes | LongFiles | None:
    """Decide from the first rows what the columns of a file or folder are; None if it must be read into memory.

    If the classes are not listed, two must be among so many rows.
    """
    pieces = None if options.format not in (None, *_STREAMED) else list_pieces(path)
    if pieces is None:
        return None
    name = str(path)
    head_rows = _HEAD_ROWS
    while True:
        table, whole = _read_head(pieces, reader, head_rows)
        names = table.column_names
        preset = None if options.names_columns else preset_for(names)
        if len(names) == 2 or has_rule(table) or (preset is not None and preset.name != CROWDKIT):
            return None
        check_names(names, options, name)
        roles = long_roles(names, options)
        if roles is not None:
            how = _KINDS[pieces[0].kind] if preset is None else preset.title
            return LongFiles(pieces, reader, roles, options, name, how, certain=preset is not None)
        if _one_voter_a_file(pieces, reader, names):
            return None
        meant, spelt = as_meant([column_of(title, table[title], pieces[0].path) for title in names])
        if spelt or (may_be_grades(options) and as_grades(meant) is not None):
            return None
        titles = set(names) - {options.truth, *options.ignore}
        if not options.names_columns and 3 <= len(titles) <= MOST_LONG_COLUMNS:
            rows = roles_by_content([column for column in meant if column.name in titles], name)
            if rows is not None:
                return LongFiles(pieces, reader, rows[0], options, name, _KINDS[pieces[0].kind])
        columns = Columns(meant, _KINDS[pieces[0].kind])
        try:
            alphabet, wide = wide_alphabet(columns, options, name)
            break
        except VotesError as error:
            if whole or error.kind not in TOO_EARLY:
                raise
            head_rows *= 8
    items, voters = wide.items, wide.voters
    n_files = len(pieces)
    how = (
        f"Read as {columns.how}"
        + (f" in {n_files:,} files" if n_files > 1 else "")
        + f", wide, in batches: {len(voters):,} voters (columns)"
        + (f", items named by column {items.name!r}" if items is not None else "")
        + truth_words(options.truth)
        + "."
    )
    return FileVotes(
        pieces,
        reader,
        alphabet,
        [column.name for column in voters],
        None if items is None else items.name,
        options.truth,
        how,
        (*wide.notes, *(() if alphabet is None else doubtful_labels(alphabet))),
        frozenset(names) - {*(column.name for column in voters), *([items.name] if items else ()), options.truth},
        wide.rules,
    )


def _one_voter_a_file(pieces: list[Piece], reader: TableReader, names: list[str]) -> bool:
    """Whether the first two files have the same columns and items, so that they are no parts of one table."""
    title = next((title for title in names if names_items([title])), None)
    if title is None or len(pieces) < 2:
        return False
    heads = [next(reader.batches(piece), None) for piece in pieces[:2]]
    if any(head is None or set(head.schema.names) != set(names) for head in heads):
        return False
    first, second = (set(head.column(title).to_pylist()) for head in heads if head is not None)
    return 2 * len(first & second) > len(first)


_KINDS = {"parquet": "Parquet", "feather": "Feather", "csv": "CSV"}


def _read_head(pieces: list[Piece], reader: TableReader, n_rows: int) -> tuple[Any, bool]:
    """Read the first rows of a data set; say whether that is all of it."""
    import pyarrow as pa

    batches: list[Any] = []
    held, whole = 0, True
    for piece in pieces:
        for batch in reader.batches(piece):
            batches.append(batch.slice(0, n_rows - held))
            held += batches[-1].num_rows
            if held >= n_rows:
                whole = False
                break
        if not whole:
            break
    if not held:
        raise empty_file(pieces[0].path, "has columns but no rows")
    alike = [batch for batch in batches if batch.schema.names == batches[0].schema.names]
    return pa.Table.from_batches(alike), whole
