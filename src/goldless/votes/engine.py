"""Engines: votes that can be gone through as often as needed, in memory or read anew at every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.threads import ordered_map, ordered_stream, row_chunks
from goldless.votes.alphabet import MAX_CLASSES, NewLabels
from goldless.votes.rows import Rows, joined
from goldless.votes.sparse import SparseRows, joined_sparse

CHUNK_ROWS = 1 << 16  # what is made of so many rows stays in the cache
_BLOCK_VOTES = 1 << 24  # of a block of many voters


class Engine(Protocol):
    """Votes that can be gone through many times."""

    def sum(self, function: Callable[[Any], Any]) -> Any:
        """Apply a function to all rows, some at a time, and add the results, in the order of the rows.

        Results are arrays, numbers, tuples of these, or anything else that adds. The function may run in threads
        or on other machines.
        """


@dataclass(frozen=True, eq=False)
class MemoryEngine:
    """Rows that are held in memory."""

    parts: Sequence[Rows]

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Apply a function to pieces that fit the cache, and add."""
        pieces = [(part, rows) for part in self.parts for rows in row_chunks(part.n_rows, CHUNK_ROWS)]
        total = None
        for start in range(0, len(pieces), 32):  # few results at a time, in an order that threads do not change
            results = ordered_map(lambda piece: function(piece[0].take(piece[1])), pieces[start : start + 32])
            total = reduce(added, results) if total is None else reduce(added, results, total)
        return total


@dataclass(frozen=True, eq=False)
class MappedEngine:
    """Rows that are made of others, wherever these are."""

    engine: Engine  # the others
    make: Callable[[Rows], Rows]  # returns the rows that are made of some

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Make the rows, apply a function, and add."""
        return self.engine.sum(partial(_of_made, self.make, function))


def _of_made(make: Callable[[Rows], Rows], function: Callable[[Rows], Any], rows: Rows) -> Any:
    """Return a function of what is made of rows."""
    return function(make(rows))


@dataclass(frozen=True, eq=False)
class StreamEngine:
    """Rows that are read anew at every pass."""

    # returns an iterator over functions, each of which makes rows: reading is done in turn, making in threads
    open: Callable[[], Iterator[Callable[[], Rows]]]
    progress: Callable[[float], None] | None = None  # called with the share of a pass that is done
    n_rows: int | None = None  # number of rows, if it is known before they are read

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Read some rows at a time, apply a function, and add."""
        total = None
        for result in self.each(function):
            total = result if total is None else added(total, result)
        return total

    def each(self, function: Callable[[Rows], Any]) -> Iterator[Any]:
        """Read some rows at a time, apply a function, and yield the results in order.

        Raises
        ------
        NewLabels
            At the end, with all labels that the alphabet of the rows lacks.
        """
        new: set = set()

        def made(make: Callable[[], Any]) -> Any:
            try:
                return make()
            except NewLabels as strangers:  # go on, to learn of all of them in one pass
                new.update(strangers.labels)

        def read() -> Iterator[Any]:
            done = 0
            for rows in ordered_stream(made, self.open()):
                if len(new) > MAX_CLASSES:
                    return
                if new:
                    continue
                yield rows
                done += rows.n_rows
                if self.progress is not None and self.n_rows:
                    self.progress(min(done / self.n_rows, 1.0))

        yield from ordered_stream(function, in_blocks(read()))
        if new:
            raise NewLabels(new)


def in_blocks(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield rows in blocks whose size the number of voters decides, wherever the parts were cut.

    So sums of floats over a stream are the same to the last bit, whatever pieces it comes in.
    """
    held: list[Any] = []
    n_held = 0
    for part in parts:
        size = min(CHUNK_ROWS, max(_BLOCK_VOTES // max(part.n_voters, 1), 1))
        start = 0
        while start < part.n_rows:
            piece = part.take(slice(start, start + size - n_held))
            start += piece.n_rows
            n_held += piece.n_rows
            held.append(piece)
            if n_held == size:
                yield _joined(held)
                held, n_held = [], 0
    if held:
        yield _joined(held)


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return joined_sparse(parts) if isinstance(parts[0], SparseRows) else joined(parts)


def added(one: Any, other: Any) -> Any:
    """Add two results; tuples part by part."""
    if isinstance(one, tuple):
        parts = [added(left, right) for left, right in zip(one, other, strict=True)]
        return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
    return one + other


class RowPicker:
    """Takes wanted rows, by their numbers, out of rows that are shown to it in order.

    Parameters
    ----------
    wanted : ndarray of shape (n_wanted,)
        Numbers of the rows, from 0 and in order.

    Attributes
    ----------
    found : list of Rows
        What was found so far.
    """

    def __init__(self, wanted: NDArray[np.int64]):
        self._wanted = wanted
        self._n_seen = 0
        self.found: list[Rows] = []

    def see(self, rows: Rows) -> None:
        """Take the wanted ones of the next rows."""
        here = self.local(rows.n_rows)
        if len(here):
            self.found.append(rows.take(here))

    def local(self, n_rows: int) -> NDArray[np.int64]:
        """Return which of the next ``n_rows`` rows are wanted, counted from the first of them."""
        first, last = np.searchsorted(self._wanted, [self._n_seen, self._n_seen + n_rows])
        here = self._wanted[first:last] - self._n_seen
        self._n_seen += n_rows
        return here

    def joined(self, n_voters: int, n_symbols: int) -> Rows:
        """Return all that was found."""
        return joined(self.found, n_voters, n_symbols)
