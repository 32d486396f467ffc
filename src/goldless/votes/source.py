"""Votes whose voters are known, to be gone through wherever they are, in an alphabet that may still grow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.sparse import SparseCodes
from goldless.votes.alphabet import Alphabet, NewLabels
from goldless.votes.bins import NumberAlphabet
from goldless.votes.engine import Engine, MemoryEngine, RowPicker, StreamEngine
from goldless.votes.rows import Beside, Rows
from goldless.votes.sketch import MEMORY_LIMIT, Sketch, count_sparse, count_stream
from goldless.votes.sparse import SparseRows, joined_sparse
from goldless.votes.votes import Votes

Made = TypeVar("Made")


class GrowingAlphabet:
    """An alphabet that takes in labels as they come, in order of appearance: for votes that are read once.

    Parameters
    ----------
    alphabet : Alphabet
        What it starts with.
    """

    def __init__(self, alphabet: Alphabet):
        self.alphabet = alphabet
        self._lock = threading.Lock()

    def apply(self, make: Callable[[Alphabet], Made]) -> Made:
        """Return what is made with the alphabet, grown as long as there are new labels."""
        while True:
            try:
                return make(self.alphabet)
            except NewLabels as new:
                with self._lock:
                    self.alphabet = self.alphabet.extended(new.labels)


class Passes(NamedTuple):
    """How votes are gone through in an alphabet."""

    engine: Engine  # the votes, to be gone through
    # takes a function of rows and yields its results, in the input's order, with what stands beside the rows
    rows: Callable[[Callable[[Rows], Any]], Iterator[tuple[Any, Beside]]]
    # the alphabet of votes that can be read only once; codes are in order of appearance
    growing: GrowingAlphabet | None = None


class RowSample(NamedTuple):
    """Rows of a source that were drawn at random."""

    votes: Votes  # what was said there
    rows: NDArray[np.int64]  # (n_drawn,): their numbers, from 0 and in order
    n_rows: int  # how many rows there are


class Counting(NamedTuple):
    """What the counting pass over a source gives."""

    alphabet: Alphabet  # all labels that occur
    sketch: Sketch | None  # what was counted; None if there are no rows
    engine: Engine  # the votes for further passes
    picked: Rows  # the rows that were asked for


@dataclass(frozen=True, eq=False)
class VoteSource:
    """A source of votes whose voters are known."""

    alphabet: Alphabet  # the classes, as far as they are known
    voters: NDArray | None  # (n_voters,): names
    n_voters: int
    open: Callable[[Alphabet], Passes]  # returns how votes are gone through in an alphabet
    memory_limit: int = MEMORY_LIMIT  # bytes of packed votes to keep
    again: bool = True  # whether it can be gone through more than once
    how: str = ""  # how it was read
    item_title: str = "item"  # how the user calls the column of the items
    lists: bool = False  # whether its rows name their voters: `SparseRows`

    @property
    def classes(self) -> NDArray:
        """Labels, as far as they are known; of two, (negative, positive)."""
        return self.alphabet.values

    @cached_property
    def passes(self) -> Passes:
        """How the votes are gone through."""
        return self.open(self.alphabet)

    def rows(self, function: Callable[[Rows], Any]) -> Iterator[tuple[Any, Beside]]:
        """Yield a function of rows, in the input's order, with what stands beside the rows."""
        return self.passes.rows(function)

    def find_rows(self, items: Collection[str]) -> dict[str, int]:
        """Return the row, from 0, of each of some items that are named: the first if there are several."""
        wanted, found, start = set(items), dict[str, int](), 0
        for n_rows, beside in self.open(self.alphabet.settled()).rows(n_rows_of):
            if beside.items is None:
                names: Iterable[str] = map(str, range(start + 1, start + n_rows + 1))
            else:
                names = map(str, names_in(beside.items))
            for row, name in enumerate(names, start):
                if name in wanted:
                    found.setdefault(name, row)
            start += n_rows
        return found

    def sample(self, n_items: int, also: NDArray[np.int64], seed: int = 0) -> RowSample:
        """Draw rows at random, each as likely as the others; the same for the same number of rows.

        ``n_items``: most rows to draw: fewer are all taken; ``also``: rows that are taken in any case.
        """
        engine = self.passes.engine
        n_rows = int(engine.sum(n_rows_of) or 0)
        wanted = np.arange(n_rows)
        if n_rows > n_items:
            drawn = np.random.default_rng(seed).choice(n_rows, n_items, replace=False, shuffle=False)
            wanted = np.union1d(drawn, also)
        pick = getattr(engine, "pick", None)  # a cluster picks where the rows are
        picker, names, start = RowPicker(wanted), list[Any](), 0
        for rows, beside in self.rows(same_rows if pick is None else n_rows_of):
            size = rows.n_rows if pick is None else rows
            first, last = np.searchsorted(wanted, [start, start + size])
            if beside.items is not None:
                names.extend(names_in(beside.items.take(wanted[first:last] - start)))
            if pick is None:
                picker.see(rows)
            start += size
        picked = picker.joined(self.n_voters, len(self.alphabet)) if pick is None else pick(wanted)
        items = np.array(names, dtype=object) if len(names) == len(wanted) else wanted + 1
        bins = self.alphabet.bins if isinstance(self.alphabet, NumberAlphabet) else None
        return RowSample(Votes(picked.codes, self.alphabet.values, self.voters, items, bins=bins), wanted, n_rows)

    def with_all_labels(self) -> VoteSource:
        """Go through the votes once; return the source with every label that occurs in its alphabet."""
        try:
            self.passes.engine.sum(n_rows_of)
        except NewLabels as new:
            return replace(self, alphabet=self.alphabet.grown(new.labels))
        return self

    def count(self, wanted: NDArray[np.int64]) -> Counting:
        """Make the counting pass, keep some rows, and let the alphabet grow by the labels that are met.

        Votes that can be read again are read again with all labels. Of others, what was counted is coded anew.
        """
        try:
            counting = self._count(wanted)
        except NewLabels as new:
            return replace(self, alphabet=self.alphabet.grown(new.labels)).count(wanted)
        growing = self.passes.growing
        if growing is None or len(growing.alphabet) == len(self.alphabet):
            return counting
        return _recoded(counting, growing.alphabet, self.alphabet.grown(growing.alphabet.values))

    def _count(self, wanted: NDArray[np.int64]) -> Counting:
        engine = self.passes.engine
        if self.lists:
            counted, kept = count_sparse(engine, self.memory_limit, wanted, self._pick)
            return Counting(self.alphabet, counted, engine, kept)  # type: ignore[arg-type]
        if isinstance(engine, StreamEngine):
            picker = RowPicker(wanted)
            sketch, fastest = count_stream(engine, self.memory_limit, picker if len(wanted) else None)
            return Counting(self.alphabet, sketch, fastest, picker.joined(self.n_voters, len(self.alphabet)))
        sketch = engine.sum(Sketch.of)
        picked = engine.pick(wanted)  # type: ignore[attr-defined]  # Dask picks where they are
        return Counting(self.alphabet, sketch, engine, picked)

    def _pick(self, wanted: NDArray[np.int64]) -> SparseRows:
        """Return some rows that name their voters."""
        engine = self.passes.engine
        if isinstance(engine, StreamEngine):
            picker = RowPicker(wanted)
            if len(wanted):
                for rows in engine.each(same_rows):
                    picker.see(rows)
            found: Any = picker.found
        else:
            found = engine.parts_of(wanted)  # type: ignore[attr-defined]  # Dask picks where they are
        if not found:
            return SparseRows.of(SparseCodes.empty(0, self.n_voters), len(self.alphabet))
        return joined_sparse(found)


def _recoded(counting: Counting, before: Alphabet, after: Alphabet) -> Counting:
    """Return what was counted in another alphabet."""
    sketch, engine = counting.sketch, counting.engine
    assert sketch is not None
    code_of, n_symbols = before.codes_in(after), len(after)
    picked = counting.picked.recoded(code_of, n_symbols)
    if isinstance(engine, MemoryEngine):
        engine = MemoryEngine([part.recoded(code_of, n_symbols) for part in engine.parts])
        counted = engine.sum(Sketch.of)
    elif sketch.is_sample:  # of votes that are gone: no further pass can be made, and the caller says so
        return Counting(after, sketch, engine, picked)
    else:
        counted = Sketch.of(sketch.table.recoded(code_of, n_symbols))
    return Counting(after, replace(counted, n_rows=sketch.n_rows, first_empty=sketch.first_empty), engine, picked)


def n_rows_of(rows: Rows) -> int:
    """Return how many rows there are."""
    return rows.n_rows


def same_rows(rows: Any) -> Any:
    """Return rows as they are."""
    return rows


def names_in(names: Any) -> list[Any]:
    """Return an array of numpy or Arrow as a list."""
    return names.to_pylist() if hasattr(names, "to_pylist") else names.tolist()
