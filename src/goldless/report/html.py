"""The summary as one page that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache, partial
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.report import drawing
from goldless.report.sentences import HAS_GAPS, METHODS
from goldless.report.structure import decimals_of
from goldless.report.table import as_base64
from goldless.words import shortened

_STYLES = ("base.css", "tables.css", "pictures.css", "print.css")
_SCRIPTS = ("base.js", "pairs.js", "items.js", "voters.js", "save.js", "links.js")
_MAPS = {
    "echo": ("Echo", "Correlation of two voters' votes within the classes, where it is more than chance."),
    "score": ("Score", "Large where two voters agree more than a common truth explains: the sign of an echo."),
    "covariance": ("Covariance", "Orange: two voters say the same more often than by chance."),
    "fitted": (
        "Covariance in the model",
        "What the groups and accuracies found would give. Colours as of covariance.",
    ),
    "left_over": ("Left over", "Covariance minus model: what the model does not explain. Colours as of covariance."),
    "co_membership": ("Found together", "How often two voters are found in one group when the items are resampled."),
    "same_wrong_answer": (
        "Same wrong answer",
        "Where two voters are both wrong: how much more often they give the same answer than others do.",
    ),
    "conditional_positive": ("C+ by the truth", "Covariance among truly positive items: zero without echo."),
    "conditional_negative": ("C- by the truth", "Covariance among truly negative items. Colours as of C+."),
    "conditional": (
        "Within the classes, by the truth",
        "Mean covariance among items of one true class: zero without echo.",
    ),
}
_ONE_SIDED = ("echo", "score", "co_membership")
_SAME_COLOURS = {"fitted": "covariance", "left_over": "covariance", "conditional_negative": "conditional_positive"}
_DECIMALS_OF_TRUTH = 4


def render_html(summary: dict[str, Any]) -> str:
    """Return the page of a summary.

    Every name in it is text of somebody else's: the template escapes all of them, and a content security policy
    allows the one script of the page by its hash and no request at all.

    Parameters
    ----------
    summary : dict
        From :func:`goldless.report.summarize`.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(500, groups=[1] * 6, random_state=0)
    >>> page = render_html(gl.report.summarize(gl.LatentSML().fit(X), X, resamples=0))
    >>> page[:15]
    '<!doctype html>'
    """
    from markupsafe import Markup

    style = "".join(source(name) for name in _STYLES)
    script = '"use strict";\n(() => {\n' + "".join(source(name) for name in _SCRIPTS) + "})();"
    order, n_classes = summary["order"], len(summary["votes"]["classes"])
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            s=summary,
            style=Markup(style),  # our own files
            script=Markup(script),  # our own files
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            called=METHODS,
            has_gaps=HAS_GAPS,
            group_number={group["name"]: number for number, group in enumerate(summary["groups"])},
            trees=drawing.trees(summary),
            path=drawing.residual_path(summary),
            others=drawing.alternatives(summary),
            colour_of=partial(drawing.class_colour, n_classes),
            above_chance=partial(drawing.above_chance, summary),
            range_of=range,
            many=n_classes > 2,
            strip=lambda votes: drawing.strip([votes[i] for i in order]),
            bands=drawing.bands(summary),
            dots=drawing.card_dots(summary),
            against_truth=drawing.against_truth(summary),
            score_plot=drawing.score_against_conditional(summary),
            data={"summary": _packed(summary), "maps": _maps(summary)},
        )
    )


@cache
def environment() -> Any:
    """Return what makes pages of templates: everything is escaped, and nothing may be left undefined."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context

    made = Environment(
        loader=PackageLoader("goldless.report", "page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["percent"] = drawing.percent
    made.filters["chance"] = drawing.chance
    made.filters["short"] = drawing.short
    made.filters["keep"] = drawing.keep
    made.filters["besides"] = drawing.besides
    made.filters["whole_names"] = pass_context(_whole_names)
    made.filters["in_link"] = partial(quote, safe="")
    return made


def _whole_names(context: Any, sentence: str) -> Any:
    """Return a sentence in which no name of a voter is broken over lines."""
    from markupsafe import Markup, escape

    names = {voter["name"] for voter in context["s"]["voters"]}
    long = sorted({text for name in names if len(name) > 3 for text in (name, shortened(name))}, key=len)
    if not long:
        return drawing.keep(sentence)
    parts = re.split("(" + "|".join(map(re.escape, reversed(long))) + ")", drawing.keep(sentence))
    return Markup("").join(
        Markup('<span class="id">{}</span>').format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def source(name: str) -> str:
    """Return a file of the page as it is."""
    loader = environment().loader
    return loader.get_source(environment(), name)[0]


def _packed(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the summary with its pictures of pairs packed; the script unpacks it to save it."""
    packed = dict(summary)
    if summary["matrices"] is not None:
        packed["matrices"] = {
            key: None if values is None else _triangle(values) for key, values in summary["matrices"].items()
        }
    truth = summary["truth"]
    if truth is not None and truth["conditional"] is not None:
        within = [_triangle(values, _DECIMALS_OF_TRUTH) for values in truth["conditional"]]
        packed["truth"] = {**truth, "conditional": within}
    return packed


def _triangle(matrix: ArrayLike, digits: int | None = None) -> dict[str, Any]:
    """Return what is below the diagonal of a symmetric picture, as whole numbers of its last digit."""
    values = np.asarray(matrix, dtype=np.float64)
    digits = decimals_of(values) if digits is None else digits
    below = values[np.tril_indices(len(values), -1)]
    return {"digits": digits, "below": as_base64(np.round(below * 10**digits), "<i2")}


def _maps(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return which pictures of pairs there are, with titles and the value of the full colour."""
    matrices = {key: values for key, values in (summary["matrices"] or {}).items() if values is not None}
    if matrices:
        matrices |= _conditional(summary["truth"])
    families: dict[str, list[NDArray]] = {}
    for key, values in matrices.items():
        families.setdefault(_SAME_COLOURS.get(key, key), []).append(np.asarray(values))
    scales = {family: _scale(members) for family, members in families.items()}
    shown = []
    for key in (name for name in _MAPS if name in matrices):
        if key in _ONE_SIDED and not np.any(matrices[key]):
            continue  # of fewer than four voters there is no score; voters may never be found together
        scale, clipped = scales[_SAME_COLOURS.get(key, key)]
        title, text = _MAPS[key]
        found = {"key": key, "title": title, "text": text, "signed": key not in _ONE_SIDED}
        shown.append({**found, "scale": float(f"{scale:.3g}"), "clipped": clipped})
    return shown


def _conditional(truth: dict[str, Any] | None) -> dict[str, Any]:
    """Return the covariances within the true classes: both of two, the mean of more."""
    if truth is None or truth["conditional"] is None:
        return {}
    if len(truth["conditional"]) == 2:
        negative, positive = truth["conditional"]
        return {"conditional_positive": positive, "conditional_negative": negative}
    return {"conditional": np.average(truth["conditional"], axis=0, weights=truth["class_shares"])}


def _scale(matrices: list[NDArray]) -> tuple[float, bool]:
    """Return the value of the full colour: the largest, unless a few pairs would leave all others pale."""
    entries = np.abs(np.concatenate([matrix[~np.eye(len(matrix), dtype=bool)] for matrix in matrices]))
    if not entries.size:
        return 0.0, False
    largest, most = float(entries.max()), float(np.quantile(entries, 0.99))
    return (most, True) if 0 < most < largest / 1.5 else (largest, False)
