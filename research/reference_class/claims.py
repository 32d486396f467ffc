"""Claims on real panels: what the default model expects without labels, and what the truth says.

python -m research.reference_class.claims RESULTS          needs GOLDLESS_DATA

One line of JSON for each panel of ``panels/``; panels that RESULTS holds are not run again. Nothing but sums leaves a
panel: no vote, no item, no name of a voter.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.diagnosis.panel_scale import on_one_scale
from goldless.fitting.panels import choose_panel, judge_panels

_PANEL = 5  # voters of a panel
_PANEL_OF = 8  # voters from which on a panel is chosen
_LEAST_VOTES = 20  # votes from which on a voter's accuracy is scored


def claims_of(X: NDArray, y: NDArray, missing: Any) -> dict[str, Any]:
    """Return what is expected of the ways to label and of every voter, and what is true."""
    model = gl.LatentSML(missing=missing).fit(X)
    diagnosis = gl.diagnose(model, X, resamples=0)
    classes = model.classes_
    codes = np.searchsorted(classes, y)
    labels = {"combined": model.predict(X), "majority vote": gl.MajorityVote(missing=missing).fit(X).predict(X)}
    labels["Dawid-Skene"] = gl.LatentSML(missing=missing, structure="independent").fit(X).predict(X)
    best = diagnosis.expectation("voter thought best").column
    single = np.where(X[:, best] == missing, labels["majority vote"], X[:, best])
    true = {name: gl.balanced_accuracy(y, found) for name, found in labels.items()}
    true["voter thought best"] = gl.balanced_accuracy(y, single)
    expected = {row.method: row.balanced_accuracy for row in diagnosis.expected}
    if X.shape[1] >= _PANEL_OF:
        voters = choose_panel(model.fitted_, _PANEL, None, None, (), ())
        true["panel"] = gl.balanced_accuracy(y, model.subset(voters).predict(X[:, voters]))
        judged = judge_panels(model.fitted_, [voters])
        expected["panel"] = on_one_scale(model, judged, expected["combined"])[0].balanced_accuracy
    shares = np.bincount(codes, minlength=len(classes)) / len(codes)
    return {
        "n_items": len(X),
        "n_voters": X.shape[1],
        "n_classes": len(classes),
        "expected": expected,
        "model_interval": {row.method: row.model_interval for row in diagnosis.expected},
        "true": true,
        "changed": float((labels["combined"] != labels["majority vote"]).mean()),
        "overdispersion": diagnosis.overdispersion,
        "fit_pvalue": diagnosis.fit_pvalue,
        "ambiguous": bool(model.ambiguous_),
        "effective_votes": diagnosis.effective_votes,
        "other_grouping": max([other.labels_changed for other in model.alternatives_[:3]], default=0.0),
        "voters": _voters(diagnosis, X, codes, classes, missing),
        "class_shares": np.atleast_1d(_shares(diagnosis.class_balance)).tolist(),
        "true_shares": shares.tolist(),
    }


def _shares(balance: Any) -> NDArray[np.float64]:
    return np.array([1 - balance, balance]) if np.ndim(balance) == 0 else np.asarray(balance)


def _voters(diagnosis: Any, X: NDArray, codes: NDArray, classes: NDArray, missing: Any) -> list[list[float]]:
    """Return expected and true balanced accuracy of each voter on what it voted on, and its number of votes."""
    rows = []
    for voter, expected in enumerate(diagnosis.balanced_accuracy):
        cast = np.ones(len(X), dtype=bool) if missing is None else X[:, voter] != missing
        told, truth = np.searchsorted(classes, X[cast, voter]), codes[cast]
        seen = [told[truth == label] == label for label in range(len(classes)) if (truth == label).any()]
        enough = cast.sum() >= _LEAST_VOTES and len(seen) == len(classes)
        if enough and np.isfinite(diagnosis.balanced_accuracy_model_interval[voter]).all():
            low, high = diagnosis.balanced_accuracy_model_interval[voter]
            true = float(np.mean([part.mean() for part in seen]))
            rows.append([float(expected), true, int(cast.sum()), float(low), float(high)])
    return rows


def main(results: Path) -> None:
    """Add the claims on each panel to a file."""
    folder = Path(os.environ["GOLDLESS_DATA"]) / "panels"
    done = set()
    if results.exists():
        done = {json.loads(line)["panel"] for line in results.read_text(encoding="utf-8").splitlines()}
    for name, entry in json.loads((folder / "index.json").read_text(encoding="utf-8")).items():
        if name in done:
            continue
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            X, y = file["votes"], file["truth"]
        missing = -1 if entry["multiclass"] else 0
        claims = claims_of(X, y, missing if (missing == X).any() else None)
        row = {"panel": name, "family": name.split("_")[0], **claims}
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
