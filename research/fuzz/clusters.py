"""Clusters that break: a killed worker changes no bit, a lost scheduler is one line and leaves old output alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from research.fuzz.campaign import Failure


def prepare(folder: Path) -> tuple[Path, bytes]:
    """Write votes in parts, and the labels that memory gives them."""
    import pyarrow as pa
    from pyarrow import parquet

    import goldless as gl

    parts = folder / "votes"
    parts.mkdir()
    X, _ = gl.simulate_votes(200_000, groups=[5, 4, 1, 1, 1, 1], random_state=0)
    for number, rows in enumerate(np.array_split(X, 16)):
        table = pa.table({f"v{i}": rows[:, i] for i in range(rows.shape[1])})
        parquet.write_table(table, parts / f"part-{number:02}.parquet")
    whole = folder / "whole.parquet"
    subprocess.run(_command(parts, whole, "dask"), check=True, capture_output=True)
    return parts, whole.read_bytes()


def trial(made: tuple[Path, bytes], rng: np.random.Generator, folder: Path) -> str:
    """Kill a worker or the scheduler in the middle of a fit."""
    votes, expected = made
    out = folder / "labels.parquet"
    out.write_bytes(b"what was there before")
    lost = rng.random() < 0.3
    with _cluster() as (scheduler, workers, address):
        done = threading.Event()

        def kill() -> None:
            if not done.wait(float(rng.uniform(1, 6))):
                victim = scheduler if lost else workers[int(rng.integers(len(workers)))]
                victim.send_signal(signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        ended = subprocess.run(
            [*_command(votes, out, "dask"), "--scheduler", address], capture_output=True, text=True, timeout=240
        )
        done.set()
        killer.join()
    if ended.returncode == 0:
        if out.read_bytes() != expected:
            raise Failure("other labels than without a killed worker")
        return "same bits"
    if not lost:
        raise Failure(f"ended with {ended.returncode}: {ended.stderr[-400:]}")
    lines = [line for line in ended.stderr.splitlines() if line.strip()]
    if len(lines) > 1 or out.read_bytes() != b"what was there before":
        raise Failure(f"scheduler lost: {len(lines)} lines: {ended.stderr[-400:]}")
    return "scheduler lost, one line"


def _command(votes: Path, out: Path, engine: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "goldless.cli",
        "combine",
        str(votes),
        "-o",
        str(out),
        "--force",
        "--engine",
        engine,
    ]


@contextlib.contextmanager
def _cluster() -> Any:
    """Yield the processes of a scheduler and two workers, and its address."""
    port = 20_000 + os.getpid() % 10_000
    run = [sys.executable, "-m", "distributed.cli"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    address = f"tcp://127.0.0.1:{port}"
    scheduler = subprocess.Popen(
        [*run[:2], "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"],
        **quiet,
    )
    time.sleep(3)
    worker = [*run[:2], "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    workers = [subprocess.Popen(worker, **quiet) for _ in range(2)]
    try:
        yield scheduler, workers, address
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
