"""``goldless demo``: real votes of a real ensemble, everything done on them, scored at the end."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from goldless.cli.options import Options, command, option, output

_PAGE = "goldless-demo.html"
_TITLE = "goldless demo"


@command(
    "demo",
    "do the main job on real votes: inspect, combine, select, report, score",
    """\
  goldless demo
  goldless demo -o demo.html --force
""",
)
@option(
    "--seed",
    type=int,
    default=1,
    metavar="N",
    help="seed of the ensemble (default 1; on seed 0 the majority happens to win)",
)
@option("--no-open", is_flag=True, help="do not open the page in a browser")
@output(f"page to write (default {_PAGE} in this folder)")
def run(options: Options) -> None:
    """Run the demo."""
    from goldless.cli.display import line, show, write_json
    from goldless.cli.ensemble import train_voters
    from goldless.cli.output import Progress, check_output, timed, write_output
    from goldless.cli.program import program
    from goldless.cli.screens import inspect_screen
    from goldless.cli.work import CHECKING, FITTING, fit
    from goldless.report import render_html, summarize

    page = options.output or _PAGE
    check_output(page, options.force or (options.output is None and _is_ours(page)))
    with timed() as seconds:
        with Progress("Training the voters", options.quiet) as progress:
            table = train_voters(options.seed, progress.update)
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
    if options.json:
        write_json({**summary, "seconds": round(seconds[0], 2), "output": page})
        return
    parts: list[Any] = [] if options.quiet else [line(f"\n{_TITLE}", "bold")]
    parts += inspect_screen({**summary, "truth": None}, quiet=options.quiet)
    parts += [
        line(""),
        *_scores(summary),
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


def _scores(summary: dict[str, Any]) -> list[Any]:
    """Compare what was expected without labels with the hidden truth."""
    from goldless.cli.display import sentence, table
    from goldless.report.sentences import METHODS
    from goldless.words import percent

    expected = {row["method"]: row["balanced_accuracy"] for row in summary["answer"]["expected"]}
    truth = summary["truth"]
    rows = [
        [METHODS[row["method"]], percent(expected[row["method"]]), percent(row["balanced_accuracy"])]
        for row in truth["methods"]
    ]
    gaps = [
        abs(voter["balanced_accuracy"] - true["balanced_accuracy"])
        for voter, true in zip(summary["voters"], truth["voters"], strict=True)
        if true["balanced_accuracy"] is not None
    ]
    return [
        table(["Now look at the hidden truth", "claimed", "true"], rows, align="<>>"),
        sentence(f"Accuracies of single voters were off by {100 * sum(gaps) / len(gaps):.1f} points on average."),
    ]
