"""Pictures of the page of real panels."""

from __future__ import annotations

from typing import Any

from research.experiments.board import LABELS, OURS, PLAIN_WAY, Board, interval
from research.experiments.figures import COLOURS


def _colour(method: str) -> str:
    return COLOURS["violet" if method == "search" else "teal" if method in OURS else "orange"]


def draw_leaderboard(figure: Any, board: Board) -> None:
    """Draw the mean gain over the plain way with its interval: on common panels, and on all that were finished."""
    others = [method for method in board.ran if method != board.base]
    shown: dict[str, list[str]] = {"": board.panels}
    if 0 < len(board.common) < len(board.panels):
        shown = {f"{len(board.common)} common\npanels": board.common, "panels it\nfinished": board.panels}
    order = sorted(others, key=lambda method: float(board.gains(method).mean()))
    axes = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for ax, (title, panels) in zip(axes, shown.items(), strict=True):
        for row, method in enumerate(order):
            finished = board.both(method, board.base, panels)
            if finished and (panels is board.panels or len(finished) == len(panels)):
                gains = board.gains(method, panels)
                ax.plot(
                    interval(gains, board.families_of(finished)),
                    [row, row],
                    color=_colour(method),
                    linewidth=2.5,
                    alpha=0.45,
                )
                ax.plot([gains.mean()], [row], "o", color=_colour(method), markersize=7)
        ax.axvline(0, color=COLOURS["grey"], linewidth=1)
        ax.set_title(title, fontsize="medium")
        ax.grid(axis="y", visible=False)
    few = {method: len(board.finished(method)) for method in order}
    names = [
        LABELS[m] + (f"  ({few[m]} of {len(board.panels)})" if few[m] < len(board.panels) else "") for m in order
    ]
    axes[0].set_yticks(range(len(order)), names)
    figure.supxlabel(f"points of macro recall over the {PLAIN_WAY[board.base]}", fontsize="medium")


def draw_against_majority(figure: Any, board: Board) -> None:
    """Draw LatentSML() minus the plain way for every panel, sorted, coloured by family."""
    ax = figure.subplots()
    palette = [colour for name, colour in COLOURS.items()] + ["#b08be0", "#f0b27a", "#7fc4bd", "#e39bbb", "#a3bff0"]
    colours = {family: palette[number % len(palette)] for number, family in enumerate(board.families)}
    finished = board.both("search", board.base)
    rows = sorted(zip(board.gains("search").tolist(), board.families_of(finished), strict=True))
    for family in board.families:
        at = [place for place, (_, name) in enumerate(rows) if name == family]
        ax.bar(at, [rows[place][0] for place in at], 0.85, color=colours[family], label=family)
    ax.axhline(0, color=COLOURS["black"], linewidth=0.8)
    ax.set(ylabel=f"points over the {PLAIN_WAY[board.base]}", xlabel="panels, sorted", xticks=[])
    ax.grid(axis="x", visible=False)
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")


def draw_time(figure: Any, board: Board) -> None:
    """Draw the mean gain over the plain way against CPU time, on the common panels."""
    ax = figure.subplots()
    places = {}
    for method in board.ran:
        if board.common and board.mean(method, board.common) is not None:
            seconds = float(board.values(method, board.common, "cpu_seconds").sum())
            places[method] = (seconds, float(board.gains(method, board.common).mean()))
    for method, place in places.items():
        ax.plot(*place, "o", color=_colour(method), markersize=7)
    ax.set(xscale="log", xlabel=f"CPU seconds for {len(board.common)} panels")
    ax.set(ylabel=f"points over the {PLAIN_WAY[board.base]}")
    ax.margins(x=0.25, y=0.15)
    figure.canvas.draw()  # places in pixels are known from here on
    taken = [ax.transData.transform(place) for place in places.values()]
    boxes: list[Any] = []
    for method, place in places.items():
        text = _beside(ax, LABELS[method], place, _colour(method), boxes, taken)
        boxes.append(text.get_window_extent())


def _beside(ax: Any, label: str, place: Any, colour: str, boxes: list[Any], dots: list[Any]) -> Any:
    """Write a label beside its dot: on the first side where it covers no other label and no dot."""
    for dx, dy, side in ((8, 0, "left"), (-8, 0, "right"), (0, 11, "center"), (0, -11, "center")):
        text = ax.annotate(
            label, place, (dx, dy), textcoords="offset points", fontsize=8, color=colour, ha=side, va="center"
        )
        box = text.get_window_extent()
        if not any(box.overlaps(other) for other in boxes) and not any(box.padded(6).contains(*dot) for dot in dots):
            return text
        text.remove()
    return ax.annotate(label, place, (8, 0), textcoords="offset points", fontsize=8, color=colour, va="center")
