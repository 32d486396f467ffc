"""Labels written batch by batch, in the order of the items, to a file that is whole or not there at all."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ENDINGS = (".parquet", ".pq", ".csv", ".tsv")


class LabelWriter:
    """Rows of (item, label, probabilities), as Parquet, CSV or TSV by the end of the path.

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
        kind = name.lower()
        if not kind.endswith(ENDINGS):
            raise ValueError(f"labels are written to a file that ends in {', '.join(ENDINGS)}; got {name!r}.")
        self._labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
        self._shown = slice(1, 2) if len(self._labels) == 2 else slice(None)
        self._titles = [item, "label", *(f"probability of {label}" for label in self._labels[self._shown])]
        self._path, self._parquet = path, kind.endswith((".parquet", ".pq"))
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
            if self._writer is None:
                self._stream = self._path.open("w", encoding="utf-8", newline="")
                self._writer = csv.writer(self._stream, delimiter=self._delimiter, lineterminator="\n")
                self._writer.writerow(self._titles)
            names = items.to_pylist() if hasattr(items, "to_pylist") else np.asarray(items).tolist()
            words = [str(label) for label in self._labels]
            shown = columns.round(4).tolist()
            self._writer.writerows(zip(names, [words[code] for code in codes.tolist()], *shown, strict=True))
        self.n_rows += len(codes)

    def _write_parquet(self, items: Any, codes: NDArray[np.int8], columns: NDArray[np.float64]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

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
