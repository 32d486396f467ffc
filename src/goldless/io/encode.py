"""Votes of any type to codes, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.errors import VotesError, warn_user
from goldless.io.arrays import LabelTable, table_of
from goldless.io.files import as_votes
from goldless.io.numbers import (
    Counts,
    encode_in_bins,
    encode_numbers,
    kinds_in,
    with_words_in,
)
from goldless.io.readers.columns import Column, as_grades
from goldless.kernels.sparse import first_vote, recoded
from goldless.plain import is_number
from goldless.votes.alphabet import (
    MAX_CLASSES,
    MISSING,
    TOO_EARLY,
    UNKNOWN,
    Alphabet,
    LabelRules,
    NewLabels,
    listed,
    short_repr,
)
from goldless.votes.bins import Bins, NumberAlphabet
from goldless.votes.kinds import NumberRules
from goldless.votes.votes import Votes


def encode_votes(
    X: Any,
    *,
    classes: ArrayLike | None = None,
    missing: Any = None,
    positive: Any = None,
    unknown: str = "error",
    kind: Any = "auto",
    lower_is_positive: Any = None,
    positive_from: float | None = None,
) -> Votes:
    """Encode votes.

    Parameters
    ----------
    X : array-like or frame of shape (n_items, n_voters)
        Two to a hundred distinct labels of any type, or numbers; NaN, None and NA are missing votes. Frames are
        anything that speaks the Arrow C stream interface. What :func:`~goldless.read_votes` takes besides, such as
        long frames, sparse matrices (0 is no vote) and records, is read by it. Encoded votes pass through.
    classes : array-like of shape (n_classes,), optional
        Labels there may be, in order, of two (negative, positive); by default those that occur, sorted.
    missing : label, optional
        A label that means "no vote", such as 0 or -1.
    positive : label, optional
        Of two labels the one to call positive; by default the second in sorted order.
    unknown : {"error", "missing"}, default="error"
        What a label besides ``classes`` is: an error, or no vote.
    kind : {"auto", "labels", "ordinal", "probabilities", "scores"} or mapping of voter to these, default="auto"
        What the votes are; see :class:`~goldless.LatentSML`.
    lower_is_positive : bool or list of voters, optional
        Voters that mean positive by low numbers.
    positive_from : float, optional
        The smallest number that is positive.

    Raises
    ------
    VotesError
        In one line: what was seen, where, and what to do.

    Examples
    --------
    >>> votes = encode_votes([["yes", "no", None], ["no", "no", "yes"]])
    >>> votes.classes
    array(['no', 'yes'], dtype='<U3')
    >>> votes.codes
    array([[ 1,  0, -1],
           [ 0,  0,  1]], dtype=int8)
    >>> encode_votes([["a", "c", "b"]], classes=["c", "b", "a"]).codes
    array([[2, 0, 1]], dtype=int8)
    """
    numbers = NumberRules.of(kind, lower_is_positive, positive_from)
    return encode_by(X, LabelRules.of(classes, missing, positive, policy(unknown), numbers))


def policy(unknown: str) -> str:
    """Check what an unknown label is to be, and return it as :class:`LabelRules` says it."""
    if unknown not in ("error", "missing"):
        raise ValueError(f"unknown must be 'error' or 'missing', got {unknown!r}")
    return "unseen" if unknown == "error" else unknown


def encode_by(X: Any, rules: LabelRules, counts: Counts = lambda n_items: None) -> Votes:
    """Encode votes in memory by what the user says about them.

    ``counts`` returns how many items each of so many rows stands for: bins are cut by items.
    """
    X = as_votes(X, rules)
    if isinstance(X, Votes) and X.bins is not None:
        return X
    if isinstance(X, Votes):
        kept = X.classes if rules.classes is None else rules.classes  # encoded once: their classes keep their order
        return _reencode(X, replace(rules, classes=kept, missing=()).alphabet(()))
    table = table_of(X)
    try:
        rules = with_words_in(table, rules)
        kinds = kinds_in(table, rules)
        if kinds is not None:
            return encode_numbers(table, rules, kinds, counts)
        labels = table.labels if rules.classes is None else ()
        if rules.numbers.kind == "auto":
            _warn_of_grades_as_text(labels, rules)
        return table.encoded(rules.alphabet(labels, place=table.first_place))
    except TypeError:
        table.refuse_unhashable()
        raise


def _warn_of_grades_as_text(labels: Iterable, rules: LabelRules) -> None:
    """Say that text which begins with numbers is taken for names of classes."""
    draft = rules.alphabet_draft(text=True)
    found = [label for label in labels if not draft.means_missing(label)]
    if not 3 < len(found) <= MAX_CLASSES or not all(isinstance(label, str) for label in found):
        return
    if all(map(is_number, found)) or as_grades([Column("votes", np.empty(0, np.int32), found)]) is not None:
        first = min(found)
        warn_user(
            f"Text such as {short_repr(first)} was read as names of {len(found)} classes; if it means grades, pass "
            "them as numbers, or read the votes by gl.read_votes."
        )


def encode_in(X: Any, alphabet: Alphabet) -> Votes:
    """Encode a block of votes in an alphabet that is known."""
    if isinstance(alphabet, NumberAlphabet):
        return encode_by_bins(X, alphabet.rules, alphabet.values, alphabet.bins)
    return _reencode(X, alphabet) if isinstance(X, Votes) else table_of(X).encoded(alphabet)


def encode_by_bins(X: Any, rules: LabelRules, classes: NDArray, bins: Bins) -> Votes:
    """Encode votes by the bins of a fit."""
    X = as_votes(X, rules)
    if not isinstance(X, Votes):
        return encode_in_bins(table_of(X), rules, classes, bins)
    if X.bins is bins:
        return X
    if X.answers is None:
        raise ValueError("the model was fitted to numbers, and these votes are codes of something else")
    if X.n_voters != bins.n_voters:  # which the caller refuses
        return X
    return replace(X, codes=bins.codes(X.answers), classes=classes, bins=bins)


def labels_in(X: Any) -> Iterable:
    """Return the distinct labels of votes, missing ones perhaps among them."""
    return X.classes if isinstance(X, Votes) else table_of(X).labels


def alphabet_of_blocks(blocks: Iterable[Any], rules: LabelRules) -> Alphabet:
    """Return the alphabet of the first of many blocks of votes that hold two labels between them."""
    if rules.classes is not None:
        return rules.alphabet(())
    labels: dict[Any, None] = {}
    for block in blocks:
        labels.update(dict.fromkeys(labels_in(block)))
        try:
            return rules.alphabet(labels)
        except VotesError as error:
            if error.kind not in TOO_EARLY:
                raise
    return rules.alphabet(labels)


def columns_of(X: Any) -> tuple[NDArray | None, int]:
    """Return the names and the number of the voters of a block."""
    if isinstance(X, Votes):
        return X.voters, X.n_voters
    table = table_of(X)
    return table.voters, table.shape[1]


def in_order_of(voters: NDArray | None, n_voters: int, X: Any) -> Votes | LabelTable:
    """Return a block with its columns in the order of these voters; all of them must be there, and no others."""
    block = X if isinstance(X, Votes) else table_of(X)
    found, n_found = columns_of(block)
    wanted, names = ([], []) if voters is None or found is None else (list(voters), list(found))
    if names == wanted and n_found == n_voters:
        return block
    strange = [str(name) for name in names if name not in wanted]
    lacking = [str(name) for name in wanted if name not in names]
    wrong = [] if n_found == n_voters else [f"{n_found} columns where the first has {n_voters}"]
    if strange:
        wrong.append(f"a column {strange[0]!r} where the first has another")
    elif lacking:
        wrong.append(f"no column {lacking[0]!r}")
    if wrong:
        raise VotesError("columns", ", ".join(wrong), where={"column": (*strange, *lacking, None)[0]})
    return block.of_voters([names.index(name) for name in wanted])


def _reencode(votes: Votes, alphabet: Alphabet) -> Votes:
    """Return encoded votes in another alphabet."""
    if list(votes.classes) == list(alphabet.values):
        return votes
    code_of = Alphabet(votes.classes).codes_in(alphabet)
    codes = votes.codes
    strange = [code for code in np.flatnonzero(code_of == UNKNOWN) if first_vote(codes, int(code)) is not None]
    if strange and alphabet.grows:
        raise NewLabels(votes.classes[strange])
    if strange:
        row, column = first_vote(codes, int(strange[0])) or (0, 0)
        place = f"row {row}, {votes.voter_name(column)}"
        raise alphabet.unknown(votes.classes[strange[0]], place, row=row, column=column)
    code_of[code_of == UNKNOWN] = MISSING
    return replace(votes, codes=recoded(codes, code_of), classes=alphabet.values)


def encode_truth(y: ArrayLike, votes: Votes) -> NDArray[np.int8]:
    """Encode true labels of the items in the classes of their votes; none may be missing."""
    truth = np.asarray(y)
    if truth.shape != (votes.n_items,):
        raise ValueError(f"y must be one label for each of {votes.n_items} items, got shape {truth.shape}.")
    codes = Alphabet(votes.classes).codes(truth)
    if codes.min() < 0:
        row = int(np.flatnonzero(codes < 0)[0])
        raise VotesError(
            "unknown-label",
            f"y holds {short_repr(truth[row])} in row {row}: every item needs one of the labels of the votes, "
            f"{listed(votes.classes)}",
            where={"row": row, "label": truth[row]},
        )
    return codes
