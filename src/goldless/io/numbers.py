"""Tables of numbers to codes: grades, probabilities and scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.arrays import LabelTable, table_of
from goldless.io.readers.columns import column_of
from goldless.io.roles import column_of_numbers
from goldless.kernels.sparse import dense_codes
from goldless.kernels.threads import ordered_stream
from goldless.plain import is_number
from goldless.votes.alphabet import MAX_CLASSES, LabelRules, as_classes, is_missing, short_repr
from goldless.votes.bins import Bins, Levels, NumberAlphabet
from goldless.votes.kinds import (
    JUDGED_ITEMS,
    are_in_order,
    check_labels,
    check_numbers,
    judge_labels,
    judge_range,
    labels_among,
)
from goldless.votes.rows import Rows
from goldless.votes.votes import Votes

Counts = Callable[[int], NDArray[np.int64] | None]
_LOOKED_AT = 1 << 14  # votes that are looked at first: so many with more labels than classes may be are numbers


def kinds_in(table: LabelTable, rules: LabelRules) -> tuple[str, ...] | None:
    """Return the kind of every voter of a table, None if its votes are labels."""
    numbers = rules.numbers
    n_voters = table.shape[1]
    if numbers.are_labels or (rules.classes is not None and not numbers.are_numbers):
        return None
    if isinstance(numbers.kind, str) and numbers.kind != "auto":
        return (numbers.kind,) * n_voters
    judged = _judged(table, rules)
    if judged == "labels" and not numbers.are_numbers:
        return None
    if isinstance(judged, str):
        judged = ("ordinal" if judged == "labels" else judged,) * n_voters
    if "scores" in judged:
        judged = labels_among(judged, [column[~np.isnan(column)] for column in answers_of(table, rules).T])
    kinds = numbers.kinds(judged, table.voters)
    return None if set(kinds) == {"labels"} else kinds


def _judged(table: LabelTable, rules: LabelRules) -> str | tuple[str, ...]:
    """Return what votes look like: one kind for all voters, or one for each."""
    blocks = table.values()
    if any(values.dtype.kind not in "iufO" for values in blocks):
        return "labels"
    if all(values.dtype.kind == "f" for values in blocks):
        looked_at = np.concatenate([values.ravel()[: _LOOKED_AT // len(blocks) + 1] for values in blocks])
        if len(np.unique(looked_at)) > MAX_CLASSES + len(rules.missing) + 1:
            return judge_range(answers_of(table, rules))
    draft = rules.alphabet_draft()
    labels = [label for label in table.labels if not draft.means_missing(label)]
    integers = all(values.dtype.kind in "iu" for values in blocks)
    judged = judge_labels(labels, integers)
    if judged != "grades":
        return judged
    codes = table.head(JUDGED_ITEMS).codes(replace(draft, values=as_classes(sorted(labels))))
    return "ordinal" if are_in_order(codes, len(labels)) else "labels"


def answers_of(table: LabelTable, rules: LabelRules) -> NDArray[np.float64]:
    """Return a table as numbers, NaN where a vote is missing."""
    answers: NDArray[np.float64] | None = None
    for index, values in table.blocks():
        if index is ...:  # all votes in one block: nothing to put together
            answers = np.array(_as_numbers(values, table), order="C")
            break
        if answers is None:
            answers = np.full(table.shape, np.nan)
        answers[index] = _as_numbers(values, table)
    if answers is None:
        answers = np.full(table.shape, np.nan)
    for missing in rules.missing:
        if isinstance(missing, int | float | np.number) and not isinstance(missing, bool):
            with suppress(OverflowError):  # no answer is a number that no register holds
                answers[answers == missing] = np.nan
    return answers


def _as_numbers(values: NDArray, table: LabelTable) -> NDArray[np.float64]:
    if values.dtype.kind in "iufb":
        return values.astype(np.float64, copy=False)
    flat = [np.nan if is_missing(value) else value for value in values.ravel().tolist()]
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
    bins = Bins.of(levels, kinds, sign, rules.numbers.positive_from)
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
    answers = answers_of(table, rules)
    if answers.shape[1] == bins.n_voters:  # otherwise the number of columns is refused by the caller
        check_numbers(answers, bins.kinds, table.place)
        codes = bins.codes(answers)
    else:
        codes = np.full(answers.shape, -1, dtype=np.int8)
    return Votes(codes, classes, table.voters, table.items, bins)


def score_classes(rules: LabelRules) -> NDArray:
    """Return the two classes that numbers speak of: 0 and 1, or those the user names, (negative, positive)."""
    if rules.classes is None:
        return np.array([0, 1])
    if len(rules.classes) != 2:
        raise VotesError(
            "classes-of-numbers",
            f"Numbers tell two classes apart, negative and positive, and {len(rules.classes)} are listed",
            "kind-labels",
        )
    return as_classes(rules.ordered(list(rules.classes), rules.alphabet_draft()))


# -- streams: one pass counts what every voter answers, then bins are cut and never change -------------------


def kinds_of_block(block: Any, rules: LabelRules) -> tuple[str, ...] | None:
    """Return the kind of every voter of a block, None if its votes are labels."""
    if isinstance(block, Votes):
        return None
    return kinds_in(table_of(block), rules)


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
    if rules.numbers.kind == "auto" and "ordinal" not in kinds:
        if "probabilities" in kinds:
            ends = [[values.min(), values.max()] if len(values) else [np.nan, np.nan] for values in said]
            kinds = judge_range(np.array(ends).T)
        kinds = labels_among(tuple("scores" if kind == "labels" else kind for kind in kinds), said)
    check_labels(kinds, said, voters)
    bins = Bins.of(levels, kinds, sign, rules.numbers.positive_from)
    return NumberAlphabet.of(score_classes(rules), bins, rules)
