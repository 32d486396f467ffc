"""Numbers, labels and what estimators offer, as values that JSON has."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
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
    """Turn what an estimator offers into JSON, or leave it out."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain_tree(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_tree(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "iufb" and np.isfinite(value).all() else None
    value = plain(value)
    return value if isinstance(value, str | int | float | bool) or value is None else None


def interval(ends: Any, digits: int = 4) -> tuple[float, float] | None:
    """Return the ends of an interval, or None if it has none."""
    low, high = ends
    return (rounded(low, digits), rounded(high, digits)) if np.isfinite([low, high]).all() else None
