"""Blocks of votes, and things that can be gone through block by block, as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.bits import pack_bits, plane_bytes, unpack_bits
from goldless.kernels.threads import ordered_map, ordered_stream, row_chunks

CHUNK_ROWS = 1 << 16  # what is made of so many rows stays in the cache


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of votes.

    Attributes
    ----------
    bits : ndarray of shape (n_rows, n_bytes)
        The rows as bits (:mod:`goldless.kernels.bits`).
    n_voters : int
        Number of voters.
    counts : ndarray of shape (n_rows,) or None
        How many items each row stands for; None if one.
    """

    bits: NDArray[np.uint8]
    n_voters: int
    counts: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, codes: NDArray[np.int8], counts: NDArray[np.int64] | None = None) -> Block:
        """Pack rows of codes."""
        complete = bool(not codes.size or codes.min() >= 0)
        return cls(pack_bits(codes, complete), codes.shape[1], counts)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.bits)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.n_rows if self.counts is None else int(self.counts.sum())

    @property
    def n_bytes(self) -> int:
        """Memory the block takes."""
        return self.bits.nbytes + (0 if self.counts is None else self.counts.nbytes)

    @property
    def complete(self) -> bool:
        """Whether no vote is missing."""
        return self.bits.shape[1] == plane_bytes(self.n_voters)

    @property
    def codes(self) -> NDArray[np.int8]:
        """The votes as codes, shape (n_rows, n_voters)."""
        return unpack_bits(self.bits, self.n_voters)

    @property
    def weights(self) -> NDArray[np.float64]:
        """How many items each row stands for, as floats."""
        return np.ones(self.n_rows) if self.counts is None else self.counts.astype(np.float64)

    def rows(self, chosen: Any) -> Block:
        """Return the block of some of the rows."""
        return Block(self.bits[chosen], self.n_voters, None if self.counts is None else self.counts[chosen])

    def spoken(self, voters: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which rows hold a vote of one of these voters."""
        if self.complete:
            return np.ones(self.n_rows, dtype=bool)
        asked = np.zeros((1, self.n_voters), dtype=np.int8)
        asked[0, voters] = 1
        heard = ~self.bits[:, plane_bytes(self.n_voters) :] & pack_bits(asked, complete=True)
        return np.asarray(heard.any(axis=1))


class Beside(NamedTuple):
    """What stands beside the rows of a block.

    Attributes
    ----------
    items : array of numpy or Arrow, of length n_rows, or None
        Names of the items.
    truth : ndarray of shape (n_rows,) or None
        Codes of the true labels, -1 where unknown.
    """

    items: Any = None
    truth: NDArray[np.int8] | None = None


class Blocks(Protocol):
    """Blocks of votes that can be gone through many times."""

    def sum(self, function: Callable[[Block], Any]) -> Any:
        """Apply a function to every block and add the results, in the order of the blocks.

        Results are arrays, numbers, tuples of these, or anything else that adds. The function may run in threads
        or on other machines.
        """


@dataclass(frozen=True, eq=False)
class MemoryBlocks:
    """Blocks that are held in memory."""

    parts: Sequence[Block]

    def sum(self, function: Callable[[Block], Any]) -> Any:
        """Apply a function to pieces that fit the cache, and add."""
        pieces = [(part, rows) for part in self.parts for rows in row_chunks(part.n_rows, CHUNK_ROWS)]
        total = None
        for start in range(0, len(pieces), 32):  # few results at a time, in an order that threads do not change
            results = ordered_map(lambda piece: function(piece[0].rows(piece[1])), pieces[start : start + 32])
            total = reduce(added, results) if total is None else reduce(added, results, total)
        return total


@dataclass(frozen=True, eq=False)
class MappedBlocks:
    """Blocks that are made of others, each of one, wherever these are.

    Attributes
    ----------
    blocks : Blocks
        The others.
    make : callable
        Returns the block that is made of one.
    """

    blocks: Blocks
    make: Callable[[Block], Block]

    def sum(self, function: Callable[[Block], Any]) -> Any:
        """Make every block, apply a function, and add."""
        return self.blocks.sum(Composed(self.make, function))


@dataclass(frozen=True, eq=False)
class Composed:
    """A function of what is made of a block."""

    make: Callable[[Block], Block]
    function: Callable[[Block], Any]

    def __call__(self, block: Block) -> Any:
        """Make, then apply."""
        return self.function(self.make(block))


@dataclass(frozen=True, eq=False)
class StreamBlocks:
    """Blocks that are read anew at every pass.

    Attributes
    ----------
    open : callable
        Returns an iterator over functions, each of which makes a block: reading is done in turn, making in threads.
    progress : callable, optional
        Called with the share of a pass that is done.
    n_rows : int, optional
        Number of rows, if it is known before they are read.
    """

    open: Callable[[], Iterator[Callable[[], Block]]]
    progress: Callable[[float], None] | None = None
    n_rows: int | None = None

    def sum(self, function: Callable[[Block], Any]) -> Any:
        """Read block by block, apply a function, and add."""
        total = None
        for result in self.each(function):
            total = result if total is None else added(total, result)
        return total

    def each(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        """Read block by block, apply a function, and yield the results in order."""

        def apply(make: Callable[[], Block]) -> tuple[int, Any]:
            block = make()
            return block.n_rows, function(block)

        done = 0
        for n_rows, result in ordered_stream(apply, self.open()):
            done += n_rows
            if self.progress is not None and self.n_rows:
                self.progress(min(done / self.n_rows, 1.0))
            yield result


def added(one: Any, other: Any) -> Any:
    """Add two results; tuples part by part."""
    if isinstance(one, tuple):
        parts = [added(left, right) for left, right in zip(one, other, strict=True)]
        return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
    return one + other
