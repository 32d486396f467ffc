"""A diagnosis of real panels: how well its probabilities are calibrated, and how long it takes.

python -m research.benchmarks.diagnosis [calibration] [speed]          needs GOLDLESS_DATA

Truth is used for scoring only. What it promises of simulated votes is measured by ``research.experiments.promises``.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import goldless as gl
from research.benchmarks.timing import print_table


def reliability(probability: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Count items, probability and positive items in ten bins of the probability."""
    bins = np.minimum((10 * probability).astype(int), 9)
    return np.stack([np.bincount(bins, weights, 10) for weights in (None, probability, positive)], axis=1)


def calibration_error(bins: np.ndarray) -> float:
    return float(np.abs(bins[:, 1] - bins[:, 2]).sum() / bins[:, 0].sum())


def panels() -> list[tuple[str, np.ndarray, np.ndarray]]:
    folder = Path(os.environ["GOLDLESS_DATA"])
    names = [f"magic/magic_{i}" for i in (1, 2, 3)] + [f"dream/S{i}" for i in (1, 2, 3)]
    index = json.loads((folder / "panels" / "index.json").read_text())
    names += [f"panels/{name}" for name, entry in index.items() if not entry["multiclass"] and entry["m"] <= 200]
    found = []
    for name in names:
        with np.load(folder / f"{name}.npz") as file:
            found.append((name, file["votes"], file["truth"]))
    return found


def calibration() -> None:
    """Real panels: calibration as it is and tempered, and expected against true balanced accuracy."""
    by_family: dict[str, list] = {}
    for name, X, y in panels():
        model = gl.LatentSML(missing=0 if (X == 0).any() else None).fit(X)
        found = gl.diagnose(model, X, resamples=0)
        figures = []
        for how in (None, found.calibration):
            probability = model.predict_proba(X, calibration=how)[:, 1]
            sure = probability.clip(1e-6, 1 - 1e-6)
            loss = -np.mean(np.where(y > 0, np.log(sure), np.log1p(-sure)))
            figures += [calibration_error(reliability(probability, y > 0)), loss]
        expected = found.expectation("combined")
        true = gl.balanced_accuracy(y, model.predict(X))
        figures += [found.calibration.temper, expected.balanced_accuracy - true]
        figures += [float(expected.model_interval[0] <= true <= expected.model_interval[1])]
        by_family.setdefault(name.split("/")[-1].split("_")[0].rstrip("123"), []).append(figures)
    everything = [figures for family in by_family.values() for figures in family]
    rows = [
        (family, len(of), *(f"{value:.3f}" for value in np.mean(of, axis=0)))
        for family, of in [*by_family.items(), ("all", everything)]
    ]
    table = np.array(everything)
    better, worse = (table[:, 2] < table[:, 0] - 0.005).sum(), (table[:, 2] > table[:, 0] + 0.005).sum()
    header = (
        "",
        "panels",
        "ECE",
        "log loss",
        "ECE calibrated",
        "log loss calibrated",
        "temper",
        "expected - true",
        "covered",
    )
    print_table(f"Calibration on real panels (calibrated: better on {better}, worse on {worse})", header, rows)


def speed() -> None:
    rows = []
    for name, X, _ in panels()[:6]:
        model = gl.LatentSML().fit(X)
        start = time.perf_counter()
        found = gl.diagnose(model, X)
        rows.append((name, f"{X.shape[0]:,} x {X.shape[1]}", found.n_resamples, f"{time.perf_counter() - start:.1f}"))
    print_table("Seconds for a diagnosis", ("", "votes", "resamples", "s"), rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for word in sys.argv[1:] or ("calibration", "speed"):
        {"speed": speed, "calibration": calibration}[word]()
