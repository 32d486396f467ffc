"""What every move of a single voter promises in the structure search.

The covariance model and its notation are those of :mod:`goldless.kernels.covariance_fit`. A group of s voters costs
``price[s]`` in the objective, and nothing for s < 2.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled
from goldless.kernels.covariance_fit import TINY


@compiled(fastmath={"reassoc", "nsz"})  # sums in any order, so that they run on whole vectors
def best_moves(covariance, weight, label, size, loading, coupling, price, grouped, room, best, kind, target):
    """Find the best move of every voter: (change of objective, kind, target), into the last three arrays.

    kind 0: become alone; 1: join the group with label `target`; 2: pair up with
    the singleton voter `target`. The change is exact for a feasible point (only
    the voter's own loading is re-optimised), hence a bound on the true change.
    With P_l = sum_{j in l} w r u_j and S_l = sum_{j in l} w u_j^2, joining group
    g gives the regression P_g + t_g (sum_l t_l P_l - t_g P_g) over
    S_g + t_g^2 (sum_l t_l^2 S_l - t_g^2 S_g): O(m) for all groups together.

    Pairing frees the pair (i, j): its own error vanishes, and u_i and u_j refit without it.

    ``grouped`` are the voters that are in groups, and ``room`` has room for 8 x m numbers.
    """
    m = loading.size
    outside, power, current, all_num, all_den, group_num, group_den, change = 0, 1, 2, 3, 4, 5, 6, 7
    for j in range(m):
        room[outside, j] = coupling[label[j]] * loading[j]
    for i in range(m):
        own = label[i]
        t = coupling[own]
        u = loading[i]
        num, den, squares, errors = 0.0, 0.0, 0.0, 0.0
        for j in range(m):
            w = weight[i, j]
            r = covariance[i, j]
            v = room[outside, j]
            scaled = w * v
            error = r - u * (loading[j] if label[j] == own else t * v)
            num += scaled * r
            den += scaled * v
            squares += w * r * r
            errors += w * error * error
        room[all_num, i] = num
        room[all_den, i] = den
        room[power, i] = squares
        room[current, i] = errors
        room[group_num, i] = 0.0
        room[group_den, i] = 0.0
    for i in range(m):
        own = label[i]
        own_num, own_den = room[all_num, i], room[all_den, i]
        free = room[power, i] - room[current, i] + price[size[own] - 1] - price[size[own]]
        alone = size[own] == 1
        loading_alone = own_num / own_den if own_den > TINY else 0.0
        best[i] = np.inf if alone else free - own_num * loading_alone
        kind[i] = 0
        target[i] = 0
        for a in range(grouped.size):
            j = grouped[a]
            if j != i:
                scaled = weight[i, j] * loading[j]
                room[group_num, label[j]] += scaled * covariance[i, j]
                room[group_den, label[j]] += scaled * loading[j]
        for g in range(m if grouped.size else 0):
            if size[g] < 2:
                continue
            if g != own:
                t = coupling[g]
                num = room[group_num, g] + t * (own_num - t * room[group_num, g])
                den = room[group_den, g] + t * t * (own_den - t * t * room[group_den, g])
                joined = free - (num * num / den if den > TINY else 0.0) + price[size[g] + 1] - price[size[g]]
                if joined < best[i]:
                    best[i] = joined
                    kind[i] = 1
                    target[i] = g
            room[group_num, g] = 0.0
            room[group_den, g] = 0.0
        own_loading = loading[i]
        counted = 1.0 if alone else 0.0
        for j in range(m):
            w = weight[i, j]
            r = covariance[i, j]
            u = loading[j]
            num_i = own_num - w * r * u
            den_i = own_den - w * u * u
            den_j = room[all_den, j] - w * own_loading * own_loading
            slope = room[all_num, j] - w * r * own_loading - u * den_j
            own_gain = num_i * num_i / den_i
            other_gain = counted * slope * slope / den_j
            freed = (own_gain if den_i > TINY else 0.0) + (other_gain if den_j > TINY else 0.0)
            product = loading_alone * u
            possible = (size[label[j]] == 1) & (w > 0.0) & (r * product >= 0.0) & (abs(r) > abs(product))
            room[change, j] = -w * r * r - freed if possible else np.inf
        free += price[2]
        for j in range(m):
            if free + room[change, j] < best[i] and j != i:
                best[i] = free + room[change, j]
                kind[i] = 2
                target[i] = j
