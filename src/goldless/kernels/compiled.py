"""How every kernel is compiled."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import cache, update_wrapper
from importlib import import_module
from typing import Any

from goldless.progress import tell

COMPILING = "compiling, once on this machine"
_making = threading.RLock()


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function on plain arrays: cached on disk, free of the GIL, without checks for division by zero.

    Numba is imported when the first kernel is called. Where no folder can be written, as in many containers, it
    compiles without a cache.

    What is slow to compile is best left out of kernels: copying an array into a part of another (``a[:n] = b``; a
    loop is as fast), ``a += b`` for arrays, sorting, formatted messages. Each costs one to three seconds.

    Used as ``@compiled``, or ``@compiled(...)`` with further options of Numba.
    """
    return Kernel(function, options) if function is not None else lambda function: Kernel(function, options)


class Kernel:
    """A function that Numba compiles when it is first called."""

    def __init__(self, function: Callable, options: dict[str, Any]):
        update_wrapper(self, function)
        self._function, self._options = function, options
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return (self._dispatcher or self._dispatched())(*arguments)

    def __reduce__(self) -> tuple:
        return _kernel_of, (self._function.__module__, self._function.__name__)

    def _dispatched(self) -> Any:
        """Hand the function to Numba, and those that it calls."""
        with _making:
            if self._dispatcher is None:
                names = self._function.__globals__
                for name in self._function.__code__.co_names:
                    if isinstance(names.get(name), Kernel):
                        names[name] = names[name]._dispatched()
                self._dispatcher = _dispatcher(self._function, self._options)
            return self._dispatcher


def _kernel_of(module: str, name: str) -> Any:
    """Return a kernel by its name, as processes of a cluster do."""
    return getattr(import_module(module), name)


def _dispatcher(function: Callable, options: dict[str, Any]) -> Any:
    njit = _numba()
    settings: Any = {"cache": True, "nogil": True, "error_model": "numpy", **options}
    try:
        made = njit(**settings)(function)
    except RuntimeError:  # Numba finds no folder for its cache
        _say_there_is_no_cache()
        return njit(**{**settings, "cache": False})(function)
    save = made._cache.save_overload  # Numba lets a full disk end the call

    def save_if_possible(*compilation: Any) -> None:
        try:
            save(*compilation)
        except OSError:
            _say_there_is_no_cache()

    made._cache.save_overload = save_if_possible
    return made


@cache
def _numba() -> Any:
    """Import Numba, and tell from now on when it compiles; what is found in the cache is not compiled."""
    from numba import njit
    from numba.core import event

    class TellOfCompiling(event.Listener):
        def on_start(self, event: Any) -> None:
            tell(COMPILING, 0.0)

        def on_end(self, event: Any) -> None:
            """Say nothing: the next stage does."""

    event.register("numba:compile", TellOfCompiling())
    return njit


@cache
def _say_there_is_no_cache() -> None:
    warnings.warn(
        "no folder for compiled code can be written, so every process compiles it anew: some seconds each time. "
        "NUMBA_CACHE_DIR names another folder.",
        RuntimeWarning,
        stacklevel=4,
    )
