"""Votes that come in parts: their patterns add, so the fit of all of them is exact. Methods of the estimators."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.fitting.core import as_counts
from goldless.io.encode import encode_by, encode_by_bins, encode_votes, labels_in, policy
from goldless.io.open import as_stream
from goldless.kernels.sparse import Codes, SparseCodes
from goldless.votes.alphabet import UNKNOWN, Alphabet, LabelRules
from goldless.votes.kinds import NumberRules
from goldless.votes.rows import PatternTable, joined
from goldless.votes.sparse import SparseRows, joined_sparse
from goldless.votes.votes import Votes


def partial_fit(
    self: Any, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, classes: ArrayLike | None = None
) -> Any:
    """Add votes to those of earlier calls and fit again: exactly the fit of all of them together.

    What is kept between calls, and saved with the model, is the table of distinct patterns, so the cost of a call
    follows their number and not the number of items so far. ``y`` is ignored; a call of ``fit`` starts afresh. Labels
    that no earlier vote had become new classes.

    Parameters
    ----------
    X : array-like or frame of shape (n_items, n_voters)
        More votes.
    y : ignored
    sample_weight : array-like of int of shape (n_items,), optional
        How many items each row stands for.
    classes : array-like, optional
        Labels that there may be, of two (negative, positive), if the first votes do not show them all.
    """
    if as_stream(X) is not None:
        raise TypeError(f"partial_fit adds votes in memory, an array or a frame; pass a {type(X).__name__} to fit.")
    known = _votes_so_far(self)
    if classes is None and known is not None and known[0].bins is None:
        classes = _union(self, known[0].classes, labels_in(X))
    if classes is None:
        classes = self.classes
    votes = _encode_part(self, X, None if known is None else known[0], classes, sample_weight)
    if known is not None and votes.n_voters != known[0].n_voters:
        raise ValueError(
            f"X has {votes.n_voters} features, but {type(self).__name__} is expecting {known[0].n_voters} features "
            "as input: one column for each voter of the earlier votes."
        )
    weights = as_counts(sample_weight, votes.n_items)
    more = (votes, np.ones(votes.n_items, dtype=np.int64) if weights is None else weights)
    return _fit_parts(self, [more] if known is None else [known, more])


def merge(self: Any, other: Any) -> Any:
    """Return a new estimator fitted on the votes of two that were fitted by :meth:`partial_fit`.

    Parameters
    ----------
    other : estimator of the same kind
        With the same voters.
    """
    parts = [_votes_so_far(estimator) for estimator in (self, other)]
    if parts[0] is None or parts[1] is None:
        raise ValueError("merge needs two estimators fitted by partial_fit, which keeps the patterns of the votes.")
    if parts[0][0].n_voters != parts[1][0].n_voters:
        raise ValueError(f"cannot merge: {parts[0][0].n_voters} voters and {parts[1][0].n_voters} voters.")
    return _fit_parts(copy(self), [part for part in parts if part is not None])


Part = tuple[Votes, NDArray[np.int64]]  # votes, and how many items each row stands for


def _votes_so_far(estimator: Any) -> Part | None:
    """Return the votes that an estimator has seen in parts, None if there are none."""
    fitted = vars(estimator).get("fitted_")
    if fitted is None or fitted.patterns is None:
        return None
    return Votes(fitted.patterns.codes, fitted.classes, fitted.voters, bins=fitted.bins), fitted.patterns.counts


def _encode_part(
    estimator: Any, X: Any, known: Votes | None, classes: ArrayLike | None, sample_weight: ArrayLike | None
) -> Votes:
    """Encode a part of the votes: numbers by the bins of the first part, labels in all classes so far."""
    if known is not None and known.bins is not None:
        rules = LabelRules.of(known.classes, estimator.missing)
        return encode_by_bins(X, rules, known.classes, known.bins)
    numbers = NumberRules.of(estimator.kind, estimator.lower_is_positive, estimator.positive_from)
    if known is not None:
        numbers = NumberRules("labels")
    rules = LabelRules.of(classes, estimator.missing, estimator.positive, policy("error"), numbers)
    return encode_by(X, rules, lambda n_items: as_counts(sample_weight, n_items))


def _union(estimator: Any, known: NDArray, more: Iterable) -> NDArray:
    """Return the classes that are known, in their order, or with new ones all of them sorted."""
    alphabet = Alphabet(known, LabelRules.of(estimator.classes, estimator.missing, estimator.positive))
    fresh = [label for label in more if alphabet.code(label) == UNKNOWN]
    return alphabet.grown(fresh).values if fresh and alphabet.grows else known


def _fit_parts(estimator: Any, parts: list[Part]) -> Any:
    """Fit votes in parts as one, and keep their patterns."""
    names = [votes.voters for votes, _ in parts if votes.voters is not None]
    if len(names) == 2 and list(names[0]) != list(names[1]):
        raise ValueError("The feature names should match those of the earlier votes, in the same order.")
    voters = names[0] if names else None
    bins, classes = parts[0][0].bins, parts[0][0].classes
    if bins is not None:
        if any(votes.bins is not bins for votes, _ in parts[1:]):
            raise ValueError("cannot merge: their numbers were cut into different bins; add votes by partial_fit.")
        coded = [votes.codes for votes, _ in parts]
    else:
        for votes, _ in parts[1:]:
            classes = _union(estimator, classes, votes.classes)
        coded = [encode_votes(votes, classes=classes).codes for votes, _ in parts]
    n_symbols = len(classes) if bins is None else bins.n_symbols
    total = _added_up(coded, n_symbols, [counts for _, counts in parts])
    merged = Votes(total.codes, classes, voters, bins=bins)
    estimator.fit(merged, sample_weight=total.counts)
    estimator.fitted_ = replace(estimator.fitted_, patterns=total)
    return estimator


def _added_up(coded: list[Codes], n_symbols: int, counts: list[NDArray[np.int64]]) -> PatternTable | SparseRows:
    """Return the distinct rows of all parts, or the rows themselves where most votes are missing."""
    if any(isinstance(codes, SparseCodes) for codes in coded):
        lists = [codes if isinstance(codes, SparseCodes) else SparseCodes.of(codes) for codes in coded]
        return joined_sparse([SparseRows(codes, n_symbols, of) for codes, of in zip(lists, counts, strict=True)])
    dense = [codes for codes in coded if not isinstance(codes, SparseCodes)]
    return joined([PatternTable.of(codes, n_symbols, of) for codes, of in zip(dense, counts, strict=True)]).distinct()
