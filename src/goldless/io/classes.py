"""Which labels are the classes, and which mean that there is no vote."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.io.arrays import LabelTable
from goldless.io.label_codes import VOTES_AT_ONCE, first_place, means_missing
from goldless.kernels.threads import ordered_map, row_chunks

_MANY = 8  # more distinct labels than this are found by sorting
MAX_CLASSES = 100


def choose_classes(source: LabelTable, missing: Any, positive: Any) -> NDArray:
    """Return the classes, of two (negative, positive), or say why there are none."""
    labels = sorted_labels(source, missing)
    if all(isinstance(label, Number) for label in labels) and set(labels) == {-1, 0, 1}:
        raise ValueError(
            "The labels are -1, 0 and 1, and it is not clear which one is a missing vote: pass missing=0 if "
            "-1 and 1 are the classes, or missing=-1 if 0 and 1 are; for three classes, give them names."
        )
    if len(labels) > MAX_CLASSES:
        raise ValueError(
            f"The votes hold {len(labels)} different labels, such as {listed(labels)}: more than {MAX_CLASSES} are not "
            "classes. Are these scores?"
        )
    if len(labels) < 2:
        seen = (
            f"only one class occurs in the votes ({plain_label(labels[0])!r})" if labels else "all votes are missing"
        )
        raise ValueError(f"Nothing to combine: {seen}; two classes are needed.")
    if positive is not None:
        if positive not in labels:
            raise ValueError(f"positive={positive!r} is not one of the labels {listed(labels)}.")
        if len(labels) > 2:
            raise ValueError(f"positive is for two classes, and the votes hold {len(labels)}: {listed(labels)}.")
        labels.sort(key=lambda label: label == positive)
    return as_classes(labels)


def as_classes(labels: list) -> NDArray:
    """Return labels as an array, of objects if they are no plain values."""
    if all(np.isscalar(label) for label in labels):
        return np.array(labels)
    classes = np.empty(len(labels), dtype=object)
    classes[:] = labels
    return classes


def sorted_labels(source: LabelTable, missing: Any) -> list:
    """Return the distinct labels, sorted; refuse infinities and a mixture of kinds."""
    found = (
        {label for _, values in source.blocks() for label in _distinct(values)}
        if source.used is None
        else source.used
    )
    labels = [label for label in found if not means_missing(label, missing)]
    for label in labels:
        if isinstance(label, float | np.floating) and np.isinf(label):
            raise ValueError(
                f"Input contains infinity (inf) in {first_place(source, label)}: votes are labels, and a "
                "missing vote is NaN."
            )
    kinds = {_kind(label): label for label in sorted(labels, key=repr, reverse=True)}
    if len(kinds) > 1:
        (one, first), (other, second) = sorted(kinds.items(), reverse=True)[:2]
        raise ValueError(
            f"Labels of different types: {one} such as {plain_label(first)!r} and {other} such as "
            f"{plain_label(second)!r} (in {first_place(source, second)}); give all votes as one type."
        )
    try:
        return sorted(labels)
    except TypeError:  # labels without an order, such as members of an Enum
        return sorted(labels, key=repr)


def _distinct(values: NDArray) -> Iterable:
    """Return the distinct labels of a block, missing ones perhaps among them."""
    if values.dtype == object:
        return set(values.ravel().tolist())
    if values.dtype.kind in "iub" and values.size > VOTES_AT_ONCE and values.flags.c_contiguous:
        flat = values.reshape(-1)
        chunks = row_chunks(len(flat), VOTES_AT_ONCE)
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


def refuse_unhashable(source: LabelTable) -> None:
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


def plain_label(label: Any) -> Any:
    """Return a label as Python's own value."""
    return label.item() if isinstance(label, np.generic) else label


def listed(labels: Iterable) -> str:
    """Return the first few labels for a message."""
    labels = list(labels)
    shown = [_short(repr(plain_label(label))) for label in labels[:5]]
    return ", ".join(shown) + (", ..." if len(labels) > 5 else "")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
