"""What the screen says of votes that list only what some voters call: items unseen, sensitivity and precision."""

from __future__ import annotations

from typing import Any

from goldless.cli.display import heading, line, sentence
from goldless.words import cell_width, clean, shortened


def call_lines(summary: dict[str, Any]) -> list[Any]:
    """Return how many candidate items nobody called, and for each voter what it finds and what of it is real."""
    calls = summary["calls"]
    low, high = calls["unseen_interval"]
    who = "nobody" if calls["at_least"] == 1 else f"fewer than {calls['at_least']} voters"
    found = f"about {calls['unseen']:,.0f} (95 % interval {low:,.0f} to {high:,.0f})"
    if calls["given"]:
        found = f"{calls['unseen']:,.0f}, as given (the votes say {low:,.0f} to {high:,.0f})"
    names = [shortened(clean(voter["name"]), 32) for voter in summary["voters"]]
    width = max(map(cell_width, names))
    lines = [heading(f"Candidate items that {who} called: {found}"), line(f"  {' ' * width}   sens    PPV")]
    for name, sensitivity, precision in zip(names, calls["sensitivity"], calls["precision"], strict=True):
        space = " " * (width - cell_width(name))
        lines.append(line(f"  {name}{space} {100 * sensitivity:4.0f} % {100 * precision:4.0f} %"))
    lines.append(sentence("sens: share of real items that it calls; PPV: share of its calls that are real."))
    return lines
