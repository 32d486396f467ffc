"""Columns whose meaning is known to votes: wide tables, long tables and arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.io.encode import encode_positions
from goldless.io.readers.columns import (
    MAX_COLUMNS,
    Column,
    Columns,
    VotesFileError,
    duplicated,
)
from goldless.io.readers.other import factorise
from goldless.io.roles import (
    MAKE_VOTES,
    MAX_LABELS,
    TRUTH_NAMES,
    ReadOptions,
    are_probabilities,
    plain_title,
    short,
    wide_roles,
)
from goldless.votes.votes import Votes

_MAX_CELLS = 4_000_000_000
_LABELS_OF_ONE_TABLE = 3  # two classes, and a word for "no vote"


@dataclass(frozen=True, eq=False)
class VotesFile:
    """Votes as read from a file.

    Attributes
    ----------
    votes : Votes
        Codes, classes, names of the voters and of the items; every estimator takes it for X.
    truth : ndarray of shape (n_items,) or None
        Codes of the true labels, -1 where there is none. For scoring only.
    how : str
        One sentence on how the file was read.
    notes : tuple of str
        What may have been read otherwise than it was meant.
    name : str
        Where the votes came from.
    """

    votes: Votes
    truth: NDArray[np.int8] | None
    how: str
    notes: tuple[str, ...] = ()
    name: str = "votes"


def read_wide(table: Columns, options: ReadOptions, name: str) -> VotesFile:
    """Read the columns of a wide table."""
    return wide_votes(table, {column.name: column for column in table.columns}, options, name)


def wide_votes(table: Columns, by_name: dict[str, Column], options: ReadOptions, name: str) -> VotesFile:
    """Read the columns of a wide table: one row an item, one column a voter."""
    items, voters = wide_roles(table, by_name, options, name)
    n_items = len(voters[0].positions)
    labels, positions = _common_labels(voters)
    words = {str(label).casefold() for label in labels if isinstance(label, str)}
    if len(words) > _LABELS_OF_ONE_TABLE and (pair := _nothing_in_common(voters)):
        raise VotesFileError(
            f"columns {' and '.join(repr(short(column.name)) for column in pair)} of {name} share no label, so they "
            "are not votes on one question: if each row is one vote, name its columns with --item --voter --label, "
            "otherwise drop what is no vote with --ignore"
        )
    notes = [
        f"Column {column.name!r} was read as a voter; if it holds the truth, pass --truth {column.name}."
        for column in voters
        if options.truth is None and plain_title(column.name) in TRUTH_NAMES
    ]
    ids = None if items is None else _item_names(items)
    how = (
        f"Read as {table.how}, wide: {n_items:,} items (rows) x {len(voters):,} voters (columns)"
        + (f", items named by column {items.name!r}" if items is not None else "")
        + _truth_words(options)
        + "."
    )
    return _finish(positions, labels, [column.name for column in voters], ids, by_name, options, how, notes, name)


def _nothing_in_common(columns: Sequence[Column]) -> tuple[Column, Column] | None:
    """Return two columns without a common value, if there are any; the first is the one of most values."""
    widest = max(columns, key=lambda column: len(column.values))
    held = set(map(str, widest.values))
    return next(
        ((widest, other) for other in columns if other.values and held.isdisjoint(map(str, other.values))), None
    )


def _item_names(column: Column) -> NDArray:
    names = np.array([*column.values, None], dtype=object)
    return names[column.positions]


def _common_labels(columns: Sequence[Column]) -> tuple[list[Any], NDArray[np.int8]]:
    """Return the labels of all columns, and every vote as a position among them."""
    labels: dict[Any, int] = {}
    positions = np.empty((len(columns[0].positions), len(columns)), dtype=np.int8)
    as_number = _numbers({value for column in columns for value in column.values})
    for number, column in enumerate(columns):
        lookup = [labels.setdefault(as_number(value), len(labels)) for value in column.values]
        if len(labels) > MAX_LABELS:
            shown = ", ".join(repr(short(value)) for value in list(labels)[:3])
            raise VotesFileError(
                f"the votes hold more than {MAX_LABELS} different labels, such as {shown}, where two are needed: if "
                "some columns are no votes, drop them with --ignore or --id-column"
            )
        positions[:, number] = np.array([*lookup, -1], dtype=np.int8)[column.positions]
    return list(labels), positions


def _numbers(values: set) -> Any:
    """Return how to read labels: as numbers if all of them are, so that 1 and 1.0 are one label; else as they are."""
    if values and all(isinstance(value, str) for value in values):
        try:
            read = {value: _number(value) for value in values}
        except ValueError:
            return lambda value: value
        return read.__getitem__
    if any(isinstance(value, str) for value in values):
        return str if not any(isinstance(value, bool) for value in values) else lambda value: value
    return lambda value: value


def _number(text: Any) -> int | float:
    number = float(text)
    return int(number) if number == int(number) else number


def long_votes(
    table: Columns, by_name: dict[str, Column], roles: tuple[str, str, str], options: ReadOptions, name: str
) -> VotesFile:
    """Read the columns of a long table: one row a vote."""
    item, voter, label = (by_name[role] for role in roles)
    if len(label.values) > MAX_LABELS:
        raise VotesFileError(
            f"column {label.name!r} of {name} holds {len(label.values):,} different labels where two are needed"
        )
    n_items, n_voters = len(item.values), len(voter.values)
    if n_voters > MAX_COLUMNS:
        raise VotesFileError(
            f"column {voter.name!r} of {name} names {n_voters:,} voters; at most {MAX_COLUMNS:,} can be combined"
        )
    if n_items * n_voters > _MAX_CELLS:
        raise VotesFileError(f"{name}: a table of {n_items:,} items x {n_voters:,} voters does not fit in memory")
    labels, votes = _common_labels([label])
    whole = (item.positions >= 0) & (voter.positions >= 0)
    said = whole & (votes[:, 0] >= 0)
    cell = item.positions[said].astype(np.int64) * n_voters + voter.positions[said]
    flat = np.full(n_items * n_voters, -1, dtype=np.int8)
    flat[cell] = votes[said, 0]
    clash = np.flatnonzero(flat[cell] != votes[said, 0])
    if len(clash):
        one_item, one_voter = divmod(int(cell[clash[0]]), n_voters)
        raise VotesFileError(
            f"{name}: voter {short(voter.values[one_voter])!r} gave item {short(item.values[one_item])!r} two "
            "different labels; keep one of them"
        )
    notes = []
    repeated = int(said.sum()) - int((flat >= 0).sum())
    if repeated:
        rows, count = ("row repeats", "counts") if repeated == 1 else ("rows repeat", "count")
        notes.append(f"{repeated:,} {rows} a vote of the same voter on the same item and {count} once.")
    nameless = int((~whole).sum())
    if nameless:
        rows, were = ("row", "was") if nameless == 1 else ("rows", "were")
        notes.append(f"{nameless:,} {rows} without an item or a voter {were} left out.")
    how = (
        f"Read as {table.how}, long ({item.name!r}, {voter.name!r}, {label.name!r}): {int(said.sum()):,} votes of "
        f"{n_voters:,} voters on {n_items:,} items{_truth_words(options)}."
    )
    ids = np.array([*item.values, None], dtype=object)[:-1]
    truth = None
    if options.truth is not None:
        truth = _truth_of_items(by_name[options.truth], item, name)
    names = [str(value) for value in voter.values]
    return _finish(flat.reshape(n_items, n_voters), labels, names, ids, by_name, options, how, notes, name, truth)


def _truth_of_items(truth: Column, item: Column, name: str) -> Column:
    """Return the truth of each item from the truth beside each vote."""
    known = (truth.positions >= 0) & (item.positions >= 0)
    of_item = np.full(len(item.values), -1, dtype=np.int32)
    of_item[item.positions[known]] = truth.positions[known]
    clash = np.flatnonzero(known & (of_item[item.positions] != truth.positions))
    if len(clash):
        raise VotesFileError(
            f"{name}: item {short(item.values[item.positions[clash[0]]])!r} has two different true labels"
        )
    return Column(truth.name, of_item, truth.values)


def votes_of_arrays(arrays: dict[str, NDArray], options: ReadOptions, name: str) -> VotesFile:
    """Read named arrays: a table of votes, and names beside it."""
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    chosen = options.label or next((key for key in ("votes", "X", "L") if key in tables), None)
    if chosen is None and len(tables) == 1:
        chosen = tables[0]
    if chosen is None or chosen not in tables:
        shown = ", ".join(f"{key!r} {array.shape}" for key, array in list(arrays.items())[:6]) or "nothing"
        raise VotesFileError(
            f"{name} has no array 'votes' of items x voters (it holds {shown}); name it with --label"
        )
    votes = arrays[chosen]
    if 0 in votes.shape:
        raise VotesFileError(f"{name}: the array {chosen!r} is empty, its shape is {votes.shape}")
    if votes.shape[1] > MAX_COLUMNS:
        raise VotesFileError(f"{name} has {votes.shape[1]:,} columns; at most {MAX_COLUMNS:,} voters can be combined")
    names = _names_of(arrays, options.voter or "voters", votes.shape[1])
    names = names if names is not None else [f"voter {column + 1}" for column in range(votes.shape[1])]
    twice = duplicated(names)
    if twice is not None:
        raise VotesFileError(f"{name} has two voters named {twice!r}: give every voter its own name")
    items = _names_of(arrays, options.item or options.id_column or "items", votes.shape[0])
    columns = [factorise(title, votes[:, i]) for i, title in enumerate(names) if title not in options.ignore]
    by_name, notes = {}, []
    if options.truth is not None:
        truth = arrays.get(options.truth)
        if truth is None or truth.shape != (len(votes),):
            raise VotesFileError(
                f"{name} has no array {options.truth!r} with one label for each of {len(votes):,} items"
            )
        by_name[options.truth] = factorise(options.truth, truth)
    elif "truth" in arrays:
        notes.append("The array 'truth' was not read; pass --truth truth to score against it.")
    labels, positions = _common_labels(columns)
    how = (
        f"Read as npz, array {chosen!r}: {len(votes):,} items (rows) x {len(columns):,} voters (columns)"
        f"{_truth_words(options)}."
    )
    ids = None if items is None else np.array(items, dtype=object)
    return _finish(positions, labels, [column.name for column in columns], ids, by_name, options, how, notes, name)


def _names_of(arrays: dict[str, NDArray], key: str, length: int) -> list[str] | None:
    array = arrays.get(key)
    return None if array is None or array.shape != (length,) else [str(value) for value in array]


def _truth_words(options: ReadOptions) -> str:
    return f"; truth in {options.truth!r}, for scoring only" if options.truth is not None else ""


def _finish(
    positions: NDArray[np.int8],
    labels: list[Any],
    voters: list[str],
    items: NDArray | None,
    by_name: dict[str, Column],
    options: ReadOptions,
    how: str,
    notes: list[str],
    name: str,
    truth: Column | None = None,
) -> VotesFile:
    """Take out labels that mean "no vote", find the two classes, and encode votes and truth."""
    gone = [
        number for number, value in enumerate(labels) if any(same_label(value, wanted) for wanted in options.missing)
    ]
    if gone:
        lookup = np.arange(len(labels) + 1, dtype=np.int8)
        lookup[-1] = -1
        lookup[gone] = -1
        positions = lookup[positions]
    known = [value for number, value in enumerate(labels) if number not in gone]
    positive = options.positive
    if positive is not None:
        match = [value for value in known if same_label(value, positive)]
        if not match:
            raise VotesFileError(
                f"--positive {positive!r} is not one of the labels {', '.join(map(repr, known[:5]))}"
            )
        positive = match[0]
    try:
        votes = encode_positions(
            positions, labels, used=known, voters=np.array(voters, dtype=object), items=items, positive=positive
        )
    except ValueError as error:
        raise VotesFileError(f"{name}: {_on_the_command_line(str(error), known)}") from None
    column = truth if truth is not None else by_name.get(options.truth) if options.truth is not None else None
    return VotesFile(
        votes, None if column is None else _truth_codes(column, votes, options, name), how, tuple(notes), name
    )


def _truth_codes(column: Column, votes: Votes, options: ReadOptions, name: str) -> NDArray[np.int8]:
    codes = []
    for value in column.values:
        matching = [code for code, label in enumerate(votes.classes) if same_label(label, value)]
        if not matching and not any(same_label(value, wanted) for wanted in options.missing):
            raise VotesFileError(
                f"{name}: the truth holds {short(value)!r}, but the votes are "
                + " and ".join(repr(_item(label)) for label in votes.classes)
            )
        codes.append(matching[0] if matching else -1)
    return np.array([*codes, -1], dtype=np.int8)[column.positions]


def same_label(label: Any, other: Any) -> bool:
    """Whether two labels are one, where one of them may be the text of the other."""
    if str(_item(label)) == str(_item(other)):
        return True
    try:
        return float(label) == float(other)
    except (TypeError, ValueError):
        return False


def _item(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _on_the_command_line(message: str, labels: list[Any]) -> str:
    """Say it to somebody who has a file and no Python: options by name, items from 1, what to make of labels."""
    message = re.sub(
        r"the third is in row (\d+), column",
        lambda found: f"the third is given to item {int(found[1]) + 1:,} by",
        message,
    )
    if are_probabilities(labels):
        two = MAKE_VOTES
    elif len({str(label).casefold() for label in labels}) == 2:
        two = "they differ in capital letters only: spell them alike"
    else:
        two = (
            "if one of them means 'no vote', pass it with --missing, otherwise make two classes of them, such as "
            f"{short(max(labels, key=str))} and the rest"
        )
    return (
        message.replace("pass missing=0 ", "pass --missing 0 ")
        .replace("or missing=-1 ", "or --missing -1 ")
        .replace(
            "if one of them means 'no vote', pass it as missing=..., otherwise combine one class against the rest",
            two,
        )
        .rstrip(".")
    )
