"""The DREAM mutation calling challenge: both tables of the paper and its pictures."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.maths.selection import select_voters
from research.experiments import paper
from research.experiments.datasets import load_matrix_votes
from research.experiments.dream_figures import draw_matrices, draw_path, draw_quantiles, draw_runtime
from research.experiments.figures import Figure
from research.experiments.framework import Difference, Experiment, Settings, Summary, Unit
from research.experiments.measure import measured
from research.experiments.methods import errors_of, fit_methods
from research.experiments.published import MORE_GROUPS_THAN, chosen_step, published_path
from research.experiments.tables import Table

_ALL = {  # methods of challenge I: label, and the paper's column
    "mean": ("mean voter", "mean"),
    "best": ("best voter", "best"),
    "vote": ("majority vote", "vote"),
    "sml_em": ("SML+EM", "sml_em"),
    "oracle_ci": ("Oracle-CI", "oracle_ci"),
    "paper": ("L-SML, paper's theory", "lsml"),
    "published": ("L-SML, as the authors' code", "lsml"),
    "search": ("L-SML, search (default)", "lsml"),
}
_FIVE = {
    "vote": ("majority vote", "vote"),
    "sml_em": ("SML+EM", "sml_em"),
    "oracle_ci": ("Oracle-CI", "oracle_ci"),
    "published": ("L-SML, best of each group", "lsml"),
    "paper": ("L-SML, paper's theory", "lsml"),
    "search": ("L-SML, search (default)", "lsml"),
    "search_model": ("L-SML, search, weighed by the model", "lsml"),
}
_USUAL_GROUPS = (8, 20)
_N_BINS = 15


def _find(settings: Settings) -> dict[str, Path]:
    folder = settings.data or os.environ.get("GOLDLESS_DATA")
    if not folder:
        raise ValueError("dream needs the challenge's votes: set GOLDLESS_DATA, or pass --data DIR")
    found = {}
    for place in (Path(folder) / "dream", Path(folder)):
        for name in paper.DREAM_ALL:
            for suffix in (".npz", ".mat"):
                if name not in found and (place / (name + suffix)).is_file():
                    found[name] = place / (name + suffix)
    if not found:
        raise ValueError(f"there is no S1, S2 or S3 (.npz or .mat) in {folder} or its folder dream")
    return found


def prepare(settings: Settings, say: Callable[[str], None]) -> None:
    """Say which data sets are missing."""
    lacking = sorted(set(paper.DREAM_ALL) - set(_find(settings)))
    if lacking:
        say(f"not found, and left out: {', '.join(lacking)}")


def units(settings: Settings) -> list[Unit]:
    """One unit for each data set, one for each size of the score matrix's runtime."""
    found = _find(settings)
    if settings.quick:
        found = dict(list(found.items())[:1])
    first = next(iter(found))
    sizes = (10, 20) if settings.quick else (20, 40, 60, 80, 100, 124)
    runtime = [Unit(f"score of {m} voters of {first}", {"data": first, "score": m}) for m in sizes]
    return [*(Unit(name, {"data": name}) for name in found), *runtime]


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Combine all voters, choose five, and keep what the pictures need."""
    name = unit.parameters["data"]
    X, y = load_matrix_votes(_find(settings)[name])
    if settings.quick:  # a panel small enough to try the command
        chosen = np.sort(np.random.default_rng(seed).permutation(len(y))[:2000])
        X, y = X[chosen][:, :20], y[chosen]
        varied = (X == 1).any(axis=0) & (X == -1).any(axis=0)
        X = X[:, varied]
    if "score" in unit.parameters:
        return _score_runtime(X, unit.parameters["score"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return _tables_of(X, y, pictures=name == next(iter(_find(settings))))


def _score_runtime(X: NDArray[np.int8], n_voters: int) -> dict[str, Any]:
    covariance = np.cov(X[:, :n_voters].T.astype(float))
    gl.score_matrix(covariance)  # compiled before it is timed
    times = [measured(gl.score_matrix, covariance)[1] for _ in range(7)]
    return {"n_voters": int(covariance.shape[0]), "seconds": min(time["cpu_seconds"] or 0.0 for time in times)}


def _tables_of(X: NDArray[np.int8], y: NDArray[np.int8], pictures: bool) -> dict[str, Any]:
    models = fit_methods(X, y)
    errors = errors_of(models, X, y)
    path = published_path(X, y)
    published = chosen_step(path, MORE_GROUPS_THAN)
    errors["published"] = published["error"]
    panels = {name: _most_accurate(models[name].balanced_accuracy_) for name in ("vote", "sml_em", "oracle_ci")}
    panels |= {name: models[name].select(5) for name in ("paper", "search")}
    grouped = gl.LatentSML(structure="paper", paper=gl.PaperOptions(n_groups=published["K"], em=False)).fit(X)
    panels["published"] = select_voters(grouped.latent_model_, 5)
    five = {name: gl.balanced_error(y, gl.MajorityVote().fit_predict(X[:, p])) for name, p in panels.items()}
    small = models["search"].subset(panels["search"])
    five["search_model"] = gl.balanced_error(y, small.predict(X[:, panels["search"]]))
    positive, negative = gl.conditional_covariance(X, y)
    within = (positive + negative) / 2
    score = models["paper"].score_matrix_
    result = {
        "n_items": len(y),
        "n_voters": X.shape[1],
        "n_positive": int((y == 1).sum()),
        "error": errors,
        "five": five,
        "n_groups": {name: models[name].n_groups_ for name in ("paper", "search")},
        "published_path": path,
        "quantiles": _quantiles(within, score),
    }
    if pictures:
        order = np.lexsort((np.arange(len(score)), models["paper"].groups_))
        block = np.ix_(order, order)
        result["pictures"] = {
            "conditional_covariance": [[float(f"{v:.3g}") for v in row] for row in within[block]],
            "score": [[float(f"{v:.3g}") for v in row] for row in score[block]],
        }
    return result


def _most_accurate(accuracy: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.argsort(-accuracy, kind="stable")[:5]


def _quantiles(within: NDArray[np.float64], score: NDArray[np.float64]) -> list[dict[str, float]]:
    """Mean, 20th and 80th percentile of the conditional covariance of pairs, in bins of equal count of the score."""
    one, other = np.tril_indices(len(score), -1)
    scores, covariances = score[one, other], within[one, other]
    bins = np.array_split(np.argsort(scores, kind="stable"), min(_N_BINS, len(scores)))
    return [
        {
            "score": float(scores[pairs].mean()),
            "mean": float(covariances[pairs].mean()),
            "low": float(np.quantile(covariances[pairs], 0.2)),
            "high": float(np.quantile(covariances[pairs], 0.8)),
        }
        for pairs in bins
    ]


# -- summary ------------------------------------------------------------------------------------------------


def summarise(entries: list[dict[str, Any]]) -> Summary:
    """Return the tables and figures of the page."""
    data = {e["parameters"]["data"]: e["result"] for e in entries if "score" not in e["parameters"]}
    runtime = [e["result"] for e in entries if "score" in e["parameters"]]
    first, pictured = next((name, result) for name, result in data.items() if "pictures" in result)
    sizes = "; ".join(
        f"{name}: {r['n_items']:,} sites x {r['n_voters']} callers, {r['n_positive']:,} mutations"
        for name, r in data.items()
    )
    one_missed = ", ".join(f"{50 / r['n_positive']:.3f} in {name}" for name, r in data.items())
    return Summary(
        [
            f"Somatic mutation callers of the ICGC-TCGA DREAM challenge. {sizes}. Points of balanced error for "
            f"one missed mutation: {one_missed}; so a few hundredths are a few mutations.",
            'Two rows are L-SML of the paper. The one called "paper\'s theory" is `LatentSML(structure="paper")`: '
            'Algorithms 2 and 3 and exact EM, K by smallest residual. The one called "as the authors\' code" repeats '
            "what a public copy of their code computes: hard votes of the groups, and a class imbalance from a "
            "formula that pulls it towards zero; K by smallest residual too, of those above "
            f"{MORE_GROUPS_THAN}, because the paper says that it found more groups than that on all three. "
            '"Best of each group" is the paper\'s rule for five callers, with the same K. "Search" is the default of '
            "`LatentSML()`.",
        ],
        [
            _table("challenge-1", "Challenge I, all callers: balanced error %", data, "error", _ALL, paper.DREAM_ALL),
            _table(
                "challenge-2",
                "Challenge II, five callers: balanced error %",
                data,
                "five",
                _FIVE,
                paper.DREAM_FIVE,
                "Simple vote of the five, except in the last row.",
            ),
            _path_table(data),
            Table(
                "score-runtime",
                f"CPU seconds for the exact score matrix, callers of {first}",
                ["callers", "seconds"],
                [[r["n_voters"], r["seconds"]] for r in runtime],
                ["d", ".4f"],
                'The paper: "less than an hour" for hundreds.',
            ),
        ],
        [
            Figure(
                "covariance-and-score",
                f"{first}: covariance within the classes, from the truth, and the score matrix, from the votes "
                "alone, callers in the order of the groups found; colours end at the 99th percentile.",
                lambda figure: draw_matrices(figure, pictured["pictures"]),
                height=3.7,
            ),
            Figure(
                "score-against-covariance",
                "Covariance within the classes against the score, pairs of callers in bins of equal count: mean, and "
                "20th and 80th percentile.",
                lambda figure: draw_quantiles(figure, {name: r["quantiles"] for name, r in data.items()}),
                height=3.3,
            ),
            Figure(
                "published-path",
                "Balanced error of the authors' code against the number of groups K; the ring is the K of smallest "
                f"residual above {MORE_GROUPS_THAN}, the line what the paper prints.",
                lambda figure: draw_path(figure, {name: r["published_path"] for name, r in data.items()}),
                height=3.2,
            ),
            Figure(
                "score-runtime",
                "Time of the exact score matrix against the number of callers.",
                lambda figure: draw_runtime(figure, runtime),
                width=6,
                height=3.2,
            ),
        ],
        [
            *_compared(data, "error", _ALL, paper.DREAM_ALL, "challenge-1"),
            *_compared(data, "five", _FIVE, paper.DREAM_FIVE, "challenge-2"),
        ],
    )


def _table(
    name: str,
    title: str,
    data: dict[str, dict[str, Any]],
    part: str,
    methods: dict[str, tuple[str, str]],
    said: dict[str, dict[str, float]],
    note: str = "",
) -> Table:
    rows = []
    for method, (label, column) in methods.items():
        row: list[Any] = [label]
        for data_name, result in data.items():
            row += [round(100 * result[part][method], 4), said[data_name][column]]
        rows.append(row)
    header = ["", *(text for data_name in data for text in (data_name, "paper"))]
    return Table(name, title, header, rows, ["", *[".2f", ".1f"] * len(data)], note)


def _path_table(data: dict[str, dict[str, Any]]) -> Table:
    rows = []
    for name, result in data.items():
        path = result["published_path"]
        least, chosen = chosen_step(path), chosen_step(path, MORE_GROUPS_THAN)
        errors = [100 * step["error"] for step in path if _USUAL_GROUPS[0] <= step["K"] <= _USUAL_GROUPS[1]]
        spread = [min(errors), float(np.median(errors)), max(errors)]
        steps = [figure for step in (least, chosen) for figure in (step["K"], 100 * step["error"])]
        rows.append([name, *steps, *spread, paper.DREAM_ALL[name]["lsml"]])
    between = f"K from {_USUAL_GROUPS[0]} to {_USUAL_GROUPS[1]}"
    return Table(
        "published-path",
        "The authors' code for other numbers of groups: balanced error %",
        [
            "",
            "K of smallest residual",
            "error",
            f"the same, K above {MORE_GROUPS_THAN}",
            "error",
            f"{between}: least",
            "median",
            "most",
            "paper",
        ],
        [[cell if isinstance(cell, (str, int)) else round(float(cell), 4) for cell in row] for row in rows],
        ["", "d", ".2f", "d", ".2f", ".2f", ".2f", ".2f", ".1f"],
    )


def _compared(
    data: dict[str, dict[str, Any]],
    part: str,
    methods: dict[str, tuple[str, str]],
    said: dict[str, dict[str, float]],
    table: str,
) -> list[Difference]:
    return [
        Difference(
            f"{table}/{method}/{name}",
            f"{table.replace('-', ' ')}, {label}, {name}",
            100 * result[part][method],
            said[name][column],
            0.07,
        )
        for method, (label, column) in methods.items()
        for name, result in data.items()
        if result["n_items"] > 2000 or len(data) > 1
    ]


EXPERIMENT = Experiment("dream", "DREAM mutation calling", 2, units, run, summarise, alone=True, prepare=prepare)
