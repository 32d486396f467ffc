"""Delimited text: what separates cells and whether there is a header is found out, Arrow reads the rest."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import csv as arrow_csv

from goldless.errors import VotesError
from goldless.io.readers.base import (
    HEAD_BYTES,
    LIKELY,
    MAX_COLUMNS,
    POSSIBLE,
    File,
    Progress,
    Read,
    ReaderOptions,
    empty_file,
    first_line,
    too_wide,
)
from goldless.plain import is_number

_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}
BLOCK = 1 << 23
_CUTS = ",\t;|"
_MOST_ABOVE = 50  # lines above a table
_LABELS = pa.dictionary(pa.int32(), pa.string())


class TextReader:
    """CSV, TSV and their relatives."""

    name, title, together = "csv", "CSV, TSV and other delimited text", False

    def sniff(self, file: File) -> float | None:
        """Return that text may be a table."""
        head = file.head
        if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
            return None
        return LIKELY if file.ending in (".csv", ".tsv") else POSSIBLE

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read a file."""
        (file,) = files
        return read_text(file, options)


@dataclass(frozen=True)
class Layout:
    """How the text of a table is cut."""

    delimiter: str
    encoding: str
    above: int  # lines before the table: comments, a title, the `sep=;` of Excel
    header: bool  # whether the first line of the table holds the names of its columns
    names: list[str]  # the names of its columns

    def read_options(self, **more: Any) -> arrow_csv.ReadOptions:
        """Return what Arrow is told of rows and columns."""
        return arrow_csv.ReadOptions(
            column_names=self.names,
            skip_rows=self.above,
            skip_rows_after_names=int(self.header),
            block_size=BLOCK,
            encoding=self.encoding,
            **more,
        )


def layout_of(data: bytes, name: str, delimiter: str | None, header: bool | None, encoding: str) -> Layout:
    """Find out from the first bytes of a file how its text is cut, as far as the user does not say it."""
    if encoding == "utf-8" and data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        sample = _sample(data, encoding)
        above, stated = _lines_above(sample)
        body = "\n".join(sample.splitlines()[above:]) if above else sample
        if delimiter is None:
            delimiter = stated or sniff_delimiter(body)
        rows = [row for row in islice(csv.reader(io.StringIO(body), delimiter=delimiter), 200) if row]
    except (UnicodeError, LookupError) as error:
        raise bad_encoding(name, encoding, error) from None
    except csv.Error as error:
        raise bad_text(name, error) from None
    if not rows:
        raise empty_file(name)
    if len(rows[0]) > MAX_COLUMNS:
        raise too_wide(name)
    header = has_header(rows) if header is None else header
    names = _titles(rows[0]) if header else [f"column {number + 1}" for number in range(len(rows[0]))]
    return Layout(delimiter, encoding, above, header, names)


def _titles(first: list[str]) -> list[str]:
    """Return the names in a header; columns without one, besides the first, are called as pandas calls them."""
    names = [text.strip() for text in first]
    names[0] = names[0].removeprefix("#").lstrip()
    return [text or (f"Unnamed: {number}" if number else "") for number, text in enumerate(names)]


def _lines_above(sample: str) -> tuple[int, str | None]:
    """Return how many lines stand above a table, and the delimiter if one of them names it.

    These are comments, lines without a delimiter where others have one, and ``sep=;``. A comment that is cut like the
    line below it is the header.
    """
    lines = sample.splitlines()[:_MOST_ABOVE]
    if lines and (stated := re.fullmatch(r"\"?sep=(.)\"?", lines[0].strip(), re.IGNORECASE)):
        return 1, stated[1]
    above = 0
    while above < len(lines) and _is_above(lines[above]):
        above += 1
    if above == len(lines):
        return 0, None
    delimiter = max(_CUTS, key=lines[above].count)
    if (
        above
        and lines[above - 1].startswith("#")
        and lines[above - 1].count(delimiter) == lines[above].count(delimiter)
    ):
        above -= 1
    return above, None


def _is_above(line: str) -> bool:
    """Whether a line is a comment, or has one field at most."""
    return line.startswith("#") or (line.count('"') % 2 == 0 and not any(cut in line.strip(_CUTS) for cut in _CUTS))


def read_text(file: File, options: ReaderOptions) -> Read:
    """Read delimited text; the delimiter and the presence of a header are found out if not told."""
    name = file.name
    layout = layout_of(file.head, name, options.delimiter, options.header, options.encoding)
    called_so = called(layout.delimiter)
    if len(layout.names) == 1:
        seen = f"{name} has only one column when cut at {called_so}"
        raise VotesError("one-column", seen, "delimiter", {"file": name})
    try:
        table = _parse(file, layout, options.progress)
    except UnicodeDecodeError as error:
        raise bad_encoding(name, layout.encoding, error) from None
    if not table.num_rows:
        raise empty_file(name, "has a header but no rows" if layout.header else "is empty")
    what = {"\t": "TSV", ",": "CSV"}.get(layout.delimiter, f"text separated by {called_so}")
    how = what + ("" if layout.header else " without a header") + above_words(layout)
    return Read(table.rename_columns(layout.names), how, named=layout.header, certain=False)


def above_words(layout: Layout) -> str:
    """Say how many lines above a table were left out."""
    return f" below {layout.above} other line{'s' * (layout.above > 1)}" if layout.above else ""


def bad_encoding(name: str, encoding: str, error: Exception) -> VotesError:
    """Return the error of text in another encoding."""
    if isinstance(error, UnicodeDecodeError):
        seen = f"{name} is not {encoding} text (byte 0x{error.object[error.start]:02x})"
        return VotesError("encoding", seen, "encoding", {"file": name})
    return VotesError("encoding", f"cannot read {name} as {encoding} text: {error}", where={"file": name})


def bad_text(name: str, error: csv.Error) -> VotesError:
    """Return the error of text that cannot be cut into fields."""
    if "field larger" in str(error):
        limit = f"{csv.field_size_limit():,}"
        seen = f"{name} holds a field of more than {limit} characters, which no label is"
        return VotesError("field", seen, "open-quote", {"file": name})
    return VotesError("damaged", f"{name} is not a table of votes: {error}", where={"file": name})


def long_line(name: str) -> VotesError:
    """Return the error of text with a line that Arrow does not hold."""
    return VotesError("field", f"{name} holds a line of more than {BLOCK:,} bytes", "open-quote", {"file": name})


def _parse(file: File, layout: Layout, progress: Progress | None) -> pa.Table:
    """Read all columns as text, each distinct text once."""
    titles = [f"{number}" for number in range(len(layout.names))]  # names may occur twice
    cut = replace(layout, names=titles)
    with file.open() as stream:
        quoted = _holds_quotes(stream)

    def read(threads: bool, strange: Any = None) -> pa.Table:
        with file.open() as stream:
            source = pa.PythonFile(stream if progress is None else _Told(stream, file.size, progress), mode="r")
            return arrow_csv.read_csv(
                source,
                read_options=cut.read_options(use_threads=threads),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=layout.delimiter, newlines_in_values=quoted, invalid_row_handler=strange
                ),
                convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(titles, _LABELS)),
            )

    try:
        return read(threads=True)
    except pa.ArrowInvalid as error:
        _explain(file, read, layout, error)
        raise VotesError(
            "damaged", f"{file.name} is not a table of votes: {first_line(error)}", where={"file": file.name}
        ) from None


def _holds_quotes(stream: BinaryIO) -> bool:
    """Whether a stream holds a quotation mark, within which a line may end."""
    while data := stream.read(BLOCK):
        if b'"' in data:
            return True
    return False


class _Told:
    """A stream that tells how far it has been read."""

    def __init__(self, stream: BinaryIO, size: int, progress: Progress):
        self._stream, self._size, self._progress, self._done = stream, max(size, 1), progress, 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._done += len(data)
        self._progress(min(self._done / self._size, 1.0))
        return data

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def _explain(file: File, read: Any, layout: Layout, error: pa.ArrowInvalid) -> None:
    """Raise what is wrong with text that Arrow refuses, with the line it is in, if that can be told."""
    if "straddling object" in str(error):
        raise long_line(file.name) from None
    if "UTF8" in str(error) and layout.encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        file.read().decode()  # says which byte
    ragged: list[Any] = []

    def strange(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        read(False, strange)
    except pa.ArrowInvalid:
        if not ragged:
            return
    row = ragged[0]
    line = _line_of_row(file, row.number, layout)
    raise VotesError(
        "ragged",
        f"{file.name}: line {line} has {row.actual_columns} field{'s' * (row.actual_columns != 1)} where the first "
        f"line has {row.expected_columns} (cut at {called(layout.delimiter)})",
        where={"file": file.name, "line": line},
    ) from None


def _line_of_row(file: File, number: int, layout: Layout) -> int:
    """Return the line in which a row begins: empty lines are no rows, and a field in quotes may hold lines."""
    number -= layout.above
    with file.open() as stream, io.TextIOWrapper(stream, layout.encoding, errors="replace", newline="") as text:
        rows = csv.reader(islice(text, layout.above, None))
        before = 0
        try:
            for row in rows:
                number -= bool(row)
                if number <= 0:
                    return layout.above + before + 1
                before = rows.line_num
        except csv.Error:  # a field that is too long for Python begins here
            return layout.above + before + 1
        return layout.above + before


def _sample(data: bytes, encoding: str) -> str:
    """Decode the start of a file, up to its last whole line."""
    whole = len(data) < HEAD_BYTES  # else these are the first bytes of more, which may end within a character
    text = data.decode(encoding, "strict" if whole else "ignore")
    if "\n" not in text:
        text = text.replace("\r", "\n")
    return text if whole else text[: text.rfind("\n") + 1] or text


def sniff_delimiter(sample: str) -> str:
    """Return the delimiter that cuts the first lines into most columns of equal number."""
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        try:
            rows = [row for row in islice(csv.reader(io.StringIO(sample), delimiter=delimiter), 50) if row]
        except csv.Error:  # a field too long to be one
            continue
        widths = {len(row) for row in rows}
        if len(widths) == 1 and (width := widths.pop()) > most:
            if delimiter == " " and any("" in row for row in rows):
                continue
            best, most = delimiter, width
    if most > 1:
        return best
    first = sample.partition("\n")[0]  # no delimiter fits every line: the commonest there, to name the bad line
    counts = {delimiter: first.count(delimiter) for delimiter in ",\t;|"}
    return max(counts, key=lambda delimiter: counts[delimiter]) if any(counts.values()) else ","


def called(delimiter: str) -> str:
    """Return how a delimiter is called in messages."""
    return _DELIMITERS.get(delimiter, repr(delimiter))


def has_header(head: list[list[str]]) -> bool:
    """Tell a header from votes: a first line made only of values that the lines below it also hold is votes.

    So is one whose first field alone is new, above names of items; and, in a table of one vote a row, one of which
    two fields stand in their own columns again.
    """
    first = [text.strip() for text in head[0]]
    if all(is_number(text) for text in first):
        return False
    if len(head) < 3:
        return True
    columns = [{text.strip() for text in column} for column in zip(*head[1:], strict=False)]
    below = set().union(*columns)
    if len(first) == 3 and max(map(len, columns)) < len(head) - 1:
        again = sum(text in column for text, column in zip(first, columns, strict=False))
        return again < 2
    named = len(first) > 2 and first[0] not in below and len(columns[0]) == len(head) - 1
    return not all(text in below for text in (first[1:] if named else first))
