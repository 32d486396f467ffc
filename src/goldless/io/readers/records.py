"""JSON of any shape: lines, arrays, one document; nested objects become columns with dots in their names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from goldless.errors import Note, VotesError
from goldless.io.readers.base import (
    CERTAIN,
    LIKELY,
    MAX_COLUMNS,
    File,
    Read,
    ReaderOptions,
    arrow_array,
    empty_file,
    too_wide,
)
from goldless.io.roles import LABEL_NAMES, VOTER_NAMES
from goldless.words import listed

LISTS = "goldless.lists"  # key of the metadata of a table: the columns that were lists, of voters and their votes


_VOTES = ("label", "vote", "annotation", "rating", "judgment", "judgement", "verdict")  # in names of lists


@dataclass(frozen=True, eq=False)
class Document:
    """A file of JSON that has been parsed."""

    file: File
    value: Any  # the value; a list of objects if each line is one
    lines: bool  # whether each line is an object of its own

    @property
    def records(self) -> list[dict]:
        """The objects of an array or of lines; one object alone is the only one."""
        found = self.value if isinstance(self.value, list) else [self.value]
        return [record for record in found if isinstance(record, dict)]


def parse_json(file: File) -> Document:
    """Parse JSON: one value, or one object a line."""
    data = file.read()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode()
    lines = data.splitlines()
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not filled:
        raise empty_file(file.name)
    if len(filled) > 1:
        try:
            first = json.loads(filled[0][1])
        except (ValueError, RecursionError):
            pass
        else:
            if isinstance(first, dict):
                return Document(file, list(_objects(file.name, filled)), True)
    try:
        return Document(file, json.loads(data.decode()), False)
    except UnicodeDecodeError:
        raise _bad_line(file.name, _bad_line_number(data), "is not UTF-8 text") from None
    except RecursionError:
        raise VotesError("json", f"{file.name} is nested too deeply to be read", where={"file": file.name}) from None
    except json.JSONDecodeError as error:
        raise _bad_line(file.name, error.lineno, f"is not JSON ({error.msg})") from None


def _bad_line_number(data: bytes) -> int:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            line.decode()
        except UnicodeDecodeError:
            return number
    return 1


def _objects(name: str, lines: list[tuple[int, bytes]]) -> Iterator[dict]:
    for number, line in lines:
        try:
            record = json.loads(line)
        except UnicodeDecodeError:
            raise _bad_line(name, number, "is not UTF-8 text") from None
        except json.JSONDecodeError as error:
            raise _bad_line(name, number, f"is not JSON ({error.msg})") from None
        except RecursionError:
            raise _bad_line(name, number, "is nested too deeply") from None
        if not isinstance(record, dict):
            raise _bad_line(name, number, "is not a JSON object")
        yield record


def _bad_line(name: str, number: int, what: str) -> VotesError:
    return VotesError("json-line", f"{name}: line {number} {what}", "json-object", {"file": name, "line": number})


class JsonReader:
    """JSON that no other reader knows: lines, arrays, objects."""

    name, title, together = "json", "JSON of any shape: lines, arrays, nested objects", False

    def sniff(self, file: File) -> float | None:
        """Return that it begins like JSON."""
        if file.ending in (".json", ".jsonl", ".ndjson"):
            return LIKELY
        return LIKELY - 0.1 if file.looks_like_json else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read a file."""
        (file,) = files
        document = parse_json(file)
        records, where = find_records(document)
        table, notes = table_of_records(records, file.name)
        how = "JSON lines" if document.lines else "JSON" + (f", {where!r}" if where else "")
        return Read(table, how, notes=notes, certain=False)


@dataclass(frozen=True)
class JsonFormat:
    """A format of JSON, told by its keys and read by a function.

    Attributes
    ----------
    name, title : str
    keys : tuple of str
        Keys that occur in the first bytes of every such file.
    read : callable
        Takes documents and options.
    together : bool
        Whether several files are one set of votes.
    without : tuple of str
        Keys that do not.
    pattern : bytes
        A regular expression that the first bytes hold.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    read: Callable[[list[Document], ReaderOptions], Read]
    together: bool = False
    without: tuple[str, ...] = ()
    pattern: bytes = b""

    def sniff(self, file: File) -> float | None:
        """Return that its keys are there."""
        keys = file.keys
        if not keys.issuperset(self.keys) or not keys.isdisjoint(self.without):
            return None
        return CERTAIN if re.search(self.pattern, file.head) else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read files."""
        try:
            return self.read([parse_json(file) for file in files], options)
        except NOT_THE_SCHEMA as error:
            raise not_the_schema(files, self.title, error) from None


NOT_THE_SCHEMA = (KeyError, TypeError, AttributeError, IndexError)


def not_the_schema(files: Sequence[File], title: str, error: Exception) -> VotesError:
    """Return the error of files that have the keys of a format and not its shape."""
    names = ", ".join(file.name for file in files[:3])
    seen = f"{names} looks like {title} but is not: {type(error).__name__} {error}"
    return VotesError("schema", seen, "as-json", {"file": names})


# -- from values to tables ----------------------------------------------------------------------------------


def find_records(document: Document) -> tuple[list[dict], str]:
    """Return the objects that are the rows of a document, and the key they stand under, if any."""
    value, name = document.value, document.file.name
    if isinstance(value, list):
        if value and all(isinstance(row, list) for row in value) and len({len(row) for row in value}) == 1:
            return [{f"voter {number + 1}": cell for number, cell in enumerate(row)} for row in value], ""
        for number, record in enumerate(value):
            if not isinstance(record, dict):
                raise VotesError(
                    "json-line",
                    f"{name}: element {number} of the array is not a JSON object",
                    "json-object",
                    {"file": name, "line": number},
                )
        if not value:
            raise empty_file(name, "is an empty JSON array")
        return value, ""
    if not isinstance(value, dict):
        raise VotesError(
            "json-line", f"{name}: line 1 is not a JSON object", "json-object", {"file": name, "line": 1}
        )
    if {"columns", "data"} <= value.keys() and isinstance(value["data"], list) and isinstance(value["columns"], list):
        return [dict(zip(value["columns"], row, strict=False)) for row in value["data"]], "data"
    if len(value) > 1 and all(isinstance(inner, dict) for inner in value.values()):
        shared = set.intersection(*(set(inner) for inner in value.values()))
        rows = {key: None for inner in value.values() for key in inner}
        if len(rows) > len(value) and not any(isinstance(v, dict | list) for i in value.values() for v in i.values()):
            turned = [{"item": row, **{key: inner.get(row) for key, inner in value.items()}} for row in rows]
            return turned, "one object per voter"
        if shared or len(rows) < len(value):
            return [{"item": key, **inner} for key, inner in value.items()], ""
    lists = [inner for inner in value.values() if isinstance(inner, list)]
    columns = lists and len(lists) == len(value) and len({len(inner) for inner in lists}) == 1
    if columns and not any(isinstance(cell, dict | list) for inner in lists for cell in inner):
        return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)], ""
    found = list(_lists_of_objects(value, ""))
    if found:
        where, records = max(found, key=lambda pair: len(pair[1]))
        return records, where
    if document.file.ending not in (".jsonl", ".ndjson"):
        raise VotesError(
            "json-line", f"{name} holds one JSON object, not votes on several items", "json-object", {"file": name}
        )
    return [value], ""


def _lists_of_objects(value: dict, path: str) -> Iterator[tuple[str, list[dict]]]:
    """Yield the arrays of objects within an object."""
    for key, inner in value.items():
        here = f"{path}.{key}" if path else str(key)
        if isinstance(inner, dict):
            yield from _lists_of_objects(inner, here)
        elif isinstance(inner, list) and inner and all(isinstance(part, dict) for part in inner):
            yield here, inner


def table_of_records(records: Sequence[dict], name: str) -> tuple[pa.Table, tuple[Note, ...]]:
    """Return objects as a table.

    An object within an object gives columns with a dot in their names. An array of objects within each object gives
    one row for each of them; so do arrays of equal length, such as of annotators and their annotations.
    """
    notes: list[Note] = []
    flat = [flatten(record) for record in records]
    inner = _keys_where(flat, lambda value: isinstance(value, list) and any(isinstance(v, dict) for v in value))
    of_voters = [key for key in inner if _are_votes(flat, key)]
    if len(inner) == 1 or len(of_voters) == 1:
        key = of_voters[0] if len(of_voters) == 1 else inner[0]
        left = [other for other in inner if other != key]
        flat = [{title: cell for title, cell in record.items() if title not in left} for record in flat]
        flat = [
            {**{k: v for k, v in record.items() if k != key}, **flatten(part, f"{key}.")}
            for record in flat
            for part in record.get(key) or [{}]
            if isinstance(part, dict)
        ]
        inner = ()
        notes += [Note(f"Left out, for they hold lists: {listed(left, 5, repr)}")] if left else []
    lists = [k for k in _keys_where(flat, lambda value: isinstance(value, list)) if k not in inner]
    longest = {k: max(len(r[k]) for r in flat if isinstance(r.get(k), list)) for k in lists}
    single = [k for k in lists if longest[k] <= 1]
    rest = [k for k in lists if longest[k] > 1]
    parallel = [
        k
        for k in rest
        if any(
            other != k and all(len(r.get(k) or ()) == len(r.get(other) or ()) for r in flat if isinstance(r, dict))
            for other in rest
        )
    ]
    for record in flat:
        for key in single:
            if isinstance(record.get(key), list):
                record[key] = record[key][0] if record[key] else None
    if parallel:
        flat = [
            {**record, **dict(zip(parallel, cells, strict=True))}
            for record in flat
            for cells in zip(*(record.get(key) or () for key in parallel), strict=True)
        ]
    dropped = [*inner, *(key for key in rest if key not in parallel)]
    titles: dict[str, None] = {}
    for record in flat:
        titles.update(dict.fromkeys(record))
        if len(titles) > MAX_COLUMNS:
            raise too_wide(name)
    kept = [title for title in titles if title not in dropped]
    if not flat:
        raise empty_file(name)
    plain = [title for title in kept if len({_scalar(record.get(title)) for record in flat}) < len(flat)]
    of_votes = [key for key in dropped if any(word in key.lower() for word in _VOTES)]
    if (not plain and dropped) or of_votes:
        raise VotesError(
            "nested",
            f"{name}: {listed(of_votes or dropped, 5, repr)} hold lists without a list of their voters",
            "list-of-voters",
            {"file": name, "column": (of_votes or dropped)[0]},
        )
    columns = [arrow_array([_scalar(record.get(title)) for record in flat]) for title in kept]
    notes += [Note(f"Left out, for they hold lists: {listed(dropped, 5, repr)}")] if dropped else []
    made = {LISTS: json.dumps(parallel)} if parallel else None
    return pa.table(columns, names=kept).replace_schema_metadata(made), tuple(notes)


def _are_votes(records: Sequence[dict], key: str) -> bool:
    """Whether the arrays under a key hold objects that name a voter and a vote."""
    part = next((part for record in records for part in record.get(key) or () if isinstance(part, dict)), {})
    titles = [str(title).lower() for title in part]
    return any(title in VOTER_NAMES for title in titles) and any(title in LABEL_NAMES for title in titles)


def unnested(table: pa.Table, name: str) -> tuple[pa.Table, tuple[Note, ...]]:
    """Return a table of Arrow without lists and structures in it, as objects of JSON are read."""
    if not any(pa.types.is_nested(kind) for kind in table.schema.types):
        return table, ()
    return table_of_records(table.to_pylist(), name)


def flatten(record: dict, prefix: str = "") -> dict[str, Any]:
    """Return an object without objects in it: their keys get the outer key and a dot before them."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict) and value:
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = None if value == {} else value
    return flat


def _keys_where(records: Sequence[dict], test: Callable[[Any], bool]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for record in records for key, value in record.items() if test(value)))


def _scalar(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
