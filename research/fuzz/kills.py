"""Killed processes: whatever is being written is whole or not there, and what is left does not stop the next run."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from research.fuzz.campaign import Failure

_ITEMS = 3000
_FRESH = 0.1  # of the killed processes are started anew; the others are forks, which spend no time on imports
_LONGEST = 300  # seconds
_COMMANDS = {
    "labels.csv": ["combine", "{votes}", "-o", "{out}", "--force"],
    "labels.parquet": ["combine", "{votes}", "-o", "{out}", "--force"],
    "labels.jsonl": ["combine", "{votes}", "-o", "{out}", "--force", "--method", "majority"],
    "page.html": ["report", "{votes}", "-o", "{out}", "--force"],
    "ask.csv": ["ask", "{votes}", "-o", "{out}", "--force"],
    "streamed.csv": ["combine", "{votes}", "-o", "{out}", "--force", "--engine", "stream"],
    "model.json": ["save", "{votes}", "{out}"],  # no command: model.save
}
Made = tuple[Path, dict[str, tuple[bytes, float]]]


def prepare(folder: Path) -> Made:
    """Write votes, and what each command makes of them undisturbed, with the time it takes."""
    import goldless as gl

    votes = folder / "votes.csv"
    X, _ = gl.simulate_votes(_ITEMS, groups=[4, 1, 1, 1, 1], random_state=0)
    lines = [f"item {i},{','.join('ny'[int(vote > 0)] for vote in row)}" for i, row in enumerate(X)]
    votes.write_text("\n".join(["id,a,b,c,d,e,f,g,h", *lines]) + "\n")
    whole = {}
    for name in _COMMANDS:
        _run(_filled(name, votes, folder / name))  # here, so that forks have all that is imported
        start = time.monotonic()
        if (code := _wait(_start(_filled(name, votes, folder / name), fresh=False))) != 0:
            raise Failure(f"{name}: a fork ends with {code}")
        whole[name] = ((folder / name).read_bytes(), time.monotonic() - start)
    return votes, whole


def trial(made: Made, rng: np.random.Generator, folder: Path) -> str:
    """Kill a command at some moment, over a file that is there or not, and run it again."""
    votes, whole = made
    name = sorted(whole)[rng.integers(len(whole))]
    expected, seconds = whole[name]
    out = folder / name
    before = b"what was there before\n" if rng.random() < 0.5 else None
    if before is not None:
        out.write_bytes(before)
    fresh = rng.random() < _FRESH
    late = rng.random() < 0.7  # most is written at the end
    process = _start(_filled(name, votes, out), fresh)
    time.sleep(float(rng.uniform(0.5 if late else 0.0, 1.0) * seconds) + (float(rng.uniform(0, 8)) if fresh else 0.0))
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL if rng.random() < 0.8 else signal.SIGTERM)
    ended = _wait(process)
    found = out.read_bytes() if out.exists() else None
    if found != before and not _same(name, found, expected):
        raise Failure(f"{name}: half-written, {len(found or b'')} bytes where {len(expected)} are whole")
    if (code := _wait(_start(_filled(name, votes, out), fresh=False))) != 0:
        raise Failure(f"{name}: the next run ends with {code}")
    if not _same(name, out.read_bytes(), expected):
        raise Failure(f"{name}: the next run writes something else")
    return ("finished before" if ended == 0 else "killed") + (", a fresh process" if fresh else "")


def _same(name: str, found: bytes | None, expected: bytes) -> bool:
    return found is not None and (found == expected or (name.endswith(".html") and len(found) == len(expected)))


def _filled(name: str, votes: Path, out: Path) -> list[str]:
    return [part.format(votes=votes, out=out) for part in _COMMANDS[name]]


def _start(command: list[str], fresh: bool) -> Any:
    """Start a process that runs a command: a new one, or a fork of this one."""
    if fresh:
        call = [sys.executable, "-c", f"from research.fuzz.kills import _run; _run({command!r})"]
        return subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process = multiprocessing.get_context("fork").Process(target=_quietly, args=(command,))
    process.start()
    return process


def _wait(process: Any) -> int:
    """Return how a process ends; one that does not is ended."""
    if isinstance(process, subprocess.Popen):
        return process.wait(_LONGEST)
    process.join(_LONGEST)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise Failure("a process hangs")
    return process.exitcode


def _quietly(command: list[str]) -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    _run(command)


def _run(command: list[str]) -> None:
    """Run a command, or save a model, in this process."""
    import goldless as gl
    from goldless.cli import main

    if command[0] == "save":
        gl.LatentSML().fit(gl.read_votes(command[1]).X).save(command[2])
    elif main(command) != 0:
        raise SystemExit(1)


os.environ.setdefault("GOLDLESS_NUM_THREADS", "1")
