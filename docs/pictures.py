"""Draw the pictures of "How it works", from the library itself: python docs/pictures.py (needs matplotlib).

Each is drawn twice, for a light and a dark page. The votes are those of examples/judges.csv.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import goldless as gl
from goldless import plots
from goldless.io.files import read_votes

DOCS = Path(__file__).parent
INK = {"light": "#22313f", "dark": "#e3e8ee"}
GROUND = {"light": "#ffffff", "dark": "#1e2129"}


def read_and_fit() -> tuple[gl.Votes, gl.LatentSML]:
    """Return the votes of the nine judges and the model fitted to them."""
    votes = read_votes(DOCS.parent / "examples" / "judges.csv", ignore=["truth"]).votes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AmbiguousGroupingWarning)
        return votes, gl.LatentSML().fit(votes)


def draw_tree(model: gl.LatentSML, ink: str, title: str = "") -> plt.Figure:
    """Y, the hidden source of the group, and the voters."""
    figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
    plots.tree(model, ax=axes)
    axes.lines[-1].set_color(ink)
    root = next(text for text in axes.texts if text.get_text() == "Y")
    root.set_color(GROUND["light" if ink == INK["light"] else "dark"])
    (x,), (y,) = next(
        line.get_data() for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1
    )
    axes.annotate("hidden source", (x, y), xytext=(-4, 9), textcoords="offset points", ha="right", fontsize=9)
    axes.set_title(title, fontsize=10)
    return figure


def draw_matrix(model: gl.LatentSML, ink: str, draw: Callable[..., plt.Axes], title: str) -> plt.Figure:
    """Draw covariance or score."""
    figure, axes = plt.subplots(figsize=(5, 3.8), layout="constrained")
    draw(model, ax=axes)
    axes.set_title(title, fontsize=10)
    for line in axes.lines:
        line.set_color(ink)
    return figure


def title_of(model: gl.LatentSML) -> str:
    """Say how many voters echo and how many do not."""
    alone = int((np.bincount(model.groups_) == 1).sum())
    return f"{len(model.groups_) - alone} echo a hidden source, {alone} see the truth Y"


def main() -> None:
    """Draw all pictures."""
    votes, model = read_and_fit()
    other = gl.LatentSML(structure=model.alternatives_[0].groups).fit(votes)
    pictures: dict[str, Callable[[str], plt.Figure]] = {
        "tree": lambda ink: draw_tree(model, ink),
        "covariance": lambda ink: draw_matrix(
            model, ink, plots.covariance, "How much two voters agree beyond chance"
        ),
        "score": lambda ink: draw_matrix(model, ink, plots.score, "How much two voters share besides the truth"),
        "grouping-1": lambda ink: draw_tree(model, ink, title_of(model)),
        "grouping-2": lambda ink: draw_tree(other, ink, title_of(other)),
    }
    for name, draw in pictures.items():
        for theme, ink in INK.items():
            colours = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
            with plt.rc_context({**dict.fromkeys(colours, ink), "svg.hashsalt": name}):
                figure = draw(ink)
                file = DOCS / "images" / f"{name}-{theme}.svg"
                figure.savefig(file, transparent=True, bbox_inches="tight", metadata={"Date": None})
                plt.close(figure)


if __name__ == "__main__":
    main()
