"""Votes that are numbers: every voter has its own bins, and a vote is the number of its bin.

Bins are cut at ranks of the voter's own answers, finer at both ends, so no two voters need one scale and an outlier
is one answer among others. What is kept are edges as values, so that new answers are coded as those of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.number_codes import code_numbers
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.votes.alphabet import UNKNOWN, Alphabet, LabelRules, same_text
from goldless.votes.words import folded

LEVELS_KEPT = 8  # as many different answers each have a bin of their own; more are cut at eighths of the ranks
_OUTERMOST = 10  # answers that an outer bin must hold to be halved: fewer are noise
_FEWEST = 5  # answers of a bin; those of a smaller one join their neighbours
_HALVINGS = 8  # of an outer bin: 1 / 2048 of the answers, rarer than classes that can be told at all
_FEW_WHOLE = 1 << 10  # whole numbers this close together are counted without sorting
_ROWS_AT_ONCE = 1 << 13
_MOST_LEVELS = 1 << 12  # different answers of a voter that are counted one by one while votes are streamed


@dataclass(frozen=True, eq=False)
class Levels:
    """Answers of a voter in order, with how many there are of each. They add.

    As long as there are few different answers, this is exact. More are merged with their neighbours, as little as
    possible at both ends (the merging digest of Dunning and Ertl): an eighth is then known to about 1 in 10,000.
    """

    values: NDArray[np.float64]  # (n_levels,): different answers, or means of neighbouring ones, in order
    counts: NDArray[np.float64]  # (n_levels,): how many answers each stands for

    @classmethod
    def of(cls, answers: NDArray[np.float64], weights: NDArray[np.number] | None = None) -> Levels:
        """Count answers, those that are missing (NaN) or stand for no item left out."""
        voted = ~np.isnan(answers)
        if weights is not None:
            voted &= weights > 0
        of_items = None if weights is None else weights[voted]
        return cls(*distinct_numbers(answers[voted], of_items))

    def __add__(self, other: Levels) -> Levels:
        answers, counts = (
            np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("values", "counts")
        )
        return Levels(*distinct_numbers(answers, counts))._merged()

    def _merged(self) -> Levels:
        """Return at most a few thousand levels."""
        if len(self.values) <= _MOST_LEVELS:
            return self
        # neighbours whose ranks fall into one cell of arcsin sqrt(rank), which is narrow at both ends, become one
        middle = (np.cumsum(self.counts) - self.counts / 2) / self.n_answers
        cell = np.floor(np.arcsin(np.sqrt(middle)) / (np.pi / 2) * (_MOST_LEVELS // 2))
        _, inverse = np.unique(cell, return_inverse=True)
        counts = np.bincount(inverse, self.counts).astype(float)
        return Levels(np.bincount(inverse, self.counts * self.values) / counts, counts)

    @property
    def n_answers(self) -> float:
        """Number of answers."""
        return float(self.counts.sum())

    def bins(self, cut: float | None = None) -> NDArray[np.int64]:
        """Return the bin of every level; a cut, if there is one, is an edge of bins."""
        n_answers, n_levels = self.n_answers, len(self.values)
        bins = np.arange(n_levels)
        if n_levels > LEVELS_KEPT:
            middle = (np.cumsum(self.counts) - self.counts / 2) / n_answers
            bins = np.searchsorted(rank_cuts(n_answers), middle, side="right")
        if cut is None:
            return _without_small(bins, self.counts)
        below = int(np.searchsorted(self.values, cut))
        parts = [_without_small(bins[part], self.counts[part]) for part in (slice(below), slice(below, None))]
        after = parts[0].max(initial=-1) + 1
        return np.concatenate([parts[0], parts[1] + after])


def distinct_numbers(
    numbers: NDArray[np.float64], weights: NDArray[np.number] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the different numbers in order, and the weight of each; none of them missing."""
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)
    if high - low < _FEW_WHOLE and (numbers == np.floor(numbers)).all():  # grades: counted without sorting
        counts = np.bincount((numbers - low).astype(np.int64), weights)
        found = np.flatnonzero(np.bincount((numbers - low).astype(np.int64)) if weights is not None else counts)
        return low + found.astype(np.float64), counts[found].astype(np.float64)
    if weights is None:
        values, counts = np.unique(numbers, return_counts=True)
    else:
        values, inverse = np.unique(numbers, return_inverse=True)
        counts = np.bincount(inverse.ravel(), weights, len(values))
    return values, counts.astype(np.float64)


def rank_cuts(n_answers: float) -> NDArray[np.float64]:
    """Return where so many answers are cut: at eighths, and the outer ones halved as long as there are answers."""
    cuts, outer = [k / LEVELS_KEPT for k in range(1, LEVELS_KEPT)], 1 / LEVELS_KEPT
    for _ in range(_HALVINGS):
        if outer / 2 * n_answers < _OUTERMOST:
            break
        outer /= 2
        cuts += [outer, 1 - outer]
    return np.sort(cuts)


def _without_small(bins: NDArray[np.int64], counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return bins, numbered from 0, in which small ones have joined the next, or the last one the one before."""
    if not len(bins):
        return bins
    number = np.unique(bins, return_inverse=True)[1].ravel()
    size = np.bincount(number, counts)
    fewest = min(_FEWEST, max(1.0, size.sum() // 4))
    joined, current, held = np.zeros(len(size), dtype=np.int64), 0, 0.0
    for b, answers in enumerate(size):
        joined[b] = current
        held += answers
        if held >= fewest:
            current, held = current + 1, 0.0
    if held and current:
        joined[joined == current] = current - 1
    return joined[number]


@dataclass(frozen=True, eq=False)
class Bins:
    """How the numbers of every voter are read, and become symbols."""

    # what the numbers of each voter are: "ordinal", "probabilities" or "scores", or "labels" of a voter that says one
    # of two numbers
    kinds: tuple[str, ...]
    # of each voter the smallest number of every bin but the first, as many as it has bins less one. Numbers of a
    # voter whose sign is -1 are multiplied by it first
    edges: tuple[NDArray[np.float64], ...]
    sign: NDArray[np.int64]  # (n_voters,): -1 where lower is positive, else 1
    # (n_voters, n_symbols): mean of the numbers in each bin, as the voter says them; not a number for bins it does
    # not have
    means: NDArray[np.float64]
    positive_from: float | None = None  # the user's own cut: numbers from here on are positive
    # numbers of words, where voters that say labels say them in words beside numbers of others
    words: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        levels: Sequence[Levels],
        kinds: Sequence[str],
        sign: NDArray[np.int64] | None = None,
        positive_from: float | None = None,
        words: Mapping[str, int] | None = None,
    ) -> Bins:
        """Cut the answers of every voter, which have been multiplied by its sign."""
        sign = np.ones(len(kinds), dtype=np.int64) if sign is None else sign
        edges, means = [], []
        for of_voter, turn, kind in zip(levels, sign, kinds, strict=True):
            cut = None if positive_from is None or kind == "labels" else float(turn) * positive_from
            bins = of_voter.bins(cut)
            first = np.flatnonzero(np.diff(bins, prepend=-1))
            edges.append(of_voter.values[first[1:]])
            size = np.bincount(bins, of_voter.counts)
            means.append(turn * np.bincount(bins, of_voter.counts * of_voter.values) / size)
        n_symbols = max(2, *(len(mean) for mean in means))
        padded = [np.pad(mean, (0, n_symbols - len(mean)), constant_values=np.nan) for mean in means]
        return cls(tuple(kinds), tuple(edges), sign, np.array(padded), positive_from, dict(words or {}))

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.kinds)

    @property
    def n_symbols(self) -> int:
        """Number of bins of the voter with most of them."""
        return self.means.shape[1]

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """Number of bins of each voter."""
        return np.array([len(edges) + 1 for edges in self.edges], dtype=np.int64)

    def codes(self, answers: NDArray[np.float64]) -> NDArray[np.int8]:
        """Return the codes of a table of answers, a column for each voter; -1 for those that are missing (NaN)."""
        edges = np.full((max(map(len, self.edges), default=0), self.n_voters), np.inf)
        for voter, own in enumerate(self.edges):
            edges[: len(own), voter] = own
        codes = np.empty(answers.shape, dtype=np.int8)
        sign = self.sign.astype(np.float64)
        ordered_map(
            lambda rows: code_numbers(answers[rows], edges, sign, codes[rows]), row_chunks(len(codes), _ROWS_AT_ONCE)
        )
        return codes

    def subset(self, voters: NDArray[np.integer]) -> Bins:
        """Return the bins of some of the voters."""
        return replace(
            self,
            kinds=tuple(self.kinds[voter] for voter in voters),
            edges=tuple(self.edges[voter] for voter in voters),
            sign=self.sign[voters],
            means=self.means[voters],
        )

    @property
    def are_probabilities(self) -> NDArray[np.bool_]:
        """Which voters say probabilities."""
        return np.array([kind == "probabilities" for kind in self.kinds])

    @property
    def stated(self) -> NDArray[np.float64]:
        """Probability of the positive class that each bin states, shape (n_voters, n_symbols).

        That of a probability is its mean, those of two labels are 0 and 1; grades and scores state none (NaN).
        """
        probability = np.where(self.sign[:, None] < 0, 1 - self.means, self.means)
        label = np.where(self.n_bins[:, None] > 1, np.arange(self.n_symbols), np.nan)  # of one bin nothing is known
        are_labels = np.array([kind == "labels" for kind in self.kinds])[:, None]
        of_voters = np.where(are_labels, label, np.where(self.are_probabilities[:, None], probability, np.nan))
        return np.where(np.isnan(self.means), np.nan, of_voters)

    @property
    def above_cut(self) -> NDArray[np.float64]:
        """Share of each bin at or above the user's cut, 0 or 1, shape (n_voters, n_symbols); or of labels."""
        assert self.positive_from is not None
        above = self.sign[:, None] * self.means >= self.sign[:, None] * self.positive_from
        are_labels = np.array([kind == "labels" for kind in self.kinds])[:, None]
        label = np.where(self.n_bins[:, None] > 1, np.arange(self.n_symbols) > 0, self.means > 0.5)
        return np.where(are_labels, label, above).astype(np.float64)


@dataclass(frozen=True, eq=False)
class NumberAlphabet(Alphabet):
    """Bins of every voter, in place of labels. What may be said are the bins, what may be true the two classes."""

    bins: Bins = None  # type: ignore[assignment]  # a field behind those with a default

    @classmethod
    def of(cls, classes: NDArray, bins: Bins, rules: LabelRules, text: bool = False) -> NumberAlphabet:
        """Return the alphabet of known bins."""
        return cls(np.asarray(classes), replace(rules, classes=np.asarray(classes)), text, bins)

    def __len__(self) -> int:
        return self.bins.n_symbols

    @property
    def grows(self) -> bool:
        """Never: a number falls into one of the bins."""
        return False

    def settled(self) -> Alphabet:
        """Return the alphabet itself."""
        return self

    def _code(self, label: Any) -> int:
        """Return the code of a class; words for two classes, and 0 and 1, name them too, as the truth may."""
        found = super()._code(label)
        if found != UNKNOWN or len(self.values) != 2:
            return found
        word = folded(label) if isinstance(label, str) else ""
        if word in self.bins.words:
            return self.bins.words[word]
        return next((side for side in (0, 1) if self.bins.words and same_text(label, side)), UNKNOWN)
