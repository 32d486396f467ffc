"""The score matrix of 2 x 2 determinants: two exact algorithms and a sampled one.

All three compute ``s_ij = sum over k, l of |r_ij r_kl - r_il r_kj|`` (eq. score) over ordered pairs of voters
k, l different from i, j and from each other, for a symmetric matrix whose diagonal is not read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled
from goldless.kernels.threads import ordered_map

_N_TASKS = 16


def score_by_sets(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score in O(m^4 / 24): every set of four voters is visited once and serves six entries."""
    n_voters = len(covariance)
    parts = ordered_map(lambda first: _score_of_sets(covariance, first, _N_TASKS), range(min(_N_TASKS, n_voters)))
    score = np.zeros_like(covariance)
    for part in parts:
        score += part
    return score + score.T


def score_by_sorting(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score in O(m^3), one linear-time sort for every pair of voters.

    The pair (i, k) puts voter j at the point (r_ij, r_kj) of the plane; the term is the absolute cross product
    of two points. Sorted by slope, the cross products before and after a point have one sign each, so prefix
    sums give the sum of absolute values for all points at once. The pairs are run as a round-robin
    tournament of blocks: in a round no two tasks touch the same rows, and the rounds come in a fixed order.
    """
    n_voters = len(covariance)
    score = np.zeros_like(covariance)
    n_blocks = 2 * _N_TASKS
    blocks = np.array_split(np.arange(n_voters), n_blocks)
    ordered_map(lambda block: _score_of_pairs(covariance, block, block, score), blocks)
    for matches in _round_robin(n_blocks):
        ordered_map(lambda match: _score_of_pairs(covariance, blocks[match[0]], blocks[match[1]], score), matches)
    return (score + score.T) / 2  # the two triangles are the same sum in another order


def score_by_sampling(
    covariance: NDArray[np.float64], n_samples: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the score and its standard error from ``n_samples`` random pairs {k, l} for each entry."""
    n_voters = len(covariance)
    score = np.zeros_like(covariance)
    error = np.zeros_like(covariance)
    ordered_map(
        lambda voter: _sample_row(covariance, voter, n_samples, np.uint64(seed), score, error), range(n_voters)
    )
    return score + score.T, error + error.T


def _round_robin(n_blocks: int) -> list[list[tuple[int, int]]]:
    """Return rounds in which every two of an even number of blocks meet exactly once (circle method)."""
    circle = list(range(n_blocks))
    rounds = []
    for _ in range(n_blocks - 1):
        rounds.append([(circle[i], circle[-1 - i]) for i in range(n_blocks // 2)])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return rounds


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _score_of_sets(covariance, first, step):
    """Sum over sets a < b < c < d with a = first, first + step, ...; fills the upper triangle.

    A set has three products of disjoint pairs and three absolute differences between them; each difference
    belongs to the four entries of its two products. Slices let the compiler vectorise the loop over d.
    """
    m = covariance.shape[0]
    score = np.zeros((m, m))
    into_a = np.empty(m)
    into_b = np.empty(m)
    for a in range(first, m, step):
        into_a[:] = 0.0
        for b in range(a + 1, m):
            into_b[:] = 0.0
            r_ab = covariance[a, b]
            sum_ab = 0.0
            for c in range(b + 1, m):
                r_ac = covariance[a, c]
                r_bc = covariance[b, c]
                row_a = covariance[a, c + 1 :]
                row_b = covariance[b, c + 1 :]
                row_c = covariance[c, c + 1 :]
                score_a = into_a[c + 1 :]
                score_b = into_b[c + 1 :]
                score_c = score[c, c + 1 :]
                sum_abc = 0.0
                sum_ac = 0.0
                sum_bc = 0.0
                for d in range(m - c - 1):
                    first_product = r_ab * row_c[d]
                    second_product = r_ac * row_b[d]
                    third_product = r_bc * row_a[d]
                    x = abs(first_product - second_product)
                    y = abs(first_product - third_product)
                    z = abs(second_product - third_product)
                    sum_abc += x + y
                    sum_ac += x + z
                    sum_bc += y + z
                    score_c[d] += x + y
                    score_b[d] += x + z
                    score_a[d] += y + z
                sum_ab += sum_abc
                score[a, c] += sum_ac
                score[b, c] += sum_bc
            score[a, b] += sum_ab
            for d in range(m):
                score[b, d] += into_b[d]
        for d in range(m):
            score[a, d] += into_a[d]
    return score


@compiled
def _score_of_pairs(covariance, firsts, seconds, score):
    """Add the terms of every pair (i, k), i in firsts, k in seconds, i != k, to rows i and k of the score.

    When both blocks are the same, each unordered pair is taken once.
    """
    m = covariance.shape[0]
    same = firsts.size > 0 and seconds.size > 0 and firsts[0] == seconds[0]
    x = np.empty(m)
    y = np.empty(m)
    slope = np.empty(m)
    keys = np.empty(m, dtype=np.uint32)
    keys_other = np.empty(m, dtype=np.uint32)
    order = np.empty(m, dtype=np.int32)
    order_other = np.empty(m, dtype=np.int32)
    counts = np.empty((4, 256), dtype=np.int64)
    narrow = np.empty(1, dtype=np.float32)
    bits = narrow.view(np.uint32)
    for i in firsts:
        for k in seconds:
            if i == k or (same and k < i):
                continue
            n_points = 0
            total_x = 0.0
            total_y = 0.0
            for j in range(m):
                if j == i or j == k:
                    continue
                px = covariance[i, j]
                py = covariance[k, j]
                if px < 0.0 or (px == 0.0 and py < 0.0):  # into the right half plane: |p x q| is unchanged
                    px = -px
                    py = -py
                size = px + abs(py)
                if size == 0.0:
                    continue  # the origin: every cross product with it is zero
                x[j] = px
                y[j] = py
                slope[j] = py / size  # increases with the angle, and is finite on the vertical axis
                narrow[0] = slope[j]
                # the bits of a float, made to sort as an unsigned integer
                negative = bits[0] >> np.uint32(31)
                keys[n_points] = bits[0] ^ (np.uint32(0xFFFFFFFF) if negative else np.uint32(0x80000000))
                order[n_points] = j
                n_points += 1
                total_x += px
                total_y += py
            _radix_sort(keys, order, keys_other, order_other, counts, n_points)
            _settle(order, slope, n_points)
            before_x = 0.0
            before_y = 0.0
            for rank in range(n_points):
                j = order[rank]
                # points before j lie clockwise of it, points after counter-clockwise
                clockwise = before_x * y[j] - before_y * x[j]
                rest = x[j] * (total_y - before_y) - y[j] * (total_x - before_x)
                term = clockwise + rest
                score[i, j] += term
                score[k, j] += term
                before_x += x[j]
                before_y += y[j]


@compiled
def _radix_sort(keys, order, keys_other, order_other, counts, n_points):
    """Sort keys (and order with them) by four passes over eight bits; passes with one value are skipped."""
    counts[:] = 0
    for point in range(n_points):
        key = keys[point]
        counts[0, key & np.uint32(255)] += 1
        counts[1, (key >> np.uint32(8)) & np.uint32(255)] += 1
        counts[2, (key >> np.uint32(16)) & np.uint32(255)] += 1
        counts[3, key >> np.uint32(24)] += 1
    source, target = keys, keys_other
    order_source, order_target = order, order_other
    moved = False
    for digit in range(4):
        shift = np.uint32(8 * digit)
        if n_points == 0 or counts[digit, (source[0] >> shift) & np.uint32(255)] == n_points:
            continue
        position = 0
        for value in range(256):
            here = counts[digit, value]
            counts[digit, value] = position
            position += here
        for point in range(n_points):
            value = (source[point] >> shift) & np.uint32(255)
            place = counts[digit, value]
            counts[digit, value] = place + 1
            target[place] = source[point]
            order_target[place] = order_source[point]
        source, target = target, source
        order_source, order_target = order_target, order_source
        moved = not moved
    if moved:
        for point in range(n_points):
            order[point] = order_source[point]


@compiled
def _settle(order, slope, n_points):
    """Finish a sort by 32-bit keys in double precision (insertion sort of an almost sorted list)."""
    for point in range(1, n_points):
        j = order[point]
        value = slope[j]
        place = point
        while place > 0 and slope[order[place - 1]] > value:
            order[place] = order[place - 1]
            place -= 1
        order[place] = j


@compiled
def _mix(state):
    """Return the splitmix64 output for a state: a random 64-bit word for every counter value."""
    word = state * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def _sample_row(covariance, i, n_samples, seed, score, error):
    """Fill row i of the upper triangle; every entry draws from a stream of its own."""
    m = covariance.shape[0]
    for j in range(i + 1, m):
        stream = _mix(_mix(seed + np.uint64(1)) ^ np.uint64(i * m + j))
        mean = 0.0
        squares = 0.0
        for sample in range(n_samples):
            word = _mix(stream + np.uint64(sample))
            # two different voters out of the m - 2 others, mapped past i < j
            k = np.int64((word >> np.uint64(32)) * np.uint64(m - 2) >> np.uint64(32))
            l = np.int64((word & np.uint64(0xFFFFFFFF)) * np.uint64(m - 3) >> np.uint64(32))
            if l >= k:
                l += 1
            k += 1 if k >= i else 0
            k += 1 if k >= j else 0
            l += 1 if l >= i else 0
            l += 1 if l >= j else 0
            product = covariance[i, j] * covariance[k, l]
            term = abs(product - covariance[i, l] * covariance[k, j]) + abs(
                product - covariance[i, k] * covariance[l, j]
            )
            step = term - mean
            mean += step / (sample + 1)
            squares += step * (term - mean)
        n_pairs = (m - 2) * (m - 3) / 2
        score[i, j] = mean * n_pairs
        error[i, j] = n_pairs * np.sqrt(squares / max(n_samples - 1, 1) / n_samples)
