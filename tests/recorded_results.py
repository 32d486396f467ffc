"""What binary fits gave when the file of hashes was recorded: labels by hash, rates by a few sums.

``python tests/recorded_results.py`` writes ``recorded/binary.json`` anew; do that only where an issue changes binary
results on purpose.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np

import goldless as gl

RECORD = Path(__file__).parent / "recorded" / "binary.json"
METHODS = {
    "vote": gl.MajorityVote,
    "dawid_skene": gl.DawidSkene,
    "sml_em": gl.SpectralMetaLearner,
    "search": gl.LatentSML,
}


def data_sets(folder):
    """Yield the name, the votes and the label of a missing vote of every binary data set."""
    for part in ("dream", "magic", "simulated", "panels"):
        for path in sorted((folder / part).glob("*.npz")):
            with np.load(path, allow_pickle=False) as file:
                votes, truth = file["votes"], file["truth"]
            if set(np.unique(truth).tolist()) == {-1, 1} and set(np.unique(votes).tolist()) <= {-1, 0, 1}:
                yield f"{part}/{path.stem}", votes


def outcome(model, votes):
    """Return the hash of the labels, and sums of the rates that a change of any of them would change."""
    labels = np.asarray(model.predict(votes), dtype=np.int8)
    probability = model.predict_proba(votes)[:, 1]
    weights = 1 + np.cos(np.arange(votes.shape[1]))
    return {
        "labels": hashlib.sha256(labels.tobytes()).hexdigest()[:16],
        "rates": [
            float(weights @ model.sensitivity_ / weights.sum()),
            float(weights @ model.specificity_ / weights.sum()),
            float(model.class_balance_),
            float(probability.mean()),
        ],
    }


def fitted(method, votes):
    """Fit a method by its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        return METHODS[method](missing=0).fit(votes)


def main():
    """Record all data sets."""
    found = {}
    for name, votes in data_sets(Path(os.environ["GOLDLESS_DATA"])):
        found[name] = {method: outcome(fitted(method, votes), votes) for method in METHODS}
        sys.stderr.write(f"{name}\n")
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
