"""Votes drawn from the model of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.maths.tree import TreeModel


def random_model(
    groups: Sequence[int],
    imbalance: float = 0.0,
    group_accuracy: tuple[float, float] = (0.5, 0.8),
    voter_accuracy: tuple[float, float] = (0.7, 0.9),
    random_state: int | np.random.Generator = 0,
    *,
    n_classes: int = 2,
    class_balance: ArrayLike | None = None,
) -> TreeModel:
    """Draw the parameters of a latent model, as in the artificial data of the paper.

    Parameters
    ----------
    groups : sequence of int
        Sizes of the groups, such as ``[5, 1, 1, 1]``. All latents, also those of single voters, are drawn from
        ``group_accuracy``; a single voter's two steps are then joined into one, so that its latent is Y.
    imbalance : float, default=0.0
        Class imbalance b of two classes.
    group_accuracy : tuple of float, default=(0.5, 0.8)
        Range of Pr(alpha = y | Y = y), drawn for every class.
    voter_accuracy : tuple of float, default=(0.7, 0.9)
        Range of Pr(vote = a | alpha = a), drawn for every class. Wrong answers of more than two classes are spread
        at random.
    random_state : int or Generator, default=0
        Source of randomness.
    n_classes : int, default=2
        Number of classes.
    class_balance : array-like of shape (n_classes,), optional
        Share of each class; by default even, or for two classes by ``imbalance``.

    Examples
    --------
    >>> random_model(groups=[3, 1, 1], random_state=0).n_voters
    5
    """
    sizes = np.asarray(groups, dtype=np.int64)
    if sizes.ndim != 1 or not len(sizes) or (sizes < 1).any():
        raise ValueError(f"groups must be the sizes of the groups, such as [5, 1, 1], got {groups!r}")
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes}")
    if n_classes > 2 and imbalance:
        raise ValueError("imbalance is for two classes: pass class_balance")
    rng = np.random.default_rng(random_state)
    latents = _random_tables(rng, len(sizes), group_accuracy, n_classes)
    votes = _random_tables(rng, int(sizes.sum()), voter_accuracy, n_classes)
    prior = np.full(n_classes, 1 / n_classes) if class_balance is None else np.asarray(class_balance, dtype=float)
    if n_classes == 2 and class_balance is None:
        prior = np.array([1 - (1 + imbalance) / 2, (1 + imbalance) / 2])
    if prior.shape != (n_classes,) or not (prior >= 0).all() or abs(prior.sum() - 1) > 1e-9:
        raise ValueError(f"class_balance must be {n_classes} shares that sum to 1, got {class_balance!r}")
    drawn = TreeModel(np.repeat(np.arange(len(sizes)), sizes), prior, latents.transpose(0, 2, 1), votes)
    alone = sizes == 1
    return drawn.with_tables(
        prior,
        np.where(alone[:, None, None], np.eye(n_classes), drawn.latents),
        np.where(alone[drawn.groups][:, None, None], drawn.confusion, drawn.votes),
    )


def _random_tables(
    rng: np.random.Generator, n_tables: int, accuracy: tuple[float, float], n_classes: int
) -> NDArray[np.float64]:
    """Draw tables Pr(said | given): right with a rate from a range, the last class first, wrong answers at random."""
    right = rng.uniform(*accuracy, (n_classes, n_tables))[::-1].T
    errors = np.ones((n_tables, n_classes, n_classes))
    if n_classes > 2:
        errors = rng.gamma(1.0, size=errors.shape)
    errors *= 1 - np.eye(n_classes)
    errors /= errors.sum(axis=2, keepdims=True)
    return np.eye(n_classes) * right[:, :, None] + errors * (1 - right)[:, :, None]


def simulate_votes(
    n_items: int = 10_000,
    groups: Sequence[int] = (5,) + (1,) * 15,
    imbalance: float = 0.0,
    *,
    n_classes: int = 2,
    class_balance: ArrayLike | None = None,
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
    imbalance, n_classes, class_balance, group_accuracy, voter_accuracy
        As in :func:`random_model`.
    missing_rate : float, default=0.0
        Share of votes that are missing, at random.
    random_state : int or Generator, default=0
        Source of randomness.
    return_model : bool, default=False
        Also return the true :class:`~goldless.TreeModel`.

    Returns
    -------
    X : ndarray of shape (n_items, n_voters)
        Votes as int8: -1 and +1, or 0, 1, 2, ... of more than two classes; as float with NaN if some are missing.
    y : ndarray of shape (n_items,)
        True labels.
    model : TreeModel
        Only if ``return_model``.

    Examples
    --------
    >>> X, y = simulate_votes(100, groups=[3, 1, 1], random_state=0)
    >>> X.shape, y.shape
    ((100, 5), (100,))
    >>> X, y = simulate_votes(100, groups=[3, 1, 1], n_classes=3, random_state=0)
    >>> sorted(set(y.tolist()))
    [0, 1, 2]
    """
    rng = np.random.default_rng(random_state)
    model = random_model(
        groups, imbalance, group_accuracy, voter_accuracy, rng, n_classes=n_classes, class_balance=class_balance
    )
    codes, labels, _ = model.sample(n_items, rng)
    X: NDArray = 2 * codes - 1 if n_classes == 2 else codes
    y = 2 * labels - 1 if n_classes == 2 else labels
    if missing_rate > 0:
        X = np.where(rng.random(X.shape) < missing_rate, np.nan, X.astype(float))
    return (X, y, model) if return_model else (X, y)
