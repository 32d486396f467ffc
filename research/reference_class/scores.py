"""Claims on real panels of numbers, and their part of the table of the reference class.

python -m research.reference_class.scores CLAIMS [TABLE]          needs GOLDLESS_DATA

One line of JSON in CLAIMS for each panel of ``scores/`` (those it holds are not run again), of at most 4,000 rows;
then their part of the table as :mod:`research.reference_class.table` makes it, with what printed probabilities expect
of a way to label as the only feature (what the model itself expects covers 79 %, at 44 points): of 11
families more are not learnt (that of the majority vote beside it covers 79 % in place of 93 %). Class shares are left
out: numbers say next to nothing of them. Nothing but sums leaves a panel.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.report.summarize import summarize
from research.benchmarks.scores import read_panel
from research.reference_class.table import (
    QUANTILES_OF_NUMBERS,
    TABLE,
    WAYS,
    Examples,
    of_labels,
    of_voters,
    part,
    write_parts,
)

_PANEL_OF = 8  # voters from which on a panel is chosen
_LEAST_VOTES = 20  # votes from which on a voter's accuracy is scored


def claims_of(X: NDArray[np.float64], y: NDArray[np.int64]) -> dict[str, Any]:
    """Return what is expected of the ways to label and of every voter, and what is true."""
    model = gl.LatentSML().fit(X)
    diagnosis = gl.diagnose(model, X, resamples=0)
    found = summarize(model, X, truth=y, diagnosis=diagnosis)
    expected = {row.method: row.printed for row in diagnosis.expected}
    expected["panel"] = diagnosis.as_printed(found["panel"]["balanced_accuracy"])
    true = {row["method"]: row["balanced_accuracy"] for row in found["truth"]["methods"]}
    with_all = X.shape[1] >= _PANEL_OF
    true["Dawid-Skene"] = gl.balanced_accuracy(y, gl.DawidSkene().fit(X).predict(X))
    ways = [way for way in WAYS if way in expected and way in true and (with_all or way != "panel")]
    voters = zip(found["voters"], found["truth"]["voters"], (~np.isnan(X)).sum(axis=0), strict=True)
    return {
        "n_items": len(X),
        "n_voters": X.shape[1],
        "n_classes": 2,
        "expected": {way: expected[way] for way in ways},
        "true": {way: true[way] for way in ways},
        "voters": [
            [own["balanced_accuracy"], real["balanced_accuracy"], int(n_votes)]
            for own, real, n_votes in voters
            if real["balanced_accuracy"] is not None and n_votes >= _LEAST_VOTES
        ],
    }


def _by_itself(examples: Examples) -> Examples:
    """Return claims with their own expectation as the only feature, and the quantiles of panels of numbers."""
    location = {name: examples.location[name] for name in ("one", "own")}
    return replace(examples, location=location, quantiles=QUANTILES_OF_NUMBERS)


def examples_of_numbers(rows: list[dict]) -> dict[str, Examples]:
    """Return the claims on panels of numbers, by kind."""
    ways = [way for way in WAYS if any(way in row["expected"] for row in rows)]
    return {**{way: _by_itself(of_labels(rows, way)) for way in ways}, "voter": _by_itself(of_voters(rows))}


def main(claims: Path, table: Path) -> None:
    """Add the claims on each panel to a file, then write the table."""
    done = set()
    if claims.exists():
        done = {json.loads(line)["panel"] for line in claims.read_text(encoding="utf-8").splitlines()}
    for path in sorted((Path(os.environ["GOLDLESS_DATA"]) / "scores").glob("*.npz")):
        if path.stem not in done:
            row = {"panel": path.stem, "family": path.stem.split("_")[0], **claims_of(*read_panel(path))}
            with claims.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    rows = [json.loads(line) for line in claims.read_text(encoding="utf-8").splitlines()]
    write_parts(table, {"numbers": part(rows, examples_of_numbers(rows))})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else TABLE)
