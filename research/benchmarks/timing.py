"""Shared by the benchmarks: the best of a few runs, side by side or not, and a Markdown table."""

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


def race(functions: dict[str, Callable[[], Any]], repeats: int = 3) -> dict[str, tuple[float, float, Any]]:
    """Return the shortest time, the fewest CPU seconds and the last result of each, called in turn.

    On a busy machine CPU seconds compare better than the clock; those of all threads count.
    """
    found: dict[str, tuple[float, float, Any]] = {}
    for _ in range(repeats):
        for name, function in functions.items():
            clock, cpu = time.perf_counter(), time.process_time()
            result = function()
            clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
            before = found.get(name, (clock, cpu, None))
            found[name] = min(before[0], clock), min(before[1], cpu), result
    return found


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a Markdown table."""
    print(f"\n## {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
