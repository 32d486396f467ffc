"""Where a record comes from: versions, sources, machine."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import goldless

_LIBRARIES = ("goldless", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")
_SHOWING = ("cli", "diagnosis", "report", "plots.py")  # rooms of goldless that no unit of work computes with
_PACKAGE = Path(goldless.__file__).parent
_RESEARCH = Path(__file__).parent.parent


def versions() -> dict[str, str | None]:
    """Return the versions of Python and of the libraries that matter."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def source_hash() -> str:
    """Return a hash of the sources that compute: a stored unit is used again only with the same."""
    digest = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*.py")):
        if file.relative_to(_PACKAGE).parts[0] not in _SHOWING:
            digest.update(file.relative_to(_PACKAGE).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str | None:
    """Return the commit of this checkout, with "+" if files differ from it; None if another goldless runs."""
    if _RESEARCH.parent / "src" / "goldless" != _PACKAGE:
        return None
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--", str(_RESEARCH), str(_PACKAGE)) else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*words: str) -> str:
    run = subprocess.run(["git", "-C", str(_RESEARCH), *words], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def machine() -> dict[str, Any]:
    """Return what is worth knowing of the machine, and nothing that names it."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": _memory_gb(),
    }


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or None


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None
