"""How often groups are named where there are none, and where there are.

``python -m research.benchmarks.naming [seeds]``: independent crowds of 40 workers, 800 tasks and 5 votes each, of two
and of three classes; and dense panels with one group of four among sixteen voters, which labels use or a diagnosis
names.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from research.benchmarks.timing import print_table


def crowd(seed: int, n_classes: int, n_workers: int = 40, n_tasks: int = 800, n_votes: int = 5) -> NDArray:
    """Return votes of independent workers, NaN where they were not asked."""
    rng = np.random.default_rng(seed)
    truth, accuracy = rng.integers(0, n_classes, n_tasks), rng.uniform(0.55, 0.95, (n_workers, n_classes))
    votes = np.full((n_tasks, n_workers), np.nan)
    for task, label in enumerate(truth.tolist()):
        workers = rng.choice(n_workers, n_votes, replace=False)
        wrong = (label + rng.integers(1, n_classes, n_votes)) % n_classes
        votes[task, workers] = np.where(rng.random(n_votes) < accuracy[workers, label], label, wrong)
    return votes


def main(seeds: int) -> None:
    """Print how often groups are used by the labels and named."""
    warnings.simplefilter("ignore")
    rows = []
    for n_classes in (2, 3):
        used, named = 0, 0
        for seed in range(seeds):
            votes = crowd(seed, n_classes)
            model = gl.LatentSML().fit(votes)
            used += int(model.n_groups_ < votes.shape[1])
            named += bool(gl.diagnose(model, votes, resamples=0).groups)
        rows.append((f"independent crowd, {n_classes} classes", str(seeds), str(used), str(named)))
    for n_items in (500, 1000, 2000):
        used, named = 0, 0
        for seed in range(seeds):
            votes, _ = gl.simulate_votes(n_items, groups=[4] + [1] * 12, random_state=seed)
            model = gl.LatentSML().fit(votes)
            four = np.array_equal(np.flatnonzero(model.groups_ == model.groups_[0]), np.arange(4))
            used += int(four)
            named += (0, 1, 2, 3) in gl.diagnose(model, votes, resamples=0).groups
        rows.append((f"a group of four, {n_items} items", str(seeds), str(used), str(named)))
    print_table("groups", ("votes", "seeds", "used by the labels", "named"), rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
