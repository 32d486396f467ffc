"""Votes of any type to codes, and back. The only place that knows the user's labels and names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from goldless.io.arrays import LabelTable, table_of_array, table_of_frame
from goldless.io.classes import choose_classes, listed, plain_label, refuse_unhashable, sorted_labels
from goldless.io.label_codes import MISSING, UNKNOWN, codes_of, encode_table
from goldless.votes.votes import Votes


def encode_votes(X: Any, *, classes: ArrayLike | None = None, missing: Any = None, positive: Any = None) -> Votes:
    """Encode votes.

    Parameters
    ----------
    X : array-like or frame of shape (n_items, n_voters)
        Two to a hundred distinct labels of any type; NaN, None and NA are missing votes. Frames of pandas, polars and
        pyarrow are read column by column (through narwhals). Votes that are encoded already pass through.
    classes : array-like of shape (n_classes,), optional
        Labels known from an earlier fit, of two (negative, positive); any other label is an error.
    missing : label, optional
        A label that means "no vote", such as 0 or -1.
    positive : label, optional
        Of two labels the one to call positive; by default the second in sorted order.

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
    source = table_of_frame(X) or table_of_array(X)
    for axis, what in enumerate(("sample(s)", "feature(s)")):
        if source.shape[axis] == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={source.shape}) while a minimum of 1 is required: rows are items "
                "and columns are voters."
            )
    try:
        chosen = choose_classes(source, missing, positive) if classes is None else np.asarray(classes)
        codes = encode_table(source, chosen, missing)
    except TypeError:
        refuse_unhashable(source)
        raise
    if codes.min() == UNKNOWN:
        row, column = np.argwhere(codes == UNKNOWN)[0]
        raise ValueError(
            f"Unknown label {plain_label(source.label(row, column))!r} in {source.place(row, column)}: the classes "
            f"are {listed(chosen)}."
        )
    return Votes(codes, chosen, source.voters, source.items)


def labels_in(X: Any, missing: Any = None) -> list:
    """Return the distinct labels of votes, sorted, those that mean "no vote" left out."""
    return list(X.classes) if isinstance(X, Votes) else sorted_labels(table_of_frame(X) or table_of_array(X), missing)


def classes_among(labels: Iterable, *, positive: Any = None) -> NDArray:
    """Return the classes, of two (negative, positive), from the labels of many blocks of votes."""
    nothing = LabelTable((0, 0), lambda: iter(()), lambda row, column: None, used=tuple(labels))
    return choose_classes(nothing, None, positive)


def find_classes(blocks: Iterable[Any], *, missing: Any = None, positive: Any = None) -> NDArray:
    """Return the classes from the first of many blocks of votes that hold two labels between them."""
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

    source = LabelTable(
        positions.shape, blocks, lambda row, column: lookup[positions[row, column]], voters, items, tuple(used)
    )
    classes = choose_classes(source, None, positive)
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
            raise ValueError(f"positive={positive!r} is not one of the labels {listed(known)}.")
        if len(known) == 2:
            wanted.sort(key=lambda label: label == positive)
    if known == wanted:
        return votes
    strange = [code for code in range(len(known)) if known[code] not in wanted and (votes.codes == code).any()]
    if strange:
        row, column = np.argwhere(votes.codes == strange[0])[0]
        raise ValueError(
            f"Unknown label {plain_label(known[strange[0]])!r} in row {row}, {votes.voter_name(column)}: the classes "
            f"are {listed(wanted)}."
        )
    code_of = np.array([*(wanted.index(label) if label in wanted else MISSING for label in known), MISSING], np.int8)
    return Votes(code_of[votes.codes], np.asarray(wanted), votes.voters, votes.items)


def encode_truth(y: ArrayLike, votes: Votes) -> NDArray[np.int8]:
    """Encode true labels of the items in the classes of their votes; none may be missing."""
    truth = np.asarray(y)
    if truth.shape != (votes.n_items,):
        raise ValueError(f"y must be one label for each of {votes.n_items} items, got shape {truth.shape}.")
    codes = codes_of(truth, votes.classes, None)
    if codes.min() < 0:
        row = int(np.flatnonzero(codes < 0)[0])
        raise ValueError(
            f"y holds {plain_label(truth[row])!r} in row {row}: every item needs one of the labels of the votes, "
            f"{listed(votes.classes)}."
        )
    return codes
