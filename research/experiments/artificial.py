"""The paper's artificial data: one group among twenty voters, and beyond it: n, b, several groups."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import goldless as gl
from research.experiments.figures import COLOURS, Figure, Line, draw_lines, legend_below, legend_beside
from research.experiments.framework import Difference, Experiment, Settings, Summary, Unit
from research.experiments.tables import Table

_VOTERS, _ITEMS = 20, 10_000
_METHODS = {  # name: label, colour, line
    "vote": ("majority vote", "grey", "-"),
    "sml_em": ("SML+EM", "blue", "-"),
    "oracle_ci": ("Oracle-CI", "black", ":"),
    "paper": ("L-SML, paper", "orange", "-"),
    "paper_known": ("L-SML, paper, K known", "brown", "-"),
    "search": ("L-SML, search (default)", "violet", "-"),
    "oracle_l": ("Oracle-L", "black", "-"),
}
_FITTED = ("vote", "sml_em", "paper", "search")
_GROUPED = ("paper", "paper_known", "search")
_SEVERAL = {
    "3, 3, 3 + 11 alone": [3, 3, 3] + [1] * 11,
    "5, 5 + 10 alone": [5, 5] + [1] * 10,
    "6, 4, 3 + 12 alone": [6, 4, 3] + [1] * 12,
    "4, 4, 4, 4, 4": [4] * 5,
}


def units(settings: Settings) -> list[Unit]:
    """One unit for each setting and draw."""
    five = [5] + [1] * (_VOTERS - 5)
    sizes = (1, 4) if settings.quick else range(1, 11)
    n_items = 500 if settings.quick else _ITEMS
    some_n = (500,) if settings.quick else (300, 1000, 3000, 10_000, 30_000)
    some_b = (0.4,) if settings.quick else (-0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8)
    several = list(_SEVERAL.items())[: 1 if settings.quick else None]
    sweeps: list[tuple[str, Any, dict[str, Any]]] = [
        *(("size", s, {"groups": [s] + [1] * (_VOTERS - s), "n_items": n_items, "b": 0.0}) for s in sizes),
        *(("n", n, {"groups": five, "n_items": n, "b": 0.0}) for n in some_n),
        *(("b", b, {"groups": five, "n_items": n_items, "b": b}) for b in some_b),
        *(("several", name, {"groups": groups, "n_items": n_items, "b": 0.0}) for name, groups in several),
    ]
    return [
        Unit(f"{sweep} {value}, draw {draw}", {"sweep": sweep, "value": value, **parameters})
        for draw in range(settings.draws)  # a run that is cut short has a few draws of everything
        for sweep, value, parameters in sweeps
    ]


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Draw votes, fit every method, score it against the truth."""
    parameters = unit.parameters
    groups = parameters["groups"]
    X, y, truth = gl.simulate_votes(
        parameters["n_items"], groups, parameters["b"], random_state=seed, return_model=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        models: dict[str, Any] = {
            "vote": gl.MajorityVote().fit(X),
            "sml_em": gl.SpectralMetaLearner().fit(X),
            "oracle_ci": gl.OracleCI().fit(X, y),
            "paper": gl.LatentSML(structure="paper").fit(X),
            "paper_known": gl.LatentSML(structure="paper", paper=gl.PaperOptions(n_groups=len(groups))).fit(X),
            "search": gl.LatentSML().fit(X),
            "oracle_l": gl.OracleLatent(truth).fit(X),
        }
    return {
        "error": {name: gl.balanced_error(y, model.predict(X)) for name, model in models.items()},
        "mse": {name: _mse(models[name], truth) for name in _FITTED},
        "exact": {name: np.array_equal(models[name].groups_, truth.groups) for name in _GROUPED},
        "ambiguous": models["search"].ambiguous_,
    }


def _mse(model: Any, truth: gl.TreeModel) -> float:
    """Mean squared error of the estimated sensitivities and specificities (appendix of the paper)."""
    errors = [model.sensitivity_ - truth.sensitivity, model.specificity_ - truth.specificity]
    return float(np.mean(np.square(errors)))


# -- summary ------------------------------------------------------------------------------------------------


class _Sweep:
    """The finished units of one sweep, as arrays over its values."""

    def __init__(self, entries: Sequence[dict[str, Any]], sweep: str):
        chosen = [entry for entry in entries if entry["parameters"]["sweep"] == sweep]
        self.values = list(dict.fromkeys(entry["parameters"]["value"] for entry in chosen))
        self._results = {
            value: [e["result"] for e in chosen if e["parameters"]["value"] == value] for value in self.values
        }
        self.draws = min((len(results) for results in self._results.values()), default=0)

    def mean(self, kind: str, name: str) -> np.ndarray:
        return np.array([np.mean([r[kind][name] for r in self._results[v]]) for v in self.values])

    def standard_error(self, kind: str, name: str) -> np.ndarray:
        return np.array(
            [np.std([r[kind][name] for r in self._results[v]]) / np.sqrt(self.draws) for v in self.values]
        )

    def ambiguous(self) -> np.ndarray:
        return np.array([np.mean([r["ambiguous"] for r in self._results[v]]) for v in self.values])

    def excess(self, name: str) -> np.ndarray:
        return 100 * (self.mean("error", name) - self.mean("error", "oracle_l"))

    def accuracy_lines(self) -> list[Line]:
        return [
            Line(
                label,
                100 * (1 - self.mean("error", name)),
                colour,
                style,
                None if style == ":" else "o",
                spread=100 * self.standard_error("error", name),
            )
            for name, (label, colour, style) in _METHODS.items()
        ]

    def exact_lines(self) -> list[Line]:
        return [Line(_METHODS[name][0], 100 * self.mean("exact", name), *_METHODS[name][1:]) for name in _GROUPED]


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the tables and figures of the page."""
    size, items, imbalance, several = (_Sweep(entries, name) for name in ("size", "n", "b", "several"))
    n_items = next(e["parameters"]["n_items"] for e in entries if e["parameters"]["sweep"] == "size")
    return Summary(
        [
            f"Votes are drawn from the model of the paper: {_VOTERS} voters, n = {n_items:,} items, one group G1 of "
            "voters that share a hidden source, Pr(alpha | Y) uniform in [0.5, 0.8], accuracies towards alpha "
            f"uniform in [0.7, 0.9]. Means over {size.draws} draws; bands are one standard error of the mean. "
            "Oracle-CI is told the true accuracies, Oracle-L the whole model.",
            '"L-SML, paper" is Algorithm 2 to the letter: of all numbers of groups K, the one of smallest residual. '
            '"K known" is the same clustering, told the true K. "Search" is the default of `LatentSML()`.',
        ],
        [
            _error_table("error-by-size", "Balanced error % against the size of G1", "size of G1", size),
            _exact_table("recovery-by-size", "Exact recovery of the groups", "size of G1", size),
            _mse_table(size),
            _error_table("error-by-n", "Balanced error % against the number of items, G1 = 5", "n", items),
            _exact_table("recovery-by-n", "Exact recovery against the number of items, G1 = 5", "n", items),
            _error_table("error-by-b", "Balanced error % against the class imbalance b, G1 = 5", "b", imbalance),
            _error_table("error-several", "Balanced error % with several groups", "sizes", several),
            _exact_table("recovery-several", "Exact recovery with several groups", "sizes", several),
        ],
        [
            Figure(
                "accuracy-by-size",
                "Balanced accuracy against the size of the group G1 (the paper's figure on simulated data).",
                lambda figure: _draw_accuracy(figure, size, "size of the group G1"),
            ),
            Figure(
                "recovery-and-mse",
                "Left: how often the groups are found exactly. Right: mean squared error of the estimated "
                "sensitivities and specificities (the two figures of the paper's appendix).",
                lambda figure: _draw_recovery_and_mse(figure, size),
            ),
            Figure(
                "accuracy-by-n-and-b",
                "Balanced accuracy against the number of items and against the class imbalance, G1 = 5.",
                lambda figure: _draw_n_and_b(figure, items, imbalance),
            ),
            Figure(
                "several-groups",
                "Balanced error above Oracle-L, in points, for several groups at once.",
                lambda figure: _draw_several(figure, several),
                height=3.4,
            ),
        ],
        _differences(size),
    )


def _error_table(name: str, title: str, first: str, sweep: _Sweep) -> Table:
    columns = [100 * sweep.mean("error", method) for method in _METHODS]
    rows = [
        [value, *(column[at] for column in columns), sweep.excess("search")[at], 100 * sweep.ambiguous()[at]]
        for at, value in enumerate(sweep.values)
    ]
    header = [first, *(label for label, _, _ in _METHODS.values()), "search above Oracle-L", "flagged ambiguous %"]
    first_format = "" if sweep.values and isinstance(sweep.values[0], str) else "g"
    return Table(name, title, header, _plain(rows), [first_format, *[".1f"] * len(_METHODS), ".2f", ".0f"])


def _exact_table(name: str, title: str, first: str, sweep: _Sweep) -> Table:
    columns = [100 * sweep.mean("exact", method) for method in _GROUPED]
    rows = [[value, *(column[at] for column in columns)] for at, value in enumerate(sweep.values)]
    header = [first, *(f"{_METHODS[method][0]} %" for method in _GROUPED)]
    first_format = "" if sweep.values and isinstance(sweep.values[0], str) else "g"
    return Table(name, title, header, _plain(rows), [first_format, *[".0f"] * len(_GROUPED)])


def _mse_table(size: _Sweep) -> Table:
    columns = [size.mean("mse", method) for method in _FITTED]
    rows = [[value, *(column[at] for column in columns)] for at, value in enumerate(size.values)]
    header = ["size of G1", *(_METHODS[method][0] for method in _FITTED)]
    title = "Mean squared error of sensitivities and specificities"
    return Table("mse-by-size", title, header, _plain(rows), ["g", *[".4f"] * len(_FITTED)])


def _plain(rows: list[list[Any]]) -> list[list[Any]]:
    return [[cell if isinstance(cell, (str, int)) else round(float(cell), 6) for cell in row] for row in rows]


def _differences(size: _Sweep) -> list[Difference]:
    """The paper's words as figures: the groups are found up to size 6, and never above 7."""
    said = {value: 100.0 if value <= 6 else 0.0 for value in size.values if value != 7}
    exact = {name: dict(zip(size.values, 100 * size.mean("exact", name), strict=True)) for name in _GROUPED}
    return [
        Difference(
            f"exact/{name}/{value}", f"exact recovery, {_METHODS[name][0]}, G1 = {value}", here[value], paper, 5
        )
        for name, here in exact.items()
        for value, paper in said.items()
    ]


def _draw_accuracy(figure: Any, size: _Sweep, xlabel: str) -> None:
    ax = figure.subplots()
    draw_lines(ax, size.values, size.accuracy_lines(), xlabel, "balanced accuracy %")
    ax.set_xticks(size.values)
    legend_beside(figure, ax)


def _draw_recovery_and_mse(figure: Any, size: _Sweep) -> None:
    left, right = figure.subplots(1, 2)
    draw_lines(left, size.values, size.exact_lines(), "size of the group G1", "found exactly, % of draws")
    left.set(ylim=(-4, 104), xticks=size.values)
    left.set_title("Groups")
    lines = [Line(_METHODS[name][0], size.mean("mse", name), *_METHODS[name][1:]) for name in _FITTED]
    draw_lines(right, size.values, lines, "size of the group G1", "mean squared error")
    right.set(yscale="log", xticks=size.values)
    right.set_title("Sensitivity and specificity")
    handles: dict[str, Any] = {}
    for ax in (left, right):
        shown, labels = ax.get_legend_handles_labels()
        handles.update(zip(labels, shown, strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)


def _draw_n_and_b(figure: Any, items: _Sweep, imbalance: _Sweep) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    draw_lines(left, items.values, items.accuracy_lines(), "number of items n", "balanced accuracy %")
    left.set(xscale="log")
    draw_lines(right, imbalance.values, imbalance.accuracy_lines(), "class imbalance b", "")
    legend_below(figure, left, 4)


def _draw_several(figure: Any, several: _Sweep) -> None:
    ax = figure.subplots()
    shown = [name for name in _METHODS if name not in ("oracle_l", "paper_known")]
    hatches = {"oracle_ci": "///"}
    height = 0.8 / len(shown)
    for number, name in enumerate(shown):
        label, colour, _ = _METHODS[name]
        places = [row - 0.4 + height * (number + 0.5) for row in range(len(several.values))]
        ax.barh(
            places,
            several.excess(name),
            height * 0.9,
            color="white" if name in hatches else COLOURS[colour],
            edgecolor=COLOURS[colour],
            hatch=hatches.get(name),
            label=label,
        )
    ax.set_yticks(range(len(several.values)), several.values)
    ax.invert_yaxis()
    ax.set_xlabel("points of balanced error above Oracle-L")
    ax.grid(axis="y", visible=False)
    legend_beside(figure, ax)


EXPERIMENT = Experiment(
    "artificial",
    "Artificial data",
    1,
    units,
    run,
    summarise,
    draws=50,
    quick_draws=2,
)
