"""E-step, M-step and their alternation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import references
from goldless import TreeModel, random_model
from goldless.maths.em import Dirichlet, ExpectedCounts, even_model, run_em
from goldless.votes.grouped import GroupedPatterns
from goldless.votes.rows import PatternTable
from strategies import codes_for, random_rows, seeds, tree_models


def with_latent_y_for_single_voters(model):
    """The form EM works on: a voter that is alone has alpha = Y."""
    alone = np.bincount(model.groups) == 1
    single = alone[model.groups]
    return model.with_tables(
        model.prior,
        np.where(alone[:, None, None], np.eye(model.n_classes), model.latents),
        np.where(single[:, None, None], model.confusion, model.votes),
    )


def grouped_patterns(codes, model, counts=None):
    return GroupedPatterns(PatternTable.of(codes, model.n_symbols, counts), model.groups)


def weak_prior(model, right=0.01, wrong=0.01, balance=0.01, pooled=0.0):
    return Dirichlet.of_classes(model.groups, model.n_classes, right, wrong, balance, pooled)


@given(data=st.data(), model=tree_models(max_voters=4, max_classes=3))
def test_expected_counts_are_those_of_the_joint_distribution(data, model):
    model = with_latent_y_for_single_voters(model)
    codes, counts = data.draw(codes_for(model, max_items=6))
    computed = grouped_patterns(codes, model, counts).expect(model)
    labels, latents, votes, log_likelihood = references.expected_counts(model, codes, counts)
    np.testing.assert_allclose(computed.labels, labels, atol=1e-9)
    grouped = np.bincount(model.groups) >= 2
    np.testing.assert_allclose(computed.latents[grouped], latents[grouped], atol=1e-9)
    np.testing.assert_allclose(computed.votes, votes, atol=1e-9)
    assert computed.log_likelihood == pytest.approx(log_likelihood, rel=1e-9)


@given(data=st.data(), model=tree_models(), prior=st.sampled_from([(0.01, 0.01), (1.0, 0.5), (0.0, 0.0)]))
def test_the_objective_never_falls(data, model, prior):
    model = with_latent_y_for_single_voters(model)
    codes, counts = data.draw(codes_for(model))
    passes = grouped_patterns(codes, model, counts)
    result = run_em(model, passes.expect, prior=weak_prior(model, *prior), max_iter=40, tol=0.0)
    steps = np.diff(result.objective)
    assert (steps >= -1e-7 * np.abs(result.objective[:-1]).max()).all()


@given(seed=seeds, n_classes=st.integers(2, 4))
def test_the_m_step_maximises(seed, n_classes):
    """No other tables have a larger expected log-likelihood plus log prior."""
    rng = np.random.default_rng(seed)
    groups = np.array([0, 0, 1])
    shape = (n_classes, n_classes)
    counts = ExpectedCounts(
        rng.uniform(5, 50, n_classes), rng.uniform(1, 20, (2, *shape)), rng.uniform(1, 20, (3, *shape)), 0.0
    )
    prior = Dirichlet.of_classes(groups, n_classes, 1.0, 0.5, 2.0)
    best = prior.maximise(counts)
    np.testing.assert_array_equal(best.latents[1], np.eye(n_classes))

    def objective(model):
        value = counts.labels @ np.log(model.prior) + (counts.votes * np.log(model.votes)).sum()
        return value + (counts.latents[0] * np.log(model.latents[0])).sum() + prior.log_density(model)

    for share in (1e-3, 0.1):
        other = even_model(groups, n_classes).with_tables(
            (1 - share) * best.prior + share * random_rows(rng, n_classes),
            (1 - share) * best.latents
            + share * random_rows(rng, 2, *shape).transpose(0, 2, 1) * [[[1]], [[0]]]
            + share * np.eye(n_classes) * [[[0]], [[1]]],
            (1 - share) * best.votes + share * random_rows(rng, 3, *shape),
        )
        assert objective(other) <= objective(best) + 1e-9


def test_the_pull_towards_all_voters_is_a_pseudo_vote_for_their_confusions(rng):
    """Voters with few votes take over the errors of the others; the pull of one kind does not reach the other."""
    groups = np.array([0, 0, 1, 2, 3])
    votes = rng.uniform(50, 100, (5, 3, 3))
    votes[4] = 0.0
    counts = ExpectedCounts(np.full(3, 100.0), rng.uniform(1, 20, (4, 3, 3)), votes, 0.0)
    pulled = Dirichlet.of_classes(groups, 3, 1.0, 0.5, 1.0, pooled=10.0).maximise(counts)
    plain = Dirichlet.of_classes(groups, 3, 1.0, 0.5, 1.0).maximise(counts)
    pseudo = np.full((3, 3), 0.25) + 0.75 * np.eye(3)
    common = votes[2:4].sum(axis=0) + pseudo
    expected = pseudo + 10 * common / common.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pulled.votes[4], expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(plain.votes[4], pseudo / pseudo.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(pulled.latents, plain.latents)


def test_kinds_of_items_share_their_wrong_answers(rng):
    """How often a voter is right depends on the kind, which wrong answer it gives only on the class."""
    n_classes, label = 3, np.repeat(np.arange(3), 2)
    start = TreeModel(
        np.arange(2),
        np.full(6, 1 / 6),
        np.full((2, 3, 6), 1 / 3),
        np.full((2, 6, 3), 1 / 3),
        state_class=np.eye(3)[label],
    )
    prior = Dirichlet(start, label, np.ones(6), 1.0, 0.5)
    counts = ExpectedCounts(np.full(6, 10.0), np.zeros((2, 3, 6)), rng.uniform(1, 20, (2, 6, 3)), 0.0)
    model = prior.maximise(counts)
    np.testing.assert_allclose(model.votes.sum(axis=2), 1.0)
    for state in range(6):
        wrong = [symbol for symbol in range(n_classes) if symbol != label[state]]
        share = model.votes[:, state, wrong] / model.votes[:, state, wrong].sum(axis=1, keepdims=True)
        other = model.votes[:, state ^ 1, wrong] / model.votes[:, state ^ 1, wrong].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(share, other)
        said = counts.votes[:, state]
        right = (said[:, label[state]] + 1.0) / (said.sum(axis=1) + 1.5)
        np.testing.assert_allclose(model.votes[:, state, label[state]], right)


def test_expected_counts_of_blocks_add(rng):
    model = random_model([3, 2, 1], random_state=rng)
    codes = model.sample(500, rng)[0]

    def counts(rows):
        return grouped_patterns(rows, model).expect(model)

    whole, parts = counts(codes), counts(codes[:123]) + counts(codes[123:])
    np.testing.assert_allclose(parts.votes, whole.votes)
    np.testing.assert_allclose(parts.latents, whole.latents)
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood)


def test_thread_count_does_not_change_a_bit(rng, monkeypatch):
    model = random_model([4, 3, 1, 1, 1], random_state=rng)
    passes = grouped_patterns(model.sample(20_000, rng)[0], model)
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
    passes = grouped_patterns(codes, model)
    result = run_em(model, passes.expect, prior=weak_prior(model), max_iter=500, tol=1e-8)
    assert result.converged
    assert result.log_likelihood >= passes.log_likelihood(model)
    np.testing.assert_allclose(result.model.sensitivity, model.sensitivity, atol=0.03)
    np.testing.assert_allclose(result.model.specificity, model.specificity, atol=0.03)


def test_stopping_early_says_how_far_it_was(rng):
    model = random_model([1] * 5, random_state=rng)
    passes = grouped_patterns(model.sample(500, rng)[0], model)
    result = run_em(model, passes.expect, prior=weak_prior(model), max_iter=2, tol=1e-12)
    assert not result.converged
    assert result.n_iter == 2
    assert result.gap == pytest.approx(np.diff(result.objective)[-1] / 500)
    assert result.gap > 1e-12


def test_extrapolation_ends_where_plain_em_ends(rng):
    model = random_model([3, 1, 1, 1, 1], random_state=rng)
    passes = grouped_patterns(model.sample(3000, rng)[0], model)
    prior = weak_prior(model, 1.0, 0.5)
    fast = run_em(model, passes.expect, prior=prior, max_iter=2000, tol=1e-11)
    plain = model
    for _ in range(3000):
        plain = prior.maximise(passes.expect(plain))
    assert fast.converged
    np.testing.assert_allclose(fast.model.sensitivity, plain.sensitivity, atol=2e-3)
    assert fast.n_iter < 1500
