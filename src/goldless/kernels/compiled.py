"""How every kernel is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit
from numba.core import event

from goldless.progress import tell

COMPILING = "compiling, once on this machine"


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function on plain arrays: cached on disk, free of the GIL, without checks for division by zero.

    Where no folder can be written, as in many containers, it is compiled without a cache.

    What is slow to compile is best left out of kernels: copying an array into a part of another (``a[:n] = b``; a
    loop is as fast), ``a += b`` for arrays, sorting, formatted messages. Each costs one to three seconds.

    Used as ``@compiled``, or ``@compiled(...)`` with further options of Numba.
    """
    settings: Any = {"cache": True, "nogil": True, "error_model": "numpy", **options}

    def decorate(function: Callable) -> Any:
        try:
            return njit(**settings)(function)
        except RuntimeError:  # Numba finds no folder for its cache
            _say_there_is_no_cache()
            return njit(**{**settings, "cache": False})(function)

    return decorate if function is None else decorate(function)


@cache
def _say_there_is_no_cache() -> None:
    warnings.warn(
        "no folder for compiled code can be written, so every process compiles it anew: some seconds each time. "
        "NUMBA_CACHE_DIR names another folder.",
        RuntimeWarning,
        stacklevel=4,
    )


class _TellOfCompiling(event.Listener):
    """Says that kernels are compiled; those found in the cache are not."""

    def on_start(self, event: Any) -> None:
        tell(COMPILING, 0.0)

    def on_end(self, event: Any) -> None:
        """Say nothing: the next stage does."""


event.register("numba:compile", _TellOfCompiling())
