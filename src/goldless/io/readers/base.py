"""What every reader shares: files that know their first bytes, what a reader gives back, and its protocol.

A reader turns files into one Arrow table and says what its columns are. Everything after that is common: which labels
there are, which rows are items, what is said to the user.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from goldless.errors import Note, VotesError

MAX_COLUMNS = 10_000
HEAD_BYTES = 1 << 18  # what a format, a delimiter and a header are told from
_MOST_BYTES = 4 << 30  # of a file in memory, packed files unpacked; GOLDLESS_MAX_BYTES says otherwise
_HELD_BYTES, _PART_BYTES = 1 << 26, 1 << 24
_UNPACKED = 4  # text in memory takes so many times its bytes, with what is made of it

# what comes of reading a damaged, encrypted or oddly packed zip file
UNZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)

# how sure a reader is that a file is its own
CERTAIN = 1.0  # by a signature, or by names that no other format has
LIKELY = 0.5  # by its shape
POSSIBLE = 0.1  # it could be read, if nobody knows better

_PACKINGS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ": "xz"}
_SIGNATURE = 8
_MARK = "\ufeff".encode()  # what some programs write before text; no other format begins so
_JSON_KEY = re.compile(rb'"((?:[^"\\\n]|\\.){1,80})"\s*:')

Progress = Callable[[float], None]


class File:
    """A file, or bytes that came from a stream, as readers see it: what is packed is unpacked.

    Parameters
    ----------
    source : path or binary stream
    name : str, optional
        How to call it in messages; by default its path.
    """

    def __init__(self, source: str | os.PathLike | BinaryIO, name: str | None = None):
        if isinstance(source, str | os.PathLike):
            self.path: Path | None = Path(source)
            self.name = name or str(source)
            self._data: bytes | None = None
        else:
            self.path, self.name = None, name or "standard input"
            self._data = source.read()

    def __repr__(self) -> str:
        return f"File({self.name!r})"

    @cached_property
    def packing(self) -> str:
        """How the file is packed: gzip, bz2, zstd, xz, or not at all."""
        with self._raw() as stream:
            start = stream.read(_SIGNATURE)
        return next((name for signature, name in _PACKINGS.items() if start.startswith(signature)), "")

    def _raw(self) -> BinaryIO:
        if self._data is not None:
            return io.BytesIO(self._data)
        assert self.path is not None
        try:
            if self.path.is_dir():
                raise VotesError("unreadable", f"{self.path} is a directory", where={"file": str(self.path)})
            stream = self.path.open("rb")
            if stream.seekable():
                return stream
            with stream:  # a pipe with a name, such as /dev/stdin, which can be read once
                self._data = stream.read()
        except OSError as error:
            raise unreadable(self.path, error) from None
        return io.BytesIO(self._data)

    def open(self) -> BinaryIO:
        """Return a stream that can seek, past the mark that may stand before text."""
        stream = self._whole()
        if stream.read(len(_MARK)) != _MARK:
            stream.seek(0)
        return stream

    def _whole(self) -> BinaryIO:
        """Return a stream of all bytes, unpacked."""
        if not self.packing:
            return self._raw()
        with self._unpacked() as unpacked:
            start = unpacked.read(_HELD_BYTES)
            size = len(start)
            while part := unpacked.read(_PART_BYTES):  # counted before any more of it is held
                refuse_large(self.name, _UNPACKED * (size := size + len(part)))
        if size == len(start):
            return io.BytesIO(start)
        with self._unpacked() as unpacked:
            return io.BytesIO(unpacked.read())

    @contextmanager
    def _unpacked(self) -> Iterator[Any]:
        """Yield a stream of what is packed; damage that shows while it is read is one line."""
        opened: dict[str, Any] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
        opened["zstd"] = lambda stream: pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
        try:
            with self._raw() as stream, opened[self.packing](stream) as unpacked:
                yield unpacked
        except (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
            raise damaged(self.name, self.packing, error) from None

    def read(self) -> bytes:
        """Return all bytes."""
        with self.open() as stream:
            return stream.read()

    @property
    def size(self) -> int:
        """Number of bytes to be read, about."""
        if self._data is not None:
            return len(self._data)
        return self.path.stat().st_size if self.path is not None else 0

    @cached_property
    def head(self) -> bytes:
        """The first bytes, decompressed, past the mark that may stand before text."""
        with self._unpacked() if self.packing else self._raw() as stream:
            return stream.read(len(_MARK) + HEAD_BYTES).removeprefix(_MARK)[:HEAD_BYTES]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of JSON that occur in the first bytes, wherever."""
        if not self.looks_like_json:
            return frozenset()
        return frozenset(key.decode("utf-8", "replace") for key in _JSON_KEY.findall(self.head))

    @property
    def looks_like_json(self) -> bool:
        """Whether the first character opens an object or an array."""
        return self.head.lstrip(b"\xff\xfe\0 \t\r\n")[:1] in (b"{", b"[")

    @property
    def ending(self) -> str:
        """The end of the name in small letters, that of packing left out: ``.csv``."""
        return Path(_without_packing(self.name.lower())).suffix

    @property
    def stem(self) -> str:
        """The name without folder and ending."""
        name = _without_packing(written_name(Path(self.name)))
        return name.rpartition(".")[0] or name


def written_name(path: Path) -> str:
    """Return the name of a file or folder as text, also if its bytes are none."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def packing_of(path: str | os.PathLike) -> str:
    """Return how a file is packed: gzip, bz2, zstd, xz, or not at all."""
    return File(path).packing


def open_arrow(path: str | os.PathLike) -> Any:
    """Open a file as a stream of Arrow, unpacked."""
    return pa.input_stream(os.fspath(path), compression=packing_of(path) or None)


def _without_packing(name: str) -> str:
    for ending in (".gz", ".bgz", ".bz2", ".zst", ".xz"):
        name = name.removesuffix(ending)
    return name


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are, by their names.

    A table is long (one row per vote) if ``voter`` and ``label`` are given, wide (one row per item) otherwise.

    Attributes
    ----------
    item, voter, label : str or None
        Columns that name the item and the voter, and hold the vote.
    voters : tuple of str or None
        Columns of votes of a wide table; names of all voters of a long one, if some may have no vote.
    truth : str or None
        True labels: never votes, for scoring only.
    gold : str or None
        Known labels of some items (golden tasks), which become anchors when that is asked for.
    score : str or None
        A number beside each label of a long table.
    items : sequence or None
        Names of all items of a long table, those without votes too.
    """

    item: str | None = None
    voter: str | None = None
    label: str | None = None
    voters: tuple[str, ...] | None = None
    truth: str | None = None
    gold: str | None = None
    score: str | None = None
    items: Sequence[Any] | None = None

    @property
    def long(self) -> bool:
        """Whether each row is one vote."""
        return self.voter is not None and self.label is not None


@dataclass(frozen=True, eq=False)
class Read:
    """What a reader gives back.

    Attributes
    ----------
    table : pyarrow.Table
        The columns.
    how : str
        What was read, such as "Langfuse scores": the first line says it.
    roles : Roles or None
        What the columns are; None if that is to be found out from their names and values.
    notes : tuple of Note
        What was left out or may be meant otherwise.
    named : bool
        Whether the columns have names of their own.
    missing : tuple
        Labels that mean "no vote" in this format, unless the user says something about labels.
    at_least : int or None
        Only items that at least so many voters call positive are in the table: rows nobody called are missing.
    positive : label or None
        The label to call positive, unless the user says so.
    classes : tuple or None
        The labels there may be in this format, if it says so.
    certain : bool
        Whether the names of the columns leave no doubt: then a table of one voter is told from a wrong guess.
    question : str
        Which question was read, of a file that may hold several.
    """

    table: pa.Table
    how: str
    roles: Roles | None = None
    notes: tuple[Note, ...] = ()
    named: bool = True
    missing: tuple = ()
    at_least: int | None = None
    positive: Any = None
    classes: tuple | None = None
    certain: bool = True
    question: str = ""


@dataclass(frozen=True)
class ReaderOptions:
    """What a user may say to a reader.

    Attributes
    ----------
    delimiter, header, encoding : optional
        How text is cut.
    table : str or None
        Sheet of a workbook, table or query of a database, array of an npz file.
    question : str or None
        Which question, task or metric, where a file holds several.
    pairs : {"agree", "games"}
        A comparison judged in both orders is one vote if both games agree (a tie otherwise), or two votes.
    every_call : bool
        Take calls that a caller's own filter rejects for votes too.
    truth : str or None
        Name of what holds the truth, if the user gave one: of a file in a folder, perhaps.
    item, voter, label : str or None
        The columns that the user named.
    progress : callable or None
        Called with the share that has been read.
    """

    delimiter: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    table: str | None = None
    question: str | None = None
    pairs: str = "agree"
    every_call: bool = False
    truth: str | None = None
    item: str | None = None
    voter: str | None = None
    label: str | None = None
    progress: Progress | None = None


class Reader(Protocol):
    """A format. Plug-ins register one under the entry point ``goldless.readers``.

    Attributes
    ----------
    name : str
        What ``format=`` and ``--as`` take.
    title : str
        A few words for the list of formats.
    together : bool
        Whether several files are read as one set of votes.
    """

    name: str
    title: str
    together: bool

    def sniff(self, file: File) -> float | None:
        """Return how sure it is that a file is in this format, from 0 to 1; None if it is not."""

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read files that are in this format."""


# -- what is wrong with a file ------------------------------------------------------------------------------


def unreadable(path: str | os.PathLike, error: OSError) -> VotesError:
    """Return the error of a file that the system does not open."""
    reason = (error.strerror or str(error)).lower()
    return VotesError("unreadable", f"cannot read {path}: {reason}", where={"file": str(path)})


def damaged(name: str, kind: str, why: object) -> VotesError:
    """Return the error of a file that is not what it begins like."""
    return VotesError("damaged", f"{name} is a damaged {kind} file: {first_line(why)}", where={"file": name})


def first_line(error: object) -> str:
    """Return what an error says first."""
    return (str(error).splitlines() or [""])[0]


def empty_file(name: str, what: str = "is empty") -> VotesError:
    """Return the error of a file without votes."""
    return VotesError("empty", f"{name} {what}", where={"file": name})


def refuse_large(name: str, n_bytes: int) -> None:
    """Raise if a file would take more memory than is allowed; small files can say that they are large."""
    given = os.environ.get("GOLDLESS_MAX_BYTES", "")
    most = int(given) if given.isdigit() else _MOST_BYTES
    if n_bytes > most:
        raise VotesError(
            "too-large",
            f"{name} takes {_gigabytes(n_bytes)} in memory or more, and {_gigabytes(most)} are allowed",
            "allow-more",
            {"file": name},
        )


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:,.1f} GB"


def too_wide(name: str) -> VotesError:
    """Return the error of a table with more columns than voters can be combined."""
    return VotesError(
        "too-many-voters",
        f"{name} has more than {MAX_COLUMNS:,} columns, more voters than can be combined",
        "rows-are-items",
        {"file": name},
    )


def same_name(name: str, twice: str, what: str = "columns") -> VotesError:
    """Return the error of two columns, or voters, with one name."""
    seen = f"{name} has two {what} named {twice!r}"
    return VotesError("same-name", seen, "own-names", {"file": name, "column": twice})


def lacking(name: str, what: str, needed: str, library: str) -> VotesError:
    """Return the error of a file that takes a library which is not there."""
    seen = f"{name} is {what}, which needs {needed}"
    return VotesError("library", seen, "install", {"file": name}, library=library)


def several(name: str, what: str, found: Iterable[str], option: str) -> VotesError:
    """Return the error of a file that holds several things of which one must be named."""
    names = list(found)
    shown = ", ".join(map(repr, names[:6])) + (", ..." if len(names) > 6 else "")
    return VotesError(
        *("several", f"{name} holds {len(names)} {what}: {shown}", f"name-{option}", {"file": name}),
        first=repr(next(iter(names), "...")),
    )


def chosen(found: Iterable[str], what: str, name: str, options: ReaderOptions) -> str:
    """Return the question, task or metric that the user asked for, or the only one."""
    names = list(dict.fromkeys(found))
    if options.question is not None and options.question in names:
        return options.question
    if len(names) != 1 or options.question is not None:
        raise several(name, what, names, "question")
    return names[0]


# -- values to Arrow ----------------------------------------------------------------------------------------


def arrow_array(values: Sequence[Any]) -> pa.Array:
    """Return values of JSON as a column: of one type, or as text where types are mixed."""
    kinds = {type(value) for value in values if value is not None}
    if kinds - {bool, int, float, str}:
        raise TypeError(f"a {(kinds - {bool, int, float, str}).pop().__name__}")
    if len(kinds) > 1 and kinds != {int, float}:
        values = [None if value is None else value if isinstance(value, str) else str(value) for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, OverflowError):  # integers that no register holds
        return pa.array([None if value is None else str(value) for value in values])


def long_table(rows: Sequence[tuple], names: Sequence[str] = ("item", "voter", "label")) -> pa.Table:
    """Return votes, one tuple each, as a table."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table([arrow_array(column) for column in columns], names=list(names))


def read_long(rows: Sequence[tuple], how: str, name: str, notes: Sequence[Note] = (), **more: Any) -> Read:
    """Return votes (item, voter, label), or with a score behind, as what was read."""
    if not rows:
        raise empty_file(name, f"was read as {how} and holds no votes")
    titles = ("item", "voter", "label", "score")[: len(rows[0])]
    roles = Roles("item", "voter", "label", score="score" if "score" in titles else None)
    return Read(long_table(rows, titles), how, roles, tuple(notes), **more)
