"""Algorithm 2 of the paper: cluster the score matrix, keep the grouping of smallest residual."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh, qr, svd
from scipy.spatial.distance import cdist

from goldless.maths.checks import as_square, relabel
from goldless.maths.covariance import CovarianceEstimate, own_order
from goldless.maths.rank_one import residual
from goldless.maths.score import score_matrix
from goldless.maths.structure.search import search_structure

_ALL_COUNTS_UP_TO = 150
_TIE = 1e-12  # residuals closer than this, relative to themselves or to all of the matrix, are equal


@dataclass(frozen=True)
class GroupAssignment:
    """A grouping of the voters and how it was found.

    Attributes
    ----------
    groups : ndarray of shape (n_voters,)
        Group of each voter, numbered in order of first appearance.
    residual : float
        Residual of the grouping (eq. res).
    v_on, v_off : ndarray of shape (n_voters,)
        Loadings within and across groups.
    residual_path : dict of int to float
        Residual of the grouping found for each candidate number of groups.
    score : ndarray of shape (n_voters, n_voters)
        Score matrix that was clustered.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(20_000, groups=[4, 3, 3], random_state=0)
    >>> gl.assign_groups(gl.LatentSML(structure="independent").fit(X).covariance_).n_groups
    3
    """

    groups: NDArray[np.int64]
    residual: float
    v_on: NDArray[np.float64]
    v_off: NDArray[np.float64]
    residual_path: dict[int, float]
    score: NDArray[np.float64] = field(repr=False)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.groups.max()) + 1


class ScoreClustering:
    """Spectral clustering of a score matrix into any number of groups, from one eigendecomposition.

    The normalised Laplacian is ``I - D^-1/2 S D^-1/2``; voters are rows of its first eigenvectors, scaled to
    length one. The start of k-means is read off a pivoted QR factorisation, so nothing is random and a
    permutation of the voters permutes the result.
    """

    def __init__(self, score: NDArray[np.float64]):
        degree = score.sum(axis=1)
        scale = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))
        _, vectors = eigh(score * np.outer(scale, scale))
        self._vectors = vectors[:, ::-1]  # smallest eigenvalues of the Laplacian first

    def cluster(self, n_groups: int) -> NDArray[np.int64]:
        """Return the group of each voter, at most ``n_groups`` of them."""
        n_voters = len(self._vectors)
        if n_groups == 1:
            return np.zeros(n_voters, dtype=np.int64)
        if n_groups == n_voters:
            return np.arange(n_voters)
        rows = self._vectors[:, :n_groups]
        points = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return relabel(_k_means(points, _pivoted_labels(rows)))  # pivots by length, which scaling would level


def _pivoted_labels(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Assign rows to k representative rows chosen by QR with pivoting (Damle, Minden and Ying 2019)."""
    n_groups = points.shape[1]
    _, _, pivots = qr(points.T, pivoting=True)
    chosen = points[pivots[:n_groups]].T
    try:
        left, _, right = svd(chosen)
    except np.linalg.LinAlgError:  # divide and conquer may not converge, iteration does
        left, _, right = svd(chosen, lapack_driver="gesvd")
    return np.abs(points @ (left @ right)).argmax(axis=1)


def _k_means(points: NDArray[np.float64], labels: NDArray[np.int64], max_iter: int = 100) -> NDArray[np.int64]:
    """Refine labels by Lloyd's iterations; a group that empties stays empty."""
    for _ in range(max_iter):
        present = np.unique(labels)
        centres = np.stack([points[labels == label].mean(axis=0) for label in present])
        nearest = present[cdist(points, centres, "sqeuclidean").argmin(axis=1)]
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    return labels


def candidate_counts(n_voters: int) -> list[int]:
    """Return the numbers of groups Algorithm 2 tries: all up to 150 voters, then 1-50 and about 50 more."""
    if n_voters <= _ALL_COUNTS_UP_TO:
        return list(range(1, n_voters + 1))
    spread = np.geomspace(50, n_voters, 50).round().astype(int)
    return sorted({*range(1, 51), *spread.tolist()})


def _assign_by_search(
    matrix: ArrayLike, n_items: int | None, standard_error: ArrayLike | None, score: NDArray | None
) -> GroupAssignment:
    if n_items is None or n_items < 2:
        raise ValueError(f"method='search' needs n_items, the number of items behind the covariance, got {n_items}")
    covariance = as_square(matrix)
    if standard_error is None:
        variances = np.diag(np.asarray(matrix, dtype=float))
        error = np.sqrt(np.maximum(np.outer(variances, variances) - covariance**2, 0.0) / n_items)
    else:
        error = np.asarray(standard_error, dtype=float)
    n_pairs = np.full(covariance.shape, n_items, dtype=np.int64)
    ones = np.ones(len(covariance))
    found = search_structure(CovarianceEstimate(covariance, error, n_pairs, ones, np.zeros(len(ones))), n_items)
    fit = residual(covariance, found.groups)
    score = np.asarray(score_matrix(covariance)) if score is None else score
    return GroupAssignment(found.groups, fit.value, fit.v_on, fit.v_off, {found.groups.max() + 1: fit.value}, score)


def assign_groups(
    covariance: ArrayLike,
    method: Literal["paper", "search"] = "paper",
    *,
    n_groups: int | Iterable[int] | None = None,
    score: NDArray | None = None,
    n_items: int | None = None,
    standard_error: ArrayLike | None = None,
) -> GroupAssignment:
    """Group voters by their covariance.

    Parameters
    ----------
    covariance : array-like of shape (n_voters, n_voters)
        Covariance of the votes; the diagonal is not read.
    method : {"paper", "search"}, default="paper"
        "paper" is Algorithm 2: spectral clustering of the score matrix into each candidate number of groups,
        and of these the grouping of smallest residual. "search" is
        :func:`~goldless.maths.structure.search.search_structure`.
    n_groups : int or iterable of int, optional
        Number of groups, or the candidates; by default :func:`candidate_counts`. One group and one group
        for each voter are both candidates: they are the same model, without dependence.
    score : ndarray of shape (n_voters, n_voters), optional
        Score matrix, if it is at hand.
    n_items : int, optional
        Number of items behind the covariance; "search" needs it.
    standard_error : array-like of shape (n_voters, n_voters), optional
        Sampling standard errors of the covariance, for "search". By default those of centred votes with the
        variances on the diagonal of ``covariance``, which is read for this.

    Notes
    -----
    Of equally good groupings the one with most groups is kept.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(20_000, groups=[4, 3, 3], random_state=0)
    >>> gl.assign_groups(gl.LatentSML(structure="independent").fit(X).covariance_).groups
    array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    """
    if method == "search":
        return _assign_by_search(covariance, n_items, standard_error, score)
    if method != "paper":
        raise ValueError(f"method must be 'paper' or 'search', got {method!r}")
    covariance = as_square(covariance)
    n_voters = len(covariance)
    if n_groups is None:
        candidates = candidate_counts(n_voters)
    else:
        candidates = sorted({n_groups} if isinstance(n_groups, int | np.integer) else set(n_groups))
    if not candidates or candidates[0] < 1 or candidates[-1] > n_voters:
        raise ValueError(f"the number of groups must lie between 1 and {n_voters}, got {candidates}")
    score = np.asarray(score_matrix(covariance)) if score is None else score
    order = own_order(covariance)
    ordered = covariance[np.ix_(order, order)]
    clustering = ScoreClustering(score[np.ix_(order, order)])
    tie = _TIE * float((ordered**2).sum())
    path: dict[int, float] = {}
    best = None
    for count in reversed(candidates):
        groups = clustering.cluster(count)
        fit = residual(ordered, groups)
        path[count] = fit.value
        if best is None or fit.value < best[1].value * (1 - _TIE) - tie:
            best = (groups, fit)
    assert best is not None
    groups, fit = best
    place = np.argsort(order)
    return GroupAssignment(
        groups=relabel(groups[place]),
        residual=fit.value,
        v_on=fit.v_on[place],
        v_off=fit.v_off[place],
        residual_path=dict(sorted(path.items())),
        score=score,
    )
