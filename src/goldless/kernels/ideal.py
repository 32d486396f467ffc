"""Zero patterns of 2 x 2 determinants."""

from __future__ import annotations

from goldless.kernels.compiled import compiled


@compiled
def _vanishes(left, right, tol):
    """Whether two products are equal up to a relative tolerance."""
    return abs(left - right) <= tol * max(abs(left), abs(right))


@compiled
def same_zero_pattern(covariance, first, second, tol):
    """Compare where M(first, j, k, l) and M(second, j, k, l) vanish, over all distinct j, k, l.

    Stops at the first difference. Swapping j and l changes only the sign of the determinant, so j < l.
    """
    m = covariance.shape[0]
    for j in range(m):
        if j == first or j == second:
            continue
        for l in range(j + 1, m):
            if l == first or l == second:
                continue
            for k in range(m):
                if k == first or k == second or k == j or k == l:
                    continue
                of_first = _vanishes(
                    covariance[first, j] * covariance[k, l], covariance[first, l] * covariance[k, j], tol
                )
                of_second = _vanishes(
                    covariance[second, j] * covariance[k, l], covariance[second, l] * covariance[k, j], tol
                )
                if of_first != of_second:
                    return False
    return True
