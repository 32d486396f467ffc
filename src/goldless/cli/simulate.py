"""``goldless simulate``: votes and their truth to try the other commands with."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

import goldless as gl
from goldless.cli.commands import write_json, write_lines
from goldless.cli.output import check_output, write_output
from goldless.cli.program import program
from goldless.io.writing import table_bytes


def simulate(arguments: argparse.Namespace) -> None:
    """Write simulated votes and their truth."""
    check_output(arguments.output, arguments.force)
    if arguments.imbalance and arguments.classes > 2:
        raise ValueError("--imbalance is for two classes")
    X, y = gl.simulate_votes(
        arguments.items,
        arguments.groups,
        arguments.imbalance,
        n_classes=arguments.classes,
        missing_rate=arguments.missing_rate,
        random_state=arguments.seed,
    )
    label = {-1.0: "no", 1.0: "yes"}
    if arguments.classes > 2:
        label = {float(code): _letters(code) for code in range(arguments.classes)}
    voters = [f"voter {i + 1}" for i in range(X.shape[1])]
    votes = [[label.get(vote, "") for vote in row] for row in X.astype(float).tolist()]
    truth = [label[float(value)] for value in y]
    if arguments.long:
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
    if arguments.output in (None, "-"):
        if arguments.json:
            write_json({"columns": header, "rows": list(rows)})
        else:
            write_output(
                arguments.output, table_bytes(header, list(zip(*rows, strict=True)), arguments.output or "-")
            )
        return
    write_output(arguments.output, table_bytes(header, list(zip(*rows, strict=True)), arguments.output))
    if arguments.json:
        write_json(
            {"output": arguments.output, "n_items": arguments.items, "groups": arguments.groups, "truth": "truth"}
        )
    elif not arguments.quiet:
        write_lines(
            [
                f"Wrote {arguments.output}: {arguments.items:,} items x {len(voters)} voters, and their truth.",
                f"Next: {program()} inspect {shlex.quote(arguments.output)} --truth truth",
            ]
        )


def _letters(code: int) -> str:
    """Return a name of a class: a to z, then class 27 and so on."""
    return chr(ord("a") + code) if code < 26 else f"class {code + 1}"
