"""Where labels are cut: laws of the tempered mean, of known labels, and of the same cut everywhere."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

import goldless as gl
from goldless.fitting.cut import TEMPER, VOTE_TEMPER, mean_votes, nonnegative_stack


def one_sided(n_items, bias, seed=0, groups=(4, 1, 1, 1, 1)):
    """Simulate voters that all lean to one class: the votes order the items and do not say where the truth cuts."""
    X, y = gl.simulate_votes(n_items, groups=list(groups), group_accuracy=(0.7, 0.9), random_state=seed)
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < bias, 1, X), y


def fit(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        return gl.LatentSML(**options).fit(X)


def test_the_cut_is_where_as_many_are_positive_as_tempered_probabilities_say():
    """By the formula, item by item, on votes in memory."""
    X, _ = one_sided(400, 0.3)
    model = fit(X, structure="independent")
    ratio = model.decision_function(X).clip(-60, 60)
    spread = ratio.std() + 0.5
    flat = ratio  # no groups: the ratio without them is the same
    blended = TEMPER / 2 * ratio / spread + TEMPER / 2 * flat / spread
    expected = ratio > spread / TEMPER * logit(expit(blended).mean())
    model.set_params(decision="mean")
    assert_array_equal(model.predict(X) == 1, expected)
    assert model.fitted_.cut.at == pytest.approx(spread / TEMPER * logit(expit(blended).mean()))


def test_votes_that_fit_the_model_are_cut_where_the_model_cuts():
    """Many items, no misfit, no kinds of items: the model's own cut is the best there is."""
    X, _ = gl.simulate_votes(5_000, groups=[1] * 9, group_accuracy=(0.65, 0.9), random_state=1)
    model = fit(X)
    assert model.fitted_.cut.at == 0.0
    assert_array_equal(model.predict(X), model.set_params(decision="ml").predict(X))


def test_a_cut_where_the_model_cuts_needs_no_pass_over_the_votes(monkeypatch):
    """Of ten million items in memory that pass took longer than all else."""
    asked = []
    monkeypatch.setattr("goldless.fitting.cut._moment_sums", lambda *what: asked.append(what))
    X, _ = gl.simulate_votes(5_000, groups=[1] * 9, group_accuracy=(0.65, 0.9), random_state=1)
    assert fit(X).fitted_.cut.at == 0.0
    assert not asked


def test_exchanging_the_classes_exchanges_the_labels():
    X, _ = one_sided(600, 0.25)
    labels, exchanged = fit(X).predict(X), fit(-X).predict(-X)
    assert (labels == -exchanged).mean() > 0.99  # EM ends at the last digits


def test_the_default_depends_on_the_structure():
    """As start and subtypes do: what reproduces the paper stays as it was."""
    X, _ = one_sided(300, 0.2)
    assert_array_equal(fit(X).predict(X), fit(X, decision="mean").predict(X))
    for structure in ("independent", "paper", [0, 0, 0, 0, 1, 2, 3, 4]):
        model = fit(X, structure=structure)
        assert_array_equal(model.predict(X), model.set_params(decision="ml").predict(X))
    with pytest.raises(ValueError, match="decision must be"):
        fit(X, decision="median")


def test_probabilities_do_not_depend_on_the_decision():
    X, _ = one_sided(300, 0.2)
    assert_array_equal(fit(X).predict_proba(X), fit(X, decision="ml").predict_proba(X))


def test_the_cut_is_part_of_the_model(tmp_path):
    """A saved model, votes in parts, streams and new items are all cut at the same place."""
    X, _ = one_sided(700, 0.25, seed=3)
    model = fit(X)
    assert model.fitted_.cut.at != 0
    model.save(tmp_path / "model.json")
    assert_array_equal(gl.load(tmp_path / "model.json").predict(X), model.predict(X))
    assert_array_equal(model.predict(X[:5]), model.predict(X)[:5])
    streamed = fit(gl.VoteStream(lambda: iter([X[:300], X[300:]])))
    assert streamed.fitted_.cut.at == pytest.approx(model.fitted_.cut.at, abs=1e-6)
    weighted = fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        parts = gl.LatentSML().partial_fit(X[:300]).partial_fit(X[300:])
    assert parts.fitted_.cut.at == pytest.approx(weighted.fitted_.cut.at, abs=1e-6)


def test_an_item_without_votes_is_a_tie():
    """It goes to the class with most votes at fit, as ever."""
    X, _ = one_sided(400, 0.3)
    X = X.astype(float)
    X[0] = np.nan
    model = fit(X)
    assert model.fitted_.cut.at != 0
    assert model.decision_function(X[:1])[0] == 0
    assert model.predict(X[:1])[0] == 1.0


def test_the_cut_helps_where_all_voters_lean_to_one_class():
    """Of voters that say yes too often, the order of the items is good and zero is not."""
    gains = []
    for seed in range(8):
        X, y = one_sided(600, 0.35, seed=seed, groups=(5, 4, 1, 1, 1, 1, 1))
        model = fit(X)
        gains.append(model.score(X, y) - model.set_params(decision="ml").score(X, y))
    assert np.mean(gains) > -0.002


# -- majority -----------------------------------------------------------------------------------------------


def test_majority_can_cut_the_mean_vote():
    X, y = one_sided(2_000, 0.45)
    usual, cut = gl.MajorityVote().fit(X), gl.MajorityVote(decision="mean").fit(X)
    mean = X.mean(axis=1)
    at = logit(expit(VOTE_TEMPER * mean).mean()) / VOTE_TEMPER
    assert_array_equal(cut.predict(X) == 1, mean > at)
    assert_allclose(cut.decision_function(X), mean - at)
    assert_array_equal(usual.predict_proba(X), cut.predict_proba(X))
    assert cut.score(X, y) > usual.score(X, y) + 0.1
    with pytest.raises(ValueError, match="two classes"):
        gl.MajorityVote(decision="mean").fit([["a", "b"], ["c", "a"], ["b", "c"]])
    with pytest.raises(ValueError, match="decision"):
        gl.MajorityVote(decision="ml").fit(X)


def test_mean_votes_by_hand():
    codes = np.array([[1, 1, 0, -1], [-1, -1, -1, -1], [0, 0, 0, 0]], dtype=np.int8)
    assert_allclose(mean_votes(codes), [1 / 3, 0.0, -1.0])


# -- known labels -------------------------------------------------------------------------------------------


def test_without_labels_the_stack_is_where_it_starts():
    centre = np.array([1.3, 1.3, 0.0])
    weights, intercept = nonnegative_stack(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), np.zeros(0), centre)
    assert_allclose(weights, centre)
    assert intercept == 0


def test_labels_against_a_term_take_its_weight_but_never_turn_it_round():
    rng = np.random.default_rng(0)
    right, wrong = rng.normal(size=(2, 200))
    labels = (right > 0).astype(np.int64)
    terms = np.column_stack([-right, right, wrong])
    weights, _ = nonnegative_stack(terms, labels, np.ones(200), np.array([2.6, 0.0, 0.0]))
    assert weights[0] == 0
    assert weights[1] > 1
    assert (weights >= 0).all()


def test_known_labels_move_the_labels_of_other_items():
    """Thirty random labels on voters that lean to one class: not worse than without on items without a label."""
    gains = []
    for seed in range(6):
        X, y = one_sided(500, 0.4, seed=seed)
        known = np.random.default_rng(seed).choice(500, 30, replace=False)
        others = np.setdiff1d(np.arange(500), known)
        before, after = fit(X), gl.LatentSML()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gl.VotesWarning)
            after.fit(X, anchors={int(row): y[row] for row in known})
        gains.append(
            gl.balanced_accuracy(y[others], after.predict(X)[others])
            - gl.balanced_accuracy(y[others], before.predict(X)[others])
        )
    assert np.mean(gains) > 0


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_labels_of_doubtful_items_do_not_decide_all_others(seed):
    """Against the model on half of the doubtful items, most of one class: all others were given that class."""
    X, _ = gl.simulate_votes(300, groups=[1] * 40, group_accuracy=(0.55, 0.75), random_state=seed)
    model = fit(X)
    before, doubtful = model.predict(X), np.argsort(np.abs(model.decision_function(X)))[:120:3]
    known = {int(row): -int(before[row]) if place % 2 else 1 for place, row in enumerate(doubtful)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        after = gl.LatentSML().fit(X, anchors=known).predict(X)
    others = np.setdiff1d(np.arange(300), doubtful)
    assert (after[others] == before[others]).mean() > 0.9


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "most"), [("magic_1", 17.3), ("magic_2", 17.4), ("magic_3", 17.7)])
def test_magic(data_folder, name, most):
    with np.load(data_folder / f"magic/{name}.npz") as file:
        X, y = file["votes"], file["truth"]
    assert round(100 * (1 - fit(X).score(X, y)), 1) <= most


@pytest.mark.parametrize("label", [0, 3, 7, 9])
def test_the_cut_is_not_moved_into_a_crowd_of_items(label, data_folder):
    """Four votes an item, one in ten of one class: a cut among items with few votes made half of them positive."""
    with np.load(data_folder / "panels" / "crowd_music.npz") as panel:
        votes, truth = panel["votes"].astype(float), panel["truth"] == label
    X = np.where(votes < 0, np.nan, votes == label)
    labels, majority = (fit_quietly(learner, X) for learner in (gl.LatentSML(), gl.MajorityVote()))
    assert recall(labels, truth) > recall(majority, truth) + 0.05
    assert labels.mean() < 0.25  # it was half


def fit_quietly(learner, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learner.fit(X).predict(X).astype(bool)


def recall(labels, truth):
    return (labels[truth].mean() + (~labels[~truth]).mean()) / 2
