"""Record batches of Arrow to rows of votes, column by column and without a table of labels in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.readers.columns import nested_column
from goldless.kernels.bits import plane_bytes, value_planes
from goldless.votes.alphabet import MAX_CLASSES, MISSING, UNKNOWN, Alphabet, NewLabels, listed, short_repr
from goldless.votes.rows import Rows


def rows_of_batch(batch: Any, voters: Sequence[str], alphabet: Alphabet, name: str, start: int) -> Rows:
    """Pack the columns of a record batch.

    ``voters``: columns that hold votes, in order; ``name`` and ``start``: where the batch comes from and the number
    of its first row, for messages.
    """
    n_rows, width, n_classes = batch.num_rows, plane_bytes(len(voters)), len(alphabet)
    n_planes = 1 if n_classes == 2 else 1 + (n_classes - 1).bit_length()
    planes = np.zeros((n_planes, width, n_rows), dtype=np.uint8)
    missing_plane: NDArray[np.uint8] | None = None
    strangers: set = set()
    for number, title in enumerate(voters):
        array = batch.column(title)
        codes = codes_of(array, alphabet, title, name)
        byte, bit = divmod(number, 8)
        lowest = codes.min(initial=0)
        if lowest < 0:
            if lowest == UNKNOWN:
                unknown = np.flatnonzero(codes == UNKNOWN)
                strangers.update(_some_labels(array.take(unknown), alphabet, start + int(unknown[0]), title, name))
            absent = codes < 0
            codes = np.maximum(codes, 0)
            if missing_plane is None:
                missing_plane = np.zeros((width, n_rows), dtype=np.uint8)
            missing_plane[byte] |= absent.view(np.uint8) << np.uint8(bit)
        if n_planes == 1:  # the codes are the bits
            planes[0, byte] |= codes.view(np.uint8) << np.uint8(bit)
            continue
        for power, plane in enumerate(value_planes(n_planes)):
            planes[plane, byte] |= (codes.view(np.uint8) >> np.uint8(power) & np.uint8(1)) << np.uint8(bit)
    if strangers:
        raise NewLabels(strangers)
    if missing_plane is not None:
        planes = np.concatenate([planes[:1], missing_plane[None], planes[2:]])
    return Rows(np.ascontiguousarray(planes.reshape(-1, n_rows).T), len(voters), n_classes)


def _some_labels(array: Any, alphabet: Alphabet, row: int, title: str, name: str) -> list:
    """Return the labels of an array, which are unknown; refuse them if the alphabet does not grow."""
    if not alphabet.grows:
        error = alphabet.unknown(array[0].as_py(), f"row {row}, column {title!r}", row=row, column=title)
        raise error.within(name, file=name)
    return array.unique()[: MAX_CLASSES + 1].to_pylist()


def truth_of_batch(column: Any, alphabet: Alphabet, name: str) -> NDArray[np.int8]:
    """Return the codes of a column of true labels, -1 where there is none."""
    truth = codes_of(column, alphabet, "the truth", name)
    strange = np.flatnonzero(truth == UNKNOWN)
    if len(strange):
        raise unknown_truth(column[int(strange[0])].as_py(), alphabet, name)
    return truth


def unknown_truth(label: Any, alphabet: Alphabet, name: str) -> VotesError:
    """Return the error of a true label that is not among the classes of the votes."""
    return VotesError(
        "unknown-truth",
        f"{name}: the truth holds {short_repr(label)}, but the votes are {listed(alphabet.values)}",
        "list-classes",
        {"file": name, "label": label},
    )


def codes_of(array: Any, alphabet: Alphabet, title: str, name: str) -> NDArray[np.int8]:
    """Return the codes of a column: -1 missing, -2 unknown."""
    if isinstance(array, pa.ChunkedArray):
        parts = [codes_of(chunk, alphabet, title, name) for chunk in array.chunks]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int8)
    kind = array.type
    if pa.types.is_nested(kind):
        raise nested_column(title, kind, name)
    absent = None
    if array.null_count and not pa.types.is_dictionary(kind):
        absent = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(kind):
        return _codes_of_values(_bits_of(array), alphabet, absent)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        filled = array.fill_null(0) if absent is not None else array
        return _codes_of_values(filled.to_numpy(zero_copy_only=False), alphabet, absent)
    encoded = array if pa.types.is_dictionary(kind) else array.dictionary_encode()
    labels = encoded.dictionary.to_pylist()
    codes = np.array([*map(alphabet.code, labels), MISSING], dtype=np.int8)
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


def _codes_of_values(values: NDArray, alphabet: Alphabet, absent: NDArray[np.bool_] | None) -> NDArray[np.int8]:
    """Code a column of numbers, one comparison of the whole column for each number that occurs."""
    codes = np.zeros(len(values), dtype=np.int8) if absent is None else -absent.view(np.int8)
    rest = np.ones(len(values), dtype=bool) if absent is None else ~absent
    for _ in range(MAX_CLASSES + 1):
        first = rest.argmax() if len(rest) else 0
        if not rest[first : first + 1].any():
            return codes
        label = values[first]
        here = values != values if label != label else values == label
        here &= rest
        rest ^= here
        if code := alphabet.code(label.item()):  # whole columns of bytes are faster than places chosen in them
            codes |= here.view(np.int8) if code == 1 else here.view(np.int8) * np.int8(code)
    if alphabet.grows:  # so many labels are no classes
        codes[rest] = UNKNOWN
    else:
        labels, inverse = np.unique(values[rest], return_inverse=True)
        codes[rest] = np.array([alphabet.code(label) for label in labels.tolist()], dtype=np.int8)[inverse]
    return codes


def distinct_in(column: Any) -> list:
    """Return the distinct values of a column, None perhaps among them."""
    if not pa.types.is_dictionary(column.type):
        return column.unique().to_pylist()
    found: dict[Any, None] = {}
    for part in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        used = np.zeros(len(part.dictionary), dtype=bool)  # a dictionary may hold values that no row has
        used[part.indices.drop_null().to_numpy(zero_copy_only=False)] = True
        found.update(dict.fromkeys(part.dictionary.filter(pa.array(used)).to_pylist()))
    return list(found)
