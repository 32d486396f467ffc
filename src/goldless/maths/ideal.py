"""The appendix algorithm for the ideal setting: groups from an exactly known covariance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.maths.checks import as_square


def ideal_groups(covariance: ArrayLike, tol: float = 1e-9) -> NDArray[np.int64]:
    """Recover the groups from a population covariance by the zero pattern of its 2 x 2 determinants.

    Two voters share a group if and only if ``r_ij r_kl - r_il r_kj`` vanishes for the same (j, k, l) whichever
    of the two is i (appendix of the paper, from Lemma 2).

    Parameters
    ----------
    covariance : array-like of shape (n_voters, n_voters)
        Population covariance, without sampling noise; the diagonal is not read.
    tol : float, default=1e-9
        Two products count as equal when they differ by at most ``tol`` of the larger.

    Returns
    -------
    ndarray of shape (n_voters,)
        Group of each voter. As in the paper, **all voters that are alone with Y come out as one group**: they
        hang on a common latent variable, which is Y itself. Which of the groups that is cannot be told from
        the covariance.

    Notes
    -----
    Takes O(m^4 K) for K groups; a comparison of voters from different groups usually stops early. With four
    voters or fewer there are no determinants to compare and everything is one group.

    Examples
    --------
    >>> from goldless import LatentModel, ideal_groups
    >>> model = LatentModel(
    ...     groups=[0, 0, 0, 1, 1, 2, 3], class_balance=0.5,
    ...     group_sensitivity=[0.7, 0.8, 1, 1], group_specificity=[0.8, 0.7, 1, 1],
    ...     sensitivity_given_group=[0.9, 0.8, 0.7, 0.9, 0.8, 0.7, 0.6],
    ...     specificity_given_group=[0.8, 0.8, 0.9, 0.7, 0.9, 0.7, 0.8],
    ... )
    >>> ideal_groups(model.population_covariance())
    array([0, 0, 0, 1, 1, 2, 2])
    """
    covariance = as_square(covariance)
    groups = np.full(len(covariance), -1, dtype=np.int64)
    representatives: list[int] = []
    for voter in range(len(covariance)):
        for group, other in enumerate(representatives):
            if _same_zero_pattern(covariance, other, voter, tol):
                groups[voter] = group
                break
        else:
            groups[voter] = len(representatives)
            representatives.append(voter)
    return groups


def _same_zero_pattern(covariance: NDArray[np.float64], first: int, second: int, tol: float) -> bool:
    """Whether M(first, j, k, l) and M(second, j, k, l) vanish for the same j, k, l, all distinct other voters."""
    others = np.delete(np.arange(len(covariance)), [first, second])
    inside, of_two = covariance[np.ix_(others, others)], covariance[[first, second]][:, others]
    for j in range(len(others)):
        left = of_two[:, j, None, None] * inside  # [., k, l]: r_ij r_kl
        right = inside[:, j, None] * of_two[:, None, :]  # r_il r_kj
        vanishes = np.abs(left - right) <= tol * np.maximum(np.abs(left), np.abs(right))
        differs = vanishes[0] != vanishes[1]
        differs[j], differs[:, j] = False, False
        np.fill_diagonal(differs, False)
        if differs.any():
            return False
    return True
