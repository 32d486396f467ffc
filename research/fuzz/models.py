"""Forged models: a saved model with one part changed is refused with a ValueError, or answers as a model must."""

from __future__ import annotations

import json
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

import goldless as gl
from research.fuzz.campaign import Failure
from research.fuzz.promises import Refused, attempt, check_labels

_ODD: list[Any] = [
    None, True, 0, -1, 2**31, 2**63, 10**400, 1e308, -0.5, "", "x", "object", "<U999999999", "|O", ">f8", "<f8",
    [], {}, [[]], {"float": "nan"}, {"float": "inf"}, {"float": "1e999"}, {"tuple": []}, {"pairs": []},
    {"kind": "Fitted", "of": {}}, {"kind": "os", "of": {}}, {"array": [1, 2], "dtype": "<i8", "shape": [10**9]},
    {"bytes": "AAAA", "dtype": "<f8", "shape": [1]}, {"bytes": "", "dtype": "|O", "shape": [0]}, [[[[[0]]]]],
]  # fmt: skip


def prepare(folder: Path) -> list[tuple[str, Any]]:
    """Save a model of each kind; return the files as text, each with the votes it is asked about."""
    made: list[tuple[str, Any]] = []
    binary, truth = gl.simulate_votes(300, groups=[4, 3, 1, 1, 1], random_state=0)
    three = np.random.default_rng(0).integers(0, 3, (200, 5))
    three[:, 1:] = np.where(np.random.default_rng(1).random((200, 4)) < 0.7, three[:, :1], three[:, 1:])
    scores = truth[:, None] * 0.8 + np.random.default_rng(2).normal(size=(300, 6))
    named = np.where(binary > 0, "yes", "no").astype(object)
    panels = [binary, three, scores, named]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for estimator in (gl.MajorityVote(), gl.DawidSkene(), gl.LatentSML(), gl.SpectralMetaLearner()):
            for X in panels[:1] if isinstance(estimator, gl.SpectralMetaLearner) else panels:
                path = folder / f"{len(made)}.json"
                estimator.fit(X).save(path)
                made.append((path.read_text(), X[:50]))
    return made


def trial(made: list[tuple[str, Any]], rng: np.random.Generator, folder: Path) -> str:
    """Change one to three parts of a model, load it and ask it."""
    text, X = made[rng.integers(len(made))]
    path = folder / "model.json"
    if rng.random() < 0.1:
        cut = int(rng.integers(len(text)))
        path.write_text(text[:cut] + text[cut + int(rng.integers(1, 50)) :])
    else:
        document = json.loads(text)
        for _ in range(rng.integers(1, 4)):
            document = _change(document, rng)
        path.write_text(json.dumps(document))
    try:
        model = attempt(lambda: gl.load(path))
    except Refused as refused:
        if "goldless model" not in str(refused) and "version" not in str(refused):
            raise Failure(f"refused without saying that it is a model: {refused}") from None
        return "refused"
    try:
        attempt(lambda: check_labels(model, X, len(X)))
    except Refused:
        return "loaded, votes refused"
    return "answered"


def _change(document: Any, rng: np.random.Generator) -> Any:
    """Return a document with one part replaced, removed, repeated or renamed, at any depth."""
    path: list[Any] = []
    part = document
    while isinstance(part, dict | list) and part and (len(path) < 1 or rng.random() < 0.85):
        keys = list(part) if isinstance(part, dict) else range(len(part))
        path.append(keys[int(rng.integers(len(keys)))])
        part = part[path[-1]]
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    way, key = rng.integers(5), path[-1]
    if way == 0:
        del parent[key]
    elif way == 1 and isinstance(parent, list):
        parent.insert(key, deepcopy(parent[key]))
    elif way == 2 and isinstance(part, float):
        parent[key] = part * float(rng.choice([-1, 0, 0.5, 2, 1e6, 1e300]))
    elif way == 3 and isinstance(parent, dict):
        parent[f"{key}x"] = parent.pop(key)
    else:
        parent[key] = deepcopy(_ODD[rng.integers(len(_ODD))])
    return document
