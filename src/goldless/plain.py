"""Numbers, labels and what estimators offer, as values that JSON has."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def rounded(value: Any, digits: int = 4) -> float:
    """Return a number to some decimals, and never minus zero."""
    return round(float(value), digits) + 0.0


def as_number(value: Any) -> float | None:
    """Return a number to six digits."""
    return None if value is None else float(f"{float(value):.6g}")


def plain(label: Any) -> Any:
    """Return a label of numpy as one of Python."""
    return label.item() if isinstance(label, np.generic) else label


def is_number(value: Any) -> bool:
    """Whether a value is a number, or the text of one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def plain_tree(value: Any) -> Any:
    """Turn values of this package into JSON; what is no finite number is None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: plain_tree(getattr(value, entry.name)) for entry in fields(value)}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain_tree(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_tree(item) for item in value]
    value = plain(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value


def interval(ends: Any, digits: int = 4) -> tuple[float, float] | None:
    """Return the ends of an interval, or None if it has none."""
    low, high = ends
    return (rounded(low, digits), rounded(high, digits)) if np.isfinite([low, high]).all() else None
