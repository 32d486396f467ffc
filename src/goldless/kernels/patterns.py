"""Distinct rows of packed votes in one pass, by hashing."""

from __future__ import annotations

import numpy as np

from goldless.kernels.bits import hash_row
from goldless.kernels.compiled import compiled


@compiled
def _same_row(packed, left, right):
    for byte in range(packed.shape[1]):
        if packed[left, byte] != packed[right, byte]:
            return False
    return True


@compiled
def distinct_rows(packed):
    """Return (first, inverse): the first row of every distinct pattern, and the pattern of every row.

    Open addressing with linear probing; the table doubles when it is half full, so memory follows the number
    of distinct patterns and not the number of rows.
    """
    n_rows = packed.shape[0]
    size = 1024
    slots = np.full(size, -1, dtype=np.int64)
    first = np.empty(512, dtype=np.int64)
    hashes = np.empty(512, dtype=np.uint64)
    inverse = np.empty(n_rows, dtype=np.int64)
    n_patterns = 0
    for row in range(n_rows):
        key = hash_row(packed[row])
        slot = np.int64(key & np.uint64(size - 1))
        while True:
            pattern = slots[slot]
            if pattern < 0:
                if n_patterns == size // 2:
                    size *= 2
                    slots = np.full(size, -1, dtype=np.int64)
                    for old in range(n_patterns):
                        place = np.int64(hashes[old] & np.uint64(size - 1))
                        while slots[place] >= 0:
                            place = (place + 1) & (size - 1)
                        slots[place] = old
                    larger_first = np.empty(size // 2, dtype=np.int64)
                    larger_hashes = np.empty(size // 2, dtype=np.uint64)
                    for old in range(n_patterns):
                        larger_first[old] = first[old]
                        larger_hashes[old] = hashes[old]
                    first, hashes = larger_first, larger_hashes
                    slot = np.int64(key & np.uint64(size - 1))
                    while slots[slot] >= 0:
                        slot = (slot + 1) & (size - 1)
                slots[slot] = n_patterns
                first[n_patterns] = row
                hashes[n_patterns] = key
                inverse[row] = n_patterns
                n_patterns += 1
                break
            if hashes[pattern] == key and _same_row(packed, first[pattern], row):
                inverse[row] = pattern
                break
            slot = (slot + 1) & (size - 1)
    return first[:n_patterns].copy(), inverse
