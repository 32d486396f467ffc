"""Any number of classes: laws, slow references, and what is found in simulated votes."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import goldless as gl
from goldless import DawidSkene, LatentSML, MajorityVote, OracleCI, OracleLatent, PaperOptions
from goldless.fitting.silence import hearing, silent_sums, with_silent_voters
from goldless.maths.em import Dirichlet, run_em
from goldless.votes.grouped import grouped
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable

GROUPS = [4, 1, 1, 1, 1, 1]
ESTIMATORS = [
    MajorityVote(),
    DawidSkene(),
    LatentSML(),
    LatentSML(structure=[0, 0, 0, 0, 1, 2, 3, 4, 5]),
    LatentSML(structure="independent", decision="map"),
]
by_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
pytestmark = pytest.mark.filterwarnings("ignore::goldless.AmbiguousGroupingWarning")


def draw(n_classes=4, n_items=1500, groups=GROUPS, missing_rate=0.1, seed=0, **options):
    options = {"group_accuracy": (0.7, 0.9), "voter_accuracy": (0.6, 0.9), **options}
    return gl.simulate_votes(
        n_items,
        groups,
        n_classes=n_classes,
        missing_rate=missing_rate,
        random_state=seed,
        return_model=True,
        **options,
    )


@pytest.fixture(scope="module")
def votes():
    return draw()


# -- answers ------------------------------------------------------------------------------------------------


@by_estimator
def test_probabilities_are_those_of_every_class(estimator, votes):
    X, y, _ = votes
    model = clone(estimator).fit(X)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    probability = model.predict_proba(X)
    assert probability.shape == (len(X), 4)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert model.decision_function(X).shape == (len(X), 4)
    assert model.score(X, y) > 0.5
    assert model.confusion_.shape == (9, 4, 4)
    np.testing.assert_allclose(model.confusion_.sum(axis=2), 1)
    np.testing.assert_allclose(model.recall_, np.einsum("icc->ic", model.confusion_))
    np.testing.assert_allclose(model.balanced_accuracy_, model.recall_.mean(axis=1))
    assert np.sum(model.class_balance_) == pytest.approx(1)
    for name in ("sensitivity_", "specificity_", "imbalance_"):
        with pytest.raises(AttributeError, match=f"{name} is for two classes, and there are 4: see confusion_"):
            getattr(model, name)


@by_estimator
def test_names_of_classes_do_not_matter(estimator, votes):
    """Labels in another order of sorting give the same answers under their new names."""
    X, _, _ = votes
    names = np.array(["dog", "ant", "cat", "bee"], dtype=object)
    words = np.where(np.isnan(X), None, names[np.where(np.isnan(X), 0, X).astype(int)])
    numbers, named = clone(estimator).fit(X), clone(estimator).fit(words)
    assert named.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    order = [names.tolist().index(name) for name in named.classes_]
    np.testing.assert_allclose(named.predict_proba(words), numbers.predict_proba(X)[:, order], atol=1e-4)
    np.testing.assert_allclose(named.recall_, numbers.recall_[:, order], atol=1e-4)
    assert (named.predict(words) == names[numbers.predict(X).astype(int)]).mean() > 0.999


@by_estimator
def test_the_order_of_voters_does_not_matter(estimator, votes, rng):
    if not isinstance(getattr(estimator, "structure", ""), str):
        return
    X, _, _ = votes
    order = rng.permutation(X.shape[1])
    plain, permuted = clone(estimator).fit(X), clone(estimator).fit(X[:, order])
    np.testing.assert_allclose(permuted.predict_proba(X[:, order]), plain.predict_proba(X), atol=1e-3)
    np.testing.assert_allclose(permuted.recall_, plain.recall_[order], atol=1e-3)


def test_a_clone_changes_nothing(votes):
    X, _, _ = votes
    model = LatentSML().fit(X)
    with pytest.warns(gl.VotesWarning, match="Exact copies"):
        cloned = LatentSML().fit(np.column_stack([X, X[:, 3]]))
    np.testing.assert_allclose(cloned.predict_proba(np.column_stack([X, X[:, 3]])), model.predict_proba(X), atol=1e-9)
    assert cloned.groups_[9] == cloned.groups_[3]


def test_weights_are_repetition(votes):
    X, _, _ = votes
    weights = np.arange(len(X)) % 3 + 1
    weighted = DawidSkene().fit(X, sample_weight=weights)
    repeated = DawidSkene().fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.confusion_, repeated.confusion_, atol=1e-9)


@by_estimator
def test_a_stream_gives_the_numbers_of_memory(estimator, votes):
    X, _, _ = votes
    stream = gl.VoteStream(lambda: (X[start : start + 200] for start in range(0, len(X), 200)))
    memory, streamed = clone(estimator).fit(X), clone(estimator).fit(stream)
    np.testing.assert_allclose(streamed.confusion_, memory.confusion_, atol=1e-12)
    np.testing.assert_array_equal(streamed.predict(stream), memory.predict(X))


def test_parts_one_by_one_are_the_fit_of_all(votes):
    X, _, _ = votes
    whole = LatentSML().fit(X)
    grown = LatentSML()
    for start in range(0, len(X), 500):
        grown.partial_fit(X[start : start + 500])
    np.testing.assert_array_equal(grown.confusion_, whole.confusion_)
    merged = LatentSML().partial_fit(X[:300]).merge(LatentSML().partial_fit(X[300:]))
    np.testing.assert_array_equal(merged.predict_proba(X), whole.predict_proba(X))


# -- plurality ----------------------------------------------------------------------------------------------


def test_the_class_with_most_votes_wins_and_a_tie_goes_to_the_commonest():
    X = np.array([list("aab"), list("bbc"), list("acb"), list("ccb"), list("bbb")])
    model = MajorityVote().fit(X)
    assert model.predict(X).tolist() == ["a", "b", "b", "c", "b"]  # of a, c and b most votes are for b
    np.testing.assert_allclose(model.predict_proba(X)[2], [1 / 3, 1 / 3, 1 / 3])
    assert model.predict([[None, None, None]]).tolist() == ["b"]


# -- Dawid and Skene ----------------------------------------------------------------------------------------


def slow_dawid_skene(codes, n_classes, right, wrong, balance, n_iter):
    """EM vote by vote, from the shares of votes for each class."""
    n, m = codes.shape
    said = codes[:, :, None] == np.arange(n_classes)
    posterior = said.sum(axis=1) / said.sum(axis=(1, 2))[:, None]
    pseudo = np.where(np.eye(n_classes, dtype=bool), right, wrong / (n_classes - 1))
    for _ in range(n_iter):
        prior = posterior.sum(axis=0) + balance
        prior = prior / prior.sum()
        confusion = np.zeros((m, n_classes, n_classes))
        for i in range(m):
            confusion[i] = pseudo + posterior.T @ said[:, i]
            confusion[i] /= confusion[i].sum(axis=1, keepdims=True)
        for item in range(n):
            weight = prior.copy()
            for i in range(m):
                if codes[item, i] >= 0:
                    weight = weight * confusion[i, :, codes[item, i]]
            posterior[item] = weight / weight.sum()
    return prior, confusion, posterior


def test_dawid_skene_is_that_of_the_slow_loop():
    X, _, _ = draw(3, 300, [1] * 6, voter_accuracy=(0.8, 0.95))
    X = X[(X == X).any(axis=1)]
    codes = np.where(np.isnan(X), -1, X).astype(np.int8)
    prior, confusion, posterior = slow_dawid_skene(codes, 3, 1.0, 0.5, 2.0, 400)
    model = DawidSkene(balance_prior=6.0, tol=1e-13, max_iter=5000).fit(X)
    np.testing.assert_allclose(model.class_balance_, prior, atol=1e-4)
    np.testing.assert_allclose(model.confusion_, confusion, atol=1e-3)
    own = model.predict_proba(X, calibration=(1.0, model.class_balance_))
    np.testing.assert_allclose(own, posterior, atol=1e-3)


def test_rules_that_name_one_class_each_keep_all_classes():
    """One-sided rules starve classes without a fixed balance: then half of the classes get no item."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    X = np.full((3000, 8), np.nan)
    for rule in range(8):
        fires = np.where(y == rule % 4, rng.random(3000) < 0.5, rng.random(3000) < 0.05)
        X[fires, rule] = rule % 4
    X = X[(X == X).any(axis=1)]
    model = DawidSkene().fit(X)
    np.testing.assert_allclose(model.class_balance_, 0.25)
    assert set(model.predict(X)) == {0, 1, 2, 3}


# -- groups -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_groups_are_found_and_labels_come_near_the_oracle(n_classes):
    X, y, truth = draw(n_classes, 5000, [5, 3] + [1] * 9, 0.0, seed=3, group_accuracy=(0.6, 0.8))
    model = LatentSML(decision="map").fit(X)
    np.testing.assert_array_equal(model.groups_, truth.groups)
    assert model.fitted_.grouping.guard.kept
    oracle = OracleLatent(truth, decision="map").fit(X)
    assert (oracle.predict(X) == y).mean() - (model.predict(X) == y).mean() < 0.01
    np.testing.assert_allclose(model.recall_, truth.recall, atol=0.12)


def difficulty(n_classes, seed, n_items=3000, m=14):
    """Voters that are independent given the class and whether an item is easy or hard."""
    rng = np.random.default_rng(seed)
    y, hard = rng.integers(0, n_classes, n_items), rng.random(n_items) < 0.5
    skill = rng.uniform(0, 1, m)
    right = np.where(hard[:, None], 0.25 + 0.4 * skill, 0.8 + 0.19 * skill)
    wrong = (y[:, None] + rng.integers(1, n_classes, (n_items, m))) % n_classes
    return np.where(rng.random((n_items, m)) < right, y[:, None], wrong), y


def test_an_oracle_takes_whole_numbers_for_the_labels_that_its_model_draws(rng):
    """Ten ordered classes look like grades; who gives the model has said what votes are."""
    near = 0.4 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    tables = np.repeat((near / near.sum(axis=1, keepdims=True))[None], 6, axis=0)
    truth = gl.TreeModel(np.arange(6), np.full(10, 0.1), np.repeat(np.eye(10)[None], 6, axis=0), tables)
    X, y, _ = truth.sample(2000, rng)
    oracle = OracleLatent(truth).fit(X)
    assert oracle.classes_.tolist() == list(range(10))
    assert oracle.score(X, y) > 0.5


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_classes", [3, 10])
def test_easy_and_hard_items_are_not_taken_for_echoes(n_classes, seed):
    X, _ = difficulty(n_classes, seed)
    model = LatentSML().fit(X)
    assert model.n_groups_ == X.shape[1]


def test_the_verdict_says_when_skill_was_not_taken_for_echo():
    """Of the draws in which the search finds groups, none is believed, and the sentence says why."""
    verdicts = []
    for seed in range(8):
        model = LatentSML().fit(difficulty(10, seed, m=20)[0])
        guard = model.fitted_.grouping.guard
        if guard is not None:
            assert not guard.kept
            assert guard.with_levels > guard.without_groups
            verdicts.append(model.verdict_)
    assert all("easy and hard items explain that as well" in verdict for verdict in verdicts)


# -- facts --------------------------------------------------------------------------------------------------


def test_known_labels_of_any_class_are_kept_and_help(votes):
    X, y, _ = votes
    rows = np.arange(0, 300)
    model = LatentSML(structure="independent")
    labels = model.fit_predict(X, anchors={int(row): y[row] for row in rows})
    np.testing.assert_array_equal(labels[rows], y[rows])
    assert model.score(X, y) >= LatentSML(structure="independent").fit(X).score(X, y) - 0.01
    with pytest.raises(ValueError, match="anchors: Unknown label 7"):
        model.fit(X, anchors={0: 7})


def test_a_known_class_balance_is_a_mapping(votes):
    X, _, _ = votes
    model = LatentSML(structure="independent").fit(X, class_balance={0: 0.4, 1: 0.3, 2: 0.2, 3: 0.1})
    np.testing.assert_allclose(model.class_balance_, [0.4, 0.3, 0.2, 0.1])
    for wrong, sentence in (
        ({0: 0.5, 1: 0.5}, "no share for the class 2"),
        ({0: 0.5, 1: 0.5, 2: 0.5, 3: 0.5}, "sum to 1, got a sum of 2"),
        ({0: 0.5, 1: 0.2, 2: 0.2, 9: 0.1}, "names 9, which is not one of the classes"),
        ([0.5, 0.5], "one share for each of 4 classes, got 2"),
        (0.5, "the share of each of 4 classes"),
    ):
        with pytest.raises(ValueError, match=sentence):
            LatentSML().fit(X, class_balance=wrong)


def test_trusted_voters_may_have_known_recalls(votes):
    X, _, _ = votes
    known = [0.9, 0.8, 0.7, 0.6]
    model = LatentSML().fit(X, trusted={6: known})
    np.testing.assert_allclose(model.latent_model_.recall[6], known)
    table = 0.6 * np.eye(4) + 0.1
    model = LatentSML().fit(X, trusted={6: table})
    np.testing.assert_allclose(model.latent_model_.confusion[6], table)
    with pytest.raises(ValueError, match="in each of 4 classes, or a table"):
        LatentSML().fit(X, trusted={6: (0.9, 0.8)})


# -- what follows from a fit --------------------------------------------------------------------------------


def test_log_odds_of_the_label_against_the_runner_up_add_up(votes):
    X, _, _ = votes
    model = LatentSML(structure=[0, 0, 0, 0, 1, 2, 3, 4, 5]).fit(X)
    why = model.explain(X[:50])
    probability = model.predict_proba(X[:50])
    rows = np.arange(50)
    np.testing.assert_array_equal(why.label, probability.argmax(axis=1))
    np.testing.assert_allclose(why.probability, probability.max(axis=1))
    odds = np.log(probability[rows, why.label] / probability[rows, why.runner_up])
    np.testing.assert_allclose(why.log_odds, odds, atol=1e-6)
    np.testing.assert_allclose(why.prior + why.by_group.sum(axis=1) + why.other, why.log_odds, atol=1e-9)
    np.testing.assert_allclose(why.other, 0, atol=1e-9)
    assert (why.next_gain >= 0).all()


def test_panels_are_accurate_and_can_be_used_alone(votes):
    X, y, truth = votes
    model = LatentSML().fit(X)
    panel = model.select(4)
    assert (np.bincount(truth.groups[panel]) <= 2).all()  # not four of the group of four
    part = model.subset(panel)
    assert part.score(X[:, panel], y) > 0.6
    np.testing.assert_allclose(part.predict_proba(X[:, panel]).sum(axis=1), 1)
    worth = model.panels()
    assert [panel.cost for panel in worth] == sorted(panel.cost for panel in worth)
    assert all(0.25 <= panel.vote_accuracy <= panel.balanced_accuracy + 0.1 <= 1.1 for panel in worth)
    assert part.next_to_label(X[:, panel], 5).rows.shape == (5,)


def test_questions_are_items_that_groupings_disagree_on(votes):
    X, _, _ = votes
    asked = LatentSML().fit(X).next_to_label(X, 10)
    assert len(set(asked.rows.tolist())) == 10


def test_an_oracle_knows_the_confusions(votes):
    X, y, truth = votes
    model = OracleCI().fit(X, y)
    np.testing.assert_allclose(model.confusion_, truth.confusion, atol=0.15)
    with pytest.raises(ValueError, match="the model has 4 classes, the votes 3"):
        OracleLatent(truth).fit(draw(3)[0])


def test_frames_and_files_have_classes_of_their_own(tmp_path, votes):
    X, _, _ = votes
    names = np.array(["red", "green", "blue", "grey"], dtype=object)
    words = np.where(np.isnan(X), None, names[np.where(np.isnan(X), 0, X).astype(int)])
    frame = pd.DataFrame(words, columns=list("abcdefghi"))
    frame.to_csv(tmp_path / "votes.csv", index_label="item")
    memory, from_file = LatentSML().fit(frame), LatentSML().fit(str(tmp_path / "votes.csv"))
    assert from_file.classes_.tolist() == ["blue", "green", "grey", "red"]
    np.testing.assert_allclose(from_file.confusion_, memory.confusion_, atol=1e-12)
    counted = from_file.predict_to(str(tmp_path / "votes.csv"), tmp_path / "labels.csv")
    written = pd.read_csv(tmp_path / "labels.csv")
    assert written.columns.tolist()[2:] == [f"probability of {name}" for name in from_file.classes_]
    np.testing.assert_allclose(written.iloc[:, 2:].sum(axis=1), 1, atol=2e-4)
    assert written["label"].tolist() == memory.predict(frame).tolist()
    assert sum(counted.values()) == len(frame)


# -- silence ------------------------------------------------------------------------------------------------


def test_silence_is_heard_of_more_than_two_classes(tmp_path):
    """Rules that fire on one class: where some classes have more rules, silence tells them apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 4000)
    X = np.full((4000, 16), np.nan)
    for rule in range(16):
        side = rule % 4 if rule < 8 else 0
        X[rng.random(4000) < np.where(y == side, 0.45, 0.06), rule] = side
    X, y = (part[(~np.isnan(X)).any(axis=1)] for part in (X, y))
    plain, heard = (LatentSML(abstain=how, kind="labels").fit(X) for how in ("ignore", "informative"))
    assert heard.score(X, y) > plain.score(X, y) + 0.1
    assert heard.confusion_.shape == (16, 4, 4)
    np.testing.assert_allclose(heard.confusion_.sum(axis=2), 1)
    np.testing.assert_allclose(heard.predict_proba(X).sum(axis=1), 1)
    heard.save(tmp_path / "model.json")
    np.testing.assert_array_equal(gl.load(tmp_path / "model.json").predict_proba(X), heard.predict_proba(X))


def test_em_on_votes_and_silence_never_falls_and_counts_what_a_further_symbol_would(votes):
    """Silence as a second vote has the likelihood of one more symbol: Pr(voted) Pr(vote | voted)."""
    X = np.where(np.random.default_rng(5).random(votes[0].shape) < 0.2, -1, np.nan_to_num(votes[0], nan=-1))[
        :500, :6
    ].astype(np.int8)
    abstainers, n_symbols = np.arange(6), 4
    table = PatternTable.of(X, n_symbols)
    sums = silent_sums(VoteSums.of_table(table), abstainers)
    prior = Dirichlet.of_classes(np.arange(6), n_symbols, 1.0, 0.5, 25.0, 1.0)
    model = with_silent_voters(prior.maximise(grouped(table, np.arange(6)).unit_votes()), abstainers)
    hearing_prior = hearing(prior.for_groups(model.groups), abstainers, 6)
    result = run_em(model, sums.expect_table, prior=hearing_prior, max_iter=60, tol=0.0)
    assert (np.diff(result.objective) > -1e-9 * np.abs(result.objective[:-1])).all()
    fitted = result.model
    spoke = fitted.votes[6:, :, 1]
    joint = np.concatenate([fitted.votes[:6] * spoke[:, :, None], fitted.votes[6:, :, :1]], axis=2)
    codes = np.where(X < 0, n_symbols, X)
    of_rows = np.log(joint[np.arange(6), :, codes]).sum(axis=1) + np.log(fitted.prior)
    expected = sums.expect_table(fitted).log_likelihood
    np.testing.assert_allclose(np.logaddexp.reduce(of_rows, axis=1).sum(), expected, rtol=1e-9)


# -- what is for two classes, and what is no class ----------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (gl.SpectralMetaLearner(), "SpectralMetaLearner is for two classes, and the votes have 4"),
        (LatentSML(structure="paper"), "structure='paper' is for two classes, and the votes have 4"),
        (LatentSML(paper=PaperOptions(start="two-stage")), "start='two-stage' is for two classes"),
        (LatentSML(paper=PaperOptions(em=False)), "em=False is for two classes"),
    ],
)
def test_what_is_for_two_classes_says_so(estimator, sentence, votes):
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(votes[0])


def test_a_hundred_labels_are_classes_and_more_are_not():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 100, 4000)
    X = np.where(rng.random((4000, 5)) < 0.8, y[:, None], rng.integers(0, 100, (4000, 5)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        assert (DawidSkene(kind="labels").fit(X).predict(X) == y).mean() > 0.9
    with pytest.raises(ValueError, match=r"101 different labels.*[Aa]re these scores\?"):
        DawidSkene(kind="labels").fit(np.vstack([X, np.full((1, 5), 100)]))
