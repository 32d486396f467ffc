"""Estimators that take votes part by part: the patterns of the parts add, so the result is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.estimators.base import VoteEstimator
from goldless.fitting.core import as_counts
from goldless.votes.engine import EncodedSource
from goldless.votes.patterns import PatternTable, join_bits
from goldless.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class Patterns:
    """Patterns of all votes so far, and what they are called. They add."""

    table: PatternTable
    classes: NDArray
    voters: NDArray | None

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.table.n_voters

    def __add__(self, other: Patterns) -> Patterns:
        if list(self.classes) != list(other.classes):
            raise ValueError(f"The classes are {list(self.classes)} and {list(other.classes)}: votes do not add.")
        if self.n_voters != other.n_voters:
            raise ValueError(f"Votes of {self.n_voters} and of {other.n_voters} voters do not add.")
        if self.voters is not None and other.voters is not None and list(self.voters) != list(other.voters):
            raise ValueError("The feature names should match those of the earlier votes, in the same order.")
        bits = join_bits([self.table.packed, other.table.packed], self.n_voters)
        counts = np.concatenate([self.table.counts, other.table.counts])
        return Patterns(PatternTable.of_bits(bits, self.n_voters, counts), self.classes, self.voters)


class InParts(VoteEstimator):
    """An estimator that can be fitted on parts of the votes, and merged with another."""

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, classes: ArrayLike | None = None
    ) -> Any:
        """Add votes to those of earlier calls and fit again: exactly the fit of all of them together.

        What is kept between calls is the table of distinct patterns, so the cost of a call follows their number
        and not the number of items so far. ``y`` is ignored; a call of ``fit`` starts afresh.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_voters)
            More votes.
        y : ignored
        sample_weight : array-like of int of shape (n_items,), optional
            How many items each row stands for.
        classes : array-like of shape (2,), optional
            Labels, (negative, positive), if the first votes do not show both.
        """
        known = getattr(self, "_patterns", None)
        if known is not None and classes is None:
            classes = known.classes
        votes = self._encode(X, classes)
        if isinstance(votes, EncodedSource):
            raise TypeError(
                f"partial_fit adds votes in memory, an array or a frame; pass a {type(X).__name__} to fit."
            )
        if known is not None and votes.n_voters != known.n_voters:
            raise ValueError(
                f"X has {votes.n_voters} features, but {type(self).__name__} is expecting {known.n_voters} features "
                "as input: one column for each voter of the earlier votes."
            )
        if known is not None and votes.voters is None:
            votes = Votes(votes.codes, votes.classes, known.voters)
        table = PatternTable.of(votes.codes, as_counts(sample_weight, votes.n_items))
        return self._fit_patterns(Patterns(table, votes.classes, votes.voters), known)

    def merge(self, other: Any) -> Any:
        """Return a new estimator fitted on the votes of two that were fitted by :meth:`partial_fit`.

        Parameters
        ----------
        other : estimator of the same kind
            With the same voters and classes.
        """
        mine, theirs = (getattr(estimator, "_patterns", None) for estimator in (self, other))
        if mine is None or theirs is None:
            raise ValueError(
                "merge needs two estimators fitted by partial_fit, which keeps the patterns of the votes."
            )
        return type(self)(**self.get_params())._fit_patterns(theirs, mine)

    def _fit_patterns(self, more: Patterns, known: Patterns | None) -> Any:
        total = more if known is None else known + more
        self.fit(Votes(total.table.codes, total.classes, total.voters), sample_weight=total.table.counts)
        self._patterns = total
        return self
