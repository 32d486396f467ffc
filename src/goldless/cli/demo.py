"""The demo: real votes of a real ensemble, everything done on them, scored at the end."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.cli.commands import CHECKING, FITTING, fit, write_json, write_lines
from goldless.cli.ensemble import family_makers, named_ensemble, votes_of
from goldless.cli.output import Progress, check_output, timed, write_output
from goldless.cli.program import program
from goldless.cli.screens import inspect_screen
from goldless.cli.terminal import Style, columns
from goldless.io.files import VotesFile
from goldless.report import render_html, summarize
from goldless.report.sentences import METHODS

_TRAINING_POOL, _TRAINED_ON = 400, 150
_HOW = (
    "1,397 handwritten digits of scikit-learn, odd or even? Sixteen classifiers vote, four families, each trained on "
    "150 other digits of its own"
)


def run(arguments: argparse.Namespace) -> None:
    """Run the demo."""
    check_output(arguments.output, arguments.force)
    with timed() as seconds:
        with Progress("Training the voters", arguments.quiet) as progress:
            table = train_voters(arguments.seed, progress.update)
        with Progress(FITTING, arguments.quiet):
            model, said = fit(table)
        with Progress(CHECKING, arguments.quiet):
            summary = summarize(
                model,
                table.votes,
                truth=table.truth,
                title="goldless demo: digits, odd or even",
                source=table.how,
                warnings=said,
            )
        with Progress("Drawing", arguments.quiet):
            page = _write_page(summary, arguments.output)
    if arguments.json:
        write_json({**summary, "seconds": round(seconds[0], 2), "output": page})
        return
    unscored = {**summary, "truth": None}
    style = Style()
    lines = [] if arguments.quiet else ["", style("goldless demo", "bold")]
    lines += inspect_screen(unscored, style, quiet=arguments.quiet)
    lines += ["", *_scores(summary, style), ""]
    lines += [
        f"The whole picture is in {page}",
        f"Done in {seconds[0]:.0f} s. With a file of your own, one row an item and one column a voter:",
        style(f"  {program()} report votes.csv -o report.html", "bold"),
        "",
    ]
    write_lines(lines)


def train_voters(seed: int, progress: Callable[[float], None] | None = None) -> VotesFile:
    """Train the paper's kind of ensemble on digits of scikit-learn, and let it vote on the others.

    As in the paper's UCI experiments: random forests, logistic model trees, support vector machines and naive
    Bayes, each trained on its own random subset.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    features, odd = digits.data, digits.target % 2
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(odd))
    pool, voted_on = shuffled[:_TRAINING_POOL], np.sort(shuffled[_TRAINING_POOL:])
    ensemble = named_ensemble(family_makers(), seed)
    training = [rng.choice(pool, _TRAINED_ON, replace=False) for _ in ensemble]
    votes = votes_of(ensemble, features, odd, training, voted_on, progress)
    truth: NDArray[np.int8] = odd[voted_on].astype(np.int8)
    names = np.array([name for name, _ in ensemble], dtype=object)
    items = np.array([f"digit {item}" for item in voted_on], dtype=object)
    encoded = gl.Votes(votes, np.array(["even", "odd"]), names, items)
    return VotesFile(encoded, truth, f"{_HOW}; no label is used.", name="demo")


def _write_page(summary: dict[str, Any], output: str | None) -> str:
    """Write the report and return where it is."""
    path = output or str(Path(tempfile.mkdtemp(prefix="goldless-")) / "goldless-demo.html")
    write_output(path, render_html(summary).encode())
    return path


def _scores(summary: dict[str, Any], style: Style) -> list[str]:
    """Compare what was expected without labels with the hidden truth."""
    expected = {row["method"]: row["balanced_accuracy"] for row in summary["answer"]["expected"]}
    truth = summary["truth"]
    rows = [
        [
            METHODS[row["method"]],
            f"{100 * expected[row['method']]:.1f} %",
            f"{100 * row['balanced_accuracy']:.1f} %",
            style.bar((row["balanced_accuracy"] - 0.5) / 0.5, 20),
        ]
        for row in truth["methods"]
    ]
    table = columns(["now look at the hidden truth", "expected", "true", "above a coin"], rows, style, align="<>><")
    gap = np.mean(
        [
            abs(voter["balanced_accuracy"] - true["balanced_accuracy"])
            for voter, true in zip(summary["voters"], truth["voters"], strict=True)
            if true["balanced_accuracy"] is not None
        ]
    )
    return [
        *(line.rstrip() for line in table),
        f"Accuracies of single voters were off by {100 * gap:.1f} points on average.",
    ]
