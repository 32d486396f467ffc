"""Rank-one completion and the residual (eq. res)."""

import numpy as np
import pytest
from hypothesis import given

import references
from goldless import complete_rank_one, residual
from strategies import latent_models, symmetric_matrices


def test_recovers_loadings_of_mixed_sign(rng):
    v = rng.normal(size=9)
    v = v if v.sum() > 0 else -v
    np.testing.assert_allclose(complete_rank_one(np.outer(v, v)), v, atol=1e-8)


def test_fills_in_what_the_mask_hides(rng):
    v = rng.uniform(0.2, 0.9, 12)
    mask = rng.random((12, 12)) < 0.5
    mask = mask | mask.T
    noisy = np.where(mask, np.outer(v, v), rng.normal(size=(12, 12)) * 10)
    noisy = np.triu(noisy) + np.triu(noisy, 1).T
    np.testing.assert_allclose(complete_rank_one(noisy, mask), v, atol=1e-6)


def test_heavy_weights_win(rng):
    """An entry of weight zero might as well be masked."""
    v = rng.uniform(0.2, 0.9, 8)
    matrix = np.outer(v, v)
    matrix[0, 1] = matrix[1, 0] = 5.0
    weights = np.ones((8, 8))
    weights[0, 1] = weights[1, 0] = 0.0
    np.testing.assert_allclose(complete_rank_one(matrix, weights=weights), v, atol=1e-7)


@given(matrix=symmetric_matrices(3, 8))
def test_no_small_step_improves_the_fit(matrix):
    """The result is a local minimum of the sum of squares."""
    v = complete_rank_one(matrix)
    off = ~np.eye(len(v), dtype=bool)

    def loss(loadings):
        return ((np.outer(loadings, loadings) - matrix)[off] ** 2).sum()

    rng = np.random.default_rng(0)
    best = loss(v)
    for _ in range(20):
        assert loss(v + 1e-3 * rng.normal(size=len(v))) >= best - 1e-9 * max(best, 1)


def test_two_voters_share_their_covariance_evenly():
    np.testing.assert_allclose(complete_rank_one([[0, 0.25], [0.25, 0]]), [0.5, 0.5])


def test_a_voter_without_partner_gets_zero():
    mask = np.zeros((3, 3), dtype=bool)
    mask[0, 1] = mask[1, 0] = True
    assert complete_rank_one(np.full((3, 3), 0.04), mask)[2] == 0


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="mask has shape"):
        complete_rank_one(np.eye(3), np.ones((2, 2)))
    with pytest.raises(ValueError, match="weights"):
        complete_rank_one(np.eye(3), weights=-np.ones((3, 3)))
    with pytest.raises(ValueError, match="one group for each"):
        residual(np.eye(3), [0, 1])


@given(model=latent_models(4, 9, max_groups=4))
def test_the_true_groups_fit_the_population_exactly(model):
    """Lemma 1: two rank-one matrices, one within and one across groups."""
    fit = residual(model.population_covariance(), model.groups)
    assert fit.value < 1e-6  # a bipartite mask can descend slowly; the scale of the terms is 1


@given(matrix=symmetric_matrices(4, 8))
def test_the_value_is_that_of_its_own_loadings(matrix):
    groups = np.arange(len(matrix)) // 2
    fit = residual(matrix, groups)
    np.testing.assert_allclose(fit.value, references.residual_value(matrix, groups, fit.v_on, fit.v_off), rtol=1e-9)


def test_one_group_and_no_groups_have_the_same_residual(rng):
    matrix = rng.normal(size=(7, 7))
    matrix = matrix + matrix.T
    np.testing.assert_allclose(residual(matrix, np.zeros(7)).value, residual(matrix, np.arange(7)).value)
