"""Tables as values: raw numbers in CSV, rounded ones in Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    name, title : str
        Name of its files, and heading.
    header : sequence of str
    rows : sequence of sequences
        Raw cells; None is an empty one.
    formats : sequence of str
        How Markdown shows each column: a format such as ``".2f"``, or "" for text.
    note : str
        A sentence below it.
    shared : bool
        Whether other pages of the site show it too: marked on the page, so that they can include it.
    """

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    formats: Sequence[str]
    note: str = ""
    shared: bool = False

    def __post_init__(self) -> None:
        for row in [self.header, self.formats, *self.rows]:
            if len(row) != len(self.header):
                raise ValueError(f"table {self.name}: {len(row)} cells under {len(self.header)} headings: {row}")

    def csv(self) -> str:
        """Return the raw cells as CSV."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([["" if cell is None else cell for cell in row] for row in self.rows])
        return stream.getvalue()

    def markdown(self) -> str:
        """Return the table in Markdown."""
        sides = ["---" if not spec else "---:" for spec in self.formats]
        lines = [_line(self.header), _line(sides)]
        lines += [_line([_shown(c, spec) for c, spec in zip(row, self.formats, strict=True)]) for row in self.rows]
        return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _shown(cell: Any, spec: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell.replace("|", "\\|").replace("\n", " ")
    return f"{cell:{spec}}"


def rounded(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return rows with numbers to four digits after the point, which is enough for points and seconds."""
    return [[round(cell, 4) if isinstance(cell, float) else cell for cell in row] for row in rows]
