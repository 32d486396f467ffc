"""``goldless select``: name a panel, and the other panels worth their cost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from goldless.cli.options import POSITIVE, Options, amount, command, fitting, named_file, option, reading

if TYPE_CHECKING:
    import numpy as np

    from goldless.io.files import VotesFile
    from goldless.maths.panels import Panel

_SIZE = 5


@command(
    "select",
    "name a small panel of accurate voters that do not echo each other",
    """\
  goldless simulate -o votes.csv
  goldless select votes.csv -k 5
  goldless select votes.csv -k 3 --include "voter 7" --exclude "voter 8,voter 9"
  goldless simulate --items 2000 --groups 1,1,1 -o three.csv
  printf 'voter 1,5\\nvoter 2,1\\nvoter 3,2\\n' > costs.csv
  goldless select three.csv --costs costs.csv --budget 3
""",
)
@reading
@fitting
@option("-k", type=POSITIVE, metavar="K", help="size of the panel (default 5); with --budget, the most it may have")
@named_file("--costs", help="cost of each voter: a file with the columns voter, cost")
@option("--budget", type=amount, metavar="B", help="what the panel may cost, in the units of --costs")
@option(
    "--include",
    metavar="VOTERS",
    multiple=True,
    help="voters that must be in the panel, with commas between (may be repeated)",
)
@option(
    "--exclude",
    metavar="VOTERS",
    multiple=True,
    help="voters that must not be in the panel, with commas between (may be repeated)",
)
def run(options: Options) -> None:
    """Name a panel."""
    import numpy as np

    from goldless.cli.display import show, write_json, write_text
    from goldless.cli.screens import select_screen
    from goldless.cli.small_tables import check_costs, families_from, named_voters, read_costs
    from goldless.cli.work import how_of, read_and_fit, summary_of
    from goldless.diagnosis.panel_scale import on_one_scale
    from goldless.families import all_of_one
    from goldless.fitting.panels import judge_panels
    from goldless.words import clean

    costs = read_costs(options.costs) if options.costs else None
    if options.budget is not None and costs is None:
        raise ValueError("--budget needs --costs, a file with the columns voter, cost")
    forced: dict[str, list[int]] = {}

    def check(table: VotesFile) -> None:
        """Refuse, before the fit, names and sizes that do not belong to these votes."""
        names = table.votes.voter_names
        if costs is not None:
            check_costs(options.costs, costs, names)
        for side in ("include", "exclude"):
            forced[side] = [names.index(name) for name in named_voters(list(getattr(options, side)), names)]
        if options.k is not None and options.k > len(names):
            raise ValueError(f"-k {options.k} is more than the {len(names)} voters there are")

    table, model, said = read_and_fit(options, check)
    names = table.votes.voter_names
    prices = None if costs is None else np.array([costs[name] for name in names])
    free = len(names) - len(forced["exclude"])
    families = families_from(options, names)
    if options.budget is not None:
        chosen = model.select(options.k, cost=prices, budget=options.budget, **forced)
    else:
        size = options.k or min(max(_SIZE, len(forced["include"])), max(free, 1))
        chosen = model.select(size, families=families, **forced)
    panel = model.fitted_.columns_of(chosen).tolist()
    steps = list(judge_panels(model.fitted_, [panel[: number + 1] for number in range(len(panel))], prices))
    summary = summary_of(options, table, model, said, panel, resamples=0)
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
    if options.json:
        write_json(result)
    elif options.quiet:
        shown = clean if sys.stdout.isatty() else str
        write_text("".join(f"{shown(step['voter'])}\n" for step in result["panel"]))
    else:
        show(select_screen(result, summary))


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
