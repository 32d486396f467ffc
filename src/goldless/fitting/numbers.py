"""Votes that are numbers: where EM starts, the class balance that probabilities tell, and what to make of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.fitted import Fitted
from goldless.kernels.number_codes import count_by_parent, mean_by_group
from goldless.kernels.threads import one_linear_algebra_thread, ordered_map, row_chunks
from goldless.maths.em import ExpectedCounts
from goldless.maths.ordered import Ordered, midranks_of, share_above
from goldless.maths.tree import TreeModel
from goldless.maths.tree_makers import independent_model
from goldless.votes.bins import Bins
from goldless.votes.rows import PatternTable

_BALANCE_FLOOR = 1e-3
_ROWS_AT_ONCE = 1 << 11  # what is made of them stays in the cache
_TWO_CLASSES = 0.95  # of T, from which the posterior is taken at its word
_ENOUGH_ITEMS = 200  # for T to say anything
_ONE_SIDED = 1.645  # standard errors below T: 95 %


@dataclass(frozen=True, eq=False)
class RankedVotes:
    """What the codes of voters that say numbers stand for."""

    bins: Bins  # of the voters in question
    share: NDArray[np.float64]  # (n_voters, n_symbols): share of the answers of each voter in each bin

    @property
    def midranks(self) -> NDArray[np.float64]:
        """Middle of the ranks of the answers in each bin, shape (n_voters, n_symbols)."""
        return midranks_of(self.share)

    @property
    def ordered(self) -> Ordered:
        """What is expected of the voters."""
        return Ordered(self.share, self.bins.n_bins, self.positive, self.are_ranks)

    @property
    def positive(self) -> NDArray[np.float64]:
        """How far each bin speaks for the positive class: by the user's cut, as a probability, or by its rank."""
        if self.bins.positive_from is not None:
            return self.bins.above_cut
        return self.midranks if self.are_ranks else np.nan_to_num(self.bins.stated)

    @property
    def are_ranks(self) -> bool:
        """Whether bins speak by rank alone."""
        return self.bins.positive_from is None and not self.bins.are_probabilities.all()

    @property
    def class_prior(self) -> NDArray[np.float64] | None:
        """Pr(Y) as votes state it: by the middle voter that says probabilities or labels, or by the user's cut.

        The middle and not the mean, for one voter whose probabilities are no such thing must not move it. A voter of
        two labels among scores says by them where it cuts, which scores do not.
        """
        if self.bins.positive_from is not None:
            stated = (self.share * self.bins.above_cut).sum(axis=1)
        else:
            states = ~np.isnan(self.bins.stated[:, 0])
            if not states.any():
                return None
            stated = (self.share * np.nan_to_num(self.bins.stated)).sum(axis=1)[states]
        balance = float(np.clip(np.median(stated), _BALANCE_FLOOR, 1 - _BALANCE_FLOOR))
        return np.array([1 - balance, balance])

    def cut(self, codes: NDArray[np.int8], ratio: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
        """Return the log-likelihood ratio from which an item is positive.

        That is 0, or with a cut of the user's own the ratio that as many items exceed as have most of their votes at
        or above that cut: two states of EM on one scale would drift to its middle.
        """
        if self.bins.positive_from is None:
            return 0.0
        above = row_means(codes, self.bins.above_cut)
        share = counts @ ((above > 0.5) + 0.5 * (above == 0.5)) / counts.sum()
        return share_above(ratio, counts, float(share))

    def mean_midranks(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the mean midrank of each row; one half without a vote."""
        return row_means(codes, self.midranks)


def consensus_of(fitted: Fitted, codes: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the mean midrank of each row, from 0 to 1; one half where the user cuts, and without a vote."""
    assert fitted.bins is not None
    assert fitted.symbol_share is not None
    values = midranks_of(fitted.symbol_share)
    if fitted.bins.positive_from is not None:
        values = values + 0.5 - (fitted.symbol_share * (1 - fitted.bins.above_cut)).sum(axis=1, keepdims=True)
    counted = fitted.informative
    return row_means(np.ascontiguousarray(codes[:, counted]), values[counted]).clip(0.0, 1.0)


def spectral_ranks(ranked: RankedVotes, loadings: NDArray[np.float64]) -> TreeModel:
    """Return the model in which the log-likelihood ratio of every vote is linear in its rank (SUMMA).

    A voter with loading v on standardised midranks z, which are v higher than the mean if Y is positive, has
    Pr(bin | Y) proportional to p exp(v z) and p exp(-v z): the ratio of two votes differs by 2 v times that of z.
    """
    share, middle = ranked.share, ranked.midranks
    mean = (share * middle).sum(axis=1, keepdims=True)
    spread = np.sqrt((share * (middle - mean) ** 2).sum(axis=1, keepdims=True))
    lean = loadings[:, None] * (middle - mean) / np.where(spread > 0, spread, 1.0)
    used = np.arange(share.shape[1]) < ranked.bins.n_bins[:, None]
    tilted = np.stack([share * np.exp(-lean), share * np.exp(lean)], axis=1) + 1e-9 * used[:, None, :]
    prior = np.array([0.5, 0.5]) if ranked.class_prior is None else ranked.class_prior
    return independent_model(prior, tilted / tilted.sum(axis=2, keepdims=True))


def soft_votes(ordered: Ordered, table: PatternTable, groups: NDArray[np.int64]) -> ExpectedCounts:
    """Return expected counts to start EM from: every group, and every voter that is alone, has one soft vote."""
    codes, counts = table.codes, table.weights
    n_groups, n_symbols = int(groups.max()) + 1, ordered.positive.shape[1]
    own = np.flatnonzero(np.bincount(groups, minlength=n_groups) >= 2)

    def mean_of_units(rows: slice) -> NDArray[np.float64]:
        """Return the mean of all units of some rows, then the means of those in groups."""
        units = means_by_group(codes[rows], ordered.positive, groups, np.nan)
        voted = ~np.isnan(units)
        n_voted = voted.sum(axis=1)
        hub = np.where(n_voted > 0, np.where(voted, units, 0.0).sum(axis=1) / np.maximum(n_voted, 1), 0.5)
        return np.column_stack([hub, np.nan_to_num(units[:, own], nan=0.5)])

    means = np.concatenate(ordered_map(mean_of_units, row_chunks(len(codes), _ROWS_AT_ONCE)))
    ranked = weighted_ranks if ordered.by_rank else lambda values, _: values
    # the states of the hub, then those of the latents of groups
    positive = np.column_stack([ranked(of_unit, counts) for of_unit in means.T])
    parent = np.zeros(n_groups, dtype=np.int64)
    parent[own] = 1 + np.arange(len(own))
    votes = np.zeros((len(groups), 2, n_symbols))
    count_by_parent(codes, positive, counts, parent[groups], votes)
    of_hub = np.stack([1 - positive[:, 0], positive[:, 0]]) * counts
    latents = np.zeros((n_groups, 2, 2))
    for place, group in enumerate(own):
        alpha = positive[:, 1 + place]
        latents[group] = np.stack([1 - alpha, alpha]) @ of_hub.T
    return ExpectedCounts(of_hub.sum(axis=1), latents, votes, -np.inf)


def means_by_group(
    codes: NDArray[np.int8], values: NDArray[np.float64], groups: NDArray[np.int64], nothing: float
) -> NDArray[np.float64]:
    """Return the mean over the votes of each group on each row of what they stand for, ``nothing`` without a vote."""
    means = np.empty((len(codes), int(groups.max(initial=0)) + 1))
    mean_by_group(codes, np.ascontiguousarray(values), groups, nothing, means)
    return means


def row_means(codes: NDArray[np.int8], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the votes of each row of what they stand for, one half for a row without a vote."""
    return means_by_group(codes, values, np.zeros(codes.shape[1], dtype=np.int64), 0.5)[:, 0]


def weighted_ranks(values: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the midrank of every value, from 0 to 1, each standing for so many items."""
    _, inverse = np.unique(values, return_inverse=True)
    size = np.bincount(inverse.ravel(), counts)
    return ((np.cumsum(size) - size / 2) / max(float(size.sum()), 1.0))[inverse.ravel()]


class Separation(NamedTuple):
    """T = (m_1 - m_0) / v of the log-odds: about 1 for two classes, clearly less for one continuous scale."""

    value: float
    error: float  # its standard error

    def of_two_classes(self, n_items: int) -> bool:
        """Whether the posterior of scores may be printed as it is: T is clearly high, not by luck of few items."""
        return n_items >= _ENOUGH_ITEMS and self.value - _ONE_SIDED * self.error >= _TWO_CLASSES


@one_linear_algebra_thread()
def scale_or_classes(
    ratio: NDArray[np.float64], posterior: NDArray[np.float64], counts: NDArray[np.float64]
) -> Separation:
    """Return T and its standard error.

    If the two classes are real and the model holds, the log-likelihood ratio has means whose difference is its
    variance within the classes. The error is that of the influence of single items, the posterior held.
    """
    weight = np.stack([1 - posterior, posterior])
    n_items = max(float(counts.sum()), 1.0)
    share = np.maximum(weight @ counts / n_items, 1e-9)
    mean = (weight * counts) @ ratio / (share * n_items)
    squares = (weight * (ratio - mean[:, None]) ** 2).sum(axis=0)
    variance = max(float(counts @ squares) / n_items, 1e-9)
    value = float(mean[1] - mean[0]) / variance
    away = weight * (ratio - mean[:, None]) / share[:, None]
    influence = (away[1] - away[0] - value * (squares - variance)) / variance
    return Separation(value, float(np.sqrt(counts @ influence**2)) / n_items)
