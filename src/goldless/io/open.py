"""Where votes come from when they are not one table in memory: files, folders, blocks, Dask."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import Note, VotesError, warn_user
from goldless.io.encode import alphabet_of_blocks, columns_of, encode_by_bins, encode_in, in_order_of, policy
from goldless.io.files import read_table
from goldless.io.long_stream import LongInput, long_source
from goldless.io.numbers import alphabet_of_levels, kinds_of_block, levels_of_blocks
from goldless.io.readers.stream import FileVotes, LongFiles, TableReader, understand
from goldless.io.roles import ReadOptions, rules_said
from goldless.kernels.sparse import dense_codes
from goldless.kernels.threads import ordered_stream
from goldless.votes.alphabet import Alphabet, LabelRules
from goldless.votes.bins import Bins, NumberAlphabet
from goldless.votes.engine import StreamEngine
from goldless.votes.rows import Beside, Rows
from goldless.votes.sketch import MEMORY_LIMIT
from goldless.votes.source import GrowingAlphabet, Passes, VoteSource
from goldless.votes.votes import Votes, find_items

_BYTES_TO_READ_A_LINE = 64  # of a long table, into memory


class VoteStream:
    r"""Votes that are read block by block, and never all at once.

    Every estimator takes it for X. A path, a callable, an iterable of blocks, a Dask collection or a Spark DataFrame
    may also be passed to an estimator as it is; this class is for those that need an option.

    Parameters
    ----------
    source : path, callable, iterable of blocks, Dask DataFrame, Dask bag of blocks or Spark DataFrame
        A Parquet, Feather or CSV file or a folder of them: one row per item and one column per voter, or a long
        table, one row per vote, which is merged by item in a temporary folder if it is large (files of other kinds
        are read into memory); or blocks, each an array or frame of rows. A callable is called,
        and an object is iterated over, once for every pass; an iterator can be gone through once only, so its
        patterns must fit in memory.
    format : str, optional
        Name of the format of files, if it is not found out rightly.
    item, voter, label : str, optional
        Columns of a long table, or of a long frame of Spark.
    id_column : str, optional
        Column of files that names the items; found out if not given. Of a Spark DataFrame it has to be given.
    truth : str, optional
        Column of files with true labels: left out of the votes.
    ignore : iterable of str
        Columns of files that are no votes.
    missing : iterable of label
        Labels that mean "no vote", besides those of the estimator.
    positive : label, optional
        The label to call positive.
    classes : iterable of label, optional
        Labels there may be, in order; by default those that occur, sorted.
    kind, lower_is_positive, positive_from : optional
        What votes are, if the estimator does not say it; see :class:`~goldless.LatentSML`.
    delimiter, header, encoding : optional
        How text is read, when it is not found out rightly.
    table, question, pairs, every_call, repeats : optional
        As of :func:`~goldless.read_votes`.
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
        format: str | None = None,  # noqa: A002
        item: str | None = None,
        voter: str | None = None,
        label: str | None = None,
        id_column: str | None = None,
        truth: str | None = None,
        ignore: Iterable[str] = (),
        missing: Iterable[Any] = (),
        positive: Any = None,
        classes: Iterable[Any] | None = None,
        kind: Any = "auto",
        lower_is_positive: Any = None,
        positive_from: float | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        encoding: str = "utf-8",
        table: str | None = None,
        question: str | None = None,
        pairs: str = "agree",
        every_call: bool = False,
        repeats: str = "refuse",
        batch_rows: int = 1 << 16,
        memory_limit: int = MEMORY_LIMIT,
        client: Any = None,
        progress: Callable[[float], None] | None = None,
    ):
        if batch_rows < 1 or memory_limit < 0:
            raise ValueError("batch_rows must be at least 1 and memory_limit at least 0.")
        self.source = source
        self.memory_limit = memory_limit
        self.client = client
        self._progress = progress
        self._told = False
        self._merged: Any = None
        rules = rules_said(kind, lower_is_positive, positive_from, classes, missing, positive)
        self._options = ReadOptions(
            *(delimiter, header, encoding, table, question, pairs, every_call, truth, item, voter, label, None),
            *(rules, id_column, frozenset(ignore), format, repeats),
        )
        self._reader = TableReader(batch_rows, delimiter, header, encoding)

    def __repr__(self) -> str:
        return f"VoteStream({self.source!r})"

    def open(
        self, *, classes: Any = None, missing: Any = None, positive: Any = None, unknown: str = "error"
    ) -> VoteSource | Votes:
        """Find out the voters and the first classes, or read all votes if they have to be in memory."""
        return self.open_by(LabelRules.of(classes, missing, positive, policy(unknown)))

    def open_by(self, rules: LabelRules, bins: Bins | None = None) -> VoteSource | Votes:
        """Open the votes by what an estimator says about them; what it leaves open this stream says.

        ``bins`` are those of a fit, by which numbers are coded.
        """
        rules = rules.besides(self._options.rules)
        options = replace(self._options, rules=rules)
        known = None if bins is None else NumberAlphabet.of(rules.classes, bins, rules)  # type: ignore[arg-type]
        if isinstance(self.source, str | os.PathLike):
            return self._open_files(options, bins)
        if is_dask(self.source):
            from goldless.io.dask import long_frames, open_dask, running_client

            frames = None if bins is not None else long_frames(self.source, options)
            if frames is not None:
                return self._open_long(frames, options, self.client or running_client())
            return open_dask(self.source, self.client, rules, known, self.memory_limit, self._progress)
        if is_spark(self.source):
            from goldless.io.spark import open_spark

            return open_spark(self.source, options, known, self._progress)
        return self._open_blocks(rules, known)

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
        votes = self.open()
        found = votes.find_rows(names) if isinstance(votes, VoteSource) else find_items(votes, names)
        return {names[name]: row for name, row in found.items()}

    def _open_files(self, options: ReadOptions, bins: Bins | None) -> VoteSource | Votes:
        reader = self._reader
        files = understand(self.source, options, reader)
        if isinstance(files, LongFiles):
            if self.client is None and files.n_lines * _BYTES_TO_READ_A_LINE <= self.memory_limit:
                files = None  # it is small
            else:
                return self._open_long(files, options, self.client)
        if files is not None and files.alphabet is None:
            files = replace(
                files, alphabet=_alphabet_of_files(files, files.rules or options.rules, bins, self.client)
            )
        if files is None:
            found = read_table(self.source, options)
            self._say(found.notes)
            if bins is None:
                return found.votes
            assert options.rules.classes is not None  # those of the fit
            return encode_by_bins(found.votes, options.rules, options.rules.classes, bins)
        self._say(files.notes)
        # what is no voter stays none, also where labels are looked at in another way, as by a fitted model
        self._options = replace(self._options, ignore=self._options.ignore | files.left_out)
        if self.client is not None:
            from goldless.io.dask import open_files_on_cluster

            return open_files_on_cluster(files, self.client, self._progress)

        def open_in(alphabet: Alphabet) -> Passes:
            read = replace(files, alphabet=alphabet)
            engine = StreamEngine(read.makers, self._progress, read.n_rows)
            return Passes(engine, partial(_apply_in_order, read.labelled))

        voters = np.array(files.voters, dtype=object)
        limit = self.memory_limit
        title = files.id_column or "item"
        assert files.alphabet is not None
        return VoteSource(files.alphabet, voters, len(voters), open_in, limit, how=files.how, item_title=title)

    def _open_long(self, table: LongInput, options: ReadOptions, client: Any) -> VoteSource:
        """Merge a long table by item, once for all passes."""
        self._merged = long_source(table, self._merged, client)
        self._say(self._merged.notes)
        return self._merged.source(options, self.memory_limit, self._progress)

    def _say(self, notes: Iterable[Note]) -> None:
        """Warn of what was left out, once for every stream."""
        for note in () if self._told else notes:
            warn_user(str(note))
        self._told = True

    def _open_blocks(self, rules: LabelRules, known: NumberAlphabet | None) -> VoteSource:
        source = self.source
        once = not callable(source) and iter(source) is source
        if once:
            seen: list[Any] = []

            def look() -> Iterator[Any]:
                for table in source:
                    seen.append(table)
                    yield table

            next(_tables(look), None)
            first = next(_tables(partial(iter, seen)), None)
            blocks = partial(_tables, partial(chain, seen, source))
            # what is read once is cut by its first block
            to_cut, to_look_at = lambda: iter([first]), partial(_tables, partial(chain, list(seen), look()))
        else:
            blocks = to_cut = to_look_at = partial(_tables, source if callable(source) else partial(iter, source))
            first = next(blocks(), None)
        alphabet: Alphabet = (
            known or _alphabet_of_numbers(first, to_cut, rules) or alphabet_of_blocks(to_look_at(), rules)
        )
        if first is None:
            raise VotesError("empty", "Found array with 0 sample(s): the source has no rows")
        voters, n_voters = columns_of(first)

        def open_in(alphabet: Alphabet) -> Passes:
            growing = GrowingAlphabet(alphabet) if once and alphabet.grows else None

            def encode(number: int, table: Any) -> Rows:
                def make(alphabet: Alphabet) -> Rows:
                    return read_within("Block", number, partial(pack_table, table, alphabet, voters, n_voters))

                return make(alphabet) if growing is None else growing.apply(make)

            def makers() -> Iterator[Callable[[], Rows]]:
                return (make for make, _ in batches())

            def batches() -> Iterator[tuple[Callable[[], Rows], Beside]]:
                for number, table in enumerate(blocks()):
                    yield partial(encode, number, table), row_names(table)

            return Passes(StreamEngine(makers, self._progress), partial(_apply_in_order, batches), growing)

        return VoteSource(alphabet, voters, n_voters, open_in, self.memory_limit, not once)


def _alphabet_of_numbers(first: Any, blocks: Callable[[], Iterable[Any]], rules: LabelRules) -> NumberAlphabet | None:
    """Return the alphabet of blocks of numbers; None if the first block is of labels."""
    kinds, rules = (None, rules) if first is None else kinds_of_block(first, rules)
    if kinds is None:
        return None
    columns = columns_of(first)
    alike = (read_within("Block", n, partial(in_order_of, *columns, table)) for n, table in enumerate(blocks()))
    return alphabet_of_levels(levels_of_blocks(alike, rules), kinds, columns[0], rules)


def _alphabet_of_files(files: FileVotes, rules: LabelRules, bins: Bins | None, client: Any) -> NumberAlphabet:
    """Return the alphabet of files of numbers: of bins that are known, or cut after a pass over all rows."""
    if bins is not None:
        return NumberAlphabet.of(rules.classes, bins, rules, text=True)  # type: ignore[arg-type]
    first = next(files.tables(rules))
    kinds = kinds_of_block(first, rules)[0] or ("scores",) * len(files.voters)
    if client is None:
        levels = levels_of_blocks(files.tables(rules), rules)
    else:
        from goldless.io.dask import levels_on_cluster

        levels = levels_on_cluster(files, rules, client)
    found = alphabet_of_levels(levels, kinds, np.array(files.voters, dtype=object), rules)
    return replace(found, text=True)


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
    if is_dask(X) or is_spark(X) or callable(X):
        return VoteStream(X)
    if _is_table(X) or not hasattr(X, "__iter__") or hasattr(X, "__len__"):
        return None
    return VoteStream(X)


def is_dask(X: Any) -> bool:
    """Whether something is a collection of Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_spark(X: Any) -> bool:
    """Whether something is a DataFrame of Spark."""
    return type(X).__module__.partition(".")[0] == "pyspark" and hasattr(X, "mapInArrow")


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


def read_within(part: str, number: int, read: Callable[[], Any]) -> Any:
    """Return what is read of a part of the votes; an error says of which one."""
    try:
        return read()
    except VotesError as error:
        raise error.within(f"{part} {number} of the votes", **{part.lower(): number}) from None


def pack_table(table: Any, alphabet: Alphabet, voters: NDArray | None, n_voters: int) -> Rows:
    """Encode and pack a table that is to have these columns, in whatever order."""
    votes = encode_in(in_order_of(voters, n_voters, table), alphabet)
    return Rows.of(dense_codes(votes.codes), len(alphabet))
