"""Text, tables and colours on a terminal by rich; plain text everywhere else."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from goldless.words import clean

if TYPE_CHECKING:
    from rich.console import RenderableType
import shlex
from pathlib import Path

_WIDEST, _NARROWEST = 100, 40
_JOINED = "\u00a0"  # a space at which no line ends
_ASCII = str.maketrans(
    {"─": "-", "•": "*", "…": "~", "█": "#", **dict.fromkeys("▏▎▍", " "), **dict.fromkeys("▌▋▊▉", "#")}
)


def width() -> int:
    """Return how wide text may be."""
    return max(min(shutil.get_terminal_size((80, 24)).columns, _WIDEST), _NARROWEST)


def show(parts: Iterable[RenderableType], stream: TextIO | None = None) -> None:
    """Print parts of a screen on standard output, or another stream."""
    write_text(rendered(parts, stream), stream)


def rendered(parts: Iterable[RenderableType], stream: TextIO | None = None) -> str:
    """Return parts of a screen as text for a stream: in colours only where it is a terminal that wants them."""
    from rich.console import Console
    from rich.text import Text

    coloured = wants_colours(stream or sys.stdout)
    console = Console(
        file=io.StringIO(),
        width=width(),
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))  # what is text has been folded, or must not be
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return re.sub(r" +(?=\n)", "", text)


def wants_colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that wants colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write_text(text: str, stream: TextIO | None = None) -> None:
    """Print text, with the nearest that the terminal can show."""
    stream = stream or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if "utf" not in encoding.lower():
        text = text.translate(_ASCII)
    stream.write(text.encode(encoding, "replace").decode(encoding))


def write_json(document: Any) -> None:
    """Print one JSON document."""
    write_text(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")


# -- parts --------------------------------------------------------------------------------------------------


def sentence(text: str, style: str = "", bullet: str = "") -> RenderableType:
    """Return text folded to the width of the terminal; paths, options and figures with their unit are never cut."""
    whole = re.sub(r"(?<=\d) (?=%)", _JOINED, clean(text))
    lines = textwrap.wrap(
        f"{bullet} {whole}" if bullet else whole,
        width() - 1,
        subsequent_indent="  " if bullet else "",
        break_on_hyphens=False,
        break_long_words=False,
    )
    return line("\n".join(lines).replace(_JOINED, " "), style)


def line(text: str, style: str = "") -> RenderableType:
    """Return text that is not folded, such as a command to paste."""
    from rich.text import Text

    return Text(text, style=style)


def heading(text: str) -> RenderableType:
    """Return the heading of a part of the screen, after an empty line."""
    return line(f"\n{text}", "bold cyan")


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], align: str, gap: int = 2, styles: Sequence[str] = ()
) -> RenderableType:
    """Lay out a table; ``align`` has one of ``<`` and ``>`` for each column, ``styles`` the colour of each row."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold cyan")
    for title, side in zip(header, align, strict=True):
        made.add_column(Text(title), justify="left" if side == "<" else "right", no_wrap=True, overflow="ellipsis")
    for number, row in enumerate(rows):
        made.add_row(*(Text(cell) for cell in row), style=styles[number] if styles else None)
    return made


_NAME = "goldless"


def program() -> str:
    """Return ``goldless``, or the path it was called by where the shell would not find that name."""
    called = sys.argv[0]
    if Path(called).stem != _NAME or not os.path.exists(called):
        return _NAME
    found = shutil.which(_NAME)
    return _NAME if found is not None and os.path.samefile(found, called) else shlex.quote(called)
