"""What was true of real panels: the table, its laws, and that it holds on panels that it did not see."""

import json
import warnings
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

import goldless as gl
from goldless.diagnosis.reference_class import log_odds_above_chance, reference_class, share_of
from goldless.fitting.risk import ENOUGH_LABELS, Risk, expected_balanced_accuracy
from research.reference_class.table import on_scale


def fit(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        return gl.LatentSML(**options).fit(X)


def diagnosed(X, **options):
    return gl.diagnose(fit(X, **options), X, resamples=0)


@pytest.mark.parametrize("scale", ["share", "log-odds"])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_scales_go_forth_and_back(scale, n_classes):
    shares = np.linspace(0.01, 0.99, 9)
    np.testing.assert_allclose(share_of(on_scale(shares, n_classes, scale), n_classes, scale), shares)
    assert on_scale(1 / n_classes, n_classes, scale) == pytest.approx(0)


def test_the_table_names_its_panels_and_holds_no_votes():
    text = files("goldless.diagnosis").joinpath("reference_class.json").read_text(encoding="utf-8")
    table = json.loads(text)
    parts = [table[name] for name in ("two classes", "more classes", "numbers")]
    assert [len(part["panels"]) for part in parts] == [75, 11, 42]
    assert sum(len(claim) for part in parts for claim in part["claims"].values()) < 200
    assert len(text) < 20_000


@pytest.mark.parametrize(("n_classes", "most", "width"), [(2, 0.95, 0.35), (3, 1.0, 0.6)])
def test_nine_in_ten_of_the_panels_left_out_were_within(n_classes, most, width):
    """As the table was made: coverage of families left out, and widths that are of use.

    Of more than two classes eleven panels are judged, so one more or less is nine points.
    """
    claims = reference_class(n_classes).claims
    for name in ("combined", "majority vote", "panel", "voter"):
        assert 0.87 <= claims[name].covered <= most, name
    assert claims["combined"].width <= width


def test_a_higher_expectation_is_a_higher_interval():
    known = reference_class(2)
    ends = np.array([known.of_labels("combined", own, 0.8, 2) for own in (0.6, 0.8, 0.9, 0.99)])
    assert (np.diff(ends, axis=0) >= 0).all()
    assert (ends[:, 0] < ends[:, 1]).all()
    voters = known.of_voters(np.array([0.6, 0.9, 0.9]), np.array([1000, 1000, 25]), 2)
    assert voters[1, 0] > voters[0, 0]
    assert np.diff(voters[2]) > np.diff(voters[1])  # few votes say less


def test_the_sentence_on_real_panels_names_what_its_interval_is_of():
    """Not the share of the items that are right, which with a rare class is another figure."""
    X, _ = gl.simulate_votes(1_500, groups=[4] + [1] * 7, group_accuracy=(0.65, 0.9), random_state=2)
    model = fit(X)
    summary = gl.report.summarize(model, X, resamples=0)
    row = summary["answer"]["expected"][0]
    low, high = (f"{100 * end:.0f}" for end in row["interval"])
    said = summary["answer"]["on_real_panels"]
    assert said.startswith(f"The model expects a balanced accuracy of {100 * row['balanced_accuracy']:.1f} %")
    assert f"on 75 real panels that looked like this it was {low} to {high} %" in said
    assert "right on" not in said


def test_which_class_is_positive_does_not_matter():
    known = reference_class(2)
    for share in (0.5, 0.2, 0.03):
        low, high = known.of_class_share(share)
        other_low, other_high = known.of_class_share(1 - share)
        assert low + other_high == pytest.approx(1, abs=0.05)  # errors were symmetric, quantiles of them nearly so
        assert high + other_low == pytest.approx(1, abs=0.05)


def test_a_diagnosis_says_what_was_true_of_real_panels():
    X, _ = gl.simulate_votes(1_500, groups=[4] + [1] * 7, group_accuracy=(0.65, 0.9), random_state=2)
    found = diagnosed(X)
    known = reference_class(2)
    majority = found.expectation("majority vote")
    for row in found.expected:
        assert row.interval == pytest.approx(
            known.of_labels(row.method, row.balanced_accuracy, majority.balanced_accuracy, 2)
        )
        low, high = row.model_interval
        assert low <= row.balanced_accuracy <= high
        assert 0.4 < row.held <= 1
    assert found.expectation("combined").held == majority.held
    assert (np.diff(found.balanced_accuracy_interval) > np.diff(found.balanced_accuracy_model_interval)).all()
    low, high = found.class_balance_interval
    assert low < found.class_balance < high
    assert found.to_dict()["expected"][0]["held"] == majority.held


def test_what_is_known_has_no_other_interval():
    X, _ = gl.simulate_votes(600, groups=[1] * 8, group_accuracy=(0.65, 0.9), random_state=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        model = gl.LatentSML().fit(X, class_balance=0.5, trusted={3: (0.8, 0.8)})
    found = gl.diagnose(model, X, resamples=0)
    np.testing.assert_array_equal(found.class_balance_interval, found.class_balance_model_interval)
    np.testing.assert_array_equal(found.balanced_accuracy_interval[3], found.balanced_accuracy_model_interval[3])


def test_many_classes_have_figures_where_panels_exist_and_say_where_not():
    X, _ = gl.simulate_votes(600, groups=[1] * 7, n_classes=4, random_state=0)
    found = diagnosed(X)
    assert found.expectation("combined").interval is not None
    assert np.isnan(found.class_balance_interval).all()
    assert any("class balance" in sentence for sentence in found.said_without())


@pytest.mark.real_data
def test_panels_of_strong_classifiers_are_within(data_folder):
    """Ensembles that the table does not know: 21 of Weka, the labels and the voters."""
    held, of_voters = [], []
    for path in sorted((data_folder / "weka").glob("*_1.npz")):
        with np.load(path) as file:
            X, y = file["votes"], file["truth"]
        model = fit(X)
        found = gl.diagnose(model, X, resamples=0)
        low, high = found.expectation("combined").interval
        held.append(low <= model.score(X, y) <= high)
        true = np.array([gl.balanced_accuracy(y, column) for column in X.T])
        low, high = found.balanced_accuracy_interval.T
        of_voters.append(((low <= true) & (true <= high)).mean())
    assert np.mean(held) >= 0.8
    assert np.mean(of_voters) >= 0.8


# -- disasters ----------------------------------------------------------------------------------------------


def test_signs_of_a_disaster():
    safe = Risk(20_000, 10, 0.97, 0.0)
    assert not safe.high
    assert Risk(300, 40, 0.88, 0.3).high
    assert Risk(30, 40, 1.0, 0.0).high  # fewer items than voters
    unlike = Risk(1_000, 15, 0.86, 0.3, misfit=2.0)
    assert unlike.high
    assert not replace(unlike, misfit=1.0).high  # many items say that the model holds
    assert replace(unlike, n_items=300, misfit=1.0).high
    ranks = [Risk(n_items, 10, 0.95, 0.05).rank for n_items in (20, 100, 1_000, 50_000)]
    assert ranks == sorted(ranks)
    assert Risk(500, 10, 0.9, 0.3).rank < Risk(500, 10, 0.98, 0.3).rank < Risk(500, 10, 0.98, 0.0).rank


def test_expected_balanced_accuracy_by_hand():
    posterior = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    labels, counts = np.array([0, 1, 1]), np.array([2, 1, 1])
    assert expected_balanced_accuracy(labels, posterior, counts) == pytest.approx((1.8 / 2.5 + 1.3 / 1.5) / 2)


def test_predict_warns_until_ten_labels_are_known():
    rng = np.random.default_rng(1)
    X, y = gl.simulate_votes(30, groups=[1] * 40, group_accuracy=(0.5, 0.6), random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        model = gl.LatentSML().fit(X)
    with pytest.warns(gl.LabelsAtRiskWarning, match="Label at least 10 items before you use these labels"):
        model.predict(X)
    found = gl.diagnose(model, X, resamples=0)
    assert found.at_risk == model.fitted_.at_risk
    assert found.at_risk in found.advice
    rows = rng.choice(30, ENOUGH_LABELS, replace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        model = gl.LatentSML().fit(X, anchors={int(row): y[row] for row in rows})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)
    assert gl.diagnose(model, X, resamples=0).at_risk is None


def test_plain_votes_need_no_warning():
    X, _ = gl.simulate_votes(5_000, groups=[1] * 9, group_accuracy=(0.7, 0.9), random_state=0)
    model = fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)


def test_log_odds_above_chance_are_zero_for_a_guess():
    assert log_odds_above_chance(0.25, 4) == pytest.approx(0)
