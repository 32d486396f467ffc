"""Passes over votes that live on a Dask cluster: the work goes to the blocks, and only small arrays come back.

Every partition becomes one packed block that stays where it was made (one bit a vote, two if votes are missing); Dask
spills blocks to disk when memory is short, and makes them again when a worker dies. Results are added on the cluster
in the order of the partitions, so a lost worker changes no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.io.encode import classes_among, encode_votes, labels_in
from goldless.io.open import row_names
from goldless.io.readers.stream import FileVotes, Piece, list_pieces
from goldless.votes.engine import MemoryEngine, RowPicker, StreamEngine, added
from goldless.votes.rows import Beside, Rows, joined
from goldless.votes.source import VoteSource, n_rows_of

_FAN_IN = 8  # results are added eight at a time

Progress = Callable[[float], None]


def open_dask(
    collection: Any,
    client: Any,
    classes: NDArray | None,
    missing: list,
    positive: Any,
    memory_limit: int,
    progress: Progress | None,
) -> VoteSource:
    """Return a Dask DataFrame, or a bag of blocks, as a source.

    On a cluster the partitions stay there. Without one they are made here, one by one, at every pass.
    """
    if not hasattr(collection, "to_delayed"):
        raise TypeError(f"Votes on Dask are a DataFrame or a bag of blocks, got a {type(collection).__name__}.")
    if len(missing) > 1:
        raise ValueError(f"Votes on Dask may have one label for a missing vote, got {missing!r}.")
    gone = missing[0] if missing else None
    parts = np.ravel(np.array(collection.to_delayed(), dtype=object)).tolist()
    client = client or _running_client()
    from dask import delayed

    look = delayed(partial(_look, missing=gone))
    labels: dict[Any, None] = {}
    first = None
    for part in parts:  # usually the first is enough
        task = look(part)
        found, table = task.compute() if client is None else client.compute(task).result()
        labels.update(dict.fromkeys(found))
        first = table if first is None else first
        if first is not None and (classes is not None or len(labels) >= 2):
            break
    if first is None:
        raise ValueError("Found array with 0 sample(s): the partitions are empty.")
    if classes is None:
        classes = classes_among(labels, positive=positive)
    head = encode_votes(first, classes=classes, missing=gone)
    pack = partial(
        _pack_tables, classes=np.asarray(classes), missing=gone, voters=head.voters, n_voters=head.n_voters
    )
    if client is not None:

        def packed() -> list[Any]:
            return [client.compute(delayed(pack)(part)) for part in parts]

        engine: Any = DaskEngine(client, packed, head.n_voters, len(classes), progress)
        rows: Any = partial(_rows_of_parts, client, parts, pack)
    else:

        def makers() -> Iterator[Callable[[], Rows]]:
            return (partial(_pack_here, pack, part) for part in parts)

        engine = StreamEngine(makers)
        rows = partial(_rows_here, parts, pack)
    return VoteSource(np.asarray(classes), head.voters, head.n_voters, engine, rows, memory_limit)


def open_files_on_cluster(files: FileVotes, client: Any, progress: Progress | None) -> VoteSource:
    """Return files as a source whose pieces (row groups of Parquet, whole files of other kinds) workers read."""
    pieces = [piece for file in files.pieces for piece in list_pieces(file.path, by_row_group=True) or ()]

    def packed() -> list[Any]:
        return [client.submit(_pack_piece, files, piece, pure=False) for piece in pieces]

    return VoteSource(
        files.classes,
        np.array(files.voters, dtype=object),
        len(files.voters),
        DaskEngine(client, packed, len(files.voters), len(files.classes), progress),
        partial(_rows_of_pieces, client, files, pieces),
        how=files.how,
        notes=files.notes,
    )


def _running_client() -> Any:
    """Return the client that is active, if there is one."""
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


# -- passes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DaskEngine:
    """Packed rows on the workers of a cluster.

    Attributes
    ----------
    client : distributed.Client
    make : callable
        Has the workers make the blocks; returns a future for each partition. Called when a pass needs them.
    n_voters, n_symbols : int
    progress : callable, optional
        Called with the share of a pass that is done.
    """

    client: Any
    make: Callable[[], list[Any]]
    n_voters: int
    n_symbols: int
    progress: Progress | None = None

    @cached_property
    def futures(self) -> list[Any]:
        """One block for each partition."""
        return self.make()

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Apply a function where the rows are, and add the results there, in a tree of fixed shape."""
        submit = partial(self.client.submit, pure=False)
        shared = submit(_identity, partial(_sum_rows, function))  # held once by the cluster, made again if it is lost
        leaves = [submit(_call, shared, rows) for rows in self.futures]
        level = leaves
        while len(level) > 1:
            level = [submit(_add_all, *level[i : i + _FAN_IN]) for i in range(0, len(level), _FAN_IN)]
        self._watch(level[0], leaves)
        return level[0].result()

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

    def pick(self, wanted: NDArray[np.int64]) -> Rows:
        """Return some rows, by their numbers in order."""
        if not len(wanted):
            return joined([], self.n_voters, self.n_symbols)
        submit, picker = partial(self.client.submit, pure=False), RowPicker(wanted)
        sizes = self.client.gather([submit(n_rows_of, rows) for rows in self.futures])
        chosen = [(rows, picker.local(n_rows)) for rows, n_rows in zip(self.futures, sizes, strict=True)]
        found = self.client.gather([submit(_take, rows, here) for rows, here in chosen if len(here)])
        return joined(found, self.n_voters, self.n_symbols)


def _take(rows: Rows, chosen: NDArray[np.int64]) -> Rows:
    return rows.take(chosen)


def _identity(value: Any) -> Any:
    return value


def _call(function: Callable[[Rows], Any], rows: Rows) -> Any:
    return function(rows)


def _sum_rows(function: Callable[[Rows], Any], rows: Rows) -> Any:
    return MemoryEngine([rows]).sum(function) if rows.n_rows else function(rows)


def _add_all(*results: Any) -> Any:
    return reduce(added, results)


# -- partitions to rows -------------------------------------------------------------------------------------


def _as_tables(part: Any) -> list[Any]:
    """Return the tables of a partition: a frame is one, a partition of a bag is a list of them."""
    tables = list(part) if isinstance(part, list | tuple) else [part]
    return [table for table in tables if len(table)]


def _look(part: Any, missing: Any) -> tuple[list, Any]:
    """Return the labels of a partition and its first row."""
    tables = _as_tables(part)
    labels = dict.fromkeys(label for table in tables for label in labels_in(table, missing))
    return list(labels), tables[0][:1] if tables else None


def _pack_tables(part: Any, *, classes: NDArray, missing: Any, voters: NDArray | None, n_voters: int) -> Rows:
    parts = []
    for table in _as_tables(part):
        votes = encode_votes(table, classes=classes, missing=missing)
        names = None if votes.voters is None else list(votes.voters)
        if votes.n_voters != n_voters or (voters is not None and list(voters) != names):
            raise ValueError(
                f"A partition has {votes.n_voters} columns where the first has {n_voters}, or other names."
            )
        parts.append(Rows.of(votes.codes, len(classes)))
    return joined(parts, n_voters, len(classes))


def _pack_here(pack: Callable[[Any], Rows], part: Any) -> Rows:
    return pack(part.compute(scheduler="synchronous"))


def _pack_piece(files: FileVotes, piece: Piece) -> Rows:
    import pyarrow as pa

    rows = joined([make() for make in files.makers([piece])], len(files.voters), len(files.classes))
    pa.default_memory_pool().release_unused()  # the worker may have little memory, and the next piece may be far off
    return rows


# -- answers in the input's order ---------------------------------------------------------------------------


def _in_order(client: Any, tasks: list[Callable[[], Any]]) -> Iterator[Any]:
    """Run tasks on the cluster, a few ahead, and yield their results in order."""
    ahead = 2 * max(len(client.scheduler_info()["workers"]), 1) + 2
    waiting = [task() for task in tasks[:ahead]]
    for number in range(len(tasks)):
        yield from waiting.pop(0).result()
        if number + ahead < len(tasks):
            waiting.append(tasks[number + ahead]())


def _rows_of_parts(
    client: Any, parts: list[Any], pack: Callable[[Any], Rows], function: Callable[[Rows], Any]
) -> Iterator[tuple[Any, Beside]]:
    from dask import delayed

    answer = delayed(partial(_answer_part, pack, function))
    return _in_order(client, [partial(client.compute, answer(part)) for part in parts])


def _answer_part(
    pack: Callable[[Any], Rows], function: Callable[[Rows], Any], part: Any
) -> list[tuple[Any, Beside]]:
    return [(function(pack(table)), row_names(table)) for table in _as_tables(part)]


def _rows_here(
    parts: list[Any], pack: Callable[[Any], Rows], function: Callable[[Rows], Any]
) -> Iterator[tuple[Any, Beside]]:
    for part in parts:
        yield from _answer_part(pack, function, part.compute())


def _rows_of_pieces(
    client: Any, files: FileVotes, pieces: list[Piece], function: Callable[[Rows], Any]
) -> Iterator[tuple[Any, Beside]]:
    submit = partial(client.submit, _answer_piece, files, function, pure=False)
    return _in_order(client, [partial(submit, piece) for piece in pieces])


def _answer_piece(files: FileVotes, function: Callable[[Rows], Any], piece: Piece) -> list[tuple[Any, Beside]]:
    return [(function(make()), beside) for make, beside in files.labelled([piece])]
