"""What we promise of every answer and of every refusal."""

from __future__ import annotations

import linecache
import os
import traceback
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from research.fuzz.campaign import Failure

_LONGEST = 2000  # characters of a message
_WORDS_OF_SCIKIT_LEARN = "The feature names should match those that were passed during fit."  # by its checks
Value = TypeVar("Value")


class Refused(Exception):
    """Something was refused as it should be."""


def attempt(call: Callable[[], Value]) -> Value:
    """Return what a call returns; a refusal must be an error that somebody raised on purpose, of one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except (ValueError, TypeError, OSError) as error:
        check_refusal(error)
        raise Refused(str(error)) from None


def check_refusal(error: BaseException) -> None:
    """Raise if an error is not a refusal in words, raised by us or by scikit-learn in so many words."""
    if not isinstance(error, ValueError | TypeError | OSError):
        raise error
    check_message(str(error))
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    code = frame.f_code
    statement = linecache.getline(code.co_filename, line).strip()
    ours = any(f"{os.sep}{package}{os.sep}" in code.co_filename for package in ("goldless", "sklearn"))
    if not isinstance(error, OSError) and not (ours and statement.startswith("raise")):
        where = f"{code.co_filename}:{line}"
        raise Failure(f"{type(error).__name__} of nobody's making at {where}: {str(error)[:300]!r}")


def check_message(message: str) -> None:
    """Raise if a message is not one line that a person can read."""
    if not message.strip():
        raise Failure("a refusal without a word")
    if message.startswith(_WORDS_OF_SCIKIT_LEARN):
        return
    if "\n" in message.strip() or len(message) > _LONGEST:
        raise Failure(f"a refusal of {len(message.splitlines())} lines, {len(message)} characters: {message[:300]!r}")
    if "Traceback" in message or "object at 0x" in message:
        raise Failure(f"a refusal that speaks of our own parts: {message[:300]!r}")


def check_labels(model: Any, X: Any, n_items: int) -> None:
    """Raise if labels and probabilities of a fitted model are not what they must be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        probabilities, labels = model.predict_proba(X), np.asarray(model.predict(X))
    if probabilities.shape != (n_items, len(model.classes_)) or labels.shape != (n_items,):
        raise Failure(f"{n_items} rows in, probabilities {probabilities.shape} and labels {labels.shape} out")
    if not np.isfinite(probabilities).all() or probabilities.min() < 0 or probabilities.max() > 1:
        raise Failure(f"probabilities from {probabilities.min()} to {probabilities.max()}")
    if np.abs(probabilities.sum(axis=1) - 1).max() > 1e-9:
        raise Failure(f"probabilities sum to {probabilities.sum(axis=1).min()} ... {probabilities.sum(axis=1).max()}")
    if not set(labels.tolist()) <= set(np.asarray(model.classes_).tolist()):
        raise Failure(f"labels {sorted(set(map(str, labels)))[:5]} that no class has")
