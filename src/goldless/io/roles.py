"""What the columns of a file are: votes, names of items, truth; a wide table or a long one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from goldless.errors import VotesError
from goldless.io.readers.columns import Column, Columns
from goldless.spelling import nearest
from goldless.votes.alphabet import MAX_CLASSES, LabelRules, are_probabilities, listed

_ITEM_NAMES = (
    *("item", "item_id", "itemid", "task", "task_id", "taskid", "example", "example_id", "question", "question_id"),
    *("sample", "sample_id", "instance", "unit", "unit_id", "document", "doc", "doc_id", "variant", "site", "row"),
    *("row_id", "id", "index", "unnamed:_0", ""),
)

_VOTER_NAMES = (
    *("voter", "voter_id", "worker", "worker_id", "workerid", "annotator", "annotator_id", "judge", "judge_id"),
    *("rater", "rater_id", "caller", "coder", "reader", "labeler", "labeller", "source", "classifier", "user"),
    *("user_id", "model"),
)

_LABEL_NAMES = (
    *("label", "vote", "answer", "response", "verdict", "rating", "class", "annotation", "judgement", "judgment"),
    *("call", "prediction", "value"),
)

TRUTH_NAMES = {"truth", "gold", "y_true", "true_label", "gold_label", "ground_truth", "y", "target"}


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about a file; see :func:`read_votes`."""

    item: str | None = None
    voter: str | None = None
    label: str | None = None
    id_column: str | None = None
    truth: str | None = None
    ignore: frozenset[str] = frozenset()
    rules: LabelRules = field(default_factory=LabelRules)


def check_names(by_name: dict[str, Column], options: ReadOptions, name: str) -> None:
    """Refuse names of columns that are not there."""
    roles = {"item": "item", "voter": "voter", "label": "label", "truth": "truth", "id_column": "id"}
    for role, wanted in (
        *((f"{role} column", getattr(options, name)) for name, role in roles.items()),
        *(("column to ignore", ignored) for ignored in sorted(options.ignore)),
    ):
        if wanted is not None and wanted not in by_name:
            there = ", ".join(repr(column) for column in list(by_name)[:8]) + (", ..." if len(by_name) > 8 else "")
            raise VotesError(
                "unknown-column",
                f"the {role} {wanted!r} is not in {name}"
                + (nearest(wanted, by_name) or f"; its columns are {there}"),
                where={"file": name, "column": wanted},
            )


def long_roles(by_name: dict[str, Column], options: ReadOptions) -> tuple[str, str, str] | None:
    """Return the columns (item, voter, label) of a long table, or None for a wide one."""
    asked = (options.item, options.voter, options.label)
    if options.id_column is not None and not any(asked):
        return None
    plain = {
        plain_title(title): title
        for title in reversed(list(by_name))
        if title not in (options.truth, *options.ignore)
    }
    found = []
    for given, names in zip(asked, (_ITEM_NAMES, _VOTER_NAMES, _LABEL_NAMES), strict=True):
        found.append(given or next((plain[known] for known in names if known in plain), None))
    item, voter, label = found
    if item is not None and voter is not None and label is not None:
        return item, voter, label
    if any(asked):
        lacking = [role for role, column in zip(("item", "voter", "label"), found, strict=True) if column is None]
        raise VotesError("lacking-column", "a long table needs three columns", "lacking-roles", lacking=lacking)
    return None


def plain_title(title: str) -> str:
    """Return a title without its spelling."""
    return title.strip().lower().replace(" ", "_").replace("-", "_")


def wide_roles(
    table: Columns, by_name: dict[str, Column], options: ReadOptions, name: str
) -> tuple[Column | None, list[Column]]:
    """Return the column that names the items, if there is one, and the columns of votes."""
    rest = [column for column in table.columns if column.name != options.truth and column.name not in options.ignore]
    items = by_name[options.id_column] if options.id_column is not None else _id_column(rest, table.named)
    voters = [column for column in rest if column is not items]
    if not voters:
        raise VotesError("no-columns", f"{name} has no column of votes left", where={"file": name})
    for column in voters:
        if len(column.values) > MAX_CLASSES:
            scores = are_probabilities(column.values)
            raise VotesError(
                "scores" if scores else "too-many-labels",
                f"column {short(column.name)!r} of {name} holds {len(column.values):,} different "
                f"{'numbers from 0 to 1' if scores else 'values'}, such as {listed(column.values[:2])}",
                "scores" if scores else "not-votes",
                {"file": name, "column": column.name},
            )
    return items, voters


def _id_column(columns: Sequence[Column], named: bool) -> Column | None:
    """Return the first column if it names items: by its own name, or by holding many values that no other holds."""
    if len(columns) < 2:
        return None
    first, others = columns[0], columns[1:]
    if named and plain_title(first.name) in _ITEM_NAMES and len(first.values) > 2:
        return first
    if len(first.values) <= 3 or are_probabilities(first.values):
        return None
    if len(first.values) == len(first.positions):
        return first
    votes = {value for column in others if len(column.values) <= MAX_CLASSES for value in column.values}
    return first if votes and not votes.intersection(first.values) else None


def short(value: Any, length: int = 40) -> str:
    """Return a value for a message, cut if it is long."""
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"
