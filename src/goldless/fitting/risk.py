"""What goes before a disaster: signs, known without labels, that labels may be badly wrong.

On some real panels the labels are below 60 %, or four points and more below the majority vote. What tells such
panels is kept simple: three signs, each ranked among 75 real panels, and the sum of the ranks. No weights are learnt,
for weights that are learnt fall apart when a family of panels is left out. Where many items say that the model
holds, its own expectation is believed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ENOUGH_LABELS = 10  # known labels that answer the question

# Deciles (0, 10, ..., 100 %) of the signs on the 75 panels of two classes that are named in
# diagnosis/reference_class.json; made by research/reference_class/risk.py.
_ITEMS_PER_VOTER = (0.2475, 3.001, 5.058, 10.1, 19.36, 55.56, 84.0, 179.5, 898.5, 4665.0, 5453.0)
_OWN_EXPECTATION = (0.5041, 0.8847, 0.8992, 0.925, 0.9381, 0.9579, 0.965, 0.9747, 0.9856, 0.9989, 1.0)
_CHANGED = (0.0, 0.002817, 0.01474, 0.03476, 0.04893, 0.07, 0.1106, 0.1356, 0.1806, 0.3076, 0.5611)
_AT_RISK = 1.2  # sum of the three ranks up to which a panel is at risk: a third of the 75
_MANY_ITEMS, _HOLDS = 50.0, 1.1  # items per voter that test a model, and the over-dispersion up to which it holds
_FAILED_OF_SUCH, _FAILED_OF_OTHERS = (3, 26), (1, 49)  # of the 75: disasters among those at risk, and among others


@dataclass(frozen=True)
class Risk:
    """What goes before a disaster, known without labels."""

    # n_items, n_voters: items, and voters that say something
    n_items: int
    n_voters: int
    own: float  # balanced accuracy that the model itself expects of its labels
    # share of the labels that are others by the majority vote, by a model without groups or by the nearest other
    # grouping: the largest of the three
    changed: float
    misfit: float = np.inf  # over-dispersion of the covariance of the votes: 1 where the model holds

    @property
    def ranks(self) -> tuple[float, float, float]:
        """Ranks of items per voter, own expectation and changed labels among real panels, from 0 (worst) to 1."""
        return (
            _rank(self.n_items / self.n_voters, _ITEMS_PER_VOTER),
            _rank(self.own, _OWN_EXPECTATION),
            1 - _rank(self.changed, _CHANGED),
        )

    @property
    def rank(self) -> float:
        """Sum of the ranks."""
        return sum(self.ranks)

    @property
    def high(self) -> bool:
        """Whether panels like this one went wrong more often than others."""
        if self.n_items >= _MANY_ITEMS * self.n_voters and self.misfit < _HOLDS:
            return False
        return self.n_items < self.n_voters or self.rank <= _AT_RISK

    @property
    def sentence(self) -> str:
        """What to do first, why, and how often such panels went wrong."""
        signs = [
            f"{self.n_items:,} items for {self.n_voters} voters",
            f"the model itself expects no more than {100 * self.own:.0f} %",
            f"{100 * self.changed:.0f} % of the labels change with the method",
        ]
        telling = [sign for sign, rank in zip(signs, self.ranks, strict=True) if rank < 0.5] or signs[:1]
        (failed, such), (failed_of_others, others) = _FAILED_OF_SUCH, _FAILED_OF_OTHERS
        return (
            f"Label at least {ENOUGH_LABELS} items before you use these labels ({'; '.join(telling)}): on {failed} "
            f"of {such} real panels like this they were far below the majority vote or near chance, on "
            f"{failed_of_others} of {others} others."
        )


def _rank(value: float, deciles: tuple[float, ...]) -> float:
    """Return the share of the panels whose sign is smaller; those equal count half."""
    below, upto = np.searchsorted(deciles, value, "left"), np.searchsorted(deciles, value, "right")
    if upto > below:  # on a decile, or on several that are equal
        return float((below + upto - 1) / 2 / (len(deciles) - 1))
    return float(np.interp(value, deciles, np.linspace(0, 1, len(deciles))))


def label_shares(labels: NDArray[np.integer], n_classes: int) -> NDArray[np.float64]:
    """Return labels as shares of the classes, a row for each: all on the label, even for -1."""
    shares = np.vstack([np.eye(n_classes), np.full(n_classes, 1 / n_classes)])
    return shares[labels]


def expected_balanced_accuracy(
    labels: NDArray[np.integer], posterior: NDArray[np.float64], counts: NDArray[np.integer]
) -> float:
    """Return the balanced accuracy of labels if the posterior of the fitted model is right.

    ``labels`` (n_patterns,): codes of the labels, -1 where a die is thrown; ``posterior`` (n_patterns, n_classes):
    Pr(Y | votes); ``counts`` (n_patterns,): items with each pattern.
    """
    items = counts[:, None] * posterior
    right = (label_shares(labels, posterior.shape[1]) * items).sum(axis=0)
    return float((right / np.maximum(items.sum(axis=0), 1e-300)).mean())
