"""The page of the real panels: leaderboard, families, every panel, what was skipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from goldless.experiments.figures import COLOURS, Figure
from goldless.experiments.framework import Summary
from goldless.experiments.peers import PEERS
from goldless.experiments.tables import Table

OURS = {
    "vote": "MajorityVote",
    "textbook": "DawidSkene, textbook",
    "dawid_skene": "DawidSkene()",
    "sml_em": "SpectralMetaLearner()",
    "paper": 'LatentSML(structure="paper")',
    "independent": 'LatentSML(structure="independent")',
    "search": "LatentSML()",
}
_LABELS = OURS | {method: label for peer in PEERS for method, label in peer.methods.items()}


class _Board:
    """Accuracies in % by method and panel."""

    def __init__(self, entries: list[dict[str, Any]]):
        self.results: dict[str, dict[str, dict[str, Any]]] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.unfit: dict[str, str] = {}
        for entry in entries:
            panel, result = entry["parameters"]["panel"], entry["result"]
            if "skipped" in result:
                self.unfit[panel] = result["skipped"]
                continue
            self.facts[panel] = {**result, "family": entry["parameters"]["family"]}
            for method, measured in result["methods"].items():
                self.results.setdefault(method, {})[panel] = measured
        self.panels = list(self.facts)
        self.families = sorted({facts["family"] for facts in self.facts.values()})
        self.methods = [name for name in _LABELS if name in self.results]

    def accuracy(self, method: str, panel: str) -> float | None:
        value = self.results[method].get(panel, {}).get("accuracy")
        return None if value is None else 100 * value

    def pairs(self, method: str, base: str = "vote") -> np.ndarray:
        """Accuracy and that of the base on the panels where both ran: one row each."""
        pairs = [(self.accuracy(method, panel), self.accuracy(base, panel)) for panel in self.panels]
        return np.array([pair for pair in pairs if None not in pair], dtype=float).reshape(-1, 2)

    def mean_of_families(self, method: str) -> float | None:
        means = [self.family_mean(method, family) for family in self.families]
        known = [mean for mean in means if mean is not None]
        return float(np.mean(known)) if len(known) == len(self.families) else None

    def family_mean(self, method: str, family: str) -> float | None:
        values = [self.accuracy(method, p) for p in self.panels if self.facts[p]["family"] == family]
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if len(known) == len(values) else None

    def measured(self, method: str, what: str) -> list[float]:
        values = [result.get(what) for result in self.results[method].values()]
        return [value for value in values if value is not None]


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the tables and figures of the page."""
    board = _Board(entries)
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
    return Summary(
        paragraphs,
        [_leaderboard(board), _family_table(board), _losses(board), _panel_table(board), _skipped_table(board)],
        [
            Figure(
                "leaderboard",
                "Mean balanced accuracy minus that of the majority vote, on the panels the method finished; lines "
                "are 95 % bootstrap intervals over panels.",
                lambda figure: _draw_leaderboard(figure, board),
                height=0.9 + 0.33 * len(board.methods),
            ),
            Figure(
                "against-majority",
                "Every panel: LatentSML() minus majority vote, in points, sorted; colours are families.",
                lambda figure: _draw_against_majority(figure, board),
                height=3.6,
            ),
            Figure(
                "accuracy-and-time",
                "Mean gain over the majority vote against the total CPU time on all panels.",
                lambda figure: _draw_time(figure, board),
                height=3.8,
            ),
        ],
    )


def _leaderboard(board: _Board) -> Table:
    rows: list[list[Any]] = []
    for method in board.methods:
        pairs = board.pairs(method)
        gain = pairs[:, 0] - pairs[:, 1]
        finished = len(pairs)
        seconds, memory = board.measured(method, "cpu_seconds"), board.measured(method, "memory_mb")
        rows.append(
            [
                _LABELS[method],
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
    rows.sort(key=lambda row: -(row[4] if row[4] is not None else -np.inf))
    header = ["", "panels", "mean %", "mean of families %", "over majority", "wins > 0.5", "losses > 0.5"]
    header += ["losses > 2", "worst", "median CPU s", "total CPU s", "most MB"]
    formats = ["", "d", ".2f", ".2f", "+.2f", "d", "d", "d", "+.1f", ".3f", ".1f", ".0f"]
    note = "Over majority, wins and losses: in points, on the panels the method finished."
    return Table("leaderboard", "Leaderboard", header, _rounded(rows), formats, note)


def _family_table(board: _Board) -> Table:
    rows = []
    for family in board.families:
        count = sum(facts["family"] == family for facts in board.facts.values())
        rows.append([family, count, *(board.family_mean(method, family) for method in board.methods)])
    header = ["family", "panels", *(_LABELS[method] for method in board.methods)]
    formats = ["", "d", *[".1f"] * len(board.methods)]
    note = "An empty cell: the method did not finish every panel of the family."
    return Table("families", "By family: mean balanced accuracy %", header, _rounded(rows), formats, note)


def _losses(board: _Board) -> Table:
    rows: list[list[Any]] = []
    for panel in board.panels:
        ours, majority = board.accuracy("search", panel), board.accuracy("vote", panel)
        if ours is not None and majority is not None and ours < majority - 0.5:
            flagged = "yes" if board.results["search"][panel]["ambiguous"] else "no"
            rows.append([panel, ours, majority, ours - majority, flagged])
    rows.sort(key=lambda row: row[3])
    header = ["panel", "LatentSML()", "majority", "difference", "flagged ambiguous"]
    title = "Where LatentSML() loses more than half a point to the majority"
    return Table("losses", title, header, _rounded(rows), ["", ".1f", ".1f", "+.1f", ""])


def _panel_table(board: _Board) -> Table:
    rows = []
    for panel, facts in board.facts.items():
        cells = [board.accuracy(method, panel) for method in board.methods]
        rows.append([panel, facts["n_items"], facts["n_voters"], 100 * facts["missing"], *cells])
    header = ["panel", "items", "voters", "missing %", *(_LABELS[method] for method in board.methods)]
    formats = ["", ",", "d", ".0f", *[".1f"] * len(board.methods)]
    return Table("panels", "Every panel: balanced accuracy %", header, _rounded(rows), formats)


def _skipped_table(board: _Board) -> Table:
    reasons: dict[tuple[str, str], list[str]] = {}
    for panel, reason in board.unfit.items():
        reasons.setdefault(("all", reason), []).append(panel)
    for method in board.methods:
        for panel, result in board.results[method].items():
            if "skipped" in result:
                reasons.setdefault((_LABELS[method], result["skipped"]), []).append(panel)
    rows = [[method, reason, len(panels), ", ".join(panels)] for (method, reason), panels in reasons.items()]
    return Table("skipped", "Skipped, and why", ["method", "reason", "panels", "which"], rows, ["", "", "d", ""])


def _rounded(rows: list[list[Any]]) -> list[list[Any]]:
    return [[round(cell, 4) if isinstance(cell, float) else cell for cell in row] for row in rows]


def _interval(values: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of a mean, always with the same resamples."""
    chosen = np.random.default_rng(0).integers(0, len(values), (2000, len(values)))
    low, high = np.quantile(values[chosen].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def _draw_leaderboard(figure: Any, board: _Board) -> None:
    ax = figure.subplots()
    gains = {method: np.subtract(*board.pairs(method).T) for method in board.methods if method != "vote"}
    gains = {method: gain for method, gain in gains.items() if len(gain)}
    order = sorted(gains, key=lambda method: gains[method].mean())
    for row, method in enumerate(order):
        colour = COLOURS["violet" if method == "search" else "teal" if method in OURS else "orange"]
        ax.plot(_interval(gains[method]), [row, row], color=colour, linewidth=2.5, alpha=0.45)
        ax.plot([gains[method].mean()], [row], "o", color=colour, markersize=7)
    short = len(board.panels)
    names = [_LABELS[m] + (f"  ({len(gains[m])} of {short} panels)" if len(gains[m]) < short else "") for m in order]
    ax.set_yticks(range(len(order)), names)
    ax.axvline(0, color=COLOURS["grey"], linewidth=1)
    ax.set_xlabel("points of balanced accuracy over the majority vote")
    ax.grid(axis="y", visible=False)


def _draw_against_majority(figure: Any, board: _Board) -> None:
    ax = figure.subplots()
    palette = [colour for name, colour in COLOURS.items()] + ["#b08be0", "#f0b27a", "#7fc4bd", "#e39bbb", "#a3bff0"]
    colours = {family: palette[number % len(palette)] for number, family in enumerate(board.families)}
    rows = []
    for panel in board.panels:
        ours, majority = board.accuracy("search", panel), board.accuracy("vote", panel)
        if ours is not None and majority is not None:
            rows.append((ours - majority, board.facts[panel]["family"]))
    rows.sort()
    for family in board.families:
        at = [place for place, (_, name) in enumerate(rows) if name == family]
        ax.bar(at, [rows[place][0] for place in at], 0.85, color=colours[family], label=family)
    ax.axhline(0, color=COLOURS["black"], linewidth=0.8)
    ax.set(ylabel="points over the majority vote", xlabel="panels, sorted", xticks=[])
    ax.grid(axis="x", visible=False)
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")


def _draw_time(figure: Any, board: _Board) -> None:
    ax = figure.subplots()
    places = {}
    for method in board.methods:
        pairs, times = board.pairs(method), board.measured(method, "cpu_seconds")
        if len(pairs) and times:
            places[method] = (sum(times), float((pairs[:, 0] - pairs[:, 1]).mean()))
    for method, (seconds, gain) in places.items():
        colour = COLOURS["violet" if method == "search" else "teal" if method in OURS else "orange"]
        ax.plot([seconds], [gain], "o", color=colour, markersize=7)
        crowded = any(0 < s - seconds < 3 * seconds and abs(g - gain) < 0.4 for s, g in places.values())
        side: dict[str, Any] = {"xytext": (-7, 4), "ha": "right"} if crowded else {"xytext": (7, 4), "ha": "left"}
        ax.annotate(_LABELS[method], (seconds, gain), textcoords="offset points", fontsize=8, color=colour, **side)
    ax.set(xscale="log", xlabel="CPU seconds for all panels it finished", ylabel="points over the majority vote")
    ax.margins(x=0.25, y=0.12)
