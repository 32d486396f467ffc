"""Votes of any type to codes, and back. The only place that knows the user's labels and names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

MISSING = -1


@dataclass(frozen=True)
class Votes:
    """Votes of n_items x n_voters, encoded.

    Attributes
    ----------
    codes : ndarray of shape (n_items, n_voters)
        int8: -1 missing, 0 the first class, 1 the second, which is called positive.
    classes : ndarray of shape (2,)
        The user's own labels, (negative, positive).
    voters : ndarray of shape (n_voters,) or None
        Column names of a frame, if they are all strings.
    items : ndarray of shape (n_items,) or None
        Row index of a pandas frame.
    """

    codes: NDArray[np.int8]
    classes: NDArray
    voters: NDArray | None = None
    items: NDArray | None = None

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return self.codes.shape[0]

    @property
    def n_voters(self) -> int:
        """Number of columns."""
        return self.codes.shape[1]

    def voter_name(self, voter: int) -> str:
        """Return how to call a voter in a message."""
        return voter_name(self.voters, voter)


def voter_name(names: NDArray | None, voter: int) -> str:
    """Return the name of a voter, or its column number."""
    return f"column {voter}" if names is None else repr(str(names[voter]))


def encode_votes(
    X: Any, *, classes: ArrayLike | None = None, missing: Any = None, positive: Any = None
) -> Votes:
    """Encode votes.

    Parameters
    ----------
    X : array-like or frame of shape (n_items, n_voters)
        Two distinct labels of any type; NaN, None and NA are missing votes. Frames of pandas, polars and
        pyarrow are read column by column (through narwhals).
    classes : array-like of shape (2,), optional
        Labels known from an earlier fit, (negative, positive); any other label is an error.
    missing : label, optional
        A label that means "no vote", such as 0 or -1.
    positive : label, optional
        The label to call positive; by default the second in sorted order.

    Raises
    ------
    ValueError
        In one sentence that names the column or row and the way out.

    Examples
    --------
    >>> votes = encode_votes([["yes", "no", None], ["no", "no", "yes"]])
    >>> votes.classes
    array(['no', 'yes'], dtype='<U3')
    >>> votes.codes
    array([[ 1,  0, -1],
           [ 0,  0,  1]], dtype=int8)
    """
    if issparse(X):
        raise TypeError(
            "Sparse data was passed: votes must be dense, because a zero that is not stored could be a vote or a "
            "missing vote; use X.toarray() and say which with missing=0 or by leaving NaN."
        )
    source = _FrameSource.of(X) or _ArraySource(X)
    known = None if classes is None else np.asarray(classes)
    found = _choose_classes(source, missing, positive) if known is None else known
    codes = source.codes(found, missing)
    return Votes(codes, found, source.voters, source.items)


def _choose_classes(source: _ArraySource | _FrameSource, missing: Any, positive: Any) -> NDArray:
    """Return (negative, positive) or say why there are not two classes."""
    labels = source.distinct(missing)
    if len(labels) > 2:
        if all(isinstance(label, Number) for label in labels) and set(labels) == {-1, 0, 1}:
            raise ValueError(
                "The labels are -1, 0 and 1, and it is not clear which one is a missing vote: pass missing=0 if "
                "-1 and 1 are the classes, or missing=-1 if 0 and 1 are."
            )
        where = source.where(labels[2], missing)
        raise ValueError(
            f"Two classes are needed, but the votes hold at least three labels: {_listed(labels)} ({where}). If "
            "one of them means 'no vote', pass it as missing=...; otherwise combine one class against the rest."
        )
    if len(labels) < 2:
        what = f"only one class occurs in the votes ({labels[0]!r})" if labels else "all votes are missing"
        raise ValueError(f"Nothing to combine: {what}; two classes are needed.")
    if positive is not None:
        if positive not in labels:
            raise ValueError(f"positive={positive!r} is not one of the labels {_listed(labels)}.")
        labels = sorted(labels, key=lambda label: label == positive)
    return np.array(labels)


def _listed(labels: list) -> str:
    shown = ", ".join(repr(_plain(label)) for label in labels[:5])
    return shown + (", ..." if len(labels) > 5 else "")


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _sorted_labels(labels: set, where: Any) -> list:
    """Sort labels of one kind; refuse a mixture of kinds."""
    kinds = {_kind(label): label for label in labels}
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise ValueError(
            f"Labels of different types: {one} such as {first!r} and {other} such as {second!r} ({where(second)}); "
            "give all votes as one type."
        )
    return sorted(labels)


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "strings"
    if isinstance(label, Number | np.bool_):
        return "numbers"
    return f"values of type {type(label).__name__}"


def _is_missing(label: Any) -> bool:
    """Whether a Python object is None, NaN, NaT or NA."""
    if label is None:
        return True
    if isinstance(label, str):
        return False
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True


class _ArraySource:
    """Votes in an array."""

    voters = None
    items = None

    def __init__(self, X: Any):
        try:
            array = np.asarray(X)
        except ValueError as error:
            raise ValueError(f"The votes are not a table: the rows have different lengths ({error}).") from None
        if array.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {array.ndim}D array instead: rows are items and columns are voters. "
                "Reshape your data either using X.reshape(-1, 1) if there is a single voter or X.reshape(1, -1) "
                "if there is a single item."
            )
        if np.issubdtype(array.dtype, np.complexfloating):
            raise ValueError("Complex data not supported: votes are two labels.")
        if array.dtype.kind in "mM":
            array = array.astype(object)
        self.array = array
        self.numeric = array.dtype.kind in "biuf"

    def _missing_mask(self, missing: Any) -> NDArray[np.bool_] | None:
        array = self.array
        mask = None
        if array.dtype.kind == "f":
            mask = np.isnan(array)
        elif array.dtype == object:
            mask = np.fromiter((_is_missing(label) for label in array.flat), bool, array.size)
            mask = mask.reshape(array.shape)
        if missing is not None and not _is_missing(missing):
            equal = np.asarray(array == missing)
            if equal.shape == array.shape:
                mask = equal if mask is None else mask | equal
        return mask

    def distinct(self, missing: Any) -> list:
        """Return the distinct labels, sorted; at most a few are needed, but all are found."""
        array, mask = self.array, self._missing_mask(missing)
        if self.numeric:
            if array.dtype.kind == "f" and np.isinf(array).any():
                row, column = np.argwhere(np.isinf(array))[0]
                raise ValueError(
                    f"Input contains infinity (inf) at row {row}, column {column}: votes are two labels, and a "
                    "missing vote is NaN."
                )
            known = array if mask is None or not mask.any() else array[~mask]
            if not known.size:
                return []
            low, high = known.min(), known.max()
            if ((known == low) | (known == high)).all():
                return [low] if low == high else [low, high]
            return list(np.unique(known))
        known = array.ravel() if mask is None else array[~mask]
        if array.dtype.kind in "US":
            return list(np.unique(known))
        try:
            labels = set(known.tolist())
        except TypeError:
            kind = type(next(label for label in known if label.__hash__ is None)).__name__
            raise TypeError(
                f"argument must be a string or a number: a vote of type {kind} is not a label."
            ) from None
        return _sorted_labels(labels, lambda label: self.where(label, missing))

    def where(self, label: Any, missing: Any) -> str:
        """Return where a label first occurs."""
        hits = np.argwhere(np.asarray(self.array == label))
        return f"{_plain(label)!r} is at row {hits[0][0]}, column {hits[0][1]}" if len(hits) else "position unknown"

    def codes(self, classes: NDArray, missing: Any) -> NDArray[np.int8]:
        """Return the codes, or say which label is not one of the classes."""
        array, mask = self.array, self._missing_mask(missing)
        is_negative, is_positive = _equals(array, classes[0]), _equals(array, classes[1])
        codes = is_positive.astype(np.int8)
        seen = is_negative | is_positive
        if mask is not None:
            codes[mask] = MISSING
            seen |= mask
        if not seen.all():
            row, column = np.argwhere(~seen)[0]
            raise ValueError(
                f"Unknown label {_plain(array[row, column])!r} at row {row}, column {column}: the classes are "
                f"{_listed(list(classes))}."
            )
        return np.ascontiguousarray(codes)


def _equals(array: NDArray, label: Any) -> NDArray[np.bool_]:
    equal = np.asarray(array == label)
    return equal if equal.shape == array.shape else np.zeros(array.shape, dtype=bool)


class _FrameSource:
    """Votes in a data frame, read column by column."""

    def __init__(self, frame: Any, native: Any):
        self.frame = frame
        names = frame.columns
        if len(set(names)) < len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise ValueError(f"Two columns have the name {twice!r}; give every voter its own name.")
        self.voters = np.array(names, dtype=object) if all(isinstance(name, str) for name in names) else None
        index = getattr(native, "index", None)
        self.items = None if index is None or not hasattr(index, "to_numpy") else index.to_numpy()

    @classmethod
    def of(cls, X: Any) -> _FrameSource | None:
        """Wrap a frame; None if X is not one."""
        if isinstance(X, np.ndarray | list | tuple):
            return None
        looks_like_frame = hasattr(X, "columns") or hasattr(X, "column_names") or hasattr(X, "collect_schema")
        try:
            import narwhals.stable.v1 as nw
        except ImportError:
            if looks_like_frame and not hasattr(X, "to_numpy"):
                raise TypeError(
                    f"To read a {type(X).__module__.split('.')[0]} frame, install goldless[io]."
                ) from None
            return _PandasLikeSource(X) if looks_like_frame else None  # type: ignore[return-value]
        try:
            frame = nw.from_native(X, pass_through=True)
        except (TypeError, ValueError) as error:  # duplicate column names are found here by some backends
            if looks_like_frame:
                raise ValueError(f"The frame cannot be read: {error}") from None
            return None
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        return cls(frame, X) if isinstance(frame, nw.DataFrame) else None

    def _columns(self) -> Iterator[tuple[str, Any]]:
        for name in self.frame.columns:
            yield name, self.frame[name]

    def distinct(self, missing: Any) -> list:
        """Return the distinct labels of all columns, sorted."""
        self._where: dict[Any, Any] = {}
        for name, column in self._columns():
            for label in column.unique().to_list():
                if _is_missing(label) or label == missing:
                    continue
                if isinstance(label, float) and math.isinf(label):
                    raise ValueError(
                        f"Input contains infinity (inf) in column {name!r}: votes are two labels, and a missing "
                        "vote is NaN."
                    )
                self._where.setdefault(label, name)
        return _sorted_labels(set(self._where), lambda label: self.where(label, missing))

    def where(self, label: Any, missing: Any) -> str:
        """Return the column where a label first occurs."""
        return f"{label!r} is in column {self._where[label]!r}"

    def codes(self, classes: NDArray, missing: Any) -> NDArray[np.int8]:
        """Return the codes, or say which label is not one of the classes."""
        codes = np.full(self.frame.shape, MISSING, dtype=np.int8)
        labels = {_plain(label): code for code, label in enumerate(classes)}
        for position, (name, column) in enumerate(self._columns()):
            for label in column.unique().to_list():
                if _is_missing(label) or (missing is not None and label == missing):
                    continue
                if label not in labels:
                    raise ValueError(
                        f"Unknown label {label!r} in column {name!r}: the classes are {_listed(list(classes))}."
                    )
                hits = (column == label).fill_null(False).to_numpy()
                codes[np.asarray(hits, dtype=bool), position] = labels[label]
        return codes


class _PandasLikeSource(_ArraySource):
    """A frame with columns and to_numpy, for those who have not installed narwhals."""

    def __init__(self, X: Any):
        super().__init__(X.to_numpy())
        names = list(X.columns)
        self.voters = np.array(names, dtype=object) if all(isinstance(name, str) for name in names) else None
        self.items = X.index.to_numpy() if hasattr(X, "index") else None
