"""What a few known labels are worth: labels asked for by next_to_label against labels of random items.

python benchmarks/anchors.py [MOST_LABELS] [RANDOM_DRAWS]          needs GOLDLESS_DATA

Labels are asked for five at a time. "labels" are those of fit_predict, in which known items keep their label; "model"
leaves the known items to the model. Truth answers the questions and scores the result.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from timing import print_table

import goldless as gl

_ROUND = 5
_SHOWN = (0, 5, 10, 20, 50)


def main(most: int, n_draws: int) -> None:
    folder = Path(os.environ["GOLDLESS_DATA"]) / "panels"
    names = [
        name for name, entry in json.loads((folder / "index.json").read_text()).items() if not entry["multiclass"]
    ]
    shown = [count for count in _SHOWN if count <= most]
    asked, random = [], []
    for number, name in enumerate(names):
        with np.load(folder / f"{name}.npz") as file:
            X, y = file["votes"], file["truth"]
        asked.append(ask(X, y, shown))
        draws = [np.random.default_rng([number, draw]).permutation(len(y)) for draw in range(n_draws)]
        random.append(np.mean([[score(X, y, order[:count]) for count in shown] for order in draws], axis=0))
        print(name, np.round(asked[-1], 1).tolist(), np.round(random[-1], 1).tolist(), file=sys.stderr, flush=True)
    rows = []
    for label, results in (("asked for", np.array(asked)), ("random", np.array(random))):
        gain = results - results[:, :1]
        for column, count in enumerate(shown):
            (labels, model), worst = gain[:, column].mean(axis=0), gain[:, column, 0].min()
            lower = int((gain[:, column, 0] < -0.5).sum())
            level = results[:, column, 0].mean()
            rows.append((label, count, f"{level:.2f}", f"{labels:+.2f}", f"{model:+.2f}", lower, f"{worst:+.1f}"))
    header = ("", "labels", "balanced accuracy %", "gain", "gain of the model", "panels lower by > 0.5", "worst")
    print_table(f"{len(names)} panels", header, rows)


def ask(X: np.ndarray, y: np.ndarray, shown: list[int]) -> list[tuple[float, float]]:
    """Score after every shown number of labels, asked for in rounds."""
    known = np.array([], dtype=np.int64)
    scores = []
    for count in shown:
        while len(known) < min(count, len(y)):
            wanted = min(_ROUND, count - len(known))
            rows = fit(X, y, known).next_to_label(X, wanted).rows
            known = np.concatenate([known, rows])
            if not len(rows):
                break
        scores.append(score(X, y, known))
    return scores


def fit(X: np.ndarray, y: np.ndarray, known: np.ndarray) -> gl.LatentSML:
    model = gl.LatentSML(missing=0 if (X == 0).any() else None)
    return model.fit(X, anchors={int(row): y[row] for row in known})


def score(X: np.ndarray, y: np.ndarray, known: np.ndarray) -> tuple[float, float]:
    """Balanced accuracy, in percent, with known labels kept and without."""
    labels = fit(X, y, known).predict(X)
    kept = labels.copy()
    kept[known] = y[known]
    return 100 * gl.balanced_accuracy(y, kept), 100 * gl.balanced_accuracy(y, labels)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
