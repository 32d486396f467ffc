"""E-step, M-step and their alternation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import references
from goldless import LatentModel, random_model
from goldless.maths.em import ExpectedCounts, RatePrior, run_em
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable
from strategies import codes_for, latent_models, seeds


def with_latent_y_for_single_voters(model):
    """The form EM works on: a voter that is alone has alpha = Y."""
    alone = np.bincount(model.groups) == 1
    single = alone[model.groups]
    return LatentModel(
        model.groups,
        model.class_balance,
        np.where(alone, 1.0, model.group_sensitivity),
        np.where(alone, 1.0, model.group_specificity),
        np.where(single, model.sensitivity, model.sensitivity_given_group),
        np.where(single, model.specificity, model.specificity_given_group),
    )


@given(data=st.data(), model=latent_models(max_voters=5))
def test_expected_counts_are_those_of_the_joint_distribution(data, model):
    model = with_latent_y_for_single_voters(model)
    codes, counts = data.draw(codes_for(model, max_items=6))
    computed = GroupedPatterns(PatternTable.of(codes, counts), model.groups).expect(model)
    labels, latents, votes, log_likelihood = references.expected_counts(model, codes, counts)
    np.testing.assert_allclose(computed.labels, labels, atol=1e-9)
    grouped = np.bincount(model.groups) >= 2
    np.testing.assert_allclose(computed.latents[grouped], latents[grouped], atol=1e-9)
    np.testing.assert_allclose(computed.votes, votes, atol=1e-9)
    assert computed.log_likelihood == pytest.approx(log_likelihood, rel=1e-9)


@given(data=st.data(), model=latent_models(), prior=st.sampled_from([(0.01, 0.01), (1.0, 0.5), (0.0, 0.0)]))
def test_the_objective_never_falls(data, model, prior):
    model = with_latent_y_for_single_voters(model)
    codes, counts = data.draw(codes_for(model))
    passes = GroupedPatterns(PatternTable.of(codes, counts), model.groups)
    result = run_em(model, passes.expect, prior=RatePrior(*prior), max_iter=40, tol=0.0)
    steps = np.diff(result.objective)
    assert (steps >= -1e-7 * np.abs(result.objective[:-1]).max()).all()


@given(seed=seeds)
def test_the_m_step_maximises(seed):
    """No small change of a rate improves the expected log-likelihood plus the log prior."""
    rng = np.random.default_rng(seed)
    groups = np.array([0, 0, 1])
    counts = ExpectedCounts(rng.uniform(5, 50, 2), rng.uniform(1, 20, (2, 2, 2)), rng.uniform(1, 20, (3, 2, 2)), 0.0)
    prior = RatePrior(1.0, 0.5, 2.0)
    best = prior.maximise(counts, groups)

    def objective(model):
        rates = model.group_rates
        value = counts.labels @ np.log([1 - model.class_balance, model.class_balance])
        value += (counts.latents[0] * np.log(rates[0])).sum()
        for i in range(3):
            positive = np.array([1 - model.specificity_given_group[i], model.sensitivity_given_group[i]])
            value += (counts.votes[i] * np.log(np.stack([1 - positive, positive], axis=1))).sum()
        return value + prior.log_density(model)

    for _ in range(10):
        step = 1e-3 * rng.normal(size=9)
        other = LatentModel(
            groups,
            best.class_balance + step[0],
            [best.group_sensitivity[0] + step[1], 1.0],
            [best.group_specificity[0] + step[2], 1.0],
            best.sensitivity_given_group + step[3:6],
            best.specificity_given_group + step[6:9],
        )
        assert objective(other) <= objective(best) + 1e-9


def test_expected_counts_of_blocks_add(rng):
    model = random_model([3, 2, 1], random_state=rng)
    codes = model.sample(500, rng)[0]

    def counts(rows):
        return GroupedPatterns(PatternTable.of(rows), model.groups).expect(model)

    whole, parts = counts(codes), counts(codes[:123]) + counts(codes[123:])
    np.testing.assert_allclose(parts.votes, whole.votes)
    np.testing.assert_allclose(parts.latents, whole.latents)
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood)


def test_thread_count_does_not_change_a_bit(rng, monkeypatch):
    model = random_model([4, 3, 1, 1, 1], random_state=rng)
    passes = GroupedPatterns(PatternTable.of(model.sample(20_000, rng)[0]), model.groups)
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("GOLDLESS_NUM_THREADS", threads)
        results.append(passes.expect(model))
    for other in results[1:]:
        np.testing.assert_array_equal(other.votes, results[0].votes)
        np.testing.assert_array_equal(other.latents, results[0].latents)
        assert other.log_likelihood == results[0].log_likelihood


def test_em_from_the_truth_stays_near_it(rng):
    model = random_model([5, 3, 1, 1, 1, 1], group_accuracy=(0.7, 0.8), random_state=rng)
    codes = model.sample(50_000, rng)[0]
    passes = GroupedPatterns(PatternTable.of(codes), model.groups)
    result = run_em(model, passes.expect, prior=RatePrior(), max_iter=500, tol=1e-8)
    assert result.converged
    assert result.log_likelihood >= passes.log_likelihood(model)
    np.testing.assert_allclose(result.model.sensitivity, model.sensitivity, atol=0.03)
    np.testing.assert_allclose(result.model.specificity, model.specificity, atol=0.03)


def test_stopping_early_says_how_far_it_was(rng):
    model = random_model([1] * 5, random_state=rng)
    passes = GroupedPatterns(PatternTable.of(model.sample(500, rng)[0]), model.groups)
    result = run_em(model, passes.expect, prior=RatePrior(), max_iter=2, tol=1e-12)
    assert not result.converged
    assert result.n_iter == 2
    assert result.gap == pytest.approx(np.diff(result.objective)[-1] / 500)
    assert result.gap > 1e-12


def test_extrapolation_ends_where_plain_em_ends(rng):
    model = random_model([3, 1, 1, 1, 1], random_state=rng)
    passes = GroupedPatterns(PatternTable.of(model.sample(3000, rng)[0]), model.groups)
    prior = RatePrior(1.0, 0.5)
    fast = run_em(model, passes.expect, prior=prior, max_iter=2000, tol=1e-11)
    plain = model
    for _ in range(3000):
        plain = prior.maximise(passes.expect(plain), model.groups)
    assert fast.converged
    np.testing.assert_allclose(fast.model.sensitivity, plain.sensitivity, atol=2e-3)
    assert fast.n_iter < 1500
