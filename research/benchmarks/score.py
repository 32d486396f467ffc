"""Score matrix against the numpy sum over pairs (one m x m expression for each pair of voters).

Targets: at least 50 times faster at m = 124; m = 1000 at most 9 times the time of m = 500.
"""

from __future__ import annotations

import numpy as np

import goldless as gl
from goldless.kernels.score import score_by_sets, score_by_sorting
from research.benchmarks.timing import best_of, print_table


def numpy_score(R: np.ndarray) -> np.ndarray:
    """Loop over pairs with numpy inside: the obvious O(m^4) version."""
    m = len(R)
    score = np.zeros((m, m))
    for i in range(m):
        for j in range(i + 1, m):
            others = np.delete(np.arange(m), [i, j])
            terms = np.abs(R[i, j] * R[np.ix_(others, others)] - np.outer(R[others, j], R[i, others]))
            score[i, j] = score[j, i] = terms.sum() - np.trace(terms)
    return score


def covariance(m: int, rng: np.random.Generator) -> np.ndarray:
    """A noisy rank-one covariance, as real ones are."""
    v = rng.uniform(0.1, 0.8, m)
    noise = rng.normal(size=(m, m))
    return np.outer(v, v) + 0.02 * (noise + noise.T)


def main() -> None:
    rng = np.random.default_rng(0)
    gl.score_matrix(covariance(10, rng))
    gl.score_matrix(covariance(230, rng))  # compile both algorithms
    rows, times = [], {}
    for m in (124, 250, 500, 1000):
        R = covariance(m, rng)
        times[m], score = best_of(lambda R=R: gl.score_matrix(R), 5 if m < 300 else 3)
        sets = f"{best_of(lambda R=R: score_by_sets(R), 1)[0]:.3f}" if m <= 500 else "-"
        sorting = f"{best_of(lambda R=R: score_by_sorting(R), 1)[0]:.3f}"
        if m <= 250:
            baseline, expected = best_of(lambda R=R: numpy_score(R), 1)
            agree = np.abs(score - expected).max() / expected.max()
            rows.append(
                (m, f"{times[m]:.4f}", sets, sorting, f"{baseline:.2f}", f"{baseline / times[m]:.0f}", f"{agree:.0e}")
            )
        else:
            rows.append((m, f"{times[m]:.4f}", sets, sorting, "-", "-", "-"))
    header = ("m", "score_matrix s", "by sets s", "by sorting s", "numpy s", "ratio", "relative gap")
    print_table("Score matrix", header, rows)
    print(f"\nm = 1000 takes {times[1000] / times[500]:.1f} times m = 500")


if __name__ == "__main__":
    main()
