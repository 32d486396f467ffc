"""The paper's DREAM tables and artificial data with structure="paper". Needs GOLDLESS_DATA."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

import goldless as gl
from research.benchmarks.timing import print_table

PAPER = {
    "S1": (6.1, 1.7, 2.8, 1.7, 1.7, 1.6),
    "S2": (8.7, 1.8, 4.0, 2.8, 2.8, 2.3),
    "S3": (8.3, 2.5, 4.3, 2.3, 2.3, 1.8),
}
PAPER_FIVE = {"S1": (3.2, 2.3, 1.9, 2.0), "S2": (4.3, 4.1, 2.5, 2.8), "S3": (2.9, 2.9, 2.8, 2.5)}


def five_by_accuracy(accuracy: np.ndarray) -> np.ndarray:
    return np.argsort(-accuracy, kind="stable")[:5]


def dream() -> None:
    rows, rows_five = [], []
    for name, paper in PAPER.items():
        with np.load(Path(os.environ["GOLDLESS_DATA"]) / "dream" / f"{name}.npz") as file:
            X, y = file["votes"], file["truth"]
        models = {
            "vote": gl.MajorityVote().fit(X),
            "sml": gl.SpectralMetaLearner().fit(X),
            "oracle": gl.OracleCI().fit(X, y),
            "lsml": gl.LatentSML(structure="paper").fit(X),
        }
        single = np.array([100 * gl.balanced_error(y, column) for column in X.T])
        errors = [single.mean(), single.min(), *(100 * gl.balanced_error(y, m.predict(X)) for m in models.values())]
        rows.append((name, *(f"{e:.2f} ({p})" for e, p in zip(errors, paper, strict=True)), models["lsml"].n_groups_))
        panels = [five_by_accuracy(models[k].balanced_accuracy_) for k in ("vote", "sml", "oracle")]
        panels.append(gl.select_voters(models["lsml"].latent_model_, 5))
        five = [100 * gl.balanced_error(y, gl.MajorityVote().fit_predict(X[:, panel])) for panel in panels]
        latent = 100 * gl.balanced_error(y, models["lsml"].subset(panels[-1]).predict(X[:, panels[-1]]))
        rows_five.append(
            (name, *(f"{e:.2f} ({p})" for e, p in zip(five, PAPER_FIVE[name], strict=True)), f"{latent:.2f}")
        )
    header = ("", "mean", "best", "vote", "SML+EM", "Oracle-CI", "L-SML", "K")
    print_table("DREAM, all voters: balanced error % (paper)", header, rows)
    header = ("", "vote", "SML+EM", "Oracle-CI", "L-SML", "L-SML panel by latent model")
    print_table("DREAM, five voters by simple vote: balanced error % (paper)", header, rows_five)


def artificial(n_draws: int = 10) -> None:
    rows = []
    for size in range(1, 11):
        errors, recovered = [], 0
        for draw in range(n_draws):
            sizes = [size] + [1] * (20 - size)
            X, y, truth = gl.simulate_votes(10_000, sizes, random_state=1000 * size + draw, return_model=True)
            known_count = gl.LatentSML(structure="paper", paper=gl.PaperOptions(n_groups=21 - size)).fit(X)
            recovered += np.array_equal(known_count.groups_, truth.groups)
            methods = [
                gl.MajorityVote().fit(X),
                gl.SpectralMetaLearner().fit(X),
                gl.LatentSML(structure="paper").fit(X),
                gl.LatentSML(structure=truth.groups).fit(X),
                gl.OracleLatent(truth).fit(X),
            ]
            errors.append([100 * gl.balanced_error(y, method.predict(X)) for method in methods])
        rows.append((size, *(f"{e:.2f}" for e in np.mean(errors, axis=0)), f"{recovered}/{n_draws}"))
    header = ("size of G1", "vote", "SML+EM", "L-SML paper", "L-SML true groups", "Oracle-L", "recovered, K known")
    print_table("Artificial data, m = 20, n = 10^4: balanced error %", header, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", gl.VotesWarning)
    dream()
    artificial()
