"""DawidSkene().fit(X).predict(X) on DREAM S1 against crowd-kit in the same run. Target: 100 times.

Needs crowd-kit installed and GOLDLESS_DATA set.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

import goldless as gl
from research.benchmarks.timing import best_of, print_table


def main() -> None:
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    warnings.simplefilter("ignore", gl.VotesWarning)
    with np.load(Path(os.environ["GOLDLESS_DATA"]) / "dream" / "S1.npz") as file:
        X, y = file["votes"], file["truth"]
    gl.DawidSkene().fit(X[:100]).predict(X[:100])
    ours, labels = best_of(lambda: gl.DawidSkene().fit(X).predict(X), 5)
    whole, lsml = best_of(lambda: gl.LatentSML().fit(X).predict(X), 3)
    n, m = X.shape
    long = pd.DataFrame({"task": np.repeat(np.arange(n), m), "worker": np.tile(np.arange(m), n), "label": X.ravel()})
    theirs, answer = best_of(lambda: DawidSkene(n_iter=100).fit_predict(long), 1)
    rows = [
        ("goldless DawidSkene", f"{ours:.3f}", f"{100 * gl.balanced_error(y, labels):.2f}", f"{theirs / ours:.0f}"),
        ("goldless LatentSML", f"{whole:.3f}", f"{100 * gl.balanced_error(y, lsml):.2f}", f"{theirs / whole:.0f}"),
        ("crowd-kit DawidSkene", f"{theirs:.2f}", f"{100 * gl.balanced_error(y, answer.sort_index()):.2f}", "1"),
    ]
    print_table("DREAM S1, fit and predict", ("", "s", "balanced error %", "times faster"), rows)


if __name__ == "__main__":
    main()
