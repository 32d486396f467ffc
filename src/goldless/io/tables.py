"""Columns whose meaning is known to votes: wide tables, long tables and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import Note, VotesError
from goldless.io.frames import unknown_truth
from goldless.io.readers.columns import MAX_COLUMNS, Column, Columns, duplicated, empty_file, too_wide
from goldless.io.readers.other import factorise
from goldless.io.roles import TRUTH_NAMES, ReadOptions, plain_title, short, wide_roles
from goldless.votes.alphabet import MAX_CLASSES, MISSING, UNKNOWN, Alphabet, listed, reading_of, same_text
from goldless.votes.votes import Votes

_MAX_CELLS = 4_000_000_000
_MAX_LABELS = 126  # classes and words for "no vote", as int8
_LABELS_OF_ONE_TABLE = 3  # two classes, and a word for "no vote"
_OWN_VALUES = 3  # a column of so many values that no other has is no voter


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
    notes : tuple of Note
        What may have been read otherwise than it was meant; ``str`` makes a sentence of each.
    name : str
        Where the votes came from.
    """

    votes: Votes
    truth: NDArray[np.int8] | None
    how: str
    notes: tuple[Note, ...] = ()
    name: str = "votes"


def wide_votes(table: Columns, by_name: dict[str, Column], options: ReadOptions, name: str) -> VotesFile:
    """Read the columns of a wide table: one row an item, one column a voter."""
    return _read_wide(table, by_name, options, name).votes(options, name)


def wide_alphabet(table: Columns, by_name: dict[str, Column], options: ReadOptions, name: str) -> Alphabet:
    """Return the alphabet of the votes of a wide table."""
    return _read_wide(table, by_name, options, name).alphabet(options, name)


def _read_wide(table: Columns, by_name: dict[str, Column], options: ReadOptions, name: str) -> _Read:
    items, voters = wide_roles(table, by_name, options, name)
    n_items = len(voters[0].positions)
    labels, positions = _common_labels(voters)
    words = {label.casefold() for label in labels if isinstance(label, str)}
    many = options.rules.classes is None and len(words) > _LABELS_OF_ONE_TABLE
    if many and (stranger := _nothing_in_common(voters)) is not None:
        raise VotesError(
            "no-common-label",
            f"column {short(stranger.name)!r} of {name} shares no label with the others, so they are not votes on "
            "one question",
            "long-or-drop",
            {"file": name, "column": stranger.name},
        )
    notes = [
        Note(f"Column {column.name!r} was read as a voter", "name-truth", {"column": repr(column.name)})
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
    truth = None if options.truth is None else by_name[options.truth]
    return _Read(labels, positions, [column.name for column in voters], ids, truth, how, notes)


def _nothing_in_common(columns: Sequence[Column]) -> Column | None:
    """Return a column of several values that no other column has, if that is odd.

    Voters may each know one class, as rules do that fire on it or not at all. A column of three words of its own is
    no such voter, nor one of two where no two columns share a word.
    """
    words = [{str(value).casefold() for value in column.values if isinstance(value, str)} for column in columns]
    apart = [
        number
        for number, own in enumerate(words)
        if own and own.isdisjoint(set().union(*words[:number], *words[number + 1 :]))
    ]
    others = [number for number in range(len(columns)) if columns[number].values]
    least = 2 if apart == others else _OWN_VALUES
    found = max(apart, key=lambda number: len(words[number]), default=None)
    if found is None or len(others) < 2 or len(words[found]) < least:
        return None
    return columns[found]


def _item_names(column: Column) -> NDArray:
    names = np.array([*column.values, None], dtype=object)
    return names[column.positions]


def _common_labels(columns: Sequence[Column]) -> tuple[list[Any], NDArray[np.int8]]:
    """Return the labels of all columns, and every vote as a position among them."""
    labels: dict[Any, int] = {}
    positions = np.empty((len(columns[0].positions), len(columns)), dtype=np.int8)
    read = reading_of(value for column in columns for value in column.values)
    for number, column in enumerate(columns):
        lookup = [labels.setdefault(read[value], len(labels)) for value in column.values]
        if len(labels) > _MAX_LABELS:
            raise VotesError(
                "too-many-labels",
                f"the votes hold more than {MAX_CLASSES} different labels, such as {listed(list(labels)[:3])}",
                "drop-columns" if any(isinstance(label, str) for label in labels) else "scores",
            )
        positions[:, number] = np.array([*lookup, -1], dtype=np.int8)[column.positions]
    return list(labels), positions


def long_votes(
    table: Columns, by_name: dict[str, Column], roles: tuple[str, str, str], options: ReadOptions, name: str
) -> VotesFile:
    """Read the columns of a long table: one row a vote."""
    item, voter, label = (by_name[role] for role in roles)
    if len(label.values) > _MAX_LABELS:
        raise VotesError(
            "too-many-labels",
            f"column {label.name!r} of {name} holds {len(label.values):,} different labels, such as "
            f"{listed(label.values[:2])}",
            "scores",
            {"file": name, "column": label.name},
        )
    n_items, n_voters = len(item.values), len(voter.values)
    if n_voters > MAX_COLUMNS:
        raise VotesError(
            "too-many-voters",
            f"column {voter.name!r} of {name} names {n_voters:,} voters; at most {MAX_COLUMNS:,} can be combined",
            where={"file": name, "column": voter.name},
        )
    if n_items * n_voters > _MAX_CELLS:
        raise VotesError(
            "too-large",
            f"{name}: a table of {n_items:,} items x {n_voters:,} voters does not fit in memory",
            where={"file": name},
        )
    labels, votes = _common_labels([label])
    whole = (item.positions >= 0) & (voter.positions >= 0)
    said = whole & (votes[:, 0] >= 0)
    cell = item.positions[said].astype(np.int64) * n_voters + voter.positions[said]
    flat = np.full(n_items * n_voters, -1, dtype=np.int8)
    flat[cell] = votes[said, 0]
    clash = np.flatnonzero(flat[cell] != votes[said, 0])
    if len(clash):
        one_item, one_voter = divmod(int(cell[clash[0]]), n_voters)
        raise VotesError(
            "two-labels",
            f"{name}: voter {short(voter.values[one_voter])!r} gave item {short(item.values[one_item])!r} two "
            "different labels",
            "keep-one",
            {"file": name, "item": item.values[one_item], "voter": voter.values[one_voter]},
        )
    notes = []
    repeated = int(said.sum()) - int((flat >= 0).sum())
    if repeated:
        rows, count = ("row repeats", "counts") if repeated == 1 else ("rows repeat", "count")
        notes.append(Note(f"{repeated:,} {rows} a vote of the same voter on the same item and {count} once"))
    nameless = int((~whole).sum())
    if nameless:
        rows, were = ("row", "was") if nameless == 1 else ("rows", "were")
        notes.append(Note(f"{nameless:,} {rows} without an item or a voter {were} left out"))
    how = (
        f"Read as {table.how}, long ({item.name!r}, {voter.name!r}, {label.name!r}): {int(said.sum()):,} votes of "
        f"{n_voters:,} voters on {n_items:,} items{_truth_words(options)}."
    )
    ids = np.array([*item.values, None], dtype=object)[:-1]
    truth = None
    if options.truth is not None:
        truth = _truth_of_items(by_name[options.truth], item, name)
    names = [str(value) for value in voter.values]
    return _Read(labels, flat.reshape(n_items, n_voters), names, ids, truth, how, notes).votes(options, name)


def _truth_of_items(truth: Column, item: Column, name: str) -> Column:
    """Return the truth of each item from the truth beside each vote."""
    known = (truth.positions >= 0) & (item.positions >= 0)
    of_item = np.full(len(item.values), -1, dtype=np.int32)
    of_item[item.positions[known]] = truth.positions[known]
    clash = np.flatnonzero(known & (of_item[item.positions] != truth.positions))
    if len(clash):
        one_item = item.values[item.positions[clash[0]]]
        raise VotesError(
            "two-labels",
            f"{name}: item {short(one_item)!r} has two different true labels",
            "keep-one",
            {"file": name, "item": one_item},
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
        raise VotesError(
            "unknown-column",
            f"{name} has no array 'votes' of items x voters (it holds {shown})",
            "name-array",
            {"file": name},
        )
    votes = arrays[chosen]
    if 0 in votes.shape:
        raise empty_file(name, f"holds an array {chosen!r} that is empty, its shape is {votes.shape}")
    if votes.shape[1] > MAX_COLUMNS:
        raise too_wide(name)
    names = _names_of(arrays, options.voter or "voters", votes.shape[1])
    names = names if names is not None else [f"voter {column + 1}" for column in range(votes.shape[1])]
    twice = duplicated(names)
    if twice is not None:
        raise VotesError(
            "same-name", f"{name} has two voters named {twice!r}", "own-names", {"file": name, "column": twice}
        )
    items = _names_of(arrays, options.item or options.id_column or "items", votes.shape[0])
    columns = [factorise(title, votes[:, i]) for i, title in enumerate(names) if title not in options.ignore]
    truth, notes = None, []
    if options.truth is not None:
        labels_of_truth = arrays.get(options.truth)
        if labels_of_truth is None or labels_of_truth.shape != (len(votes),):
            raise VotesError(
                "unknown-column",
                f"{name} has no array {options.truth!r} with one label for each of {len(votes):,} items",
                where={"file": name, "column": options.truth},
            )
        truth = factorise(options.truth, labels_of_truth)
    elif "truth" in arrays:
        notes.append(Note("The array 'truth' was not read", "score-truth", {"column": "'truth'"}))
    labels, positions = _common_labels(columns)
    how = (
        f"Read as npz, array {chosen!r}: {len(votes):,} items (rows) x {len(columns):,} voters (columns)"
        f"{_truth_words(options)}."
    )
    ids = None if items is None else np.array(items, dtype=object)
    voters = [column.name for column in columns]
    return _Read(labels, positions, voters, ids, truth, how, notes).votes(options, name)


def _names_of(arrays: dict[str, NDArray], key: str, length: int) -> list[str] | None:
    array = arrays.get(key)
    return None if array is None or array.shape != (length,) else [str(value) for value in array]


def _truth_words(options: ReadOptions) -> str:
    return f"; truth in {options.truth!r}, for scoring only" if options.truth is not None else ""


@dataclass(frozen=True, eq=False)
class _Read:
    """What was read of a file, before its labels are looked at.

    Attributes
    ----------
    labels : list
        Distinct labels.
    positions : ndarray of shape (n_items, n_voters)
        Position of every vote among the labels, -1 where there is none.
    voters, items : list of str, ndarray or None
        Names.
    truth : Column or None
        True labels.
    how, notes : str, list of Note
        How the file was read, and what may have been read otherwise than it was meant.
    """

    labels: list[Any]
    positions: NDArray[np.int8]
    voters: list[str]
    items: NDArray | None
    truth: Column | None
    how: str
    notes: list[Note]

    def alphabet(self, options: ReadOptions, name: str) -> Alphabet:
        """Find the classes."""
        try:
            return options.rules.alphabet(self.labels, text=True, place=self._place)
        except VotesError as error:
            raise error.within(name, file=name) from None

    def votes(self, options: ReadOptions, name: str) -> VotesFile:
        """Find the classes, and encode votes and truth."""
        alphabet = self.alphabet(options, name)
        code_of = np.array([*map(alphabet.code, self.labels), MISSING], dtype=np.int8)
        codes = code_of[self.positions]
        if codes.min() == UNKNOWN:
            row, column = map(int, np.argwhere(codes == UNKNOWN)[0])
            label, voter = self.labels[self.positions[row, column]], self.voters[column]
            error = alphabet.unknown(label, f"row {row}, column {voter!r}", row=row, column=voter)
            raise error.within(name, file=name)
        votes = Votes(codes, alphabet.values, np.array(self.voters, dtype=object), self.items)
        truth = None if self.truth is None else _truth_codes(self.truth, alphabet, name)
        return VotesFile(votes, truth, self.how, tuple(self.notes), name)

    def _place(self, label: Any) -> str:
        """Say where a label first occurs."""
        position = next(number for number, own in enumerate(self.labels) if same_text(own, label))
        row, column = np.argwhere(self.positions == position)[0]
        return f" in row {row}, column {self.voters[column]!r}"


def _truth_codes(column: Column, alphabet: Alphabet, name: str) -> NDArray[np.int8]:
    codes = np.array([*map(alphabet.code, column.values), MISSING], dtype=np.int8)
    if UNKNOWN in codes:
        raise unknown_truth(column.values[int(np.flatnonzero(codes == UNKNOWN)[0])], alphabet, name)
    return codes[column.positions]
