"""The file of an audit: items that were drawn, to be filled in with labels, and read back."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import goldless as gl
from goldless.cli.facts import item_names
from goldless.cli.small_tables import read_rows
from goldless.io.files import VotesFile
from goldless.words import nearest

COLUMNS = ("item", "label", "row", "stratum", "stratum_items", "inclusion_probability")
_UNSURE = ("?", "unsure")


def strata_of(plan: gl.AuditPlan) -> list[str]:
    """Return a name for the stratum of each row that does not tell which label was predicted."""
    order = np.random.default_rng(plan.seed).permutation(int(plan.block.max()) + 1)
    level = [int((plan.block[:number] == block).sum()) + 1 for number, block in enumerate(plan.block)]
    names = [f"{_letters(int(order[block]))}{level[number]}" for number, block in enumerate(plan.block)]
    return [names[stratum] for stratum in plan.stratum]


def _letters(number: int) -> str:
    return chr(ord("a") + number % 26) * (number // 26 + 1)


def read_labels(path: str) -> list[dict[str, str]]:
    """Read the lines of a file that ``audit -o`` wrote."""
    header, lines = read_rows(path, f"cannot read the labels in {path}")
    lacking = [name for name in COLUMNS if not lines or name not in header]
    if lacking:
        raise ValueError(
            f"{path} has no column {lacking[0]!r}: an audit needs the file that audit -o wrote, with labels filled "
            "in; labels that were chosen, as by ask, are no sample and cannot measure"
        )
    return lines


def plan_of(
    path: str, lines: list[dict[str, str]], table: VotesFile, model: Any
) -> tuple[gl.AuditPlan, dict[int, Any]]:
    """Make the plan again from its file, and read the labels; every line must be one that was drawn."""
    names, classes = item_names(table.votes), table.votes.classes.tolist()
    by_name = {str(label): label for label in classes}
    rows, strata, labels = list[int](), list[str](), dict[int, Any]()
    size: dict[str, int] = {}
    drawn: dict[str, float] = {}
    for number, line in enumerate(lines, 2):
        place = f"{path}, line {number}"
        try:
            row, stratum = int(line["row"]) - 1, line["stratum"].strip()
            items, share = int(line["stratum_items"]), float(line["inclusion_probability"])
        except (TypeError, ValueError, AttributeError):
            raise ValueError(f"{place}: this item was not drawn by audit, so its label cannot count") from None
        if not 0 <= row < len(names) or names[row] != (line["item"] or "").strip():
            raise ValueError(
                f"{place}: row {row + 1} of the votes is not item {line['item']!r}; are these its votes?"
            )
        if row in rows or size.setdefault(stratum, items) != items or not stratum:
            raise ValueError(f"{place}: this item was not drawn by audit, so its label cannot count")
        drawn[stratum] = share * items
        rows.append(row)
        strata.append(stratum)
        label = (line["label"] or "").strip()
        if label in _UNSURE:
            labels[row] = None
        elif label and label not in by_name:
            raise ValueError(
                f"{place}: the label {label!r} is none of {', '.join(by_name)}{nearest(label, list(by_name))}"
            )
        elif label:
            labels[row] = by_name[label]
    _check_complete(path, strata, size, drawn, len(names))
    found = sorted(size, key=lambda name: (name.rstrip("0123456789"), name))
    blocks = sorted({name.rstrip("0123456789") for name in found})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.LabelsAtRiskWarning)  # an audit is the check that it asks for
        predicted = np.asarray(model.predict(table.votes))
    plan = gl.AuditPlan(
        classes=table.votes.classes,
        rows=np.array(rows),
        predicted=np.array([classes.index(label) for label in predicted[rows].tolist()]),
        stratum=np.array([found.index(name) for name in strata]),
        size=np.array([size[name] for name in found]),
        block=np.array([blocks.index(name.rstrip("0123456789")) for name in found]),
        planned_error=np.full(len(found), 0.25),
    )
    return plan, labels


def _check_complete(
    path: str, strata: list[str], size: dict[str, int], drawn: dict[str, float], n_items: int
) -> None:
    """Refuse a file that has lost or gained lines, or belongs to other votes."""
    for stratum, number in drawn.items():
        if strata.count(stratum) != round(number):
            raise ValueError(
                f"{path}: {strata.count(stratum)} lines of stratum {stratum}, but {round(number)} were drawn; leave "
                "out no line and add none"
            )
    if sum(size.values()) != n_items:
        raise ValueError(f"{path} was drawn from {sum(size.values()):,} items, but the votes have {n_items:,}")
