"""Signs that go before a disaster on real panels: their deciles, and whom the rule of ``fitting/risk.py`` names.

python -m research.reference_class.risk RESULTS          needs GOLDLESS_DATA

A disaster is a panel whose labels are 4 points or more below the majority vote, or below 60 %. The 75 panels have few
of them, so the rule was chosen on panels made of these as well: random parts of their voters and items, panels of
more classes with one class against the rest, panels of numbers cut at the median of each voter. RESULTS gets one line
of JSON for each panel; panels that it holds are not fitted again.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.fitting.risk import Risk

_FAR_BELOW = 0.04
_TOO_LOW = 0.6
_CLASSES = 4  # of more, each against the rest
_PARTS = 6  # of each panel
_MOST_ITEMS = 2500  # of what is made of panels
_FEWEST_VOTERS, _FEWEST_ITEMS, _FEWEST_OF_CLASS = 4, 30, 5


def made_of_panels(folder: Path) -> Iterator[tuple[str, NDArray, NDArray]]:
    """Yield name, votes and truth of the panels of two classes, then of panels made of them and of others."""
    index = json.loads((folder / "panels" / "index.json").read_text(encoding="utf-8"))
    two = {name: _loaded(folder / "panels" / f"{name}.npz") for name in index if not index[name]["multiclass"]}
    for name, (X, y) in two.items():
        yield name, X, y
    for name in index:
        if index[name]["multiclass"]:
            X, y = _loaded(folder / "panels" / f"{name}.npz")
            labels, counts = np.unique(y, return_counts=True)
            for label in labels[np.argsort(-counts)][:_CLASSES]:
                votes = np.where(X < 0, 0, np.where(label == X, 1, -1)).astype(np.int8)
                yield f"{name}/{label}", *_some(f"{name}/{label}", votes, np.where(y == label, 1, -1))
    for file in sorted((folder / "scores").glob("*.npz")):
        scores, y = _loaded(file, "scores")
        above = np.where(scores > np.nanmedian(scores, axis=0), 1, -1)
        yield f"{file.stem}/cut", *_some(f"{file.stem}/cut", np.where(np.isnan(scores), 0, above).astype(np.int8), y)
    for part in range(_PARTS):
        for name, (X, y) in two.items():
            yield f"{name}/part {part}", *_part(f"{name}/part {part}", X, y)


def _loaded(path: Path, votes: str = "votes") -> tuple[NDArray, NDArray]:
    with np.load(path, allow_pickle=False) as file:
        return file[votes], file["truth"]


def _some(name: str, X: NDArray, y: NDArray, n_items: int = _MOST_ITEMS) -> tuple[NDArray, NDArray]:
    """Return a random choice of the items, the same for the same name."""
    rows = np.sort(np.random.default_rng(crc32(name.encode())).permutation(len(y))[:n_items])
    return X[rows], y[rows]


def _part(name: str, X: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Return a random part of a panel, its size drawn evenly on the scale of logarithms."""
    rng = np.random.default_rng(crc32(name.encode()))
    least, most = np.log([min(40, len(y)), 5]), np.log([min(len(y), _MOST_ITEMS), max(5, min(X.shape[1], 150))])
    n_items, n_voters = np.exp(rng.uniform(least, most)).astype(np.int64)
    voters = np.sort(rng.permutation(X.shape[1])[:n_voters])
    return _some(name, X[:, voters], y, int(n_items))


def signs_of(X: NDArray, y: NDArray) -> dict[str, Any] | None:
    """Return the signs of a panel, how good its labels are and how good majority's; None for too small a panel."""
    voters, items = (X != 0).any(axis=0), (X != 0).any(axis=1)
    X, y = X[np.ix_(items, voters)], y[items]
    if X.shape[1] < _FEWEST_VOTERS or len(y) < _FEWEST_ITEMS or min((y > 0).sum(), (y < 0).sum()) < _FEWEST_OF_CLASS:
        return None
    missing = 0 if (X == 0).any() else None
    model = gl.LatentSML(missing=missing).fit(X)
    assert model.fitted_.risk is not None
    majority = gl.MajorityVote(missing=missing).fit(X).score(X, y)
    return {**asdict(model.fitted_.risk), "true": gl.balanced_accuracy(y, model.predict(X)), "majority": majority}


def announced(rows: list[dict]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return how many disasters the rule announces, and how many others: of the panels, and of those made of them."""
    risks, failed = _risks(rows), _failed(rows)

    def counts(some: list[str], disaster: bool) -> tuple[int, int]:
        high = [risks[name].high for name in some if failed[name] == disaster]
        return sum(high), len(high)

    kinds = {"panels": [name for name in risks if "/" not in name], "made of panels": [n for n in risks if "/" in n]}
    return {
        kind: {"disasters": counts(some, True), "others": counts(some, False)} for kind, some in kinds.items() if some
    }


def _risks(rows: list[dict]) -> dict[str, Risk]:
    return {row["panel"]: Risk(**{field.name: row[field.name] for field in fields(Risk)}) for row in rows}


def _failed(rows: list[dict]) -> dict[str, bool]:
    """Return whether each panel is a disaster."""
    return {row["panel"]: row["true"] <= row["majority"] - _FAR_BELOW or row["true"] < _TOO_LOW for row in rows}


def main(results: Path) -> None:
    """Print the deciles, and what is caught: of the panels themselves, and of those made of them."""
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []
    done = {row["panel"] for row in rows}
    for name, X, y in made_of_panels(Path(os.environ["GOLDLESS_DATA"])):
        if name in done or (signs := signs_of(X, y)) is None:
            continue
        rows.append({"panel": name, **signs})
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[-1]) + "\n")
    risks, failed = _risks(rows), _failed(rows)
    whole = [name for name in risks if "/" not in name]
    signs = {
        "_ITEMS_PER_VOTER": [risks[name].n_items / risks[name].n_voters for name in whole],
        "_OWN_EXPECTATION": [risks[name].own for name in whole],
        "_CHANGED": [risks[name].changed for name in whole],
    }
    for sign, values in signs.items():
        deciles = np.quantile(values, np.linspace(0, 1, 11))
        sys.stdout.write(f"{sign} = ({', '.join(f'{decile:.4g}' for decile in deciles)})\n")
    sums = {name: risks[name].rank for name in whole}
    sys.stdout.write(f"a third of the panels: up to {np.quantile(list(sums.values()), 1 / 3):.3f}\n")
    for name in whole:
        if failed[name]:
            sys.stdout.write(f"{name}: {sums[name]:.2f}, {'at risk' if risks[name].high else 'not told'}\n")
    for kind, counts in announced(rows).items():
        told = "{} of {} disasters, {} of {} others".format(*counts["disasters"], *counts["others"])
        sys.stdout.write(f"{kind}: {told}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
