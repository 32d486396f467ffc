"""``goldless select``: name a panel, and the other panels worth their cost."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from goldless.cli.commands import how_of, read_and_fit, summary_of, write_json, write_lines
from goldless.cli.costs import check_costs, named_voters, read_costs
from goldless.cli.families import families_from
from goldless.cli.names import voter_names
from goldless.cli.screens import select_screen
from goldless.cli.terminal import Style, clean
from goldless.diagnosis.panel_scale import on_one_scale
from goldless.families import all_of_one
from goldless.fitting.panels import judge_panels
from goldless.io.files import VotesFile
from goldless.maths.panels import Panel

_SIZE = 5


def select(arguments: argparse.Namespace) -> None:
    """Name a panel."""
    costs = read_costs(arguments.costs) if arguments.costs else None
    if arguments.budget is not None and costs is None:
        raise ValueError("--budget needs --costs, a file with the columns voter, cost")
    forced: dict[str, list[int]] = {}

    def check(table: VotesFile) -> None:
        """Refuse, before the fit, names and sizes that do not belong to these votes."""
        names = voter_names(table.votes)
        if costs is not None:
            check_costs(arguments.costs, costs, names)
        for option in ("include", "exclude"):
            forced[option] = [names.index(name) for name in named_voters(getattr(arguments, option), names)]
        if arguments.k is not None and arguments.k > len(names):
            raise ValueError(f"-k {arguments.k} is more than the {len(names)} voters there are")

    table, model, said = read_and_fit(arguments, check)
    names = voter_names(table.votes)
    prices = None if costs is None else np.array([costs[name] for name in names])
    free = len(names) - len(forced["exclude"])
    families = families_from(arguments, names)
    if arguments.budget is not None:
        chosen = model.select(arguments.k, cost=prices, budget=arguments.budget, **forced)
    else:
        size = arguments.k or min(max(_SIZE, len(forced["include"])), max(free, 1))
        chosen = model.select(size, families=families, **forced)
    panel = model.fitted_.columns_of(chosen).tolist()
    steps = list(judge_panels(model.fitted_, [panel[: number + 1] for number in range(len(panel))], prices))
    summary = summary_of(arguments, table, model, said, panel, resamples=0)
    expected = summary["answer"]["expected"]
    of_all = {row["method"]: row["balanced_accuracy"] for row in expected}["combined"]
    steps = on_one_scale(model, steps, of_all)
    result: dict[str, Any] = {
        "panel": [_step(summary, voter, step, prices) for voter, step in zip(panel, steps, strict=True)],
        "panel_cost": None if prices is None else steps[-1].cost,
        "panel_balanced_accuracy": summary["panel"]["balanced_accuracy"],
        "panel_vote_accuracy": round(steps[-1].vote_accuracy, 4),
        "panels": [
            _row(one, names, model, prices)
            for one in on_one_scale(model, model.panels(cost=prices, **forced), of_all)
        ],
        "shared_name": all_of_one(families, panel),
        "expected": expected,
        "effective_votes_of_all": summary["answer"]["effective_votes"],
        "how": how_of(table),
        "warnings": summary["warnings"],
    }
    if arguments.json:
        write_json(result)
    elif arguments.quiet:
        shown = clean if sys.stdout.isatty() else str
        write_lines([shown(step["voter"]) for step in result["panel"]])
    else:
        write_lines(select_screen(result, summary, Style()))


def _step(summary: dict[str, Any], voter: int, so_far: Panel, prices: np.ndarray | None) -> dict[str, Any]:
    """Return a voter of the panel, and what the panel is worth with it."""
    about = summary["voters"][voter]
    return {
        "voter": about["name"],
        "group": about["group"],
        "balanced_accuracy": about["balanced_accuracy"],
        "cost": None if prices is None else float(prices[voter]),
        "effective_votes": round(so_far.effective_votes, 2),
    }


def _row(panel: Panel, names: list[str], model: Any, prices: np.ndarray | None) -> dict[str, Any]:
    return {
        "voters": [names[voter] for voter in model.fitted_.columns_of(panel.voters)],
        "size": len(panel.voters),
        "cost": None if prices is None else panel.cost,
        "balanced_accuracy": round(panel.balanced_accuracy, 4),
        "vote_accuracy": round(panel.vote_accuracy, 4),
        "effective_votes": round(panel.effective_votes, 2),
    }
