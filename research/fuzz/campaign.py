"""Trials in a process of their own, which may crash, hang or eat memory, and their counts."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

FUZZERS = ("files", "calls", "models", "kills", "bombs", "pages", "clusters")
LONGEST_TRIAL = 30  # seconds; what takes longer has hung
_SILENT = 3 * LONGEST_TRIAL  # a process that says nothing for so long does not listen to its alarm either


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
    megabytes : float
        Largest memory of a process that did trials.
    seconds : float
        Time of all trials.
    """

    name: str
    seed: int
    outcomes: Counter = field(default_factory=Counter)
    failures: list[dict] = field(default_factory=list)
    megabytes: float = 0.0
    seconds: float = 0.0

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return sum(self.outcomes.values()) + len(self.failures)

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
            "failures": self.failures, "megabytes": round(self.megabytes), "seconds": round(self.seconds),
        }  # fmt: skip


def run(name: str, seed: int, seconds: float, most: int | None = None) -> Counts:
    """Do trials for some seconds, or at most so many; a process that dies is followed by another."""
    counts = Counts(name, seed)
    start, first = time.monotonic(), 0
    while (left := seconds - (time.monotonic() - start)) > 0 and (most is None or first < most):
        first = _run_process(counts, first, left, most)
    counts.seconds = time.monotonic() - start
    return counts


def _run_process(counts: Counts, first: int, seconds: float, most: int | None) -> int:
    """Have trials done from a number on; return the number of the next one."""
    command = [sys.executable, "-m", "research.fuzz.campaign", counts.name, str(counts.seed), str(first)]
    command += [f"{seconds:.1f}", "-1" if most is None else str(most)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": folder}
        ) as process,
    ):
        number, ended = first, False
        for line in _lines(process):
            if "begins" in line:
                number = line["begins"]
            elif "outcome" in line:
                counts.outcomes[line["outcome"]] += 1
                number = line["trial"] + 1
            elif "failed" in line:
                counts.failures.append(line)
                number = line["trial"] + 1
            else:
                ended = True
                counts.megabytes = max(counts.megabytes, line["megabytes"])
        process.wait()
        if ended:
            return number
        last = process.stderr.read()[-2000:] if process.stderr is not None else ""
        counts.failures.append({"trial": number, "failed": f"the process ended with {process.returncode}: {last}"})
        return number + 1


def _lines(process: subprocess.Popen) -> Iterator[dict]:
    """Yield what a process says, and end it when it is silent for too long."""
    import threading

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
            say.write(json.dumps(one_trial(fuzzer, made, seed, number)) + "\n")
            number += 1
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    say.write(json.dumps({"megabytes": peak / 1024}) + "\n")


def one_trial(fuzzer: Fuzzer, made: Any, seed: int, number: int) -> dict:
    """Do a trial, and say what came of it."""
    rng = np.random.default_rng([seed, number])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        usual = signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(LONGEST_TRIAL)
        try:
            return {"trial": number, "outcome": fuzzer.trial(made, rng, Path(folder))}
        except Exception as error:
            lines = [] if isinstance(error, Failure) else traceback.format_exc().splitlines()[-8:]
            return {"trial": number, "failed": "\n".join([f"{type(error).__name__}: {error}"[:1000], *lines])}
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, usual)


def _too_long(*_: Any) -> None:
    raise Failure(f"not done after {LONGEST_TRIAL} s")


if __name__ == "__main__":
    do_trials(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
