"""Fitted estimators as versioned JSON: readable, portable, and safe to load."""

from __future__ import annotations

import base64
import json
import math
import os
from dataclasses import fields
from inspect import signature
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from goldless.fitting.calibration import Calibration
from goldless.fitting.cut import Cut
from goldless.fitting.facts import Facts
from goldless.fitting.fitted import Alternative, Convergence, Fitted, Grouping, Guard, Settled, Unseen
from goldless.fitting.paper import PaperOptions
from goldless.fitting.risk import Risk
from goldless.kernels.sparse import Codes, SparseCodes
from goldless.maths.tree import TreeModel
from goldless.votes.bins import Bins
from goldless.votes.rows import PatternTable
from goldless.votes.sample import VoteSample
from goldless.votes.sparse import MOST_COMPARED, SparseRows
from goldless.whole_file import whole_file

FORMAT = "goldless-model"
VERSION = 2
_KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Alternative, Bins, Calibration, Convergence, Cut, Facts, Fitted, Grouping, Guard, PaperOptions, PatternTable,
        Risk, Settled, SparseCodes, SparseRows, TreeModel, Unseen, VoteSample,
    )
}  # fmt: skip
_AS_BYTES = ("|u1", "<f4")  # arrays of many small numbers
_MANY_NUMBERS = 10_000  # more numbers of any type are written as bytes
_NUMBERS = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
_DAMAGE = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
    MemoryError,
    AssertionError,
)
_MOST_TEMPER = 1e6  # far beyond what a fit gives; log-odds times this are finite
_SUM_TOLERANCE = 1e-6
_MOST_TEXT = 1 << 28  # bytes of an array of names: one long name makes all others as long
# of arrays: c classes, m voters, s symbols, k voters that were compared
_SHAPES = {
    "classes": "c",
    "voters": "m",
    "tie_order": "c",
    "seldom": "c",
    "informative": "m",
    "recall": "mc",
    "symbol_share": "ms",
}
_SHAPES_OF_GROUPING = {"covariance": "kk", "v_on": "m", "v_off": "m", "compared": "k"}
_LARGEST = float(np.finfo(float).max)  # of a number that is not in an array


def save_estimator(estimator: Any, path: str | os.PathLike) -> None:
    """Write parameters and what was learnt of an estimator, whole or not at all."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": type(estimator).__name__,
        "parameters": {
            name: _encode(getattr(estimator, name), name) for name in sorted(signature(type(estimator)).parameters)
        },
        "fitted": _encode(estimator.fitted_, "fitted"),
    }
    with whole_file(path) as draft:
        draft.write_text(json.dumps(document, indent=1, allow_nan=False), encoding="utf-8")


def load_estimator(path: str | os.PathLike, known: dict[str, type]) -> Any:
    """Read an estimator of one of the known classes.

    Raises
    ------
    ValueError
        If the file is not one of ours, is damaged, or is of a version this goldless does not know.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a goldless model: it is not JSON ({error}).") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{path} is not a goldless model: it does not say format {FORMAT!r}.")
    if document.get("version") not in (1, VERSION):
        raise ValueError(
            f"{path} has model version {document.get('version')!r}, this goldless reads versions 1 and {VERSION}; "
            "save it again with this release, or install the one that wrote it."
        )
    try:
        parameters = {name: _decode(value) for name, value in document["parameters"].items()}
        estimator = known[document["estimator"]](**parameters)
        if document["version"] == 1:
            from goldless.estimators.first_edition import fitted_of_version_1

            estimator.fitted_ = fitted_of_version_1(document["fitted"], _decode)
        else:
            estimator.fitted_ = _decode(document["fitted"])
        _ask(estimator)
    except _DAMAGE as error:
        raise ValueError(f"{path} is a damaged goldless model: {type(error).__name__}: {error}.") from None
    return estimator


def _ask(estimator: Any) -> None:
    """Raise if a loaded estimator cannot label an item."""
    fitted = estimator.fitted_
    if not isinstance(fitted, Fitted):
        raise ValueError("it holds no fit")
    _check_shapes(fitted)
    for name in (*fitted.classes.tolist(), *(() if fitted.voters is None else fitted.voters.tolist())):
        if not isinstance(name, bool | int | float | str):
            raise TypeError("a label or the name of a voter is no plain value")
    settled = () if fitted.settled is None else fitted.settled.candidates
    for model in (fitted.model, *fitted.evidence, *settled):
        _check_sums(model)
    for line in (fitted.calibration, fitted.probability_line):
        if line is not None and not abs(line.temper) < _MOST_TEMPER:
            raise ValueError(f"probabilities are {line.temper:g} times as sure as the votes")
        if line is not None and line.class_prior.shape != (fitted.model.n_classes,):
            raise ValueError(f"probabilities count with {line.class_prior.shape} shares of classes")
    if isinstance(fitted.patterns, SparseRows):
        fitted.patterns.codes.check()
    empty = SparseCodes.empty(1, fitted.n_voters)
    nothing: Codes = empty if fitted.n_voters > MOST_COMPARED else empty.dense()
    if len(fitted.classes) != fitted.model.n_classes or estimator._label(nothing).shape != (1,):
        raise ValueError("what was learnt does not fit together")
    if not np.isfinite(estimator._probability(nothing)).all():
        raise ValueError("what was learnt gives no probabilities")


def _check_shapes(fitted: Fitted) -> None:
    """Raise if an array has another shape than its place asks for; what was not computed is empty."""
    known = {"c": fitted.model.n_classes, "m": fitted.n_voters, "s": fitted.n_symbols}
    places: list[tuple[Any, dict[str, str]]] = [(fitted, _SHAPES)]
    if fitted.grouping is not None:
        known["k"] = len(fitted.grouping.covariance)
        places.append((fitted.grouping, _SHAPES_OF_GROUPING))
    for part, shapes in places:
        for name, letters in shapes.items():
            array = getattr(part, name)
            if array is not None and array.size and array.shape != tuple(known[letter] for letter in letters):
                raise ValueError(f"{name} has the shape {array.shape}")


def _check_sums(model: TreeModel) -> None:
    """Raise if a table of probabilities is none."""
    own = np.bincount(model.groups, minlength=model.n_groups) > 1
    sums = {
        "prior": model.prior.sum(),
        "class_prior": model.class_prior.sum(),
        "latents": model.latents[own].sum(axis=1),
        "votes": model.votes.sum(axis=2),
    }
    for name, total in sums.items():
        if not (np.abs(total - 1) < _SUM_TOLERANCE).all():
            raise ValueError(f"the probabilities of {name} do not sum to 1")
        if (getattr(model, name) < 0).any():
            raise ValueError(f"a probability of {name} is negative")


def _encode(value: Any, name: str) -> Any:
    """Return a JSON value; arrays, tuples and values of ours say what they are."""
    if type(value).__name__ in _KINDS:
        names = value._fields if hasattr(value, "_fields") else [field.name for field in fields(value)]
        return {"kind": type(value).__name__, "of": {part: _encode(getattr(value, part), part) for part in names}}
    if isinstance(value, np.ndarray) and (
        value.dtype.str in _AS_BYTES or (value.size > _MANY_NUMBERS and value.dtype.str in _NUMBERS)
    ):
        return {
            "bytes": base64.b64encode(value.tobytes()).decode("ascii"),
            "dtype": value.dtype.str,
            "shape": list(value.shape),
        }
    if isinstance(value, np.ndarray):
        kind = "object" if value.dtype == object else value.dtype.str
        return {"array": _encode(value.tolist(), name), "dtype": kind, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return _encode(value.item(), name)
    if isinstance(value, dict):
        return {"pairs": [[_encode(key, name), _encode(item, name)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": _encode(list(value), name)}
    if isinstance(value, list):
        return [_encode(item, name) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}  # JSON has no number for it
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name} cannot be saved: JSON has no {type(value).__name__}.")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        return _made(_KINDS[value["kind"]], {name: _decode(item) for name, item in value["of"].items()})
    if "bytes" in value and value["dtype"] in _NUMBERS:
        data = base64.b64decode(value["bytes"], validate=True)
        return np.frombuffer(data, dtype=value["dtype"]).reshape(value["shape"]).copy()
    if "array" in value:
        array = _array(_decode(value["array"]), value["dtype"])
        return array.reshape(value["shape"]) if "shape" in value else array
    if "pairs" in value:
        return {_decode(key): _decode(item) for key, item in value["pairs"]}
    if "float" in value:
        return float(value["float"])
    return tuple(_decode(value["tuple"]))


def _made(kind: type, parts: dict[str, Any]) -> Any:
    """Return a value of ours from its parts, each of the type that it is declared with."""
    for name, hint in get_type_hints(kind).items():
        if name in parts and not _is_a(parts[name], hint):
            raise TypeError(f"{name} of {kind.__name__} is not what it should be")
    return kind(**parts)


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; what is in arrays and mappings is checked where they are used."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(_is_a(value, part) for part in parts)
    if kind is tuple and parts[1:] == (...,):
        return isinstance(value, tuple) and all(_is_a(part, parts[0]) for part in value)
    if kind is float:
        return isinstance(value, float | int) and not isinstance(value, bool) and abs(value) <= _LARGEST
    if kind is int:
        return isinstance(value, int) and abs(value) <= _LARGEST
    return kind is Any or isinstance(value, kind if isinstance(kind, type) else object)


def _array(values: Any, dtype: Any) -> np.ndarray:
    """Return values as an array of a type that was written; strings take the room they need, not what is claimed."""
    if dtype == "object" or dtype in _NUMBERS:
        return np.array(values, dtype=dtype)
    if isinstance(dtype, str) and dtype.startswith("<U"):
        if len(values) * max((len(value) for value in values if isinstance(value, str)), default=0) * 4 > _MOST_TEXT:
            raise ValueError("its names are too long")
        array = np.array(values, dtype=np.str_)
        if not np.array_equal(array, np.array(values, dtype=object)):
            raise TypeError("there are other values than strings")
        return array
    raise TypeError(f"no array is of type {dtype!r}"[:80])
