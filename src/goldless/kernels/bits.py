"""Rows of votes as bits, plane by plane: the lowest bit of every code, who did not vote, then the higher bits.

A plane of m votes has ``ceil(m / 8)`` bytes, bit ``i % 8`` of byte ``i // 8`` for voter i. Complete votes of two
labels need one plane, votes with gaps two, more than two labels a further plane for every bit of their codes. Planes
that a row lacks are zero, so rows of different numbers of planes compare, hash and stand below each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled
from goldless.kernels.threads import ordered_map, row_chunks

_CHUNK_ROWS = 1 << 15
_MISSING_PLANE = 1


def plane_bytes(n_voters: int) -> int:
    """Return how many bytes a plane of a row has."""
    return -(-n_voters // 8)


def value_planes(n_planes: int) -> list[int]:
    """Return which planes hold the bits of the codes, lowest first."""
    return [plane for plane in range(n_planes) if plane != _MISSING_PLANE]


def pack_bits(codes: NDArray[np.int8], n_symbols: int | None = None) -> NDArray[np.uint8]:
    """Pack codes of shape (n_rows, n_voters), -1 missing, into bits of shape (n_rows, n_planes * plane_bytes).

    ``n_symbols`` is how many symbols votes may be, if that is known.
    """
    width, chunks = plane_bytes(codes.shape[1]), row_chunks(len(codes), _CHUNK_ROWS) if codes.size else []
    lowest = min(ordered_map(lambda rows: codes[rows].min(), chunks), default=0)
    highest = 1 if n_symbols is None else n_symbols - 1
    if n_symbols is None:
        highest = max(ordered_map(lambda rows: codes[rows].max(), chunks), default=0)
    n_planes = 1 + int(highest).bit_length() if highest > 1 else 1 if lowest >= 0 else 2
    bits = np.empty((len(codes), n_planes * width), dtype=np.uint8)

    def pack(rows: slice) -> None:
        block = codes[rows]
        whole = np.zeros((len(block), 8 * width), dtype=np.int8)  # bytes of whole rows are packed much faster
        whole[:, : block.shape[1]] = block
        absent = whole < 0 if lowest < 0 else None
        if absent is not None:
            np.maximum(whole, 0, out=whole)
        cast = whole.view(np.uint8)
        for bit, plane in enumerate(value_planes(n_planes)):
            is_set = cast if highest <= 1 else cast & np.uint8(1 << bit)
            bits[rows, plane * width : (plane + 1) * width] = _packed(is_set)
        if n_planes > 1:
            bits[rows, width : 2 * width] = 0 if absent is None else _packed(absent)

    ordered_map(pack, chunks)
    return bits


def _packed(is_set: NDArray) -> NDArray[np.uint8]:
    """Return rows of whole bytes as bits."""
    return np.packbits(is_set.reshape(-1), bitorder="little").reshape(len(is_set), -1)


def unpack_bits(bits: NDArray[np.uint8], n_voters: int) -> NDArray[np.int8]:
    """Return the codes of shape (n_rows, n_voters)."""
    width = plane_bytes(n_voters)
    n_planes = bits.shape[1] // max(width, 1)

    def plane(number: int) -> NDArray[np.int8]:
        part = bits[:, number * width : (number + 1) * width]
        return np.unpackbits(part, axis=1, count=n_voters, bitorder="little").view(np.int8)

    codes = plane(0)
    for bit, number in enumerate(value_planes(n_planes)[1:], 1):
        codes += plane(number) << bit
    if n_planes > 1:
        codes -= plane(_MISSING_PLANE)
    return codes


def missing_plane(bits: NDArray[np.uint8], n_voters: int) -> NDArray[np.uint8] | None:
    """Return the plane of who did not vote, None if the rows have none."""
    width = plane_bytes(n_voters)
    return bits[:, width : 2 * width] if bits.shape[1] > width else None


def join_bits(parts: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Put rows of bits below each other; planes that some lack are zero."""
    widest = max(part.shape[1] for part in parts)
    if all(part.shape[1] == widest for part in parts):
        return np.concatenate(parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, widest - part.shape[1]))) for part in parts])


def without_empty_planes(bits: NDArray[np.uint8], n_voters: int) -> NDArray[np.uint8]:
    """Leave out planes at the end that are zero in every row."""
    width = plane_bytes(n_voters)
    n_planes = kept = bits.shape[1] // max(width, 1)
    while kept > 1 and not bits[:, (kept - 1) * width : kept * width].any():
        kept -= 1
    return bits if kept == n_planes else np.ascontiguousarray(bits[:, : kept * width])


def bit_columns(bits: NDArray[np.uint8], n_voters: int) -> NDArray[np.uint64]:
    """Transpose one plane: words of shape (n_voters, n_words), bit r of word w for row 64 w + r."""
    words = np.empty((8 * bits.shape[1], -(-len(bits) // 64)), dtype=np.uint64)
    _transpose(bits, words)
    return words[:n_voters]


@compiled
def _transpose(bits, words):
    """Transpose eight rows and eight columns of bits at a time."""
    n_rows, n_bytes = bits.shape
    columns = np.empty(8, dtype=np.uint64)
    for word in range(words.shape[1]):
        for byte in range(n_bytes):
            columns[:] = 0
            for eighth in range(8):
                first = word * 64 + eighth * 8
                square = np.uint64(0)
                for row in range(first, min(first + 8, n_rows)):
                    square |= np.uint64(bits[row, byte]) << np.uint64(8 * (row - first))
                swap = (square ^ (square >> np.uint64(7))) & np.uint64(0x00AA00AA00AA00AA)
                square ^= swap ^ (swap << np.uint64(7))
                swap = (square ^ (square >> np.uint64(14))) & np.uint64(0x0000CCCC0000CCCC)
                square ^= swap ^ (swap << np.uint64(14))
                swap = (square ^ (square >> np.uint64(28))) & np.uint64(0x00000000F0F0F0F0)
                square ^= swap ^ (swap << np.uint64(28))
                for voter in range(8):
                    part = (square >> np.uint64(8 * voter)) & np.uint64(255)
                    columns[voter] |= part << np.uint64(8 * eighth)
            for voter in range(8):
                words[8 * byte + voter, word] = columns[voter]


@compiled
def _mix(word):
    """Spread every bit of a word over all of it."""
    word ^= word >> np.uint64(33)
    word *= np.uint64(0xFF51AFD7ED558CCD)
    word ^= word >> np.uint64(33)
    word *= np.uint64(0xC4CEB9FE1A85EC53)
    return word ^ (word >> np.uint64(33))


@compiled
def hash_row(row):
    """Hash the bytes of a row; zero bytes at its end do not count, so complete rows hash as incomplete ones."""
    total = np.uint64(0)
    word = np.uint64(0)
    for byte in range(row.size):
        word |= np.uint64(row[byte]) << np.uint64(8 * (byte & 7))
        if byte & 7 == 7 or byte == row.size - 1:
            if word != 0:
                total += _mix(word ^ (np.uint64(byte // 8 + 1) * np.uint64(0x9E3779B97F4A7C15)))
            word = np.uint64(0)
    return _mix(total)


@compiled
def rows_below(bits, limit):
    """Return the rows whose hash is at most ``limit``: the same rows whatever stands around them."""
    chosen = np.empty(bits.shape[0], dtype=np.int64)
    n_chosen = 0
    for row in range(bits.shape[0]):
        if hash_row(bits[row]) <= limit:
            chosen[n_chosen] = row
            n_chosen += 1
    return chosen[:n_chosen].copy()


@compiled
def row_hashes(bits):
    """Return the hash of every row."""
    hashes = np.empty(bits.shape[0], dtype=np.uint64)
    for row in range(bits.shape[0]):
        hashes[row] = hash_row(bits[row])
    return hashes


@compiled
def repack(bits, source, word_start, table, base, words):
    """Fill ``words[row]`` with ``base`` plus what the bytes that matter to a word add to it.

    Entries ``word_start[w]`` to before ``word_start[w + 1]`` of ``source`` are the bytes that word w reads; the same
    rows of ``table`` say what each of their 256 values adds.
    """
    for row in range(bits.shape[0]):
        for word in range(words.shape[1]):
            total = base[word]
            for entry in range(word_start[word], word_start[word + 1]):
                total += table[entry, bits[row, source[entry]]]
            words[row, word] = total
