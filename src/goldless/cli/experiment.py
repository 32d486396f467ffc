"""``goldless experiment``: run an experiment, or write pages from records of runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from goldless.cli.commands import write_json, write_lines
from goldless.cli.output import Progress
from goldless.experiments import find_experiment
from goldless.experiments.render import find_records, render, summary_of, write_run
from goldless.experiments.runner import RECORD, run_experiment

RENDER = "render"


def run(arguments: argparse.Namespace) -> None:
    """Run the experiment that was named, or write the pages."""
    folder = Path(arguments.output)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder")
    if arguments.name == RENDER:
        _render(arguments, folder)
        return
    if arguments.records:
        raise ValueError(f"records are for {RENDER} only, got {arguments.records[0]!r}")
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
        write_json({"record": str(folder / RECORD), "units": len(record["units"]), "files": written})
    elif not arguments.quiet:
        first = summary_of(record).tables[0]
        write_lines(
            [first.title, "", first.markdown(), f"Wrote {folder / 'index.md'} and {len(written)} other files."]
        )


def _render(arguments: argparse.Namespace, folder: Path) -> None:
    if not arguments.records:
        raise ValueError(f"name the records: goldless experiment {RENDER} DIR ... -o {folder}")
    with Progress("Drawing", arguments.quiet):
        written = render(find_records(arguments.records), folder)
    if arguments.json:
        write_json({"files": written})
    elif not arguments.quiet:
        write_lines([f"Wrote {len(written)} files to {folder}."])
