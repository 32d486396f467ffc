"""The E-step where every voter hangs on the hub: sums of logarithms, and what they make of the votes.

A vote is a row of a table with an entry for each state. Between the kernels numpy takes exponentials, many at a time.
Four states are one step of the machine (:mod:`goldless.kernels.lanes`): of a number that is no multiple of four the
last step reads some states again, and tables that are counted into are padded, so that it counts nothing there.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled
from goldless.kernels.lanes import LANES, four, plus, put


@compiled
def lay_out(codes, n_symbols, starts, cells):
    """List the votes of every row; ``cells`` has room for one more than there are."""
    n_rows, n_voters = codes.shape
    place = 0
    for row in range(n_rows):
        starts[row] = place
        for voter in range(n_voters):
            cells[place] = voter * n_symbols + codes[row, voter]
            place += codes[row, voter] >= 0
    starts[n_rows] = place


@compiled
def collect(starts, cells, table, before, sums):
    """Add the votes of each row to what is before, state by state."""
    n_states = before.size
    votes, out, last_start = table.reshape(-1), sums.reshape(-1), n_states - LANES
    for row in range(starts.size - 1):
        first, last, here = starts[row], starts[row + 1], row * n_states
        if n_states < LANES:
            for state in range(n_states):
                total = before[state]
                for vote in range(first, last):
                    total += votes[np.int64(cells[vote]) * n_states + state]
                out[here + state] = total
            continue
        for a in range(0, n_states, 3 * LANES):  # three steps side by side, so that one need not wait for the other
            a, b, c = min(a, last_start), min(a + LANES, last_start), min(a + 2 * LANES, last_start)
            of_a, of_b, of_c = four(before, a), four(before, b), four(before, c)
            for vote in range(first, last):
                place = np.int64(cells[vote]) * n_states
                of_a = plus(of_a, four(votes, place + a))
                of_b = plus(of_b, four(votes, place + b))
                of_c = plus(of_c, four(votes, place + c))
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
def share(counts, hubs, totals, labels, items):
    """Fill rows of items with those of the hub, scaled to sum to the count of the row, and count them."""
    n_states = labels.size
    for row in range(counts.size):
        total = 0.0
        for state in range(n_states):
            total += hubs[row, state]
        totals[row] = total
        scale = counts[row] / total
        for state in range(n_states):
            items[row, state] = hubs[row, state] * scale
            labels[state] += items[row, state]


@compiled
def count(starts, cells, items, votes):
    """Count every vote for the states of its row."""
    width, flat, of_rows = votes.shape[1], votes.reshape(-1), items.reshape(-1)
    in_threes = width - width % (3 * LANES)
    for row in range(starts.size - 1):
        first, last, here = starts[row], starts[row + 1], row * width
        if width < LANES:
            for state in range(width):
                for vote in range(first, last):
                    flat[np.int64(cells[vote]) * width + state] += of_rows[here + state]
            continue
        for a in range(0, in_threes, 3 * LANES):
            b, c = a + LANES, a + 2 * LANES
            of_a, of_b, of_c = four(of_rows, here + a), four(of_rows, here + b), four(of_rows, here + c)
            for vote in range(first, last):
                place = np.int64(cells[vote]) * width
                put(flat, place + a, plus(four(flat, place + a), of_a))
                put(flat, place + b, plus(four(flat, place + b), of_b))
                put(flat, place + c, plus(four(flat, place + c), of_c))
        for a in range(in_threes, width, LANES):
            of_a = four(of_rows, here + a)
            for vote in range(first, last):
                place = np.int64(cells[vote]) * width + a
                put(flat, place, plus(four(flat, place), of_a))
