"""Do the votes agree with independence, and with the groups that were found? P-values from the covariance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaincc

from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.fit_test import ResidualTest
from goldless.maths.tree import TreeModel
from goldless.progress import tell
from goldless.votes.pairs import PairTables
from goldless.votes.rows import PatternTable

_DRAWS, _DRAWS_OF_MANY = 99, 39  # of two classes, and of more, which take longer
_LARGEST_DRAW = 10_000  # items; the reference no longer depends on their number


def fit_pvalue(table: PatternTable, model: TreeModel, rng: np.random.Generator) -> float | None:
    """Return the probability of a covariance as far from the model as this one, if the model is right.

    ``table``: patterns of distinct voters; ``model``: model fitted to them; ``rng``: source of the draws from the
    model. Returns None if there are as many parameters as pairs of voters, as with three voters.

    Notes
    -----
    For independent voters of two classes without missing votes the residual is chi-square
    (:mod:`goldless.maths.fit_test`). Otherwise its mean and variance come from draws of the model, with votes missing
    where they are, and its distribution is the gamma distribution with these.
    """
    test = ResidualTest.around(model)
    if test.dof < 1:
        return None
    estimate = table.pairs.covariance()
    residual = float(test.values([estimate])[0])
    if table.complete and model.n_groups == model.n_voters and model.n_classes == 2:
        return float(chdtrc(test.dof, residual))
    drawn = test.values(_drawn_covariances(table, model, rng))
    mean, variance = float(drawn.mean()), max(float(drawn.var(ddof=1)), 1e-12)
    return float(gammaincc(mean**2 / variance, residual * mean / variance))


def _drawn_covariances(table: PatternTable, model: TreeModel, rng: np.random.Generator) -> list[CovarianceEstimate]:
    """Draw votes from the model, missing where votes are missing, and return their covariances."""
    n_items = min(table.n_items, _LARGEST_DRAW)
    drawn, n_draws = [], _DRAWS if model.n_classes == 2 else _DRAWS_OF_MANY
    for number in range(n_draws):
        tell("testing", number / n_draws)
        shown = None if table.complete else table.codes[_rows(table, n_items, rng)] >= 0
        codes = model.sample(n_items, rng, shown)[0]
        drawn.append(PairTables.of(codes, model.n_symbols).covariance())
    return drawn


def _rows(table: PatternTable, n_items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the pattern of each item, or of a random choice of them."""
    if table.n_items == n_items:
        return np.repeat(np.arange(table.n_patterns), table.counts)
    return rng.choice(table.n_patterns, n_items, p=table.counts / table.n_items)
