"""All items with their votes and labels, packed so that 100,000 of them are a few megabytes."""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.report.opened import Opened
from goldless.report.summary import ItemTable

MOST_ITEMS = 100_000
_MOST_BYTES = 4_000_000  # of packed votes
_DOUBTFUL = 0.9  # probability of a label, up to which an item may need a look
_SHARE_TO_LOOK_AT = 0.1


def item_table(opened: Opened, truth: ArrayLike | None, most: int = MOST_ITEMS) -> ItemTable | None:
    """Return at most so many of the items, evenly spread over the rows; None for none.

    Items with the same votes share all but their name, so votes and labels are there once for each pattern.
    """
    if most < 1:
        return None
    table, votes = opened.table, opened.votes
    bits = vote_bits(opened.n_classes)
    n_rows = min(table.n_items, most, _MOST_BYTES // -(-table.n_voters * bits // 8))
    rows = np.linspace(0, table.n_items - 1, n_rows).round().astype(np.int64)
    used, pattern = np.unique(table.inverse[rows], return_inverse=True)
    label, posterior = opened.combined[used], opened.posterior[used]
    here = np.arange(len(used))
    others = posterior.copy()
    others[here, label] = -1
    chance = np.round(65535 * posterior[here, label].clip(0, 1)) / 65535  # as it is packed
    in_votes = rows if opened.rows is None else opened.rows[rows]
    every_row = opened.rows is None and n_rows == table.n_items
    return ItemTable(
        n_rows=n_rows,
        sampled=n_rows < table.n_items,
        doubt_up_to=min(_DOUBTFUL, float(np.quantile(chance[pattern], _SHARE_TO_LOOK_AT, method="higher"))),
        names=None if votes.items is None else [str(name) for name in np.asarray(votes.items)[rows].tolist()],
        rows=None if every_row else as_base64(in_votes, "<u4"),
        patterns=as_base64(pattern, "<u4"),
        n_patterns=len(used),
        bits=bits,
        votes=as_base64(packed_votes(table.codes[used], bits), "u1"),
        labels=as_base64(label, "u1"),
        majority=as_base64(opened.majority[used], "u1"),
        runner_up=as_base64(others.argmax(axis=1), "u1"),
        probability=as_base64(np.round(65535 * chance), "<u2"),
        truth=None if truth is None else as_base64(np.asarray(truth)[rows], "i1"),
    )


def vote_bits(n_classes: int) -> int:
    """Return how many bits hold a vote: a class, or none."""
    return 2 if n_classes < 4 else 4 if n_classes < 16 else 8


def packed_votes(codes: NDArray[np.int8], bits: int) -> NDArray[np.uint8]:
    """Return codes plus one, so many bits each, every row in whole bytes and the first voter in the lowest bits.

    Examples
    --------
    >>> packed_votes(np.array([[0, 1, -1, 1, 0]]), 2)
    array([[137,   1]], dtype=uint8)
    """
    in_byte = 8 // bits
    n_rows, n_voters = codes.shape
    wide = np.zeros((n_rows, -(-n_voters // in_byte) * in_byte), dtype=np.uint8)
    wide[:, :n_voters] = codes.astype(np.int16) + 1
    places = wide.reshape(n_rows, -1, in_byte) << (bits * np.arange(in_byte, dtype=np.uint8))
    return np.bitwise_or.reduce(places, axis=2)


def as_base64(values: NDArray, kind: str) -> str:
    """Return numbers as bytes in base64."""
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()
