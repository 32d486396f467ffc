"""The page of the real panels: leaderboard, families, every panel, what was skipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from research.experiments.board import LABELS, Board
from research.experiments.figures import Figure
from research.experiments.framework import Summary
from research.experiments.panels_figures import draw_against_majority, draw_leaderboard, draw_time
from research.experiments.panels_peers import peers_table
from research.experiments.peers import PEERS
from research.experiments.tables import Table, rounded


def summarise(name: str, entries: list[dict[str, Any]]) -> Summary:
    """Return the tables and figures of the page."""
    board = Board(entries)
    peers = [peer.package for peer in PEERS if any(method in board.results for method in peer.methods)]
    pins = "; ".join(", ".join(peer.requirements) for peer in PEERS if peer.package in peers)
    paragraphs = [
        f"{len(board.panels)} panels of real votes on two classes, {len(board.families)} families; truth is used for "
        "scoring only. Balanced accuracy. Every method has its defaults on every panel, one thread, and is timed "
        "(CPU seconds) without imports and compilation; memory is the rise above where the process stood.",
        'Our defaults were chosen with scores on these panels in view, so the figures of "LatentSML()" and '
        '"DawidSkene()" are optimistic; the textbook rows, SML+EM and the peers had no such help.',
    ]
    paragraphs.append(
        f"Peers, each in an environment of its own: {pins}. cleanlab asks for the probabilities of a classifier; "
        "panels have no features, so it gets the smoothed shares of the votes."
        if peers
        else "Peers were not run: pass --peers."
    )
    tables = [_leaderboard(board), _family_table(board), _losses(board), _panel_table(board), _skipped_table(board)]
    if peers:
        tables[1:1] = [peers_table(board), _family_table(board, common=True)]
    return Summary(
        paragraphs,
        tables,
        [
            Figure(
                "leaderboard",
                "Mean balanced accuracy minus that of the majority vote; lines are 95 % bootstrap intervals over "
                "panels. Violet and green are ours, orange the peers; in brackets how many panels a method finished.",
                lambda figure: draw_leaderboard(figure, board),
                height=0.9 + 0.33 * len(board.methods),
            ),
            Figure(
                "against-majority",
                "Every panel: LatentSML() minus majority vote, in points, sorted; colours are families.",
                lambda figure: draw_against_majority(figure, board),
                height=3.6,
            ),
            Figure(
                "accuracy-and-time",
                "Mean gain over the majority vote against total CPU time, on the panels that every method finished.",
                lambda figure: draw_time(figure, board),
                height=3.8,
            ),
        ],
    )


def _leaderboard(board: Board) -> Table:
    rows: list[list[Any]] = []
    for method in board.methods:
        pairs = board.pairs(method)
        gain = pairs[:, 0] - pairs[:, 1]
        finished = len(pairs)
        common = board.pairs(method, panels=board.common)[:, 0] if finished else np.zeros(0)
        seconds, memory = board.measured(method, "cpu_seconds"), board.measured(method, "memory_mb")
        rows.append(
            [
                LABELS[method],
                float(common.mean()) if len(common) else None,
                finished,
                float(pairs[:, 0].mean()) if finished else None,
                board.mean_of_families(method),
                float(gain.mean()) if finished else None,
                int((gain > 0.5).sum()),
                int((gain < -0.5).sum()),
                int((gain < -2).sum()),
                float(gain.min()) if finished else None,
                float(np.median(seconds)) if seconds else None,
                sum(seconds) if seconds else None,
                max(memory) if memory else None,
            ]
        )
    rows.sort(key=lambda row: tuple(-np.inf if row[at] is None else row[at] for at in (1, 5)), reverse=True)
    header = [
        "",
        f"mean % on {len(board.common)} common panels",
        "panels",
        "mean %",
        "mean of families %",
        "over majority",
        "wins > 0.5",
        "losses > 0.5",
    ]
    header += ["losses > 2", "worst", "median CPU s", "total CPU s", "most MB"]
    formats = ["", ".2f", "d", ".2f", ".2f", "+.2f", "d", "d", "d", "+.1f", ".3f", ".1f", ".0f"]
    note = (
        "Common panels are those that every method finished. Methods that run out of time do so on large panels: "
        "compare them by the first column. All other columns are on the panels that the method finished; over "
        "majority, wins and losses are in points."
    )
    return Table("leaderboard", "Leaderboard", header, rounded(rows), formats, note)


def _family_table(board: Board, common: bool = False) -> Table:
    """Means by family, on all panels or on those that every method finished."""
    methods = [method for method in board.methods if board.finished(method)] if common else board.methods
    rows = []
    for family in board.families:
        panels = board.of_family(family, board.common if common else board.panels)
        if panels:
            rows.append([family, len(panels), *(board.mean(method, panels) for method in methods)])
    header = ["family", "panels", *(LABELS[method] for method in methods)]
    formats = ["", "d", *[".1f"] * len(methods)]
    if common:
        title = f"By family, on the {len(board.common)} panels that every method finished: mean balanced accuracy %"
        return Table("families-common", title, header, rounded(rows), formats)
    note = "An empty cell: the method did not finish every panel of the family."
    return Table("families", "By family: mean balanced accuracy %", header, rounded(rows), formats, note)


def _losses(board: Board) -> Table:
    rows: list[list[Any]] = []
    for panel in board.panels:
        ours, majority = board.accuracy("search", panel), board.accuracy("vote", panel)
        if ours is not None and majority is not None and ours < majority - 0.5:
            flagged = "yes" if board.results["search"][panel]["ambiguous"] else "no"
            rows.append([panel, ours, majority, ours - majority, flagged])
    rows.sort(key=lambda row: row[3])
    header = ["panel", "LatentSML()", "majority", "difference", "flagged ambiguous"]
    title = "Where LatentSML() loses more than half a point to the majority"
    return Table("losses", title, header, rounded(rows), ["", ".1f", ".1f", "+.1f", ""])


def _panel_table(board: Board) -> Table:
    rows = []
    for panel, facts in board.facts.items():
        cells = [board.accuracy(method, panel) for method in board.methods]
        rows.append([panel, facts["n_items"], facts["n_voters"], 100 * facts["missing"], *cells])
    header = ["panel", "items", "voters", "missing %", *(LABELS[method] for method in board.methods)]
    formats = ["", ",", "d", ".0f", *[".1f"] * len(board.methods)]
    return Table("panels", "Every panel: balanced accuracy %", header, rounded(rows), formats)


def _skipped_table(board: Board) -> Table:
    reasons: dict[tuple[str, str], list[str]] = {}
    for panel, reason in board.unfit.items():
        reasons.setdefault(("all", reason), []).append(panel)
    for method in board.methods:
        for panel, result in board.results[method].items():
            if "skipped" in result:
                reasons.setdefault((LABELS[method], result["skipped"]), []).append(panel)
    rows = [[method, reason, len(panels), ", ".join(panels)] for (method, reason), panels in reasons.items()]
    return Table("skipped", "Skipped, and why", ["method", "reason", "panels", "which"], rows, ["", "", "d", ""])
