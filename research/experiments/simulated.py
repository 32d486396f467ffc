"""Votes that others simulated: Shaham et al. 2016, whose deep net is the figure beside ours.

Where it is ahead, a model of one leniency that all voters share is tried, there and on the real panels.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import goldless as gl
from research.experiments.framework import Experiment, Settings, Summary, Unit
from research.experiments.leniency import leniency_labels
from research.experiments.tables import Table

_KINDS = {
    "condInd": "independent voters",
    "Tree": "a tree of hidden sources",
    "LG": "a layered graph",
    "TG": "a truncated Gaussian",
}
_LENIENCY = "a class and one leniency that all voters share"
_CLEAR, _REJECTED = 0.2, 2
_MOST_VOTERS = 300  # of a real panel: others take minutes
_DEEP_NET = {"LG": 86.8, "TG": 88.1, "Tree": 95.7, "condInd": 94.8}
_BLIND: dict[str, tuple[str, Callable[[NDArray], NDArray]]] = {
    "vote": ("MajorityVote", lambda X: gl.MajorityVote().fit_predict(X)),
    "dawid_skene": ("DawidSkene()", lambda X: gl.DawidSkene().fit_predict(X)),
    "sml_em": ("SpectralMetaLearner()", lambda X: gl.SpectralMetaLearner().fit_predict(X)),
    "paper": ('LatentSML(structure="paper")', lambda X: gl.LatentSML(structure="paper").fit_predict(X)),
    "two_states": ("LatentSML(subtypes=False)", lambda X: gl.LatentSML(subtypes=False).fit_predict(X)),
    "search": ("LatentSML()", lambda X: gl.LatentSML().fit_predict(X)),
    "leniency": (_LENIENCY, lambda X: leniency_labels(X, gl.LatentSML().fit_predict(X))[0]),
}
_TOLD: dict[str, tuple[str, Callable[[NDArray, NDArray], NDArray]]] = {
    "oracle_ci": ("independent voters, their rates known", lambda X, y: gl.OracleCI().fit(X, y).predict(X)),
    "oracle_groups": ("the groups that `LatentSML()` found, their rates known", lambda X, y: _oracle_groups(X, y)),
    "logistic": (
        "logistic regression on all labels, five folds",
        lambda X, y: cross_val_predict(LogisticRegression(), X, y, cv=5),
    ),
}


def _oracle_groups(X: NDArray, y: NDArray) -> NDArray:
    """Label with the groups that were found without labels, their rates learnt from all labels."""
    groups = gl.LatentSML().fit(X).groups_
    known = gl.LatentSML(structure=groups, subtypes=False).fit(X, anchors=dict(enumerate(y)))
    return gl.OracleLatent(known.latent_model_).fit(X).predict(X)


def _folder(settings: Settings) -> Path:
    folder = settings.data or os.environ.get("GOLDLESS_DATA")
    if not folder:
        raise ValueError("simulated needs the folder of data: set GOLDLESS_DATA, or pass --data DIR")
    return Path(folder)


def units(settings: Settings) -> list[Unit]:
    """One unit for each simulated file, and for each real panel of two classes."""
    blocks = (1,) if settings.quick else (1, 2, 3)
    found = [Unit(f"{kind} {block}", {"kind": kind, "block": block}) for kind in _KINDS for block in blocks]
    index = _folder(settings) / "panels" / "index.json"
    about = json.loads(index.read_text(encoding="utf-8")) if index.is_file() and not settings.quick else {}
    names = [name for name, facts in about.items() if not facts["multiclass"]]
    return found + [Unit(name, {"panel": name}) for name in names]


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Label one file in every way, or one real panel with groups and with a leniency."""
    parameters = unit.parameters
    name = (
        f"panels/{parameters['panel']}" if "panel" in parameters else "simulated/{kind}_{block}".format(**parameters)
    )
    with np.load(_folder(settings) / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["votes"], file["truth"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return _on_real_votes(X, y) if "panel" in parameters else _in_every_way(X, y)


def _on_real_votes(X: NDArray, y: NDArray) -> dict[str, Any]:
    """Label a real panel with groups and with a leniency; say by how much each explains the votes."""
    if X.shape[1] > _MOST_VOTERS:
        return {"skipped": f"{X.shape[1]} voters: more than {_MOST_VOTERS}"}
    model = gl.LatentSML(missing=0 if (X == 0).any() else None).fit(X)
    labels = model.predict(X)
    lenient, likelihood = leniency_labels(X, labels)
    assert model.fitted_.convergence is not None
    return {
        "n_items": len(X),
        "search": gl.balanced_accuracy(y, labels),
        "leniency": gl.balanced_accuracy(y, lenient),
        "gain_per_item": (likelihood - model.fitted_.convergence.log_likelihood) / len(X),
        "overdispersion": model.overdispersion_,
    }


def _in_every_way(X: NDArray, y: NDArray) -> dict[str, Any]:
    """Label a simulated file; those of ``_TOLD`` see the truth, and say what it would be worth."""
    labels = {name: label(X) for name, (_, label) in _BLIND.items()}
    labels |= {name: label(X, y) for name, (_, label) in _TOLD.items()}
    return {"n_items": len(X), "n_voters": X.shape[1]} | {
        name: gl.balanced_accuracy(y, found) for name, found in labels.items()
    }


# -- summary ------------------------------------------------------------------------------------------------


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the tables of the page."""
    results = {kind: [e["result"] for e in entries if e["parameters"].get("kind") == kind] for kind in _KINDS}
    real = {e["key"]: e["result"] for e in entries if "panel" in e["parameters"] and "skipped" not in e["result"]}

    def means(name: str) -> list[float]:
        return [float(np.mean([100 * result[name] for result in results[kind]])) for kind in _KINDS]

    header = ["", *(f"{kind}: {what}" for kind, what in _KINDS.items())]
    formats = ["", *[".1f"] * len(_KINDS)]
    deep_net = ["deep net of Shaham et al., as published", *(_DEEP_NET[kind] for kind in _KINDS)]
    blind = [[label, *means(name)] for name, (label, _) in _BLIND.items()]
    told = [[label, *means(name)] for name, (label, _) in _TOLD.items()]
    first = results["condInd"][0]
    return Summary(
        [
            f"Votes of {first['n_voters']} voters on {first['n_items']:,} items, simulated by Shaham, Cheng, Dror, "
            "Jaffe, Nadler, Chang and Kluger (*A Deep Learning Approach to Unsupervised Ensemble Learning*, 2016); "
            "balanced accuracy, the mean of three files of each kind. Truth is for scoring, and for the rows that "
            "say they were told it.",
            _what_stands_in_the_way(dict(zip(_KINDS, means("search"), strict=True)), results),
        ],
        [
            Table("blind", "Without a label: balanced accuracy %", header, [*blind, deep_net], formats),
            Table("told", "Told the truth: balanced accuracy %", header, told, formats),
            *([_real_table(real)] if real else []),
        ],
        [],
    )


def _real_table(real: dict[str, dict[str, Any]]) -> Table:
    """Return the real panels by how much better a leniency explains their votes than groups do."""
    order = sorted(real, key=lambda name: -real[name]["gain_per_item"])
    rows = [
        [
            name,
            real[name]["n_items"],
            real[name]["gain_per_item"],
            real[name]["overdispersion"],
            *(100 * real[name][method] for method in ("search", "leniency")),
            100 * (real[name]["leniency"] - real[name]["search"]),
        ]
        for name in order
    ]
    gains = np.array([row[-1] for row in rows])
    clear = np.array([row[2] > _CLEAR and row[3] > _REJECTED for row in rows])
    note = (
        f"On all {len(rows)} panels the leniency is {-gains.mean():.1f} points worse in the mean, although its "
        f"likelihood is higher on {sum(row[2] > 0 for row in rows)}. On the {clear.sum()} where it is higher by more "
        f"than {_CLEAR} an item and groups are clearly rejected (over-dispersion above {_REJECTED}) it is "
        f"{gains[clear].mean():.1f} points better (worst {gains[clear].min():+.1f}). These limits were set with the "
        "truth in view and most of these panels share their items: this wants other panels before it becomes a rule."
    )
    header = ["panel", "items", "log-likelihood an item over groups", "over-dispersion"]
    header += ["LatentSML()", "leniency", "difference"]
    return Table(
        "leniency", "A leniency on real panels", header, rows, ["", ",", "+.2f", ".1f", ".1f", ".1f", "+.1f"], note
    )


def _what_stands_in_the_way(search: dict[str, float], results: dict[str, list[dict[str, Any]]]) -> str:
    def of(name: str, kind: str) -> float:
        return float(np.mean([100 * result[name] for result in results[kind]]))

    return (
        f"The deep net is ahead on TG ({_DEEP_NET['TG']:.1f} against {search['TG']:.1f} %). What stands in the way "
        "is not the estimate but the model: with the truth known, independent voters have "
        f"{of('oracle_ci', 'TG'):.1f} % there and the groups that were found {of('oracle_groups', 'TG'):.1f} %, "
        f"a logistic regression {of('logistic', 'TG'):.1f} %. All voters of TG share one Gaussian error, which is no "
        "group. A model of exactly that, a class and one leniency for every item, has "
        f"{of('leniency', 'TG'):.1f} % without a label. It is no default: on LG and Tree it has "
        f"{of('leniency', 'LG'):.1f} and {of('leniency', 'Tree'):.1f} %, and on most real panels it is worse."
    )


EXPERIMENT = Experiment("simulated", "Votes that others simulated", 1, units, run, summarise)
