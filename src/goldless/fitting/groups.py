"""Which voters depend on each other: searched, by the paper's rule, given, or none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.fitting.core import FitVotes
from goldless.maths.checks import as_groups, relabel
from goldless.maths.clustering import assign_groups
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.rank_one import filled_covariance, residual
from goldless.maths.score import score_matrix
from goldless.maths.structure.result import Structure
from goldless.maths.structure.search import covariance_misfit, search_structure

_FEWEST_VOTERS = 4
_ALL_SEARCHED_UP_TO = 100  # voters; of more, only those are searched that could pay for a group


@dataclass(frozen=True, eq=False)
class FoundGroups:
    """The groups of the fitted voters, and what the search saw.

    Attributes
    ----------
    groups : ndarray of shape (n_fitted,)
    structure : Structure or None
        What the search found, if there was one.
    overdispersion : float
        Misfit of the covariance model: 1 when it holds.
    score : ndarray of shape (n_voters, n_voters)
        Score of every pair of voters (eq. score).
    v_on, v_off : ndarray of shape (n_voters,)
        Loadings within and across groups (Lemma 1).
    residual : float
        Residual of the grouping (eq. res).
    residual_path : dict of int to float
        Residual for each number of groups tried by the paper's rule.
    """

    groups: NDArray[np.int64]
    structure: Structure | None
    overdispersion: float
    score: NDArray[np.float64]
    v_on: NDArray[np.float64]
    v_off: NDArray[np.float64]
    residual: float
    residual_path: dict[int, float]


def find_groups(votes: FitVotes, structure: str | ArrayLike, n_groups: int | Iterable[int] | None) -> FoundGroups:
    """Group the fitted voters.

    Parameters
    ----------
    votes : FitVotes
    structure : {"search", "paper", "independent"} or array-like of shape (n_voters,)
    n_groups : int or iterable of int, optional
        Number of groups, or the candidates, for "paper".
    """
    estimate = votes.covariance
    covariance = filled_covariance(estimate)
    n_fitted = estimate.n_voters
    groups, searched, path = np.arange(n_fitted), None, dict[int, float]()
    score = np.asarray(score_matrix(covariance))
    if not isinstance(structure, str):
        groups = relabel(as_groups(structure, len(votes.core_voter))[votes.voters])
    elif structure == "paper":
        found = assign_groups(covariance, n_groups=n_groups, score=score)
        groups, path = found.groups, found.residual_path
    elif structure == "search" and n_fitted >= _FEWEST_VOTERS and votes.n_items >= items_to_search(votes):
        searched = _search(estimate, votes.n_items, votes.n_classes)
        groups = groups if searched is None else searched.groups
    if groups.max() == 0:  # one group of all: its latent is Y
        groups = np.arange(n_fitted)
    fit = residual(covariance, groups)
    if searched is None:
        overdispersion = covariance_misfit(estimate, None if isinstance(structure, str) else groups)
    else:
        overdispersion = searched.overdispersion
    return FoundGroups(
        groups,
        searched,
        overdispersion,
        votes.spread_matrix(score),
        votes.spread(fit.v_on),
        votes.spread(fit.v_off),
        fit.value,
        path,
    )


def items_to_search(votes: FitVotes) -> int:
    """Return from how many items on groups are searched: twice the voters, and ten times of voters that say numbers.

    Ranks of 20 to 35 readers on 150 items merged 10 to 13 of them away, and cost 3 to 9 points of AUC.
    """
    return (2 if votes.votes.bins is None else 10) * votes.covariance.n_voters


def _search(estimate: CovarianceEstimate, n_items: int, n_classes: int) -> Structure | None:
    """Search the voters that could be in a group; None if they are too few.

    A pair cannot pay for a group unless it shares about 8 (log n + 2 log m) items, even if all it says beyond Y is
    shared. Of many voters, as in a crowd, only those with two such partners are searched.
    """
    n_voters = estimate.n_voters
    if n_voters <= _ALL_SEARCHED_UP_TO or n_classes == 2:
        return search_structure(estimate, n_items)
    needed = 8 * (np.log(n_items) + 2 * np.log(n_voters))
    able = np.flatnonzero((estimate.known & (estimate.n_pairs >= needed)).sum(axis=1) >= 2)
    if len(able) < _FEWEST_VOTERS or n_items < 2 * len(able):
        return None
    found = search_structure(estimate.voters(able), n_items)
    return found.with_groups(lambda groups: _spread(groups, able, n_voters))


def _spread(groups: NDArray[np.int64], able: NDArray[np.int64], n_voters: int) -> NDArray[np.int64]:
    """Return the groups of all voters, those that were not searched alone."""
    everyone = np.arange(n_voters)
    everyone[able] = n_voters + groups
    return relabel(everyone)
