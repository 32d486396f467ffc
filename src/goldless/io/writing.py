"""Labels as tables, whole or batch by batch, in the order of the items and keyed as the user keys them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import feather, parquet

from goldless.errors import VotesError

_PARQUET, _FEATHER, _LINES = (".parquet", ".pq"), (".feather", ".arrow"), (".jsonl", ".ndjson")
ENDINGS = (".csv", ".tsv", *_LINES, ".json", *_PARQUET, *_FEATHER)
IN_BATCHES = (".csv", ".tsv", *_LINES, *_PARQUET)


def check_ending(path: str, endings: Sequence[str] = ENDINGS) -> None:
    """Refuse an ending that is not written, rather than write something else under it."""
    if not path.lower().endswith(tuple(endings)):
        raise VotesError(
            "output",
            f"labels are written to a file that ends in {', '.join(endings)}; got {path!r}",
            where={"file": path},
        )


def table_bytes(header: Sequence[str], columns: Sequence[Sequence[Any]], path: str) -> bytes:
    """Return a table as bytes, in the format that the end of a path says; a path without one, such as "-", is CSV."""
    name = path.lower()
    if name.endswith((*_PARQUET, *_FEATHER)):
        table = pa.table([_array(column) for column in columns], names=list(header))
        sink = pa.BufferOutputStream()
        if name.endswith(_PARQUET):
            parquet.write_table(table, sink)
        else:
            feather.write_feather(table, sink)
        return sink.getvalue().to_pybytes()
    rows = zip(*columns, strict=True)
    if name.endswith((*_LINES, ".json")):
        records = [dict(zip(header, row, strict=True)) for row in rows]
        return as_lines([records] if name.endswith(".json") else records)
    return as_text(header, rows, "\t" if name.endswith(".tsv") else ",")


def as_lines(values: Iterable[Any]) -> bytes:
    """Return values as JSON, a line each."""
    return "".join(json.dumps(value, ensure_ascii=False, default=str) + "\n" for value in values).encode()


def as_text(header: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str = ",") -> bytes:
    """Return rows below a header as delimited text."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue().encode()


def _array(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # names of several types
        return pa.array([None if value is None else str(value) for value in values])


class LabelWriter:
    """Rows of (item, label, probabilities) in batches, as Parquet, CSV, TSV or JSON lines by the end of the path.

    Two classes have one probability, that of the positive class; more have one each.

    Parameters
    ----------
    path : path
        File to write to, and to be told the kind from ``name``.
    name : str
        Name whose ending says the kind.
    classes : ndarray of shape (n_classes,)
        Labels; of two, (negative, positive).
    item : str
        Title of the first column.
    """

    def __init__(self, path: Path, name: str, classes: NDArray, item: str = "item"):
        check_ending(name, IN_BATCHES)
        kind = name.lower()
        self._labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
        self._shown = slice(1, 2) if len(self._labels) == 2 else slice(None)
        self._titles = [item, "label", *(f"probability of {label}" for label in self._labels[self._shown])]
        self._path, self._parquet, self._lines = path, kind.endswith(_PARQUET), kind.endswith(_LINES)
        self._delimiter = "\t" if kind.endswith(".tsv") else ","
        self._writer: Any = None
        self._stream: Any = None
        self.n_rows = 0

    def __enter__(self) -> LabelWriter:
        return self

    def write(self, items: Any, codes: NDArray[np.int8], probability: NDArray[np.float64]) -> None:
        """Add rows; ``items`` are their names, an array of numpy or Arrow, ``probability`` has a column a class."""
        columns = probability[:, self._shown].T
        if self._parquet:
            self._write_parquet(items, codes, columns)
        else:
            if self._stream is None:
                self._stream = self._path.open("w", encoding="utf-8", newline="")
                self._writer = csv.writer(self._stream, delimiter=self._delimiter, lineterminator="\n")
                if not self._lines:
                    self._writer.writerow(self._titles)
            names = items.to_pylist() if hasattr(items, "to_pylist") else np.asarray(items).tolist()
            words = [str(label) for label in self._labels]
            shown = columns.round(4).tolist()
            rows = zip(names, [words[code] for code in codes.tolist()], *shown, strict=True)
            if self._lines:
                lines = (json.dumps(dict(zip(self._titles, row, strict=True)), ensure_ascii=False) for row in rows)
                self._stream.writelines(f"{line}\n" for line in lines)
            else:
                self._writer.writerows(rows)
        self.n_rows += len(codes)

    def _write_parquet(self, items: Any, codes: NDArray[np.int8], columns: NDArray[np.float64]) -> None:
        names = items if isinstance(items, pa.Array | pa.ChunkedArray) else pa.array(np.asarray(items))
        if pa.types.is_dictionary(names.type):
            names = names.cast(names.type.value_type)
        labels = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(self._labels)).dictionary_decode()
        arrays = [names, labels, *(pa.array(column) for column in columns)]
        table = pa.Table.from_arrays(arrays, names=self._titles)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def __exit__(self, *_: object) -> None:
        for part in (self._writer if self._parquet else None, self._stream):
            if part is not None:
                part.close()
