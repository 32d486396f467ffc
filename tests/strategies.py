"""Hypothesis strategies."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from goldless import LatentModel, TreeModel
from goldless.maths.checks import relabel

seeds = st.integers(0, 2**32 - 1)


@st.composite
def symmetric_matrices(draw, min_voters=3, max_voters=12):
    """Symmetric matrices with some exact zeros and repeated entries, diagonal not a number."""
    m = draw(st.integers(min_voters, max_voters))
    rng = np.random.default_rng(draw(seeds))
    matrix = rng.normal(size=(m, m))
    matrix[rng.random((m, m)) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    if draw(st.booleans()):
        matrix = matrix.round(1)
    matrix = np.triu(matrix, 1)
    return matrix + matrix.T


@st.composite
def latent_models(draw, min_voters=3, max_voters=6, max_groups=4, low=0.05, high=0.95):
    """Latent models of two classes with random groups and rates, single voters' latents included."""
    m = draw(st.integers(min_voters, max_voters))
    rng = np.random.default_rng(draw(seeds))
    groups = relabel(rng.integers(0, min(max_groups, m), m))
    n_groups = groups.max() + 1
    return LatentModel(
        groups,
        rng.uniform(low, high),
        *rng.uniform(low, high, (2, n_groups)),
        *rng.uniform(low, high, (2, m)),
    )


def random_rows(rng, *shape):
    """Rows of probabilities that are not too small."""
    return 0.9 * rng.dirichlet(np.ones(shape[-1]), shape[:-1]) + 0.1 / shape[-1]


@st.composite
def tree_models(draw, max_classes=4, max_voters=4, max_groups=3):
    """Latent models of two to four classes with random groups and tables."""
    n_classes = draw(st.integers(2, max_classes))
    m = draw(st.integers(2, max_voters))
    rng = np.random.default_rng(draw(seeds))
    groups = relabel(rng.integers(0, min(max_groups, m), m))
    n_groups = groups.max() + 1
    latents = random_rows(rng, n_groups, n_classes, n_classes).transpose(0, 2, 1)
    return TreeModel(groups, random_rows(rng, n_classes), latents, random_rows(rng, m, n_classes, n_classes))


@st.composite
def codes_for(draw, model, max_items=30):
    """Votes on a few items, some missing, with counts."""
    rng = np.random.default_rng(draw(seeds))
    n_items = draw(st.integers(1, max_items))
    lowest = draw(st.sampled_from([-1, 0]))
    codes = rng.integers(lowest, model.n_symbols, (n_items, model.n_voters)).astype(np.int8)
    return codes, rng.integers(1, 9, n_items)
