"""Pair tables are exact integers: equal to a slow count, additive, and the same on every path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldless import conditional_covariance, simulate_votes
from goldless.votes.pairs import PairTables
from goldless.votes.rows import PatternTable
from references import corners
from references_votes import pair_tables

pytestmark = pytest.mark.usefixtures("small_and_large")


@st.composite
def weighted_codes(draw, n_voters=None, n_symbols=None):
    """Codes of two to ten symbols, complete or not, some longer than a machine word, with counts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(1, 6)) if n_voters is None else n_voters
    symbols = draw(st.sampled_from([2, 3, 4, 10])) if n_symbols is None else n_symbols
    n = draw(st.sampled_from([0, 1, 2, 63, 64, 65, 130]))
    codes = rng.integers(draw(st.sampled_from([-1, 0])), symbols, (n, m)).astype(np.int8)
    return codes, symbols, rng.integers(0, draw(st.sampled_from([2, 7, 2**33])), n)


def assert_same(one, other):
    np.testing.assert_array_equal(one.tables, other.tables)
    assert one.tables.dtype == other.tables.dtype == np.int64


@given(weighted_codes())
def test_counts_are_those_of_the_slow_loop(block):
    codes, symbols, weights = block
    assert_same(PairTables.of(codes, symbols, weights), PairTables(pair_tables(codes, symbols, weights)))
    ones = np.ones(len(codes), dtype=np.int64)
    assert_same(PairTables.of(codes, symbols), PairTables(pair_tables(codes, symbols, ones)))


@given(weighted_codes())
def test_weights_are_repetition(block):
    codes, symbols, weights = block
    weights = weights % 6
    assert_same(PairTables.of(codes, symbols, weights), PairTables.of(np.repeat(codes, weights, axis=0), symbols))


@given(weighted_codes())
def test_counts_of_the_patterns_are_those_of_the_items(block):
    assert_same(PatternTable.of(*block).pairs, PairTables.of(*block))


@given(weighted_codes(n_voters=4, n_symbols=5), weighted_codes(n_voters=4, n_symbols=5))
def test_counts_add(one, other):
    both = PairTables.of(np.concatenate([one[0], other[0]]), 5, np.concatenate([one[2], other[2]]))
    assert_same(PairTables.of(*one) + PairTables.of(*other), both)


@given(weighted_codes(n_voters=5), st.permutations(range(5)))
def test_permuting_voters_permutes_counts(block, order):
    codes, symbols, weights = block
    permuted = PairTables.of(np.ascontiguousarray(codes[:, order]), symbols, weights)
    assert_same(permuted, PairTables.of(*block).voters(np.array(order)))


@given(weighted_codes(n_voters=3, n_symbols=4), st.permutations(range(4)))
def test_renaming_symbols_renames_counts(block, order):
    codes, symbols, weights = block
    renamed = np.array([*np.argsort(order), -1], dtype=np.int8)[codes]
    tables = PairTables.of(codes, symbols, weights).tables
    assert_same(PairTables.of(renamed, symbols, weights), PairTables(tables[np.ix_(order, order)]))


@pytest.mark.parametrize("missing", [False, True])
def test_threads_chunks_and_order_change_nothing(rng, monkeypatch, missing):
    codes = rng.integers(-1 if missing else 0, 2, (100_001, 7)).astype(np.int8)
    shuffled = codes[rng.permutation(len(codes))]
    expected = PairTables.of(codes)
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("GOLDLESS_NUM_THREADS", threads)
        assert_same(PairTables.of(codes), expected)
        assert_same(PairTables.of(shuffled), expected)
        assert_same(PairTables.of(codes[:12_345]) + PairTables.of(codes[12_345:]), expected)


@pytest.mark.parametrize("n_symbols", [3, 10])
@pytest.mark.parametrize("missing", [False, True])
def test_covariance_of_several_labels_is_that_of_simplex_corners(rng, missing, n_symbols):
    codes = rng.integers(-1 if missing else 0, n_symbols, (300, 4)).astype(np.int8)
    estimate = PairTables.of(codes).covariance()
    votes = corners(n_symbols)
    for i in range(4):
        for j in range(4):
            common = (codes[:, i] >= 0) & (codes[:, j] >= 0)
            one, other = (votes[codes[common, voter]] for voter in (i, j))
            product = ((one - one.mean(axis=0)) * (other - other.mean(axis=0))).sum(axis=1)
            assert estimate.covariance[i, j] == pytest.approx(product.sum() / (common.sum() - 1), abs=1e-12)
            assert estimate.standard_error[i, j] == pytest.approx(np.std(product) / np.sqrt(common.sum()), abs=1e-12)
        own = votes[codes[codes[:, i] >= 0, i]]
        assert estimate.variance[i] == pytest.approx(own.var(axis=0).sum())


@pytest.mark.parametrize("missing_rate", [0.0, 0.3])
def test_covariance_is_that_of_numpy_on_the_common_items(missing_rate):
    X, _ = simulate_votes(400, groups=[3, 1, 1], missing_rate=missing_rate, random_state=2)
    codes = np.where(np.isnan(X), -1, X > 0).astype(np.int8)
    estimate = PairTables.of(codes).covariance()
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
    counts = PairTables.of(codes)
    assert counts.first_copies().tolist() == [0, 1, 0, 3, 4, 5, 6, 7, 0]
    disagreements = counts.both - counts.agreements
    assert disagreements[0].tolist()[:3] == [0, 0, 0]
    assert disagreements[3, 7] == 200


def test_conditional_covariance_is_that_within_the_classes():
    X, y = simulate_votes(300, groups=[3, 1, 1], imbalance=0.4, random_state=5)
    positive, negative = conditional_covariance(X, y)
    np.testing.assert_allclose(positive, np.cov(X[y == 1].T), atol=1e-12)
    np.testing.assert_allclose(negative, np.cov(X[y == -1].T), atol=1e-12)
    flipped = conditional_covariance(X, y, positive=-1)
    np.testing.assert_allclose(flipped, (negative, positive), atol=1e-12)
