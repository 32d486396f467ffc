"""Probabilities, their logarithms, and numbers without bounds that stand for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.vote_shares import scale_rows

VOTERS_AT_ONCE = 1 << 13  # of a crowd: what is made of so many stays in the cache
LEAST_RATE = 1e-12  # probabilities are kept this far from 0 and 1 when logarithms are taken


def probability(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of log-odds, without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * odds))


def log_odds(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of probabilities, finite also at 0 and 1."""
    clipped = rates.clip(LEAST_RATE, 1 - LEAST_RATE)
    return np.log(clipped) - np.log1p(-clipped)


def log_rates(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of probabilities, finite also at 0."""
    return np.log(np.maximum(rates, LEAST_RATE))


def normalised(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities that are proportional to numbers given by their logarithms, row by row."""
    if logarithms.shape[1] == 2:
        positive = probability(logarithms[:, 1] - logarithms[:, 0])
        return np.stack([1 - positive, positive], axis=1)
    joint = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def unbounded(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of probabilities without bounds: two are one log-odds, more are their logarithms."""
    return log_odds(table[..., 1]) if table.shape[-1] == 2 else log_rates(table)


def bounded(values: NDArray[np.float64], n_values: int) -> NDArray[np.float64]:
    """Return the rows of so many probabilities that :func:`unbounded` made values of."""
    if n_values == 2:
        return np.stack([probability(-values), probability(values)], axis=-1)
    rates = np.exp(values)
    if rates.ndim == 3 and len(rates) >= VOTERS_AT_ONCE:
        scale_rows(rates)
    else:
        rates /= rates.sum(axis=-1, keepdims=True)
    return rates
