"""Threads that change the time and never the result."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

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


_pools: dict[int, ThreadPoolExecutor] = {}
_inside = threading.local()
_making = threading.Lock()


def _pool(n_threads: int) -> ThreadPoolExecutor | None:
    """Return threads that are kept for the next call; None if one is enough, or this is one of them."""
    if n_threads <= 1 or getattr(_inside, "yes", False):
        return None
    with _making:
        if n_threads not in _pools:
            _pools[n_threads] = ThreadPoolExecutor(n_threads, "goldless", initializer=_enter)
        return _pools[n_threads]


def _enter() -> None:
    _inside.yes = True


def _forget_pools() -> None:
    """Threads do not live on in a process that was forked."""
    global _making
    _making = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def ordered_map(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Apply a GIL-free function to every task and return the results in the order of the tasks.

    The list of tasks must not depend on the number of threads; then neither does anything computed from it.
    """
    tasks, n_threads = list(tasks), thread_count()
    pool = _pool(n_threads) if len(tasks) > 1 else None
    if pool is None:
        return [function(task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    errors: dict[int, Exception] = {}
    left, taking = deque(enumerate(tasks)), threading.Lock()

    def work() -> None:
        """Take tasks in their order as long as there are any."""
        while True:
            with taking:
                if not left:
                    return
                place, task = left.popleft()
            try:
                results[place] = function(task)
            except Exception as error:
                errors[place] = error
                with taking:
                    left.clear()  # those before it were taken already

    helpers = [pool.submit(work) for _ in range(min(n_threads, len(tasks)) - 1)]
    _inside.yes = True  # this thread works too: to wake it up again and again costs as much as a small task
    try:
        work()
    finally:
        _inside.yes = False
        with taking:
            left.clear()  # nothing is left to do, unless this thread was interrupted
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    if errors:
        raise errors[min(errors)]
    return results


def ordered_stream(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """Apply a GIL-free function to tasks as they come, a few at a time, and yield the results in their order.

    At most two tasks a thread are held at any time, so memory does not grow with their number.
    """
    n_threads = thread_count()
    pool = _pool(n_threads)
    if pool is None:
        yield from map(function, tasks)
        return
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(function, task))
            if len(waiting) >= 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


@cache
def _linear_algebra() -> Any:
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_linear_algebra_thread() -> Iterator[None]:
    """Let linear algebra use one thread for a while; afterwards it uses as many as before.

    Small matrices gain nothing by threads, and on a busy machine their threads wait for each other: the search for
    groups took twice as long.
    """
    with _linear_algebra().limit(limits=1):
        yield


def row_chunks(n_rows: int, chunk_rows: int) -> list[slice]:
    """Cut ``n_rows`` rows into slices of at most ``chunk_rows``."""
    return [slice(start, min(start + chunk_rows, n_rows)) for start in range(0, n_rows, chunk_rows)]
