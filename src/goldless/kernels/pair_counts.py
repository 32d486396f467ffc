"""Pair tables by bit columns and popcount."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import bit_columns, missing_plane, plane_bytes, unpack_bits, value_planes
from goldless.kernels.compiled import compiled
from goldless.kernels.threads import ordered_map, row_chunks

_CHUNK_ROWS = 1 << 15  # 512 words a voter: the bit columns of a chunk stay in cache
_FEW_PRODUCTS = 1 << 24  # up to which a product of matrices is fast enough, and nothing has to be compiled
_PAIRS_AT_ONCE = 16  # of symbols
_MEMORY = 1 << 29  # bytes of tables that threads may fill at the same time


def pair_counts(bits: NDArray[np.uint8], n_voters: int, n_symbols: int) -> NDArray[np.int64]:
    """Count, for every two voters, what they said on the items both voted on.

    ``bits`` (n_items, n_bytes): rows of votes as bits (:mod:`goldless.kernels.bits`). Returns (n_symbols, n_symbols,
    n_voters, n_voters): ``counts[a, b, i, j]`` items on which i said a and j said b.
    """
    if len(bits) * (n_symbols * n_voters) ** 2 <= _FEW_PRODUCTS:
        return _by_products(unpack_bits(bits, n_voters), n_symbols)
    absent = missing_plane(bits, n_voters)
    complete = absent is None or not absent.any()
    # counted are "voted at all", which all did in complete votes, and every symbol but the first
    totals = np.zeros((n_symbols, n_symbols, n_voters, n_voters), dtype=np.int64)

    pairs = [(a, b) for a in range(1, n_symbols) for b in range(1, a + 1)]
    if not complete:
        pairs += [(a, 0) for a in range(n_symbols)]

    def count(rows: slice) -> NDArray[np.int32]:
        columns = _symbol_columns(bits[rows], n_voters, n_symbols)
        observed = None if complete else bit_columns(np.ascontiguousarray(~absent[rows]), n_voters)  # type: ignore[index]
        said = columns if observed is None else [observed, *columns]  # from the second symbol on, or "voted" first
        first = n_symbols - len(said)
        part = np.empty((len(pairs), n_voters, n_voters), dtype=np.int32)

        def count_some(numbers: slice) -> None:
            for (a, b), of_pair in zip(pairs[numbers], part[numbers], strict=True):
                _common_bits(said[a - first], said[b - first], a == b, of_pair)

        ordered_map(count_some, row_chunks(len(pairs), _PAIRS_AT_ONCE))
        return part

    chunks = row_chunks(len(bits), _CHUNK_ROWS)
    at_once = int(np.clip(_MEMORY // max(4 * len(pairs) * n_voters**2, 1), 2, 64))
    for start in range(0, len(chunks), at_once):  # sums of whole numbers are exact in any order
        for part in ordered_map(count, chunks[start : start + at_once]):
            for (a, b), counted in zip(pairs, part, strict=True):
                totals[a, b] += counted
    for a in range(1, n_symbols):
        if complete:
            totals[a, 0] = np.diag(totals[a, a])[:, None]
        for b in range(a):
            totals[b, a] = totals[a, b].T
    if complete:
        totals[0, 0] = len(bits)
    # votes for the first symbol are those that are for no other
    totals[:, 0] -= totals[:, 1:].sum(axis=1)
    totals[0] -= totals[1:].sum(axis=0)
    return totals


def _by_products(codes: NDArray[np.int8], n_symbols: int) -> NDArray[np.int64]:
    """Return the counts as one product of who said what: floats add whole numbers below 2^53 exactly."""
    n_voters = codes.shape[1]
    said = (codes == np.arange(n_symbols, dtype=np.int8)[:, None, None]).astype(np.float64)
    columns = said.transpose(1, 0, 2).reshape(len(codes), n_symbols * n_voters)
    counts = (columns.T @ columns).reshape(n_symbols, n_voters, n_symbols, n_voters)
    return np.ascontiguousarray(counts.transpose(0, 2, 1, 3).astype(np.int64))


def _symbol_columns(bits: NDArray[np.uint8], n_voters: int, n_symbols: int) -> list[NDArray[np.uint64]]:
    """Return who said each symbol but the first, as bit columns."""
    width = plane_bytes(n_voters)
    planes = [
        bit_columns(np.ascontiguousarray(bits[:, plane * width : (plane + 1) * width]), n_voters)
        for plane in value_planes(bits.shape[1] // max(width, 1))
    ]
    columns = []
    for symbol in range(1, n_symbols):
        said: NDArray[np.uint64] | None = None
        for power, plane in enumerate(planes):
            if symbol >> power & 1:
                said = plane if said is None else said & plane
        if said is None or symbol >> len(planes):
            columns.append(np.zeros_like(planes[0]))
            continue
        for power, plane in enumerate(planes):
            if not symbol >> power & 1:
                said = said & ~plane
        columns.append(said)
    return columns


@compiled
def _common_bits(left, right, symmetric, counts):
    """Fill for every pair of columns the number of rows set in both.

    LLVM turns this pattern of shifts into the machine's own instruction for counting the bits of a word.
    """
    n_voters, n_words = left.shape
    for i in range(n_voters):
        for j in range(i if symmetric else 0, n_voters):
            total = np.uint64(0)
            for k in range(n_words):
                word = left[i, k] & right[j, k]
                word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
                word = (word & np.uint64(0x3333333333333333)) + (
                    (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
                )
                word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
                total += (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
            counts[i, j] = total
            if symmetric:
                counts[j, i] = total
