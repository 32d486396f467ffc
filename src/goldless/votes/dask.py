"""Votes on a Dask cluster: the work goes to the rows, and only small arrays come back.

Every partition becomes packed rows that stay where they were made; Dask spills them to disk when memory is short, and
makes them again when a worker dies. Results are added on the cluster in the order of the partitions, so a lost worker
changes no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.votes.alphabet import NewLabels
from goldless.votes.engine import MemoryEngine, RowPicker, added
from goldless.votes.rows import Rows, joined
from goldless.votes.source import n_rows_of
from goldless.votes.sparse import SparseRows

_FAN_IN = 8  # results are added eight at a time


@dataclass(frozen=True, eq=False)
class DaskEngine:
    """Rows, packed or sparse, on the workers of a cluster."""

    client: Any
    # has the workers make the rows; returns a future for each partition. Called when a pass needs them
    make: Callable[[], list[Any]]
    n_voters: int
    n_symbols: int
    progress: Callable[[float], None] | None = None  # called with the share of a pass that is done

    @cached_property
    def futures(self) -> list[Any]:
        """The rows of each partition, or the labels that their alphabet lacks."""
        return self.make()

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Apply a function where the rows are, and add the results there, in a tree of fixed shape.

        Raises
        ------
        NewLabels
            With all labels that the alphabet of the rows lacks.
        """
        shared = self._submit(_identity, function)  # held once by the cluster, made again if it is lost
        leaves = level = [self._submit(_apply, shared, rows) for rows in self.futures]
        while len(level) > 1:
            level = [self._submit(_add_all, *level[i : i + _FAN_IN]) for i in range(0, len(level), _FAN_IN)]
        self._watch(level[0], leaves)
        total = level[0].result()
        if isinstance(total, NewLabels):
            raise total
        return total

    def pick(self, wanted: NDArray[np.int64]) -> Rows:
        """Return some rows, by their numbers in order."""
        return joined(self.parts_of(wanted), self.n_voters, self.n_symbols)

    def parts_of(self, wanted: NDArray[np.int64]) -> list[Any]:
        """Return some rows, by their numbers in order, as they lie in the partitions."""
        if not len(wanted):
            return []
        picker = RowPicker(wanted)
        sizes = self.client.gather([self._submit(n_rows_of, rows) for rows in self.futures])
        chosen = [(rows, picker.local(n_rows)) for rows, n_rows in zip(self.futures, sizes, strict=True)]
        return self.client.gather([self._submit(_take, rows, here) for rows, here in chosen if len(here)])

    @property
    def _submit(self) -> Callable[..., Any]:
        return partial(self.client.submit, pure=False)

    def _watch(self, root: Any, leaves: Sequence[Any]) -> None:
        """Say how much of a pass is done until it is."""
        if self.progress is None:
            return
        from distributed import TimeoutError as TooEarly
        from distributed import wait

        while True:
            try:
                wait([root], timeout=0.25)
            except TooEarly:
                self.progress(sum(leaf.done() for leaf in leaves) / len(leaves))
                continue
            self.progress(1.0)
            return


def new_or(make: Callable[..., Any], *arguments: Any) -> Any:
    """Return what is made, or the new labels that were met as a value: all of them are wanted, not the first."""
    try:
        return make(*arguments)
    except NewLabels as new:
        return new


def make_all(makers: Iterable[Callable[[], Rows]]) -> list[Rows]:
    """Make rows one after the other; raise all the new labels that are met."""
    made = [new_or(make) for make in makers]
    new = [part for part in made if isinstance(part, NewLabels)]
    if new:
        raise reduce(added, new)
    return made


def _identity(value: Any) -> Any:
    return value


def _apply(function: Callable[[Rows], Any], rows: Rows | NewLabels) -> Any:
    if isinstance(rows, NewLabels):
        return rows
    if isinstance(rows, SparseRows):
        return function(rows)
    return MemoryEngine([rows]).sum(function) if rows.n_rows else function(rows)


def _add_all(*results: Any) -> Any:
    new = [result for result in results if isinstance(result, NewLabels)]
    return reduce(added, new or results)


def _take(rows: Rows, chosen: NDArray[np.int64]) -> Rows:
    return rows.take(chosen)
