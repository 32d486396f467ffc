"""The page on a few known labels: what they add, who uses them best, and how well a few measure the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from research.experiments.board import interval
from research.experiments.figures import Figure, Line, draw_lines, legend_beside
from research.experiments.framework import Summary
from research.experiments.tables import Table, rounded

COUNTS = (0, 5, 10, 20, 50)
AUDITED = (30, 50, 100)
_WAYS = {
    "asked": ("LatentSML(), labels asked for", "violet"),
    "random": ("LatentSML(), random items", "teal"),
    "logistic": ("logistic regression on the votes", "orange"),
    "naive_bayes": ("naive Bayes on the votes", "pink"),
    "vote": ("majority vote, known labels kept", "grey"),
}
_MATTERS = 0.5  # points
_MUCH = 2.0


class Curves:
    """Macro recall in % by way, number of known labels and panel; draws are averaged."""

    def __init__(self, entries: list[dict[str, Any]]):
        found: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.audits: dict[str, dict[int, dict[str, float]]] = {}
        for entry in entries:
            panel, result = entry["parameters"]["panel"], entry["result"]
            self.facts[panel] = {**result, "family": entry["parameters"]["family"]}
            for way, by_count in result["found"].items():
                if way == "audit":
                    self.audits[panel] = {int(n): figures for n, figures in by_count.items()}
                    continue
                for count, score in by_count.items():
                    both = (100 * score["recall"], 100 * score["rest"])
                    found.setdefault((way, panel, int(count)), []).append(both)
        self.means = {key: tuple(np.mean(scores, axis=0).tolist()) for key, scores in found.items()}
        for panel in self.facts:  # without labels it does not matter which items are known
            if ("asked", panel, 0) in self.means:
                self.means["random", panel, 0] = self.means["asked", panel, 0]

    def panels(self, many: bool, way: str, count: int) -> list[str]:
        """Panels of two or of more classes for which there is a figure, and one without labels."""
        return [
            panel
            for panel, facts in self.facts.items()
            if (facts["n_classes"] > 2) == many and {(way, panel, count), ("asked", panel, 0)} <= self.means.keys()
        ]

    def values(self, way: str, count: int, panels: Sequence[str], rest: bool = False) -> np.ndarray:
        """Macro recall of all items, or of those that are not known."""
        return np.array([self.means[way, panel, count][int(rest)] for panel in panels])

    def families(self, panels: Sequence[str]) -> list[str]:
        """The family of each panel."""
        return [self.facts[panel]["family"] for panel in panels]


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the tables and figures of the page."""
    curves = Curves(entries)
    two, many = (_shown(curves, more) for more in (False, True))
    tables = [_labels(curves, False)] + ([_labels(curves, True)] if many else []) + [_audits(curves), _panels(curves)]
    return Summary(
        [
            f"{two} panels of two classes and {many} of more, at most 2,000 evenly spaced items of each; truth "
            "answers the questions and scores the result. Labels are asked for by `next_to_label` when 0, 5, 10, 20 "
            "and 35 are known, and the model is fitted again with them as `anchors`. Beside it: the same model "
            "with labels of random items, and what people do without it, a classifier trained on the votes of the "
            "random items that are known (three draws), and the majority vote. Known labels are kept in every row. "
            "Not more than six items of ten are asked for, so small panels have no row at 50.",
            _ahead(curves),
            _lower(curves),
        ],
        tables,
        [
            Figure(
                "labels",
                "Mean macro recall of the items that are not known, against the number of known labels, on panels of "
                "two classes that have all of these numbers.",
                lambda figure: _draw(figure, curves),
                height=3.8,
            )
        ],
    )


def _shown(curves: Curves, many: bool) -> int:
    return len(curves.panels(many, "asked", 0))


def _labels(curves: Curves, many: bool) -> Table:
    rows: list[list[Any]] = []
    for way, (label, _) in _WAYS.items():
        for count in COUNTS:
            panels = curves.panels(many, way, count)
            if not panels or (way == "random" and count == 0):
                continue
            recall = curves.values(way, count, panels)
            gain = recall - curves.values("asked", 0, panels)
            low, high = interval(gain, curves.families(panels))
            rest = curves.values(way, count, panels, rest=True)
            lower = int((gain < -_MUCH).sum())
            figures = [float(recall.mean()), float(rest.mean()), float(gain.mean()), low, high]
            rows.append([label, count, len(panels), *figures, lower, float(gain.min())])
    header = ["", "labels", "panels", "macro recall %", "of items not known %", "over no labels", "95 % from", "to"]
    header += ["lower by > 2", "worst"]
    formats = ["", "d", "d", ".2f", ".2f", "+.2f", "+.1f", "+.1f", "d", "+.1f"]
    note = (
        "Over no labels: points over `LatentSML()` without any on the same panels; its interval draws families "
        "whole; lower and worst are panels of it."
    )
    name, title = ("labels-classes", "More than two classes") if many else ("labels", "Two classes")
    return Table(name, f"{title}: what labels add", header, rounded(rows), formats, note)


def _ahead(curves: Curves) -> str:
    """Say at which numbers of labels a plain way is ahead of labels asked for, on panels of two classes."""
    found = []
    for way in ("random", "logistic", "naive_bayes", "vote"):
        for count in COUNTS[1:]:
            panels = [panel for panel in curves.panels(False, way, count) if ("asked", panel, count) in curves.means]
            if not panels:
                continue
            lead = curves.values(way, count, panels) - curves.values("asked", count, panels)
            better = int((lead > _MATTERS).sum())
            if lead.mean() > 0 or better > len(panels) / 4:
                found.append(
                    f"{_WAYS[way][0]} with {count} labels ({lead.mean():+.2f} points in the mean, better by more "
                    f"than {_MATTERS} on {better} of {len(panels)} panels)"
                )
    if not found:
        return "On two classes no other way is ahead of labels asked for, in the mean or on a quarter of the panels."
    return "On two classes, ahead of labels asked for in the mean, or on more than a quarter of the panels: " + (
        "; ".join(found) + "."
    )


def _lower(curves: Curves) -> str:
    """Say on which panels labels that were asked for make the result worse."""
    found = []
    for count in COUNTS[1:]:
        for panel in curves.panels(False, "asked", count) + curves.panels(True, "asked", count):
            gain = float(np.subtract(*(curves.values("asked", known, [panel]) for known in (count, 0)))[0])
            found += [f"{panel} ({count} labels, {gain:+.1f})"] if gain < -_MUCH else []
    if not found:
        return f"On no panel do labels asked for make it worse by more than {_MUCH:g} points."
    return f"Labels asked for make it worse by more than {_MUCH:g} points on {', '.join(found)}."


def _audits(curves: Curves) -> Table:
    rows: list[list[Any]] = []
    for many in (False, True):
        for n in AUDITED:
            found = [
                of[n]
                for panel, of in curves.audits.items()
                if n in of and (curves.facts[panel]["n_classes"] > 2) == many
            ]
            if found:
                rows.append(["more than two" if many else "two", n, len(found), *_audited(found)])
    header = [
        "classes",
        "labels",
        "panels",
        "median width",
        "held %",
        "width, random sample",
        "held %",
        "audit/random",
    ]
    formats = ["", "d", "d", ".1f", ".1f", ".1f", ".1f", ".2f"]
    note = (
        "`audit` with the truth as answers, five designs a panel: points between the ends of the 95 % interval of "
        "balanced accuracy, and how often the true value is between them. Beside it a plain random sample of as many "
        "labels with exact intervals of both recalls, which is known for two classes. The last column is the median "
        "over panels of the ratio of the widths."
    )
    return Table("audit", "Measuring the labels with a few: audits", header, rounded(rows), formats, note)


def _audited(found: list[dict[str, float]]) -> list[Any]:
    def column(name: str) -> np.ndarray:
        return 100 * np.array([figures[name] for figures in found])

    own = [float(np.median(column("width"))), float(column("held").mean())]
    if "random_width" not in found[0]:
        return [*own, None, None, None]
    random = column("random_width")
    return [
        *own,
        float(np.median(random)),
        float(column("random_held").mean()),
        float(np.median(column("width") / random)),
    ]


def _panels(curves: Curves) -> Table:
    shown = [(way, count) for way in ("asked", "random", "logistic", "naive_bayes") for count in (20, 50)]
    rows = []
    for panel, facts in curves.facts.items():
        cells = [curves.means.get((way, panel, count), (None,))[0] for way, count in [("asked", 0), *shown]]
        rows.append([panel, facts["n_items"], facts["n_voters"], facts["n_classes"], *cells])
    header = ["panel", "items", "voters", "classes", "no labels"]
    header += [f"{_WAYS[way][0]}: {count}" for way, count in shown]
    formats = ["", ",", "d", "d", *[".1f"] * (1 + len(shown))]
    return Table("panels", "Every panel: macro recall %, known labels kept", header, rounded(rows), formats)


def _draw(figure: Any, curves: Curves) -> None:
    panels = curves.panels(False, "asked", COUNTS[-1])
    lines = []
    for way, (label, colour) in _WAYS.items():
        y = [
            float(curves.values(way, count, panels, rest=True).mean())
            if panels and all((way, panel, count) in curves.means for panel in panels)
            else np.nan
            for count in COUNTS
        ]
        lines.append(Line(label, y, colour))
    ax = figure.subplots()
    draw_lines(ax, COUNTS, lines, "known labels", "macro recall of the rest, %")
    legend_beside(figure, ax)
