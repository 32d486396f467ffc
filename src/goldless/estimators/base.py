"""What all estimators share: reading votes, saying what is odd about them, and turning log-odds into labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from goldless.errors import warn_user
from goldless.estimators.persistence import save_estimator
from goldless.fitting.core import FitVotes, as_counts, reduce_votes
from goldless.fitting.facts import NO_LABELS, KnownLabels
from goldless.fitting.labelling import Written, write_labels
from goldless.io.encode import encode_votes
from goldless.io.open import as_stream
from goldless.metrics import balanced_accuracy
from goldless.votes.counted import CountedVotes, DistinctPass, on_distinct_rows
from goldless.votes.engine import EncodedSource
from goldless.votes.votes import Votes

_TIE = 1e-9  # log-odds closer to zero than this are a tie


class VoteEstimator(BaseEstimator, ABC):
    """Base of all estimators. Think twice before adding anything to it."""

    missing: Any
    positive: Any
    classes_: NDArray
    n_features_in_: int

    _min_voters = 3  # with fewer it refuses to fit
    _voters_to_judge = 0  # with fewer it fits, and says that accuracies are a guess
    _merges_copies = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    # -- reading votes --------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters that no votes could mend."""

    def _read(self, X: Any, *, reset: bool) -> Votes:
        """Encode votes in memory; at fit learn the classes and the names, later check against them."""
        votes = self._open(X, reset=reset)
        if isinstance(votes, EncodedSource):
            raise TypeError(f"This needs votes in memory, an array or a frame, and not a {type(X).__name__}.")
        return votes

    def _open(self, X: Any, *, reset: bool) -> Votes | EncodedSource:
        """Encode votes, or find out what a stream of votes holds; at fit learn the classes and names, later check."""
        if reset:
            self._check_parameters()
            for name in [name for name in vars(self) if name.endswith("_") or name == "_patterns"]:
                delattr(self, name)  # a fit that fails leaves nothing of an earlier one
        votes = self._encode(X, None if reset else self.classes_)
        if reset:
            self._learn_columns(votes)
        else:
            self._check_columns(votes)
        return votes

    def _encode(self, X: Any, classes: ArrayLike | None) -> Votes | EncodedSource:
        """Encode votes, or find out what a stream of votes holds."""
        known: dict[str, Any] = {"classes": classes, "missing": self.missing, "positive": self.positive}
        stream = as_stream(X)
        votes = encode_votes(X, **known) if stream is None else stream.open(**known)
        if isinstance(votes, Votes) and stream is not None:
            votes = encode_votes(votes, **known)  # read into memory after all
        return votes

    def _learn_columns(self, votes: Votes | EncodedSource) -> None:
        self.classes_, self.n_features_in_ = votes.classes, votes.n_voters
        if votes.voters is not None:
            self.feature_names_in_ = votes.voters

    def _check_columns(self, votes: Votes | EncodedSource) -> None:
        """Compare names and number of the columns with those of the fit, in the words of scikit-learn."""
        name, known, given = type(self).__name__, getattr(self, "feature_names_in_", None), votes.voters
        if known is None and given is not None:
            warn_user(f"X has feature names, but {name} was fitted without feature names", UserWarning)
        elif known is not None and given is None:
            warn_user(f"X does not have valid feature names, but {name} was fitted with feature names", UserWarning)
        elif known is not None and given is not None and list(known) != list(given):
            unseen, lost = sorted(set(given) - set(known)), sorted(set(known) - set(given))
            message = "The feature names should match those that were passed during fit.\n"
            if unseen:
                message += f"Feature names unseen at fit time:\n{_bullets(unseen)}"
            if lost:
                message += f"Feature names seen at fit time, yet now missing:\n{_bullets(lost)}"
            if not unseen and not lost:
                message += "Feature names must be in the same order as they were in fit.\n"
            raise ValueError(message)
        if votes.n_voters != self.n_features_in_:
            raise ValueError(
                f"X has {votes.n_voters} features, but {name} is expecting {self.n_features_in_} features as input: "
                "one column for each voter of the fit."
            )

    def _read_for_fit(self, X: Any, sample_weight: ArrayLike | None, known: KnownLabels = NO_LABELS) -> FitVotes:
        """Encode, check, collapse and count; pick out the rows with a known label."""
        votes = self._open(X, reset=True)
        self._check_voters(votes.n_voters)
        if isinstance(votes, EncodedSource):
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight goes with votes in memory: a source says itself how often rows occur."
                )
            counted = CountedVotes.of_source(votes, known.rows)
            known.check(counted.n_rows)
            return self._reduce(counted)
        weights = as_counts(sample_weight, votes.n_items)
        known.check(votes.n_items)
        return self._reduce(CountedVotes.of_votes(votes, weights, known.rows))

    def _least_voters(self) -> int:
        """Return with how many voters this can be fitted at all."""
        return self._min_voters

    def _check_voters(self, n_voters: int) -> None:
        name, least = type(self).__name__, self._least_voters()
        if n_voters < least:
            raise ValueError(
                f"{name} needs {least} voters, got {n_voters} (n_features = {n_voters}): with fewer, "
                "accuracies cannot be told from agreement; use MajorityVote."
            )

    def _reduce(self, counted: CountedVotes) -> FitVotes:
        """Leave out what carries no information, and keep how votes were counted and which class ties go to."""
        votes = reduce_votes(counted, type(self).__name__, self._least_voters(), self._merges_copies)
        if votes.table.n_voters < self._voters_to_judge:
            few = "one voter uses" if votes.table.n_voters == 1 else f"{votes.table.n_voters} different voters use"
            warn_user(
                f"Only {few} both classes: with fewer than {self._voters_to_judge}, accuracies cannot be told from "
                "agreement and are a guess."
            )
        self._tie_code_ = int(votes.positive_is_commoner)
        self.how_counted_ = counted.how
        return votes

    # -- answers --------------------------------------------------------------------------------------------

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Learn from votes."""

    @abstractmethod
    def _log_odds(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the log-odds of the positive class for rows of codes."""

    def _label(self, codes: NDArray[np.int8]) -> NDArray:
        """Return the labels of rows of codes."""
        return self.classes_[self._decide(self._log_odds(codes))]

    def _decide(self, log_odds: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the code of the class that log-odds speak for."""
        return np.where(np.abs(log_odds) <= _TIE, self._tie_code_, (log_odds > 0).astype(np.int64))

    @abstractmethod
    def _answer(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the code of the label and the probability of the positive class, shape (n_rows, 2)."""

    def _on_patterns(self, X: Any, of_codes: Callable[[NDArray[np.int8]], NDArray]) -> NDArray:
        """Apply a function to the distinct rows only."""
        check_is_fitted(self)
        votes = self._open(X, reset=False)
        if isinstance(votes, EncodedSource):
            return np.concatenate([answer for answer, _ in votes.rows(DistinctPass(of_codes))])
        return on_distinct_rows(votes.codes, of_codes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log-odds that decide: positive values mean the second class.

        Parameters
        ----------
        X : array-like of shape (n_items, n_voters)
            Votes in the classes known from fit; items need not be those of the fit.
        """
        return self._on_patterns(X, self._log_odds)

    def predict(self, X: Any) -> NDArray:
        """Return the label of every item, in the user's own classes.

        A tie (log-odds of zero, as for an item nobody voted on) goes to the class with more votes at fit, voters
        without influence aside, and to the first class if both have as many.
        """
        return self._on_patterns(X, self._label)

    def predict_to(self, X: Any, path: Any, anchors: Any = None) -> dict[Any, int]:
        """Write the label of every item and its probability to a file, batch by batch and in the input's order.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_items, n_voters)
            Votes; best a path, blocks or a Dask collection (:class:`~goldless.VoteStream`).
        path : path
            File that ends in ``.parquet``, ``.csv`` or ``.tsv``, written whole or not at all. Its columns are the
            name of the item (the identifier column of a file, the index of a pandas frame, or the number of the row,
            from 1), the label, and the probability of the positive class.
        anchors : mapping of int to label, or array-like of shape (n_items,), optional
            Known labels of a few items, as in the fit: these items keep them.

        Returns
        -------
        dict
            How many items got each label.
        """
        return self.write_labels(X, path, anchors).by_label

    def write_labels(self, X: Any, path: Any, anchors: Any = None) -> Written:
        """Write labels as :meth:`predict_to` does; return how many there are of each, and how they agree with truth.

        The truth is that of a :class:`~goldless.VoteStream` of files with a column ``truth``; it only scores.
        """
        check_is_fitted(self)
        known = KnownLabels.read(anchors, self.missing)
        return write_labels(self._answer, self._open(X, reset=False), self.classes_, path, known)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray:
        """Fit, then label the same items."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the balanced accuracy of the labels against known ones."""
        return balanced_accuracy(y, self.predict(X))

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a JSON file; see :func:`goldless.load`."""
        check_is_fitted(self)
        save_estimator(self, path)


def _bullets(names: list[str]) -> str:
    return "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")
