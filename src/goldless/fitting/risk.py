"""What goes before a disaster: signs, known without labels, that labels may be badly wrong.

On a few real panels the labels are far below the majority vote, or hardly better than a coin. Such disasters are few,
so what tells them is kept simple: three signs, each ranked among 75 real panels, and the sum of the ranks. No weights
are learnt, for weights that are learnt fall apart when a family of panels is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ENOUGH_LABELS = 10  # known labels that answer the question

# Deciles (0, 10, ..., 100 %) of the signs on the 75 panels of two classes that are named in
# diagnosis/reference_class.json; made by research/reference_class/risk.py.
_ITEMS_PER_VOTER = (0.2475, 3.001, 5.058, 10.1, 19.36, 55.56, 84.0, 179.5, 898.5, 4665.0, 5453.0)
_OWN_EXPECTATION = (0.5041, 0.8847, 0.8992, 0.925, 0.9381, 0.9535, 0.965, 0.9747, 0.9856, 0.9989, 1.0)
_CHANGED = (0.0, 0.0, 0.0, 0.0, 0.0, 0.005377, 0.02079, 0.06617, 0.132, 0.2937, 0.5611)
# Sum of the three ranks up to which a panel is at risk: 3 of the 4 disasters of the 75 and a quarter of the others.
_AT_RISK = 1.1


@dataclass(frozen=True)
class Risk:
    """What goes before a disaster, known without labels.

    Attributes
    ----------
    n_items, n_voters : int
        Items, and voters that say something.
    own : float
        Balanced accuracy that the model itself expects of its labels.
    changed : float
        Share of the labels that a model without groups, or the nearest other grouping, would change: the larger one.
    """

    n_items: int
    n_voters: int
    own: float
    changed: float

    @property
    def rank(self) -> float:
        """Sum of the ranks of the three signs among real panels, each from 0 (worst) to 1."""
        return (
            _rank(self.n_items / self.n_voters, _ITEMS_PER_VOTER)
            + _rank(self.own, _OWN_EXPECTATION)
            + 1
            - _rank(self.changed, _CHANGED)
        )

    @property
    def high(self) -> bool:
        """Whether panels like this one went wrong more often than others."""
        return self.n_items < self.n_voters or self.rank <= _AT_RISK

    @property
    def sentence(self) -> str:
        """What to do about it, and why."""
        if self.n_items < self.n_voters:
            why = f"{self.n_items:,} items for {self.n_voters} voters"
        else:
            per_voter = f"{self.n_items / self.n_voters:.0f} items per voter"
            why = f"{per_voter}, {100 * self.changed:.0f} % of the labels depend on the grouping"
        return (
            f"Label {ENOUGH_LABELS} items before you use these labels ({why}): on real panels like this they failed "
            "more often."
        )


def _rank(value: float, deciles: tuple[float, ...]) -> float:
    """Return the share of the panels whose sign is smaller; those equal count half."""
    below, upto = np.searchsorted(deciles, value, "left"), np.searchsorted(deciles, value, "right")
    if upto > below:  # on a decile, or on several that are equal
        return float((below + upto - 1) / 2 / (len(deciles) - 1))
    return float(np.interp(value, deciles, np.linspace(0, 1, len(deciles))))


def expected_accuracy(
    labels: NDArray[np.integer], posterior: NDArray[np.float64], counts: NDArray[np.integer]
) -> float:
    """Return the balanced accuracy of labels if the posterior is right."""
    items = counts[:, None] * posterior
    right = np.array([items[labels == label, label].sum() for label in range(posterior.shape[1])])
    return float((right / np.maximum(items.sum(axis=0), 1e-300)).mean())
