"""Tables of numbers to codes: grades, probabilities and scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.arrays import LabelTable, table_of
from goldless.io.frames import distinct_in
from goldless.io.readers.columns import column_of
from goldless.io.roles import column_of_numbers
from goldless.kernels.sparse import dense_codes
from goldless.kernels.threads import ordered_stream
from goldless.plain import is_number
from goldless.votes.alphabet import (
    MAX_CLASSES,
    Alphabet,
    LabelRules,
    as_classes,
    is_missing,
    listed,
    short_repr,
)
from goldless.votes.bins import Bins, Levels, NumberAlphabet, distinct_numbers
from goldless.votes.kinds import (
    JUDGED_ITEMS,
    MOST_GRADES,
    check_labels,
    check_numbers,
    judge_grades,
    judge_labels,
    judge_range,
    labels_among,
    refuse_code_of_nothing,
)
from goldless.votes.kinds import (
    column_of as column_of_voter,
)
from goldless.votes.rows import Rows
from goldless.votes.votes import Votes
from goldless.votes.words import (
    are_ordered_words,
    are_usual,
    are_words,
    folded,
    with_ordered_words,
    with_words,
)

Counts = Callable[[int], NDArray[np.int64] | None]
_HEAD = 1 << 12  # rows that show whether words stand beside numbers
_LOOKED_AT = 1 << 14  # votes that are looked at first: so many with more labels than classes may be are numbers


def with_words_in(table: LabelTable, rules: LabelRules) -> LabelRules:
    """Return rules that know the words of some voters, where others say numbers; the same rules if that is not so."""
    numbers, names = rules.numbers, range(table.shape[1]) if table.voters is None else table.voters.tolist()
    numbers.check_voters(names)
    if are_ordered_words(rules):
        return with_ordered_words(names, rules)
    if numbers.are_labels or (isinstance(numbers.kind, str) and numbers.kind != "auto") or table.shape[1] < 2:
        return rules
    if not _may_be_mixed(table):
        _refuse_numbers_as_text(table, rules)
        return rules
    draft = rules.alphabet_draft()
    said = [
        [label for label in labels if not draft.means_missing(label)]
        for labels in (_labels_of_column(table, column) for column in range(table.shape[1]))
    ]
    words = [column for column, labels in enumerate(said) if are_words(labels) or are_bools(labels)]
    if any(_are_names(labels, table.shape[0]) for column, labels in enumerate(said) if column not in words):
        return rules  # numbers of items
    others = [label for column, labels in enumerate(said) if column not in words for label in labels]
    if not words or not others or not all(isinstance(label, Number) for label in others):
        return rules
    classes = () if rules.classes is None else rules.classes.tolist()
    told = rules.numbers.kind if isinstance(rules.numbers.kind, Mapping) else {}
    if any(label in classes for label in others):
        return rules
    open_ = [said[column] for column in words if names[column] not in told and column not in told]
    if any(len(labels) > 2 and not any(are_usual([label], rules) for label in labels) for labels in open_):
        return rules  # no votes, or not of two classes
    texts = [said[column] for column in words if not are_bools(said[column])]
    if len(set(others)) <= 2 and not (texts and all(are_usual(labels, rules) for labels in texts)):
        return rules  # labels of two types, or true and 1
    return with_words({names[column]: [w for w in said[column] if isinstance(w, str)] for column in words}, rules)


def _are_names(labels: Sequence[Any], n_items: int) -> bool:
    """Whether every item has a whole number of its own."""
    return len(labels) == n_items > MOST_GRADES and all(isinstance(v, int | np.integer) for v in labels)


def _may_be_mixed(table: LabelTable) -> bool:
    """Whether a table may hold words in some columns and numbers in others, by the first rows."""
    if table.arrow is not None:
        kinds = {str(values.dtype.kind) for values in table.head(1).values()}
        return len(kinds & set("iuf")) > 0 and len(kinds) > 1
    ((_, values),) = table.head(_HEAD).blocks()
    if values.dtype != object:
        return False
    found = {type(label) for label in values.ravel().tolist()}
    return any(issubclass(kind, str | bool | np.bool_) for kind in found) and any(
        issubclass(kind, Number) and not issubclass(kind, bool) for kind in found
    )


def _refuse_numbers_as_text(table: LabelTable, rules: LabelRules) -> None:
    """Refuse an array of text that holds words in some columns and numbers in others: numpy made text of all."""
    if table.arrow is not None or rules.classes is not None:
        return
    ((_, values),) = table.head(_HEAD).blocks()
    if values.dtype.kind not in "UT":
        return
    draft = rules.alphabet_draft(text=True)
    said = [[label for label in set(column.tolist()) if not draft.means_missing(label)] for column in values.T]
    voting = [column for column, labels in enumerate(said) if labels]
    numbers = [column for column in voting if all(map(is_number, said[column]))]
    words = [column for column in voting if are_words(said[column])]
    if words and len(numbers) + len(words) == len(voting) and max((len(said[n]) for n in numbers), default=0) > 2:
        raise VotesError(
            "numbers-as-text",
            f"Column {words[0]} holds words such as {short_repr(min(said[words[0]]))}, column {numbers[0]} numbers "
            f"as text such as {short_repr(min(said[numbers[0]]))}",
            "text-of-numbers",
            {"column": numbers[0]},
        )


def _labels_of_column(table: LabelTable, column: int) -> list[Any]:
    """Return the different labels of a column."""
    if table.arrow is not None:
        return list(distinct_in(table.arrow.column(column)))
    ((_, values),) = table.blocks()
    return list(dict.fromkeys(values[:, column].tolist()))


def are_bools(values: Collection) -> bool:
    """Whether there are values, and all are true or false."""
    return bool(values) and all(isinstance(value, bool | np.bool_) for value in values)


def kinds_in(table: LabelTable, rules: LabelRules) -> tuple[str, ...] | None:
    """Return the kind of every voter of a table, None if its votes are labels."""
    numbers = rules.numbers
    n_voters = table.shape[1]
    if numbers.are_labels or (rules.classes is not None and not numbers.are_numbers):
        return None
    if isinstance(numbers.kind, str) and numbers.kind != "auto":
        return (numbers.kind,) * n_voters
    words = set(_word_columns(table, rules))
    open_ = [column for column in range(n_voters) if column not in words]
    judged = _judged(table if not words else table.of_voters(open_), rules)
    if judged == "labels" and not numbers.are_numbers:
        return None
    if judged == "labels" and words:  # beside words: two numbers are two labels, more are grades
        said = answers_of(table, rules).T[open_]
        judged = tuple("labels" if len(distinct_numbers(a[~np.isnan(a)])[0]) <= 2 else "ordinal" for a in said)
    elif isinstance(judged, str):
        judged = ("ordinal" if judged == "labels" else judged,) * len(open_)
    of_open = dict(zip(open_, judged, strict=True))
    judged = tuple(of_open.get(column, "labels") for column in range(n_voters))
    if "scores" in judged:
        judged = labels_among(judged, [column[~np.isnan(column)] for column in answers_of(table, rules).T])
    kinds = numbers.kinds(judged, table.voters)
    return None if set(kinds) == {"labels"} and not words else kinds


def _word_columns(table: LabelTable, rules: LabelRules) -> list[int]:
    """Return the columns of voters that say words beside numbers of others."""
    names = table.voters
    known = list(range(table.shape[1]) if names is None else names.tolist())
    return [known.index(voter) for voter in rules.numbers.word_voters if voter in known]


def _judged(table: LabelTable, rules: LabelRules) -> str | tuple[str, ...]:
    """Return what votes look like: one kind for all voters, or one for each."""
    blocks = table.values()
    if any(values.dtype.kind not in "iufO" for values in blocks):
        return "labels"
    if all(values.dtype.kind == "f" for values in blocks):
        looked_at = np.concatenate([values.ravel()[: _LOOKED_AT // len(blocks) + 1] for values in blocks])
        if len(np.unique(looked_at)) > MAX_CLASSES + len(rules.missing) + 1:
            answers = answers_of(table, rules)
            refuse_code_of_nothing(looked_at[~np.isnan(looked_at)], are_labels=False, said=_numbers_of(rules.missing))
            return judge_range(answers)
    draft = rules.alphabet_draft()
    labels = [label for label in table.labels if not draft.means_missing(label)]
    integers = all(values.dtype.kind in "iu" for values in blocks)
    judged = judge_labels(labels, integers)
    if judged in ("scores", "probabilities", "grades"):
        refuse_code_of_nothing(labels, are_labels=all(float(label).is_integer() for label in labels))
    if judged != "grades":
        return judged
    return judge_grades(answers_of(table.head(JUDGED_ITEMS), rules), labels)


def _numbers_of(labels: Iterable) -> list[float]:
    """Return those of labels that are numbers."""
    return [float(label) for label in labels if isinstance(label, int | float | np.number)]


def answers_of(table: LabelTable, rules: LabelRules) -> NDArray[np.float64]:
    """Return a table as numbers, NaN where a vote is missing."""
    words = _word_columns(table, rules) if rules.numbers.words else []
    if words and table.arrow is None:
        answers = np.full(table.shape, np.nan)
        ((_, values),) = table.blocks()
        for column in range(table.shape[1]):
            turn = rules if column in words else None
            answers[:, column] = _as_numbers(values[:, column], table, turn)
    elif table.arrow is None:  # all votes in one block: nothing to put together
        ((_, values),) = table.blocks()
        answers = np.array(_as_numbers(values, table), order="C")
    else:
        answers = np.full(table.shape, np.nan)
        for index, values in table.blocks():
            answers[index] = _as_numbers(values, table, rules if words and index[1] in words else None)
    for missing in rules.missing:
        if isinstance(missing, int | float | np.number) and not isinstance(missing, bool):
            with suppress(OverflowError):  # no answer is a number that no register holds
                answers[answers == missing] = np.nan
    return answers


def _as_numbers(values: NDArray, table: LabelTable, rules: LabelRules | None = None) -> NDArray[np.float64]:
    """Return votes as numbers; words only by rules that know them."""
    if values.dtype.kind in "iufb":
        return values.astype(np.float64, copy=False)
    flat = [np.nan if is_missing(value) else value for value in values.ravel().tolist()]
    if rules is not None:
        draft = rules.alphabet_draft()
        number = {label: _number_of_word(label, draft, table) for label in set(flat) if isinstance(label, str)}
        flat = [number[label] if isinstance(label, str) else label for label in flat]
    try:
        return np.array(flat, dtype=np.float64).reshape(values.shape)
    except (TypeError, ValueError):
        strange = next(value for value in flat if not is_number(value))
        raise VotesError(
            "no-number",
            f"{short_repr(strange)}{table.first_place(strange)} is no number, and the votes are to be numbers",
            "kind-labels",
            {"label": strange},
        ) from None


def _number_of_word(label: str, draft: Alphabet, table: LabelTable) -> float:
    """Return the number of a word, NaN where it is no vote."""
    if draft.means_missing(label):
        return float("nan")
    try:
        return draft.rules.numbers.words[folded(label)]
    except KeyError:
        if draft.rules.unknown == "missing":
            return float("nan")
        known = list(draft.rules.numbers.word_classes or ("yes", "no"))
        raise VotesError(
            "unknown-label",
            f"{short_repr(label)}{table.first_place(label)} is not one of the words of this voter, {listed(known)}",
            "words-missing",
            {"label": label},
        ) from None


def encode_numbers(table: LabelTable, rules: LabelRules, kinds: tuple[str, ...], counts: Counts) -> Votes:
    """Cut the numbers of every voter into bins, and code them."""
    answers = answers_of(table, rules)
    check_numbers(answers, kinds, table.place)
    weights = counts(len(answers))
    n_voters = table.shape[1]
    sign = rules.numbers.sign(table.voters, n_voters)
    levels = [Levels.of(sign[voter] * answers[:, voter], weights) for voter in range(n_voters)]
    if not any(len(of_voter.values) > 1 for of_voter in levels):
        seen = "every voter always gives the same number" if not np.isnan(answers).all() else "all votes are missing"
        raise VotesError("one-class" if not np.isnan(answers).all() else "no-votes", f"Nothing to combine: {seen}")
    check_labels(kinds, [of_voter.values for of_voter in levels], table.voters)
    bins = Bins.of(levels, kinds, sign, rules.numbers.positive_from, rules.numbers.words)
    return Votes(bins.codes(answers), score_classes(rules), table.voters, table.items, bins, answers=answers)


def with_ties_halfway(votes: Votes, ties: Collection) -> Votes:
    """Return votes for two classes and ties as three grades, ties half way between the classes.

    So every voter has its own table of what a tie means, and a majority counts it as half a vote for each class.
    """
    tied = np.array([label in ties for label in votes.classes.tolist()])
    if not tied.any():
        return votes
    sides = np.flatnonzero(~tied)
    if len(sides) != 2:
        raise VotesError("tie-classes", f"A tie is half way between two classes, and there are {len(sides)}")
    value = np.append(np.where(tied, 0.5, np.nan), np.nan)  # the last one for missing votes
    value[sides] = 0.0, 1.0
    answers = value[dense_codes(votes.codes)]
    bins = Bins.of([Levels.of(column) for column in answers.T], ("ordinal",) * votes.n_voters)
    return Votes(bins.codes(answers), votes.classes[sides], votes.voters, votes.items, bins, answers=answers)


def encode_in_bins(table: LabelTable, rules: LabelRules, classes: NDArray, bins: Bins) -> Votes:
    """Code numbers by bins that are known."""
    answers = answers_of(table, with_words_of(bins, table.voters, rules))
    if answers.shape[1] == bins.n_voters:  # otherwise the number of columns is refused by the caller
        check_numbers(answers, bins.kinds, table.place)
        codes = bins.codes(answers)
    else:
        codes = np.full(answers.shape, -1, dtype=np.int8)
    return Votes(codes, classes, table.voters, table.items, bins)


def with_words_of(bins: Bins, voters: NDArray | None, rules: LabelRules) -> LabelRules:
    """Return rules that know the words of a fit."""
    if not bins.words:
        return rules
    names: Any = range(bins.n_voters) if voters is None else voters.tolist()
    known = tuple(voter for voter, kind in zip(names, bins.kinds, strict=False) if kind == "labels")
    known = known or tuple(names)  # words of all voters are grades
    return replace(rules, numbers=replace(rules.numbers, words=bins.words, word_voters=known))


def score_classes(rules: LabelRules) -> NDArray:
    """Return the two classes that numbers speak of: 0 and 1, or those the user names, (negative, positive)."""
    if rules.classes is None:
        return np.array(rules.numbers.word_classes or [0, 1])
    if len(rules.classes) != 2:
        raise VotesError(
            "classes-of-numbers",
            f"Numbers tell two classes apart, negative and positive, and {len(rules.classes)} are listed",
            "kind-labels",
        )
    return as_classes(rules.ordered(list(rules.classes), rules.alphabet_draft()))


# -- streams: one pass counts what every voter answers, then bins are cut and never change -------------------


def kinds_of_block(block: Any, rules: LabelRules) -> tuple[tuple[str, ...] | None, LabelRules]:
    """Return the kind of every voter of a block, None if its votes are labels; and rules that know its words."""
    if isinstance(block, Votes):
        return None, rules
    table = table_of(block)
    rules = with_words_in(table, rules)
    return kinds_in(table, rules), rules


def table_of_batch(batch: Any, voters: Sequence[str], rules: LabelRules, name: str) -> Any:
    """Return the columns of voters in a record batch as numbers, null where a vote is missing."""
    import pyarrow as pa

    columns = [column_of_numbers(column_of(title, batch.column(title), name), rules) for title in voters]
    return pa.table([pa.array(numbers, from_pandas=True) for numbers in columns], names=list(voters))


def rows_of_numbers(batch: Any, voters: Sequence[str], alphabet: NumberAlphabet, name: str) -> Rows:
    """Code and pack the columns of a record batch by bins that are known."""
    table = table_of(table_of_batch(batch, voters, alphabet.rules, name))
    votes = encode_in_bins(table, alphabet.rules, alphabet.values, alphabet.bins)
    return Rows.of(dense_codes(votes.codes), len(alphabet))


def levels_of(block: Any, rules: LabelRules) -> list[Levels]:
    """Count the answers of every voter of a block."""
    table = table_of(block)
    answers = answers_of(table, rules)
    check_numbers(answers, ("scores",) * table.shape[1], table.place)
    sign = rules.numbers.sign(table.voters, table.shape[1])
    return [Levels.of(turn * column) for turn, column in zip(sign, answers.T, strict=True)]


def added_levels(one: list[Levels], other: list[Levels]) -> list[Levels]:
    """Add what was counted of every voter."""
    return [first + second for first, second in zip(one, other, strict=True)]


def levels_of_blocks(blocks: Iterable[Any], rules: LabelRules) -> list[Levels]:
    """Count the answers of every voter of many blocks, in threads."""
    count: Callable[[Any], list[Levels]] = lambda block: levels_of(block, rules)  # noqa: E731
    return reduce(added_levels, ordered_stream(count, iter(blocks)))


def alphabet_of_levels(
    levels: list[Levels], kinds: tuple[str, ...], voters: NDArray | None, rules: LabelRules
) -> NumberAlphabet:
    """Cut bins; of a kind that was judged from the first rows, all rows decide whether numbers are probabilities."""
    sign = rules.numbers.sign(voters, len(kinds))
    said = [turn * of_voter.values for turn, of_voter in zip(sign, levels, strict=True)]
    words = {column_of_voter(voter, voters, len(kinds)) for voter in rules.numbers.word_voters}
    judged = [voter for voter in range(len(kinds)) if voter not in words]
    if (rules.numbers.kind == "auto" or words) and "ordinal" not in kinds and judged:
        found, of_judged = [kinds[voter] for voter in judged], [said[voter] for voter in judged]
        if "probabilities" in found:
            ends = [[values.min(), values.max()] if len(values) else [np.nan, np.nan] for values in of_judged]
            found = list(judge_range(np.array(ends).T))
        again = labels_among(tuple("scores" if kind == "labels" else kind for kind in found), of_judged)
        kinds = tuple(again[judged.index(voter)] if voter in judged else "labels" for voter in range(len(kinds)))
        kinds = rules.numbers.kinds(kinds, voters)
    check_labels(kinds, said, voters)
    bins = Bins.of(levels, kinds, sign, rules.numbers.positive_from, rules.numbers.words)
    return NumberAlphabet.of(score_classes(rules), bins, rules)
