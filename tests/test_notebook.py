"""Python and notebooks: one call makes a report, values show themselves, and names and indices are the user's own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import parametrize_with_checks

import goldless as gl
from goldless.report import json_schema, render_html
from test_report_schema import check

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def panel():
    X, y = gl.simulate_votes(800, groups=[4] + [1] * 7, random_state=1)
    names = [HOSTILE, *(f"judge-{i}" for i in range(10))]
    frame = pd.DataFrame(np.where(X > 0, "yes", "no"), columns=names, index=[f"item-{i}" for i in range(800)])
    structure = [0] * 4 + list(range(1, 8))
    return (
        frame,
        pd.Series(np.where(y > 0, "yes", "no"), index=frame.index),
        gl.LatentSML(structure=structure).fit(frame),
    )


# -- gl.report ----------------------------------------------------------------------------------------------


def test_one_call_reads_fits_and_writes(panel, tmp_path):
    frame, truth, _ = panel
    frame.assign(truth=truth).to_csv(tmp_path / "votes.csv", index_label="item")
    made = gl.report(tmp_path / "votes.csv", tmp_path / "page.html", truth="truth", resamples=0)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == made.html == render_html(made.summary)
    assert made.summary["title"] == "votes.csv"
    assert made.summary["truth"]["n_scored"] == 800
    assert made.summary["table"]["names"][:2] == ["item-0", "item-1"]
    schema = json_schema()
    check(made.summary, schema, schema)
    assert made.summary["answer"]["headline"] in repr(made)


def test_frames_arrays_and_long_tables_give_the_same_report(panel):
    frame, _, _ = panel
    wide = gl.report(frame, resamples=0).summary
    long = frame.melt(ignore_index=False, var_name="judge", value_name="label").reset_index(names="item")
    from_long = gl.report(long, resamples=0).summary
    assert wide["table"]["names"] == list(frame.index)
    assert sorted(from_long["table"]["names"]) == sorted(frame.index)
    of = {voter["name"]: voter["balanced_accuracy"] for voter in wide["voters"]}
    assert {voter["name"]: voter["balanced_accuracy"] for voter in from_long["voters"]} == pytest.approx(of, abs=1e-3)
    numbers = gl.report(frame.to_numpy(), resamples=0).summary
    assert numbers["answer"]["effective_votes"] == wide["answer"]["effective_votes"]


def test_a_report_is_told_how_to_read_its_votes(rng):
    """What a refusal to read asks for can be passed."""
    truth = rng.random(300) < 0.4
    grades = np.clip(3 + 2 * truth[:, None] + rng.integers(-2, 3, (300, 6)), 1, 7)
    assert gl.report(grades, kind="ordinal", resamples=0).summary["numbers"] is not None
    assert gl.report(grades, kind="labels", resamples=0).summary["numbers"] is None
    with pytest.raises(TypeError, match="kinds"):
        gl.report(grades, kinds="labels", resamples=0)


def test_the_truth_scores_and_does_nothing_else(panel):
    frame, truth, model = panel
    known = truth.copy()
    known.iloc[100:] = None
    made = gl.report(frame, model=model, truth=known, resamples=0)
    assert made.summary["truth"]["n_scored"] == 100
    without = gl.report(frame, model=model, resamples=0)
    assert without.summary["voters"] == made.summary["voters"]


def test_a_batch_is_compared_with_an_earlier_one():
    X, _ = gl.simulate_votes(4000, groups=[1] * 7, random_state=1, group_accuracy=(0.8, 0.95))
    frame = pd.DataFrame(np.where(X > 0, "yes", "no"), columns=[f"judge-{i}" for i in range(7)])
    later, earlier = frame.iloc[:2000].copy(), frame.iloc[2000:]
    later.iloc[::3, 2] = np.where(later.iloc[::3, 2] == "yes", "no", "yes")  # it gets worse
    earlier = earlier[["judge-6", "judge-5", "judge-3", "judge-2", "judge-1", "judge-0"]]
    against = gl.report(later, against=earlier, resamples=0).summary["against"]
    assert against["voters"][0]["name"] == "judge-2"
    assert against["voters"][0]["drifted"]
    assert against["voters"][0]["after"] < against["voters"][0]["before"]
    assert (against["only_after"], against["only_before"]) == (["judge-4"], [])
    assert any("judge-2" in change["voters"] for change in against["changes"])
    with pytest.raises(ValueError, match="voters that both have"):
        gl.report(later, against=earlier.iloc[:, :2], resamples=0)


def test_an_audit_is_on_the_page(panel):
    frame, truth, model = panel
    plan = gl.audit(model, frame, n=40)
    outcome = plan.estimate({int(row): truth.iloc[row] for row in plan.rows})
    made = gl.report(frame, model=model, audit=outcome, resamples=0)
    schema = json_schema()
    check(made.summary, schema, schema)
    assert made.summary["audit"]["n_labelled"] == 40
    assert made.summary["audit"]["measured"][0]["value"] == round(outcome.value["balanced_accuracy"], 4)
    assert 'id="audit"' in made.html
    with pytest.raises(TypeError, match="MajorityVote"):
        gl.report(frame, model=gl.MajorityVote().fit(frame))


# -- notebooks ----------------------------------------------------------------------------------------------


def test_values_show_themselves(panel):
    frame, truth, model = panel
    plan = gl.audit(model, frame, n=30)
    shown = {
        "counted in 1 group": model,
        "effective votes": gl.diagnose(model, frame, resamples=0),
        "next voter": model.explain(frame),
        "worth a label": model.next_to_label(frame, n=5),
        "Panels worth their cost": model.panels(),
        "A panel": model.panels()[0],
        "strata": plan,
        "labels were wrong": plan.estimate({int(row): truth.iloc[row] for row in plan.rows}),
        "two batches": gl.compare(model, model, frame, frame),
        "report.save": gl.report(frame, model=model, resamples=0),
    }
    for words, value in shown.items():
        html = value._repr_html_()
        assert words in html, type(value)
        assert html.startswith('<div class="goldless">')
        assert "<script" not in html
    assert "&lt;script&gt;" in model._repr_html_()
    assert "<svg" in model._repr_html_()


def test_frames_come_out_with_the_users_names(panel):
    frame, _, model = panel
    labelled = model.predict_frame(frame)
    assert labelled.index.equals(frame.index)
    np.testing.assert_array_equal(labelled["label"], model.predict(frame))
    np.testing.assert_allclose(labelled["probability of yes"], model.predict_proba(frame)[:, 1])
    why = model.explain(frame).to_frame()
    assert why.index.equals(frame.index)
    sources = [column for column in why if column.startswith("from ")]
    np.testing.assert_allclose(why[sources].sum(axis=1) + why["prior_log_odds"], why["log_odds"])
    panels = model.panels()
    table = panels.to_frame()
    assert table["voters"].tolist() == [panel.voters for panel in panels]
    assert table.index.tolist() == [len(panel.voters) for panel in panels]
    assert (
        model.next_to_label(frame, n=3).items.tolist() == frame.index[model.next_to_label(frame, n=3).rows].tolist()
    )
    assert gl.read_votes(frame).votes.items.tolist() == frame.index.tolist()
    assert gl.read_votes(frame.reset_index(drop=True)).votes.items is None


def test_columns_are_matched_by_name(panel):
    frame, _, model = panel
    turned = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(model.predict(turned), model.predict(frame))
    np.testing.assert_array_equal(model.explain(turned).by_group, model.explain(frame).by_group)
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(turned.rename(columns={"judge-3": "judge-x"}))


def test_numbers_are_matched_by_name(rng):
    y = rng.integers(2, size=500)
    spread = np.array([0.6, 0.9, 1.2, 0.7, 2.0])
    frame = pd.DataFrame(y[:, None] + spread * rng.normal(size=(500, 5)), columns=list("abcde"))
    model = gl.LatentSML(kind="scores").fit(frame)
    np.testing.assert_array_equal(model.predict_proba(frame[list("edcab")]), model.predict_proba(frame))


def test_anchors_are_matched_by_index(panel):
    frame, truth, _ = panel
    few = truth.iloc[[9, 3, 70]]
    estimator = gl.LatentSML(structure="independent", max_iter=5, tol=1)
    by_series, by_name = (
        estimator.fit(frame, anchors=few).anchored_rows_,
        clone(estimator).fit(frame, anchors=few.to_dict()),
    )
    np.testing.assert_array_equal(by_series, [3, 9, 70])
    np.testing.assert_array_equal(by_name.anchored_rows_, [3, 9, 70])
    by_row = clone(estimator).fit(frame, anchors={3: truth.iloc[3], 9: truth.iloc[9], 70: truth.iloc[70]})
    np.testing.assert_array_equal(by_row.predict_proba(frame), by_name.predict_proba(frame))
    assert (estimator.fit_predict(frame, anchors=few)[[9, 3, 70]] == few).all()
    with pytest.raises(ValueError, match="'item-x', which is not in the index of X"):
        estimator.fit(frame, anchors={"item-x": "yes"})


# -- fitted classifiers as voters ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, y = make_classification(3000, n_features=12, n_informative=6, class_sep=0.8, random_state=3)
    parts = np.split(np.arange(1000), 5)
    kinds = [
        LogisticRegression(),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=4, random_state=0),
        DecisionTreeClassifier(max_depth=2, random_state=0),
        LogisticRegression(C=0.01),
    ]
    voters = [(f"v{i}", kind.fit(X[part], y[part])) for i, (kind, part) in enumerate(zip(kinds, parts, strict=True))]
    return voters, X[1000:], y[1000:]


@pytest.mark.filterwarnings("ignore::goldless.VotesWarning")
@pytest.mark.parametrize("kind", ["labels", "probabilities"])
def test_an_ensemble_is_the_combiner_of_its_votes(fitted, kind):
    voters, X, y = fitted
    model = gl.VoterEnsemble(voters, kind=kind).fit(X)
    votes = model.votes(X)
    np.testing.assert_array_equal(model.predict(X), model.combiner_.predict(votes))
    assert model.combiner_.feature_names_in_.tolist() == [name for name, _ in voters]
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba(X).shape == (2000, 2)
    assert model.n_features_in_ == 12
    worst = min(voter.score(X, y) for _, voter in voters)
    assert model.score(X, y) > worst
    assert "5 voters" in model._repr_html_()
    assert gl.report(votes, model=model.combiner_, resamples=0).summary["votes"]["n_voters"] == 5


def test_a_clone_keeps_its_fitted_voters(fitted):
    voters, X, _ = fitted
    model = clone(gl.VoterEnsemble(voters, combiner=gl.DawidSkene()))
    assert [voter for _, voter in model.voters] == [voter for _, voter in voters]
    assert not hasattr(model, "combiner_")
    assert isinstance(model.fit(X).combiner_, gl.DawidSkene)
    frame = pd.DataFrame(X[:50], index=[f"row {i}" for i in range(50)])
    assert model.votes(frame.to_numpy()).items is None
    assert model.set_params(combiner__max_iter=3).combiner.max_iter == 3


def test_three_classes_vote_by_labels():
    X, y = make_classification(900, n_features=10, n_informative=6, n_classes=3, random_state=0)
    voters = [(f"v{i}", GaussianNB().fit(X[i::6][:60], y[i::6][:60])) for i in range(5)]
    model = gl.VoterEnsemble(voters).fit(X)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (900, 3)
    with pytest.raises(ValueError, match="two classes, and the voters have 3"):
        gl.VoterEnsemble(voters, kind="probabilities").fit(X)


def test_what_an_ensemble_refuses(fitted):
    voters, X, _ = fitted
    with pytest.raises(NotFittedError, match="voter 'new' is not fitted"):
        gl.VoterEnsemble([*voters, ("new", GaussianNB())]).fit(X)
    with pytest.raises(ValueError, match="name of its own"):
        gl.VoterEnsemble([voters[0], voters[0]]).fit(X)
    with pytest.raises(ValueError, match="there is none"):
        gl.VoterEnsemble([]).fit(X)
    with pytest.raises(ValueError, match="kind must be"):
        gl.VoterEnsemble(voters, kind="votes").fit(X)
    with pytest.raises(NotFittedError):
        gl.VoterEnsemble(voters).predict(X)


class Rule:
    """A voter that needs no fit: the sign of a wave along the sum of the columns."""

    classes_ = np.array([0, 1])

    def __init__(self, shift):
        self.shift = shift

    def __repr__(self):
        return f"Rule({self.shift})"

    def predict(self, X):
        X = check_array(X)
        return (np.sin(7 * X.sum(axis=1) + self.shift) > 0).astype(int)


# checks of classifiers that learn from y, which an ensemble never sees
FROM_Y = [
    "check_classifiers_one_label",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_classifiers_regression_target",
    "check_supervised_y_no_nan",
    "check_supervised_y_2d",
]
CHECKS = parametrize_with_checks([gl.VoterEnsemble([(f"rule {i}", Rule(i)) for i in range(5)])])
NAMES, CASES = CHECKS.args


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(NAMES, list(CASES), **CHECKS.kwargs)
def test_common_checks_of_an_ensemble(estimator, check):
    if check.func.__name__ in FROM_Y:
        pytest.skip("it is about learning from y")
    check(estimator)
