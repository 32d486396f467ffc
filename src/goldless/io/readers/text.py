"""Delimited text as columns: what separates the cells, whether the first line is a header, and the cells."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.readers.columns import (
    MAX_COLUMNS,
    SAMPLE_BYTES,
    ColumnBuilder,
    Columns,
    Progress,
    empty_file,
    too_wide,
)

_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}


_BLOCK = 1 << 20

_ROWS_AT_ONCE = 1 << 8

_ASCII_BASED = {"utf-8", "utf8", "ascii", "us-ascii", "latin-1", "latin1", "iso-8859-1", "cp1252", "windows-1252"}


def read_text(
    stream: BinaryIO,
    name: str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    size: int = 0,
    progress: Progress | None = None,
) -> Columns:
    """Read CSV, TSV and their relatives; the delimiter and the presence of a header are found out if not told."""
    try:
        sample = sample_text(stream, encoding)
        if delimiter is None:
            delimiter = sniff_delimiter(sample)
        head = list(islice(csv.reader(io.StringIO(sample), delimiter=delimiter), 200))
        return _parse_text(stream, name, delimiter, header, encoding, head, size, progress)
    except UnicodeDecodeError as error:
        bad = error.object[error.start]
        raise VotesError(
            "encoding", f"{name} is not {encoding} text (byte 0x{bad:02x})", "encoding", {"file": name}
        ) from None
    except (UnicodeError, LookupError) as error:
        raise VotesError(
            "encoding", f"cannot read {name} as {encoding} text: {error}", where={"file": name}
        ) from None
    except csv.Error as error:
        if "field larger" in str(error):
            raise VotesError(
                "field",
                f"{name} holds a field of more than {csv.field_size_limit():,} characters, which no label is",
                "open-quote",
                {"file": name},
            ) from None
        raise VotesError("damaged", f"{name} is not a table of votes: {error}", where={"file": name}) from None


def sample_text(stream: BinaryIO, encoding: str) -> str:
    """Decode the start of a file, up to its last whole line."""
    data = stream.read(SAMPLE_BYTES)
    whole = len(data) < SAMPLE_BYTES
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
    first = sample.partition("\n")[
        0
    ]  # no delimiter fits every line: the commonest in the header, to name the bad line
    counts = {delimiter: first.count(delimiter) for delimiter in ",\t;|"}
    return max(counts, key=lambda delimiter: counts[delimiter]) if any(counts.values()) else ","


def _parse_text(
    stream: BinaryIO,
    name: str,
    delimiter: str,
    header: bool | None,
    encoding: str,
    head: list[list[str]],
    size: int,
    progress: Progress | None,
) -> Columns:
    head = [row for row in head if row]
    if not head:
        raise empty_file(name)
    width = len(head[0])
    if width > MAX_COLUMNS:
        raise too_wide(name)
    if width == 1:
        raise VotesError(
            "one-column", f"{name} has only one column when cut at {_called(delimiter)}", "delimiter", {"file": name}
        )
    if header is None:
        header = has_header(head)
    names = [text.strip() for text in head[0]] if header else [f"voter {column + 1}" for column in range(width)]
    builders = [ColumnBuilder() for _ in range(width)]
    line = 0
    if encoding.lower().replace("_", "-") in _ASCII_BASED and len(delimiter) == 1 and delimiter.isascii():
        line = _parse_plain(stream, builders, delimiter, header, encoding, size, progress)
    text = io.TextIOWrapper(stream, "utf-8-sig" if encoding == "utf-8" else encoding, newline="")
    reader = csv.reader(text, delimiter=delimiter)
    if header and not line:
        for row in reader:
            if row:
                break
    while True:
        before = reader.line_num
        rows = list(islice(reader, _ROWS_AT_ONCE))
        if not rows:
            break
        if set(map(len, rows)) != {width}:
            rows = _whole_rows(rows, width, (line + before, line + reader.line_num), name, delimiter)
        for builder, values in zip(builders, zip(*rows, strict=True), strict=False):  # no row may be left
            builder.add(values)
        if progress is not None and size:
            progress(min(stream.tell() / size, 1.0))
    text.detach()
    if not builders[0].pieces:
        raise empty_file(name, "has a header but no rows")
    columns = [builder.column(title) for title, builder in zip(names, builders, strict=True)]
    what = "TSV" if delimiter == "\t" else "CSV" if delimiter == "," else f"text separated by {_called(delimiter)}"
    return Columns(columns, what + ("" if header else " without a header"), named=header)


def _parse_plain(
    stream: BinaryIO,
    builders: list[ColumnBuilder],
    delimiter: str,
    header: bool,
    encoding: str,
    size: int,
    progress: Progress | None,
) -> int:
    """Read text as long as it is plain: no quotes, and every line as wide as the first.

    Fields are cut by comparing bytes, several times faster than one by one. The stream is left at the first byte
    that was not read, which is the start of a line; the number of lines before it is returned.
    """
    width, lines, done = len(builders), 0, 0
    rest = b""
    while True:
        data = stream.read(_BLOCK)
        block = rest + data
        if not data and block:
            block += b"\n"  # the last line may end without one
        cut = block.rfind(b"\n") + 1
        block, rest = block[:cut], block[cut:]
        start = done
        done += len(block)
        if lines == 0 and header:
            skip = block.find(b"\n") + 1
            if skip < 2 or b'"' in block[:skip] or not block[:skip].strip():
                break
            block = block[skip:]
            lines = 1
            start += skip
        elif lines == 0 and block.startswith(b"\xef\xbb\xbf"):
            break
        if not block and not data:
            return lines
        if not block or b'"' in block or block.count(b"\r") != block.count(b"\r\n"):
            break
        fields = _cut(block, ord(delimiter), width)
        if fields is None:
            break
        starts, lengths = fields
        for column, builder in enumerate(builders):
            builder.add_bytes(block, starts[:, column], lengths[:, column], encoding)
        lines += len(starts)
        if progress is not None and size:
            progress(min(done / size, 1.0))
        if not data:
            return lines
        start = done
    stream.seek(start)
    return lines


def _cut(block: bytes, delimiter: int, width: int) -> tuple[NDArray, NDArray] | None:
    """Return where fields start and how long they are, one row a line; None if the lines differ in width."""
    data = np.frombuffer(block, dtype=np.uint8)
    newline = data == 10
    ends = np.flatnonzero(newline | (data == delimiter))
    if len(ends) % width or len(ends) // width != np.count_nonzero(newline):
        return None
    table = ends.reshape(-1, width)
    if not newline[table[:, -1]].all():
        return None
    starts = np.empty_like(table)
    starts.flat[0] = 0
    starts.flat[1:] = ends[:-1] + 1
    lengths = table - starts
    return None if lengths.max() > csv.field_size_limit() else (starts, lengths)


def _called(delimiter: str) -> str:
    return _DELIMITERS.get(delimiter, repr(delimiter))


def _whole_rows(
    rows: list[list[str]], width: int, lines: tuple[int, int], name: str, delimiter: str
) -> list[list[str]]:
    """Drop empty lines, and name the first line that has another number of fields than the header."""
    before, after = lines
    for number, row in enumerate(rows):
        if row and len(row) != width:
            place = f"line {before + number + 1}" if after - before == len(rows) else f"a line after line {before}"
            raise VotesError(
                "ragged",
                f"{name}: {place} has {len(row)} field{'s' * (len(row) != 1)} where the first line has {width} "
                f"(cut at {_called(delimiter)})",
                where={"file": name, "line": before + number + 1},
            )
    return [row for row in rows if row]


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
