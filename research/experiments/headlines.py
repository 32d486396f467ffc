"""What the index of results says first: what is better than what others do, by how much and on what; what is not.

Every sentence is made from the tables of the pages, so it changes with the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from research.experiments.framework import Summary
from research.experiments.tables import Table

_EACH, _ASKED = 500, 20
_MATTERS, _SAME = 0.5, 0.1  # points
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


def _board(votes: str) -> Callable[[Summary], Said]:
    """Return what a leaderboard says: over the plain way, beside the peers, and what is lost to them."""

    def said(summary: Summary) -> Said:
        ahead, behind = _over_the_plain_way(votes, _table(summary, "leaderboard"))
        peers = [table for table in summary.tables if table.name == "peers"]
        rows = [row for table in peers for row in _rows(table) if row["we lead by"] is not None]
        leads = sorted((row for row in rows if row["we lead by"] > 0), key=lambda row: row["we lead by"])
        if leads:
            count = (
                f"{len(leads)} of {len(rows)} methods of" if len(leads) < len(rows) else f"all {len(rows)} methods of"
            )
            ahead.append(
                f"**{votes}**: ahead of {count} other packages in the mean, of the nearest by {_lead(leads[0])}."
            )
        behind += [
            f"**{votes}**: another package is ahead in the mean by {_lead(row)}."
            for row in rows
            if row["we lead by"] <= 0
        ]
        if rows:
            most = max(rows, key=lambda row: row["points"])
            behind += _families_of_others(votes, _table(summary, "families"), [row[""] for row in rows])
            behind.append(
                f"**{votes}**: on one panel another package leads by {most['points']:.1f} points ({most['']} on "
                f"{most['its largest lead']})."
            )
        return ahead, behind

    return said


def _families_of_others(votes: str, table: Table, others: list[str]) -> list[str]:
    """Say in which families of panels another package is ahead, of those whose panels it finished."""
    found = []
    for row in _rows(table):
        known = {name: row[name] for name in others if row.get(name) is not None}
        best = max(known, key=lambda name: known[name], default=None)
        if best is not None and known[best] > row["LatentSML()"] + _MATTERS:
            found.append(f"{row['family']} ({best} {known[best]:.1f}, ours {row['LatentSML()']:.1f} %)")
    text = f"**{votes}**: families where another package is ahead by more than half a point in the mean"
    return [f"{text}: {_listed(found)}."] if found else []


def _lead(row: dict[str, Any]) -> str:
    score = f"{row['we win']} won, {row['it wins']} lost"
    return f"{abs(row['we lead by']):.1f} points ({row['']}, {row['panels']} panels, {score})"


def _over_the_plain_way(votes: str, table: Table) -> Said:
    """Say by how much the default is above the majority vote or the mean rank."""
    ours = _row(table, "LatentSML()")
    column = next(head for head in table.header if head.startswith("over "))
    interval = f" ({ours['95 % from']:+.1f} to {ours['to']:+.1f})" if "95 % from" in ours else ""
    text = (
        f"**{votes}**: {ours[column]:+.1f} points{interval} {column}, {ours['panels']} panels; better by more than "
        f"half a point on {ours['wins > 0.5']}, worse on {ours['losses > 0.5']}."
    )
    behind = _no_better_order(votes, table, ours)
    return ([text], behind) if ours[column] > 0 else ([], [text, *behind])


def _no_better_order(votes: str, table: Table, ours: dict[str, Any]) -> list[str]:
    """Say which plain way or other package orders items as well, where a table has that."""
    if "AUC %" not in table.header:
        return []
    others = [row for row in _rows(table) if row["AUC %"] is not None and "LatentSML" not in row[""]]
    best = max(others, key=lambda row: row["AUC %"])
    if best["AUC %"] < ours["AUC %"] - _SAME:
        return []
    return [
        f"**{votes}**: items are ordered as well by {best['']}: AUC {best['AUC %']:.1f}, ours {ours['AUC %']:.1f} %."
    ]


def _few_labels(summary: Summary) -> Said:
    """Say what twenty labels that were asked for add, beside twenty of random items and other ways to use them."""
    found = _rows(_table(summary, "labels"))
    rows = [row for row in found if row["labels"] == _ASKED]
    if not rows:
        return [], []
    asked, *others = rows
    shown = [f"{row['']} {row['over no labels']:+.1f}" for row in others]
    rest, before = asked["of items not known %"], found[0]["of items not known %"]
    text = (
        f"**{_ASKED} known labels**, points over none: {asked['']} {asked['over no labels']:+.1f} on "
        f"{asked['panels']} panels (the other items alone {rest:.1f} % instead of {before:.1f}); {_listed(shown)}."
    )
    best = all(asked["over no labels"] > row["over no labels"] for row in others)
    return ([text], []) if best else ([], [text])


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
        f"the model that drew them, and {tie['flagged ambiguous %']:.0f} % of the draws say so."
    ]


def _simulated(summary: Summary) -> Said:
    table = _table(summary, "blind")
    ours, net = _row(table, "LatentSML()"), table.rows[-1]
    gaps = {head: ours[head] - other for head, other in zip(table.header[1:], net[1:], strict=True)}
    shown = [
        f"{ours[head]:.1f} against {ours[head] - gap:.1f} % on {head}" for head, gap in gaps.items() if gap < -0.5
    ]
    return [], [f"**A deep net** on votes that its authors simulated is ahead: {_listed(shown)}."] if shown else []


def _against_rest(summary: Summary) -> Said:
    every = next(row for row in _rows(_table(summary, "panels")) if row["panel"] == "all classes")
    found = (
        f"**Panels on which no default was chosen**, {every['classes']} classes against the rest: "
        f"{every['LatentSML() %']:.1f} %, the majority vote {every['MajorityVote %']:.1f} %, textbook "
        f"Dawid and Skene {every['DawidSkene() %']:.1f} %; the interval promised for our labels held on "
        f"{every['interval held %']:.0f} %, of 90 %."
    )
    ahead = every["LatentSML() %"] > max(every["MajorityVote %"], every["DawidSkene() %"])
    return ([found], []) if ahead else ([], [found])


_SENTENCES: dict[str, Callable[[Summary], Said]] = {
    "panels": _board("Real votes of two classes"),
    "classes": _board("Real votes of more classes"),
    "scores": _board("Real grades and scores"),
    "crowds": _board("Sparse crowds"),
    "few_labels": _few_labels,
    "against_rest": _against_rest,
    "today": _today,
    "uci": _uci,
    "dream": _dream,
    "artificial": _artificial,
    "simulated": _simulated,
}
