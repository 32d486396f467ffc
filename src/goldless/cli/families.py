"""Families of voters from an option: the first part of their names, or a file."""

from __future__ import annotations

import argparse
import csv

from goldless.families import families_of

_PREFIX = "prefix"


def families_from(arguments: argparse.Namespace, voters: list[str]) -> tuple[str | None, ...]:
    """Return the family of each voter as --families says, or as names share it."""
    given = getattr(arguments, "families", None)
    if given is None or given == _PREFIX:
        return families_of(voters, given)
    try:
        with open(given, newline="", encoding="utf-8-sig") as stream:
            lines = list(csv.DictReader(stream, delimiter="\t" if given.lower().endswith(".tsv") else ","))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"--families is 'prefix' or a file; cannot read {given}: {reason.lower()}") from None
    if not lines or not {"voter", "family"} <= set(lines[0]):
        raise ValueError(f"{given} should have the columns voter and family")
    return families_of(voters, {line["voter"]: line["family"] for line in lines})
