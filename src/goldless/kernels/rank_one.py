"""Rank-one completion by coordinate descent."""

from __future__ import annotations

from goldless.kernels.compiled import compiled


@compiled
def descend(matrix, weights, loadings, tol, max_sweeps):
    """Minimise ``sum w_ij (v_i v_j - r_ij)^2`` over v in place, one coordinate at a time.

    Each update is the exact minimiser in its coordinate, so the sum never rises. Entries of weight zero and
    the diagonal are not read. Returns the number of sweeps, or -1 when the last sweep still moved some
    loading by more than ``tol`` times the largest.
    """
    m = loadings.size
    for sweep in range(max_sweeps):
        moved = 0.0
        largest = 0.0
        for i in range(m):
            numerator = 0.0
            denominator = 0.0
            for j in range(m):
                weight = weights[i, j]
                if weight > 0.0 and i != j:
                    numerator += weight * matrix[i, j] * loadings[j]
                    denominator += weight * loadings[j] * loadings[j]
            new = numerator / denominator if denominator > 0.0 else 0.0
            moved = max(moved, abs(new - loadings[i]))
            largest = max(largest, abs(new))
            loadings[i] = new
        if moved <= tol * largest:
            return sweep + 1
    return -1
