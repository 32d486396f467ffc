"""Panels that outgrow a machine: every figure of docs/scale.md, kept in docs/scale.json.

python -m research.benchmarks.scale WORK [SIZE ...], with WORK one of

    crowd [VOTES]     a long Parquet table in no order: merged, fitted and labelled, and peak memory
    voters [M ...]    whole fits of 20,000 items as the number of voters grows, and what is found
    patterns [ROWS]   an EM pass over 20 voters in memory against np.count_nonzero, and memory on top of the votes
    engines [ROWS]    60 voters: a file, two Dask workers and Spark on two cores against memory
    page [VOTERS]     the page of a crowd: its size
    against [WORKERS] crowds against crowd-kit, which PEER_PYTHON has (by default this interpreter): 500 votes a
                      worker, crowd-kit on a tenth of them; and ten votes a worker

``python -m research.benchmarks.cost_page`` then writes the tables of docs/scale.md.
Every fit has a process of its own. Seconds are of the wall clock and of CPU, which a busy machine changes less.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import goldless as gl
from goldless.cli.streaming import spark_session
from goldless.io.encode import encode_votes
from goldless.votes.counted import CountedVotes
from research.benchmarks import large
from research.benchmarks.crowds import OURS, PEER, fitted_alone, long_table, shuffled_table, write_long_table
from research.benchmarks.large import difference, draw, group_of, in_fresh_process, measured
from research.experiments.measure import measured as with_memory

keep = partial(large.keep, path=large.RECORD.with_name("scale.json"))


def crowd(n_votes: int = 100_000_000, n_workers: int = 100_000) -> None:
    """Merge, fit and label a long table whose lines are in no order, by two methods."""

    def run(path: Path, method: str) -> dict[str, Any]:
        stream = gl.VoteStream(path)
        merge, _ = measured(stream.open)
        fit, model = measured(lambda: getattr(gl, method)().fit(stream))
        label, _ = measured(lambda: model.predict_to(stream, path.with_name("labels.parquet")))
        return {"merge": merge, "fit": fit, "label": label, "passes": model.n_iter_}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        shuffled_table(path, n_votes // 5, n_workers)
        methods = {}
        for method in ("DawidSkene", "LatentSML"):
            figures, peak = in_fresh_process(partial(run, path, method))
            methods[method] = {**figures, "peak": peak}
    keep("crowd", n_votes, workers=n_workers, **methods)


def voters(*sizes: int) -> None:
    """Fit 20,000 items of ever more voters, half of them in groups of ten, on one thread."""

    def run(n_voters: int) -> dict[str, Any]:
        gl.LatentSML().fit(draw(3000, 50))  # compile
        groups = (10,) * (n_voters // 20)
        truth = group_of(n_voters, groups)
        X = draw(20_000, n_voters, 1, groups)
        model, took = with_memory(lambda: gl.LatentSML().fit(X))
        found = model.groups_
        alone = sum(np.bincount(found)[found[10 * len(groups) :]] == 1)
        # voters of a group are where most of it is, and voters alone are alone
        placed = sum(np.bincount(found[truth == group]).max() for group in range(len(groups))) + alone
        cpu, wall, rise = (round(took[name], 1) for name in ("cpu_seconds", "seconds", "memory_mb"))
        return {
            "cpu": cpu,
            "wall": wall,
            "memory_mib": rise,
            "misplaced": int(n_voters - placed),
        }

    os.environ["GOLDLESS_NUM_THREADS"] = "1"
    for n_voters in sizes or (490, 1000, 2000, 5000):
        figures, peak = in_fresh_process(partial(run, n_voters))
        keep("voters", n_voters, **figures, groups=n_voters // 20, peak=peak)


def patterns(n_items: int = 50_000_000) -> None:
    """Fit 20 voters on very many items in memory; a pass over all items against one count of the votes."""

    def run() -> dict[str, Any]:
        gl.LatentSML().fit(draw(5000, 20))  # compile
        X = draw(n_items, 20)
        count, _ = measured(lambda: np.count_nonzero(X), 3)
        model, took = with_memory(lambda: gl.LatentSML().fit(X))
        votes = CountedVotes.of_votes(encode_votes(X), None, np.array([], dtype=np.int64))
        sums, tree = votes.sums(np.arange(20)), model.fitted_.evidence[0]
        sums.expect(tree)
        step, _ = measured(lambda: sums.expect(tree), 3)
        return {
            "fit": {"cpu": round(took["cpu_seconds"], 2), "wall": round(took["seconds"], 2)},
            "count": count,
            "step": step,
            "passes": model.n_iter_,
            "distinct": sum(part.n_rows for part in votes.engine.parts)
            if votes.engine
            else votes.sketch.table.n_rows,
            "rise_mib": round(took["memory_mb"]),
            "votes_mib": round(X.nbytes / 2**20),
        }

    figures, peak = in_fresh_process(run)
    keep("patterns", n_items, **figures, peak=peak)


def _family() -> float:
    """CPU seconds of this process and of all that it started, as far as they live."""
    parent, seconds = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "stat").read_text().rpartition(")")[2].split()
                parent[int(entry.name)] = int(words[1])
                seconds[int(entry.name)] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")

    def ours(process: int) -> bool:
        while process > 1 and process != os.getpid():
            process = parent.get(process, 0)
        return process == os.getpid()

    return sum(spent for process, spent in seconds.items() if ours(process))


def _timed(fit: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return seconds by the clock and of CPU, of all processes, and the model."""
    at, used = time.perf_counter(), _family()
    model = fit()
    return {"wall": round(time.perf_counter() - at, 1), "cpu": round(_family() - used, 1)}, model


def engines(n_items: int = 10_000_000) -> None:
    """Fit and label 60 voters in memory, from a Parquet file, on two workers of Dask and by Spark on two cores.

    One after the other. Of Spark once a frame that it reads itself, and once the file, which its workers read.
    """
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "votes.parquet", Path(folder) / "small.parquet"
        X = draw(n_items, 60)
        for rows, name in ((X, path), (draw(20_000, 60), small)):
            table = pa.table({f"v{voter}": rows[:, voter] for voter in range(60)})
            pq.write_table(table, name, row_group_size=max(len(rows) // 16, 1))
        del table
        gl.LatentSML().fit(draw(20_000, 60)).predict(draw(5000, 60))  # compile
        memory, one, labels = _fit_and_label(X, folder)
        del X

        def against(name: str, votes: Any) -> None:
            took, other, found = _fit_and_label(votes, folder)
            same = {"same_labels": found.equals(labels), "difference": difference(one, other)}
            keep(name, n_items, memory=memory, cluster=took, **same)

        against("file", gl.VoteStream(path))
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.run(lambda: gl.LatentSML().fit(draw(5000, 60)))  # compile
            against("dask", gl.VoteStream(path, client=client))
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        with spark_session("local[2]") as session:
            for votes in (session.read.parquet(str(small)), gl.VoteStream(small, client=session)):
                gl.LatentSML().fit(votes)  # workers start
            against("spark files", gl.VoteStream(path, client=session))
            against("spark", session.read.parquet(str(path)))


def _fit_and_label(votes: Any, folder: str) -> tuple[dict[str, Any], Any, Any]:
    """Return what both took, the model, and the labels as they stand in the file that was written."""
    written = Path(folder) / "labels.parquet"
    fit, model = _timed(lambda: gl.LatentSML().fit(votes))
    label, _ = _timed(lambda: model.predict_to(votes, written))
    return {**fit, "label": label}, model, pq.read_table(written, columns=["label"])


def page(n_workers: int = 100_000) -> None:
    """Make the page of a crowd that has ten votes for each worker."""

    def run(path: Path) -> dict[str, Any]:
        took, made = measured(lambda: gl.report(path, path.with_suffix(".html")))
        return {
            "seconds": took,
            "bytes": path.with_suffix(".html").stat().st_size,
            "workers": len(made.model.recall_),
        }

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        pq.write_table(long_table(2 * n_workers, n_workers, 5)[0], path)
        figures, peak = in_fresh_process(partial(run, path))
    keep("page", n_workers, **figures, peak=peak)


def against(n_workers: int = 10_000) -> None:
    """Fit and label crowds beside crowd-kit's Dawid-Skene, in turn: the least CPU seconds of three."""
    peer = os.environ.get("PEER_PYTHON", sys.executable)
    for work, shape, smaller in (
        ("against", (100 * n_workers, n_workers, 5), 10),
        ("against few votes", (20 * n_workers, 10 * n_workers, 5), 1),
    ):
        best: dict[str, dict[str, float]] = {}
        with tempfile.TemporaryDirectory() as folder:
            all_votes, tenth = Path(folder) / "all", Path(folder) / "tenth"
            for place, part in ((all_votes, 1), (tenth, smaller)):
                place.mkdir()
                write_long_table(place, shape[0] // part, shape[1] // part, shape[2])
            for _ in range(3):
                for method, place, python, script in (
                    ("DawidSkene", all_votes, sys.executable, OURS),
                    ("LatentSML", all_votes, sys.executable, OURS),
                    ("crowd-kit", tenth, peer, PEER),
                ):
                    found = fitted_alone(place, method, python, script)
                    if method not in best or found["cpu"] < best[method]["cpu"]:
                        best[method] = {name: round(found[name], 4) for name in ("read", "fit", "cpu", "right")}
        keep(work, shape[0], workers=shape[1], smaller=smaller, **best)


WORKS = {work.__name__: work for work in (crowd, voters, patterns, engines, page, against)}

if __name__ == "__main__":
    warnings.simplefilter("ignore", gl.VotesWarning)
    what, *rest = sys.argv[1:]
    WORKS[what](*(int(float(word)) for word in rest))
