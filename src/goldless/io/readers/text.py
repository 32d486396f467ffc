"""Delimited text: what separates cells and whether there is a header is found out, Arrow reads the rest."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
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
    too_wide,
)

_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}
_BLOCK = 1 << 23
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


def read_text(file: File, options: ReaderOptions) -> Read:
    """Read delimited text; the delimiter and the presence of a header are found out if not told."""
    name, encoding, delimiter, header = file.name, options.encoding, options.delimiter, options.header
    try:
        sample = sample_text(io.BytesIO(file.head), encoding)
        if delimiter is None:
            delimiter = sniff_delimiter(sample)
        head = [row for row in islice(csv.reader(io.StringIO(sample), delimiter=delimiter), 200) if row]
        if not head:
            raise empty_file(name)
        if len(head[0]) > MAX_COLUMNS:
            raise too_wide(name)
        if len(head[0]) == 1:
            raise VotesError(
                *("one-column", f"{name} has only one column when cut at {called(delimiter)}", "delimiter"),
                {"file": name},
            )
        header = has_header(head) if header is None else header
        table = _parse(file, head[0], delimiter, header, encoding, options.progress)
    except (UnicodeError, LookupError) as error:
        raise bad_encoding(name, encoding, error) from None
    except csv.Error as error:
        raise bad_text(name, error) from None
    if not table.num_rows:
        raise empty_file(name, "has a header but no rows" if header else "is empty")
    names = (
        [text.strip() for text in head[0]] if header else [f"voter {number + 1}" for number in range(len(head[0]))]
    )
    what = "TSV" if delimiter == "\t" else "CSV" if delimiter == "," else f"text separated by {called(delimiter)}"
    how = what + ("" if header else " without a header")
    return Read(table.rename_columns(names), how, named=header, certain=False)


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


def _parse(
    file: File, first: list[str], delimiter: str, header: bool, encoding: str, progress: Progress | None
) -> pa.Table:
    """Read all columns as text, each distinct text once."""
    titles = [f"{number}" for number in range(len(first))]
    with file.open() as stream:
        quoted = _holds_quotes(stream)

    def read(threads: bool, strange: Any = None) -> pa.Table:
        with file.open() as stream:
            source = pa.PythonFile(stream if progress is None else _Told(stream, file.size, progress), mode="r")
            return arrow_csv.read_csv(
                source,
                read_options=arrow_csv.ReadOptions(
                    column_names=titles,
                    skip_rows=0,
                    block_size=_BLOCK,
                    encoding=encoding,
                    use_threads=threads,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=quoted, invalid_row_handler=strange
                ),
                convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(titles, _LABELS)),
            )

    try:
        table = read(threads=True)
    except pa.ArrowInvalid as error:
        _explain(file, read, delimiter, encoding, error)
        raise VotesError(
            "damaged", f"{file.name} is not a table of votes: {_line(error)}", where={"file": file.name}
        ) from None
    return table.slice(1) if header else table


def _holds_quotes(stream: BinaryIO) -> bool:
    """Whether a stream holds a quotation mark, within which a line may end."""
    while data := stream.read(_BLOCK):
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


def _explain(file: File, read: Any, delimiter: str, encoding: str, error: pa.ArrowInvalid) -> None:
    """Raise what is wrong with text that Arrow refuses, with the line it is in, if that can be told."""
    if "straddling object" in str(error):
        raise VotesError(
            "field", f"{file.name} holds a line of more than {_BLOCK:,} bytes", "open-quote", {"file": file.name}
        ) from None
    if "UTF8" in str(error) and encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        file.read().decode("utf-8-sig")  # says which byte
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
    line = _line_of_row(file, row.number, encoding)
    raise VotesError(
        "ragged",
        f"{file.name}: line {line} has {row.actual_columns} field{'s' * (row.actual_columns != 1)} where the first "
        f"line has {row.expected_columns} (cut at {called(delimiter)})",
        where={"file": file.name, "line": line},
    ) from None


def _line_of_row(file: File, number: int, encoding: str) -> int:
    """Return the line in which a row begins: empty lines are no rows, and a field in quotes may hold lines."""
    with file.open() as stream, io.TextIOWrapper(stream, encoding, errors="replace", newline="") as text:
        rows = csv.reader(text)
        before = 0
        for row in rows:
            number -= bool(row)
            if number <= 0:
                return before + 1
            before = rows.line_num
    return before


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def sample_text(stream: BinaryIO, encoding: str) -> str:
    """Decode the start of a file, up to its last whole line."""
    data = stream.read(HEAD_BYTES)
    whole = len(data) < HEAD_BYTES
    stream.seek(0)
    if not whole:
        data = data[: data.rfind(b"\n") + 1] or data
    if encoding == "utf-8" and data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnicodeDecodeError("utf-8", data[:2], 0, 1, "UTF-16")
    return data.decode(
        "utf-8-sig" if encoding == "utf-8" else encoding, "strict" if whole or b"\n" in data else "ignore"
    )


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
    """Tell a header from votes: a first line made only of values that the lines below it also hold is votes."""
    first = [text.strip() for text in head[0]]
    if all(_is_number(text) for text in first):
        return False
    if len(head) < 3:
        return True
    below = {text.strip() for row in head[1:] for text in row}
    return not all(text in below for text in first)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
