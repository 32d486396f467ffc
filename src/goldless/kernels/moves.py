"""Moves of single voters in the structure search: what each promises, and how it is made.

The covariance model and its notation are those of :mod:`goldless.kernels.group_fit`. A group of s voters costs
``price[s]`` in the objective, and nothing for s < 2.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled
from goldless.kernels.group_fit import TINY, sweep_loadings


@compiled
def leave_group(label, size, loading, coupling, i):
    """Voter i becomes alone; its loading, and that of a partner left alone, is t u."""
    own = label[i]
    if size[own] == 1:
        return
    t = coupling[own]
    empty = 0
    while size[empty] > 0:
        empty += 1
    label[i] = empty
    size[empty] = 1
    coupling[empty] = 1.0
    loading[i] *= t
    size[own] -= 1
    if size[own] == 1:
        for j in range(len(label)):
            if label[j] == own:
                loading[j] *= t
        coupling[own] = 1.0


@compiled
def join_pair(covariance, label, size, loading, coupling, i, j, lowest):
    """Singletons i and j become a pair: t^2 = u_i u_j / r_ij keeps their outside links."""
    product = loading[i] * loading[j]
    floor = max(lowest, 0.05)
    t = 1.0
    r = covariance[i, j]
    if r * product > 0.0:
        t = min(1.0, np.sqrt(product / r))
    elif r != 0.0:
        t = floor
    t = max(t, floor)
    size[label[i]] = 0
    label[i] = label[j]
    size[label[j]] = 2
    coupling[label[j]] = t
    loading[i] /= t
    loading[j] /= t


@compiled
def best_moves(covariance, weight, label, size, loading, coupling, price):
    """Best move of every voter: (change of objective, kind, target).

    kind 0: become alone; 1: join the group with label `target`; 2: pair up with
    the singleton voter `target`. The change is exact for a feasible point (only
    the voter's own loading is re-optimised), hence a bound on the true change.
    With P_l = sum_{j in l} w r u_j and S_l = sum_{j in l} w u_j^2, joining group
    g gives the regression P_g + t_g (sum_l t_l P_l - t_g P_g) over
    S_g + t_g^2 (sum_l t_l^2 S_l - t_g^2 S_g): O(m) for all groups together.
    """
    m = len(loading)
    outside = np.empty(m)  # v_off = t u
    for i in range(m):
        outside[i] = coupling[label[i]] * loading[i]
    total_num = np.zeros(m)
    total_den = np.zeros(m)
    for i in range(m):
        for j in range(m):
            if j != i and label[j] != label[i]:
                total_num[i] += weight[i, j] * covariance[i, j] * outside[j]
                total_den[i] += weight[i, j] * outside[j] * outside[j]
    best = np.full(m, np.inf)
    kind = np.zeros(m, dtype=np.int64)
    target = np.zeros(m, dtype=np.int64)
    group_num = np.zeros(m)
    group_den = np.zeros(m)
    for i in range(m):
        own = label[i]
        group_num[:] = 0.0
        group_den[:] = 0.0
        all_num = 0.0
        all_den = 0.0
        current = 0.0
        power = 0.0
        for j in range(m):
            if j == i:
                continue
            w = weight[i, j]
            r = covariance[i, j]
            k = label[j]
            group_num[k] += w * r * loading[j]
            group_den[k] += w * loading[j] * loading[j]
            all_num += w * r * outside[j]
            all_den += w * outside[j] * outside[j]
            model = loading[i] * loading[j] if k == own else outside[i] * outside[j]
            current += w * (r - model) * (r - model)
            power += w * r * r
        leave_price = price[size[own] - 1] - price[size[own]]
        alone = power - (all_num * all_num / all_den if all_den > TINY else 0.0)
        if size[own] > 1:
            change = alone - current + leave_price
            if change < best[i]:
                best[i] = change
                kind[i] = 0
        for g in range(m):
            if g == own or size[g] < 2:
                continue
            t = coupling[g]
            num = group_num[g] + t * (all_num - t * group_num[g])
            den = group_den[g] + t * t * (all_den - t * t * group_den[g])
            change = power - (num * num / den if den > TINY else 0.0) - current
            change += leave_price + price[size[g] + 1] - price[size[g]]
            if change < best[i]:
                best[i] = change
                kind[i] = 1
                target[i] = g
        loading_alone = all_num / all_den if all_den > TINY else 0.0
        for j in range(m):
            if j == i or size[label[j]] != 1:
                continue
            w = weight[i, j]
            r = covariance[i, j]
            if w <= 0.0 or r * loading_alone * loading[j] < 0.0:
                continue
            if abs(r) <= abs(loading_alone * loading[j]):
                continue
            # the pair (i, j) is freed: its own error vanishes, u_i and u_j refit without it
            den_i = all_den - w * loading[j] * loading[j]
            num_i = all_num - w * r * loading[j]
            change = power - w * r * r - (num_i * num_i / den_i if den_i > TINY else 0.0) - current
            if size[own] == 1:
                den_j = total_den[j] - w * loading[i] * loading[i]
                if den_j > TINY:
                    num_j = total_num[j] - w * r * loading[i]
                    slope = num_j - loading[j] * den_j
                    change -= slope * slope / den_j
            change += leave_price + price[2]
            if change < best[i]:
                best[i] = change
                kind[i] = 2
                target[i] = j
    return best, kind, target


@compiled
def apply_move(covariance, weight, label, size, loading, coupling, lowest, i, kind, target):
    """Carry out one move of `best_moves`, in place, re-optimising u_i."""
    if kind == 0:
        leave_group(label, size, loading, coupling, i)
    elif kind == 1:
        leave_group(label, size, loading, coupling, i)
        size[label[i]] = 0
        label[i] = target
        size[target] += 1
    else:
        leave_group(label, size, loading, coupling, i)
        chosen = np.zeros(len(label), dtype=np.bool_)
        chosen[i] = True
        sweep_loadings(covariance, weight, label, loading, coupling, chosen)
        join_pair(covariance, label, size, loading, coupling, i, target, lowest)
    chosen = np.zeros(len(label), dtype=np.bool_)
    chosen[i] = True
    sweep_loadings(covariance, weight, label, loading, coupling, chosen)


@compiled
def apply_moves(covariance, weight, label, size, loading, coupling, lowest, change, order, kind, target, at_once):
    """Apply the best move and every other good one that touches none of the same groups.

    ``order`` sorts the changes. Returns the number of moves made. Groups are compared by label before the first
    move; a move counts as good when it promises at least half of the best change.
    """
    m = len(label)
    before = label.copy()
    touched = np.zeros(m, dtype=np.bool_)
    limit = 0.5 * change[order[0]]
    made = 0
    for a in range(m):
        i = order[a]
        if change[i] > limit or made >= at_once:
            break
        source = before[i]
        goal = source
        if kind[i] == 1:
            goal = target[i]
        elif kind[i] == 2:
            goal = before[target[i]]
        if touched[source] or touched[goal]:
            continue
        touched[source] = True
        touched[goal] = True
        apply_move(covariance, weight, label, size, loading, coupling, lowest, i, kind[i], target[i])
        made += 1
    return made
