"""Figures as values: a name, a title and a function that draws on a matplotlib figure; SVG and PNG from it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

COLOURS = {
    "violet": "#7c4dc7",
    "orange": "#d9730d",
    "teal": "#12857c",
    "pink": "#c2336f",
    "blue": "#3b74d6",
    "olive": "#6d8f12",
    "brown": "#8c5a2b",
    "grey": "#8a919c",
    "black": "#22262b",
}
_STYLE: dict[Any, Any] = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "axes.edgecolor": "#5b6270",
    "axes.labelcolor": "#22262b",
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e8ec",
    "grid.linewidth": 0.8,
    "font.size": 10,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "svg.hashsalt": "goldless",  # the same drawing is the same file
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Figure:
    """A figure.

    Attributes
    ----------
    name, title : str
        Name of its files, and what it shows, in a sentence.
    draw : callable (matplotlib figure) -> None
    width, height : float
        Inches; eight wide fills a page of the documentation.
    """

    name: str
    title: str
    draw: Callable[[Any], None]
    width: float = 8.0
    height: float = 4.2

    def files(self) -> dict[str, bytes]:
        """Return the figure as SVG and as PNG, by file name."""
        try:
            from matplotlib import rc_context
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure as Canvas
        except ImportError:
            raise ValueError("figures need matplotlib: pip install matplotlib") from None
        with rc_context(_STYLE):
            canvas = Canvas(figsize=(self.width, self.height), layout="constrained")
            FigureCanvasAgg(canvas)
            self.draw(canvas)
            files = {}
            for suffix, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 110})):
                stream = io.BytesIO()
                canvas.savefig(stream, format=suffix, **options)
                files[f"{self.name}.{suffix}"] = stream.getvalue()
        return files


@dataclass(frozen=True)
class Line:
    """One curve: its points, how they spread (a band, optional), and how it looks."""

    label: str
    y: ArrayLike
    colour: str
    style: str = "-"
    marker: str | None = "o"
    spread: ArrayLike | None = None


def draw_lines(ax: Any, x: Sequence[float], lines: Sequence[Line], xlabel: str, ylabel: str) -> None:
    """Draw curves over a common x; None and NaN leave a gap."""
    for line in lines:
        y = np.array(line.y, dtype=float)
        if np.isnan(y).all():
            continue
        ax.plot(x, y, line.style, marker=line.marker, color=COLOURS[line.colour], label=line.label)
        if line.spread is not None:
            spread = np.array(line.spread, dtype=float)
            ax.fill_between(x, y - spread, y + spread, color=COLOURS[line.colour], alpha=0.13, linewidth=0)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)


def legend_beside(figure: Any, ax: Any) -> None:
    """Put one legend at the right of the whole figure, where it hides nothing."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")


def legend_below(figure: Any, ax: Any, columns: int) -> None:
    """Put one legend below the whole figure."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def draw_matrix(
    figure: Any,
    ax: Any,
    matrix: ArrayLike,
    title: str,
    *,
    colours: str = "PuOr_r",
    low: float | None = None,
    high: float | None = None,
    names: Sequence[str] | None = None,
    edges: Sequence[float] | NDArray = (),
) -> None:
    """Draw a matrix over voters as a heat map; the diagonal is left out, edges are drawn between families."""
    shown = np.array(matrix, dtype=float)
    np.fill_diagonal(shown, np.nan)
    image = ax.imshow(shown, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    figure.colorbar(image, ax=ax, shrink=0.75)
    ax.set_title(title)
    ax.grid(False)
    ax.spines[["top", "right"]].set_visible(True)
    for edge in edges:
        ax.axhline(edge, color=COLOURS["black"], linewidth=0.6)
        ax.axvline(edge, color=COLOURS["black"], linewidth=0.6)
    if names is not None:
        ax.set_yticks(range(len(names)), names, fontsize=8)
        ax.set_xticks([])
