"""Panels of voters: what a panel can be expected to get right, and which panels are worth their cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from goldless.shown import Shown

_FOR_ANOTHER_FAMILY = 0.03  # expected accuracy: voters of one name share errors that votes may not show
_LARGEST = 24  # voters; by then a further one adds next to nothing
_RIDGE = 0.01  # in units of a vote's variance, so that near-copies share a weight instead of cancelling
_RATES_OF_EXCHANGE = 6
_LEAST_GAIN = 5e-4  # in balanced accuracy
_LEAST_VOTES = 0.25
_SAME = 1e-6


@dataclass(frozen=True)
class Panel(Shown):
    """A panel of voters and what can be expected of it.

    Attributes
    ----------
    voters : tuple
        Its voters, in the order they were chosen: names if the votes had names, otherwise column numbers.
    cost : float
        What they cost together; their number, if no costs were given.
    balanced_accuracy : float
        Expected when votes are weighted, as ``model.subset(voters)`` does.
    vote_accuracy : float
        Expected balanced accuracy when votes are simply counted, a tie as half right.
    effective_votes : float
        How many independent votes the panel is worth.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(2_000, groups=[4] + [1] * 8, random_state=0)
    >>> panel = gl.LatentSML(structure="independent").fit(X).panels()[0]
    >>> len(panel.voters), panel.cost
    (1, 1.0)
    """

    voters: tuple
    cost: float
    balanced_accuracy: float
    vote_accuracy: float
    effective_votes: float

    @property
    def worth(self) -> float:
        """Mean of the two accuracies: a good panel is good whether its votes are weighted or counted."""
        return (self.balanced_accuracy + self.vote_accuracy) / 2


class PanelChooser:
    """Chooses panels by what they can be expected to get right.

    Parameters
    ----------
    judge : Judge
        Says what panels can be expected to get right.
    cost : ndarray of shape (n_voters,)
        Cost of each voter, none negative.
    include : ndarray of int
        Voters that every panel has.
    pool : ndarray of int
        Voters that may be chosen besides; of two that would add the same, the first in this order is chosen.
    families : sequence of str or None, optional
        Family of each voter: of voters that would add nearly the same, one of a family not there yet is chosen.
    """

    def __init__(
        self,
        judge: Judge,
        cost: NDArray[np.float64],
        include: NDArray[np.int64],
        pool: NDArray[np.int64],
        families: Sequence[str | None] | None = None,
    ):
        self._judge = judge
        self._cost, self._include, self._pool = cost, include.tolist(), pool
        self._families = families

    def path(self, size: int) -> list[int]:
        """Return a panel of a given size, in the order of choice: each voter is the one that adds most.

        So a smaller panel is the beginning of a larger one. From 24 voters on they come in the order of the pool.
        """
        chosen = list(self._include)
        while len(chosen) < min(size, _LARGEST):
            candidates = self._candidates(chosen)
            if not len(candidates):
                break
            chosen.append(self._next(chosen, candidates))
        return [*chosen, *self._candidates(chosen).tolist()][:size]

    def _next(self, chosen: list[int], candidates: NDArray[np.int64]) -> int:
        """Return the candidate that adds most, of a new family if that costs next to nothing."""
        promise = self._judge.promise(chosen, candidates)
        best = _first_largest(promise)
        if self._families is not None and chosen:
            there = {self._families[voter] for voter in chosen} - {None}
            fresh = np.array([self._families[voter] not in there for voter in candidates])
            if fresh.any() and promise[fresh].max() >= promise[best] - _FOR_ANOTHER_FAMILY:
                best = _first_largest(np.where(fresh, promise, -np.inf))
        return int(candidates[best])

    def grown(self, largest: int | None = None, budget: float = np.inf) -> list[list[int]]:
        """Return panels of every size within a budget, to choose from.

        Panels are grown voter by voter at several rates of exchange between accuracy and cost, from accuracy alone to
        accuracy per unit of cost. If all cost the same there is one path, that of :meth:`path`.
        """
        most = min(_LARGEST if largest is None else largest, len(self._include) + len(self._pool))
        seen: dict[tuple[int, ...], list[int]] = {}
        for rate in self._rates():
            self._grow(rate, most, budget, seen)
        return list(seen.values())

    def _grow(self, rate: float, largest: int, budget: float, seen: dict[tuple[int, ...], list[int]]) -> None:
        """Grow a panel at one rate of exchange, and note it at every size."""
        chosen = list(self._include)
        promise = float(self._judge.promise(chosen[:-1], np.array(chosen[-1:]))[0]) if chosen else 0.5
        if chosen and self.cost(chosen) <= budget + _SAME:
            seen[tuple(sorted(chosen))] = list(chosen)
        while len(chosen) < largest:
            candidates = self._candidates(chosen)
            candidates = candidates[self.cost(chosen) + self._cost[candidates] <= budget + _SAME]
            if not len(candidates):
                return
            promises = self._judge.promise(chosen, candidates)
            price, gain = self._cost[candidates], promises - promise
            best = _first_largest(gain / np.maximum(price, _SAME) if np.isinf(rate) else gain - rate * price)
            chosen.append(int(candidates[best]))
            promise = float(promises[best])
            seen.setdefault(tuple(sorted(chosen)), list(chosen))

    def _rates(self) -> list[float]:
        """Return rates of exchange, in accuracy for a unit of cost: none, some, and as much as can be had."""
        prices = self._cost[self._pool]
        positive = prices[prices > 0]
        if not len(positive) or np.ptp(prices) <= _SAME * positive.max():
            return [0.0]
        between = np.geomspace(2e-3, 0.3, _RATES_OF_EXCHANGE) / np.median(positive)
        return [0.0, *between.tolist(), np.inf]

    def _candidates(self, chosen: list[int]) -> NDArray[np.int64]:
        return self._pool[~np.isin(self._pool, chosen)]

    def cost(self, voters: list[int]) -> float:
        """Return what voters cost together."""
        return float(self._cost[voters].sum())

    def accuracy(self, voters: list[int]) -> tuple[float, float]:
        """Return the expected balanced accuracy of a panel's votes, weighted and counted."""
        weighted, counted = self._judge.measured(voters[:-1], np.array(voters[-1:]))
        return float(weighted[0]), float(counted[0])


class Judge(Protocol):
    """Says what panels of voters can be expected to get right.

    A panel is judged on real votes, with the posterior of the fitted model in the place of the truth: so dependence
    that the fitted groups do not explain counts too.
    """

    def promise(self, chosen: list[int], candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the panel with each of the candidates is judged by."""

    def measured(self, chosen: list[int], candidates: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
        """Return the accuracy of weighted and of counted votes of the panel with each of the candidates."""


def judge_of(codes: NDArray[np.int8], weights: NDArray[np.floating], confusion: NDArray[np.float64]) -> Judge:
    """Return the judge of votes.

    ``codes`` (n_patterns, n_voters): patterns of votes, -1 missing; ``weights`` (n_classes, n_patterns): share of the
    items of each class with each pattern; ``confusion`` (n_voters, n_classes, n_classes): Pr(vote | Y) of each voter.
    """
    if len(weights) > 2:
        return ClassesJudge(codes, weights, confusion, np.broadcast_to(np.eye(len(weights)), confusion.shape))
    return TwoClassJudge(np.where(codes < 0, 0, 2 * codes - 1).astype(np.int8), weights)


class TwoClassJudge:
    """Judges panels of two classes.

    By the mean of two expected balanced accuracies: of the panel's votes counted, and of its votes weighted to
    separate the classes best (Fisher's discriminant). A panel of even size ties where one voter more would decide;
    it is judged by its first two moments instead, as if the share of votes for a class followed a Beta distribution,
    so that growing by one voter is a step forward.

    Parameters
    ----------
    votes : ndarray of shape (n_patterns, n_voters)
        Patterns of votes, coded -1, 0 (missing) and +1.
    weights : ndarray of shape (2, n_patterns)
        Share of the negative and of the positive items with each pattern.
    """

    def __init__(self, votes: NDArray[np.int8], weights: NDArray[np.floating]):
        self._votes = votes.astype(np.float32)
        self._difference = (weights[1] - weights[0]).astype(np.float32)
        self._mean = (weights @ self._votes).astype(np.float64)
        products = [(self._votes * weight[:, None]).T @ self._votes for weight in weights.astype(np.float32)]
        self._within = np.stack(products).astype(np.float64) - self._mean[:, :, None] * self._mean[:, None, :]
        voters = np.arange(votes.shape[1])
        self._within[:, voters, voters] = 1 - self._mean**2  # who does not vote is given a coin to toss

    def promise(self, chosen: list[int], candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the panel with each of the candidates is judged by."""
        if len(chosen) % 2:
            return self._smooth(_with_each(chosen, candidates))
        return np.mean(self.measured(chosen, candidates), axis=0)

    def measured(self, chosen: list[int], candidates: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
        """Return the accuracy of weighted and of counted votes of the panel with each of the candidates."""
        before, added = self._votes[:, chosen], self._votes[:, candidates]
        counted = self._score(before.sum(axis=1)[:, None] + added)
        panels = _with_each(chosen, candidates)
        weights, cut = self._discriminant(panels)
        weights, cut = weights.astype(np.float32), cut.astype(np.float32)
        weighted = self._score(before @ weights[:, :-1].T + added * weights[:, -1] - cut)
        return np.maximum(weighted, counted), counted  # equal weights are a weighting too

    def _score(self, evidence: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the balanced accuracy of the signs of columns of evidence, zero as half right."""
        return 0.5 + 0.25 * (self._difference @ np.sign(evidence)).astype(np.float64)

    def _discriminant(self, panels: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
        """Return Fisher's weights of panels, none negative, and a cut as many deviations from both classes."""
        mean = self._mean[:, panels]
        within = self._within[:, panels[:, :, None], panels[:, None, :]]
        pooled = within.mean(axis=0) + _RIDGE * np.eye(panels.shape[1])
        weights = np.linalg.solve(pooled, (mean[1] - mean[0])[:, :, None])[:, :, 0].clip(0.0)
        weights[weights.sum(axis=1) <= _SAME] = 1.0
        middle, spread = _sum_moments(mean, within, weights)
        return weights, (middle[0] * spread[1] + middle[1] * spread[0]) / spread.sum(axis=0)

    def _smooth(self, panels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean accuracy of weighted and of counted votes from their first two moments."""
        mean = self._mean[:, panels]
        within = self._within[:, panels[:, :, None], panels[:, None, :]]
        equal = np.ones(panels.shape)
        counted = _beta_accuracy(*_sum_moments(mean, within, equal), equal.sum(axis=1), np.zeros(len(panels)))
        weights, cut = self._discriminant(panels)
        weighted = _beta_accuracy(*_sum_moments(mean, within, weights), weights.sum(axis=1), cut)
        return (np.maximum(weighted, counted) + counted) / 2


class ClassesJudge:
    """Judges panels of more than two classes, or of voters that say numbers.

    By the mean of two expected macro recalls: of the class with most votes of the panel, and of the class that its
    votes make likeliest, each voter with its own confusions. Ties are shared evenly.

    Parameters
    ----------
    codes, weights, confusion : ndarray
        As in :func:`judge_of`; of numbers the symbols are bins.
    shares : ndarray of shape (n_voters, n_classes, n_symbols)
        How much of a vote for each class a symbol is: all for the class it names, or of numbers the midrank.
    """

    def __init__(
        self,
        codes: NDArray[np.int8],
        weights: NDArray[np.floating],
        confusion: NDArray[np.float64],
        shares: NDArray[np.float64],
    ):
        self._codes, self._weights = codes, weights.astype(np.float64)
        nothing = np.zeros((*confusion.shape[:2], 1))  # last: no vote
        self._evidence = np.concatenate([np.log(np.maximum(confusion, _SAME)), nothing], axis=2)
        self._shares = np.concatenate([shares, nothing], axis=2)

    def promise(self, chosen: list[int], candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the panel with each of the candidates is judged by."""
        return np.mean(self.measured(chosen, candidates), axis=0)

    def measured(self, chosen: list[int], candidates: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
        """Return the accuracy of weighted and of counted votes of the panel with each of the candidates."""
        n_classes = len(self._weights)
        counts, evidence = np.zeros((len(self._codes), n_classes)), np.zeros((len(self._codes), n_classes))
        for voter in chosen:
            counts += self._look_up(self._shares, voter)
            evidence += self._look_up(self._evidence, voter)
        counted, weighted = (
            np.array([self._recall(before + self._look_up(table, voter)) for voter in candidates])
            for before, table in ((counts, self._shares), (evidence, self._evidence))
        )
        return np.maximum(weighted, counted), counted

    def _look_up(self, tables: NDArray[np.float64], voter: int) -> NDArray[np.float64]:
        return tables[voter][:, self._codes[:, voter]].T

    def _recall(self, scores: NDArray[np.float64]) -> float:
        """Return the macro recall of the class with the largest score."""
        best = scores >= scores.max(axis=1, keepdims=True) - _SAME
        return float((self._weights * (best / best.sum(axis=1, keepdims=True)).T).sum(axis=1).mean())


def worth_their_cost(panels: Sequence[Panel]) -> tuple[Panel, ...]:
    """Return the panels that give something for their cost, cheapest first.

    Each is as accurate as every cheaper one, and beats all of them in accuracy (by 0.05 points) or in effective votes
    (by a quarter of a vote).
    """
    kept: list[Panel] = []
    best, most = -np.inf, 0.0
    for panel in sorted(panels, key=lambda panel: (panel.cost, -panel.worth, len(panel.voters))):
        gain, more = panel.worth - best, panel.effective_votes - most
        if gain > _LEAST_GAIN or (gain > -_LEAST_GAIN and more > _LEAST_VOTES):
            kept.append(panel)
            best, most = max(best, panel.worth), max(most, panel.effective_votes)
    return tuple(kept)


def _sum_moments(mean: NDArray, within: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """Return mean and standard deviation of weighted sums of votes in each class, shape (2, n_panels) each."""
    middle = np.einsum("ypi,pi->yp", mean, weights)
    variance = np.einsum("ypij,pi,pj->yp", within, weights, weights)
    return middle, np.sqrt(np.maximum(variance, 1e-9))


def _beta_accuracy(middle: NDArray, spread: NDArray, full: NDArray, cut: NDArray) -> NDArray[np.float64]:
    """Return the balanced accuracy of sums within -full and full that follow Beta distributions, at a cut."""
    right = np.zeros_like(full)
    for side, mean, deviation in ((-1, middle[0], spread[0]), (1, middle[1], spread[1])):
        share = ((1 + side * mean / full) / 2).clip(1e-9, 1 - 1e-9)
        total = np.maximum(4 * share * (1 - share) * (full / deviation) ** 2 - 1, 1e-6)
        place = ((1 + side * cut / full) / 2).clip(0, 1)
        right += (1 - betainc(share * total, (1 - share) * total, place)) / 2
    return right


def _with_each(chosen: list[int], candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the panel with each of the candidates added, one a row."""
    before = np.tile(np.array(chosen, dtype=np.int64), (len(candidates), 1))
    return np.hstack([before, candidates[:, None]])


def _first_largest(values: NDArray[np.float64]) -> int:
    """Return the place of the largest value, of nearly equal ones the first."""
    return int(np.flatnonzero(values >= values.max() - _SAME)[0])
