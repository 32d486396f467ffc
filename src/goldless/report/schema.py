"""The JSON Schema of the summary, made of its classes; docs/schema_page.py makes the page for people."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from goldless.report.summary import SCHEMA_VERSION, Summary

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the summary. Keys that it does not name may appear at any time.

    Examples
    --------
    >>> json_schema()["properties"]["title"]
    {'type': 'string', 'description': 'Name of the votes.'}
    """
    parts = {kind.__name__: _object(kind) for kind in parts_of(Summary) if kind is not Summary}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"goldless report, version {SCHEMA_VERSION}",
        **_object(Summary),
        "$defs": parts,
    }


def parts_of(kind: type) -> list[type]:
    """Return a class of the summary and all that it is made of, in the order of first use."""
    found = [kind]
    for hint in get_type_hints(kind).values():
        for part in _classes_in(hint):
            found += [one for one in parts_of(part) if one not in found]
    return found


def descriptions_of(kind: type) -> dict[str, str]:
    """Return what a class says of each of its fields."""
    hints = get_type_hints(kind, include_extras=True)
    said = {name: "".join(getattr(hint, "__metadata__", ())) for name, hint in hints.items()}
    return {name: text.replace("``", "`").replace("None", "null") for name, text in said.items()}


def _object(kind: type) -> dict[str, Any]:
    """Return the schema of a class: all its fields, each with what it means."""
    hints, about = get_type_hints(kind), descriptions_of(kind)
    properties = {}
    for entry in fields(kind):
        described = {"description": about[entry.name]} if about[entry.name] else {}
        properties[entry.name] = {**_schema(hints[entry.name]), **described}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _schema(hint: Any) -> dict[str, Any]:
    """Return the schema of a type."""
    if is_dataclass(hint):
        return {"$ref": f"#/$defs/{hint.__name__}"}  # type: ignore[union-attr]
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(one) for one in inner]}
    if origin is list:
        return {"type": "array", "items": _schema(inner[0])}
    if origin is tuple:
        parts = [_schema(one) for one in inner]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(inner[1])}
    raise TypeError(f"the schema has no word for {hint!r}")


def _classes_in(hint: Any) -> list[type]:
    """Return the classes of the summary within a type."""
    if is_dataclass(hint):
        return [hint]  # type: ignore[list-item]
    return [kind for inner in get_args(hint) for kind in _classes_in(inner)]
