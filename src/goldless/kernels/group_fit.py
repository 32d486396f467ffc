"""Fit the covariance model with groups by coordinate descent.

Voter i has a loading u_i and sits in a group; group k has a coupling t_k, and t = 1 for a voter that is alone:

    r_ij = u_i u_j              within a group,
    r_ij = t_k t_l u_i u_j      across groups k and l.

The fit minimises ``Q = sum over i < j of w_ij (r_ij - model_ij)^2``, with weight zero where a pair was never seen.
A label is a number from 0 to m - 1; ``size[label]`` counts its voters and ``coupling[label]`` is its t.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled

TINY = 1e-12


@compiled
def weighted_residual(covariance, weight, label, loading, coupling):
    """Q, the weighted residual over unordered pairs."""
    m = len(loading)
    total = 0.0
    for i in range(m):
        for j in range(i):
            factor = loading[i] * loading[j]
            if label[i] != label[j]:
                factor *= coupling[label[i]] * coupling[label[j]]
            error = covariance[i, j] - factor
            total += weight[i, j] * error * error
    return total


@compiled
def sweep_loadings(covariance, weight, label, loading, coupling, chosen):
    """One pass of exact coordinate minimisation over the loadings u_i of `chosen` voters."""
    m = len(loading)
    change = 0.0
    scale = TINY
    for i in range(m):
        if not chosen[i]:
            continue
        own = label[i]
        numerator = 0.0
        denominator = 0.0
        for j in range(m):
            if j == i:
                continue
            w = weight[i, j]
            partner = loading[j]
            if label[j] != own:
                partner *= coupling[own] * coupling[label[j]]
            numerator += w * covariance[i, j] * partner
            denominator += w * partner * partner
        if denominator > TINY:
            updated = numerator / denominator
            change = max(change, abs(updated - loading[i]))
            loading[i] = updated
        scale = max(scale, abs(loading[i]))
    return change / scale


@compiled
def _update_coupling(covariance, weight, label, loading, coupling, k, lowest):
    """Group k jointly: scale s of its loadings and its coupling t, in closed form.

    With x = s^2 inside the block and y = s t towards the rest the two sums of
    squares separate, so x and y are two weighted regressions. If the result
    leaves lowest <= t <= 1, only t is updated and clipped.
    """
    m = len(loading)
    inside_num = 0.0
    inside_den = 0.0
    across_num = 0.0
    across_den = 0.0
    for i in range(m):
        if label[i] != k:
            continue
        for j in range(m):
            if j == i:
                continue
            w = weight[i, j]
            product = loading[i] * loading[j]
            if label[j] == k:
                if j < i:
                    inside_num += w * covariance[i, j] * product
                    inside_den += w * product * product
            else:
                product *= coupling[label[j]]
                across_num += w * covariance[i, j] * product
                across_den += w * product * product
    if across_den <= TINY:
        return
    across = across_num / across_den
    if inside_den > TINY and inside_num > 0.0:
        scale = np.sqrt(inside_num / inside_den)
        t = across / scale
        if lowest <= t <= 1.0:
            coupling[k] = t
            for i in range(m):
                if label[i] == k:
                    loading[i] *= scale
            return
    coupling[k] = min(1.0, max(lowest, across))


@compiled
def refit(covariance, weight, label, size, loading, coupling, lowest, max_sweeps, tolerance):
    """Coordinate descent on all loadings and couplings, in place; returns Q."""
    m = len(loading)
    everybody = np.ones(m, dtype=np.bool_)
    for _ in range(max_sweeps):
        change = sweep_loadings(covariance, weight, label, loading, coupling, everybody)
        for k in range(m):
            if size[k] > 1:
                before = coupling[k]
                _update_coupling(covariance, weight, label, loading, coupling, k, lowest)
                change = max(change, abs(coupling[k] - before))
        if change < tolerance:
            break
    return weighted_residual(covariance, weight, label, loading, coupling)


@compiled
def refit_members(covariance, weight, label, size, loading, coupling, lowest, k, l, sweeps):
    """Coordinate descent on the loadings and couplings of groups k and l only."""
    m = len(loading)
    chosen = np.zeros(m, dtype=np.bool_)
    for i in range(m):
        chosen[i] = label[i] == k or label[i] == l
    for _ in range(sweeps):
        sweep_loadings(covariance, weight, label, loading, coupling, chosen)
        if size[k] > 1:
            _update_coupling(covariance, weight, label, loading, coupling, k, lowest)
        if l != k and size[l] > 1:
            _update_coupling(covariance, weight, label, loading, coupling, l, lowest)


@compiled
def evaluate_partitions(covariance, weight, partitions, flat_loading, lowest):
    """Q of every partition (rows of labels below m), each fitted from the flat loadings."""
    count, m = partitions.shape
    result = np.empty(count)
    size = np.zeros(m, dtype=np.int64)
    for p in range(count):
        label = partitions[p].copy()
        size[:] = 0
        for i in range(m):
            size[label[i]] += 1
        coupling = np.ones(m)
        for k in range(m):
            if size[k] > 1:
                coupling[k] = max(lowest, 0.7)
        loading = flat_loading.copy()
        result[p] = refit(covariance, weight, label, size, loading, coupling, lowest, 100, 1e-6)
    return result
