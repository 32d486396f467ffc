"""Fit the covariance model with groups by coordinate descent.

Voter i has a loading u_i and sits in a group; group k has a coupling t_k, and t = 1 for a voter that is alone:

    r_ij = u_i u_j              within a group,
    r_ij = t_k t_l u_i u_j      across groups k and l.

The fit minimises ``Q = sum over i < j of w_ij (r_ij - model_ij)^2``, with weight zero where a pair was never seen and
on the diagonal.
A label is a number from 0 to m - 1; ``size[label]`` counts its voters and ``coupling[label]`` is its t.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled

TINY = 1e-12


@compiled(fastmath={"reassoc", "nsz"})  # sums in any order, so that they run on whole vectors
def regress(covariance, weight, partner):
    """Return sum w r p and sum w p^2 over a row: what regresses r on p."""
    numerator = 0.0
    denominator = 0.0
    for j in range(partner.size):
        scaled = weight[j] * partner[j]
        numerator += scaled * covariance[j]
        denominator += scaled * partner[j]
    return numerator, denominator


@compiled(fastmath={"reassoc", "nsz"})
def squared_errors(covariance, weight, partner, scale):
    """Return sum w (r - scale p)^2 over a row."""
    total = 0.0
    for j in range(partner.size):
        error = covariance[j] - scale * partner[j]
        total += weight[j] * error * error
    return total


@compiled
def outside_loadings(label, loading, coupling):
    """Return t u of every voter: its loading towards other groups."""
    outside = np.empty(len(loading))
    for i in range(len(loading)):
        outside[i] = coupling[label[i]] * loading[i]
    return outside


@compiled
def partners_of(own, label, loading, coupling, outside, partner):
    """Fill what the covariance with a voter of group `own` is proportional to: u within the group, t_k t u across."""
    t = coupling[own]
    for j in range(len(loading)):
        partner[j] = loading[j] if label[j] == own else t * outside[j]


@compiled
def weighted_residual(covariance, weight, label, loading, coupling):
    """Q, the weighted residual over unordered pairs."""
    m = len(loading)
    outside = outside_loadings(label, loading, coupling)
    partner = np.empty(m)
    total = 0.0
    for i in range(m):
        if coupling[label[i]] == 1.0:
            total += squared_errors(covariance[i], weight[i], outside, loading[i])
        else:
            partners_of(label[i], label, loading, coupling, outside, partner)
            total += squared_errors(covariance[i], weight[i], partner, loading[i])
    return total / 2  # every pair was met twice


@compiled
def sweep_loadings(covariance, weight, label, loading, coupling, chosen):
    """One pass of exact coordinate minimisation over the loadings u_i of `chosen` voters."""
    m = len(loading)
    outside = outside_loadings(label, loading, coupling)
    partner = np.empty(m)
    change = 0.0
    scale = TINY
    for i in range(m):
        if not chosen[i]:
            continue
        own = label[i]
        if coupling[own] == 1.0:
            numerator, denominator = regress(covariance[i], weight[i], outside)
        else:
            partners_of(own, label, loading, coupling, outside, partner)
            numerator, denominator = regress(covariance[i], weight[i], partner)
        if denominator > TINY:
            updated = numerator / denominator
            change = max(change, abs(updated - loading[i]))
            loading[i] = updated
            outside[i] = coupling[own] * updated
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
    within = np.zeros(m)
    across = np.zeros(m)
    for j in range(m):
        if label[j] == k:
            within[j] = loading[j]
        else:
            across[j] = coupling[label[j]] * loading[j]
    inside_num = 0.0
    inside_den = 0.0
    across_num = 0.0
    across_den = 0.0
    for i in range(m):
        if label[i] != k:
            continue
        numerator, denominator = regress(covariance[i], weight[i], within)
        inside_num += loading[i] * numerator / 2  # every pair is met twice
        inside_den += loading[i] * loading[i] * denominator / 2
        numerator, denominator = regress(covariance[i], weight[i], across)
        across_num += loading[i] * numerator
        across_den += loading[i] * loading[i] * denominator
    if across_den <= TINY:
        return
    towards_rest = across_num / across_den
    if inside_den > TINY and inside_num > 0.0:
        scale = np.sqrt(inside_num / inside_den)
        t = towards_rest / scale
        if lowest <= t <= 1.0:
            coupling[k] = t
            for i in range(m):
                if label[i] == k:
                    loading[i] *= scale
            return
    coupling[k] = min(1.0, max(lowest, towards_rest))


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
