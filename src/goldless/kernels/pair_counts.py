"""Pair counts by bit columns and popcount."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import bit_columns, plane_bytes
from goldless.kernels.compiled import compiled
from goldless.kernels.threads import ordered_map, row_chunks

_CHUNK_ROWS = 1 << 15  # 512 words a voter: the bit columns of a chunk stay in cache


def pair_counts(bits: NDArray[np.uint8], n_voters: int) -> tuple[NDArray[np.int64], ...]:
    """Count, for every pair of voters, what they said on the items both voted on.

    Parameters
    ----------
    bits : ndarray of shape (n_items, n_bytes)
        Rows of votes as bits (:mod:`goldless.kernels.bits`); without a second plane one popcount a pair is enough.
    n_voters : int

    Returns
    -------
    both, first_positive, both_positive : ndarray of shape (n_voters, n_voters)
        ``both[i, j]`` items voted on by i and j, ``first_positive[i, j]`` those where i said positive,
        ``both_positive[i, j]`` those where both did.
    """
    width = plane_bytes(n_voters)
    complete = bits.shape[1] == width

    def count(rows: slice) -> tuple[NDArray[np.int64], ...]:
        positive = bit_columns(np.ascontiguousarray(bits[rows, :width]), n_voters)
        both_positive = _common_bits(positive, positive, True)
        if complete:
            return (both_positive,)
        observed = bit_columns(~bits[rows, width:], n_voters)
        return both_positive, _common_bits(positive, observed, False), _common_bits(observed, observed, True)

    totals = None
    chunks = row_chunks(len(bits), _CHUNK_ROWS)
    for start in range(0, len(chunks), 64):  # int64 sums are exact in any order; 64 at a time bounds memory
        for part in ordered_map(count, chunks[start : start + 64]):
            totals = part if totals is None else tuple(a + b for a, b in zip(totals, part, strict=True))
    if totals is None:
        empty = np.zeros((n_voters, n_voters), dtype=np.int64)
        return empty, empty.copy(), empty.copy()
    both_positive = totals[0]
    if complete:
        first_positive = np.repeat(np.diag(both_positive)[:, None], n_voters, axis=1)
        return np.full((n_voters, n_voters), len(bits), dtype=np.int64), first_positive, both_positive
    return totals[2], totals[1], both_positive


@compiled
def _popcount(word):
    """Count the bits of a 64-bit word (LLVM turns this pattern into the machine's own instruction)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def _common_bits(left, right, symmetric):
    """Return for every pair of columns the number of rows set in both."""
    n_voters, n_words = left.shape
    counts = np.zeros((n_voters, n_voters), dtype=np.int64)
    for i in range(n_voters):
        for j in range(i if symmetric else 0, n_voters):
            total = np.uint64(0)
            for word in range(n_words):
                total += _popcount(left[i, word] & right[j, word])
            counts[i, j] = np.int64(total)
            if symmetric:
                counts[j, i] = counts[i, j]
    return counts
