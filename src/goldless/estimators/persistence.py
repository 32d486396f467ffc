"""Fitted estimators as versioned JSON: readable, portable, and safe to load."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from goldless.maths.latent_model import LatentModel

FORMAT = "goldless-model"
VERSION = 1


def save_estimator(estimator: Any, path: str | os.PathLike) -> None:
    """Write parameters and fitted attributes of an estimator, whole or not at all."""
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": type(estimator).__name__,
        "parameters": {name: _encode(value) for name, value in estimator.get_params(deep=False).items()},
        "fitted": {name: _encode(value) for name, value in fitted.items()},
    }
    text = json.dumps(document, indent=1, allow_nan=False)
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def load_estimator(path: str | os.PathLike, known: dict[str, type]) -> Any:
    """Read an estimator of one of the known classes.

    Raises
    ------
    ValueError
        If the file is not one of ours, is damaged, or is of a version this goldless does not know.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
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
            setattr(estimator, name, _decode(value))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is a damaged goldless model: {type(error).__name__}: {error}.") from None
    return estimator


def _encode(value: Any) -> Any:
    """Return a JSON value; arrays, models and tuples say what they are."""
    if isinstance(value, LatentModel):
        return {"model": {field.name: _encode(getattr(value, field.name)) for field in fields(value)}}
    if isinstance(value, np.ndarray):
        kind = "object" if value.dtype == object else value.dtype.str
        return {"array": _finite(value.tolist()), "dtype": kind}
    if isinstance(value, np.generic):
        return _encode(value.item())
    if isinstance(value, dict):
        return {"pairs": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if isinstance(value, tuple | list):
        return {"list": [_encode(item) for item in value]}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _finite(value)
    raise TypeError(f"a {type(value).__name__} cannot be saved as JSON")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "model" in value:
        return LatentModel(**{name: _decode(item) for name, item in value["model"].items()})
    if "array" in value:
        return np.array(_unfinite(value["array"]), dtype=value["dtype"])
    if "pairs" in value:
        return {_decode(key): _decode(item) for key, item in value["pairs"]}
    if "float" in value:
        return float(value["float"])
    return tuple(_decode(item) for item in value["list"])


def _finite(value: Any) -> Any:
    """Write infinities and NaN as text, which JSON has no numbers for."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return {"float": repr(value)} if isinstance(value, float) and not np.isfinite(value) else value


def _unfinite(value: Any) -> Any:
    if isinstance(value, list):
        return [_unfinite(item) for item in value]
    return float(value["float"]) if isinstance(value, dict) else value
