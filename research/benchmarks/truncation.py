"""Rows that nobody called: what at least one caller calls, fitted as it is and as the truncated table that it is.

``python -m research.benchmarks.truncation``: balanced error on the rows seen beside that of a fit of the complete
table, and the number of unseen rows with its interval; means over ten draws.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import goldless as gl
from research.benchmarks.timing import print_table

ITEMS, DRAWS = 20_000, 10
GROUPED = [0, 0, 0, 1, 2, 3, 4]
CASES = {  # callers, share of real variants, callers in one group, structure
    "7 callers": (7, 0.3, 0, "search"),
    "5 callers, rare": (5, 0.1, 0, "independent"),
    "5 callers, rare, groups searched": (5, 0.1, 0, "search"),
    "3 of 7 in a group, known": (7, 0.3, 3, GROUPED),
    "3 of 7 in a group, searched": (7, 0.3, 3, "search"),
}


def draw(n_voters: int, share: float, n_grouped: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the calls of all candidate sites, and which are real."""
    rng = np.random.default_rng(seed)
    real = rng.random(ITEMS) < share
    source = np.where(real, rng.random(ITEMS) < 0.85, rng.random(ITEMS) < 0.15)
    calls = []
    for voter in range(n_voters):
        of = source if voter < n_grouped else real
        sensitivity = 0.9 if voter < n_grouped else rng.uniform(0.55, 0.9)
        specificity = 0.93 if voter < n_grouped else rng.uniform(0.85, 0.97)
        calls.append(np.where(of, rng.random(ITEMS) < sensitivity, rng.random(ITEMS) >= specificity))
    return np.stack(calls, axis=1).astype(np.int8), real.astype(np.int8)


def errors_of(case: tuple, seed: int) -> list[float]:
    """Return balanced errors of the three fits in per cent, unseen rows found and true, if the interval holds."""
    *drawn, structure = case
    votes, truth = draw(*drawn, seed)
    seen = votes.any(axis=1)
    models = (
        gl.LatentSML(structure=structure).fit(votes),
        gl.LatentSML(structure=structure).fit(votes[seen]),
        gl.LatentSML(structure=structure, at_least=1).fit(votes[seen]),
    )
    errors = [100 * gl.balanced_error(truth[seen], model.predict(votes[seen])) for model in models]
    unseen, n_true = models[-1].unseen_, float((~seen).sum())
    return [*errors, unseen.items, n_true, float(unseen.interval[0] <= n_true <= unseen.interval[1])]


def main() -> None:
    rows = []
    for name, case in CASES.items():
        if len(sys.argv) > 1 and sys.argv[1] not in name:
            continue
        found = np.array([errors_of(case, seed) for seed in range(DRAWS)])
        complete, as_is, corrected, unseen, n_true, _ = found.mean(axis=0)
        worst = (found[:, 2] - found[:, 0]).max()
        figures = (complete, as_is, corrected, corrected - complete, worst)
        counts = (f"{unseen:,.0f}", f"{n_true:,.0f}", f"{found[:, 5].sum():.0f} of {DRAWS}")
        rows.append([name, *(f"{figure:.2f}" for figure in figures), *counts])
    titles = ["case", "complete %", "as is %", "truncated %", "difference", "worst draw", "unseen", "true", "covered"]
    print_table("Balanced error on the rows seen, mean of ten draws", titles, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", gl.VotesWarning)
    main()
