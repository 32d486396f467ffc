"""Where votes come from when they are not one table in memory: files, folders, blocks, Dask."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.io.encode import encode_votes, find_classes
from goldless.io.files import read_votes
from goldless.io.readers.stream import TableReader, understand
from goldless.io.roles import ReadOptions
from goldless.kernels.threads import ordered_stream
from goldless.votes.engine import StreamEngine
from goldless.votes.rows import Beside, Rows
from goldless.votes.sketch import MEMORY_LIMIT
from goldless.votes.source import VoteSource
from goldless.votes.votes import Votes, find_items


class VoteStream:
    r"""Votes that are read block by block, and never all at once.

    Every estimator takes it for X. A path, a callable, an iterable of blocks or a Dask collection may also be passed
    to an estimator as it is; this class is for those that need an option.

    Parameters
    ----------
    source : path, callable, iterable of blocks, Dask DataFrame or Dask bag of blocks
        A Parquet, Feather or CSV file or a folder of them, one row an item and one column a voter (files of other
        kinds and long tables are read into memory); or blocks, each an array or frame of rows. A callable is called,
        and an object is iterated over, once for every pass; an iterator can be gone through once only, so its
        patterns must fit in memory.
    id_column : str, optional
        Column of files that names the items; found out if not given.
    truth : str, optional
        Column of files with true labels: left out of the votes.
    ignore : iterable of str
        Columns of files that are no votes.
    missing : iterable of label
        Labels that mean "no vote", besides those of the estimator.
    positive : label, optional
        The label to call positive.
    delimiter, header, encoding : optional
        How text is read, when it is not found out rightly.
    batch_rows : int, default=65536
        Rows of a record batch.
    memory_limit : int, default=2**28
        Bytes of packed votes (one bit a vote, two if votes are missing) that may be kept in memory. Votes that take
        more are read again at every pass.
    client : dask.distributed.Client, optional
        Cluster that reads the pieces of files and makes the passes.
    progress : callable, optional
        Called with the share of a pass that is done.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(1000, groups=[3, 1, 1, 1, 1], random_state=0)
    >>> stream = gl.VoteStream(lambda: (X[start : start + 100] for start in range(0, 1000, 100)))
    >>> bool((gl.LatentSML().fit(stream).predict(stream) == gl.LatentSML().fit(X).predict(X)).all())
    True
    """

    def __init__(
        self,
        source: Any,
        *,
        id_column: str | None = None,
        truth: str | None = None,
        ignore: Iterable[str] = (),
        missing: Iterable[Any] = (),
        positive: Any = None,
        delimiter: str | None = None,
        header: bool | None = None,
        encoding: str = "utf-8",
        batch_rows: int = 1 << 16,
        memory_limit: int = MEMORY_LIMIT,
        client: Any = None,
        progress: Callable[[float], None] | None = None,
    ):
        if batch_rows < 1 or memory_limit < 0:
            raise ValueError("batch_rows must be at least 1 and memory_limit at least 0.")
        self.source = source
        self.missing = [missing] if isinstance(missing, str | int | float) else list(missing)
        self.positive = positive
        self.memory_limit = memory_limit
        self.client = client
        self._progress = progress
        self._options = ReadOptions(None, None, None, id_column, truth, frozenset(ignore), self.missing, positive)
        self._reader = TableReader(batch_rows, delimiter, header, encoding)

    def __repr__(self) -> str:
        return f"VoteStream({self.source!r})"

    def open(self, *, classes: NDArray | None, missing: Any, positive: Any) -> VoteSource | Votes:
        """Find out the classes and voters; return the blocks, or all votes if they had to be read into memory."""
        positive = self.positive if positive is None else positive
        if isinstance(self.source, str | os.PathLike):
            return self._open_files(classes, missing, positive)
        gone = [*([] if missing is None else [missing]), *self.missing]
        if is_dask(self.source):
            from goldless.io.dask import open_dask

            return open_dask(self.source, self.client, classes, gone, positive, self.memory_limit, self._progress)
        return self._open_blocks(classes, gone, positive)

    def find_rows(self, items: Iterable[Any]) -> dict[Any, int]:
        """Return the row of each of some items, by their names: what ``anchors`` of a fit are given by.

        Parameters
        ----------
        items : iterable
            Names as in the identifier column of files or the index of frames; numbers from 1 where there are none.

        Returns
        -------
        dict
            The row, from 0, of every item that was found.

        Examples
        --------
        >>> import goldless as gl, pandas as pd
        >>> votes = pd.DataFrame({"a": [0, 1], "b": [1, 1], "c": [0, 0]}, index=["x", "y"])
        >>> gl.VoteStream([votes]).find_rows(["y"])
        {'y': 1}
        """
        names = {str(item): item for item in items}
        votes = self.open(classes=None, missing=None, positive=None)
        found = votes.find_rows(names) if isinstance(votes, VoteSource) else find_items(votes, names)
        return {names[name]: row for name, row in found.items()}

    def _open_files(self, classes: NDArray | None, missing: Any, positive: Any) -> VoteSource | Votes:
        gone = [*self.missing, *([] if missing is None else [missing])]
        options = ReadOptions(
            None, None, None, self._options.id_column, self._options.truth, self._options.ignore, gone, positive
        )
        files = understand(self.source, options, self._reader, classes)
        if files is None:
            kept = ("id_column", "truth", "ignore")
            return read_votes(
                self.source,
                missing=gone,
                positive=positive,
                delimiter=self._reader.delimiter,
                header=self._reader.header,
                encoding=self._reader.encoding,
                **{name: getattr(self._options, name) for name in kept},
            ).votes
        names = np.array(files.voters, dtype=object)
        if self.client is not None:
            from goldless.io.dask import open_files_on_cluster

            return open_files_on_cluster(files, self.client, self._progress)
        return VoteSource(
            files.classes,
            names,
            len(names),
            StreamEngine(files.makers, self._progress, files.n_rows),
            partial(_apply_in_order, files.labelled),
            self.memory_limit,
            how=files.how,
            notes=files.notes,
        )

    def _open_blocks(self, classes: NDArray | None, missing: list, positive: Any) -> VoteSource:
        if len(missing) > 1:
            raise ValueError(f"Blocks in memory may have one label for a missing vote, got {missing!r}.")
        gone = missing[0] if missing else None
        source, again = self.source, True
        open_raw = source if callable(source) else partial(iter, source)
        if not callable(source) and iter(source) is source:
            again, seen = False, list[Any]()

            def look() -> Iterator[Any]:
                for table in source:
                    seen.append(table)
                    yield table

            found = find_classes(_tables(look), missing=gone, positive=positive)
            classes = found if classes is None else classes
            first = encode_votes(next(_tables(partial(iter, seen))), classes=classes, missing=gone)
            open_raw = partial(chain, seen, source)
        else:
            if classes is None:
                classes = find_classes(_tables(open_raw), missing=gone, positive=positive)
            first = encode_votes(next(_tables(open_raw)), classes=classes, missing=gone)
        encode = partial(_encode_block, classes=classes, missing=gone, voters=first.voters, n_voters=first.n_voters)

        def makers() -> Iterator[Callable[[], Rows]]:
            return (partial(encode, table, number) for number, table in enumerate(_tables(open_raw)))

        def batches() -> Iterator[tuple[Callable[[], Rows], Beside]]:
            for number, table in enumerate(_tables(open_raw)):
                yield partial(encode, table, number), row_names(table)

        return VoteSource(
            np.asarray(classes),
            first.voters,
            first.n_voters,
            StreamEngine(makers, self._progress),
            partial(_apply_in_order, batches),
            self.memory_limit,
            again,
        )


def as_stream(X: Any) -> VoteStream | None:
    """Return a stream if X is one, or can only be read as one; None if it is a table in memory."""
    if isinstance(X, VoteStream):
        return X
    if isinstance(X, str | os.PathLike):
        return VoteStream(X)
    if isinstance(X, Votes | np.ndarray) or (hasattr(X, "__array__") and not is_dask(X)):
        return None
    if isinstance(X, list | tuple):
        return VoteStream(X) if len(X) and all(_is_table(part) for part in X) else None
    if is_dask(X) or callable(X):
        return VoteStream(X)
    if _is_table(X) or not hasattr(X, "__iter__") or hasattr(X, "__len__"):
        return None
    return VoteStream(X)


def is_dask(X: Any) -> bool:
    """Whether something is a collection of Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def row_names(table: Any) -> Beside:
    """Return the index of a pandas frame, nothing for others."""
    return Beside(np.asarray(table.index) if hasattr(getattr(table, "index", None), "to_numpy") else None)


def _is_table(part: Any) -> bool:
    """Whether something is rows and columns."""
    if isinstance(part, np.ndarray):
        return part.ndim == 2
    return isinstance(part, Votes) or hasattr(type(part), "columns") or hasattr(type(part), "column_names")


def _tables(open_raw: Callable[[], Iterable]) -> Iterator[Any]:
    """Yield the blocks of a source, those without rows left out."""
    for table in open_raw():
        if not _is_table(table) and not (isinstance(table, list | tuple) and np.ndim(table) == 2):
            raise TypeError(
                "A source yields blocks, each a table of rows (items) and columns (voters), but this one yields a "
                f"{type(table).__name__}."
            )
        if _n_rows(table):
            yield _as_frame(table)


def _apply_in_order(
    batches: Callable[[], Iterator[tuple[Callable[[], Rows], Beside]]], function: Callable[[Rows], Any]
) -> Iterator[tuple[Any, Beside]]:
    """Apply a function to blocks in threads; yield the results in order, with what stands beside the rows."""
    return ordered_stream(lambda batch: (function(batch[0]()), batch[1]), batches())


def _n_rows(table: Any) -> int:
    return table.n_items if isinstance(table, Votes) else getattr(table, "num_rows", None) or len(table)


def _as_frame(table: Any) -> Any:
    """Return a record batch as a table; everything else as it is."""
    if type(table).__module__.startswith("pyarrow") and type(table).__name__ == "RecordBatch":
        import pyarrow as pa

        return pa.Table.from_batches([table])
    return table


def _encode_block(
    table: Any, number: int, *, classes: NDArray, missing: Any, voters: NDArray | None, n_voters: int
) -> Rows:
    """Encode a block in known classes, and check that it has the columns of the first."""
    try:
        votes = encode_votes(table, classes=classes, missing=missing)
    except ValueError as error:
        raise ValueError(f"Block {number} of the votes: {error}") from None
    if votes.n_voters != n_voters:
        raise ValueError(f"Block {number} has {votes.n_voters} columns where the first block has {n_voters}.")
    if voters is not None and votes.voters is not None and list(voters) != list(votes.voters):
        strange = next(name for name, known in zip(votes.voters, voters, strict=True) if name != known)
        raise ValueError(f"Block {number} has the column {str(strange)!r} where the first block has another.")
    return Rows.of(votes.codes, len(classes))
