"""Files written whole or not at all, and progress on the terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goldless.progress import listening
from goldless.whole_file import whole_file
from goldless.words import clean

_PATIENCE = 2.0  # seconds before a bar is shown


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
        with whole_file(target) as draft:
            draft.write_bytes(data)
    except OSError as error:
        raise ValueError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None


class Progress:
    """A bar on standard error, shown after two seconds, and only on a terminal.

    ``update(share)`` says how much is done, and the time left follows. Within the block what the library reports of
    its stages (:mod:`goldless.progress`) is shown too, each stage with a bar and a time left of its own.
    """

    def __init__(self, what: str, quiet: bool = False):
        self._what, self._stage, self._share = what, "", 0.0
        self._listening = listening(self.take)
        self._bar: Any = None
        self._lock = threading.Lock()
        active = not quiet and sys.stderr.isatty()
        self._timer = threading.Timer(_PATIENCE, self._show) if active else None

    def update(self, share: float) -> None:
        """Say which share is done."""
        self.take(self._stage, share)

    def take(self, stage: str, share: float) -> None:
        """Take in how far a stage is; a bar never goes back."""
        new = stage != self._stage
        self._share = share if new else max(self._share, share)
        self._stage = stage
        with self._lock:
            if self._bar is not None:
                if new:
                    self._bar.reset(self._bar.task_ids[0], total=None)
                self._draw()

    def _show(self) -> None:
        """Start the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        with self._lock:
            if self._timer is None:  # the work was done meanwhile
                return
            self._bar = Bars(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(compact=True),
                console=Console(file=sys.stderr),
                transient=True,
            )
            self._bar.add_task(self._what, total=None)
            self._draw()
            self._bar.start()

    def _draw(self) -> None:
        task = self._bar.task_ids[0]
        total = 1.0 if self._share > 0 else None  # a stage that says nothing of itself has a bar that only moves
        description = f"{self._what}: {self._stage}" if self._stage else self._what
        self._bar.update(task, description=description, total=total, completed=self._share)

    def __enter__(self) -> Progress:
        self._listening.__enter__()
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._listening.__exit__(*error)
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._timer = None
            if self._bar is not None:
                self._bar.stop()


@contextmanager
def timed() -> Iterator[list[float]]:
    """Yield a list that holds the seconds gone when the block ends."""
    seconds: list[float] = []
    start = time.monotonic()
    yield seconds
    seconds.append(time.monotonic() - start)
