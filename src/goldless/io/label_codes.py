"""Labels to codes, once it is known which are the classes and which mean that there is no vote."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.io.arrays import LabelTable
from goldless.kernels.threads import ordered_map, row_chunks

MISSING = -1
UNKNOWN = -2  # a label that is not one of the classes; never leaves this module

VOTES_AT_ONCE = 1 << 18  # votes: what is made of so many stays in the cache


def encode_table(source: LabelTable, classes: Sequence | NDArray, missing: Any) -> NDArray[np.int8]:
    """Return the codes of all votes, with UNKNOWN for labels that are not of the classes."""
    codes: NDArray[np.int8] | None = None
    for index, values in source.blocks():
        of_block = codes_of(values, classes, missing)
        if index is ...:  # all votes in one block: nothing to put together
            return np.ascontiguousarray(of_block)
        if codes is None:
            codes = np.full(source.shape, MISSING, dtype=np.int8)
        codes[index] = of_block
    return np.full(source.shape, MISSING, dtype=np.int8) if codes is None else codes


def codes_of(values: NDArray, classes: Sequence | NDArray, missing: Any) -> NDArray[np.int8]:
    """Return the codes of an array of labels of any shape."""
    if values.dtype == object:  # by hashing, because objects such as pandas.NA do not compare
        flat = values.ravel().tolist()
        code_of = {label: code for code, label in enumerate(classes)}
        for label in set(flat) - code_of.keys():
            code_of[label] = MISSING if means_missing(label, missing) else UNKNOWN
        return np.fromiter(map(code_of.__getitem__, flat), np.int8, len(flat)).reshape(values.shape)
    if values.ndim == 2 and values.size > VOTES_AT_ONCE:
        if _are_codes(values, classes):
            return values.view(np.int8)
        codes = np.empty(values.shape, dtype=np.int8)

        def fill(rows: slice) -> None:
            codes[rows] = codes_of(values[rows], classes, missing)

        ordered_map(fill, row_chunks(len(values), max(VOTES_AT_ONCE // values.shape[1], 1)))
        return codes
    if len(classes) == 2:
        is_negative, is_positive = (_equals(values, label) for label in classes)
        codes, other = is_positive.view(np.int8), ~(is_negative | is_positive)
    else:
        codes, other = np.full(values.shape, UNKNOWN, dtype=np.int8), np.ones(values.shape, dtype=bool)
        for code, label in enumerate(classes):
            here = _equals(values, label)
            codes[here] = code
            other &= ~here
    if other.any():
        labels = values[other]
        absent = (labels != labels) | (missing is not None and _equals(labels, missing))
        codes[other] = np.where(absent, MISSING, UNKNOWN)
    return codes


def _are_codes(values: NDArray, classes: Sequence | NDArray) -> bool:
    """Whether labels are the codes 0 and 1 already, one byte each, so that they need no copy."""
    if values.dtype not in (np.int8, np.uint8, np.bool_) or not values.flags.c_contiguous:
        return False
    if not all(isinstance(label, Number | np.bool_) for label in classes) or list(classes) != [0, 1]:
        return False
    flat = values.reshape(-1).view(np.uint8)
    return max(ordered_map(lambda rows: flat[rows].max(), row_chunks(len(flat), VOTES_AT_ONCE))) <= 1


def _equals(values: NDArray, label: Any) -> NDArray[np.bool_]:
    """Compare an array that holds no objects with a label; a label of another type equals nothing."""
    return values == label if np.isscalar(label) else np.zeros(values.shape, dtype=bool)


def first_place(source: LabelTable, label: Any) -> str:
    """Say where a label first occurs."""
    places = np.argwhere(encode_table(source, (label, label), None) >= 0)
    return source.place(*places[0]) if len(places) else "an earlier block"


def means_missing(label: Any, missing: Any) -> bool:
    """Whether a label means that there is no vote."""
    return is_missing(label) or (missing is not None and bool(label == missing))


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or NA."""
    if label is None:
        return True
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True
