"""The names that scripts outside rely on: claims with both intervals, groups told and not told, audits."""

import warnings

import numpy as np
import pytest

import goldless as gl
from goldless.cli import main


def votes_of(n_classes):
    """Return votes with a group of four, and the truth, of so many classes."""
    if n_classes == 2:
        return gl.simulate_votes(3_000, groups=[4] + [1] * 8, group_accuracy=(0.6, 0.75), random_state=5)
    rng = np.random.default_rng(5)
    y = rng.integers(0, n_classes, 1_500)
    shared = np.where(rng.random(1_500) < 0.7, y, rng.integers(0, n_classes, 1_500))
    source = np.where(np.arange(12) < 4, shared[:, None], y[:, None])
    right = rng.random((1_500, 12)) < 0.75
    return np.where(right, source, rng.integers(0, n_classes, (1_500, 12))), y


@pytest.fixture(scope="module", params=[2, 4])
def fitted(request):
    X, y = votes_of(request.param)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        model = gl.LatentSML().fit(X)
        return model, X, y, gl.diagnose(model, X)


def test_claims_have_both_intervals_and_how_often_they_held(fitted):
    *_, diagnosis = fitted
    for row in diagnosis.expected:
        low, high = row.interval
        assert 0 <= low < high <= 1
        low, high = row.model_interval
        assert 0 <= low <= row.balanced_accuracy <= high <= 1
        assert 0.5 <= row.held <= 1


def test_groups_are_those_that_may_be_named(fitted):
    *_, diagnosis = fitted
    assert diagnosis.groups == ((0, 1, 2, 3),)
    for group in diagnosis.weak_groups:
        assert len(group) > 1
        assert set(group) <= set(range(12))


def test_an_audit_estimates_from_labels_by_row(fitted):
    model, X, y, _ = fitted
    plan = gl.audit(model, X, n=50, random_state=0)
    assert len(plan.rows) == 50
    outcome = plan.estimate({row: y[row] for row in plan.rows})
    two = len(np.unique(y)) == 2
    names = ["balanced_accuracy", "accuracy", "recall", "class_balance", *["sensitivity", "specificity"] * two]
    for name in names:
        ends = np.asarray(outcome.interval[name])
        assert ((ends[..., 0] <= outcome.value[name]) & (outcome.value[name] <= ends[..., 1])).all()


def test_one_number_of_labels_however_many_are_asked_for(capsys, tmp_path):
    """What `ask` says is what `inspect` says: whether anything is open, and how many labels would tell."""
    X, _ = gl.simulate_votes(1_500, groups=[4] + [1] * 8, group_accuracy=(0.6, 0.75), random_state=5)
    with pytest.warns(gl.AmbiguousGroupingWarning):
        model = gl.LatentSML().fit(X)
    diagnosis = gl.diagnose(model, X, resamples=0)
    asked = [model.next_to_label(X, n) for n in (1, 5, 40)]
    assert {questions.enough for questions in asked} == {diagnosis.labels_enough}
    assert diagnosis.labels_enough > 0
    assert all(questions.open for questions in asked)
    said = f"about {diagnosis.labels_enough} labels are likely to tell which is right"
    assert said in diagnosis.cannot_tell[0]
    assert said in diagnosis.advice
    assert said in asked[0].sentence
    votes = tmp_path / "votes.csv"
    np.savetxt(votes, X, fmt="%d", delimiter=",", header=",".join(f"v{n}" for n in range(12)), comments="")
    for command in (["ask", str(votes), "-n", "3"], ["inspect", str(votes)]):
        assert main(command) == 0
        shown = capsys.readouterr()
        assert said in " ".join((shown.out + shown.err).split())


@pytest.mark.real_data
def test_the_grouping_that_is_open_is_among_those_that_labels_decide_between(data_folder):
    """Near it were so many groupings that only add to the groups that asking for labels passed it over."""
    with np.load(data_folder / "panels" / "judge_mtbench_llmbarproc.npz") as file:
        X = file["votes"]
    with pytest.warns(gl.AmbiguousGroupingWarning):
        model = gl.LatentSML(missing=0 if (X == 0).any() else None).fit(X)
    assert model.next_to_label(X, 20).enough > 0
