"""What the index of results says first: what is better than what others do, by how much and on what; what is not.

Every sentence is made from the tables of the pages, so it changes with the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from research.experiments.framework import Summary
from research.experiments.tables import Table

_EACH = 500
OURS = "L-SML, search (default)"
Said = tuple[list[str], list[str]]  # what is better, what is not


def headlines(summaries: dict[str, Summary]) -> Said:
    """Return the sentences on what is better and on what is not, those of each page with a link to it."""
    better: list[str] = []
    worse: list[str] = []
    for name, made in _SENTENCES.items():
        if name in summaries:
            ahead, behind = made(summaries[name])
            better += [f"{text} ([page]({name}.md))" for text in ahead]
            worse += [f"{text} ([page]({name}.md))" for text in behind]
    return better, worse


def _table(summary: Summary, name: str) -> Table:
    return next(table for table in summary.tables if table.name == name)


def _rows(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def _row(table: Table, label: str) -> dict[str, Any]:
    return next(row for row in _rows(table) if row[""] == label)


def _listed(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _panels(summary: Summary) -> Said:
    """Beside the peers on real panels, from the nearest peer to the farthest."""
    table = _table(summary, "peers")
    rows = [row for row in _rows(table) if row["we lead by"] is not None]
    if not rows:
        return [], []
    leads = [row for row in rows if row["we lead by"] > 0]
    behind = [row for row in rows if row["we lead by"] <= 0]
    shown = [
        f"{row['']} {row['we lead by']:+.1f} on {row['panels']} panels ({row['we win']} won, {row['it wins']} lost)"
        for row in leads
    ]
    lost = [f"{row['it wins']} of {row['panels']} to {row['']}" for row in rows]
    ahead = [f"**Real votes of two classes**, points of balanced accuracy over {_listed(shown)}."] if shown else []
    most = max(rows, key=lambda row: row["points"])
    return ahead, [
        *(f"{row['']} is ahead in the mean by {-row['we lead by']:.1f} points." for row in behind),
        f"**Single panels of two classes** are lost by more than half a point to every peer: {_listed(lost)}; by the "
        f"most {most['points']:.1f} points, to {most['']} on {most['its largest lead']}.",
    ]


def _today(summary: Summary) -> Said:
    """Beside what people do today: kinds of real votes where the mean is higher, and where it is not."""
    ahead: list[str] = []
    behind: list[str] = []
    for table in summary.tables:
        *others, ours = [row for row in _rows(table) if row["real votes %"] is not None]
        nearest = min(others, key=lambda row: row["goldless there %"] - row["real votes %"], default=None)
        if nearest is None:
            continue
        gain = nearest["goldless there %"] - nearest["real votes %"]
        files = f"{ours['files']} file{'s' if ours['files'] > 1 else ''}"
        text = (
            f"**{table.title}**: {ours['real votes %']:.1f} % on {files} of real votes. Of {len(others)} ways "
            f"people use today the nearest, {nearest['']}, has {nearest['real votes %']:.1f} %"
        )
        if nearest["files"] < ours["files"]:
            text += f" on {nearest['files']} of them, where ours have {nearest['goldless there %']:.1f} %"
        (ahead if gain > 0.05 else behind).append(f"{text}.")
    return ahead, behind


def _uci(summary: Summary) -> Said:
    table = _table(summary, "mean-difference-unseen")
    place = table.header.index("search (default)")  # its standard error stands behind it
    clear: list[str] = []
    unclear: list[str] = []
    for row in (row for row in table.rows if row[1] == _EACH):
        name, (gain, error) = row[0], row[place : place + 2]
        (clear if gain > 2 * error else unclear).append(f"{gain:+.1f} ± {error:.1f} on {name}")
    text = (
        f"**Classifiers trained by Weka**, {_EACH} items each, points over SML+EM, which takes them for independent"
    )
    return [f"{text}: {_listed(clear)}."] if clear else [], [f"{text}: {_listed(unclear)}."] if unclear else []


def _dream(summary: Summary) -> Said:
    table = _table(summary, "challenge-1")
    ours = _row(table, OURS)
    of = {label: _row(table, label) for label in ("majority vote", "SML+EM", "best voter")}
    sets = ("S1", "S2", "S3")

    def errors(row: dict[str, Any]) -> str:
        return " / ".join(f"{row[name]:.2f}" for name in sets)

    lost = [
        f"{name} ({ours[name]:.2f} against {of['best voter'][name]:.2f} %)"
        for name in sets
        if ours[name] > of["best voter"][name]
    ]
    return [
        f"**DREAM mutation calls**, balanced error {errors(ours)} %: the majority vote has "
        f"{errors(of['majority vote'])}, "
        f"SML+EM {errors(of['SML+EM'])}."
    ], [
        f"**DREAM**: the best of all callers, which nobody knows without labels, is better on {_listed(lost)}."
    ] if lost else []


def _artificial(summary: Summary) -> Said:
    rows = _rows(_table(summary, "error-by-size"))
    near = [row for row in rows if row["size of G1"] < 10]
    most = max(row["search above Oracle-L"] for row in near)
    tie = rows[-1]
    return [
        "**Simulated votes with one group of 1 to 9 among 20 voters**: at most "
        f"{most:.2f} points of error above the model that drew them."
    ], [
        "**A group of half the voters** is a tie that no votes decide: "
        f"{tie['search above Oracle-L']:.1f} points above "
        f"it, and {tie['flagged ambiguous %']:.0f} % of the draws say so."
    ]


def _simulated(summary: Summary) -> Said:
    table = _table(summary, "blind")
    ours, net = _row(table, "LatentSML()"), table.rows[-1]
    gaps = {head: ours[head] - other for head, other in zip(table.header[1:], net[1:], strict=True)}
    shown = [
        f"{ours[head]:.1f} against {ours[head] - gap:.1f} % on {head}" for head, gap in gaps.items() if gap < -0.5
    ]
    return [], [f"**A deep net** on votes that its authors simulated is ahead: {_listed(shown)}."] if shown else []


_SENTENCES: dict[str, Callable[[Summary], Said]] = {
    "panels": _panels,
    "today": _today,
    "uci": _uci,
    "dream": _dream,
    "artificial": _artificial,
    "simulated": _simulated,
}
