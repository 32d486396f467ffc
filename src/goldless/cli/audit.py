"""``goldless audit``: draw items to label, then say how good the labels are."""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from typing import Any

import numpy as np

import goldless as gl
from goldless.cli.commands import read_and_fit, same_file, tell_reader, write_json, write_lines
from goldless.cli.facts import facts_of, item_names
from goldless.cli.output import Progress, check_output, write_output
from goldless.cli.program import program
from goldless.cli.screens import audit_screen
from goldless.cli.terminal import Style, clean
from goldless.diagnosis.result import plain
from goldless.io.files import VotesFile
from goldless.io.writing import table_bytes
from goldless.spelling import nearest

_COLUMNS = ("item", "label", "row", "stratum", "stratum_items", "inclusion_probability")
_HALF_WIDTH = 0.05
_UNSURE = ("?", "unsure")


def audit(arguments: argparse.Namespace) -> None:
    """Write items to label or, with their labels, print how good the labels are."""
    if arguments.labels is None:
        _draw(arguments)
    else:
        _estimate(arguments)


def _draw(arguments: argparse.Namespace) -> None:
    """Write the items to label, in the order to label them, with all that an estimate needs."""
    check_output(arguments.output, arguments.force, arguments.file)
    table, model, said = read_and_fit(arguments)
    plan = gl.audit(model, table.votes, arguments.n, random_state=arguments.seed)
    names = item_names(table.votes)
    rows = [
        [names[row], "", row + 1, stratum, size, round(float(share), 6)]
        for row, stratum, size, share in zip(
            plan.rows.tolist(),
            _strata(plan),
            plan.size[plan.stratum].tolist(),
            plan.inclusion_probability,
            strict=True,
        )
    ]
    if arguments.output not in (None, "-") or not arguments.json:
        columns = list(zip(*rows, strict=True))
        write_output(arguments.output, table_bytes(list(_COLUMNS), columns, arguments.output or "-"))
    needed = plan.labels_for(_HALF_WIDTH)
    if arguments.json:
        write_json(
            {
                "items": [dict(zip(_COLUMNS, [row[0], None, *row[2:]], strict=True)) for row in rows],
                "labels_for_5_points": needed,
                "how": table.how,
                "warnings": said,
                "output": arguments.output,
            }
        )
    elif not arguments.quiet:
        tell_reader(table, said)
        filled = "labelled.csv" if arguments.output in (None, "-") else arguments.output
        sys.stderr.write(
            f"Drew {len(rows)} of {plan.n_items:,} items. Plus or minus 5 points would take about {needed:,}.\n"
            "Fill in the labels from the top, without looking at the votes; leave out no line, and write ? where "
            f"nobody can tell. Then:\n  {program()} audit {same_file(arguments)} --labels {clean(filled)}\n"
        )


def _strata(plan: gl.AuditPlan) -> list[str]:
    """Return a name for the stratum of each row that does not tell which label was predicted."""
    order = np.random.default_rng(plan.seed).permutation(int(plan.block.max()) + 1)
    level = [int((plan.block[:number] == block).sum()) + 1 for number, block in enumerate(plan.block)]
    names = [f"{_letters(int(order[block]))}{level[number]}" for number, block in enumerate(plan.block)]
    return [names[stratum] for stratum in plan.stratum]


def _letters(number: int) -> str:
    return chr(ord("a") + number % 26) * (number // 26 + 1)


def _estimate(arguments: argparse.Namespace) -> None:
    """Print how good the labels are."""
    lines = _read(arguments.labels)
    table, model, said = read_and_fit(arguments)
    plan, labels = _plan_of(arguments.labels, lines, table, model)
    if not labels:
        raise ValueError(f"{arguments.labels} has no labels yet: fill in its column 'label'")
    outcome = plan.estimate(labels, anytime=arguments.sequential)
    anchored = None
    if arguments.cross_fit:
        with Progress("Fitting again", arguments.quiet):
            anchored = plan.cross_fit(model, table.votes, labels, **facts_of(arguments, table.votes))[1]
    result = {
        **_as_json(outcome),
        "labels_for_5_points": outcome.labels_for(_HALF_WIDTH),
        "with_labels_as_anchors": None if anchored is None else _as_json(anchored),
        "how": table.how,
        "warnings": said,
    }
    if arguments.json:
        write_json(result)
        return
    if not arguments.quiet:
        tell_reader(table, said)
    write_lines(audit_screen(result, Style(), quiet=arguments.quiet))
    if anchored is not None and not arguments.quiet:
        anchors = f"--anchors {clean(arguments.labels)}"
        write_lines([f"  {program()} combine {same_file(arguments)} {anchors} -o labels.csv"])


def _as_json(outcome: gl.AuditOutcome) -> dict[str, Any]:
    return {
        "classes": [str(label) for label in outcome.classes.tolist()],
        "n_items": outcome.n_items,
        "n_labelled": outcome.n_labelled,
        "n_unsure": outcome.n_unsure,
        "n_wrong": outcome.n_wrong,
        "value": plain(outcome.value),
        "interval": plain(outcome.interval),
        "looks": plain(outcome.looks),
    }


# -- the file -----------------------------------------------------------------------------------------------


def _read(path: str) -> list[dict[str, str]]:
    """Read the lines of a file that ``audit -o`` wrote."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as stream:
            lines = list(csv.DictReader(stream, delimiter="\t" if path.lower().endswith(".tsv") else ","))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"cannot read the labels in {path}: {reason.lower()}") from None
    lacking = [name for name in _COLUMNS if not lines or name not in lines[0]]
    if lacking:
        raise ValueError(
            f"{path} has no column {lacking[0]!r}: an audit needs the file that audit -o wrote, with labels filled "
            "in; labels that were chosen, as by ask, are no sample and cannot measure"
        )
    return lines


def _plan_of(
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
        said = (line["label"] or "").strip()
        if said in _UNSURE:
            labels[row] = None
        elif said and said not in by_name:
            raise ValueError(
                f"{place}: the label {said!r} is none of {', '.join(by_name)}{nearest(said, list(by_name))}"
            )
        elif said:
            labels[row] = by_name[said]
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
