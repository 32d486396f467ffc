"""Odd calls: any estimator, parameters and votes give an answer that holds all we promise, or a refusal of a line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import goldless as gl
from research.fuzz.campaign import Failure
from research.fuzz.promises import Refused, attempt, check_labels

_TOLERANCE = 1e-6


def prepare(folder: Path) -> None:
    """Nothing is made."""


def trial(made: None, rng: np.random.Generator, folder: Path) -> str:
    """Fit, ask, and ask again what must not change the answer."""
    X = votes(rng)
    model, facts = estimator(rng), _facts(rng, X)
    try:
        attempt(lambda: model.fit(dressed(X, rng), **facts))
    except Refused:
        return "refused"
    n_items = X.shape[0]
    check_labels(model, X, n_items)
    _check_order(model, X, rng)
    method = [None, "diagnose", "select", "ask", "explain", "audit", "save"][rng.integers(7)]
    try:
        _also(model, X, method, rng, folder)
    except Refused:
        return f"answered, {method} refused"
    return "answered"


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


def _facts(rng: np.random.Generator, X: np.ndarray) -> dict[str, Any]:
    way, n = rng.integers(8), X.shape[0]
    if way == 0:
        return {"sample_weight": rng.integers(0, 5, n)}
    if way == 1:
        return {"sample_weight": rng.choice([-1.0, np.nan, 0.5, 1e9, 2.0**40], n)}
    if way == 2:
        return {"anchors": {int(rng.integers(-1, n + 1)): X[0, 0]}}
    if way == 3:
        return {"class_balance": [0.3, 1.5, np.nan, {0: 0.2, 1: 0.8}][rng.integers(4)]}
    if way == 4:
        return {"trusted": [int(rng.integers(-1, X.shape[1] + 1))]}
    return {}


def _check_order(model: Any, X: np.ndarray, rng: np.random.Generator) -> None:
    """Raise if an item's answer depends on which items stand around it."""
    order = rng.permutation(len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        straight, turned = model.predict_proba(X), model.predict_proba(X[order])
    if np.abs(straight[order] - turned).max() > _TOLERANCE:
        raise Failure(f"rows in another order: probabilities differ by {np.abs(straight[order] - turned).max()}")


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
