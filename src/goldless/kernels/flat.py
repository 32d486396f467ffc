"""The E-step where every voter hangs on the hub: sums of logarithms, and what they make of the votes.

A vote is a row of a table with an entry for each state. Between the kernels numpy takes exponentials, many at a time.
Four states are one step of the machine (:mod:`goldless.kernels.lanes`); of a number that is no multiple of four the
last step takes some states again.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled
from goldless.kernels.lanes import LANES, four, plus, put, times


@compiled
def collect(starts, cells, log_votes, log_prior, hubs):
    """Add up what the votes of each row say of each state."""
    n_states = log_prior.size
    table, out = log_votes.reshape(-1), hubs.reshape(-1)
    last_start = n_states - LANES
    for row in range(starts.size - 1):
        first, last, here = starts[row], starts[row + 1], row * n_states
        if n_states < LANES:
            for state in range(n_states):
                total = log_prior[state]
                for vote in range(first, last):
                    total += log_votes[np.int64(cells[vote]), state]
                hubs[row, state] = total
        elif n_states == LANES:
            sums = four(log_prior, 0)
            for vote in range(first, last):
                sums = plus(sums, four(table, np.int64(cells[vote]) * LANES))
            put(out, here, sums)
        else:  # three steps side by side, so that one need not wait for the other
            for a in range(0, n_states, 3 * LANES):
                a, b, c = min(a, last_start), min(a + LANES, last_start), min(a + 2 * LANES, last_start)
                of_a, of_b, of_c = four(log_prior, a), four(log_prior, b), four(log_prior, c)
                for vote in range(first, last):
                    place = np.int64(cells[vote]) * n_states
                    of_a = plus(of_a, four(table, place + a))
                    of_b = plus(of_b, four(table, place + b))
                    of_c = plus(of_c, four(table, place + c))
                put(out, here + a, of_a)
                put(out, here + b, of_b)
                put(out, here + c, of_c)


@compiled
def lower(hubs, tops):
    """Take from every row its largest entry."""
    n_rows, n_states = hubs.shape
    for row in range(n_rows):
        top = hubs[row, 0]
        for state in range(1, n_states):
            top = max(top, hubs[row, state])
        for state in range(n_states):
            hubs[row, state] -= top
        tops[row] = top


@compiled
def tally(starts, cells, hubs):
    """Count the votes of each row for each state; a row without votes is for the first."""
    n_rows, n_states = hubs.shape
    for row in range(n_rows):
        for state in range(n_states):
            hubs[row, state] = 0.0
        for vote in range(starts[row], starts[row + 1]):
            hubs[row, np.int64(cells[vote]) % n_states] += 1.0
        if starts[row] == starts[row + 1]:
            hubs[row, 0] = 1.0


@compiled
def share(starts, cells, counts, hubs, totals, labels, votes):
    """Scale every row to sum to its count, and count its votes."""
    n_rows, n_states = hubs.shape
    flat, of_rows = votes.reshape(-1), hubs.reshape(-1)
    new = np.ones(LANES)  # which states of the last step no earlier step has taken
    for state in range(LANES - n_states % LANES):
        new[state] = 0.0 if n_states % LANES else 1.0
    for row in range(n_rows):
        first, last, total = starts[row], starts[row + 1], 0.0
        for state in range(n_states):
            total += hubs[row, state]
        totals[row] = total
        scale = counts[row] / total
        for state in range(n_states):
            hubs[row, state] *= scale
            labels[state] += hubs[row, state]
        if n_states < LANES:
            for state in range(n_states):
                for vote in range(first, last):
                    votes[np.int64(cells[vote]), state] += hubs[row, state]
            continue
        for state in range(0, n_states, LANES):
            at = min(state, n_states - LANES)
            items = four(of_rows, row * n_states + at)
            if at < state:
                items = times(items, four(new, 0))
            for vote in range(first, last):
                place = np.int64(cells[vote]) * n_states + at
                put(flat, place, plus(four(flat, place), items))
