"""The M-step of votes, voter by voter: for a crowd of many voters it is as much work as the votes themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled
from goldless.kernels.threads import ordered_map, row_chunks

_CHUNK_VOTERS = 1 << 13
_FEW_CELLS = 1 << 14  # that numpy adds before a kernel would be compiled


def shares_of_rows(
    counts: NDArray[np.float64], pseudo: NDArray[np.float64], kind: NDArray[np.bool_], least: float
) -> NDArray[np.float64]:
    """Return counts with pseudo-counts as shares of their row, even where there are none, and never 0 or 1.

    ``counts`` (n_voters, n_parents, n_symbols); ``pseudo`` (2, n_parents, n_symbols): what is added to the counts of
    a voter of each kind; ``kind`` (n_voters,); ``least``: smallest share.
    """
    if counts.size <= _FEW_CELLS:
        votes = counts + pseudo[kind.astype(np.int64)]
        total = votes.sum(axis=2, keepdims=True)
        even = 1.0 / counts.shape[2]
        return np.where(total > 0, votes / np.where(total > 0, total, 1.0), even).clip(least, 1.0 - least)
    shares = np.empty_like(counts)  # in the same order in memory

    def fill(voters: slice) -> None:
        _shares(counts[voters], pseudo, kind[voters], least, shares[voters])

    ordered_map(fill, row_chunks(len(counts), _CHUNK_VOTERS))
    return shares


def sum_of_kinds(values: NDArray[np.float64], kind: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the sums over the voters of each kind, shape (2, n_parents, n_symbols)."""
    if values.size <= _FEW_CELLS:
        return np.stack([values[~kind].sum(axis=0), values[kind].sum(axis=0)])

    def add(voters: slice) -> NDArray[np.float64]:
        total = np.zeros((2, *values.shape[1:]))
        _sum(values[voters], kind[voters], total)
        return total

    parts = ordered_map(add, row_chunks(len(values), _CHUNK_VOTERS))
    return np.sum(parts, axis=0) if parts else np.zeros((2, *values.shape[1:]))


def as_stored(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return tables of voters with their axes in the order of memory, so that loops run over neighbours."""
    if tables.ndim < 3 or tables.flags.c_contiguous:
        return tables
    return tables.transpose(0, 2, 1)


@compiled
def path_squares(start, once, twice):
    """Return the squared lengths of a first step and of how much the second differs from it, of flat arrays."""
    steps, bends = 0.0, 0.0
    for i in range(start.size):
        step = once[i] - start[i]
        bend = twice[i] - once[i] - step
        steps += step * step
        bends += bend * bend
    return steps, bends


def path_jump(
    start: NDArray[np.float64], once: NDArray[np.float64], twice: NDArray[np.float64], length: float, limit: float
) -> NDArray[np.float64]:
    """Return start + 2 length step + length^2 bend, kept within a limit, stored as the start is."""
    jump = np.empty_like(start)
    if start.size <= _FEW_CELLS:
        step = once - start
        np.multiply(twice - once - step, length**2, out=jump)
        return np.clip(2 * length * step + start + jump, -limit, limit, out=jump)
    stored = (as_stored(part).reshape(-1) for part in (start, once, twice))
    _jump(*stored, 2 * length, length**2, limit, as_stored(jump).reshape(-1))
    return jump


@compiled
def _jump(start, once, twice, of_step, of_bend, limit, out):
    for i in range(start.size):
        step = once[i] - start[i]
        bend = twice[i] - once[i] - step
        out[i] = min(max(of_step * step + start[i] + of_bend * bend, -limit), limit)


@compiled
def _shares(counts, pseudo, kind, least, shares):
    n_voters, n_parents, n_symbols = counts.shape
    for voter in range(n_voters):
        own = pseudo[np.int64(kind[voter])]
        for parent in range(n_parents):
            total = 0.0
            for symbol in range(n_symbols):
                total += counts[voter, parent, symbol] + own[parent, symbol]
            for symbol in range(n_symbols):
                share = 1.0 / n_symbols
                if total > 0:
                    share = (counts[voter, parent, symbol] + own[parent, symbol]) / total
                shares[voter, parent, symbol] = min(max(share, least), 1.0 - least)


@compiled
def _sum(values, kind, total):
    n_voters, n_parents, n_symbols = values.shape
    for voter in range(n_voters):
        own = total[np.int64(kind[voter])]
        for parent in range(n_parents):
            for symbol in range(n_symbols):
                own[parent, symbol] += values[voter, parent, symbol]


@compiled
def scale_rows(rates):
    """Scale the rows of every voter to sum to 1, in place."""
    n_voters, n_parents, n_symbols = rates.shape
    for voter in range(n_voters):
        for parent in range(n_parents):
            total = 0.0
            for symbol in range(n_symbols):
                total += rates[voter, parent, symbol]
            for symbol in range(n_symbols):
                rates[voter, parent, symbol] /= total
