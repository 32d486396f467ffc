"""Time and peak memory of a call. Needs the standard library only: peers' environments run it too."""

from __future__ import annotations

import ctypes
import gc
import time
from typing import Any


def measured(function: Any, *arguments: Any) -> tuple[Any, dict[str, float | None]]:
    """Call a function; return its result and what it took.

    Returns
    -------
    result : object
    measures : dict
        ``seconds`` by the clock; ``cpu_seconds`` of this process, which a busy machine does not change much;
        ``memory_mb``, how far resident memory rose above where it stood (Linux; elsewhere None).
    """
    before = _resident("VmRSS") if _reset_peak() else None
    start, cpu_start = time.perf_counter(), time.process_time()
    result = function(*arguments)
    cpu_seconds, seconds = time.process_time() - cpu_start, time.perf_counter() - start
    peak = _resident("VmHWM") if before is not None else None
    rise = None if peak is None or before is None else max(peak - before, 0.0)
    return result, {"seconds": seconds, "cpu_seconds": cpu_seconds, "memory_mb": rise}


def _reset_peak() -> bool:
    """Give freed memory back, then let the peak start anew; return whether that can be done here."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except (OSError, AttributeError):
        return False
    return True


def _resident(name: str) -> float | None:
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None
