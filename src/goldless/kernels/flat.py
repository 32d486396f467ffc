"""The E-step where every voter hangs on the hub: products of probabilities, and what they make of the votes.

A vote is a row of a table with an entry for each state. Four states are one step of the machine
(:mod:`goldless.kernels.lanes`): of a number that is no multiple of four the last step multiplies some states again,
and tables that are counted into are padded, so that it counts nothing there. Products need neither logarithms nor
exponentials; those of many votes, which would vanish, have an exponent of their own.

Kernels that are called for every row take longer to call than to run: these are called for a block of rows.
"""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled
from goldless.kernels.lanes import LANES, four, plus, put, times

PRODUCT_BITS = 900  # a product may be halved so often: there is room left for the prior, and for many items
_ROWS_AT_ONCE = 64  # what is known of them stays in the cache until their votes are counted
_FRACTION_BITS = 52  # of a float: its exponent stands before them
_BIAS = 1023  # the exponent of 1


@compiled
def collect(starts, cells, log_votes, hubs):
    """Add up what the votes of each row say of each state."""
    n_states = hubs.shape[1]
    table, out, nothing = log_votes.reshape(-1), hubs.reshape(-1), np.zeros(LANES)
    last_start = n_states - LANES
    for row in range(starts.size - 1):
        first, last, here = starts[row], starts[row + 1], row * n_states
        if n_states < LANES:
            for state in range(n_states):
                total = 0.0
                for vote in range(first, last):
                    total += log_votes[np.int64(cells[vote]), state]
                hubs[row, state] = total
            continue
        for a in range(0, n_states, 3 * LANES):  # three steps side by side, so that one need not wait for the other
            a, b, c = min(a, last_start), min(a + LANES, last_start), min(a + 2 * LANES, last_start)
            of_a, of_b, of_c = four(nothing, 0), four(nothing, 0), four(nothing, 0)
            for vote in range(first, last):
                place = np.int64(cells[vote]) * n_states
                of_a = plus(of_a, four(table, place + a))
                of_b = plus(of_b, four(table, place + b))
                of_c = plus(of_c, four(table, place + c))
            put(out, here + a, of_a)
            put(out, here + b, of_b)
            put(out, here + c, of_c)


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
def expect(starts, cells, counts, votes, prior, at_once, totals, powers, labels, counted):
    """Find the state of every row and count its votes.

    ``votes[cell, s]`` is the probability of a vote, ``totals[row] * 2 ** powers[row]`` becomes that of a row;
    ``labels[s]`` and ``counted[cell, s]`` are added to. Products of ``at_once`` votes do not vanish.
    """
    n_rows, n_states, width = starts.size - 1, prior.size, counted.shape[1]
    table, flat = votes.reshape(-1), counted.reshape(-1)
    hubs = np.zeros(_ROWS_AT_ONCE * width)
    for first in range(0, n_rows, _ROWS_AT_ONCE):
        last = min(first + _ROWS_AT_ONCE, n_rows)
        places = starts[first : last + 1]
        _multiply(places, cells, at_once, table, prior, hubs, width)
        for row in range(first, last):
            powers[row] = 0
            if starts[row + 1] - starts[row] > at_once:
                here = hubs[(row - first) * width : (row - first) * width + n_states]
                powers[row] = _multiply_rest(starts[row] + at_once, starts[row + 1], cells, at_once, table, here)
        _share(counts[first:last], n_states, hubs, width, totals[first:last], labels)
        _count(places, cells, hubs, width, flat)


@compiled
def start(starts, cells, counts, given, totals, labels, counted):
    """Count the votes of every row for the states that are given."""
    n_rows, n_states, width = starts.size - 1, labels.size, counted.shape[1]
    flat, hubs = counted.reshape(-1), np.zeros(_ROWS_AT_ONCE * width)
    for first in range(0, n_rows, _ROWS_AT_ONCE):
        last = min(first + _ROWS_AT_ONCE, n_rows)
        for row in range(first, last):
            here = (row - first) * width
            for state in range(n_states):
                hubs[here + state] = given[row, state]
        _share(counts[first:last], n_states, hubs, width, totals[first:last], labels)
        _count(starts[first : last + 1], cells, hubs, width, flat)


@compiled
def _multiply(starts, cells, at_once, table, before, products, width):
    """Multiply what is before by the first votes of each row, state by state."""
    n_states = before.size
    last_start = n_states - LANES
    for row in range(starts.size - 1):
        first, here = starts[row], row * width
        last = min(starts[row + 1], first + at_once)
        if n_states < LANES:
            for state in range(n_states):
                product = before[state]
                for vote in range(first, last):
                    product *= table[np.int64(cells[vote]) * n_states + state]
                products[here + state] = product
        elif n_states == LANES:
            of_four = four(before, 0)
            for vote in range(first, last):
                of_four = times(of_four, four(table, np.int64(cells[vote]) * LANES))
            put(products, here, of_four)
        else:  # three steps side by side
            for a in range(0, n_states, 3 * LANES):
                a, b, c = min(a, last_start), min(a + LANES, last_start), min(a + 2 * LANES, last_start)
                of_a, of_b, of_c = four(before, a), four(before, b), four(before, c)
                for vote in range(first, last):
                    place = np.int64(cells[vote]) * n_states
                    of_a = times(of_a, four(table, place + a))
                    of_b = times(of_b, four(table, place + b))
                    of_c = times(of_c, four(table, place + c))
                put(products, here + a, of_a)
                put(products, here + b, of_b)
                put(products, here + c, of_c)


@compiled
def _multiply_rest(first, last, cells, at_once, table, hub):
    """Multiply products by the other votes of a long row; return the power of two that all were divided by."""
    n_states = hub.size
    before, products = np.empty(n_states), np.empty(n_states)
    bits, powers = before.view(np.int64), np.zeros(n_states, dtype=np.int64)
    ends, top = np.empty(2, dtype=np.int64), 0
    for state in range(n_states):
        products[state] = hub[state]
    while True:
        for state in range(n_states):
            before[state] = products[state]
            power = (bits[state] >> _FRACTION_BITS) - _BIAS
            powers[state] += power
            bits[state] -= power << _FRACTION_BITS  # from 1 to 2
            top = powers[state] if state == 0 else max(top, powers[state])
        if first >= last:
            break
        ends[0], ends[1] = first, min(first + at_once, last)
        _multiply(ends, cells, at_once, table, before, products, n_states)
        first += at_once
    for state in range(n_states):
        lower = powers[state] - top + _BIAS
        bits[state] += (powers[state] - top) << _FRACTION_BITS
        hub[state] = before[state] if lower > 0 else 0.0
    return top


@compiled
def _share(counts, n_states, hubs, width, totals, labels):
    """Scale every row to sum to its count."""
    for row in range(counts.size):
        here, total = row * width, 0.0
        for state in range(here, here + n_states):
            total += hubs[state]
        totals[row] = total
        scale = counts[row] / total
        for state in range(n_states):
            hubs[here + state] *= scale
            labels[state] += hubs[here + state]


@compiled
def _count(starts, cells, hubs, width, flat):
    """Count every vote for the states of its row."""
    in_threes = width - width % (3 * LANES)
    for row in range(starts.size - 1):
        first, last, here = starts[row], starts[row + 1], row * width
        if width < LANES:
            for state in range(width):
                for vote in range(first, last):
                    flat[np.int64(cells[vote]) * width + state] += hubs[here + state]
            continue
        for a in range(0, in_threes, 3 * LANES):
            b, c = a + LANES, a + 2 * LANES
            of_a, of_b, of_c = four(hubs, here + a), four(hubs, here + b), four(hubs, here + c)
            for vote in range(first, last):
                place = np.int64(cells[vote]) * width
                put(flat, place + a, plus(four(flat, place + a), of_a))
                put(flat, place + b, plus(four(flat, place + b), of_b))
                put(flat, place + c, plus(four(flat, place + c), of_c))
        for a in range(in_threes, width, LANES):
            of_a = four(hubs, here + a)
            for vote in range(first, last):
                place = np.int64(cells[vote]) * width + a
                put(flat, place, plus(four(flat, place), of_a))
