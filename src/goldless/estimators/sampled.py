"""Votes that are not in memory, for what looks at single items: a random sample of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.io.open import as_stream
from goldless.votes.source import VoteSource

ITEMS_DRAWN = 1 << 16  # a share of them has a standard error of at most 0.2 %


class InMemory(NamedTuple):
    """Votes in memory, which may be a sample.

    Attributes
    ----------
    votes : array-like, frame or Votes
        What was given, or the sample.
    rows : ndarray of shape (n_drawn,) or None
        Rows of the source that were drawn; None if they are all there.
    remark : str
        That it is a sample, in a sentence; empty if it is none.
    """

    votes: Any
    rows: NDArray[np.int64] | None = None
    remark: str = ""


def in_memory(model: Any, X: Any) -> InMemory:
    """Return votes as they are if they are in memory, else as many as fit: all, or a random sample."""
    if as_stream(X) is None:
        return InMemory(X)
    source = model._open(X, reset=False)
    if not isinstance(source, VoteSource):
        return InMemory(source)
    fitted = model.fitted_
    if fitted.bins is not None or (fitted.facts is not None and len(fitted.facts.rows)):
        what = "Numbers" if fitted.bins is not None else "A fit with known labels"
        raise TypeError(f"{what} can be looked at with votes in memory only, an array or a frame.")
    drawn = source.sample(ITEMS_DRAWN)
    if len(drawn.rows) == drawn.n_rows:
        return InMemory(drawn.votes)
    return InMemory(
        drawn.votes,
        drawn.rows,
        f"Read from a random sample of {len(drawn.rows):,} of {drawn.n_rows:,} items: tests and intervals are those "
        "of the sample, wider than those of all items.",
    )
