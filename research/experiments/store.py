"""Finished units on disk: each a file written whole or not at all, so that a killed run continues where it was."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from goldless.whole_file import whole_file
from research.experiments.framework import Unit


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file whole, and the folder it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        draft.write_bytes(data.encode() if isinstance(data, str) else data)


def to_json(document: Any, indent: int | None = None) -> str:
    """Return strict JSON; lists of numbers stay on one line."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent) + "\n"


class UnitStore:
    """The finished units of one run.

    Parameters
    ----------
    folder : Path
        Folder of the run; units go to its sub-folder ``units``.
    fingerprint : str
        What a stored unit must have been made with to be used again: experiment, version, sources, libraries.
    """

    def __init__(self, folder: Path, fingerprint: str):
        self._folder, self._fingerprint = folder / "units", fingerprint

    def load(self, unit: Unit, seed: int) -> dict[str, Any] | None:
        """Return what was stored for a unit, or None if that is missing, damaged or made with something else."""
        try:
            stored = json.loads(self._path(unit).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        same = isinstance(stored, dict) and all(
            stored.get(name) == value
            for name, value in (
                ("fingerprint", self._fingerprint),
                ("key", unit.key),
                ("parameters", unit.parameters),
                ("seed", seed),
            )
        )
        return stored if same and {"result", "seconds"} <= set(stored) else None

    def save(self, unit: Unit, seed: int, result: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Store a finished unit and return what was stored."""
        entry = {
            "fingerprint": self._fingerprint,
            "key": unit.key,
            "parameters": unit.parameters,
            "seed": seed,
            "result": result,
            "seconds": round(seconds, 3),
        }
        write_whole(self._path(unit), to_json(entry))
        return entry

    def _path(self, unit: Unit) -> Path:
        readable = re.sub(r"[^A-Za-z0-9.=_-]+", "_", unit.key)[:60]
        return self._folder / f"{readable}-{hashlib.sha256(unit.key.encode()).hexdigest()[:8]}.json"
