"""The paper's UCI experiments: sixteen classifiers of four families on Magic, Spambase, MiniBooNE and Musk."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.datasets import UCI_TABLES, load_uci
from goldless.experiments import paper
from goldless.experiments.ensemble import FAMILIES, make_ensemble, voter_names, votes_of
from goldless.experiments.figures import COLOURS, Figure, draw_matrix, legend_below
from goldless.experiments.framework import Difference, Experiment, Settings, Summary, Unit
from goldless.experiments.methods import errors_of, fit_methods, single_errors
from goldless.experiments.tables import Table

_NAMES = {"magic": "Magic", "spambase": "Spambase", "miniboone": "MiniBooNE", "musk": "Musk"}
_METHODS = {
    "mean": "mean voter",
    "best": "best voter",
    "vote": "majority vote",
    "sml_em": "SML+EM",
    "oracle_ci": "Oracle-CI",
    "paper": "L-SML, paper",
    "search": "L-SML, search (default)",
}
_MOST_TRAINED_ON = 400  # the families are then as accurate on Magic as in the paper's own votes
_PAPERS_OWN = ("magic_1", "magic_2", "magic_3")


def prepare(settings: Settings, say: Callable[[str], None]) -> None:
    """Fetch the tables before any worker needs them, and say which are missing."""
    for name in _tables(settings):
        reason = _missing(name, settings)
        if reason:
            say(f"{_NAMES[name]} is left out: {reason}")


def units(settings: Settings) -> list[Unit]:
    """One unit for each table and draw, one for each of the paper's own ensembles that is there."""
    reasons = {name: _missing(name, settings) for name in _tables(settings)}
    found = [Unit(f"{name}, left out", {"table": name, "left_out": why}) for name, why in reasons.items() if why]
    for draw in range(settings.draws):
        there = [name for name, why in reasons.items() if not why]
        found += [Unit(f"{name}, draw {draw}", {"table": name, "draw": draw}) for name in there]
    own = _own_folder(settings)
    if not settings.quick and own is not None:
        found += [
            Unit(f"{file}, the paper's own", {"own": file}) for file in _PAPERS_OWN if (own / f"{file}.npz").exists()
        ]
    return found


def _tables(settings: Settings) -> list[str]:
    return ["spambase"] if settings.quick else list(UCI_TABLES)


def _folder(settings: Settings) -> str | None:
    return None if settings.data is None else str(Path(settings.data) / "uci")


def _own_folder(settings: Settings) -> Path | None:
    folder = settings.data or os.environ.get("GOLDLESS_DATA")
    return Path(folder) / "magic" if folder else None


def _missing(name: str, settings: Settings) -> str | None:
    try:
        load_uci(name, _folder(settings))
    except (ValueError, OSError) as error:
        given = settings.data or os.environ.get("GOLDLESS_DATA")
        return f"no {UCI_TABLES[name].file} in the folder of data" if given else f"not to be had: {error}"
    return None


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Train, vote on items nobody was trained on, combine, score."""
    if "left_out" in unit.parameters:
        return {"left_out": unit.parameters["left_out"]}
    if "own" in unit.parameters:
        folder = _own_folder(settings)
        assert folder is not None
        with np.load(folder / f"{unit.parameters['own']}.npz") as file:
            return {**_scores(file["votes"], file["truth"]), "n_items": len(file["truth"])}
    features, labels = load_uci(unit.parameters["table"], _folder(settings))
    ensemble = make_ensemble(seed % 2**20)
    size = min(_MOST_TRAINED_ON, len(labels) // (24 if not settings.quick else 48))
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    training = shuffled[: len(ensemble) * size].reshape(len(ensemble), size)
    voted_on = shuffled[len(ensemble) * size :]
    X = votes_of(ensemble, features, labels, list(training), voted_on)
    result = {**_scores(X, labels[voted_on]), "n_items": len(voted_on), "trained_on": size}
    if unit.parameters["draw"] == 0:  # pictures
        result["pictures"] = _pictures(X, labels[voted_on])
    return result


def _scores(X: NDArray[np.int8], y: NDArray[np.int8]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        models = fit_methods(X, y)
    errors = errors_of(models, X, y)
    return {
        "error": errors,
        "groups": {name: models[name].groups_ for name in ("paper", "search")},
        "voters": single_errors(X, y),
    }


def _pictures(X: NDArray[np.int8], y: NDArray[np.int8]) -> dict[str, Any]:
    positive, negative = gl.conditional_covariance(X, y)
    return {"conditional_covariance": np.round((positive + negative) / 2, 4)}


# -- summary ------------------------------------------------------------------------------------------------


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the tables and figures of the page."""
    drawn: dict[str, list[dict[str, Any]]] = {}
    left_out: dict[str, str] = {}
    own = {}
    for entry in entries:
        parameters, result = entry["parameters"], entry["result"]
        if "own" in parameters:
            own[parameters["own"]] = result
        elif "left_out" in result:
            left_out[parameters["table"]] = result["left_out"]
        else:
            drawn.setdefault(parameters["table"], []).append(result)
    tables = [_difference_table(drawn, left_out), _error_table(drawn, own)]
    figures = []
    if drawn:
        figures.append(
            Figure(
                "sml-against-lsml",
                "Balanced error of SML+EM against that of L-SML, one pair of dots a draw; below the line y = x L-SML "
                "is worse, above it better (the paper's scatter plots, with its axes).",
                lambda figure: _draw_scatter(figure, drawn),
                height=3.6 if _shape(drawn)[0] == 1 else 8.0,
            )
        )
        figures.append(
            Figure(
                "error-by-method",
                "Balanced error of every method, one dot a draw.",
                lambda figure: _draw_errors(figure, drawn),
                height=3.6,
            )
        )
    shown = next((name for name in ("magic", *drawn) if name in drawn), None)
    if shown:
        first = next(result for result in drawn[shown] if "pictures" in result)
        figures.append(
            Figure(
                "covariance-and-groups",
                f"{_NAMES[shown]}, first draw: covariance within the classes, and the groups that were found (voters "
                "of one colour are in one group, white is alone).",
                lambda figure: _draw_groups(figure, first),
                height=3.7,
            )
        )
    sizes = ", ".join(
        f"{_NAMES[name]} {results[0]['trained_on']} items each, {results[0]['n_items']:,} voted on"
        for name, results in drawn.items()
    )
    paragraphs = [
        "Sixteen voters: four random forests, three logistic model trees, four linear support vector machines, five "
        "Gaussian naive Bayes. Logistic model trees are not kept up in any Python library; a tree of two "
        "leaves with a logistic regression in each stands in for them. Each voter is trained on its "
        f"own items, shared with no other, and votes on the rest: {sizes}. The paper does not say how many items it "
        f"trained on; {_MOST_TRAINED_ON} make our families as accurate on Magic as those in the paper's own votes.",
    ]
    paragraphs += [f"{_NAMES[name]} was left out of this run: {reason}." for name, reason in left_out.items()]
    return Summary(paragraphs, tables, figures, _differences(drawn))


def _gain(results: list[dict[str, Any]], name: str) -> NDArray[np.float64]:
    return np.array([100 * (result["error"]["sml_em"] - result["error"][name]) for result in results])


def _difference_table(drawn: dict[str, list[dict[str, Any]]], left_out: dict[str, str]) -> Table:
    rows: list[list[Any]] = []
    for name, said in paper.UCI_MEAN_DIFFERENCE.items():
        n, d = UCI_TABLES[name].shape
        if name in drawn:
            gains = {kind: _gain(drawn[name], kind) for kind in ("search", "paper")}
            figures = [round(float(v), 4) for kind in gains for v in (gains[kind].mean(), gains[kind].std())]
            rows.append([_NAMES[name], n, d, len(drawn[name]), *figures, said])
        elif name in left_out:
            rows.append([_NAMES[name], n, d, 0, None, None, None, None, said])
    return Table(
        "mean-difference",
        "Mean difference: balanced error of SML+EM minus that of L-SML, points",
        ["", "items", "features", "draws", "search", "± sd", "paper's algorithm", "± sd", "in the paper"],
        rows,
        ["", ",", ",", ",", "+.2f", ".2f", "+.2f", ".2f", "+.1f"],
        "Positive: L-SML is better.",
    )


def _error_table(drawn: dict[str, list[dict[str, Any]]], own: dict[str, dict[str, Any]]) -> Table:
    rows: list[list[Any]] = []
    for name, results in drawn.items():
        means = [100 * np.mean([result["error"][method] for result in results]) for method in _METHODS]
        rows.append([f"{_NAMES[name]}, mean of {len(results)} draws", *(round(float(m), 4) for m in means)])
    for name, result in own.items():
        rows.append([f"{name}, the paper's own votes", *(round(100 * result["error"][m], 4) for m in _METHODS)])
    return Table("error", "Balanced error %", ["", *_METHODS.values()], rows, ["", *[".1f"] * len(_METHODS)])


def _differences(drawn: dict[str, list[dict[str, Any]]]) -> list[Difference]:
    kinds = {"search": "search (default)", "paper": "the paper's algorithm"}
    return [
        Difference(
            f"mean-difference/{kind}/{name}",
            f"{_NAMES[name]}, SML+EM minus L-SML, {words}",
            float(_gain(drawn[name], kind).mean()),
            said,
            0.3,
            "points",
        )
        for kind, words in kinds.items()
        for name, said in paper.UCI_MEAN_DIFFERENCE.items()
        if name in drawn
    ]


def _shape(drawn: dict[str, Any]) -> tuple[int, int]:
    """Rows and columns of panels: four as a square, fewer in a row."""
    return (2, 2) if len(drawn) == 4 else (1, len(drawn))


def _draw_scatter(figure: Any, drawn: dict[str, list[dict[str, Any]]]) -> None:
    axes = figure.subplots(*_shape(drawn), squeeze=False).ravel()
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
        ax.set(xlim=ends, ylim=ends, aspect="equal", title=_NAMES[name])
        ax.set(xlabel="balanced error of L-SML %", ylabel="balanced error of SML+EM %")
    legend_below(figure, axes[0], 5)


def _draw_errors(figure: Any, drawn: dict[str, list[dict[str, Any]]]) -> None:
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
        ax.set_title(_NAMES[name])
    axes[0].set_ylabel("balanced error %")


def _draw_groups(figure: Any, result: dict[str, Any]) -> None:
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


EXPERIMENT = Experiment(
    "uci",
    "UCI tables",
    1,
    units,
    run,
    summarise,
    draws=20,
    quick_draws=2,
    prepare=prepare,
)
