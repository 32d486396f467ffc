"""Moves of single voters in the structure search: what each promises, and how it is made.

The covariance model and its notation are those of :mod:`goldless.kernels.covariance_fit`. A group of s voters costs
``price[s]`` in the objective, and nothing for s < 2.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled
from goldless.kernels.covariance_fit import TINY, outside_loadings, partners_of, sweep_loadings

_VOTERS_PER_MOVE = 16


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
    outside = outside_loadings(label, loading, coupling)  # v_off = t u
    partner = np.empty(m)
    power = np.empty(m)
    current = np.empty(m)
    all_num = np.empty(m)
    all_den = np.empty(m)
    alone = np.empty(m, dtype=np.bool_)
    grouped = np.empty(m, dtype=np.int64)
    n_grouped = 0
    for i in range(m):
        partners_of(label[i], label, loading, coupling, outside, partner)
        all_num[i], all_den[i], power[i], current[i] = _row_sums(
            covariance[i], weight[i], outside, partner, loading[i]
        )
        alone[i] = size[label[i]] == 1
        if not alone[i]:
            grouped[n_grouped] = i
            n_grouped += 1
    groups = np.empty(m, dtype=np.int64)
    n_groups = 0
    for g in range(m):
        if size[g] > 1:
            groups[n_groups] = g
            n_groups += 1
    best = np.full(m, np.inf)
    kind = np.zeros(m, dtype=np.int64)
    target = np.zeros(m, dtype=np.int64)
    group_num = np.zeros(m)
    group_den = np.zeros(m)
    change = np.empty(m)
    for i in range(m):
        own = label[i]
        leave_price = price[size[own] - 1] - price[size[own]]
        if not alone[i]:
            explained = all_num[i] * all_num[i] / all_den[i] if all_den[i] > TINY else 0.0
            best[i] = power[i] - explained - current[i] + leave_price
        for a in range(n_grouped):
            j = grouped[a]
            if j != i:
                scaled = weight[i, j] * loading[j]
                group_num[label[j]] += scaled * covariance[i, j]
                group_den[label[j]] += scaled * loading[j]
        for a in range(n_groups):
            g = groups[a]
            if g != own:
                t = coupling[g]
                num = group_num[g] + t * (all_num[i] - t * group_num[g])
                den = group_den[g] + t * t * (all_den[i] - t * t * group_den[g])
                joined = power[i] - (num * num / den if den > TINY else 0.0) - current[i]
                joined += leave_price + price[size[g] + 1] - price[size[g]]
                if joined < best[i]:
                    best[i] = joined
                    kind[i] = 1
                    target[i] = g
            group_num[g] = 0.0
            group_den[g] = 0.0
        _pairings(covariance[i], weight[i], loading, all_num, all_den, alone, i, change)
        fixed = power[i] - current[i] + leave_price + price[2]
        for j in range(m):
            if fixed + change[j] < best[i] and j != i:
                best[i] = fixed + change[j]
                kind[i] = 2
                target[i] = j
    return best, kind, target


@compiled(fastmath={"reassoc", "nsz"})  # sums in any order, so that they run on whole vectors
def _row_sums(covariance, weight, outside, partner, scale):
    """Return sum w r v, sum w v^2, sum w r^2 and sum w (r - scale p)^2 over a row."""
    num, den, power, current = 0.0, 0.0, 0.0, 0.0
    for j in range(outside.size):
        w = weight[j]
        r = covariance[j]
        scaled = w * outside[j]
        error = r - scale * partner[j]
        num += scaled * r
        den += scaled * outside[j]
        power += w * r * r
        current += w * error * error
    return num, den, power, current


@compiled
def _pairings(covariance, weight, loading, all_num, all_den, alone, i, change):
    """Fill what pairing voter i with every voter alone changes in the residual; infinity where it cannot help.

    The pair (i, j) is freed: its own error vanishes, and u_i and u_j refit without it. The change is that beside what
    leaving its group does to voter i.
    """
    own_num, own_den, own_loading = all_num[i], all_den[i], loading[i]
    loading_alone = own_num / own_den if own_den > TINY else 0.0
    counted = 1.0 if alone[i] else 0.0
    for j in range(len(loading)):
        w = weight[j]
        r = covariance[j]
        u = loading[j]
        num_i = own_num - w * r * u
        den_i = own_den - w * u * u
        den_j = all_den[j] - w * own_loading * own_loading
        slope = all_num[j] - w * r * own_loading - u * den_j
        own_gain = num_i * num_i / den_i
        other_gain = counted * slope * slope / den_j
        freed = (own_gain if den_i > TINY else 0.0) + (other_gain if den_j > TINY else 0.0)
        product = loading_alone * u
        possible = alone[j] & (w > 0.0) & (r * product >= 0.0) & (abs(r) > abs(product))
        change[j] = -w * r * r - freed if possible else np.inf


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
    """Apply the best move and every other good one that does not disturb those made.

    ``order`` sorts the changes. Returns the number of moves made. A move counts as good when it promises at least
    half of the best change. One move may touch a group, or one for every 16 of its voters: so few hardly change what
    the others are worth. Groups are compared by label before the first move.
    """
    m = len(label)
    before = label.copy()
    room = np.empty(m, dtype=np.int64)
    for group in range(m):
        room[group] = max(size[group] // _VOTERS_PER_MOVE, 1)
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
        if room[source] == 0 or room[goal] == 0:
            continue
        room[source] -= 1
        if goal != source:
            room[goal] -= 1
        apply_move(covariance, weight, label, size, loading, coupling, lowest, i, kind[i], target[i])
        made += 1
    return made
