"""The part of the report that needs known labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.votes.pairs import PairCounts

_LEAST = 2  # items of a class, below which nothing varies


def summarize_truth(
    codes: NDArray[np.int8], truth: NDArray[np.integer], labels: dict[str, NDArray], best: int
) -> dict[str, Any]:
    """Score voters and combinations against known labels, and measure C+ and C-.

    Parameters
    ----------
    codes : ndarray of shape (n_items, n_voters)
    truth : ndarray of shape (n_items,)
        -1 where it is not known.
    labels : dict of str to ndarray of shape (n_items,)
        Labels by each way to combine.
    best : int
        The voter that the model, without labels, takes for the best.
    """
    if truth.shape != (len(codes),):
        raise ValueError(f"truth must be one code for each of {len(codes)} items, got shape {truth.shape}")
    known = truth >= 0
    truth, codes = truth[known], codes[known]
    sizes = np.bincount(truth, minlength=2)
    if min(sizes) < _LEAST:
        raise ValueError("the truth must hold two items of each class to score against")
    sensitivity, specificity = (_rate(codes, truth, code) for code in (1, 0))
    balanced = np.where(np.isnan(sensitivity + specificity), np.nan, (sensitivity + specificity) / 2)
    methods = [
        {
            "method": name,
            "balanced_accuracy": _balanced(predicted[known], truth),
            "accuracy": _plain_accuracy(predicted[known], truth),
        }
        for name, predicted in labels.items()
    ]
    methods.insert(
        1,
        {
            "method": "best single voter",
            "balanced_accuracy": _maybe(0.5 + (balanced[best] - 0.5) * (codes[:, best] >= 0).mean()),
            "accuracy": _plain_accuracy(codes[:, best], truth),
        },
    )
    positive, negative = (
        PairCounts.of(np.ascontiguousarray(codes[truth == code])).covariance().covariance for code in (1, 0)
    )
    return {
        "n_scored": int(known.sum()),
        "class_balance": round(float(sizes[1] / sizes.sum()), 4),
        "methods": methods,
        "voters": [
            {
                "sensitivity": _maybe(sensitivity[voter]),
                "specificity": _maybe(specificity[voter]),
                "balanced_accuracy": _maybe(balanced[voter]),
            }
            for voter in range(codes.shape[1])
        ],
        "conditional_positive": _matrix(positive),
        "conditional_negative": _matrix(negative),
    }


def _rate(codes: NDArray, truth: NDArray, code: int) -> NDArray[np.float64]:
    """Return the share of right votes of each voter among items of a class; NaN where it did not vote."""
    said = codes[truth == code]
    cast = (said >= 0).sum(axis=0)
    return np.where(cast > 0, (said == code).sum(axis=0) / np.maximum(cast, 1), np.nan)


def _balanced(labels: NDArray, truth: NDArray) -> float:
    return round(float(np.mean([(labels[truth == code] == code).mean() for code in (0, 1)])), 4)


def _plain_accuracy(labels: NDArray, truth: NDArray) -> float | None:
    voted = labels >= 0
    return round(float((labels[voted] == truth[voted]).mean()), 4) if voted.any() else None


def _maybe(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def _matrix(matrix: NDArray) -> list[list[float]] | None:
    if len(matrix) > 300:
        return None
    return (np.where(np.eye(len(matrix), dtype=bool), 0.0, np.nan_to_num(matrix)).round(4) + 0.0).tolist()
