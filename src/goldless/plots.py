"""The figures of the report as functions on matplotlib axes.

Each takes a fitted model (and votes or labels where it needs them) and an optional ``ax``, and returns the axes.
Matplotlib is in the extra ``plot``: ``pip install matplotlib``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.diagnosis.residual_path import residual_path as path_of
from goldless.estimators.base import check_is_fitted
from goldless.metrics import conditional_covariance

__all__ = ["accuracy", "covariance", "residual_path", "score", "score_against_conditional_covariance", "tree"]

_COLOURS = (
    "#7c4dc7",
    "#d9730d",
    "#12857c",
    "#c2336f",
    "#3b74d6",
    "#6d8f12",
    "#b0581f",
    "#8a5fa8",
    "#2b8fae",
    "#ad3b3b",
)
_GREY = "#8a919c"


def score(model: Any, ax: Any = None) -> Any:
    """Draw the score matrix as a heat map, voters ordered by group."""
    check_is_fitted(model)
    return _heat_map(model.score_matrix_, model, _axes(ax), "Purples", 0.0, "score")


def covariance(model: Any, kind: Literal["observed", "fitted", "left over"] = "observed", ax: Any = None) -> Any:
    """Draw the covariance of the votes, that of the fitted model, or their difference, voters ordered by group."""
    check_is_fitted(model)
    observed, fitted = model.covariance_, model.latent_model_.population_covariance()
    matrices = {"observed": observed, "fitted": fitted, "left over": observed - fitted}
    if kind not in matrices:
        raise ValueError(f"kind must be one of {', '.join(map(repr, matrices))}, got {kind!r}")
    off = ~np.eye(len(observed), dtype=bool)
    limit = float(max(np.abs(observed[off]).max(initial=0.0), np.abs(fitted[off]).max(initial=0.0)))
    return _heat_map(matrices[kind], model, _axes(ax), "PuOr_r", -limit, f"covariance, {kind}", limit)


def accuracy(model: Any, y_true_accuracy: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw how often every voter is right in each class, or its balanced accuracy against a known one.

    Two classes are the two axes; of more, each has a column of voters.
    """
    check_is_fitted(model)
    ax = _axes(ax)
    colours = _colours(model)
    if y_true_accuracy is not None:
        ax.scatter(y_true_accuracy, model.balanced_accuracy_, c=colours, s=24)
        ax.axline((1, 1), slope=1, color=_GREY, linestyle="--", linewidth=1)
        ax.set_xlabel("true balanced accuracy")
        ax.set_ylabel("estimated without labels")
        return ax
    recall, n_classes = model.recall_, len(model.classes_)
    if n_classes > 2:
        beside = np.linspace(-0.25, 0.25, len(recall))[np.argsort(_order(model))]
        for label in range(n_classes):
            ax.scatter(label + beside, recall[:, label], c=colours, s=24)
        ax.axhline(1 / n_classes, color=_GREY, linestyle="--", linewidth=1)
        ax.set_xticks(range(n_classes), [str(label) for label in model.classes_.tolist()], parse_math=False)
        ax.set(ylim=(0, 1.02), ylabel="share of the class that a voter calls so")
        return ax
    ax.scatter(recall[:, 0], recall[:, 1], c=colours, s=24)
    ax.axline((0, 1), (1, 0), color=_GREY, linestyle="--", linewidth=1)
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="specificity", ylabel="sensitivity")
    return ax


def residual_path(model: Any, ax: Any = None) -> Any:
    """Draw the residual of the paper's Algorithm 2 for each number of groups, and that of the model's own groups."""
    check_is_fitted(model)
    ax = _axes(ax)
    if len(model.classes_) > 2:
        raise ValueError(f"the paper's path is for two classes, and there are {len(model.classes_)}")
    found = path_of(model.latent_model_, np.nan_to_num(model.covariance_), model.residual_path_)
    counts = sorted(found.path)
    ax.plot(counts, [found.path[count] for count in counts], marker=".", color=_COLOURS[0], label="Algorithm 2")
    if counts:
        best = min(counts, key=lambda count: found.path[count])
        ax.plot([best], [found.path[best]], marker="o", linestyle="", color=_COLOURS[1], label="smallest")
    if found.residual is not None:
        square = {"marker": "s", "markersize": 9, "linestyle": "", "markerfacecolor": "none", "color": "black"}
        ax.plot([found.n_groups], [found.residual], label="this model", **square)
        ax.legend(frameon=False)
    ax.set(xlabel="number of groups (a voter that is alone is one)", ylabel="residual", ylim=(0, None))
    ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


def tree(model: Any, ax: Any = None) -> Any:
    """Draw the tree Y -> groups -> voters; the width of a line is how well one follows the other."""
    check_is_fitted(model)
    ax = _axes(ax)
    latent = model.latent_model_
    order, colours, names = _order(model), _colours(model), _names(model)
    at = {int(voter): -float(place) for place, voter in enumerate(order)}
    middle = float(np.mean(list(at.values())))
    sizes = np.bincount(latent.groups)
    chance = 1 / latent.n_classes
    strength = np.clip(latent.balanced_accuracy - chance, 0, None) / (1 - chance)
    for group in range(latent.n_groups):
        members = np.flatnonzero(latent.groups == group)
        start = (0.0, middle)
        if sizes[group] > 1:
            height = float(np.mean([at[int(voter)] for voter in members]))
            rate = (np.diag(latent.latents[group]).mean() - chance) / (1 - chance)
            ax.plot([0, 1], [middle, height], color=colours[members[0]], linewidth=0.5 + 4 * max(rate, 0))
            ax.plot([1], [height], marker="o", color=colours[members[0]], markersize=9)
            start = (1.0, height)
        for voter in members:
            ends = [start[1], at[int(voter)]]
            ax.plot([start[0], 2], ends, color=colours[voter], linewidth=0.5 + 3 * strength[voter])
    for voter in order:
        ax.annotate(names[voter], (2.04, at[int(voter)]), va="center", fontsize=8, parse_math=False)
    ax.plot([0], [middle], marker="o", color="black", markersize=14)
    ax.annotate("Y", (0, middle), color="white", ha="center", va="center", weight="bold")
    ax.set_xlim(-0.15, 3.2)
    ax.set_axis_off()
    return ax


def score_against_conditional_covariance(model: Any, X: Any, y: ArrayLike, ax: Any = None) -> Any:
    """Draw the score of every pair against the covariance of its votes within the classes (the paper's plot).

    Parameters
    ----------
    model : fitted LatentSML
    X, y : array-like
        Votes and their true labels.
    ax : matplotlib axes, optional
    """
    check_is_fitted(model)
    ax = _axes(ax)
    positive, negative = conditional_covariance(X, y, missing=model.missing, positive=model.positive)
    one, other = np.tril_indices(len(positive), -1)
    within = ((np.abs(positive) + np.abs(negative)) / 2)[one, other]
    same = model.groups_[one] == model.groups_[other]
    scores = model.score_matrix_[one, other]
    ax.scatter(within[~same], scores[~same], s=6, color=_GREY, alpha=0.5, label="different groups")
    ax.scatter(within[same], scores[same], s=8, color=_COLOURS[1], label="same group")
    ax.set(xlabel="mean of |C+| and |C-|", ylabel="score")
    ax.legend(frameon=False)
    return ax


# -- shared -------------------------------------------------------------------------------------------------


def _axes(ax: Any) -> Any:
    """Return the axes, new ones if none were given."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots need matplotlib: pip install matplotlib") from None
    return pyplot.subplots(layout="constrained")[1]


def _order(model: Any) -> NDArray[np.int64]:
    """Return the voters by group, largest group first, best voter first."""
    groups = model.latent_model_.groups
    sizes = np.bincount(groups)[groups]
    return np.lexsort((-model.balanced_accuracy_, groups, -sizes))


def _names(model: Any) -> list[str]:
    return [str(name) for name in model.fitted_.names_of(np.arange(model.n_features_in_))]


def _colours(model: Any) -> NDArray:
    """Return a colour for each voter: that of its group, grey if it is alone."""
    groups = model.latent_model_.groups
    sizes = np.bincount(groups)
    largest_first = np.argsort(-sizes, kind="stable")  # as on the page
    numbered = {int(group): number for number, group in enumerate(largest_first)}
    return np.array(
        [_COLOURS[numbered[group] % len(_COLOURS)] if sizes[group] > 1 else _GREY for group in groups.tolist()]
    )


def _heat_map(
    matrix: NDArray, model: Any, ax: Any, colours: str, low: float, label: str, high: float | None = None
) -> Any:
    order = _order(model)
    shown = np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix)[np.ix_(order, order)]
    image = ax.imshow(shown, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    edges = np.flatnonzero(np.diff(model.latent_model_.groups[order])) + 0.5
    for edge in edges if len(edges) < len(order) - 1 else ():
        ax.axhline(edge, color="black", linewidth=0.4)
        ax.axvline(edge, color="black", linewidth=0.4)
    if len(order) <= 40:
        names = _names(model)
        ax.set_yticks(range(len(order)), [names[i] for i in order], fontsize=7, parse_math=False)
    else:
        ax.set_yticks([])
    ax.set_xticks([])
    return ax
