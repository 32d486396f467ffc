"""How often what we claim of real panels held: the record behind "What to expect of labels".

python -m research.reference_class.record LABELS NUMBERS RISK [RECORD]

LABELS, NUMBERS and RISK are what ``claims``, ``scores`` and ``risk`` of this folder wrote. The record holds sums over
panels and families of panels; each family is judged by a table that was made without it.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

import goldless
from goldless.whole_file import whole_file
from research.experiments.runner import one_thread
from research.reference_class.risk import announced
from research.reference_class.scores import examples_of_numbers
from research.reference_class.table import (
    WAYS,
    Examples,
    comparison,
    coverage,
    examples_of_labels,
    judged_ones,
    left_out,
    stated,
)

RECORD = Path(__file__).parents[2] / "docs" / "expect.json"
_MATTERS = 0.005
_CLEARLY = 0.01


def by_family(examples: Examples) -> dict[str, Any]:
    """Return coverage and median width of intervals whose family was left out, of all and of each family."""
    held, width = left_out(examples)
    shown = judged_ones(examples)
    of_family = {str(name): shown[examples.family[shown] == name] for name in np.unique(examples.family[shown])}
    return {
        "covered": coverage(examples, held, shown),
        "width": float(np.median(width[shown])),
        "panels": len(np.unique(examples.panel[shown])),
        "families": {
            name: [coverage(examples, held, some), len(np.unique(examples.panel[some]))]
            for name, some in of_family.items()
        },
    }


def if_the_model_held(rows: list[dict]) -> dict[str, Any]:
    """Return how often the model's own 95 % interval of the combined labels held, and how far off it was."""
    expected, true = (np.array([row[of]["combined"] for row in rows]) for of in ("expected", "true"))
    low, high = np.array([row["model_interval"]["combined"] for row in rows]).T
    return {
        "panels": len(rows),
        "held": int(((low <= true) & (true <= high)).sum()),
        "too_high_by": float((expected - true).mean()),
    }


def advice(rows: list[dict], way: str) -> dict[str, int]:
    """Return on how many panels the model expects more of another way than of its own labels; how often rightly."""
    least = 0 if way == "majority vote" else _CLEARLY
    said = [row for row in rows if row["expected"][way] > row["expected"]["combined"] + least]
    gains = [row["true"][way] - row["true"]["combined"] for row in said]
    return {
        "expected": len(said),
        "better": sum(gain > _MATTERS for gain in gains),
        "worse": sum(gain < -_MATTERS for gain in gains),
    }


def made(labels: list[dict], numbers: list[dict], risks: list[dict]) -> dict[str, Any]:
    """Return the record."""
    two = [row for row in labels if row["n_classes"] == 2]
    examples = {**examples_of_labels(labels), "numbers": examples_of_numbers(numbers)}
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "goldless": goldless.__version__,
        "coverage": {
            part: {name: by_family(some) for name, some in claims.items()} for part, claims in examples.items()
        },
        "model": if_the_model_held(two),
        "better_than_majority": {
            "said": stated(two, "majority vote"),
            "true": comparison(two, "majority vote")["held"],
        },
        "advice": {way: advice(two, way) for way in ("majority vote", "voter thought best")},
        "true": {way: float(np.mean([row["true"][way] for row in two])) for way in WAYS if way != "panel"},
        "risk": announced(risks),
    }


def _read(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return round(value, 4) if isinstance(value, float) else value


def main(labels: str, numbers: str, risks: str, record: str | Path = RECORD) -> None:
    """Write the record."""
    with one_thread():
        found = _rounded(made(_read(labels), _read(numbers), _read(risks)))
    with whole_file(Path(record)) as draft:
        draft.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
