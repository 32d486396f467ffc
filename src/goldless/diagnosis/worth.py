"""What voters and labels are worth, from the votes and the posterior, without labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.maths.correlations import effective_votes, scaled
from goldless.maths.tree import TreeModel


def modelled_effective_votes(model: TreeModel) -> float:
    """Return the effective votes that the groups of a model alone account for."""
    of_classes = model.conditional_covariance()  # the last class first
    within = np.tensordot(model.class_prior[::-1], np.stack(of_classes), 1)
    return effective_votes(np.clip(scaled(within, np.diag(within)), 0.0, 1.0))


def one_more(correlation: NDArray[np.float64], groups: NDArray[np.int64]) -> dict[int, float]:
    """Return what one more voter like those of each group of two or more would add to the effective votes.

    The newcomer agrees with every voter as the members of its group do on average; it adds nothing at the least.
    """
    before = effective_votes(correlation)
    gains = {}
    for group in np.flatnonzero(np.bincount(groups) >= 2):
        members = groups == group
        inside = correlation[np.ix_(members, members)]
        size = int(members.sum())
        typical = (inside.sum() - np.trace(inside)) / (size * (size - 1))
        row = np.where(members, typical, correlation[members].mean(axis=0))
        wider = np.block([[correlation, row[:, None]], [row[None, :], np.ones((1, 1))]])
        gains[int(group)] = max(effective_votes(wider) - before, 0.0)
    return gains


def shared_doubt(
    labels: NDArray[np.integer],
    combined: NDArray[np.integer],
    posterior: NDArray[np.float64],
    counts: NDArray[np.integer],
) -> float:
    """Return how much of the optimism about the combined labels goes for other labels, between 0 and 1.

    The model is too sure of its own label where it doubts; on an item that is labelled otherwise it is too sure that
    this is wrong. So items count by their doubt: for, if labelled alike, and else against.
    """
    doubt = counts * (1 - posterior.max(axis=1))
    same = np.where(labels == combined, 1.0, -1.0)
    total = float(doubt.sum())
    return max(float(doubt @ same) / total, 0.0) if total > 0 else float((same > 0).all())


def single_accuracies(
    codes: NDArray[np.int8], posterior: NDArray[np.float64], counts: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the expected balanced accuracy of every voter alone, a die where it does not vote."""
    n_classes, silent = posterior.shape[1], (codes < 0) / posterior.shape[1]
    recalls = []
    for label, items in enumerate((counts[:, None] * posterior).T):
        recalls.append(items @ ((codes == label) + silent) / max(items.sum(), 1e-300))
    return np.sum(recalls, axis=0) / n_classes


def unexplained_share(
    covariance: NDArray[np.float64], fitted: NDArray[np.float64], standard_error: NDArray[np.float64]
) -> float:
    """Return the share of the squared covariances that the model leaves over, beyond what chance leaves."""
    off = ~np.eye(len(covariance), dtype=bool)
    known = off & np.isfinite(covariance) & np.isfinite(standard_error)
    total = float((covariance[known] ** 2).sum())
    left = float(((covariance - fitted)[known] ** 2 - standard_error[known] ** 2).sum())
    return float(np.clip(left / total, 0.0, 1.0)) if total > 0 else 0.0
