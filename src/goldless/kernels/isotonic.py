"""Two distributions in likelihood-ratio order, for many voters at once."""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled


@compiled
def _pool(value, weight, falling, level, mass, length):
    """Fill ``value`` with its weighted isotonic regression, by pooling adjacent violators.

    The last three are scratch. Bins without weight take the value of their neighbours.
    """
    n = value.size
    n_blocks = 0
    for step in range(n):
        i = n - 1 - step if falling else step
        level[n_blocks], mass[n_blocks], length[n_blocks] = value[i], weight[i], 1
        n_blocks += 1
        while n_blocks > 1 and (level[n_blocks - 2] >= level[n_blocks - 1] or mass[n_blocks - 1] <= 0.0):
            both = mass[n_blocks - 2] + mass[n_blocks - 1]
            if both > 0.0:
                upper, lower = level[n_blocks - 1] * mass[n_blocks - 1], level[n_blocks - 2] * mass[n_blocks - 2]
                level[n_blocks - 2] = (lower + upper) / both
            mass[n_blocks - 2] = both
            length[n_blocks - 2] += length[n_blocks - 1]
            n_blocks -= 1
    place = 0
    for block in range(n_blocks):
        for _ in range(length[block]):
            value[n - 1 - place if falling else place] = level[block]
            place += 1


@compiled
def _fit(first, second, share):
    """Return the log-likelihood of two rows of counts, given the share of the second in each bin."""
    total = 0.0
    for b in range(share.size):
        if second[b] > 0.0:
            total += second[b] * np.log(max(share[b], 1e-300))
        if first[b] > 0.0:
            total += first[b] * np.log(max(1.0 - share[b], 1e-300))
    return total


@compiled
def order_counts(counts, n_bins, price, falls):
    """Put the two rows of counts of every voter in likelihood-ratio order, in place.

    With weights ``N = A_0 + A_1`` and ``theta`` the isotonic regression of ``A_1 / N``, the counts ``N (1 - theta)``
    and ``N theta`` are those of largest likelihood in this order (Dykstra, Kochar and Robertson 1995), and keep the
    sum of each row. The falling order is taken where it is better by ``price``, and said in ``falls``.
    """
    n_voters, _, n_symbols = counts.shape
    scratch = np.empty((2, n_symbols))
    lengths = np.empty(n_symbols, dtype=np.int64)
    for i in range(n_voters):
        n = n_bins[i]
        first, second = counts[i, 0, :n], counts[i, 1, :n]
        weight, rising, falling = np.empty(n), np.empty(n), np.empty(n)
        for b in range(n):
            weight[b] = first[b] + second[b]
            rising[b] = second[b] / weight[b] if weight[b] > 0.0 else 0.5
            falling[b] = rising[b]
        _pool(rising, weight, False, scratch[0], scratch[1], lengths)
        _pool(falling, weight, True, scratch[0], scratch[1], lengths)
        falls[i] = _fit(first, second, falling) > _fit(first, second, rising) + price
        for b in range(n):
            share = falling[b] if falls[i] else rising[b]
            second[b] = weight[b] * share
            first[b] = weight[b] - second[b]
