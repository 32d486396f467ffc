"""What a few known labels are worth: labels asked for by next_to_label against labels of random items.

python -m research.benchmarks.anchors [MOST_LABELS] [RANDOM_DRAWS] [RESULTS]          needs GOLDLESS_DATA
python -m research.benchmarks.anchors guards

Labels are asked for five at a time. "labels" are those of fit_predict, in which known items keep their label; "model"
leaves the known items to the model. Truth answers the questions and scores the result. RESULTS is a file to which the
result of each panel is added; panels that it holds are not run again. ``guards`` tries rules that keep the labels
without known ones unless 20 asked labels speak against them: with each of them one panel still falls by two points.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np

import goldless as gl
from research.benchmarks.timing import print_table

_ROUND = 5
_SHOWN = (0, 5, 10, 20, 50)


def main(most: int, n_draws: int, results: Path | None) -> None:
    folder = Path(os.environ["GOLDLESS_DATA"]) / "panels"
    names = [
        name for name, entry in json.loads((folder / "index.json").read_text()).items() if not entry["multiclass"]
    ]
    shown = [count for count in _SHOWN if count <= most]
    done = {}
    if results is not None and results.exists():
        done = {row["panel"]: row for row in map(json.loads, results.read_text().splitlines())}
    for number, name in enumerate(names):
        if name in done:
            continue
        with np.load(folder / f"{name}.npz") as file:
            X, y = file["votes"], file["truth"]
        asked = ask(X, y, shown)
        draws = [np.random.default_rng([number, draw]).permutation(len(y)) for draw in range(n_draws)]
        random = [[asked[0], *(score(fit(X, y, order[:n]), X, y, order[:n]) for n in shown[1:])] for order in draws]
        done[name] = {"panel": name, "asked": asked, "random": np.mean(random, axis=0).tolist(), "draws": n_draws}
        if results is not None:
            with results.open("a") as file:
                file.write(json.dumps(done[name]) + "\n")
    show([done[name] for name in names], shown)


def show(panels: list[dict], shown: list[int]) -> None:
    """Print the mean over panels for every number of labels, and how many panels lose."""
    rows = []
    for label, way in (("asked for", "asked"), ("random", "random")):
        results = np.array([panel[way] for panel in panels])
        gain = results - results[:, :1]
        for column, count in enumerate(shown):
            (labels, model), worst = gain[:, column].mean(axis=0), gain[:, column, 0].min()
            lower = int((gain[:, column, 0] < -0.5).sum())
            level = results[:, column, 0].mean()
            rows.append((label, count, f"{level:.2f}", f"{labels:+.2f}", f"{model:+.2f}", lower, f"{worst:+.1f}"))
    header = ("", "labels", "balanced accuracy %", "gain", "gain of the model", "panels lower by > 0.5", "worst")
    print_table(f"{len(panels)} panels", header, rows)


def ask(X: np.ndarray, y: np.ndarray, shown: list[int]) -> list[tuple[float, float]]:
    """Score after every shown number of labels, asked for in rounds."""
    known = np.array([], dtype=np.int64)
    model = fit(X, y, known)
    scores = []
    for count in shown:
        while len(known) < min(count, len(y)):
            rows = model.next_to_label(X, min(_ROUND, count - len(known))).rows
            if not len(rows):
                break
            known = np.concatenate([known, rows])
            model = fit(X, y, known)
        scores.append(score(model, X, y, known))
    return scores


def guards(n_labels: int = 20) -> None:
    """Say what rules would do that believe known labels only where these side with the new labels against the old."""
    folder, rows = Path(os.environ["GOLDLESS_DATA"]) / "panels", []
    for name, entry in json.loads((folder / "index.json").read_text()).items():
        if entry["multiclass"]:
            continue
        with np.load(folder / f"{name}.npz") as file:
            X, y = file["votes"], file["truth"]
        known = np.array([], dtype=np.int64)
        model = fit(X, y, known)
        before = model.predict(X)
        while len(known) < n_labels and len(asked := model.next_to_label(X, _ROUND).rows):
            known = np.concatenate([known, asked])
            model = fit(X, y, known)
        after = model.predict(X)
        new, old = (int((labels[known] == y[known]).sum()) for labels in (after, before))
        rows.append((100 * gl.balanced_accuracy(y, before), 100 * gl.balanced_accuracy(y, after), new - old))
    free, asked_for, ahead = np.array(rows).T
    table = []
    for rule, taken in (
        ("always", ahead > -np.inf),
        *((f"{least} more are right", ahead >= least) for least in (1, 2, 3)),
    ):
        gain = np.where(taken, asked_for, free) - free
        table.append((rule, f"{(free + gain).mean():.2f}", f"{gain.min():+.1f}", int((gain < -2).sum())))
    header = ("new labels are taken if", "balanced accuracy %", "worst panel", "panels lower by > 2")
    print_table(f"{len(rows)} panels, {n_labels} asked labels, without them {free.mean():.2f}", header, table)


def fit(X: np.ndarray, y: np.ndarray, known: np.ndarray) -> gl.LatentSML:
    model = gl.LatentSML(missing=0 if (X == 0).any() else None)
    return model.fit(X, anchors={int(row): y[row] for row in known})


def score(model: gl.LatentSML, X: np.ndarray, y: np.ndarray, known: np.ndarray) -> tuple[float, float]:
    """Balanced accuracy, in percent, with known labels kept and without."""
    labels = model.predict(X)
    kept = labels.copy()
    kept[known] = y[known]
    return 100 * gl.balanced_accuracy(y, kept), 100 * gl.balanced_accuracy(y, labels)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["guards"]:
        guards()
    else:
        main(
            int(sys.argv[1]) if len(sys.argv) > 1 else 50,
            int(sys.argv[2]) if len(sys.argv) > 2 else 3,
            Path(sys.argv[3]) if len(sys.argv) > 3 else None,
        )
