"""The score matrix: how strongly two voters deviate from conditional independence (eq. score)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.kernels.score import score_by_sampling, score_by_sets, score_by_sorting
from goldless.maths.checks import as_square

_FEW = 24  # voters up to which numpy is fast enough: nothing has to be compiled
_SORT_FROM = 224  # voters from which sorting beats visiting all sets of four (research/benchmarks/score.py)


def score_matrix(
    covariance: ArrayLike,
    method: Literal["exact", "sampled"] = "exact",
    *,
    n_samples: int = 1000,
    random_state: int = 0,
    return_error: bool = False,
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the score of every pair of voters.

    ``s_ij = sum over k, l of |r_ij r_kl - r_il r_kj|``, over ordered pairs of voters k, l different from i, j
    and from each other. Under the latent model most of these determinants vanish unless i and j share a
    latent variable (Lemma 2), so a large score means dependence.

    Parameters
    ----------
    covariance : array-like of shape (n_voters, n_voters)
        Covariance of the votes; the diagonal is not read.
    method : {"exact", "sampled"}, default="exact"
        "exact" visits all sets of four voters in O(m^4 / 24) for small m, or sorts in O(m^3) for large m.
        "sampled" estimates every entry from ``n_samples`` random pairs {k, l}, in O(m^2 n_samples).
    n_samples : int, default=1000
        Pairs drawn for each entry when sampled.
    random_state : int, default=0
        Seed of the sampled score.
    return_error : bool, default=False
        Also return the standard error of every entry (zero when exact).

    Returns
    -------
    score : ndarray of shape (n_voters, n_voters)
        Symmetric, with a zero diagonal. With three voters the sum is empty and the score is zero.
    error : ndarray of shape (n_voters, n_voters)
        Only if ``return_error``.

    Notes
    -----
    The result is the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> v = np.array([0.3, 0.4, 0.5, 0.6])
    >>> bool(np.allclose(score_matrix(np.outer(v, v)), 0))   # rank one: conditionally independent
    True
    """
    covariance = as_square(covariance)
    n_voters = len(covariance)
    error = np.zeros_like(covariance)
    if method == "exact":
        exact = _by_numpy if n_voters <= _FEW else score_by_sets if n_voters < _SORT_FROM else score_by_sorting
        score = exact(covariance)
    elif method == "sampled":
        if n_samples < 2:
            raise ValueError(f"n_samples must be at least 2, got {n_samples}")
        score = np.zeros_like(covariance)
        if n_voters > 3:
            score, error = score_by_sampling(covariance, n_samples, random_state)
    else:
        raise ValueError(f"method must be 'exact' or 'sampled', got {method!r}")
    np.fill_diagonal(score, 0.0)
    return (score, error) if return_error else score


def _by_numpy(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score in O(m^4), the terms of all k and l for one i at a time."""
    n_voters = len(covariance)
    voters = np.arange(n_voters)
    pairs = ~np.eye(n_voters, dtype=bool)  # k != l
    score = np.empty_like(covariance)
    for i, row in enumerate(covariance):
        # [j, k, l]: r_ij r_kl - r_il r_kj
        terms = np.abs(row[:, None, None] * covariance - row[None, None, :] * covariance[:, :, None])
        counted = pairs & (voters != i)[:, None] & (voters != i)[None, :]
        counted = counted & (voters[:, None, None] != voters[:, None]) & (voters[:, None, None] != voters)
        score[i] = np.where(counted, terms, 0.0).sum(axis=(1, 2))
    return (score + score.T) / 2  # symmetric to the last bit
