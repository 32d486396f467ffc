"""Strong voters are not an echo: groups of two classes that leave nothing for easy and hard items to explain.

Good voters agree on easy items more than one factor allows. A search over covariances can then take the best voters
for a group and leave Y to the weak ones: another root of nearly the same tree, with nearly the same covariances. Easy
and hard items tell the roots apart. Around the true Y they explain much; around a hub from which the strong voters
were taken away they explain next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.maths.structure.result import UNDECIDED_MARGIN, Structure

# What easy and hard items explain with the groups, as a share of what they explain without. On 21 ensembles of strong
# classifiers it is below 0.07 where the root is wrong and above 0.1 where it is right; 0.1 to 0.2 give the same
# results on 74 of 75 real panels, from 0.24 on one panel of judges loses (measured before parameters had a price).
_NOTHING_LEFT = 0.2


class Explained(NamedTuple):
    """How well a grouping explains the votes."""

    groups: NDArray[np.int64]  # (n_fitted,)
    log_likelihood: float  # of the votes
    # the same with two kinds of items, such as easy and hard ones, in each class; minus infinity if these cannot be
    # fitted
    with_levels: float

    @property
    def left_for_levels(self) -> float:
        """What kinds of items explain beyond the groups."""
        return self.with_levels - self.log_likelihood

    def score(self, n_items: int) -> float:
        """Return the log-likelihood less log(n) / 2 for each of the two rates of a group (BIC)."""
        return self.log_likelihood - np.log(n_items) * int((np.bincount(self.groups) > 1).sum())

    def score_with_levels(self, n_items: int) -> float:
        """Return the same with kinds of items: two rates more for each group or single voter, and two shares."""
        n_units = int(self.groups.max()) + 1
        return self.score(n_items) + self.left_for_levels - np.log(n_items) * (n_units + 1)


def takes_skill_for_echo(grouped: Explained, flat: Explained) -> bool:
    """Whether groups leave nothing for easy and hard items, which explain much without groups."""
    return grouped.left_for_levels < _NOTHING_LEFT * flat.left_for_levels


def undecided(structure: Structure) -> list[NDArray[np.int64]]:
    """Return the groupings other than the chosen one that covariances cannot tell from it."""
    first = structure.readings[0].objective
    return [
        reading.groups
        for reading in structure.readings[1:]
        if (reading.objective - first) / structure.penalty < UNDECIDED_MARGIN and reading.groups.max() > 0
    ]


def best_root(
    grouped: Explained,
    others: Iterable[NDArray[np.int64]],
    explain: Callable[[NDArray[np.int64]], Explained],
    n_items: int,
) -> Explained:
    """Return the grouping that explains most together with kinds of items, parameters paid for.

    Another grouping must win by its kinds of items. Where votes have groups and nothing else these do not pay, and
    the grouping stays that was chosen because it has fewest voters in groups.
    """
    best, score = grouped, max(grouped.score(n_items), grouped.score_with_levels(n_items))
    for other in map(explain, others):
        if other.score_with_levels(n_items) > score:
            best, score = other, other.score_with_levels(n_items)
    return best
