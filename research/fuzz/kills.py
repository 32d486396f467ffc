"""Killed processes: whatever is being written is whole or not there, and what is left does not stop the next run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from research.fuzz.campaign import Failure

_COMMANDS = {
    "labels.csv": ["combine", "{votes}", "-o", "{out}", "--force"],
    "labels.parquet": ["combine", "{votes}", "-o", "{out}", "--force"],
    "page.html": ["report", "{votes}", "-o", "{out}", "--force"],
    "ask.csv": ["ask", "{votes}", "-o", "{out}", "--force"],
    "streamed.csv": ["combine", "{votes}", "-o", "{out}", "--force", "--engine", "stream"],
}


def prepare(folder: Path) -> tuple[Path, dict[str, tuple[bytes, float]]]:
    """Write votes, and what each command makes of them undisturbed, with the time it takes."""
    votes = folder / "votes.csv"
    subprocess.run(_call(["simulate", "--items", "3000", "-o", str(votes)]), check=True, capture_output=True)
    whole = {}
    for name in _COMMANDS:
        out = folder / name
        subprocess.run(_filled(name, votes, out), check=True, capture_output=True)
        start = time.monotonic()
        subprocess.run(_filled(name, votes, out), check=True, capture_output=True)
        whole[name] = (out.read_bytes(), time.monotonic() - start)
    return votes, whole


def trial(made: tuple[Path, dict[str, tuple[bytes, float]]], rng: np.random.Generator, folder: Path) -> str:
    """Kill a command at some moment, over a file that is there or not, and run it again."""
    votes, whole = made
    name = sorted(whole)[rng.integers(len(whole))]
    expected, seconds = whole[name]
    out = folder / name
    before = b"what was there before\n" if rng.random() < 0.5 else None
    if before is not None:
        out.write_bytes(before)
    process = subprocess.Popen(_filled(name, votes, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    late = rng.random() < 0.7  # most is written at the end
    time.sleep(float(rng.uniform(0.7 if late else 0.0, 1.1) * seconds))
    process.send_signal(signal.SIGKILL if rng.random() < 0.8 else signal.SIGTERM)
    process.wait()
    found = out.read_bytes() if out.exists() else None
    if found != before and not _same(name, found, expected):
        raise Failure(f"{name}: half-written, {len(found or b'')} bytes where {len(expected)} are whole")
    again = subprocess.run(_filled(name, votes, out), capture_output=True, text=True)
    if again.returncode or not _same(name, out.read_bytes(), expected):
        raise Failure(f"{name}: the next run ends with {again.returncode}: {again.stderr[-300:]}")
    return "finished before" if found != before else "killed"


def _same(name: str, found: bytes | None, expected: bytes) -> bool:
    return found is not None and (found == expected or (name.endswith(".html") and len(found) == len(expected)))


def _call(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "goldless.cli", *arguments]


def _filled(name: str, votes: Path, out: Path) -> list[str]:
    return _call([part.format(votes=votes, out=out) for part in _COMMANDS[name]])


os.environ.setdefault("NUMBA_NUM_THREADS", "1")
