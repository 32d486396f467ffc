"""How far a long computation is: the library tells, and whoever listens may show it. Nobody listens by default.

>>> from goldless.progress import listening, part, tell
>>> heard = []
>>> with listening(lambda stage, share: heard.append((stage, share))):
...     tell("counting", 0.5)
...     with part("two fits", 0.5, 1.0):
...         tell("fit", 0.5)
>>> heard
[('counting', 0.5), ('two fits', 0.5), ('two fits', 0.75)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, float], None]
_listener: ContextVar[Listener | None] = ContextVar("goldless_progress", default=None)


def tell(stage: str, share: float) -> None:
    """Say which share of a stage is done, from 0 to 1; another stage starts again from 0."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, share)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear what is told within the block, in this thread or task."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def part(stage: str, low: float, high: float) -> Iterator[None]:
    """Take everything told within the block for a part of one stage, from the share ``low`` to ``high``."""
    outer = _listener.get()
    if outer is None:
        yield
        return
    with listening(lambda _, share: outer(stage, low + share * (high - low))):
        outer(stage, low)
        yield
