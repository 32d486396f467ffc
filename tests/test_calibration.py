"""Probabilities are calibrated where the model holds, printed ones are no surer than one more voter; labels stay."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import goldless as gl
from goldless.fitting.calibration import (
    Calibration,
    calibrated_to,
    one_more_voter,
    soft_logistic_line,
    total_of,
)
from goldless.maths.rates import normalised, probability
from goldless.maths.tree_makers import independent_model
from goldless.votes.rows import PatternTable
from references import slow_line_of_two


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


# -- more than two classes ------------------------------------------------------------------------------------


def votes_of_classes(n_classes=4, n_items=1500, seed=1, missing=0.2):
    """Votes of ten voters of whom three share a source, NaN where there is none."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(n_classes, n_items, p=np.arange(2, n_classes + 2) / np.arange(2, n_classes + 2).sum())

    def noisy(of, right):
        return np.where(rng.random(n_items) < right, of, rng.integers(0, n_classes, n_items))

    source = noisy(truth, 0.8)
    votes = [noisy(source if voter < 3 else truth, 0.75) for voter in range(10)]
    return np.where(rng.random((n_items, 10)) < missing, np.nan, np.stack(votes, axis=1)), truth


many_estimators = pytest.mark.parametrize("estimator", [gl.LatentSML(), gl.DawidSkene()], ids=["search", "flat"])


def own_and_printed(model, X):
    own = (1.0, model.class_balance_) if model.fitted_.calibration is None else model.fitted_.calibration
    return model.predict_proba(X, calibration=own), model.predict_proba(X)


@many_estimators
def test_printed_probabilities_of_classes_are_less_sure_and_keep_means_and_labels(estimator):
    X, _ = votes_of_classes()
    model = clone(estimator).fit(X)
    own, printed = own_and_printed(model, X)
    assert 0 < model.calibration_[0] < 1
    np.testing.assert_allclose(printed.sum(axis=1), 1)
    np.testing.assert_allclose(printed.mean(axis=0), own.mean(axis=0), atol=1e-9)
    assert printed.max(axis=1).mean() < own.max(axis=1).mean()
    assert (-(printed * np.log(printed)).sum(axis=1)).mean() > (-(own * np.log(own + 1e-300)).sum(axis=1)).mean()
    evidence = model.fitted_.log_likelihood(np.where(np.isnan(X), -1, X).astype(np.int8))
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.fitted_.decide(evidence)])
    by_map = clone(estimator).set_params(decision="map").fit(X)
    np.testing.assert_array_equal(by_map.predict(X), by_map.classes_[by_map.predict_proba(X).argmax(axis=1)])


@many_estimators
def test_voters_in_another_order_and_classes_of_other_names_print_the_same(estimator):
    X, _ = votes_of_classes()
    printed = clone(estimator).fit(X).predict_proba(X)
    order = np.random.default_rng(0).permutation(10)
    np.testing.assert_allclose(clone(estimator).fit(X[:, order]).predict_proba(X[:, order]), printed, atol=1e-6)
    turned = 3 - X
    np.testing.assert_allclose(clone(estimator).fit(turned).predict_proba(turned)[:, ::-1], printed, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_copy_of_a_voter_changes_no_probability(n_classes):
    X, _ = votes_of_classes(n_classes)
    twice = np.column_stack([X, X[:, 5]])
    with pytest.warns(gl.VotesWarning, match="Exact copies"):
        cloned = gl.LatentSML().fit(twice)
    np.testing.assert_allclose(cloned.predict_proba(twice), gl.LatentSML().fit(X).predict_proba(X), atol=1e-9)


@many_estimators
def test_a_stream_prints_what_memory_prints(estimator):
    X, _ = votes_of_classes()
    stream = gl.VoteStream(lambda: (X[start : start + 200] for start in range(0, len(X), 200)))
    memory, streamed = clone(estimator).fit(X), clone(estimator).fit(stream)
    np.testing.assert_allclose(streamed.predict_proba(X), memory.predict_proba(X), atol=1e-9)


def test_a_line_of_classes_is_saved_and_a_damaged_one_refused(tmp_path):
    X, _ = votes_of_classes()
    model = gl.LatentSML().fit(X)
    model.save(tmp_path / "model.json")
    again = gl.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(
        model.explain(X).probability, model.predict_proba(X)[np.arange(len(X)), model.explain(X).label]
    )
    part = model.subset([0, 4, 5, 6])
    np.testing.assert_array_equal(part.calibration_[1], model.calibration_[1])
    np.testing.assert_allclose(part.predict_proba(X[:, [0, 4, 5, 6]]).sum(axis=1), 1)
    document = json.loads((tmp_path / "model.json").read_text())
    line = document["fitted"]["of"]["probability_line"]["of"]["class_balance"]
    line["array"], line["shape"] = [1.0], [1]
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"count with \(1,\) shares of classes"):
        gl.load(tmp_path / "model.json")


def test_of_two_classes_the_line_is_that_of_log_odds(rng):
    """One function for any number of classes: of two it gives what the one for two gave."""
    for _ in range(5):
        ratio = rng.normal(0.5, 6, 400)
        said = probability(0.2 * ratio + rng.normal(0, 1, 400))
        counts, mean = rng.integers(1, 9, 400).astype(float), rng.uniform(0.1, 0.9)
        line = one_more_voter(total_of(of_ratio(ratio), of_both(said), counts), np.array([1 - mean, mean]))
        np.testing.assert_allclose(line, slow_line_of_two(ratio, said, counts, mean), atol=1e-12)


def test_the_textbook_prints_its_posterior():
    X, _ = votes_of_classes()
    model = gl.DawidSkene(prior=(0, 0), balance_prior=0).fit(X)
    assert model.calibration_[0] == 1.0
    np.testing.assert_array_equal(*own_and_printed(model, X))


def test_known_labels_move_the_line_of_classes():
    X, truth = votes_of_classes(seed=3)
    model = gl.LatentSML().fit(X, anchors=dict(enumerate(truth[:300].tolist())))
    alone = gl.LatentSML().fit(X)
    assert model.calibration_[0] != pytest.approx(alone.calibration_[0], rel=1e-2)
    loss = [-np.log(of.predict_proba(X)[np.arange(300, 1500), truth[300:]]).mean() for of in (model, alone)]
    assert loss[0] < loss[1]


@pytest.mark.filterwarnings("ignore::goldless.VotesWarning")
def test_on_real_panels_of_classes_probabilities_beat_the_base_rate(data_folder):
    losses = []
    for name in ("crowd_adult2", "crowd_face", "crowd_music", "human_mvh_eidolonII", "human_mvh_stylized"):
        with np.load(data_folder / "panels" / f"{name}.npz", allow_pickle=False) as file:
            X, y = file["votes"], file["truth"]
        model = gl.LatentSML(missing=-1).fit(X)
        place = np.searchsorted(model.classes_, y)
        known = (y >= 0) & np.isin(y, model.classes_)
        share = np.bincount(place[known]) / known.sum()
        base = -np.log(share[place[known]]).mean()
        losses.append([-np.log(of[known, place[known]].clip(1e-3)).mean() for of in own_and_printed(model, X)])
        assert losses[-1][1] < base, name
    assert np.mean(losses, axis=0)[1] < 0.7 * np.mean(losses, axis=0)[0]
