"""What every estimator promises: new items, the user's classes, stated ties, and no luck of order or layout."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from goldless import (
    DawidSkene,
    LatentModel,
    LatentSML,
    MajorityVote,
    OracleCI,
    OracleLatent,
    PaperOptions,
    SpectralMetaLearner,
    VotesWarning,
    balanced_accuracy,
    simulate_votes,
)
from goldless.io.encode import encode_votes
from goldless.maths.em import Dirichlet, run_em
from goldless.votes.grouped import GroupedPatterns
from goldless.votes.rows import PatternTable
from references_votes import dawid_skene, majority

GROUPS = [4, 1, 1, 1, 1, 1]
ACCURACY = {"group_accuracy": (0.65, 0.85), "voter_accuracy": (0.8, 0.95)}


def draw(seed, n_items=700, missing_rate=0.0, imbalance=0.2):
    return simulate_votes(
        n_items, groups=GROUPS, imbalance=imbalance, missing_rate=missing_rate, random_state=seed, **ACCURACY
    )


@pytest.fixture(params=[0.0, 0.2], ids=["complete", "missing"])
def votes(request, seed):
    return draw(seed, missing_rate=request.param)


ESTIMATORS = {
    "majority": MajorityVote(),
    "dawid-skene": DawidSkene(),
    "dawid-skene ml": DawidSkene(decision="ml"),
    "sml": SpectralMetaLearner(em=False),
    "sml tensor": SpectralMetaLearner(em=False, imbalance="tensor"),
    "sml+em": SpectralMetaLearner(decision="map"),
    "l-sml": LatentSML(structure="paper"),
    "l-sml known": LatentSML(structure=np.repeat(np.arange(6), GROUPS), decision="map"),
    "l-sml hard": LatentSML(structure="paper", paper=PaperOptions(em=False, latent_values="hard")),
    "oracle-ci": OracleCI(),
}
by_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())
by_learner = pytest.mark.parametrize("estimator", list(ESTIMATORS.values())[:-1], ids=list(ESTIMATORS)[:-1])


def per_voter(model):
    return np.stack([model.sensitivity_, model.specificity_])


# -- labels -------------------------------------------------------------------------------------------------


@by_estimator
def test_fit_predict_is_fit_then_predict(estimator, votes):
    X, y = votes
    np.testing.assert_array_equal(clone(estimator).fit_predict(X, y), clone(estimator).fit(X, y).predict(X))


@by_estimator
def test_new_items_are_labelled_one_by_one_as_together(estimator, votes):
    X, y = votes
    new, _ = draw(99, n_items=60, missing_rate=0.3)
    model = clone(estimator).fit(X, y)
    together = model.decision_function(new)
    np.testing.assert_array_equal([model.decision_function(new[[row]])[0] for row in range(60)], together)
    np.testing.assert_array_equal(
        np.concatenate([model.predict(new[:7]), model.predict(new[7:])]), model.predict(new)
    )


@by_estimator
def test_prediction_leaves_the_model_alone(estimator, votes):
    X, y = votes
    model = clone(estimator).fit(X, y)
    first = model.predict_proba(X)
    model.predict(X[:5]), model.score(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), first)


@by_estimator
def test_labels_log_odds_and_probabilities_agree(estimator, votes):
    X, y = votes
    model = clone(estimator).fit(X, y)
    log_odds, labels, probabilities = model.decision_function(X), model.predict(X), model.predict_proba(X)
    clear = np.abs(log_odds) > 1e-6
    np.testing.assert_array_equal(labels[clear], np.sign(log_odds[clear]))
    assert probabilities.shape == (len(X), 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    if getattr(estimator, "decision", "map") == "map":
        np.testing.assert_array_equal(labels[clear], model.classes_[probabilities.argmax(axis=1)][clear])


@by_estimator
def test_score_is_balanced_accuracy_and_beats_a_coin(estimator, votes):
    X, y = votes
    model = clone(estimator).fit(X, y)
    assert model.score(X, y) == balanced_accuracy(y, model.predict(X)) > 0.55


CLASSES = {
    "strings": np.array(["ham", "spam"]),
    "bools": np.array([False, True]),
    "ints": np.array([3, 8], dtype=np.int16),
    "floats": np.array([0.25, 2.5]),
}


@by_estimator
@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES.keys())
def test_labels_come_in_the_users_own_classes(estimator, classes):
    X, y = draw(1)
    expected = clone(estimator).fit(X, y).predict(X)
    model = clone(estimator).fit(classes[(X > 0).astype(int)], classes[(y > 0).astype(int)])
    labels = model.predict(classes[(X > 0).astype(int)])
    assert labels.dtype == classes.dtype
    np.testing.assert_array_equal(model.classes_, classes)
    np.testing.assert_array_equal(labels, classes[(expected > 0).astype(int)])


@by_estimator
def test_flipping_the_names_of_the_classes_flips_the_labels(estimator, votes):
    X, y = votes
    model, flipped = clone(estimator).fit(X, y), clone(estimator).fit(-X, -y)
    np.testing.assert_array_equal(flipped.predict(-X), -model.predict(X))
    np.testing.assert_allclose(flipped.decision_function(-X), -model.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(per_voter(flipped), per_voter(model)[::-1], atol=1e-5)
    assert flipped.class_balance_ == pytest.approx(1 - model.class_balance_, abs=1e-5)


@by_estimator
def test_positive_names_the_same_labels(estimator, votes):
    """Calling the other class positive exchanges sensitivity and specificity, not the labels."""
    X, y = votes
    model, renamed = clone(estimator).fit(X, y), clone(estimator).set_params(positive=-1).fit(X, y)
    assert renamed.classes_.tolist() == [1, -1]
    np.testing.assert_array_equal(renamed.predict(X), model.predict(X))
    np.testing.assert_allclose(per_voter(renamed), per_voter(model)[::-1], atol=1e-5)


@by_estimator
def test_missing_label_is_nan(estimator):
    X, y = draw(5, missing_rate=0.2)
    zeros = np.nan_to_num(X, nan=0.0).astype(int)
    model, same = clone(estimator).fit(X, y), clone(estimator).set_params(missing=0).fit(zeros, y)
    np.testing.assert_array_equal(per_voter(same), per_voter(model))
    np.testing.assert_array_equal(same.predict(zeros), model.predict(X))


# -- order, layout, threads, weights ------------------------------------------------------------------------


@by_estimator
def test_order_of_the_items_changes_nothing(estimator, votes, rng):
    """Bit for bit."""
    X, y = votes
    order = rng.permutation(len(X))
    model, shuffled = clone(estimator).fit(X, y), clone(estimator).fit(X[order], y[order])
    np.testing.assert_array_equal(per_voter(shuffled), per_voter(model))
    np.testing.assert_array_equal(shuffled.decision_function(X), model.decision_function(X))


@by_estimator
def test_permuting_voters_permutes_everything(estimator, votes, rng):
    X, y = votes
    order = rng.permutation(X.shape[1])
    permuted = clone(estimator)
    if isinstance(getattr(estimator, "structure", ""), np.ndarray):
        permuted.set_params(structure=estimator.structure[order])
    model, permuted = clone(estimator).fit(X, y), permuted.fit(X[:, order], y)
    np.testing.assert_allclose(per_voter(permuted), per_voter(model)[:, order], atol=1e-6)
    np.testing.assert_array_equal(permuted.predict(X[:, order]), model.predict(X))
    if hasattr(model, "groups_"):
        together = model.groups_[:, None] == model.groups_[None, :]
        np.testing.assert_array_equal(
            permuted.groups_[:, None] == permuted.groups_[None, :], together[np.ix_(order, order)]
        )
        np.testing.assert_allclose(permuted.covariance_, model.covariance_[np.ix_(order, order)], atol=1e-12)
        np.testing.assert_allclose(
            permuted.score_matrix_, model.score_matrix_[np.ix_(order, order)], rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize(
    "estimator",
    [
        SpectralMetaLearner(em=False),
        LatentSML(paper=PaperOptions(em=False)),
        LatentSML(paper=PaperOptions(start="two-stage")),
        LatentSML(structure="paper"),
        LatentSML(),
        DawidSkene(),
    ],
    ids=["sml", "no em", "two-stage", "paper", "search", "dawid-skene"],
)
@pytest.mark.parametrize("seed", [1, 10, 19, 28, 42, 52, 60, 70])
def test_order_of_the_voters_changes_nothing_on_small_panels(estimator, seed):
    """With a few dozen items many groupings are equally good, and rounding must not choose between them."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(8, 80)), int(rng.integers(3, 8))
    y = rng.integers(0, 2, n)
    X = np.where(rng.random((n, m)) < rng.uniform(0.4, 0.95, m), y[:, None], 1 - y[:, None]).astype(float)
    X[rng.random(X.shape) < rng.choice([0, 0.3, 0.6])] = np.nan
    order = rng.permutation(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VotesWarning)
        plain, permuted = clone(estimator).fit(X), clone(estimator).fit(X[:, order])
    np.testing.assert_allclose(permuted.predict_proba(X[:, order]), plain.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(("groups", "n_items"), [([5] + [1] * 5, 185), ([7] + [1] * 7, 60_000)])
def test_order_of_the_voters_does_not_decide_which_half_is_the_group(groups, n_items):
    """A group and as many voters alone are the same distribution as the reverse: only their order told them apart."""
    X, _ = simulate_votes(n_items, groups, random_state=2)
    labels = []
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(X.shape[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VotesWarning)
            labels.append(LatentSML().fit(X[:, order]).predict(X[:, order]))
    assert len({tuple(found) for found in labels}) == 1


@by_estimator
def test_memory_layout_and_type_change_nothing(estimator, votes):
    X, y = votes
    expected = per_voter(clone(estimator).fit(X, y))
    for same in (np.asfortranarray(X), X.tolist()):
        np.testing.assert_array_equal(per_voter(clone(estimator).fit(same, y)), expected)


@by_estimator
def test_threads_change_nothing(estimator, monkeypatch):
    X, y = draw(7, n_items=20_000, missing_rate=0.1)
    answers = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("GOLDLESS_NUM_THREADS", threads)
        model = clone(estimator).fit(X, y)
        answers.append((per_voter(model), model.decision_function(X)))
    for answer in answers[1:]:
        for one, other in zip(answer, answers[0], strict=True):
            np.testing.assert_array_equal(one, other)


@by_estimator
def test_weights_are_repetition(estimator, votes, rng):
    X, y = votes
    X, y = X[:400], y[:400]
    weight = rng.integers(0, 4, len(X))
    weighted = clone(estimator).fit(X, y, sample_weight=weight)
    repeated = clone(estimator).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(per_voter(weighted), per_voter(repeated))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


@by_estimator
def test_fitting_again_forgets(estimator, votes):
    X, y = votes
    other, other_truth = draw(8, n_items=500)
    names = np.array(["a", "b"])
    model = clone(estimator)
    model.fit(names[(other > 0).astype(int)], names[(other_truth > 0).astype(int)]).fit(X, y)
    once = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(per_voter(model), per_voter(once))
    assert vars(model).keys() == vars(once).keys()


def test_attributes_of_em_vanish_without_em(votes):
    model = SpectralMetaLearner().fit(votes[0])
    assert model.converged_
    assert not hasattr(model.set_params(em=False).fit(votes[0]), "n_iter_")


@by_learner
def test_truth_is_ignored(estimator, votes):
    X, y = votes
    np.testing.assert_array_equal(per_voter(clone(estimator).fit(X, y)), per_voter(clone(estimator).fit(X)))


# -- ties ---------------------------------------------------------------------------------------------------


@by_estimator
@pytest.mark.parametrize("sign", [1, -1])
def test_an_item_nobody_voted_on_is_a_tie(estimator, sign):
    """It goes to the class with more votes at fit, or to the more probable one if that decides."""
    X, y = draw(3, imbalance=0.4)
    X, y = sign * X, sign * y
    assert X.sum() * sign > 0
    model = clone(estimator).fit(X, y)
    empty = np.full((1, X.shape[1]), np.nan)
    if getattr(estimator, "decision", "ml") == "map":
        balance = getattr(model, "calibration_", (1.0, model.class_balance_))[1]
        assert model.decision_function(empty)[0] == pytest.approx(np.log(balance / (1 - balance)))
        assert model.predict(empty)[0] == np.sign(model.imbalance_)
    else:
        assert model.decision_function(empty)[0] == pytest.approx(0, abs=1e-12)
        assert model.predict(empty)[0] == sign


def test_ties_of_the_majority_go_to_the_class_with_more_votes():
    rows = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]]
    more_positive = [*rows, [1, 1, 1, 0]]
    assert MajorityVote().fit_predict(more_positive).tolist() == [1, 1, 1, 1]
    assert MajorityVote().fit_predict([*rows, [1, 0, 0, 0]]).tolist() == [0, 0, 0, 0]


def test_equal_votes_make_a_tie_the_first_class():
    assert MajorityVote().fit_predict([["b", "a"], ["a", "b"]]).tolist() == ["a", "a"]
    assert MajorityVote(positive="a").fit_predict([["b", "a"], ["a", "b"]]).tolist() == ["b", "b"]


def test_a_tie_of_likelihoods_is_a_tie_though_rounded():
    """Two voters of the same accuracy that disagree cancel, up to rounding."""
    rates = [0.9, 0.7, 0.9, 0.7]
    model = LatentModel([0, 1, 2, 3], 0.5, np.ones(4), np.ones(4), rates, rates)
    X = np.array([[1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1]])
    labels = OracleLatent(model).fit(X).predict(X)
    assert labels.tolist() == [1, 1, 1, 1, 1]
    assert OracleLatent(model).fit(1 - X).predict(X)[:3].tolist() == [0, 0, 0]


# -- each against something obvious -------------------------------------------------------------------------


def test_majority_is_the_slow_count(votes):
    X, _ = votes
    labels = MajorityVote().fit(X).predict(X)
    counted = np.array(majority(encode_votes(X).codes))
    np.testing.assert_array_equal(labels[counted != 0], counted[counted != 0])
    assert len(set(labels[counted == 0])) <= 1


def test_majority_accuracies_are_agreement_with_the_majority():
    X, _ = draw(2, n_items=501)
    X = X[:, :7]  # no ties
    model = MajorityVote().fit(X)
    labels = model.predict(X)
    np.testing.assert_allclose(model.sensitivity_, (X[labels == 1] == 1).mean(axis=0))
    np.testing.assert_allclose(model.specificity_, (X[labels == -1] == -1).mean(axis=0))
    assert model.class_balance_ == pytest.approx((labels == 1).mean())
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], (X == 1).mean(axis=1))


@pytest.mark.parametrize("missing_rate", [0.0, 0.3])
@pytest.mark.parametrize("n_iter", [1, 2])
def test_dawid_skene_begins_as_the_slow_em(missing_rate, n_iter):
    X, _ = simulate_votes(120, groups=[1] * 5, imbalance=-0.3, missing_rate=missing_rate, random_state=6)
    with pytest.warns(ConvergenceWarning):
        model = DawidSkene(prior=(0.01, 0.01), balance_prior=0.02, max_iter=n_iter, tol=-1.0).fit(X)
    rates, balance = dawid_skene(encode_votes(X).codes, n_iter)
    np.testing.assert_allclose(model.sensitivity_, rates[1], rtol=1e-9)
    np.testing.assert_allclose(model.specificity_, 1 - rates[0], rtol=1e-9)
    assert model.class_balance_ == pytest.approx(balance, rel=1e-9)


@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
def test_dawid_skene_ends_as_the_slow_em(missing_rate):
    X, _ = simulate_votes(
        150, groups=[1] * 5, imbalance=-0.3, missing_rate=missing_rate, random_state=6, group_accuracy=(0.8, 1.0)
    )
    model = DawidSkene(prior=(0.01, 0.01), balance_prior=0.02, max_iter=5000, tol=1e-14).fit(X)
    rates, balance = dawid_skene(encode_votes(X).codes, 200)
    np.testing.assert_allclose(model.sensitivity_, rates[1], atol=1e-5)
    np.testing.assert_allclose(model.specificity_, 1 - rates[0], atol=1e-5)
    assert model.class_balance_ == pytest.approx(balance, abs=1e-5)


def test_a_strong_prior_holds_the_rates():
    """From the first step on."""
    X, _ = simulate_votes(100, groups=[1] * 4, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model = DawidSkene(prior=(1e9, 1e9), max_iter=1).fit(X)
    np.testing.assert_allclose(model.sensitivity_, 0.5, atol=1e-6)


def test_oracle_ci_counts_right_and_wrong(votes, rng):
    X, y = votes
    weight = rng.integers(0, 3, len(X))
    model = OracleCI().fit(X, y, sample_weight=weight)
    for voter in range(X.shape[1]):
        column = X[:, voter]
        right, wrong = (weight[(y == 1) & (column == label)].sum() for label in (1, -1))
        assert model.sensitivity_[voter] == pytest.approx((right + 0.5) / (right + wrong + 1))
        right, wrong = (weight[(y == -1) & (column == label)].sum() for label in (-1, 1))
        assert model.specificity_[voter] == pytest.approx((right + 0.5) / (right + wrong + 1))
    assert model.class_balance_ == pytest.approx(weight[y == 1].sum() / weight.sum())


def test_oracle_latent_is_bayes_rule():
    """On every pattern of a small model, by summing over the latents."""
    model = LatentModel([0, 0, 1], 0.3, [0.8, 1.0], [0.9, 1.0], [0.9, 0.7, 0.8], [0.8, 0.9, 0.7])
    X = np.array(list(itertools.product([0, 1], repeat=3)))
    expected = []
    for row in X:
        joint = []
        for label, prior in ((0, 0.7), (1, 0.3)):
            total = 0.0
            for latent in (0, 1):
                agrees = (0.8 if label else 0.9) if latent == label else 1 - (0.8 if label else 0.9)
                votes = [(model.sensitivity_given_group[i] if latent else 1 - model.specificity_given_group[i])
                         for i in (0, 1)]  # fmt: skip
                total += agrees * np.prod([p if row[i] else 1 - p for i, p in enumerate(votes)])
            third = 0.8 if label else 0.3
            joint.append(prior * total * (third if row[2] else 1 - third))
        expected.append(joint[1] / sum(joint))
    np.testing.assert_allclose(OracleLatent(model).fit(X).predict_proba(X)[:, 1], expected)


@pytest.mark.parametrize(
    "estimator", [DawidSkene(), SpectralMetaLearner(), OracleCI(), LatentSML(structure="paper")], ids=repr
)
def test_map_decides_by_the_log_odds_of_the_probabilities(estimator, votes):
    X, y = votes
    ml, by_map = (clone(estimator).set_params(decision=decision).fit(X, y) for decision in ("ml", "map"))
    temper, balance = getattr(ml, "calibration_", (1.0, ml.class_balance_))
    prior = np.log(balance / (1 - balance))
    np.testing.assert_allclose(by_map.decision_function(X), temper * ml.decision_function(X) + prior, atol=1e-9)
    np.testing.assert_allclose(ml.predict_proba(X)[:, 1], 1 / (1 + np.exp(-by_map.decision_function(X))))
    np.testing.assert_array_equal(by_map.predict_proba(X), ml.predict_proba(X))


# -- EM -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [np.arange(9), np.repeat(np.arange(6), GROUPS)], ids=["independent", "groups"])
def test_every_iteration_raises_the_likelihood(votes, groups):
    table = PatternTable.of(encode_votes(votes[0]).codes)
    prior = Dirichlet.of_classes(groups, 2, 0.01, 0.01, 0.01)
    start = LatentModel(groups, 0.5, *np.full((2, groups.max() + 1), 0.8), *np.full((2, 9), 0.7))
    result = run_em(start, GroupedPatterns(table, groups).expect, prior=prior, max_iter=40, tol=-1.0)
    assert np.diff(result.objective).min() >= -1e-9 * abs(result.objective[-1])


@pytest.mark.parametrize("estimator", [DawidSkene(), SpectralMetaLearner(), LatentSML(structure="paper")], ids=repr)
def test_stopped_em_warns_with_the_gap(estimator, votes):
    with pytest.warns(
        ConvergenceWarning, match=r"EM stopped after 3 iterations .* gaining \d.*raise max_iter"
    ) as caught:
        model = clone(estimator).set_params(max_iter=3, tol=0.0).fit(votes[0])
    assert not model.converged_
    assert model.n_iter_ == 3
    assert caught[0].filename == __file__


@pytest.mark.parametrize("estimator", [DawidSkene(), SpectralMetaLearner(), LatentSML(structure="paper")], ids=repr)
def test_converged_em_says_so(estimator, votes):
    model = clone(estimator).fit(votes[0])
    assert model.converged_
    assert 1 < model.n_iter_ < model.max_iter
    codes = encode_votes(votes[0]).codes
    assert model.log_likelihood_ == pytest.approx(model.latent_model_.log_likelihood(codes).sum(), abs=1e-2)


# -- clones -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Exact copies:goldless.VotesWarning")
@pytest.mark.parametrize(("voter", "copies"), [(0, 1), (8, 3)])
@pytest.mark.parametrize("position", ["first", "last"])
def test_clones_of_a_voter_leave_the_labels_of_l_sml_alone(votes, voter, copies, position):
    X, _ = votes
    alone = LatentSML(structure="paper").fit(X)
    clones = np.repeat(X[:, [voter]], copies, axis=1)
    crowded = np.column_stack([clones, X] if position == "first" else [X, clones])
    model = LatentSML(structure="paper").fit(crowded)
    originals = np.arange(X.shape[1]) + (copies if position == "first" else 0)
    np.testing.assert_array_equal(model.predict(crowded), alone.predict(X))
    np.testing.assert_allclose(per_voter(model)[:, originals], per_voter(alone), atol=1e-6)
    clone_columns = np.setdiff1d(np.arange(crowded.shape[1]), originals)
    assert set(model.groups_[clone_columns]) == {model.groups_[originals[voter]]}


def test_more_items_lower_the_error():
    """Of the estimated accuracies, against the model the votes are drawn from."""
    errors = []
    for n_items in (300, 30_000):
        X, _, truth = simulate_votes(
            n_items, groups=[1] * 8, imbalance=0.3, random_state=1, return_model=True, **ACCURACY
        )
        model = DawidSkene().fit(X)
        errors.append(np.abs(model.balanced_accuracy_ - truth.balanced_accuracy).max())
    assert errors[1] < 0.02 < errors[0]


def test_one_sided_voters_that_abstain_are_heard():
    """Labelling rules say one class or nothing: no rule uses both classes, and together they still label items."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.5, 1, -1)
    X = np.full((3000, 20), np.nan)
    for rule in range(20):
        side = 1 if rule % 2 else -1
        fires = rng.random(3000) < np.where(y == side, 0.3, 0.03)
        X[fires, rule] = side
    voted = ~np.isnan(X).all(axis=1)
    X, y = X[voted], y[voted]
    for learner in (MajorityVote(), DawidSkene(), LatentSML(structure="independent")):
        assert learner.fit(X).score(X, y) > 0.9


def test_options_of_the_paper_work_by_their_old_names_for_one_version(votes):
    model = LatentSML(structure="paper", em=False, latent_values="hard")
    with pytest.warns(FutureWarning, match=r"write paper=PaperOptions\(") as caught:
        model.fit(votes[0])
    assert [str(warning.message).split()[0] for warning in caught] == ["em", "latent_values"]
    new = LatentSML(structure="paper", paper=PaperOptions(em=False, latent_values="hard")).fit(votes[0])
    np.testing.assert_array_equal(model.predict_proba(votes[0]), new.predict_proba(votes[0]))
    with pytest.raises(TypeError, match=r"paper must be PaperOptions"):
        LatentSML(paper={"em": False}).fit(votes[0])
