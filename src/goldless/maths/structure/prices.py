"""What groups cost in the search for structure, by their size; a voter that is alone costs nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

_SEAT = 4.0  # two standard errors, squared


def group_prices(n_voters: int, per_voter: float, multiplicity: float = 0.0) -> NDArray[np.float64]:
    """Return the price of a group of s voters for s from 0 to m: s per_voter + multiplicity log(m^s / s!)."""
    sizes = np.arange(n_voters + 1.0)
    price = sizes * per_voter + multiplicity * (sizes * np.log(n_voters) - gammaln(sizes + 1))
    price[:2] = 0.0
    return price


def weak_group_prices(n_voters: int, n_items: int) -> NDArray[np.float64]:
    """Return low prices by which weak groups are found that a test of their own has to confirm.

    A group costs log n, the price of its one coupling by BIC, and every voter beyond the second 2.
    """
    sizes = np.arange(n_voters + 1.0)
    return np.where(sizes < 2, 0.0, np.log(max(n_items, 2)) + 2 * (sizes - 2))


def seat_prices(price: NDArray[np.float64], overdispersion: float) -> NDArray[np.float64]:
    """Return prices by which a group costs what a pair does, and every further voter two standard errors."""
    sizes = np.arange(len(price))
    return np.where(sizes < 2, 0.0, price[2] + _SEAT * overdispersion * (sizes - 2))


def items_to_share(n_items: int, n_voters: int) -> float:
    """Return how many items two voters must share to pay for a group, even if all they say beyond Y is shared.

    The price of a pair is about 2 (log n + 2 log m), and what it can gain about a quarter of the items it shares.
    """
    return 8 * (np.log(max(n_items, 2)) + 2 * np.log(max(n_voters, 2)))


def price_of(groups: NDArray[np.int64], price: NDArray[np.float64]) -> float:
    """Return what the groups of a grouping cost together."""
    return float(price[np.bincount(groups)].sum())
