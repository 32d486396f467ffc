"""JSON lines, tables of Arrow and arrays of numpy as columns."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.frames import nested_column
from goldless.io.readers.columns import (
    MAX_COLUMNS,
    Column,
    Columns,
    DistinctValues,
    Progress,
    damaged,
    empty_file,
    too_wide,
)


def read_json_lines(stream: BinaryIO, name: str, *, size: int = 0, progress: Progress | None = None) -> Columns:
    """Read one JSON object a line; a key that a line lacks is a missing value."""
    distinct: dict[str, DistinctValues] = {}
    positions: dict[str, list[int]] = {}
    n_rows = 0
    for number, record in _records(stream, name):
        for key, value in record.items():
            if isinstance(value, list | dict):
                raise VotesError(
                    "nested",
                    f"{name}: line {number} holds a {type(value).__name__} under {key!r}",
                    "plain-values",
                    {"file": name, "line": number, "column": key},
                )
            if key not in distinct:
                if len(distinct) == MAX_COLUMNS:
                    raise too_wide(name)
                distinct[key], positions[key] = DistinctValues(), [-1] * n_rows
            positions[key].append(distinct[key][value])
        n_rows += 1
        for known in positions.values():
            if len(known) < n_rows:
                known.append(-1)
        if progress is not None and size and number % 4096 == 0:
            progress(min(stream.tell() / size, 1.0))
    if not n_rows:
        raise empty_file(name)
    columns = [Column(key, np.array(positions[key], np.int32), distinct[key].values_) for key in distinct]
    return Columns(columns, "JSON lines")


def _records(stream: BinaryIO, name: str) -> Iterator[tuple[int, dict]]:
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == 1 and line.lstrip()[:1] == b"[":
                raise _an_array(name) from None
            why = error.msg if isinstance(error, json.JSONDecodeError) else "not UTF-8 text"
            raise _bad_line(name, number, f"is not JSON ({why})") from None
        if number == 1 and isinstance(record, list):
            raise _an_array(name)
        if not isinstance(record, dict):
            raise _bad_line(name, number, "is not a JSON object")
        yield number, record


def _an_array(name: str) -> VotesError:
    return VotesError("json-array", f"{name} is one JSON array", "json-lines", {"file": name})


def _bad_line(name: str, number: int, what: str) -> VotesError:
    return VotesError("json-line", f"{name}: line {number} {what}", "json-object", {"file": name, "line": number})


def read_arrow(stream: BinaryIO, name: str, kind: str) -> Columns:
    """Read Parquet or Feather with pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import feather, parquet
    except ImportError:
        raise VotesError(
            "library",
            f"{name} is {kind.capitalize()}, which needs pyarrow",
            "install",
            {"file": name},
            library="pyarrow",
        ) from None
    try:
        if kind == "parquet":
            _refuse_wide(name, parquet.read_metadata(stream).num_columns)
            stream.seek(0)
        table = parquet.read_table(stream) if kind == "parquet" else feather.read_table(stream)
        _refuse_wide(name, table.num_columns)
        if not table.num_rows:
            raise empty_file(name, "has columns but no rows")
        table.validate(full=True)  # a damaged file may point outside its own bytes
        columns = [arrow_column(title, table.column(i), name, pa) for i, title in enumerate(table.column_names)]
    except VotesError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(name, kind.capitalize(), error) from None
    return Columns(columns, kind.capitalize())


def _refuse_wide(name: str, n_columns: int) -> None:
    if n_columns > MAX_COLUMNS:
        raise too_wide(name)


def arrow_column(title: str, chunked: Any, name: str, pa: Any) -> Column:
    """Turn a column of an Arrow table into a :class:`Column`."""
    if pa.types.is_nested(chunked.type):
        raise nested_column(title, chunked.type, name)
    array = chunked.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # no chunk at all
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    raw = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    used = np.zeros(len(encoded.dictionary) + 1, dtype=bool)  # a dictionary may hold values that no row has
    used[raw] = True
    distinct, lookup = DistinctValues(), np.full(len(used), -1, dtype=np.int32)
    lookup[:-1][used[:-1]] = distinct.positions(encoded.dictionary.filter(pa.array(used[:-1])).to_pylist())
    return Column(title, lookup[raw], distinct.values_)


def read_npz(stream: BinaryIO, name: str) -> dict[str, NDArray]:
    """Read all arrays of an npz file, never a pickle."""
    try:
        with np.load(stream, allow_pickle=False) as arrays:
            if "[Content_Types].xml" in arrays.files:
                raise VotesError("format", f"{name} is a spreadsheet", "as-csv", {"file": name})
            read = {key: arrays[key] for key in arrays.files}
            if not all(isinstance(array, np.ndarray) for array in read.values()):
                raise VotesError(
                    "format",
                    f"{name} is a zip file but not npz, which holds arrays and nothing else",
                    where={"file": name},
                )
            return {key: _not_bytes(array) for key, array in read.items()}
    except (VotesError, MemoryError):
        raise
    except ValueError as error:
        if "allow_pickle" in str(error) or "Object arrays" in str(error):
            raise VotesError(
                "pickle", f"{name} holds pickled objects, which are never loaded", "no-pickle", {"file": name}
            ) from None
        raise damaged(name, "npz", error) from None
    except zipfile.BadZipFile as error:
        raise VotesError(
            "damaged", f"{name} begins like a zip file but is not npz ({error})", where={"file": name}
        ) from None
    except Exception as error:  # the parsers of zip files and of headers stumble in many ways over damaged bytes
        raise damaged(name, "npz", error) from None


def _not_bytes(array: NDArray) -> NDArray:
    return np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array


def factorise(title: str, values: NDArray) -> Column:
    """Turn an array of one column into a :class:`Column`."""
    if values.dtype.kind in "iub" and values.size:
        distinct, positions = np.unique(values, return_inverse=True)
        return Column(title, positions.astype(np.int32), distinct.tolist())
    known = DistinctValues()
    return Column(title, known.positions(values.tolist()), known.values_)
