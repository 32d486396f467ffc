"""Write tables and pictures of docs/cost.md and docs/scale.md from docs/cost.json and docs/scale.json.

python -m research.benchmarks.cost_page

A table stands between ``<!-- measured: NAME -->`` and ``<!-- end -->``. Nobody types what was measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).parents[2] / "docs"
INK = {"light": "#22313f", "dark": "#e3e8ee"}
_SECTION = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Record = dict[str, dict[str, Any]]


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def latest(record: Record, work: str) -> tuple[int, Any]:
    """Return the largest size that was measured, and its figures."""
    size = max(record[work], key=int)
    return int(size), record[work][size]


def against_aims(record: Record) -> str:
    """Return the table of ratios with the aims beside them."""
    rows: list[tuple[str, str, str]] = []
    n, step = latest(record, "estep")
    for name, part in (("likelihoods", "likelihoods"), ("likelihoods and all sums of the M-step", "step")):
        ratio = step["numpy"]["cpu"] / step[part]["cpu"]
        what = f"E-step, {n:,} patterns, m = 124, K = 20: {name}"
        rows.append((what, f"{ratio:.0f} times the speed of numpy's likelihoods, `F @ W` + `logaddexp`", "20"))
    n, made = latest(record, "memory")
    ratios = [
        (made["fit"][clock] + made["predict"][clock]) / (made["total"][clock] + made["product"][clock])
        for clock in ("cpu", "wall")
    ]
    fit, predict = made["fit"]["cpu"], made["predict"]["cpu"]
    baseline = made["total"]["cpu"] + made["product"]["cpu"]
    rows.append(
        (
            f"{n:,} x 100 in memory, no repeats: fit + predict ({fit:.1f} + {predict:.1f} s, "
            f"{made['passes']} passes over all rows)",
            f"{ratios[0]:.2f} times `X.sum(axis=1)` + float32 `X.T @ X` ({baseline:.1f} s); "
            f"{ratios[1]:.2f} times by the wall clock; {made['threads']} thread(s) on both sides",
            "3",
        )
    )
    for work, how in (("parquet kept", "rows kept packed in memory"), ("parquet read again", "read at every pass")):
        n, made = latest(record, work)
        per_pass = made["fit"]["cpu"] / made["passes"] / made["read"]["cpu"]
        rows.append(
            (
                f"{n:,} x 100 in Parquet, {how}",
                f"fit {made['fit']['cpu']:.1f} s in {made['passes']} passes, peak {made['peak']} MiB; a pass takes "
                f"{per_pass:.1f} times reading the file ({made['read']['cpu']:.1f} s)",
                "3; 1,024 MiB",
            )
        )
    n, made = latest(record, "dask")
    same = "same counts and labels" if made["same_counts"] and made["same_labels"] else "other counts or labels"
    rows.append(
        (
            f"Dask, two workers of one thread, {n:,} x 60 in Parquet",
            f"{made['dask']['wall'] / made['stream']['wall']:.1f} times the stream by the wall clock; {same}, rates "
            f"to {made['difference']:.0e}",
            "2; 1e-9",
        )
    )
    n, made = latest(record, "folder")
    rows.append(
        (
            f"the same, {n:,} x 100 in a folder of {made['decoded_mib']:,.0f} MiB when read, workers limited to "
            f"{made['limit_mib']:,.0f} MiB",
            f"peak of a worker {made['peak_mib']} MiB, {made['restarted']} of them started anew; rates to "
            f"{made['difference']:.0e}",
            "1e-9",
        )
    )
    return table(("work", "measured", "aim"), rows)


def by_items(record: Record) -> str:
    """Return how a fit grows with the number of items."""
    sizes = [int(size) for size in record["items"]]
    spent = [made["fit"]["cpu"] - made["drawing"]["cpu"] for made in record["items"].values()]
    rows = [
        (f"{size:,}", f"{seconds:.2f}", f"{1e9 * seconds / size:,.0f}", made["peak"])
        for size, seconds, made in zip(sizes, spent, record["items"].values(), strict=True)
    ]
    patterns = next(iter(record["items"].values()))["patterns"]
    slope = 1e9 * (spent[-1] - spent[0]) / (sizes[-1] - sizes[0])
    return (
        table((f"items, {patterns:,} patterns of 30 voters", "fit, CPU s", "ns an item", "peak MiB"), rows)
        + f"\n\nFrom {sizes[0]:,} to {sizes[-1]:,} items time grows by {slope:.0f} ns an item over a constant, and "
        f"memory from {rows[0][3]} to {rows[-1][3]} MiB."
    )


def by_voters(record: Record) -> str:
    """Return how the stages of a fit grow with the number of voters, with the exponents."""
    stages = ("counting", "score", "search", "fit")
    rows, before = [], None
    for size, made in record["voters"].items():
        cells = []
        for stage in stages:
            cell = f"{made[stage]:.2f}"
            if before is not None and before[1][stage] >= 0.1:
                cell += f" (m^{np.log(made[stage] / before[1][stage]) / np.log(int(size) / before[0]):.1f})"
            cells.append(cell)
        rows.append((f"{int(size):,}", *cells, made["memory_mib"]))
        before = int(size), made
    header = ("voters, 100,000 items", "counting", "score matrix", "search", "whole fit, CPU s", "memory over X, MiB")
    return table(header, rows)


def on_paper(record: Record) -> str:
    """Return how long the work of one worker takes, by what was measured for an item."""
    n, kept = latest(record, "parquet kept")
    again, (n_labelled, made) = latest(record, "parquet read again")[1], latest(record, "memory")
    fit, anew, label = (
        seconds * 1e8 / size
        for seconds, size in (
            (kept["fit"]["cpu"], n),
            (again["fit"]["cpu"], n),
            (made["predict"]["cpu"] + kept["read"]["cpu"] * n_labelled / n, n_labelled),
        )
    )
    return (
        f"By what a fit of {n:,} x 100 took for an item, its constant included, the 10^8 items of a worker are about "
        f"{fit:.0f} s of\nCPU to fit with the votes kept packed, {anew:.0f} s if the files were read at every pass, "
        f"and {label:.0f} s to label."
    )


def outgrown(record: Record) -> str:
    """Return what panels that outgrow a machine cost, with the aims beside."""
    rows: list[tuple[str, str, str]] = []
    for n, made in sized(record, "crowd"):
        for method in ("DawidSkene", "LatentSML"):
            took = made[method]
            merge, fit, label = (took[part]["cpu"] for part in ("merge", "fit", "label"))
            rows.append(
                (
                    f"{n:,} votes of {made['workers']:,} workers, long Parquet in no order: `{method}`",
                    f"merge {merge:.0f} s, fit {fit:.0f} s, labels {label:.0f} s; {took['passes']} passes of EM; "
                    f"peak {took['peak']:,} MiB",
                    "finishes, 1,500 MB",
                )
            )
    for work, aim in (("against", "20 times"), ("against few votes", "15 times")):
        for n, made in sized(record, work):
            peer, scale = made["crowd-kit"]["cpu"], made["smaller"]
            ours = [
                f"{peer * scale / made[name]['cpu']:.0f} times as fast (`{name}`)"
                for name in ("DawidSkene", "LatentSML")
            ]
            on = "a tenth of it, scaled" if scale == 10 else "the same"
            rows.append(
                (
                    f"{n:,} items, {made['workers']:,} workers, 5 votes an item, 4 classes, in memory",
                    f"fit and labels {made['DawidSkene']['cpu']:.2f} s; against crowd-kit's Dawid-Skene on {on}: "
                    f"{' and '.join(ours)}",
                    aim,
                )
            )
    for n, made in sized(record, "patterns"):
        rows.append(
            (
                f"{n:,} x 20 in memory, {made['distinct']:,} patterns",
                f"fit {made['fit']['cpu']:.0f} s; an EM pass takes {made['step']['cpu'] / made['count']['cpu']:.2f} "
                f"times one `np.count_nonzero` ({made['count']['cpu']:.2f} s); memory on top of the votes "
                f"{made['rise_mib'] / made['votes_mib']:.2f} of theirs",
                "4; 0.6",
            )
        )
    for work, name in ENGINES.items():
        for n, made in sized(record, work):
            same = "the same" if made["same_labels"] else "other"
            there, here = made["cluster"], made["memory"]
            rows.append(
                (
                    f"{name}, {n:,} x 60",
                    f"fit {times(there, here)} ({here['cpu']:.1f} s and {here['wall']:.0f} s in memory), labels "
                    f"{times(there['label'], here['label'])} ({here['label']['cpu']:.1f} s and "
                    f"{here['label']['wall']:.0f} s); {same} labels, rates to {made['difference']:.0e}",
                    "3; 1e-9, at 10,000,000 x 60" if work in ("dask", "spark") else "",
                )
            )
    for n, made in sized(record, "page"):
        rows.append((f"page of {n:,} workers", f"{made['bytes'] / 1e6:.2f} MB", "5 MB"))
    return table(("work", "measured", "aim"), rows)


ENGINES = {
    "file": "a Parquet file on one machine",
    "dask": "the file on Dask, two workers of one thread",
    "spark files": "the file on Spark, two cores: its workers read it",
    "spark": "a Spark DataFrame on two cores, of the same file",
}


def times(there: dict[str, float], here: dict[str, float]) -> str:
    """Return how often one took the CPU, and the time, of another."""
    return f"{there['cpu'] / here['cpu']:.1f} times the CPU and {there['wall'] / here['wall']:.1f} times the clock"


def many_voters(record: Record) -> str:
    """Return how a whole fit grows with the number of voters."""
    rows, before = [], None
    for n, made in sized(record, "voters"):
        growth = ""
        if before is not None:
            growth = f"m^{np.log(made['cpu'] / before[1]) / np.log(n / before[0]):.1f}"
        rows.append((f"{n:,}", f"{made['cpu']:.0f}", growth, f"{made['peak']:,}", made["groups"], made["misplaced"]))
        before = n, made["cpu"]
    header = ("voters, 20,000 items", "fit, CPU s", "growth", "peak MiB", "groups of ten", "misplaced voters")
    return table(header, rows)


def sized(record: Record, work: str) -> list[tuple[int, Any]]:
    """Return the sizes that were measured, with their figures."""
    return [(int(size), made) for size, made in record.get(work, {}).items()]


Tables = dict[str, Callable[[Record], str]]
TABLES: dict[str, Tables] = {
    "cost": {"aims": against_aims, "items": by_items, "voters": by_voters, "paper": on_paper},
    "scale": {"outgrown": outgrown, "voters": many_voters},
}


def filled(page: str, record: Record, tables: Tables) -> str:
    """Return the page with its tables made from the record."""
    return _SECTION.sub(lambda found: f"{found[1]}\n{tables[found[2]](record)}\n\n{found[3]}", page)


def draw(record: Record, ink: str) -> Any:
    """Draw both curves on logarithmic axes."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
    sizes = np.array([int(size) for size in record["items"]])
    spent = [made["fit"]["cpu"] - made["drawing"]["cpu"] for made in record["items"].values()]
    left.loglog(sizes, spent, "o-", color="#2a9d8f", label="fit")
    left.loglog(sizes, sizes * spent[-1] / sizes[-1], ":", color=ink, label="n")
    left.set(xlabel="items, distinct patterns fixed", ylabel="CPU seconds")
    m = np.array([int(size) for size in record["voters"]])
    for stage, colour in (("fit", "#2a9d8f"), ("search", "#e76f51"), ("score", "#7b6fd0"), ("counting", "#c9a227")):
        name = {"fit": "whole fit", "score": "score matrix"}.get(stage, stage)
        right.loglog(m, [made[stage] for made in record["voters"].values()], "o-", color=colour, label=name)
    steepest = m**3 * np.log(m)
    right.loglog(m, steepest * record["voters"][str(m[-1])]["fit"] / steepest[-1], ":", color=ink, label="m³ log m")
    right.set(xlabel="voters, 100,000 items", ylim=(1e-3, None))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, labelcolor=ink, fontsize=9)
    return figure


def main() -> None:
    """Write the pages and the pictures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for name, tables in TABLES.items():
        page = DOCS / f"{name}.md"
        page.write_text(filled(page.read_text(), json.loads((DOCS / f"{name}.json").read_text()), tables))
    record = json.loads((DOCS / "cost.json").read_text())
    for theme, ink in INK.items():
        colours = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
        with plt.rc_context({**dict.fromkeys(colours, ink), "svg.hashsalt": "cost"}):
            figure = draw(record, ink)
            figure.savefig(DOCS / "images" / f"cost-{theme}.svg", transparent=True, metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
