"""The page of a leaderboard: leaderboard, probabilities and costs, families, every panel, what was skipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from research.experiments.board import LABELS, OURS, PERCENT, PLAIN_WAY, Board, interval
from research.experiments.figures import Figure
from research.experiments.framework import Summary
from research.experiments.panels_figures import draw_against_majority, draw_leaderboard, draw_time
from research.experiments.panels_peers import peers_table
from research.experiments.peers import PEERS
from research.experiments.tables import Table, rounded

_WHAT = {
    "panels": "panels of real votes on two classes",
    "classes": "panels of real votes on more than two classes",
    "scores": "panels of real grades, probabilities and scores with two true classes, at most 4,000 evenly spaced "
    "items of each",
    "crowds": "crowds of which each item sees a few: real panels with 20 voters or more and more than half of the "
    "votes missing, and three simulated ones (10,000 items, 400 workers, four classes, five votes an item)",
}
_MORE = {
    "scores": "Methods for votes get the numbers cut where a user would cut them: probabilities at one half, grades "
    'in the middle of the scale, scores at the median. "mean" and "median" are those of the numbers, cut in the same '
    "way; the mean rank is the plain way that others are compared with.",
    "crowds": "Of the simulated crowds one is plain, in one three workers of ten click at random, and in one workers "
    "sit in rooms of twenty where every second vote is what the first of the room says. Real crowds of one source "
    "are one family.",
}


def summarise(name: str, entries: list[dict[str, Any]]) -> Summary:
    """Return the tables and figures of the page."""
    board = Board(entries)
    peers = [peer for peer in PEERS if any(method in board.results for method in peer.methods)]
    tables = [_leaderboard(board), _costs(board), _families(board), _losses(board), _panels(board), _skipped(board)]
    if peers:
        tables[1:1] = [peers_table(board)]
    if 0 < len(board.common) < len(board.panels):
        tables[-4:-4] = [_families(board, common=True)]
    plain = PLAIN_WAY[board.base]
    return Summary(
        [*_paragraphs(name, board), _about_peers(peers)],
        tables,
        [
            Figure(
                "leaderboard",
                f"Mean macro recall minus that of the {plain}; lines are 95 % bootstrap intervals, families drawn "
                "whole. Violet and green are ours, orange the peers; in brackets how many panels a method finished.",
                lambda figure: draw_leaderboard(figure, board),
                height=0.9 + 0.33 * len(board.ran),
            ),
            Figure(
                "against-majority",
                f"Every panel: LatentSML() minus {plain}, in points, sorted; colours are families.",
                lambda figure: draw_against_majority(figure, board),
                height=3.6,
            ),
            Figure(
                "accuracy-and-time",
                f"Mean gain over the {plain} against total CPU time, on the common panels.",
                lambda figure: draw_time(figure, board),
                height=3.8,
            ),
        ],
    )


def _paragraphs(name: str, board: Board) -> list[str]:
    said = [
        f"{len(board.panels)} {_WHAT[name]}; {len(board.families)} families. Truth is used for scoring only. Methods "
        "are compared by macro recall, which of two classes is balanced accuracy. Every method has its defaults on "
        "every panel, one thread, and is timed (CPU seconds) without imports and compilation; memory is the rise "
        "above where the process stood.",
        'Our defaults were chosen with scores on these panels in view, so the figures of "LatentSML()" and '
        '"DawidSkene()" are optimistic; the textbook rows, SML+EM and the peers had no such help.',
    ]
    return said[:1] + ([_MORE[name]] if name in _MORE else []) + said[1:]


def _about_peers(peers: list[Any]) -> str:
    if not peers:
        return "Peers were not run: pass --peers."
    pins = "; ".join(", ".join(peer.requirements) for peer in peers)
    return (
        f"Peers, each in an environment of its own: {pins}. cleanlab asks for the probabilities of a classifier; "
        "panels have no features, so it gets the smoothed shares of the votes, and gives the probability of its "
        "label alone: the other classes share the rest. FlyingSquid is for two classes; skweak gets all items as "
        "spans of one document."
    )


def _leaderboard(board: Board) -> Table:
    rows: list[list[Any]] = []
    two = all(facts["n_classes"] == 2 for facts in board.facts.values())
    for method in board.ran:
        finished, gain = board.both(method, board.base), board.gains(method)
        rows.append(
            [
                LABELS[method],
                board.mean(method, board.common),
                len(finished),
                *(_mean(board, method, what, finished) for what in ("recall", "accuracy")),
                _mean(board, method, "auc", finished) if two else None,
                board.mean_of_families(method),
                float(gain.mean()),
                *interval(gain, board.families_of(finished)),
                int((gain > 0.5).sum()),
                int((gain < -0.5).sum()),
                int((gain < -2).sum()),
                float(gain.min()),
            ]
        )
    rows.sort(key=lambda row: tuple(-np.inf if row[at] is None else row[at] for at in (1, 7)), reverse=True)
    plain = PLAIN_WAY[board.base].removesuffix(" vote")
    header = ["", f"macro recall % on {len(board.common)} common panels", "panels", "macro recall %", "accuracy %"]
    header += ["AUC %", "mean of families %", f"over {plain}", "95 % from", "to"]
    header += ["wins > 0.5", "losses > 0.5", "losses > 2", "worst"]
    formats = ["", ".2f", "d", ".2f", ".2f", ".1f", ".2f", "+.2f", "+.1f", "+.1f", "d", "d", "d", "+.1f"]
    note = (
        "Common panels are those that every method finished that finished at least four in five. All other columns "
        f"are on the panels that the method finished; over {plain}, its interval (families drawn whole), wins and "
        f"losses are in points. {_own_ahead(board)}"
    )
    return _without_empty("leaderboard", "Leaderboard", header, rows, formats, note)


_MEASURES = {"recall": "macro recall", "accuracy": "accuracy", "auc": "AUC", "log_loss": "log loss"}
_MEASURES |= {"calibration": "calibration error"}


def _own_ahead(board: Board) -> str:
    """Say in which measures the plain way or another method of ours is ahead of LatentSML() in the mean."""
    found = []
    for what, called in _MEASURES.items():
        sign, digits = (1, ".2f") if what in PERCENT else (-1, ".3f")
        ahead = []
        for method in (method for method in board.ran if method in OURS and method != "search"):
            shared = board.both(method, "search", what=what)
            values = board.values(method, shared, what) - board.values("search", shared, what)
            lead = sign * float(values.mean()) if shared else 0.0
            if float(f"{lead:{digits}}") > 0:
                few = f" ({len(shared)} panels)" if len(shared) < len(board.panels) else ""
                ahead.append(f"{LABELS[method]} by {lead:{digits}}{few}")
        found += [f"in {called} {', '.join(ahead)}"] if ahead else []
    if not found:
        return "No other row of ours is ahead of `LatentSML()` in the mean of any measure."
    return f"Other rows of ours that are ahead of `LatentSML()` in the mean: {'; '.join(found)}."


def _without_empty(
    name: str, title: str, header: list[str], rows: list[list[Any]], formats: list[str], note: str
) -> Table:
    """Return a table without the columns that no row has anything in."""
    kept = [place for place in range(len(header)) if place == 0 or any(row[place] is not None for row in rows)]
    shown = [[row[place] for place in kept] for row in rows]
    return Table(name, title, [header[at] for at in kept], rounded(shown), [formats[at] for at in kept], note)


def _mean(board: Board, method: str, what: str, panels: list[str]) -> float | None:
    values = [value for value in (board.value(method, panel, what) for panel in panels) if value is not None]
    return float(np.mean(values)) if values and len(values) == len(panels) else None


def _costs(board: Board) -> Table:
    rows: list[list[Any]] = []
    for method in board.ran:
        finished = board.finished(method)
        seconds, memory = (
            [value for panel in finished if (value := board.value(method, panel, what)) is not None]
            for what in ("cpu_seconds", "memory_mb")
        )
        rows.append(
            [
                LABELS[method],
                *(_mean(board, method, what, board.common) for what in ("log_loss", "calibration")),
                len(finished),
                *(_mean(board, method, what, finished) for what in ("log_loss", "calibration")),
                float(np.median(seconds)) if seconds else None,
                sum(seconds) if seconds else None,
                max(memory) if memory else None,
            ]
        )
    rows.sort(key=lambda row: np.inf if row[1] is None else row[1])
    header = ["", f"log loss on {len(board.common)} common panels", "calibration error there", "panels", "log loss"]
    header += ["calibration error", "median CPU s", "total CPU s", "most MB"]
    formats = ["", ".3f", ".3f", "d", ".3f", ".3f", ".3f", ".1f", ".0f"]
    note = (
        "Log loss: no probability counts as less than 0.001. Calibration error: how far the largest probability is "
        "from how often its class is true, ten bins. An empty cell: a method gives no probabilities, or not on all "
        "of these."
    )
    return Table("costs", "Probabilities, time and memory", header, rounded(rows), formats, note)


def _families(board: Board, common: bool = False) -> Table:
    """Means by family, on all panels or on the common ones."""
    methods, rows = board.ran, []
    for family in board.families:
        panels = board.of_family(family, board.common if common else board.panels)
        if panels:
            rows.append([family, len(panels), *(board.mean(method, panels) for method in methods)])
    header = ["family", "panels", *(LABELS[method] for method in methods)]
    formats = ["", "d", *[".1f"] * len(methods)]
    note = "An empty cell: the method did not finish every one of these panels."
    if common:
        title = f"By family, on the {len(board.common)} common panels: mean macro recall %"
        return Table("families-common", title, header, rounded(rows), formats, note)
    return Table("families", "By family: mean macro recall %", header, rounded(rows), formats, note)


def _losses(board: Board) -> Table:
    rows: list[list[Any]] = []
    for panel in board.both("search", board.base):
        ours, plain = board.value("search", panel), board.value(board.base, panel)
        if ours is not None and plain is not None and ours < plain - 0.5:
            flagged = "yes" if board.results["search"][panel]["ambiguous"] else "no"
            rows.append([panel, ours, plain, ours - plain, flagged])
    rows.sort(key=lambda row: row[3])
    plain_way = PLAIN_WAY[board.base]
    header = ["panel", "LatentSML()", plain_way, "difference", "flagged ambiguous"]
    title = f"Where LatentSML() loses more than half a point to the {plain_way}"
    return Table("losses", title, header, rounded(rows), ["", ".1f", ".1f", "+.1f", ""])


def _panels(board: Board) -> Table:
    rows = [panel_row(board, panel) for panel in board.panels]
    header = ["panel", "items", "voters", "classes", "missing %", *(LABELS[method] for method in board.ran)]
    formats = ["", ",", "d", "d", ".0f", *[".1f"] * len(board.ran)]
    return Table("panels", "Every panel: macro recall %", header, rounded(rows), formats)


def panel_row(board: Board, panel: str) -> list[Any]:
    """Return the row of one panel."""
    facts = board.facts[panel]
    about = [facts["n_items"], facts["n_voters"], facts["n_classes"], 100 * facts["missing"]]
    return [panel, *about, *(board.value(method, panel) for method in board.ran)]


def _skipped(board: Board) -> Table:
    reasons: dict[tuple[str, str], list[str]] = {}
    for panel, reason in board.unfit.items():
        reasons.setdefault(("all", reason), []).append(panel)
    for method in board.methods:
        for panel, result in board.results[method].items():
            if "skipped" in result:
                reasons.setdefault((LABELS[method], result["skipped"]), []).append(panel)
    rows = [[method, reason, len(panels), ", ".join(panels)] for (method, reason), panels in reasons.items()]
    return Table("skipped", "Skipped, and why", ["method", "reason", "panels", "which"], rows, ["", "", "d", ""])
