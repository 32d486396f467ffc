"""Fitted estimators as versioned JSON: readable, portable, and safe to load."""

from __future__ import annotations

import base64
import json
import math
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from goldless.fitting.rooting import Rooting
from goldless.maths.subtypes import SubtypeModel
from goldless.maths.tree import LatentModel
from goldless.votes.sample import VoteSample

FORMAT = "goldless-model"
VERSION = 1
_MODELS = {model.__name__: model for model in (LatentModel, SubtypeModel, VoteSample)}
_AS_BYTES = ("|u1", "<f4")  # arrays of many small numbers


def save_estimator(estimator: Any, path: str | os.PathLike) -> None:
    """Write parameters and fitted attributes of an estimator, whole or not at all."""
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": type(estimator).__name__,
        "parameters": _encode_all(estimator.get_params(deep=False)),
        "fitted": _encode_all(fitted),
    }
    text = json.dumps(document, indent=1, allow_nan=False)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {str(target.parent)!r} to save {target.name!r} in")
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def load_estimator(path: str | os.PathLike, known: dict[str, type]) -> Any:
    """Read an estimator of one of the known classes.

    Raises
    ------
    ValueError
        If the file is not one of ours, is damaged, or is of a version this goldless does not know.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not a goldless model: it is not JSON ({error}).") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{path} is not a goldless model: it does not say format {FORMAT!r}.")
    if document.get("version") != VERSION:
        raise ValueError(
            f"{path} has model version {document.get('version')!r}, this goldless reads version {VERSION}; "
            "save it again with this release, or install the one that wrote it."
        )
    try:
        estimator = known[document["estimator"]](
            **{name: _decode(value) for name, value in document["parameters"].items()}
        )
        for name, value in document["fitted"].items():
            if not name.endswith("_"):
                raise ValueError(f"{name!r} is not a fitted attribute")
            setattr(estimator, name, _decode(value))
        _ask(estimator)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ValueError(f"{path} is a damaged goldless model: {type(error).__name__}: {error}.") from None
    return estimator


def _ask(estimator: Any) -> None:
    """Raise if a loaded estimator cannot label an item."""
    nothing = np.full((1, estimator.n_features_in_), -1, dtype=np.int8)
    if estimator._label(nothing).shape != (1,) or estimator.classes_.shape != (2,):
        raise ValueError("the fitted attributes do not fit together")


def _encode_all(values: dict[str, Any]) -> dict[str, Any]:
    """Return JSON values by name, and say which one has none."""
    encoded = {}
    for name, value in values.items():
        try:
            encoded[name] = _encode(value)
        except TypeError as error:
            raise TypeError(f"{name} cannot be saved: {error}.") from None
    return encoded


def _encode(value: Any) -> Any:
    """Return a JSON value; arrays, models and tuples say what they are."""
    if type(value).__name__ in _MODELS:
        parts = {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
        return {"model": parts, "kind": type(value).__name__}
    if isinstance(value, Rooting):
        return {"rooting": _encode(list(value))}
    if isinstance(value, np.ndarray) and value.dtype.str in _AS_BYTES:
        return {
            "bytes": base64.b64encode(value.tobytes()).decode("ascii"),
            "dtype": value.dtype.str,
            "shape": list(value.shape),
        }
    if isinstance(value, np.ndarray):
        kind = "object" if value.dtype == object else value.dtype.str
        return {"array": _encode(value.tolist()), "dtype": kind}
    if isinstance(value, np.generic):
        return _encode(value.item())
    if isinstance(value, dict):
        return {"pairs": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": _encode(list(value))}
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}  # JSON has no number for it
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"JSON has no {type(value).__name__}")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "model" in value:
        return _MODELS[value["kind"]](**{name: _decode(item) for name, item in value["model"].items()})
    if "rooting" in value:
        return Rooting(*_decode(value["rooting"]))
    if "bytes" in value and value["dtype"] in _AS_BYTES:
        data = base64.b64decode(value["bytes"], validate=True)
        return np.frombuffer(data, dtype=value["dtype"]).reshape(value["shape"]).copy()
    if "array" in value:
        return np.array(_decode(value["array"]), dtype=value["dtype"])
    if "pairs" in value:
        return {_decode(key): _decode(item) for key, item in value["pairs"]}
    if "float" in value:
        return float(value["float"])
    return tuple(_decode(value["tuple"]))
