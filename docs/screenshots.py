"""Take the pictures of the README: python docs/screenshots.py (needs chromium).

The terminal shows ``goldless inspect`` of ``examples/judges.csv``, the page is that of ``goldless demo``: nothing is
drawn by hand.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from goldless.cli import main as goldless

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
COMMAND = ["inspect", "judges.csv", "--truth", "truth"]
_WIDTH = 84  # columns


class _Terminal(io.StringIO):
    """A terminal with colours, kept as text."""

    def isatty(self) -> bool:
        return True


def terminal(folder: Path) -> None:
    """Draw what the command prints."""
    shutil.copy(ROOT / "examples" / "judges.csv", folder)
    printed = _Terminal()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        goldless(COMMAND)
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ goldless " + " ".join(COMMAND), style="bold"))
    console.print(Text.from_ansi(printed.getvalue()), soft_wrap=True)
    drawing = folder / "terminal.svg"
    drawing.write_text(console.export_svg(title="goldless"), encoding="utf-8")
    lines = printed.getvalue().count("\n") + 1
    _photograph(drawing, IMAGES / "terminal.png", 1060, 105 + round(24.4 * lines))


def page(folder: Path) -> None:
    """Photograph the page of the demo."""
    made = folder / "demo.html"
    with contextlib.redirect_stdout(io.StringIO()):
        goldless(["demo", "--quiet", "-o", str(made)])
    _photograph(made, IMAGES / "page.png", 1180, 1000)


def _photograph(source: Path, target: Path, width: int, height: int) -> None:
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"]
    where = [f"--window-size={width},{height}", f"--screenshot={target}", source.as_uri()]
    subprocess.run(["chromium", *options, *where], check=True, capture_output=True)


def main() -> None:
    """Take both."""
    os.environ.update(COLUMNS="80", TERM="xterm-256color")
    with tempfile.TemporaryDirectory() as folder:
        terminal(Path(folder))
        page(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
