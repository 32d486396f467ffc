"""Whether a diagnosis keeps its promises: false alarms, power, coverage and calibration.

python -m research.benchmarks.diagnosis [false-alarms PANELS] [power PANELS] [coverage PANELS] [facts PANELS]
                               [calibration] [speed]

Truth is used for scoring only; ``calibration`` and ``speed`` need GOLDLESS_DATA.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import goldless as gl
from goldless.diagnosis.goodness import fit_pvalue
from goldless.diagnosis.refit import PanelVotes
from goldless.maths.correlations import effective_votes
from goldless.maths.tree import TreeModel
from goldless.maths.tree_makers import independent_rates
from research.benchmarks.timing import print_table

FIRST_SEED = 9_500_000
WAYS = ("combined", "majority vote", "voter thought best")


def independence_pvalue(X: np.ndarray, rng: np.random.Generator) -> float:
    panel = PanelVotes.of(gl.DawidSkene().fit(X), X)
    return fit_pvalue(panel.core, panel.independent_model, rng)


def false_alarms(n_panels: int) -> None:
    """Independent voters of random accuracies: how often the p-value is below 0.05, over n_panels for each m."""
    cells = [(n, b) for n in (200, 1000, 10_000) for b in (0.0, 0.6)]
    for low, high, missing, share in ((0.6, 0.9, 0.0, 1.0), (0.6, 0.9, 0.3, 0.2), (0.5, 0.7, 0.0, 0.3)):
        rows = []
        for m in (5, 10, 20):
            alarms: dict[tuple, list[bool]] = {}
            used = cells[:4] if missing else cells
            for draw in range(round(n_panels * share)):
                n, b = cell = used[draw % len(used)]
                rng = np.random.default_rng(FIRST_SEED + 1000 * m + draw)
                X = independent_rates((1 + b) / 2, *rng.uniform(low, high, (2, m))).sample(n, rng)[0].astype(float)
                X[rng.random(X.shape) < missing] = np.nan
                alarms.setdefault(cell, []).append(independence_pvalue(X, rng) < 0.05)
            everything = [alarm for of in alarms.values() for alarm in of]
            rows.append(
                (m, len(everything), f"{np.mean(everything):.3f}", *(f"{np.mean(of):.3f}" for of in alarms.values()))
            )
        header = ("m", "panels", "all", *(f"n = {n}, b = {b}" for n, b in used))
        gaps = f", {missing:.0%} missing" if missing else ""
        print_table(f"False alarms at 0.05, sensitivities and specificities {low} to {high}{gaps}", header, rows)


def power(n_panels: int) -> None:
    """One group of dependent voters among ten: how often independence is rejected."""
    rows = []
    for size in (2, 3, 5):
        shares = []
        for n in (100, 200, 500, 1000, 3000, 10_000):
            rejected = []
            for draw in range(n_panels):
                rng = np.random.default_rng(FIRST_SEED + 50_000 + draw)
                X, _ = gl.simulate_votes(n, [size] + [1] * (10 - size), group_accuracy=(0.6, 0.9), random_state=rng)
                rejected.append(independence_pvalue(X, rng) < 0.05)
            shares.append(f"{np.mean(rejected):.2f}")
        rows.append((size, *shares))
    header = ("voters in the group", *(f"n = {n}" for n in (100, 200, 500, 1000, 3000, 10_000)))
    print_table("Power at 0.05: one group among ten voters", header, rows)


def true_effective_votes(model: TreeModel) -> float:
    positive, negative = model.conditional_covariance()
    within = model.class_balance * positive + (1 - model.class_balance) * negative
    scale = np.sqrt(np.diag(within))
    return effective_votes(within / np.outer(scale, scale))


SETTINGS = (
    ("[4, 3] + 8, n = 1000, b = 0", 1000, [4, 3] + [1] * 8, 0.0, (0.6, 0.9), 0.0),
    ("[4, 3] + 8, n = 2000, b = 0.5", 2000, [4, 3] + [1] * 8, 0.5, (0.6, 0.9), 0.0),
    ("[4, 3] + 8, n = 2000, 20 % missing", 2000, [4, 3] + [1] * 8, 0.2, (0.6, 0.9), 0.2),
    ("[4, 3] + 8, n = 10,000, b = -0.5", 10_000, [4, 3] + [1] * 8, -0.5, (0.6, 0.9), 0.0),
    ("[5, 4, 3] + 8, n = 10,000, the paper's rates", 10_000, [5, 4, 3] + [1] * 8, 0.0, (0.5, 0.8), 0.0),
    ("12 independent, n = 2000, b = 0.5", 2000, [1] * 12, 0.5, (0.6, 0.9), 0.0),
)


def coverage(n_panels: int) -> None:
    """Simulated panels with groups: how often 95 % intervals hold the truth, over all draws.

    Rates, class balance and effective votes are those of the population. What is expected of labels, and of the voter
    that is taken for the best, is their balanced accuracy on the items at hand.
    """
    rows, calibrations, everything = [], [], {}
    for number, (name, n, groups, b, group_accuracy, missing) in enumerate(SETTINGS):
        held: dict[str, list] = {}
        recovered, fit_alarms, bins = 0, 0, np.zeros((3, 10, 3))
        for draw in range(n_panels):
            X, y, true = gl.simulate_votes(
                n,
                groups,
                b,
                group_accuracy=group_accuracy,
                missing_rate=missing,
                random_state=FIRST_SEED + 100_000 + 1000 * number + draw,
                return_model=True,
            )
            model = gl.LatentSML().fit(X)
            found = gl.diagnose(model, X, resamples=0)
            recovered += np.array_equal(model.groups_, true.groups)
            fit_alarms += found.fit_pvalue < 0.05
            add_held(held, found, true)
            votes = np.where(np.isnan(X.astype(float)), 0, X)
            best = found.voters.index(found.expectation("voter thought best").voter)
            labels = (model.predict(X), gl.MajorityVote().fit_predict(X), None)
            for way, of in zip(WAYS, labels, strict=True):
                if of is None:
                    accuracy = np.mean([np.mean((1 + c * votes[y == c, best]) / 2) for c in (-1, 1)])
                else:
                    accuracy = gl.balanced_accuracy(y, of)
                held.setdefault(way, []).append(inside(accuracy, np.array(found.expectation(way).model_interval)))
            held.setdefault("n_eff", []).append(inside(true_effective_votes(true), found.effective_votes_interval))
            for place, how in enumerate(((1.0, model.class_balance_), None, found.calibration)):
                bins[place] += reliability(model.predict_proba(X, calibration=how)[:, 1], y == 1)
        for what, of in held.items():
            everything.setdefault(what, []).extend(of)
        shares = [f"{np.mean(of):.3f}" for of in held.values()]
        rows.append((name, f"{recovered / n_panels:.2f}", f"{fit_alarms / n_panels:.2f}", *shares))
        calibrations.append((name, *(f"{calibration_error(of):.4f}" for of in bins)))
        print(*rows[-1], *calibrations[-1][1:], file=sys.stderr, flush=True)
    rows.append(("all", "", "", *(f"{np.mean(of):.3f}" for of in everything.values())))
    print_table("Coverage of 95 % intervals", ("", "groups exact", "fit alarms", *everything), rows)
    header = ("", "with the prior's pull", "by default", "with diagnosis.calibration")
    print_table("Calibration error on the same panels", header, calibrations)


def facts(n_panels: int) -> None:
    """What is known besides the votes: how often intervals hold the truth, and how wide they are."""
    rows = []
    for name in ("nothing", "100 labels", "class balance", "rates of one voter"):
        held: dict[str, list] = {}
        widths: dict[str, list] = {}
        for draw in range(n_panels):
            seed = FIRST_SEED + 200_000 + draw
            X, y, true = gl.simulate_votes(
                2000, [4, 3, *[1] * 8], 0.5, group_accuracy=(0.6, 0.9), random_state=seed, return_model=True
            )
            some = np.random.default_rng(seed).choice(len(y), 100, replace=False)
            known = {
                "nothing": {},
                "100 labels": {"anchors": {int(row): y[row] for row in some}},
                "class balance": {"class_balance": true.class_balance},
                "rates of one voter": {"trusted": {9: (float(true.sensitivity[9]), float(true.specificity[9]))}},
            }[name]
            found = gl.diagnose(gl.LatentSML().fit(X, **known), X, resamples=0)
            add_held(held, found, true)
            for what in held:
                ends = getattr(found, _INTERVALS[what])
                widths.setdefault(what, []).append(np.diff(ends).mean())
        rows.append((name, *(f"{np.mean(held[what]):.3f} ({np.mean(widths[what]):.3f})" for what in held)))
    print_table("Coverage (and mean width) of 95 % intervals by what is known", ("", *held), rows)


_INTERVALS = {
    "sensitivity": "sensitivity_interval",
    "specificity": "specificity_interval",
    "balanced_accuracy": "balanced_accuracy_model_interval",
    "balance": "class_balance_model_interval",
}


def add_held(held: dict[str, list], found: gl.Diagnosis, true: TreeModel) -> None:
    """Add which intervals of rates and class balance hold the truth."""
    for rate in ("sensitivity", "specificity", "balanced_accuracy"):
        ends = getattr(found, _INTERVALS[rate]) + np.array([-1e-9, 1e-9])
        held.setdefault(rate, []).extend(inside(getattr(true, rate), ends))
    held.setdefault("balance", []).append(inside(true.class_balance, found.class_balance_model_interval))


def inside(value: np.ndarray, ends: np.ndarray) -> np.ndarray:
    return (ends[..., 0] <= value) & (value <= ends[..., 1])


def reliability(probability: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Count items, probability and positive items in ten bins of the probability."""
    bins = np.minimum((10 * probability).astype(int), 9)
    return np.stack([np.bincount(bins, weights, 10) for weights in (None, probability, positive)], axis=1)


def calibration_error(bins: np.ndarray) -> float:
    return float(np.abs(bins[:, 1] - bins[:, 2]).sum() / bins[:, 0].sum())


def panels() -> list[tuple[str, np.ndarray, np.ndarray]]:
    folder = Path(os.environ["GOLDLESS_DATA"])
    names = [f"magic/magic_{i}" for i in (1, 2, 3)] + [f"dream/S{i}" for i in (1, 2, 3)]
    index = json.loads((folder / "panels" / "index.json").read_text())
    names += [f"panels/{name}" for name, entry in index.items() if not entry["multiclass"] and entry["m"] <= 200]
    found = []
    for name in names:
        with np.load(folder / f"{name}.npz") as file:
            found.append((name, file["votes"], file["truth"]))
    return found


def calibration() -> None:
    """Real panels: calibration as it is and tempered, and expected against true balanced accuracy."""
    by_family: dict[str, list] = {}
    for name, X, y in panels():
        model = gl.LatentSML(missing=0 if (X == 0).any() else None).fit(X)
        found = gl.diagnose(model, X, resamples=0)
        figures = []
        for how in (None, found.calibration):
            probability = model.predict_proba(X, calibration=how)[:, 1]
            sure = probability.clip(1e-6, 1 - 1e-6)
            loss = -np.mean(np.where(y > 0, np.log(sure), np.log1p(-sure)))
            figures += [calibration_error(reliability(probability, y > 0)), loss]
        expected = found.expectation("combined")
        true = gl.balanced_accuracy(y, model.predict(X))
        figures += [found.calibration.temper, expected.balanced_accuracy - true]
        figures += [float(expected.model_interval[0] <= true <= expected.model_interval[1])]
        by_family.setdefault(name.split("/")[-1].split("_")[0].rstrip("123"), []).append(figures)
    everything = [figures for family in by_family.values() for figures in family]
    rows = [
        (family, len(of), *(f"{value:.3f}" for value in np.mean(of, axis=0)))
        for family, of in [*by_family.items(), ("all", everything)]
    ]
    table = np.array(everything)
    better, worse = (table[:, 2] < table[:, 0] - 0.005).sum(), (table[:, 2] > table[:, 0] + 0.005).sum()
    header = (
        "",
        "panels",
        "ECE",
        "log loss",
        "ECE calibrated",
        "log loss calibrated",
        "temper",
        "expected - true",
        "covered",
    )
    print_table(f"Calibration on real panels (calibrated: better on {better}, worse on {worse})", header, rows)


def speed() -> None:
    rows = []
    for name, X, _ in panels()[:6]:
        model = gl.LatentSML().fit(X)
        start = time.perf_counter()
        found = gl.diagnose(model, X)
        rows.append((name, f"{X.shape[0]:,} x {X.shape[1]}", found.n_resamples, f"{time.perf_counter() - start:.1f}"))
    print_table("Seconds for a diagnosis", ("", "votes", "resamples", "s"), rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    words = sys.argv[1:] or [
        "false-alarms",
        "1000",
        "power",
        "200",
        "coverage",
        "200",
        "facts",
        "40",
        "calibration",
        "speed",
    ]
    for place, word in enumerate(words):
        if word in ("false-alarms", "power", "coverage", "facts"):
            of_panels = {"false-alarms": false_alarms, "power": power, "coverage": coverage, "facts": facts}
            of_panels[word](int(words[place + 1]))
        elif word in ("speed", "calibration"):
            {"speed": speed, "calibration": calibration}[word]()
