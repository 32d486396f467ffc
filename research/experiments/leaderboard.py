"""``research/leaderboard --panel mine.npz``: the leaderboard of panels of its kind, with one more row."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import goldless as gl
from goldless.kernels.sparse import dense_codes
from research.experiments import BOARDS
from research.experiments.board import LABELS, Board
from research.experiments.framework import Settings, Unit, plain
from research.experiments.panel import Panel, kind_of, make_panel, read_panel
from research.experiments.panels import CONTESTS, is_sparse, prepare, run_package
from research.experiments.peers import PEERS
from research.experiments.render import read_record, summary_of, write_run
from research.experiments.tables import Table, rounded

RECORDS = Path(__file__).parents[2] / "docs" / "results" / "records"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        panel = read(Path(arguments.panel), arguments.truth)
        board = arguments.board or board_of(panel)
        name = f"mine_{Path(arguments.panel).stem}"
        entries = entries_of(panel, name, board, arguments.peers, float(arguments.timeout))
        record = read_record(Path(arguments.records) / f"{board}.json")
        record["units"] += entries
        _print(record, name)
        if arguments.output:
            files = write_run(record, Path(arguments.output))
            print(f"Wrote {Path(arguments.output) / 'index.md'} and {len(files) - 1} other files.")
    except (ValueError, OSError) as error:
        sys.stderr.write(f"leaderboard: {' '.join(str(error).split())}\n")
        return 1
    return 0


def read(path: Path, truth: str | None = None) -> Panel:
    """Read an ``.npz`` file with votes (or scores) and truth, or any file of votes with a column of truth."""
    if path.suffix == ".npz" and truth is None:
        return read_panel(path)
    if truth is None:
        raise ValueError(f"{path.name} needs the name of its column of true labels: --truth COLUMN")
    table = gl.read_votes(path, truth=truth)
    if table.truth is None or not (table.truth >= 0).any():
        raise ValueError(f"{path.name} has no true labels in {truth}")
    votes = table.votes
    if votes.answers is not None:
        known = table.truth >= 0
        return make_panel(votes.answers[known], table.truth[known].astype(np.int64), kind_of(votes.answers))
    return Panel(dense_codes(votes.codes), table.truth.astype(np.int64))


def board_of(panel: Panel) -> str:
    """Return the leaderboard that a panel belongs to."""
    if panel.kind != "classes":
        return "scores"
    if is_sparse(panel):
        return "crowds"
    return "classes" if panel.n_classes > 2 else "panels"


def entries_of(panel: Panel, name: str, board: str, peers: bool, timeout: float) -> list[dict[str, Any]]:
    """Run every method on a panel; return what a record of the board holds of it."""
    asked = [{"package": "goldless"}]
    if peers:
        prepare(Settings(peers=True), lambda text: print(text, file=sys.stderr))
        asked += [{"package": peer.package, "method": method} for peer in PEERS for method in peer.methods]
    entries = []
    for parameters in asked:
        unit = Unit(f"{name}, {' '.join(parameters.values())}", {"panel": name, "family": name, **parameters})
        methods = run_package(panel, unit.parameters, CONTESTS[board].ours, timeout)
        result = plain({**panel.facts, "methods": methods})
        entries.append({"key": unit.key, "parameters": unit.parameters, "seed": 0, "result": result})
    return entries


def _print(record: dict[str, Any], name: str) -> None:
    """Print every panel, the new one last, and then what each method did on it."""
    every = next(table for table in summary_of(record).tables if table.name == "panels")
    for table in (every, _of_one(Board(record["units"]), name)):
        print(table.title, "", table.markdown(), sep="\n")


def _of_one(board: Board, panel: str) -> Table:
    """Return what each method did on one panel, beside its mean on the others that it finished."""
    measures = ("recall", "accuracy", "log_loss", "calibration", "cpu_seconds", "memory_mb")
    rows: list[list[Any]] = []
    for method in board.methods:
        others = [other for other in board.finished(method) if other != panel]
        mean = float(board.values(method, others).mean()) if others else None
        rows.append([LABELS[method], *(board.value(method, panel, what) for what in measures), mean, len(others)])
    rows.sort(key=lambda row: np.inf if row[1] is None else -row[1])
    header = ["", "macro recall %", "accuracy %", "log loss", "calibration error", "CPU s", "MB", "mean of others %"]
    formats = ["", ".1f", ".1f", ".3f", ".3f", ".3f", ".0f", ".1f", "d"]
    return Table("mine", f"{panel}: every method", [*header, "others"], rounded(rows), formats)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="research/leaderboard",
        description="Put a panel with known truth on the leaderboard of its kind. Truth is used for scoring only.",
    )
    parser.add_argument(
        "--panel", required=True, metavar="FILE", help=".npz with votes or scores, and truth; or any file of votes"
    )
    parser.add_argument("--truth", metavar="COLUMN", help="column of true labels, of a file that is no .npz")
    parser.add_argument("--board", choices=BOARDS, help="which leaderboard (default: the one it belongs to)")
    parser.add_argument("--peers", action="store_true", help="also other packages, each installed on its own")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="CPU seconds a peer may take")
    parser.add_argument("--records", default=RECORDS, metavar="DIR", help="folder of records (default: those here)")
    parser.add_argument("-o", "--output", metavar="DIR", help="also write the page, its tables and figures")
    return parser


if __name__ == "__main__":
    sys.exit(main())
