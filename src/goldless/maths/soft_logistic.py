"""Logistic regression of probabilities on log-likelihoods: one slope, and an offset for each class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.threads import one_linear_algebra_thread

Sums = tuple[float, NDArray[np.float64], NDArray[np.float64]]  # loss, minus its gradient, its second derivatives

_STEPS = 100
_HALVINGS = 30
_SMALLEST_STEP = 1e-7  # after a step as short as this, the next would be 1e-14 or less
_ONE_LINE = 1e-12  # a smallest eigenvalue, of correlations, that rounding leaves where there are many best lines
_ROUNDING = 1e-12


def soft_logistic(
    sums_at: Callable[[NDArray[np.float64]], Sums], start: NDArray[np.float64], keeps_slope: bool = False
) -> NDArray[np.float64] | None:
    """Return the slope and the offsets that :func:`logistic_sums` are least for, by Newton's method.

    The offset of the first class stays as it is, and with ``keeps_slope`` the slope. None if there are many best
    lines; where items are certain whatever the offsets, these stay too.

    ``sums_at``: returns the sums over all items; ``start`` (1 + n_classes,): slope and offsets to start from.
    """
    with one_linear_algebra_thread():
        return _newton(sums_at, start, np.flatnonzero(np.arange(len(start)) != 1)[keeps_slope:])


def _newton(
    sums_at: Callable[[NDArray[np.float64]], Sums], start: NDArray[np.float64], columns: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return where sums are least, if only some parameters are moved."""
    at = start.copy()
    loss, left, spread = sums_at(at)
    for _ in range(_STEPS):
        found = _solved(spread[np.ix_(columns, columns)], left[columns])
        if found is None:
            return None if columns[0] == 0 else at
        step = np.zeros(len(at))
        step[columns] = found / max(1.0, np.abs(found).max())
        before = loss
        for _ in range(_HALVINGS):
            loss, left, spread = sums_at(at + step)
            if loss <= before * (1 + _ROUNDING):
                break
            step /= 2
        at = at + step
        if np.abs(step).max() < _SMALLEST_STEP:
            break
    return at


def logistic_sums(
    at: NDArray[np.float64], ratios: NDArray[np.float64], target: NDArray[np.float64], weights: NDArray[np.float64]
) -> Sums:
    """Return the log loss of probabilities that are proportional to ``exp(slope * ratios + offsets)``.

    ``at`` (1 + n_classes,): slope and offsets; ``ratios`` (n_rows, n_classes): log-likelihoods; ``target`` (n_rows or
    1, n_classes): the probabilities that they should be; ``weights`` (n_rows,).
    """
    scores = at[0] * ratios + at[1:]
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    totals = shares.sum(axis=1, keepdims=True)
    losses = np.log(totals[:, 0]) - (target * scores).sum(axis=1)
    shares /= totals
    counted, missed = weights[:, None] * shares, weights[:, None] * (target - shares)
    away = ratios - (shares * ratios).sum(axis=1, keepdims=True)
    spread = np.empty((len(at), len(at)))
    of_slope = counted * away
    spread[0, 1:] = spread[1:, 0] = of_slope.sum(axis=0)
    spread[0, 0] = (of_slope * away).sum()
    spread[1:, 1:] = np.diag(counted.sum(axis=0)) - counted.T @ shares
    return float(weights @ losses), np.append((missed * ratios).sum(), missed.sum(axis=0)), spread


def _solved(spread: NDArray[np.float64], left: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return Newton's step; None if the matrix is singular but for rounding."""
    scale = np.sqrt(np.maximum(np.diagonal(spread), 1e-300))
    values, vectors = np.linalg.eigh(spread / np.outer(scale, scale))
    if not values[0] > _ONE_LINE:
        return None
    return vectors @ ((vectors.T @ (left / scale)) / values) / scale
