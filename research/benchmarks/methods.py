"""How fast this machine is: every method on one simulated panel, as multiples of adding up its votes with numpy.

python -m research.benchmarks.methods [--items N] [--voters M] [--seed S] [--quiet] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import goldless as gl
from goldless.cli.output import Progress
from research.benchmarks.timing import print_table

_METHODS: dict[str, Callable[[], Any]] = {
    "majority vote": gl.MajorityVote,
    "Dawid and Skene": gl.DawidSkene,
    "SML": gl.SpectralMetaLearner,
    "L-SML without groups": lambda: gl.LatentSML(structure="independent"),
    "L-SML": gl.LatentSML,
}
_FEWEST = 4


def main(argv: Sequence[str] | None = None) -> None:
    """Time the methods and print seconds and ratios."""
    parser = argparse.ArgumentParser(prog="python -m research.benchmarks.methods", description=__doc__)
    parser.add_argument("--items", type=int, default=100_000, help="number of items (default 100000)")
    parser.add_argument("--voters", type=int, default=20, help="number of voters, at least 4 (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation (default 0)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but the result")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    arguments = parser.parse_args(argv)
    if arguments.items < 1 or arguments.voters < _FEWEST:
        parser.error(f"at least 1 item and {_FEWEST} voters are needed")
    with Progress("Timing (the first run also compiles, once)", arguments.quiet):
        result = measure(arguments.items, arguments.voters, arguments.seed)
    if arguments.json:
        print(json.dumps(result))
        return
    rows = [
        (
            figure["method"],
            f"{figure['fit_seconds']:.3g}",
            f"{figure['predict_seconds']:.3g}",
            f"{figure['ratio']:.0f}",
            f"{100 * figure['balanced_accuracy']:.1f} %",
        )
        for figure in result["methods"]
    ]
    print_table(
        f"{arguments.items:,} simulated items x {arguments.voters} voters; X.sum(axis=1) takes "
        f"{result['sum_seconds']:.3g} s",
        ("", "fit s", "predict s", "fit + predict, times the sum", "balanced accuracy"),
        rows,
    )


def measure(n_items: int, n_voters: int, seed: int) -> dict[str, Any]:
    """Return the seconds of a sum of the votes, and the figures of each method."""
    groups = [5, 3] + [1] * (n_voters - 8) if n_voters >= 12 else [1] * n_voters
    X, y = gl.simulate_votes(n_items, groups=groups, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        baseline = min(_seconds(lambda: X.sum(axis=1)) for _ in range(3))
        figures = [_figures(name, make, X, y, baseline) for name, make in _METHODS.items()]
    return {"items": n_items, "voters": n_voters, "sum_seconds": baseline, "methods": figures}


def _figures(name: str, make: Callable[[], Any], X: np.ndarray, y: np.ndarray, baseline: float) -> dict[str, Any]:
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


if __name__ == "__main__":
    main()
