"""What was known besides the votes: labels of a few items, the class balance, rates of voters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.settling import CERTAIN, with_label_voter
from goldless.maths.em import KnownRates, RatePrior
from goldless.maths.tree import LatentModel


@dataclass(frozen=True, eq=False)
class KnownFacts:
    """The facts of a fit, on the patterns and the voters of a diagnosis.

    Attributes
    ----------
    labels : ndarray of shape (n_patterns,)
        Codes of known labels, -1 where none is known.
    class_balance : float or None
        Known Pr(Y = positive).
    sensitivity, specificity : ndarray of shape (n_core,)
        Known rates of the core voters, NaN where unknown.
    """

    labels: NDArray[np.int8]
    class_balance: float | None
    sensitivity: NDArray[np.float64]
    specificity: NDArray[np.float64]

    @classmethod
    def of(cls, model: Any, labels: NDArray[np.int8], voters: NDArray[np.int64]) -> KnownFacts:
        """Take the facts of a fitted model; a copy speaks for its original."""
        rates = np.full((2, len(model.latent_model_.groups)), np.nan)
        _, balance, *given = getattr(model, "_known_", (None, None, *rates))
        for column in np.flatnonzero(~np.isnan(given[0])):
            rates[:, model.latent_model_.copy_of[column]] = given[0][column], given[1][column]
        return cls(labels, balance, *rates[:, voters])

    @property
    def any_label(self) -> bool:
        """Whether the label of any item is known."""
        return bool((self.labels >= 0).any())

    @property
    def any(self) -> bool:
        """Whether anything is known."""
        return self.any_label or self.class_balance is not None or not np.isnan(self.sensitivity).all()

    def prior(self, prior: RatePrior) -> KnownRates:
        """Return the prior of EM on the core voters and one more that speaks the known labels."""
        sensitivity, specificity = (np.append(rates, CERTAIN) for rates in (self.sensitivity, self.specificity))
        return KnownRates(prior, sensitivity, specificity, self.class_balance)

    def with_labels(self, codes: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the votes of the core voters with the known labels as one more column, if there are any."""
        return np.column_stack([codes, self.labels]) if self.any_label else codes

    def spoken_for(self, model: LatentModel) -> LatentModel:
        """Return the model of the core voters with one more that speaks the known labels, if there are any."""
        return with_label_voter(model) if self.any_label else model

    def fixed(self, n_parameters: int) -> NDArray[np.bool_]:
        """Return which parameters of :class:`~goldless.diagnosis.information.PatternScores` are known."""
        rates = np.concatenate([~np.isnan(self.sensitivity), np.ones(int(self.any_label), dtype=bool)])
        fixed = np.zeros(n_parameters, dtype=bool)
        fixed[: 2 * len(rates)] = np.tile(rates, 2)
        fixed[-1] = self.class_balance is not None
        return fixed


def row_labels(model: Any, n_items: int) -> NDArray[np.int8]:
    """Return the code of the label of each row that was known to a fit, -1 where none was."""
    labels = np.full(n_items, -1, dtype=np.int8)
    rows, known = getattr(model, "anchored_rows_", np.array([])), getattr(model, "_known_", None)
    if known is not None and len(rows) and rows[-1] < n_items:
        labels[rows] = known[0]
    return labels
