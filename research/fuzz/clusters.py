"""Clusters that break: killed workers change no bit, a lost scheduler is one line and leaves old output alone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import goldless as gl
from research.fuzz.campaign import Failure

_PARTS, _ROWS = 12, 20_000
_SECONDS = 4  # that a partition takes to read: two workers take 24 s, and again what they lose
_OLD = b"what was there before"


class Made(NamedTuple):
    """Votes, in parts, and the labels that they have."""

    parts: Path
    expected: np.ndarray


def prepare(folder: Path) -> Made:
    """Write votes in parts, and label them in memory."""
    parts = folder / "votes"
    parts.mkdir()
    for number in range(_PARTS):
        rows = _rows(number)
        table = pa.table({f"v{i}": rows[:, i] for i in range(rows.shape[1])})
        parquet.write_table(table, parts / f"part-{number:02}.parquet")
    X = np.concatenate([_rows(number) for number in range(_PARTS)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Made(parts, gl.LatentSML().fit(X).predict_proba(X[:1000]))


def trial(made: Made, rng: np.random.Generator, folder: Path) -> str:
    """Kill workers, or the scheduler, in the middle of a fit."""
    return _lose_scheduler(made, rng, folder) if rng.random() < 1 / 3 else _kill_workers(made, rng)


def _kill_workers(made: Made, rng: np.random.Generator) -> str:
    """Kill a worker in the middle of a fit of half a minute; its nanny starts another."""
    from dask import bag
    from distributed import Client

    with small_cluster() as (_, address), Client(address, timeout="60s") as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.wait_for_workers(2, timeout=120)
        killer = threading.Timer(float(rng.uniform(1, 20)), partial(_kill_one, client, int(rng.integers(2))))
        killer.start()
        start = time.monotonic()
        model = gl.LatentSML().fit(bag.from_sequence(range(_PARTS), npartitions=_PARTS).map(_slow_rows))
        killer.join()
        if time.monotonic() - start < _PARTS * _SECONDS / 2:
            raise Failure("the fit did not take as long as it should")
    if not np.array_equal(model.predict_proba(_rows(0)[:1000]), made.expected):
        raise Failure("other probabilities than without a killed worker")
    return "worker killed, same bits"


def _kill_one(client: Any, number: int) -> None:
    os.kill(list(client.run(os.getpid).values())[number], signal.SIGKILL)


def _lose_scheduler(made: Made, rng: np.random.Generator, folder: Path) -> str:
    """Kill the scheduler while a command labels a folder."""
    out = folder / "labels.parquet"
    out.write_bytes(_OLD)
    command = [sys.executable, "-m", "goldless.cli", "combine", str(made.parts), "-o", str(out), "--force"]
    with small_cluster() as (scheduler, address):
        command += ["--engine", "dask", "--scheduler", address]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            _wait_for_client(address)
            time.sleep(float(rng.uniform(0, 4)))
            scheduler.kill()
            try:
                _, said = process.communicate(timeout=240)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Failure("the command hangs without its scheduler") from None
    lines = said.strip().splitlines()
    if process.returncode == 0:
        return "finished before the scheduler was lost"
    if len(lines) != 1 or process.returncode != 1:
        raise Failure(f"scheduler lost: ended with {process.returncode}, {len(lines)} lines: {said[-400:]}")
    if out.read_bytes() != _OLD or len(os.listdir(folder)) != 1:
        raise Failure(f"scheduler lost, and {os.listdir(folder)} is left")
    return "scheduler lost, one line"


def _wait_for_client(address: str) -> None:
    """Return when somebody but us talks to a scheduler."""
    from distributed import Client

    with Client(address, timeout="60s") as client:
        for _ in range(600):
            if client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.clients)) > 2:  # also one of its own
                return
            time.sleep(0.2)
    raise Failure("the command never came to its scheduler")


def _rows(number: int) -> np.ndarray:
    """Return the votes of a partition."""
    return gl.simulate_votes(_ROWS, groups=[5, 4, 1, 1, 1, 1], random_state=number)[0]


def _slow_rows(number: int) -> np.ndarray:
    time.sleep(_SECONDS)
    return _rows(number)


@contextlib.contextmanager
def small_cluster() -> Iterator[tuple[subprocess.Popen, str]]:
    """Yield a scheduler and its address; two workers belong to it, and come again when they are killed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    dask = [sys.executable, "-m", "dask"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    place = ["--host", "127.0.0.1", "--port", address.rpartition(":")[2]]
    scheduler = subprocess.Popen([*dask, "scheduler", *place, "--no-dashboard", "--no-show"], **quiet)
    options = ["--nworkers", "2", "--nthreads", "1", "--no-dashboard", "--death-timeout", "60"]
    workers = subprocess.Popen([*dask, "worker", address, *options], **quiet)
    try:
        yield scheduler, address
    finally:
        workers.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            workers.wait(20)
        for process in (workers, scheduler):
            process.kill()
            process.wait()
