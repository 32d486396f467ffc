"""Pair counts on 10^6 x 124 complete votes against float32 X.T @ X, conversion included. Target: 5 times."""

from __future__ import annotations

import numpy as np

from goldless.votes.pairs import PairTables
from research.benchmarks.timing import best_of, print_table


def main() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (1_000_000, 124), dtype=np.int8)
    PairTables.of(codes[:1000])
    ours, counts = best_of(lambda: PairTables.of(codes))

    def product() -> np.ndarray:
        X = codes.astype(np.float32)
        return X.T @ X

    baseline, expected = best_of(product)
    assert np.abs(counts.both_positive - expected).max() <= 1  # float32 is not exact at this size, we are
    with_missing = codes.copy()
    with_missing[::3, ::2] = -1
    PairTables.of(with_missing[:1000])
    missing, _ = best_of(lambda: PairTables.of(with_missing))
    print_table(
        "Pair counts, 10^6 x 124",
        ("popcount s", "with missing votes s", "float32 product s", "ratio"),
        [(f"{ours:.3f}", f"{missing:.3f}", f"{baseline:.3f}", f"{baseline / ours:.1f}")],
    )


if __name__ == "__main__":
    main()
