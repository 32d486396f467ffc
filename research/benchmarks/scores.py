"""Grades, probabilities and scores: every real panel beside its baselines, structure in simulations, and speed.

``python -m research.benchmarks.scores panels | structure | scale | speed``, the first with GOLDLESS_DATA set.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

import goldless as gl
from research.benchmarks.timing import print_table, race

ROWS = 4000  # of a panel, at most, evenly spaced


def read_panel(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores and the binary truth of a panel."""
    with np.load(path, allow_pickle=True) as file:
        scores, truth = file["scores"].astype(float), file["truth"]
    rows = np.unique(np.linspace(0, len(scores) - 1, min(ROWS, len(scores))).astype(int))
    return scores[rows], (truth[rows] > 0).astype(int)


def natural_cut(scores: np.ndarray, kind: str) -> np.ndarray:
    """Return votes cut at one half for probabilities, in the middle of the scale for grades, at the median else."""
    if kind == "probabilities":
        cut = np.full(scores.shape[1], 0.5)
    elif kind == "ordinal":
        cut = (np.nanmin(scores, axis=0) + np.nanmax(scores, axis=0)) / 2
    else:
        cut = np.nanmedian(scores, axis=0)
    return np.where(np.isnan(scores), np.nan, (scores > cut).astype(float))


def answers(scores: np.ndarray, kind: str) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return (order, labels, probabilities) of every method."""
    found = {}
    methods = {
        "cut + LatentSML": gl.LatentSML(),
        "mean rank": gl.MajorityVote(kind="scores"),
        "SUMMA": gl.SpectralMetaLearner(),
        "flat bins": gl.DawidSkene(),
        "LatentSML": gl.LatentSML(),
    }
    for name, model in methods.items():
        X = natural_cut(scores, kind) if name.startswith("cut") else scores
        model.fit(X)
        found[name] = model.decision_function(X), model.predict(X), model.predict_proba(X)[:, 1]
    return found


def panels(pattern: str = "*") -> None:
    """AUC, balanced accuracy and log loss on every panel with binary truth."""
    folder = Path(os.environ["GOLDLESS_DATA"]) / "scores"
    index = json.loads((folder / "index.json").read_text())
    rows, results, families = [], defaultdict(list), []
    for path in sorted(folder.glob(f"{pattern}.npz")):
        about = index[path.stem]
        scores, truth = read_panel(path)
        base = log_loss(truth, np.full(len(truth), truth.mean()))
        families.append(path.stem.split("_")[0])
        cells = []
        for name, (order, labels, probability) in answers(scores, about["kind"]).items():
            clipped = np.clip(probability, 1e-3, 1 - 1e-3)
            figures = (
                100 * roc_auc_score(truth, order),
                100 * balanced_accuracy_score(truth, labels.astype(int)),
                log_loss(truth, clipped),
            )
            results[name].append((*figures, base))
            cells.append("/".join(f"{figure:.3g}" for figure in figures))
        rows.append((path.stem, about["kind"], *scores.shape, f"{base:.2f}", *cells))
        print(*rows[-1], flush=True)
    names = list(results)
    of_family = {family: np.array(families) == family for family in families}
    summary = []
    for name in names:
        values = np.array(results[name])
        by_family = np.mean([values[chosen].mean(axis=0) for chosen in of_family.values()], axis=0)
        above = (values[:, 2] > values[:, 3]).sum()
        mean = values.mean(axis=0)
        summary.append(
            (name, *(f"{mean[k]:.1f} / {by_family[k]:.1f}" for k in range(2)),
             f"{mean[2]:.3f} / {by_family[2]:.3f}", f"{mean[3]:.3f} / {by_family[3]:.3f}", int(above))
        )  # fmt: skip
    print_table(
        f"{len(rows)} panels, mean over panels / over families",
        ("method", "AUC", "balanced accuracy", "log loss", "of the base rate", "panels above it"),
        summary,
    )


def draw(groups: list[int], n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Draw scores N(+-d, 1) given the voter's parent, each voter distorted in its own monotone way."""
    truth = np.where(rng.random(n_items) < 0.5, 1, -1)
    columns = []
    for size in groups:
        parent = truth
        if size > 1:
            parent = np.where(rng.random(n_items) < rng.uniform(0.7, 0.85), truth, -truth)
        for _ in range(size):
            score = parent * rng.uniform(0.5, 1.0) + rng.normal(size=n_items)
            distorted = (np.exp(score), score**3, np.tanh(score), score)[rng.integers(4)]
            columns.append(distorted * rng.uniform(0.1, 10) + rng.normal())
    return np.column_stack(columns)


def structure(n_draws: int = 24) -> None:
    """Exact recovery of a group of five among 15 voters alone, 400 items: from ranks, and from votes cut rightly."""
    groups, rows = [5] + [1] * 15, []
    truth = np.repeat(np.arange(16), groups)
    for n_items in (200, 400, 800):
        exact = [
            np.array_equal(gl.LatentSML().fit(draw(groups, n_items, np.random.default_rng(seed))).groups_, truth)
            for seed in range(n_draws)
        ]
        rows.append((n_items, f"{100 * np.mean(exact):.0f} %"))
    print_table("Groups 5 + 15 alone", ("items", "exact recovery from ranks"), rows)


def scale(n_draws: int = 8) -> None:
    """One continuous trait without groups: how many voters are merged away."""
    rows = []
    for n_items in (2000, 8000):
        merged = []
        for seed in range(n_draws):
            rng = np.random.default_rng([seed, n_items])
            trait, loading = rng.normal(size=(n_items, 1)), rng.uniform(0.7, 0.95, 12)
            scores = loading * trait + np.sqrt(1 - loading**2) * rng.normal(size=(n_items, 12))
            merged.append(12 - gl.LatentSML().fit(scores).n_groups_)
        rows.append((n_items, f"{np.mean(merged):.1f}"))
    print_table("One continuous trait, 12 voters", ("items", "voters merged away"), rows)


def gaussian_em(scores: np.ndarray, n_iter: int = 100) -> np.ndarray:
    """Two classes with Gaussian voters, plain EM in numpy: what a careful user would write."""
    hub = (np.argsort(np.argsort(scores.mean(axis=1))) + 0.5) / len(scores)
    last = -np.inf
    for _ in range(n_iter):
        weight = np.stack([1 - hub, hub])
        prior = weight.mean(axis=1)
        mean = weight @ scores / weight.sum(axis=1, keepdims=True)
        variance = np.stack([w @ (scores - mu) ** 2 / w.sum() for w, mu in zip(weight, mean, strict=True)])
        joint = np.stack(
            [
                np.log(prior[k]) - 0.5 * (np.log(variance[k]) + (scores - mean[k]) ** 2 / variance[k]).sum(axis=1)
                for k in range(2)
            ]
        )
        total = np.logaddexp(*joint)
        hub = np.exp(joint[1] - total)
        if total.sum() - last < 1e-7 * abs(total.sum()):
            break
        last = total.sum()
    return hub


def speed(n_items: int = 20_000, n_voters: int = 24) -> None:
    """Fit of grades 0 to 9 against Gaussian EM in numpy on the same columns."""
    rng = np.random.default_rng(0)
    truth = rng.random(n_items) < 0.4
    raw = truth[:, None] * rng.uniform(0.8, 2, n_voters) + rng.normal(size=(n_items, n_voters))
    grades = np.clip(np.round(2 * raw + 3), 0, 9)
    gl.LatentSML().fit(grades[:500])  # compiled
    found = race(
        {
            "DawidSkene": lambda: gl.DawidSkene().fit(grades),
            "LatentSML": lambda: gl.LatentSML().fit(grades),
            "Gaussian EM in numpy": lambda: gaussian_em(grades),
        },
        5,
    )
    rows = [(name, f"{1e3 * clock:.0f}", f"{1e3 * cpu:.0f}") for name, (clock, cpu, _) in found.items()]
    print_table(f"{n_items:,} x {n_voters} grades", ("method", "ms", "CPU ms"), rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"panels": panels, "structure": structure, "scale": scale, "speed": speed}[sys.argv[1]](*sys.argv[2:])
