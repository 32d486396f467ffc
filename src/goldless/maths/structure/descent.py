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

from goldless.kernels.covariance_fit import TINY, refit, refit_members, sweep_loadings, weighted_residual
from goldless.kernels.moves import apply_move, apply_moves, best_moves
from goldless.maths.checks import relabel

_ROUNDS = 50
_MOVES_PER_VOTER = 20
_TRIALS = 40  # moves that promise little and are refitted before they are judged
_GAIN = 1e-7  # relative to the objective: smaller gains are none
_SMALLEST_SPLIT = 4
_MERGERS = 40  # pairs of groups tried in a round, the likeliest


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


class Descent:
    """Descends from groupings to local optima of one objective."""

    def __init__(
        self,
        covariance: NDArray[np.float64],
        weight: NDArray[np.float64],
        lowest: float,
        price: NDArray[np.float64],
    ):
        self.data: Any = (covariance, weight)
        self.lowest = lowest
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
        return float(refit(*self.data, *state.arrays, self.lowest, sweeps, tol)) + self._price(state)

    def _price(self, state: Grouping) -> float:
        return float(self.price[state.size].sum())

    def _move_voters(self, state: Grouping) -> float:
        """Take the moves of single voters that promise most, then try refitted ones; return the objective."""
        n_voters = at_once = len(state.label)
        objective = self._refit(state, 30, 1e-4)
        moves = 0
        while moves < _MOVES_PER_VOTER * n_voters:
            change, kind, target = best_moves(*self.data, *state.arrays, self.price)
            if change.min() < -_GAIN * (1 + abs(objective)):
                order = np.argsort(change, kind="stable")
                moves += apply_moves(*self.data, *state.arrays, self.lowest, change, order, kind, target, at_once)
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
        """Refit the likeliest moves and take the first that helps; None if none does."""
        change, kind, target = best_moves(*self.data, *state.arrays, self.price)
        for voter in np.argsort(change)[:_TRIALS]:
            if not change[voter] < 1.5 * self.price[2]:
                break
            trial = state.copy()
            apply_move(*self.data, *trial.arrays, self.lowest, voter, kind[voter], target[voter])
            value = self._refit(trial, 10, 1e-4)
            if value < objective - _GAIN * (1 + abs(objective)):
                state.__dict__.update(trial.__dict__)
                return value
        return None

    def _change_groups(self, state: Grouping, objective: float) -> bool:
        """Take the best merger, dissolution or split after a local refit; say whether any helps."""
        best, best_state = objective - _GAIN * (1 + abs(objective)), None
        for trial in self._group_changes(state, objective):
            value = float(weighted_residual(*self.data, trial.label, trial.loading, trial.coupling))
            value += self._price(trial)
            if value < best:
                best, best_state = value, trial
        if best_state is None:
            return False
        state.__dict__.update(best_state.__dict__)
        return True

    def _group_changes(self, state: Grouping, objective: float) -> Iterator[Grouping]:
        """Yield the groupings one change of groups away, each refitted where it changed."""
        for group in state.groups:
            parts = self._halves(state, group)
            if parts is not None:
                trial = state.copy()
                fresh = trial.split(group, parts)
                refit_members(*self.data, *trial.arrays, self.lowest, group, fresh, 4)
                yield trial
            trial = state.copy()
            trial.dissolve(group)
            if self._is_near(trial, state.label == group, objective + self.price[state.size[group]]):
                refit(*self.data, *trial.arrays, self.lowest, 4, 1e-4)
                yield trial
        for group, other, ratio in self._likely_mergers(state):
            trial = state.copy()
            trial.merge(group, other, ratio)
            refit_members(*self.data, *trial.arrays, self.lowest, group, group, 4)
            yield trial

    def _is_near(self, trial: Grouping, changed: NDArray[np.bool_], limit: float) -> bool:
        """Refit the loadings of the voters that changed, and say whether the objective is below a limit."""
        for _ in range(2):
            sweep_loadings(*self.data, trial.label, trial.loading, trial.coupling, changed)
        value = float(weighted_residual(*self.data, trial.label, trial.loading, trial.coupling))
        return value + self._price(trial) < limit

    def _likely_mergers(self, state: Grouping) -> list[tuple[int, int, float]]:
        """Return the pairs of groups most likely to gain by merging, those that promise most first.

        Merging frees the block between two groups from their couplings: it saves what the block's residual loses
        when the loadings within the groups, with one scale for those of the second, take the place of those towards
        the rest. The scale is returned with each pair.
        """
        covariance, weight = self.data
        groups, outside = state.groups, state.coupling[state.label] * state.loading
        member = (state.label[:, None] == groups[None, :]).astype(float)

        def between(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(member.T @ matrix @ member)

        product = np.outer(state.loading, state.loading)
        slope, power = between(weight * covariance * product).clip(0.0), between(weight * product**2)
        scale = slope / np.maximum(power, TINY)
        saved = between(weight * ((covariance - np.outer(outside, outside)) ** 2 - covariance**2)) + slope * scale
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
        covariance, weight = (matrix[block] for matrix in self.data)
        left_over = np.sqrt(weight) * (covariance - np.outer(state.loading[members], state.loading[members]))
        np.fill_diagonal(left_over, 0.0)
        leading = np.linalg.eigh(left_over)[1][:, -1] > 0
        moved = members[leading != leading[0]]
        return moved if 2 <= len(moved) <= len(members) - 2 else None
