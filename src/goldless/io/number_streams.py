"""Streams of numbers: one pass counts what every voter answers, then bins are cut and never change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.io.arrays import table_of
from goldless.io.numbers import answers_of, encode_in_bins, kinds_in, score_classes
from goldless.io.readers.columns import column_of
from goldless.io.roles import column_of_numbers
from goldless.kernels.sparse import dense_codes
from goldless.kernels.threads import ordered_stream
from goldless.votes.alphabet import LabelRules
from goldless.votes.bins import Bins, Levels
from goldless.votes.kinds import check_labels, check_numbers, judge_range, labels_among
from goldless.votes.number_alphabet import NumberAlphabet
from goldless.votes.rows import Rows
from goldless.votes.votes import Votes


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
