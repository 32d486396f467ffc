"""Record batches of Arrow to rows of votes, column by column and without a table of labels in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.io.classes import MAX_CLASSES
from goldless.io.label_codes import MISSING, is_missing
from goldless.io.readers.columns import MISSING_TOKENS, VotesFileError
from goldless.kernels.bits import plane_bytes, value_planes
from goldless.votes.rows import Rows

_UNKNOWN = -2


def label_coder(
    classes: Sequence | NDArray, missing: Iterable[Any], same: Callable[[Any, Any], bool]
) -> Callable[[Any], int]:
    """Return a function that codes one label: -1 missing, 0 and more a class, -2 none of these."""
    classes, missing = list(classes), list(missing)
    known: dict[Any, int] = {}

    def code_of(label: Any) -> int:
        if label is None or is_missing(label):
            return MISSING
        key = (type(label), label)
        if key not in known:
            text = label.strip() if isinstance(label, str) else label
            found = [code for code, name in enumerate(classes) if same(name, text)]
            gone = (isinstance(text, str) and text in MISSING_TOKENS) or any(same(text, name) for name in missing)
            known[key] = MISSING if gone else found[0] if found else _UNKNOWN
        return known[key]

    return code_of


def rows_of_batch(
    batch: Any, voters: Sequence[str], n_classes: int, code_of: Callable[[Any], int], name: str, start: int
) -> Rows:
    """Pack the columns of a record batch.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
    voters : sequence of str
        Columns that hold votes, in order.
    n_classes : int
    code_of : callable
        Codes one label (:func:`label_coder`).
    name, start : str, int
        Where the batch comes from and the number of its first row, for messages.
    """
    n_rows, width = batch.num_rows, plane_bytes(len(voters))
    n_planes = 1 if n_classes == 2 else 1 + (n_classes - 1).bit_length()
    planes = np.zeros((n_planes, width, n_rows), dtype=np.uint8)
    missing_plane: NDArray[np.uint8] | None = None
    for number, title in enumerate(voters):
        array = batch.column(title)
        codes = _codes(array, code_of)
        byte, bit = divmod(number, 8)
        if codes.size and codes.min() < 0:
            unknown = np.flatnonzero(codes == _UNKNOWN)
            if len(unknown):
                row = int(unknown[0])
                raise VotesFileError(
                    f"{name}: unknown label {array[row].as_py()!r} in row {start + row}, column {title!r}, where the "
                    "classes are those of the first rows: if it means 'no vote', pass it as missing, or drop the column"
                )
            absent = codes < 0
            codes = np.where(absent, 0, codes).astype(np.int8)
            if missing_plane is None:
                missing_plane = np.zeros((width, n_rows), dtype=np.uint8)
            missing_plane[byte] |= absent.view(np.uint8) << np.uint8(bit)
        for power, plane in enumerate(value_planes(n_planes)):
            planes[plane, byte] |= (codes.view(np.uint8) >> np.uint8(power) & np.uint8(1)) << np.uint8(bit)
    if missing_plane is not None:
        planes = np.concatenate([planes[:1], missing_plane[None], planes[2:]])
    return Rows(np.ascontiguousarray(planes.reshape(-1, n_rows).T), len(voters), n_classes)


def truth_of_batch(column: Any, classes: NDArray, code_of: Callable[[Any], int], name: str) -> NDArray[np.int8]:
    """Return the codes of a column of true labels, -1 where there is none."""
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    labels = encoded.dictionary.to_pylist()
    codes = np.array([*(code_of(label) for label in labels), MISSING], dtype=np.int8)
    truth = codes[encoded.indices.cast(pa.int64()).fill_null(len(labels)).to_numpy(zero_copy_only=False)]
    strange = np.flatnonzero(truth == _UNKNOWN)
    if len(strange):
        known = " and ".join(repr(label) for label in classes.tolist())
        raise VotesFileError(
            f"{name}: the truth holds {column[int(strange[0])].as_py()!r}, but the votes are {known}"
        )
    return truth


def _codes(array: Any, code_of: Callable[[Any], int]) -> NDArray[np.int8]:
    """Return the codes of a column: -1 missing, -2 unknown."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_nested(kind):
        raise VotesFileError(f"a column holds {kind}; votes are plain values")
    absent = None
    if array.null_count and not pa.types.is_dictionary(kind):
        absent = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(kind):
        return _codes_of_values(_bits_of(array), code_of, absent)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        filled = array.fill_null(0) if absent is not None else array
        return _codes_of_values(filled.to_numpy(zero_copy_only=False), code_of, absent)
    encoded = array if pa.types.is_dictionary(kind) else array.dictionary_encode()
    labels = encoded.dictionary.to_pylist()
    codes = np.array([*(code_of(label) for label in labels), MISSING], dtype=np.int8)
    indices = encoded.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(labels))
    return codes[indices.to_numpy(zero_copy_only=False)]


def _bits_of(array: Any) -> NDArray[np.bool_]:
    """Return a boolean column as bytes."""
    data = np.frombuffer(array.buffers()[1], dtype=np.uint8)
    first = array.offset // 8
    bits = np.unpackbits(data[first : (array.offset + len(array) + 7) // 8], bitorder="little")
    return bits[array.offset - 8 * first :][: len(array)].view(np.bool_)


def _codes_of_values(
    values: NDArray, code_of: Callable[[Any], int], absent: NDArray[np.bool_] | None
) -> NDArray[np.int8]:
    """Code a column of numbers, one comparison of the whole column for each number that occurs."""
    codes = np.full(len(values), MISSING, dtype=np.int8)
    rest = np.ones(len(values), dtype=bool) if absent is None else ~absent
    for _ in range(MAX_CLASSES + 1):
        if not rest.any():
            return codes
        label = values[rest.argmax()]
        here = values != values if label != label else values == label
        here &= rest
        codes[here] = code_of(label.item())
        rest &= ~here
    codes[rest] = _UNKNOWN
    return codes
