"""Which voters depend on each other: searched, by the paper's rule, given, or none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from goldless.fitting.core import PARTNERS, FitVotes
from goldless.fitting.fitted import Alternative
from goldless.maths.checks import as_groups, relabel
from goldless.maths.clustering import assign_groups
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.rank_one import filled_covariance, residual
from goldless.maths.score import score_matrix
from goldless.maths.structure.prices import items_to_share
from goldless.maths.structure.result import Structure
from goldless.maths.structure.search import covariance_misfit, search_structure

_FEWEST_VOTERS = 4
MOST_SCORED = 1000  # voters; of more the score takes longer than all else, and nothing in a fit needs it
_ALL_SEARCHED_UP_TO = 100  # voters; of more, only those are searched that could pay for a group


@dataclass(frozen=True, eq=False)
class FoundGroups:
    """The groups of the fitted voters, and what the search saw."""

    groups: NDArray[np.int64]  # (n_fitted,)
    structure: Structure | None  # what the search found, if there was one
    overdispersion: float  # misfit of the covariance model: 1 when it holds
    score: NDArray[np.float64]  # (n_voters, n_voters): score of every pair of voters (eq. score)
    # v_on, v_off: (n_voters,): loadings within and across groups (Lemma 1)
    v_on: NDArray[np.float64]
    v_off: NDArray[np.float64]
    residual: float  # residual of the grouping (eq. res)
    residual_path: dict[int, float]  # residual for each number of groups tried by the paper's rule
    # a grouping that fits as well as that of the search and labels otherwise, if no groups are used because of it
    undecided: Alternative | None = None


def find_groups(votes: FitVotes, structure: str | ArrayLike, n_groups: int | Iterable[int] | None) -> FoundGroups:
    """Group the fitted voters.

    ``structure`` (n_voters,); ``n_groups``: number of groups, or the candidates, for "paper".
    """
    estimate, compared = votes.covariance, votes.compared
    n_fitted = votes.sums.n_voters
    groups, searched, path = np.arange(n_fitted), None, dict[int, float]()
    if not isinstance(structure, str):
        groups = _given(structure, votes.core_voter)
    if len(compared) < min(n_fitted, _FEWEST_VOTERS):  # of this crowd no two voters can be compared
        groups = np.arange(n_fitted) if groups.max() == 0 else groups
        nothing = np.zeros(len(votes.core_voter))
        return FoundGroups(groups, None, 1.0, np.zeros((0, 0)), nothing, nothing, 0.0, path)
    covariance = filled_covariance(estimate)
    by_paper = isinstance(structure, str) and structure == "paper"
    scored = by_paper or len(covariance) <= MOST_SCORED
    score = np.asarray(score_matrix(covariance)) if scored else np.zeros((0, 0))
    if isinstance(structure, str) and structure == "paper" and len(compared) < n_fitted:
        raise ValueError(
            f"structure='paper' compares every two voters, and of {n_fitted:,} only {len(compared)} share enough "
            "items: use structure='search'."
        )
    if isinstance(structure, str) and structure == "paper":
        found = assign_groups(covariance, n_groups=n_groups, score=score)
        groups, path = found.groups, found.residual_path
    elif isinstance(structure, str) and structure == "search" and can_be_searched(votes):
        searched = _search(estimate, compared, votes.n_items, n_fitted)
        groups = groups if searched is None else searched.groups
    if groups.max() == 0:  # one group of all: its latent is Y
        groups = np.arange(n_fitted)
    of_compared = relabel(groups[compared])
    fit = residual(covariance, of_compared)
    if searched is None:
        overdispersion = covariance_misfit(estimate, None if isinstance(structure, str) else of_compared)
    else:
        overdispersion = searched.overdispersion
    return FoundGroups(
        groups,
        searched,
        overdispersion,
        votes.spread_matrix(score) if scored else score,
        votes.spread(_placed(fit.v_on, compared, n_fitted)),
        votes.spread(_placed(fit.v_off, compared, n_fitted)),
        fit.value,
        path,
    )


def _given(structure: ArrayLike, core_voter: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the given groups of the fitted voters: two that hold copies of one voter are one group."""
    n_voters, said = len(core_voter), core_voter >= 0
    given = as_groups(structure, n_voters)
    # old scipy takes no other indices for a graph
    ends = given[said].astype(np.int32), (n_voters + core_voter[said]).astype(np.int32)
    links = coo_array((np.ones(said.sum()), ends), shape=(2 * n_voters,) * 2)
    _, part_of = connected_components(links, directed=False)
    return relabel(part_of[n_voters : n_voters + core_voter.max() + 1])


def with_groups(votes: FitVotes, found: FoundGroups, groups: NDArray[np.int64]) -> FoundGroups:
    """Return what was found with other groups of the fitted voters."""
    compared = votes.compared
    fit = residual(filled_covariance(votes.covariance), relabel(groups[compared]))
    v_on, v_off = (votes.spread(_placed(part, compared, len(groups))) for part in (fit.v_on, fit.v_off))
    return replace(found, groups=groups, v_on=v_on, v_off=v_off, residual=fit.value)


def can_be_searched(votes: FitVotes) -> bool:
    """Whether there are enough voters, and if they say numbers, ten items for each of them.

    Ranks of 20 to 35 readers on 150 items merged 10 to 13 of them away, and cost 3 to 9 points of AUC.
    """
    enough = votes.votes.bins is None or votes.n_items >= 10 * votes.sums.n_voters
    return enough and votes.sums.n_voters >= _FEWEST_VOTERS


def _search(
    estimate: CovarianceEstimate, compared: NDArray[np.int64], n_items: int, n_voters: int
) -> Structure | None:
    """Search the voters that could be in a group; None if they are too few, or the items.

    Of many voters, as in a crowd, only those are searched that share enough items with two others to pay for a group
    (:func:`~goldless.maths.structure.prices.items_to_share`). The others stay alone.
    """
    able = np.arange(len(compared))
    if n_voters > _ALL_SEARCHED_UP_TO:
        enough = estimate.known & (estimate.n_pairs >= items_to_share(n_items, n_voters))
        able = np.flatnonzero(enough.sum(axis=1) >= PARTNERS)
    if len(able) < _FEWEST_VOTERS or n_items < 2 * len(able):
        return None
    if len(able) == n_voters:
        return search_structure(estimate, n_items)
    found = search_structure(estimate.voters(able), n_items)
    return found.with_groups(lambda groups: _spread(groups, compared[able], n_voters))


def _spread(groups: NDArray[np.int64], able: NDArray[np.int64], n_voters: int) -> NDArray[np.int64]:
    """Return the groups of all voters, those that were not searched alone."""
    everyone = np.arange(n_voters)
    everyone[able] = n_voters + groups
    return relabel(everyone)


def _placed(values: NDArray[np.float64], places: NDArray[np.int64], n_values: int) -> NDArray[np.float64]:
    """Return values at their places, 0 elsewhere."""
    out = np.zeros(n_values)
    out[places] = values
    return out
