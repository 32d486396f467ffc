"""Audits: the sample is what it says, and intervals hold whether or not the model is right."""

from __future__ import annotations

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta

import goldless as gl
from goldless.cli import main
from goldless.diagnosis.audit_design import make_design, margins_of
from goldless.diagnosis.audit_estimate import Sample, intervals

_RIGHT = 0.85


def labelling(n=3000, n_classes=2, right=_RIGHT, seed=0, informative=True):
    """Labels with known accuracy, scores that know a little about it or nothing, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(n_classes, n, p=np.arange(1, n_classes + 1)[::-1] / np.arange(1, n_classes + 1).sum())
    wrong = rng.random(n) > right
    labels = np.where(wrong, (truth + rng.integers(1, n_classes, n)) % n_classes, truth)
    scores = np.eye(n_classes)[labels] * np.abs(rng.normal(2, 1, n) - (wrong if informative else 0))[:, None]
    model = SimpleNamespace(
        classes_=np.array([f"c{code}" for code in range(n_classes)]),
        predict=lambda X: np.array([f"c{code}" for code in labels]),
        decision_function=lambda X: scores[:, 1] - scores[:, 0] if n_classes == 2 else scores,
    )
    return model, labels, truth


def told(plan, truth):
    return {row: f"c{truth[row]}" for row in plan.rows.tolist()}


def true_values(labels, truth, n_classes):
    recall = np.array([(labels[truth == code] == code).mean() for code in range(n_classes)])
    return {"balanced_accuracy": recall.mean(), "accuracy": (labels == truth).mean(), "recall": recall}


@pytest.mark.parametrize("n", [2, 7, 30, 100, 400, 5000])
def test_a_plan_draws_what_was_asked_for_without_repetition(n):
    model, labels, _ = labelling(400)
    plan = gl.audit(model, None, n)
    assert len(plan.rows) == min(n, 400) == len(set(plan.rows.tolist()))
    assert plan.size.sum() == 400
    assert (plan.drawn <= plan.size).all()
    np.testing.assert_array_equal(plan.predicted, labels[plan.rows])
    # every stratum has items of one label only, if there are three labels for each
    for stratum in range(len(plan.size) if n >= 6 else 0):
        assert len(set(plan.predicted[plan.stratum == stratum])) <= 1


def test_the_same_seed_draws_the_same_and_another_does_not():
    model, _, truth = labelling()
    one, same, other = (gl.audit(model, None, 30, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.rows, same.rows)
    assert set(one.rows) != set(other.rows)
    assert (
        one.estimate(told(one, truth)).interval["accuracy"].tolist()
        == same.estimate(told(same, truth)).interval["accuracy"].tolist()
    )


def test_items_are_drawn_as_often_as_their_inclusion_probability_says():
    # weighted by 1 / inclusion probability, the drawn items stand for all of them, whatever the strata
    model, _, truth = labelling(60)
    totals = [
        float(((truth[plan.rows] == 1) / plan.inclusion_probability).sum())
        for plan in (gl.audit(model, None, 20, random_state=seed) for seed in range(300))
    ]
    assert np.mean(totals) == pytest.approx((truth == 1).sum(), abs=3 * np.std(totals) / np.sqrt(300))


def test_strata_hold_equal_uncertainty_and_the_rare_label_gets_more_than_its_share():
    rng = np.random.default_rng(0)
    labels = (rng.random(2000) < 0.1).astype(int)
    margins = rng.exponential(1, 2000)
    design = make_design(labels, margins, 60, rng)
    assert design.drawn.sum() == 60
    label_of = np.array([labels[design.stratum == stratum][0] for stratum in range(len(design.size))])
    assert design.drawn[label_of == 1].sum() > 1.5 * 0.1 * 60
    assert (design.drawn >= 5).all()


def test_the_margin_is_that_of_the_label_even_if_it_is_not_the_largest():
    scores = np.array([[0.0, 3.0, 1.0], [0.0, 1.0, 3.0]])
    margins = margins_of(scores, np.array([1, 1]))
    assert margins[0] > 0 > margins[1]


def test_one_stratum_is_close_to_the_mid_p_interval():
    # 18 of 20 right among very many: mid-p Clopper-Pearson, by its two exact tails
    grid = np.linspace(0, 1, 20_001)
    tail = (beta.cdf(grid, 19, 2) + beta.cdf(grid, 18, 3)) / 2
    low, high = grid[(tail >= 0.025) & (tail <= 0.975)][[0, -1]]
    sample = Sample(
        np.array([10**7]),
        np.array([0]),
        np.array([0, 0]),
        np.array([1, 1]),
        np.array([1, 0]),
        np.array([18.0, 2.0]),
        2,
    )
    found = intervals(sample, np.random.default_rng(0), draws=40_000)["accuracy"]
    assert found == pytest.approx([low, high], abs=0.035)


def test_labels_of_all_items_leave_nothing_open():
    model, labels, truth = labelling(80)
    plan = gl.audit(model, None, 80)
    outcome = plan.estimate(told(plan, truth))
    for name, value in true_values(labels, truth, 2).items():
        np.testing.assert_allclose(outcome.value[name], value, atol=1e-9)
        np.testing.assert_allclose(outcome.interval[name], np.stack([value, value], axis=-1), atol=1e-6)


@pytest.mark.parametrize(
    ("n_classes", "right", "informative"), [(2, 0.85, True), (2, 0.5, True), (2, 0.9, False), (4, 0.8, True)]
)
def test_intervals_hold_whether_or_not_the_scores_know_anything(n_classes, right, informative):
    model, labels, truth = labelling(1500, n_classes, right, informative=informative)
    true, held = true_values(labels, truth, n_classes), {}
    for seed in range(60):
        plan = gl.audit(model, None, 50, random_state=seed)
        outcome = plan.estimate(told(plan, truth))
        for name in ("balanced_accuracy", "accuracy"):
            low, high = outcome.interval[name]
            held.setdefault(name, []).append(low <= true[name] <= high)
    assert min(np.mean(of) for of in held.values()) > 0.88  # 95 % less three standard errors


def test_perfect_labels_are_not_ruled_out_and_not_taken_for_certain():
    model, labels, _ = labelling()
    plan = gl.audit(model, None, 30)
    low, high = plan.estimate(told(plan, labels)).interval["balanced_accuracy"]
    assert 0.8 < low < 0.97
    assert high == 1.0


def test_labels_that_were_not_drawn_are_refused():
    model, _, truth = labelling()
    plan = gl.audit(model, None, 30)
    stranger = int(np.setdiff1d(np.arange(3000), plan.rows)[0])
    with pytest.raises(gl.VotesError, match="was not drawn") as error:
        plan.estimate({**told(plan, truth), stranger: "c0"})
    assert error.value.kind == "not-drawn"
    with pytest.raises(ValueError, match="none of"):
        plan.estimate({int(plan.rows[0]): "cat"})


def test_items_nobody_can_tell_widen_the_interval_to_both_sides():
    model, _, truth = labelling()
    plan = gl.audit(model, None, 50)
    labels = told(plan, truth)
    sure = plan.estimate(labels)
    unsure = plan.estimate({row: None if place < 5 else label for place, (row, label) in enumerate(labels.items())})
    assert (unsure.n_labelled, unsure.n_unsure) == (45, 5)
    assert unsure.interval["accuracy"][0] < sure.interval["accuracy"][0]
    assert unsure.interval["accuracy"][1] >= sure.interval["accuracy"][1] - 0.02


def test_a_beginning_is_an_audit_that_may_stop_at_any_time():
    model, labels, truth = labelling(1500)
    true = true_values(labels, truth, 2)["balanced_accuracy"]
    missed = 0
    for seed in range(25):
        plan = gl.audit(model, None, 60, random_state=seed)
        answers = list(told(plan, truth).items())
        ends = [
            plan.estimate(dict(answers[:look]), anytime=True).interval["balanced_accuracy"] for look in plan.looks
        ]
        missed += any(not low <= true <= high for low, high in ends)
    assert missed <= 3
    wide, fixed = (plan.estimate(dict(answers), anytime=anytime) for anytime in (True, False))
    assert wide.looks == plan.looks
    assert fixed.looks is None
    assert np.ptp(wide.interval["accuracy"]) > np.ptp(fixed.interval["accuracy"])
    # between two looks nothing new is computed, so peeking cannot help
    between = plan.looks[0] + 1
    first, second = (plan.estimate(dict(answers[:number])) for number in (plan.looks[0], between))
    assert first.interval["accuracy"].tolist() == second.interval["accuracy"].tolist()
    with pytest.raises(ValueError, match="too few"):
        plan.estimate(dict(answers[:3]))


def test_more_labels_are_needed_for_a_narrower_interval_and_the_number_is_about_right():
    model, _, truth = labelling(20_000)
    plan = gl.audit(model, None, 60)
    outcome = plan.estimate(told(plan, truth))
    wide, narrow = outcome.labels_for(0.1), outcome.labels_for(0.05)
    assert wide < narrow < 20_000
    larger = gl.audit(model, None, narrow)
    low, high = larger.estimate(told(larger, truth)).interval["balanced_accuracy"]
    assert (high - low) / 2 == pytest.approx(0.05, abs=0.02)
    assert plan.labels_for(0.05) > plan.labels_for(0.1)
    with pytest.raises(ValueError, match="target"):
        outcome.labels_for(0.1, "precision")


def test_labels_as_anchors_are_judged_by_fits_that_do_not_know_them():
    X, y = gl.simulate_votes(300, groups=[1] * 7, random_state=5)
    plan = gl.audit(gl.LatentSML().fit(X), X, n=20)
    labels = {int(row): y[row] for row in plan.rows}
    model, outcome = plan.cross_fit(gl.LatentSML(), X, labels, folds=2)
    assert len(model.fitted_.facts.rows) == 20  # the model itself knows them all
    low, high = outcome.interval["balanced_accuracy"]
    assert low < (y == model.predict(X)).mean() < high
    with pytest.raises(ValueError, match="folds"):
        plan.cross_fit(gl.LatentSML(), X, labels, folds=1)


def test_too_few_labels_for_many_classes_say_nothing_about_recalls():
    model, _, truth = labelling(2000, 16)
    plan = gl.audit(model, None, 20)
    outcome = plan.estimate(told(plan, truth))
    assert plan.block.max() == 0
    np.testing.assert_array_equal(outcome.interval["recall"], np.tile([0.0, 1.0], (16, 1)))
    assert np.ptp(outcome.interval["accuracy"]) < 0.6


# -- the command line ---------------------------------------------------------------------------------------


@pytest.fixture
def votes_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = gl.simulate_votes(200, groups=[1] * 6, random_state=1)
    with open("votes.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["item", *"abcdef"])
        writer.writerows([f"i{row}", *votes] for row, votes in enumerate(X.tolist()))
    return y


def fill(truth, change=lambda lines: lines):
    with open("to_label.csv", newline="") as stream:
        lines = list(csv.DictReader(stream))
    lines = change([{**line, "label": truth[int(line["row"]) - 1]} for line in lines])
    with open("labelled.csv", "w", newline="") as stream:
        writer = csv.DictWriter(stream, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def test_the_command_line_draws_and_estimates_as_python_does(votes_file, capsys):
    assert main(["audit", "votes.csv", "-n", "40", "-o", "to_label.csv"]) == 0
    fill(votes_file)
    capsys.readouterr()
    assert main(["audit", "votes.csv", "--labels", "labelled.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    votes = gl.Votes(*_read_votes())
    model = gl.LatentSML().fit(votes)
    plan = gl.audit(model, votes, n=40)
    outcome = plan.estimate({int(row): votes.classes[votes.classes == votes_file[row]][0] for row in plan.rows})
    assert found["n_labelled"] == 40
    for name in ("balanced_accuracy", "accuracy", "class_balance"):
        assert found["value"][name] == pytest.approx(outcome.value[name])
        assert found["interval"][name] == pytest.approx(outcome.interval[name], abs=0.02)
    assert main(["audit", "votes.csv", "--labels", "labelled.csv", "--within", "1"]) == 0
    assert "balanced accuracy would take about" in capsys.readouterr().out


def test_the_command_line_judges_labels_with_these_as_anchors(votes_file, capsys):
    """Its models are not those of scikit-learn, which alone can be cloned by it."""
    assert main(["audit", "votes.csv", "-n", "30", "-o", "to_label.csv"]) == 0
    fill(votes_file)
    capsys.readouterr()
    assert main(["audit", "votes.csv", "--labels", "labelled.csv", "--cross-fit"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "with these labels as anchors" in shown
    assert "combine votes.csv --anchors labelled.csv -o labels.csv" in shown


def test_the_command_line_says_when_the_interval_is_narrow_enough_at_any_time(votes_file, capsys):
    assert main(["audit", "votes.csv", "-n", "60", "-o", "to_label.csv"]) == 0
    fill(
        votes_file, lambda lines: [{**line, "label": line["label"] if n < 45 else ""} for n, line in enumerate(lines)]
    )
    shown = {}
    for within in ("2", "40"):
        capsys.readouterr()
        assert main(["audit", "votes.csv", "--labels", "labelled.csv", "--within", within]) == 0
        shown[within] = " ".join(capsys.readouterr().out.split())
        assert "hold however often you look. Once all are labelled, add --sequential" in shown[within]
    assert "would take about" in shown["2"]
    assert "40 points of balanced accuracy or less: no more labels are needed" in shown["40"]
    with pytest.raises(SystemExit):
        main(["audit", "votes.csv", "--within", "60"])


def _read_votes():
    from goldless.io.files import read_votes

    votes = read_votes("votes.csv").votes
    return votes.codes, votes.classes, votes.voters, votes.items


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], "were drawn"),
        (lambda lines: [*lines, {**lines[0], "row": "9", "item": "i8", "stratum": ""}], "not drawn"),
        (lambda lines: [{**lines[0], "row": "200"}, *lines[1:]], "is not item"),
        (lambda lines: [{name: line[name] for name in ("item", "label")} for line in lines], "no sample"),
        (lambda lines: [{**lines[0], "label": "maybe"}, *lines[1:]], "maybe"),
    ],
)
def test_a_file_that_is_not_the_sample_is_refused(votes_file, capsys, change, said):
    assert main(["audit", "votes.csv", "-n", "20", "-o", "to_label.csv"]) == 0
    fill(votes_file, change)
    assert main(["audit", "votes.csv", "--labels", "labelled.csv"]) != 0
    assert said in capsys.readouterr().err


def test_the_file_does_not_tell_which_label_was_predicted(votes_file):
    main(["audit", "votes.csv", "-n", "40", "-o", "to_label.csv"])
    with open("to_label.csv", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert set(lines[0]) == {"item", "label", "row", "stratum", "stratum_items", "inclusion_probability"}
    assert {line["stratum"][0] for line in lines} == {"a", "b"}
