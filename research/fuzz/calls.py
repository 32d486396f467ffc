"""Odd calls: any estimator, parameters and votes give an answer that holds all we promise, or a refusal of a line."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.base import clone

import goldless as gl
from research.fuzz.campaign import Failure
from research.fuzz.promises import Refused, attempt, check_labels

_ROUNDING = 1e-9  # of sums over voters in another order
_EXCHANGES = 5000  # of voters that are tried


def prepare(folder: Path) -> None:
    """Nothing is made."""


def trial(made: None, rng: np.random.Generator, folder: Path) -> str:
    """Fit, ask, and ask again what must not change the answer."""
    X = votes(rng)
    model = estimator(rng)
    call = Call(model, X, _facts(rng, X, model))
    try:
        attempt(lambda: model.fit(dressed(X, rng), **call.facts))
    except Refused:
        return "refused"
    check_labels(model, X, X.shape[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call.check_laws(rng)
    method = [None, "diagnose", "select", "ask", "explain", "audit", "save"][rng.integers(7)]
    try:
        _also(model, X, method, rng, folder)
    except Refused:
        return f"answered, {method} refused"
    return "answered"


@dataclass
class Call:
    """A fitted estimator with the votes and facts of its fit, and the laws its answers obey."""

    model: Any
    X: np.ndarray
    facts: dict[str, Any]

    def check_laws(self, rng: np.random.Generator) -> None:
        """Raise if an answer depends on what it must not depend on."""
        n, m = self.X.shape
        straight = self.model.predict_proba(self.X)
        rows, columns = rng.permutation(n), rng.permutation(m)
        _same("asked in another order", self.model.predict_proba(self.X[rows]), straight[rows], 0)
        turned = self._refitted(self.X[rows], self._with_rows(rows))
        _same("rows in another order", turned.predict_proba(self.X), straight, 0)
        other = os.environ.get("GOLDLESS_NUM_THREADS")
        os.environ["GOLDLESS_NUM_THREADS"] = "3"
        try:
            _same("three threads", self._refitted(self.X, self.facts).predict_proba(self.X), straight, 0)
        finally:
            os.environ.pop("GOLDLESS_NUM_THREADS")
            if other is not None:
                os.environ["GOLDLESS_NUM_THREADS"] = other
        turned = self._refitted(self.X[:, columns], self._with_columns(columns), **self._structure(columns))
        self._check_exchanged(turned.predict_proba(self.X[:, columns]), straight)
        if not self.facts:
            cut = int(rng.integers(1, n + 1))
            blocks = [self.X[start : start + cut] for start in range(0, n, cut)]
            _same("blocks", self._refitted(blocks, {}, **self._kind).predict_proba(self.X), straight, 0)
        if self.X.dtype == object and not self.facts and self.model.get_params().get("missing") is None:
            named = np.array([[None if vote is None else f"label {vote}" for vote in row] for row in self.X], object)
            renamed = self._refitted(named, {})
            _same("labels of other names", renamed.predict_proba(named), straight, 0)
            if [f"label {name}" for name in self.model.classes_] != renamed.classes_.tolist():
                raise Failure(f"classes {self.model.classes_} are called {renamed.classes_}")

    def _check_exchanged(self, turned: np.ndarray, straight: np.ndarray) -> None:
        """Raise if voters in another order give another answer.

        Where voters can be exchanged so that the votes stay what they are, but for the order of items, nothing tells
        which of them is which: then the answers must be the same of items so exchanged.
        """
        if not np.abs(turned - straight).max() <= _ROUNDING:
            tried = (turned[items] for items in islice(self._exchanges(), _EXCHANGES))
            turned = next((other for other in tried if np.abs(other - straight).max() <= _ROUNDING), turned)
        _same("voters in another order", turned, straight, _ROUNDING)

    def _exchanges(self) -> Iterator[np.ndarray]:
        """Yield for each way to exchange voters which item takes the place of each item."""
        known: list[Any] = [0] * len(self.X)
        if "sample_weight" in self.facts:
            known = list(self.facts["sample_weight"])
        for row, label in self.facts.get("anchors", {}).items():
            known[row] = (label,)
        groups = self.model.get_params().get("structure")
        groups = groups if isinstance(groups, list) else [0] * self.X.shape[1]
        voters = [(group, voter in self.facts.get("trusted", [])) for voter, group in enumerate(groups)]
        codes = self.model._read(self.X, reset=False).codes  # as the fit saw them: numbers as bins
        return exchanges(codes, [*map(str, known)], voters)

    @property
    def _kind(self) -> dict[str, Any]:
        """What votes are; of a stream it is told by the first block, if nobody says it."""
        if "kind" not in self.model.get_params():
            return {}
        bins = self.model.fitted_.bins
        return {"kind": "labels" if bins is None else dict(enumerate(bins.kinds))}

    def _refitted(self, X: Any, facts: dict[str, Any], **changed: Any) -> Any:
        return clone(self.model).set_params(**changed).fit(X, **facts)

    def _with_rows(self, order: np.ndarray) -> dict[str, Any]:
        """Return the facts of votes whose rows stand in another order."""
        facts = dict(self.facts)
        if "sample_weight" in facts:
            facts["sample_weight"] = np.asarray(facts["sample_weight"])[order]
        if "anchors" in facts:
            place = np.argsort(order)
            facts["anchors"] = {int(place[row]): label for row, label in facts["anchors"].items() if row in place}
        return facts

    def _with_columns(self, order: np.ndarray) -> dict[str, Any]:
        """Return the facts of votes whose voters stand in another order."""
        facts = dict(self.facts)
        place = np.argsort(order)
        if "trusted" in facts:
            facts["trusted"] = [int(place[voter]) for voter in facts["trusted"]]
        return facts

    def _structure(self, order: np.ndarray) -> dict[str, Any]:
        """Return the groups that were given, of voters that stand in another order."""
        structure = self.model.get_params().get("structure")
        return {"structure": [structure[voter] for voter in order]} if isinstance(structure, list) else {}


def exchanges(codes: np.ndarray, items: list[str], voters: list[tuple]) -> Iterator[np.ndarray]:
    """Yield the orders of rows that undo an order of columns; copies do not count as different columns.

    Rows with different ``items`` and columns with different ``voters`` are not exchanged.
    """
    n_voters = codes.shape[1]

    def rows(order: list[int]) -> list[tuple]:
        return list(zip(items, *codes[:, order].T.tolist(), range(len(codes)), strict=True))

    def same(order: list[int]) -> bool:
        told = [sorted(row[:-1] for row in rows(columns)) for columns in (order, list(range(len(order))))]
        return told[0] == told[1]

    def longer(order: list[int]) -> Iterator[list[int]]:
        place, tried = len(order), set()
        if place == n_voters:
            yield order
            return
        for column in range(n_voters):
            votes = codes[:, column].tobytes()
            if column in order or voters[column] != voters[place] or votes in tried:
                continue
            tried.add(votes)
            if same([*order, column]):
                yield from longer([*order, column])

    straight = [row[-1] for row in sorted(rows(list(range(n_voters))))]
    for order in longer([]):
        places = np.empty(len(codes), dtype=np.int64)
        places[straight] = [row[-1] for row in sorted(rows(order))]
        yield places


def _same(what: str, one: np.ndarray, other: np.ndarray, tolerance: float) -> None:
    """Raise if two answers differ by more than rounding."""
    if one.shape != other.shape:
        raise Failure(f"{what}: probabilities {one.shape} and {other.shape}")
    if not (difference := np.abs(one - other).max()) <= tolerance:
        raise Failure(f"{what}: probabilities differ by {difference:.3g}")


def votes(rng: np.random.Generator) -> np.ndarray:
    """Return votes of a few items and voters: two or more classes or numbers, some missing, copies, constants."""
    n, m = int(rng.choice([1, 2, 3, 7, 40, 200])), int(rng.choice([1, 2, 3, 4, 6, 12]))
    kind = rng.choice(["two", "several", "words", "grades", "probabilities", "scores", "odd"])
    truth = rng.integers(0, 2 if kind == "two" else 4, n)
    right = rng.random((n, m)) < rng.uniform(0.3, 0.95, m)
    codes = np.where(right, truth[:, None], rng.integers(0, 2 if kind == "two" else 4, (n, m)))
    X: np.ndarray = {
        "two": codes, "several": codes, "words": np.array(["a", "b", "c", "d"], dtype=object)[codes],
        "grades": np.clip(codes * 2 + rng.integers(0, 3, (n, m)), 1, 10),
        "probabilities": rng.beta(1 + codes, 4 - codes), "scores": codes + rng.normal(size=(n, m)),
        "odd": rng.choice(np.array([0, 1, -1, 1e308, -1e-308, 2**53, np.inf]), (n, m)),
    }[str(kind)]  # fmt: skip
    X = X.astype(object if X.dtype == object else float)
    X[rng.random((n, m)) < rng.choice([0, 0, 0.3, 0.95])] = None if X.dtype == object else np.nan
    if m > 1 and rng.random() < 0.3:
        X[:, 0] = X[:, rng.integers(1, m)]
    if rng.random() < 0.2:
        X[:, rng.integers(m)] = X[0, 0]
    return X


def dressed(X: np.ndarray, rng: np.random.Generator) -> Any:
    """Return the same votes as an array, a frame, a list or in another order of memory."""
    names = [f"v{i}" for i in range(X.shape[1])]
    way = rng.integers(5)
    if way == 1:
        return pd.DataFrame(X, columns=names)
    if way == 2 and X.dtype != object:
        return pl.DataFrame(X, schema=names, nan_to_null=True)
    if way == 3:
        return X.tolist()
    return np.asfortranarray(X) if way == 4 else X


def estimator(rng: np.random.Generator) -> Any:
    """Return an estimator with parameters that may not go together."""
    kind = ["auto", "labels", "ordinal", "probabilities", "scores"][rng.integers(5) if rng.random() < 0.3 else 0]
    missing = [None, None, 0, -1, "a"][rng.integers(5)]
    common: dict[str, Any] = {} if missing is None else {"missing": missing}
    choice = rng.integers(5)
    if choice == 0:
        return gl.MajorityVote(kind=kind, **common)
    if choice == 1:
        return gl.DawidSkene(kind=kind, **common)
    if choice == 2:
        return gl.SpectralMetaLearner(**common)
    structure: Any = ["search", "search", "independent", "paper", [0, 0, 0, 1, 2, 3]][rng.integers(5)]
    return gl.LatentSML(kind=kind, structure=structure, decision=["ml", "map"][rng.integers(2)], **common)


def _facts(rng: np.random.Generator, X: np.ndarray, model: Any) -> dict[str, Any]:
    """Return something that is known besides the votes, and may be wrong, if the estimator asks for it."""
    n = X.shape[0]
    facts: dict[str, Any] = [
        {"sample_weight": rng.integers(0, 5, n)},
        {"sample_weight": rng.choice([-1.0, np.nan, 0.5, 1e9, 2.0**40], n)},
        {"anchors": {int(rng.integers(-1, n + 1)): X[0, 0]}},
        {"class_balance": [0.3, 1.5, np.nan, {0: 0.2, 1: 0.8}][rng.integers(4)]},
        {"trusted": [int(rng.integers(-1, X.shape[1] + 1))]},
        *({} for _ in range(3)),
    ][rng.integers(8)]
    return facts if facts.keys() <= inspect.signature(model.fit).parameters.keys() else {}


def _also(model: Any, X: np.ndarray, method: str | None, rng: np.random.Generator, folder: Path) -> None:
    """Ask a fitted model for more than labels."""
    if method == "diagnose":
        attempt(lambda: gl.diagnose(model, X, resamples=int(rng.choice([0, 2]))))
    elif method == "select" and hasattr(model, "select"):
        attempt(lambda: model.select(int(rng.integers(0, X.shape[1] + 2))))
    elif method == "ask" and hasattr(model, "next_to_label"):
        attempt(lambda: model.next_to_label(X, n=int(rng.integers(0, len(X) + 2))))
    elif method == "explain" and hasattr(model, "explain"):
        attempt(lambda: model.explain(X))
    elif method == "audit":
        attempt(lambda: gl.audit(model, X, n=int(rng.integers(0, len(X) + 2)), random_state=0))
    elif method == "save":
        model.save(folder / "model.json")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same = np.array_equal(gl.load(folder / "model.json").predict_proba(X), model.predict_proba(X))
        if not same:
            raise Failure("a loaded model answers otherwise")
