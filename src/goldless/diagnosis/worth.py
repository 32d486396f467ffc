"""What voters and labels are worth, from the votes and the posterior, without labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.maths.correlations import effective_votes, scaled
from goldless.maths.tree import LatentModel


def modelled_effective_votes(model: LatentModel) -> float:
    """Return the effective votes that the groups of a model alone account for."""
    positive, negative = model.conditional_covariance()
    within = model.class_balance * positive + (1 - model.class_balance) * negative
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


def expected_balanced_accuracy(
    labels: NDArray[np.number], posterior: NDArray[np.float64], counts: NDArray[np.integer]
) -> float:
    """Return the balanced accuracy of labels if the posterior of the fitted model is right.

    Parameters
    ----------
    labels : ndarray of shape (n_patterns,)
        1 positive, 0 negative, 1/2 for a coin.
    posterior : ndarray of shape (n_patterns,)
        Pr(Y positive | votes).
    counts : ndarray of shape (n_patterns,)
        Items with each pattern.
    """
    positive, negative = counts * posterior, counts * (1 - posterior)
    sensitivity = positive @ labels / max(positive.sum(), 1e-300)
    specificity = negative @ (1 - labels) / max(negative.sum(), 1e-300)
    return float((sensitivity + specificity) / 2)


def expected_of_panel(
    labels: NDArray[np.number],
    combined: NDArray[np.number],
    posterior: NDArray[np.float64],
    counts: NDArray[np.integer],
    expected: float,
) -> float:
    """Return the balanced accuracy expected of a panel, on the scale of what is expected of the combined labels.

    The model that judges the panel chose it: what the combined labels lose for this reason, the panel loses too.

    Parameters
    ----------
    labels, combined : ndarray of shape (n_patterns,)
        Labels by the panel and by all voters, 1 positive, 0 negative.
    posterior, counts : ndarray of shape (n_patterns,)
        Pr(Y positive | votes), and items with each pattern.
    expected : float
        Balanced accuracy expected of the combined labels, optimism taken out.
    """
    seen, of_all = (expected_balanced_accuracy(codes, posterior, counts) for codes in (labels, combined))
    return seen - of_all + expected


def single_accuracies(
    codes: NDArray[np.int8], posterior: NDArray[np.float64], counts: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the expected balanced accuracy of every voter alone, a coin where it does not vote."""
    positive, negative = counts * posterior, counts * (1 - posterior)
    said_positive, said_negative = (codes == 1).astype(np.float64), (codes == 0).astype(np.float64)
    gain = positive @ (said_positive - said_negative) / max(positive.sum(), 1e-300)
    gain += negative @ (said_negative - said_positive) / max(negative.sum(), 1e-300)
    return 0.5 + gain / 4


def unexplained_share(
    covariance: NDArray[np.float64], fitted: NDArray[np.float64], standard_error: NDArray[np.float64]
) -> float:
    """Return the share of the squared covariances that the model leaves over, beyond what chance leaves."""
    off = ~np.eye(len(covariance), dtype=bool)
    known = off & np.isfinite(covariance) & np.isfinite(standard_error)
    total = float((covariance[known] ** 2).sum())
    left = float(((covariance - fitted)[known] ** 2 - standard_error[known] ** 2).sum())
    return float(np.clip(left / total, 0.0, 1.0)) if total > 0 else 0.0
