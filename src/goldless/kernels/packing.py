"""Several votes in one byte, and the look-up tables that replace loops over voters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled
from goldless.kernels.threads import ordered_map, row_chunks

_CHUNK_ROWS = 1 << 15


@dataclass(frozen=True)
class PackingPlan:
    """Which byte holds which vote, in mixed radix.

    Votes have two states (0, 1) or three (-1 missing, 0, 1). A byte holds eight votes of two states or five
    of three, and never votes of two different blocks, so the contribution of a byte to the likelihood of its
    block is one entry of a table.

    Attributes
    ----------
    n_states : {2, 3}
        2 when no vote is missing, otherwise 3.
    byte_of_voter, weight_of_voter : ndarray of shape (n_voters,)
        Byte that holds the voter and the value of one unit of its digit; byte -1 means left out.
    block_of_byte : ndarray of shape (n_bytes,)
        Block served by each byte.
    """

    n_states: int
    byte_of_voter: NDArray[np.int64]
    weight_of_voter: NDArray[np.int64]
    block_of_byte: NDArray[np.int64]

    @property
    def n_bytes(self) -> int:
        """Number of bytes in a packed row."""
        return len(self.block_of_byte)

    @classmethod
    def for_blocks(cls, blocks: NDArray[np.integer], n_states: int) -> PackingPlan:
        """Give every block of voters bytes of its own; voters with a negative block are left out."""
        votes_per_byte = 8 if n_states == 2 else 5
        byte_of_voter = np.full(len(blocks), -1, dtype=np.int64)
        weight_of_voter = np.ones(len(blocks), dtype=np.int64)
        block_of_byte: list[int] = []
        for block in np.unique(blocks[blocks >= 0]):
            voters = np.flatnonzero(blocks == block)
            position = np.arange(len(voters))
            byte_of_voter[voters] = len(block_of_byte) + position // votes_per_byte
            weight_of_voter[voters] = n_states ** (position % votes_per_byte)
            block_of_byte += [int(block)] * (-(-len(voters) // votes_per_byte))
        return cls(n_states, byte_of_voter, weight_of_voter, np.array(block_of_byte, dtype=np.int64))

    @classmethod
    def for_groups(cls, groups: NDArray[np.integer], n_states: int) -> PackingPlan:
        """Give every group of two voters or more a block of its own, and the voters that are alone the last."""
        shared = np.bincount(groups) >= 2
        block_of_group = np.where(shared, np.cumsum(shared) - 1, shared.sum())
        return cls.for_blocks(block_of_group[groups], n_states)

    def pack(self, codes: NDArray[np.int8]) -> NDArray[np.uint8]:
        """Pack codes of shape (n_rows, n_voters) into bytes of shape (n_rows, n_bytes)."""
        packed = np.zeros((len(codes), self.n_bytes), dtype=np.uint8)
        shift = self.n_states - 2
        ordered_map(
            lambda rows: _pack(codes[rows], self.byte_of_voter, self.weight_of_voter, shift, packed[rows]),
            row_chunks(len(codes), _CHUNK_ROWS),
        )
        return packed

    def unpack(self, packed: NDArray[np.uint8]) -> NDArray[np.int8]:
        """Return the codes of shape (n_rows, n_voters); voters left out come back as missing."""
        codes = np.full((len(packed), len(self.byte_of_voter)), -1, dtype=np.int8)
        for voter in np.flatnonzero(self.byte_of_voter >= 0):
            digits = packed[:, self.byte_of_voter[voter]] // self.weight_of_voter[voter] % self.n_states
            codes[:, voter] = digits.astype(np.int8) - (self.n_states - 2)
        return codes

    def tables(self, log_positive: NDArray[np.float64], log_negative: NDArray[np.float64]) -> NDArray:
        """Return the log-likelihood of every byte value, shape (n_bytes, 256, n_parent_states).

        Parameters
        ----------
        log_positive, log_negative : ndarray of shape (n_voters, n_parent_states)
            Log-probability of a positive and a negative vote in each state of the voter's parent.
        """
        tables = np.zeros((self.n_bytes, 256, log_positive.shape[1]))
        log_votes = np.stack([log_negative, log_positive], axis=2)
        _fill_tables(self.byte_of_voter, self.weight_of_voter, self.n_states, log_votes, tables)
        return tables

    def votes_in_state(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expand a histogram over byte values into counts of shape (n_voters, n_parent_states, 2).

        ``histogram`` has shape (n_bytes, 256, n_parent_states); the last axis of the result is (negative,
        positive). Votes that are missing, and voters left out, count as nothing.
        """
        counts = np.zeros((len(self.byte_of_voter), histogram.shape[2], 2))
        _count_votes(self.byte_of_voter, self.weight_of_voter, self.n_states, histogram, counts)
        return counts


@compiled
def _pack(codes, byte_of_voter, weight_of_voter, shift, packed):
    """Add every vote's digit to its byte."""
    for row in range(codes.shape[0]):
        for voter in range(codes.shape[1]):
            byte = byte_of_voter[voter]
            if byte >= 0:
                packed[row, byte] += np.uint8(weight_of_voter[voter] * (codes[row, voter] + shift))


@compiled
def _fill_tables(byte_of_voter, weight_of_voter, n_states, log_votes, tables):
    """Add the log-probability of a voter's vote to every value of its byte that says it."""
    for voter in range(byte_of_voter.size):
        if byte_of_voter[voter] < 0:
            continue
        table = tables[byte_of_voter[voter]]
        for value in range(256):
            vote = value // weight_of_voter[voter] % n_states - (n_states - 2)
            if vote >= 0:
                for state in range(table.shape[1]):
                    table[value, state] += log_votes[voter, state, vote]


@compiled
def _count_votes(byte_of_voter, weight_of_voter, n_states, histogram, counts):
    """Sum a histogram over the values of a byte that say each vote of a voter."""
    for voter in range(byte_of_voter.size):
        if byte_of_voter[voter] < 0:
            continue
        of_byte = histogram[byte_of_voter[voter]]
        for value in range(256):
            vote = value // weight_of_voter[voter] % n_states - (n_states - 2)
            if vote >= 0:
                for state in range(of_byte.shape[1]):
                    counts[voter, state, vote] += of_byte[value, state]
