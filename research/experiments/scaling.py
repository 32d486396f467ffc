"""How time and memory grow with the number of items, of voters and of groups."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

import goldless as gl
from research.experiments.figures import Figure, Line, draw_lines, legend_below
from research.experiments.framework import Experiment, Settings, Summary, Unit
from research.experiments.measure import measured
from research.experiments.runner import one_thread
from research.experiments.tables import Table

_METHODS = {
    "vote": ("MajorityVote", "grey", lambda: gl.MajorityVote()),
    "dawid_skene": ("DawidSkene", "teal", lambda: gl.DawidSkene()),
    "sml_em": ("SpectralMetaLearner", "blue", lambda: gl.SpectralMetaLearner()),
    "paper": ('LatentSML(structure="paper")', "orange", lambda: gl.LatentSML(structure="paper")),
    "search": ("LatentSML()", "violet", lambda: gl.LatentSML()),
}
_SWEEPS = {"n": "items n", "m": "voters m", "K": "groups K"}
_SETTING = {"n": "m = 20, one group of 5", "m": "n = 20,000, a quarter in groups of 5", "K": "n = 20,000, m = 60"}


def _sizes(sweep: str, value: int, quick: bool) -> tuple[int, list[int]]:
    """Return the number of items and the sizes of the groups."""
    if sweep == "n":
        return value, [5] + [1] * 15
    n_items = 1000 if quick else 20_000
    if sweep == "m":
        groups = max(value // 20, 1)
        return n_items, [5] * groups + [1] * (value - 5 * groups)
    n_voters = 20 if quick else 60  # K groups of equal size, all voters in one
    return n_items, [n_voters // value + (k < n_voters % value) for k in range(value)]


def units(settings: Settings) -> list[Unit]:
    """One unit for each size and draw."""
    values = {
        "n": (1_000, 10_000, 100_000, 1_000_000),
        "m": (10, 20, 50, 100, 200),
        "K": (3, 6, 12, 30, 60),
    }
    if settings.quick:
        values = {"n": (500, 1000), "m": (10, 20), "K": (4, 10)}
    return [
        Unit(f"{sweep} = {value}, draw {draw}", {"sweep": sweep, "value": value})
        for draw in range(settings.draws)
        for sweep, some in values.items()
        for value in some
    ]


@lru_cache(maxsize=1)
def _warm_up() -> None:
    """Compile, or load what was compiled, before anything is timed."""
    X, _ = gl.simulate_votes(500, [4] + [1] * 8, group_accuracy=(0.7, 0.9), random_state=0)
    for _, _, make in _METHODS.values():
        make().fit(X).predict(X)


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Fit and predict with every method, timed."""
    n_items, groups = _sizes(unit.parameters["sweep"], unit.parameters["value"], settings.quick)
    X, y = gl.simulate_votes(n_items, groups, group_accuracy=(0.6, 0.9), random_state=seed)
    result: dict[str, Any] = {"n_items": n_items, "n_voters": X.shape[1], "n_groups": len(groups)}
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", UserWarning)
        _warm_up()
        for name, (_, _, make) in _METHODS.items():
            labels, measures = measured(lambda make=make: make().fit(X).predict(X))
            result[name] = {**measures, "error": gl.balanced_error(y, labels)}
    return result


# -- summary ------------------------------------------------------------------------------------------------


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the tables and figures of the page."""
    sweeps = {}
    for sweep in _SWEEPS:
        chosen = [entry for entry in entries if entry["parameters"]["sweep"] == sweep]
        values = list(dict.fromkeys(entry["parameters"]["value"] for entry in chosen))
        sweeps[sweep] = {v: [e["result"] for e in chosen if e["parameters"]["value"] == v] for v in values}
    tables = []
    for sweep, results in sweeps.items():
        rows = []
        for value, draws in results.items():
            row: list[Any] = [value]
            for name in _METHODS:
                row += [_median(draws, name, "cpu_seconds"), _median(draws, name, "memory_mb")]
            rows.append(row)
        header = [_SWEEPS[sweep], *(t for label, _, _ in _METHODS.values() for t in (f"{label} s", "MB"))]
        title = f"Against the number of {_SWEEPS[sweep][:-2]} ({_SETTING[sweep]})"
        formats = [",", *[".3g", ".0f"] * len(_METHODS)]
        tables.append(Table(f"by-{sweep.lower()}", title, header, rows, formats))
    fewest = min(len(results) for by_value in sweeps.values() for results in by_value.values())
    taken = "one draw of each size" if fewest == 1 else f"medians of {fewest} draws"
    return Summary(
        [
            "CPU seconds to fit and predict, and megabytes by which memory rose meanwhile above the votes "
            f"themselves; {taken}, one thread, one unit at a time, compiled beforehand. Votes are drawn from "
            "the model, so that nearly every row is distinct when there are many voters: real votes repeat more "
            "and are faster."
        ],
        tables,
        [
            Figure(
                "time",
                "CPU seconds to fit and predict against items, voters and groups.",
                lambda figure: _draw(figure, sweeps, "cpu_seconds", "CPU seconds"),
                height=3.6,
            ),
            Figure(
                "memory",
                "Memory above the votes themselves against items, voters and groups.",
                lambda figure: _draw(figure, sweeps, "memory_mb", "MB"),
                height=3.6,
            ),
        ],
    )


def _median(draws: list[dict[str, Any]], name: str, what: str) -> float | None:
    values = [draw[name][what] for draw in draws if draw[name][what] is not None]
    return float(np.median(values)) if values else None


def _draw(figure: Any, sweeps: dict[str, dict[int, list[dict[str, Any]]]], what: str, ylabel: str) -> None:
    axes = figure.subplots(1, len(sweeps), sharey=True)
    for ax, (sweep, results) in zip(axes, sweeps.items(), strict=True):
        lines = [
            Line(label, [_median(draws, name, what) or np.nan for draws in results.values()], colour)
            for name, (label, colour, _) in _METHODS.items()
        ]
        draw_lines(ax, list(results), lines, _SWEEPS[sweep], ylabel if sweep == "n" else "")
        ax.set(xscale="log", yscale="log")
        if sweep != "n":
            ax.set_xticks(list(results), [str(value) for value in results])
            ax.minorticks_off()
    legend_below(figure, axes[0], 3)


EXPERIMENT = Experiment("scaling", "How cost grows", 1, units, run, summarise, draws=3, quick_draws=1, alone=True)
