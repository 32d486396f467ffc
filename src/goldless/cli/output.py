"""Files written whole or not at all, and progress on the terminal."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goldless.cli.terminal import clean
from goldless.progress import listening
from goldless.whole_file import whole_file

_PATIENCE = 2.0  # seconds before a bar is shown
_AS_GOOD_AS_DONE = 0.995  # what is left then is another stage, which tells nothing of itself


def check_output(path: str | None, force: bool, source: str | None = None) -> None:
    """Refuse, before any work is done, an output that cannot or should not be written, such as over the votes."""
    if path is None or path == "-":
        return
    target = Path(path)
    if source is not None and source != "-" and Path(source).exists():
        votes = Path(source).resolve()
        if target.resolve() == votes:
            raise ValueError(f"{path} holds the votes, which are never overwritten; name another file to write")
        if votes.is_dir() and votes in target.resolve().parents:
            raise ValueError(f"{path} is in the folder of the votes, and would be read as votes; write it elsewhere")
    if target.is_dir():
        raise ValueError(f"{path} is a directory; name a file to write")
    if target.is_symlink() and not target.exists():
        raise ValueError(f"{path} is a link to a file that does not exist; name the file itself")
    if target.is_file() and not force:
        raise ValueError(f"{path} exists; pass --force to overwrite it")
    if not target.parent.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {target.parent}")


def write_output(path: str | None, data: bytes) -> None:
    """Write a file whole or not at all; None and "-" are standard output."""
    if path is None or path == "-":
        binary = getattr(sys.stdout, "buffer", None)
        if sys.stdout.isatty():
            sys.stdout.write("\n".join(clean(line) for line in data.decode().split("\n")))
        elif binary is None:
            sys.stdout.write(data.decode())
        else:
            sys.stdout.flush()
            binary.write(data)
            binary.flush()
        return
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a device or a pipe: nothing to keep whole
            with target.open("wb", buffering=0) as stream:
                stream.write(data)
            return
        with whole_file(target) as draft:
            draft.write_bytes(data)
    except OSError as error:
        raise ValueError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None


class Progress:
    """A bar on standard error, shown after two seconds, and only on a terminal.

    ``update(share)`` says how much is done, and the time left follows; without it only the time gone is shown.
    Within the block what the library tells of its stages (:mod:`goldless.progress`) is shown too, each stage with a
    bar and a time left of its own.
    """

    def __init__(self, what: str, quiet: bool = False):
        self._what, self._stage, self._share, self._start = what, "", 0.0, time.monotonic()
        self._listening = listening(self.hear)
        self._shown = False
        self._active = not quiet and sys.stderr.isatty()
        self._done = threading.Event()

    def update(self, share: float) -> None:
        """Say which share is done."""
        self._share = share

    def hear(self, stage: str, share: float) -> None:
        """Take in what the library tells; a bar never goes back."""
        if stage != self._stage:
            self._stage, self._share, self._start = stage, 0.0, time.monotonic()
        self._share = max(self._share, share)

    def line(self, gone: float, width: int = 80) -> str:
        """Return the bar after so many seconds, in a line of a terminal so wide."""
        what = f"{self._what}: {self._stage}" if self._stage else self._what
        if not 0 < self._share < _AS_GOOD_AS_DONE:
            return f"{what} … {gone:.0f} s"[: width - 1]
        left = gone * (1 - self._share) / self._share
        figures = f"{100 * self._share:3.0f} %, {left:.0f} s left"
        room = min(width - len(what) - len(figures) - 5, 20)
        full = round(max(room, 0) * self._share)
        bar = f" [{'#' * full}{'.' * (room - full)}]" if room >= 5 else ""
        return f"{what}{bar} {figures}"[: width - 1]

    def __enter__(self) -> Progress:
        self._listening.__enter__()
        if self._active:
            self._thread = threading.Thread(target=self._draw, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._listening.__exit__(*error)
        if self._active:
            self._done.set()
            self._thread.join()
            if self._shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()

    def _draw(self) -> None:
        wait = _PATIENCE
        while not self._done.wait(wait):
            wait = 0.25
            self._shown = True
            width = shutil.get_terminal_size((80, 24)).columns
            sys.stderr.write("\r\x1b[K" + self.line(time.monotonic() - self._start, width))
            sys.stderr.flush()


@contextmanager
def timed() -> Iterator[list[float]]:
    """Yield a list that holds the seconds gone when the block ends."""
    seconds: list[float] = []
    start = time.monotonic()
    yield seconds
    seconds.append(time.monotonic() - start)
