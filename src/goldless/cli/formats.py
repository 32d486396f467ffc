"""``goldless formats``: what votes are read from, and what labels are written to."""

from __future__ import annotations

from goldless.cli.options import Options, command


@command(
    "formats",
    "list the formats that votes are read from, and written to",
    """\
  goldless formats
  goldless formats --json
""",
)
def run(options: Options) -> None:
    """List the formats."""
    from goldless.cli.display import line, sentence, show, write_json
    from goldless.io.readers.registry import list_formats
    from goldless.io.write_back import TOOLS
    from goldless.io.writing import ENDINGS

    formats = list_formats()
    endings = [*ENDINGS, ".vcf", ".vcf.gz", *(f".{tool}{ending}" for tool, (ending, _) in TOOLS.items())]
    if options.json:
        write_json({"read": dict(formats), "write": endings})
        return
    width = max(len(name) for name, _ in formats)
    lines = [line(f"{name.ljust(width)}  {title}") for name, title in formats]
    if not options.quiet:
        lines = [
            sentence(
                "Votes are read from these; the first line of every command says which it was. --as NAME forces one."
            ),
            line(""),
            *lines,
            line(""),
            sentence(f"Labels are written to files that end in {' '.join(endings)}."),
        ]
    show(lines)
