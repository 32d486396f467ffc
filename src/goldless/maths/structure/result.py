"""What a search over groupings finds: the structure it chose, and the other readings it met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UNDECIDED_MARGIN = 3.0  # in prices of a voter: three voters placed otherwise would change the reading


class Reading(NamedTuple):
    """One way to read the votes: a grouping, the value of the objective, and the part of it that is price."""

    groups: NDArray[np.int64]
    objective: float
    price: float

    def is_idle_extension_of(self, other: Reading) -> bool:
        """Whether this only adds to the other's groups, and gains less than half of what the addition costs."""
        extra = self.price - other.price
        gain = extra - (self.objective - other.objective)
        together = other.groups[:, None] == other.groups[None, :]
        kept_together = self.groups[:, None] == self.groups[None, :]
        return bool((kept_together | ~together).all()) and gain < extra / 2


@dataclass(frozen=True)
class Structure:
    """The groups found, the covariance model fitted to them, and the other readings."""

    groups: NDArray[np.int64]  # (n_voters,): group of each voter, numbered in order of first appearance
    loadings: NDArray[np.float64]  # (n_voters,): u, the square root of the covariance within a group
    # (n_groups,): t, how closely each group's latent follows Y; 1 for a voter that is alone
    couplings: NDArray[np.float64]
    # residual, dof: weighted residual Q and its degrees of freedom
    residual: float
    dof: int
    # max(1, Q / dof) of the richest plausible structure: 1 when the model holds, larger when it misfits
    overdispersion: float
    penalty: float  # what each voter of a pair costs in the objective, the residual plus the prices of all groups
    # correlation beyond what Y explains from which two voters can pay for a group of their own, the median over
    # pairs. Of pairs that share just that about a quarter is found, of those that share half of it hardly any, of
    # those that share twice as much nearly all
    faintest_pair: float
    # structures met: first the one chosen, then the others, best first. Another root can have a slightly better
    # objective than the one chosen
    readings: tuple[Reading, ...] = field(repr=False)

    def with_groups(self, of: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Structure:
        """Return the structure with other groups made of the groups, such as those of more voters."""
        readings = tuple(reading._replace(groups=of(reading.groups)) for reading in self.readings)
        return replace(self, groups=of(self.groups), readings=readings)

    @property
    def objective(self) -> float:
        """Objective of the chosen structure."""
        return self.readings[0].objective
