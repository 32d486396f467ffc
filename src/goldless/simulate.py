"""Votes drawn from the model of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.maths.tree import LatentModel, TreeModel


def random_model(
    groups: Sequence[int],
    imbalance: float = 0.0,
    group_accuracy: tuple[float, float] = (0.5, 0.8),
    voter_accuracy: tuple[float, float] = (0.7, 0.9),
    random_state: int | np.random.Generator = 0,
) -> LatentModel:
    """Draw the parameters of a latent model, as in the artificial data of the paper.

    Parameters
    ----------
    groups : sequence of int
        Sizes of the groups, such as ``[5, 1, 1, 1]``. All latents, also those of single voters, are drawn from
        ``group_accuracy``; a single voter's two steps are then joined into one, so that its latent is Y.
    imbalance : float, default=0.0
        Class imbalance b.
    group_accuracy : tuple of float, default=(0.5, 0.8)
        Range of Pr(alpha = 1 | Y = 1) and Pr(alpha = -1 | Y = -1).
    voter_accuracy : tuple of float, default=(0.7, 0.9)
        Range of the voters' sensitivity and specificity given alpha.
    random_state : int or Generator, default=0
        Source of randomness.
    """
    sizes = np.asarray(groups, dtype=np.int64)
    if sizes.ndim != 1 or not len(sizes) or (sizes < 1).any():
        raise ValueError(f"groups must be the sizes of the groups, such as [5, 1, 1], got {groups!r}")
    rng = np.random.default_rng(random_state)
    n_groups, n_voters = len(sizes), int(sizes.sum())
    group_sensitivity, group_specificity = rng.uniform(*group_accuracy, (2, n_groups))
    sensitivity, specificity = rng.uniform(*voter_accuracy, (2, n_voters))
    drawn = LatentModel(
        np.repeat(np.arange(n_groups), sizes),
        (1 + imbalance) / 2,
        group_sensitivity,
        group_specificity,
        sensitivity,
        specificity,
    )
    alone = sizes == 1
    single = alone[drawn.groups]
    return LatentModel(
        drawn.groups,
        drawn.class_balance,
        np.where(alone, 1.0, group_sensitivity),
        np.where(alone, 1.0, group_specificity),
        np.where(single, drawn.sensitivity, sensitivity),
        np.where(single, drawn.specificity, specificity),
    )


def simulate_votes(
    n_items: int = 10_000,
    groups: Sequence[int] = (5,) + (1,) * 15,
    imbalance: float = 0.0,
    *,
    group_accuracy: tuple[float, float] = (0.5, 0.8),
    voter_accuracy: tuple[float, float] = (0.7, 0.9),
    missing_rate: float = 0.0,
    random_state: int | np.random.Generator = 0,
    return_model: bool = False,
) -> Any:
    """Draw votes and their true labels from a random latent model.

    Parameters
    ----------
    n_items : int, default=10_000
        Number of items.
    groups : sequence of int, default=(5, 1, ..., 1)
        Sizes of the groups.
    imbalance, group_accuracy, voter_accuracy : float, tuple of float, tuple of float
        As in :func:`random_model`.
    missing_rate : float, default=0.0
        Share of votes that are missing, at random.
    random_state : int or Generator, default=0
        Source of randomness.
    return_model : bool, default=False
        Also return the true :class:`~goldless.LatentModel`.

    Returns
    -------
    X : ndarray of shape (n_items, n_voters)
        Votes -1 and +1 as int8; as float with NaN if some are missing.
    y : ndarray of shape (n_items,)
        True labels -1 and +1.
    model : LatentModel
        Only if ``return_model``.

    Examples
    --------
    >>> X, y = simulate_votes(100, groups=[3, 1, 1], random_state=0)
    >>> X.shape, y.shape
    ((100, 5), (100,))
    """
    rng = np.random.default_rng(random_state)
    model = random_model(groups, imbalance, group_accuracy, voter_accuracy, rng)
    codes, labels, _ = model.sample(n_items, rng)
    X: NDArray = 2 * codes - 1
    if missing_rate > 0:
        X = np.where(rng.random(X.shape) < missing_rate, np.nan, X.astype(float))
    y = 2 * labels - 1
    return (X, y, model) if return_model else (X, y)
