"""What the screen says of voters that give numbers: where each turns, how well it ranks, and its emission drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.cli.display import heading, line, sentence
from goldless.cli.names import voter_names
from goldless.votes.votes import Votes
from goldless.words import cell_width, class_names, clean, shortened

_BARS = "▁▂▃▄▅▆▇█"
_TWO_CLASSES = 0.95


def number_lines(model: Any, votes: Votes) -> list[Any]:
    """Return a line for each voter, and whether the numbers are of two classes or of one scale."""
    names = [shortened(clean(name), 32) for name in voter_names(votes)]
    width = max(map(cell_width, names))
    positive = shortened(clean(class_names(model.classes_.tolist(), True)[1]), 20)
    lines = [heading(f"Where each voter turns to {positive} (AUC; share of {positive}, low to high)")]
    facts = zip(names, model.turning_point_, model.direction_, model.auc_, model.severity_, strict=True)
    for (name, point, direction, auc, severity), table in zip(facts, model.emission_, strict=True):
        turn = "never" if np.isnan(point) else f"{'from' if direction >= 0 else 'below'} {point:.4g}"
        strict = "" if np.isnan(severity) else f"  severity {severity:+.2g}"
        space = " " * (width - cell_width(name))
        lines.append(line(f"  {name}{space}  {turn:<12} {auc:.2f}  {_bars(table)}{strict}"))
    if model.scale_or_classes_ < _TWO_CLASSES:
        lines.append(
            sentence(
                "These numbers look like one scale rather than two classes: where to cut is your choice "
                "(--positive-from); labels of about 40 items would set it (--anchors)."
            )
        )
    lines.append(
        sentence("Accuracies of single voters, tests and effective votes are of votes cut where each voter turns.")
    )
    return lines


def _bars(table: NDArray[np.float64]) -> str:
    """Draw the share of the positive class in each bin, the classes taken as equally frequent."""
    share = table[1] / np.maximum(table.sum(axis=0), 1e-300)
    return "".join(_BARS[int(min(height * len(_BARS), len(_BARS) - 1))] for height in share)
