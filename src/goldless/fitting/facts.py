"""What a user knows besides the votes: a few labels, the class balance, voters to trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.votes.alphabet import Alphabet, is_missing, listed, short_repr
from goldless.votes.kinds import column_of
from goldless.votes.votes import Votes

_SUMS_TO_ONE = 1e-6
_ROWS = 1 << 62  # more than any votes have
CERTAIN = 1 - 1e-6  # how often the voter that speaks known labels is right


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels of a few rows, as the user gave them: which rows is known before the votes are read."""

    rows: NDArray[np.int64]  # (n_known,): rows of X, in order
    labels: list[Any]  # their labels
    n_given: int | None = None  # length of a list with one label or gap for each row; None for a mapping
    last: int = -1  # the last row that a mapping names, with a label or a gap

    @classmethod
    def read(cls, anchors: Any, missing: Any, items: NDArray | None = None) -> KnownLabels:
        """Take a mapping of rows to labels, or one label or gap for each row; by name if the items have names."""
        if anchors is None:
            return NO_LABELS
        if items is not None:
            anchors = _by_row(anchors, items)
        if not isinstance(anchors, Mapping):
            given = list(anchors)
            pairs = [(row, label) for row, label in enumerate(given) if not _is_gap(label, missing)]
            return cls(np.array([row for row, _ in pairs], dtype=np.int64), [label for _, label in pairs], len(given))
        for row in anchors:
            if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < _ROWS:
                raise ValueError(f"anchors must map row numbers (from 0) to labels, got {row!r}.")
        rows = sorted(row for row, label in anchors.items() if not _is_gap(label, missing))
        labels = [anchors[row] for row in rows]
        return cls(np.array(rows, dtype=np.int64), labels, last=max(anchors, default=-1))

    def check(self, n_rows: int) -> None:
        """Refuse rows that the votes do not have."""
        if self.n_given is not None and self.n_given != n_rows:
            raise ValueError(
                f"anchors must be a mapping of rows to labels, or one label or gap for each of {n_rows} rows, "
                f"got {self.n_given}."
            )
        if self.last >= n_rows:
            raise ValueError(f"anchors must be labels of rows 0 to {n_rows - 1} of X, got {self.last}.")

    def codes(self, classes: NDArray) -> NDArray[np.int8]:
        """Return the codes of the labels, shape (n_known,)."""
        alphabet = Alphabet(classes)
        codes = np.array([alphabet.code(label) for label in self.labels], dtype=np.int8)
        for row, label, code in zip(self.rows.tolist(), self.labels, codes, strict=True):
            if code < 0:
                raise VotesError(
                    "unknown-label",
                    f"anchors: Unknown label {short_repr(label)} of row {row}: the classes are {listed(classes)}",
                    "list-classes",
                    {"row": row, "label": label},
                )
        return codes


NO_LABELS = KnownLabels(np.array([], dtype=np.int64), [])


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts that settle what votes cannot: which hidden source is the truth, its sign and its balance."""

    rows: NDArray[np.int64]  # (n_known,): rows with a known label, in order
    labels: NDArray[np.int8]  # (n_known,): codes of the known labels
    class_prior: NDArray[np.float64] | None  # (n_classes,): known Pr(Y)
    # (n_trusted,): columns of voters that are known to look at the truth itself, and to do better than chance
    trusted: NDArray[np.int64]
    # (n_voters, n_classes, n_classes): known Pr(vote | Y), not a number where unknown; a voter with known rates is
    # trusted
    confusion: NDArray[np.float64]

    @classmethod
    def read(cls, votes: Votes, known: KnownLabels, class_balance: Any, trusted: Any) -> Facts:
        """Check what was passed to ``fit`` against the classes and voters."""
        columns, confusion = _read_trusted(trusted, votes)
        prior = None if class_balance is None else _read_balance(class_balance, votes.classes)
        return cls(known.rows, known.codes(votes.classes), prior, columns, confusion)

    @property
    def any(self) -> bool:
        """Whether anything is known."""
        return bool(len(self.rows) or len(self.trusted) or self.class_prior is not None)


def certain_votes(n_classes: int) -> NDArray[np.float64]:
    """Return the confusions of a voter that speaks known labels."""
    return confusion_of(CERTAIN, n_classes)


def confusion_of(accuracy: float, n_classes: int) -> NDArray[np.float64]:
    """Return the confusions of a voter that is right so often in every class, and errs evenly."""
    wrong = (1 - accuracy) / (n_classes - 1)
    return np.where(np.eye(n_classes, dtype=bool), accuracy, wrong)


def _by_row(anchors: Any, items: NDArray) -> Any:
    """Return labels by row: those of a Series, or of a mapping whose keys are no row numbers, are by name."""
    if hasattr(anchors, "iloc") and hasattr(anchors, "index"):
        pairs = list(zip(anchors.index.tolist(), anchors.tolist(), strict=True))
    elif isinstance(anchors, Mapping) and not all(isinstance(key, int | np.integer) for key in anchors):
        pairs = list(anchors.items())
    else:
        return anchors
    row_of: dict[Any, int] = {}
    for row, name in enumerate(items.tolist()):
        row_of.setdefault(name, row)
    strange = next((name for name, _ in pairs if name not in row_of), None)
    if strange is not None:
        raise ValueError(f"anchors name the item {strange!r}, which is not in the index of X.")
    return {row_of[name]: label for name, label in pairs}


def _is_gap(label: Any, missing: Any) -> bool:
    return bool(is_missing(label) or (missing is not None and label == missing))


def _read_balance(balance: Any, classes: NDArray) -> NDArray[np.float64]:
    """Return the share of every class: from one number for two classes, or from a mapping or list of all."""
    labels = classes.tolist()
    if not isinstance(balance, Mapping) and np.ndim(balance) == 0:
        if len(labels) > 2:
            raise ValueError(
                f"class_balance must be the share of each of {len(labels)} classes, such as "
                f"{{{labels[0]!r}: 0.5, ...}}, got {balance!r}."
            )
        if not 0 < balance < 1:
            raise ValueError(
                f"class_balance is the share of items that are {labels[1]!r}, between 0 and 1, got {balance!r}."
            )
        return np.array([1 - balance, balance], dtype=np.float64)
    if isinstance(balance, Mapping):
        strange = [label for label in balance if label not in labels]
        if strange:
            raise ValueError(f"class_balance names {strange[0]!r}, which is not one of the classes {labels}.")
        lacking = [label for label in labels if label not in balance]
        if lacking:
            raise ValueError(f"class_balance has no share for the class {lacking[0]!r}.")
        balance = [balance[label] for label in labels]
    shares = np.asarray(balance, dtype=np.float64)
    if shares.shape != (len(labels),):
        raise ValueError(f"class_balance must have one share for each of {len(labels)} classes, got {len(shares)}.")
    if not (shares > 0).all() or abs(shares.sum() - 1) > _SUMS_TO_ONE:
        raise ValueError(f"class_balance must be positive shares that sum to 1, got a sum of {shares.sum():g}.")
    return shares / shares.sum()


def _read_trusted(trusted: Any, votes: Votes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return columns and known rates of trusted voters: names or numbers, or a mapping of these to rates."""
    n_classes = votes.n_classes
    confusion = np.full((votes.n_voters, n_classes, n_classes), np.nan)
    if trusted is None:
        return np.array([], dtype=np.int64), confusion
    if isinstance(trusted, str):
        raise TypeError(f"trusted must be a list of voters, got the one string {trusted!r}; write [{trusted!r}].")
    columns = np.array(
        [column_of(voter, votes.voters, votes.n_voters, " to trust") for voter in trusted], dtype=np.int64
    )
    if isinstance(trusted, Mapping):
        for column, rates in zip(columns, trusted.values(), strict=True):
            confusion[column] = _read_rates(rates, n_classes, votes.voter_name(column))
    return columns, confusion


def _read_rates(rates: Any, n_classes: int, voter: str) -> NDArray[np.float64]:
    """Return a confusion table from (sensitivity, specificity), from the recall of each class, or from a table."""
    values = np.asarray(rates, dtype=np.float64)
    between = bool(((values > 0) & (values < 1)).all())
    if n_classes == 2:
        if values.shape != (2,) or not between:
            raise ValueError(
                f"known rates are (sensitivity, specificity), each between 0 and 1, got {rates!r} for {voter}."
            )
        values = values[::-1]
    if values.shape == (n_classes,) and between:
        return np.stack([confusion_of(recall, n_classes)[label] for label, recall in enumerate(values)])
    if values.shape == (n_classes, n_classes) and between and np.allclose(values.sum(axis=1), 1):
        return values
    raise ValueError(
        f"known rates are how often a voter is right in each of {n_classes} classes, or a table of Pr(vote | class) "
        f"whose rows sum to 1, got {rates!r} for {voter}."
    )
