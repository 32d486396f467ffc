"""Votes in a Spark session: the work goes to the rows, and only small arrays come back.

Every partition becomes packed rows that Spark keeps, in memory or on disk, and makes again when an executor dies.
Results are added in the order of the partitions, so a lost executor changes no number. What goes to and fro is
written by Spark's own serializer, as every function that it sends.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.votes.alphabet import NewLabels
from goldless.votes.engine import MemoryEngine, RowPicker, added
from goldless.votes.rows import Rows, joined
from goldless.votes.source import n_rows_of

_SCHEMA = "part long, place long, payload binary"
_FAN_IN = 32  # results of so many partitions are added at a time, where they are
_ROWS = 1 << 16  # packed at a time
_FETCHED = 1 << 26  # bytes of results that are fetched at a time

_ORDER = [("part", "ascending"), ("place", "ascending")]

Batches = Iterator[Any]  # record batches of Arrow


@dataclass(frozen=True, eq=False)
class SparkEngine:
    """Packed rows in a Spark session."""

    make: Callable[[], Any]  # returns the frame of packed rows. Called when a pass needs them
    n_voters: int
    n_symbols: int
    progress: Callable[[float], None] | None = None  # called with the share of a pass that is done

    @cached_property
    def packed(self) -> Any:
        """The frame of packed rows, kept by Spark as long as this engine lives."""
        packed = self.make().persist()
        weakref.finalize(self, _release, packed).atexit = False
        return packed

    @cached_property
    def n_parts(self) -> int:
        """Number of partitions."""
        return int(self.packed.rdd.getNumPartitions())

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Apply a function where the rows are, and add the results in the order of the partitions.

        Raises
        ------
        NewLabels
            With all labels that the alphabet of the rows lacks.
        """
        total = sum_of(self.packed, partial(_sum_of_packed, function), self.n_parts)
        if self.progress is not None:
            self.progress(1.0)
        return total

    def pick(self, wanted: NDArray[np.int64]) -> Rows:
        """Return some rows, by their numbers in order."""
        if not len(wanted):
            return joined([], self.n_voters, self.n_symbols)
        picker = RowPicker(wanted)
        places = {place: picker.local(n_rows) for place, n_rows in results_of(self.packed, _sizes)}
        chosen = {place: local for place, local in places.items() if len(local)}
        return joined(list(results_of(self.packed, partial(_taken, chosen))), self.n_voters, self.n_symbols)


# -- frames of results --------------------------------------------------------------------------------------


def mapped(frame: Any, function: Callable[[Batches], Iterable[Any]]) -> Any:
    """Return the frame of what a function yields of the batches of every partition: where, and what."""
    return frame.mapInArrow(partial(_written, function), _SCHEMA)


def results_of(frame: Any, function: Callable[[Batches], Iterable[Any]]) -> Iterator[Any]:
    """Yield what a function yields of the batches of every partition, in order."""
    return map(_raised, _fetched(mapped(frame, function)))


def results_in_batches(frame: Any, function: Callable[[Batches], Iterable[Any]]) -> Iterator[Any]:
    """Yield the same, some at a time: what comes of all partitions waits where it was made."""
    from pyspark.sql import functions

    found = mapped(frame, function).persist()
    try:
        sizes = found.select("part", "place", functions.length("payload").alias("size")).toArrow().sort_by(_ORDER)
        for first, last in _cut(sizes.to_pylist()):
            part, place = functions.col("part"), functions.col("place")
            after = (part > first["part"]) | ((part == first["part"]) & (place >= first["place"]))
            before = (part < last["part"]) | ((part == last["part"]) & (place <= last["place"]))
            yield from map(_raised, _fetched(found.where(after & before)))
    finally:
        found.unpersist()


def _cut(results: list[dict[str, int]]) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Yield the first and the last of results that are small enough, together, to be fetched at a time."""
    first, size = 0, 0
    for number, result in enumerate(results):
        size += result["size"]
        if size >= _FETCHED or number == len(results) - 1:
            yield results[first], result
            first, size = number + 1, 0


def _fetched(found: Any) -> Iterator[Any]:
    """Yield the results in a frame, in order; Arrow brings them several times faster than rows of Spark."""
    return (_load(payload.as_py()) for payload in found.toArrow().sort_by(_ORDER).column("payload"))


def sum_of(frame: Any, function: Callable[[Batches], Iterable[Any]], n_parts: int) -> Any:
    """Add what a function yields of the batches of every partition, in order; None if nothing."""
    from pyspark.sql import functions

    found = mapped(frame, function)
    while n_parts > _FAN_IN:  # the driver would have to hold them all
        key = functions.floor(functions.col("part") / _FAN_IN).alias("whole")
        found = found.groupBy(key).applyInArrow(_added_table, _SCHEMA)
        n_parts = -(-n_parts // _FAN_IN)
    results = list(_fetched(found))
    return _raised(_add_all(results)) if results else None


def _written(function: Callable[[Batches], Iterable[Any]], batches: Batches) -> Iterator[Any]:
    from pyspark import TaskContext

    task: Any = TaskContext.get()  # there is one on every executor
    part = task.partitionId()
    for place, result in enumerate(_or_problem(function, batches)):
        yield _batch([(part, place, _dump(result))])


def _or_problem(function: Callable[[Batches], Iterable[Any]], batches: Batches) -> Iterator[Any]:
    """Yield what a function yields; what is wrong with the votes is a result too, to be raised where it is read."""
    try:
        yield from function(batches)
    except (NewLabels, VotesError) as problem:
        yield problem


def _added_table(key: Any, table: Any) -> Any:
    import pyarrow as pa

    rows = sorted(table.to_pylist(), key=lambda row: (row["part"], row["place"]))
    total = _add_all(_load(row["payload"]) for row in rows)
    return pa.Table.from_batches([_batch([(key[0].as_py(), 0, _dump(total))])])


def _add_all(results: Iterable[Any]) -> Any:
    """Add results; if there are problems among them, the first one, or all new labels together."""
    results = list(results)
    problems = [result for result in results if isinstance(result, Exception)]
    if problems:
        return next((problem for problem in problems if isinstance(problem, VotesError)), None) or reduce(
            added, problems
        )
    return reduce(added, results)


def _raised(result: Any) -> Any:
    if isinstance(result, Exception):
        raise result
    return result


def _batch(rows: list[tuple[int, int, bytes]]) -> Any:
    import pyarrow as pa

    parts, places, payloads = zip(*rows, strict=True)
    arrays = [pa.array(parts, pa.int64()), pa.array(places, pa.int64()), pa.array(payloads, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["part", "place", "payload"])


def _release(packed: Any) -> None:
    with contextlib.suppress(Exception):  # the session may have ended
        packed.unpersist()


def _dump(value: Any) -> bytes:
    from pyspark.serializers import CPickleSerializer

    return CPickleSerializer().dumps(value)


def _load(payload: bytes) -> Any:
    from pyspark.serializers import CPickleSerializer

    return CPickleSerializer().loads(bytes(payload))


# -- packed rows --------------------------------------------------------------------------------------------


def packed_rows(makers: Iterable[Callable[[], Rows]]) -> Iterator[Rows]:
    """Make rows of a partition, and join small ones; raise all new labels that are met."""
    waiting: list[Rows] = []
    new: list[NewLabels] = []
    for make in makers:
        try:
            waiting.append(make())
        except NewLabels as strangers:
            new.append(strangers)
        if new or sum(rows.n_rows for rows in waiting) >= _ROWS:
            yield from [joined(waiting)] if waiting and not new else ()
            waiting = []
    if new:
        raise reduce(added, new)
    if waiting:
        yield joined(waiting)


def _unpacked(batches: Batches) -> Iterator[tuple[tuple[int, int], Any]]:
    """Yield the place and the rows, or the problem, of every row of a frame of packed rows."""
    for batch in batches:
        for row in batch.to_pylist():
            yield (row["part"], row["place"]), _load(row["payload"])


def _sum_of_packed(function: Callable[[Rows], Any], batches: Batches) -> Iterator[Any]:
    """Yield one result for the rows of a partition."""
    total: list[Any] = []
    for _, rows in _unpacked(batches):
        if not isinstance(rows, Exception):
            rows = MemoryEngine([rows]).sum(function)
        total = [_add_all([*total, rows])]
    yield from total


def _sizes(batches: Batches) -> Iterator[tuple[tuple[int, int], int]]:
    for place, rows in _unpacked(batches):
        yield place, n_rows_of(_raised(rows))


def _taken(chosen: dict[tuple[int, int], NDArray[np.int64]], batches: Batches) -> Iterator[Rows]:
    for place, rows in _unpacked(batches):
        if place in chosen:
            yield rows.take(chosen[place])
