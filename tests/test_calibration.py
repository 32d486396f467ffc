"""Probabilities are calibrated where the model holds, printed ones are no surer than one more voter; labels stay."""

import warnings

import numpy as np
import pytest

import goldless as gl
from goldless.fitting.calibration import Calibration, calibrated_to, soft_logistic_line
from goldless.maths.rates import normalised, probability
from goldless.maths.tree_makers import independent_model
from goldless.votes.rows import PatternTable


def bins_of(probabilities, positive):
    """Items, their probability and the positive ones among them in ten bins of the probability."""
    bins = np.minimum((10 * probabilities).astype(int), 9)
    return np.stack([np.bincount(bins, weights, 10) for weights in (None, probabilities, positive)], axis=1)


def calibration_error(bins):
    return np.abs(bins[:, 1] - bins[:, 2]).sum() / bins[:, 0].sum()


def of_both(positive):
    return np.stack([1 - positive, positive], axis=1)


def of_ratio(ratio):
    return np.stack([np.zeros(len(ratio)), ratio], axis=1)


def test_the_line_is_found_again(rng):
    ratio, weights = rng.normal(0, 4, 500), rng.integers(1, 9, 500).astype(float)
    line = soft_logistic_line(of_ratio(ratio), of_both(probability(0.8 * ratio - 1.3)), weights)
    np.testing.assert_allclose(line, (0.8, probability(np.array(-1.3))), atol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 16])
def test_the_line_of_many_classes_is_found_again(rng, n_classes):
    evidence, weights = rng.normal(0, 3, (500, n_classes)), rng.integers(1, 9, 500).astype(float)
    prior = rng.dirichlet(np.ones(n_classes))
    line = soft_logistic_line(evidence, normalised(0.4 * evidence + np.log(prior)), weights)
    assert line.temper == pytest.approx(0.4, abs=1e-9)
    np.testing.assert_allclose(line.class_prior, prior, atol=1e-9)


@pytest.mark.parametrize("ratio", [np.zeros(5), np.full(5, 3.0), np.array([])])
def test_no_line_through_one_point(ratio):
    target = of_both(np.full(len(ratio), 0.4))
    assert soft_logistic_line(of_ratio(ratio), target, np.ones(len(ratio))) is None


def test_a_line_against_the_votes_is_refused(rng):
    ratio = rng.normal(0, 2, 200)
    assert soft_logistic_line(of_ratio(ratio), of_both(probability(-ratio)), np.ones(200)) is None


def test_the_same_model_needs_no_calibration(rng):
    model = independent_model([0.7, 0.3], np.tile([[0.7, 0.3], [0.2, 0.8]], (5, 1, 1)))
    table = PatternTable.of(model.sample(500, rng)[0])
    found = calibrated_to(table, model, model)
    assert isinstance(found, Calibration)
    np.testing.assert_allclose(found, (1.0, 0.3), atol=1e-6)


def test_probabilities_of_the_model_are_calibrated_on_simulated_votes():
    """Over panels whose class balance the prior pulls towards one half; see research/benchmarks/diagnosis.py."""
    plain, calibrated = np.zeros((10, 3)), np.zeros((10, 3))
    for seed in range(10):
        X, y = gl.simulate_votes(2000, [1] * 12, 0.5, group_accuracy=(0.6, 0.9), random_state=seed)
        model = gl.LatentSML().fit(X)
        pulled = model.predict_proba(X, calibration=(1.0, model.class_balance_))[:, 1]
        calibrated += bins_of(model.predict_proba(X, calibration=model.fitted_.calibration)[:, 1], y == 1)
        plain += bins_of(pulled, y == 1)
        label = np.where(model.decision_function(X) > 0, 1, -1)
        np.testing.assert_array_equal(model.predict(X), label)  # whatever the probabilities
    assert calibration_error(calibrated) < 0.02
    assert calibration_error(calibrated) < calibration_error(plain)


def test_calibration_is_a_fitted_value_like_the_others(tmp_path, rng):
    X, _ = gl.simulate_votes(1500, [1] * 8, 0.4, group_accuracy=(0.65, 0.9), random_state=3)
    model = gl.LatentSML().fit(X)
    assert model.calibration_ != (1.0, model.class_balance_)
    half = rng.permutation(len(X))[:700]
    rest = np.setdiff1d(np.arange(len(X)), half)
    parts = gl.LatentSML().partial_fit(X[half]).merge(gl.LatentSML().partial_fit(X[rest]))
    assert parts.calibration_ == model.calibration_
    model.save(tmp_path / "model.json")
    again = gl.load(tmp_path / "model.json")
    assert again.calibration_ == model.calibration_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(model.explain(X).probability, model.predict_proba(X)[:, 1])
    panel = model.subset([0, 3, 4, 5])
    assert np.isfinite(panel.predict_proba(X[:, [0, 3, 4, 5]])).all()


def test_exchanging_the_classes_exchanges_the_probabilities():
    X, _ = gl.simulate_votes(1500, [1] * 8, 0.4, group_accuracy=(0.65, 0.9), random_state=3)
    one, other = gl.LatentSML().fit(X).predict_proba(X), gl.LatentSML().fit(-X).predict_proba(-X)
    np.testing.assert_allclose(one, other[:, ::-1], atol=1e-5)


def test_where_the_prior_gives_way_nothing_is_left_to_calibrate():
    X, _ = gl.simulate_votes(10_000, [1] * 8, 0.8, group_accuracy=(0.7, 0.9), random_state=1)
    model = gl.LatentSML().fit(X)
    assert model.fitted_.calibration == (1.0, model.class_balance_)


def test_known_labels_and_a_known_balance_enter_the_calibration():
    X, y = gl.simulate_votes(1000, [1] * 7, 0.4, group_accuracy=(0.65, 0.9), random_state=5)
    balanced = gl.LatentSML().fit(X, class_balance=0.7)
    assert balanced.fitted_.calibration == (1.0, pytest.approx(0.7))
    assert abs(balanced.predict_proba(X)[:, 1].mean() - balanced.predict_proba(X, (1.0, 0.7))[:, 1].mean()) < 1e-6
    anchored = gl.LatentSML().fit(X, anchors=dict(enumerate(y[:500])))
    assert abs(anchored.fitted_.calibration[1] - 0.7) < 0.05
    assert log_loss(y > 0, anchored.predict_proba(X)[:, 1]) < log_loss(y > 0, balanced.predict_proba(X)[:, 1])


def log_loss(positive, probability):
    return -np.log(np.where(positive, probability, 1 - probability).clip(1e-3)).mean()


def test_printed_probabilities_are_less_sure_and_keep_order_mean_and_labels():
    X, _ = gl.simulate_votes(1000, [1] * 9, 0.2, group_accuracy=(0.65, 0.9), random_state=5)
    model = gl.LatentSML().fit(X)
    printed, own = (model.predict_proba(X, calibration=of)[:, 1] for of in (None, model.fitted_.calibration))
    assert 0 < model.calibration_[0] < 1
    assert printed.std() < own.std()
    assert abs(printed.mean() - own.mean()) < 1e-6
    order = np.argsort(own, kind="stable")
    assert (np.diff(printed[order]) > -1e-9).all()
    few = model.subset([0, 4, 5, 6])
    assert few.calibration_ == model.calibration_


@pytest.mark.filterwarnings("ignore::goldless.VotesWarning")
def test_on_real_panels_printed_probabilities_are_better(data_folder):
    losses = []
    for name in ("crowd_zencrowd_us", "judge_llmbar_natural", "mrmc_federica", "shared_semeval2016_t3B_allruns"):
        with np.load(data_folder / "panels" / f"{name}.npz", allow_pickle=False) as file:
            X, y = file["votes"], file["truth"]
        model = gl.LatentSML(missing=0).fit(X)
        losses.append([log_loss(y > 0, model.predict_proba(X, of)[:, 1]) for of in (None, model.fitted_.calibration)])
    assert np.mean(losses, axis=0)[0] < 0.7 * np.mean(losses, axis=0)[1]


X_OF_TWO_ITEMS = [
    [
        0.4911835699259107,
        0.23258670186964908,
        0.495751618051688,
        0.19527049626468257,
        0.6861739328035759,
        0.41472769478165655,
    ],
    [
        0.10661915636289156,
        0.5409116424395753,
        0.18450042258203395,
        0.5305914296991157,
        0.7490119791435865,
        0.01974288725451997,
    ],
]


def test_items_that_differ_by_where_em_ended_have_no_line():
    """Their log-odds differ by 1.6e-6, and whether a line was drawn hung on the order of the columns."""
    X = np.array(X_OF_TWO_ITEMS)
    found = []
    for columns in ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 5, 4], [5, 4, 3, 2, 1, 0]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = gl.LatentSML(kind="probabilities").fit(X[:, columns], trusted=[columns.index(1)])
            found.append(model.predict_proba(X[:, columns]))
    np.testing.assert_allclose(found[1:], found[:1] * 2, atol=1e-9)
