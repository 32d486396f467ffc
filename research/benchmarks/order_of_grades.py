"""Whether whole numbers are grades or names of classes: how often their order is seen, and how often wrongly.

python -m research.benchmarks.order_of_grades          needs GOLDLESS_DATA

Real panels of grades and of classes, weak grades 1 to 5 that are simulated, and classes whose confusions all voters
share.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goldless.votes.kinds import JUDGED_ITEMS, MOST_GRADES, are_in_order, ranks_as_codes
from research.benchmarks.timing import print_table

_DRAWS = 100
_FEWEST = 4


def real_panels(folder: Path) -> Iterator[tuple[str, str, NDArray[np.int8], int]]:
    """Yield kind, name, codes and number of symbols of panels of grades, then of classes."""
    for file in sorted((folder / "scores").glob("*.npz")):
        with np.load(file, allow_pickle=False) as held:
            scores = held["scores"][:JUDGED_ITEMS]
        levels = np.unique(scores[~np.isnan(scores)])
        if _FEWEST <= len(levels) <= MOST_GRADES and (levels == np.floor(levels)).all():
            yield "grades", file.stem, ranks_as_codes(scores, levels), len(levels)
    for name, entry in json.loads((folder / "panels" / "index.json").read_text(encoding="utf-8")).items():
        if entry["multiclass"]:
            with np.load(folder / "panels" / f"{name}.npz", allow_pickle=False) as held:
                votes = held["votes"][:JUDGED_ITEMS].astype(np.int8)
            if votes.max() + 1 >= _FEWEST:
                yield "classes", name, votes, int(votes.max()) + 1


def weak_grades(n_items: int, apart: float, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return grades of six voters whose two classes are so far apart, in units of a grade, with a noise of 1.2."""
    side = 2 * rng.integers(0, 2, (n_items, 1)) - 1
    grades = np.clip(np.round(3 + apart * side + rng.normal(0, 1.2, (n_items, 6))), 1, 5)
    return (grades - 1).astype(np.int8)


def classes(n_classes: int, evenness: float, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return votes of five voters that share their confusions, right on six in ten items and more."""
    confusion = 0.4 * rng.dirichlet(np.full(n_classes, evenness), n_classes) + 0.6 * np.eye(n_classes)
    cumulated = np.cumsum(confusion, axis=1)[rng.integers(0, n_classes, 500)]
    drawn = (rng.random((500, 5, 1)) > cumulated[:, None, :]).sum(axis=2)
    return np.minimum(drawn, n_classes - 1).astype(np.int8)


def main() -> None:
    """Print both tables."""
    rows = [
        (kind, name, n, "yes" if are_in_order(codes, n) else "no")
        for kind, name, codes, n in real_panels(Path(os.environ["GOLDLESS_DATA"]))
    ]
    print_table("Real panels", ("kind", "panel", "symbols", "in order"), rows)
    rng, rows = np.random.default_rng(1), []
    for apart in (0.2, 0.35, 0.5, 0.8):
        for n in (200, 500, 2000):
            seen = np.mean([are_in_order(weak_grades(n, apart, rng), 5) for _ in range(_DRAWS)])
            rows.append((f"grades 1-5, classes {2 * apart:g} apart, {n} items", f"{100 * seen:.0f}"))
    for n_classes in (4, 5, 6):
        for evenness in (0.3, 1.0, 5.0):
            seen = np.mean([are_in_order(classes(n_classes, evenness, rng), n_classes) for _ in range(_DRAWS)])
            rows.append((f"{n_classes} classes, confusions of evenness {evenness:g}", f"{100 * seen:.0f}"))
    print_table(f"Simulated, {_DRAWS} draws each", ("votes", "in order %"), rows)


if __name__ == "__main__":
    main()
