"""Compiled loops of the structure search.

Voter i has a loading u_i and sits in a group; group k has a coupling t_k, and t = 1 for a voter that is alone:

    r_ij = u_i u_j              within a group,
    r_ij = t_k t_l u_i u_j      across groups k and l.

The fit minimises ``Q = sum over i < j of w_ij (r_ij - model_ij)^2``, with weight zero where a pair was never seen.
A label is a number from 0 to m - 1; ``size[label]`` counts its voters and ``coupling[label]`` is its t. A group of s
voters costs ``price[s]`` in the objective, and nothing for s < 2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

TINY = 1e-12


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _sweep_loadings(covariance, weight, label, loading, coupling, chosen):
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def refit(covariance, weight, label, size, loading, coupling, lowest, max_sweeps, tolerance):
    """Coordinate descent on all loadings and couplings, in place; returns Q."""
    m = len(loading)
    everybody = np.ones(m, dtype=np.bool_)
    for _ in range(max_sweeps):
        change = _sweep_loadings(covariance, weight, label, loading, coupling, everybody)
        for k in range(m):
            if size[k] > 1:
                before = coupling[k]
                _update_coupling(covariance, weight, label, loading, coupling, k, lowest)
                change = max(change, abs(coupling[k] - before))
        if change < tolerance:
            break
    return weighted_residual(covariance, weight, label, loading, coupling)


@njit(cache=True, nogil=True)
def refit_members(covariance, weight, label, size, loading, coupling, lowest, k, l, sweeps):
    """Coordinate descent on the loadings and couplings of groups k and l only."""
    m = len(loading)
    chosen = np.zeros(m, dtype=np.bool_)
    for i in range(m):
        chosen[i] = label[i] == k or label[i] == l
    for _ in range(sweeps):
        _sweep_loadings(covariance, weight, label, loading, coupling, chosen)
        if size[k] > 1:
            _update_coupling(covariance, weight, label, loading, coupling, k, lowest)
        if l != k and size[l] > 1:
            _update_coupling(covariance, weight, label, loading, coupling, l, lowest)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
        _sweep_loadings(covariance, weight, label, loading, coupling, chosen)
        join_pair(covariance, label, size, loading, coupling, i, target, lowest)
    chosen = np.zeros(len(label), dtype=np.bool_)
    chosen[i] = True
    _sweep_loadings(covariance, weight, label, loading, coupling, chosen)


@njit(cache=True, nogil=True)
def _apply_compatible(covariance, weight, label, size, loading, coupling, lowest, change, kind, target, at_once):
    """Apply the best move and every other good one that touches none of the same groups.

    Returns the number of moves made. Groups are compared by label before the first move; a move
    counts as good when it promises at least half of the best change.
    """
    m = len(label)
    order = np.argsort(change)
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


@njit(cache=True, nogil=True)
def total_price(size, price):
    """Price of a structure: the sum over groups of price[number of voters]; a voter alone is free."""
    total = 0.0
    for k in range(len(size)):
        total += price[size[k]]
    return total


@njit(cache=True, nogil=True)
def descend(covariance, weight, label, size, loading, coupling, lowest, price, max_moves):
    """Steepest descent by moves of one voter, then by refitted trial moves; in place.

    Returns the objective Q + price of the groups.
    """
    m = len(loading)
    moves = 0
    at_once = m
    q = refit(covariance, weight, label, size, loading, coupling, lowest, 30, 1e-4)
    objective = q + total_price(size, price)
    while moves < max_moves:
        change, kind, target = best_moves(covariance, weight, label, size, loading, coupling, price)
        if change.min() < -1e-7 * (1.0 + abs(objective)):
            moves += _apply_compatible(
                covariance,
                weight,
                label,
                size,
                loading,
                coupling,
                lowest,
                change,
                kind,
                target,
                at_once,
            )
            q = refit(covariance, weight, label, size, loading, coupling, lowest, 3, 1e-4)
            updated = q + total_price(size, price)
            if updated >= objective:  # moves disturbed each other: from now on one at a time
                at_once = 1
            objective = updated
            continue
        # the bounds promise nothing more: fit well, then look at the likeliest moves refitted
        q = refit(covariance, weight, label, size, loading, coupling, lowest, 60, 1e-5)
        objective = q + total_price(size, price)
        change, kind, target = best_moves(covariance, weight, label, size, loading, coupling, price)
        order = np.argsort(change)
        found = False
        trials = min(m, 40)
        for trial in range(trials):
            i = order[trial]
            if not change[i] < 1.5 * price[2]:
                break
            label2 = label.copy()
            size2 = size.copy()
            loading2 = loading.copy()
            coupling2 = coupling.copy()
            apply_move(covariance, weight, label2, size2, loading2, coupling2, lowest, i, kind[i], target[i])
            q2 = refit(covariance, weight, label2, size2, loading2, coupling2, lowest, 10, 1e-4)
            objective2 = q2 + total_price(size2, price)
            if objective2 < objective - 1e-7 * (1.0 + abs(objective)):
                label[:] = label2
                size[:] = size2
                loading[:] = loading2
                coupling[:] = coupling2
                objective = objective2
                found = True
                moves += 1
                break
        if not found:
            break
    return objective


@njit(cache=True, nogil=True)
def merge_groups(covariance, weight, label, size, loading, coupling, k, l):
    """Group l joins group k; its loadings are scaled to fit the block between them."""
    m = len(loading)
    num = 0.0
    den = 0.0
    for i in range(m):
        if label[i] != k:
            continue
        for j in range(m):
            if label[j] == l:
                product = loading[i] * loading[j]
                num += weight[i, j] * covariance[i, j] * product
                den += weight[i, j] * product * product
    ratio = num / den if den > TINY else 1.0
    if ratio <= 0.0:
        ratio = 1.0
    for j in range(m):
        if label[j] == l:
            loading[j] *= ratio
            label[j] = k
    coupling[k] = min(coupling[k], coupling[l])
    size[k] += size[l]
    size[l] = 0
    coupling[l] = 1.0


@njit(cache=True, nogil=True)
def dissolve_group(label, size, loading, coupling, k):
    """All members of group k become alone, with loadings t u."""
    m = len(loading)
    t = coupling[k]
    first = True
    for i in range(m):
        if label[i] != k:
            continue
        loading[i] *= t
        if first:
            first = False
            continue
        empty = 0
        while size[empty] > 0:
            empty += 1
        label[i] = empty
        size[empty] = 1
        coupling[empty] = 1.0
    size[k] = 1
    coupling[k] = 1.0


@njit(cache=True, nogil=True)
def split_group(covariance, weight, label, size, loading, coupling, k):
    """Split group k by the sign of the leading eigenvector of its standardised residuals.

    Returns the new label, or -1 when the group does not split.
    """
    m = len(loading)
    members = np.empty(size[k], dtype=np.int64)
    count = 0
    for i in range(m):
        if label[i] == k:
            members[count] = i
            count += 1
    if count < 4:
        return -1
    error = np.zeros((count, count))
    for a in range(count):
        for b in range(a):
            i = members[a]
            j = members[b]
            z = np.sqrt(weight[i, j]) * (covariance[i, j] - loading[i] * loading[j])
            error[a, b] = z
            error[b, a] = z
    _, vectors = np.linalg.eigh(error)
    leading = vectors[:, count - 1]
    positive = 0
    for a in range(count):
        if leading[a] > 0:
            positive += 1
    if positive < 2 or count - positive < 2:
        return -1
    empty = 0
    while size[empty] > 0:
        empty += 1
    flip = leading[0] > 0  # the part without the first member moves; the result is a set
    for a in range(count):
        if (leading[a] > 0) != flip:
            label[members[a]] = empty
            size[empty] += 1
            size[k] -= 1
    coupling[empty] = coupling[k]
    return empty


@njit(cache=True, nogil=True)
def improve_by_groups(covariance, weight, label, size, loading, coupling, lowest, price, objective):
    """Best single merge, dissolution or split of groups after a local refit; in place.

    Returns the new objective (unchanged when nothing helps).
    """
    m = len(loading)
    best = objective - 1e-7 * (1.0 + abs(objective))
    found = False
    best_label = label.copy()
    best_size = size.copy()
    best_loading = loading.copy()
    best_coupling = coupling.copy()
    groups = np.empty(m, dtype=np.int64)
    n_groups = 0
    for k in range(m):
        if size[k] > 1:
            groups[n_groups] = k
            n_groups += 1
    for a in range(n_groups):
        k = groups[a]
        for b in range(-2, a):
            label2 = label.copy()
            size2 = size.copy()
            loading2 = loading.copy()
            coupling2 = coupling.copy()
            if b >= 0:
                l = groups[b]
                merge_groups(covariance, weight, label2, size2, loading2, coupling2, k, l)
                refit_members(covariance, weight, label2, size2, loading2, coupling2, lowest, k, k, 4)
            elif b == -1:
                dissolve_group(label2, size2, loading2, coupling2, k)
                refit(covariance, weight, label2, size2, loading2, coupling2, lowest, 4, 1e-4)
            else:
                l = split_group(covariance, weight, label2, size2, loading2, coupling2, k)
                if l < 0:
                    continue
                refit_members(covariance, weight, label2, size2, loading2, coupling2, lowest, k, l, 4)
            q = weighted_residual(covariance, weight, label2, loading2, coupling2)
            objective2 = q + total_price(size2, price)
            if objective2 < best:
                best = objective2
                found = True
                best_label[:] = label2
                best_size[:] = size2
                best_loading[:] = loading2
                best_coupling[:] = coupling2
    if not found:
        return objective
    label[:] = best_label
    size[:] = best_size
    loading[:] = best_loading
    coupling[:] = best_coupling
    return best


@njit(cache=True, nogil=True)
def local_search(covariance, weight, label, size, loading, coupling, lowest, price, max_rounds):
    """Moves of one voter and of whole groups until neither helps; in place; the objective."""
    objective = np.inf
    for _ in range(max_rounds):
        objective = descend(covariance, weight, label, size, loading, coupling, lowest, price, 20 * len(label))
        better = improve_by_groups(covariance, weight, label, size, loading, coupling, lowest, price, objective)
        if better >= objective:
            break
        objective = better
    q = refit(covariance, weight, label, size, loading, coupling, lowest, 300, 1e-7)
    return q + total_price(size, price)


@njit(cache=True, nogil=True)
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
