"""Shared by the benchmarks: the best of a few runs, and a Markdown table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any


def best_of(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Return the shortest time of a few calls in seconds, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a Markdown table."""
    print(f"\n## {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
