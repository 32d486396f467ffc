"""A fitted model as a few lines of HTML, for notebooks: no template, no style sheet, every name escaped."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

_MOST = 20


def small_html(estimator: Any) -> str:
    """Return a small table of the voters and what was found."""
    fitted = estimator.fitted_
    model, recall = fitted.model, fitted.recalls
    accuracy = recall.mean(axis=1)
    names = [str(name) for name in fitted.names_of(np.arange(model.n_voters))]
    sizes = np.bincount(model.groups)
    shared = int((sizes > 1).sum())
    order = np.lexsort((-accuracy, model.groups, -sizes[model.groups]))
    found = f"counted in {shared} group{'s' * (shared != 1)}" if shared else "counted one by one"
    classes = [escape(str(label)) for label in fitted.classes]
    if fitted.n_classes == 2:
        share = f"estimated share of {classes[1]}: {100 * model.class_prior[1]:.1f} %"
        titles, columns = ["sensitivity", "specificity"], recall[:, ::-1]
    else:
        shares = (f"{label} {100 * part:.1f} %" for label, part in zip(classes, model.class_prior, strict=True))
        share = f"estimated shares: {', '.join(shares)}"
        titles, columns = [f"right on {label}" for label in classes], recall
    head = f"<p><b>{escape(type(estimator).__name__)}</b>: {model.n_voters} voters, {found}; {share}.</p>"
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(names[voter])}</th>"
        f"<td>{model.groups[voter] if sizes[model.groups[voter]] > 1 else 'alone'}</td>"
        + "".join(f"<td>{rate:.3f}</td>" for rate in [*columns[voter], accuracy[voter]])
        + "</tr>"
        for voter in order[:_MOST]
    )
    more = f"<p>and {model.n_voters - _MOST} more voters</p>" if model.n_voters > _MOST else ""
    title = "".join(f"<th>{word}</th>" for word in ["voter", "group", *titles, "balanced accuracy"])
    return (
        f"<div class='goldless'>{head}<table><thead><tr>{title}</tr></thead><tbody>{rows}</tbody></table>{more}"
        "<p>Estimated without labels. <code>goldless.report.summarize(model, X)</code> has the rest.</p></div>"
    )
