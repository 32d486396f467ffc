"""Files to columns: every format becomes the same thing, a name, distinct values and their positions.

A column keeps each distinct value once, so a file of a million rows and two labels is a few small integers a row.
What the columns mean (votes, names, truth) is decided in :mod:`goldless.votes.files`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MISSING_TOKENS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>"})
MAX_COLUMNS = 10_000
_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}
_SAMPLE = 1 << 18
_BLOCK = 1 << 20
_ROWS_AT_ONCE = 1 << 8
_ASCII_BASED = {"utf-8", "utf8", "ascii", "us-ascii", "latin-1", "latin1", "iso-8859-1", "cp1252", "windows-1252"}
_SIGNATURES = ((b"PAR1", "parquet"), (b"ARROW1", "feather"), (b"FEA1", "feather"), (b"PK\x03\x04", "npz"))
_OTHER_SIGNATURES = (
    (b"\x89PNG", "a picture"),
    (b"%PDF", "a PDF"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a .npy file (save votes and names together with np.savez)"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file (save it as CSV)"),
)

Progress = Callable[[float], None]


class VotesFileError(ValueError):
    """A file cannot be read as votes; the message is one line that says why and what to do."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a file: ``values[positions[row]]`` is the value in a row, position -1 none."""

    name: str
    positions: NDArray[np.int32]
    values: list[Any]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a file, and the words for how it was read."""

    columns: list[Column]
    how: str
    named: bool = True


def open_source(source: str | os.PathLike | BinaryIO) -> tuple[BinaryIO, str, int]:
    """Return a stream that can seek, its name for messages, and its size in bytes; decompress gzip."""
    if not isinstance(source, str | os.PathLike):
        data = source.read()
        return _unzipped(io.BytesIO(data)), "standard input", len(data)
    path = Path(source)
    try:
        if path.is_dir():
            raise VotesFileError(f"{path} is a directory, not a file of votes")
        stream = path.open("rb")
        if not stream.seekable():  # a pipe with a name, such as /dev/stdin
            data = stream.read()
            return _unzipped(io.BytesIO(data)), str(path), len(data)
        return _unzipped(stream), str(path), path.stat().st_size
    except OSError as error:
        raise VotesFileError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None


def _unzipped(stream: BinaryIO) -> BinaryIO:
    start = stream.read(2)
    stream.seek(0)
    if start != b"\x1f\x8b":
        return stream
    try:
        with stream:
            return io.BytesIO(gzip.decompress(stream.read()))
    except (OSError, EOFError) as error:
        raise VotesFileError(f"the compressed file is damaged ({error})") from None


def detect_format(stream: BinaryIO, name: str) -> str:
    """Say which format a stream holds, by its first bytes, then by the end of its name."""
    start = stream.read(_SAMPLE)
    stream.seek(0)
    if not start.strip():
        raise VotesFileError(f"{name} is empty")
    for signature, kind in _SIGNATURES:
        if start.startswith(signature):
            return kind
    for signature, what in _OTHER_SIGNATURES:
        if start.startswith(signature):
            raise VotesFileError(
                f"{name} is {what}; votes are read from CSV, TSV, Parquet, Feather, npz or JSON lines"
            )
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "csv"  # UTF-16, told by the reader
    if b"\0" in start:
        raise VotesFileError(f"{name} is not text: votes are read from CSV, TSV, Parquet, Feather, npz or JSON lines")
    if name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson", ".json")) or start.lstrip()[:1] == b"{":
        return "jsonl"
    return "csv"


# -- text ---------------------------------------------------------------------------------------------------


class _Distinct(dict):
    """Position of each distinct value; new values are added as they are looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.values_: list[Any] = []

    def __missing__(self, value: Any) -> int:
        key = value.strip() if isinstance(value, str) else value
        if key is None or key != key or (isinstance(key, str) and key in MISSING_TOKENS):
            position = -1
        elif key is not value and key in self:
            position = self[key]
        else:
            position = len(self.values_)
            self.values_.append(key)
            if key is not value:
                self[key] = position
        self[value] = position
        return position

    def positions(self, values: Sequence[Any]) -> NDArray[np.int32]:
        return np.fromiter(map(self.__getitem__, values), np.int32, len(values))


class _Builder:
    """A column that grows."""

    def __init__(self) -> None:
        self.known = _Distinct()
        self.pieces: list[NDArray[np.int32]] = []

    def add(self, values: Sequence[Any]) -> None:
        self.pieces.append(self.known.positions(values))

    def add_bytes(self, block: bytes, starts: NDArray, lengths: NDArray, encoding: str) -> None:
        """Add fields of a block of text; short ones are compared as whole numbers, eight bytes each."""
        longest = int(lengths.max())
        if longest > 8:
            ends = starts + lengths
            self.add([block[a:b].decode(encoding) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
            return
        data = np.frombuffer(block, dtype=np.uint8)
        keys = np.zeros(len(starts), dtype=np.uint64)
        for byte in range(longest):
            value = data[np.minimum(starts + byte, len(data) - 1)].astype(np.uint64) << np.uint64(8 * byte)
            keys |= np.where(byte < lengths, value, np.uint64(0))
        distinct, inverse = _distinct_keys(keys)
        texts = [int(key).to_bytes(8, "little").rstrip(b"\0").decode(encoding) for key in distinct]
        self.pieces.append(self.known.positions(texts)[inverse])

    def column(self, name: str) -> Column:
        return Column(name, np.concatenate(self.pieces), self.known.values_)


def _distinct_keys(keys: NDArray[np.uint64], few: int = 6) -> tuple[list, NDArray[np.intp]]:
    """Return distinct keys and the position of each: a pass for each key while there are few, then by sorting."""
    found: list = []
    inverse = np.zeros(len(keys), dtype=np.intp)
    rest = np.ones(len(keys), dtype=bool)
    while rest.any():
        if len(found) == few:
            return list((unique := np.unique(keys, return_inverse=True))[0]), unique[1]
        here = keys == keys[rest.argmax()]
        found.append(keys[here.argmax()])
        inverse[here] = len(found) - 1
        rest &= ~here
    return found, inverse


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
        raise VotesFileError(
            f"{name} is not {encoding} text (byte 0x{bad:02x}): save it as UTF-8, or name its encoding with "
            "--encoding, such as latin-1 or utf-16"
        ) from None
    except (UnicodeError, LookupError) as error:
        raise VotesFileError(f"cannot read {name} as {encoding} text: {error}") from None
    except csv.Error as error:
        raise VotesFileError(f"{name} is not a table of votes: {error}") from None


def sample_text(stream: BinaryIO, encoding: str) -> str:
    """Decode the start of a file, up to its last whole line."""
    data = stream.read(_SAMPLE)
    whole = len(data) < _SAMPLE
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
        raise VotesFileError(f"{name} is empty")
    width = len(head[0])
    if width > MAX_COLUMNS:
        raise VotesFileError(
            f"{name} has more than {MAX_COLUMNS:,} columns, more voters than can be combined: rows are items and "
            "columns are voters"
        )
    if width == 1:
        raise VotesFileError(
            f"{name} has only one column when cut at {_called(delimiter)}; if another character separates its "
            "columns, name it with --delimiter"
        )
    if header is None:
        header = has_header(head)
    names = [text.strip() for text in head[0]] if header else [f"voter {column + 1}" for column in range(width)]
    builders = [_Builder() for _ in range(width)]
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
        raise VotesFileError(f"{name} has a header but no rows")
    columns = [builder.column(title) for title, builder in zip(names, builders, strict=True)]
    what = "TSV" if delimiter == "\t" else "CSV" if delimiter == "," else f"text separated by {_called(delimiter)}"
    return Columns(columns, what + ("" if header else " without a header"), named=header)


def _parse_plain(
    stream: BinaryIO,
    builders: list[_Builder],
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
            raise VotesFileError(
                f"{name}: {place} has {len(row)} field{'s' * (len(row) != 1)} where the first line has {width} "
                f"(cut at {_called(delimiter)})"
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


# -- JSON lines ---------------------------------------------------------------------------------------------


def read_json_lines(stream: BinaryIO, name: str, *, size: int = 0, progress: Progress | None = None) -> Columns:
    """Read one JSON object a line; a key that a line lacks is a missing value."""
    distinct: dict[str, _Distinct] = {}
    positions: dict[str, list[int]] = {}
    n_rows = 0
    for number, record in _records(stream, name):
        for key, value in record.items():
            if isinstance(value, list | dict):
                raise VotesFileError(
                    f"{name}: line {number} holds a {type(value).__name__} under {key!r}; votes are plain values"
                )
            if key not in distinct:
                if len(distinct) == MAX_COLUMNS:
                    raise VotesFileError(
                        f"{name} has more than {MAX_COLUMNS:,} keys: each line is an item and each key a voter"
                    )
                distinct[key], positions[key] = _Distinct(), [-1] * n_rows
            positions[key].append(distinct[key][value])
        n_rows += 1
        for known in positions.values():
            if len(known) < n_rows:
                known.append(-1)
        if progress is not None and size and number % 4096 == 0:
            progress(min(stream.tell() / size, 1.0))
    if not n_rows:
        raise VotesFileError(f"{name} is empty")
    columns = [Column(key, np.array(positions[key], np.int32), distinct[key].values_) for key in distinct]
    return Columns(columns, "JSON lines")


def _records(stream: BinaryIO, name: str) -> Iterator[tuple[int, dict]]:
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else "not UTF-8 text"
            raise VotesFileError(f"{name}: line {number} is not JSON ({why}); each line is one object") from None
        if not isinstance(record, dict):
            raise VotesFileError(
                f'{name}: line {number} is not a JSON object; each line is one, such as {{"judge": "yes"}}'
            )
        yield number, record


# -- Arrow --------------------------------------------------------------------------------------------------


def read_arrow(stream: BinaryIO, name: str, kind: str) -> Columns:
    """Read Parquet or Feather with pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import feather, parquet
    except ImportError:
        raise VotesFileError(
            f"{name} is {kind.capitalize()}, which needs pyarrow: pip install 'goldless[io]'"
        ) from None
    try:
        table = parquet.read_table(stream) if kind == "parquet" else feather.read_table(stream)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise VotesFileError(f"{name} is a damaged {kind.capitalize()} file: {str(error).splitlines()[0]}") from None
    if table.num_columns > MAX_COLUMNS:
        raise VotesFileError(
            f"{name} has {table.num_columns:,} columns; at most {MAX_COLUMNS:,} voters can be combined"
        )
    if not table.num_rows:
        raise VotesFileError(f"{name} has columns but no rows")
    columns = [arrow_column(title, table.column(i), name, pa) for i, title in enumerate(table.column_names)]
    return Columns(columns, kind.capitalize())


def arrow_column(title: str, chunked: Any, name: str, pa: Any) -> Column:
    """Turn a column of an Arrow table into a :class:`Column`."""
    if pa.types.is_nested(chunked.type):
        raise VotesFileError(f"{name}: column {title!r} holds {chunked.type}; votes are plain values")
    array = chunked.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # no chunk at all
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    raw = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    distinct = _Distinct()
    lookup = np.append(distinct.positions(encoded.dictionary.to_pylist()), np.int32(-1))
    return Column(title, lookup[raw].astype(np.int32), distinct.values_)


# -- npz ----------------------------------------------------------------------------------------------------


def read_npz(stream: BinaryIO, name: str) -> dict[str, NDArray]:
    """Read all arrays of an npz file, never a pickle."""
    try:
        with np.load(stream, allow_pickle=False) as arrays:
            return {key: _not_bytes(arrays[key]) for key in arrays.files}
    except ValueError as error:
        if "allow_pickle" in str(error) or "Object arrays" in str(error):
            raise VotesFileError(
                f"{name} holds pickled objects, which are never loaded: save votes as numbers or fixed-width strings"
            ) from None
        raise VotesFileError(f"{name} is a damaged npz file: {error}") from None
    except (OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise VotesFileError(f"{name} is a zip file but not npz ({error})") from None


def _not_bytes(array: NDArray) -> NDArray:
    return np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array


def factorise(title: str, values: NDArray) -> Column:
    """Turn an array of one column into a :class:`Column`."""
    if values.dtype.kind in "iub" and values.size:
        distinct, positions = np.unique(values, return_inverse=True)
        return Column(title, positions.astype(np.int32), distinct.tolist())
    known = _Distinct()
    return Column(title, known.positions(values.tolist()), known.values_)


def duplicated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
