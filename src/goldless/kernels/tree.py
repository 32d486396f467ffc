"""Passes of the latent model over packed vote patterns.

The hub ``Y`` has ``S`` states. ``tables[byte, value, s]`` is the log-likelihood of a byte value in a state of the
hub, for the bytes before those of wide groups, or its log-ratio to the first state; of two states the second is
enough. Rows may have further bytes, which are not read. A wide group ``w`` has a latent of ``A`` states and the bytes
``wide_start[w]`` to ``wide_start[w + 1]`` of ``wide[byte, value, a]``; ``wide_rates[w, a, s]`` is
Pr(alpha_w = a | Y = s). States stand last in tables: four of them are one step of the machine, so more than two are
padded to fours (:func:`in_fours`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled

_NEGLIGIBLE = 1e-18  # a share of an item that no sum in double precision can see
_FAIR = 1e-9  # factors above this need no logarithm
_LOWEST = -65.0  # the logarithm of less than their product
_LARGE = 1e250
_SMALL = 1e-140  # the product of two numbers this small is still above zero
_FEW_CELLS = 1 << 15  # table entries that numpy reads before a kernel would be compiled


def in_fours(n_states: int) -> int:
    """Return how many states tables are padded to."""
    return n_states if n_states <= 2 else -(-n_states // 4) * 4


def read_rows(packed: NDArray[np.uint8], tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the table entries of every row, shape (n_states, n_rows).

    Small or large, a row has the same bits: entries are added in the order of the bytes, of one state first the even
    and then the odd ones.
    """
    n_bytes, _, n_states = tables.shape
    out = np.zeros((n_states, len(packed)))
    if len(packed) * n_bytes * n_states > _FEW_CELLS:
        (_read_one if n_states == 1 else _read)(packed, tables, out)
    elif n_states == 1:
        odd = np.zeros(len(packed))
        for byte in range(n_bytes):
            sums = odd if byte % 2 else out[0]
            sums += tables[byte, packed[:, byte], 0]
        out[0] += odd
    else:
        for byte in range(n_bytes):
            out += tables[byte, packed[:, byte]].T
    return out


def add_rows(packed: NDArray[np.uint8], weights: NDArray[np.float64], histogram: NDArray[np.float64]) -> None:
    """Add the weights of the rows, of shape (n_states, n_rows), to ``histogram[byte, value, s]``."""
    n_bytes, n_values, n_states = histogram.shape
    if len(packed) * n_bytes * n_states > _FEW_CELLS:
        _add(packed, weights, histogram)
        return
    for byte in range(n_bytes):
        for state in range(n_states):
            histogram[byte, :, state] += np.bincount(packed[:, byte], weights[state], n_values)


@compiled
def _read_one(packed, tables, out):
    n_narrow = tables.shape[0]
    for i in range(packed.shape[0]):
        even, odd = 0.0, 0.0  # two sums, so that one need not wait for the other
        for byte in range(0, n_narrow - 1, 2):
            even += tables[byte, packed[i, byte], 0]
            odd += tables[byte + 1, packed[i, byte + 1], 0]
        if n_narrow % 2:
            even += tables[n_narrow - 1, packed[i, n_narrow - 1], 0]
        out[0, i] = even + odd


@compiled
def _read(packed, tables, out):
    n_bytes, _, n_states = tables.shape
    for i in range(packed.shape[0]):
        for s in range(0, n_states - 3, 4):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for byte in range(n_bytes):
                value = packed[i, byte]
                a += tables[byte, value, s]
                b += tables[byte, value, s + 1]
                c += tables[byte, value, s + 2]
                d += tables[byte, value, s + 3]
            out[s, i], out[s + 1, i], out[s + 2, i], out[s + 3, i] = a, b, c, d
        for s in range(n_states - n_states % 4, n_states):
            for byte in range(n_bytes):
                out[s, i] += tables[byte, packed[i, byte], s]


@compiled
def _add(packed, weights, histogram):
    n_bytes, _, n_states = histogram.shape
    for i in range(packed.shape[0]):
        for s in range(0, n_states - 3, 4):
            a, b, c, d = weights[s, i], weights[s + 1, i], weights[s + 2, i], weights[s + 3, i]
            if a + b + c + d < _NEGLIGIBLE:
                continue
            for byte in range(n_bytes):
                value = packed[i, byte]
                histogram[byte, value, s] += a
                histogram[byte, value, s + 1] += b
                histogram[byte, value, s + 2] += c
                histogram[byte, value, s + 3] += d
        for s in range(n_states - n_states % 4, n_states):
            for byte in range(n_bytes):
                histogram[byte, packed[i, byte], s] += weights[s, i]


@compiled
def _read_wide(row, n_narrow, wide, wide_start, wide_rates, likelihood, mixed, factor, hub):
    """Collect the messages of the wide groups to the hub; return the log of what likelihoods were scaled by.

    ``likelihood[w, a]`` is proportional to Pr(votes of w | alpha_w = a), the largest 1, and ``mixed[w, s]`` is its
    mean over alpha_w given Y = s. The message to a state is the product of its means: ``factor[s]``, or if that is
    small in any state, its logarithm in ``hub[s]`` and a factor of 1.
    """
    n_wide = wide_rates.shape[0]
    total = 0.0
    for w in range(n_wide):
        negative, positive = 0.0, 0.0
        for byte in range(wide_start[w], wide_start[w + 1]):
            value = row[n_narrow + byte]
            negative += wide[byte, value, 0]
            positive += wide[byte, value, 1]
        lead = positive - negative
        total += max(negative, positive)
        likelihood[w, 0] = np.exp(-lead) if lead > 0.0 else 1.0
        likelihood[w, 1] = 1.0 if lead > 0.0 else np.exp(lead)
    least = 1.0
    for state in range(hub.size):
        product = 1.0  # its logarithm is taken before it underflows
        for w in range(n_wide):
            mean = wide_rates[w, 0, state] * likelihood[w, 0] + wide_rates[w, 1, state] * likelihood[w, 1]
            mixed[w, state] = max(mean, _SMALL)
            product *= mixed[w, state]
            if product < _SMALL:
                hub[state] += np.log(product)
                product = 1.0
        factor[state] = product
        least = min(least, product)
    if least < _FAIR:
        for state in range(hub.size):
            hub[state] += np.log(factor[state])
            factor[state] = 1.0
    return total


def hear_wide(packed, n_narrow, wide, wide_start, wide_rates, hub):
    """Add what the votes of wide groups say to ``hub[row, s]``, for latents of two states.

    Few rows need no kernel, and have the same bits: exponentials are those of the machine's library either way.
    """
    if len(packed) * hub.shape[1] > _FEW_CELLS // 4:
        _hear_wide(packed, n_narrow, wide, wide_start, wide_rates, hub)
        return
    total, product = np.zeros(len(packed)), np.ones(hub.shape)
    for w, rates in enumerate(wide_rates):
        evidence = np.zeros((len(packed), 2))
        for byte in range(wide_start[w], wide_start[w + 1]):
            evidence += wide[byte, packed[:, n_narrow + byte]]
        lead = evidence[:, 1] - evidence[:, 0]
        total += evidence.max(axis=1)
        smaller = _exp(-np.abs(lead)).astype(np.float64)[:, None]
        ahead = (lead > 0)[:, None]
        product *= np.maximum(
            rates[0] * np.where(ahead, smaller, 1.0) + rates[1] * np.where(ahead, 1.0, smaller), _SMALL
        )
        _take_logarithm(product, hub, product < _SMALL)
    _take_logarithm(product, hub, np.broadcast_to((product < _FAIR).any(axis=1)[:, None], hub.shape))
    hub += total[:, None] + _log(product).astype(np.float64)


_exp, _log = np.frompyfunc(math.exp, 1, 1), np.frompyfunc(math.log, 1, 1)


def _take_logarithm(product, hub, where):
    """Move factors to the sum of logarithms."""
    hub[where] += _log(product[where]).astype(np.float64)
    product[where] = 1.0


@compiled
def _hear_wide(packed, n_narrow, wide, wide_start, wide_rates, hub):
    n_wide, _, n_states = wide_rates.shape
    likelihood = np.empty((n_wide, 2))
    mixed = np.empty((n_wide, n_states))
    factor = np.ones(n_states)
    for i in range(packed.shape[0]):
        scale = _read_wide(packed[i], n_narrow, wide, wide_start, wide_rates, likelihood, mixed, factor, hub[i])
        for state in range(n_states):
            hub[i, state] += scale + np.log(factor[state])


@compiled
def expect_two(
    packed, counts, tables, wide, wide_start, wide_rates, log_weights,
    labels, histogram, wide_latents, wide_histogram,
):  # fmt: skip
    """Add what the rows expect (E-step) and return their log-likelihood relative to the first state.

    For latents of two states: of more see :mod:`goldless.kernels.posterior`. ``labels[s]``,
    ``histogram[byte, value, s]``, ``wide_latents[w, a, s]`` and ``wide_histogram[byte, value, 0]`` are added to; of
    two states, and of the latents, the histograms hold the second.
    """
    n_wide, _, n_states = wide_rates.shape
    n_narrow = tables.shape[0]
    likelihood = np.empty((n_wide, 2))
    mixed = np.empty((n_wide, n_states))
    factor = np.ones(n_states)
    hub = np.empty(n_states)
    log_likelihood, product = 0.0, 1.0
    for i in range(packed.shape[0]):
        count = counts[i]
        for state in range(n_states):
            hub[state] = log_weights[state]
        if n_states == 2:
            even, odd = 0.0, 0.0  # two sums, so that one need not wait for the other
            for byte in range(0, n_narrow - 1, 2):
                even += tables[byte, packed[i, byte], 0]
                odd += tables[byte + 1, packed[i, byte + 1], 0]
            if n_narrow % 2:
                even += tables[n_narrow - 1, packed[i, n_narrow - 1], 0]
            hub[1] += even + odd
        else:
            for byte in range(n_narrow):
                value = packed[i, byte]
                for state in range(n_states):
                    hub[state] += tables[byte, value, state]
        scale = 0.0
        if n_wide:
            scale = _read_wide(packed[i], n_narrow, wide, wide_start, wide_rates, likelihood, mixed, factor, hub)
        top = hub[0]
        for state in range(1, n_states):
            top = max(top, hub[state])
        total = 0.0
        for state in range(n_states):
            lead = hub[state] - top
            hub[state] = factor[state] * (1.0 if lead >= 0.0 else np.exp(lead) if lead > _LOWEST else 0.0)
            total += hub[state]
        log_likelihood += count * (top + scale)
        if count == 1.0:  # many logarithms in one
            product *= total
            if product > _LARGE or product < _SMALL:
                log_likelihood += np.log(product)
                product = 1.0
        else:
            log_likelihood += count * np.log(total)
        for state in range(n_states):
            hub[state] *= count / total
            labels[state] += hub[state]
        if n_states > 2:
            for byte in range(n_narrow):
                value = packed[i, byte]
                for state in range(n_states):
                    histogram[byte, value, state] += hub[state]
        elif hub[1] >= _NEGLIGIBLE * count:  # most rows are sure of their state
            for byte in range(n_narrow):
                histogram[byte, packed[i, byte], 0] += hub[1]
        for w in range(n_wide):
            parent = 0.0
            for state in range(n_states):
                if hub[state] >= _NEGLIGIBLE * count:
                    share = hub[state] / mixed[w, state]
                    wide_latents[w, 0, state] += share * wide_rates[w, 0, state] * likelihood[w, 0]
                    joint = share * wide_rates[w, 1, state] * likelihood[w, 1]
                    wide_latents[w, 1, state] += joint
                    parent += joint
            if parent >= _NEGLIGIBLE * count:
                for byte in range(wide_start[w], wide_start[w + 1]):
                    wide_histogram[byte, packed[i, n_narrow + byte], 0] += parent
    return log_likelihood + np.log(product)
