"""Fit the covariance model with groups by coordinate descent.

Voter i has a loading u_i and sits in a group; group k has a coupling t_k, and t = 1 for a voter that is alone:

    r_ij = u_i u_j              within a group,
    r_ij = t_k t_l u_i u_j      across groups k and l.

The fit minimises ``Q = sum over i < j of w_ij (r_ij - model_ij)^2``, with weight zero where a pair was never seen and
on the diagonal.
A label is a number from 0 to m - 1; ``size[label]`` counts its voters and ``coupling[label]`` is its t.

Each kernel is one function on plain arrays that allocates and slices nothing: so each compiles in half a second.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled

TINY = 1e-12
_ANY_ORDER = {"reassoc", "nsz"}  # sums in any order, so that they run on whole vectors


@compiled(fastmath=_ANY_ORDER)
def refit(covariance, weight, label, size, loading, coupling, chosen, couplings_too, max_sweeps, tolerance, outside):
    """Coordinate descent on the loadings of `chosen` voters, and on the couplings of their groups, in place.

    Stops when a sweep changes no loading by more than the tolerance times the largest, and no coupling by more than
    the tolerance. Returns the part of Q that comes from pairs with a chosen voter: all of it if all are chosen.
    ``outside`` is room for m numbers: the loadings t u towards other groups.

    The loading of a voter is a regression. The scale s of a group's loadings and its coupling t have a closed form:
    with x = s^2 inside the block and y = s t towards the rest the two sums of squares separate, so x and y are two
    weighted regressions. If the result leaves -1 <= t <= 1, only t is updated and clipped.
    """
    m = loading.size
    for j in range(m):
        outside[j] = coupling[label[j]] * loading[j]
    for _ in range(max_sweeps):
        change = 0.0
        scale = TINY
        for i in range(m):
            if not chosen[i]:
                continue
            own = label[i]
            t = coupling[own]
            numerator = 0.0
            denominator = 0.0
            for j in range(m):
                partner = loading[j] if label[j] == own else t * outside[j]
                scaled = weight[i, j] * partner
                numerator += scaled * covariance[i, j]
                denominator += scaled * partner
            if denominator > TINY:
                updated = numerator / denominator
                change = max(change, abs(updated - loading[i]))
                loading[i] = updated
                outside[i] = t * updated
            scale = max(scale, abs(loading[i]))
        change /= scale
        for k in range(m if couplings_too else 0):
            if size[k] < 2:
                continue
            inside_num, inside_den, across_num, across_den = 0.0, 0.0, 0.0, 0.0
            for i in range(m):
                if label[i] != k or not chosen[i]:
                    continue
                in_num, in_den, out_num, out_den = 0.0, 0.0, 0.0, 0.0
                for j in range(m):
                    within = loading[j] if label[j] == k else 0.0
                    across = 0.0 if label[j] == k else outside[j]
                    scaled_in = weight[i, j] * within
                    scaled_out = weight[i, j] * across
                    in_num += scaled_in * covariance[i, j]
                    in_den += scaled_in * within
                    out_num += scaled_out * covariance[i, j]
                    out_den += scaled_out * across
                own = loading[i]
                inside_num += own * in_num / 2  # every pair is met twice
                inside_den += own * own * in_den / 2
                across_num += own * out_num
                across_den += own * own * out_den
            if across_den <= TINY:
                continue
            towards_rest = across_num / across_den
            before = coupling[k]
            ratio = 1.0
            t = min(1.0, max(-1.0, towards_rest))
            if inside_den > TINY and inside_num > 0.0:
                scale_of_group = np.sqrt(inside_num / inside_den)
                free = towards_rest / scale_of_group
                if -1.0 <= free <= 1.0:
                    t = free
                    ratio = scale_of_group
            coupling[k] = t
            for i in range(m):
                if label[i] == k:
                    loading[i] *= ratio
                    outside[i] = t * loading[i]
            change = max(change, abs(t - before))
        if change < tolerance:
            break
    total = 0.0
    for i in range(m):
        if not chosen[i]:
            continue
        own = label[i]
        t = coupling[own]
        u = loading[i]
        of_row = 0.0
        for j in range(m):
            partner = loading[j] if label[j] == own else t * outside[j]
            error = covariance[i, j] - u * partner
            share = 0.5 if chosen[j] else 1.0  # pairs of chosen voters are met twice
            of_row += share * weight[i, j] * error * error
        total += of_row
    return total


@compiled
def evaluate_partitions(
    covariance,
    weight,
    partitions,
    sizes,
    flat_loading,
    label,
    size,
    loading,
    coupling,
    chosen,
    outside,
    result,
):
    """Fill Q of every partition (rows of labels below m), each fitted from the flat loadings.

    The arrays from ``label`` to ``outside`` are room for m numbers each; everybody is chosen.
    """
    count, m = partitions.shape
    for p in range(count):
        for k in range(m):
            label[k] = partitions[p, k]
            size[k] = sizes[p, k]
            coupling[k] = 0.7 if sizes[p, k] > 1 else 1.0
            loading[k] = flat_loading[k]
        result[p] = refit(covariance, weight, label, size, loading, coupling, chosen, True, 100, 1e-6, outside)
