"""Pair counts are exact integers: equal to a slow count, additive, and the same on every path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldless import conditional_covariance, simulate_votes
from goldless.votes.pairs import PairCounts
from goldless.votes.patterns import PatternTable
from references_votes import pair_counts


@st.composite
def weighted_codes(draw, n_voters=None):
    """Blocks of codes, complete or not, some longer than a machine word, with counts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(1, 6)) if n_voters is None else n_voters
    n = draw(st.sampled_from([0, 1, 2, 63, 64, 65, 130]))
    codes = rng.integers(draw(st.sampled_from([-1, 0])), 2, (n, m)).astype(np.int8)
    return codes, rng.integers(0, draw(st.sampled_from([2, 7, 2**33])), n)


def as_tuple(counts):
    return counts.both, counts.first_positive, counts.both_positive


def assert_same_counts(one, other):
    for left, right in zip(as_tuple(one), as_tuple(other), strict=True):
        np.testing.assert_array_equal(left, right)
        assert left.dtype == right.dtype == np.int64


@given(weighted_codes())
def test_counts_are_those_of_the_slow_loop(block):
    codes, weights = block
    assert_same_counts(PairCounts.of(codes, weights), PairCounts(*pair_counts(codes, weights)))
    assert_same_counts(PairCounts.of(codes), PairCounts(*pair_counts(codes, np.ones(len(codes), dtype=np.int64))))


@given(weighted_codes())
def test_weights_are_repetition(block):
    codes, weights = block
    weights = weights % 6
    assert_same_counts(PairCounts.of(codes, weights), PairCounts.of(np.repeat(codes, weights, axis=0)))


@given(weighted_codes())
def test_counts_of_the_patterns_are_those_of_the_items(block):
    codes, weights = block
    assert_same_counts(PatternTable.of(codes, weights).pair_counts, PairCounts.of(codes, weights))


@given(weighted_codes(n_voters=4), weighted_codes(n_voters=4))
def test_counts_add(one, other):
    both = PairCounts.of(np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]]))
    assert_same_counts(PairCounts.of(*one) + PairCounts.of(*other), both)


@given(weighted_codes(n_voters=5), st.permutations(range(5)))
def test_permuting_voters_permutes_counts(block, order):
    codes, weights = block
    permuted = PairCounts.of(np.ascontiguousarray(codes[:, order]), weights)
    block_of = np.ix_(order, order)
    assert_same_counts(
        permuted, PairCounts(*(matrix[block_of] for matrix in as_tuple(PairCounts.of(codes, weights))))
    )


@pytest.mark.parametrize("missing", [False, True])
def test_threads_chunks_and_order_change_nothing(rng, monkeypatch, missing):
    codes = rng.integers(-1 if missing else 0, 2, (100_001, 7)).astype(np.int8)
    shuffled = codes[rng.permutation(len(codes))]
    expected = PairCounts.of(codes)
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("GOLDLESS_NUM_THREADS", threads)
        assert_same_counts(PairCounts.of(codes), expected)
        assert_same_counts(PairCounts.of(shuffled), expected)
        assert_same_counts(PairCounts.of(codes[:12_345]) + PairCounts.of(codes[12_345:]), expected)


@pytest.mark.parametrize("missing_rate", [0.0, 0.3])
def test_covariance_is_that_of_numpy_on_the_common_items(missing_rate):
    X, _ = simulate_votes(400, groups=[3, 1, 1], missing_rate=missing_rate, random_state=2)
    codes = np.where(np.isnan(X), -1, X > 0).astype(np.int8)
    estimate = PairCounts.of(codes).covariance()
    for i in range(5):
        for j in range(5):
            common = ~np.isnan(X[:, i]) & ~np.isnan(X[:, j])
            assert estimate.covariance[i, j] == pytest.approx(np.cov(X[common, i], X[common, j])[0, 1], abs=1e-12)
            assert estimate.n_pairs[i, j] == common.sum()


def test_disagreements_and_copies(rng):
    """A copy has the same votes and the same gaps; a voter with few votes, or one class, copies nobody."""
    first = rng.integers(-1, 2, 200).astype(np.int8)
    gap = first.copy()
    gap[np.flatnonzero(first >= 0)[0]] = -1
    constant = np.zeros(200, dtype=np.int8)
    seldom = np.full(200, -1, dtype=np.int8)
    seldom[:10] = [0, 1] * 5
    codes = np.column_stack([first, gap, first, constant, constant, seldom, seldom, 1 - constant, first])
    counts = PairCounts.of(codes)
    assert counts.first_copies().tolist() == [0, 1, 0, 3, 4, 5, 6, 7, 0]
    assert counts.disagreements[0].tolist()[:3] == [0, 0, 0]
    assert counts.disagreements[3, 7] == 200


def test_conditional_covariance_is_that_within_the_classes():
    X, y = simulate_votes(300, groups=[3, 1, 1], imbalance=0.4, random_state=5)
    positive, negative = conditional_covariance(X, y)
    np.testing.assert_allclose(positive, np.cov(X[y == 1].T), atol=1e-12)
    np.testing.assert_allclose(negative, np.cov(X[y == -1].T), atol=1e-12)
    flipped = conditional_covariance(X, y, positive=-1)
    np.testing.assert_allclose(flipped, (negative, positive), atol=1e-12)
