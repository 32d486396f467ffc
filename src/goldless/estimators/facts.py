"""What a user knows besides the votes: a few labels, the class balance, voters to trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.votes.encoding import MISSING, Votes, encode_votes, is_missing


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts that settle what votes cannot: which hidden source is the truth, its sign and its balance.

    Attributes
    ----------
    labels : ndarray of shape (n_items,)
        Codes of the known labels, -1 where none is known.
    class_balance : float or None
        Known Pr(Y = positive).
    trusted : ndarray of shape (n_trusted,)
        Columns of voters that are known to look at the truth itself, and to beat a coin.
    sensitivity, specificity : ndarray of shape (n_voters,)
        Known rates, NaN where unknown; a voter with known rates is trusted.
    """

    labels: NDArray[np.int8]
    class_balance: float | None
    trusted: NDArray[np.int64]
    sensitivity: NDArray[np.float64]
    specificity: NDArray[np.float64]

    @classmethod
    def read(cls, votes: Votes, anchors: Any, class_balance: float | None, trusted: Any, missing: Any) -> Facts:
        """Check what was passed to ``fit`` against the votes."""
        if class_balance is not None and not 0 < class_balance < 1:
            raise ValueError(
                f"class_balance is the share of items that are {votes.classes[1]!r}, between 0 and 1, got "
                f"{class_balance!r}."
            )
        columns, sensitivity, specificity = _read_trusted(trusted, votes)
        return cls(_read_anchors(anchors, votes, missing), class_balance, columns, sensitivity, specificity)

    @property
    def anchored(self) -> NDArray[np.int64]:
        """Rows with a known label."""
        return np.flatnonzero(self.labels >= 0)

    @property
    def any(self) -> bool:
        """Whether anything is known."""
        return bool(len(self.anchored) or len(self.trusted) or self.class_balance is not None)


def _read_anchors(anchors: Any, votes: Votes, missing: Any) -> NDArray[np.int8]:
    """Return the codes of known labels from a mapping of rows to labels, or from one label or gap for each row."""
    labels = np.full(votes.n_items, MISSING, dtype=np.int8)
    if anchors is None:
        return labels
    if isinstance(anchors, Mapping):
        rows, known = list(anchors), list(anchors.values())
        for row in rows:
            if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < votes.n_items:
                raise ValueError(f"anchors name rows 0 to {votes.n_items - 1} of X, got {row!r}.")
    else:
        known = list(anchors)
        if len(known) != votes.n_items:
            raise ValueError(
                f"anchors must be a mapping of rows to labels, or one label or gap for each of {votes.n_items} rows, "
                f"got {len(known)}."
            )
        rows = list(range(votes.n_items))
    pairs = [(row, label) for row, label in zip(rows, known, strict=True) if not _is_gap(label, missing)]
    if not pairs:
        return labels
    column = np.empty((len(pairs), 1), dtype=object)
    column[:, 0] = [label for _, label in pairs]
    try:
        labels[[row for row, _ in pairs]] = encode_votes(column, classes=votes.classes).codes[:, 0]
    except ValueError as error:
        raise ValueError(f"anchors: {error}") from None
    return labels


def _is_gap(label: Any, missing: Any) -> bool:
    return bool(is_missing(label) or (missing is not None and label == missing))


def _read_trusted(trusted: Any, votes: Votes) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return columns and known rates of trusted voters: names or numbers, or a mapping of these to rates."""
    sensitivity, specificity = np.full(votes.n_voters, np.nan), np.full(votes.n_voters, np.nan)
    if trusted is None:
        return np.array([], dtype=np.int64), sensitivity, specificity
    if isinstance(trusted, str):
        raise TypeError(f"trusted must be a list of voters, got the one string {trusted!r}; write [{trusted!r}].")
    columns = np.array([_column(voter, votes) for voter in trusted], dtype=np.int64)
    if isinstance(trusted, Mapping):
        for column, rates in zip(columns, trusted.values(), strict=True):
            if np.shape(rates) != (2,) or not all(0 < rate < 1 for rate in rates):
                raise ValueError(
                    f"known rates are (sensitivity, specificity), each between 0 and 1, got {rates!r} for "
                    f"{votes.voter_name(column)}."
                )
            sensitivity[column], specificity[column] = rates
    return columns, sensitivity, specificity


def _column(voter: Any, votes: Votes) -> int:
    """Return the column of a voter given by name or number."""
    if votes.voters is not None and voter in list(votes.voters):
        return list(votes.voters).index(voter)
    if isinstance(voter, int | np.integer) and not isinstance(voter, bool) and 0 <= voter < votes.n_voters:
        return int(voter)
    raise ValueError(f"there is no voter {voter!r} to trust among the {votes.n_voters} columns.")
