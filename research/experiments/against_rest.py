"""One class against the rest: panels of two classes on which no default was chosen, made of those of more classes."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from research.experiments.framework import Experiment, Settings, Summary, Unit
from research.experiments.tables import Table

_MOST_ITEMS = 6000
_METHODS = {"vote": "MajorityVote", "dawid_skene": "DawidSkene()", "search": "LatentSML()"}
_CLEAR = 0.005


def _folder(settings: Settings) -> Path:
    folder = settings.data or os.environ.get("GOLDLESS_DATA")
    if not folder:
        raise ValueError("against_rest needs the folder of data: set GOLDLESS_DATA, or pass --data DIR")
    return Path(folder) / "panels"


def units(settings: Settings) -> list[Unit]:
    """One unit for each class of each panel of more than two classes."""
    about = json.loads((_folder(settings) / "index.json").read_text(encoding="utf-8"))
    found = []
    for name in (name for name, facts in about.items() if facts["multiclass"]):
        with np.load(_folder(settings) / f"{name}.npz", allow_pickle=False) as file:
            classes = np.unique(file["truth"])
        found += [Unit(f"{name} {k}", {"panel": name, "class": int(k)}) for k in classes[classes >= 0]]
    return found[::20] if settings.quick else found


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Label a panel of one class against the rest; say whether the promised interval holds the truth."""
    with np.load(_folder(settings) / f"{unit.parameters['panel']}.npz", allow_pickle=False) as file:
        votes, truth = file["votes"], file["truth"]
    X, y = _against_rest(votes, truth, unit.parameters["class"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = gl.LatentSML().fit(X)
        labels = {
            "vote": gl.MajorityVote().fit_predict(X),
            "dawid_skene": gl.DawidSkene().fit_predict(X),
            "search": model.predict(X),
        }
        expected = gl.diagnose(model, X, resamples=0).expected[0]
    assert expected.interval is not None  # two classes have a reference class
    low, high = expected.interval
    return {
        "n_items": len(X),
        "share": float(y.mean()),
        "votes_per_item": float(np.isfinite(X).sum() / len(X)),
        "low": float(low),
        "high": float(high),
        "at_risk": model.fitted_.at_risk is not None,
    } | {name: gl.balanced_accuracy(y, found) for name, found in labels.items()}


def _against_rest(votes: NDArray, truth: NDArray, label: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the votes on items of known truth, at most so many, as 1 for a class and 0 for any other."""
    known = np.flatnonzero(truth >= 0)
    if len(known) > _MOST_ITEMS:
        known = np.sort(np.random.default_rng(0).choice(known, _MOST_ITEMS, replace=False))
    X = np.where(votes[known] < 0, np.nan, votes[known] == label)
    return X[:, np.isfinite(X).any(axis=0)], (truth[known] == label).astype(float)


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the table of the page: a row for each panel, over its classes."""
    panels: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        panels.setdefault(entry["parameters"]["panel"], []).append(entry["result"])
    rows = [[name, len(results), *_figures(results)] for name, results in panels.items()]
    every = [result for results in panels.values() for result in results]
    rows.append(["all classes", len(every), *_figures(every)])
    means = [float(np.mean([row[i] for row in rows[:-1]])) for i in range(2, len(rows[0]))]
    rows.append(["mean of panels", len(panels), *means])
    ahead = sum(r["search"] > r["vote"] + _CLEAR for r in every), sum(r["search"] < r["vote"] - _CLEAR for r in every)
    width = 100 * float(np.median([r["high"] - r["low"] for r in every]))
    header = ["panel", "classes", "votes an item", *(f"{title} %" for title in _METHODS.values()), "interval held %"]
    return Summary(
        [
            f"Each class of the {len(panels)} panels of more classes against the rest is a panel of two classes: "
            f"{len(every)} of them, rare classes among them, with few votes an item in the crowds. No default was "
            "chosen with their scores in view, but one: that the cut between two classes is not moved into a crowd "
            "of items was found to be missing here. Balanced accuracy; truth is for scoring only.",
            f"`LatentSML()` is better than the majority vote by more than half a point on {ahead[0]}, worse on "
            f"{ahead[1]}. The interval that a diagnosis gives for its labels, nine in ten of real panels, held the "
            f"truth on {100 * _held(every):.0f} % of them; its median width is {width:.0f} points.",
        ],
        [
            Table(
                "panels",
                "One class against the rest: mean over classes",
                header,
                rows,
                ["", "", ".1f", *[".1f"] * len(_METHODS), ".0f"],
            )
        ],
        [],
    )


def _figures(results: list[dict[str, Any]]) -> list[float]:
    methods = [100 * float(np.mean([result[name] for result in results])) for name in _METHODS]
    return [float(np.mean([result["votes_per_item"] for result in results])), *methods, 100 * _held(results)]


def _held(results: list[dict[str, Any]]) -> float:
    return float(np.mean([result["low"] <= result["search"] <= result["high"] for result in results]))


EXPERIMENT = Experiment("against_rest", "One class against the rest", 1, units, run, summarise)
