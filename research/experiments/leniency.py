"""A class and one leniency that all voters share: what groups cannot say, tried on data that has it.

A voter says + with log-odds ``a + b y + c z``: ``y`` is -1 or +1, ``z`` standard normal and the same for all voters
on an item. Two factors run through all votes; that ``y`` has two values and ``z`` has not tells them apart.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

_NODES = 7  # of the integral over z
_RIDGE = 1e-3
_LARGEST_STEP = 2.0


def leniency_labels(
    votes: NDArray[np.int8], labels: NDArray[np.int8], n_passes: int = 200, tolerance: float = 1e-7
) -> tuple[NDArray[np.int64], float]:
    """Return labels -1 and +1 of items by voters (-1, 0 missing, +1), by EM from other labels, and the likelihood."""
    patterns, inverse, counts = np.unique(votes, axis=0, return_inverse=True, return_counts=True)
    positive, negative = (patterns > 0).astype(float), (patterns < 0).astype(float)
    nodes, weights = hermegauss(_NODES)
    features = np.column_stack([np.ones(2 * _NODES), np.repeat([-1, 1], _NODES), np.tile(nodes, 2)])
    share, last = 0.5, -np.inf
    slopes = _start(votes, labels)
    for _ in range(n_passes):
        log_prior = np.log(np.outer([1 - share, share], weights / weights.sum()).ravel())
        log_odds = features @ slopes.T
        joint = positive @ -np.logaddexp(0, -log_odds).T + negative @ -np.logaddexp(0, log_odds).T + log_prior
        largest = joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint - largest)
        total = posterior.sum(axis=1, keepdims=True)
        posterior /= total
        likelihood = float(counts @ (np.log(total) + largest)[:, 0])
        if likelihood - last <= tolerance * len(votes):
            break
        last = likelihood
        weighted = posterior * counts[:, None]
        share = weighted[:, _NODES:].sum() / len(votes)
        slopes = _regress(features, positive.T @ weighted, negative.T @ weighted, slopes)
    found = np.where(posterior[:, _NODES:].sum(axis=1) > 0.5, 1, -1)[np.ravel(inverse)]
    same = np.mean(found == labels) >= 0.5  # which class is which, the labels say
    return (found if same else -found), likelihood


def _start(votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return coefficients by which voters agree with the labels, and share a little."""
    cast = (votes != 0).sum(axis=0)
    agreement = np.clip((votes == labels[:, None]).sum(axis=0) / np.maximum(cast, 1), 0.1, 0.9)
    log_odds = np.log(agreement / (1 - agreement)) / 1.5
    return np.column_stack([np.zeros_like(log_odds), log_odds, np.full_like(log_odds, 0.5)])


def _regress(
    features: NDArray[np.float64],
    said: NDArray[np.float64],
    not_said: NDArray[np.float64],
    slopes: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the coefficients of each voter after three Newton steps of its logistic regression on the nodes."""
    slopes = slopes.copy()
    for voter, (yes, no) in enumerate(zip(said, not_said, strict=True)):
        for _ in range(3):
            share = 1 / (1 + np.exp(-features @ slopes[voter]))
            gradient = features.T @ (yes - (yes + no) * share) - _RIDGE * slopes[voter]
            curvature = (features.T * ((yes + no) * share * (1 - share))) @ features + _RIDGE * np.eye(3)
            step = np.linalg.solve(curvature, gradient)
            slopes[voter] += np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
    return slopes
