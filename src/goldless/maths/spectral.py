"""The spectral meta-learner of Parisi et al. 2014 and Jaffe et al. 2015: accuracies from moments.

For conditionally independent voters the off-diagonal covariance is ``v v^T`` with
``v_i = sqrt(1 - b^2) (psi_i + eta_i - 1)``, and the third central moment is ``-2 b / sqrt(1 - b^2) v_i v_j v_k``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from goldless.maths.rank_one import complete_rank_one

_IMBALANCE_LIMIT = 0.98
_RATE_CLIP = 0.01


def spectral_loadings(
    covariance: NDArray[np.float64],
    mask: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
    counted: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Return v from the off-diagonal covariance, oriented so that most voters beat a coin.

    Only the voters ``counted`` (by default all) decide the orientation. If as many of them point one way as the
    other, the one with the larger sum is taken. Two voters
    cannot tell their loadings apart: both get the square root of their covariance.
    """
    loadings = complete_rank_one(covariance, mask, weights)
    deciding = loadings if counted is None else loadings[counted]
    lead = int((deciding > 0).sum()) - int((deciding < 0).sum())
    flip = lead < 0 or (lead == 0 and deciding.sum() < 0)
    return -loadings if flip else loadings


def imbalance_from_third_moment(third_moment: float) -> float:
    """Return b from the third moment in units of v_i v_j v_k, which is ``-2 b / sqrt(1 - b^2)``."""
    imbalance = -third_moment / np.sqrt(4 + third_moment**2)
    return float(np.clip(imbalance, -_IMBALANCE_LIMIT, _IMBALANCE_LIMIT))


def imbalance_by_likelihood(log_likelihood: Callable[[float], float], n_grid: int = 33) -> float:
    """Return the imbalance b of largest restricted likelihood: a grid first, then a bounded search.

    ``log_likelihood(b)`` is the likelihood of the votes with all other parameters tied to b by the moments.
    """
    from scipy.optimize import minimize_scalar

    grid = np.linspace(-_IMBALANCE_LIMIT, _IMBALANCE_LIMIT, n_grid)
    values = np.array([log_likelihood(b) for b in grid])
    best = int(values.argmax())
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, n_grid - 1)]
    refined = minimize_scalar(
        lambda b: -log_likelihood(b), bounds=(low, high), method="bounded", options={"xatol": 1e-6}
    )
    return float(refined.x) if -refined.fun >= values[best] else float(grid[best])


def imbalance_by_slope(
    evaluate: Callable[[float], tuple[float, float]], look: Callable[[float], float], n_grid: int = 33
) -> float:
    """Return the imbalance b of largest restricted likelihood: a grid first, then where its slope vanishes.

    Near its top a likelihood is flat, and sums over many items in another order would move the place where it looks
    largest; the place where the slope changes its sign they do not.

    ``evaluate``: the likelihood of the votes and its slope at b; ``look``: the same likelihood, or that of a sample
    of the votes if this is quicker; ``n_grid``: how many values of b are looked at first.
    """
    from scipy.optimize import brentq

    grid = np.linspace(-_IMBALANCE_LIMIT, _IMBALANCE_LIMIT, n_grid)
    place = int(np.argmax([look(b) for b in grid]))
    value, slope = evaluate(grid[place])
    uphill = 1 if slope > 0 else -1
    while slope * uphill > 0:  # usually one step; more if a sample was looked at and shows another top
        place += uphill
        if not 0 <= place < n_grid:
            return float(grid[place - uphill])
        slope = evaluate(grid[place])[1]
    if slope == 0:
        return float(grid[place])
    top = float(brentq(lambda b: evaluate(b)[1], *sorted((grid[place - uphill], grid[place])), xtol=1e-12))
    if evaluate(top)[0] < value:  # over a dip to a lower top
        return imbalance_by_likelihood(lambda b: evaluate(b)[0], n_grid)
    return top


def rates_from_loadings(
    mean: NDArray[np.float64], loadings: NDArray[np.float64], imbalance: float, as_published: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sensitivities and specificities from mean votes, loadings v and imbalance b.

    ``mean`` and ``loadings`` (n_voters,): mean vote coded -1, +1, and v; ``imbalance``: class imbalance b;
    ``as_published``: use ``psi + eta - 1 = v / (1 - b^2)``, as in a public copy of the authors' code, instead of the
    theory's ``v / sqrt(1 - b^2)``. It pulls the estimated imbalance towards zero.

    Notes
    -----
    ``mean = b + ...`` gives ``2 psi - 1 = mean + (1 - b)(psi + eta - 1)`` and
    ``2 eta - 1 = -mean + (1 + b)(psi + eta - 1)``. Rates are kept within [0.01, 0.99].
    """
    informedness = loadings / ((1 - imbalance**2) if as_published else np.sqrt(1 - imbalance**2))
    sensitivity = (1 + mean + (1 - imbalance) * informedness) / 2
    specificity = (1 - mean + (1 + imbalance) * informedness) / 2
    return sensitivity.clip(_RATE_CLIP, 1 - _RATE_CLIP), specificity.clip(_RATE_CLIP, 1 - _RATE_CLIP)
