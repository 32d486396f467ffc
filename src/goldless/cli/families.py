"""Families of voters from an option: the first part of their names, a column of a long table, or a file."""

from __future__ import annotations

import csv
from pathlib import Path

from goldless.cli.options import Options
from goldless.families import families_of

_PREFIX = "prefix"


def families_from(arguments: Options, voters: list[str]) -> tuple[str | None, ...]:
    """Return the family of each voter as --families says, or as names share it."""
    given = getattr(arguments, "families", None)
    if given is None or given == _PREFIX:
        return families_of(voters, given)
    if Path(given).is_file():
        return families_of(voters, _pairs(given, "voter", "family"))
    if arguments.voter is None or arguments.file == "-":
        raise ValueError(
            f"--families {given}: there is no such file; it is 'prefix', a CSV with the columns voter and family, or "
            "with --voter a column of the table"
        )
    found = _pairs(arguments.file, arguments.voter, given)
    return families_of(voters, {voter: family for voter, family in found.items() if voter in voters})


def _pairs(path: str, voter: str, family: str) -> dict[str, str]:
    """Read which voter is of which family; a voter is of one."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as stream:
            lines = csv.DictReader(stream, delimiter="\t" if path.lower().endswith(".tsv") else ",")
            lacking = [name for name in (voter, family) if name not in (lines.fieldnames or [])]
            if lacking:
                raise ValueError(f"--families: {path} has no column {lacking[0]!r}")
            found: dict[str, str] = {}
            for number, line in enumerate(lines, 2):
                name, of = (line[voter] or "").strip(), (line[family] or "").strip()
                if found.setdefault(name, of) != of:
                    raise ValueError(f"--families: {path}, line {number}: {name!r} is of two families")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"--families: cannot read {path}: {reason.lower()}") from None
    return found
