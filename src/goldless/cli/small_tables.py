"""Small tables that options name: known labels, costs and families of voters; and how voters are named."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from pathlib import Path

from goldless.cli.options import Options
from goldless.families import families_of
from goldless.words import nearest


def read_rows(path: str, failing: str) -> tuple[list[str], list[dict[str, str]]]:
    """Return the columns and the lines of a CSV or TSV file; ``failing`` says what cannot be done without it."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as stream:
            lines = csv.DictReader(stream, delimiter="\t" if path.lower().endswith(".tsv") else ",")
            return list(lines.fieldnames or ()), list(lines)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"{failing}: {reason.lower()}") from None


def read_costs(path: str) -> dict[str, float]:
    """Return the cost of each voter from a file with the columns ``voter, cost``.

    Comma, semicolon or tab separate them; a first line whose cost is no number is taken for the header.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8; costs are lines such as: voter,cost") from None
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    costs: dict[str, float] = {}
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=delimiter))
    except csv.Error as error:
        raise ValueError(f"{path} is not a table of costs: {error}") from None
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row):
            continue
        where = f"{path}, line {number}"
        if len(row) != 2:
            raise ValueError(f"{where}: expected a voter and its cost, found {len(row)} column(s)")
        name, cell = row[0].strip(), row[1].strip()
        try:
            cost = float(cell)
        except ValueError:
            if number == 1:
                continue
            raise ValueError(f"{where}: {cell!r} is not a cost") from None
        if not (cost >= 0 and math.isfinite(cost)):
            raise ValueError(f"{where}: the cost of {name!r} is {cell}; it must be a number of 0 or more")
        if name in costs:
            raise ValueError(f"{where}: {name!r} is there twice")
        costs[name] = cost
    if not costs:
        raise ValueError(f"{path} holds no costs; write one line per voter, such as: voter,cost")
    return costs


def check_costs(path: str, costs: dict[str, float], names: Iterable[str]) -> None:
    """Refuse costs of voters that are not there, and voters without a cost."""
    names = list(names)
    unknown = [name for name in costs if name not in set(names)]
    if unknown:
        raise ValueError(f"{path}: there is no voter {unknown[0]!r} in the votes{nearest(unknown[0], names)}")
    lacking = [name for name in names if name not in costs]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise ValueError(f"{path}: no cost for voter {lacking[0]!r}{more}")


def named_voters(given: list[str], names: Iterable[str]) -> list[str]:
    """Return the voters named in options: each a name, or several with commas between."""
    names = list(names)
    found: list[str] = []
    for text in given:
        parts = [text] if text in names else [part.strip() for part in text.split(",")]
        for part in parts:
            if part not in names:
                raise ValueError(
                    f"there is no voter {part!r}" + (nearest(part, names) or f"; the first is {names[0]!r}")
                )
        found += parts
    return list(dict.fromkeys(found))


# -- families ------------------------------------------------------------------------------------------------


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
    header, lines = read_rows(path, f"--families: cannot read {path}")
    lacking = [name for name in (voter, family) if name not in header]
    if lacking:
        raise ValueError(f"--families: {path} has no column {lacking[0]!r}")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 2):
        name, of = (line[voter] or "").strip(), (line[family] or "").strip()
        if found.setdefault(name, of) != of:
            raise ValueError(f"--families: {path}, line {number}: {name!r} is of two families")
    return found
