"""Votes that are not in memory, for what looks at single items: a random sample of them."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.io.open import as_stream
from goldless.votes.source import VoteSource

ITEMS_DRAWN = 1 << 16  # a share of them has a standard error of at most 0.2 %


class InMemory(NamedTuple):
    """A model, and votes in memory, which may be a sample."""

    model: Any  # what was given; its known labels are of the rows of these votes
    votes: Any  # what was given, or the sample
    # (n_drawn,): rows of the source that were drawn; None if they are all there
    rows: NDArray[np.int64] | None = None
    remark: str = ""  # that it is a sample, in a sentence; empty if it is none


def in_memory(model: Any, X: Any) -> InMemory:
    """Return votes as they are if they are in memory, else as many as fit: all, or a random sample.

    Items with a known label are always there.
    """
    if as_stream(X) is None:
        return InMemory(model, X)
    source = model._open(X, reset=False)
    if not isinstance(source, VoteSource):
        return InMemory(model, source)
    facts = model.fitted_.facts
    known = np.array([], dtype=np.int64) if facts is None else facts.rows
    drawn = source.sample(ITEMS_DRAWN, known)
    if len(drawn.rows) == drawn.n_rows:
        return InMemory(model, drawn.votes)
    if len(known):
        fitted = replace(model.fitted_, facts=replace(facts, rows=np.searchsorted(drawn.rows, known)))
        model = copy(model)
        model.fitted_ = fitted
    return InMemory(
        model,
        drawn.votes,
        drawn.rows,
        f"Read from a random sample of {len(drawn.rows):,} of {drawn.n_rows:,} items: tests and intervals are those "
        "of the sample, wider than those of all items.",
    )
