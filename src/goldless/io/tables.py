"""Tables whose columns are understood to votes: wide tables and long ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import Note, VotesError
from goldless.io.arrays import table_of_array
from goldless.io.frames import unknown_truth
from goldless.io.numbers import encode_numbers, kinds_in, with_ties_halfway
from goldless.io.readers.base import Read, Roles
from goldless.io.readers.columns import Column, Columns, as_grades, as_meant, column_of
from goldless.io.roles import (
    ReadOptions,
    WideRoles,
    are_numbers,
    check_ignored,
    column_of_numbers,
    is_numeric,
    no_votes_left,
    short,
    wide_roles,
    with_words_of_columns,
)
from goldless.kernels.sparse import Codes, SparseCodes, first_vote, recoded
from goldless.plain import is_number
from goldless.votes.alphabet import (
    MAX_CLASSES,
    MAYBE_MISSING,
    MISSING,
    UNKNOWN,
    Alphabet,
    LabelRules,
    listed,
    reading_of,
    same_text,
)
from goldless.votes.bins import NumberAlphabet
from goldless.votes.kinds import reading_of_numbers
from goldless.votes.long import LongVotes, TwoLabels
from goldless.votes.votes import Votes
from goldless.votes.words import are_ordered_words, with_ordered_words
from goldless.words import percent

_MAX_CELLS = 200_000_000  # of numbers, which are kept as a matrix
JUDGED_CELLS = 20_000_000  # that are looked at to tell grades from names
_FEWEST_OF_A_SCALE = 3  # words and more show a scale: negative, neutral and positive may be classes
_MOST_VALUES = 10_000  # different votes of a long table of which some are words
_MAX_LABELS = 126  # classes and words for "no vote", as int8


@dataclass(frozen=True, eq=False)
class VotesFile:
    """Votes as they were read; every estimator and every command takes it for X.

    Attributes
    ----------
    votes : Votes
        Codes, classes, names of the voters and of the items.
    truth : ndarray of shape (n_items,) or None
        Codes of the true labels, -1 where there is none. For scoring only.
    how : str
        One sentence on how the votes were read.
    notes : tuple of Note
        What was left out, and what may have been read otherwise than it was meant; ``str`` makes a sentence of each.
    name : str
        Where the votes came from.
    gold : dict
        Known labels of golden tasks, by row: what ``anchors`` of a fit takes.
    at_least : int or None
        Only items that at least so many voters call positive are there: rows nobody called are missing.
    format : str
        Name of the format.
    files : tuple of Path
        Files that were read.
    item_title : str
        How the user calls the column of the items.
    question : str
        Which question was read, of a file that may hold several.
    reading : Note or None
        How numbers were read, and what to say if they are names of classes; None if votes are labels.
    """

    votes: Votes
    truth: NDArray[np.int8] | None
    how: str
    notes: tuple[Note, ...] = ()
    name: str = "votes"
    gold: dict[int, Any] = field(default_factory=dict)
    at_least: int | None = None
    format: str = ""
    files: tuple[Path, ...] = ()
    item_title: str = "item"
    question: str = ""
    reading: Note | None = None

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.votes.n_items

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.votes.n_voters

    @property
    def n_votes(self) -> int:
        """Number of votes that are not missing."""
        return self.votes.n_votes

    @property
    def voters(self) -> list[str]:
        """Names of the voters."""
        names = self.votes.voters
        return [f"voter {number + 1}" for number in range(self.n_voters)] if names is None else list(map(str, names))

    @property
    def items(self) -> NDArray | None:
        """Names of the items, if they have names."""
        return self.votes.items

    @property
    def X(self) -> Votes:
        """What estimators are given."""
        return self.votes

    def with_ties_halfway(self, ties: Collection) -> VotesFile:
        """Return the votes with ties half way between the two classes; an item that is truly a tie is not scored."""
        votes = with_ties_halfway(self.votes, ties)
        if votes is self.votes:
            return self
        kept = votes.classes.tolist()
        code = np.array(
            [*(kept.index(label) if label in kept else MISSING for label in self.votes.classes.tolist()), MISSING]
        )
        return replace(
            self,
            votes=votes,
            truth=None if self.truth is None else code[self.truth].astype(np.int8),
            how=f"{self.how[:-1]}; a tie is half a vote for each class.",
            gold={row: label for row, label in self.gold.items() if label in kept},
        )

    def __repr__(self) -> str:
        return f"<{self.how}>"


def votes_of(read: Read, options: ReadOptions, name: str) -> VotesFile:
    """Turn what a reader gave, its roles known or to be found out, into votes."""
    names = read.table.column_names
    rules = options.rules
    if rules.classes is None and read.classes is not None and not rules.missing:
        rules = replace(rules, classes=np.array(read.classes))
    if not rules.missing and read.missing:
        listed_too = () if rules.classes is None else rules.classes.tolist()
        rules = replace(rules, missing=tuple(label for label in read.missing if label not in listed_too))
    if rules.positive is None and read.positive is not None and rules.classes is None:
        rules = replace(rules, positive=read.positive)
    options = replace(options, rules=rules)
    roles = read.roles
    if roles is None or not roles.long:
        wanted = names
        if roles is not None and roles.voters is not None:
            check_ignored(names, options, name)
            voters = [title for title in roles.voters if title not in options.ignore]
            truth = options.truth if options.truth in names else roles.truth
            wanted = [title for title in (roles.item, *voters, truth) if title is not None]
        columns, spelt = as_meant([column_of(title, read.table[title], name) for title in wanted])
        found, graded = None, as_grades(columns) if may_be_grades(options) else None
        if graded is not None:
            numbers = Columns(graded[0], read.how, read.named)
            found = _if_numbers(lambda: wide_votes(numbers, read, options, name))
            spelt = spelt if found is None else (*spelt, graded[1])
        if found is None:
            found = wide_votes(Columns(columns, read.how, read.named), read, options, name)
        read = replace(read, notes=(*read.notes, *spelt))
    else:
        label = column_of(str(roles.label), read.table[roles.label], name)
        found, graded = None, as_grades([label]) if may_be_grades(options) else None
        if graded is not None:
            (grades,), note = graded
            found = _if_numbers(lambda: long_votes(read, roles, options, name, grades))
            found = None if found is None else replace(found, notes=(note, *found.notes))
        if found is None:
            found = long_votes(read, roles, options, name, label)
    votes = None if found.votes is None else replace(found.votes, at_least=read.at_least)
    notes = (*read.notes, *found.notes)
    return replace(found, votes=votes, notes=notes, at_least=read.at_least, question=read.question)


def may_be_grades(options: ReadOptions) -> bool:
    """Whether text that begins with a number may be read as a grade."""
    said = options.rules.numbers
    return said.are_numbers or (not said.are_labels and options.rules.classes is None)


def _if_numbers(read: Callable[[], VotesFile]) -> VotesFile | None:
    """Return what was read if its votes are numbers, None if they are labels or cannot be read so."""
    try:
        found = read()
    except VotesError:
        return None
    return found if found.reading is not None else None


# -- wide tables --------------------------------------------------------------------------------------------


def wide_votes(table: Columns, read: Read, options: ReadOptions, name: str) -> VotesFile:
    """Read the columns of a wide table: one row per item, one column per voter."""
    return _wide_draft(table, read.roles, options, name, read.certain).votes(options, name)


def wide_alphabet(table: Columns, options: ReadOptions, name: str) -> tuple[Alphabet | None, WideRoles]:
    """Return the alphabet of the votes of a wide table, None if they are numbers, and what its columns are."""
    roles = wide_roles(table, options, name)
    if roles.scores:
        return None, roles
    return _draft_of(table, roles, None, options, name).alphabet(options, name), roles


def _wide_draft(table: Columns, known: Roles | None, options: ReadOptions, name: str, certain: bool) -> _Draft:
    by_name = {column.name: column for column in table.columns}
    truth = None if options.truth is None else by_name.get(options.truth)
    if known is not None and known.voters is not None:
        voters = [by_name[title] for title in known.voters if title not in options.ignore]
        if not voters:
            raise no_votes_left(name)
        item = options.id_column or known.item
        rules = with_words_of_columns(voters, options.rules, table.named)
        worded = None if rules is options.rules else rules
        roles = WideRoles(
            None if item is None else by_name[item], voters, scores=are_numbers(voters, rules), rules=worded
        )
        if truth is None and options.truth is not None and known.truth is not None:
            truth = by_name[known.truth]
    else:
        roles = wide_roles(table, options, name)
        if len(roles.voters) == 1 and options.format is None and not options.names_columns:
            raise VotesError(
                "one-voter",
                f"{name} was read as {table.how} with one column of votes, {short(roles.voters[0].name)!r}",
                "one-voter",
                {"file": name},
            )
    return _draft_of(table, roles, truth, options, name)


def _draft_of(table: Columns, roles: WideRoles, truth: Column | None, options: ReadOptions, name: str) -> _Draft:
    options = options if roles.rules is None else replace(options, rules=roles.rules)
    items, voters = roles.items, roles.voters
    n_items = len(voters[0].positions)
    how = (
        f"Read as {table.how}, wide: {n_items:,} items (rows) x {len(voters):,} voters (columns)"
        + (f", items named by column {short(items.name)!r}" if items is not None else "")
        + truth_words(None if truth is None else truth.name)
        + "."
    )
    ids = None if items is None else items.at_rows()
    titles = [column.name for column in voters]
    title = "item" if items is None else items.name
    if roles.scores:
        numbers = np.column_stack([column_of_numbers(column, options.rules) for column in voters])
        notes = list(roles.notes)
        return _Draft([], None, titles, ids, truth, how, notes, title, numbers, roles.gold, roles.rules)
    labels, positions, joined = common_labels(voters, options)
    return _Draft(labels, positions, titles, ids, truth, how, [*roles.notes, *joined], title, gold=roles.gold)


def common_labels(columns: Sequence[Column], options: ReadOptions) -> tuple[list[Any], NDArray[np.int8], list[Note]]:
    """Return the labels of all columns, every vote as a position among them, and which spellings were joined."""
    labels: dict[Any, int] = {}
    positions = np.empty((len(columns[0].positions), len(columns)), dtype=np.int8)
    read = reading_of(value for column in columns for value in column.values)
    notes: list[Note] = []
    if options.rules.classes is None:
        read, joined = _joined_spellings(read)
        if joined:
            notes.append(Note(f"Labels that differ in capital letters or blanks only were joined: {joined}"))
    for number, column in enumerate(columns):
        lookup = [labels.setdefault(read[value], len(labels)) for value in column.values]
        if len(labels) > _MAX_LABELS:
            raise VotesError(
                "too-many-labels",
                f"the votes hold more than {MAX_CLASSES} different labels, such as {listed(list(labels)[:3])}",
                "drop-columns" if any(isinstance(label, str) for label in labels) else "scores",
            )
        positions[:, number] = np.array([*lookup, -1], dtype=np.int8)[column.positions]
    return list(labels), positions, notes


def _joined_spellings(read: dict[Any, Any]) -> tuple[dict[Any, Any], str]:
    """Return readings in which labels that differ in capitals or blanks only are one, and words on those."""
    spellings: dict[str, set[str]] = {}
    for label in read.values():
        if isinstance(label, str):
            spellings.setdefault(" ".join(label.casefold().split()), set()).add(label)
    several = {key: sorted(found) for key, found in spellings.items() if len(found) > 1}
    if not several:
        return read, ""
    one = {label: found[-1] for found in several.values() for label in found}
    words = "; ".join(" = ".join(map(repr, found)) for found in list(several.values())[:4])
    return {value: one.get(label, label) if isinstance(label, str) else label for value, label in read.items()}, words


# -- long tables --------------------------------------------------------------------------------------------


def long_votes(read: Read, roles: Roles, options: ReadOptions, name: str, label: Column) -> VotesFile:
    """Read the columns of a long table: one row per vote, with these labels."""
    table = read.table
    assert roles.item is not None
    assert roles.voter is not None
    assert roles.label is not None
    item, voter = (column_of(role, table[role], name) for role in (roles.item, roles.voter))
    (label,), spelt = as_meant([label])
    item, voter = _complete(item, roles.items), _complete(voter, roles.voters)
    known = (item.positions >= 0) & (voter.positions >= 0)
    said = known & (label.positions >= 0)
    refuse_wrong_guess(read, roles, options, name, len(item.values), voter.values, int(said.sum()))
    notes = [*spelt, *nameless_notes(int((~known).sum()))]
    n_items, n_voters = len(item.values), len(voter.values)
    truth_title = options.truth
    if truth_title is not None and roles.truth is not None:
        truth_title = roles.truth
    elif roles.truth is not None:
        notes.append(Note("The truth in the file was not read", "score-truth", {"column": repr(roles.truth)}))
    truth = None if truth_title is None else _of_items(column_of(truth_title, table[truth_title], name), item, name)
    how = (
        f"Read as {read.how}, long ({item.name!r}, {voter.name!r}, {label.name!r}): {int(said.sum()):,} votes of "
        f"{n_voters:,} voters on {n_items:,} items{truth_words(truth_title)}."
    )
    names = [str(value) for value in voter.values]
    ids = np.array([*item.values, None], dtype=object)[:-1]

    options = replace(options, rules=_with_words_of_voters(label, voter, said, options.rules))
    worded = options.rules if options.rules.numbers.words else None

    def numbers(items: int = n_items) -> NDArray[np.float64]:
        """Return the answers on the first items, a column per voter."""
        if items * n_voters > _MAX_CELLS:
            raise VotesError(
                "too-large",
                f"{name}: numbers of {n_voters:,} voters on {n_items:,} items do not fit in memory",
                "kind-labels",
                where={"file": name},
            )
        answers = np.full(items * n_voters, np.nan)
        taken = np.flatnonzero(said & (item.positions < items))
        taken = taken[::-1] if options.repeats == "first" else taken
        cell = item.positions[taken].astype(np.int64) * n_voters + voter.positions[taken]
        given = column_of_numbers(label, options.rules, options.rules.numbers.words)[taken]
        answers[cell] = given
        if options.repeats == "most":  # numbers hardly repeat: their mean
            count = np.bincount(cell, minlength=len(answers))
            answers = np.where(count > 1, np.bincount(cell, given, len(answers)) / np.maximum(count, 1), answers)
        return answers.reshape(items, n_voters)

    judged = max(min(n_items, JUDGED_CELLS // n_voters), 1)
    if are_numbers([label], options.rules, lambda: numbers(judged)):
        changed = _changed_numbers(item, voter, label, said, options, name)
        how = with_changes(how, changed, options, "their mean")
        draft = _Draft([], None, names, ids, truth, how, notes, item.name, numbers(), None, worded)
        return draft.votes(options, name)
    if len(label.values) > _MAX_LABELS:
        raise VotesError(
            "too-many-labels",
            f"column {label.name!r} of {name} holds {len(label.values):,} different labels, such as "
            f"{listed(label.values[:2])}",
            "scores" if is_numeric(label) else "few-classes",
            {"file": name, "column": label.name},
        )
    labels, votes, joined = common_labels([label], options)
    try:
        lines = LongVotes.of(item.positions, voter.positions, votes[:, 0], n_items, n_voters, options.repeats)
    except TwoLabels as clash:
        raise two_labels(name, item.values[clash.item], voter.values[clash.voter]) from None
    how = with_changes(how, lines.n_changed, options, "the most frequent")
    notes += repeat_notes(lines.n_repeated)
    gold = None if roles.gold is None else _of_items(column_of(roles.gold, table[roles.gold], name), item, name)
    draft = _Draft(labels, lines.codes, names, ids, truth, how, [*notes, *joined], item.name, gold=gold)
    return draft.votes(options, name)


def _with_words_of_voters(label: Column, voter: Column, said: NDArray[np.bool_], rules: LabelRules) -> LabelRules:
    """Return rules that know the words of some voters of a long table, where others say numbers."""
    rules.numbers.check_voters([str(value) for value in voter.values])
    if are_ordered_words(rules):
        return with_ordered_words([str(value) for value in voter.values], rules)
    draft = rules.alphabet_draft(text=True)
    words = [isinstance(v, str) and not is_number(v) and not draft.means_missing(v) for v in label.values]
    if all(words) or not any(words) or len(label.values) > _MOST_VALUES:
        return rules
    taken = np.flatnonzero(said)
    pairs = np.unique(voter.positions[taken].astype(np.int64) * len(label.values) + label.positions[taken])
    values: dict[str, list[Any]] = {}
    for pair in pairs.tolist():
        who, what = divmod(pair, len(label.values))
        values.setdefault(str(voter.values[who]), []).append(label.values[what])
    columns = [Column(name, np.empty(0, dtype=np.int32), found) for name, found in values.items()]
    found = with_words_of_columns(columns, rules, named=False)
    if found is not rules:
        for column in columns:
            strange = [v for v in column.values if isinstance(v, str) and not is_number(v)]
            strange = [] if column.name in found.numbers.word_voters else strange
            if strange and not draft.means_missing(strange[0]):
                word = strange[0]
                raise VotesError(
                    "words-among-numbers",
                    f"{short(word)!r} of voter {short(column.name)!r} stands among numbers",
                    "refusal",
                    {"voter": column.name, "label": word},
                    word=repr(short(word)),
                )
    return found


def _changed_numbers(
    item: Column, voter: Column, label: Column, said: NDArray[np.bool_], options: ReadOptions, name: str
) -> int:
    """Return how many items a voter gave different numbers; refuse them unless a rule says which counts."""
    rows = np.flatnonzero(said)
    rows = rows[np.lexsort([voter.positions[rows], item.positions[rows]])]
    same = (item.positions[rows[1:]] == item.positions[rows[:-1]]) & (
        voter.positions[rows[1:]] == voter.positions[rows[:-1]]
    )
    again = rows[1:][same & (label.positions[rows[1:]] != label.positions[rows[:-1]])]
    if len(again) and options.repeats == "refuse":
        raise two_labels(name, item.values[item.positions[again[0]]], voter.values[voter.positions[again[0]]])
    return len(set(zip(item.positions[again].tolist(), voter.positions[again].tolist(), strict=True)))


def with_changes(how: str, n_changed: int, options: ReadOptions, most: str) -> str:
    """Return how votes were read, with what counts where a voter changed its answer."""
    if not n_changed:
        return how
    kept = {"first": "the first", "last": "the last", "most": most}[options.repeats]
    times = "once" if n_changed == 1 else f"{n_changed:,} times"
    return f"{how[:-1]}; of different answers of a voter on an item {kept} counts ({times})."


def _complete(column: Column, names: Sequence[Any] | None) -> Column:
    """Return a column whose values are all names there are, in their order."""
    if names is None:
        return column
    place = {name: number for number, name in enumerate(names)}
    lookup = np.array([*(place[value] for value in column.values), -1], dtype=np.int32)
    return Column(column.name, lookup[column.positions], list(names))


def nameless_notes(nameless: int) -> list[Note]:
    """Say how many lines of a long table name no item or no voter."""
    if not nameless:
        return []
    rows, were = ("row", "was") if nameless == 1 else ("rows", "were")
    return [Note(f"{nameless:,} {rows} without an item or a voter {were} left out")]


def repeat_notes(n_repeated: int) -> list[Note]:
    """Say how many lines repeat others."""
    if not n_repeated:
        return []
    rows, count = ("row repeats", "counts") if n_repeated == 1 else ("rows repeat", "count")
    return [Note(f"{n_repeated:,} {rows} a vote of the same voter on the same item and {count} once")]


def two_labels(name: str, item: Any, voter: Any = None) -> VotesError:
    """Return the error of a voter, or without one of the truth, that says two things of an item."""
    where = {"file": name, "item": item, **({} if voter is None else {"voter": voter})}
    what = f"item {short(item)!r} has two different true labels"
    if voter is not None:
        what = f"voter {short(voter)!r} gave item {short(item)!r} two different labels"
    return VotesError("two-labels", f"{name}: {what}", "keep-one" if voter is None else "say-which", where)


def refuse_wrong_guess(
    read: Any, roles: Roles, options: ReadOptions, name: str, n_items: int, voters: Sequence[Any], n_votes: int
) -> None:
    """Refuse a reading that nobody asked for if it has one voter, or one vote an item: a wrong guess, or no case.

    ``read`` has ``how`` and ``certain``.
    """
    if options.format is not None or options.names_columns or roles.voters is not None:
        return
    n_voters = len(voters)
    columns = f"{roles.item!r}, {roles.voter!r}, {roles.label!r}"
    if n_voters == 1:
        found = f"votes of one voter, {short(voters[0])!r}, on {n_items:,} item{'s' * (n_items > 1)}"
        hint = "more-voters" if read.certain else "wrong-guess"
        raise VotesError("one-voter", f"{name}, read as {read.how} ({columns}), holds {found}", hint, {"file": name})
    if n_items >= n_votes > 0:
        found = f"one vote an item: {n_votes:,} votes of {n_voters:,} voters on {n_items:,} items"
        hint = "more-votes" if read.certain else "wrong-guess"
        raise VotesError("one-vote", f"{name}, read as {read.how} ({columns}), holds {found}", hint, {"file": name})


def _of_items(truth: Column, item: Column, name: str) -> Column:
    """Return the truth of each item from the truth beside each vote."""
    known = (truth.positions >= 0) & (item.positions >= 0)
    of_item = np.full(len(item.values), -1, dtype=np.int32)
    of_item[item.positions[known]] = truth.positions[known]
    clash = np.flatnonzero(known & (of_item[item.positions] != truth.positions))
    if len(clash):
        raise two_labels(name, item.values[item.positions[clash[0]]])
    return Column(truth.name, of_item, truth.values)


def truth_words(title: str | None) -> str:
    """Say in which column the truth is, if there is one."""
    return "" if title is None else f"; truth in {title.strip()!r}, for scoring only"


# -- from labels to codes -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Draft:
    """What was read, before its labels are looked at."""

    labels: list[Any]  # distinct labels
    positions: Codes | None  # (n_items, n_voters): position of every vote among the labels, -1 where there is none
    # voters, items: names
    voters: list[str]
    items: NDArray | None
    truth: Column | None  # true labels
    # how, notes: how the file was read, and what may have been read otherwise than it was meant
    how: str
    notes: list[Note]
    item_title: str = "item"  # column that names the items
    numbers: NDArray[np.float64] | None = None  # (n_items, n_voters): votes that are numbers
    gold: Column | None = None  # known labels of golden tasks
    rules: LabelRules | None = None  # where words stand beside numbers, rules that know the words

    def alphabet(self, options: ReadOptions, name: str) -> Alphabet:
        """Find the classes."""
        try:
            return options.rules.alphabet(self.labels, text=True, place=self._place)
        except VotesError as error:
            raise error.within(name, file=name) from None

    def votes(self, options: ReadOptions, name: str) -> VotesFile:
        """Find the classes, and encode votes and truth."""
        if self.numbers is not None:
            return self._numbers_as_votes(options, name)
        assert self.positions is not None
        alphabet = self.alphabet(options, name)
        code_of = np.array([*map(alphabet.code, self.labels), MISSING], dtype=np.int8)
        if UNKNOWN in code_of:
            for position in np.flatnonzero(code_of == UNKNOWN):
                place = first_vote(self.positions, int(position))
                if place is not None:
                    row, voter = place[0], self.voters[place[1]]
                    where = f"row {row}, column {voter!r}"
                    error = alphabet.unknown(self.labels[position], where, row=row, column=voter)
                    raise error.within(name, file=name)
        votes = Votes(
            recoded(self.positions, code_of), alphabet.values, np.array(self.voters, dtype=object), self.items
        )
        truth = None if self.truth is None else _truth_codes(self.truth, alphabet, name)
        gold = {} if self.gold is None else _known_labels(self.gold, alphabet)
        notes = list(self.notes)
        notes += doubtful_labels(alphabet)
        notes += _ties(votes, alphabet)
        if gold:
            tasks = "1 golden task has" if len(gold) == 1 else f"{len(gold):,} golden tasks have"
            notes.append(Note(f"{tasks} a known label", "golden"))
        return VotesFile(votes, truth, self.how, tuple(notes), name, gold=gold, item_title=self.item_title)

    def _numbers_as_votes(self, options: ReadOptions, name: str) -> VotesFile:
        """Cut the numbers of every voter into bins."""
        assert self.numbers is not None
        table, rules = table_of_array(self.numbers, self.voters, self.items), self.rules or options.rules
        kinds = kinds_in(table, rules) or ("ordinal",) * len(self.voters)
        try:
            votes = encode_numbers(table, rules, kinds, lambda n_items: None)
        except VotesError as error:
            raise error.within(name, file=name) from None
        assert votes.bins is not None
        alphabet: Alphabet = NumberAlphabet.of(votes.classes, votes.bins, rules, text=True)
        truth = None if self.truth is None else _truth_codes(self.truth, alphabet, name)
        gold = {} if self.gold is None else _known_labels(self.gold, alphabet)
        how = self.how if rules.numbers.words else self.how.replace(" votes of ", " numbers of ", 1)
        sign = rules.numbers.sign(table.voters, len(kinds))
        reading = reading_of_numbers(
            self.numbers, kinds, sign, rules.numbers.positive_from, rules.numbers.word_classes[1:]
        )
        return VotesFile(
            votes, truth, how, tuple(self.notes), name, gold=gold, item_title=self.item_title, reading=reading
        )

    def _place(self, label: Any) -> str:
        """Say where a label first occurs."""
        position = next(number for number, own in enumerate(self.labels) if same_text(own, label))
        assert self.positions is not None
        place = first_vote(self.positions, position)
        if place is None:
            return ""
        row, column = place
        return f" in row {row}, column {self.voters[column]!r}"


def doubtful_labels(alphabet: Alphabet) -> list[Note]:
    """Say which classes may be none, unless the user listed them: words for "no vote", numbers among words."""
    words = [str(label) for label in alphabet.values if isinstance(label, str)] if alphabet.grows else []
    notes = [
        Note(f"{word!r} was read as a class", "if-no-vote", {"column": repr(word)})
        for word in words
        if word.casefold() in MAYBE_MISSING
    ]
    scale = scale_of(words)
    if scale and alphabet.grows:
        notes.append(Note("The labels look like grades in words", "grades-in-words", {"column": repr(scale)}))
    numbers = [word for word in words if word.replace(".", "", 1).isdecimal()]
    if numbers and len(words) - len(numbers) > 1:
        notes.append(Note(f"Among the classes, which are words, are numbers: {listed(numbers)}; is a line no item?"))
    return notes


TIES = ("tie", "Tie", "TIE")


def _ties(votes: Votes, alphabet: Alphabet) -> list[Note]:
    """Say how often judges of two answers call a tie, which is a class of its own unless the user says otherwise."""
    tie = next((code for code, label in enumerate(alphabet.values.tolist()) if label in TIES), None)
    if tie is None or len(alphabet) != 3 or not alphabet.grows:
        return []
    codes = votes.codes
    cast = codes.cast(3) if isinstance(codes, SparseCodes) else np.stack([(codes == c).sum(axis=0) for c in range(3)])
    share, voting = cast[tie].sum() / max(cast.sum(), 1), cast.sum(axis=0) > 0
    seen = f"{str(alphabet.values[tie])!r} is a third class: {percent(share)} of the votes"
    who = (
        f", and {(cast[tie] > 0).sum():,} of {voting.sum():,} voters say it" if (cast[tie][voting] == 0).any() else ""
    )
    return [Note(f"{seen}{who}", "tie", {"column": repr(str(alphabet.values[tie]))})]


_SCALES = tuple(
    tuple(scale.split("/"))
    for scale in (
        "strongly disagree/disagree/neutral/agree/strongly agree",
        "strongly disagree/disagree/neither agree nor disagree/agree/strongly agree",
        "strongly disagree/disagree/somewhat disagree/neutral/somewhat agree/agree/strongly agree",
        "very bad/bad/neutral/good/very good",
        "very bad/bad/average/good/very good",
        "very poor/poor/fair/good/very good/excellent",
        "very poor/poor/average/good/very good/excellent",
        "very poor/poor/acceptable/good/very good/excellent",
        "terrible/bad/okay/good/great",
        "never/rarely/sometimes/often/always",
        "none/very low/low/medium/high/very high",
        "none/minor/moderate/major/critical",
        "none/mild/moderate/severe",
        "very negative/negative/neutral/positive/very positive",
        "very dissatisfied/dissatisfied/neutral/satisfied/very satisfied",
        "very unlikely/unlikely/neutral/likely/very likely",
        "b>>a/b>a/a=b/a>b/a>>b",
        "[[b>>a]]/[[b>a]]/[[a=b]]/[[a>b]]/[[a>>b]]",
    )
)


def scale_of(words: Sequence[str]) -> list[str]:
    """Return words in their order if they are grades of a usual scale, an empty list if not."""
    spelt = {" ".join(word.casefold().replace("_", " ").split()): word for word in words}
    for scale in _SCALES:
        if len(spelt) > _FEWEST_OF_A_SCALE and set(spelt) <= set(scale):
            return [spelt[word] for word in scale if word in spelt]
    return []


def _known_labels(column: Column, alphabet: Alphabet) -> dict[int, Any]:
    """Return the labels of golden tasks by row; what is not among the classes is not known."""
    codes = np.array([*(max(alphabet.code(value), MISSING) for value in column.values), MISSING])[column.positions]
    return {int(row): alphabet.values[codes[row]] for row in np.flatnonzero(codes >= 0)}


def _truth_codes(column: Column, alphabet: Alphabet, name: str) -> NDArray[np.int8]:
    codes = np.array([*map(alphabet.code, column.values), MISSING], dtype=np.int8)
    if UNKNOWN in codes:
        raise unknown_truth(column.values[int(np.flatnonzero(codes == UNKNOWN)[0])], alphabet, name)
    return codes[column.positions]
