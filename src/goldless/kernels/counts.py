"""Pair counts by bit columns and popcount."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled
from goldless.kernels.threads import ordered_map, row_chunks

_CHUNK_ROWS = 1 << 15  # 512 words a voter: the bit columns of a chunk stay in cache


def pair_counts(codes: NDArray[np.int8], complete: bool) -> tuple[NDArray[np.int64], ...]:
    """Count, for every pair of voters, what they said on the items both voted on.

    Parameters
    ----------
    codes : ndarray of shape (n_items, n_voters)
        -1 missing, 0 negative, 1 positive.
    complete : bool
        Whether no vote is missing; then one popcount a pair is enough.

    Returns
    -------
    both, first_positive, both_positive : ndarray of shape (n_voters, n_voters)
        ``both[i, j]`` items voted on by i and j, ``first_positive[i, j]`` those where i said positive,
        ``both_positive[i, j]`` those where both did.
    """
    n_items, n_voters = codes.shape

    def count(rows: slice) -> tuple[NDArray[np.int64], ...]:
        positive = _bit_columns(codes[rows], 1)
        both_positive = _common_bits(positive, positive, True)
        if complete:
            return (both_positive,)
        observed = positive | _bit_columns(codes[rows], 0)
        return both_positive, _common_bits(positive, observed, False), _common_bits(observed, observed, True)

    totals = None
    chunks = row_chunks(n_items, _CHUNK_ROWS)
    for start in range(0, len(chunks), 64):  # int64 sums are exact in any order; 64 at a time bounds memory
        for part in ordered_map(count, chunks[start : start + 64]):
            totals = part if totals is None else tuple(a + b for a, b in zip(totals, part, strict=True))
    if totals is None:
        empty = np.zeros((n_voters, n_voters), dtype=np.int64)
        return empty, empty.copy(), empty.copy()
    both_positive = totals[0]
    if complete:
        first_positive = np.repeat(np.diag(both_positive)[:, None], n_voters, axis=1)
        return np.full((n_voters, n_voters), n_items, dtype=np.int64), first_positive, both_positive
    return totals[2], totals[1], both_positive


@compiled
def _bit_columns(codes, wanted):
    """Return words of shape (n_voters, n_words): bit r of word w says whether row 64 w + r equals wanted."""
    n_rows, n_voters = codes.shape
    n_words = (n_rows + 63) // 64
    words = np.empty((n_voters, n_words), dtype=np.uint64)
    column = np.empty(n_voters, dtype=np.uint64)
    for word in range(n_words):
        column[:] = 0
        for row in range(word * 64, min(n_rows, word * 64 + 64)):
            bit = np.uint64(row & 63)
            for voter in range(n_voters):
                column[voter] |= np.uint64(codes[row, voter] == wanted) << bit
        for voter in range(n_voters):
            words[voter, word] = column[voter]
    return words


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
