"""Tables of Arrow (Parquet, Feather), arrays of numpy, workbooks and databases."""

from __future__ import annotations

import io
import math
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
from numpy.lib import format as format_of_numpy
from numpy.typing import NDArray
from pyarrow import feather, parquet

from goldless.errors import Note, VotesError
from goldless.io.readers.base import (
    CERTAIN,
    MAX_COLUMNS,
    POSSIBLE,
    UNZIP_ERRORS,
    File,
    Read,
    ReaderOptions,
    Roles,
    arrow_array,
    damaged,
    empty_file,
    lacking,
    refuse_large,
    same_name,
    several,
    too_wide,
)
from goldless.io.readers.columns import duplicated
from goldless.io.readers.records import unnested

# -- tables of Arrow ----------------------------------------------------------------------------------------


class ArrowReader:
    """Parquet and Feather."""

    together = False

    def __init__(self, name: str, title: str, signatures: tuple[bytes, ...]):
        self.name, self.title, self._signatures = name, title, signatures

    def sniff(self, file: File) -> float | None:
        """Return that the signature is there."""
        return CERTAIN if file.head.startswith(self._signatures) else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read a file."""
        (file,) = files
        name, kind = file.name, self.name.capitalize()
        try:
            with file.open() as stream:
                if self.name == "parquet":
                    said = parquet.read_metadata(stream)
                    _refuse_wide(name, said.num_columns)
                    refuse_large(name, said.num_rows * said.num_columns * _FEWEST_BYTES)
                    stream.seek(0)
                table = parquet.read_table(stream) if self.name == "parquet" else feather.read_table(stream)
            _refuse_wide(name, table.num_columns)
            if not table.num_rows:
                raise empty_file(name, "has columns but no rows")
            table.validate(full=True)  # a damaged file may point outside its own bytes
        except VotesError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise damaged(name, kind, error) from None
        table, notes = unnested(table, name)
        return Read(table, kind, notes=notes, certain=False)


_BYTES_OF_NAME = 100  # that an item or voter takes in memory, about
_FEWEST_BYTES = 4  # that a vote takes in memory while it is read


def _refuse_wide(name: str, n_columns: int) -> None:
    if n_columns > MAX_COLUMNS:
        raise too_wide(name)


# -- arrays of numpy ----------------------------------------------------------------------------------------


class ArrayReader:
    """Arrays that numpy wrote: npz, npy, and the sparse matrices of scipy."""

    name, title, together = "npz", "numpy .npy and .npz (Snorkel's L too), scipy sparse .npz", False

    def sniff(self, file: File) -> float | None:
        """Return that the signature is there."""
        if file.head.startswith(b"\x93NUMPY"):
            return CERTAIN
        if not file.head.startswith(b"PK\x03\x04"):
            return None
        first = file.head[30 : 30 + int.from_bytes(file.head[26:28], "little")]
        return CERTAIN if first.endswith(b".npy") else POSSIBLE  # a zip file of another kind is a folder

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read a file."""
        (file,) = files
        with file.open() as stream:
            if file.head.startswith(b"\x93NUMPY"):
                array = _read_array(stream, file.name)
                if array.ndim != 2:
                    seen = f"{file.name} holds an array of shape {array.shape}, not items x voters"
                    raise VotesError("shape", seen, "one-class-of-three" if array.ndim == 3 else None)
                return _read_matrix({file.stem: array}, file.stem, options, file.name, "npy")
            arrays = read_npz(stream, file.name)
        if {"data", "indices", "indptr", "shape", "format"} <= arrays.keys():
            return _read_sparse(arrays, file.name)
        return read_arrays(arrays, options, file.name)


def read_arrays(arrays: dict[str, NDArray], options: ReaderOptions, name: str) -> Read:
    """Read named arrays: a table of votes, and names beside it."""
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    asked = options.table or options.label
    chosen = asked or next((key for key in ("votes", "X", "L") if key in tables), None)
    if chosen is None and len(tables) == 1:
        chosen = tables[0]
    if chosen is None or chosen not in tables:
        shown = ", ".join(f"{key!r} {array.shape}" for key, array in list(arrays.items())[:6]) or "nothing"
        raise VotesError(
            "unknown-column",
            f"{name} has no array 'votes' of items x voters (it holds {shown})",
            "name-array",
            {"file": name},
        )
    return _read_matrix(arrays, chosen, options, name, "npz")


def _read_matrix(arrays: dict[str, NDArray], chosen: str, options: ReaderOptions, name: str, kind: str) -> Read:
    votes = arrays[chosen]
    if 0 in votes.shape:
        raise empty_file(name, f"holds an array {chosen!r} that is empty, its shape is {votes.shape}")
    if votes.shape[1] > MAX_COLUMNS:
        raise too_wide(name)
    names = _names_of(arrays, options.voter or "voters", votes.shape[1])
    names = names if names is not None else [f"voter {column + 1}" for column in range(votes.shape[1])]
    twice = duplicated(names)
    if twice is not None:
        raise same_name(name, twice, "voters")
    columns = {title: _column(votes[:, i]) for i, title in enumerate(names)}
    items = _names_of(arrays, options.item or "items", votes.shape[0])
    item_title = None
    if items is not None:
        item_title = "item" if "item" not in columns else "name of the item"
        columns[item_title] = pa.array(items)
    truth: str | None = None
    notes: tuple[Note, ...] = ()
    if options.truth is not None:
        labels_of_truth = arrays.get(options.truth)
        if labels_of_truth is None or labels_of_truth.shape != (len(votes),):
            raise VotesError(
                "unknown-column",
                f"{name} has no array {options.truth!r} with one label for each of {len(votes):,} items",
                where={"file": name, "column": options.truth},
            )
        truth = options.truth if options.truth not in columns else f"{options.truth} "
        columns[truth] = _column(labels_of_truth)
    elif "truth" in arrays:
        notes = (Note("The array 'truth' was not read", "score-truth", {"column": "'truth'"}),)
    snorkel = chosen == "L" or chosen.startswith("L_")  # its name for the matrix, in which -1 abstains
    abstains = snorkel and votes.dtype.kind in "if" and votes.min() == -1
    how = f"{kind}, array {chosen!r}" + (", as Snorkel writes it: -1 abstains" if abstains else "")
    roles = Roles(item=item_title, voters=tuple(names), truth=truth)
    return Read(pa.table(columns), how, roles, notes, missing=(-1,) if abstains else ())


def _column(values: NDArray) -> pa.Array:
    if values.dtype.kind == "O":
        return arrow_array(values.tolist())
    if values.dtype.kind == "f":
        return pa.array(values, from_pandas=True)
    return pa.array(np.ascontiguousarray(values).tolist() if values.dtype.kind == "U" else values)


def _read_sparse(arrays: dict[str, NDArray], name: str) -> Read:
    """Read a matrix that scipy saved: what is not stored is no vote."""
    from scipy import sparse

    kind = str(arrays["format"])
    if kind not in ("csr", "csc"):
        raise VotesError("format", f"{name} is a sparse matrix of scipy in the format {kind!r}", where={"file": name})
    make = sparse.csr_matrix if kind == "csr" else sparse.csc_matrix
    try:
        if (
            np.diff(arrays["indptr"].astype(np.int64)) < 0
        ).any():  # scipy's own check misses a negative end, and then reads beyond it
            raise ValueError("starts of rows that fall")
        matrix = make((arrays["data"], arrays["indices"], arrays["indptr"]), tuple(arrays["shape"]))
        matrix.check_format()
    except (ValueError, IndexError, TypeError) as error:
        raise damaged(name, "npz", error) from None
    return read_sparse(matrix, name)


def read_sparse(matrix: Any, name: str = "votes") -> Read:
    """Read a sparse matrix, items x voters, as a long table: what is not stored, or is 0, is no vote."""
    found = matrix.tocoo()
    if 0 in matrix.shape:
        raise empty_file(name, f"is an empty matrix, its shape is {matrix.shape}")
    refuse_large(name, sum(matrix.shape) * _BYTES_OF_NAME)
    order = np.lexsort((found.col, found.row))
    rows, columns, data = found.row[order], found.col[order], found.data[order]
    stored = data != 0
    if not stored.any():
        raise empty_file(name, "is a sparse matrix without any entry")
    voters = [f"voter {column + 1}" for column in range(matrix.shape[1])]
    codes = pa.DictionaryArray.from_arrays(pa.array(columns[stored], pa.int32()), pa.array(voters))
    table = pa.table({"item": pa.array(rows[stored] + 1), "voter": codes, "label": pa.array(data[stored])})
    roles = Roles("item", "voter", "label", tuple(voters), items=range(1, matrix.shape[0] + 1))
    return Read(table, "a sparse matrix, in which 0 is no vote", roles)


def _names_of(arrays: dict[str, NDArray], key: str, length: int) -> list[str] | None:
    array = arrays.get(key)
    return None if array is None or array.shape != (length,) else [str(value) for value in array]


def _read_array(stream: BinaryIO, name: str) -> NDArray:
    try:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        return _checked_array(stream, size, name)
    except (EOFError, OSError) as error:
        raise damaged(name, "npy", error) from None


def read_npz(stream: BinaryIO, name: str) -> dict[str, NDArray]:
    """Read all arrays of an npz file, never a pickle."""
    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            refuse_large(name, sum(member.file_size for member in members))
            if not all(member.filename.endswith(".npy") for member in members):
                raise VotesError(
                    "format",
                    f"{name} is a zip file but not npz, which holds arrays and nothing else",
                    where={"file": name},
                )
            arrays = {}
            for member in members:
                with archive.open(member) as part:
                    arrays[member.filename.removesuffix(".npy")] = _checked_array(part, member.file_size, name)
            return arrays
    except VotesError:
        raise
    except (*UNZIP_ERRORS, ValueError) as error:
        raise VotesError(
            "damaged", f"{name} begins like a zip file but is not npz ({error})", where={"file": name}
        ) from None


def _checked_array(stream: Any, size: int, name: str) -> NDArray:
    """Read an array whose header is sound and promises no more than there is."""
    try:
        version = format_of_numpy.read_magic(stream)
        read_header = (
            format_of_numpy.read_array_header_1_0 if version[0] == 1 else format_of_numpy.read_array_header_2_0
        )
        shape, by_column, dtype = read_header(stream)
    except Exception:  # the header is a line of Python, and its parser stumbles over damage in many ways
        raise damaged(name, "numpy", "its header is not that of an array") from None
    if dtype.hasobject:
        raise _pickled(name)
    if dtype.kind not in "biufSU" or dtype.itemsize == 0:
        raise VotesError("types", f"{name} holds an array of {dtype}, which are no votes", where={"file": name})
    promised = math.prod(shape) * dtype.itemsize
    if promised > size:
        raise damaged(name, "numpy", f"its header promises {promised:,} bytes, and there are {size:,}")
    refuse_large(name, promised)
    data = stream.read(promised)
    if len(data) < promised:
        raise damaged(name, "numpy", "it ends too early")
    array = (
        np.frombuffer(data, dtype).reshape(shape[::-1]).T if by_column else np.frombuffer(data, dtype).reshape(shape)
    )
    if dtype.kind == "U" and not _is_text(np.frombuffer(data, f"{dtype.byteorder}u4")):
        raise damaged(name, "numpy", "it holds text with characters that do not exist")
    return np.char.decode(array, "utf-8", "replace") if dtype.kind == "S" else array


def _is_text(points: NDArray[np.uint32]) -> bool:
    """Whether all numbers are those of characters."""
    return bool(((points < 0xD800) | ((points > 0xDFFF) & (points < 0x110000))).all())


def _pickled(name: str) -> VotesError:
    return VotesError("pickle", f"{name} holds pickled objects, which are never loaded", "no-pickle", {"file": name})


class PickleReader:
    """Pickles: recognised, and refused."""

    name, title, together = "pickle", "pickle: recognised and refused, for loading one runs its code", False

    def sniff(self, file: File) -> float | None:
        """Return that it begins or ends like a pickle."""
        looks = file.head[:1] == b"\x80" and file.head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
        return CERTAIN if looks or file.ending in (".pkl", ".pickle") else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Refuse."""
        raise _pickled(files[0].name)


# -- workbooks ----------------------------------------------------------------------------------------------

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


_OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
_OTHER_SHEETS = (".xls", ".xlsb", ".ods")


class ExcelReader:
    """Workbooks: the values of one sheet, its first row the names of the columns."""

    name, title, together = "excel", "Excel workbooks (.xlsx; .xls, .xlsb, .ods by python-calamine), one sheet", False

    def sniff(self, file: File) -> float | None:
        """Return that it is a zip file of a workbook, or an older one."""
        if not file.head.startswith((b"PK\x03\x04", _OLD_WORKBOOK)):
            return None
        inside = file.head[:4096]
        marks = (b"[Content_Types].xml", b"xl/", b"opendocument.spreadsheet", _OLD_WORKBOOK)
        return CERTAIN if any(mark in inside for mark in marks) or file.ending == ".xlsx" else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read a sheet."""
        (file,) = files
        other = file.ending in _OTHER_SHEETS or file.head.startswith(_OLD_WORKBOOK)
        try:
            sheets = _by_calamine(file) if other else _sheets(file)
            if options.table is not None and options.table not in sheets:
                raise several(file.name, "sheets", sheets, "table")
            wanted = sheets if options.table is None else [options.table]
            filled = {sheet: rows for sheet in wanted if (rows := sheets[sheet]())}
            if len(filled) > 1:
                raise several(file.name, "sheets", filled, "table")
            sheet, rows = next(iter(filled.items()), ("", []))
        except VotesError:
            raise
        except (*UNZIP_ERRORS, ElementTree.ParseError, KeyError, ValueError, IndexError) as error:
            raise VotesError(
                "damaged", f"{file.name} is a spreadsheet that cannot be read: {error}", "as-csv", {"file": file.name}
            ) from None
        if len(rows) < 2:
            raise empty_file(file.name, "is a workbook without rows" if not rows else "has a header but no rows")
        width = max(map(len, rows))
        first = rows[0] + [None] * (width - len(rows[0]))
        header = [f"column {n}" if value is None else str(value).strip() for n, value in enumerate(first, 1)]
        body = [row + [None] * (width - len(row)) for row in rows[1:] if any(value is not None for value in row)]
        columns = [arrow_array(column) for column in zip(*body, strict=True)]
        return Read(pa.table(columns, names=header), f"Excel, sheet {sheet!r}", certain=False)


def _by_calamine(file: File) -> dict[str, Callable[[], list[list[Any]]]]:
    """Return what reads each sheet of a workbook that is no .xlsx."""
    try:
        import python_calamine
    except ImportError:
        raise lacking(file.name, "an older workbook", "python-calamine", "'goldless[excel]'") from None
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(file.read()))
    except python_calamine.CalamineError as error:
        raise ValueError(error) from None

    def rows_of(sheet: str) -> list[list[Any]]:
        found = book.get_sheet_by_name(sheet).to_python(skip_empty_area=True)
        return [[_plain_cell(value) for value in row] for row in found]

    return {sheet: partial(rows_of, sheet) for sheet in book.sheet_names}


def _plain_cell(value: Any) -> Any:
    """Return a value as the cells of .xlsx are read: whole numbers whole, nothing for an empty cell."""
    if isinstance(value, float) and value == int(value):
        return int(value)
    return None if value == "" else value if isinstance(value, str | bool | int | float) else str(value)


def _sheets(file: File) -> dict[str, Callable[[], list[list[Any]]]]:
    """Return what reads each sheet of a workbook, by the name of the sheet."""
    archive = zipfile.ZipFile(io.BytesIO(file.read()))
    refuse_large(file.name, sum(member.file_size for member in archive.infolist()))
    texts = _shared_texts(archive)
    return {sheet: partial(_rows, archive, path, texts) for sheet, path in _sheet_paths(archive).items()}


def _sheet_paths(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the path of every sheet by its name."""
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    target = {link.get("Id"): str(link.get("Target")) for link in links}
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    paths = {}
    for sheet in book.iter(f"{_SHEET}sheet"):
        path = target[sheet.get(_LINK)]
        paths[str(sheet.get("name"))] = path.lstrip("/") if path.startswith("/") else f"xl/{path}"
    return paths


def _shared_texts(archive: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    root = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
    return ["".join(part.text or "" for part in text.iter(f"{_SHEET}t")) for text in root.iter(f"{_SHEET}si")]


def _rows(archive: zipfile.ZipFile, path: str, texts: list[str]) -> list[list[Any]]:
    """Return the values of a sheet, without rows that are empty at its end."""
    rows: list[list[Any]] = []
    with archive.open(path) as stream:
        for _, row in ElementTree.iterparse(stream):
            if row.tag != f"{_SHEET}row":
                continue
            values: list[Any] = []
            for cell in row.iter(f"{_SHEET}c"):
                place = re.match("[A-Z]+", cell.get("r") or "")
                column = _column_number(place[0]) if place else len(values)
                if column >= MAX_COLUMNS:
                    raise too_wide(path)
                values += [None] * (column - len(values))
                values.append(_cell(cell, texts))
            rows.append(values)
            row.clear()
    while rows and all(value is None for value in rows[-1]):
        rows.pop()
    return rows


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _cell(cell: Any, texts: list[str]) -> Any:
    """Return the value of a cell: text, number, True or False, or None."""
    kind, value = cell.get("t"), cell.find(f"{_SHEET}v")
    if kind == "inlineStr":
        return "".join(part.text or "" for part in cell.iter(f"{_SHEET}t")) or None
    if value is None or value.text is None or kind == "e":
        return None
    if kind == "s":
        return texts[int(value.text)]
    if kind == "b":
        return value.text == "1"
    if kind in (None, "n"):
        number = float(value.text)
        return int(number) if number == int(number) else number
    return value.text


# -- databases ----------------------------------------------------------------------------------------------


class SqliteReader:
    """Databases of SQLite: a table, or what a query gives."""

    name, title, together = "sqlite", "SQLite databases, a table or a query", False

    def sniff(self, file: File) -> float | None:
        """Return that the signature is there."""
        return CERTAIN if file.head.startswith(b"SQLite format 3\0") else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read a table."""
        (file,) = files
        if file.path is None:
            raise VotesError("format", f"{file.name} is a database, which is read from a file", where={})
        try:
            base = sqlite3.connect(f"{file.path.resolve().as_uri()}?mode=ro", uri=True)
            try:
                tables = [
                    name
                    for (name,) in base.execute(
                        "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'"
                    )
                ]
                rows = base.execute(_query(options.table, tables, file.name))
                names = [column[0] for column in rows.description]
                columns = list(zip(*rows.fetchall(), strict=True))
            finally:
                base.close()
        except sqlite3.Error as error:
            raise damaged(file.name, "SQLite", error) from None
        if not columns:
            raise empty_file(file.name, "has no rows in that table")
        texts = ([v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in column] for column in columns)
        table = pa.table([arrow_array(column) for column in texts], names=names)
        return Read(table, f"SQLite, {_called(options.table, tables)}", certain=False)


class DuckReader:
    """Databases of DuckDB: a table, or what a query gives."""

    name, title, together = "duckdb", "DuckDB databases, a table or a query (needs duckdb)", False

    def sniff(self, file: File) -> float | None:
        """Return that the signature is there."""
        return CERTAIN if file.head[8:12] == b"DUCK" else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read a table."""
        (file,) = files
        try:
            import duckdb
        except ImportError:
            raise lacking(file.name, "a DuckDB database", "duckdb", "duckdb") from None
        try:
            with duckdb.connect(file.name, read_only=True) as base:
                tables = [row[0] for row in base.execute("show tables").fetchall()]
                table = pa.table(base.sql(_query(options.table, tables, file.name)))
        except duckdb.Error as error:
            raise damaged(file.name, "DuckDB", error) from None
        if not table.num_rows:
            raise empty_file(file.name, "has no rows in that table")
        return Read(table, f"DuckDB, {_called(options.table, tables)}", certain=False)


def _query(asked: str | None, tables: list[str], name: str) -> str:
    """Return the query that a user asks for: his own, a table he names, or the only one."""
    if asked is not None and re.match(r"\s*(select|with|from)\s", asked, re.IGNORECASE):
        return asked
    if asked is None and len(tables) == 1:
        asked = tables[0]
    if asked not in tables:
        raise several(name, "tables", tables, "table")
    quoted = str(asked).replace('"', '""')
    return f'select * from "{quoted}"'


def _called(asked: str | None, tables: list[str]) -> str:
    return f"table {(asked or tables[0])!r}" if asked is None or asked in tables else "a query"


def arrow_readers() -> Iterator[ArrowReader]:
    """Yield the readers of tables of Arrow."""
    yield ArrowReader("parquet", "Parquet", (b"PAR1",))
    yield ArrowReader("feather", "Feather and Arrow files", (b"ARROW1", b"FEA1"))
