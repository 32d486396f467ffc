"""Files to columns: every format becomes the same thing, a name, distinct values and their positions.

A column keeps each distinct value once, so a file of a million rows and two labels is a few small integers a row.
What the columns mean (votes, names, truth) is decided in :mod:`goldless.io.files`.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.votes.alphabet import MISSING_TOKENS

MAX_COLUMNS = 10_000
SAMPLE_BYTES = 1 << 18  # what a format, a delimiter and a header are told from

_SIGNATURES = ((b"PAR1", "parquet"), (b"ARROW1", "feather"), (b"FEA1", "feather"), (b"PK\x03\x04", "npz"))

_OTHER_SIGNATURES = (
    (b"\x89PNG", "a picture"),
    (b"%PDF", "a PDF"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a .npy file (save votes and names together with np.savez)"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file (save it as CSV)"),
)

Progress = Callable[[float], None]


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
        return _unzipped(io.BytesIO(data), "standard input"), "standard input", len(data)
    path = Path(source)
    try:
        if path.is_dir():
            raise VotesError("unreadable", f"{path} is a directory, not a file of votes", where={"file": str(path)})
        stream = path.open("rb")
        if not stream.seekable():  # a pipe with a name, such as /dev/stdin
            data = stream.read()
            return _unzipped(io.BytesIO(data), str(path)), str(path), len(data)
        return _unzipped(stream, str(path)), str(path), path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: str | os.PathLike, error: OSError) -> VotesError:
    """Return the error of a file that the system does not open."""
    reason = (error.strerror or str(error)).lower()
    return VotesError("unreadable", f"cannot read {path}: {reason}", where={"file": str(path)})


def damaged(name: str, kind: str, why: object) -> VotesError:
    """Return the error of a file that is not what it begins like."""
    reason = (str(why).splitlines() or [""])[0]
    return VotesError("damaged", f"{name} is a damaged {kind} file: {reason}", where={"file": name})


def empty_file(name: str, what: str = "is empty") -> VotesError:
    """Return the error of a file without votes."""
    return VotesError("empty", f"{name} {what}", where={"file": name})


def too_wide(name: str) -> VotesError:
    """Return the error of a table with more columns than voters can be combined."""
    return VotesError(
        "too-many-voters",
        f"{name} has more than {MAX_COLUMNS:,} columns, more voters than can be combined",
        "rows-are-items",
        {"file": name},
    )


def _unzipped(stream: BinaryIO, name: str) -> BinaryIO:
    start = stream.read(2)
    stream.seek(0)
    if start != b"\x1f\x8b":
        return stream
    try:
        with stream:
            return io.BytesIO(gzip.decompress(stream.read()))
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(name, "gzip", error) from None


def detect_format(stream: BinaryIO, name: str) -> str:
    """Say which format a stream holds, by its first bytes, then by the end of its name."""
    start = stream.read(SAMPLE_BYTES)
    stream.seek(0)
    if not start.strip():
        raise empty_file(name)
    for signature, kind in _SIGNATURES:
        if start.startswith(signature):
            return kind
    for signature, what in _OTHER_SIGNATURES:
        if start.startswith(signature):
            raise VotesError("format", f"{name} is {what}", "known-formats", {"file": name})
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "csv"  # UTF-16, told by the reader
    if b"\0" in start:
        raise VotesError("format", f"{name} is not text", "known-formats", {"file": name})
    if name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson", ".json")) or start.lstrip()[:1] == b"{":
        return "jsonl"
    return "csv"


class DistinctValues(dict):
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
        """Return the positions of values."""
        return np.fromiter(map(self.__getitem__, values), np.int32, len(values))


class ColumnBuilder:
    """A column that grows."""

    def __init__(self) -> None:
        self.known = DistinctValues()
        self.pieces: list[NDArray[np.int32]] = []

    def add(self, values: Sequence[Any]) -> None:
        """Add values."""
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
        """Return what was added."""
        return Column(name, np.concatenate(self.pieces), self.known.values_)


def _distinct_keys(keys: NDArray[np.uint64], few: int = 6) -> tuple[list, NDArray[np.intp]]:
    """Return distinct keys and the position of each: a pass for each key while there are few, then by sorting."""
    found: list = []
    inverse = np.zeros(len(keys), dtype=np.intp)
    rest = np.ones(len(keys), dtype=bool)
    while rest.any():
        if len(found) == few:
            distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            order = np.argsort(first)  # as they come in the file, so that every format gives one order
            return list(distinct[order]), np.argsort(order)[inverse]
        here = keys == keys[rest.argmax()]
        found.append(keys[here.argmax()])
        inverse[here] = len(found) - 1
        rest &= ~here
    return found, inverse


def duplicated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
