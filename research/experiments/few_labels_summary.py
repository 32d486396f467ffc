"""The page on a few known labels."""

from __future__ import annotations

from typing import Any

from research.experiments.framework import Summary

COUNTS = (0, 5, 10, 20, 50)
AUDITED = (30, 50, 100)


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the tables and figures of the page."""
    return Summary([], [], [])
