"""What was known besides the votes: labels of a few items, the class shares, confusions of voters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from goldless.diagnosis.information import PatternScores
from goldless.fitting.facts import Facts, certain_votes
from goldless.fitting.fitted import Fitted
from goldless.fitting.known_labels import with_label_voter
from goldless.maths.em import Dirichlet
from goldless.maths.tree import TreeModel


@dataclass(frozen=True, eq=False)
class KnownFacts:
    """The facts of a fit, on the patterns and the voters of a diagnosis."""

    labels: NDArray[np.int8]  # (n_patterns,): codes of known labels, -1 where none is known
    class_prior: NDArray[np.float64] | None  # (n_classes,): known Pr(Y)
    # (n_core, n_classes, n_classes): known Pr(vote | Y) of the core voters, NaN where unknown
    confusion: NDArray[np.float64]

    @classmethod
    def of(cls, fitted: Fitted, labels: NDArray[np.int8], voters: NDArray[np.int64]) -> KnownFacts:
        """Take the facts of a fit; a copy speaks for its original."""
        confusion = np.full((fitted.n_voters, fitted.n_classes, fitted.n_classes), np.nan)
        if fitted.facts is None:
            return cls(labels, None, confusion[voters])
        for column in np.flatnonzero(~np.isnan(fitted.facts.confusion[:, 0, 0])):
            confusion[fitted.model.copy_of[column]] = fitted.facts.confusion[column]
        return cls(labels, fitted.facts.class_prior, confusion[voters])

    @property
    def any_label(self) -> bool:
        """Whether the label of any item is known."""
        return bool((self.labels >= 0).any())

    @property
    def voters(self) -> NDArray[np.bool_]:
        """Which core voters have known confusions."""
        return ~np.isnan(self.confusion[:, 0, 0])

    @property
    def any(self) -> bool:
        """Whether anything is known."""
        return self.any_label or self.class_prior is not None or bool(self.voters.any())

    def prior(self, prior: Dirichlet, model: TreeModel) -> Dirichlet:
        """Return the prior of EM on a model of the core voters and one more that speaks the known labels."""
        votes = np.concatenate([self.confusion, certain_votes(model.n_classes)[None]])
        return replace(prior.for_groups(model.groups), known_votes=votes, known_prior=self.class_prior)

    def with_labels(self, codes: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the votes of the core voters with the known labels as one more column, if there are any."""
        return np.column_stack([codes, self.labels]) if self.any_label else codes

    def spoken_for(self, model: TreeModel) -> TreeModel:
        """Return the model of the core voters with one more that speaks the known labels, if there are any."""
        return with_label_voter(model) if self.any_label else model

    def fixed(self, scores: PatternScores) -> NDArray[np.bool_]:
        """Return which parameters are known."""
        known = np.concatenate([self.voters, np.ones(int(self.any_label), dtype=bool)])
        fixed = np.zeros(scores.n_parameters, dtype=bool)
        fixed[scores.columns_of_votes[known].ravel()] = True
        fixed[scores.columns_of_prior] = self.class_prior is not None
        return fixed


def row_labels(facts: Facts | None, n_items: int) -> NDArray[np.int8]:
    """Return the code of the label of each row that was known to a fit, -1 where none was."""
    labels = np.full(n_items, -1, dtype=np.int8)
    if facts is not None and len(facts.rows) and facts.rows[-1] < n_items:
        labels[facts.rows] = facts.labels
    return labels
