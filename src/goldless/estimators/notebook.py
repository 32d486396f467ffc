"""A fitted model as a few lines of HTML, for notebooks: no template, no style sheet, every name escaped."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

_MOST = 20


def small_html(model: Any) -> str:
    """Return a small table of the voters and what was found."""
    latent = model.latent_model_
    names = getattr(model, "feature_names_in_", None)
    names = [str(i) for i in range(latent.n_voters)] if names is None else [str(name) for name in names]
    sizes = np.bincount(latent.groups)
    shared = int((sizes > 1).sum())
    order = np.lexsort((-latent.balanced_accuracy, latent.groups, -sizes[latent.groups]))
    found = f"{shared} group{'s' * (shared != 1)} of voters that echo each other" if shared else "no echo found"
    classes = [escape(str(label)) for label in model.classes_]
    head = (
        f"<p><b>{escape(type(model).__name__)}</b>: {latent.n_voters} voters, {found}; estimated share of "
        f"{classes[1]}: {100 * latent.class_balance:.1f} %.</p>"
    )
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(names[voter])}</th>"
        f"<td>{latent.groups[voter] if sizes[latent.groups[voter]] > 1 else 'alone'}</td>"
        f"<td>{latent.sensitivity[voter]:.3f}</td><td>{latent.specificity[voter]:.3f}</td>"
        f"<td>{latent.balanced_accuracy[voter]:.3f}</td></tr>"
        for voter in order[:_MOST]
    )
    more = f"<p>and {latent.n_voters - _MOST} more voters</p>" if latent.n_voters > _MOST else ""
    return (
        f"<div class='goldless'>{head}<table><thead><tr><th>voter</th><th>group</th><th>sensitivity</th>"
        f"<th>specificity</th><th>balanced accuracy</th></tr></thead><tbody>{rows}</tbody></table>{more}"
        "<p>Estimated without labels. <code>goldless.report.summarize(model, X)</code> has the rest.</p></div>"
    )
