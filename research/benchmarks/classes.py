"""More than two classes: real panels beside peers, recovery of groups, false groups, and speed.

``python -m research.benchmarks.classes panels | recovery | difficulty | speed``, the first with crowd-kit in the same
environment for its rows, and with GOLDLESS_DATA set.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

import goldless as gl
from goldless.votes.grouped import GroupedPatterns
from goldless.votes.rows import PatternTable
from research.benchmarks.timing import print_table, race

GROUPS = [5, 3] + [1] * 9


def panels() -> None:
    """Accuracy and macro recall of every method on the multi-class panels."""
    methods = {
        "plurality": lambda X: gl.MajorityVote(missing=-1).fit_predict(X),
        "DawidSkene": lambda X: gl.DawidSkene(missing=-1).fit_predict(X),
        "LatentSML": lambda X: gl.LatentSML(missing=-1).fit_predict(X),
        **_crowd_kit(),
    }
    rows, scores = [], []
    for name in _multiclass_panels():
        with np.load(Path(os.environ["GOLDLESS_DATA"]) / "panels" / f"{name}.npz") as file:
            X, y = file["votes"], file["truth"]
        of_panel = []
        for method in methods.values():
            labels = np.asarray(method(X))
            accuracy, recall = 100 * (labels == y).mean(), 100 * gl.balanced_accuracy(y, labels)
            of_panel.append((accuracy, recall))
        scores.append(of_panel)
        rows.append((name, X.shape[0], X.shape[1], *(f"{a:.1f}/{r:.1f}" for a, r in of_panel)))
    mean = np.mean(scores, axis=0)
    rows.append(("mean", "", "", *(f"{a:.2f}/{r:.2f}" for a, r in mean)))
    print_table("Accuracy / macro recall", ("panel", "items", "voters", *methods), rows)


def recovery(n_draws: int = 20, hard: int = 0) -> None:
    """Groups of five and three among nine single voters: exact recovery, and accuracy below the oracle's.

    ``hard`` voters are right less often: 45-70, 40-65 and 30-55 % of the time for 3, 4 and 10 classes.
    """
    rows = []
    for kind in ("coin", "generic", "ordinal"):
        for n_classes in (3, 4, 10):
            for n_items in (1000, 10_000):
                exact, excess = [], []
                for draw in range(n_draws):
                    truth = random_tree(kind, n_classes, np.random.default_rng([draw, n_classes]), bool(hard))
                    X, y, _ = truth.sample(n_items, np.random.default_rng([draw, n_items]))
                    model = gl.LatentSML(decision="map", kind="labels").fit(X)
                    oracle = gl.OracleLatent(truth, decision="map").fit(X)
                    exact.append(np.array_equal(model.groups_, truth.groups))
                    excess.append(100 * ((oracle.predict(X) == y).mean() - (model.predict(X) == y).mean()))
                rows.append(
                    (kind, n_classes, n_items, f"{100 * np.mean(exact):.0f} %", f"{np.mean(excess):+.2f}",
                     f"{np.std(excess) / np.sqrt(n_draws):.2f}")
                )  # fmt: skip
    header = ("votes", "C", "n", "exact recovery", "excess over the oracle, points", "standard error")
    print_table(f"Groups 5 + 3 + nine alone{', weak voters' * bool(hard)}, {n_draws} draws", header, rows)


def random_tree(kind: str, n_classes: int, rng: np.random.Generator, hard: bool = False) -> gl.TreeModel:
    """Draw a model: voters that copy or follow a habit, any confusions, or confusions with neighbouring classes."""
    low, high = {3: (0.6, 0.85), 4: (0.55, 0.8)}.get(n_classes, (0.45, 0.75))
    if hard:
        low, high = {3: (0.45, 0.7), 4: (0.4, 0.65)}.get(n_classes, (0.3, 0.55))
    groups = np.repeat(np.arange(len(GROUPS)), GROUPS)
    alone = np.array(GROUPS) == 1

    def tables(n_tables: int, between: tuple[float, float]) -> np.ndarray:
        right = rng.uniform(*between, (n_tables, 1 if kind == "coin" else n_classes))[:, :, None]
        if kind == "coin":
            habit = rng.dirichlet(np.full(n_classes, 2.0), (n_tables, 1))
            return right * np.eye(n_classes) + (1 - right) * habit
        if kind == "ordinal":
            distance = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes)))
            errors = np.where(distance > 0, 0.35**distance, 0.0) * rng.uniform(0.5, 1.5, (n_tables, 1, n_classes))
        else:
            errors = rng.gamma(1.0, size=(n_tables, n_classes, n_classes)) * (1 - np.eye(n_classes))
        errors /= errors.sum(axis=2, keepdims=True)
        return right * np.eye(n_classes) + (1 - right) * errors

    latents = np.where(alone[:, None, None], np.eye(n_classes), tables(len(GROUPS), (0.7, 0.85)))
    prior = rng.dirichlet(np.full(n_classes, 10.0))
    return gl.TreeModel(groups, prior, latents.transpose(0, 2, 1), tables(len(groups), (low, high)))


def difficulty(n_draws: int = 20) -> None:
    """Voters that share nothing but easy and hard items: how often groups are found, and kept."""
    rows = []
    for n_classes in (3, 10):
        found = kept = 0
        for draw in range(n_draws):
            model = gl.LatentSML().fit(easy_and_hard(n_classes, np.random.default_rng([draw, n_classes])))
            guard = model.fitted_.grouping.guard  # type: ignore[union-attr]
            found += guard is not None
            kept += model.n_groups_ < model.n_features_in_
        rows.append((n_classes, n_draws, found, kept))
    print_table("Only difficulty is shared", ("C", "draws", "groups found", "groups kept"), rows)


def easy_and_hard(n_classes: int, rng: np.random.Generator, n_items: int = 5000, n_voters: int = 17) -> np.ndarray:
    """Draw votes that are independent given the class and whether an item is easy or hard."""
    y, hard = rng.integers(0, n_classes, n_items), rng.random(n_items) < 0.5
    skill = rng.uniform(0, 1, n_voters)
    right = np.where(hard[:, None], 0.2 + 0.5 * skill, 0.75 + 0.24 * skill)
    wrong = (y[:, None] + rng.integers(1, n_classes, (n_items, n_voters))) % n_classes
    return np.where(rng.random((n_items, n_voters)) < right, y[:, None], wrong)


def speed() -> None:
    """The E-step against numpy, and Dawid-Skene against crowd-kit, on as many votes as the panel of 29 models."""
    with np.load(Path(os.environ["GOLDLESS_DATA"]) / "panels" / "llm_mmlupro_multiclass.npz") as file:
        X = file["votes"]
    codes = X.astype(np.int8)
    model = gl.DawidSkene(missing=-1).fit(X).latent_model_
    passes = GroupedPatterns(PatternTable.of(codes, model.n_symbols), model.groups)
    passes.expect(model)
    steps = race({"goldless": lambda: passes.expect(model), "numpy": lambda: _expect_by_numpy(model, codes)}, 7)
    counts, (labels, log_likelihood) = steps["goldless"][2], steps["numpy"][2]
    np.testing.assert_allclose(counts.labels, labels)
    np.testing.assert_allclose(counts.log_likelihood, log_likelihood)
    fits = race(
        {"goldless": lambda: gl.DawidSkene(missing=-1).fit(X).predict(X)} | _with(X, _crowd_kit(("DawidSkene",)))
    )
    rows = [
        (
            work,
            other,
            *(f"{1e3 * ours[k]:.1f} / {1e3 * theirs[k]:.0f} ms = {theirs[k] / ours[k]:.0f}" for k in (0, 1)),
        )
        for work, found in (("E-step, 10 classes, 29 voters, 12,000 items", steps), ("fit and predict", fits))
        for ours, (other, theirs) in [(found["goldless"], pair) for pair in found.items() if pair[0] != "goldless"]
    ]
    print_table("Speed", ("", "against", "time: ours / theirs = times faster", "CPU"), rows)


def _with(X: np.ndarray, methods: dict) -> dict:
    return {name: lambda method=method: method(X) for name, method in methods.items()}


def _expect_by_numpy(model: gl.TreeModel, codes: np.ndarray) -> tuple[np.ndarray, float]:
    """E-step of independent voters in plain numpy, with all sums of the M-step."""
    log_votes = np.concatenate([np.log(model.votes), np.zeros((*model.votes.shape[:2], 1))], axis=2)
    hub = np.log(model.prior) + log_votes[np.arange(codes.shape[1]), :, codes].sum(axis=1)
    total = logsumexp(hub, axis=1)
    posterior = np.exp(hub - total[:, None])
    votes = np.stack([posterior.T @ (codes == symbol) for symbol in range(model.n_symbols)], axis=2)
    assert votes.shape == (model.n_classes, codes.shape[1], model.n_symbols)
    return posterior.sum(axis=0), float(total.sum())


def _multiclass_panels() -> list[str]:
    index = json.loads((Path(os.environ["GOLDLESS_DATA"]) / "panels" / "index.json").read_text())
    return [name for name, entry in index.items() if entry["multiclass"]]


def _crowd_kit(names: tuple[str, ...] = ("DawidSkene", "OneCoinDawidSkene", "MACE")) -> dict:
    """Return methods of crowd-kit, if it is installed."""
    try:
        import pandas as pd
        from crowdkit import aggregation
    except ImportError:
        return {}

    def label(name: str, X: np.ndarray) -> np.ndarray:
        items, voters = np.nonzero(X >= 0)
        table = pd.DataFrame({"task": items, "worker": voters, "label": X[items, voters].astype(int)})
        found = getattr(aggregation, name)().fit_predict(table)
        labels = np.full(len(X), int(found.mode()[0]))
        labels[found.index.to_numpy()] = found.to_numpy()
        return labels

    return {f"crowd-kit {name}": lambda X, name=name: label(name, X) for name in names}


if __name__ == "__main__":
    warnings.simplefilter("ignore", gl.VotesWarning)
    {"panels": panels, "recovery": recovery, "difficulty": difficulty, "speed": speed}[sys.argv[1]](
        *map(int, sys.argv[2:])
    )
