"""What the commands show in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.cli.display import heading, line, program, sentence, table, width
from goldless.report.sentences import HAS_GAPS, METHODS
from goldless.votes.votes import Votes
from goldless.words import cell_width, class_names, clean, listed, p_value, percent, percent_interval, shortened

_ONE_BY_ONE = 6  # voters; more are listed in two columns
_EVERYONE_UP_TO = 40  # voters
_BEST = 20  # voters that are listed of more
_GROUPS = 10
_PANELS = 12
_CHANGES = 20
_LACKING = 6
_FIGURES = 21  # columns that the figures of a voter take, with the gaps between
_SHARES = 6  # classes
_BY_CLASS_UP_TO = 12  # classes
_IN_PER_CENT_UP_TO = 3  # classes
_BROAD = 84  # columns that groups, intervals and recalls of voters take side by side
_VOTES_ON_ALL = 0.95  # of the items; of a panel with a voter that has fewer votes it is said
_INTERVALS_UP_TO = 6  # classes; with more there is no room for both in two columns
_ADVISED = {
    "combined": "combined",
    "majority": "majority vote",
    "independent": "Dawid-Skene",
    "voter": "voter thought best",
}
_QUIET, _WARNING, _EMPTY = "dim", "yellow", ""


def inspect_screen(
    summary: dict[str, Any],
    *,
    everyone: bool = False,
    quiet: bool = False,
    file: str | None = None,
    notes: Sequence[str] = (),
    numbers: Sequence[Any] = (),
) -> list[Any]:
    """Return one screen: what to do, how sure that is, who echoes whom, who is good, and what to run next.

    ``notes`` are those warnings that come first, for they may change everything; ``numbers`` is what is to be said
    of voters that give numbers.
    """
    answer = summary["answer"]
    parts: list[Any] = []
    if not quiet:
        parts.append(sentence(summary["source"] or "", _QUIET))
        parts += [sentence(note, _WARNING, "!") for note in notes]
    parts.append(sentence(answer["headline"], "bold green"))
    advice = answer["advice"]
    if summary["groups"]:  # the second piece of advice is about the groups, which have a table of their own
        advice = [advice[0], *advice[2:]]
    parts += [sentence(piece, bullet="•") for piece in advice]
    parts += [line(_EMPTY), _expected_table(summary)]
    if not quiet:
        parts += [sentence(gaps, _QUIET) for gaps in map(_gaps, answer["expected"]) if gaps]
        parts.append(sentence(f"{answer['on_real_panels']} {_tests(summary)}", _QUIET))
        lacking = summary["diagnosis"]["said_without"]
        if len(lacking) > _LACKING:
            lacking = [*lacking[:_LACKING], f"{len(lacking) - _LACKING} more reasons for no interval: --json."]
        parts += [sentence(reason, _QUIET) for reason in lacking]
    if summary["groups"] or summary["diagnosis"]["dependence"] != answer["headline"]:  # said once is enough
        parts += [line(_EMPTY), *_groups_table(summary)]
    parts += [line(_EMPTY), *_voters_table(summary, everyone), *numbers]
    if quiet:
        return parts
    parts += [sentence(warning, _WARNING, "!") for warning in summary["warnings"] if warning not in notes]
    return [*parts, *_next(summary, file)] if file is not None else parts


def _next(summary: dict[str, Any], file: str) -> list[Any]:
    """Return commands to paste: labels as advised, a check of them by hand, a page."""
    call, named, use = program(), clean(file), summary["diagnosis"]["use"]
    parts, options = [], " --method majority" if use == "majority" else ""
    if summary["answer"]["ambiguous"] or use == "check":
        parts.append(line("Next, items to label by hand:", _QUIET))
        parts.append(line(f"  {call} ask {named} -o ask.csv"))
        options += " --anchors ask.csv"
    parts.append(line("Next, labels as advised, a check of them by hand, and a page with pictures:", _QUIET))
    parts.append(line(f"  {call} combine {named}{options} -o labels.csv"))
    parts.append(line(f"  {call} audit {named} -o to_label.csv"))
    parts.append(line(f"  {call} report {named} -o report.html"))
    return parts


def _expected_table(summary: dict[str, Any]) -> Any:
    """Compare the ways to label: what is expected of each and, where it is known, what is true."""
    truth, chance = summary["truth"], summary["answer"]["chance"]
    true = {row["method"]: row["balanced_accuracy"] for row in truth["methods"]} if truth else {}
    advised = _ADVISED.get(summary["diagnosis"]["use"])
    rows, styles = [], []
    for row in summary["answer"]["expected"]:
        detail = f" ({shortened(clean(str(row['detail'])), 16)})" if row["detail"] else ""
        of_truth = [percent(true[row["method"]]) if row["method"] in true else ""] if truth else []
        figures = [percent_interval(row["interval"]), percent(row["balanced_accuracy"]), *of_truth]
        rows.append([METHODS[row["method"]] + detail, *figures])
        styles.append("bold green" if row["method"] == advised else "")
    title = f"How sure: balanced accuracy (chance: {100 * chance:.3g} %)"
    header = [title, "real panels", "model", *(["true"] if truth else [])]
    return table(header, rows, align="<>>>" if truth else "<>>", styles=styles)


def _gaps(row: dict[str, Any]) -> str:
    """Say of a voter that is to label all items how few of them it votes on."""
    if row["coverage"] is None or row["coverage"] >= HAS_GAPS:
        return ""
    name = shortened(clean(row["detail"]))
    return f"{name} votes on {percent(row['coverage'], 0)} of items; the others count as guesses of it."


def _tests(summary: dict[str, Any]) -> str:
    """Return the p-values in a sentence."""
    found = summary["diagnosis"]
    shares = _class_shares(summary)
    independent, fit = found["independence_pvalue"], found["fit_pvalue"]
    if independent is None and fit is None:
        return f"{shares[0].upper()}{shares[1:]}."
    return f"Test of independence: {p_value(independent)}; of the groups: {p_value(fit)}; {shares}."


def _class_shares(summary: dict[str, Any]) -> str:
    """Return the shares of the classes, with intervals; of two that of the positive class, of many the largest."""
    votes = summary["votes"]
    names = [shortened(clean(name), 20) for name in votes["classes"]]
    ends = [
        percent(share, 0) if pair is None else percent_interval(pair)
        for share, pair in zip(votes["class_shares"], summary["diagnosis"]["class_shares_interval"], strict=True)
    ]
    if len(names) == 2:
        return f"share of {names[1]!r}: {ends[1]}"
    largest = sorted(range(len(names)), key=lambda code: -votes["class_shares"][code])
    return "shares of the classes: " + listed([f"{names[code]} {ends[code]}" for code in largest], _SHARES)


def _groups_table(summary: dict[str, Any]) -> list[Any]:
    """List the groups, one line each, the largest first."""
    voters, title = summary["voters"], "Who echoes whom"
    if not summary["groups"]:
        return [line(title, "bold cyan"), sentence(summary["diagnosis"]["dependence"])]
    rows = []
    for group in summary["groups"][:_GROUPS]:
        members = sorted((voters[i] for i in group["voters"]), key=lambda voter: -voter["balanced_accuracy"])
        best, worst = members[0]["balanced_accuracy"], members[-1]["balanced_accuracy"]
        together = "-" if group["stability"] is None else percent(group["stability"], 0)
        names = _as_many_as_fit([clean(member["name"]) for member in members], max(width() - 47, 20))
        shared = f" ({shortened(clean(group['shared']), 12)})" if group["shared"] else ""
        rows.append(
            [f"{group['name']}{shared}", str(len(members)), together, f"{_share(worst)}-{_share(best)}", names]
        )
    parts = [table([title, "size", "found again", "acc", "members, best first"], rows, align="<>>><")]
    hidden = len(summary["groups"]) - _GROUPS
    if hidden > 0:
        parts.append(line(f"and {hidden} smaller groups (report and --json list them)", _QUIET))
    return parts


def _as_many_as_fit(names: Sequence[str], room: int) -> str:
    """Return as many names as fit in a cell, and how many more there are."""
    most = len(names)
    while most > 1 and cell_width(listed(names, most, lambda name: shortened(name, 20))) > room:
        most -= 1
    return listed(names, most, lambda name: shortened(name, 20))


def _voters_table(summary: dict[str, Any], everyone: bool) -> list[Any]:
    """List every voter, the best of each group first, in two columns when there are many; of very many the best."""
    voters = [summary["voters"][i] for i in summary["order"]]
    hidden = 0 if everyone or len(voters) <= _EVERYONE_UP_TO else len(voters) - _BEST
    if hidden:
        voters = sorted(voters, key=lambda voter: -voter["balanced_accuracy"])[:_BEST]
    n_classes = len(summary["votes"]["classes"])
    by_class = 2 < n_classes <= _BY_CLASS_UP_TO
    halves = 2 if len(voters) > _ONE_BY_ONE and width() >= 78 else 1
    grouped = any(voter["group"] for voter in voters)
    tight = by_class and halves == 2 and (n_classes > _INTERVALS_UP_TO or (grouped and width() < _BROAD))
    intervals = not tight
    figures = _FIGURES + (1 + len(_recalls(voters[0]["recall"])) if by_class else 0)
    figures -= (0 if intervals else 8) + (0 if grouped else 3)
    room = max((width() - 4) // halves - figures, 8)
    title = ["Who is good", *["gr"] * grouped, "acc", *["90 %"] * intervals, *["rec"] * by_class, "uniq"]
    align = "<" + "<" * grouped + ">" + ">" * intervals + "<" * by_class + "<"
    rows = [
        [
            shortened(clean(voter["name"]), min(room, 32)),
            *([voter["group"] or "-"] * grouped),
            _share(voter["balanced_accuracy"]),
            *([_ends(voter["balanced_accuracy_interval"])] * intervals),
            *([_recalls(voter["recall"])] * by_class),
            f"{voter['uniqueness']:.2f}{'*' if voter['panel'] else ''}",
        ]
        for voter in voters
    ]
    if halves == 2:
        middle = -(-len(rows) // 2)
        right = rows[middle:] + [[""] * len(title)] * (2 * middle - len(rows))
        rows = [[*one, "|", *other] for one, other in zip(rows[:middle], right, strict=True)]
        title, align = [*title, "|", "voter", *title[1:]], f"{align}<{align}"
    note = "gr: group; " * grouped + "acc: balanced accuracy; " + "90 %: real panels; " * intervals
    if by_class:
        names = ", ".join(shortened(clean(name), 12) for name in summary["votes"]["classes"])
        unit = "per cent" if n_classes <= _IN_PER_CENT_UP_TO else "tenths"
        note += f"rec: {unit} right on {names}; "
    note += "uniq: 0 = copy; *: panel"
    more = [line(f"{hidden} more voters: --all lists every one.", _QUIET)] if hidden else []
    return [table(title, rows, align=align, gap=1), sentence(note, _QUIET), *more]


def _recalls(rates: list[float]) -> str:
    """Return the recall of each class: of three classes in per cent, of more as one digit, in tenths."""
    if len(rates) <= _IN_PER_CENT_UP_TO:
        return "/".join(f"{min(round(100 * rate), 99):02d}" for rate in rates)
    return "".join(str(min(int(10 * rate), 9)) for rate in rates)


def _share(value: float) -> str:
    return f"{value:.2f}".lstrip("0")


def _ends(interval: list[float] | None) -> str:
    return "-" if interval is None else "-".join(_share(end) for end in interval)


def select_screen(result: dict[str, Any], summary: dict[str, Any]) -> list[Any]:
    """Return the panel, voter by voter, then the panels worth their cost."""
    priced = result["panel_cost"] is not None
    rows = [
        [
            str(number),
            shortened(clean(step["voter"])),
            step["group"] or "-",
            *([f"{step['cost']:g}"] if priced else []),
            f"{step['balanced_accuracy']:.3f}",
            f"{step['effective_votes']:.1f}",
        ]
        for number, step in enumerate(result["panel"], 1)
    ]
    header = ["", "voter", "group", *(["cost"] if priced else []), "accuracy", "votes so far"]
    parts = [sentence(result["how"], _QUIET), table(header, rows, align="><<>>>" if priced else "><<>>")]
    if any(summary["voters"][voter]["coverage"] < _VOTES_ON_ALL for voter in summary["panel"]["voters"]):
        parts.append(sentence("Panels are judged on all items; where no member votes, a panel guesses.", _QUIET))
    expected = {row["method"]: row["balanced_accuracy"] for row in result["expected"]}
    costs = f" of cost {result['panel_cost']:g}" if priced else ""
    parts.append(
        sentence(
            f"Expected balanced accuracy: this panel{costs} {percent(result['panel_balanced_accuracy'])} (by simple "
            f"vote {percent(result['panel_vote_accuracy'])}), all {summary['votes']['n_voters']} voters "
            f"{percent(expected['combined'])}, majority of all {percent(expected['majority vote'])}."
        )
    )
    parts += [line(_EMPTY), *_panels_table(result["panels"], priced)]
    if summary["truth"]:
        scores = ", ".join(
            f"{METHODS[row['method']]} {percent(row['balanced_accuracy'])}" for row in summary["truth"]["methods"]
        )
        parts.append(sentence(f"Against the truth: {scores}.", "bold"))
    warned = [*result["warnings"], *([result["shared_name"]] if result["shared_name"] else [])]
    return [*parts, *(sentence(warning, _WARNING, "!") for warning in warned)]


def _panels_table(panels: list[dict[str, Any]], priced: bool) -> list[Any]:
    """List the panels worth their cost, one per line, with what each adds to the one before."""
    rows: list[list[str]] = []
    before: list[str] = []
    for panel in panels[:_PANELS]:
        voters = panel["voters"]
        grown = bool(before) and voters[: len(before)] == before
        names = [shortened(clean(name), 20) for name in (voters[len(before) :] if grown else voters)]
        rows.append(
            [
                *([f"{panel['cost']:g}"] if priced else []),
                str(panel["size"]),
                percent(panel["balanced_accuracy"]),
                percent(panel["vote_accuracy"]),
                f"{panel['effective_votes']:.1f}",
                shortened(("... + " if grown else "") + ", ".join(names), max(width() - 45, 30)),
            ]
        )
        before = voters
    header = [*(["cost"] if priced else []), "size", "weighted", "simple vote", "votes", "voters (...: as above)"]
    note = "Panels worth their cost: each as accurate as all cheaper ones, and better in accuracy or in votes."
    more = f" {len(panels) - _PANELS} dearer ones are in --json." if len(panels) > _PANELS else ""
    return [table(header, rows, align=">>>>><" if priced else ">>>><"), sentence(note + more, _QUIET)]


def audit_screen(result: dict[str, Any], *, quiet: bool = False) -> list[Any]:
    """Return how good labels are, from an audit; then those of a fit with the same labels as anchors."""
    parts = [_audit_table(result, "audit of the labels")]
    anchored = result["with_labels_as_anchors"]
    if anchored is not None:
        parts += [line(_EMPTY), _audit_table(anchored, "with these labels as anchors")]
        parts.append(sentence("Each label was compared with a fit that did not know it.", _QUIET))
    if quiet:
        return parts
    unsure = f", {result['n_unsure']} that nobody can tell counted both ways" if result["n_unsure"] else ""
    parts.append(
        sentence(
            f"{result['n_labelled']} of {result['n_items']:,} items labelled by hand, {result['n_wrong']} of them "
            f"wrong{unsure}. {_narrow_enough(result)}"
        )
    )
    if result["looks"]:
        more = result["n_labelled"] + result["n_unsure"] < result["looks"][-1]
        again = " Once all are labelled, add --sequential to keep it so." if more else ""
        parts.append(sentence(f"These intervals hold however often you look.{again}", _QUIET))
    return parts


def _narrow_enough(result: dict[str, Any]) -> str:
    """Return whether the interval is as narrow as was wished for, or how many labels that would take."""
    low, high = result["interval"]["balanced_accuracy"]
    wished = f"plus or minus {result['within']:g} points of balanced accuracy"
    if 100 * (high - low) / 2 <= result["within"]:
        return f"That is {wished} or less: no more labels are needed."
    return f"{wished[0].upper()}{wished[1:]} would take about {result['labels_needed']:,} labels."


def _audit_table(result: dict[str, Any], title: str) -> Any:
    """List what an audit estimates."""
    value, interval = result["value"], result["interval"]
    names = [shortened(clean(name), 24) for name in result["classes"]]
    found = [(name.replace("_", " "), value[name], interval[name]) for name in ("balanced_accuracy", "accuracy")]
    found += zip([f"right on {name}" for name in names], value["recall"], interval["recall"], strict=True)
    if len(names) == 2:
        found.append((f"share of {names[1]}", value["class_balance"], interval["class_balance"]))
    else:
        shares = value["class_balance"], interval["class_balance"]
        found += zip([f"share of {name}" for name in names], *shares, strict=True)
    rows = [[name, percent(share), percent_interval(ends, 1)] for name, share, ends in found]
    return table([title, "estimate", "95 % interval"], rows, align="<>>")


def compare_screen(found: dict[str, Any], before: str, after: str) -> list[Any]:
    """Return what changed from one batch of votes to another."""
    parts = [sentence(found["verdict"], "bold")]
    rows = [
        [
            shortened(clean(" and ".join(change["voters"]) or "all items")),
            clean(change["what"]),
            f"{change['before']:.3f}",
            f"{change['after']:.3f}",
            p_value(change["pvalue"]),
        ]
        for change in found["changes"][:_CHANGES]
    ]
    if rows:
        header = ["who", "what", shortened(clean(before), 16), shortened(clean(after), 16), "corrected"]
        parts += [line(_EMPTY), table(header, rows, align="<<>>>")]
    hidden = len(found["changes"]) - _CHANGES
    if hidden > 0:
        parts.append(line(f"and {hidden} more: --json lists them", _QUIET))
    return parts


# -- votes that list only what some voters call --------------------------------------------------------------


def call_lines(summary: dict[str, Any]) -> list[Any]:
    """Return how many candidate items nobody called, and for each voter what it finds and what of it is real."""
    calls = summary["calls"]
    low, high = calls["unseen_interval"]
    who = "nobody" if calls["at_least"] == 1 else f"fewer than {calls['at_least']} voters"
    found = f"about {calls['unseen']:,.0f} (95 % interval {low:,.0f} to {high:,.0f})"
    if calls["given"]:
        found = f"{calls['unseen']:,.0f}, as given (the votes say {low:,.0f} to {high:,.0f})"
    names = _padded(voter["name"] for voter in summary["voters"])
    lines = [heading(f"Candidate items that {who} called: {found}")]
    lines.append(line(f"  {' ' * cell_width(names[0])}   sens    PPV"))
    for name, sensitivity, precision in zip(names, calls["sensitivity"], calls["precision"], strict=True):
        lines.append(line(f"  {name} {100 * sensitivity:4.0f} % {100 * precision:4.0f} %"))
    lines.append(sentence("sens: share of real items that it calls; PPV: share of its calls that are real."))
    return lines


def _padded(names: Iterable[str]) -> list[str]:
    """Return names that fit, all of one width."""
    short = [shortened(clean(name), 32) for name in names]
    width = max(map(cell_width, short))
    return [name + " " * (width - cell_width(name)) for name in short]


# -- voters that give numbers --------------------------------------------------------------------------------


_BARS = "▁▂▃▄▅▆▇█"
_TWO_CLASSES = 0.95


def number_lines(model: Any, votes: Votes) -> list[Any]:
    """Return a line for each voter, and whether the numbers are of two classes or of one scale."""
    names = _padded(votes.voter_names)
    positive = shortened(clean(class_names(model.classes_.tolist(), True)[1]), 20)
    lines = [heading(f"Where each voter turns to {positive} (AUC; share of {positive}, low to high)")]
    facts = zip(names, model.turning_point_, model.direction_, model.auc_, model.severity_, strict=True)
    for (name, point, direction, auc, severity), emission in zip(facts, model.emission_, strict=True):
        turn = "never" if np.isnan(point) else f"{'from' if direction >= 0 else 'below'} {point:.4g}"
        strict = "" if np.isnan(severity) else f"  severity {severity:+.2g}"
        lines.append(line(f"  {name}  {turn:<12} {auc:.2f}  {_bars(emission)}{strict}"))
    if model.scale_or_classes_ < _TWO_CLASSES:
        lines.append(
            sentence(
                "These numbers look like one scale rather than two classes: where to cut is your choice "
                "(--positive-from); labels of about 40 items would set it (--anchors)."
            )
        )
    lines.append(
        sentence("Accuracies of single voters, tests and effective votes are of votes cut where each voter turns.")
    )
    return lines


def _bars(emission: NDArray[np.float64]) -> str:
    """Draw the share of the positive class in each bin, the classes taken as equally frequent."""
    share = emission[1] / np.maximum(emission.sum(axis=0), 1e-300)
    return "".join(_BARS[int(min(height * len(_BARS), len(_BARS) - 1))] for height in share)
