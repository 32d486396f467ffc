"""Rows of codes evaluated by tables, each row for itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.packing import PackingPlan
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.kernels.tree_tables import UnitTables

_CHUNK_ROWS = 1 << 13
_ADDED_ROWS = 1 << 12
_FEW_CELLS = 1 << 15  # table entries that numpy adds before a kernel would be compiled


def evaluate_codes(
    codes: NDArray[np.int8],
    groups: NDArray[np.int64],
    n_symbols: int,
    tables_for: Callable[[PackingPlan], UnitTables],
    evaluate: Callable[[UnitTables, NDArray[np.uint8]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Pack rows of codes and evaluate them, each for itself: what other rows hold changes no bit of its result.

    Rows without a missing vote are packed tighter than the others, and so evaluated apart from them.

    ``codes`` (n_rows, n_voters); ``groups`` (n_voters,): voters with a negative group are left out; ``n_symbols``:
    how many symbols votes may be; ``tables_for``: makes the tables for a plan; ``evaluate``: a function of tables and
    packed rows with one row of results for each.
    """
    plans: dict[bool, tuple[PackingPlan, UnitTables]] = {}
    chunks = row_chunks(len(codes), _CHUNK_ROWS)
    complete = np.concatenate([np.empty(0, bool), *ordered_map(lambda rows: codes[rows].min(axis=1) >= 0, chunks)])
    for kind in (True, False):
        if (complete == kind).any():
            plan = PackingPlan.for_groups(groups, n_symbols, missing=not kind)
            plans[kind] = (plan, tables_for(plan))

    def of_rows(rows: slice) -> NDArray[np.float64]:
        whole = complete[rows]
        parts = []
        for kind, (plan, tables) in plans.items():
            chosen = np.flatnonzero(whole == kind)
            if len(chosen):
                part = codes[rows] if len(chosen) == len(whole) else codes[rows][chosen]
                parts.append((chosen, evaluate(tables, plan.pack(part))))
        if len(parts) == 1:
            return parts[0][1]
        out = np.empty((len(whole), *parts[0][1].shape[1:]))
        for chosen, values in parts:
            out[chosen] = values
        return out

    if not len(codes):
        plan = PackingPlan.for_groups(groups, n_symbols, missing=False)
        return evaluate(tables_for(plan), plan.pack(codes))
    return np.concatenate(ordered_map(of_rows, chunks))


def sums_of_votes(codes: NDArray[np.int8], log_votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the votes of every row say of each state, shape (n_rows, n_states), if all hang on the hub.

    Of many symbols tables of single votes are smaller than those of bytes. Few rows or many, a row has the same bits:
    entries are added in the order of the voters.

    ``log_votes`` (n_voters, n_states, n_symbols).
    """
    n_voters, n_states, n_symbols = log_votes.shape
    table = np.zeros((n_voters, 1 + n_symbols, n_states))  # the first of each voter is for no vote
    table[:, 1:] = log_votes.transpose(0, 2, 1)
    first = np.arange(1, n_voters * (1 + n_symbols) + 1, 1 + n_symbols)
    out, nothing = np.zeros((len(codes), n_states)), np.zeros(n_states)
    if out.size * n_voters <= _FEW_CELLS:
        for column, own in zip(codes.T, table, strict=True):
            out += own[column + 1]
        return out
    from goldless.kernels.flat import collect  # brings Numba along

    def fill(rows: slice) -> None:
        cells = codes[rows].astype(np.uint32)
        cells += first.astype(np.uint32)
        starts = np.arange(0, cells.size + 1, n_voters)
        collect(starts, cells.reshape(-1), table.reshape(-1, n_states), nothing, out[rows])

    ordered_map(fill, row_chunks(len(codes), _ADDED_ROWS))
    return out
