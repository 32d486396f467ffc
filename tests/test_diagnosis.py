"""What a diagnosis says holds on simulated votes, obeys the laws of the votes, and admits what it cannot know."""

import json
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

import goldless as gl
from goldless.diagnosis.compare import holm
from goldless.diagnosis.goodness import fit_pvalue
from goldless.diagnosis.information import PatternScores
from goldless.diagnosis.intervals import interval
from goldless.diagnosis.worth import one_more, shared_doubt, single_accuracies
from goldless.fitting.risk import expected_balanced_accuracy
from goldless.fitting.solve import fit_groups
from goldless.maths.correlations import class_correlations, effective_votes, uniqueness, within_class_correlations
from goldless.maths.em import Dirichlet
from goldless.maths.tree import TreeModel
from goldless.maths.tree_makers import LatentModel
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable
from references import numerical_information


@pytest.fixture(scope="module")
def simulated():
    return gl.simulate_votes(
        4000, groups=[4] + [1] * 8, imbalance=0.3, group_accuracy=(0.65, 0.9), random_state=5, return_model=True
    )


@pytest.fixture(scope="module")
def fitted(simulated):
    return gl.LatentSML().fit(simulated[0])


@pytest.fixture(scope="module")
def diagnosis(simulated, fitted):
    return gl.diagnose(fitted, simulated[0], resamples=10)


def fit(X, **options):
    """Fit without a word about other readings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gl.LatentSML(**options).fit(X)


def independent_model(balance, sensitivity, specificity):
    """Two classes, every voter alone with Y."""
    alone = np.arange(len(sensitivity))
    return LatentModel(alone, balance, np.ones(len(alone)), np.ones(len(alone)), sensitivity, specificity)


def quick(model, X, **options):
    return gl.diagnose(model, X, **{"resamples": 0, **options})


def random_tree(rng, sizes, n_classes, right=4.0):
    """A tree of any number of classes: groups of these sizes, everybody right more often than not."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    expecting = np.ones((n_classes, n_classes)) + right * np.eye(n_classes)

    def tables(n):
        return np.array([[rng.dirichlet(row) for row in expecting] for _ in range(n)])

    latents = tables(len(sizes)).transpose(0, 2, 1)
    latents[np.array(sizes) == 1] = np.eye(n_classes)
    return TreeModel(groups, rng.dirichlet(np.full(n_classes, 20.0)), latents, tables(len(groups)))


# -- derivatives --------------------------------------------------------------------------------------------


def test_scores_and_information_are_derivatives_of_the_likelihood(rng):
    X, _, model = gl.simulate_votes(
        400, [3, 2, 1, 1], imbalance=0.4, missing_rate=0.2, random_state=rng, return_model=True
    )
    table = PatternTable.of(np.where(np.isnan(X), -1, X > 0).astype(np.int8))
    scores = PatternScores(table.codes, table.counts, model)

    def log_likelihood(step):
        return table.counts @ scores.stepped(step).log_likelihood(table.codes)

    gradient, information = numerical_information(log_likelihood, scores.n_parameters)
    total = sum(table.counts[block.rows] @ block.score for block in scores.blocks())
    np.testing.assert_allclose(total, gradient, atol=1e-5)
    np.testing.assert_allclose(scores.observed_information[0], information, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_gradients_of_accuracies_and_class_shares(rng, n_classes):
    model = random_tree(rng, [3, 2, 1, 1], n_classes)
    scores = PatternScores(np.zeros((0, 7), dtype=np.int8), np.zeros(0, dtype=int), model)
    stepped = [(scores.stepped(s), scores.stepped(-s)) for s in 1e-6 * np.eye(scores.n_parameters)]
    for voter in range(7):
        found = np.zeros((n_classes, scores.n_parameters))
        gradients = scores.recall_gradients(voter)
        found[:, gradients.columns] = gradients.values
        numeric = [(up.recall[voter] - down.recall[voter]) / 2e-6 for up, down in stepped]
        np.testing.assert_allclose(found, np.array(numeric).T, atol=1e-8)
    shares = np.array([(up.class_prior - down.class_prior) / 2e-6 for up, down in stepped]).T
    np.testing.assert_allclose(shares[:, scores.columns_of_prior], scores.prior_gradients().values, atol=1e-8)


# -- what it says -------------------------------------------------------------------------------------------


def test_intervals_hold_the_truth_and_the_estimate(simulated, fitted, diagnosis):
    _, _, true = simulated
    for name in ("sensitivity", "specificity", "balanced_accuracy"):
        ends = getattr(diagnosis, f"{name}_interval")
        estimate = getattr(fitted, f"{name}_")
        assert ((ends[:, 0] <= estimate) & (estimate <= ends[:, 1])).all()
        covered = (ends[:, 0] <= getattr(true, name)) & (getattr(true, name) <= ends[:, 1])
        assert covered.mean() > 0.7  # of 12; coverage is measured in research/experiments/promises.py
    low, high = diagnosis.class_balance_model_interval
    assert low <= true.class_balance <= high


def test_expected_accuracies_hold_those_of_the_labels(simulated, fitted, diagnosis):
    X, y, _ = simulated
    scored = {
        "combined": gl.balanced_accuracy(y, fitted.predict(X)),
        "majority vote": gl.balanced_accuracy(y, gl.MajorityVote().fit_predict(X)),
    }
    for method, accuracy in scored.items():
        low, high = diagnosis.expectation(method).model_interval
        assert low - 0.01 < accuracy < high + 0.01
    assert diagnosis.expectation("voter thought best").voter in diagnosis.voters
    with pytest.raises(KeyError, match="coin"):
        diagnosis.expectation("coin")


def test_groups_are_tested_found_stable_and_counted(diagnosis):
    assert diagnosis.independence_pvalue < 1e-6
    assert diagnosis.fit_pvalue > 0.001
    together = diagnosis.co_membership
    assert together[:4, :4].min() > 0.8
    assert together[4:, :4].max() < 0.2
    np.testing.assert_array_equal(together, together.T)
    low, high = diagnosis.effective_votes_interval
    assert low <= diagnosis.effective_votes <= high < 12
    assert diagnosis.uniqueness.sum() == pytest.approx(diagnosis.effective_votes)
    assert list(diagnosis.one_more) == [0]
    assert 0 <= diagnosis.one_more[0] < 0.5
    assert "4 of 12 voters echo others" in diagnosis.verdict
    assert diagnosis.cannot_tell == ()


def test_independent_voters_are_not_accused(rng):
    X, _ = gl.simulate_votes(2000, [1] * 8, group_accuracy=(0.7, 0.95), random_state=rng)
    found = quick(fit(X), X)
    assert found.independence_pvalue > 0.001
    assert found.effective_votes > 7.5
    assert found.fit_pvalue == found.independence_pvalue


def test_it_is_frozen_plain_and_reproducible(simulated, fitted, diagnosis):
    with pytest.raises(FrozenInstanceError):
        diagnosis.verdict = "good"
    with pytest.raises(ValueError, match="read-only"):
        diagnosis.sensitivity_interval[0] = 0
    plain = diagnosis.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    again = gl.diagnose(fitted, simulated[0], resamples=10)
    assert again.to_dict() == plain
    assert "Diagnosis of 12 voters on 4,000 items" in repr(diagnosis)


def test_duplicate_items_are_weights(simulated, fitted):
    X = simulated[0]
    rows, counts = np.unique(X, axis=0, return_counts=True)
    weighted, repeated = quick(fitted, rows, sample_weight=counts).to_dict(), quick(fitted, X).to_dict()
    for by_row in ("next_to_label", "labels_enough"):  # a row can be asked once, the items it stands for each
        del weighted[by_row], repeated[by_row]
    assert weighted == repeated


def test_the_verdict_says_that_majority_will_do(rng):
    codes = independent_model(0.5, [0.8] * 7, [0.8] * 7).sample(5000, rng)[0]
    found = quick(fit(codes), codes)
    assert found.use == "majority"
    assert found.verdict.startswith("Use the majority vote, which gives the same labels")


def test_what_a_model_expects_of_one_voter_is_no_advice(rng):
    codes = independent_model(0.5, [0.99] + [0.55] * 6, [0.99] + [0.55] * 6).sample(5000, rng)[0]
    model = gl.LatentSML(structure="independent").fit(codes)
    found = quick(model, codes)
    best = found.expectation("voter thought best")
    assert best.voter == "voter 0"
    assert best.balanced_accuracy >= found.expectation("majority vote").balanced_accuracy
    assert found.use == "combined"


def test_facts_and_other_models_can_be_diagnosed(simulated):
    X, y, _ = simulated
    anchored = gl.LatentSML().fit(X, anchors={row: y[row] for row in range(30)}, class_balance=0.65)
    for model in (gl.DawidSkene().fit(X), gl.SpectralMetaLearner().fit(X), anchored):
        assert np.isfinite(quick(model, X).sensitivity_interval).all()
    with pytest.raises(TypeError, match="MajorityVote"):
        gl.diagnose(gl.MajorityVote().fit(X), X)
    with pytest.raises(ValueError, match="the votes have 5"):
        gl.diagnose(gl.DawidSkene().fit(X), X[:, :5])


def test_probabilities_are_calibrated_where_the_model_holds_and_tempered_where_not(simulated, fitted, diagnosis, rng):
    X, y, true = simulated
    assert diagnosis.calibration.temper == pytest.approx(1, abs=0.05)
    free = fitted.predict_proba(X, calibration=diagnosis.calibration)[:, 1]
    bins = np.minimum((5 * free).astype(int), 4)
    gaps = [abs(free[bins == b].mean() - (y[bins == b] > 0).mean()) * np.mean(bins == b) for b in np.unique(bins)]
    assert sum(gaps) < 0.04
    assert abs(diagnosis.calibration.class_balance - true.class_balance) < 0.08
    hard = rng.random(len(X)) < 0.3  # items on which everybody guesses together with a neighbour
    X = X.copy()
    X[hard] = np.sign(X[hard] + 2 * np.roll(X[hard], 1, axis=1))
    model = fit(X, structure="independent")
    found = quick(model, X)
    assert found.fit_pvalue < 0.05
    assert 0 < found.calibration.temper < 1
    own = model.fitted_.calibration
    plain, tempered = (model.predict_proba(X, calibration=of) for of in (own, found.calibration))
    doubt = np.abs(np.log(tempered[:, 1] / tempered[:, 0]) - np.log(plain[:, 1] / plain[:, 0]))
    assert doubt.max() > 0
    agree = (tempered[:, 1] > 0.5) == (plain[:, 1] > 0.5)
    assert agree.mean() > 0.95


def test_weak_echoes_that_the_labels_leave_out_are_in_the_intervals():
    """Found by the search or let in by the diagnosis: either way the intervals count with them."""
    X, y, true = gl.simulate_votes(
        1000, [4, 3] + [1] * 8, group_accuracy=(0.6, 0.9), random_state=8100005, return_model=True
    )
    model = fit(X)
    found = quick(model, X)
    in_labels = [tuple(np.flatnonzero(model.groups_ == group)) for group in np.unique(model.groups_)]
    assert (4, 5, 6) in [*in_labels, *found.weak_groups]
    low, high = found.expectation("combined").model_interval
    assert low < gl.balanced_accuracy(y, model.predict(X)) < high
    inside = (found.balanced_accuracy_model_interval[:, 0] <= true.balanced_accuracy) & (
        true.balanced_accuracy <= found.balanced_accuracy_model_interval[:, 1]
    )
    assert inside.mean() > 0.7


def test_strong_groups_leave_no_weak_ones(diagnosis):
    assert diagnosis.weak_groups == ()


def test_shares_and_gains_have_intervals(diagnosis):
    low, high = diagnosis.uniqueness_interval.T
    assert ((low <= diagnosis.uniqueness + 1e-12) & (diagnosis.uniqueness <= high + 1e-12)).all()
    assert (high <= 1).all()
    for group, (low, high) in diagnosis.one_more_interval.items():
        assert 0 <= low <= diagnosis.one_more[group] <= high


# -- what is known besides the votes ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few():
    """Small panels with known groups, so that only the rates are in question."""
    return [
        gl.simulate_votes(300, [3] + [1] * 4, 0.4, group_accuracy=(0.7, 0.9), random_state=seed, return_model=True)
        for seed in range(8)
    ]


def diagnose_with(X, true, **facts):
    model = gl.LatentSML(structure=true.groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quick(model.fit(X, **facts), X)


def width(ends):
    return float(np.diff(ends).mean())


def test_known_labels_narrow_intervals_that_still_hold_the_truth(few):
    held = {"sensitivity": [], "specificity": [], "class_balance": []}
    ends_of = {name: f"{name}_interval" for name in held} | {"class_balance": "class_balance_model_interval"}
    narrower = []
    for X, y, true in few:
        without, known = diagnose_with(X, true), diagnose_with(X, true, anchors=dict(enumerate(y[:150])))
        for name, inside in held.items():
            ends, rate = getattr(known, ends_of[name]), np.asarray(getattr(true, name))
            inside.extend(np.atleast_1d((ends[..., 0] <= rate) & (rate <= ends[..., 1])))
            narrower.append(width(ends) / width(getattr(without, ends_of[name])))
        combined = known.expectation("combined").model_interval
        assert width(combined) < width(without.expectation("combined").model_interval)
    assert np.mean(narrower) < 0.8
    assert np.mean(held["sensitivity"] + held["specificity"]) > 0.87  # of 112
    assert np.mean(held["class_balance"]) > 0.6  # of 8


def test_all_labels_known_leave_the_intervals_of_shares(few):
    X, y, true = few[0]
    known = diagnose_with(X, true, anchors=dict(enumerate(y)))
    share = (y == 1).mean()
    error = np.sqrt(share * (1 - share) / len(y))
    np.testing.assert_allclose(
        known.class_balance_model_interval, [share - 1.96 * error, share + 1.96 * error], atol=0.01
    )
    expected = known.expectation("combined")
    assert expected.balanced_accuracy == pytest.approx(1.0, abs=1e-4)


def test_what_is_known_has_no_interval_and_narrows_the_others(few):
    X, _, true = few[0]
    without = diagnose_with(X, true)
    balance = diagnose_with(X, true, class_balance=0.7)
    np.testing.assert_array_equal(balance.class_balance_model_interval, [0.7, 0.7])
    assert "No interval for the class balance: it is known and not estimated." in balance.said_without()
    assert width(balance.sensitivity_interval) < width(without.sensitivity_interval)
    rates = diagnose_with(X, true, trusted={6: (float(true.sensitivity[6]), float(true.specificity[6]))})
    np.testing.assert_allclose(rates.sensitivity_interval[6], true.sensitivity[6])
    assert "voter 6" in rates.without
    assert width(rates.class_balance_model_interval) < width(without.class_balance_model_interval)


def test_facts_are_kept_with_the_model(few, tmp_path):
    X, y, true = few[0]
    model = gl.LatentSML(structure=true.groups).fit(X, anchors={0: y[0], 7: y[7]}, class_balance=0.7)
    model.save(tmp_path / "model.json")
    assert quick(gl.load(tmp_path / "model.json"), X).to_dict() == quick(model, X).to_dict()


# -- laws ---------------------------------------------------------------------------------------------------


def test_permuting_voters_permutes_the_diagnosis(simulated, diagnosis, rng):
    X = simulated[0]
    order = rng.permutation(12)
    moved = quick(fit(X[:, order]), X[:, order])
    for name in ("sensitivity_interval", "specificity_interval", "balanced_accuracy_model_interval", "uniqueness"):
        np.testing.assert_allclose(getattr(moved, name), getattr(diagnosis, name)[order], atol=2e-3)
    assert moved.independence_pvalue == pytest.approx(diagnosis.independence_pvalue, rel=1e-3)
    assert moved.effective_votes == pytest.approx(diagnosis.effective_votes, rel=1e-3)
    np.testing.assert_allclose(moved.effective_votes_interval, diagnosis.effective_votes_interval, rtol=0.02)


def test_renaming_labels_exchanges_the_classes(simulated, diagnosis):
    X = simulated[0]
    renamed = quick(fit(-X), -X)
    np.testing.assert_allclose(renamed.sensitivity_interval, diagnosis.specificity_interval, atol=2e-3)
    np.testing.assert_allclose(
        renamed.class_balance_model_interval, 1 - diagnosis.class_balance_model_interval[::-1], atol=2e-3
    )
    np.testing.assert_allclose(renamed.effective_votes_by_class, diagnosis.effective_votes_by_class[::-1], rtol=1e-3)
    as_words = pd.DataFrame(np.where(X > 0, "yes", "no"), columns=[f"judge {i}" for i in range(12)])
    named = quick(fit(as_words), as_words)
    np.testing.assert_array_equal(named.sensitivity_interval, diagnosis.sensitivity_interval)
    assert named.voters[0] == "judge 0"


def test_a_clone_adds_nothing(simulated, diagnosis):
    X = simulated[0]
    cloned = np.column_stack([X, X[:, 5], X[:, 0]])
    found = quick(fit(cloned), cloned)
    assert found.copies == ((12, 5), (13, 0))
    assert found.effective_votes == pytest.approx(diagnosis.effective_votes, rel=1e-6)
    np.testing.assert_allclose(found.effective_votes_interval, diagnosis.effective_votes_interval, rtol=1e-6)
    np.testing.assert_allclose(found.sensitivity_interval[:12], diagnosis.sensitivity_interval, atol=1e-6)
    np.testing.assert_array_equal(found.sensitivity_interval[12], found.sensitivity_interval[5])
    assert found.uniqueness.sum() == pytest.approx(found.effective_votes)
    assert found.independence_pvalue == pytest.approx(diagnosis.independence_pvalue, rel=1e-6)


def test_a_near_copy_is_named(simulated, rng):
    X = simulated[0]
    near = np.where(rng.random(len(X)) < 0.01, -X[:, 7], X[:, 7])
    X = np.column_stack([X, near])
    found = quick(fit(X), X)
    assert [(pair.first, pair.second) for pair in found.near_duplicates] == [(7, 12)]
    assert found.near_duplicates[0].agreement > 0.98


def test_missing_votes(rng):
    X, _, true = gl.simulate_votes(
        3000, [3] + [1] * 6, group_accuracy=(0.7, 0.9), missing_rate=0.3, random_state=rng, return_model=True
    )
    found = quick(fit(X), X)
    covered = (found.sensitivity_interval[:, 0] <= true.sensitivity) & (
        true.sensitivity <= found.sensitivity_interval[:, 1]
    )
    assert covered.mean() > 0.6
    assert found.independence_pvalue < 0.05


# -- votes that leave little to say -------------------------------------------------------------------------


def test_three_voters_cannot_be_tested(rng):
    codes = independent_model(0.5, [0.8, 0.7, 0.9], [0.8, 0.7, 0.9]).sample(500, rng)[0]
    found = gl.diagnose(fit(codes), codes)
    assert found.independence_pvalue is None
    assert found.fit_pvalue is None
    assert found.co_membership is None
    assert {"independence_pvalue", "fit_pvalue", "co_membership"} <= set(found.without)
    assert "with three different voters dependence cannot be seen" in found.verdict
    assert np.isfinite(found.sensitivity_interval).all()
    assert found.effective_votes == 3
    assert np.isnan(found.effective_votes_interval).all()
    assert "3.0 (no interval: see without)" in repr(found)
    sentences = " ".join(found.said_without())
    assert "No interval for the effective votes, the effective votes in each class" in sentences
    assert "with three voters or fewer dependence cannot be seen" in sentences
    assert "_" not in sentences


def test_voters_without_a_clear_echo_may_still_share_something(rng):
    codes = independent_model(0.5, [0.8] * 4, [0.8] * 4).sample(300, rng)[0]
    found = quick(fit(codes), codes)
    low, high = found.effective_votes_interval
    assert low < found.effective_votes <= high == 4 or found.effective_votes < 4


def test_few_items_are_said_to_be_few(rng):
    codes = independent_model(0.5, [0.8] * 5, [0.8] * 5).sample(30, rng)[0]
    found = quick(fit(codes), codes)
    assert "30 items are too few" in found.verdict
    assert found.verdict.startswith("The votes cannot tell how good the labels are")
    widths = np.diff(found.sensitivity_interval, axis=1)
    assert (widths > 0.05).all()
    assert (widths <= 1).all()


def test_votes_on_which_all_agree_say_nothing_about_how_good_they_are():
    X = np.repeat([[0, 0, 0, 0], [1, 1, 1, 1]], 50, axis=0)
    model = fit(X)
    np.testing.assert_array_equal(model.predict(X), X[:, 0])
    diagnosis = quick(model, X)
    assert "fewer than three different voters cannot show who is right" in diagnosis.verdict
    for expected in diagnosis.expected:
        assert expected.model_interval[0] < 0.3
        assert expected.model_interval[1] > 0.9


def test_one_group_of_all_is_the_model_without_groups(rng):
    codes = independent_model(0.5, [0.8] * 6, [0.7] * 6).sample(1000, rng)[0]
    one, none = (gl.LatentSML(structure=groups).fit(codes) for groups in ([0] * 6, list(range(6))))
    assert quick(one, codes).to_dict() == quick(none, codes).to_dict()


def test_if_all_are_worse_than_chance_the_classes_are_exchanged(rng):
    model = independent_model(0.5, [0.3] * 6, [0.3] * 6)
    codes, labels, _ = model.sample(2000, rng)
    fitted = fit(codes)
    found = quick(fitted, codes)
    assert gl.balanced_accuracy(labels, fitted.predict(codes)) < 0.3
    assert (found.balanced_accuracy_model_interval > 0.5).all()  # what no votes can show; see the notes of diagnose
    assert found.to_dict().keys() == quick(fitted, codes).to_dict().keys()


def test_a_voter_that_says_nothing_has_no_interval_and_a_reason(simulated):
    X = np.column_stack([simulated[0], np.ones(4000, dtype=int)])
    found = quick(fit(X), X)
    assert np.isnan(found.sensitivity_interval[12]).all()
    assert "always says the same" in found.without["voter 12"]
    assert found.uniqueness[12] == 0


# -- parts --------------------------------------------------------------------------------------------------


def test_the_pvalue_of_independence_is_uniform(rng):
    """A rough check; false alarms and power are measured in research/experiments/promises.py."""
    found, alone = [], np.arange(8)
    prior = Dirichlet.of_classes(alone, 2, 1.0, 0.5, 0.5)
    for _ in range(60):
        model = independent_model(0.7, *rng.uniform(0.6, 0.9, (2, 8)))
        table = PatternTable.of(model.sample(500, rng)[0])
        fitted = fit_groups(VoteSums.of_table(table), alone, prior, 300, 1e-7).model
        found.append(fit_pvalue(table, fitted, rng))
    assert 0.3 < np.mean(found) < 0.7
    assert np.mean(np.array(found) < 0.05) < 0.2


@pytest.mark.parametrize("n_classes", [2, 4])
def test_correlations_do_not_depend_on_who_else_voted(rng, n_classes):
    """Of a crowd only the votes cast are multiplied; beside voters of every item all are."""
    crowd = rng.integers(0, n_classes, (3000, 40)).astype(np.int8)
    crowd[:, 20:] = crowd[:, :20]
    crowd[rng.random(crowd.shape) > 0.04] = -1
    everywhere = rng.integers(0, n_classes, (3000, 40)).astype(np.int8)
    items = rng.dirichlet(np.ones(n_classes), 3000).T
    alone, beside = (class_correlations(codes, items) for codes in (crowd, np.hstack([crowd, everywhere])))
    assert (np.abs(alone.pooled - np.eye(40)) > 0.1).any()
    for one, other in zip(alone, beside, strict=True):
        np.testing.assert_allclose(one, other[..., :40, :40], atol=1e-12)


def test_within_class_correlations_are_those_of_the_model():
    model = LatentModel([0, 0, 0, 1], 0.4, [0.8, 1], [0.7, 1], [0.9, 0.8, 0.7, 0.7], [0.9, 0.8, 0.7, 0.8])
    codes = np.array([[bits >> i & 1 for i in range(4)] for bits in range(16)], dtype=np.int8)
    share = np.exp(model.log_likelihood(codes))
    found = within_class_correlations(codes, 1e12 * share, model.posterior(codes))
    positive, negative = model.conditional_covariance()
    for one, other in zip(found.by_class, (negative, positive), strict=True):
        scale = np.sqrt(np.diag(other))
        np.testing.assert_allclose(one, other / np.outer(scale, scale), atol=1e-9)


def test_an_echo_counts_less_the_closer_it_is():
    codes = np.array([[bits >> i & 1 for i in range(6)] for bits in range(64)], dtype=np.int8)

    def worth(rate):
        rates = [rate] * 5 + [0.7]
        model = LatentModel([0] * 5 + [1], 0.5, [0.8, 1], [0.8, 1], rates, rates)
        share = np.exp(model.log_likelihood(codes))
        return effective_votes(within_class_correlations(codes, 1e12 * share, model.posterior(codes)).clear().pooled)

    values = [worth(rate) for rate in (0.6, 0.7, 0.8, 0.9, 0.99)]
    assert values == sorted(values, reverse=True)
    assert values[0] < 6
    assert values[-1] < 2.2


def test_single_accuracies_are_those_of_each_voter(rng):
    codes = rng.integers(-1, 2, (50, 4)).astype(np.int8)
    posterior, counts = rng.dirichlet(np.ones(2), 50), rng.integers(1, 9, 50)
    one_by_one = [expected_balanced_accuracy(codes[:, voter], posterior, counts) for voter in range(4)]
    np.testing.assert_allclose(single_accuracies(codes, posterior, counts), one_by_one)


def test_effective_votes_of_equal_correlation():
    equal = np.full((9, 9), 0.5) + 0.5 * np.eye(9)
    assert effective_votes(equal) == pytest.approx(1.8)
    assert one_more(equal, np.zeros(9, dtype=int))[0] == pytest.approx(10 / 5.5 - 1.8)
    np.testing.assert_allclose(uniqueness(np.ones((4, 4))), 0.25)


# -- two batches --------------------------------------------------------------------------------------------


def test_batches_of_one_kind_do_not_differ(simulated):
    X = simulated[0]
    one, other = X[:2000], X[2000:]
    same = gl.compare(fit(one), fit(other), one, other)
    assert same.changes == ()
    assert same.verdict.startswith("Nothing changed")
    assert json.loads(json.dumps(same.to_dict(), allow_nan=False)) == same.to_dict()


def test_a_change_of_balance_accuracy_or_echo_is_found(simulated, rng):
    X, y, _ = simulated
    before, after = X[:2000], X[2000:].copy()
    after[rng.random(2000) < 0.3, 9] *= -1
    after[:, 11] = np.where(rng.random(2000) < 0.7, after[:, 10], after[:, 11])
    keep = (y[2000:] < 0) | (rng.random(2000) < 0.4)
    after = after[keep]
    found = gl.compare(*(quick(fit(batch), batch) for batch in (before, after)))
    changed = {change.what: change for change in found.changes}
    assert changed["class balance"].after < changed["class balance"].before
    assert any(change.voters == ("voter 9",) for change in found.changes)
    assert ("voter 10", "voter 11") in [change.voters for change in found.changes if change.what == "correlation"]
    assert "voter 9" in found.verdict
    assert "Comparison of 12 voters" in repr(found)


def test_batches_must_have_the_same_voters(simulated, fitted, diagnosis):
    X = simulated[0]
    other = quick(fit(X[:, :9]), X[:, :9])
    with pytest.raises(ValueError, match="12 and 9 voters"):
        gl.compare(diagnosis, other)
    with pytest.raises(ValueError, match="together with its votes"):
        gl.compare(fitted, fitted)


def test_holm():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, np.nan, 0.03])), [0.03, 0.06, np.nan, 0.06])


def test_what_chance_lets_pass_is_taken_out_of_the_effective_votes(rng):
    """Of independent voters some pairs look clearly correlated; the interval must still hold all of them."""
    labels = rng.integers(0, 2, 1_000)
    codes = np.where(rng.random((1_000, 12)) < 0.8, labels[:, None], 1 - labels[:, None]).astype(np.int8)
    found = class_correlations(codes, np.stack([labels == 0, labels == 1]).astype(float))
    worth, variance = found.effective_votes_beside_chance()
    seen = [effective_votes(of) for of in (*found.clear().by_class, found.clear().pooled)]
    assert (worth >= seen).all()
    assert (variance > 0).all()
    assert (np.log(12 / worth) < 4 * np.sqrt(variance)).all()


def test_among_many_pairs_chance_does_not_pass_for_clear(rng):
    """Two standard errors are passed by 2 % of all pairs; where few items are shared, such correlations are large."""
    labels = rng.integers(0, 2, 600)
    codes = np.where(rng.random((600, 60)) < 0.8, labels[:, None], 1 - labels[:, None]).astype(np.int8)
    source = codes[:, :1].copy()
    codes[rng.random(codes.shape) < 0.6] = -1
    items = np.stack([labels == 0, labels == 1]).astype(float)
    found = class_correlations(codes, items)
    pairs = np.triu_indices(60, 1)
    beyond = found.pooled[pairs] * np.sqrt(found.items[-1][pairs]) > 2
    assert beyond.sum() > 20
    assert found.are_clear[-1][pairs].sum() <= 1
    # ten that mostly repeat one source are clear among the others
    copied = codes.copy()
    copied[:, :10] = np.where((codes[:, :10] >= 0) & (rng.random((600, 10)) < 0.8), source, codes[:, :10])
    clear = class_correlations(copied, items).are_clear[-1]
    among = np.triu_indices(10, 1)
    assert clear[:10, :10][among].mean() > 0.5
    assert clear[pairs].sum() - clear[:10, :10][among].sum() < beyond.sum() / 4


def test_effective_votes_of_resamples_are_never_infinite(rng):
    """A correlation that is clear on all items may be negative on a few of them: it counts as none."""
    found = class_correlations(np.array([[0, 1], [1, 0], [0, 1], [1, 0]], dtype=np.int8), np.ones((2, 4)))
    assert found.pooled[0, 1] == pytest.approx(-1)
    assert effective_votes(found.clear(np.ones((3, 2, 2), dtype=bool)).pooled) == 2


def test_optimism_goes_for_other_labels_as_far_as_they_are_the_same():
    posterior = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5], [0.0, 1.0]])
    combined, counts = np.array([0, 1, 1, 1]), np.array([1, 2, 1, 5])
    assert shared_doubt(combined, combined, posterior, counts) == 1
    sure = np.array([0, 1, 1, 0])  # differs where there is no doubt
    assert shared_doubt(sure, combined, posterior, counts) == 1
    doubted = np.array([0, 1, 0, 1])
    assert shared_doubt(doubted, combined, posterior, counts) == pytest.approx((0.1 + 0.8 - 0.5) / 1.4)
    assert shared_doubt(1 - combined, combined, posterior, counts) == 0


def test_an_interval_near_certainty_is_as_wide_as_its_error():
    (low, high), (other_low, other_high) = interval([1 - 1e-6, 0.7], [1e-3, 1e-3], [1.0, 0.7])
    assert 0.98 < low < high == 1
    assert other_high - other_low == pytest.approx(2 * 1.96e-3, rel=1e-3)


def test_a_sum_of_correlations_that_noise_brings_to_zero_is_no_warning():
    against = np.full((3, 3), -0.5) + 1.5 * np.eye(3)
    np.testing.assert_array_equal(uniqueness(against), 2.0)
    rng = np.random.default_rng(0)  # ten votes a worker on items that few have in common
    truth = rng.random(60) < 0.2
    votes = np.where(rng.random((60, 40)) < 0.25, truth[:, None] ^ (rng.random((60, 40)) < 0.2), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        model = gl.LatentSML().fit(votes)
        assert np.isfinite(gl.diagnose(model, votes, resamples=10, random_state=0).effective_votes_interval).all()
