"""Trials in a process of their own, which may crash, hang or eat memory, and their counts."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from goldless.whole_file import whole_file

FUZZERS = ("files", "calls", "models", "kills", "bombs", "pages", "clusters")
LONGEST_TRIAL = 30  # seconds of CPU time; what takes longer has hung
_SILENT = 600  # seconds on the clock; a process that says nothing for so long does not listen to its alarm either
_KEEP_EVERY = 20  # seconds


class Failure(AssertionError):
    """A promise was broken."""


class Fuzzer(Protocol):
    """A module of this package: ``prepare`` makes what trials start from, ``trial`` does one."""

    def prepare(self, folder: Path) -> Any:
        """Make in a folder what all trials start from."""

    def trial(self, made: Any, rng: np.random.Generator, folder: Path) -> str:
        """Do one trial in an empty folder; return what came of it in a word, or raise."""


@dataclass
class Counts:
    """What came of the trials of one fuzzer.

    Attributes
    ----------
    outcomes : Counter
        How often trials ended in an answer, a refusal, ...
    failures : list of dict
        Number of the trial, and what was seen.
    mended : list of dict
        Trials that failed once and hold now, as failures.
    megabytes : float
        Largest memory of a process that did trials.
    seconds : float
        Time of all trials.
    """

    name: str
    seed: int
    outcomes: Counter = field(default_factory=Counter)
    failures: list[dict] = field(default_factory=list)
    mended: list[dict] = field(default_factory=list)
    megabytes: float = 0.0
    seconds: float = 0.0

    @property
    def n_trials(self) -> int:
        """Number of trials; those of a seed are done in order, so it is the number of the next one."""
        return sum(self.outcomes.values()) + len(self.failures) + len(self.mended)

    def __str__(self) -> str:
        ends = ", ".join(f"{count:,} {what}" for what, count in self.outcomes.most_common())
        return (
            f"{self.name}: {self.n_trials:,} trials from seed {self.seed} in {self.seconds:.0f} s, "
            f"{len(self.failures)} failed ({ends}); at most {self.megabytes:,.0f} MB"
        )

    def as_dict(self) -> dict:
        """Return what is written down."""
        return {
            "name": self.name, "seed": self.seed, "trials": self.n_trials, "outcomes": dict(self.outcomes),
            "failures": self.failures, "mended": self.mended, "megabytes": round(self.megabytes),
            "seconds": round(self.seconds),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, written: dict) -> Counts:
        """Return what was written down."""
        parts = {name: value for name, value in written.items() if name != "trials"}
        return cls(**{**parts, "outcomes": Counter(written["outcomes"])})


def read_counts(path: Path) -> list[Counts]:
    """Return what was kept in a file; nothing if there is none."""
    return [Counts.from_dict(one) for one in json.loads(path.read_text())] if path.exists() else []


def write_counts(path: Path, counted: list[Counts]) -> None:
    """Keep counts in a file."""
    with whole_file(path) as draft:
        draft.write_text(json.dumps([one.as_dict() for one in counted], indent=1) + "\n")


def run(
    counts: Counts, seconds: float, most: int | None = None, keep: Callable[[Counts], None] | None = None
) -> Counts:
    """Do more trials for some seconds, or up to so many; a process that dies is followed by another.

    ``keep`` is called with the counts now and then, and at the end.
    """
    stop = time.monotonic() + seconds
    while (left := stop - time.monotonic()) > 0 and (most is None or counts.n_trials < most):
        _run_process(counts, counts.n_trials, left, -1 if most is None else most, keep)
    return counts


def make_again(counts: Counts) -> Counts:
    """Make every failed trial again; those that hold now are mended."""
    failed, counts.failures = counts.failures, []
    for failure in failed:
        again = Counts(counts.name, counts.seed)
        _run_process(again, failure["trial"], 1e6, failure["trial"] + 1)
        (counts.failures if again.failures else counts.mended).append(failure)
    return counts


def _run_process(
    counts: Counts, first: int, seconds: float, most: int, keep: Callable[[Counts], None] | None = None
) -> None:
    """Have trials done in another process, from a number on."""
    command = [sys.executable, "-m", "research.fuzz.campaign", counts.name, str(counts.seed), str(first)]
    command += [f"{seconds:.1f}", str(most)]
    start, before = time.monotonic(), counts.seconds
    kept = start
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said, text=True, env={**os.environ, "TMPDIR": folder}
        ) as process,
    ):
        begun: int | None = first
        for line in _lines(process):
            begun = line.get("begins")
            if "outcome" in line:
                counts.outcomes[line["outcome"]] += 1
            elif "failed" in line:
                counts.failures.append({"trial": line["trial"], "failed": line["failed"]})
            counts.megabytes = max(counts.megabytes, line.get("megabytes", 0))
            counts.seconds = before + time.monotonic() - start
            if keep is not None and time.monotonic() - kept > _KEEP_EVERY:
                keep(counts)
                kept = time.monotonic()
        if process.wait() != 0 or begun is not None:
            said.seek(0)
            last = f"the process ended with {process.returncode}: {said.read()[-2000:]}"
            counts.failures.append({"trial": counts.n_trials if begun is None else begun, "failed": last})
    if keep is not None:
        keep(counts)


def _lines(process: subprocess.Popen) -> Iterator[dict]:
    """Yield what a process says, and end it when it is silent for too long."""
    heard = time.monotonic()

    def watch() -> None:
        while process.poll() is None:
            time.sleep(1)
            if time.monotonic() - heard > _SILENT:
                process.kill()

    threading.Thread(target=watch, daemon=True).start()
    assert process.stdout is not None
    for line in process.stdout:
        heard = time.monotonic()
        if line.startswith('{"'):
            yield json.loads(line)


def do_trials(name: str, seed: int, first: int, seconds: float, most: int) -> None:
    """Do trials in this process, one line for each begin and end."""
    fuzzer: Fuzzer = import_module(f"research.fuzz.{name}")
    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is tried may print
    with tempfile.TemporaryDirectory() as made_in:
        made = fuzzer.prepare(Path(made_in))
        stop, number = time.monotonic() + seconds, first
        while time.monotonic() < stop and (most < 0 or number < most):
            say.write(json.dumps({"begins": number}) + "\n")
            say.write(json.dumps({**one_trial(fuzzer, made, seed, number), "megabytes": _peak()}) + "\n")
            number += 1


def _peak() -> float:
    """Return the largest memory of this process or of one that it started, so far."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def one_trial(fuzzer: Fuzzer, made: Any, seed: int, number: int) -> dict:
    """Do a trial, and say what came of it."""
    rng = np.random.default_rng([seed, number])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        usual = signal.signal(signal.SIGPROF, _too_long)
        signal.setitimer(signal.ITIMER_PROF, LONGEST_TRIAL)
        try:
            return {"trial": number, "outcome": fuzzer.trial(made, rng, Path(folder))}
        except Exception as error:
            lines = [] if isinstance(error, Failure) else traceback.format_exc().splitlines()[-8:]
            return {"trial": number, "failed": "\n".join([f"{type(error).__name__}: {error}"[:1000], *lines])}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, usual)


def _too_long(*_: Any) -> None:
    raise Failure(f"not done after {LONGEST_TRIAL} s of CPU time")


if __name__ == "__main__":
    do_trials(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
