"""Time and peak memory of a call. Needs the standard library only: peers' environments run it too."""

from __future__ import annotations

import time
from typing import Any


def measured(function: Any, *arguments: Any) -> tuple[Any, float, float | None]:
    """Call a function; return its result, the seconds it took, and how far memory rose above where it stood, in MB.

    The peak of resident memory is reset before the call and read after it (Linux); elsewhere memory is None.
    """
    before = _resident("VmRSS") if _reset_peak() else None
    start = time.perf_counter()
    result = function(*arguments)
    seconds = time.perf_counter() - start
    peak = _resident("VmHWM") if before is not None else None
    rise = None if peak is None or before is None else max(peak - before, 0.0)
    return result, seconds, rise


def _reset_peak() -> bool:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
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
