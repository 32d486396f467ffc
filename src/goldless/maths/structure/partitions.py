"""Partitions of voters into groups: all of them, other roots of one, and those that no votes can tell apart."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from goldless.maths.checks import relabel


def rerootings(groups: NDArray[np.int64], most: int | None = None) -> list[NDArray[np.int64]]:
    """Return the groupings that say the same tree with another hidden node as Y.

    For each group, or the ``most`` largest: its members become alone, and the voters that were alone become one
    group; the other groups stay as they are, or join that group.
    """
    sizes = np.bincount(groups)
    alone = sizes[groups] == 1
    found = []
    roots = np.flatnonzero(sizes > 1)
    for group in roots if most is None else np.sort(roots[np.argsort(-sizes[roots], kind="stable")[:most]]):
        members = groups == group
        others = ~members & ~alone
        for joined in (False, True) if others.any() else (False,):
            labels = np.where(alone | (others & joined), -1, groups)
            labels[members] = len(groups) + np.flatnonzero(members)
            found.append(relabel(labels))
    return found


def indistinguishable(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the groupings that no votes can tell from this one, this one first.

    A grouping is a tree with Y in the middle; votes show the tree but not its middle, nor a node that joins only two
    others. So, exactly:

    - one group of all voters, one group of all but one, and no groups are the same model;
    - one group G of 2 to m - 2 voters, the group of all others, and both as two groups are the same model;
    - every other grouping (two groups or more and a third unit) is a model of its own.

    With three voters the three covariances fit any three loadings: no grouping leaves a trace. With four voters two
    equations can be tested, ``r_ac r_bd = r_ad r_bc = r_ab r_cd``: votes can show that voters come in two pairs, and
    never which of the two pairs echoes. With five voters a pair is never told from the other three as a group; the
    pair is taken, because it is the simpler explanation.
    """
    groups = relabel(groups)
    n_voters, sizes = len(groups), np.bincount(groups)
    voters, together = np.arange(n_voters), np.zeros(n_voters, dtype=np.int64)
    if n_voters < 4:
        found = [together, *set_partitions(n_voters)]
    elif sizes.max() in (1, n_voters - 1, n_voters):
        found = [voters, together, *(relabel(voters == voter) for voter in voters)]
    elif (sizes > 1).sum() == 1 or len(sizes) == 2:
        members = groups == np.argmax(sizes)
        found = [relabel(np.where(side, -1, voters)) for side in (members, ~members)]
        found.append(relabel(members))
    else:
        found = []
    return [groups, *(other for other in found if not np.array_equal(other, groups))]


def groups_of_two_or_more(groups: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """Return the voters of every group that has two or more, the largest first; of equal ones that of the first."""
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    found = [tuple(voters.tolist()) for voters in members if len(voters) > 1]
    return tuple(sorted(found, key=lambda voters: (-len(voters), voters)))


def voters_in_groups(groups: NDArray[np.int64]) -> int:
    """Return the number of voters that share a group with another."""
    sizes = np.bincount(groups)
    return int(sizes[sizes > 1].sum())


@cache
def set_partitions(n: int) -> NDArray[np.int64]:
    """Return all partitions of n voters as rows of groups, except the one with a single group."""
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, group] for row in rows for group in range(max(row) + 2)]
    return np.array(rows[1:], dtype=np.int64)
