"""Tables and bars for a terminal: plain text, colours only where they are wanted."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TextIO

_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class Style:
    """Colours for one output stream; none unless it is a terminal that wants them."""

    def __init__(self, stream: TextIO | None = None, colour: bool | None = None):
        stream = sys.stdout if stream is None else stream
        if colour is None:
            colour = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.colour = colour
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
        self.unicode = "utf" in encoding

    def __call__(self, text: str, *names: str) -> str:
        """Return text in the named styles."""
        if not self.colour or not names:
            return text
        codes = ";".join(_COLOURS[name] for name in names)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def bar(self, share: float, width: int) -> str:
        """Return a horizontal bar that fills a share of the width."""
        share = min(max(share, 0.0), 1.0)
        if not self.unicode:
            return ("#" * round(share * width)).ljust(width)
        eighths = round(share * width * 8)
        full, part = divmod(eighths, 8)
        return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(width)

    def rule(self, width: int) -> str:
        """Return a horizontal line."""
        return self(("─" if self.unicode else "-") * width, "dim")


def clean(text: str) -> str:
    """Replace control characters, which a terminal would obey."""
    return "".join("?" if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter for letter in text)


def shown_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide letters two, accents that combine none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def columns(
    header: Sequence[str], rows: Iterable[Sequence[str]], style: Style, align: str, gap: int = 2
) -> list[str]:
    """Lay out a table; ``align`` has one of ``<`` and ``>`` for each column. Cells must be without colours."""
    body = [[str(cell) for cell in row] for row in rows]
    widths = [max(shown_width(cells[i]) for cells in [list(header), *body]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = []
        for cell, side, width in zip(cells, align, widths, strict=True):
            space = " " * (width - shown_width(cell))
            padded.append(cell + space if side == "<" else space + cell)
        return (" " * gap).join(padded)

    head = line(header)
    return [style(head, "bold"), style.rule(shown_width(head)), *(line(cells) for cells in body)]
