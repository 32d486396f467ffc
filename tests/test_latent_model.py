"""The generative model: lemmas of the paper, likelihood and posterior against the joint distribution."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import references
from goldless import LatentModel, TreeModel
from goldless.maths.tree_makers import embed, independent_model
from strategies import codes_for, latent_models, tree_models


@given(model=latent_models())
def test_lemma_1_the_covariance_is_two_rank_one_matrices(model):
    (mean, covariance), *_ = references.moments(model)
    np.testing.assert_allclose(model.mean, mean[:, 0], atol=1e-12)
    np.testing.assert_allclose(model.population_covariance(), covariance, atol=1e-12)
    same = model.groups[:, None] == model.groups[None, :]
    off = ~np.eye(model.n_voters, dtype=bool)
    np.testing.assert_allclose(covariance[same & off], np.outer(model.v_on, model.v_on)[same & off], atol=1e-12)
    np.testing.assert_allclose(covariance[~same], np.outer(model.v_off, model.v_off)[~same], atol=1e-12)


@given(model=latent_models())
def test_within_a_group_v_off_is_proportional_to_v_on(model):
    """The relation (lin_dep) of the appendix."""
    for group in range(model.n_groups):
        members = model.groups == group
        ratio = np.sqrt((1 - model.imbalance**2) / (1 - model.group_mean[group] ** 2))
        ratio *= model.group_sensitivity[group] + model.group_specificity[group] - 1
        np.testing.assert_allclose(model.v_off[members], ratio * model.v_on[members], atol=1e-12)


@given(model=tree_models())
def test_covariances_of_any_number_of_classes(model):
    """Overall and given each class, the last first: C+ and C- of two classes."""
    (_, overall), *by_class = references.moments(model)
    np.testing.assert_allclose(model.population_covariance(), overall, atol=1e-12)
    for computed, (_, expected) in zip(model.conditional_covariance(), by_class, strict=True):
        np.testing.assert_allclose(computed, expected, atol=1e-12)


@given(data=st.data(), model=tree_models(max_classes=3))
def test_likelihood_and_posteriors_are_those_of_the_joint_distribution(data, model):
    codes, _ = data.draw(codes_for(model, max_items=4))
    for item in codes:
        total, of_class, of_latent = references.posterior(model, item)
        np.testing.assert_allclose(model.log_likelihood([item])[0], np.log(total), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(model.posterior([item])[0], of_class, atol=1e-10)
        np.testing.assert_allclose(model.group_posterior([item])[0], of_latent, atol=1e-10)


def test_missing_votes_are_the_same_as_not_having_the_voter(rng):
    model = LatentModel([0, 0, 0, 1, 2], 0.3, [0.8, 0.9, 1], [0.7, 0.9, 1], *rng.uniform(0.6, 0.9, (2, 5)))
    codes = rng.integers(0, 2, (50, 5)).astype(np.int8)
    codes[:, [1, 3]] = -1
    np.testing.assert_allclose(model.posterior(codes), model.subset([0, 2, 4]).posterior(codes[:, [0, 2, 4]]))


def test_an_item_nobody_voted_on_has_the_prior(rng):
    model = LatentModel([0, 0, 1], 0.3, [0.8, 1], [0.7, 1], *rng.uniform(0.6, 0.9, (2, 3)))
    assert model.posterior([[-1, -1, -1]])[0] == pytest.approx([0.7, 0.3])


def test_samples_follow_the_model(rng):
    model = LatentModel([0, 0, 1, 1, 2], 0.35, [0.8, 0.7, 1], [0.75, 0.9, 1], *rng.uniform(0.6, 0.95, (2, 5)))
    codes, labels, latents = model.sample(200_000, rng)
    assert labels.mean() == pytest.approx(0.35, abs=0.01)
    assert latents[labels == 1].mean(axis=0) == pytest.approx(model.group_sensitivity, abs=0.01)
    np.testing.assert_allclose(np.cov(2.0 * codes.T - 1), model.population_covariance(), atol=0.02)
    np.testing.assert_allclose(codes[labels == 1].mean(axis=0), model.sensitivity, atol=0.01)
    np.testing.assert_allclose(1 - codes[labels == 0].mean(axis=0), model.specificity, atol=0.01)


@given(data=st.data(), model=latent_models())
def test_flipping_the_meaning_of_the_labels_keeps_the_votes(data, model):
    codes, _ = data.draw(codes_for(model))
    flipped = model.flipped()
    np.testing.assert_allclose(flipped.log_likelihood(codes), model.log_likelihood(codes), atol=1e-9)
    np.testing.assert_allclose(flipped.posterior(codes), model.posterior(codes)[:, ::-1], atol=1e-10)
    np.testing.assert_allclose(flipped.population_covariance(), model.population_covariance(), atol=1e-12)


def test_copies_are_no_evidence(rng):
    model = LatentModel([0, 0, 1], 0.4, [0.8, 1], [0.7, 1], *rng.uniform(0.6, 0.9, (2, 3)))
    doubled = embed(model, np.array([0, 1, 2, 2, 0, -1]), np.array([[0.5, 0.5]] * 5 + [[0.0, 1.0]]))
    codes, _, _ = doubled.sample(40, rng)
    np.testing.assert_array_equal(codes[:, 2], codes[:, 3])
    np.testing.assert_array_equal(codes[:, 5], 1)
    np.testing.assert_allclose(doubled.posterior(codes), model.posterior(codes[:, :3]), atol=1e-12)
    gaps = codes.copy()
    gaps[:, 2] = -1  # the copy speaks for a voter that is missing
    np.testing.assert_allclose(doubled.posterior(gaps), doubled.posterior(codes), atol=1e-12)
    assert doubled.balanced_accuracy[5] == 0.5
    covariance = doubled.population_covariance()
    assert covariance[2, 3] == covariance[2, 2] == covariance[3, 3]


def test_extreme_rates_give_finite_answers():
    model = LatentModel([0, 0, 1], 0.5, [1.0, 1.0], [1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0])
    codes = np.array([[1, 0, 1], [0, 0, 0], [1, 1, -1]], dtype=np.int8)
    for answer in (model.posterior(codes), model.log_likelihood(codes), model.group_posterior(codes)):
        assert np.isfinite(answer).all()


def test_hundreds_of_groups_do_not_underflow(rng):
    m = 600
    model = LatentModel(np.arange(m) // 2, 0.5, *np.full((2, m // 2), 0.9), *np.full((2, m), 0.9))
    codes, labels, _ = model.sample(20, rng)
    posterior = model.posterior(codes)
    assert np.isfinite(posterior).all()
    assert (posterior.argmax(axis=1) == labels).all()


@given(data=st.data(), model=tree_models())
def test_renaming_the_classes_keeps_the_votes(data, model):
    codes, _ = data.draw(codes_for(model))
    order = data.draw(st.permutations(range(model.n_classes)))
    renamed = model.renamed(order)
    np.testing.assert_allclose(renamed.log_likelihood(codes), model.log_likelihood(codes), atol=1e-9)
    np.testing.assert_allclose(renamed.posterior(codes), model.posterior(codes)[:, order], atol=1e-10)
    np.testing.assert_allclose(renamed.confusion, model.confusion[:, order], atol=1e-12)


@given(model=tree_models())
def test_the_unbounded_parameters_of_a_model_are_the_model(model):
    again = model.bounded([partial(np.ndarray.__getitem__, part) for part in model.unbounded()])
    for name in ("prior", "latents", "votes"):
        np.testing.assert_allclose(getattr(again, name), getattr(model, name), atol=1e-12)


def test_votes_that_are_not_shown_are_not_drawn(rng):
    model = LatentModel([0, 0, 0, 1, 2], 0.4, [0.9, 0.8, 0.9], [0.8, 0.9, 0.9], [0.8] * 5, [0.7] * 5)
    shown = rng.random((500, 5)) < 0.3
    some, labels, latents = model.sample(500, 3, shown)
    every, same_labels, same_latents = model.sample(500, 3)
    np.testing.assert_array_equal(some, np.where(shown, every, -1))
    np.testing.assert_array_equal(labels, same_labels)
    np.testing.assert_array_equal(latents, same_latents)


def test_samples_of_three_classes_follow_the_model(rng):
    latents = 0.7 * np.eye(3) + 0.1
    votes = 0.6 * np.eye(3) + 0.4 * rng.dirichlet(np.ones(3), (4, 3))
    model = TreeModel([0, 0, 1, 2], [0.5, 0.3, 0.2], [latents, np.eye(3), np.eye(3)], votes)
    codes, labels, drawn = model.sample(200_000, rng)
    np.testing.assert_allclose(np.bincount(labels) / len(labels), model.prior, atol=0.01)
    np.testing.assert_array_equal(drawn[:, 1], labels)
    for voter in range(4):
        for label in range(3):
            said = np.bincount(codes[labels == label, voter], minlength=3) / (labels == label).sum()
            np.testing.assert_allclose(said, model.confusion[voter, label], atol=0.01)


def test_rates_of_two_classes_are_refused_for_three():
    model = independent_model([0.5, 0.3, 0.2], np.tile(0.7 * np.eye(3) + 0.1, (2, 1, 1)))
    with pytest.raises(AttributeError, match="sensitivity is for two classes, and there are 3: see confusion"):
        _ = model.sensitivity
    assert model.balanced_accuracy == pytest.approx([0.8, 0.8])


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match="order of first appearance"):
        LatentModel([1, 0], 0.5, [1, 1], [1, 1], [0.8, 0.8], [0.8, 0.8])
    with pytest.raises(ValueError, match="class_balance must lie"):
        LatentModel([0], 1.5, [1], [1], [0.8], [0.8])
    with pytest.raises(ValueError, match="group_sensitivity must have shape"):
        LatentModel([0, 0], 0.5, [1, 1], [1], [0.8, 0.8], [0.8, 0.8])
    two = independent_model([0.5, 0.5], np.tile(0.6 * np.eye(2) + 0.2, (2, 1, 1)))
    with pytest.raises(ValueError, match="codes of 2 voters"):
        two.posterior([[1]])
    with pytest.raises(ValueError, match="codes must be"):
        two.posterior([[1, 2]])
    with pytest.raises(ValueError, match=r"votes must have shape \(2, 2, symbols\)"):
        TreeModel([0, 1], [0.5, 0.5], np.tile(np.eye(2), (2, 1, 1)), np.ones((2, 3, 2)) / 2)
    with pytest.raises(ValueError, match="latents must lie between 0 and 1"):
        TreeModel([0, 1], [0.5, 0.5], np.tile(2 * np.eye(2), (2, 1, 1)), np.ones((2, 2, 2)) / 2)
