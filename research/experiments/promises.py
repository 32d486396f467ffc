"""Whether a diagnosis keeps its promises on simulated votes: false alarms, power, intervals that hold the truth."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.diagnosis.goodness import fit_pvalue
from goldless.diagnosis.refit import PanelVotes
from goldless.maths.correlations import effective_votes
from goldless.maths.tree import TreeModel
from goldless.maths.tree_makers import independent_rates
from research.experiments.framework import Experiment, Settings, Summary, Unit
from research.experiments.tables import Table

_LEVEL = 0.05
_VOTERS = (5, 10, 20)
_MISSING = (0.0, 0.3)
_CELLS = [(n, balance) for n in (200, 1000, 10_000) for balance in (0.5, 0.8)]
_SIZES, _ITEMS = (2, 3, 5), (100, 200, 500, 1000, 3000)
_PER_DRAW = 4  # panels of a cell of false alarms for each draw
# name: items, groups, positive share, accuracy of groups, share missing
_SETTINGS: dict[str, tuple[int, list[int], float, tuple[float, float], float]] = {
    "1,000 items, balanced": (1000, [4, 3] + [1] * 8, 0.5, (0.6, 0.9), 0.0),
    "2,000 items, 75 % positive": (2000, [4, 3] + [1] * 8, 0.75, (0.6, 0.9), 0.0),
    "2,000 items, 60 % positive, 20 % of votes missing": (2000, [4, 3] + [1] * 8, 0.6, (0.6, 0.9), 0.2),
    "10,000 items, 25 % positive": (10_000, [4, 3] + [1] * 8, 0.25, (0.6, 0.9), 0.0),
    "10,000 items, groups of 5, 4 and 3 among 20, weak": (10_000, [5, 4, 3] + [1] * 8, 0.5, (0.5, 0.8), 0.0),
    "2,000 items, 12 independent voters, 75 % positive": (2000, [1] * 12, 0.75, (0.6, 0.9), 0.0),
}
_FACTS = ("nothing", "100 labels", "the class balance", "the rates of one voter")
_KINDS = {
    "sensitivity": "sensitivity_interval",
    "specificity": "specificity_interval",
    "balanced accuracy": "balanced_accuracy_model_interval",
    "class balance": "class_balance_model_interval",
}
_WAYS = {"combined": "combined labels", "majority vote": "majority vote", "voter thought best": "best voter"}


def units(settings: Settings) -> list[Unit]:
    """Cells of the test of independence, and panels whose intervals are looked at."""
    found = []
    for m in _VOTERS:
        for missing in _MISSING:
            for n, share in _CELLS if not missing else _CELLS[:4]:
                cell = {"m": m, "missing": missing, "n": n, "share": share}
                panels = settings.draws * (1 if missing else _PER_DRAW)
                found.append(
                    Unit("alarms, " + ", ".join(map(str, cell.values())), {"of": "alarms", **cell, "panels": panels})
                )
    found += [
        Unit(f"power, {size}, {n}", {"of": "power", "size": size, "n": n, "panels": settings.draws})
        for size in _SIZES
        for n in _ITEMS
    ]
    for draw in range(settings.draws):
        found += [Unit(f"coverage, {name}, {draw}", {"of": "coverage", "setting": name}) for name in _SETTINGS]
    for draw in range(max(settings.draws // 2, 1)):
        found.append(Unit(f"facts, {draw}", {"of": "facts"}))
    return [unit for unit in found if unit.parameters.get("n", 0) <= 200][:12] if settings.quick else found


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Do one unit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return _RUN[unit.parameters["of"]](unit.parameters, np.random.default_rng(seed))


def _alarms(cell: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Independent voters of random accuracies: how often independence is rejected."""
    rejected = 0
    for _ in range(cell["panels"]):
        rates = independent_rates(cell["share"], *rng.uniform(0.6, 0.9, (2, cell["m"])))
        X = rates.sample(cell["n"], rng)[0].astype(float)
        X[rng.random(X.shape) < cell["missing"]] = np.nan
        rejected += _independence_pvalue(X, rng) < _LEVEL
    return {"rejected": int(rejected)}


def _power(cell: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """One group among ten voters: how often independence is rejected."""
    groups = [cell["size"]] + [1] * (10 - cell["size"])
    rejected = 0
    for _ in range(cell["panels"]):
        X, _ = gl.simulate_votes(cell["n"], groups, group_accuracy=(0.6, 0.9), random_state=rng)
        rejected += _independence_pvalue(X, rng) < _LEVEL
    return {"rejected": int(rejected)}


def _independence_pvalue(X: NDArray, rng: np.random.Generator) -> float:
    panel = PanelVotes.of(gl.DawidSkene().fit(X), X)
    pvalue = fit_pvalue(panel.core, panel.independent_model, rng)
    assert pvalue is not None
    return pvalue


def _coverage(unit: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """One panel with groups, searched anew: which 95 % intervals hold the truth.

    Rates, class balance and effective votes are those of the population. What is expected of labels, and of the voter
    that is taken for the best, is their balanced accuracy on the items at hand.
    """
    n, groups, share, accuracy, missing = _SETTINGS[unit["setting"]]
    X, y, true = gl.simulate_votes(
        n, groups, 2 * share - 1, group_accuracy=accuracy, missing_rate=missing, random_state=rng, return_model=True
    )
    model = gl.LatentSML().fit(X)
    found = gl.diagnose(model, X, resamples=0)
    best = found.expectation("voter thought best").column
    right = {"combined": gl.balanced_accuracy(y, model.predict(X))}
    right["majority vote"] = gl.balanced_accuracy(y, gl.MajorityVote().fit_predict(X))
    votes = np.where(np.isnan(X.astype(float)), 0, X)
    right["voter thought best"] = float(np.mean([np.mean((1 + c * votes[y == c, best]) / 2) for c in (-1, 1)]))
    held = _held(found, true)
    for way, label in _WAYS.items():
        held[label] = _inside(right[way], np.array(found.expectation(way).model_interval)).tolist()
    held["effective votes"] = _inside(_true_effective_votes(true), found.effective_votes_interval).tolist()
    return {"held": held, "groups": bool(np.array_equal(model.groups_, true.groups))}


def _with_facts(unit: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """One panel, and what is known besides the votes: which intervals hold, and how wide they are."""
    X, y, true = gl.simulate_votes(
        2000, [4, 3, *[1] * 8], 0.5, group_accuracy=(0.6, 0.9), random_state=rng, return_model=True
    )
    some = rng.choice(len(y), 100, replace=False)
    known: dict[str, dict[str, Any]] = {
        "nothing": {},
        "100 labels": {"anchors": {int(row): y[row] for row in some}},
        "the class balance": {"class_balance": true.class_balance},
        "the rates of one voter": {"trusted": {9: (float(true.sensitivity[9]), float(true.specificity[9]))}},
    }
    result = {}
    for name in _FACTS:
        found = gl.diagnose(gl.LatentSML().fit(X, **known[name]), X, resamples=0)
        widths = {kind: float(np.diff(getattr(found, where)).mean()) for kind, where in _KINDS.items()}
        result[name] = {"held": _held(found, true), "width": widths}
    return result


_RUN = {"alarms": _alarms, "power": _power, "coverage": _coverage, "facts": _with_facts}


def _held(found: gl.Diagnosis, true: TreeModel) -> dict[str, Any]:
    """Return which intervals of rates and class balance hold the truth."""
    held = {}
    for kind, where in _KINDS.items():
        ends = np.asarray(getattr(found, where)) + np.array([-1e-9, 1e-9])
        held[kind] = _inside(getattr(true, kind.replace(" ", "_")), ends).tolist()
    return held


def _inside(value: Any, ends: NDArray) -> NDArray[np.bool_]:
    return (ends[..., 0] <= value) & (value <= ends[..., 1])


def _true_effective_votes(model: TreeModel) -> float:
    positive, negative = model.conditional_covariance()
    within = model.class_balance * positive + (1 - model.class_balance) * negative
    scale = np.sqrt(np.diag(within))
    return effective_votes(within / np.outer(scale, scale))


# -- summary ------------------------------------------------------------------------------------------------


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the tables of the page."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        by_kind.setdefault(entry["parameters"]["of"], []).append(entry)
    tables = [make(by_kind[kind]) for kind, make in _TABLES.items() if kind in by_kind]
    return Summary(
        [
            "What `gl.diagnose` promises if the model holds, on votes drawn from the model: tests that reject as "
            "often as they say, and 95 % intervals that hold the truth on 95 panels of 100. On real panels the model "
            "is hardly ever right; [what to expect of labels](../what-to-expect.md) says what holds there."
        ],
        tables,
        [],
    )


def _alarm_table(entries: list[dict[str, Any]]) -> Table:
    rows = []
    for m in _VOTERS:
        for missing in _MISSING:
            some = [e for e in entries if (e["parameters"]["m"], e["parameters"]["missing"]) == (m, missing)]
            if some:
                panels = sum(e["parameters"]["panels"] for e in some)
                share = sum(e["result"]["rejected"] for e in some) / panels
                rows.append([m, 100 * missing, panels, share, float(np.sqrt(_LEVEL * (1 - _LEVEL) / panels))])
    note = "Independent voters, 200 to 10,000 items, 50 or 80 % positive."
    header = ["voters", "missing %", "panels", f"rejected at {_LEVEL}", "± se"]
    return Table(
        "alarms",
        "False alarms of the test of independence",
        header,
        rows,
        ["d", ".0f", ",", ".3f", ".3f"],
        note,
        True,
    )


def _power_table(entries: list[dict[str, Any]]) -> Table:
    cells = {(e["parameters"]["size"], e["parameters"]["n"]): e for e in entries}
    items = [n for n in _ITEMS if any(n == of for _, of in cells)]
    rows = [
        [size, *(_share(cells[size, n]) if (size, n) in cells else None for n in items)]
        for size in _SIZES
        if any(size == of for of, _ in cells)
    ]
    note = f"Ten voters; {entries[0]['parameters']['panels']} panels each. Half the voters are nearly a second truth."
    header = ["voters that echo", *(f"n = {n:,}" for n in items)]
    return Table(
        "power", "Power: how often an echo is noticed", header, rows, ["d", *[".2f"] * len(items)], note, True
    )


def _share(entry: dict[str, Any]) -> float:
    return entry["result"]["rejected"] / entry["parameters"]["panels"]


def _coverage_table(entries: list[dict[str, Any]]) -> Table:
    kinds = list(entries[0]["result"]["held"])
    rows = []
    for name in (*_SETTINGS, "all"):
        some = [e["result"]["held"] for e in entries if name in (e["parameters"]["setting"], "all")]
        rows.append([name, len(some), *(_mean([held[kind] for held in some]) for kind in kinds)])
    wrong = sum(not e["result"]["groups"] for e in entries)
    note = (
        "Groups of 4 and 3 among 15 voters unless said otherwise, searched anew in each panel; they came out "
        f"otherwise on {wrong} of {len(entries)}, which are counted too. A share of {len(entries)} panels is known "
        f"to {100 * np.sqrt(0.95 * 0.05 / len(entries)):.1f} points, those of the rates better."
    )
    title = "Coverage of 95 % intervals if the model holds"
    return Table("coverage", title, ["", "panels", *kinds], rows, ["", "d", *[".3f"] * len(kinds)], note, True)


def _mean(held: Sequence[Any]) -> float:
    return float(np.mean(np.concatenate([np.ravel(one) for one in held])))


def _facts_table(entries: list[dict[str, Any]]) -> Table:
    kinds = [kind for kind in _KINDS if kind != "balanced accuracy"]
    rows = []
    for name in _FACTS:
        some = [entry["result"][name] for entry in entries]
        cells = [
            (_mean([o["held"][kind] for o in some]), np.mean([o["width"][kind] for o in some])) for kind in kinds
        ]
        rows.append([name, *(f"{held:.3f} ({width:.3f})" if width > 0 else "known" for held, width in cells)])
    note = f"{len(entries)} panels of 2,000 items, 75 % positive: coverage, and mean width in brackets."
    return Table("facts", "With facts", ["known", *kinds], rows, [""] * (1 + len(kinds)), note, True)


_TABLES = {"alarms": _alarm_table, "power": _power_table, "coverage": _coverage_table, "facts": _facts_table}

EXPERIMENT = Experiment("promises", "What a diagnosis promises", 1, units, run, summarise, draws=24, quick_draws=1)
