"""What a few known labels are worth: asked for, at random, and used as people without goldless would; and audits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB

import goldless as gl
from research.benchmarks.audit import of_random_sample
from research.experiments.few_labels_summary import AUDITED, COUNTS, summarise
from research.experiments.framework import Experiment, Settings, Unit
from research.experiments.panel import Panel
from research.experiments.panels import CONTESTS
from research.experiments.runner import one_thread

_STEPS = (5, 10, 20, 35, 50)  # numbers of labels at which the next are asked for
_MOST_ITEMS = 2000
_LARGEST_SHARE = 0.6  # of the items: with more known, nothing is left to label
_DRAWS = 3  # of random items, for what costs little
_AUDITS = 5


def _panels(settings: Settings) -> dict[str, Panel]:
    found = CONTESTS["panels"].panels(settings) | CONTESTS["classes"].panels(settings)
    return {name: panel.thinned(_MOST_ITEMS) for name, panel in found.items() if isinstance(panel, Panel)}


def units(settings: Settings) -> list[Unit]:
    """One unit for each panel and way to use labels; random items of our own method are drawn again and again."""
    panels = _panels(settings)
    if settings.quick:
        panels = {name: panel for name, panel in panels.items() if len(panel.votes) <= 500}
        panels = dict(list(panels.items())[:3])
    ways = ["asked", "supervised", "audit", *(f"random, draw {draw}" for draw in range(settings.draws))]
    return [
        Unit(f"{name}, {way}", {"panel": name, "family": name.split("_")[0], "way": way.partition(",")[0]})
        for many in (False, True)
        for way in ways
        for name in panels
        if (panels[name].n_classes > 2) == many
    ]


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Use labels of one panel in one way."""
    panel = _panels(settings)[unit.parameters["panel"]]
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")
        return {**panel.facts, "found": _WAYS[unit.parameters["way"]](panel, rng)}


def fit(panel: Panel, known: NDArray[np.int64]) -> Any:
    """Fit our default with the labels of some items known."""
    model = gl.LatentSML(missing=-1 if panel.missing.any() else None)
    return model.fit(panel.votes, anchors={int(row): int(panel.truth[row]) for row in known})


def score(panel: Panel, labels: NDArray[Any], known: NDArray[np.int64]) -> dict[str, float]:
    """Return macro recall of all labels, with the known ones kept, and of the items that are not known."""
    kept, rest = np.asarray(labels).astype(int).copy(), np.ones(len(labels), dtype=bool)
    kept[known], rest[known] = panel.truth[known], False
    return {
        "recall": gl.balanced_accuracy(panel.truth, kept),
        "rest": gl.balanced_accuracy(panel.truth[rest], kept[rest]),
    }


def _counts(panel: Panel) -> list[int]:
    return [count for count in COUNTS if 0 < count <= _LARGEST_SHARE * len(panel.votes)]


def _asked(panel: Panel, rng: np.random.Generator) -> dict[str, Any]:
    known = np.array([], dtype=np.int64)
    model = fit(panel, known)
    found = {"0": score(panel, model.predict(panel.votes), known)}
    for step in [step for step in _STEPS if step <= max(_counts(panel), default=0)]:
        known = np.concatenate([known, model.next_to_label(panel.votes, step - len(known)).rows])
        model = fit(panel, known)
        if step in COUNTS:
            found[str(step)] = score(panel, model.predict(panel.votes), known)
    return {"asked": found}


def _random(panel: Panel, rng: np.random.Generator) -> dict[str, Any]:
    order = rng.permutation(len(panel.votes))
    found = {}
    for count in _counts(panel):
        found[str(count)] = score(panel, fit(panel, order[:count]).predict(panel.votes), order[:count])
    return {"random": found}


def _supervised(panel: Panel, rng: np.random.Generator) -> dict[str, Any]:
    """What people do with labels and no goldless: majority vote with the known ones kept, and plain classifiers."""
    counted = (panel.votes[:, :, None] == np.arange(panel.n_classes)).reshape(len(panel.votes), -1).astype(float)
    majority = gl.MajorityVote(missing=-1 if panel.missing.any() else None).fit_predict(panel.votes)
    draws: dict[str, dict[str, list[dict[str, float]]]] = {}
    for _ in range(_DRAWS):
        order = rng.permutation(len(panel.votes))
        for count in _counts(panel):
            known = order[:count]
            for name, labels in _by_classifiers(panel, counted, known):
                draws.setdefault(name, {}).setdefault(str(count), []).append(score(panel, labels, known))
            draws.setdefault("vote", {}).setdefault(str(count), []).append(score(panel, majority, known))
    none = score(panel, majority, np.array([], dtype=np.int64))
    found = {name: {count: _mean(rows) for count, rows in of.items()} for name, of in draws.items()}
    return found | {"vote": {"0": none, **found.get("vote", {})}}


def _by_classifiers(
    panel: Panel, counted: NDArray[np.float64], known: NDArray[np.int64]
) -> Iterator[tuple[str, NDArray]]:
    y = panel.truth[known]
    if len(np.unique(y)) == 1:  # nothing to tell apart
        for name in ("naive_bayes", "logistic"):
            yield name, np.full(len(panel.votes), y[0])
        return
    bayes = CategoricalNB(min_categories=panel.n_classes + 1)  # no vote is a category
    yield "naive_bayes", bayes.fit(panel.votes[known] + 1, y).predict(panel.votes + 1)
    yield "logistic", LogisticRegression(max_iter=1000).fit(counted[known], y).predict(counted)


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def _audit(panel: Panel, rng: np.random.Generator) -> dict[str, Any]:
    """How wide intervals of balanced accuracy are, and how often they hold; of two classes beside random samples."""
    model = fit(panel, np.array([], dtype=np.int64))
    labels = np.asarray(model.predict(panel.votes)).astype(int)
    true, found = gl.balanced_accuracy(panel.truth, labels), {}
    for n in AUDITED:
        if n > _LARGEST_SHARE * len(labels):
            continue
        rows = []
        for draw in range(_AUDITS):
            plan = gl.audit(model, panel.votes, n, random_state=draw)
            ends = plan.estimate({int(row): int(panel.truth[row]) for row in plan.rows}).interval["balanced_accuracy"]
            row = {"width": ends[1] - ends[0], "held": float(ends[0] - 1e-9 <= true <= ends[1] + 1e-9)}
            if panel.n_classes == 2:
                plain = rng.choice(len(labels), n, replace=False)
                low, high = of_random_sample(panel.truth[plain], labels[plain], np.arange(2), mid_p=False)
                row |= {"random_width": high - low, "random_held": float(low - 1e-9 <= true <= high + 1e-9)}
            rows.append(row)
        found[str(n)] = _mean(rows)
    return {"audit": found}


_WAYS = {"asked": _asked, "random": _random, "supervised": _supervised, "audit": _audit}
EXPERIMENT = Experiment("few_labels", "A few known labels", 1, units, run, summarise, draws=1, quick_draws=1)
