"""``goldless inspect``: one screen of what the votes say."""

from __future__ import annotations

from goldless.cli.options import Options, command, fitting, option, reading


@command(
    "inspect",
    "say what to do, how sure that is, who echoes whom, who is good",
    """\
  goldless simulate -o votes.csv
  goldless inspect votes.csv --truth truth
  goldless inspect votes.csv --json
  goldless simulate --classes 3 -o three.csv
  goldless inspect three.csv --class-balance a=0.3,b=0.3,c=0.4
  cat votes.csv | goldless inspect -
""",
)
@reading
@fitting
@option("--all", "everyone", is_flag=True, help="list every voter, however many there are")
def run(options: Options) -> None:
    """Print the screen."""
    from goldless.cli.display import show, write_json
    from goldless.cli.screens import call_lines, inspect_screen, number_lines
    from goldless.cli.work import notes_of, read_and_fit, same_file, summary_of

    table, model, warned = read_and_fit(options)
    summary = summary_of(options, table, model, warned)
    if options.json:
        write_json(summary)
        return
    numbers = [] if table.reading is None else number_lines(model, table.votes)
    numbers += [] if summary["calls"] is None else call_lines(summary)
    show(
        inspect_screen(
            summary,
            everyone=options.everyone,
            quiet=options.quiet,
            file=same_file(options),
            notes=notes_of(table),
            numbers=numbers,
        )
    )
