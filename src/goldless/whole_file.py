"""Files that are whole or not there at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a path to write to; when all is well it becomes ``path``, otherwise nothing is left of it."""
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} to write {target.name!r} in")
    descriptor, draft = tempfile.mkstemp(prefix=f".{target.name[:80]}.", dir=target.parent)
    os.close(descriptor)
    try:
        yield Path(draft)
        with open(draft, "r+b") as stream:
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(draft, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask)
        os.replace(draft, target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
