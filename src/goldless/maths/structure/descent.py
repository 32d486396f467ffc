"""Local search over groupings: voters and groups change places while the objective falls.

The covariance model and its notation are those of :mod:`goldless.kernels.covariance_fit`; the objective is its
weighted residual plus ``price[s]`` for every group of s voters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.covariance_fit import TINY, refit
from goldless.kernels.moves import best_moves
from goldless.maths.checks import relabel
from goldless.maths.rank_one import leading_eigenpair

_ROUNDS = 50
_MOVES_PER_VOTER = 20
_TRIALS = 40  # moves that promise little and are refitted before they are judged
_GAIN = 1e-7  # relative to the objective: smaller gains are none
_SMALLEST_SPLIT = 4
_MERGERS = 40  # pairs of groups tried in a round, the likeliest
_VOTERS_PER_MOVE = 16
_LEAST_OF_PAIR = 0.05  # coupling of two voters that become a pair
MANY_VOTERS = 300  # of more, trials are fitted only where they change something
_BLOCK = 1 << 22  # entries of a matrix that are worked on at a time
ALONE, JOIN, PAIR = 0, 1, 2  # kinds of moves


@dataclass
class Grouping:
    """A grouping with its loadings and couplings, changed in place.

    ``size`` and ``coupling`` are indexed by label, a number from 0 to m - 1.
    """

    label: NDArray[np.int64]
    size: NDArray[np.int64]
    loading: NDArray[np.float64]
    coupling: NDArray[np.float64]

    def copy(self) -> Grouping:
        """Return an independent copy."""
        return Grouping(self.label.copy(), self.size.copy(), self.loading.copy(), self.coupling.copy())

    @property
    def arrays(self) -> Any:
        """The four arrays, in the order kernels take them."""
        return self.label, self.size, self.loading, self.coupling

    @property
    def groups(self) -> NDArray[np.int64]:
        """Labels of groups of two voters or more."""
        return np.flatnonzero(self.size > 1)

    def merge(self, into: int, other: int, ratio: float) -> None:
        """Let one group join another, with its loadings scaled."""
        members = self.label == other
        self.loading[members] *= ratio
        self.label[members] = into
        self.coupling[into] = min(self.coupling[into], self.coupling[other])
        self.size[into] += self.size[other]
        self.size[other], self.coupling[other] = 0, 1.0

    def dissolve(self, group: int) -> None:
        """Leave every member of a group alone, with the loading it had towards the rest."""
        members = np.flatnonzero(self.label == group)
        self.loading[members] *= self.coupling[group]
        free = np.flatnonzero(self.size == 0)[: len(members) - 1]
        self.label[members[1:]] = free
        self.size[free], self.size[group] = 1, 1
        self.coupling[free], self.coupling[group] = 1.0, 1.0

    def split(self, group: int, members: NDArray[np.int64]) -> int:
        """Give some members of a group a group of their own, and return its label."""
        fresh = int(np.flatnonzero(self.size == 0)[0])
        self.label[members] = fresh
        self.size[fresh] = len(members)
        self.size[group] -= len(members)
        self.coupling[fresh] = self.coupling[group]
        return fresh

    def leave(self, voter: int) -> None:
        """Let a voter become alone; its loading, and that of a partner left alone, is t u."""
        own = self.label[voter]
        if self.size[own] == 1:
            return
        t = self.coupling[own]
        fresh = np.argmin(self.size)  # the first label that nobody has
        self.label[voter] = fresh
        self.size[fresh], self.coupling[fresh] = 1, 1.0
        self.loading[voter] *= t
        self.size[own] -= 1
        if self.size[own] == 1:
            self.loading[self.label == own] *= t
            self.coupling[own] = 1.0

    def join(self, voter: int, group: int) -> None:
        """Let a voter that is alone join a group."""
        self.size[self.label[voter]] = 0
        self.label[voter] = group
        self.size[group] += 1

    def pair(self, voter: int, other: int, covariance: float) -> None:
        """Let two voters that are alone become a pair: t^2 = u_i u_j / r_ij keeps their outside links."""
        product = self.loading[voter] * self.loading[other]
        t = 1.0
        if covariance * product > 0.0:
            t = min(1.0, float(np.sqrt(product / covariance)))
        elif covariance != 0.0:
            t = _LEAST_OF_PAIR
        t = max(t, _LEAST_OF_PAIR)
        self.join(voter, self.label[other])
        self.coupling[self.label[other]] = t
        self.loading[[voter, other]] /= t


class Covariances:
    """Covariances with their weights, to which loadings and couplings are fitted.

    Parameters
    ----------
    covariance, weight : ndarray of shape (n_voters, n_voters)
    """

    def __init__(self, covariance: NDArray[np.float64], weight: NDArray[np.float64]):
        self.covariance, self.weight = covariance, weight
        n_voters = len(covariance)
        self.everybody = np.ones(n_voters, dtype=bool)
        self._outside, self._room = np.empty(n_voters), np.empty((8, n_voters))

    def refit(
        self,
        state: Grouping,
        sweeps: int,
        tol: float = -1.0,
        chosen: NDArray[np.bool_] | None = None,
        couplings: bool = True,
    ) -> float:
        """Fit the loadings of all or of chosen voters, and the couplings of their groups.

        Return the part of the residual that comes from pairs with a chosen voter; without a sweep nothing is fitted.
        """
        chosen = self.everybody if chosen is None else chosen
        value = refit(self.covariance, self.weight, *state.arrays, chosen, couplings, sweeps, tol, self._outside)
        return float(value)

    def best_moves(self, state: Grouping, price: NDArray[np.float64]) -> tuple[NDArray, NDArray, NDArray]:
        """Return the best move of every voter: the change of the objective, the kind and the target."""
        n_voters = len(state.label)
        grouped = np.flatnonzero(state.size[state.label] > 1)
        best, kind, target = (np.empty(n_voters, dtype) for dtype in (np.float64, np.int64, np.int64))
        best_moves(self.covariance, self.weight, *state.arrays, price, grouped, self._room, best, kind, target)
        return best, kind, target

    def move(self, state: Grouping, voter: int, kind: int, target: int) -> None:
        """Carry out one of the best moves in place, and fit the loading of the voter."""
        state.leave(voter)
        chosen = np.zeros(len(state.label), dtype=bool)
        chosen[voter] = True
        if kind == JOIN:
            state.join(voter, target)
        elif kind == PAIR:
            self.refit(state, 1, chosen=chosen, couplings=False)
            state.pair(voter, target, self.covariance[voter, target])
        self.refit(state, 1, chosen=chosen, couplings=False)

    def move_many(self, state: Grouping, moves: tuple[NDArray, NDArray, NDArray], at_once: int) -> int:
        """Carry out the best move and every other good one that does not disturb those made; return how many.

        A move counts as good when it promises at least half of the best change. One move may touch a group, or one
        for every 16 of its voters: so few hardly change what the others are worth. Groups are compared by label
        before the first move.
        """
        change, kind, target = moves
        order = np.argsort(change, kind="stable")
        before, room = state.label.copy(), np.maximum(state.size // _VOTERS_PER_MOVE, 1)
        made = 0
        for voter in order[: np.count_nonzero(change <= 0.5 * change[order[0]])]:
            if made >= at_once:
                break
            source = goal = before[voter]
            if kind[voter] == JOIN:
                goal = target[voter]
            elif kind[voter] == PAIR:
                goal = before[target[voter]]
            if room[source] == 0 or room[goal] == 0:
                continue
            room[source] -= 1
            room[goal] -= goal != source
            self.move(state, voter, kind[voter], target[voter])
            made += 1
        return made

    def between_groups(self, state: Grouping) -> tuple[NDArray, NDArray, NDArray]:
        """Return, for every two groups, the sums over their pairs of w r u u', w (u u')^2 and w ((r - v v')^2 - r^2).

        v = t u is the loading towards other groups.
        """
        groups = state.groups
        order = np.argsort(state.label, kind="stable")
        order = order[state.size[state.label[order]] > 1]
        starts = np.concatenate([[0], np.cumsum(state.size[groups])[:-1]])
        loading, outside = state.loading[order], (state.coupling[state.label] * state.loading)[order]
        rows = max(_BLOCK // max(len(order), 1), 1)
        sums = np.zeros((3, len(order), len(groups)))
        for start in range(0, len(order), rows):
            part = slice(start, start + rows)
            block = np.ix_(order[part], order)
            r, w = self.covariance[block], self.weight[block]
            product, across = np.outer(loading[part], loading), np.outer(outside[part], outside)
            for number, terms in enumerate((w * r * product, w * product**2, w * ((r - across) ** 2 - r**2))):
                sums[number, part] = np.add.reduceat(terms, starts, axis=1)
        slope, power, saved = np.add.reduceat(sums, starts, axis=1)
        return slope, power, saved


class Descent:
    """Descends from groupings to local optima of one objective."""

    def __init__(self, data: Covariances, price: NDArray[np.float64]):
        self.data = data
        self.price = price
        self._ends: dict[bytes, tuple[NDArray[np.int64], float]] = {}

    def run(self, state: Grouping) -> tuple[NDArray[np.int64], float]:
        """Move voters and whole groups until neither helps; return the grouping and the objective.

        A descent that meets a grouping of an earlier one ends where that one ended.
        """
        path = []
        for _ in range(_ROUNDS):
            objective = self._move_voters(state)
            path.append(relabel(state.label).tobytes())
            if path[-1] in self._ends or not self._change_groups(state, objective):
                break
        end = self._ends.get(path[-1])
        if end is None:
            end = relabel(state.label), self._refit(state, 300, 1e-7)
        self._ends.update(dict.fromkeys(path, end))
        return end

    def seat(self, state: Grouping) -> tuple[NDArray[np.int64], float]:
        """Move single voters until none gains; return the grouping and the objective."""
        self._move_voters(state)
        return relabel(state.label), self._refit(state, 300, 1e-7)

    def _refit(self, state: Grouping, sweeps: int, tol: float) -> float:
        """Fit loadings and couplings, and return the objective."""
        return self.data.refit(state, sweeps, tol) + self._price(state)

    def _price(self, state: Grouping) -> float:
        return float(self.price[state.size].sum())

    def _move_voters(self, state: Grouping) -> float:
        """Take the moves of single voters that promise most, then try refitted ones; return the objective."""
        n_voters = at_once = len(state.label)
        objective = self._refit(state, 30, 1e-4)
        moves, seen = 0, dict[bytes, float]()
        while moves < _MOVES_PER_VOTER * n_voters:
            promised, least = self.data.best_moves(state, self.price), _GAIN * (1 + abs(objective))
            here = relabel(state.label).tobytes() if at_once == 1 else b""
            turning = objective > seen.get(here, np.inf) - least  # what was promised here before was not kept
            if promised[0].min() < -least and not turning:
                if at_once == 1:
                    seen[here] = objective
                moves += self.data.move_many(state, promised, at_once)
                updated = self._refit(state, 3, 1e-4)
                if updated >= objective:  # moves disturbed each other: from now on one at a time
                    at_once = 1
                objective = updated
                continue
            objective = self._refit(state, 60, 1e-5)
            better = self._try_moves(state, objective)
            if better is None:
                break
            objective = better
            moves += 1
        return objective

    def _try_moves(self, state: Grouping, objective: float) -> float | None:
        """Refit the likeliest moves and take the first that helps; None if none does.

        Of many voters only those that the move touches are refitted, and the rest after a move that helps.
        """
        change, kind, target = self.data.best_moves(state, self.price)
        for voter in np.argsort(change)[:_TRIALS]:
            if not change[voter] < 1.5 * self.price[2]:
                break
            trial = state.copy()
            self.data.move(trial, voter, kind[voter], target[voter])
            if len(state.label) > MANY_VOTERS:
                value = self._local_refit(state, trial, objective, 10, 1e-4)
            else:
                value = self._refit(trial, 10, 1e-4)
            if value < objective - _GAIN * (1 + abs(objective)):
                state.__dict__.update(trial.__dict__)
                return value
        return None

    def _local_refit(self, state: Grouping, trial: Grouping, objective: float, sweeps: int, tol: float) -> float:
        """Fit what a change of some voters touches: them, and those of the groups they left or joined.

        Return the objective: that of the state, less what the touched pairs had and plus what they have.
        """
        moved = state.label != trial.label
        groups = np.union1d(state.label[moved], trial.label[moved])
        touched = np.isin(state.label, groups) | np.isin(trial.label, groups)
        before = self.data.refit(state, 0, chosen=touched)
        after = self.data.refit(trial, sweeps, tol, touched)
        return objective + after - before + self._price(trial) - self._price(state)

    def _change_groups(self, state: Grouping, objective: float) -> bool:
        """Take the best merger, dissolution or split after a local refit; say whether any helps."""
        best, best_state = objective - _GAIN * (1 + abs(objective)), None
        for value, trial in self._group_changes(state, objective):
            if value < best:
                best, best_state = value, trial
        if best_state is None:
            return False
        state.__dict__.update(best_state.__dict__)
        return True

    def _group_changes(self, state: Grouping, objective: float) -> Iterator[tuple[float, Grouping]]:
        """Yield the groupings one change of groups away, each refitted where it changed, with the objective."""
        for group in state.groups:
            parts = self._halves(state, group)
            if parts is not None:
                trial = state.copy()
                trial.split(group, parts)
                yield self._local_refit(state, trial, objective, 4, -1.0), trial
            trial = state.copy()
            trial.dissolve(group)
            members = state.label == group
            # is it near, if only the voters that became alone are fitted?
            before = self.data.refit(state, 0, chosen=members)
            after = self.data.refit(trial, 2, chosen=members, couplings=False)
            price = self.price[state.size[group]]
            if after - before < 2 * price:
                local = objective + after - before - price
                yield local if len(state.label) > MANY_VOTERS else self._refit(trial, 4, 1e-4), trial
        for group, other, ratio in self._likely_mergers(state):
            trial = state.copy()
            trial.merge(group, other, ratio)
            yield self._local_refit(state, trial, objective, 4, -1.0), trial

    def _likely_mergers(self, state: Grouping) -> list[tuple[int, int, float]]:
        """Return the pairs of groups most likely to gain by merging, those that promise most first.

        Merging frees the block between two groups from their couplings: it saves what the block's residual loses
        when the loadings within the groups, with one scale for those of the second, take the place of those towards
        the rest. The scale is returned with each pair.
        """
        groups = state.groups
        if len(groups) < 2:
            return []
        slope, power, saved = self.data.between_groups(state)
        slope = slope.clip(0.0)
        scale = slope / np.maximum(power, TINY)
        saved = saved + slope * scale
        first, second = np.tril_indices(len(groups), -1)
        size, other = state.size[groups][first], state.size[groups][second]
        gain = saved[first, second] + self.price[size] + self.price[other] - self.price[size + other]
        likely = [pair for pair in np.argsort(-gain, kind="stable")[:_MERGERS] if gain[pair] > -self.price[2]]
        ratio = np.where(scale > 0, scale, 1.0)[first, second]
        return [(groups[first[pair]], groups[second[pair]], float(ratio[pair])) for pair in likely]

    def _halves(self, state: Grouping, group: int) -> NDArray[np.int64] | None:
        """Return the half of a group without its first member, cut by what the fit leaves over, or None."""
        members = np.flatnonzero(state.label == group)
        if len(members) < _SMALLEST_SPLIT:
            return None
        block = np.ix_(members, members)
        covariance, weight = self.data.covariance[block], self.data.weight[block]
        left_over = np.sqrt(weight) * (covariance - np.outer(state.loading[members], state.loading[members]))
        np.fill_diagonal(left_over, 0.0)
        leading = leading_eigenpair(left_over)[1] > 0
        moved = members[leading != leading[0]]
        return moved if 2 <= len(moved) <= len(members) - 2 else None
