"""Make the table of the reference class from claims on real panels, and say how often its intervals held.

python -m research.reference_class.table CLAIMS [TABLE]

CLAIMS is what ``research.reference_class.claims`` wrote. The truth, as a share of the way from chance to certainty,
is regressed on features by a Student t of 5 degrees of freedom; families of panels count by the square root of their
size, and voters of a panel together as one. Quantiles come from errors on families that were left out. Coverage is
nested: the family that is judged is left out of the regression and of the quantiles.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

import goldless
from goldless.diagnosis.reference_class import FILE, VERSION, log_odds_above_chance, share_of

TABLE = Path(goldless.__file__).parent / "diagnosis" / FILE
LEVEL = 0.9
# With 21 families the errors of one family left out are wider than those of the others: these cover nine in ten.
_QUANTILES = (0.04, 0.96)
_QUANTILES_OF_SHARES = (0.05, 0.95)  # whose errors are symmetric by construction
_QUANTILES_OF_MORE = (0.02, 0.98)  # of more than two classes there are few panels, of which those of two hold 82 %
QUANTILES_OF_NUMBERS = (0.05, 0.95)  # those of the other labels cover 98 % of panels of numbers
_FREEDOM = 5.0
_RIDGE = 0.002
WAYS = ("combined", "Dawid-Skene", "majority vote", "voter thought best", "panel")


@dataclass(frozen=True, eq=False)
class Examples:
    """Claims of one kind: features by name, the truth on the scale of the claim, families, weights, classes."""

    scale: str
    location: dict[str, NDArray[np.float64]]
    spread: dict[str, NDArray[np.float64]]
    truth: NDArray[np.float64]
    family: NDArray[np.str_]
    weights: NDArray[np.float64]
    n_classes: NDArray[np.int64]
    panel: NDArray[np.int64]
    quantiles: tuple[float, float] = _QUANTILES

    def take(self, chosen: NDArray) -> Examples:
        """Return some of them."""
        return Examples(
            self.scale,
            {name: values[chosen] for name, values in self.location.items()},
            {name: values[chosen] for name, values in self.spread.items()},
            self.truth[chosen], self.family[chosen], self.weights[chosen], self.n_classes[chosen],
            self.panel[chosen], self.quantiles,
        )  # fmt: skip

    def families(self) -> Iterator[tuple[NDArray[np.bool_], Examples]]:
        """Yield each family, and what is left without it."""
        for family in np.unique(self.family):
            out = self.family == family
            yield out, self.take(~out)


def on_scale(share: ArrayLike, n_classes: ArrayLike, scale: str) -> NDArray[np.float64]:
    """Return shares on the scale of a claim: from 0 at chance to 1 ("share"), or as log-odds above chance."""
    if scale == "log-odds":
        return log_odds_above_chance(share, n_classes)
    chance = 1 / np.asarray(n_classes)
    return (np.asarray(share, dtype=np.float64) - chance) / (1 - chance)


def regress(examples: Examples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the coefficients of location and of the logarithm of the spread: Student t, a little ridge."""
    of_location, of_spread = (np.column_stack(list(part.values())) for part in (examples.location, examples.spread))
    truth, weights, n_location = examples.truth, examples.weights, of_location.shape[1]
    slopes = np.array([name != "one" for name in (*examples.location, *examples.spread)])
    ridge = _RIDGE * weights.sum() * slopes

    def loss(both: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        log_size = of_spread @ both[n_location:]
        error = (truth - of_location @ both[:n_location]) / np.exp(log_size)
        far = 1 + error**2 / _FREEDOM
        value = weights @ (log_size + (_FREEDOM + 1) / 2 * np.log(far))
        by_error = weights * (_FREEDOM + 1) * error / (_FREEDOM * far)
        gradient = [-of_location.T @ (by_error / np.exp(log_size)), of_spread.T @ (weights - by_error * error)]
        return float(value + ridge @ both**2), np.concatenate(gradient) + 2 * ridge * both

    start = np.zeros(len(slopes))
    start[n_location] = np.log(np.std(truth) + 1e-3)
    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return found[:n_location], found[n_location:]


def standardised(examples: Examples, coefficients: tuple[NDArray, NDArray]) -> NDArray[np.float64]:
    """Return errors in units of their expected size."""
    location, spread = _predicted(examples, coefficients)
    return (examples.truth - location) / spread


def _predicted(examples: Examples, coefficients: tuple[NDArray, NDArray]) -> tuple[NDArray, NDArray]:
    location = np.column_stack(list(examples.location.values())) @ coefficients[0]
    return location, np.exp(np.column_stack(list(examples.spread.values())) @ coefficients[1])


def quantiles(examples: Examples) -> NDArray[np.float64]:
    """Return the quantiles of errors on families left out."""
    errors = np.empty(len(examples.truth))
    for out, rest in examples.families():
        errors[out] = standardised(examples.take(out), regress(rest))
    order = np.argsort(errors)
    weights = examples.weights[order]
    return np.interp(examples.quantiles, (np.cumsum(weights) - weights / 2) / weights.sum(), errors[order])


def left_out(examples: Examples) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return whether the interval of each claim, its family left out, holds the truth, and how wide it is."""
    held, width = np.empty(len(examples.truth), dtype=bool), np.empty(len(examples.truth))
    for out, rest in examples.families():
        here = examples.take(out)
        location, spread = _predicted(here, regress(rest))
        ends = location[:, None] + spread[:, None] * quantiles(rest)
        shares = share_of(ends, here.n_classes[:, None], examples.scale)
        held[out] = (ends[:, 0] <= here.truth) & (here.truth <= ends[:, 1])
        width[out] = shares[:, 1] - shares[:, 0]
    return held, width


def judged_ones(examples: Examples) -> NDArray[np.intp]:
    """Return the claims that are judged: where panels of more than two classes are among them, it is these."""
    many = examples.n_classes > 2
    return np.flatnonzero(many if many.any() else ~many)


def judged(examples: Examples) -> tuple[float, float]:
    """Return the coverage, panels counting once, and the median width of intervals of families left out."""
    held, width = left_out(examples)
    shown = judged_ones(examples)
    return coverage(examples, held, shown), float(np.median(width[shown]))


def coverage(examples: Examples, held: NDArray[np.bool_], shown: NDArray[np.intp]) -> float:
    """Return the share of the claims shown that held: the mean over panels of that of each."""
    panel = examples.panel[shown]
    return float(np.mean([held[shown][panel == number].mean() for number in np.unique(panel)]))


def claim(examples: Examples) -> dict[str, Any]:
    """Return the entry of one kind of figure."""
    location, spread = regress(examples)
    low, high = quantiles(examples)
    covered, width = judged(examples)
    return {
        "scale": examples.scale,
        "location": dict(zip(examples.location, location.round(4).tolist(), strict=True)),
        "spread": dict(zip(examples.spread, spread.round(4).tolist(), strict=True)),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
        "covered": round(covered, 3),
        "width": round(width, 3),
        "n_panels": len(np.unique(examples.panel)),
    }


# -- what was claimed ---------------------------------------------------------------------------------------


def of_labels(rows: list[dict], way: str) -> Examples:
    """Return claims on a way to label: its own expectation, and that of majority."""
    rows = [row for row in rows if way in row["expected"]]

    def own(of: str) -> Callable[[dict], float]:
        return lambda row: float(log_odds_above_chance(row["expected"][of], row["n_classes"]))

    location = {"one": lambda row: 1.0, "own": own(way)}
    if way != "majority vote":
        location["majority"] = own("majority vote")
    truth = np.array([float(on_scale(row["true"][way], row["n_classes"], "share")) for row in rows])
    return _examples("share", rows, location, {"one": lambda row: 1.0}, truth)


def _examples(scale: str, rows: list[dict], location: dict, spread: dict, truth: NDArray) -> Examples:
    family = np.array([row["family"] for row in rows])
    return Examples(
        scale,
        {name: np.array([of(row) for row in rows]) for name, of in location.items()},
        {name: np.array([of(row) for row in rows]) for name, of in spread.items()},
        truth, family, _by_family(family), np.array([row["n_classes"] for row in rows]), np.arange(len(rows)),
    )  # fmt: skip


def _by_family(family: NDArray[np.str_]) -> NDArray[np.float64]:
    _, inverse, sizes = np.unique(family, return_inverse=True, return_counts=True)
    return 1 / np.sqrt(sizes[inverse])


def of_voters(rows: list[dict]) -> Examples:
    """Return claims on single voters: their own expectation, and one over the root of their votes for the spread."""
    rows = [row for row in rows if row["voters"]]
    weight = _by_family(np.array([row["family"] for row in rows]))
    own, few, truth, panel = [], [], [], []
    for number, row in enumerate(rows):
        for expected, true, n_votes, *_ in row["voters"]:
            own.append(float(log_odds_above_chance(expected, row["n_classes"])))
            few.append(n_votes**-0.5)
            truth.append(float(on_scale(true, row["n_classes"], "share")))
            panel.append(number)
    of_panel = np.array(panel)
    one = np.ones(len(own))
    return Examples(
        "share",
        {"one": one, "own": np.array(own)},
        {"one": one, "few": np.array(few)},
        np.array(truth),
        np.array([row["family"] for row in rows])[of_panel],
        weight[of_panel] / np.bincount(of_panel)[of_panel],
        np.array([row["n_classes"] for row in rows])[of_panel],
        of_panel,
    )


def of_shares(rows: list[dict]) -> Examples:
    """Return claims on the share of a class, of two classes both: which one is called positive must not matter."""
    rows = [row for row in rows if row["n_classes"] == 2]
    estimate = np.array([row["class_shares"] for row in rows]).ravel()
    true = np.array([row["true_shares"] for row in rows]).ravel()
    panel = np.repeat(np.arange(len(rows)), 2)
    family = np.array([row["family"] for row in rows])
    own = log_odds_above_chance(estimate, 2)
    return Examples(
        "log-odds",
        {"own": own},
        {"one": np.ones(len(own)), "rare": np.abs(own)},
        on_scale(true, 2, "log-odds"),
        family[panel], _by_family(family)[panel], np.full(len(own), 2), panel, _QUANTILES_OF_SHARES,
    )  # fmt: skip


def comparison(rows: list[dict], way: str) -> dict[str, Any]:
    """Return how often the combined labels were better; as good counts half."""
    gains = np.array([row["true"]["combined"] - row["true"][way] for row in rows if way in row["expected"]])
    return {"held": round(float((gains > 0).mean() + (gains == 0).mean() / 2), 3), "n_panels": len(gains)}


def stated(rows: list[dict], way: str) -> float:
    """Return how often, in the mean over panels, panels of other families say that the combined labels are better."""
    rows = [row for row in rows if way in row["expected"]]
    others = [[other for other in rows if other["family"] != row["family"]] for row in rows]
    return float(np.mean([comparison(of, way)["held"] for of in others]))


def part(rows: list[dict], claims: dict[str, Examples]) -> dict[str, Any]:
    """Return a part of the table: the panels that it is judged on, and what was claimed of them."""
    ways = [way for way in WAYS[1:] if any(way in row["expected"] for row in rows)]
    return {
        "panels": [row["panel"] for row in rows],
        "claims": {name: claim(examples) for name, examples in claims.items()},
        "comparisons": {way: comparison(rows, way) for way in ways},
    }


def examples_of_labels(rows: list[dict]) -> dict[str, dict[str, Examples]]:
    """Return the claims on votes of two classes and of more, by kind; the latter are learnt from all panels."""
    two, more = _two(rows), _more(rows)
    of_two = {**{way: of_labels(two, way) for way in WAYS}, "voter": of_voters(two), "class share": of_shares(two)}
    of_all = {**{way: of_labels([*two, *more], way) for way in WAYS}, "voter": of_voters([*two, *more])}
    wider = {name: replace(examples, quantiles=_QUANTILES_OF_MORE) for name, examples in of_all.items()}
    return {"two classes": of_two, "more classes": wider}


def _two(rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["n_classes"] == 2]


def _more(rows: list[dict]) -> list[dict]:
    """Return panels of more than two classes of which the model expects more than a guess."""
    return [row for row in rows if row["n_classes"] > 2 and row["expected"]["combined"] > 1.1 / row["n_classes"]]


def parts_of_labels(rows: list[dict]) -> dict[str, dict[str, Any]]:
    """Return the parts of votes of two classes and of more."""
    examples = examples_of_labels(rows)
    return {
        name: part(some, examples[name])
        for name, some in (("two classes", _two(rows)), ("more classes", _more(rows)))
    }


def write_parts(table: Path, parts: dict[str, dict[str, Any]]) -> None:
    """Put parts in the place of those of the same name in a table, and say how often their intervals held."""
    known = json.loads(table.read_text(encoding="utf-8")) if table.exists() else {}
    found = {**known, "version": VERSION, "level": LEVEL, **parts}
    table.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for name, entries in parts.items():
        for kind, entry in entries["claims"].items():
            sys.stdout.write(f"{name}, {kind}: {100 * entry['covered']:.1f} %, {100 * entry['width']:.1f} points\n")
        sys.stdout.write(f"{name}: {json.dumps(entries['comparisons'])}\n")


def main(claims: Path, table: Path) -> None:
    """Write the parts of labels."""
    rows = [json.loads(line) for line in claims.read_text(encoding="utf-8").splitlines()]
    found = parts_of_labels(rows)
    write_parts(table, found)
    for way in WAYS[1:]:
        said = stated([row for row in rows if row["n_classes"] == 2], way)
        true = found["two classes"]["comparisons"][way]["held"]
        sys.stdout.write(f"better than {way}: {100 * said:.1f} % said by other families, {100 * true:.1f} % true\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else TABLE)
