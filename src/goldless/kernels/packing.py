"""Several votes in one byte, so that a look-up in a table replaces a loop over voters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import missing_plane, pack_bits, plane_bytes, repack, value_planes
from goldless.kernels.threads import ordered_map, row_chunks

_CHUNK_ROWS = 1 << 15
_BYTE_VALUES = 256
_FEW_VALUES = 3  # of a digit: bits of more are many
_FEW_BYTES = 1 << 14  # that numpy packs before a kernel would be compiled
_BIT_IS_SET = (np.arange(256)[None, :] >> np.arange(8)[:, None] & 1).astype(bool)


@dataclass(frozen=True, eq=False)
class PackingPlan:
    """Which byte holds which vote.

    A vote for one of V symbols is a digit of V values, or of V + 1 if votes are missing: then 0 is no vote. A byte
    holds as many digits as fit: eight votes of two labels, five with gaps, two of ten labels. The voters of a group
    stand side by side in one byte, which the group may share with others. A group too large for a byte is *wide*: it
    has bytes of its own, after those of all other groups.
    """

    radix: int  # how many values a digit has
    missing: int  # {0, 1}: whether votes may be missing: the digit of the first symbol
    n_voters: int  # number of voters, those left out among them
    voters: NDArray[np.int64]  # (n_packed,): the voters that are packed, in the order of their bytes and digits
    byte_start: NDArray[np.int64]  # (n_bytes + 1,): where the voters of each byte start in `voters`
    # (n_units + 1,): where the voters of each unit start in `voters`. A unit is a group, or one byte of a wide group
    unit_start: NDArray[np.int64]
    # unit_group, unit_byte, unit_weight: (n_units,): group, byte, and value of one unit of the lowest digit
    unit_group: NDArray[np.int64]
    unit_byte: NDArray[np.int64]
    unit_weight: NDArray[np.int64]
    # (n_wide + 1,): where the bytes of each wide group start, counted from the first wide byte
    wide_start: NDArray[np.int64]
    wide_groups: NDArray[np.int64]  # (n_wide,): the groups that are wide

    @property
    def n_bytes(self) -> int:
        """Number of bytes in a packed row."""
        return len(self.byte_start) - 1

    @property
    def n_narrow(self) -> int:
        """Number of bytes before those of wide groups."""
        return self.n_bytes - int(self.wide_start[-1])

    @classmethod
    def for_groups(cls, groups: NDArray[np.integer], n_symbols: int, missing: bool) -> PackingPlan:
        """Pack the voters of every group side by side; voters with a negative group are left out."""
        radix = n_symbols + missing
        room = _digits_in_byte(radix)
        members = {int(group): np.flatnonzero(groups == group) for group in np.unique(groups[groups >= 0])}
        bytes_: list[list[tuple[int, NDArray[np.int64]]]] = []
        free: list[int] = []
        by_size = sorted((group for group in members if len(members[group]) <= room), key=lambda g: -len(members[g]))
        fullest = 0  # bytes before this one have no room left
        for group in by_size:  # first fit, largest first
            size = len(members[group])
            while fullest < len(free) and free[fullest] == 0:
                fullest += 1
            byte = next((b for b in range(fullest, len(free)) if free[b] >= size), len(free))
            if byte == len(free):
                bytes_.append([])
                free.append(room)
            bytes_[byte].append((group, members[group]))
            free[byte] -= size
        wide_start, wide_groups = [0], []
        for group in (group for group in members if len(members[group]) > room):
            pieces = [members[group][i : i + room] for i in range(0, len(members[group]), room)]
            bytes_ += [[(group, piece)] for piece in pieces]
            wide_start.append(wide_start[-1] + len(pieces))
            wide_groups.append(group)
        units = [(group, byte, voters) for byte, held in enumerate(bytes_) for group, voters in held]
        sizes = np.array([len(voters) for _, _, voters in units], dtype=np.int64)
        of_byte = np.array([byte for _, byte, _ in units], dtype=np.int64)
        unit_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        first_unit = np.searchsorted(of_byte, np.arange(len(bytes_) + 1))
        byte_start = unit_start[first_unit]
        return cls(
            radix,
            int(missing),
            len(groups),
            np.concatenate([np.empty(0, np.int64), *(voters for _, _, voters in units)]),
            byte_start,
            unit_start,
            np.array([group for group, _, _ in units], dtype=np.int64),
            of_byte,
            radix ** (unit_start[:-1] - byte_start[of_byte]),
            np.array(wide_start, dtype=np.int64),
            np.array(wide_groups, dtype=np.int64),
        )

    @property
    def n_values(self) -> int:
        """How many values a byte may have."""
        return self.radix ** _digits_in_byte(self.radix)

    @property
    def row_bytes(self) -> int:
        """Number of bytes a packed row takes: whole words, with zeros at the end."""
        return 8 * -(-self.n_bytes // 8)

    def pack(self, codes: NDArray[np.int8]) -> NDArray[np.uint8]:
        """Pack codes of shape (n_rows, n_voters) into bytes of shape (n_rows, row_bytes)."""
        if self.radix <= _FEW_VALUES:
            return self.pack_bits(pack_bits(codes, self.radix - self.missing))
        if not self.missing and codes.min(initial=0) < 0:
            raise _missing_votes()
        digits = np.ascontiguousarray(codes.view(np.uint8).T) + np.uint8(self.missing)  # no vote is 255, then 0
        packed = np.zeros((len(codes), self.row_bytes), dtype=np.uint8)
        for byte, (start, stop) in enumerate(pairwise(self.byte_start)):
            value = digits[self.voters[stop - 1]]
            for voter in self.voters[start : stop - 1][::-1]:
                value = value * np.uint8(self.radix) + digits[voter]
            packed[:, byte] = value
        return packed

    def pack_bits(self, bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Pack rows of bits (:mod:`goldless.kernels.bits`) into bytes of shape (n_rows, row_bytes)."""
        absent = None if self.missing else missing_plane(bits, self.n_voters)
        if absent is not None and absent.any():
            raise _missing_votes()
        packed = np.empty((len(bits), self.row_bytes), dtype=np.uint8)
        known, n_bytes = self._bit_tables, bits.shape[1]
        if n_bytes not in known:
            known[n_bytes] = self._make_bit_tables(n_bytes)
        tables, words = known[n_bytes], packed.view(np.uint64)
        if bits.size <= _FEW_BYTES:
            _repack_few(bits, *tables, words)
        else:
            ordered_map(lambda rows: repack(bits[rows], *tables, words[rows]), row_chunks(len(bits), _CHUNK_ROWS))
        return packed

    @cached_property
    def _bit_tables(self) -> dict[int, tuple[NDArray, NDArray, NDArray, NDArray]]:
        """Tables to pack rows of so many bytes by, once they were made: blocks are packed one by one."""
        return {}

    def _make_bit_tables(
        self, n_bytes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]:
        """Return which bytes of bits every word of a packed row reads, what they add, and what the word starts from.

        A digit is the code, or with missing votes 1 + code - missing: whole numbers that add in any order.
        """
        width, n_words = plane_bytes(self.n_voters), self.row_bytes // 8
        byte_of = np.repeat(np.arange(self.n_bytes), np.diff(self.byte_start))
        digit_of = np.arange(len(self.voters)) - self.byte_start[byte_of]
        unit = (self.radix**digit_of).astype(np.uint64) << (8 * (byte_of & 7)).astype(np.uint64)
        word_of, place, bit = byte_of >> 3, self.voters >> 3, self.voters & 7
        base = np.zeros(n_words, dtype=np.uint64)
        adds = {plane: unit << np.uint64(power) for power, plane in enumerate(value_planes(n_bytes // max(width, 1)))}
        if self.missing:
            np.add.at(base, word_of, unit)
        if self.missing and n_bytes > width:
            adds[1] = np.uint64(0) - unit  # modulo 2**64
        places = np.concatenate([plane * width + place for plane in adds])
        words = np.tile(word_of, len(adds))
        read, entry = np.unique(words * n_bytes + places, return_inverse=True)
        table = np.zeros((len(read), 256), dtype=np.uint64)
        for number, one_bit, value in zip(
            entry, np.tile(bit, len(adds)), np.concatenate(list(adds.values())), strict=True
        ):
            table[number, _BIT_IS_SET[one_bit]] += value
        return read % n_bytes, np.searchsorted(read // n_bytes, np.arange(n_words + 1)), table, base


def _missing_votes() -> ValueError:
    return ValueError("a plan for complete votes cannot pack missing ones")


def _repack_few(
    bits: NDArray[np.uint8],
    source: NDArray[np.int64],
    word_start: NDArray[np.int64],
    table: NDArray[np.uint64],
    base: NDArray[np.uint64],
    words: NDArray[np.uint64],
) -> None:
    """Do what :func:`goldless.kernels.bits.repack` does, in numpy."""
    words[:] = base
    for word, (start, stop) in enumerate(pairwise(word_start)):
        for entry in range(start, stop):
            words[:, word] += table[entry, bits[:, source[entry]]]


@cache
def _digits_in_byte(radix: int) -> int:
    """Return how many digits of so many values a byte holds."""
    return next(digits for digits in range(8, 0, -1) if radix**digits <= _BYTE_VALUES)
