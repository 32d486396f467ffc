"""Known labels, a known class balance and trusted voters settle what votes leave open."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import goldless as gl
from goldless.fitting.facts import NO_LABELS, Facts
from goldless.fitting.settling import label_evidence
from goldless.io.encode import encode_votes

ACCURACY = {"group_accuracy": (0.7, 0.85), "voter_accuracy": (0.75, 0.95)}


def fit(X, **facts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AmbiguousGroupingWarning)
        return gl.LatentSML().fit(X, **facts)


def half_and_half(seed, n_items=4_000):
    """Ten voters behind one latent, ten behind Y: the votes cannot tell which hidden node is Y."""
    return gl.simulate_votes(n_items, groups=[10] + [1] * 10, random_state=seed, return_model=True, **ACCURACY)


@pytest.fixture(scope="module")
def panel():
    return gl.simulate_votes(1_500, groups=[4, 3] + [1] * 6, random_state=8, **ACCURACY)


@pytest.mark.parametrize("nothing", [{"anchors": {}}, {"anchors": [None] * 1_500}, {"trusted": []}])
def test_without_facts_nothing_changes(panel, nothing):
    X, _ = panel
    plain, same = fit(X), fit(X, **nothing)
    np.testing.assert_array_equal(plain.decision_function(X), same.decision_function(X))
    assert plain.verdict_ == same.verdict_


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_twenty_labels_tell_which_hidden_source_is_the_truth(seed):
    X, y, truth = half_and_half(seed)
    known: dict = {}
    model = fit(X)
    assert model.ambiguous_
    for _ in range(4):
        asked = model.next_to_label(X, n=5).rows
        assert not set(asked.tolist()) & set(known)
        known |= {int(row): y[row] for row in asked}
        model = fit(X, anchors=known)
    assert not model.ambiguous_
    oracle = gl.OracleLatent(truth).fit(X)
    assert model.score(X, y) > oracle.score(X, y) - 0.01
    np.testing.assert_array_equal(np.bincount(model.groups_), [10] + [1] * 10)


def test_labels_turn_a_panel_that_is_worse_than_chance():
    X, y = gl.simulate_votes(2_000, groups=[1] * 7, random_state=5, group_accuracy=(1, 1))
    model = fit(-X, anchors=dict(enumerate(y[:40])))
    assert model.score(-X, y) > 0.9
    assert (model.balanced_accuracy_ < 0.5).all()


def test_known_items_keep_their_label_in_fit_predict(panel):
    X, y = panel
    rows = np.arange(100)
    model = gl.LatentSML()
    labels = model.fit_predict(X, anchors={int(row): y[row] for row in rows})
    np.testing.assert_array_equal(labels[rows], y[rows])
    assert (model.predict(X)[rows] != y[rows]).any()
    np.testing.assert_array_equal(labels[100:], model.predict(X)[100:])


def test_a_mapping_and_an_array_with_gaps_say_the_same(panel):
    X, y = panel
    rows = np.arange(0, 300, 15)
    by_row = fit(X, anchors={int(row): y[row] for row in rows})
    column = np.full(len(y), np.nan)
    column[rows] = y[rows]
    by_column = fit(X, anchors=column)
    np.testing.assert_array_equal(by_row.decision_function(X), by_column.decision_function(X))
    np.testing.assert_array_equal(by_row.anchored_rows_, rows)


def test_names_of_labels_and_order_of_voters_do_not_matter(panel):
    X, y = panel
    anchors = {int(row): y[row] for row in range(25)}
    plain = fit(X, anchors=anchors)
    words = np.array(["no", "yes"], dtype=object)
    named = fit(words[(X > 0).astype(int)], anchors={row: words[int(label > 0)] for row, label in anchors.items()})
    np.testing.assert_allclose(named.decision_function(words[(X > 0).astype(int)]), plain.decision_function(X))
    order = np.random.default_rng(0).permutation(X.shape[1])
    turned = fit(X[:, order], anchors=anchors)
    np.testing.assert_allclose(turned.decision_function(X[:, order]), plain.decision_function(X), atol=1e-3)


def test_a_weighted_row_with_a_label_is_as_many_items_with_that_label():
    X, y = gl.simulate_votes(300, groups=[3] + [1] * 4, random_state=2)
    weights = np.where(np.arange(300) < 10, 3, 1)
    long = np.repeat(np.arange(300), weights)
    weighted = fit(X, sample_weight=weights, anchors={row: y[row] for row in range(10)})
    repeated = fit(X[long], anchors={row: y[long[row]] for row in np.flatnonzero(long < 10)})
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-8)


def test_the_likelihood_is_that_of_votes_and_known_labels():
    X, y = gl.simulate_votes(400, groups=[3] + [1] * 4, random_state=4)
    known = np.arange(0, 400, 10)
    model = gl.LatentSML(structure=[0, 0, 0, 1, 2, 3, 4], subtypes=False, tol=1e-12, max_iter=5_000)
    model.fit(X, anchors={int(row): y[row] for row in known})
    codes, tree = (X > 0).astype(np.int8), model.latent_model_
    of_votes = tree.log_likelihood(codes)
    by_class = tree.class_log_likelihood(codes) + np.log([1 - tree.class_balance, tree.class_balance])
    of_votes[known] = by_class[known, (y[known] > 0).astype(int)]
    assert model.log_likelihood_ == pytest.approx(of_votes.sum(), abs=1e-3)


def test_a_known_class_balance_stays(panel):
    X, y = panel
    model = fit(X, class_balance=0.3)
    assert model.class_balance_ == pytest.approx(0.3)
    assert model.score(X, y) > 0.75


def test_a_known_class_balance_tells_the_sign():
    X, y = gl.simulate_votes(5_000, groups=[1] * 7, imbalance=0.8, random_state=3, group_accuracy=(1, 1))
    assert fit(X, class_balance=0.9).score(X, y) > 0.9
    assert fit(-X, class_balance=0.9).score(-X, y) > 0.9


@pytest.mark.parametrize("seed", [1, 2])
def test_one_trusted_voter_tells_which_hidden_source_is_the_truth(seed):
    X, y, _ = half_and_half(seed)
    model = fit(X, trusted=[15])
    np.testing.assert_array_equal(np.bincount(model.groups_), [10] + [1] * 10)
    other = fit(X, trusted=[3])
    assert (np.bincount(other.groups_)[other.groups_[:10]] == 1).all()
    assert model.score(X, y) > other.score(X, y) + 0.1


def test_known_rates_of_a_voter_stay():
    X, _ = gl.simulate_votes(2_000, groups=[3] + [1] * 6, random_state=6)
    model = fit(X, trusted={4: (0.7, 0.8)})
    assert model.latent_model_.sensitivity[4] == pytest.approx(0.7)
    assert model.latent_model_.specificity[4] == pytest.approx(0.8)


def test_facts_survive_a_file(panel, tmp_path):
    X, y = panel
    model = fit(X, anchors=dict(enumerate(y[:20])))
    model.save(tmp_path / "model.json")
    loaded = gl.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.next_to_label(X).rows, model.next_to_label(X).rows)


def test_questions_do_not_depend_on_the_order_of_the_items(panel):
    X, _ = panel
    order = np.random.default_rng(0).permutation(len(X))
    first, second = fit(X).next_to_label(X, n=10), fit(X[order]).next_to_label(X[order], n=10)
    np.testing.assert_array_equal(X[first.rows], X[order][second.rows])
    assert first.enough == second.enough


def test_questions_end_with_the_items():
    X, _ = gl.simulate_votes(40, groups=[1] * 5, random_state=0, group_accuracy=(1, 1))
    questions = fit(X).next_to_label(X, n=100)
    assert sorted(questions.rows) == list(range(40))


def test_a_reading_that_foretells_the_labels_gains():
    ratios = np.array([[3.0, -3.0, 3.0], [-3.0, 3.0, -3.0], [0.0, 0.0, 0.0]])
    evidence = label_evidence(np.stack([0 * ratios, ratios], axis=2), np.array([1, 0, 1]), np.ones(3))
    assert evidence[0] > evidence[2] > evidence[1]


def test_names_of_classes_do_not_change_what_labels_tell(rng):
    for n_classes in (2, 3, 5):
        of_classes, labels = rng.normal(0, 8, (4, 30, n_classes)), rng.integers(0, n_classes, 30)
        items = rng.integers(1, 4, 30).astype(float)
        order = rng.permutation(n_classes)
        renamed = label_evidence(of_classes[:, :, order], np.argsort(order)[labels], items)
        np.testing.assert_allclose(renamed, label_evidence(of_classes, labels, items))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"anchors": {5_000: 1}}, "rows 0 to 1499"),
        ({"anchors": {3: 1, 5_000: None}}, "rows 0 to 1499 of X, got 5000"),
        ({"anchors": {10**30: np.nan}}, r"\(from 0\) to labels, got 1000"),
        ({"anchors": {10**30: 1}}, r"\(from 0\) to labels, got 1000"),
        ({"anchors": {"a": 1}}, r"anchors must map row numbers \(from 0\) to labels"),
        ({"anchors": {3: "maybe"}}, "Unknown label 'maybe'"),
        ({"anchors": [1, -1]}, "each of 1500 rows, got 2"),
        ({"class_balance": 1.5}, "between 0 and 1, got 1.5"),
        ({"trusted": ["nobody"]}, "no voter 'nobody'"),
        ({"trusted": {0: 0.9}}, r"\(sensitivity, specificity\)"),
        ({"trusted": {0: (1.2, 0.5)}}, "each between 0 and 1"),
    ],
)
def test_facts_that_make_no_sense_are_refused(panel, facts, words):
    with pytest.raises(ValueError, match=words):
        gl.LatentSML().fit(panel[0], **facts)


def test_a_single_name_is_not_a_list_of_voters(panel):
    with pytest.raises(TypeError, match="list of voters"):
        gl.LatentSML().fit(panel[0], trusted="judge")


def test_facts_need_em(panel):
    with pytest.raises(ValueError, match="em=True"):
        gl.LatentSML(paper=gl.PaperOptions(em=False)).fit(panel[0], class_balance=0.5)


def test_voters_can_be_trusted_by_name():
    votes = encode_votes([["y", "n", "y"], ["n", "n", "y"]])
    named = type(votes)(votes.codes, votes.classes, np.array(["a", "b", "c"]))
    facts = Facts.read(named, NO_LABELS, None, {"c": (0.9, 0.8)})
    np.testing.assert_array_equal(facts.trusted, [2])
    np.testing.assert_allclose(facts.confusion[:, 1, 1], [np.nan, np.nan, 0.9])


@pytest.mark.parametrize("estimator", [gl.LatentSML(), gl.DawidSkene()])
def test_the_diagnosis_says_what_to_label_next(panel, estimator):
    X, _ = panel
    diagnosis = gl.diagnose(estimator.fit(X), X, resamples=0)
    assert len(set(diagnosis.next_to_label.tolist())) == 20
    if isinstance(estimator, gl.LatentSML):
        np.testing.assert_array_equal(diagnosis.next_to_label, estimator.next_to_label(X).rows)
        assert diagnosis.labels_enough == estimator.next_to_label(X).enough


@pytest.mark.parametrize("chosen", [True, False])
def test_labels_do_not_free_a_class_balance_that_votes_say_nothing_of(chosen, data_folder, rng):
    """Seven rules that know one class each: with fifty labels three classes were never named again."""
    with np.load(data_folder / "panels" / "ws_yoruba.npz") as panel:
        votes, truth = panel["votes"].astype(float), panel["truth"]
    X = np.where(votes < 0, np.nan, votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        free = gl.LatentSML().fit(X)
        rows = free.next_to_label(X, n=50).rows if chosen else rng.choice(len(X), 50, replace=False)
        told = gl.LatentSML().fit(X, anchors={int(row): int(truth[row]) for row in rows})
        labels = [model.predict(X) for model in (free, told)]
    np.testing.assert_allclose(told.class_balance_, free.class_balance_)
    assert set(np.unique(labels[1])) == set(np.unique(truth))
    before, after = (gl.balanced_accuracy(truth, found) for found in labels)
    assert after > before - 0.01
