"""Rank-one completion, and the residual of a grouping (eq. res)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from goldless.kernels.covariance_fit import refit
from goldless.maths.checks import as_groups, as_square, matrix_rows
from goldless.maths.covariance import CovarianceEstimate

_TOL = 1e-10
_MAX_SWEEPS = 2000
_ALL_EIGENVECTORS = 300  # voters up to which all eigenvectors are computed


class Residual(NamedTuple):
    """Residual of a grouping and the loadings that attain it."""

    value: float  # `sum over i != j` of the squared error (eq. res)
    # v_on, v_off: (n_voters,): loadings within and across groups; zero for a voter that has nobody in its group, or
    # nobody outside
    v_on: NDArray[np.float64]
    v_off: NDArray[np.float64]


def complete_rank_one(
    matrix: ArrayLike, mask: ArrayLike | None = None, weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return v such that ``v_i v_j`` is closest to ``matrix[i, j]`` on the mask, in weighted least squares.

    Parameters
    ----------
    matrix : array-like of shape (m, m)
        Symmetric; its diagonal is not read.
    mask : array-like of shape (m, m), optional
        Entries to fit; by default all off the diagonal.
    weights : array-like of shape (m, m), optional
        Non-negative weights of the squared errors, such as inverse sampling variances.

    Returns
    -------
    ndarray of shape (m,)
        The signs are fixed by a positive sum in each connected part of the mask.

    Notes
    -----
    Each connected part starts from its leading eigenvector and descends to a local minimum. An entry with no
    neighbour in the mask gets 0. A part of two entries has many solutions: the one with equal sizes is
    returned. So does a part whose mask is bipartite (two groups): there the scale of one side against the
    other is not determined, and the two sides get about the same norm.

    Examples
    --------
    >>> import numpy as np
    >>> v = np.array([0.2, 0.4, 0.5])
    >>> complete_rank_one(np.outer(v, v)).round(6)
    array([0.2, 0.4, 0.5])
    """
    matrix = as_square(matrix)
    active = ~np.eye(len(matrix), dtype=bool) if mask is None else np.array(mask, dtype=bool)
    if active.shape != matrix.shape:
        raise ValueError(f"mask has shape {active.shape}, the matrix {matrix.shape}")
    np.fill_diagonal(active, False)
    weight = active.astype(float) if weights is None else np.where(active, np.asarray(weights, float), 0.0)
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("weights must be finite and not negative")
    matrix[weight <= 0] = 0.0
    return _complete(matrix, weight)


def _complete(matrix: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Complete a checked matrix that is zero where the weight is."""
    loadings = np.zeros(len(matrix))
    linked = weight > 0
    if len(matrix) and linked.sum(axis=1).max() == len(matrix) - 1:  # one voter is linked with all
        n_parts, part_of = 1, np.zeros(len(matrix), dtype=np.int64)
    else:
        n_parts, part_of = connected_components(linked, directed=False)
    for part in range(n_parts):
        voters = np.flatnonzero(part_of == part)
        if len(voters) < 2:
            continue
        whole = len(voters) == len(matrix)
        block = matrix if whole else np.ascontiguousarray(matrix[np.ix_(voters, voters)])
        if len(voters) == 2:  # one equation for two loadings: equal sizes
            size = np.sqrt(abs(block[0, 1]))
            loadings[voters] = size, np.copysign(size, block[0, 1])
            continue
        block_weight = weight if whole else np.ascontiguousarray(weight[np.ix_(voters, voters)])
        part_loadings = _start(block, block_weight)
        _descend(block, block_weight, part_loadings)
        loadings[voters] = part_loadings if part_loadings.sum() >= 0 else -part_loadings
    return loadings


def _descend(matrix: NDArray[np.float64], weight: NDArray[np.float64], loadings: NDArray[np.float64]) -> None:
    """Minimise ``sum w_ij (v_i v_j - r_ij)^2`` over v in place, one coordinate at a time: everybody is alone."""
    n_voters = len(loadings)
    alone = np.arange(n_voters), np.ones(n_voters, dtype=np.int64), loadings, np.ones(n_voters)
    everybody = np.ones(n_voters, dtype=bool)
    refit(matrix, weight, *alone, everybody, False, _MAX_SWEEPS, _TOL, np.empty(n_voters))


def leading_eigenpair(matrix: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the largest eigenvalue of a symmetric matrix and its eigenvector; of a large one by Lanczos' method."""
    if len(matrix) > _ALL_EIGENVECTORS:
        values, vectors = eigsh(matrix, k=1, which="LA", v0=np.ones(len(matrix)))
    else:
        values, vectors = np.linalg.eigh(matrix)
    return float(values[-1]), vectors[:, -1]


def _start(matrix: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the leading eigenvector in the scale that fits the weighted entries best.

    A little of the row sums is mixed in, so that a coordinate that is zero by symmetry can leave the saddle.
    """
    last = len(matrix) - 1
    if len(matrix) > _ALL_EIGENVECTORS:
        direction = leading_eigenpair(matrix)[1]
    else:
        direction = eigh(matrix, subset_by_index=[last, last])[1][:, 0]
    rows = matrix.sum(axis=1)
    sign = 1.0 if direction @ rows >= 0 else -1.0
    direction = sign * direction + 1e-3 * rows / max(float(np.linalg.norm(rows)), 1e-300)
    slope = power = 0.0
    for rows in matrix_rows(len(matrix)):
        product = np.outer(direction[rows], direction)
        slope += (weight[rows] * product * matrix[rows]).sum()
        power += (weight[rows] * product**2).sum()
    return np.ascontiguousarray(direction * np.sqrt(max(slope / max(power, 1e-300), 0.0)))


def residual(matrix: ArrayLike, groups: ArrayLike) -> Residual:
    """Return the smallest residual of a covariance for a given grouping, and its loadings (eq. res).

    Parameters
    ----------
    matrix : array-like of shape (n_voters, n_voters)
        Covariance of the votes; the diagonal is not read.
    groups : array-like of shape (n_voters,)
        Group of each voter.

    Notes
    -----
    Loadings are scaled by the fit itself, not unit eigenvectors, which would bias the choice of the number of
    groups. A group of two voters fits its one covariance exactly.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(20_000, groups=[3, 1, 1, 1], random_state=0)
    >>> found = gl.LatentSML(structure="independent").fit(X).covariance_
    >>> bool(residual(found, [0, 0, 0, 1, 2, 3]).value < residual(found, range(6)).value)
    True
    """
    matrix = as_square(matrix)
    groups = as_groups(groups, len(matrix))
    same = groups[:, None] == groups[None, :]
    np.fill_diagonal(same, False)
    across = groups[:, None] != groups[None, :]
    v_on = _complete(np.where(same, matrix, 0.0), same.astype(float))
    v_off = _complete(np.where(across, matrix, 0.0), across.astype(float))
    value = 0.0
    for rows in matrix_rows(len(matrix)):
        fitted = np.where(same[rows], np.outer(v_on[rows], v_on), np.outer(v_off[rows], v_off))
        error = (fitted - matrix[rows])[same[rows] | across[rows]]
        value += float(error @ error)
    return Residual(value, v_on, v_off)


def filled_covariance(estimate: CovarianceEstimate) -> NDArray[np.float64]:
    """Return the covariance with pairs that share no items filled in as if independent given Y."""
    known = estimate.known
    off_diagonal = ~np.eye(len(known), dtype=bool)
    if known[off_diagonal].all():
        return estimate.covariance
    loadings = complete_rank_one(estimate.covariance, known, estimate.n_pairs)
    return np.where(known | ~off_diagonal, estimate.covariance, np.outer(loadings, loadings))
