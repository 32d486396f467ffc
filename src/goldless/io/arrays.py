"""Votes as they came, before their labels are looked at: one array, or the columns of a frame."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_ssize_t
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.frames import codes_of, distinct_in
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.votes.alphabet import MISSING, UNKNOWN, Alphabet, NewLabels, as_classes, distinct_labels
from goldless.votes.votes import Votes

_ROWS_AT_ONCE = 1 << 14  # rows that are turned from columns while they are in the cache


@dataclass(frozen=True)
class LabelTable:
    """Votes as they came: one array, or the columns of a frame."""

    shape: tuple[int, int]
    # yields `(index, values)`: an array of labels of one type, and where it belongs in a table of this shape. What no
    # block covers is missing
    blocks: Callable[[], Iterator[tuple[Any, NDArray]]]
    label: Callable[[int, int], Any]  # returns the label in a row and a column
    # voters, items: names of the columns, if they are all strings, and of the rows
    voters: NDArray | None = None
    items: NDArray | None = None
    arrow: pa.Table | None = None  # the columns, if Arrow has them: it finds their labels and codes faster

    def place(self, row: int, column: int) -> str:
        """Return how to call a place in a message."""
        return f"row {row}, column {column if self.voters is None else repr(self.voters[column])}"

    def first_place(self, label: Any) -> str:
        """Say where a label first occurs."""
        places = np.argwhere(self.codes(Alphabet(as_classes([label, label]))) >= 0)
        return f" in {self.place(*places[0])}"

    def head(self, n_rows: int) -> LabelTable:
        """Return the first rows."""
        if n_rows >= self.shape[0]:
            return self
        if self.arrow is not None:
            return table_of_frame(self.arrow.slice(0, n_rows)) or self
        ((_, values),) = self.blocks()
        return table_of_array(values[:n_rows])

    def of_voters(self, columns: Sequence[int]) -> LabelTable:
        """Return some of the columns, in this order."""
        names = None if self.voters is None else self.voters[list(columns)]
        if self.arrow is not None:
            chosen = table_of_frame(self.arrow.select(list(columns)))
            assert chosen is not None
            return replace(chosen, voters=names, items=self.items)
        ((_, values),) = self.blocks()
        return replace(table_of_array(values[:, list(columns)], items=self.items), voters=names)

    def values(self) -> list[NDArray]:
        """Return the votes, block by block; of what Arrow keeps once for all rows each value once."""
        if self.arrow is None:
            return [values for _, values in self.blocks()]
        return [
            np.array([*distinct_in(column), None], dtype=object)[:-1]
            if pa.types.is_dictionary(column.type)
            else column.drop_null().to_numpy()
            for column in self.arrow.columns
        ]

    @cached_property
    def labels(self) -> set:
        """The distinct labels, missing ones perhaps among them."""
        if self.arrow is not None:
            return {label for column in self.arrow.columns for label in distinct_in(column)}
        return {label for _, values in self.blocks() for label in distinct_labels(values)}

    def codes(self, alphabet: Alphabet) -> NDArray[np.int8]:
        """Return the codes of all votes, -2 for labels that are neither classes nor missing."""
        if self.arrow is not None:
            turned = np.empty(self.shape, dtype=np.int8)
            arrow, columns = self.arrow, np.empty(self.shape[::-1], dtype=np.int8)

            def fill(number: int) -> None:
                columns[number] = codes_of(arrow.column(number), alphabet, arrow.column_names[number], "votes")

            def turn(rows: slice) -> None:
                turned[rows] = columns[:, rows].T

            ordered_map(fill, range(self.shape[1]))
            ordered_map(turn, row_chunks(self.shape[0], _ROWS_AT_ONCE))
            return turned
        codes: NDArray[np.int8] | None = None
        for index, values in self.blocks():
            of_block = alphabet.codes(values)
            if index is ...:  # all votes in one block: nothing to put together
                return np.ascontiguousarray(of_block)
            if codes is None:
                codes = np.full(self.shape, MISSING, dtype=np.int8)
            codes[index] = of_block
        return np.full(self.shape, MISSING, dtype=np.int8) if codes is None else codes

    def encoded(self, alphabet: Alphabet) -> Votes:
        """Return the votes in an alphabet, or say which labels are not in it."""
        codes = self.codes(alphabet)
        if codes.min() == UNKNOWN:
            if alphabet.grows:
                raise NewLabels(set().union(*(alphabet.strangers(values) for _, values in self.blocks())))
            row, column = map(int, np.argwhere(codes == UNKNOWN)[0])
            name = column if self.voters is None else str(self.voters[column])
            raise alphabet.unknown(self.label(row, column), self.place(row, column), row=row, column=name)
        return Votes(codes, alphabet.values, self.voters, self.items)

    def refuse_unhashable(self) -> None:
        """Name the first vote that cannot be a label, such as a list."""
        for index, values in self.blocks():
            for position, label in zip(np.ndindex(values.shape), values.flat, strict=True):
                try:
                    hash(label)
                except TypeError:
                    here = np.zeros(values.shape, dtype=bool)
                    here[position] = True
                    everywhere = np.zeros(self.shape, dtype=bool)
                    everywhere[index] = here
                    raise TypeError(
                        f"argument must be a string or a number: the vote in "
                        f"{self.place(*np.argwhere(everywhere)[0])} is a {type(label).__name__}."
                    ) from None


def table_of(X: Any) -> LabelTable:
    """Read an array or a frame that has rows and columns."""
    if isinstance(X, LabelTable):
        return X
    table = table_of_frame(X) or table_of_array(X)
    for axis, what in enumerate(("sample(s)", "feature(s)")):
        if table.shape[axis] == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={table.shape}) while a minimum of 1 is required: rows are items "
                "and columns are voters."
            )
    return table


def table_of_array(X: Any, names: Sequence | None = None, items: NDArray | None = None) -> LabelTable:
    """Read anything numpy reads."""
    if isinstance(X, np.ma.MaskedArray):
        X, absent = X.data.astype(object), np.ma.getmaskarray(X)
        X[absent] = None
    try:
        array = np.asarray(X)
        if array.dtype.kind in "USOT" and not isinstance(X, np.ndarray):
            array = np.asarray(X, dtype=object)  # numpy would turn numbers and NaN next to a string into strings
    except ValueError:
        raise ValueError("The votes are not a table: the rows have different lengths.") from None
    if array.dtype.names is not None and array.ndim == 1:  # a structured array: a field for each voter
        return table_of(pa.table({name: pa.array(array[name].tolist()) for name in array.dtype.names}))
    if array.ndim == 0:
        raise TypeError(f"Votes are an array or a frame, rows items and columns voters; got a {type(X).__name__}.")
    if array.ndim == 3:
        raise VotesError(
            "shape",
            "Expected 2D array, got 3D array instead: rows are items and columns are voters, and this one has the "
            f"shape {array.shape}",
            "one-class-of-three",
        )
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: rows are items and columns are voters. "
            "Reshape your data either using X.reshape(-1, 1) if there is a single voter or X.reshape(1, -1) "
            "if there is a single item."
        )
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: votes are labels.")
    if array.dtype.kind in "TV":
        array = array.astype(object)

    def blocks() -> Iterator[tuple[Any, NDArray]]:
        yield ..., array

    return LabelTable(array.shape, blocks, lambda row, column: array[row, column], _strings(names), items)


def table_of_lists(column: pa.ListArray, names: Sequence[str]) -> LabelTable:
    """Read a column of Arrow whose rows are lists of numbers, one for each of some voters."""
    flat, n_voters = column.flatten(), len(names)
    if not flat.null_count or pa.types.is_floating(flat.type):  # numpy says NaN where a number is missing
        return table_of_array(flat.to_numpy(zero_copy_only=False).reshape(-1, n_voters), names)
    columns = [flat.take(pa.array(np.arange(voter, len(flat), n_voters))) for voter in range(n_voters)]
    return table_of(pa.table(columns, names=list(names)))


def table_of_frame(X: Any) -> LabelTable | None:
    """Read a frame column by column, each in its own type; None if X is not a frame."""
    table = arrow_table(X)
    if table is None:
        if not hasattr(type(X), "columns") or not hasattr(X, "to_numpy"):
            return None
        _refuse_duplicates(list(X.columns))
        return table_of_array(X.to_numpy(), list(X.columns), _row_names(X))  # values that Arrow does not have

    table = pa.table(ordered_map(_hashed, table.columns), names=table.column_names)

    def blocks() -> Iterator[tuple[Any, NDArray]]:
        for position, column in enumerate(table.columns):
            present = column.drop_null()
            rows = slice(None) if not column.null_count else np.flatnonzero(column.is_valid().to_numpy())
            yield (rows, position), present.to_numpy()

    names = list(X.columns) if hasattr(X, "index") else table.column_names
    return LabelTable(
        (table.num_rows, table.num_columns),
        blocks,
        lambda row, column: table.column(int(column))[int(row)].as_py(),
        _strings(names),
        _row_names(X),
        table,
    )


def arrow_table(X: Any) -> pa.Table | None:
    """Return anything that speaks the Arrow C stream interface as a table; None if X is something else.

    Values that Arrow does not have, such as members of an Enum, keep a frame of pandas from becoming one.
    """
    if isinstance(X, np.ndarray | list | tuple):
        return None
    if not hasattr(X, "__arrow_c_stream__") and hasattr(X, "collect") and hasattr(X, "collect_schema"):
        X = X.collect()  # a lazy frame
    if hasattr(X, "index") and hasattr(X, "columns") and hasattr(X, "to_numpy"):  # pandas
        _refuse_duplicates(list(X.columns))
        try:
            columns = [_series_array(X.iloc[:, number]) for number in range(X.shape[1])]
        except (pa.ArrowException, TypeError, ValueError):
            return None
        table = pa.table(columns, names=[str(name) for name in X.columns])
    elif hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
        try:
            table = pa.table(X)
        except (pa.ArrowException, TypeError):
            if hasattr(X, "columns"):
                raise
            return None  # one column, such as a Series
        _refuse_duplicates(table.column_names)
    else:
        return None
    if any(pa.types.is_nested(kind) for kind in table.schema.types):
        return None if hasattr(X, "to_numpy") else table
    try:
        columns = ordered_map(_plain_text, table.columns)
    except (KeyError, pa.ArrowNotImplementedError):
        columns = [
            column.cast(pa.dictionary(pa.int32(), column.type.value_type))
            if pa.types.is_dictionary(column.type)
            else column
            for column in without_views(X).columns
        ]
    return pa.table(columns, names=table.column_names)


def _series_array(series: Any) -> pa.Array:
    """Return a column of pandas; of objects that are all text each text once, which takes half the time or less."""
    if str(series.dtype) == "object" or getattr(series.dtype, "storage", "") == "python":
        series = series.astype(object)
        try:
            codes, texts = _same_objects(series.to_numpy()) or series.factorize()
        except TypeError:  # what cannot be hashed, such as lists
            return pa.array(series, from_pandas=True)
        if len(texts) and all(type(text) is str for text in texts):
            return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), pa.array(texts))
    return pa.array(series, from_pandas=True)


def _same_objects(values: NDArray) -> tuple[NDArray[np.int8], list[str]] | None:
    """Return numbers of texts, -1 for none, and the texts, if a few objects make up a column; None otherwise.

    A text that comes again mostly is the same object again, and where objects lie is compared faster than hashed.
    """
    if not len(values) or len(set(map(id, values[:_FEW_ROWS]))) > _FEW:
        return None
    held = np.ascontiguousarray(values)
    place = np.ctypeslib.as_array((c_ssize_t * len(held)).from_address(held.ctypes.data))
    codes, rest = np.zeros(len(held), dtype=np.int8), np.ones(len(held), dtype=bool)
    texts: dict[str, int] = {}
    for _ in range(_FEW + 1):
        if not rest.any():
            return codes, list(texts)
        value = held[rest.argmax()]
        same = place == id(value)
        if type(value) is str:
            codes += same.view(np.int8) * np.int8(texts.setdefault(value, len(texts)))
        elif value is None or (type(value) is float and value != value):
            codes -= same.view(np.int8)
        else:
            return None
        rest ^= same
    return None


def without_views(X: Any) -> pa.Table:
    """Return a frame of polars as older versions of Arrow take it, which know no views of text."""
    levels = getattr(sys.modules.get(type(X).__module__.partition(".")[0]), "CompatLevel", None)
    if levels is None:
        raise VotesError("arrow-too-old", "Views of text need a newer pyarrow: pip install -U pyarrow")
    return X.to_arrow(compat_level=levels.oldest())


_FEW = 6  # labels that are found by comparing all votes with each, which is several times faster than hashing
_FEW_ROWS = 64  # that show whether labels may be so few


def _hashed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of text with each distinct text once, so that it is looked at once."""
    kind = column.type
    if not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
        return column
    parts = [_compared(chunk) for chunk in column.chunks]
    if not parts or any(part is None for part in parts):
        return column.dictionary_encode()
    return pa.chunked_array(parts, pa.dictionary(pa.int8(), kind))


def _compared(texts: pa.Array) -> pa.DictionaryArray | None:
    """Return texts of which a few are distinct as numbers; None if there are more."""
    rest = (
        np.ones(len(texts), dtype=bool) if not texts.null_count else texts.is_valid().to_numpy(zero_copy_only=False)
    )
    codes = np.zeros(len(texts), dtype=np.int8)
    found: list[Any] = []
    rest = rest.copy()
    while rest.any():
        if len(found) == _FEW:
            return None
        text = texts[int(rest.argmax())]
        here = pc.equal(texts, text)
        same = (here.fill_null(False) if here.null_count else here).to_numpy(zero_copy_only=False)
        codes += same.view(np.int8) * np.int8(len(found))
        rest &= ~same
        found.append(text)
    absent = texts.is_null().to_numpy(zero_copy_only=False) if texts.null_count else None
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=absent), pa.array(found, texts.type))


def _plain_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose text is stored plainly: much of Arrow does not take views of text yet."""
    kind = column.type
    if pa.types.is_dictionary(kind) and str(kind.value_type) == "string_view":
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
            for chunk in column.chunks
        ]
        return pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.large_string()))
    if str(kind) != "string_view":
        return column
    if column.null_count:
        return column.cast(pa.large_string())
    chunks = [
        pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(pa.large_string()))
        for part in column.dictionary_encode().chunks
    ]
    return pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.large_string()))


def _row_names(frame: Any) -> NDArray | None:
    """Return the index of a frame that has one."""
    return frame.index.to_numpy() if hasattr(getattr(frame, "index", None), "to_numpy") else None


def own_index(frame: Any) -> NDArray | None:
    """Return the index of a pandas frame, unless it only numbers the rows."""
    counts = getattr(frame, "index", None)
    return None if type(counts).__name__ == "RangeIndex" else _row_names(frame)


def _refuse_duplicates(names: list) -> None:
    for name in names:
        if names.count(name) > 1:
            raise VotesError("same-name", f"Two columns have the name {name!r}", "own-names", {"column": name})


def _strings(names: Sequence | None) -> NDArray | None:
    """Return names as scikit-learn keeps them: an object array, if all are strings."""
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=object)
