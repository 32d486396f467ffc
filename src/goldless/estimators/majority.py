"""Majority vote, the baseline every other method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.estimators import incremental
from goldless.estimators.base import VoteEstimator
from goldless.fitting.majority import fit_majority
from goldless.fitting.numbers import consensus_of
from goldless.kernels.sparse import codes_of_voters, tally
from goldless.maths.rates import log_rates

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(eq=False, repr=False, kw_only=True)
class MajorityVote(VoteEstimator):
    """Label every item by the class with most of its votes, or by the mean rank of its numbers.

    Parameters
    ----------
    decision : {"most", "mean"}, default="most"
        "most" takes the class with most votes. "mean", for two classes, cuts the mean vote where as many items are
        positive as ``sigmoid(3.75 * mean vote)`` says in the mean: better where most voters lean to one class.
    missing : label, optional
        A label that means "no vote"; NaN and None always do.
    positive : label, optional
        Of two labels the one to call positive; by default the second in sorted order. Of words beside numbers, too.
    classes : array-like of label, optional
        Labels there may be, in order; by default those that occur, sorted. Of numbers the names of the two classes,
        (negative, positive), by default 0 and 1; with ``kind="ordinal"`` words are grades in this order.
    kind : {"auto", "labels", "ordinal", "probabilities", "scores"} or mapping of voter to these, default="auto"
        What votes are: names of classes, or grades, probabilities or scores of a positive class (see "Votes that are
        numbers" in the documentation). "auto" looks at them.
    lower_is_positive : bool or list of voters, optional
        Voters, by name or column number, that mean positive by low numbers; True for all.
    positive_from : float, optional
        The smallest number that means positive: the user's own cut.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels; of two, (negative, positive).
    class_balance_ : float or ndarray of shape (n_classes,)
        Share of items labelled positive, or of more than two classes of each; a tie counts for all, in equal parts.
    counted_ : ndarray of shape (n_voters,)
        Which voters are counted: those that use more than one class, or abstain.
    confusion_ : ndarray of shape (n_voters, n_classes, n_classes)
        Votes of each voter given the majority, which is not the truth.
    recall_, balanced_accuracy_ : ndarray
        Agreement of each voter with the majority, by class and in the mean; of two classes also ``sensitivity_`` and
        ``specificity_``.

    Notes
    -----
    ``decision_function`` is the logarithm of the votes for each class with one vote added to each, so that unanimous
    items stay finite; of two classes the log-odds, or with ``decision="mean"`` the mean vote (-1 to 1) less the cut.
    A tie goes to the class that has more votes at fit. A voter that always says the same thing tells items apart as
    little as one that never votes, and is not counted.

    Of votes that are numbers ``predict_proba`` is the mean of the voters' midranks, the share of its own answers that
    a voter puts below this one: the consensus score, and the best order of the items known without labels. From one
    half on an item is labelled positive, or from the user's cut (``positive_from``).

    Examples
    --------
    >>> from goldless import MajorityVote
    >>> X = [["spam", "ham", "spam"], ["ham", "ham", "spam"], ["ham", "spam", "ham"]]
    >>> MajorityVote().fit_predict(X)
    array(['spam', 'ham', 'ham'], dtype='<U4')
    """

    decision: str | None = "most"

    _min_voters = 1
    _is_model = False
    _decisions = ("most", "mean")

    partial_fit = incremental.partial_fit
    merge = incremental.merge

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Count votes. ``y`` is ignored."""
        votes = self._read_for_fit(X, sample_weight)
        if self.decision == "mean" and votes.n_classes > 2:
            raise ValueError(f"decision='mean' is for two classes, and the votes have {votes.n_classes}.")
        return self._store(fit_majority(votes))

    @property
    def counted_(self) -> NDArray[np.bool_]:
        """Which voters are counted."""
        return self._of_fit("counted_").informative

    def _evidence(self, codes: NDArray[np.int8]) -> NDArray:
        """Return the number of votes for each class; of numbers the consensus."""
        if self.fitted_.bins is not None:
            consensus = consensus_of(self.fitted_, codes)
            return np.stack([1 - consensus, consensus], axis=1)
        return tally(codes_of_voters(codes, np.flatnonzero(self.fitted_.informative)), self.fitted_.n_classes)

    def _deciding(self, codes: NDArray[np.int8], evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.fitted_.bins is not None:
            return log_rates(evidence)
        log_votes = np.log(evidence + 1)
        if self.decision == "most" or self.fitted_.cut is None:
            return log_votes
        return self.fitted_.cut.log_odds(self.fitted_, codes, log_votes)

    def _printed(self, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.fitted_.bins is not None:
            return evidence
        total = evidence.sum(axis=1, keepdims=True)
        return np.where(total > 0, evidence / np.maximum(total, 1), 1 / evidence.shape[1])

    def predict_proba(self, X: Any, *, unknown: str = "error") -> NDArray[np.float64]:  # type: ignore[override]
        """Return the share of votes for each class; equal shares for an item nobody voted on.

        Of numbers it is the consensus, the mean of midranks: an order of the items, and no probability of the truth.
        """
        return super().predict_proba(X, unknown=unknown)
