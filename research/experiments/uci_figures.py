"""Pictures of the UCI page."""

from __future__ import annotations

from typing import Any

import numpy as np

from research.experiments.ensemble import FAMILIES, voter_names
from research.experiments.figures import COLOURS, draw_matrix, legend_below

TABLE_NAMES = {"magic": "Magic", "spambase": "Spambase", "miniboone": "MiniBooNE", "musk": "Musk"}


def panel_grid(drawn: dict[str, Any]) -> tuple[int, int]:
    """Rows and columns of panels: four as a square, fewer in a row."""
    return (2, 2) if len(drawn) == 4 else (1, len(drawn))


def draw_scatter(figure: Any, drawn: dict[str, list[dict[str, Any]]]) -> None:
    """Draw the error of SML+EM against that of L-SML, one panel a table."""
    axes = figure.subplots(*panel_grid(drawn), squeeze=False).ravel()
    for ax, (name, results) in zip(axes, drawn.items(), strict=False):
        errors = {kind: [100 * r["error"][kind] for r in results] for kind in ("sml_em", "paper", "search")}
        everything = [value for values in errors.values() for value in values]
        low, high = min(everything), max(everything)
        better = (2, 4) if name == "magic" else ()  # as in the paper
        high = max([high, *(low + points for points in better)])
        margin = 0.08 * (high - low) + 0.05
        ends = np.array([low - margin, high + margin])
        ax.plot(ends, ends, color=COLOURS["pink"], linewidth=1.2, label="y = x")
        for points, colour in zip(better, ("olive", "teal"), strict=False):
            style = {"color": COLOURS[colour], "linewidth": 1, "linestyle": "--"}
            ax.plot(ends, ends + points, label=f"{points} points better", **style)
        dots = {"s": 24, "zorder": 3, "alpha": 0.85}
        ax.scatter(errors["paper"], errors["sml_em"], color=COLOURS["orange"], label="L-SML, paper", **dots)
        ax.scatter(errors["search"], errors["sml_em"], color=COLOURS["violet"], label="L-SML, search", **dots)
        ax.set(xlim=ends, ylim=ends, aspect="equal", title=TABLE_NAMES[name])
        ax.locator_params(nbins=5)  # the same ticks on both axes
        ax.set(xlabel="balanced error of L-SML %", ylabel="balanced error of SML+EM %")
    legend_below(figure, axes[0], 5)


def draw_errors(figure: Any, drawn: dict[str, list[dict[str, Any]]]) -> None:
    """Draw the error of every method, one dot a draw."""
    axes = figure.subplots(1, len(drawn), squeeze=False)[0]
    shown = {
        "best": "best voter",
        "vote": "vote",
        "sml_em": "SML+EM",
        "oracle_ci": "Oracle-CI",
        "paper": "L-SML\npaper",
        "search": "L-SML\nsearch",
    }
    colours = ("brown", "grey", "blue", "black", "orange", "violet")
    for ax, (name, results) in zip(axes, drawn.items(), strict=True):
        for at, (method, colour) in enumerate(zip(shown, colours, strict=True)):
            values = [100 * result["error"][method] for result in results]
            spread = np.linspace(-0.18, 0.18, len(values)) if len(values) > 1 else [0.0]
            ax.scatter(at + np.array(spread), values, s=12, color=COLOURS[colour], alpha=0.8)
            ax.plot([at - 0.3, at + 0.3], [np.mean(values)] * 2, color=COLOURS[colour], linewidth=2)
        ax.set_xticks(range(len(shown)), shown.values(), rotation=90, fontsize=8)
        ax.grid(axis="x", visible=False)
        ax.set_title(TABLE_NAMES[name])
    axes[0].set_ylabel("balanced error %")


def draw_groups(figure: Any, result: dict[str, Any]) -> None:
    """Draw the conditional covariance beside the groups that were found."""
    left, right = figure.subplots(1, 2, width_ratios=[1.55, 1])
    matrix = np.array(result["pictures"]["conditional_covariance"])
    off = matrix[~np.eye(len(matrix), dtype=bool)]
    edges = np.cumsum([many for _, many in FAMILIES])[:-1] - 0.5
    limit = float(np.abs(off).max())
    draw_matrix(
        figure,
        left,
        matrix,
        "(C+ + C-) / 2, from the truth",
        low=-limit,
        high=limit,
        names=voter_names(),
        edges=edges,
    )
    palette = ("violet", "orange", "teal", "pink", "blue", "olive", "brown", "grey")
    kinds = {"paper": "paper", "search": "search"}
    for column, kind in enumerate(kinds):
        groups = np.array(result["groups"][kind])
        sizes = np.bincount(groups)
        numbered = {int(group): number for number, group in enumerate(np.flatnonzero(sizes > 1))}
        for voter, group in enumerate(groups.tolist()):
            filled = COLOURS[palette[numbered[group] % len(palette)]] if group in numbered else "white"
            right.barh(voter, 0.8, 0.8, left=column - 0.4, color=filled, edgecolor="#5b6270", linewidth=0.6)
            if group in numbered:
                letter = chr(ord("A") + numbered[group])
                right.text(column, voter, letter, ha="center", va="center", color="white", fontsize=8, weight="bold")
    right.set_xticks(range(len(kinds)), kinds.values())
    right.set_yticks([])
    right.set(ylim=(len(result["groups"]["search"]) - 0.5, -0.5), xlim=(-0.6, len(kinds) - 0.4))
    right.grid(False)
    for edge in edges:
        right.axhline(edge, color=COLOURS["black"], linewidth=0.6)
    right.set_title("groups found")
