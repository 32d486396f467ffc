"""The summary as one page that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.report import drawing
from goldless.report.png import encode_png
from goldless.report.sentences import METHODS

_ORANGE, _BLUE, _VIOLET = (222, 98, 20), (38, 120, 200), (124, 77, 199)
_TITLES = {
    "score": ("Score", "Large where two voters agree more than a common truth explains: the sign of an echo."),
    "conditional_positive": (
        "C+ measured with the truth",
        "Covariance among truly positive items: zero without echo.",
    ),
    "conditional_negative": ("C- measured with the truth", "Covariance among truly negative items. Same colours."),
    "conditional": (
        "Within the classes, measured with the truth",
        "Mean covariance among items of one true class: zero without echo.",
    ),
    "covariance": ("Covariance of the votes", "Orange: two voters say the same more often than by chance."),
    "fitted": ("Covariance in the fitted model", "What the groups and accuracies found would give. Same colours."),
    "left_over": ("Left over", "Covariance minus model: what the model does not explain. Same colours."),
    "same_wrong_answer": (
        "Same wrong answer",
        "Where two voters are both wrong: how much more often they give the same answer than others do.",
    ),
    "co_membership": ("Found together", "How often two voters are found in one group when the items are resampled."),
}
_ONE_SIDED = ("score", "co_membership")
_SAME_COLOURS = {
    "fitted": "covariance",
    "left_over": "covariance",
    "conditional_negative": "conditional_positive",
}


def render_html(summary: dict[str, Any]) -> str:
    """Return the page of a summary.

    Every name in it is text of somebody else's: the template escapes all of them, and a content security policy
    allows the one script of the page by its hash and no request at all.

    Parameters
    ----------
    summary : dict
        From :func:`goldless.report.summarize`.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("goldless.report", "page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["percent"] = drawing.percent
    environment.filters["chance"] = drawing.chance
    environment.filters["short"] = drawing.short
    environment.filters["keep"] = drawing.keep
    assert environment.loader is not None
    style, script = (environment.loader.get_source(environment, name)[0] for name in ("report.css", "report.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    heat_maps = _heat_maps(summary)
    order, voters = summary["order"], summary["voters"]
    return environment.get_template("report.html.j2").render(
        s=summary,
        style=Markup(style),  # our own file
        script=Markup(script),  # our own file
        script_hash=digest,
        heat_maps=heat_maps,
        called=METHODS,
        group_number={group["name"]: number for number, group in enumerate(summary["groups"])},
        tree=drawing.tree(summary),
        path=drawing.residual_path(summary),
        others=drawing.alternatives(summary),
        colour_of=partial(drawing.class_colour, len(summary["votes"]["classes"])),
        above_chance=partial(drawing.above_chance, summary),
        range_of=range,
        many=len(summary["votes"]["classes"]) > 2,
        strip=lambda votes: drawing.strip([votes[i] for i in order]),
        bands=drawing.bands(summary),
        against_truth=drawing.against_truth(summary),
        score_plot=drawing.score_against_conditional(summary),
        data={
            "names": [voters[i]["name"] for i in order],
            "groups": [voters[i]["group"] for i in order],
            "matrices": {heat_map["key"]: heat_map["values"] for heat_map in heat_maps},
        },
    )


def _heat_maps(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pictures of pairs in the order of the groups, each with its scale."""
    matrices = {key: values for key, values in (summary["matrices"] or {}).items() if values is not None}
    if matrices:
        matrices |= _conditional(summary["truth"])
    order = np.array(summary["order"])
    ordered = {key: np.asarray(values)[np.ix_(order, order)] for key, values in matrices.items()}
    families: dict[str, list[NDArray]] = {}
    for key, matrix in ordered.items():
        families.setdefault(_SAME_COLOURS.get(key, key), []).append(matrix)
    scales = {family: _scale(members) for family, members in families.items()}
    shown = []
    for key in (name for name in _TITLES if name in ordered):
        if key in _ONE_SIDED and not ordered[key].any():
            continue  # of fewer than four voters there is no score; voters may never be found together
        scale, clipped = scales[_SAME_COLOURS.get(key, key)]
        matrix = ordered[key]
        shown.append(
            {
                "key": key,
                "title": _TITLES[key][0],
                "text": _TITLES[key][1],
                "image": _image(matrix, scale, key in _ONE_SIDED),
                "signed": key not in _ONE_SIDED,
                "scale": f"{scale:.3g}",
                "clipped": clipped,
                "values": matrix.tolist(),
            }
        )
    return shown


def _conditional(truth: dict[str, Any] | None) -> dict[str, Any]:
    """Return the covariances within the true classes: both of two, the mean of more."""
    if truth is None or truth["conditional"] is None:
        return {}
    if len(truth["conditional"]) == 2:
        negative, positive = truth["conditional"]
        return {"conditional_positive": positive, "conditional_negative": negative}
    return {"conditional": np.average(truth["conditional"], axis=0, weights=truth["class_shares"]).round(4)}


def _scale(matrices: list[NDArray]) -> tuple[float, bool]:
    """Return the value of the full colour: the largest, unless a few pairs would leave all others pale."""
    entries = np.abs(np.concatenate([matrix[~np.eye(len(matrix), dtype=bool)] for matrix in matrices]))
    if not entries.size:
        return 0.0, False
    largest, most = float(entries.max()), float(np.quantile(entries, 0.99))
    return (most, True) if 0 < most < largest / 1.5 else (largest, False)


def _image(matrix: NDArray[np.float64], scale: float, one_sided: bool) -> str:
    """Return a picture of a matrix, one dot a pair, see-through where it is zero so that any background does."""
    share = np.clip(np.abs(matrix) / scale, 0, 1) if scale > 0 else np.zeros_like(matrix)
    colour = np.empty((*matrix.shape, 4), dtype=np.uint8)
    positive = _VIOLET if one_sided else _ORANGE
    colour[..., :3] = np.where((matrix >= 0)[..., None], positive, _BLUE)
    colour[..., 3] = np.round(255 * share**0.7)
    return "data:image/png;base64," + base64.b64encode(encode_png(colour)).decode()
