"""What a user knows besides the votes: a few labels, the class balance, voters to trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.io.encode import encode_votes
from goldless.io.label_codes import is_missing
from goldless.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels of a few rows, as the user gave them: which rows is known before the votes are read.

    Attributes
    ----------
    rows : ndarray of shape (n_known,)
        Rows of X, in order.
    labels : list of length n_known
        Their labels.
    n_given : int or None
        Length of a list with one label or gap for each row; None for a mapping.
    """

    rows: NDArray[np.int64]
    labels: list[Any]
    n_given: int | None = None

    @classmethod
    def read(cls, anchors: Any, missing: Any) -> KnownLabels:
        """Take a mapping of rows to labels, or one label or gap for each row."""
        if anchors is None:
            return NO_LABELS
        if not isinstance(anchors, Mapping):
            given = list(anchors)
            pairs = [(row, label) for row, label in enumerate(given) if not _is_gap(label, missing)]
            return cls(np.array([row for row, _ in pairs], dtype=np.int64), [label for _, label in pairs], len(given))
        for row in anchors:
            if isinstance(row, bool) or not isinstance(row, int | np.integer) or row < 0:
                raise ValueError(f"anchors name rows of X by their number, from 0, got {row!r}.")
        rows = sorted(row for row, label in anchors.items() if not _is_gap(label, missing))
        return cls(np.array(rows, dtype=np.int64), [anchors[row] for row in rows])

    def check(self, n_rows: int) -> None:
        """Refuse rows that the votes do not have."""
        if self.n_given is not None and self.n_given != n_rows:
            raise ValueError(
                f"anchors must be a mapping of rows to labels, or one label or gap for each of {n_rows} rows, "
                f"got {self.n_given}."
            )
        if len(self.rows) and self.rows[-1] >= n_rows:
            raise ValueError(f"anchors name rows 0 to {n_rows - 1} of X, got {self.rows[-1]}.")

    def codes(self, classes: NDArray) -> NDArray[np.int8]:
        """Return the codes of the labels, shape (n_known,)."""
        column = np.empty((len(self.labels), 1), dtype=object)
        column[:, 0] = self.labels
        if not self.labels:
            return np.array([], dtype=np.int8)
        try:
            return encode_votes(column, classes=classes).codes[:, 0]
        except ValueError as error:
            raise ValueError(f"anchors: {error}") from None


NO_LABELS = KnownLabels(np.array([], dtype=np.int64), [])


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts that settle what votes cannot: which hidden source is the truth, its sign and its balance.

    Attributes
    ----------
    rows : ndarray of shape (n_known,)
        Rows with a known label, in order.
    labels : ndarray of shape (n_known,)
        Codes of the known labels.
    class_balance : float or None
        Known Pr(Y = positive).
    trusted : ndarray of shape (n_trusted,)
        Columns of voters that are known to look at the truth itself, and to beat a coin.
    sensitivity, specificity : ndarray of shape (n_voters,)
        Known rates, NaN where unknown; a voter with known rates is trusted.
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.int8]
    class_balance: float | None
    trusted: NDArray[np.int64]
    sensitivity: NDArray[np.float64]
    specificity: NDArray[np.float64]

    @classmethod
    def read(cls, votes: Votes, known: KnownLabels, class_balance: float | None, trusted: Any) -> Facts:
        """Check what was passed to ``fit`` against the classes and voters."""
        if class_balance is not None and not 0 < class_balance < 1:
            raise ValueError(
                f"class_balance is the share of items that are {votes.classes[1]!r}, between 0 and 1, got "
                f"{class_balance!r}."
            )
        columns, sensitivity, specificity = _read_trusted(trusted, votes)
        return cls(known.rows, known.codes(votes.classes), class_balance, columns, sensitivity, specificity)

    @property
    def any(self) -> bool:
        """Whether anything is known."""
        return bool(len(self.rows) or len(self.trusted) or self.class_balance is not None)


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
