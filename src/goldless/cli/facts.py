"""What the user knows besides the votes, from options and a file of known labels; and which labels to ask for."""

from __future__ import annotations

from typing import Any

import numpy as np

from goldless.cli.options import Options
from goldless.cli.small_tables import named_voters, read_rows
from goldless.io.open import VoteStream
from goldless.votes.source import VoteSource
from goldless.votes.votes import Votes, find_items
from goldless.words import nearest

_LABEL_COLUMNS = ("label", "truth", "gold")
_SUMS_TO_ONE = 0.005  # shares are written with two digits or more


def facts_of(arguments: Options, votes: Votes | VoteStream) -> dict[str, Any]:
    """Return the keyword arguments of ``LatentSML.fit`` that the options say, and ``at_least`` of the estimator."""
    facts: dict[str, Any] = {}
    if arguments.at_least is not None:
        facts["at_least"] = arguments.at_least
    if arguments.anchors is not None or arguments.class_balance is not None:
        opened = votes.open() if isinstance(votes, VoteStream) else votes
        if isinstance(opened, VoteSource):
            opened = opened.with_all_labels()
        if arguments.anchors is not None:
            facts["anchors"] = read_anchors(arguments.anchors, opened)
        if arguments.class_balance is not None:
            facts["class_balance"] = class_balance_of(arguments.class_balance, opened.classes.tolist())
    if arguments.trusted is not None:
        facts["trusted"] = (
            named_voters([arguments.trusted], votes.voter_names)
            if isinstance(votes, Votes)
            else [name.strip() for name in arguments.trusted.split(",") if name.strip()]
        )
    return facts


def class_balance_of(given: float | dict[str, float], classes: list) -> float | dict[Any, float]:
    """Return the class balance that an option says: the share of the positive class, or of each class by its name."""
    example = ",".join(f"{label}={1 / len(classes):.2g}" for label in classes[:3]) + (",..." * (len(classes) > 3))
    if not isinstance(given, dict):
        if len(classes) > 2:
            raise ValueError(f"--class-balance needs the share of each of {len(classes)} classes, such as {example}")
        return given
    by_name = {str(label): label for label in classes}
    for name in given:
        if name not in by_name:
            raise ValueError(f"--class-balance names {name!r}, which is no class{nearest(name, list(by_name))}")
    lacking = [name for name in by_name if name not in given]
    if lacking:
        raise ValueError(f"--class-balance has no share for {lacking[0]!r}; name all classes, such as {example}")
    total = sum(given.values())
    if abs(total - 1) > _SUMS_TO_ONE or min(given.values()) <= 0:
        raise ValueError(f"--class-balance needs positive shares that sum to 1; these sum to {total:g}")
    return {by_name[name]: share / total for name, share in given.items()}


def item_names(votes: Votes) -> list[str]:
    """Return the name of every item: its id, or its number from 1 if the file has none."""
    return [str(item) for item in votes.item_names]


def read_anchors(path: str, votes: Votes | VoteSource) -> dict[int, Any]:
    """Read known labels: a table of item and label; rows without a label are passed over.

    The column of labels is called "label", "truth" or "gold"; the item is in the first other column.
    """
    columns, rows = read_rows(path, f"cannot read the known labels in {path}")
    header = columns if rows else []
    label = next((name for name in header if name and name.strip().lower() in _LABEL_COLUMNS), None)
    item = next((name for name in header if name and name != label), None)
    if label is None or item is None:
        raise ValueError(
            f"{path} should hold known labels in two columns, the item and the 'label', but its columns are "
            f"{', '.join(repr(name) for name in header) or 'missing'}"
        )
    lines = [(number, (line[item] or "").strip(), (line[label] or "").strip()) for number, line in enumerate(rows, 2)]
    names = {name for _, name, said in lines if said}
    row_of = votes.find_rows(names) if isinstance(votes, VoteSource) else find_items(votes, names)
    classes = {str(value): value for value in votes.classes.tolist()}
    anchors: dict[int, Any] = {}
    for number, name, said in lines:
        if not said:
            continue
        if name not in row_of:
            raise ValueError(f"{path}, line {number}: there is no item {name!r} among the votes")
        if said not in classes:
            raise ValueError(
                f"{path}, line {number}: the label {said!r} is not one of the votes' labels, "
                f"{' and '.join(repr(value) for value in classes)}{nearest(said, list(classes))}"
            )
        if anchors.get(row_of[name], classes[said]) != classes[said]:
            raise ValueError(f"{path}, line {number}: item {name!r} has two different labels")
        anchors[row_of[name]] = classes[said]
    if not anchors:
        raise ValueError(f"{path} has no known labels: its column {label!r} is empty")
    return anchors


def question_rows(questions: Any, votes: Votes, shown: np.ndarray) -> list[list[Any]]:
    """Return one line for each item to label: item, a gap for the label, the probabilities shown, and why."""
    names, classes = item_names(votes), [str(label) for label in votes.classes.tolist()]
    return [
        [names[row], "", *shown[row].round(4).tolist(), why]
        for row, why in zip(questions.rows, _reasons(questions, classes), strict=True)
    ]


def _reasons(questions: Any, classes: list[str]) -> list[str]:
    """Return why each item is asked: groupings label it differently, or few labels are less certain."""
    differ = "groupings differ" if questions.open else "a grouping that fits worse differs"
    return [
        f"{differ}: {' or '.join(classes[code] for code in dict.fromkeys(said.tolist()))}"
        if divided
        else "among the least certain"
        for said, divided in zip(questions.codes, questions.divided, strict=True)
    ]
