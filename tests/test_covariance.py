"""Covariance from counts, and its sampling error."""

import numpy as np
import pytest

import goldless as gl
from goldless.votes.pairs import PairTables


def test_equals_numpy_on_complete_votes(rng):
    codes = rng.integers(0, 2, (200, 5)).astype(np.int8)
    estimate = PairTables.of(codes).covariance()
    np.testing.assert_allclose(estimate.covariance, np.cov(2.0 * codes.T - 1), atol=1e-12)
    np.testing.assert_allclose(estimate.mean, 2 * codes.mean(axis=0) - 1)


def test_missing_votes_are_pairwise_complete(rng):
    codes = rng.integers(-1, 2, (300, 4)).astype(np.int8)
    estimate = PairTables.of(codes).covariance()
    for i in range(4):
        for j in range(4):
            both = (codes[:, i] >= 0) & (codes[:, j] >= 0)
            expected = (
                np.cov(2.0 * codes[both][:, [i, j]].T - 1)[0, 1]
                if i != j
                else np.var(2.0 * codes[both, i] - 1, ddof=1)
            )
            assert estimate.covariance[i, j] == pytest.approx(expected)
            assert estimate.n_pairs[i, j] == both.sum()


def test_a_pair_without_common_items_is_unknown():
    codes = np.array([[1, -1, 0], [0, -1, 1], [-1, 1, 1], [-1, 0, 0]], dtype=np.int8)
    estimate = PairTables.of(codes).covariance()
    assert estimate.covariance[0, 1] == 0
    assert estimate.standard_error[0, 1] == np.inf
    assert not estimate.known[0, 1]
    assert estimate.known[0, 2]


def test_standard_errors_are_the_spread_over_samples(rng):
    model = gl.random_model([2, 1, 1], imbalance=0.3, random_state=rng)
    estimates = [PairTables.of(model.sample(400, rng)[0]).covariance() for _ in range(2000)]
    spread = np.std([estimate.covariance for estimate in estimates], axis=0)
    stated = np.mean([estimate.standard_error for estimate in estimates], axis=0)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(stated[off], spread[off], rtol=0.08)


def test_conditional_covariances_split_by_the_truth(rng):
    model = gl.random_model([3, 1, 1], random_state=rng)
    codes, labels, _ = model.sample(100_000, rng)
    positive, negative = gl.conditional_covariance(codes, labels)
    np.testing.assert_allclose(positive, np.cov(2.0 * codes[labels == 1].T - 1), atol=1e-12)
    for computed, expected in zip((positive, negative), model.conditional_covariance(), strict=True):
        np.testing.assert_allclose(computed, expected, atol=0.02)


def test_a_truth_of_other_labels_is_refused(rng):
    codes = rng.integers(0, 2, (20, 3))
    with pytest.raises(ValueError, match="y holds 7 in row 0"):
        gl.conditional_covariance(codes, np.full(20, 7))
    with pytest.raises(ValueError, match="one label for each"):
        gl.conditional_covariance(codes, [1, 0])
