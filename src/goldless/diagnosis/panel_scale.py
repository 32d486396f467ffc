"""Panels on one scale: that of what is expected of the labels of all voters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from goldless.fitting.fitted import Fitted
from goldless.fitting.panels import judge_panels
from goldless.maths.panels import Panel


def on_one_scale(model: Any, panels: Iterable[Panel], expected: float) -> list[Panel]:
    """Return panels whose accuracies can be compared with that of the combined labels of all voters.

    A model thinks too well of panels that it chose itself. What is expected of all voters has been corrected for it,
    so what every panel has above chance changes by the same factor; panels keep their order and their side of chance.

    ``expected``: balanced accuracy expected of the combined labels of all voters.
    """
    fitted: Fitted = model.fitted_
    (whole,) = judge_panels(fitted, [range(fitted.n_voters)])
    scale = whole.balanced_accuracy, expected, 1 / fitted.n_classes
    return [
        replace(
            panel,
            balanced_accuracy=rescaled(panel.balanced_accuracy, *scale),
            vote_accuracy=rescaled(panel.vote_accuracy, *scale),
        )
        for panel in panels
    ]


def rescaled(accuracy: float, of_all: float, expected: float, chance: float) -> float:
    """Return an accuracy on a scale on which that of all voters is what is expected of them, and chance is chance."""
    factor = max(expected - chance, 0.0) / max(of_all - chance, 1e-9)
    return min(max(chance + factor * (accuracy - chance), 0.0), 1.0)
