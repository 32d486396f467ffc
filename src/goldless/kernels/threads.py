"""Threads that change the time and never the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def thread_count() -> int:
    """Return how many threads kernels may use: ``GOLDLESS_NUM_THREADS``, or the cores this process may use."""
    asked = os.environ.get("GOLDLESS_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ordered_map(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Apply a GIL-free function to every task and return the results in the order of the tasks.

    The list of tasks must not depend on the number of threads; then neither does anything computed from it.
    """
    tasks = list(tasks)
    n_threads = min(thread_count(), len(tasks))
    if n_threads <= 1:
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, tasks))


def row_chunks(n_rows: int, chunk_rows: int) -> list[slice]:
    """Cut ``n_rows`` rows into slices of at most ``chunk_rows``."""
    return [slice(start, min(start + chunk_rows, n_rows)) for start in range(0, n_rows, chunk_rows)]
