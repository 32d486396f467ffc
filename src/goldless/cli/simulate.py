"""``goldless simulate``: votes and their truth to try the other commands with."""

from __future__ import annotations

import shlex
from typing import Any

import click

from goldless.cli.options import POSITIVE, Options, command, imbalance, option, output, share, sizes


@command(
    "simulate",
    "draw votes from a model with groups of dependent voters, with their truth",
    """\
  goldless simulate -o votes.csv
  goldless simulate --items 1000 --groups 4,3,1,1,1,1 --seed 7 -o small.csv
  goldless simulate --items 1000 --classes 3 -o three.csv
  goldless simulate --missing-rate 0.5 --long | head -n 3
""",
)
@option("--items", type=POSITIVE, default=10_000, metavar="N", help="number of items (default 10000)")
@option(
    "--groups",
    type=sizes,
    default=",".join(["5", *["1"] * 15]),
    metavar="SIZES",
    help="sizes of the groups, such as 5,3,1,1 (default 5 and fifteen times 1)",
)
@option(
    "--classes", type=click.IntRange(2, 100), default=2, metavar="C", help="number of classes, 2 to 100 (default 2)"
)
@option("--imbalance", type=imbalance, default="0", metavar="B", help="class imbalance, between -1 and 1 (default 0)")
@option("--missing-rate", type=share, default="0", metavar="R", help="share of missing votes (default 0)")
@option("--seed", type=int, default=0, metavar="N", help="seed (default 0)")
@option("--long", is_flag=True, help="write one row per vote instead of one row per item")
@output("file to write (default: standard output)")
def run(options: Options) -> None:
    """Write simulated votes and their truth."""
    import goldless as gl
    from goldless.cli.display import line, program, show, write_json
    from goldless.cli.output import check_output, write_output
    from goldless.io.writing import table_bytes

    check_output(options.output, options.force)
    if options.imbalance and options.classes > 2:
        raise ValueError("--imbalance is for two classes")
    X, y = gl.simulate_votes(
        options.items,
        options.groups,
        options.imbalance,
        n_classes=options.classes,
        missing_rate=options.missing_rate,
        random_state=options.seed,
    )
    label = {-1.0: "no", 1.0: "yes"}
    if options.classes > 2:
        label = {float(code): _letters(code) for code in range(options.classes)}
    voters = [f"voter {i + 1}" for i in range(X.shape[1])]
    votes = [[label.get(vote, "") for vote in row] for row in X.astype(float).tolist()]
    truth = [label[float(value)] for value in y]
    if options.long:
        header = ["item", "voter", "label", "truth"]
        rows: Any = (
            [item, voter, vote, truth[item - 1]]
            for item, row in enumerate(votes, 1)
            for voter, vote in zip(voters, row, strict=True)
            if vote
        )
    else:
        header = ["item", *voters, "truth"]
        rows = ([item, *row, truth[item - 1]] for item, row in enumerate(votes, 1))
    if options.output in (None, "-"):
        if options.json:
            write_json({"columns": header, "rows": list(rows)})
        else:
            write_output(options.output, table_bytes(header, list(zip(*rows, strict=True)), options.output or "-"))
        return
    write_output(options.output, table_bytes(header, list(zip(*rows, strict=True)), options.output))
    if options.json:
        write_json({"output": options.output, "n_items": options.items, "groups": options.groups, "truth": "truth"})
    elif not options.quiet:
        show(
            [
                line(f"Wrote {options.output}: {options.items:,} items x {len(voters)} voters, and their truth."),
                line(f"Next: {program()} inspect {shlex.quote(options.output)} --truth truth"),
            ]
        )


def _letters(code: int) -> str:
    """Return a name of a class: a to z, then class 27 and so on."""
    return chr(ord("a") + code) if code < 26 else f"class {code + 1}"
