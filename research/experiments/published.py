"""L-SML as a public copy of the authors' code computes it: to reproduce the published DREAM figures, not to be used.

It differs from the theory in the paper in three places: every group hands on one hard vote (groups of up to five
voters by simple vote, ties positive; larger ones by SML); the class imbalance b has the largest likelihood under
``psi + eta - 1 = v / (1 - b^2)``, where the theory has ``v / sqrt(1 - b^2)``, which pulls b towards zero; and with
that b the theory's rates are used. Rates are kept within [0.01, 0.99].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.maths.clustering import ScoreClustering
from goldless.maths.spectral import imbalance_by_likelihood, rates_from_loadings, spectral_loadings
from goldless.maths.tree_makers import independent_rates
from goldless.votes.rows import PatternTable

MORE_GROUPS_THAN = 5  # "the estimated number of groups is larger than five", says the paper of S1, S2 and S3
_SIMPLE_VOTE_UP_TO = 5
_MOST_GROUPS = 40


def published_path(X: NDArray[np.int8], y: NDArray[np.int8]) -> list[dict[str, Any]]:
    """Return, for each number of groups K, the residual of the grouping, the error of the labels and b."""
    covariance = gl.LatentSML(structure="independent", paper=gl.PaperOptions(em=False)).fit(X).covariance_
    clustering = ScoreClustering(np.asarray(gl.score_matrix(covariance)))
    path = []
    for n_groups in range(3, min(_MOST_GROUPS, X.shape[1] - 1) + 1):
        groups = clustering.cluster(n_groups)
        labels, imbalance = published_labels(X, groups)
        residual, error = gl.residual(covariance, groups).value, gl.balanced_error(y, labels)
        path.append({"K": n_groups, "residual": residual, "error": error, "b": imbalance})
    return path


def chosen_step(path: list[dict[str, Any]], more_than: int = 0) -> dict[str, Any]:
    """Return the step of smallest residual, of those with more groups than that if there are any."""
    allowed = [step for step in path if step["K"] > more_than]
    return min(allowed or path, key=lambda step: step["residual"])


def published_labels(X: NDArray[np.int8], groups: NDArray[np.int64]) -> tuple[NDArray[np.int8], float]:
    """Return labels and the imbalance b for complete votes -1, +1 and given groups.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_voters)
    groups : ndarray of shape (n_voters,)
    """
    hard = []
    for group in np.unique(groups):
        votes = X[:, groups == group]
        if votes.shape[1] <= _SIMPLE_VOTE_UP_TO:
            hard.append(np.where(votes.sum(axis=1, dtype=np.int64) >= 0, 1, -1).astype(np.int8))
        else:
            hard.append(published_sml(votes)[0])
    latents = np.stack([column for column in hard if column.min() < column.max()], axis=1)
    if latents.shape[1] < 3:
        return np.where(latents.sum(axis=1) > 0, 1, -1).astype(np.int8), float(latents.mean())
    return published_sml(latents)


def published_sml(X: NDArray[np.int8]) -> tuple[NDArray[np.int8], float]:
    """SML without EM; b by the likelihood of the published formula, labels by the theory's rates."""
    table = PatternTable.of(((X + 1) // 2).astype(np.int8))
    estimate = table.pairs.covariance()
    loadings = spectral_loadings(estimate.covariance)

    def log_likelihood(imbalance: float) -> float:
        rates = rates_from_loadings(estimate.mean, loadings, imbalance, as_published=True)
        return float(table.counts @ independent_rates((1 + imbalance) / 2, *rates).log_likelihood(table.codes))

    imbalance = imbalance_by_likelihood(log_likelihood)
    model = independent_rates((1 + imbalance) / 2, *rates_from_loadings(estimate.mean, loadings, imbalance))
    positive = model.log_likelihood_ratio(table.codes) > 0
    return np.where(positive, 1, -1).astype(np.int8)[table.inverse], imbalance
