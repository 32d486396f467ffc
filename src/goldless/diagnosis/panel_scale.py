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
    so every panel loses, or gains, what all voters together do; panels keep their order.

    ``expected``: balanced accuracy expected of the combined labels of all voters.
    """
    fitted: Fitted = model.fitted_
    (whole,) = judge_panels(fitted, [range(fitted.n_voters)])
    shift = expected - whole.balanced_accuracy
    return [
        replace(
            panel,
            balanced_accuracy=_share(panel.balanced_accuracy + shift),
            vote_accuracy=_share(panel.vote_accuracy + shift),
        )
        for panel in panels
    ]


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)
