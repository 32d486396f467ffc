"""How well LatentSML() finds structure and labels: the same defaults on every row. Needs GOLDLESS_DATA.

python -m research.benchmarks.structure [real] [subpanels DRAWS] [artificial DRAWS] [several DRAWS] [stress DRAWS]

Truth is used for scoring only. Long: with 50 draws about half an hour on one core.
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
from research.benchmarks.timing import print_table


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(Path(os.environ["GOLDLESS_DATA"]) / f"{name}.npz") as file:
        return file["votes"], file["truth"]


def error(y: np.ndarray, labels: np.ndarray) -> float:
    return 100 * gl.balanced_error(y, labels)


def fit(estimator: gl.LatentSML, X: np.ndarray) -> gl.LatentSML:
    estimator.set_params(missing=0 if (X == 0).any() else None)
    return estimator.fit(X)


def real() -> None:
    rows = []
    for folder, names in (("magic", ("magic_1", "magic_2", "magic_3")), ("dream", ("S1", "S2", "S3"))):
        for name in names:
            X, y = load(f"{folder}/{name}")
            start = time.perf_counter()
            model = fit(gl.LatentSML(), X)
            seconds = time.perf_counter() - start
            two_state = fit(gl.LatentSML(subtypes=False), X)
            panel = model.select(5)
            rows.append(
                (
                    name,
                    f"{error(y, model.predict(X)):.2f}",
                    f"{error(y, two_state.predict(X)):.2f}",
                    f"{error(y, fit(gl.DawidSkene(), X).predict(X)):.2f}",
                    f"{error(y, fit(gl.MajorityVote(), X).predict(X)):.2f}",
                    f"{error(y, gl.MajorityVote().fit_predict(X[:, panel])):.2f}",
                    model.n_groups_,
                    f"{model.overdispersion_:.1f}",
                    f"{seconds:.2f}",
                )
            )
    header = ("", "LatentSML", "without subtypes", "DawidSkene", "majority", "five voters", "groups", "phi", "fit s")
    print_table("MAGIC and DREAM: balanced error %", header, rows)
    rows = []
    for name in ("LG", "TG", "Tree", "condInd"):
        accuracies = []
        for block in (1, 2, 3):
            X, y = load(f"simulated/{name}_{block}")
            accuracies.append(
                [
                    100 - error(y, fit(m, X).predict(X))
                    for m in (gl.LatentSML(), gl.LatentSML(subtypes=False), gl.DawidSkene())
                ]
            )
        rows.append((name, *(f"{a:.2f}" for a in np.mean(accuracies, axis=0))))
    print_table("Simulated by others: balanced accuracy %", ("", "LatentSML", "without subtypes", "DawidSkene"), rows)
    panels()


def panels() -> None:
    index = json.loads((Path(os.environ["GOLDLESS_DATA"]) / "panels" / "index.json").read_text())
    rows, losses = [], []
    for name, entry in index.items():
        if entry["multiclass"]:
            continue
        X, y = load(f"panels/{name}")
        model = fit(gl.LatentSML(), X)
        figures = [
            100 - error(y, labels)
            for labels in (
                model.predict(X),
                fit(gl.LatentSML(structure="independent"), X).predict(X),
                fit(gl.DawidSkene(), X).predict(X),
                fit(gl.DawidSkene(prior=(0, 0), balance_prior=0, decision="map"), X).predict(X),
                fit(gl.SpectralMetaLearner(), X).predict(X),
                fit(gl.MajorityVote(), X).predict(X),
            )
        ]
        rows.append((name.split("_")[0], *figures))
        if figures[0] < figures[-1] - 0.5:
            losses.append((name, f"{figures[0]:.1f}", f"{figures[2]:.1f}", f"{figures[-1]:.1f}", model.ambiguous_))
    header = ("", "#", "LatentSML", "independent", "DawidSkene", "textbook", "SML+EM", "majority")
    table = []
    for family in [*sorted({row[0] for row in rows}), "all"]:
        chosen = np.array([row[1:] for row in rows if family in (row[0], "all")])
        table.append((family, len(chosen), *(f"{mean:.2f}" for mean in chosen.mean(axis=0))))
    print_table("Real panels: mean balanced accuracy %", header, table)
    print_table(
        "Panels more than half a point below majority", ("", "LatentSML", "DawidSkene", "majority", "flagged"), losses
    )


def subpanels(n_draws: int) -> None:
    """Random voters and items of every real panel: what groups are worth there, with less luck than on 75 panels."""
    index = json.loads((Path(os.environ["GOLDLESS_DATA"]) / "panels" / "index.json").read_text())
    methods = (gl.LatentSML(), gl.LatentSML(structure="independent"), gl.MajorityVote())
    found: dict[str, list[list[float]]] = {}
    for number, name in enumerate(name for name, entry in index.items() if not entry["multiclass"]):
        votes, truth = load(f"panels/{name}")
        for draw in range(n_draws):
            rng = np.random.default_rng([number, draw])
            voters = np.sort(rng.permutation(votes.shape[1])[: rng.integers(4, votes.shape[1] + 1)])
            items = np.sort(rng.permutation(len(votes))[: min(max(60, int(len(votes) * rng.uniform(0.2, 1))), 6000)])
            X, y = votes[np.ix_(items, voters)], truth[items]
            voted = (X != 0).any(axis=1)
            X, y = X[voted], y[voted]
            try:
                figures = [100 - error(y, fit(method, X).predict(X)) for method in methods]
            except ValueError:  # one class only, or too few voters that use both: nothing to compare
                continue
            found.setdefault(name, []).append(figures)
    rows = []
    for family in [*sorted({name.split("_")[0] for name in found}), "all"]:
        chosen = [
            np.mean(figures, axis=0) for name, figures in found.items() if family in (name.split("_")[0], "all")
        ]
        gain = np.array([figures[0] - figures[1] for figures in chosen])
        error_of_gain = f"{gain.std() / np.sqrt(len(gain)):.2f}" if len(gain) > 1 else "-"
        means = (f"{mean:.2f}" for mean in np.mean(chosen, axis=0))
        rows.append((family, len(chosen), *means, f"{gain.mean():+.2f}", error_of_gain))
    header = ("", "panels", "LatentSML", "independent", "majority", "gain by groups", "standard error")
    print_table(f"Random parts of real panels, {n_draws} draws each: mean balanced accuracy %", header, rows)


def artificial(n_draws: int) -> None:
    rows = []
    for size in range(1, 11):
        results = [_draw([size] + [1] * (20 - size), 10_000, 0.0, [size, draw]) for draw in range(n_draws)]
        rows.append((size, *_summary(results)))
    print_table(f"Artificial data, m = 20, n = 10^4, {n_draws} draws each", ("size of G1", *_SUMMARY), rows)


def several(n_draws: int) -> None:
    rows = []
    for n_items in (2_000, 20_000, 100_000):
        for imbalance in (-0.8, -0.6, -0.3, 0.0, 0.3, 0.6, 0.8):
            seeds = [[n_items, int(10 * imbalance) + 10, draw] for draw in range(n_draws)]
            results = [_draw([6, 4, 3] + [1] * 12, n_items, imbalance, seed, (0.6, 0.85)) for seed in seeds]
            rows.append((n_items, imbalance, *_summary(results)))
    print_table(f"Groups of 6, 4, 3 and 12 alone, {n_draws} draws each", ("n", "b", *_SUMMARY), rows)


def stress(n_draws: int) -> None:
    """Hard cases, n = 20,000: recovery and excess over the oracle with the true model."""
    cases = {
        "b = -0.95, group of 5": lambda rng: _model([5] + [1] * 15, rng, imbalance=-0.95),
        "b = +0.95, group of 5": lambda rng: _model([5] + [1] * 15, rng, imbalance=0.95),
        "a clone with 1 % flips": lambda rng: _model([2] + [1] * 12, rng, members=(0.99, 0.99)),
        "five clones with 1 % flips": lambda rng: _model([6] + [1] * 12, rng, members=(0.99, 0.99)),
        "8 voters and 20 near-random": lambda rng: _model([1] * 28, rng, alone=(0.48, 0.52), first_alone=8),
        "group of 5 against the truth": lambda rng: _model([5] + [1] * 12, rng, latents=(0.15, 0.4)),
        "groups of 4 and 4 against": lambda rng: _model([4, 4] + [1] * 12, rng, latents=(0.15, 0.4)),
        "group of 14, 3, 2 and 9 alone": lambda rng: _model([14, 3, 2] + [1] * 9, rng),
        "group of 14 and 6 alone": lambda rng: _model([14] + [1] * 6, rng),
    }
    rows = []
    for number, (name, case) in enumerate(cases.items()):
        results = []
        for draw in range(n_draws):
            rng = np.random.default_rng([77, number, draw])
            results.append(_result(case(rng), 20_000, rng))
        rows.append((name, *_summary(results)))
    print_table(f"Hard cases, n = 20,000, {n_draws} draws each", ("case", *_SUMMARY), rows)


def _model(
    sizes: list[int],
    rng: np.random.Generator,
    imbalance: float = 0.0,
    latents: tuple[float, float] | None = None,
    members: tuple[float, float] | None = None,
    alone: tuple[float, float] | None = None,
    first_alone: int = 0,
) -> gl.TreeModel:
    """A random model in which the rates of group latents, group members or late single voters lie in given ranges."""
    model = gl.random_model(sizes, imbalance, group_accuracy=(0.6, 0.85), random_state=rng)
    grouped = (np.bincount(model.groups) > 1)[model.groups]
    late = ~grouped & (np.arange(len(grouped)) >= first_alone)
    changes = {}
    for side in ("sensitivity", "specificity"):
        of_group, of_voter = getattr(model, f"group_{side}"), getattr(model, f"{side}_given_group")
        if latents:
            of_group = np.where(np.bincount(model.groups) > 1, rng.uniform(*latents, len(of_group)), of_group)
        for chosen, bounds in ((grouped, members), (late, alone)):
            if bounds:
                of_voter = np.where(chosen, rng.uniform(*bounds, len(of_voter)), of_voter)
        changes |= {f"group_{side}": of_group, f"{side}_given_group": of_voter}
    return gl.LatentModel(model.groups, model.class_balance, **changes)


_SUMMARY = ("exact recovery", "Oracle-L error %", "excess mean", "excess max", "flagged ambiguous")


def _draw(
    sizes: list[int],
    n_items: int,
    imbalance: float,
    seed: list[int],
    group_accuracy: tuple[float, float] = (0.5, 0.8),
) -> tuple[float, ...]:
    rng = np.random.default_rng(seed)
    return _result(gl.random_model(sizes, imbalance, group_accuracy, random_state=rng), n_items, rng)


def _result(truth: gl.TreeModel, n_items: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Whether the groups were found, the oracle's error, the excess over it, and whether it was flagged."""
    X, y, _ = truth.sample(n_items, rng)
    model = gl.LatentSML().fit(X)
    oracle = error(y, gl.OracleLatent(truth).fit(X).predict(X))
    recovered = np.array_equal(model.groups_, truth.groups)
    return recovered, oracle, error(y, model.predict(X)) - oracle, model.ambiguous_


def _summary(results: list[tuple[float, ...]]) -> tuple[str, ...]:
    recovered, oracle, excess, flagged = np.array(results, dtype=float).T
    return (
        f"{100 * recovered.mean():.0f} %",
        f"{oracle.mean():.1f}",
        f"{excess.mean():.2f}",
        f"{excess.max():.2f}",
        f"{100 * flagged.mean():.0f} %",
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    words = sys.argv[1:] or ["real", "subpanels", "8", "artificial", "50", "several", "10", "stress", "10"]
    if "real" in words:
        real()
    for name, run in (("subpanels", subpanels), ("artificial", artificial), ("several", several), ("stress", stress)):
        if name in words:
            run(int(words[words.index(name) + 1]))
