"""Errors of the library in the words of the command line: options where Python has parameters."""

from __future__ import annotations

import ast
import shlex

from goldless.errors import Note, VotesError

_NO_OPTION = ("unknown",)  # parameters that the command line does not have


class _NotHere(Exception):
    """A hint is for those who write Python."""


def in_options(message: VotesError | Note) -> str:
    """Return the words of an error or a note, parameters spelt as options."""
    try:
        return message.words(_option)
    except _NotHere:
        return message.seen


def _option(name: str, value: str | None) -> str:
    """Spell a parameter, and perhaps its value, as an option."""
    if name in _NO_OPTION:
        raise _NotHere
    option = "--as" if name == "format" else f"--{name.replace('_', '-')}"
    if value is None or value == "True":
        return option
    read = ast.literal_eval(value)
    if isinstance(read, dict):
        return " ".join(f"{option} {shlex.quote(f'{key}={each}')}" for key, each in read.items())
    if isinstance(read, list):
        return f"{option}={shlex.quote(','.join(map(str, read)))}"  # it may begin with a minus, as options do
    return f"{option} {shlex.quote(str(read))}"
