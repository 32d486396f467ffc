"""How often intervals of an audit hold on real panels, and how wide they are beside those of plain random samples.

``python -m research.benchmarks.audit [two | many | sequential] [DRAWS] [panel ...]`` with ``GOLDLESS_DATA`` set;
``two`` of all panels leaves docs/audit.json, of which ``research.benchmarks.claim_pages`` makes the tables of
docs/audit.md. Each panel is fitted once without its truth; then many audits are drawn and answered with the truth, at
30, 50 and 100 labels (not above 60 % of the items). What an audit sees of a stratum are counts, and these are
hypergeometric: they are drawn as such, in some designs for each panel. Beside the truth there are made-up ones:
labels that are a coin's, perfect ones, nine in ten wrong, the surest tenth wrong, one in a hundred missed with two
false alarms in five. ``sequential`` draws audits that look again and again and stop when the interval is narrow.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

import goldless as gl
from goldless.diagnosis.audit_design import make_design, margins_of
from goldless.diagnosis.audit_estimate import Sample, intervals
from goldless.metrics import balanced_accuracy
from research.benchmarks.cost_page import DOCS, table
from research.benchmarks.timing import print_table

RECORD = DOCS / "audit.json"
TRUTHS = ("real", "a coin's", "perfect", "nine in ten wrong", "the surest tenth wrong", "1 % missed, 60 % precise")

_SIZES = (30, 50, 100)
_LARGEST_SHARE = 0.6
_DESIGNS = 8  # of each panel and number of labels: ties of the score are broken at random
_DRAWS = 2000  # behind an interval: half of what an audit takes
_NARROW = 0.3  # width at which a sequential audit stops


def panels(names: list[str], many: bool) -> dict[str, tuple[Any, NDArray]]:
    """Fit every panel of two or of more classes, or those that are named; return what labels it and its truth."""
    folder = Path(os.environ["GOLDLESS_DATA"]) / "panels"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    found = {}
    for name in names or sorted(name for name, entry in index.items() if entry["multiclass"] == many):
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


def samples(model: Any, truth: NDArray, n: int, draws: int) -> Iterator[Sample]:
    """Yield what audits of ``n`` labels see: of every stratum a hypergeometric count of each kind of item."""
    classes = np.asarray(model.classes_)
    order = np.argsort(classes)
    predicted, true = (order[np.searchsorted(classes, labels, sorter=order)] for labels in (model.labels, truth))
    scores = np.asarray(model.decision_function(None), dtype=np.float64)
    scores = np.stack([-scores / 2, scores / 2], axis=1) if scores.ndim == 1 else scores
    margins, rng = margins_of(scores, predicted), np.random.default_rng(n)
    for _ in range(_DESIGNS):
        design = make_design(predicted, margins, n, rng)
        kinds, counts = np.unique(np.stack([design.stratum, predicted, true]), axis=1, return_counts=True)
        drawn = np.zeros((draws // _DESIGNS, kinds.shape[1]))
        for stratum, number in enumerate(design.drawn.tolist()):
            here = kinds[0] == stratum
            drawn[:, here] = rng.multivariate_hypergeometric(counts[here], number, len(drawn))
        for seen in drawn:
            kept = seen > 0
            yield Sample(design.size, design.block, *kinds[:, kept], seen[kept], len(classes))


def measure(model: Any, truth: NDArray, n: int, draws: int, plain_too: bool = True) -> dict[str, float]:
    """Return how often intervals held and how wide they were, of audits and of simple random samples."""
    true = {"balanced_accuracy": balanced_accuracy(truth, model.labels), "accuracy": np.mean(truth == model.labels)}
    rng = np.random.default_rng(n)
    rows: dict[str, list[float]] = {}

    def add(name: str, value: float, low: float, high: float) -> None:
        rows.setdefault(f"{name} held", []).append(low - 1e-9 <= value <= high + 1e-9)
        rows.setdefault(f"{name} width", []).append(high - low)

    for sample in samples(model, truth, n, draws):
        found = intervals(sample, rng, draws=_DRAWS)
        for name, value in true.items():
            add(name, float(value), *found[name])
        if plain_too and len(model.classes_) == 2:
            plain = rng.choice(len(truth), n, replace=False)
            for way in ("exact", "mid-p"):
                ends = of_random_sample(truth[plain], model.labels[plain], model.classes_, way == "mid-p")
                add(way, float(true["balanced_accuracy"]), *ends)
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


@cache
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
    classes, n = np.sort(model.classes_), len(truth)
    codes = np.searchsorted(classes, model.labels)
    other = classes[(codes + rng.integers(1, len(classes), n)) % len(classes)]
    by_chance = {"a coin's": 1 - 1 / len(classes), "perfect": 0.0, "nine in ten wrong": 0.9}
    if how in by_chance:
        wrong = rng.random(n) < by_chance[how]
    elif how == "the surest tenth wrong":
        sure = np.abs(model.decision_function(None)).reshape(n, -1).max(axis=1)
        wrong = np.argsort(np.argsort(-sure, kind="stable")) < n / 10
    else:  # 1 % of those labelled negative are positive, 40 % of those labelled positive are negative
        wrong = rng.random(n) < np.where(codes == 0, 0.01, 0.4)
    return np.where(wrong, other, model.labels)


def sequential(found: dict[str, tuple[Any, NDArray]], draws: int, n: int = 100) -> None:
    """Say how often all looks of an audit hold, and how often the last does if one stops at the first narrow one.

    Who labels all rows has an interval at the plain level at the end: the stop counts it.
    """
    rows = []
    for name, (model, truth) in found.items():
        if n > _LARGEST_SHARE * len(truth):
            continue
        true = balanced_accuracy(truth, model.labels)
        held, at_stop, labels = [], [], []
        for seed in range(draws):
            plan = gl.audit(model, None, n, random_state=seed)
            told = [{row: truth[row] for row in plan.rows[:look]} for look in plan.looks]
            ends = [plan.estimate(known, anytime=True).interval["balanced_accuracy"] for known in told]
            good = [low - 1e-9 <= true <= high + 1e-9 for low, high in ends]
            held.append(all(good))
            narrow = [place for place, (low, high) in enumerate(ends[:-1]) if high - low <= _NARROW]
            if narrow:
                at_stop.append(good[narrow[0]])
            else:
                low, high = plan.estimate(told[-1]).interval["balanced_accuracy"]
                at_stop.append(low - 1e-9 <= true <= high + 1e-9)
            labels.append(plan.looks[narrow[0]] if narrow else n)
        rows.append((name, np.mean(held), np.mean(at_stop), np.mean(labels)))
    rows.append(("mean", *(np.mean([row[place] for row in rows]) for place in (1, 2, 3))))
    header = ("panel", "all looks held %", f"held % at the first width below {_NARROW}", "labels")
    print_table(
        "Sequential audits",
        header,
        [(name, f"{100 * every:.1f}", f"{100 * last:.1f}", f"{number:.0f}") for name, every, last, number in rows],
    )


def record(found: dict[str, tuple[Any, NDArray]], draws: int, path: Path) -> None:
    """Measure every panel with its truth and, a quarter of the draws, with made-up ones; go on with what there is."""
    kept: dict[str, Any] = {"draws": draws, "truths": {}}
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
    for way, n in product(TRUTHS, _SIZES):
        of_sizes = kept["truths"].setdefault(way, {})
        if str(n) in of_sizes:
            continue
        of_panels = {}
        for name, (model, truth) in found.items():
            if n <= _LARGEST_SHARE * len(truth):
                told = truth if way == "real" else altered(model, truth, way)
                row = measure(model, told, n, draws if way == "real" else draws // 4, plain_too=way == "real")
                of_panels[name] = {figure: round(value, 5) for figure, value in row.items()}
        of_sizes[str(n)] = of_panels
        path.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def held_table(kept: dict[str, Any]) -> str:
    """Return coverage and width with the real truth, for every number of labels."""
    rows = []
    for n, of_panels in kept["truths"]["real"].items():
        by_family, of_all = of_family(of_panels), list(of_panels.values())
        lowest = min(by_family, key=lambda name: by_family[name])
        widths = np.array([row["balanced_accuracy width"] for row in of_all])
        ratios = [np.median(widths / [row[f"{kind} width"] for row in of_all]) for kind in ("exact", "mid-p")]
        rows.append(
            (
                *(n, len(of_all), f"{_percent(of_all, 'balanced_accuracy held')} %"),
                *(f"{100 * by_family[lowest]:.1f} % ({lowest})", f"{100 * np.median(widths):.0f} points"),
                *("{:.2f} / {:.2f}".format(*ratios), f"{_percent(of_all, 'accuracy held')} %"),
            )
        )
    header = (
        *("labels", "panels", "intervals of balanced accuracy that held", "lowest family", "median width"),
        *("against exact / mid-p intervals of simple random samples", "intervals of accuracy that held"),
    )
    found = table(header, sorted(rows, key=lambda row: int(row[0])))
    note = "audits of each panel ([record](audit.json)), where they would not label more than 60 % of its items."
    return f"{found}\n\n{kept['draws']} {note}"


def altered_table(kept: dict[str, Any]) -> str:
    """Return how often intervals of balanced accuracy held with made-up truths, with the lowest family."""
    rows = []
    for way in TRUTHS[1:]:
        cells = []
        for n in map(str, _SIZES):
            of_panels = kept["truths"].get(way, {}).get(n)
            if of_panels is None:
                break
            lowest = min(of_family(of_panels).values())
            cells.append(f"{_percent(list(of_panels.values()), 'balanced_accuracy held')} % ({100 * lowest:.1f} %)")
        if len(cells) == len(_SIZES):
            rows.append((way, *cells))
    found = table(("labels that are", *(f"{n} labels" for n in _SIZES)), rows)
    note = "Intervals of balanced accuracy that held, of all panels and of the lowest family;"
    return f"{found}\n\n{note} {kept['draws'] // 4} audits of each panel."


def _percent(rows: list[dict[str, float]], name: str) -> str:
    return f"{100 * np.mean([row[name] for row in rows]):.1f}"


def of_family(of_panels: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return how often the intervals of balanced accuracy held in each family of panels."""
    families: dict[str, list[float]] = {}
    for name, row in of_panels.items():
        families.setdefault(name.split("_")[0], []).append(row["balanced_accuracy held"])
    return {name: float(np.mean(values)) for name, values in families.items()}


if __name__ == "__main__":
    what, number, *names = [*sys.argv[1:], *("two", "400")[len(sys.argv) - 1 :]]
    ready = panels(names, many=what == "many")
    if what == "sequential":
        sequential(ready, int(number))
    else:
        to = Path("audit-record.json") if what == "many" or names else RECORD
        record(ready, int(number), to)
        print(held_table(json.loads(to.read_text(encoding="utf-8"))))
