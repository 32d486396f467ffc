"""Votes as they came, before their labels are looked at: one array, or the columns of a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LabelTable:
    """Votes as they came: one array, or the columns of a frame.

    Attributes
    ----------
    shape : (n_items, n_voters)
    blocks : callable
        Yields ``(index, values)``: an array of labels of one type, and where it belongs in a table of this shape.
        What no block covers is missing.
    label : callable
        Returns the label in a row and a column.
    voters, items : ndarray or None
        Names of the columns, if they are all strings, and of the rows.
    used : tuple or None
        The labels that occur, if that is known.
    """

    shape: tuple[int, int]
    blocks: Callable[[], Iterator[tuple[Any, NDArray]]]
    label: Callable[[int, int], Any]
    voters: NDArray | None = None
    items: NDArray | None = None
    used: tuple | None = None

    def place(self, row: int, column: int) -> str:
        """Return how to call a place in a message."""
        return f"row {row}, column {column if self.voters is None else repr(self.voters[column])}"


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
    if array.ndim == 0:
        raise TypeError(f"Votes are an array or a frame, rows items and columns voters; got a {type(X).__name__}.")
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


def table_of_frame(X: Any) -> LabelTable | None:
    """Read a frame column by column, each in its own type; None if X is not a frame."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        return _table_of_frame_without_narwhals(X)
    try:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
    except nw.exceptions.DuplicateError:
        _refuse_duplicates(list(X.columns if hasattr(X, "to_numpy") else X.column_names))
        raise
    if not isinstance(frame, nw.DataFrame):
        return None

    def blocks() -> Iterator[tuple[Any, NDArray]]:
        for position, column in enumerate(frame.iter_columns()):
            present = np.flatnonzero(~np.asarray(column.is_null().to_numpy(), dtype=bool))
            yield (present, position), column.drop_nulls().to_numpy()

    return LabelTable(
        frame.shape,
        blocks,
        lambda row, column: frame.item(int(row), int(column)),
        _strings(frame.columns),
        _row_names(X),
    )


def _table_of_frame_without_narwhals(X: Any) -> LabelTable | None:
    """Read a frame that turns itself into an array."""
    if not hasattr(type(X), "columns"):
        return None
    if not hasattr(X, "to_numpy"):
        raise TypeError(f"A frame of {type(X).__module__.split('.')[0]} is read with narwhals: pip install narwhals")
    _refuse_duplicates(list(X.columns))
    return table_of_array(X.to_numpy(), list(X.columns), _row_names(X))


def _row_names(frame: Any) -> NDArray | None:
    """Return the index of a frame that has one."""
    return frame.index.to_numpy() if hasattr(getattr(frame, "index", None), "to_numpy") else None


def _refuse_duplicates(names: list) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Two columns have the name {name!r}: give every voter its own name.")


def _strings(names: Sequence | None) -> NDArray | None:
    """Return names as scikit-learn keeps them: an object array, if all are strings."""
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=object)
