"""``python -m research.experiments``: run an experiment, or write pages from records of runs.

Exit codes: 0, 1 for an error with one clear line, 2 for wrong usage, 130 for an interruption.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from goldless.cli.output import Progress
from research.experiments import NAMES, find_experiment
from research.experiments.render import find_records, render, summary_of, write_run
from research.experiments.runner import RECORD, run_experiment

_EXAMPLES = """examples, in the folder of the clone:
  python -m research.experiments run artificial --quick -o artificial
  python -m research.experiments render artificial -o pages
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    arguments = _parser().parse_args(argv)
    folder = Path(arguments.output)
    try:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{folder} is a file; name a folder")
        arguments.do(arguments, folder)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"research.experiments: {' '.join(str(error).split())}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _run(arguments: argparse.Namespace, folder: Path) -> None:
    """Run what is not yet done of an experiment, then write its tables and figures beside the record."""
    experiment = find_experiment(arguments.name)
    settings = experiment.settings(
        arguments.draws,
        arguments.quick,
        seed=arguments.seed,
        peers=arguments.peers,
        data=arguments.data,
        timeout=float(arguments.timeout),
        most_votes=arguments.most_votes,
    )

    def say(text: str) -> None:
        if not arguments.quiet:
            sys.stderr.write(("\r\x1b[K" if sys.stderr.isatty() else "") + text + "\n")

    try:
        with Progress(f"Running {experiment.name}", arguments.quiet) as progress:
            record = run_experiment(
                experiment,
                folder,
                settings,
                workers=arguments.workers,
                fresh=arguments.fresh,
                progress=progress.update,
                say=say,
            )
    except KeyboardInterrupt:
        say(f"Stopped. What is finished is kept: the same command continues in {folder}.")
        raise
    written = write_run(record, folder)
    if arguments.json:
        print(json.dumps({"record": str(folder / RECORD), "units": len(record["units"]), "files": written}))
    elif not arguments.quiet:
        first = summary_of(record).tables[0]
        print(first.title, "", first.markdown(), sep="\n")
        print(f"Wrote {folder / 'index.md'} and {len(written)} other files.")


def _render(arguments: argparse.Namespace, folder: Path) -> None:
    """Write pages from records alone."""
    with Progress("Drawing", arguments.quiet):
        written = render(find_records(arguments.records), folder)
    if arguments.json:
        print(json.dumps({"files": written}))
    elif not arguments.quiet:
        print(f"Wrote {len(written)} files to {folder}.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m research.experiments",
        description="Run an experiment, or write pages from records of runs.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    run = commands.add_parser("run", help="run an experiment; an interrupted run continues where it was")
    run.set_defaults(do=_run)
    run.add_argument("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    run.add_argument("-o", "--output", metavar="DIR", required=True, help="folder to write to; a run continues there")
    run.add_argument("--draws", type=_positive, metavar="N", help="random draws (default: enough for the page)")
    run.add_argument("--quick", action="store_true", help="small sizes, to try the command")
    run.add_argument("--seed", type=int, default=0, help="seed of all seeds (default 0)")
    run.add_argument("--workers", type=_positive, metavar="N", help="processes (default: one for each core)")
    run.add_argument("--data", metavar="DIR", help="folder of real data (default: GOLDLESS_DATA)")
    run.add_argument(
        "--peers",
        action="store_true",
        help="leaderboards: also other packages, each installed in its own environment",
    )
    run.add_argument(
        "--timeout",
        type=_positive,
        default=120,
        metavar="S",
        help="leaderboards: CPU seconds a peer may take (default 120)",
    )
    run.add_argument(
        "--most-votes",
        type=_positive,
        metavar="N",
        help="leaderboards: give slow peers (GLAD, MACE, MMSR) only panels with so many votes",
    )
    run.add_argument("--fresh", action="store_true", help="do again what is already done")
    pages = commands.add_parser("render", help="write pages from records")
    pages.set_defaults(do=_render)
    pages.add_argument("records", nargs="+", metavar="RECORD", help="records, or folders of them")
    pages.add_argument("-o", "--output", metavar="DIR", required=True, help="folder to write to")
    for command in (run, pages):
        command.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
        command.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number
