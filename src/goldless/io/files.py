"""The one door: votes from whatever people have, and a sentence on how they were read."""

from __future__ import annotations

import glob
import io
import json
import os
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from goldless.errors import Note, VotesError
from goldless.io.arrays import arrow_table, own_index, table_of_array, without_views
from goldless.io.readers.base import (
    POSSIBLE,
    UNZIP_ERRORS,
    File,
    Progress,
    Read,
    Reader,
    Roles,
    damaged,
    empty_file,
    refuse_large,
    same_name,
)
from goldless.io.readers.binary import read_sparse
from goldless.io.readers.columns import column_of, duplicated
from goldless.io.readers.presets import Preset
from goldless.io.readers.records import LISTS, table_of_records, unnested
from goldless.io.readers.registry import all_presets, choose, named, sniff
from goldless.io.roles import (
    ROW_NUMBERS,
    TRUTH_NAMES,
    ReadOptions,
    check_names,
    label_title,
    long_roles,
    names_items,
    plain_title,
    rules_said,
    truth_note,
)
from goldless.io.tables import VotesFile, votes_of
from goldless.io.triples import roles_by_content
from goldless.votes.alphabet import MAX_CLASSES, LabelRules, is_missing
from goldless.votes.votes import Votes

VotesFileError = VotesError  # its name in the first edition

__all__ = ["VotesFile", "VotesFileError", "read_votes"]

# files that stand beside votes and never are votes
_BESIDE = ("readme", "license", "licence", "copying", "changelog", "source", "notes", "requirements", "makefile")
_NO_VOTES = {
    *(".md", ".rst", ".py", ".ipynb", ".r", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".log", ".html", ".pdf"),
    *(".png", ".jpg", ".jpeg", ".svg", ".tbi", ".csi", ".bai", ".fai", ".bed", ".lock"),
}
_TABLES = (".csv", ".tsv", ".txt", ".parquet", ".feather", ".xlsx")
_TRUTH_FILE = re.compile(r"(^|[^a-z])(truth|gold|gt|ground_?truth)$", re.IGNORECASE)
_NO_TABLE = "tables that differ in their columns"
_MOST_FILES = 10_000
_ROWS_TO_JUDGE = 100_000  # whether each is one vote


def read_votes(
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
    table: str | None = None,
    question: str | None = None,
    pairs: str = "agree",
    every_call: bool = False,
    repeats: str = "refuse",
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> VotesFile:
    r"""Read votes from whatever they are in.

    Parameters
    ----------
    source : path, folder, glob, stream, frame, Arrow stream, DuckDB relation, sparse matrix or list of records
        Files are told apart by what is in them; ``goldless formats`` lists the formats. Frames are anything that
        speaks the Arrow C stream interface, such as of pandas, polars and pyarrow.
    format : str, optional
        Name of the format, if it is not found out rightly.
    item, voter, label : str, optional
        Columns of a long table, one row per vote; of nested JSON such as ``judge.model``. Without them a table is
        long if its columns have names such as item, worker and label, and wide (one row per item, one column
        per voter) otherwise.
    id_column : str, optional
        Column of a wide table that names the items.
    truth : str, optional
        Column (array, or file of a folder) of true labels: split off, for scoring only. Columns called truth, gold,
        label, target or expected are never voters.
    ignore : iterable of str
        Columns that are no votes.
    missing : iterable of label
        Labels that mean "no vote", besides an empty field, NA, NaN, null and None.
    positive : label, optional
        Of two labels the one to call positive; by default the second in sorted order. Of words beside numbers, too.
    classes : iterable of label, optional
        Labels there may be, in order; by default those that occur, sorted. With ``kind="ordinal"`` words are
        grades in this order.
    kind : {"auto", "labels", "ordinal", "probabilities", "scores"} or mapping of voter to these, default="auto"
        What votes are; see :class:`~goldless.LatentSML`.
    lower_is_positive : bool or list of voters, optional
        Voters that mean positive by low numbers.
    positive_from : float, optional
        The smallest number that means positive.
    table : str, optional
        Sheet of a workbook, table or query of a database, array of an npz file.
    question : str, optional
        Which question, task or metric, where a file holds several.
    pairs : {"agree", "games"}, default="agree"
        A comparison that was judged in both orders is one vote if both agree and a tie otherwise, or two votes.
    every_call : bool, default=False
        Take variant calls that a caller's own filter rejects for calls, too.
    repeats : {"refuse", "first", "last", "most"}, default="refuse"
        What counts if a voter gives an item of a long table several different labels: an error that names them, the
        first, the last, or the most frequent (of numbers their mean). The same label again counts once.
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
    >>> read_votes([{"q": 1, "judge": "a", "verdict": "good"}, {"q": 1, "judge": "b", "verdict": "bad"},
    ...             {"q": 2, "judge": "a", "verdict": "good"}], item="q").how
    "Read as records, long ('q', 'judge', 'verdict'): 3 votes of 2 voters on 2 items."
    """
    rules = rules_said(kind, lower_is_positive, positive_from, classes, missing, positive)
    options = ReadOptions(
        *(delimiter, header, encoding, table, question, pairs, every_call, truth, item, voter, label, progress),
        *(rules, id_column, frozenset(ignore), format, repeats),
    )
    return read_table(source, options)


def read_table(source: Any, options: ReadOptions) -> VotesFile:
    """Read votes as :func:`read_votes` does."""
    if isinstance(source, VotesFile):
        return source
    if isinstance(source, str | os.PathLike) or hasattr(source, "read"):
        found = _read_files(source, options)
        pa.default_memory_pool().release_unused()  # the columns are gone, and a fit needs the memory
        return found
    found = _finish(_read_memory(source), options, "votes", ())
    names = own_index(source)
    if names is None or found.votes.items is not None or len(names) != found.n_items:
        return found
    return replace(found, votes=replace(found.votes, items=names))


# -- files --------------------------------------------------------------------------------------------------


def _read_files(source: str | os.PathLike | BinaryIO, options: ReadOptions) -> VotesFile:
    files, root = find_files(source)
    files = [inner for file in files for inner in _unzipped(file)]
    files, apart = without_truth(files)
    if len(files) == 1 and not files[0].head.strip():
        raise empty_file(files[0].name)
    asked = None if options.format is None else named(options.format)
    if asked is not None and not isinstance(asked, Preset):
        reader, chosen = asked, [file for file in files if len(files) == 1 or asked.sniff(file)]
        notes: list[Note] = []
        if not chosen:
            raise VotesError("format", f"{root} holds no file in the format {asked.name!r}", where={"file": root})
    else:
        reader, chosen, notes = choose(files, root)
    read = open_with(reader, chosen, root, options)
    found = _finish(read, options, root if len(chosen) > 1 else chosen[0].name, [*apart, *notes])
    paths = tuple(file.path for file in chosen if file.path is not None)
    return replace(found, files=paths, format=found.format or reader.name)


def find_files(source: str | os.PathLike | BinaryIO) -> tuple[list[File], str]:
    """Return the files of a path, a folder, a pattern or a stream, and how to call all of them."""
    if not isinstance(source, str | os.PathLike):
        return [File(source)], "standard input"
    name = os.fspath(source)
    if not name:
        raise VotesError("unreadable", "the name of the file is empty", where={"file": name})
    path = Path(name)
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file() and _may_hold_votes(file, path))
        if not found:
            raise VotesError("empty", f"{path} is a folder without files of votes", where={"file": str(path)})
    elif not path.exists() and glob.has_magic(name):
        found = sorted(Path(one) for one in glob.glob(name, recursive=True) if Path(one).is_file())
        if not found:
            raise VotesError("unreadable", f"no file matches {name}", where={"file": name})
    else:
        return [File(path)], name
    if len(found) > _MOST_FILES:
        raise VotesError("too-large", f"{name} holds more than {_MOST_FILES:,} files", where={"file": name})
    return [File(one) for one in found], name


def without_truth(files: list[File]) -> tuple[list[File], list[Note]]:
    """Return the files of a folder without tables whose names say that they hold the truth, and words on those."""
    left = [file for file in files if file.ending in _TABLES and _TRUTH_FILE.search(file.stem)]
    if len(left) in (0, len(files)):
        return files, []
    names = ", ".join(Path(file.name).name for file in left)
    were = (
        "were left out, for their names say that they are"
        if len(left) > 1
        else "was left out, for its name says that it is"
    )
    return [file for file in files if file not in left], [Note(f"{names} {were} the truth")]


def _may_hold_votes(file: Path, root: Path) -> bool:
    inner = file.relative_to(root)
    if any(part.startswith((".", "_")) for part in inner.parts):
        return False
    if file.name.lower().startswith(_BESIDE) and file.suffix.lower() in ("", ".txt", ".md", ".rst"):
        return False
    return file.suffix.lower() not in _NO_VOTES


def _unzipped(file: File) -> list[File]:
    """Return the files within a zip file, if it is of no format of its own; any other file as it is."""
    if not file.head.startswith(b"PK\x03\x04") or (sniffed := sniff(file)) is None or sniffed[0] > POSSIBLE:
        return [file]
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as packed:
            members = [m for m in packed.infolist() if not m.is_dir() and _may_hold_votes(Path(m.filename), Path())]
            refuse_large(file.name, sum(member.file_size for member in members))
            found = [File(io.BytesIO(packed.read(m)), f"{file.name}/{m.filename}") for m in members[:_MOST_FILES]]
    except UNZIP_ERRORS as error:
        raise damaged(file.name, "zip", error) from None
    if not found:
        raise empty_file(file.name, "is a zip file without files of votes")
    return found


def open_with(reader: Reader, files: Sequence[File], root: str, options: ReadOptions) -> Read:
    """Read files with a reader; several tables are parts of one, or one voter each."""
    if len(files) == 1 or reader.together:
        return reader.open(files, options)
    if reader.name in ("csv", "parquet", "feather", "excel", "json"):
        return _read_folder(reader, files, root, options)
    raise _which_file(files, root, f"files of {reader.title}")


def _read_folder(reader: Reader, files: Sequence[File], root: str, options: ReadOptions) -> Read:
    """Read a folder of tables: one a voter, each with names of items and votes; or parts of one table."""
    files = [file for file in files if not file.stem.lower().startswith("sample_submission")]
    try:
        reads = [(file, reader.open([file], options)) for file in files]
    except VotesError as error:
        if error.kind != "one-column":
            raise
        raise _which_file(files, root, _NO_TABLE) from None
    tables = [read.table for _, read in reads]
    names = [table.column_names for table in tables]
    same = all(title == names[0] for title in names)
    if same and (long_roles(names[0], options) is not None or preset_for(names[0]) is not None):
        return _stacked(reads, root)
    item = _shared_items(tables, names_only=not all(len(title) == 2 for title in names))
    votes = None if item is None else _vote_columns(tables, item)
    if item is not None and votes is not None:
        return _one_voter_a_file(reads, item, votes)
    if same and len(names[0]) > 2:
        return _stacked(reads, root)
    raise _which_file(files, root, _NO_TABLE)


def _which_file(files: Sequence[File], root: str, what: str) -> VotesError:
    """Return the error of files of which one must be named."""
    names = ", ".join(Path(file.name).name for file in files[:4]) + (", ..." if len(files) > 4 else "")
    seen = f"{root} holds {len(files)} {what}: {names}"
    return VotesError("several", seen, "name-file", {"file": root}, first=files[0].name)


def _stacked(reads: Sequence[tuple[File, Read]], root: str) -> Read:
    """Return the parts of one table below each other."""
    plain = [_undictionaried(read.table) for _, read in reads]
    try:
        table = pa.concat_tables(plain, promote_options="permissive")
    except pa.ArrowException as error:
        raise VotesError(
            "types", f"the tables in {root} do not fit together: {error}", where={"file": root}
        ) from None
    first = reads[0][1]
    return replace(first, table=table, how=f"{first.how} in {len(reads):,} files")


def _undictionaried(table: pa.Table) -> pa.Table:
    columns = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    return pa.table(columns, names=table.column_names)


def _shared_items(tables: Sequence[pa.Table], names_only: bool) -> str | None:
    """Return the column that names the same items in every table; if they have several, its name must say it."""
    for title in tables[0].column_names:
        if names_only and not names_items([title]):
            continue
        if not all(title in table.column_names for table in tables):
            continue
        named_items = [set(table[title].to_pylist()) for table in tables]
        unique = all(len(found) == table.num_rows for found, table in zip(named_items, tables, strict=True))
        if unique and len(set.union(*named_items)) < sum(map(len, named_items)):
            return title
    return None


def _vote_columns(tables: Sequence[pa.Table], item: str) -> list[str] | None:
    """Return the column of votes in every table of one voter; None if that does not tell.

    It is the only one besides the items, or the only one that differs between the tables, or its name says so.
    """
    others = [[title for title in table.column_names if title != item] for table in tables]
    if all(len(titles) == 1 for titles in others):
        return [title for (title,) in others]
    if any(titles != others[0] for titles in others):
        return None
    texts = [{title: list(map(str, table[title].to_pylist())) for title in (item, *others[0])} for table in tables]
    seen = [{title: dict(zip(text[item], text[title], strict=True)) for title in others[0]} for text in texts]
    asked = [
        title
        for title in others[0]
        if any(one[title].get(key, value) != value for one in seen[1:] for key, value in seen[0][title].items())
    ]
    values = {title: {value for one in seen for value in one[title].values()} for title in asked}
    asked = [title for title in asked if len(values[title]) <= MAX_CLASSES] or asked
    chosen = asked[0] if len(asked) == 1 else label_title(asked)
    rivals = [title for title in asked if title != chosen and chosen is not None and values[title] & values[chosen]]
    return None if chosen is None or rivals else [chosen] * len(tables)


def _one_voter_a_file(reads: Sequence[tuple[File, Read]], item: str, votes: Sequence[str]) -> Read:
    """Return a long table of files that hold the votes of one voter each."""
    parts = []
    for (file, read), vote in zip(reads, votes, strict=True):
        table = _undictionaried(read.table)
        voter = pa.array([file.stem] * table.num_rows)
        parts.append(pa.table([table[item], voter, table[vote]], names=[item, "voter", "vote"]))
    table = pa.concat_tables(parts, promote_options="permissive")
    how = f"a folder of {len(reads)} {reads[0][1].how} files, each one voter"
    left = [title for title in reads[0][1].table.column_names if title not in (item, votes[0])]
    how += f" ({votes[0]!r})" if left else ""
    notes = (Note(f"Left out: columns {', '.join(map(repr, left[:8]))}"),) if left else ()
    return Read(table, how, Roles(item, "voter", "vote"), notes)


# -- what is in memory --------------------------------------------------------------------------------------


def _read_memory(source: Any) -> Read:
    """Read a frame, an Arrow stream, a sparse matrix, an array or records."""
    if hasattr(source, "tocoo"):
        return read_sparse(source)
    if isinstance(source, list | tuple) and source and all(isinstance(one, dict) for one in source):
        table, notes = table_of_records(source, "votes")
        return Read(table, "records", notes=notes, certain=False)
    table = arrow_table(source)
    if (
        table is None and hasattr(source, "__arrow_c_stream__") and hasattr(source, "columns")
    ):  # a frame with lists or values of several types in it
        try:
            table = pa.table(source)
        except pa.ArrowException:
            table = pa.table({str(name): _one_type(source[name]) for name in source.columns})
    if table is not None:
        try:
            table, notes = unnested(table, "votes")
        except KeyError:  # an Arrow that knows no views of text
            table, notes = unnested(without_views(source), "votes")
        return Read(table, f"a frame of {type(source).__module__.partition('.')[0]}", notes=notes, certain=False)
    try:
        array = np.asarray(source)
    except ValueError:
        raise VotesError("ragged", "votes: rows differ in length", "rows-are-items") from None
    if array.dtype.names is not None and array.ndim == 1:
        table = pa.table({name: pa.array(array[name].tolist()) for name in array.dtype.names})
        return Read(table, "a structured array", certain=False)
    if array.ndim == 0:
        raise TypeError(f"votes are read from files, frames, arrays and records, not from a {type(source).__name__}")
    table_of_array(array)  # which says what is wrong
    names = [f"voter {number + 1}" for number in range(array.shape[1])]
    columns = [pa.array(array[:, number].tolist(), from_pandas=True) for number in range(array.shape[1])]
    return Read(pa.table(columns, names=names), "an array", Roles(voters=tuple(names)))


def _one_type(series: Any) -> pa.Array:
    """Return a column of pandas; values of several types become text, as in a file."""
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array([None if is_missing(value) else str(value) for value in series.tolist()])


# -- roles --------------------------------------------------------------------------------------------------


def preset_for(names: Sequence[str]) -> Preset | None:
    """Return the kind of table that has these columns, if one is known."""
    found = frozenset(names)
    return next((preset for preset in all_presets() if preset.fits(found)), None)


def _apply_preset(read: Read, options: ReadOptions, name: str) -> tuple[Read, str]:
    """Return what was read with the roles of a kind of table that its columns show, and the name of that kind."""
    asked = None if options.format is None else named(options.format)
    if isinstance(asked, Preset):
        return asked.read(read, options, name), asked.name
    if read.roles is None and options.format is None and not options.names_columns:
        preset = preset_for(read.table.column_names)
        if preset is not None:
            return preset.read(read, options, name), preset.name
    return read, ""


def _finish(read: Read, options: ReadOptions, name: str, notes: Sequence[Note]) -> VotesFile:
    """Find out the roles, and make votes of the columns."""
    if not read.table.num_columns or not read.table.num_rows:
        raise empty_file(name)
    twice = duplicated(read.table.column_names)
    if twice is not None:
        raise same_name(name, twice)
    read = _without_rule(read)
    if not options.names_columns:
        read = _one_field(_without_row_numbers(read), name)
    read, preset = _apply_preset(read, options, name)
    if read.roles is None and options.question is not None:
        raise VotesError("unknown-column", f"{name} was read as {read.how}, which holds no questions to choose from")
    if read.roles is None:
        check_names(read.table.column_names, options, name)
        lists = json.loads((read.table.schema.metadata or {}).get(LISTS.encode(), b"[]"))
        truths = [t for t in read.table.column_names if lists and t not in lists and plain_title(t) in TRUTH_NAMES]
        # what stands once beside lists of voters and votes is no vote
        read = replace(read, roles=long_roles([t for t in read.table.column_names if t not in truths], options))
        if truths and read.roles is not None and options.truth is None:
            notes = [*notes, *map(truth_note, truths[:1])]
        if read.roles is None and not read.certain and not options.names_columns:
            read = _one_vote_a_row(read, options, name)
    elif options.names_columns and read.roles.long:
        check_names(read.table.column_names, options, name)
        asked = {role: getattr(options, role) for role in ("item", "voter", "label") if getattr(options, role)}
        read = replace(read, roles=replace(read.roles, **asked))
    roles = read.roles
    if roles is not None and roles.long and roles.truth is None and roles.gold is None and options.truth is None:
        notes = [*notes, *_truth_beside(read, roles)]
    found = votes_of(read, options, name)
    return replace(found, notes=(*notes, *found.notes), format=preset)


def _one_vote_a_row(read: Read, options: ReadOptions, name: str) -> Read:
    """Return a table with the roles that its columns show, if each row is one vote."""
    titles = [title for title in read.table.column_names if title != options.truth and title not in options.ignore]
    if not 3 <= len(titles) <= MOST_LONG_COLUMNS:
        return read
    head = read.table.slice(0, _ROWS_TO_JUDGE)
    found = roles_by_content([column_of(title, head[title], name) for title in titles], name)
    return read if found is None else replace(read, roles=found[0], notes=(*read.notes, found[1]))


def _without_row_numbers(read: Read) -> Read:
    """Return a table without the row numbers of a frame, if that is what its first column holds and no more."""
    names = read.table.column_names
    if read.roles is not None or not read.named or plain_title(names[0]) not in ROW_NUMBERS:
        return read
    if not names_items(names[1:]) and preset_for(names[1:]) is None:
        return read
    values = read.table[names[0]].to_pylist()
    for start in (0, 1):
        if all(str(value) == str(number) for number, value in enumerate(values, start)):
            return replace(read, table=read.table.drop_columns([names[0]]))
    return read


_RULE = re.compile(r":?-{2,}:?")  # below the titles of a table in Markdown


def has_rule(table: pa.Table) -> bool:
    """Whether the first row of a table is the line below the titles of a table in Markdown."""
    first = [cell for cell in table.slice(0, 1).to_pylist()[0].values() if cell not in (None, "")]
    return bool(first) and all(isinstance(cell, str) and _RULE.fullmatch(cell.strip()) for cell in first)


def _without_rule(read: Read) -> Read:
    """Return a table of Markdown without that line, and without what stands before its first bar."""
    if not has_rule(read.table):
        return read
    table = read.table.slice(1)
    empty = [name for name in table.column_names if not name.strip() and not column_of(name, table[name], "").values]
    return replace(read, table=table.drop_columns(empty))


def _one_field(read: Read, name: str) -> Read:
    """Return a table that has several fields of each voter, such as ``ann.label`` and ``ann.reason``, with one."""
    fields: dict[str, list[str]] = {}
    for title in read.table.column_names:
        voter, dot, field = title.rpartition(".")
        if dot and voter:
            fields.setdefault(field, []).append(voter)
    voters = max(fields.values(), key=len, default=[])
    alike = [field for field, found in fields.items() if found == voters]
    if read.roles is not None or len(voters) < 2 or len(alike) < 2:
        return read
    if label_title(alike) is None and (chosen := label_title([voter.removesuffix("s") for voter in voters])):
        return _one_kind(read, voters, alike, next(voter for voter in voters if voter.removesuffix("s") == chosen))
    field = label_title(alike)
    if field is None:
        raise VotesError(
            "several",
            f"{name} holds {len(alike)} fields for each voter: {', '.join(map(repr, alike[:6]))}",
            "ignore-others",
            {"file": name},
        )
    others = {f"{voter}.{other}" for voter in voters for other in alike if other != field}
    kept = [title for title in read.table.column_names if title not in others]
    parents = {voter.rpartition(".")[0] for voter in voters}
    titles = {f"{v}.{field}": v.rpartition(".")[2] if len(parents) == 1 else v for v in voters}
    table = read.table.select(kept).rename_columns([titles.get(title, title) for title in kept])
    left = ", ".join(repr(other) for other in alike if other != field)
    notes = (*read.notes, Note(f"Of each voter {field!r} was read; left out: {left}"))
    return replace(read, table=table, notes=notes)


def _one_kind(read: Read, kinds: list[str], voters: list[str], chosen: str) -> Read:
    """Return a table that has several kinds of votes of each voter, such as ``scores.ann``, with one kind."""
    others = {f"{kind}.{voter}" for kind in kinds for voter in voters if kind != chosen}
    kept = [title for title in read.table.column_names if title not in others]
    left = ", ".join(repr(kind) for kind in kinds if kind != chosen)
    table = read.table.select(kept).rename_columns([title.removeprefix(f"{chosen}.") for title in kept])
    return replace(
        read, table=table, notes=(*read.notes, Note(f"Of each voter {chosen!r} was read; left out: {left}"))
    )


def _truth_beside(read: Read, roles: Roles) -> list[Note]:
    """Say that a long table holds what looks like the truth."""
    used = (roles.item, roles.voter, roles.label)
    found = [
        title
        for title in read.table.column_names
        if title not in used and plain_title(title) in ("truth", "gold", "ground_truth", "gold_label", "expected")
    ]
    return list(map(truth_note, found[:1]))


def as_votes(X: Any, rules: LabelRules) -> Any:
    """Return what an estimator is given, as votes where only the door can read it; anything else as it is.

    That is what was read already, sparse matrices, records, and frames whose columns are those of a long table.
    """
    if isinstance(X, VotesFile):
        return X.X
    if isinstance(X, np.ndarray | Votes):
        return X
    records = isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(one, dict) for one in X)
    if hasattr(X, "tocoo"):  # its columns have no names
        votes = read_table(X, ReadOptions(rules=rules)).votes
        return replace(votes, voters=None) if votes.answers is None else votes.answers
    if records or _is_long_frame(X):
        return read_table(X, ReadOptions(rules=rules)).X
    return X


def _is_long_frame(X: Any) -> bool:
    """Whether a frame has the columns of a long table, or of a tool's."""
    if hasattr(X, "collect_schema"):
        names = X.collect_schema().names()
    else:
        names = getattr(X, "column_names", getattr(X, "columns", None))
    if names is None or isinstance(X, list | tuple):
        return False
    titles = [title for title in names if isinstance(title, str)]
    if len(titles) < 3 or len(titles) != len(list(names)):
        return False
    if preset_for(titles) is not None:
        return True
    return len(titles) <= MOST_LONG_COLUMNS and long_roles(titles, ReadOptions()) is not None


MOST_LONG_COLUMNS = 6  # of a frame whose columns are an item, a voter, a label and what is noted beside them
