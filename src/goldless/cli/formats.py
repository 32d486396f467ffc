"""``goldless formats``: what votes are read from, and what labels are written to."""

from __future__ import annotations

import argparse

from goldless.cli.commands import write_json, write_lines
from goldless.cli.terminal import Style
from goldless.io.readers.registry import list_formats
from goldless.io.write_back import TOOLS
from goldless.io.writing import ENDINGS


def run(arguments: argparse.Namespace) -> None:
    """List the formats."""
    formats = list_formats()
    endings = [*ENDINGS, ".vcf", ".vcf.gz", *(f".{tool}{ending}" for tool, (ending, _) in TOOLS.items())]
    if arguments.json:
        write_json({"read": dict(formats), "write": endings})
        return
    width = max(len(name) for name, _ in formats)
    style = Style()
    lines = [f"{style(name.ljust(width), 'bold')}  {title}" for name, title in formats]
    if not arguments.quiet:
        lines = [
            "Votes are read from these; the first line of every command says which it was. --as NAME forces one.",
            "",
            *lines,
            "",
            f"Labels are written to files that end in {' '.join(endings)}.",
        ]
    write_lines(lines)
