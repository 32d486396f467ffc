"""How fast this machine is: every method on one simulated panel, as multiples of adding up its votes with numpy."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import goldless as gl
from goldless.cli.commands import write_json, write_lines
from goldless.cli.output import Progress
from goldless.cli.terminal import Style, columns

_METHODS: dict[str, Callable[[], Any]] = {
    "majority vote": gl.MajorityVote,
    "Dawid and Skene": gl.DawidSkene,
    "SML": gl.SpectralMetaLearner,
    "L-SML without groups": lambda: gl.LatentSML(structure="independent"),
    "L-SML": gl.LatentSML,
}


def run(arguments: argparse.Namespace) -> None:
    """Time the methods and print seconds and ratios."""
    groups = [5, 3] + [1] * (arguments.voters - 8) if arguments.voters >= 12 else [1] * arguments.voters
    X, y = gl.simulate_votes(arguments.items, groups=groups, random_state=arguments.seed)
    with Progress("Timing (the first run also compiles, once)", arguments.quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        baseline = min(_seconds(lambda: X.sum(axis=1)) for _ in range(3))
        figures = [_measure(name, make, X, y, baseline) for name, make in _METHODS.items()]
    result = {"items": arguments.items, "voters": arguments.voters, "sum_seconds": baseline, "methods": figures}
    if arguments.json:
        write_json(result)
        return
    rows = [
        (
            figure["method"],
            *(f"{figure[part + '_seconds']:.3g}" for part in ("fit", "predict")),
            f"{figure['ratio']:.0f}",
            f"{100 * figure['balanced_accuracy']:.1f} %",
        )
        for figure in figures
    ]
    header = ["", "fit s", "predict s", "fit + predict / sum", "balanced accuracy"]
    title = f"{arguments.items:,} simulated items x {arguments.voters} voters; X.sum(axis=1) takes {baseline:.3g} s."
    write_lines([title, "", *columns(header, rows, Style(), "<>>>>")])


def _measure(name: str, make: Callable[[], Any], X: np.ndarray, y: np.ndarray, baseline: float) -> dict[str, Any]:
    """Fit and label once to compile, then once for the clock."""
    make().fit(X[: min(len(X), 500)]).predict(X[:500])
    model = make()
    fit = _seconds(lambda: model.fit(X))
    predict = _seconds(lambda: model.predict(X))
    return {
        "method": name,
        "fit_seconds": fit,
        "predict_seconds": predict,
        "ratio": (fit + predict) / baseline,
        "balanced_accuracy": model.score(X, y),
    }


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
