"""Columns of Arrow tables as small numbers: a name, distinct values and their positions.

A column keeps each distinct value once, so a table of a million rows and two labels is a few small integers a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from goldless.errors import Note, VotesError
from goldless.plain import is_number
from goldless.votes.alphabet import DASHES, MISSING_TOKENS, dash_is_label

TOKENS = pa.array(sorted(MISSING_TOKENS))


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table: ``values[positions[row]]`` is the value in a row, position -1 none."""

    name: str
    positions: NDArray[np.int32]
    values: list[Any]

    def at_rows(self) -> NDArray:
        """Return the value of every row, None where there is none."""
        return np.array([*self.values, None], dtype=object)[self.positions]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table, and the words for how it was read."""

    columns: list[Column]
    how: str
    named: bool = True


def column_of(title: str, chunked: Any, name: str) -> Column:
    """Turn a column of an Arrow table into a :class:`Column`; spaces around text do not count."""
    kind = chunked.type
    if pa.types.is_nested(kind):
        raise nested_column(title, kind, name)
    if pa.types.is_dictionary(kind) and isinstance(chunked, pa.ChunkedArray) and chunked.num_chunks > 1:
        chunked = chunked.unify_dictionaries()
    array = whole_array(chunked)
    encoded = array if pa.types.is_dictionary(kind) else array.dictionary_encode()
    raw = encoded.indices
    raw = raw.fill_null(-1) if raw.null_count else raw
    positions = raw.to_numpy(zero_copy_only=False)
    if positions.dtype.kind == "u" or positions.dtype.itemsize < 4:
        positions = positions.astype(np.int64)  # -1 is the last of them
    used = np.zeros(len(encoded.dictionary) + 1, dtype=bool)  # a dictionary may hold values that no row has
    used[positions] = True
    values, lookup = _distinct(
        encoded.dictionary if used[:-1].all() else encoded.dictionary.filter(pa.array(used[:-1]))
    )
    if len(values) == len(encoded.dictionary):  # every value is used and means something
        return Column(title, positions.astype(np.int32, copy=False), values)
    code_of = np.full(len(used), -1, dtype=np.int32)
    code_of[:-1][used[:-1]] = lookup
    return Column(title, code_of[positions], values)


def whole_array(column: Any) -> Any:
    """Return a column, which may be in chunks, as one array."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # no chunk at all
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array


def _distinct(dictionary: Any) -> tuple[list, NDArray[np.int32]]:
    """Return the distinct values among those of a dictionary that mean something, and the place of each, or -1."""
    if pa.types.is_string(dictionary.type) or pa.types.is_large_string(dictionary.type):
        trimmed = pc.utf8_trim_whitespace(dictionary)
        known = pc.if_else(pc.is_in(trimmed, TOKENS.cast(trimmed.type)), None, trimmed).dictionary_encode()
        return known.dictionary.to_pylist(), known.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    if pa.types.is_integer(dictionary.type):  # which are distinct already
        return dictionary.to_pylist(), np.arange(len(dictionary), dtype=np.int32)
    return _distinct_objects(dictionary.to_pylist())


def _distinct_objects(values: Iterable[Any]) -> tuple[list, NDArray[np.int32]]:
    """Return distinct values, and the place of each; text that means "no vote", None and NaN are at -1."""
    place_of: dict[Any, int] = {}
    places = []
    for value in values:
        key = value.strip() if isinstance(value, str) else value
        if key is None or key != key or (isinstance(key, str) and key in MISSING_TOKENS):
            places.append(-1)
        else:
            places.append(place_of.setdefault(key, len(place_of)))
    return list(place_of), np.array(places, dtype=np.int32)


_PERCENT = re.compile(r"[-+]?\d+(?:[.,]\d+)?\s?%")
_COMMA = re.compile(r"[-+]?(?:\d+(?:,\d+)?|\d{1,3}(?:,\d{3})+)")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+")
_SURE_COMMA = re.compile(r"[-+]?\d+,\d{2,}")  # "1,2" may be two choices


def as_meant(columns: Sequence[Column]) -> tuple[list[Column], tuple[Note, ...]]:
    """Return columns of text with a dash taken for nothing, and with percentages and decimal commas as numbers."""
    found, notes = list(columns), []
    with_dashes = [column for column in found if not DASHES.isdisjoint(map(str, column.values))]
    if with_dashes and not dash_is_label(value for column in with_dashes for value in column.values):
        found = [_recoded(c, lambda text: None if text in DASHES else text) if c in with_dashes else c for c in found]
    commas = [_are_all(_COMMA, column) for column in found]
    sure = any(
        _SURE_COMMA.fullmatch(value) for c, is_one in zip(found, commas, strict=True) if is_one for value in c.values
    )
    with_commas = [v for c, is_one in zip(found, commas, strict=True) if is_one for v in c.values if "," in v]
    thousands = sure and all(map(_THOUSANDS.fullmatch, with_commas))
    sure = sure and (thousands or all(value.count(",") == 1 for value in with_commas))
    percents = [_are_all(_PERCENT, column) for column in found]
    for number, column in enumerate(found):
        if percents[number]:
            found[number] = _recoded(column, lambda text: _decimal(text.rstrip("% ")) / 100)
        elif sure and commas[number]:
            found[number] = _recoded(column, _thousands if thousands else _decimal)
    if any(percents):
        notes.append(Note("Percentages were read as numbers from 0 to 1"))
    if sure:
        meant = "marks of thousands" if thousands else "decimal points"
        notes.append(Note(f"Commas within numbers were read as {meant}"))
    return found, tuple(notes)


_GRADE = re.compile(
    r"(?:[^\W\d][^\d:=]*[:=]\s*)?[\[(]*(\d+(?:\.\d+)?)[\])]*"  # 4, Score: 4, [[4]]
    r"(?:\s*(?:/|out of|of)\s*(\d+))?"  # 4/10
    r"(?:\s*(?:[-\u2013\u2014:=.,(]|\s)\s*([^\W\d].*))?",  # 4 - good, 4 (good)
    re.IGNORECASE,
)
_GRADE_BEHIND = re.compile(r"([^\W\d][^\d()]*)\((\d+(?:\.\d+)?)\)")  # good (4)
_STARS = re.compile("[\u2605\u2b50*]+\ufe0f?\u2606*")
_MOST_GRADES = 21


def as_grades(columns: Sequence[Column]) -> tuple[list[Column], Note] | None:
    """Return columns of text such as "7/10", "4 - good" or "Score: 4" as numbers, with a note; None of other text.

    Whether they are grades, or numbered names of classes, shows in how voters disagree.
    """
    texts = [column for column in columns if column.values and all(isinstance(v, str) for v in column.values)]
    found = {column.name: {str(v): _grade(v) for v in column.values} for column in texts}
    found = {name: of for name, of in found.items() if len(of) <= _MOST_GRADES and all(of.values())}
    union = {text: grade for of in found.values() for text, grade in of.items() if grade is not None}
    levels = {grade[0] for grade in union.values()}
    scales = {grade[1] for grade in union.values()}
    if not 3 < len(levels) <= _MOST_GRADES or len(levels) < len(set(union.values())) or len(scales) > 1:
        return None
    if all(is_number(text) for text in union):
        return None
    read = [_recoded(c, lambda text: union[text][0]) if c.name in found else c for c in columns]
    text, grade = min(union.items())
    return read, Note(f"Text was read as grades, such as {text!r} as {grade[0]:g}", "if-classes")


def _grade(text: str) -> tuple[float, str, str] | None:
    """Return the number that a text holds, what it is out of, and what else it says."""
    text = text.strip()
    if _STARS.fullmatch(text):
        return float(len(text.rstrip("\u2606\ufe0f"))), "", ""
    behind = _GRADE_BEHIND.fullmatch(text)
    if behind is not None:
        return float(behind[2]), "", behind[1].strip().casefold()
    match = _GRADE.fullmatch(text)
    return None if match is None else (float(match[1]), match[2] or "", (match[3] or "").rstrip(") ").casefold())


def _are_all(pattern: re.Pattern, column: Column) -> bool:
    return bool(column.values) and all(isinstance(v, str) and pattern.fullmatch(v) for v in column.values)


def _decimal(text: str) -> float:
    return float(text.replace(",", "."))


def _thousands(text: str) -> float:
    return float(text.replace(",", ""))


def _recoded(column: Column, change: Callable[[Any], Any]) -> Column:
    """Return a column with its values changed; None is no value."""
    values, places = _distinct_objects(map(change, column.values))
    return Column(column.name, np.append(places, np.int32(-1))[column.positions], values)


def nested_column(title: str, kind: Any, name: str) -> VotesError:
    """Return the error of a column of lists or the like."""
    return VotesError(
        "nested", f"{name}: column {title!r} holds {kind}", "plain-values", {"file": name, "column": title}
    )


def duplicated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
