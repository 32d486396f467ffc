"""One pass of the latent model over packed vote patterns.

The hub ``Y`` has ``S`` states. ``tables[byte, value, s]`` is the log-likelihood of a byte value in a state of the
hub, for the bytes before those of wide groups, or its log-ratio to the first state; of two states the second is
enough. Rows may have further bytes, which are not read. A wide group ``w`` has a latent of ``A`` states and the bytes
``wide_start[w]`` to ``wide_start[w + 1]`` of ``wide[byte, value, a]``; ``wide_rates[w, a, s]`` is
Pr(alpha_w = a | Y = s). States stand last: loops over them are loops over neighbours in memory.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled

_TINY = 1e-300
_NEGLIGIBLE = 1e-18  # a share of an item that no sum in double precision can see
_FAIR = 1e-9  # factors above this need no logarithm
_LOWEST = -65.0  # the logarithm of less than their product
_LARGE = 1e250
_SMALL = 1e-140  # the product of two numbers this small is still above zero


@compiled
def _read_narrow(row, tables, hub):
    """Add the table entries of a row to the hub."""
    n_narrow = tables.shape[0]
    if tables.shape[2] == 1:  # the second of two states
        even, odd = 0.0, 0.0  # two sums, so that one need not wait for the other
        for byte in range(0, n_narrow - 1, 2):
            even += tables[byte, row[byte], 0]
            odd += tables[byte + 1, row[byte + 1], 0]
        if n_narrow % 2:
            even += tables[n_narrow - 1, row[n_narrow - 1], 0]
        hub[1] += even + odd
        return
    for byte in range(n_narrow):
        value = row[byte]
        for state in range(hub.size):
            hub[state] += tables[byte, value, state]


@compiled
def _read_wide(row, n_narrow, wide, wide_start, wide_rates, likelihood, mixed, factor, hub):
    """Collect the messages of the wide groups to the hub; return the log of what likelihoods were scaled by.

    ``likelihood[w, a]`` is proportional to Pr(votes of w | alpha_w = a), the largest 1, and ``mixed[w, s]`` is its
    mean over alpha_w given Y = s. The message to a state is the product of its means: ``factor[s]``, or if that is
    small in any state, its logarithm in ``hub[s]`` and a factor of 1.
    """
    n_wide, n_latent, n_states = wide_rates.shape
    total = 0.0
    for w in range(n_wide):
        if n_latent == 2:  # as below: loops of two are slow
            negative, positive = 0.0, 0.0
            for byte in range(wide_start[w], wide_start[w + 1]):
                value = row[n_narrow + byte]
                negative += wide[byte, value, 0]
                positive += wide[byte, value, 1]
            lead = positive - negative
            total += max(negative, positive)
            likelihood[w, 0] = np.exp(-lead) if lead > 0.0 else 1.0
            likelihood[w, 1] = 1.0 if lead > 0.0 else np.exp(lead)
            continue
        for a in range(n_latent):
            likelihood[w, a] = 0.0
        for byte in range(wide_start[w], wide_start[w + 1]):
            value = row[n_narrow + byte]
            for a in range(n_latent):
                likelihood[w, a] += wide[byte, value, a]
        top = likelihood[w, 0]
        for a in range(1, n_latent):
            top = max(top, likelihood[w, a])
        total += top
        for a in range(n_latent):
            lead = likelihood[w, a] - top
            likelihood[w, a] = 1.0 if lead >= 0.0 else np.exp(lead)
    least = 1.0
    for state in range(n_states):
        product = 1.0  # its logarithm is taken before it underflows
        for w in range(n_wide):
            mean = wide_rates[w, 0, state] * likelihood[w, 0] + wide_rates[w, 1, state] * likelihood[w, 1]
            for a in range(2, n_latent):
                mean += wide_rates[w, a, state] * likelihood[w, a]
            mixed[w, state] = max(mean, _SMALL)
            product *= mixed[w, state]
            if product < _SMALL:
                hub[state] += np.log(product)
                product = 1.0
        factor[state] = product
        least = min(least, product)
    if least < _FAIR:
        for state in range(n_states):
            hub[state] += np.log(factor[state])
            factor[state] = 1.0
    return total


@compiled
def evaluate(packed, tables, wide, wide_start, wide_rates, out):
    """Fill ``out[row, s]`` with log Pr(votes of the row | Y = s).

    If the tables hold ratios, only differences between states mean anything.
    """
    n_wide, n_latent, n_states = wide_rates.shape
    likelihood = np.empty((n_wide, n_latent))
    mixed = np.empty((n_wide, n_states))
    factor = np.ones(n_states)
    for i in range(packed.shape[0]):
        hub = out[i]
        hub[:] = 0.0
        _read_narrow(packed[i], tables, hub)
        if n_wide:
            n_narrow = tables.shape[0]
            scale = _read_wide(packed[i], n_narrow, wide, wide_start, wide_rates, likelihood, mixed, factor, hub)
            for state in range(n_states):
                hub[state] += scale + np.log(factor[state])


@compiled
def expect(
    packed, counts, tables, wide, wide_start, wide_rates, log_weights,
    labels, histogram, wide_latents, wide_histogram,
):  # fmt: skip
    """Add what the rows expect (E-step) and return their log-likelihood relative to the first state.

    ``labels[s]``, ``histogram[byte, value, s]``, ``wide_latents[w, a, s]`` and ``wide_histogram[byte, value, a]`` are
    added to; of two states, or two values of alpha, the histograms hold the second.
    """
    n_wide, n_latent, n_states = wide_rates.shape
    n_narrow = tables.shape[0]
    likelihood = np.empty((n_wide, n_latent))
    mixed = np.empty((n_wide, n_states))
    parent = np.empty((n_wide, n_latent))
    factor = np.ones(n_states)
    hub = np.empty(n_states)
    log_likelihood, product = 0.0, 1.0
    for i in range(packed.shape[0]):
        row, count = packed[i], counts[i]
        for state in range(n_states):
            hub[state] = log_weights[state]
        _read_narrow(row, tables, hub)
        scale = 0.0
        if n_wide:
            scale = _read_wide(row, n_narrow, wide, wide_start, wide_rates, likelihood, mixed, factor, hub)
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
                value = row[byte]
                for state in range(n_states):
                    histogram[byte, value, state] += hub[state]
        elif hub[1] >= _NEGLIGIBLE * count:  # most rows are sure of their state
            for byte in range(n_narrow):
                histogram[byte, row[byte], 0] += hub[1]
        if n_wide:
            parent[:] = 0.0
            for state in range(n_states):
                if hub[state] >= _NEGLIGIBLE * count:
                    for w in range(n_wide):
                        share = hub[state] / mixed[w, state]
                        joint = share * wide_rates[w, 0, state] * likelihood[w, 0]
                        wide_latents[w, 0, state] += joint
                        parent[w, 0] += joint
                        joint = share * wide_rates[w, 1, state] * likelihood[w, 1]
                        wide_latents[w, 1, state] += joint
                        parent[w, 1] += joint
                        for a in range(2, n_latent):
                            joint = share * wide_rates[w, a, state] * likelihood[w, a]
                            wide_latents[w, a, state] += joint
                            parent[w, a] += joint
            for w in range(n_wide):
                if n_latent > 2:
                    for byte in range(wide_start[w], wide_start[w + 1]):
                        value = row[n_narrow + byte]
                        for a in range(n_latent):
                            wide_histogram[byte, value, a] += parent[w, a]
                elif parent[w, 1] >= _NEGLIGIBLE * count:
                    for byte in range(wide_start[w], wide_start[w + 1]):
                        wide_histogram[byte, row[n_narrow + byte], 0] += parent[w, 1]
    return log_likelihood + np.log(product)


@compiled
def accumulate(packed, weights, histogram):
    """Add the weights of the rows, one for each state, to ``histogram[byte, value, s]``."""
    n_bytes, n_states = histogram.shape[0], weights.shape[1]
    for i in range(packed.shape[0]):
        for byte in range(n_bytes):
            value = packed[i, byte]
            histogram[byte, value, 0] += weights[i, 0]
            for state in range(1, n_states):
                histogram[byte, value, state] += weights[i, state]
