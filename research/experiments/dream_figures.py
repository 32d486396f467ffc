"""Pictures of the DREAM page."""

from __future__ import annotations

from typing import Any

import numpy as np

from research.experiments import paper
from research.experiments.figures import COLOURS, draw_matrix
from research.experiments.published import MORE_GROUPS_THAN, chosen_step

_SCORE_LIMIT = 0.99  # quantile


def draw_matrices(figure: Any, pictures: dict[str, Any]) -> None:
    """Draw the conditional covariance beside the score matrix."""
    left, right = figure.subplots(1, 2)
    within = np.array(pictures["conditional_covariance"])
    off = within[~np.eye(len(within), dtype=bool)]
    limit = float(np.quantile(np.abs(off), 0.99))
    draw_matrix(figure, left, within, "(C+ + C-) / 2, from the truth", low=-limit, high=limit)
    score = np.array(pictures["score"])
    high = float(np.quantile(score[~np.eye(len(score), dtype=bool)], _SCORE_LIMIT))
    draw_matrix(figure, right, score, "score, from the votes", colours="Purples", low=0, high=high)
    for ax in (left, right):
        ax.set_xticks([])
        ax.set_yticks([])


def draw_quantiles(figure: Any, quantiles: dict[str, list[dict[str, float]]]) -> None:
    """Draw mean and percentiles of the conditional covariance against the score, one panel a data set."""
    axes = figure.subplots(1, len(quantiles), squeeze=False)[0]
    for ax, (name, bins) in zip(axes, quantiles.items(), strict=True):
        score = [b["score"] for b in bins]
        ax.fill_between(
            score, [b["low"] for b in bins], [b["high"] for b in bins], color=COLOURS["orange"], alpha=0.15
        )
        for end in ("low", "high"):
            label = "20th and 80th percentile" if end == "low" else None
            ax.plot(score, [b[end] for b in bins], "o", color=COLOURS["orange"], markersize=3, label=label)
        ax.plot(score, [b["mean"] for b in bins], "o-", color=COLOURS["blue"], label="mean")
        ax.set(title=name, xlabel="score")
    axes[0].set_ylabel("covariance within the classes")
    axes[0].legend(loc="upper left", fontsize=8)


def draw_path(figure: Any, paths: dict[str, list[dict[str, Any]]]) -> None:
    """Draw the error of the authors' code against K, one panel a data set."""
    axes = figure.subplots(1, len(paths), squeeze=False)[0]
    for ax, (name, path) in zip(axes, paths.items(), strict=True):
        errors = [100 * step["error"] for step in path]
        ax.plot([step["K"] for step in path], errors, ".-", color=COLOURS["orange"], linewidth=1.2)
        chosen = chosen_step(path, MORE_GROUPS_THAN)
        ring = {"marker": "o", "markersize": 9, "fillstyle": "none", "color": COLOURS["violet"], "linestyle": ""}
        ax.plot([chosen["K"]], [100 * chosen["error"]], label="smallest residual", **ring)
        ax.axhline(paper.DREAM_ALL[name]["lsml"], color=COLOURS["pink"], linewidth=1.2, label="in the paper")
        ax.set(title=name, xlabel="number of groups K")
    axes[0].set_ylabel("balanced error %")
    axes[0].legend(loc="upper right", fontsize=8)


def draw_runtime(figure: Any, runtime: list[dict[str, Any]]) -> None:
    """Draw seconds against voters."""
    ax = figure.subplots()
    voters, seconds = [r["n_voters"] for r in runtime], [r["seconds"] for r in runtime]
    ax.plot(voters, seconds, "o-", color=COLOURS["violet"], label="measured")
    last = (voters[-1], seconds[-1])
    cubic = [last[1] * (m / last[0]) ** 3 for m in voters]
    ax.plot(voters, cubic, ":", color=COLOURS["grey"], label="proportional to m³")
    ax.set(xlabel="callers m", ylabel="seconds", xscale="log", yscale="log")
    ax.set_xticks(voters, [str(m) for m in voters])
    ax.minorticks_off()
    ax.legend()
