"""The few checks every public function on arrays shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.kernels.threads import row_chunks

_ENTRIES_AT_ONCE = 1 << 20


def as_square(matrix: ArrayLike) -> NDArray[np.float64]:
    """Return a float64 copy of a symmetric matrix with a zero diagonal, or say what is wrong with it."""
    square = np.array(matrix, dtype=np.float64, order="C")
    if square.ndim != 2 or square.shape[0] != square.shape[1]:
        raise ValueError(f"a square matrix over voters is needed, got shape {square.shape}")
    np.fill_diagonal(square, 0.0)
    if not np.isfinite(square).all():
        i, j = np.argwhere(~np.isfinite(square))[0]
        raise ValueError(f"the matrix is not finite at ({i}, {j})")
    least = 1e-12 * max(1.0, float(square.max(initial=0)), -float(square.min(initial=0)))
    if not all(np.allclose(square[rows], square.T[rows], rtol=1e-9, atol=least) for rows in matrix_rows(len(square))):
        raise ValueError("the matrix is not symmetric")
    return square


def matrix_rows(n_voters: int) -> list[slice]:
    """Return rows of a matrix over voters to work on at a time: what is made on the way is as large again."""
    return row_chunks(n_voters, max(_ENTRIES_AT_ONCE // max(n_voters, 1), 1))


def as_groups(groups: ArrayLike, n_voters: int) -> NDArray[np.int64]:
    """Return group numbers 0, 1, ... in order of first appearance."""
    labels = np.asarray(groups)
    if labels.shape != (n_voters,):
        raise ValueError(f"groups must name one group for each of {n_voters} voters, got shape {labels.shape}")
    return relabel(labels)


def relabel(labels: NDArray) -> NDArray[np.int64]:
    """Number labels 0, 1, ... in order of first appearance, so that equal partitions are equal arrays."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]
