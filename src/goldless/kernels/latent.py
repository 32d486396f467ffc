"""One pass of the latent model over packed vote patterns.

The hub ``Y`` has ``S`` states. Voters hang on the hub directly, or on a binary latent ``alpha_k`` that hangs
on the hub. Bytes of block ``k < K`` belong to group ``k``, bytes of block ``K`` to the hub. ``tables`` holds
the log-likelihood of each byte value in each state of its parent; ``group_rates[k, a, s]`` is
Pr(alpha_k = a | Y = s).
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled

_TINY = 1e-300
_NEGLIGIBLE = 1e-18  # a share of an item that no sum in double precision can see
_SMALL = 1e-140  # the product of two numbers this small is still above zero


@compiled
def _read_row(packed, row, block_of_byte, tables, evidence, hub):
    """Sum the table entries of a row: ``evidence[k, a]`` for the groups, ``hub[s]`` for the hub."""
    n_groups = evidence.shape[0]
    n_states = hub.size
    evidence[:] = 0.0
    hub[:] = 0.0
    for byte in range(packed.shape[1]):
        block = block_of_byte[byte]
        value = packed[row, byte]
        if block < n_groups:
            evidence[block, 0] += tables[byte, value, 0]
            evidence[block, 1] += tables[byte, value, 1]
        else:
            for state in range(n_states):
                hub[state] += tables[byte, value, state]


@compiled
def _add_messages(evidence, group_rates, likelihood, mixed, hub):
    """Turn group evidence into likelihoods (largest = 1) and add every group's message to the hub.

    ``likelihood[k, a]`` is proportional to Pr(votes of k | alpha_k = a), ``mixed[k, s]`` is its mean over
    alpha_k given Y = s.
    """
    n_groups, _, n_states = group_rates.shape
    total = 0.0
    for k in range(n_groups):
        lead = evidence[k, 1] - evidence[k, 0]
        if lead > 0.0:
            total += evidence[k, 1]
            likelihood[k, 0] = np.exp(-lead)
            likelihood[k, 1] = 1.0
        else:
            total += evidence[k, 0]
            likelihood[k, 0] = 1.0
            likelihood[k, 1] = np.exp(lead)
    for state in range(n_states):
        product = 1.0  # of the groups' means; its logarithm is taken before it underflows
        for k in range(n_groups):
            mean = group_rates[k, 0, state] * likelihood[k, 0] + group_rates[k, 1, state] * likelihood[k, 1]
            mixed[k, state] = max(mean, _SMALL)
            product *= mixed[k, state]
            if product < _SMALL:
                hub[state] += np.log(product)
                product = 1.0
        hub[state] += total + np.log(product)


@compiled
def evaluate(packed, block_of_byte, tables, group_rates, hub_out):
    """Fill ``hub_out[row, s]`` with log Pr(votes of the row | Y = s)."""
    n_groups, _, n_states = group_rates.shape
    evidence = np.empty((n_groups, 2))
    likelihood = np.empty((n_groups, 2))
    mixed = np.empty((n_groups, n_states))
    for row in range(packed.shape[0]):
        hub = hub_out[row]
        _read_row(packed, row, block_of_byte, tables, evidence, hub)
        _add_messages(evidence, group_rates, likelihood, mixed, hub)


@compiled
def evaluate_groups(packed, block_of_byte, tables, group_rates, state_weights, out):
    """Fill ``out[row, k]`` with Pr(alpha_k = positive | all votes of the row)."""
    n_groups, _, n_states = group_rates.shape
    evidence = np.empty((n_groups, 2))
    likelihood = np.empty((n_groups, 2))
    mixed = np.empty((n_groups, n_states))
    hub = np.empty(n_states)
    for row in range(packed.shape[0]):
        _read_row(packed, row, block_of_byte, tables, evidence, hub)
        _add_messages(evidence, group_rates, likelihood, mixed, hub)
        _posterior(hub, state_weights)
        for k in range(n_groups):
            positive = 0.0
            for state in range(n_states):
                positive += hub[state] * group_rates[k, 1, state] * likelihood[k, 1] / mixed[k, state]
            out[row, k] = min(positive, 1.0)


@compiled
def _posterior(hub, state_weights):
    """Turn log-likelihoods into posterior probabilities in place; return the log of the marginal."""
    top = hub.max()
    total = 0.0
    for state in range(hub.size):
        hub[state] = state_weights[state] * np.exp(hub[state] - top)
        total += hub[state]
    total = max(total, _TINY)
    for state in range(hub.size):
        hub[state] /= total
    return top + np.log(total)


@compiled
def expect(packed, counts, block_of_byte, tables, group_rates, state_weights, state_counts, group_counts, histogram):
    """Add the expected counts of the rows (E-step) and return their log-likelihood.

    ``state_counts[s]``, ``group_counts[k, a, s]`` and ``histogram[byte, value, parent state]`` are added to.
    """
    n_groups, _, n_states = group_rates.shape
    evidence = np.empty((n_groups, 2))
    likelihood = np.empty((n_groups, 2))
    mixed = np.empty((n_groups, n_states))
    parent = np.empty((n_groups, 2))
    hub = np.empty(n_states)
    log_likelihood = 0.0
    for row in range(packed.shape[0]):
        _read_row(packed, row, block_of_byte, tables, evidence, hub)
        _add_messages(evidence, group_rates, likelihood, mixed, hub)
        log_likelihood += counts[row] * _posterior(hub, state_weights)
        for state in range(n_states):
            hub[state] *= counts[row]
            state_counts[state] += hub[state]
        for k in range(n_groups):
            parent[k, 0] = 0.0
            parent[k, 1] = 0.0
        for state in range(n_states):
            if hub[state] < _NEGLIGIBLE * counts[row]:
                continue  # most rows are sure of their state
            for k in range(n_groups):
                share = hub[state] / mixed[k, state]
                for a in range(2):
                    joint = share * group_rates[k, a, state] * likelihood[k, a]
                    group_counts[k, a, state] += joint
                    parent[k, a] += joint
        for byte in range(packed.shape[1]):
            block = block_of_byte[byte]
            value = packed[row, byte]
            if block < n_groups:
                histogram[byte, value, 0] += parent[block, 0]
                histogram[byte, value, 1] += parent[block, 1]
            else:
                for state in range(n_states):
                    histogram[byte, value, state] += hub[state]
    return log_likelihood
