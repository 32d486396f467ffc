"""All formats that votes are read from: built-in ones, and those of plug-ins, on the same road."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from goldless.errors import Note, VotesError, warn_user
from goldless.io.readers import annotation, eval_logs
from goldless.io.readers.base import File, Reader
from goldless.io.readers.binary import ArrayReader, DuckReader, ExcelReader, PickleReader, SqliteReader, arrow_readers
from goldless.io.readers.presets import PRESETS, Preset
from goldless.io.readers.records import JsonReader
from goldless.io.readers.text import TextReader
from goldless.io.readers.vcf import MergedReader, SitesReader, VcfReader
from goldless.words import nearest

GROUP = "goldless.readers"  # the entry point of plug-ins

_OTHERS = (
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"%PDF", "a PDF"),
    (b"\x89HDF", "an HDF5 file"),
)


@cache
def _plugins() -> tuple[Any, ...]:
    found = []
    for point in entry_points(group=GROUP):
        try:
            made = point.load()
            found.append(made() if isinstance(made, type) else made)
        except Exception as error:  # a broken plug-in must not keep others from reading
            warn_user(f"The plug-in {point.name!r} of {GROUP} cannot be loaded: {error}")
    return tuple(found)


@cache
def all_readers() -> tuple[Reader, ...]:
    """Return every reader of files, plug-ins first."""
    own = (
        *arrow_readers(),
        *(ArrayReader(), ExcelReader(), SqliteReader(), DuckReader(), PickleReader()),
        *(VcfReader(), MergedReader(), SitesReader(), eval_logs.InspectReader()),
        *eval_logs.FORMATS,
        *annotation.FORMATS,
        *(JsonReader(), TextReader()),
    )
    return (*(found for found in _plugins() if not isinstance(found, Preset)), *own)


@cache
def all_presets() -> tuple[Preset, ...]:
    """Return every kind of table that is known by its columns, plug-ins first."""
    return (*(found for found in _plugins() if isinstance(found, Preset)), *PRESETS)


def _all_formats() -> dict[str, Reader | Preset]:
    """Return every format by its name: of several with one name the first."""
    every: list[Reader | Preset] = [*all_readers(), *all_presets()]
    return {one.name: one for one in reversed(every)}


def list_formats() -> list[tuple[str, str]]:
    """Return the name and the title of every format.

    Examples
    --------
    >>> from goldless.io.readers.registry import list_formats
    >>> dict(list_formats())["langfuse"]
    'Langfuse scores (CSV or JSON)'
    """
    return sorted((name, one.title) for name, one in _all_formats().items())


def named(name: str) -> Reader | Preset:
    """Return the format of a name."""
    known = _all_formats()
    if name in known:
        return known[name]
    raise VotesError("format", f"there is no format {name!r}{nearest(name, sorted(known))}", "list-formats")


def sniff(file: File) -> tuple[float, Reader] | None:
    """Return the reader that is surest of a file, and how sure it is; None if none can read it."""
    if any(file.head.startswith(signature) for signature, _ in _OTHERS):
        return None
    sure = [(level, -number, reader) for number, reader in enumerate(all_readers()) if (level := reader.sniff(file))]
    if not sure:
        return None
    level, _, reader = max(sure, key=lambda one: one[:2])
    return level, reader


def refuse(file: File) -> VotesError:
    """Return the error of a file that no reader knows."""
    for signature, what in _OTHERS:
        if file.head.startswith(signature):
            return VotesError("format", f"{file.name} is {what}", "known-formats", {"file": file.name})
    return VotesError("format", f"{file.name} is not text", "known-formats", {"file": file.name})


def choose(files: Sequence[File], root: str) -> tuple[Reader, list[File], list[Note]]:
    """Return the reader of files, those it reads, and what to say of the others; ask if two readings are possible."""
    found = [(file, sniffed) for file in files if (sniffed := sniff(file)) is not None]
    if not found:
        if len(files) == 1:
            raise refuse(files[0])
        raise VotesError("format", f"{root} holds no file of votes", "known-formats", {"file": root})
    known = [one for one in found if not isinstance(one[1][1], PickleReader)]
    found = known or found  # what is never loaded is no other reading
    level = max(sniffed[0] for _, sniffed in found)
    best = [(file, sniffed[1]) for file, sniffed in found if sniffed[0] >= level]
    names = list(dict.fromkeys(reader.name for _, reader in best))
    if len(names) > 1:
        kinds = "; ".join(
            f"{', '.join(_short(file, root) for file, reader in best if reader.name == name)}: "
            f"{next(reader.title for _, reader in best if reader.name == name)}"
            for name in names[:4]
        )
        seen = f"{root} holds files of several formats ({kinds})"
        raise VotesError("several", seen, "name-file", {"file": root}, first=best[0][0].name)
    chosen = [file for file, _ in best]
    left = [_short(file, root) for file in files if file not in chosen]
    notes = [Note(f"Left out: {', '.join(left[:6])}{', ...' * (len(left) > 6)}")] if left else []
    return best[0][1], chosen, notes


def _short(file: File, root: str) -> str:
    return file.name.removeprefix(root).lstrip("/\\")
