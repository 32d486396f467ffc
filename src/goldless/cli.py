"""The command line: a thin layer over the public API."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import goldless as gl
from goldless.terminal import Style, columns

_OK, _USER_ERROR = 0, 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 1 with one clear line on an error of the user's (2: usage)."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return _OK
    try:
        arguments.run(arguments)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"goldless: {error}\n")
        return _USER_ERROR
    except BrokenPipeError:  # pragma: no cover - the reader of a pipe went away
        return _OK
    return _OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="goldless",
        description="Combine voters that may echo each other, when there is no gold label.",
    )
    parser.add_argument("--version", action="version", version=f"goldless {gl.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="simulate the paper's artificial data, find the group that echoes, score everything",
        description="Simulate twenty voters, some of which echo each other, and combine them without labels.",
    )
    demo.add_argument("--items", type=_positive, default=10_000, help="number of items (default 10000)")
    demo.add_argument("--group", type=_positive, default=5, help="voters that echo each other (default 5)")
    demo.add_argument("--seed", type=int, default=0, help="seed of the simulation (default 0)")
    demo.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    demo.set_defaults(run=_demo)
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _demo(arguments: argparse.Namespace) -> None:
    result = run_demo(arguments.items, arguments.group, arguments.seed)
    text = json.dumps(result, indent=1) if arguments.json else "\n".join(render_demo(result, Style()))
    sys.stdout.write(text + "\n")


def run_demo(n_items: int, group_size: int, seed: int, n_voters: int = 20) -> dict[str, Any]:
    """Simulate, fit and score; return plain figures."""
    if group_size > n_voters:
        raise ValueError(f"the group has {group_size} voters, but there are only {n_voters}")
    X, y, truth = gl.simulate_votes(
        n_items, [group_size] + [1] * (n_voters - group_size), random_state=seed, return_model=True
    )
    model = gl.LatentSML().fit(X)
    methods = {
        "majority vote": gl.MajorityVote().fit(X),
        "SML + EM (assumes independence)": gl.SpectralMetaLearner().fit(X),
        "L-SML (goldless)": model,
        "Oracle-L (knows the model)": gl.OracleLatent(truth).fit(X),
    }
    panel = model.select(5)
    return {
        "n_items": n_items,
        "n_voters": n_voters,
        "group_size": group_size,
        "n_groups": model.n_groups_,
        "voters": [
            {
                "voter": voter,
                "group": int(model.groups_[voter]),
                "true_group": int(truth.groups[voter]),
                "estimated_accuracy": float(model.balanced_accuracy_[voter]),
                "true_accuracy": float(truth.balanced_accuracy[voter]),
                "in_panel": bool(voter in panel),
            }
            for voter in range(n_voters)
        ],
        "balanced_error": {name: gl.balanced_error(y, method.predict(X)) for name, method in methods.items()},
        "panel": [int(voter) for voter in panel],
    }


def render_demo(result: dict[str, Any], style: Style) -> list[str]:
    """Turn the figures of the demo into lines for a terminal."""
    voters = result["voters"]
    sizes = np.bincount([voter["group"] for voter in voters])
    letters = _letters(sizes)
    largest = int(sizes.argmax())
    echo = [voter["voter"] for voter in voters if voter["group"] == largest]
    lines = [
        "",
        style("goldless demo", "bold")
        + style(f"   {result['n_voters']} simulated voters, {result['n_items']:,} items, no labels used", "dim"),
        "",
        f"The first {result['group_size']} voters were drawn to echo each other."
        if result["group_size"] > 1
        else "All voters were drawn to be independent.",
        f"Found from the votes alone: voters {', '.join(map(str, echo))} echo each other."
        if sizes.max() > 1
        else "Found from the votes alone: nobody echoes anybody.",
        "",
    ]
    rows = [
        [
            str(voter["voter"]),
            letters[voter["group"]],
            f"{voter['estimated_accuracy']:.3f}",
            f"{voter['true_accuracy']:.3f}",
            style.bar((voter["estimated_accuracy"] - 0.5) / 0.5, 24),
            "in panel" if voter["in_panel"] else "",
        ]
        for voter in voters
    ]
    table = columns(["voter", "group", "accuracy", "true", "above a coin", ""], rows, style, align="><>><<")
    lines += table[:2]
    for voter, line in zip(voters, table[2:], strict=True):
        lines.append(style(line, "yellow") if voter["group"] == largest and sizes.max() > 1 else line)
    errors = result["balanced_error"]
    worst = max(errors.values())
    best = min(name_error[1] for name_error in list(errors.items())[:3])
    rows = [[name, f"{100 * error:.1f} %", style.bar(error / worst, 30)] for name, error in errors.items()]
    table = columns(["balanced error against the hidden truth", "", ""], rows, style, align="<><")
    lines += ["", *table[:2]]
    for error, line in zip(errors.values(), table[2:], strict=True):
        lines.append(style(line, "green") if error == best else line)
    lines += [
        "",
        f"A panel of five worth keeping: voters {', '.join(map(str, result['panel']))}.",
        style("Accuracy is balanced accuracy: the mean of sensitivity and specificity.", "dim"),
        "",
    ]
    return lines


def _letters(sizes: np.ndarray) -> list[str]:
    """Name groups of two or more A, B, ...; voters that are alone get a dot."""
    names, used = [], 0
    for size in sizes:
        names.append(chr(ord("A") + used % 26) if size > 1 else "·")
        used += int(size > 1)
    return names


if __name__ == "__main__":  # pragma: no cover
    sys.exit(main())
