"""A diagnosis of more than two classes obeys the laws of the votes, and that of two is the same code."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import goldless as gl
from goldless.diagnosis import information
from goldless.diagnosis.information import PatternScores
from goldless.diagnosis.refit import PanelVotes
from goldless.diagnosis.worth import single_accuracies
from goldless.fitting.risk import expected_balanced_accuracy
from goldless.maths.fit_test import ResidualTest
from goldless.votes.rows import PatternTable
from test_diagnosis import fit, quick, random_tree

RECORD = Path(__file__).parent / "recorded" / "diagnosis.json"


@pytest.fixture(scope="module")
def three():
    """Votes of three classes, four of ten voters in a group, some missing."""
    rng = np.random.default_rng(2)
    model = random_tree(rng, [4] + [1] * 6, 3, right=6.0)
    codes, labels, _ = model.sample(1500, rng)
    codes[rng.random(codes.shape) < 0.1] = -1
    return codes, labels, model


@pytest.fixture(scope="module")
def fitted(three):
    return fit(three[0], missing=-1)


@pytest.fixture(scope="module")
def diagnosis(three, fitted):
    return quick(fitted, three[0])


# -- two classes are the same code --------------------------------------------------------------------------


def numbers_of(diagnosis):
    """What was recorded of a diagnosis before there were more than two classes."""
    found = diagnosis.to_dict()
    for name in ("balanced_accuracy", "class_balance"):  # what is recorded is if the model holds
        found[f"{name}_interval"] = found[f"{name}_model_interval"]
    for row in found["expected"]:
        row["interval"] = row.pop("model_interval")
        del row["held"], row["printed"]
    names = json.loads(RECORD.read_text(encoding="utf-8"))["fields"]
    return {name: found[name] for name in names}


def assert_close(found, recorded, path=""):
    if isinstance(recorded, dict):
        assert found.keys() == recorded.keys(), path
        for name, value in recorded.items():
            assert_close(found[name], value, f"{path}.{name}")
    elif isinstance(recorded, list):
        assert len(found) == len(recorded), path
        for place, value in enumerate(recorded):
            assert_close(found[place], value, f"{path}[{place}]")
    elif isinstance(recorded, float):
        assert found == pytest.approx(recorded, rel=1e-6, abs=1e-7), path
    else:
        assert found == recorded, path


def test_two_classes_give_the_recorded_numbers():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    X, y, true = gl.simulate_votes(
        2000, [4] + [1] * 8, imbalance=0.3, group_accuracy=(0.65, 0.9), random_state=5, return_model=True
    )
    assert_close(numbers_of(gl.diagnose(fit(X), X, resamples=5)), record["groups"])
    known = {"anchors": dict(enumerate(y[:30])), "class_balance": 0.65, "trusted": {6: (0.8, 0.7)}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = gl.LatentSML(structure=true.groups).fit(X, **known)
    assert_close(numbers_of(gl.diagnose(told, X)), record["facts"])
    X, _ = gl.simulate_votes(1500, [3] + [1] * 6, group_accuracy=(0.7, 0.9), missing_rate=0.3, random_state=2)
    assert_close(numbers_of(gl.diagnose(fit(X), X, resamples=3)), record["missing"])


# -- derivatives --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_scores_of_items_are_derivatives_of_their_likelihood(rng, n_classes):
    model = random_tree(rng, [3, 2, 1, 1], n_classes)
    codes = model.sample(25, rng)[0]
    codes[rng.random(codes.shape) < 0.2] = -1
    scores = PatternScores(codes, np.ones(25, dtype=int), model)
    (block,) = scores.blocks()
    np.testing.assert_allclose(block.posterior, model.posterior(codes), atol=1e-12)
    for parameter in range(scores.n_parameters):
        step = np.zeros(scores.n_parameters)
        step[parameter] = 1e-5
        up, down = (scores.stepped(change).log_likelihood(codes) for change in (step, -step))
        np.testing.assert_allclose(block.score[:, parameter], (up - down) / 2e-5, atol=1e-6)


def test_the_information_is_minus_the_second_derivative(rng):
    model = random_tree(rng, [3, 2, 1, 1], 3)
    codes = model.sample(300, rng)[0]
    codes[rng.random(codes.shape) < 0.2] = -1
    table = PatternTable.of(codes, 3)
    scores = PatternScores(table.codes, table.counts, model)

    def log_likelihood(step):
        return table.counts @ scores.stepped(step).log_likelihood(table.codes)

    (information_matrix,) = scores.observed_information
    np.testing.assert_allclose(information_matrix, information_matrix.T, atol=1e-8)
    for _ in range(20):
        one, other = rng.normal(0, 1e-3, (2, scores.n_parameters))
        mixed = log_likelihood(one + other) - log_likelihood(one - other)
        mixed -= log_likelihood(other - one) - log_likelihood(-one - other)
        assert one @ information_matrix @ other == pytest.approx(-mixed / 4, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(("most_of_group", "n_parts"), [(10**6, 4 + 1), (1, 3 * (7 + 2) + 1)])
def test_parts_are_blocks_of_the_whole_information(rng, monkeypatch, most_of_group, n_parts):
    model = random_tree(rng, [3, 2, 1, 1], 3)
    codes = model.sample(200, rng)[0]
    whole = PatternScores(codes, np.ones(200, dtype=int), model).observed_information[0]
    monkeypatch.setattr(information, "_MOST_TOGETHER", 10)
    monkeypatch.setattr(information, "_MOST_OF_GROUP", most_of_group)
    scores = PatternScores(codes, np.ones(200, dtype=int), model)
    assert sorted(np.concatenate(scores.parts).tolist()) == list(range(scores.n_parameters))
    assert len(scores.parts) == n_parts  # four groups, or the rows of voters and latents; and the class shares
    for part, block in zip(scores.parts, scores.observed_information, strict=True):
        np.testing.assert_allclose(block, whole[np.ix_(part, part)], atol=1e-9)


def test_sixty_classes_take_no_large_matrix(rng):
    """A voter has 3,540 rates: together they took minutes and gigabytes, row by row they do not."""
    model = random_tree(rng, [2, 1, 1], 60, right=30.0)
    parts = PatternScores(np.zeros((1, 4), dtype=np.int8), np.ones(1), model).parts
    assert max(map(len, parts)) == 59
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(5 * 60 * 59 + 59))


def test_loadings_of_two_classes_are_those_of_the_paper(rng):
    model = random_tree(rng, [3, 2, 1, 1], 2)
    test = ResidualTest.around(model)
    fitted = test._fitted(test.loadings[None], test.couplings[None])[0]
    np.testing.assert_allclose(fitted, test.centre, atol=1e-12)
    alone = model.groups >= 2
    np.testing.assert_allclose(np.abs(test.loadings[alone]), np.abs(model.v_off[alone]), atol=1e-12)
    np.testing.assert_allclose(np.abs(test.loadings[~alone]), np.abs(model.v_on[~alone]), atol=1e-12)


# -- what it says -------------------------------------------------------------------------------------------


def test_intervals_hold_the_estimates_and_most_of_the_truth(three, fitted, diagnosis):
    true = three[2]
    assert diagnosis.recall_interval.shape == (10, 3, 2)
    low, high = diagnosis.recall_interval[..., 0], diagnosis.recall_interval[..., 1]
    assert ((low <= fitted.recall_) & (fitted.recall_ <= high)).all()
    assert ((low <= true.recall) & (true.recall <= high)).mean() > 0.8  # of 30
    low, high = diagnosis.class_balance_model_interval.T
    assert ((low <= true.class_prior) & (true.class_prior <= high)).all()
    low, high = diagnosis.balanced_accuracy_model_interval.T
    assert ((low <= true.balanced_accuracy) & (true.balanced_accuracy <= high)).mean() > 0.7
    with pytest.raises(AttributeError, match="two classes, and there are 3"):
        _ = diagnosis.sensitivity_interval


def test_coverage_over_a_few_panels():
    """A rough check that nominal 95 % are neither 70 % nor 100 % of intervals that are far too wide."""
    held, widths = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        true = random_tree(rng, [1] * 8, 3, right=6.0)
        codes, labels, _ = true.sample(800, rng)
        model = fit(codes)
        found = quick(model, codes)
        ends = found.recall_interval
        held.extend(((ends[..., 0] <= true.recall) & (true.recall <= ends[..., 1])).ravel())
        widths.append(np.diff(ends).mean())
        low, high = found.expectation("combined").model_interval
        assert low - 0.02 < gl.balanced_accuracy(labels, model.predict(codes)) < high + 0.02
    assert 0.87 < np.mean(held) <= 1  # of 144
    assert np.mean(widths) < 0.2


def test_groups_are_tested_and_counted(diagnosis, fitted):
    np.testing.assert_array_equal(fitted.groups_[:4], 0)
    assert diagnosis.independence_pvalue < 0.01
    assert diagnosis.fit_pvalue > 0.01
    assert diagnosis.effective_votes_by_class.shape == (3,)
    assert diagnosis.effective_votes_by_class_interval.shape == (3, 2)
    assert diagnosis.dependence == "4 of 10 voters depend on others, in 1 group."
    plain = diagnosis.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert "sensitivity" not in plain


def test_independent_voters_are_not_accused(rng):
    codes = random_tree(rng, [1] * 8, 4, right=8.0).sample(1000, rng)[0]
    found = quick(fit(codes), codes)
    assert found.independence_pvalue > 0.01
    assert found.fit_pvalue == found.independence_pvalue
    assert found.effective_votes > 7


def test_resampled_items_find_the_groups_again(three, fitted):
    found = gl.diagnose(fitted, three[0], resamples=4)
    assert found.co_membership[:4, :4].min() > 0.7
    assert found.co_membership[4:, :4].max() < 0.3


def test_other_models_and_facts_can_be_diagnosed(three):
    codes, labels, true = three
    for model in (
        gl.DawidSkene(missing=-1).fit(codes),
        fit(codes, missing=-1, structure=true.groups),
        gl.LatentSML(missing=-1, structure=true.groups).fit(codes, anchors=dict(enumerate(labels[:200].tolist()))),
    ):
        found = quick(model, codes)
        assert np.isfinite(found.recall_interval).all()
        assert len(found.next_to_label) == 20
    shares = {label: float(share) for label, share in enumerate(true.class_prior)}
    model = gl.LatentSML(missing=-1, structure=true.groups)
    told = quick(model.fit(codes, class_balance=shares, trusted={9: true.confusion[9]}), codes)
    np.testing.assert_allclose(told.class_balance_model_interval, np.tile(true.class_prior[:, None], 2), atol=1e-9)
    np.testing.assert_allclose(told.recall_interval[9], np.tile(true.recall[9][:, None], 2), atol=1e-6)
    assert "voter 9" in told.without


# -- laws ---------------------------------------------------------------------------------------------------


def test_permuting_voters_permutes_the_diagnosis(three, diagnosis, rng):
    order = rng.permutation(10)
    codes = np.ascontiguousarray(three[0][:, order])
    moved = quick(fit(codes, missing=-1), codes)
    for name in ("recall_interval", "balanced_accuracy_model_interval", "uniqueness"):
        np.testing.assert_allclose(getattr(moved, name), getattr(diagnosis, name)[order], atol=2e-3)
    np.testing.assert_allclose(moved.class_balance_model_interval, diagnosis.class_balance_model_interval, atol=2e-3)
    np.testing.assert_allclose(
        moved.same_wrong_answer.lift, diagnosis.same_wrong_answer.lift[np.ix_(order, order)], atol=1e-6
    )
    assert moved.effective_votes == pytest.approx(diagnosis.effective_votes, rel=1e-3)
    for one, other in zip(moved.expected, diagnosis.expected, strict=True):
        np.testing.assert_allclose(one.model_interval, other.model_interval, atol=1e-2)  # resampled in another order


@pytest.mark.parametrize("names", [["x", "y", "z"], ["z", "x", "y"]])
def test_renaming_classes_renames_the_diagnosis(three, diagnosis, names):
    """The second list also changes the order of the classes, which is that of their names."""
    words = np.array([*names, None], dtype=object)[three[0]]
    frame = pd.DataFrame(words, columns=[f"judge {voter}" for voter in range(10)])
    model = fit(frame)
    order = [names.index(label) for label in model.classes_.tolist()]
    found = quick(model, frame)
    assert found.classes == tuple(sorted(names))
    np.testing.assert_allclose(found.recall_interval, diagnosis.recall_interval[:, order], atol=2e-3)
    np.testing.assert_allclose(
        found.class_balance_model_interval, diagnosis.class_balance_model_interval[order], atol=2e-3
    )
    np.testing.assert_allclose(found.effective_votes_by_class, diagnosis.effective_votes_by_class[order], rtol=1e-3)
    np.testing.assert_allclose(found.same_wrong_answer.lift, diagnosis.same_wrong_answer.lift, atol=1e-6)
    for one, other in zip(found.expected, diagnosis.expected, strict=True):
        np.testing.assert_allclose(one.model_interval, other.model_interval, atol=1e-2)  # resampled in another order


def test_duplicate_items_are_weights(three, fitted):
    rows, counts = np.unique(three[0], axis=0, return_counts=True)
    weighted = quick(fitted, rows, sample_weight=counts).to_dict()
    repeated = quick(fitted, three[0]).to_dict()
    for by_row in ("next_to_label", "labels_enough"):
        del weighted[by_row], repeated[by_row]
    assert weighted == repeated


def test_a_clone_adds_nothing(three, diagnosis):
    codes = np.column_stack([three[0], three[0][:, 5]])
    found = quick(fit(codes, missing=-1), codes)
    assert found.copies == ((10, 5),)
    assert found.effective_votes == pytest.approx(diagnosis.effective_votes, rel=1e-6)
    np.testing.assert_allclose(found.recall_interval[:10], diagnosis.recall_interval, atol=1e-6)
    np.testing.assert_array_equal(found.recall_interval[10], found.recall_interval[5])
    assert np.isnan(found.same_wrong_answer.lift[10]).all()


def test_accuracies_of_labels_and_voters(rng):
    codes = rng.integers(-1, 4, (60, 5)).astype(np.int8)
    posterior, counts = rng.dirichlet(np.ones(4), 60), rng.integers(1, 9, 60)
    one_by_one = []
    for voter in range(5):
        recalls = []
        for label in range(4):
            items = counts * posterior[:, label]
            right = np.where(codes[:, voter] < 0, 0.25, codes[:, voter] == label)
            recalls.append((items * right).sum() / items.sum())
        one_by_one.append(np.mean(recalls))
    np.testing.assert_allclose(single_accuracies(codes, posterior, counts), one_by_one)
    found = [expected_balanced_accuracy(codes[:, voter], posterior, counts) for voter in range(5)]
    np.testing.assert_allclose(found, one_by_one)


# -- panels, few voters, one-sided rules ----------------------------------------------------------------------


def test_a_panel_of_a_fit_can_be_diagnosed(three, fitted):
    """It raised AttributeError: '_settled_'."""
    for model, votes in ((fitted, three[0]), _two_class_fit()):
        chosen = np.array([0, 1, 5, 6, 7])
        panel = model.subset(chosen)
        part = np.ascontiguousarray(votes[:, chosen])
        found = quick(panel, part)
        assert np.isfinite(found.balanced_accuracy_model_interval).all()
        assert found.alternatives == ()
        assert len(panel.next_to_label(part, n=5).rows) == 5
        assert gl.diagnose(panel, part).co_membership is None  # what was learnt from all was not searched here
        lone = model.subset([0, 5, 6, 7])  # one voter of a group is left: it hangs on Y
        np.testing.assert_allclose(
            quick(lone, votes[:, [0, 5, 6, 7]]).balanced_accuracy, model.balanced_accuracy_[[0, 5, 6, 7]], atol=1e-12
        )


def _two_class_fit():
    X, _ = gl.simulate_votes(1000, [3] + [1] * 6, group_accuracy=(0.7, 0.9), random_state=3)
    return fit(X), X


@pytest.mark.parametrize("n_voters", [1, 2, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_voters_are_never_searched_again(rng, n_voters, n_classes):
    """One voter raised IndexError."""
    codes = random_tree(rng, [1] * n_voters, n_classes).sample(200, rng)[0]
    found = gl.diagnose(fit(codes), codes, resamples=5)
    assert found.co_membership is None
    assert found.n_resamples == 0
    assert "dependence cannot be seen" in found.without["co_membership"]
    assert np.isfinite(found.recall_interval).all()
    assert "No dependence" not in found.dependence


def test_four_voters_are_judged_in_one_sentence(rng):
    codes = random_tree(rng, [1] * 4, 2, right=6.0).sample(2000, rng)[0]
    found = quick(fit(codes), codes)
    assert found.dependence == "No dependence found among 4 voters; with so few, weak dependence would not show."
    assert "too few" not in found.verdict + found.advice


def test_a_rule_that_says_one_class_or_nothing_says_something(rng):
    codes = random_tree(rng, [1] * 6, 2, right=6.0).sample(1000, rng)[0]
    codes[:, 0] = np.where(codes[:, 0] == 1, 1, -1)
    model = fit(codes, missing=-1)
    assert model.fitted_.informative.all()
    found = quick(model, codes)
    assert "voter 0" not in found.without
    assert np.isfinite(found.recall_interval[0]).all()
    assert found.uniqueness[0] > 0


def test_rules_of_one_class_each_leave_the_class_shares_open(rng):
    true = random_tree(rng, [1] * 9, 3, right=8.0)
    codes = true.sample(900, rng)[0]
    codes = np.where(codes == np.arange(9) % 3, codes, -1).astype(np.int8)
    found = quick(fit(codes, missing=-1), codes)
    np.testing.assert_allclose(found.class_balance_model_interval, 1 / 3, atol=1e-9)
    assert "only ever say one class" in found.without["class_balance_interval"]
    assert "taken for equally frequent" in found.advice


def test_groups_that_hard_items_explain_as_well_are_not_used(rng):
    """Easy items are easy for all, so good voters agree more than one factor allows."""
    labels, easy = rng.integers(0, 4, 3000)[:, None], rng.random(3000) < 0.6
    on_easy, on_hard = np.array([0.98] * 5 + [0.6] * 7), np.array([0.3] * 5 + [0.6] * 7)
    right = rng.random((3000, 12)) < np.where(easy[:, None], on_easy, on_hard)
    codes = np.where(right, labels, (labels + rng.integers(1, 4, (3000, 12))) % 4).astype(np.int8)
    model = fit(codes)
    guard = model.fitted_.grouping.guard
    assert guard is not None
    assert not guard.kept
    found = gl.diagnose(model, codes)
    assert "easy and hard items explain that as well" in found.advice
    assert found.dependence in found.advice
    assert found.co_membership is None
    assert "easy and hard items" in found.without["co_membership"]
    assert found.weak_groups == ()


# -- two batches --------------------------------------------------------------------------------------------


def test_what_changed_between_batches(three, rng):
    codes, labels, _ = three
    before, after = codes[:750], codes[750:].copy()
    same = gl.compare(quick(fit(before, missing=-1), before), quick(fit(after, missing=-1), after))
    assert same.changes == ()
    worse = rng.random(750) < 0.6
    after[worse, 9] = rng.integers(0, 3, worse.sum())
    kept = (labels[750:] != 2) | (rng.random(750) < 0.2)
    after = np.ascontiguousarray(after[kept])
    found = gl.compare(quick(fit(before, missing=-1), before), quick(fit(after, missing=-1), after))
    whats = {change.what for change in found.changes}
    assert "share of 2" in whats
    assert any(what.startswith("recall of") for what in whats)
    assert ("voter 9",) in {change.voters for change in found.changes}
    assert "the share of 2 went from" in found.verdict.lower()
    assert found.recall_pvalue.shape == (10, 3)
    with pytest.raises(AttributeError, match="two classes"):
        _ = found.sensitivity_pvalue
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()


def test_every_way_to_label_leaves_a_class_out_that_nobody_says(rng):
    """Two of six judges call ties; the labels of Dawid-Skene on the page are no ties where none of them does."""
    y = rng.integers(0, 2, 800)
    votes = np.where(rng.random((800, 6)) < 0.8, y[:, None], 1 - y[:, None])
    votes[:, :2][rng.random((800, 2)) < 0.3] = 2
    model = gl.LatentSML(kind="labels", structure="independent").fit(votes)
    panel = PanelVotes.of(model, votes)
    assert model.fitted_.seldom.tolist() == [False, False, True]
    nobody = (panel.table.codes != 2).all(axis=1)
    assert not (panel.labels["Dawid-Skene"][nobody] == 2).any()
