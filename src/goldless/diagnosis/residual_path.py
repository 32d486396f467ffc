"""The residual path of the paper beside the grouping that a model uses; the paper's path is for two classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.maths.checks import relabel
from goldless.maths.clustering import assign_groups
from goldless.maths.rank_one import residual
from goldless.maths.tree import TreeModel

_FEWEST, _MOST = 4, 150  # voters; with more the path takes longer than all the rest


class ResidualPath(NamedTuple):
    """Residuals by number of groups."""

    # residual of Algorithm 2 for each number of groups; empty for fewer than 4 or more than 150 voters, and for more
    # than two classes
    path: dict[int, float]
    n_groups: int  # number of groups of the grouping that is used, a voter that is alone counted as one
    residual: float | None  # its residual; None for fewer than 4 voters, and for more than two classes


def residual_path(
    latent: TreeModel, covariance: NDArray[np.float64], known: Mapping[int, float] | None = None
) -> ResidualPath:
    """Return the residual for each number of groups, and that of the groups of a model.

    Copies of other voters, and voters that always say the same, are left out. The path is that of the paper, which is
    for two classes: of more there is none.

    ``covariance`` (n_voters, n_voters): covariance of the votes; ``known``: the path, if the groups were found along
    it.
    """
    own = latent.copy_of == np.arange(latent.n_voters)
    voters = np.flatnonzero(own & (np.diag(covariance) > 0))
    covariance = covariance[np.ix_(voters, voters)]
    groups = relabel(latent.groups[voters])
    n_groups = len(np.unique(groups))
    if len(voters) < _FEWEST or latent.n_classes > 2:
        return ResidualPath({}, n_groups, None)
    path = dict(known or {})
    if not path and len(voters) <= _MOST:
        path = {int(count): float(value) for count, value in assign_groups(covariance).residual_path.items()}
    return ResidualPath(path, n_groups, float(residual(covariance, groups).value))
