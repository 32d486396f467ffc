"""``goldless compare``: what changed from one batch of votes to the next, and who drifted."""

from __future__ import annotations

from goldless.cli.options import Options, command, fitting, reading, second_file


@command(
    "compare",
    "say what changed from one batch of votes to another, and who drifted",
    """\
  goldless simulate --seed 1 --items 2000 -o march.csv
  goldless simulate --seed 2 --items 2000 -o april.csv
  goldless compare march.csv april.csv --ignore truth
""",
)
@reading
@second_file
@fitting
def run(options: Options) -> None:
    """Print what changed."""
    import goldless as gl
    from goldless.cli.display import show, write_json
    from goldless.cli.output import Progress
    from goldless.cli.screens import compare_screen
    from goldless.cli.work import print_reading, read_and_fit

    first, second = options, Options(**{**vars(options), "file": options.other})
    batches = [read_and_fit(batch) for batch in (first, second)]
    with Progress("Comparing", options.quiet):
        (one, model, _), (other, later, _) = batches
        found = gl.compare(model, later, one.votes, other.votes)
    if options.json:
        write_json(found.to_dict())
        return
    if not options.quiet:
        for table, _, warned in batches:
            print_reading(table, warned)
    show(compare_screen(found.to_dict(), options.file, options.other))
