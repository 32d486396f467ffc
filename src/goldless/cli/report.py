"""``goldless report``: the page."""

from __future__ import annotations

from goldless.cli.options import POSITIVE, Options, command, fitting, named_file, option, output, reading

_PAGE = "report.html"


@command(
    "report",
    "write a page with the whole picture, to open and to send on",
    """\
  goldless simulate -o votes.csv
  goldless report votes.csv --truth truth -o report.html
  goldless simulate --seed 1 -o later.csv
  goldless report later.csv --ignore truth --against votes.csv -o changes.html
""",
)
@reading
@fitting
@output("page to write (default report.html; with --json none, unless it is named)")
@option("-k", type=POSITIVE, default=5, metavar="K", help="size of the suggested panel (default 5)")
@named_file("--against", help="an earlier batch by the same voters: the page says what changed, and who drifted")
@option("--title", metavar="TEXT", help="title of the page (default: the name of the file)")
def run(options: Options) -> None:
    """Write the page."""
    from goldless.cli.display import line, show, write_json
    from goldless.cli.output import Progress, check_output, write_output
    from goldless.cli.work import print_reading, read, read_and_fit, summary_of
    from goldless.report import render_html
    from goldless.report.make import changes_since
    from goldless.words import clean

    if options.json and options.output == "-":
        raise ValueError("--json and -o - both print: name a file for the page, or leave out one of them")
    target = options.output or (None if options.json else _PAGE)
    if target is not None:
        check_output(target, options.force, options.file)
    table, model, warned = read_and_fit(options)
    changed = None
    if options.against is not None:
        earlier = read(Options(**{**vars(options), "file": options.against}))
        with Progress("Comparing", options.quiet):
            changed = changes_since(model, table, earlier)
    summary = summary_of(options, table, model, warned, against=changed)
    if target is not None:
        with Progress("Drawing", options.quiet):
            page = render_html(summary).encode()
        write_output(target, page)
    if options.json:
        write_json(summary)
    elif not options.quiet and target != "-":
        print_reading(table, warned)
        size = f"{len(page) / 1e6:.2g} MB"
        show([line(clean(summary["answer"]["headline"])), line(f"Wrote {target} ({size}): open it in a browser.")])
