"""What the commands show in a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

from goldless.cli.program import program
from goldless.cli.terminal import Style, clean, columns, shown_width
from goldless.report.sentences import METHODS

_ONE_BY_ONE = 12
_EVERYONE_UP_TO = 40
_PANELS = 12
_LACKING = 6
_UNTESTED = "cannot be tested"
_FIGURES = 21  # columns that the figures of a voter take, with the gaps between
_SHARES = 6  # classes
_BY_CLASS_UP_TO = 12  # classes
_IN_PER_CENT_UP_TO = 3  # classes
_INTERVALS_UP_TO = 6  # classes; with more there is no room for both in two columns


def inspect_screen(
    summary: dict[str, Any],
    style: Style,
    *,
    everyone: bool = False,
    quiet: bool = False,
    file: str | None = None,
    notes: Sequence[str] = (),
) -> list[str]:
    """Return one screen: the answer, the voters, what to watch, and what to run next on the same file.

    ``notes`` are those warnings that come first, for they may change everything.
    """
    answer = summary["answer"]
    lines = []
    if not quiet:
        lines += _wrapped(clean(summary["source"] or ""), style, "dim")
        for sentence in notes:
            lines += _wrapped(f"! {clean(sentence)}", style, "yellow")
    lines += _wrapped(clean(answer["headline"]), style, "bold", "green")
    for sentence in answer["advice"]:
        lines += _wrapped(f"• {clean(sentence)}" if style.unicode else f"* {clean(sentence)}", style)
    lines += ["", *_expected_table(summary, style)]
    if not quiet:
        lines += _wrapped(_tests(summary), style, "dim")
        lacking = summary["diagnosis"]["said_without"]
        if len(lacking) > _LACKING:
            lacking = [*lacking[:_LACKING], f"{len(lacking) - _LACKING} more reasons for no interval: --json."]
        for sentence in lacking:
            lines += _wrapped(clean(sentence), style, "dim")
    lines.append("")
    many = summary["votes"]["n_voters"] > _EVERYONE_UP_TO and not everyone
    lines += _groups_table(summary, style) if many else _voters_table(summary, style)
    if quiet:
        return lines
    for sentence in summary["warnings"]:
        if sentence not in notes:
            lines += _wrapped(f"! {clean(sentence)}", style, "yellow")
    if many:
        lines += _wrapped("--all lists every voter.", style, "dim")
    if file is not None:
        anchors = ""
        if answer["ambiguous"] or summary["diagnosis"]["use"] == "check":
            lines.append(style("Next, items to label by hand:", "dim"))
            lines.append(f"  {program()} ask {clean(file)} -o ask.csv")
            anchors = " --anchors ask.csv"
        majority = " --method majority" if summary["diagnosis"]["use"] == "majority" else ""
        lines.append(style("Next, labels as advised, a check of them by hand, and a page with pictures:", "dim"))
        lines.append(f"  {program()} combine {clean(file)}{majority}{anchors} -o labels.csv")
        lines.append(f"  {program()} audit {clean(file)} -o to_label.csv")
        lines.append(f"  {program()} report {clean(file)} -o report.html")
    return lines


def _expected_table(summary: dict[str, Any], style: Style) -> list[str]:
    """Compare the ways to label: what is expected of each and, where it is known, what is true."""
    truth, chance = summary["truth"], summary["answer"]["chance"]
    true = {row["method"]: row["balanced_accuracy"] for row in truth["methods"]} if truth else {}
    rows = []
    for row in summary["answer"]["expected"]:
        detail = f" ({_cut(clean(str(row['detail'])), 13 if truth else 19)})" if row["detail"] else ""
        real = "-" if row["interval"] is None else "-".join(f"{100 * end:.0f}" for end in row["interval"]) + " %"
        rows.append(
            [
                METHODS[row["method"]] + detail,
                real,
                _percent(row["balanced_accuracy"]),
                *([_percent(true[row["method"]]) if row["method"] in true else ""] if truth else []),
                style.bar((row["balanced_accuracy"] - chance) / (1 - chance), 12 if truth else 16),
            ]
        )
    title = f"balanced accuracy (chance: {100 * chance:.3g} %)"
    head = [title, "real 90 %", "model", *(["true"] if truth else []), "above chance"]
    table = [line.rstrip() for line in columns(head, rows, style, align="<>>><" if truth else "<>><")]
    return [*table, *_wrapped(clean(summary["answer"]["on_real_panels"]), style, "dim")]


def _tests(summary: dict[str, Any]) -> str:
    """Return the p-values in a sentence."""
    found = summary["diagnosis"]
    independent, fit = (_pvalue(found[name]) for name in ("independence_pvalue", "fit_pvalue"))
    share = _class_shares(summary)
    if independent == fit == _UNTESTED:
        return f"{share[0].upper()}{share[1:]}."
    return f"Tests (a small p speaks against): voters independent {independent}; groups explain all {fit}; {share}."


def _class_shares(summary: dict[str, Any]) -> str:
    """Return the shares of the classes, with intervals; of two that of the positive class, of many the largest."""
    votes = summary["votes"]
    names = [_cut(clean(name), 20) for name in votes["classes"]]
    ends = [
        f"{100 * share:.0f} %" if pair is None else "-".join(f"{100 * end:.0f}" for end in pair) + " %"
        for share, pair in zip(votes["class_shares"], summary["diagnosis"]["class_shares_interval"], strict=True)
    ]
    if len(names) == 2:
        return f"share of {names[1]!r}: {ends[1]}"
    largest = sorted(range(len(names)), key=lambda code: -votes["class_shares"][code])[:_SHARES]
    more = f" and {len(names) - _SHARES} more" if len(names) > _SHARES else ""
    return "shares of the classes: " + ", ".join(f"{names[code]} {ends[code]}" for code in largest) + more


def _pvalue(value: float | None) -> str:
    if value is None:
        return _UNTESTED
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _voters_table(summary: dict[str, Any], style: Style) -> list[str]:
    """List every voter, in two columns when there are many."""
    voters = [summary["voters"][i] for i in summary["order"]]
    n_classes = len(summary["votes"]["classes"])
    by_class = 2 < n_classes <= _BY_CLASS_UP_TO
    halves = 2 if len(voters) > _ONE_BY_ONE and _width() >= 78 else 1
    intervals = not (by_class and halves == 2 and n_classes > _INTERVALS_UP_TO)
    figures = _FIGURES + (1 + len(_recalls(voters[0]["recall"])) if by_class else 0) - (0 if intervals else 8)
    width = max((_width() - 4) // halves - figures, 8)
    header = ["voter", "gr", "acc", *["90 %"] * intervals, *["rec"] * by_class, "uniq"]
    align = "<<>" + ">" * intervals + "<" * by_class + ">"
    rows = [
        [
            _cut(clean(voter["name"]), min(width, 32)),
            voter["group"] or "-",
            _share(voter["balanced_accuracy"]),
            *([_ends(voter["balanced_accuracy_interval"])] * intervals),
            *([_recalls(voter["recall"])] * by_class),
            f"{voter['uniqueness']:.2f}{'*' if voter['panel'] else ' '}",
        ]
        for voter in voters
    ]
    if halves == 2:
        middle = -(-len(rows) // 2)
        right = rows[middle:] + [[""] * len(header)] * (2 * middle - len(rows))
        rows = [[*one, "|", *other] for one, other in zip(rows[:middle], right, strict=True)]
        table = columns([*header, "|", *header], rows, style, align=f"{align}<{align}", gap=1)
    else:
        table = columns(header, rows, style, align=align, gap=1)
    note = (
        f"gr: one letter, one echo; acc: balanced accuracy (chance {_share(1 / n_classes)}), 90 %: of real panels; "
    )
    if by_class:
        names = ", ".join(_cut(clean(name), 12) for name in summary["votes"]["classes"])
        unit = "per cent" if n_classes <= _IN_PER_CENT_UP_TO else "tenths"
        note += f"rec: {unit} right on {names}; "
    note += "uniq: independent share (0 = copy); *: suggested panel"
    return [*(line.rstrip() for line in table), *_wrapped(note, style, "dim")]


def _recalls(rates: list[float]) -> str:
    """Return the recall of each class: of three classes in per cent, of more as one digit, in tenths."""
    if len(rates) <= _IN_PER_CENT_UP_TO:
        return "/".join(f"{min(round(100 * rate), 99):02d}" for rate in rates)
    return "".join(str(min(int(10 * rate), 9)) for rate in rates)


def _share(value: float) -> str:
    return f"{value:.2f}".lstrip("0")


def _ends(interval: list[float] | None) -> str:
    return "-" if interval is None else "-".join(_share(end) for end in interval)


def _groups_table(summary: dict[str, Any], style: Style) -> list[str]:
    """List groups in one line each, then the best of those that are alone."""
    voters = summary["voters"]
    rows = []
    for group in summary["groups"]:
        members = sorted((voters[i] for i in group["voters"]), key=lambda voter: -voter["balanced_accuracy"])
        stable = "" if group["stability"] is None else f"{group['stability']:.2f}"
        rows.append([group["name"], stable, *_row_of(members)])
    alone = [voters[i] for i in summary["order"] if voters[i]["group"] is None]
    if alone:
        rows.append(["-", "", *_row_of(alone)])
    shown, hidden = rows[:30], len(rows) - 30
    table = columns(["gr", "stable", "size", "accuracy", "members, best first"], shown, style, align="<>><<")
    lines = [line.rstrip() for line in table]
    if hidden > 0:
        lines.append(style(f"and {hidden} smaller groups", "dim"))
    n_resamples = summary["diagnosis"]["n_resamples"]
    if n_resamples:
        note = f"stable: how often two of a group are found together when items are resampled ({n_resamples} times)"
        lines += _wrapped(note, style, "dim")
    panel = ", ".join(_cut(clean(name), 20) for name in summary["panel"]["names"])
    return [*lines, *_wrapped(f"Panel: {panel}", style)]


def _row_of(members: list[dict[str, Any]]) -> list[str]:
    best, worst = members[0]["balanced_accuracy"], members[-1]["balanced_accuracy"]
    room, used = max(_width() - 38, 20), 0
    names: list[str] = []
    for member in members:
        name = _cut(clean(member["name"]), 20)
        if used + len(name) + 2 > room - 10:
            names.append(f"+{len(members) - len(names)}")
            break
        names.append(name)
        used += len(name) + 2
    return [str(len(members)), f"{worst:.2f}-{best:.2f}", ", ".join(names)]


def select_screen(result: dict[str, Any], summary: dict[str, Any], style: Style) -> list[str]:
    """Return the panel, voter by voter, then the panels worth their cost."""
    priced = result["panel_cost"] is not None
    rows = [
        [
            str(number),
            _cut(clean(step["voter"]), 40),
            step["group"] or "-",
            *([f"{step['cost']:g}"] if priced else []),
            f"{step['balanced_accuracy']:.3f}",
            f"{step['effective_votes']:.1f}",
        ]
        for number, step in enumerate(result["panel"], 1)
    ]
    header = ["", "voter", "group", *(["cost"] if priced else []), "accuracy", "votes so far"]
    lines = _wrapped(clean(result["how"]), style, "dim")
    lines += [line.rstrip() for line in columns(header, rows, style, align="><<>>>" if priced else "><<>>")]
    expected = {row["method"]: row["balanced_accuracy"] for row in result["expected"]}
    costs = f" of cost {result['panel_cost']:g}" if priced else ""
    lines += _wrapped(
        f"Expected balanced accuracy: this panel{costs} {_percent(result['panel_balanced_accuracy'])} (by simple "
        f"vote {_percent(result['panel_vote_accuracy'])}), all {summary['votes']['n_voters']} voters "
        f"{_percent(expected['combined'])}, majority of all {_percent(expected['majority vote'])}.",
        style,
    )
    lines += ["", *_panels_table(result["panels"], priced, style)]
    if summary["truth"]:
        scores = ", ".join(
            f"{row['method']} {_percent(row['balanced_accuracy'])}" for row in summary["truth"]["methods"]
        )
        lines += _wrapped(f"Against the truth: {scores}.", style, "bold")
    for sentence in [*result["warnings"], *([result["shared_name"]] if result["shared_name"] else [])]:
        lines += _wrapped(f"! {clean(sentence)}", style, "yellow")
    return lines


def _panels_table(panels: list[dict[str, Any]], priced: bool, style: Style) -> list[str]:
    """List the panels worth their cost, one a line, with what each adds to the one before."""
    shown = panels[:_PANELS]
    rows: list[list[str]] = []
    before: list[str] = []
    for panel in shown:
        voters = panel["voters"]
        grown = bool(before) and voters[: len(before)] == before
        names = [_cut(clean(name), 20) for name in (voters[len(before) :] if grown else voters)]
        rows.append(
            [
                *([f"{panel['cost']:g}"] if priced else []),
                str(panel["size"]),
                _percent(panel["balanced_accuracy"]),
                _percent(panel["vote_accuracy"]),
                f"{panel['effective_votes']:.1f}",
                _cut(("... + " if grown else "") + ", ".join(names), max(_width() - 45, 30)),
            ]
        )
        before = voters
    header = [*(["cost"] if priced else []), "size", "weighted", "simple vote", "votes", "voters (...: as above)"]
    table = columns(header, rows, style, align=">>>>><" if priced else ">>>><")
    note = "Panels worth their cost: each as accurate as all cheaper ones, and better in accuracy or in votes."
    more = f" {len(panels) - _PANELS} dearer ones are in --json." if len(panels) > _PANELS else ""
    return [*(line.rstrip() for line in table), *_wrapped(note + more, style, "dim")]


def audit_screen(result: dict[str, Any], style: Style, *, quiet: bool = False) -> list[str]:
    """Return how good labels are, from an audit; then those of a fit with the same labels as anchors."""
    lines = _audit_table(result, style, "audit of the labels")
    anchored = result["with_labels_as_anchors"]
    if anchored is not None:
        lines += ["", *_audit_table(anchored, style, "with these labels as anchors")]
        lines += _wrapped("Each label was compared with a fit that did not know it.", style, "dim")
    if quiet:
        return lines
    unsure = f", {result['n_unsure']} that nobody can tell counted both ways" if result["n_unsure"] else ""
    lines += _wrapped(
        f"{result['n_labelled']} of {result['n_items']:,} items labelled by hand, {result['n_wrong']} of them wrong"
        f"{unsure}. Plus or minus 5 points of balanced accuracy would take about "
        f"{result['labels_for_5_points']:,} labels.",
        style,
    )
    if result["looks"]:
        lines += _wrapped("These intervals hold however often you look.", style, "dim")
    return lines


def _audit_table(result: dict[str, Any], style: Style, title: str) -> list[str]:
    """List what an audit estimates."""
    value, interval = result["value"], result["interval"]
    names = [_cut(clean(name), 24) for name in result["classes"]]
    found = [(name.replace("_", " "), value[name], interval[name]) for name in ("balanced_accuracy", "accuracy")]
    found += zip([f"right on {name}" for name in names], value["recall"], interval["recall"], strict=True)
    if len(names) == 2:
        found.append((f"share of {names[1]}", value["class_balance"], interval["class_balance"]))
    else:
        shares = value["class_balance"], interval["class_balance"]
        found += zip([f"share of {name}" for name in names], *shares, strict=True)
    rows = [[name, _percent(share), "-".join(f"{100 * end:.1f}" for end in ends)] for name, share, ends in found]
    return [line.rstrip() for line in columns([title, "estimate", "95 %"], rows, style, align="<>>")]


# -- text ---------------------------------------------------------------------------------------------------


def _cut(text: str, width: int) -> str:
    """Shorten a name in its middle, for names of voters often differ at their end."""
    if shown_width(text) <= width:
        return text
    start, end = "", ""
    while shown_width(start) + shown_width(end) < width - 1:
        start, end = (text[: len(start) + 1], end) if len(start) <= len(end) else (start, text[-len(end) - 1 :])
    while shown_width(start) + shown_width(end) > width - 1:  # the last letter was a wide one
        start = start[:-1]
    return f"{start}~{end}"


def _width() -> int:
    return min(shutil.get_terminal_size((80, 24)).columns, 100)


def _wrapped(text: str, style: Style, *names: str) -> list[str]:
    """Fold text to the width of the terminal; a path or an option is never cut, so that it can be pasted."""
    indent = "  " if text[:2] in ("• ", "* ", "! ") else ""
    lines = textwrap.wrap(
        text, max(_width() - 1, 40), subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    return [style(line, *names) for line in lines]


def _percent(share: float | None) -> str:
    if share is None:
        return "unknown"
    return "> 99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"
