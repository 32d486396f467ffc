"""Families of voters: what names share, or what the user says. They help people and panels; labels ignore them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from goldless.words import nearest

_PARTS = re.compile(r"[/|:\\]+|\s+|_+|-+|(?<=[a-z])(?=[0-9])")
_MOSTLY = 0.6  # of the members of a group


def families_of(voters: Sequence[str], families: Any = None) -> tuple[str | None, ...]:
    """Return the family of each voter, None where it has none.

    ``voters``: names of the voters; ``families``: "prefix" takes the first part of each name; None does so where that
    says something: where at least two names share their first part, and not all of them do.
    """
    names = [str(voter) for voter in voters]
    if families is None or (isinstance(families, str) and families == "prefix"):
        return _by_prefix(names, asked=families is not None)
    if isinstance(families, str):
        raise ValueError(
            f"families must be 'prefix', a mapping of voter to family or one for each voter, got {families!r}"
        )
    if isinstance(families, Mapping):
        for name in families:
            if str(name) not in names:
                raise ValueError(f"families names {str(name)!r}, which is no voter{nearest(str(name), names)}")
        by_name = {str(name): _text(family) for name, family in families.items()}
        return tuple(by_name.get(name) for name in names)
    given = list(families)
    if len(given) != len(names):
        raise ValueError(f"families must be one for each of {len(names)} voters, got {len(given)}")
    return tuple(_text(family) for family in given)


def families_shown(families: Any, shown: Iterable[str], columns: Any) -> Any:
    """Return what is said of families for those voters of a crowd that are shown; ``columns`` is None for all."""
    if columns is None or families is None or isinstance(families, str):
        return families
    if isinstance(families, Mapping):
        names = set(shown)
        return {name: family for name, family in families.items() if str(name) in names}
    given = list(families)
    return [given[column] for column in columns] if len(given) > len(columns) else given


def shared_family(families: Sequence[str | None], members: Iterable[int]) -> str | None:
    """Return the family that sets some voters apart: most of them are of it, and not all voters are."""
    members = list(members)
    family, count = Counter(families[member] for member in members).most_common(1)[0]
    everyone = sum(other == family for other in families)
    if family is None or count < max(2, _MOSTLY * len(members)) or everyone == len(families):
        return None
    return family


def all_of_one(families: Sequence[str | None], members: Sequence[int]) -> str | None:
    """Return in a sentence that all voters of a panel share a family, if they do."""
    found = {families[member] for member in members}
    if len(members) < 2 or len(found) != 1 or None in found:
        return None
    return f"All {len(members)} of the panel share the name {found.pop()!r}: they may share errors too."


def _by_prefix(names: list[str], asked: bool) -> tuple[str | None, ...]:
    """Take the first part of each name; what no two names share is no family."""
    first = [_PARTS.split(name.strip(), maxsplit=1)[0] for name in names]
    counts = Counter(first)
    found = tuple(
        part if part and counts[part] > 1 and part != name else None for part, name in zip(first, names, strict=True)
    )
    # all of one family, such as voter 1 to voter 20: the names say nothing, unless that was meant
    return found if asked or len(set(found)) > 1 else (None,) * len(names)


def _text(family: Any) -> str | None:
    return None if family is None or family != family or str(family) == "" else str(family)
