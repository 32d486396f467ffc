"""Votes from a file, long or wide, in any of the formats people have, and a sentence on how it was read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, BinaryIO

from goldless.errors import VotesError
from goldless.io.readers.columns import Columns, Progress, detect_format, duplicated, open_source
from goldless.io.readers.other import read_arrow, read_json_lines, read_npz
from goldless.io.readers.text import read_text
from goldless.io.roles import ReadOptions, check_names, long_roles
from goldless.io.tables import VotesFile, long_votes, votes_of_arrays, wide_votes
from goldless.votes.alphabet import LabelRules, as_classes

VotesFileError = VotesError  # its name in the first edition

__all__ = ["VotesFile", "VotesFileError", "read_votes"]


def read_votes(
    source: str | os.PathLike | BinaryIO,
    *,
    item: str | None = None,
    voter: str | None = None,
    label: str | None = None,
    id_column: str | None = None,
    truth: str | None = None,
    ignore: Iterable[str] = (),
    missing: Iterable[Any] = (),
    positive: Any = None,
    classes: Iterable[Any] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> VotesFile:
    r"""Read votes from a file.

    Parameters
    ----------
    source : path or binary stream
        CSV, TSV, Parquet, Feather, npz or JSON lines, told apart by their first bytes; gzip is undone.
    item, voter, label : str, optional
        Columns of a long table, one row a vote. Without them a table is long if its columns have names such as
        item, worker and label, and wide (one row an item, one column a voter) otherwise.
    id_column : str, optional
        Column of a wide table that names the items.
    truth : str, optional
        Column (or array of an npz file) of true labels: split off, for scoring only.
    ignore : iterable of str
        Columns that are no votes.
    missing : iterable of label
        Labels that mean "no vote", besides an empty field, NA, NaN, null and None.
    positive : label, optional
        Of two labels the one to call positive; by default the second in sorted order.
    classes : iterable of label, optional
        Labels there may be, in order; by default those that occur, sorted.
    delimiter, header, encoding : optional
        How text is to be read, when it is not found out rightly.
    progress : callable, optional
        Called with the share of the file that has been read.

    Returns
    -------
    VotesFile

    Raises
    ------
    VotesError
        In one line: what was seen, where, and what to do.

    Examples
    --------
    >>> import io
    >>> table = read_votes(io.BytesIO(b"ann,bob,eve\nyes,no,yes\nno,no,\n"))
    >>> table.votes.codes
    array([[ 1,  0,  1],
           [ 0,  0, -1]], dtype=int8)
    >>> table.how
    'Read as CSV, wide: 2 items (rows) x 3 voters (columns).'
    """
    rules = LabelRules(None if classes is None else as_classes(list(classes)), labels_of(missing), positive)
    options = ReadOptions(item, voter, label, id_column, truth, frozenset(ignore), rules)
    return read_table(source, options, delimiter=delimiter, header=header, encoding=encoding, progress=progress)


def labels_of(missing: Any) -> tuple:
    """Return labels from one label or several."""
    return (missing,) if isinstance(missing, str | int | float) else tuple(missing)


def read_table(
    source: str | os.PathLike | BinaryIO,
    options: ReadOptions,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> VotesFile:
    """Read votes from a file as :func:`read_votes` does."""
    stream, name, size = open_source(source)
    with stream:
        kind = detect_format(stream, name)
        if kind == "npz":
            return votes_of_arrays(read_npz(stream, name), options, name)
        if kind in ("parquet", "feather"):
            table = read_arrow(stream, name, kind)
        elif kind == "jsonl":
            table = read_json_lines(stream, name, size=size, progress=progress)
        else:
            table = read_text(
                stream, name, delimiter=delimiter, header=header, encoding=encoding, size=size, progress=progress
            )
    twice = duplicated(column.name for column in table.columns)
    if twice is not None:
        raise VotesError(
            "same-name", f"{name} has two columns named {twice!r}", "own-names", {"file": name, "column": twice}
        )
    return _from_columns(table, options, name)


def _from_columns(table: Columns, options: ReadOptions, name: str) -> VotesFile:
    by_name = {column.name: column for column in table.columns}
    check_names(by_name, options, name)
    roles = long_roles(by_name, options)
    if roles is None:
        return wide_votes(table, by_name, options, name)
    return long_votes(table, by_name, roles, options, name)
