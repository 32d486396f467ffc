"""What the screen says of votes that list only what some voters call: items unseen, sensitivity and precision."""

from __future__ import annotations

from typing import Any

from goldless.cli.terminal import Style, clean


def call_lines(summary: dict[str, Any], style: Style) -> list[str]:
    """Return how many candidate items nobody called, and for each voter what it finds and what of it is real."""
    calls = summary["calls"]
    low, high = calls["unseen_interval"]
    who = "nobody" if calls["at_least"] == 1 else f"fewer than {calls['at_least']} voters"
    found = f"about {calls['unseen']:,.0f} (95 % interval {low:,.0f} to {high:,.0f})"
    if calls["given"]:
        found = f"{calls['unseen']:,.0f}, as given (the votes say {low:,.0f} to {high:,.0f})"
    names = [clean(voter["name"]) for voter in summary["voters"]]
    width = max(map(len, names))
    lines = ["", style(f"Candidate items that {who} called", "bold") + f": {found}", f"  {'':<{width}}   sens    PPV"]
    rows = zip(names, calls["sensitivity"], calls["precision"], strict=True)
    lines += [f"  {name:<{width}} {100 * sens:4.0f} % {100 * ppv:4.0f} %" for name, sens, ppv in rows]
    return [*lines, "sens: share of real items that it calls; PPV: share of its calls that are real"]
