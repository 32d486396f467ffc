"""How every kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function on plain arrays: cached on disk, free of the GIL, without checks for division by zero.

    What is slow to compile is best left out of kernels: copying an array into a part of another (``a[:n] = b``; a
    loop is as fast), ``a += b`` for arrays, sorting, formatted messages. Each costs one to three seconds.

    Used as ``@compiled``, or ``@compiled(...)`` with further options of Numba.
    """
    settings: Any = {"cache": True, "nogil": True, "error_model": "numpy", **options}
    decorate: Any = njit(**settings)
    return decorate if function is None else decorate(function)
