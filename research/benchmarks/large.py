"""Large panels: every figure of docs/cost.md, as ratios within one run. Each is kept in docs/cost.json.

python -m research.benchmarks.large WORK [SIZE ...], with WORK one of

    memory [ROWS]     fit + predict in memory against X.sum(axis=1) + float32 X.T @ X
    parquet [ROWS]    fit from Parquet against reading it with pyarrow, and peak memory
    estep             one E-step against numpy's F @ W + logaddexp
    dask [ROWS]       two Dask workers against the stream in memory
    folder [ROWS]     a folder on two workers with less memory than its votes take
    items [N ...]     time and memory as the number of items grows, patterns fixed
    voters [M ...]    time and memory as the number of voters grows, 100,000 items

``python -m research.benchmarks.cost_page`` then writes the tables and pictures of docs/cost.md.
Seconds are of the wall clock and of CPU, which a busy machine changes less.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import goldless as gl
from goldless.kernels.threads import thread_count
from goldless.votes.grouped import GroupedPatterns
from goldless.votes.rows import PatternTable
from research.experiments.measure import measured as with_memory

GROUPS = (6, 5, 4, 3)
RECORD = Path(__file__).parents[2] / "docs" / "cost.json"


def keep(work: str, size: int, *, path: Path = RECORD, **figures: Any) -> None:
    """Print what was measured, and put it into a record in place of an earlier measurement of the same."""
    print(work, f"{size:,}", json.dumps(figures), flush=True)
    record = json.loads(path.read_text()) if path.exists() else {}
    entries = {**record.get(work, {}), str(size): {**figures, "measured": date.today().isoformat()}}
    record[work] = {key: entries[key] for key in sorted(entries, key=int)}
    path.write_text(json.dumps({name: record[name] for name in sorted(record)}, indent=1) + "\n")


def measured(function: Callable[[], Any], repeats: int = 1) -> tuple[dict[str, float], Any]:
    """Return the least seconds by the wall clock and of CPU, and the last result."""
    wall, cpu, result = np.inf, np.inf, None
    for _ in range(repeats):
        at, used = time.perf_counter(), time.process_time()
        result = function()
        wall, cpu = min(wall, time.perf_counter() - at), min(cpu, time.process_time() - used)
    return {"wall": round(wall, 4), "cpu": round(cpu, 4)}, result


def group_of(n_voters: int, sizes: Sequence[int]) -> np.ndarray:
    """Return the group of every voter: the first are in groups of these sizes, the others alone."""
    return np.repeat(np.arange(len(sizes) + n_voters - sum(sizes)), [*sizes, *[1] * (n_voters - sum(sizes))])


def draw(n_items: int, n_voters: int, seed: int = 0, sizes: Sequence[int] = GROUPS) -> np.ndarray:
    """Complete votes 0 and 1 of groups and voters alone, drawn block by block (faster than ``sample`` of a model)."""
    groups = group_of(n_voters, sizes)
    model = gl.random_model(np.bincount(groups), random_state=seed)
    latent = np.stack([1 - model.group_specificity, model.group_sensitivity]).astype(np.float32)
    vote = np.stack([1 - model.specificity_given_group, model.sensitivity_given_group]).astype(np.float32)
    X = np.empty((n_items, n_voters), dtype=np.int8)
    for number, start in enumerate(range(0, n_items, 1 << 16)):
        rng, size = np.random.default_rng([seed, number]), min(1 << 16, n_items - start)
        truth = (rng.random(size) < model.class_balance).astype(np.int8)
        alpha = rng.random((size, model.n_groups), dtype=np.float32) < latent[truth]
        parent = alpha[:, groups]
        X[start : start + size] = rng.random((size, n_voters), dtype=np.float32) < np.where(parent, vote[1], vote[0])
    return X


def memory(n_items: int = 10_000_000) -> None:
    X = draw(n_items, 100)
    gl.LatentSML().fit(X[:5000]).predict(X[:5000])  # compile

    def product() -> np.ndarray:
        """float32 X.T @ X in pieces: the whole of X as float32 would take four times its memory."""
        pieces = (X[start : start + (1 << 18)].astype(np.float32) for start in range(0, len(X), 1 << 18))
        return sum(piece.T @ piece for piece in pieces)

    total, gemm = measured(lambda: X.sum(axis=1))[0], measured(product)[0]
    fit, model = measured(lambda: gl.LatentSML().fit(X))
    predict, _ = measured(lambda: model.predict(X))
    threads = thread_count()
    keep(
        "memory", n_items, fit=fit, predict=predict, total=total, product=gemm, passes=model.n_iter_, threads=threads
    )


def in_fresh_process(function: Callable[[], Any]) -> tuple[Any, float]:
    """Run a function in a process of its own; return its result and the process's peak memory in MiB."""
    here, there = multiprocessing.Pipe(duplex=False)

    def run() -> None:
        result = function()
        there.send((result, round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    answer = here.recv()
    process.join()
    return answer


def write_parquet(path: Path, n_items: int, n_voters: int) -> None:
    """Write votes 100,000 rows at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    for start in range(0, n_items, 100_000):
        X = draw(min(100_000, n_items - start), n_voters, 0) if start == 0 else _more(n_voters, start, n_items)
        table = pa.table({f"voter {i}": X[:, i] for i in range(n_voters)})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def _more(n_voters: int, start: int, n_items: int) -> np.ndarray:
    groups = group_of(n_voters, GROUPS)
    return gl.random_model(np.bincount(groups), random_state=0).sample(min(100_000, n_items - start), [0, start])[0]


def parquet(n_items: int = 10_000_000) -> None:
    from pyarrow import parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        write_parquet(path, n_items, 100)

        def read() -> dict[str, float]:
            def once() -> None:
                for _ in pq.ParquetFile(path).iter_batches(batch_size=1 << 16):
                    pass

            return measured(once)[0]

        def fit(limit: int) -> tuple[dict[str, float], int]:
            gl.LatentSML().fit(draw(5000, 100))  # compile
            seconds, model = measured(lambda: gl.LatentSML().fit(gl.VoteStream(path, memory_limit=limit)))
            return seconds, model.n_iter_

        reading, _ = in_fresh_process(read)
        for work, limit in (("parquet kept", 1 << 28), ("parquet read again", 0)):
            (seconds, n_passes), peak = in_fresh_process(lambda limit=limit: fit(limit))
            keep(work, n_items, fit=seconds, read=reading, passes=n_passes + 1, peak=peak)


def estep() -> None:
    n_voters, n_groups, n_items = 124, 20, 200_000
    groups = np.sort(np.arange(n_voters) % n_groups)
    rng = np.random.default_rng(0)
    rates = [rng.uniform(0.6, 0.95, n_groups) for _ in range(2)] + [rng.uniform(0.6, 0.9, n_voters) for _ in range(2)]
    model = gl.LatentModel(groups, 0.4, *rates)
    table = PatternTable.of(model.sample(n_items, 1)[0])
    passes = GroupedPatterns(table, groups)
    tables, chunks = model.unit_tables(passes._plan), passes._chunks
    from goldless.kernels.threads import ordered_map

    def posterior() -> list[np.ndarray]:
        return ordered_map(lambda rows: tables.hub_log_ratio(passes._packed[rows]), chunks)

    F = table.codes.astype(np.float64)
    positive = np.stack([1 - model.specificity_given_group, model.sensitivity_given_group], axis=1)
    W, bias = np.zeros((n_voters, 2 * n_groups)), np.zeros(2 * n_groups)
    for voter, group in enumerate(groups):
        for a in range(2):
            W[voter, 2 * group + a] = np.log(positive[voter, a]) - np.log1p(-positive[voter, a])
            bias[2 * group + a] += np.log1p(-positive[voter, a])
    log_rates = np.log(model.latents)

    def by_numpy() -> np.ndarray:
        evidence = (F @ W + bias).reshape(-1, n_groups, 2)
        by_state = [
            np.logaddexp(evidence[:, :, 0] + log_rates[:, 0, s], evidence[:, :, 1] + log_rates[:, 1, s]).sum(axis=1)
            for s in range(2)
        ]
        return by_state[1] - by_state[0]

    posterior(), passes.expect(model)
    (likelihoods, ours), (whole, _) = measured(posterior, 7), measured(lambda: passes.expect(model), 7)
    numpys, theirs = measured(by_numpy, 3)
    np.testing.assert_allclose(np.concatenate(ours)[:, 0], theirs, atol=1e-9)
    keep("estep", table.n_patterns, likelihoods=likelihoods, step=whole, numpy=numpys)


def dask(n_items: int = 1_000_000) -> None:
    from distributed import Client, LocalCluster

    X = draw(n_items, 60)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        import pyarrow as pa
        from pyarrow import parquet as pq

        pq.write_table(pa.table({f"v{i}": X[:, i] for i in range(60)}), path, row_group_size=n_items // 8)
        gl.LatentSML().fit(X[:5000])
        stream, one = measured(lambda: gl.LatentSML().fit(path))
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            client.run(lambda: gl.LatentSML().fit(draw(5000, 60)))  # compile
            on_cluster, other = measured(lambda: gl.LatentSML().fit(gl.VoteStream(path, client=client)))
        keep(
            "dask",
            n_items,
            stream=stream,
            dask=on_cluster,
            same_counts=bool(np.array_equal(one.covariance_, other.covariance_)),
            same_labels=bool(np.array_equal(one.predict(path), other.predict(path))),
            difference=difference(one, other),
        )


def difference(one: Any, other: Any) -> float:
    """Largest difference of a rate."""
    rates = [np.stack([model.sensitivity_, model.specificity_]) for model in (one, other)]
    return float(abs(rates[0] - rates[1]).max())


def _process() -> tuple[int, float]:
    """Number of this process, and the most memory it held, in MiB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return os.getpid(), int(status["VmHWM"].split()[0]) / 1024


def folder(n_items: int = 2_000_000, limit: int = 400 << 20) -> None:
    """Votes as float64, 100 voters: what a worker would need to hold them as they are read is far above its limit."""
    import pyarrow as pa
    from distributed import Client, LocalCluster
    from pyarrow import parquet as pq

    with tempfile.TemporaryDirectory() as name:
        for number, start in enumerate(range(0, n_items, 100_000)):
            X = (draw(100_000, 100) if start == 0 else _more(100, start, n_items)).astype(np.float64)
            pq.write_table(pa.table({f"v{i}": X[:, i] for i in range(100)}), Path(name) / f"{number:03d}.parquet")
        gl.LatentSML().fit(draw(5000, 100))
        stream, one = measured(lambda: gl.LatentSML().fit(name))
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=limit) as cluster,
            Client(cluster) as client,
        ):
            before = {process for process, _ in client.run(_process).values()}
            on_cluster, other = measured(lambda: gl.LatentSML().fit(gl.VoteStream(name, client=client)))
            after = client.run(_process).values()
    keep(
        "folder",
        n_items,
        stream=stream,
        dask=on_cluster,
        decoded_mib=n_items * 800 / 2**20,
        limit_mib=limit / 2**20,
        peak_mib=round(max(peak for _, peak in after)),
        restarted=len({process for process, _ in after} - before),
        difference=difference(one, other),
    )


def items(*sizes: int) -> None:
    patterns = np.unique(draw(5_000, 30), axis=0)
    share = np.random.default_rng(0).dirichlet(np.ones(len(patterns)))

    def blocks(n_items: int) -> Any:
        def open_() -> Any:
            for start in range(0, n_items, 1 << 18):
                local = np.random.default_rng(start)
                yield patterns[local.choice(len(patterns), min(1 << 18, n_items - start), p=share)]

        return open_

    def fit(n_items: int) -> tuple[dict[str, float], dict[str, float]]:
        gl.LatentSML().fit(patterns)
        drawing, _ = measured(lambda: [None for _ in blocks(n_items)()])
        return measured(lambda: gl.LatentSML().fit(blocks(n_items)))[0], drawing

    for n_items in sizes or (100_000, 1_000_000, 10_000_000, 100_000_000):
        (seconds, drawing), peak = in_fresh_process(lambda n_items=n_items: fit(n_items))
        keep("items", n_items, fit=seconds, drawing=drawing, peak=peak, patterns=len(patterns))


def voters(*sizes: int) -> None:
    """The stages of one fit; what is not counting, score matrix or search is EM, readings and subtypes."""
    from goldless.estimators import base
    from goldless.fitting import groups

    def timed(module: Any, name: str, spent: dict[str, float]) -> None:
        function = getattr(module, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            seconds, result = measured(lambda: function(*arguments, **options))
            spent[name] = spent.get(name, 0.0) + seconds["cpu"]
            return result

        setattr(module, name, wrapped)

    def fit(n_voters: int) -> tuple[dict[str, float], dict[str, float]]:
        gl.LatentSML().fit(draw(3000, 50))  # compile
        X, spent = draw(100_000, n_voters), dict[str, float]()
        timed(groups, "score_matrix", spent)
        timed(groups, "search_structure", spent)
        counted = base.CountedVotes.of_votes

        def count(*arguments: Any) -> Any:
            seconds, result = measured(lambda: counted(*arguments))
            spent["counting"] = seconds["cpu"]
            return result

        base.CountedVotes.of_votes = count
        _, took = with_memory(lambda: gl.LatentSML().fit(X))
        return spent, took

    for n_voters in sizes or (50, 100, 200, 500, 1000, 2000):
        (spent, took), _ = in_fresh_process(lambda n_voters=n_voters: fit(n_voters))
        keep(
            "voters",
            n_voters,
            counting=spent["counting"],
            score=spent["score_matrix"],
            search=spent["search_structure"],
            fit=round(took["cpu_seconds"], 3),
            wall=round(took["seconds"], 3),
            memory_mib=round(took["memory_mb"]),
        )


WORKS = {work.__name__: work for work in (memory, parquet, estep, dask, folder, items, voters)}

if __name__ == "__main__":
    warnings.simplefilter("ignore", gl.VotesWarning)
    what, *rest = sys.argv[1:] or ["estep"]
    WORKS[what](*(int(float(word)) for word in rest))
