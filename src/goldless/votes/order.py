"""Voters in an order that their votes alone decide, so that no fit of them depends on the order of the columns.

Where two answers are equally good, which voter comes first decides between them, by ties of eigenvectors, searches
and the last digits of sums. So voters are told apart by what they said: how often what, then beside whom (colour
refinement, as graphs are told apart); of those that are still alike one is set apart, and the others follow. Who is
alike in the end can be exchanged without changing the votes, but for the order of the items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEW_CELLS = 1 << 17  # of a table whose voters are put in order: more of them hardly leave a tie
_FEW_ALIKE = 24  # voters of whom each is set apart in turn
_STEP = np.uint64(0x9E3779B97F4A7C15)

Colours = NDArray[np.uint64]  # of voters: a hash of what is known of each


def own_order(codes: NDArray[np.int8], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the voters in their own order: first those that say one thing most often.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_voters)
    counts : ndarray of shape (n_rows,)
        How many items each row stands for.
    """
    columns = np.ascontiguousarray(codes.T).view(f"V{len(codes)}").ravel()
    _, first, voter, copies = np.unique(columns, return_index=True, return_inverse=True, return_counts=True)
    codes = codes[:, first]
    cast = np.array([counts @ (codes == symbol) for symbol in range(int(codes.max(initial=0)) + 1)])
    colours = copies.astype(np.uint64)
    for votes in cast:
        colours = _mixed(colours + votes.astype(np.uint64))
    seen = _Votes(_STEP * (codes + 2).astype(np.uint64), counts.astype(np.uint64)[:, None])
    place = np.argsort(np.lexsort([seen.set_apart(colours), *cast, -cast.max(axis=0)]))
    return np.argsort(place[voter.reshape(-1)], kind="stable")


class _Votes:
    """What voters are told apart by."""

    def __init__(self, said: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None:
        self.said, self.counts = said, counts

    def refine(self, colours: Colours) -> Colours:
        """Look again at who said what on the same items, as long as that tells more voters apart."""
        n_colours = len(np.unique(colours))
        while n_colours < len(colours):
            items = _mixed(_mixed(self.said + colours).sum(axis=1))
            finer = _mixed(colours + (_mixed(self.said + items[:, None]) * self.counts).sum(axis=0))
            if (n_finer := len(np.unique(finer))) == n_colours:
                break
            colours, n_colours = finer, n_finer
        return colours

    def set_apart(self, colours: Colours) -> Colours:
        """Refine, and set one of the voters that are alike apart until no two are.

        It is the one whose setting apart shows the smallest colours; those alike in that can be exchanged.
        """
        colours = self.refine(colours)
        while True:
            found, n_voters = np.unique(colours, return_counts=True)
            if len(found) == len(colours):
                return colours
            alike = np.flatnonzero(colours == found[n_voters > 1][0])
            tried = np.tile(colours, (len(alike) if len(alike) <= _FEW_ALIKE else 1, 1))
            tried[np.arange(len(tried)), alike[: len(tried)]] += _STEP
            colours = min(map(self.refine, tried), key=lambda seen: np.sort(seen).tolist())


def _mixed(words: Colours) -> Colours:
    """Spread every bit of a word over all of it."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ (words >> np.uint64(33))) * np.uint64(factor)
    return words ^ (words >> np.uint64(33))
