"""Large panels: each row of the table in docs/cost.md, as ratios within one run.

    python benchmarks/large.py memory [ROWS]     fit + predict in memory against X.sum(axis=1) + float32 X.T @ X
    python benchmarks/large.py parquet [ROWS]    fit from Parquet against reading it with pyarrow, and peak memory
    python benchmarks/large.py estep             one E-step against numpy's F @ W + logaddexp
    python benchmarks/large.py dask [ROWS]       two Dask workers against the stream in memory
    python benchmarks/large.py items             time and memory as the number of items grows, patterns fixed
    python benchmarks/large.py voters            time as the number of voters grows

Seconds are of wall clock and, in brackets, of CPU, which a busy machine changes less; ratios are given for both.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from timing import print_table

import goldless as gl
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable

GROUPS = [6, 5, 4, 3]


def measured(function: Callable[[], Any], repeats: int = 1) -> tuple[float, float, Any]:
    """Return the least seconds by the wall clock and of CPU, and the last result."""
    wall, cpu, result = np.inf, np.inf, None
    for _ in range(repeats):
        at, used = time.perf_counter(), time.process_time()
        result = function()
        wall, cpu = min(wall, time.perf_counter() - at), min(cpu, time.process_time() - used)
    return wall, cpu, result


def shown(wall: float, cpu: float) -> str:
    return f"{wall:.2f} ({cpu:.2f})"


def draw(n_items: int, n_voters: int, seed: int = 0) -> np.ndarray:
    """Complete votes 0 and 1, drawn block by block from one model."""
    groups = np.concatenate([np.repeat(np.arange(4), GROUPS), 4 + np.arange(n_voters - sum(GROUPS))])
    model = gl.random_model(np.bincount(groups), random_state=seed)
    X = np.empty((n_items, n_voters), dtype=np.int8)
    for number, start in enumerate(range(0, n_items, 1 << 17)):
        X[start : start + (1 << 17)] = model.sample(min(1 << 17, n_items - start), [seed, number])[0]
    return X


def memory(n_items: int = 10_000_000) -> None:
    X = draw(n_items, 100)
    gl.LatentSML().fit(X[:5000]).predict(X[:5000])  # compile
    fit = measured(lambda: gl.LatentSML().fit(X))
    predict = measured(lambda: fit[2].predict(X))

    def product() -> np.ndarray:
        """float32 X.T @ X in pieces: the whole of X as float32 would take four times its memory."""
        pieces = (X[start : start + (1 << 18)].astype(np.float32) for start in range(0, len(X), 1 << 18))
        return sum(piece.T @ piece for piece in pieces)

    total, gemm = measured(lambda: X.sum(axis=1)), measured(product)
    ratios = [(fit[i] + predict[i]) / (total[i] + gemm[i]) for i in (0, 1)]
    print_table(
        f"In memory, {n_items:,} x 100, no repeats (target: at most 3)",
        ("fit s", "predict s", "X.sum s", "X.T @ X s", "ratio (of CPU)", "passes over all rows"),
        [(*(shown(*part[:2]) for part in (fit, predict, total, gemm)), shown(*ratios), fit[2].n_iter_)],
    )
    print(fit[2].how_counted_)


def _in_fresh_process(function: Callable[[], Any]) -> tuple[Any, float]:
    """Run a function in a process of its own; return its result and the process's peak memory in MiB."""
    here, there = multiprocessing.Pipe(duplex=False)

    def run() -> None:
        result = function()
        there.send((result, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))

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
    groups = np.concatenate([np.repeat(np.arange(4), GROUPS), 4 + np.arange(n_voters - sum(GROUPS))])
    return gl.random_model(np.bincount(groups), random_state=0).sample(min(100_000, n_items - start), [0, start])[0]


def parquet(n_items: int = 10_000_000) -> None:
    from pyarrow import parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        write_parquet(path, n_items, 100)

        def read() -> tuple[float, float]:
            def once() -> None:
                for _ in pq.ParquetFile(path).iter_batches(batch_size=1 << 16):
                    pass

            return measured(once)[:2]

        def fit(limit: int) -> tuple[float, float, int, str]:
            gl.LatentSML().fit(draw(5000, 100))  # compile
            wall, cpu, model = measured(lambda: gl.LatentSML().fit(gl.VoteStream(path, memory_limit=limit)))
            return wall, cpu, model.n_iter_, model.how_counted_

        reading, _ = _in_fresh_process(read)
        rows = []
        for title, limit in (("rows kept in memory, packed", 1 << 28), ("rows read again at every pass", 0)):
            (wall, cpu, n_passes, how), peak = _in_fresh_process(lambda limit=limit: fit(limit))
            readings = n_passes + 2 if limit == 0 else 2  # the first rows, the counting pass, and the passes of EM
            per_pass = shown(wall / (n_passes + 1) / reading[0], cpu / (n_passes + 1) / reading[1])
            rows.append((title, shown(wall, cpu), f"{peak:.0f}", n_passes + 1, readings, per_pass))
            print(how)
        print_table(
            f"Parquet, {n_items:,} x 100; reading it once with pyarrow takes {shown(*reading)} s",
            ("", "fit s", "peak MiB (target 1024)", "passes", "readings", "time of a pass / of reading (target 3)"),
            rows,
        )


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
    log_rates = np.log(model.group_rates)

    def by_numpy() -> np.ndarray:
        evidence = (F @ W + bias).reshape(-1, n_groups, 2)
        by_state = [
            np.logaddexp(evidence[:, :, 0] + log_rates[:, 0, s], evidence[:, :, 1] + log_rates[:, 1, s]).sum(axis=1)
            for s in range(2)
        ]
        return by_state[1] - by_state[0]

    posterior(), passes.expect(model)
    ours, whole, numpys = measured(posterior, 7), measured(lambda: passes.expect(model), 7), measured(by_numpy, 3)
    np.testing.assert_allclose(np.concatenate(ours[2])[:, 0], numpys[2], atol=1e-9)
    million = table.n_patterns / 1e6
    print_table(
        f"E-step, {table.n_patterns:,} patterns, m = 124, K = 20 (target: 20 times)",
        ("", "s", "million patterns a second", "times numpy", "of CPU"),
        [
            (
                name,
                shown(*part[:2]),
                f"{million / part[0]:.2f}",
                f"{numpys[0] / part[0]:.0f}",
                f"{numpys[1] / part[1]:.0f}",
            )
            for name, part in (
                ("likelihoods of all rows", ours),
                ("likelihoods and all sums of the M-step", whole),
                ("numpy: F @ W and logaddexp, likelihoods only", numpys),
            )
        ],
    )


def dask(n_items: int = 1_000_000) -> None:
    from distributed import Client, LocalCluster

    X = draw(n_items, 60)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        import pyarrow as pa
        from pyarrow import parquet as pq

        pq.write_table(pa.table({f"v{i}": X[:, i] for i in range(60)}), path, row_group_size=n_items // 8)
        gl.LatentSML().fit(X[:5000])
        stream = measured(lambda: gl.LatentSML().fit(path))
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.run(lambda: gl.LatentSML().fit(draw(5000, 60)))  # compile
            on_cluster = measured(lambda: gl.LatentSML().fit(gl.VoteStream(path, client=client)))
        one, other = stream[2], on_cluster[2]
        rates = [np.stack([model.sensitivity_, model.specificity_]) for model in (one, other)]
        difference = abs(rates[0] - rates[1]).max()
        print_table(
            f"Dask, two workers of one thread, {n_items:,} x 60 in Parquet (target: at most 2)",
            ("stream s", "Dask s", "ratio", "same counts", "same labels", "largest difference of a rate"),
            [
                (
                    shown(*stream[:2]),
                    f"{on_cluster[0]:.2f}",
                    f"{on_cluster[0] / stream[0]:.2f}",
                    np.array_equal(one.covariance_, other.covariance_),
                    np.array_equal(one.predict(path), other.predict(path)),
                    f"{difference:.1e}",
                )
            ],
        )


def items() -> None:
    patterns = np.unique(draw(5_000, 30), axis=0)
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.ones(len(patterns)))

    def blocks(n_items: int) -> Any:
        def open_() -> Any:
            for start in range(0, n_items, 1 << 18):
                local = np.random.default_rng(start)
                yield patterns[local.choice(len(patterns), min(1 << 18, n_items - start), p=share)]

        return open_

    def drawing(n_items: int) -> float:
        return measured(lambda: [None for _ in blocks(n_items)()])[1]

    rows = []
    for n_items in (100_000, 1_000_000, 10_000_000, 100_000_000)[: int(os.environ.get("GOLDLESS_BENCH_STEPS", "3"))]:

        def fit(n_items: int = n_items) -> tuple[float, float, int]:
            gl.LatentSML().fit(patterns)
            wall, cpu, model = measured(lambda: gl.LatentSML().fit(blocks(n_items)))
            return wall, cpu - drawing(n_items), model.n_iter_

        (_, cpu, _), peak = _in_fresh_process(fit)
        rows.append((f"{n_items:,}", f"{cpu:.2f}", f"{1e9 * cpu / n_items:.0f}", f"{peak:.0f}"))
    print_table(
        f"Items, {len(patterns):,} patterns of 30 voters (CPU without drawing the votes)",
        ("items", "fit, CPU s", "ns an item", "peak MiB"),
        rows,
    )


def voters() -> None:
    rows = []
    before = None
    for n_voters in (50, 100, 200, 400, 800, 1600)[: int(os.environ.get("GOLDLESS_BENCH_STEPS", "4"))]:
        X = draw(100_000, n_voters)
        gl.LatentSML().fit(X[:3000]) if n_voters == 50 else None
        stages = {}
        stages["counting"] = measured(lambda X=X: gl.MajorityVote().fit(X))[1]
        stages["score matrix"] = measured(lambda X=X: gl.score_matrix(np.cov(X[:2000].T)))[1]
        stages["fit"] = measured(lambda X=X: gl.LatentSML().fit(X))[1]
        slope = "" if before is None else f"{np.log2(stages['fit'] / before):.1f}"
        before = stages["fit"]
        rows.append((n_voters, *(f"{seconds:.2f}" for seconds in stages.values()), slope))
    print_table(
        "Voters, 100,000 items (CPU s)", ("m", "counting", "score matrix", "whole fit", "exponent of the fit"), rows
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", gl.VotesWarning)
    what, *rest = sys.argv[1:] or ["estep"]
    {"memory": memory, "parquet": parquet, "estep": estep, "dask": dask, "items": items, "voters": voters}[what](
        *(int(float(word)) for word in rest)
    )
