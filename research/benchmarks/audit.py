"""How often intervals of an audit hold on real panels, and how wide they are beside those of plain random samples.

``python -m research.benchmarks.audit [draws] [panel ...]`` with ``GOLDLESS_DATA`` naming the folder of the panels.
Each panel is fitted once without its truth; then many audits are drawn and answered with the truth, at 30, 50 and 100
labels (not above 60 % of the items). Beside the truth there are made-up ones: labels that are a coin's, perfect
labels, labels of which nine in ten are wrong. ``sequential`` instead of a number of draws measures audits that look
after every label.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

import goldless as gl
from goldless.metrics import balanced_accuracy
from research.benchmarks.timing import print_table

_SIZES = (30, 50, 100)
_LARGEST_SHARE = 0.6


def panels(names: list[str]) -> dict[str, tuple[Any, NDArray]]:
    """Fit every panel, or those that are named; return what labels it and the codes of its truth."""
    folder = Path(os.environ["GOLDLESS_DATA"]) / "panels"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    found = {}
    for name in names or sorted(index):
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            votes, truth = file["votes"], file["truth"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = gl.LatentSML(missing=-1 if index[name]["multiclass"] else 0).fit(votes)
        known = np.isin(truth, model.classes_)
        labels, scores = model.predict(votes)[known], model.decision_function(votes)[known]
        found[name] = (labelling(model.classes_, labels, scores), truth[known])
    return found


def labelling(classes: NDArray, labels: NDArray, scores: NDArray) -> Any:
    """Return what an audit needs of a model, its labels kept."""
    return SimpleNamespace(
        classes_=classes, labels=labels, predict=lambda X: labels, decision_function=lambda X: scores
    )


def measure(model: Any, truth: NDArray, n: int, draws: int) -> dict[str, float]:
    """Return how often intervals held and how wide they were, of audits and of simple random samples."""
    true = {
        "balanced_accuracy": balanced_accuracy(truth, model.labels),
        "accuracy": float((truth == model.labels).mean()),
    }
    rng = np.random.default_rng(n)
    rows: dict[str, list[float]] = {}
    for seed in range(draws):
        plan = gl.audit(model, None, n, random_state=seed)
        outcome = plan.estimate({row: truth[row] for row in plan.rows})
        for name, value in true.items():
            low, high = outcome.interval[name]
            rows.setdefault(f"{name} held", []).append(low - 1e-9 <= value <= high + 1e-9)
            rows.setdefault(f"{name} width", []).append(high - low)
        if len(model.classes_) == 2:
            sample = rng.choice(len(truth), n, replace=False)
            for way in ("exact", "mid-p"):
                low, high = of_random_sample(truth[sample], model.labels[sample], model.classes_, way == "mid-p")
                rows.setdefault(f"{way} held", []).append(low - 1e-9 <= true["balanced_accuracy"] <= high + 1e-9)
                rows.setdefault(f"{way} width", []).append(high - low)
    return {name: float(np.mean(values)) for name, values in rows.items()}


def of_random_sample(truth: NDArray, labels: NDArray, classes: NDArray, mid_p: bool) -> tuple[float, float]:
    """Return the interval of balanced accuracy of a simple random sample: intervals of both recalls, put together.

    The recalls are independent given the truth; limits are put together by their squares (Zou and Donner's MOVER).
    """
    value, below, above = 0.0, 0.0, 0.0
    for label in classes:
        own = truth == label
        right, number = int((labels[own] == label).sum()), int(own.sum())
        low, high = rate_interval(right, number, mid_p)
        rate = right / number if number else 0.5
        value, below, above = value + rate / 2, below + (rate - low) ** 2 / 4, above + (high - rate) ** 2 / 4
    return max(value - np.sqrt(below), 0.0), min(value + np.sqrt(above), 1.0)


def rate_interval(right: int, number: int, mid_p: bool) -> tuple[float, float]:
    """Return the 95 % interval of a rate: Clopper and Pearson's, or its mid-p version."""
    if number == 0:
        return 0.0, 1.0
    if not mid_p:
        low = beta.ppf(0.025, right, number - right + 1) if right else 0.0
        return float(low), float(beta.ppf(0.975, right + 1, number - right) if right < number else 1.0)
    grid = np.linspace(0, 1, 2001)
    # Pr(more than seen) + half of Pr(as seen), by the two exact tails
    more = beta.cdf(grid, right + 1, number - right) if right < number else np.zeros(len(grid))
    as_many = beta.cdf(grid, right, number - right + 1) if right else np.ones(len(grid))
    upper_tail = (more + as_many) / 2
    inside = grid[(upper_tail >= 0.025) & (upper_tail <= 0.975)]
    return (0.0 if right == 0 else float(inside[0])), (1.0 if right == number else float(inside[-1]))


def altered(model: Any, truth: NDArray, how: str) -> NDArray:
    """Return a made-up truth for the same labels."""
    rng = np.random.default_rng(7)
    shift = rng.integers(1, len(model.classes_), len(truth))
    codes = np.searchsorted(np.sort(model.classes_), model.labels)
    other = np.sort(model.classes_)[(codes + shift) % len(model.classes_)]
    wrong = {"coin": 1 - 1 / len(model.classes_), "perfect": 0.0, "nine in ten wrong": 0.9}[how]
    return np.where(rng.random(len(truth)) < wrong, other, model.labels)


def sequential(found: dict[str, tuple[Any, NDArray]], draws: int = 100, n: int = 100) -> None:
    """Say how often any interval of an audit that looks after every label misses the truth."""
    rows = []
    for name, (model, truth) in found.items():
        if n > _LARGEST_SHARE * len(truth):
            continue
        true = balanced_accuracy(truth, model.labels)
        held = []
        for seed in range(draws):
            plan = gl.audit(model, None, n, random_state=seed)
            ends = [
                plan.estimate({row: truth[row] for row in plan.rows[:look]}, anytime=True).interval[
                    "balanced_accuracy"
                ]
                for look in plan.looks
            ]
            held.append(all(low - 1e-9 <= true <= high + 1e-9 for low, high in ends))
        rows.append((name, f"{100 * np.mean(held):.1f}", str(plan.looks)))
        print(*rows[-1], flush=True)
    print_table("sequential audits", ("panel", "all looks held %", "looks"), rows)
    print(f"mean {np.mean([float(row[1]) for row in rows]):.1f}")


def run(found: dict[str, tuple[Any, NDArray]], draws: int) -> None:
    """Print coverage and width for every number of labels, then by family."""
    for way in ("real", "coin", "perfect", "nine in ten wrong"):
        lines = []
        for n in _SIZES:
            of_panels = {}
            for name, (model, truth) in found.items():
                if n <= _LARGEST_SHARE * len(truth):
                    told = truth if way == "real" else altered(model, truth, way)
                    of_panels[name] = measure(model, told, n, draws if way == "real" else max(draws // 4, 20))
            families: dict[str, list[float]] = {}
            for name, row in of_panels.items():
                families.setdefault(name.split("_")[0], []).append(row["balanced_accuracy held"])
            by_family = {name: np.mean(values) for name, values in families.items()}
            lowest = min(by_family, key=lambda name: by_family[name])
            rows = list(of_panels.values())
            ratio = {
                kind: np.median([row["balanced_accuracy width"] / row[f"{kind} width"] for row in rows])
                if "exact width" in rows[0]
                else np.nan
                for kind in ("exact", "mid-p")
            }
            lines.append(
                (
                    str(n),
                    str(len(rows)),
                    f"{100 * np.mean([row['balanced_accuracy held'] for row in rows]):.1f}",
                    f"{100 * by_family[lowest]:.1f} {lowest}",
                    f"{100 * min(row['balanced_accuracy held'] for row in rows):.0f}",
                    f"{100 * np.median([row['balanced_accuracy width'] for row in rows]):.1f}",
                    f"{ratio['exact']:.2f} / {ratio['mid-p']:.2f}",
                    f"{100 * np.mean([row.get('exact held', np.nan) for row in rows]):.1f} / "
                    f"{100 * np.mean([row.get('mid-p held', np.nan) for row in rows]):.1f}",
                    f"{100 * np.mean([row['accuracy held'] for row in rows]):.1f}",
                    f"{100 * np.median([row['accuracy width'] for row in rows]):.1f}",
                )
            )
            print(way, lines[-1], flush=True)
            if way == "real":
                print({name: round(100 * float(value), 1) for name, value in by_family.items()}, flush=True)
        header = (
            *("labels", "panels", "held %", "lowest family", "lowest panel", "width", "to exact / mid-p"),
            *("those held", "accuracy held %", "its width"),
        )
        print_table(way, header, lines)


if __name__ == "__main__":
    asked = sys.argv[1:]
    of_names = panels(asked[1:])
    if asked and asked[0] == "sequential":
        sequential(of_names)
    else:
        run(of_names, int(asked[0]) if asked else 400)
