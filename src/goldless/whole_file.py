"""Files that are whole or not there at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a path to write to; when all is well it becomes ``path``, otherwise nothing is left of it.

    A link is followed to the file it names, which keeps its mode; a link to nothing is refused, for nobody asked for
    a file there. A new file has the mode that the process gives to new files. The draft has a name that cannot be
    foreseen and is made by us or not at all. A device or a pipe is written to once all
    is there, and stays what it is.
    """
    named = Path(path)
    if named.is_symlink() and not named.exists():
        raise FileExistsError(f"{str(path)!r} is a link to a file that does not exist; name the file itself")
    if named.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name a file to write")
    if named.exists() and not named.is_file():
        with TemporaryDirectory() as folder:
            draft = Path(folder) / (named.name or "draft")
            yield draft
            with draft.open("rb") as made, named.open("wb", buffering=0) as stream:
                shutil.copyfileobj(made, stream)
        return
    target = named.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} to write {target.name!r} in")
    draft = target.parent / f".{target.name[:80]}.{secrets.token_hex(8)}"
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600))
    try:
        yield draft
        with draft.open("r+b") as stream:
            os.fsync(stream.fileno())
        if mode is not None:
            draft.chmod(mode)
        os.replace(draft, target)
        _keep_name(target.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _keep_name(folder: Path) -> None:
    """Have the new name of a file written to disk, where the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
