"""Votes of any type to codes, and back. The only place that knows the user's labels and names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from goldless.kernels.threads import ordered_map, row_chunks

MISSING = -1
_UNKNOWN = -2  # a label that is not one of the classes; never leaves this module
_ROWS_AT_ONCE = 1 << 18  # votes: what is made of so many stays in the cache
_MANY = 8  # more distinct labels than this are found by sorting


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


def encode_votes(X: Any, *, classes: ArrayLike | None = None, missing: Any = None, positive: Any = None) -> Votes:
    """Encode votes.

    Parameters
    ----------
    X : array-like or frame of shape (n_items, n_voters)
        Two distinct labels of any type; NaN, None and NA are missing votes. Frames of pandas, polars and
        pyarrow are read column by column (through narwhals). Votes that are encoded already pass through.
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
    if isinstance(X, Votes):
        return _reencode(X, classes, positive)
    if issparse(X):
        raise TypeError(
            "Sparse data was passed: votes must be dense, because a zero that is not stored could be a vote or a "
            "missing vote; use X.toarray() and say which with missing=0 or by leaving NaN."
        )
    for name, label in (("missing", missing), ("positive", positive)):
        if isinstance(label, list | set | dict | np.ndarray):
            raise TypeError(f"{name} must be one label, got the {type(label).__name__} {label!r}.")
    source = _frame_source(X) or _array_source(X)
    for axis, what in enumerate(("sample(s)", "feature(s)")):
        if source.shape[axis] == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={source.shape}) while a minimum of 1 is required: rows are items "
                "and columns are voters."
            )
    try:
        chosen = _choose_classes(source, missing, positive) if classes is None else np.asarray(classes)
        codes = _encode(source, chosen, missing)
    except TypeError:
        _refuse_unhashable(source)
        raise
    if codes.min() == _UNKNOWN:
        row, column = np.argwhere(codes == _UNKNOWN)[0]
        raise ValueError(
            f"Unknown label {_plain(source.label(row, column))!r} in {source.place(row, column)}: the classes are "
            f"{_listed(chosen)}."
        )
    return Votes(codes, chosen, source.voters, source.items)


def labels_in(X: Any, missing: Any = None) -> list:
    """Return the distinct labels of votes, sorted, those that mean "no vote" left out."""
    return list(X.classes) if isinstance(X, Votes) else _sorted_labels(_frame_source(X) or _array_source(X), missing)


def classes_among(labels: Iterable, *, positive: Any = None) -> NDArray:
    """Return (negative, positive) from the labels of many blocks of votes."""
    nothing = _Source((0, 0), lambda: iter(()), lambda row, column: None, used=tuple(labels))
    return _choose_classes(nothing, None, positive)


def find_classes(blocks: Iterable[Any], *, missing: Any = None, positive: Any = None) -> NDArray:
    """Return (negative, positive) from the first of many blocks of votes that hold two labels between them."""
    labels: dict[Any, None] = {}
    for block in blocks:
        labels.update(dict.fromkeys(labels_in(block, missing)))
        if len(labels) >= 2:
            break
    return classes_among(labels, positive=positive)


def encode_positions(
    positions: NDArray[np.int8],
    labels: Sequence,
    *,
    used: Sequence,
    voters: NDArray | None = None,
    items: NDArray | None = None,
    positive: Any = None,
) -> Votes:
    """Encode votes given as positions in a list of labels, -1 where there is none.

    ``used`` are the labels that occur; the votes themselves are turned back into labels only to say where one is.
    """
    lookup = np.empty(len(labels) + 1, dtype=object)
    lookup[:-1] = labels

    def blocks() -> Iterator[tuple[Any, NDArray]]:
        yield ..., lookup[positions]

    source = _Source(
        positions.shape, blocks, lambda row, column: lookup[positions[row, column]], voters, items, tuple(used)
    )
    classes = _choose_classes(source, None, positive)
    code_of = np.full(len(labels) + 1, MISSING, dtype=np.int8)
    for number, label in enumerate(labels):
        for code, chosen in enumerate(classes):
            if label == chosen:
                code_of[number] = code
    return Votes(code_of[positions], classes, voters, items)


def _reencode(votes: Votes, classes: ArrayLike | None, positive: Any) -> Votes:
    """Return encoded votes in classes known from a fit, or with another class called positive."""
    known = list(votes.classes)
    wanted = list(np.asarray(classes)) if classes is not None else list(votes.classes)
    if classes is None and positive is not None:
        if positive not in known:
            raise ValueError(f"positive={positive!r} is not one of the labels {_listed(known)}.")
        wanted.sort(key=lambda label: label == positive)
    if known == wanted:
        return votes
    strange = [code for code in (0, 1) if known[code] not in wanted and (votes.codes == code).any()]
    if strange:
        row, column = np.argwhere(votes.codes == strange[0])[0]
        raise ValueError(
            f"Unknown label {_plain(known[strange[0]])!r} in row {row}, {votes.voter_name(column)}: the classes are "
            f"{_listed(wanted)}."
        )
    code_of = np.array([*(wanted.index(label) if label in wanted else MISSING for label in known), MISSING], np.int8)
    return Votes(code_of[votes.codes], np.asarray(wanted), votes.voters, votes.items)


def encode_truth(y: ArrayLike, votes: Votes) -> NDArray[np.int8]:
    """Encode true labels of the items in the classes of their votes; none may be missing."""
    truth = np.asarray(y)
    if truth.shape != (votes.n_items,):
        raise ValueError(f"y must be one label for each of {votes.n_items} items, got shape {truth.shape}.")
    codes = _codes_of(truth, votes.classes, None)
    if codes.min() < 0:
        row = int(np.flatnonzero(codes < 0)[0])
        raise ValueError(
            f"y holds {_plain(truth[row])!r} in row {row}: every item needs one of the labels of the votes, "
            f"{_listed(votes.classes)}."
        )
    return codes


# -- labels -------------------------------------------------------------------------------------------------


def _choose_classes(source: _Source, missing: Any, positive: Any) -> NDArray:
    """Return (negative, positive) or say why there are not two classes."""
    labels = _sorted_labels(source, missing)
    if len(labels) > 2:
        if all(isinstance(label, Number) for label in labels) and set(labels) == {-1, 0, 1}:
            raise ValueError(
                "The labels are -1, 0 and 1, and it is not clear which one is a missing vote: pass missing=0 if "
                "-1 and 1 are the classes, or missing=-1 if 0 and 1 are."
            )
        raise ValueError(
            f"Two classes are needed, but the votes hold {len(labels)} labels: {_listed(labels)} (the third is in "
            f"{_first_place(source, labels[2])}); if one of them means 'no vote', pass it as missing=..., otherwise "
            "combine one class against the rest."
        )
    if len(labels) < 2:
        seen = f"only one class occurs in the votes ({_plain(labels[0])!r})" if labels else "all votes are missing"
        raise ValueError(f"Nothing to combine: {seen}; two classes are needed.")
    if positive is not None:
        if positive not in labels:
            raise ValueError(f"positive={positive!r} is not one of the labels {_listed(labels)}.")
        labels.sort(key=lambda label: label == positive)
    if all(np.isscalar(label) for label in labels):
        return np.array(labels)
    classes = np.empty(2, dtype=object)
    classes[0], classes[1] = labels
    return classes


def _sorted_labels(source: _Source, missing: Any) -> list:
    """Return the distinct labels, sorted; refuse infinities and a mixture of kinds."""
    found = (
        {label for _, values in source.blocks() for label in _distinct(values)}
        if source.used is None
        else source.used
    )
    labels = [label for label in found if not _means_missing(label, missing)]
    for label in labels:
        if isinstance(label, float | np.floating) and np.isinf(label):
            raise ValueError(
                f"Input contains infinity (inf) in {_first_place(source, label)}: votes are two labels, and a "
                "missing vote is NaN."
            )
    kinds = {_kind(label): label for label in sorted(labels, key=repr, reverse=True)}
    if len(kinds) > 1:
        (one, first), (other, second) = sorted(kinds.items(), reverse=True)[:2]
        raise ValueError(
            f"Labels of different types: {one} such as {_plain(first)!r} and {other} such as {_plain(second)!r} (in "
            f"{_first_place(source, second)}); give all votes as one type."
        )
    try:
        return sorted(labels)
    except TypeError:  # labels without an order, such as members of an Enum
        return sorted(labels, key=repr)


def _distinct(values: NDArray) -> Iterable:
    """Return the distinct labels of a block, missing ones perhaps among them."""
    if values.dtype == object:
        return set(values.ravel().tolist())
    if values.dtype.kind in "iub" and values.size > _ROWS_AT_ONCE and values.flags.c_contiguous:
        flat = values.reshape(-1)
        chunks = row_chunks(len(flat), _ROWS_AT_ONCE)
        ends = ordered_map(lambda rows: (flat[rows].min(), flat[rows].max()), chunks)
        lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
        if int(highest) - int(lowest) == 1:
            return lowest, highest
        return {label for part in ordered_map(lambda rows: _distinct(flat[rows]), chunks) for label in part}
    labels: list = []
    rest = values == values
    while rest.any():  # a pass for each label, since two or three are expected
        if len(labels) == _MANY:
            return np.unique(values)
        labels.append(values.flat[rest.argmax()])
        rest &= values != labels[-1]
    return labels


def _means_missing(label: Any, missing: Any) -> bool:
    return is_missing(label) or (missing is not None and bool(label == missing))


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or NA."""
    if label is None:
        return True
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True


def _refuse_unhashable(source: _Source) -> None:
    """Name the first vote that cannot be a label, such as a list."""
    for index, values in source.blocks():
        for position, label in zip(np.ndindex(values.shape), values.flat, strict=True):
            try:
                hash(label)
            except TypeError:
                here = np.zeros(values.shape, dtype=bool)
                here[position] = True
                everywhere = np.zeros(source.shape, dtype=bool)
                everywhere[index] = here
                raise TypeError(
                    f"argument must be a string or a number: the vote in "
                    f"{source.place(*np.argwhere(everywhere)[0])} is a {type(label).__name__}."
                ) from None


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "strings"
    if isinstance(label, Number | np.bool_):
        return "numbers"
    return f"values of type {type(label).__name__}"


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _listed(labels: Iterable) -> str:
    shown = [repr(_plain(label)) for label in labels]
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")


# -- codes --------------------------------------------------------------------------------------------------


def _encode(source: _Source, classes: Sequence | NDArray, missing: Any) -> NDArray[np.int8]:
    """Return the codes of all votes, with _UNKNOWN for labels that are not of the classes."""
    codes: NDArray[np.int8] | None = None
    for index, values in source.blocks():
        of_block = _codes_of(values, classes, missing)
        if index is ...:  # all votes in one block: nothing to put together
            return np.ascontiguousarray(of_block)
        if codes is None:
            codes = np.full(source.shape, MISSING, dtype=np.int8)
        codes[index] = of_block
    return np.full(source.shape, MISSING, dtype=np.int8) if codes is None else codes


def _codes_of(values: NDArray, classes: Sequence | NDArray, missing: Any) -> NDArray[np.int8]:
    """Return the codes of an array of labels of any shape."""
    if values.dtype == object:  # by hashing, because objects such as pandas.NA do not compare
        flat = values.ravel().tolist()
        code_of = {label: code for code, label in enumerate(classes)}
        for label in set(flat) - code_of.keys():
            code_of[label] = MISSING if _means_missing(label, missing) else _UNKNOWN
        return np.fromiter(map(code_of.__getitem__, flat), np.int8, len(flat)).reshape(values.shape)
    if values.ndim == 2 and values.size > _ROWS_AT_ONCE:
        if _are_codes(values, classes):
            return values.view(np.int8)
        codes = np.empty(values.shape, dtype=np.int8)

        def fill(rows: slice) -> None:
            codes[rows] = _codes_of(values[rows], classes, missing)

        ordered_map(fill, row_chunks(len(values), max(_ROWS_AT_ONCE // values.shape[1], 1)))
        return codes
    is_negative, is_positive = (_equals(values, label) for label in classes)
    codes = is_positive.view(np.int8)
    other = ~(is_negative | is_positive)
    if other.any():
        labels = values[other]
        absent = (labels != labels) | (missing is not None and _equals(labels, missing))
        codes[other] = np.where(absent, MISSING, _UNKNOWN)
    return codes


def _are_codes(values: NDArray, classes: Sequence | NDArray) -> bool:
    """Whether labels are the codes 0 and 1 already, one byte each, so that they need no copy."""
    if values.dtype not in (np.int8, np.uint8, np.bool_) or not values.flags.c_contiguous:
        return False
    if not all(isinstance(label, Number | np.bool_) for label in classes) or list(classes) != [0, 1]:
        return False
    flat = values.reshape(-1).view(np.uint8)
    return max(ordered_map(lambda rows: flat[rows].max(), row_chunks(len(flat), _ROWS_AT_ONCE))) <= 1


def _equals(values: NDArray, label: Any) -> NDArray[np.bool_]:
    """Compare an array that holds no objects with a label; a label of another type equals nothing."""
    return values == label if np.isscalar(label) else np.zeros(values.shape, dtype=bool)


def _first_place(source: _Source, label: Any) -> str:
    """Say where a label first occurs."""
    places = np.argwhere(_encode(source, (label, label), None) >= 0)
    return source.place(*places[0]) if len(places) else "an earlier block"


# -- sources ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
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


def _array_source(X: Any, names: Sequence | None = None, items: NDArray | None = None) -> _Source:
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
        raise ValueError("Complex data not supported: votes are two labels.")
    if array.dtype.kind in "TV":
        array = array.astype(object)

    def blocks() -> Iterator[tuple[Any, NDArray]]:
        yield ..., array

    return _Source(array.shape, blocks, lambda row, column: array[row, column], _strings(names), items)


def _frame_source(X: Any) -> _Source | None:
    """Read a frame column by column, each in its own type; None if X is not a frame."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        return _frame_source_without_narwhals(X)
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

    return _Source(
        frame.shape,
        blocks,
        lambda row, column: frame.item(int(row), int(column)),
        _strings(frame.columns),
        _row_names(X),
    )


def _frame_source_without_narwhals(X: Any) -> _Source | None:
    """Read a frame that turns itself into an array."""
    if not hasattr(type(X), "columns"):
        return None
    if not hasattr(X, "to_numpy"):
        raise TypeError(f"To read a frame of {type(X).__module__.split('.')[0]}, install goldless[io].")
    _refuse_duplicates(list(X.columns))
    return _array_source(X.to_numpy(), list(X.columns), _row_names(X))


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


def find_items(votes: Votes, items: Collection[str]) -> dict[str, int]:
    """Return the row of each of some items, by name or, if they have none, by number from 1: the first of several."""
    found: dict[str, int] = {}
    names = range(1, votes.n_items + 1) if votes.items is None else votes.items.tolist()
    for row, name in enumerate(map(str, names)):
        if name in items:
            found.setdefault(name, row)
    return found
