"""Write the votes of the demo: python -m research.experiments.demo_votes."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import goldless
from research.experiments.ensemble import family_makers, named_ensemble, votes_of

FILE = Path(goldless.__file__).parent / "cli" / "demo_votes" / "digits.csv.gz"
_TRAINING_POOL, _TRAINED_ON = 400, 150
_PARITY = ("even", "odd")


def train_voters(seed: int = 0) -> tuple[list[str], NDArray[np.int64], NDArray[np.int8], NDArray[np.int8]]:
    """Train the sixteen on digits of scikit-learn; return their names, and items, votes and truth of the others.

    As in the paper's UCI experiments: random forests, boosted trees in place of logistic model trees, support vector
    machines and naive Bayes, each trained on its own random subset.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    features, odd = digits.data, digits.target % 2
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(odd))
    pool, voted_on = shuffled[:_TRAINING_POOL], np.sort(shuffled[_TRAINING_POOL:])
    ensemble = named_ensemble(family_makers(), seed)
    training = [rng.choice(pool, _TRAINED_ON, replace=False) for _ in ensemble]
    votes = votes_of(ensemble, features, odd, training, voted_on)
    return [name for name, _ in ensemble], voted_on, votes, odd[voted_on].astype(np.int8)


def main() -> None:
    """Write the file."""
    names, items, votes, truth = train_voters()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["item", *names, "truth"])
    for item, row, right in zip(items, votes, truth, strict=True):
        writer.writerow([f"digit {item}", *(_PARITY[vote] for vote in row), _PARITY[right]])
    FILE.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
