"""The picture of the README and the tables of the quick starts, from the records of the leaderboards.

``python -m research.benchmarks.board draw`` draws docs/images/board.svg from docs/results/records, and writes caption
and tables into the README and the quick starts. ``measure`` measures what has no leaderboard, ensembles trained by us
and by Weka, in GOLDLESS_DATA, and writes docs/board.json. Truth is for scoring only.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import warnings
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import goldless as gl
from goldless.whole_file import whole_file
from research.experiments.board import LABELS, Board, interval
from research.experiments.ours import run_ours
from research.experiments.panel import read_panel
from research.experiments.panels import run_peer
from research.experiments.peers import PEERS, install

ROOT = Path(__file__).parents[2]
RECORD, PICTURE = ROOT / "docs/board.json", ROOT / "docs/images/board.svg"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/quickstart").glob("*.md"))]
DREAM, _OURS = ROOT / "docs/results/dream/challenge-1.csv", "L-SML, search (default)"
RECORDS = ROOT / "docs/results/records"
KINDS = {
    "panels": ("majority vote", "two classes"),
    "classes": ("majority vote", "3 to 16 classes"),
    "scores": ("mean rank", "grades and scores"),
}
_SHOWN = {
    "panels": ("search", "DawidSkene", "OneCoinDawidSkene", "LabelModel", "crowdlab", "Triplets"),
    "classes": ("search", "DawidSkene", "OneCoinDawidSkene", "LabelModel", "crowdlab"),
    "scores": ("search", "mean", "median", "summa", "DawidSkene"),
}
_CALLED = {"search": "goldless", "summa": "SUMMA, ours", "DawidSkene": "crowd-kit DawidSkene"}
_TIMEOUT = 120.0


def measure() -> None:
    """Score the methods of the table on every ensemble."""
    folder, found = Path(os.environ["GOLDLESS_DATA"]), {}
    crowd_kit = PEERS[0]
    install(crowd_kit, print)
    for path in sorted([*(folder / "weka").glob("*.npz"), *(folder / "magic").glob("*.npz")]):
        panel = read_panel(path)
        results = run_ours(panel, ("vote", "search"))
        results["DawidSkene"] = run_peer(crowd_kit, "DawidSkene", panel, _TIMEOUT)
        found[path.stem] = _row(panel.facts, {name: 100 * result["recall"] for name, result in results.items()})
        print(path.stem, found[path.stem], flush=True)
    made = {"date": datetime.now(timezone.utc).date().isoformat(), "goldless": gl.__version__, "ensembles": found}
    with whole_file(RECORD) as draft:
        draft.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def _row(facts: dict[str, Any], values: dict[str, float]) -> dict[str, float]:
    """Return a row of a table: the size of a panel, and what methods got right, in %."""
    names = {"vote": "majority vote", **_CALLED}
    shown = {names[method]: round(value, 3) for method, value in values.items()}
    return {"items": facts["n_items"], "voters": facts["n_voters"], **shown}


@cache
def board_of(kind: str) -> Board:
    """Return a leaderboard."""
    return Board(json.loads((RECORDS / f"{kind}.json").read_text(encoding="utf-8"))["units"])


def _date(kind: str) -> str:
    return json.loads((RECORDS / f"{kind}.json").read_text(encoding="utf-8"))["run"]["finished"][:10]


def gains() -> dict[str, dict[str, tuple[np.ndarray, list[str]]]]:
    """Return by kind and method the points over the plain way on each panel, and the families of the panels."""
    found: dict[str, dict[str, tuple[np.ndarray, list[str]]]] = {}
    for kind in KINDS:
        board = board_of(kind)
        found[kind] = {
            _CALLED.get(method, LABELS[method]): (
                board.gains(method),
                board.families_of(board.both(method, board.base)),
            )
            for method in _SHOWN[kind]
        }
    return found


def caption() -> str:
    """Return what the picture shows, in two sentences."""
    two, many, scores = (of["goldless"][0] for of in gains().values())
    return (
        f"*{len(two) + len(many) + len(scores)} real panels with known truth, every method with its defaults, no "
        f"label seen. goldless is {two.mean():.1f} points above the majority vote on {len(two)} panels of two "
        f"classes (better by more than half a point on {(two > 0.5).sum()}, worse on {(two < -0.5).sum()}), "
        f"{many.mean():.1f} on {len(many)} of 3 to 16 classes, and {scores.mean():.1f} above the mean rank on "
        f"{len(scores)} of grades, probabilities and scores. Its defaults were chosen with these panels in view; "
        f"[the page](docs/results/panels.md) says what that means. Measured {_date('panels')}: "
        "`python -m research.experiments run panels --peers`, and `classes`, `scores`.*\n"
    )


def table(family: str) -> str:
    """Return all panels of a family, measured with their truth, and their mean."""
    if family == "ensembles":  # three draws of each kind of ensemble
        record = json.loads(RECORD.read_text(encoding="utf-8"))
        kinds = dict.fromkeys(name[:-2] for name in record["ensembles"])
        rows = {
            kind: _mean([row for name, row in record["ensembles"].items() if name[:-2] == kind]) for kind in kinds
        }
        measured = f"{record['date']}: `python -m research.benchmarks.board measure`"
    else:
        rows = {name: row for kind in ("panels", "classes") for name, row in _rows_of(board_of(kind), family).items()}
        measured = f"{_date('panels')}: `python -m research.experiments run panels --peers`"
    columns = ["majority vote", "crowd-kit DawidSkene", "goldless"]
    lines = ["| panel | voters | items | " + " | ".join(columns) + " |", "|---|--:|--:|" + "--:|" * len(columns)]
    for name, row in rows.items():
        figures = [f"{row[column]:.1f}" for column in columns]
        figures = [f"**{figure}**" if figure == max(figures, key=float) else figure for figure in figures]
        shown = name.removeprefix(family).replace("_", " ")
        lines.append(f"| {shown} | {row['voters']:.0f} | {row['items']:,.0f} | {' | '.join(figures)} |")
    mean = _mean(list(rows.values()))
    lines.append("| **mean** | | | " + " | ".join(f"{mean[column]:.1f}" for column in columns) + " |")
    note = "Balanced accuracy in %, every method with its defaults, no label seen; all panels of this kind we have. "
    return "\n".join(lines) + f"\n\n{note}Measured {measured}.\n"


def _rows_of(board: Board, family: str) -> dict[str, dict[str, float]]:
    """Return the rows of those panels of a family that all methods of the table finished."""
    methods = ("vote", "DawidSkene", "search")
    panels = [panel for panel in board.panels if panel.startswith(family)]
    finished = [panel for panel in panels if all(board.value(method, panel) is not None for method in methods)]
    return {
        panel: _row(board.facts[panel], {method: board.value(method, panel) or 0.0 for method in methods})
        for panel in finished
    }


def dream_table() -> str:
    """Return the DREAM challenge, from the tables of its experiment: balanced errors there, accuracies here."""
    lines = list(csv.reader(DREAM.read_text(encoding="utf-8").splitlines()))
    tumours = [column for column, name in enumerate(lines[0]) if name.startswith("S")]
    shown = {"majority vote": "majority vote", "best voter": "best pipeline, by the truth", _OURS: "goldless"}
    errors = {line[0]: [100 - float(line[column]) for column in tumours] for line in lines[1:]}
    rows = [f"| {shown[name]} | " + " | ".join(f"{value:.1f}" for value in errors[name]) + " |" for name in shown]
    head = "| balanced accuracy in % | " + " | ".join(lines[0][column] for column in tumours) + " |"
    return "\n".join([head, "|---|" + "--:|" * len(tumours), *rows]) + "\n"


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def draw() -> None:
    """Draw the mean gain of each method with its 95 % interval (families drawn whole), and write the caption."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "goldless", "svg.fonttype": "path", "font.size": 10})
    figure, axes = plt.subplots(1, 3, figsize=(12, 2.7), layout="constrained")
    for ax, (kind, found) in zip(axes, gains().items(), strict=True):
        plain, title = KINDS[kind]
        order = sorted(found, key=lambda name: found[name][0].mean())
        for row, name in enumerate(order):
            points, families = found[name]
            colour = "#5b3fb0" if name == "goldless" else "#d9822b"
            ax.plot(interval(points, families), [row, row], color=colour, linewidth=3, alpha=0.4)
            ax.plot([points.mean()], [row], "o", color=colour, markersize=8)
        most = len(found["goldless"][0])
        few = {name: f" ({len(found[name][0])})" for name in order if len(found[name][0]) < most}
        ax.set_yticks(range(len(order)), [name + few.get(name, "") for name in order])
        ax.set_title(f"{most} panels: {title}", fontsize="medium", loc="right")
        ax.set_xlabel(f"points over {plain}", fontsize="small")
        ax.set_ylim(-0.6, len(order) - 0.4)
        ax.axvline(0, color="#888888", linewidth=1)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, metadata={"Date": None}, facecolor="white")
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


def filled(text: str) -> str:
    """Return a page with what the records say between its marks: a caption, or the table of a family."""

    def shown(mark: re.Match[str]) -> str:
        made = {"all": caption, "dream": dream_table}
        written = made.get(mark[1], lambda: table(mark[1]))()
        return f"<!-- board: {mark[1]} -->\n{written}<!-- end -->"

    return re.sub(r"<!-- board: (\w+) -->\n.*?<!-- end -->", shown, text, flags=re.DOTALL)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"measure": measure, "draw": draw}[sys.argv[1]]()
