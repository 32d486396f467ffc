"""Numbers as codes of bins, and sums over rows of codes of what they stand for."""

from __future__ import annotations

import numpy as np

from goldless.kernels.compiled import compiled


@compiled
def code_numbers(answers, edges, sign, codes):
    """Fill ``codes`` with the bin of every number, -1 where it is missing (NaN).

    ``edges[k, i]`` is where bin 1 + k of voter i starts, infinity for bins it does not have. There are few, so to
    count those that are reached, of all voters side by side, takes a fraction of a search, whose steps cannot be
    foreseen.
    """
    n_edges, n_voters = edges.shape
    numbers, reached = np.empty(n_voters), np.empty(n_voters)
    for row in range(answers.shape[0]):
        for voter in range(n_voters):
            numbers[voter] = answers[row, voter] * sign[voter]
            reached[voter] = 0.0 if numbers[voter] == numbers[voter] else -1.0
        for edge in range(n_edges):
            for voter in range(n_voters):
                reached[voter] += 1.0 if numbers[voter] >= edges[edge, voter] else 0.0
        for voter in range(n_voters):
            codes[row, voter] = np.int8(reached[voter])


@compiled
def mean_by_group(codes, values, groups, nothing, means):
    """Fill ``means`` with the mean over the votes of each group on each row of what they stand for."""
    n_rows, n_voters = codes.shape
    n_groups = means.shape[1]
    cast = np.zeros(n_groups, dtype=np.int64)
    for row in range(n_rows):
        for group in range(n_groups):
            cast[group] = 0
            means[row, group] = 0.0
        for voter in range(n_voters):
            if codes[row, voter] >= 0:
                means[row, groups[voter]] += values[voter, codes[row, voter]]
                cast[groups[voter]] += 1
        for group in range(n_groups):
            means[row, group] = means[row, group] / cast[group] if cast[group] else nothing


@compiled
def count_by_parent(codes, positive, weights, parent, votes):
    """Add the weight of every vote to ``votes`` (n_voters, 2, n_symbols), divided between the states of its parent.

    ``positive`` (n_rows, n_parents) is the share of the positive state, ``parent`` the column of each voter's.
    """
    n_rows, n_voters = codes.shape
    for row in range(n_rows):
        for voter in range(n_voters):
            code = codes[row, voter]
            if code >= 0:
                share = positive[row, parent[voter]]
                votes[voter, 1, code] += weights[row] * share
                votes[voter, 0, code] += weights[row] * (1.0 - share)
