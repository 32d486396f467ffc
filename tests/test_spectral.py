"""Moments, imbalance and the two-stage estimate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldless as gl
import references
from goldless.fitting.moments import ImbalanceRule, independent_estimate, third_moment_sums, two_stage_estimate
from goldless.maths.spectral import (
    imbalance_by_likelihood,
    imbalance_from_third_moment,
    rates_from_loadings,
    spectral_loadings,
)
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable
from strategies import seeds


@given(imbalance=st.floats(-0.9, 0.9))
def test_third_moment_of_the_population_gives_the_imbalance(imbalance):
    assert imbalance_from_third_moment(-2 * imbalance / np.sqrt(1 - imbalance**2)) == pytest.approx(imbalance)


@given(seed=seeds, imbalance=st.floats(-0.8, 0.8))
def test_rates_of_the_population_come_back(seed, imbalance):
    """Mean, v and b determine sensitivity and specificity exactly."""
    model = gl.random_model([1] * 6, imbalance, random_state=seed)
    rates = rates_from_loadings(model.mean, model.v_off, imbalance)
    np.testing.assert_allclose(rates, (model.sensitivity, model.specificity), atol=1e-9)


def test_loadings_are_oriented_by_most_voters(rng):
    v = np.array([0.5, 0.4, 0.3, -0.6, -0.9])
    loadings = spectral_loadings(np.outer(v, v))
    np.testing.assert_allclose(loadings, v, atol=1e-8)


def third_moment(table, mean, loadings):
    numerator, denominator = third_moment_sums(
        lambda codes: (2.0 * codes - 1 - mean, codes >= 0), loadings, table.codes, table.counts
    )
    return numerator / denominator


def test_third_moment_needs_no_tensor(rng):
    codes = rng.integers(0, 2, (300, 6)).astype(np.int8)
    table = PatternTable.of(codes)
    mean = 2 * codes.mean(axis=0) - 1
    loadings = rng.uniform(0.1, 0.9, 6)
    expected = references.third_moment(2.0 * table.codes - 1 - mean, loadings, table.counts)
    assert third_moment(table, mean, loadings) == pytest.approx(expected, rel=1e-9)


def test_third_moment_skips_missing_votes(rng):
    """With a voter missing on half of the items, triples are averaged over the items that have them."""
    codes = rng.integers(0, 2, (4000, 4)).astype(np.int8)
    codes[:2000, 3] = -1
    table = PatternTable.of(codes)
    always = PatternTable.of(np.ascontiguousarray(codes[:, :3]))
    full = third_moment(always, np.zeros(3), np.full(3, 0.5))
    assert np.isfinite(third_moment(table, np.zeros(4), np.full(4, 0.5)))
    assert full == pytest.approx(references.third_moment(2.0 * always.codes - 1, np.full(3, 0.5), always.counts))
    assert third_moment(table, np.zeros(4), np.array([0.5, 0.5, 0.5, 0])) == pytest.approx(full)


def test_likelihood_search_finds_an_inner_maximum():
    assert imbalance_by_likelihood(lambda b: -((b - 0.237) ** 2)) == pytest.approx(0.237, abs=1e-3)


@pytest.mark.parametrize("method", ["restricted", "tensor"])
@pytest.mark.parametrize("imbalance", [-0.6, 0.0, 0.4])
def test_both_methods_find_the_imbalance(method, imbalance, seed):
    X, _ = gl.simulate_votes(
        40_000, [1] * 10, imbalance, voter_accuracy=(0.8, 0.95), group_accuracy=(0.8, 0.95), random_state=seed
    )
    model = gl.SpectralMetaLearner(em=False, imbalance=method).fit(X)
    assert model.imbalance_ == pytest.approx(imbalance, abs=0.08)


def test_a_known_imbalance_is_kept(seed):
    X, _ = gl.simulate_votes(2000, [1] * 6, 0.2, random_state=seed)
    assert gl.SpectralMetaLearner(em=False, imbalance=0.2).fit(X).imbalance_ == pytest.approx(0.2)


@pytest.mark.parametrize("hard", [False, True])
def test_two_stages_with_the_true_groups_find_the_model(hard, seed):
    X, _, truth = gl.simulate_votes(
        50_000,
        [6, 5, 4, 1, 1, 1],
        group_accuracy=(0.75, 0.9),
        voter_accuracy=(0.8, 0.95),
        random_state=seed,
        return_model=True,
    )
    table = PatternTable.of(((X + 1) // 2).astype(np.int8))
    votes, rule = VoteSums.of_table(table), ImbalanceRule("restricted")
    model = two_stage_estimate(votes, table.pairs.covariance(), truth.groups, rule, hard)
    # hard values attenuate the latents' accuracy, soft ones are corrected for it
    tolerance = 0.12 if hard else 0.05
    np.testing.assert_allclose(model.sensitivity_given_group, truth.sensitivity_given_group, atol=0.08)
    np.testing.assert_allclose(model.balanced_accuracy, truth.balanced_accuracy, atol=tolerance)


def test_without_groups_two_stages_are_one(seed):
    X, _ = gl.simulate_votes(3000, [1] * 6, random_state=seed)
    table = PatternTable.of(((X + 1) // 2).astype(np.int8))
    estimate, rule = table.pairs.covariance(), ImbalanceRule("restricted")
    votes = VoteSums.of_table(table)
    one, two = independent_estimate(votes, estimate, rule), two_stage_estimate(votes, estimate, np.arange(6), rule)
    # the covariance of the second stage divides by n instead of n - 1
    np.testing.assert_allclose(two.sensitivity, one.sensitivity, atol=2e-3)


@pytest.mark.parametrize("groups", [[0, 0, 1, 1, 2], [0, 0, 0, 1, 1], [0, 0, 1, 2, 3]])
def test_small_groups_and_two_groups_are_defined(groups, seed):
    X, _ = gl.simulate_votes(3000, [1] * 5, random_state=seed)
    model = gl.LatentSML(structure=groups, paper=gl.PaperOptions(em=False)).fit(X)
    assert np.isfinite(model.decision_function(X)).all()


def test_bad_imbalance_is_named():
    with pytest.raises(ValueError, match="imbalance must be"):
        ImbalanceRule("guess")
    with pytest.raises(ValueError, match="between -1 and 1"):
        ImbalanceRule(1.5)


@pytest.mark.parametrize("draw", [7, 12, 20])
def test_the_order_of_voters_does_not_turn_contrary_pairs(draw):
    """A pair of voters that disagree has no direction of its own; the model must not take one from their order."""
    X, _ = gl.simulate_votes(800, [3, 2] + [1] * 5, missing_rate=0.3, random_state=draw)
    order = np.random.default_rng(draw).permutation(10)
    model = gl.LatentSML(structure="paper", paper=gl.PaperOptions(em=False)).fit(X)
    permuted = gl.LatentSML(structure="paper", paper=gl.PaperOptions(em=False)).fit(X[:, order])
    np.testing.assert_allclose(permuted.predict_proba(X[:, order]), model.predict_proba(X), atol=1e-3)
