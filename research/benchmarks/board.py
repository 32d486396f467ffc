"""The picture of the README and the tables of the quick starts: real panels, beside what a user would pick instead.

``python -m research.benchmarks.board measure`` runs every method with its defaults on the panels in GOLDLESS_DATA,
with crowd-kit in the same environment, and writes docs/board.json (``measure scores``: those of one kind only);
``draw`` draws docs/images/board.svg from it and writes caption and tables into the README and the quick starts. Truth
is for scoring only. Figures of packages that are not measured here (snorkel, cleanlab) are those of
docs/results/records/panels.json.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

import goldless as gl
from goldless.whole_file import whole_file
from research.benchmarks.classes import _crowd_kit
from research.benchmarks.scores import read_panel
from research.experiments.board import LABELS, Board
from research.experiments.panels_figures import interval

ROOT = Path(__file__).parents[2]
RECORD, PICTURE = ROOT / "docs/board.json", ROOT / "docs/images/board.svg"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/quickstart").glob("*.md"))]
DREAM, _OURS = ROOT / "docs/results/dream/challenge-1.csv", "L-SML, search (default)"
PEERS_RECORD = ROOT / "docs/results/records/panels.json"
KINDS = {
    "two classes": ("majority vote", "two classes"),
    "classes": ("majority vote", "3 to 16 classes"),
    "scores": ("mean rank", "grades and scores"),
}
_CROWD_KIT = ("DawidSkene", "OneCoinDawidSkene")
_ELSEWHERE = ("LabelModel", "crowdlab")


def panels() -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Yield kind, name, votes (-1 or NaN is missing) and truth of every panel."""
    folder = Path(os.environ["GOLDLESS_DATA"])
    index = json.loads((folder / "panels" / "index.json").read_text())
    for name, about in index.items():
        with np.load(folder / "panels" / f"{name}.npz") as file:
            X, y = file["votes"].astype(int), file["truth"]
        if about["multiclass"]:
            yield "classes", name, X, y
        else:
            yield "two classes", name, np.where(X == 0, -1, (X + 1) // 2), (y + 1) // 2
    for path in sorted((folder / "scores").glob("*.npz")):
        yield "scores", path.stem, *read_panel(path)
    for path in sorted([*(folder / "weka").glob("*.npz"), *(folder / "magic").glob("*.npz")]):
        with np.load(path) as file:
            yield "ensembles", path.stem, (file["votes"] + 1) // 2, (file["truth"] + 1) // 2


def methods(kind: str) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return what labels votes of a kind, by name; the plain way first."""
    if kind == "scores":
        made = {"mean rank": gl.MajorityVote(kind="scores"), "SUMMA, ours": gl.SpectralMetaLearner()}
        return {name: model.fit_predict for name, model in {**made, "goldless": gl.LatentSML()}.items()}
    ours = {"majority vote": gl.MajorityVote(missing=-1), "goldless": gl.LatentSML(missing=-1)}
    return {name: model.fit_predict for name, model in ours.items()} | _crowd_kit(_CROWD_KIT)


def measure(only: str | None = None) -> None:
    """Score every method on every panel, or on those of one kind."""
    found: dict[str, dict[str, dict[str, float]]] = {kind: {} for kind in (*KINDS, "ensembles")}
    if only:
        found |= json.loads(RECORD.read_text(encoding="utf-8"))["panels"] | {only: {}}
    for kind, name, X, y in panels():
        if only not in (None, kind):
            continue
        scored: dict[str, float] = {"items": len(X), "voters": X.shape[1]}
        for method, labels in methods(kind).items():
            scored[method] = round(100 * gl.balanced_accuracy(y, np.asarray(labels(X)).astype(int)), 3)
        found[kind][name] = scored
        print(kind, name, scored, flush=True)
    made = {"date": datetime.now(timezone.utc).date().isoformat(), "goldless": gl.__version__, "panels": found}
    with whole_file(RECORD) as draft:
        draft.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def gains(record: dict[str, Any]) -> dict[str, dict[str, np.ndarray]]:
    """Return by kind and method the points over the plain way, one for each panel."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for kind, (plain, _) in KINDS.items():
        scored = list(record["panels"][kind].values())
        names = [name for name in scored[0] if name not in (plain, "items", "voters")]
        found[kind] = {name: np.array([row[name] - row[plain] for row in scored]) for name in names}
    peers = Board(json.loads(PEERS_RECORD.read_text(encoding="utf-8"))["units"])
    for method in _ELSEWHERE:
        found["two classes"][LABELS[method]] = np.subtract(*peers.pairs(method).T)
    return found


def caption(record: dict[str, Any]) -> str:
    """Return what the picture shows, in two sentences."""
    points = {kind: of["goldless"] for kind, of in gains(record).items()}
    two, many, scores = points.values()
    return (
        f"*{sum(map(len, points.values()))} real panels with known truth, every method with its defaults, no label "
        f"seen. goldless is {two.mean():.1f} points above the majority vote on {len(two)} panels of two classes "
        f"(better by more than half a point on {(two > 0.5).sum()}, worse on {(two < -0.5).sum()}), "
        f"{many.mean():.1f} on {len(many)} of 3 to 16 classes, and {scores.mean():.1f} above the mean rank on "
        f"{len(scores)} of grades, probabilities and scores. Its defaults were chosen with these panels in view; "
        f"[the page](docs/results/panels.md) says what that means. Measured {record['date']}: "
        "`python -m research.benchmarks.board measure`.*\n"
    )


def table(record: dict[str, Any], family: str) -> str:
    """Return all panels of a family, measured with their truth, and their mean."""
    rows = {
        name: row
        for kind in ("two classes", "classes", "ensembles")
        for name, row in record["panels"][kind].items()
        if (kind == "ensembles") == (family == "ensembles") and (name.startswith(family) or kind == "ensembles")
    }
    if family == "ensembles":  # three draws of each kind of ensemble
        kinds = dict.fromkeys(name[:-2] for name in rows)
        rows = {kind: _mean([row for name, row in rows.items() if name[:-2] == kind]) for kind in kinds}
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
    return "\n".join(lines) + f"\n\n{note}Measured {record['date']}: `python -m research.benchmarks.board measure`.\n"


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
    """Draw the mean gain of each method with its 95 % bootstrap interval, and write the caption."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    record = json.loads(RECORD.read_text(encoding="utf-8"))
    plt.rcParams.update({"svg.hashsalt": "goldless", "svg.fonttype": "path", "font.size": 10})
    figure, axes = plt.subplots(1, 3, figsize=(12, 2.7), layout="constrained")
    for ax, (kind, found) in zip(axes, gains(record).items(), strict=True):
        plain, title = KINDS[kind]
        order = sorted(found, key=lambda name: found[name].mean())
        for row, name in enumerate(order):
            colour = "#5b3fb0" if name == "goldless" else "#d9822b"
            ax.plot(interval(found[name]), [row, row], color=colour, linewidth=3, alpha=0.4)
            ax.plot([found[name].mean()], [row], "o", color=colour, markersize=8)
        few = {name: f" ({len(found[name])})" for name in order if len(found[name]) < len(found["goldless"])}
        ax.set_yticks(range(len(order)), [name + few.get(name, "") for name in order])
        ax.set_title(f"{len(found['goldless'])} panels: {title}", fontsize="medium")
        ax.set_xlabel(f"points over {plain}", fontsize="small")
        ax.set_ylim(-0.6, len(order) - 0.4)
        ax.axvline(0, color="#888888", linewidth=1)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, metadata={"Date": None}, facecolor="white")
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), record), encoding="utf-8")


def filled(text: str, record: dict[str, Any]) -> str:
    """Return a page with what a record says between its marks: a caption, or the table of a family."""

    def shown(mark: re.Match[str]) -> str:
        made = {"all": lambda: caption(record), "dream": dream_table}
        written = made.get(mark[1], lambda: table(record, mark[1]))()
        return f"<!-- board: {mark[1]} -->\n{written}<!-- end -->"

    return re.sub(r"<!-- board: (\w+) -->\n.*?<!-- end -->", shown, text, flags=re.DOTALL)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"measure": measure, "draw": draw}[sys.argv[1]](*sys.argv[2:])
