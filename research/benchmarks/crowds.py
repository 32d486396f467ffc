"""Crowds: time and memory of long tables beside crowd-kit, and rows that nobody called.

``python -m research.benchmarks.crowds time | large | stream | truncation``. ``time`` makes a long table, reads and
fits it in a process of its own, and with ``PEER_PYTHON`` set to an interpreter that has crowd-kit runs its
Dawid-Skene on the same table, one after the other; ``large`` does so for a table ten times as large as crowd-kit's.
Times are of reading a Parquet file, and of fit and predict; memory is the peak of the process. ``stream`` merges
and fits a table in no order from Parquet, of as many votes as the next word says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import goldless as gl
from research.benchmarks.timing import print_table

CASES = {"10^5 workers, 10^6 votes": (200_000, 100_000, 5), "9,900 workers, 10^6 votes": (200_000, 9_900, 5)}
LARGE = {"10^4 workers, 5 x 10^6 votes": (1_000_000, 10_000, 5), "10^3 workers, 5 x 10^5 votes": (100_000, 1_000, 5)}

OURS = """
import json, resource, sys, time, warnings
import numpy as np, pyarrow.parquet as pq, goldless as gl
warnings.simplefilter("ignore")
small = {"task": np.repeat(np.arange(600), 3), "worker": np.tile(np.arange(9), 200), "label": np.arange(1800) % 4}
import pyarrow as pa
make = getattr(gl, sys.argv[2])
from goldless.votes.long import LongVotes
from goldless.votes.votes import Votes
warm = LongVotes.of(small["task"], small["worker"], small["label"], 600, 9, repeats="first")
warm = Votes(warm.sparse, np.arange(4))
make().fit(warm).predict(warm)  # compiled kernels are loaded
start = time.perf_counter()
table = gl.read_votes(sys.argv[1])
read, cpu = time.perf_counter(), time.process_time()
model = make().fit(table)
labels = model.predict(table)
done, cpu = time.perf_counter(), time.process_time() - cpu
truth = np.load(sys.argv[3])
right = float((labels.astype(int) == truth[table.items.astype(int)]).mean())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(json.dumps({"read": read - start, "fit": done - read, "cpu": cpu, "memory": peak, "right": right}))
"""

PEER = """
import json, resource, sys, time
import numpy as np, pandas as pd
from crowdkit.aggregation import DawidSkene
frame = pd.read_parquet(sys.argv[1])
start, cpu = time.perf_counter(), time.process_time()
labels = DawidSkene(n_iter=100).fit_predict(frame)
done, cpu = time.perf_counter(), time.process_time() - cpu
truth = np.load(sys.argv[3])
right = float((labels.to_numpy() == truth[labels.index.to_numpy()]).mean())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(json.dumps({"read": 0.0, "fit": done - start, "cpu": cpu, "memory": peak, "right": right}))
"""


def long_table(n_items: int, n_workers: int, n_votes: int, n_classes: int = 4, seed: int = 1):
    """Return a long table of votes on items, each by a few workers, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_items)
    items, workers = np.repeat(np.arange(n_items), n_votes), rng.integers(0, n_workers, n_items * n_votes)
    _, first = np.unique(items * n_workers + workers, return_index=True)
    items, workers = items[first], workers[first]
    accuracy = rng.uniform(0.4, 0.95, n_workers)
    right = rng.random(len(items)) < accuracy[workers]
    labels = np.where(right, truth[items], rng.integers(0, n_classes, len(items)))
    return pa.table({"task": items, "worker": workers, "label": labels}), truth


def write_long_table(folder: Path, n_items: int, n_workers: int, n_votes: int) -> None:
    """Write a long table and its truth into a folder."""
    table, truth = long_table(n_items, n_workers, n_votes)
    pq.write_table(table, folder / "votes.parquet")
    np.save(folder / "truth.npy", truth)


def fitted_alone(folder: Path, method: str, python: str = sys.executable, script: str = OURS) -> dict[str, float]:
    """Return seconds, memory and share of right labels of a fit to that table, in a process of its own."""
    command = [python, "-c", script, str(folder / "votes.parquet"), method, str(folder / "truth.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def time_of_large_crowds() -> None:
    """The same of a table ten times as large as one that crowd-kit can be waited for."""
    time_of_crowds(LARGE)


def time_of_crowds(cases: dict[str, tuple[int, int, int]] = CASES) -> None:
    """Time and memory of long tables, each method in a process of its own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, shape in cases.items():
            write_long_table(Path(folder), *shape)
            runs = [(method, sys.executable, OURS) for method in ("MajorityVote", "DawidSkene", "LatentSML")]
            if os.environ.get("PEER_PYTHON") and shape[0] < 1_000_000:
                runs.append(("crowd-kit DawidSkene", os.environ["PEER_PYTHON"], PEER))
            for method, python, script in runs:
                found = fitted_alone(Path(folder), method, python, script)
                rows.append(
                    (name, method, *(f"{found[key]:.2f}" for key in ("read", "fit", "cpu")), f"{found['memory']:.0f}",
                     f"{100 * found['right']:.2f}")
                )  # fmt: skip
    print_table(
        "Long tables, four classes", ("table", "method", "read s", "fit s", "fit s (CPU)", "peak MB", "right %"), rows
    )


_STREAMED = """
import json, resource, sys, time
import goldless as gl
make, stream = getattr(gl, sys.argv[2]), gl.VoteStream(sys.argv[1], memory_limit=int(sys.argv[3]))
start = time.process_time()
stream.open()
merged = time.process_time()
model = make().fit(stream)
model.predict_to(stream, sys.argv[1] + ".labels.parquet")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(json.dumps({"merge": merged - start, "fit": time.process_time() - merged, "memory": peak}))
"""


def shuffled_table(path: Path, n_items: int, n_workers: int, n_classes: int = 4, n_votes: int = 5) -> None:
    """Write a long table whose lines are in no order, a million at a time: never all in memory.

    Workers and true label of an item are drawn by a hash of it, so that every vote can be written on its own.
    """
    accuracy, total, step = np.random.default_rng(1).uniform(0.4, 0.95, n_workers), n_items * n_votes, 649_940_451
    while np.gcd(step, total) > 1:  # a walk that meets every vote once
        step += 1
    with pq.ParquetWriter(path, pa.schema({name: pa.int64() for name in ("task", "worker", "label")})) as writer:
        for start in range(0, total, 1 << 20):
            vote = np.arange(start, min(start + (1 << 20), total)) * step % total
            item, rng = vote // n_votes, np.random.default_rng(start)
            first, apart, truth = (_hashed(item, seed) for seed in range(3))
            worker = (first + vote % n_votes * (1 + apart % (n_workers // n_votes))) % n_workers
            right = rng.random(len(vote)) < accuracy[worker]
            label = np.where(right, truth % n_classes, rng.integers(0, n_classes, len(vote)))
            writer.write_table(pa.table({"task": item, "worker": worker, "label": label}))


def _hashed(items: np.ndarray, seed: int) -> np.ndarray:
    """Return whole numbers below 2^31 that look drawn at random, the same for the same item."""
    mixed = (items.astype(np.uint64) + np.uint64(seed * 1_000_003 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(33)).astype(np.int64)


def streamed(n_votes: int = 1_000_000, n_workers: int = 100_000) -> None:
    """CPU seconds and memory of a long table in no order, kept in memory after the merge or not."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        shuffled_table(path, n_votes // 5, n_workers)
        for method in ("MajorityVote", "DawidSkene"):
            for limit in (1 << 28, 0):
                done = subprocess.run(
                    [sys.executable, "-c", _STREAMED, str(path), method, str(limit)],
                    capture_output=True, text=True, check=True,
                )  # fmt: skip
                found = json.loads(done.stdout.splitlines()[-1])
                rows.append((method, limit, *(f"{found[key]:.1f}" for key in ("merge", "fit", "memory"))))
    title = f"A long table of {n_votes:,} votes of {n_workers:,} workers in no order"
    print_table(title, ("method", "memory limit", "merge s (CPU)", "fit s (CPU)", "peak MB"), rows)


def truncation(n_draws: int = 10, n_items: int = 20_000) -> None:
    """Balanced error on the sites that are seen: of all sites, of the file as it is, and with at_least=1."""
    rows = []
    for name, n_voters, share, n_grouped in (
        ("7 callers", 7, 0.3, 0),
        ("5 callers", 5, 0.1, 0),
        ("3 of 7 grouped", 7, 0.3, 3),
    ):
        errors = []
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            real = rng.random(n_items) < share
            source = np.where(real, rng.random(n_items) < 0.85, rng.random(n_items) < 0.15)
            calls = []
            for voter in range(n_voters):
                of, grouped = (source, True) if voter < n_grouped else (real, False)
                hit, clean = (0.9, 0.93) if grouped else (rng.uniform(0.55, 0.9), rng.uniform(0.85, 0.97))
                calls.append(np.where(of, rng.random(n_items) < hit, rng.random(n_items) >= clean))
            votes = np.stack(calls, axis=1).astype(np.int8)
            seen = votes.any(axis=1)
            models = (
                gl.LatentSML().fit(votes),
                gl.LatentSML().fit(votes[seen]),
                gl.LatentSML(at_least=1).fit(votes[seen]),
            )
            truth = real[seen].astype(np.int8)
            unseen = models[2].unseen_
            errors.append(
                [*(100 * gl.balanced_error(truth, model.predict(votes[seen])) for model in models),
                 unseen.items / (~seen).sum(), unseen.interval[0] <= (~seen).sum() <= unseen.interval[1]]
            )  # fmt: skip
        mean = np.mean(errors, axis=0)
        rows.append((name, *(f"{value:.2f}" for value in mean)))
    header = ("case", "all sites", "file as it is", "at_least=1", "n0 / true", "interval holds it")
    print_table("Balanced error on the sites seen, %", header, rows)


if __name__ == "__main__":
    {"time": time_of_crowds, "large": time_of_large_crowds, "stream": streamed, "truncation": truncation}[
        sys.argv[1]
    ](*map(int, sys.argv[2:]))
