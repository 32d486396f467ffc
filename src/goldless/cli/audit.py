"""``goldless audit``: draw items to label, then say how good the labels are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from goldless.cli.options import POSITIVE, Options, command, fitting, named_file, option, output, points, reading

if TYPE_CHECKING:
    import goldless as gl


@command(
    "audit",
    "measure how good the labels are, from a few labels of items drawn at random",
    """\
  goldless simulate --items 500 -o votes.csv
  goldless audit votes.csv --ignore truth -n 30 -o to_label.csv
  goldless audit votes.csv --ignore truth -n 100 --seed 1 --json | head -n 9
""",
)
@reading
@fitting
@option("-n", type=POSITIVE, default=30, metavar="N", help="how many items to draw (default 30)")
@option("--seed", type=int, default=0, metavar="N", help="seed of the draw (default 0)")
@option(
    "--within",
    type=points,
    default=5.0,
    metavar="POINTS",
    help="how narrow an interval of balanced accuracy is wished for: plus or minus so many points (default 5)",
)
@named_file("--labels", help="the items that were drawn, with their labels filled in")
@option(
    "--sequential",
    is_flag=True,
    help="let the intervals hold however often one looks (so it is anyway if only the first lines have labels)",
)
@option("--cross-fit", is_flag=True, help="measure the labels of a fit with the same labels as anchors too")
@output("file to write, .csv or .tsv, to fill in and pass as --labels (default: standard output)")
def run(options: Options) -> None:
    """Write items to label or, with their labels, print how good the labels are."""
    if options.labels is None:
        _draw(options)
    else:
        _estimate(options)


def _draw(options: Options) -> None:
    """Write the items to label, in the order to label them, with all that an estimate needs."""
    import goldless as gl
    from goldless.cli.audit_file import COLUMNS, strata_of
    from goldless.cli.display import program, write_json
    from goldless.cli.facts import item_names
    from goldless.cli.labels import formulas_in
    from goldless.cli.output import check_output, write_output
    from goldless.cli.work import print_reading, read_and_fit, same_file
    from goldless.io.writing import table_bytes
    from goldless.words import clean

    check_output(options.output, options.force, options.file)
    table, model, warned = read_and_fit(options)
    plan = gl.audit(model, table.votes, options.n, random_state=options.seed)
    names = item_names(table.votes)
    rows = [
        [names[row], "", row + 1, stratum, size, round(float(share), 6)]
        for row, stratum, size, share in zip(
            plan.rows.tolist(),
            strata_of(plan),
            plan.size[plan.stratum].tolist(),
            plan.inclusion_probability,
            strict=True,
        )
    ]
    if options.output not in (None, "-") or not options.json:
        columns = list(zip(*rows, strict=True))
        write_output(options.output, table_bytes(list(COLUMNS), columns, options.output or "-"))
        warned = [*warned, *formulas_in(options.output, columns[0])]
    needed = plan.labels_for(options.within / 100)
    if options.json:
        write_json(
            {
                "items": [dict(zip(COLUMNS, [row[0], None, *row[2:]], strict=True)) for row in rows],
                "within": options.within,
                "labels_needed": needed,
                "how": table.how,
                "warnings": warned,
                "output": options.output,
            }
        )
    elif not options.quiet:
        print_reading(table, warned)
        filled = "labelled.csv" if options.output in (None, "-") else options.output
        sys.stderr.write(
            f"Drew {len(rows)} of {plan.n_items:,} items. Plus or minus {options.within:g} points would take about "
            f"{needed:,}: a first guess, which the labels of these make better.\n"
            "Fill in the labels from the top, without looking at the votes; leave out no line, and write ? where "
            f"nobody can tell. Then:\n  {program()} audit {same_file(options)} --labels {clean(filled)}\n"
        )


def _estimate(options: Options) -> None:
    """Print how good the labels are."""
    from goldless.cli.audit_file import plan_of, read_labels
    from goldless.cli.display import line, program, show, write_json
    from goldless.cli.facts import facts_of
    from goldless.cli.output import Progress
    from goldless.cli.screens import audit_screen
    from goldless.cli.work import print_reading, read_and_fit, same_file
    from goldless.words import clean

    lines = read_labels(options.labels)
    table, model, warned = read_and_fit(options)
    plan, labels = plan_of(options.labels, lines, table, model)
    if not labels:
        raise ValueError(f"{options.labels} has no labels yet: fill in its column 'label'")
    outcome = plan.estimate(labels, anytime=options.sequential)
    anchored = None
    if options.cross_fit:
        with Progress("Fitting again", options.quiet):
            anchored = plan.cross_fit(model, table.votes, labels, **facts_of(options, table.votes))[1]
    result = {
        **_as_json(outcome),
        "within": options.within,
        "labels_needed": outcome.labels_for(options.within / 100),
        "with_labels_as_anchors": None if anchored is None else _as_json(anchored),
        "how": table.how,
        "warnings": warned,
    }
    if options.json:
        write_json(result)
        return
    if not options.quiet:
        print_reading(table, warned)
    show(audit_screen(result, quiet=options.quiet))
    if anchored is not None and not options.quiet:
        anchors = f"--anchors {clean(options.labels)}"
        show([line(f"  {program()} combine {same_file(options)} {anchors} -o labels.csv")])


def _as_json(outcome: gl.AuditOutcome) -> dict[str, Any]:
    from goldless.plain import plain_tree

    return {
        "classes": [str(label) for label in outcome.classes.tolist()],
        "n_items": outcome.n_items,
        "n_labelled": outcome.n_labelled,
        "n_unsure": outcome.n_unsure,
        "n_wrong": outcome.n_wrong,
        "value": plain_tree(outcome.value),
        "interval": plain_tree(outcome.interval),
        "looks": plain_tree(outcome.looks),
    }
