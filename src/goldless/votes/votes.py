"""Votes as numbers, and what they are called."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.sparse import Codes, SparseCodes, codes_of_voters
from goldless.votes.bins import Bins


@dataclass(frozen=True)
class Votes:
    """Votes of n_items x n_voters, encoded.

    Attributes
    ----------
    codes : ndarray of shape (n_items, n_voters), or SparseCodes
        int8: -1 missing, otherwise the position of the label among the classes, or the bin of a number; or lists of
        those not missing.
    classes : ndarray of shape (n_classes,)
        The user's own labels; of two the second is called positive.
    voters : ndarray of shape (n_voters,) or None
        Column names of a frame, if they are all strings.
    items : ndarray of shape (n_items,) or None
        Row index of a pandas frame.
    bins : Bins or None
        How numbers became codes; None if votes are labels.
    at_least : int or None
        Only items that at least so many voters call positive are there, as in the output of variant callers.
    answers : ndarray of shape (n_items, n_voters) or None
        The numbers themselves, to be coded by the bins of another fit; NaN where missing.

    Examples
    --------
    >>> import goldless as gl
    >>> votes = gl.encode_votes([["yes", "no", None], ["no", "no", "yes"]])
    >>> votes.n_items, votes.n_voters, votes.n_votes
    (2, 3, 5)
    """

    codes: Codes
    classes: NDArray
    voters: NDArray | None = None
    items: NDArray | None = None
    bins: Bins | None = None
    at_least: int | None = None
    answers: NDArray[np.float64] | None = None

    @property
    def n_votes(self) -> int:
        """Number of votes that are not missing."""
        if isinstance(self.codes, SparseCodes):
            return self.codes.n_votes
        return int((self.codes >= 0).sum())

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return self.codes.shape[0]

    @property
    def n_voters(self) -> int:
        """Number of columns."""
        return self.codes.shape[1]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_symbols(self) -> int:
        """Number of codes that a vote may have."""
        return len(self.classes) if self.bins is None else self.bins.n_symbols

    def of_voters(self, columns: Sequence[int]) -> Votes:
        """Return the votes of some of the voters."""
        chosen = np.asarray(columns, dtype=np.int64)
        return replace(
            self,
            codes=codes_of_voters(self.codes, chosen),
            voters=None if self.voters is None else self.voters[chosen],
            bins=None if self.bins is None else self.bins.subset(chosen),
            answers=None if self.answers is None else self.answers[:, chosen],
        )

    @property
    def item_names(self) -> list:
        """Names of the items; their numbers from 1 where they have none."""
        return list(range(1, self.n_items + 1)) if self.items is None else self.items.tolist()

    @property
    def voter_names(self) -> list[str]:
        """Names of the voters as text, by column where they have none."""
        names = (f"voter {column}" for column in range(self.n_voters)) if self.voters is None else self.voters
        return [str(name) for name in names]

    def voter_name(self, voter: int) -> str:
        """Return how to call a voter in a message."""
        return voter_name(self.voters, voter)


def voter_name(names: NDArray | None, voter: int) -> str:
    """Return the name of a voter, or its column number."""
    return f"column {voter}" if names is None else repr(str(names[voter]))


def find_items(votes: Votes, items: Collection[str]) -> dict[str, int]:
    """Return the row of each of some items, by name or, if they have none, by number from 1: the first of several."""
    found: dict[str, int] = {}
    for row, name in enumerate(map(str, votes.item_names)):
        if name in items:
            found.setdefault(name, row)
    return found
