"""``goldless ask``: items to label by hand, with a gap for the label."""

from __future__ import annotations

from goldless.cli.options import POSITIVE, Options, command, fitting, option, output, reading


@command(
    "ask",
    "name the items whose labels would tell most, ready to fill in",
    """\
  goldless simulate -o votes.csv
  goldless ask votes.csv -n 5 -o ask.csv
""",
)
@reading
@fitting
@option("-n", type=POSITIVE, default=20, metavar="N", help="how many items (default 20)")
@output("file to write, .csv or .tsv, to fill in and pass as --anchors (default: standard output)")
def run(options: Options) -> None:
    """Write the items."""
    import sys

    from goldless.cli.display import write_json
    from goldless.cli.facts import question_rows
    from goldless.cli.labels import formulas_in
    from goldless.cli.output import check_output, write_output
    from goldless.cli.work import class_names, how_of, notes_of, print_reading, read_and_fit, shown_classes
    from goldless.io.writing import check_ending, table_bytes

    to_screen = options.output in (None, "-")
    check_output(options.output, options.force, options.file)
    table, model, warned = read_and_fit(options)
    votes = table.votes
    questions = model.next_to_label(votes, options.n)
    names = class_names(votes)
    shown = shown_classes(len(names))
    if not to_screen:
        check_ending(options.output)
    rows = question_rows(questions, votes, model.predict_proba(votes)[:, shown])
    header = [table.item_title, "label", *(f"probability of {name}" for name in names[shown]), "why"]
    if not to_screen or not options.json:
        columns = list(zip(*rows, strict=True)) or [()] * len(header)
        write_output(options.output, table_bytes(header, columns, options.output or "-"))
        warned = [*warned, *formulas_in(options.output, columns[0], header)]
    if options.json:
        keys = ["item", *(header[2:-1] if len(names) > 2 else ["probability"]), "why"]
        write_json(
            {
                "items": [dict(zip(keys, [row[0], *row[2:]], strict=True)) for row in rows],
                "open": questions.open,
                "n_groupings": questions.n_groupings,
                "n_readings": questions.n_groupings,  # its name before 0.2, for one version
                "enough": questions.enough,
                "how": how_of(table),
                "warnings": [*notes_of(table), *warned],
                "output": options.output,
            }
        )
    elif not options.quiet:
        print_reading(table, warned)
        filled = "the file" if to_screen else options.output
        sys.stderr.write(f"{questions.sentence}\nFill in the labels, then pass {filled} as --anchors.\n")
