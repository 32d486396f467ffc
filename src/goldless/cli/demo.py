"""``goldless demo``: the whole job on real votes that come along, and on simulated ones, scored at the end."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from goldless.cli.options import Options, command, option, output

_PAGE = "goldless-demo.html"
_TITLE = "goldless demo"
_HOW = (
    "Real votes: 1,397 handwritten digits, odd or even? Sixteen classifiers vote, four families, each trained on 150 "
    "other digits. No label is used."
)


@command(
    "demo",
    "do the main job on real votes, and show what was claimed beside what was true",
    """\
  goldless demo
  goldless demo -o demo.html --force
""",
)
@option("--seed", type=int, default=1, metavar="N", help="seed of the simulated panels (default 1)")
@option("--no-open", is_flag=True, help="do not open the page in a browser")
@output(f"page to write (default {_PAGE} in this folder)")
def run(options: Options) -> None:
    """Run the demo."""
    from goldless.cli.display import line, program, show, write_json
    from goldless.cli.output import Progress, check_output, timed, write_output
    from goldless.cli.screens import inspect_screen
    from goldless.cli.simulated import claimed_and_true, simulated_panels
    from goldless.cli.work import CHECKING, FITTING, fit
    from goldless.io.files import read_votes
    from goldless.report import render_html, summarize

    page = options.output or _PAGE
    check_output(page, options.force or (options.output is None and _is_ours(page)))
    with timed() as seconds:
        with as_file(files("goldless.cli") / "demo_votes" / "digits.csv.gz") as file:
            table = replace(read_votes(file, id_column="item", truth="truth"), how=_HOW)
        with Progress(FITTING, options.quiet):
            model, warned = fit(table)
        with Progress(CHECKING, options.quiet):
            summary = summarize(
                model,
                table.votes,
                truth=table.truth,
                title=f"{_TITLE}: digits, odd or even",
                source=table.how,
                warnings=warned,
            )
        with Progress("Drawing", options.quiet):
            write_output(page, render_html(summary).encode())
        with Progress("Simulating", options.quiet):
            simulated = {panel.title: claimed_and_true(panel) for panel in simulated_panels(options.seed)}
    if options.json:
        write_json({**summary, "simulated": simulated, "seconds": round(seconds[0], 2), "output": page})
        return
    parts: list[Any] = [] if options.quiet else [line(f"\n{_TITLE}", "bold")]
    parts += inspect_screen({**summary, "truth": None}, quiet=options.quiet)
    parts += [
        line(""),
        *_scores(summary, simulated),
        line(""),
        line(f"Wrote {page}: the whole picture on one page, to open in a browser."),
        line(f"Done in {seconds[0]:.0f} s. With a file of your own, one row per item, one column per voter:"),
        line(f"  {program()} report votes.csv -o report.html", "bold"),
    ]
    show(parts)
    if not options.no_open and _has_screen():
        import webbrowser

        webbrowser.open(Path(page).resolve().as_uri())


def _is_ours(page: str) -> bool:
    """Whether a page is one that the demo wrote before, and may be written anew."""
    try:
        with open(page, encoding="utf-8") as stream:
            return _TITLE in stream.read(10_000)
    except (OSError, UnicodeDecodeError):
        return False


def _has_screen() -> bool:
    """Whether somebody sits at a screen: a terminal, a display, and no continuous integration."""
    if os.environ.get("CI") or not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def _scores(summary: dict[str, Any], simulated: dict[str, dict[str, float]]) -> list[Any]:
    """Set what was claimed without labels beside the hidden truth."""
    from goldless.cli.display import sentence, table
    from goldless.words import percent

    claimed = {row["method"]: row["balanced_accuracy"] for row in summary["answer"]["expected"]}
    truth = summary["truth"]
    true = {row["method"]: row["balanced_accuracy"] for row in truth["methods"]}
    real = {"majority": true["majority vote"], "claimed": claimed["combined"], "true": true["combined"]}
    panels = {"16 classifiers on digits (real votes)": real}
    panels |= {f"{title} (simulated)": found for title, found in simulated.items()}
    rows = [
        [title, *(percent(found[key]) for key in ("majority", "true", "claimed"))] for title, found in panels.items()
    ]
    gaps = [
        abs(voter["balanced_accuracy"] - right["balanced_accuracy"])
        for voter, right in zip(summary["voters"], truth["voters"], strict=True)
        if right["balanced_accuracy"] is not None
    ]
    return [
        table(["Now look at the hidden truth", "majority", "combined", "claimed"], rows, align="<>>>"),
        sentence(
            "Balanced accuracy of the majority vote, of the combined labels, and what was claimed of these without "
            f"any label. Accuracies of the 16 were off by {100 * sum(gaps) / len(gaps):.1f} points on average.",
            "dim",
        ),
    ]
