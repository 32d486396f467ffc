"""Grades, probabilities and scores: bins, the ordered M-step, rank covariance, kinds, and fits."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import goldless as gl
from goldless import DawidSkene, LatentSML, MajorityVote, OracleCI, SpectralMetaLearner, VotesError
from goldless.cli import main
from goldless.fitting.calibration import Calibration, keeping_means, total_of
from goldless.fitting.numbers import RankedVotes, scale_or_classes, weighted_ranks
from goldless.io.encode import encode_votes
from goldless.kernels.isotonic import order_counts
from goldless.maths.covariance import covariance_of, covariance_of_values
from goldless.maths.em import Dirichlet, run_em
from goldless.maths.ordered import Ordered, midranks_of
from goldless.report.summarize import summarize
from goldless.votes.bins import Bins, Levels, rank_cuts
from goldless.votes.kinds import are_in_order
from goldless.votes.pairs import PairTables
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable

pytestmark = pytest.mark.filterwarnings(
    "ignore::goldless.VotesWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
ESTIMATORS = [MajorityVote(), DawidSkene(), SpectralMetaLearner(), LatentSML()]
by_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)


def draw(n_items=600, skill=(1.5, 1.2, 1.0, 0.8, 1.4, 0.9), balance=0.4, missing=0.0, seed=0):
    """Draw scores of voters that are independent given the truth, each on its own scale."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_items) < balance).astype(int)
    X = y[:, None] * np.array(skill) + rng.normal(size=(n_items, len(skill)))
    X = X * rng.uniform(0.1, 10, len(skill)) + rng.normal(size=len(skill))
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


# -- bins ---------------------------------------------------------------------------------------------------


def slow_bins(answers):
    """Cut answers by the words of the study: eighths of the ranks and finer tails, small bins joined."""
    x = np.sort(answers[~np.isnan(answers)])
    n, levels = len(x), np.unique(x)
    if len(levels) <= 8:
        bin_of = {value: number for number, value in enumerate(levels)}
    else:
        cuts, outer = {k / 8 for k in range(1, 8)}, 1 / 8
        while outer / 2 * n >= 10:
            outer /= 2
            cuts |= {outer, 1 - outer}
        rank = {value: ((x < value).sum() + (x == value).sum() / 2) / n for value in levels}
        bin_of = {value: sum(cut <= rank[value] for cut in cuts) for value in levels}
    groups = [[value for value in levels if bin_of[value] == number] for number in sorted(set(bin_of.values()))]
    merged: list[list[float]] = [[]]
    least = min(5, max(1, n // 4))
    for group in groups:
        if sum((x == value).sum() for value in merged[-1]) >= least:
            merged.append([])
        merged[-1] += group
    if len(merged) > 1 and sum((x == value).sum() for value in merged[-1]) < least:
        last = merged.pop()
        merged[-1] = merged[-1] + last
    return [group[0] for group in merged[1:]]


@pytest.mark.parametrize("seed", range(6))
def test_bins_are_those_of_a_slow_reference(seed):
    rng = np.random.default_rng(seed)
    answers = [rng.normal(size=300), rng.integers(0, 5, 80), np.round(rng.exponential(size=1500), 1), rng.random(12)]
    for column in answers:
        column = column.astype(float)
        column[rng.random(len(column)) < 0.1] = np.nan
        bins = Bins.of([Levels.of(column)], ("scores",))
        assert bins.edges[0].tolist() == slow_bins(column)
        codes = bins.codes(column[:, None])[:, 0]
        assert ((codes < 0) == np.isnan(column)).all()
        order = np.argsort(column[codes >= 0], kind="stable")
        assert (np.diff(codes[codes >= 0][order]) >= 0).all()


def test_a_cut_of_the_user_is_an_edge():
    answers = np.arange(1000) / 10
    bins = Bins.of([Levels.of(answers)], ("scores",), positive_from=33.3)
    assert 33.3 in bins.edges[0]
    low = Bins.of([Levels.of(-answers)], ("scores",), np.array([-1]), positive_from=33.3)
    assert set(low.above_cut[0][low.codes(np.array([[33.3], [10.0]]))[:, 0]]) == {1.0}
    assert low.above_cut[0][low.codes(np.array([[33.4]]))[0, 0]] == 0


def test_levels_of_parts_add_to_those_of_all():
    rng = np.random.default_rng(0)
    answers = np.round(rng.normal(size=5000), 2)
    whole = Levels.of(answers)
    parts = Levels.of(answers[:1000]) + (Levels.of(answers[1000:3000]) + Levels.of(answers[3000:]))
    np.testing.assert_array_equal(parts.values, whole.values)
    np.testing.assert_array_equal(parts.counts, whole.counts)
    weights = rng.integers(0, 4, 5000)
    np.testing.assert_array_equal(Levels.of(answers, weights).counts, Levels.of(np.repeat(answers, weights)).counts)


def test_many_levels_are_merged_and_edges_stay_near():
    rng = np.random.default_rng(0)
    answers = rng.normal(size=200_000)
    merged = Levels(np.array([]), np.array([]))
    for part in np.array_split(answers, 20):
        merged = merged + Levels.of(part)
    assert len(merged.values) <= 1 << 12
    assert merged.n_answers == len(answers)
    edges = Bins.of([merged], ("scores",)).edges[0]
    ranks = np.array([(answers < edge).mean() for edge in edges])
    np.testing.assert_allclose(ranks, rank_cuts(len(answers)), atol=1e-3)


def test_any_increasing_change_of_scale_changes_nothing():
    X, _ = draw()
    model, other = LatentSML().fit(X), LatentSML().fit(np.exp(X / 5))
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(np.exp(X / 5)), atol=1e-9)


# -- the ordered M-step -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_order_is_the_isotonic_regression(seed):
    rng = np.random.default_rng(seed)
    counts = rng.gamma(1.0, size=(7, 2, 9)) * 20
    n_bins = np.array([9, 8, 7, 5, 3, 2, 9])
    arranged, falls = counts.copy(), np.zeros(7, dtype=bool)
    order_counts(arranged, n_bins, 3.0, falls)
    for voter, n in enumerate(n_bins):
        first, second = counts[voter, :, :n]
        weight = first + second
        fits = []
        for increasing in (True, False):
            share = isotonic_regression(second / weight, sample_weight=weight, increasing=increasing)
            fits.append((share, (second * np.log(share) + first * np.log1p(-share)).sum()))
        falling = fits[1][1] > fits[0][1] + 3.0
        assert falls[voter] == falling
        np.testing.assert_allclose(arranged[voter, 1, :n], weight * fits[int(falling)][0], rtol=1e-9)
        np.testing.assert_allclose(arranged[voter, :, :n].sum(axis=1), counts[voter, :, :n].sum(axis=1))
        np.testing.assert_array_equal(arranged[voter, :, n:], counts[voter, :, n:])


def test_two_even_bins_have_the_prior_of_labels():
    ordered = Ordered(np.full((1, 2), 0.5), np.array([2]), np.array([[0.0, 1.0]]), strength=1.5)
    np.testing.assert_allclose(ordered.pseudo_votes[0], [[1.0, 0.5], [0.5, 1.0]])


def test_em_in_order_never_falls_and_ends_in_order():
    X, _ = draw(400, missing=0.1, seed=3)
    X[:, 5] *= -1
    votes = encode_votes(X)
    table = PatternTable.of(votes.codes, votes.n_symbols)
    cast = table.pairs.cast
    ranked = RankedVotes(votes.bins, (cast / cast.sum(axis=0)).T)
    groups = np.array([0, 0, 0, 1, 2, 3])
    prior = Dirichlet.of_classes(groups, 2, 1.0, 0.5, 50.0, ordered=ranked.ordered)
    start = gl.fitting.solve.start_of(VoteSums.of_table(table), groups, prior)
    result = run_em(start, VoteSums.of_table(table).expect, prior=prior, max_iter=200, tol=1e-9)
    assert (np.diff(result.objective) > -1e-7).all()
    ratio = result.model.votes[:, 1] / result.model.votes[:, 0]
    for voter, n in enumerate(votes.bins.n_bins):
        steps = np.diff(np.log(ratio[voter, :n]))
        assert (steps > -1e-6).all() or (voter == 5 and (steps < 1e-6).all())


# -- covariance of ranks ------------------------------------------------------------------------------------


def test_covariance_of_ranks_is_that_of_numpy():
    X, _ = draw(300, missing=0.2, seed=2)
    votes = encode_votes(X)
    tables = PairTables.of(votes.codes, votes.n_symbols)
    share = (tables.cast / tables.cast.sum(axis=0)).T
    values = midranks_of(share)
    estimate = covariance_of_values(tables.tables, values)
    ranks = np.where(votes.codes >= 0, np.take_along_axis(values.T, np.maximum(votes.codes, 0), axis=0), np.nan)
    z = (ranks - np.nanmean(ranks, axis=0)) / np.nanstd(ranks, axis=0)
    for i, j in [(0, 1), (2, 5)]:
        both = ~np.isnan(z[:, i]) & ~np.isnan(z[:, j])
        x, y = (z[both, k] - z[both, k].mean() for k in (i, j))
        n = both.sum()
        np.testing.assert_allclose(estimate.covariance[i, j], (x * y).sum() / (n - 1))
        spread = ((x * y) ** 2).mean() - (x * y).mean() ** 2
        np.testing.assert_allclose(estimate.standard_error[i, j], np.sqrt(spread / n))


def test_two_labels_have_the_covariance_of_labels_up_to_scale():
    rng = np.random.default_rng(0)
    tables = PairTables.of(rng.integers(0, 2, (200, 5)).astype(np.int8)).tables
    of_labels = covariance_of(tables)
    of_values = covariance_of_values(tables, np.tile([0.0, 1.0], (5, 1)))
    scale = np.sqrt(np.outer(of_labels.variance, of_labels.variance))
    np.testing.assert_allclose(of_values.covariance * scale, of_labels.covariance, atol=1e-12)
    np.testing.assert_allclose(of_values.standard_error * scale, of_labels.standard_error, atol=1e-12)


# -- kinds --------------------------------------------------------------------------------------------------


def grades(n_items=300, n_voters=6, levels=6, seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(
        np.round(2 + rng.normal(size=(n_items, 1)) * 1.5 + rng.normal(size=(n_items, n_voters))), 0, levels - 1
    )


@pytest.mark.parametrize(
    ("votes", "kind"),
    [
        (np.random.default_rng(0).integers(0, 2, (50, 4)), "labels"),
        (np.random.default_rng(0).integers(0, 4, (200, 4)), "labels"),
        (np.random.default_rng(0).integers(0, 4, (200, 4)).astype(float), "labels"),
        (np.random.default_rng(0).integers(0, 3, (200, 4)).astype(float), "labels"),
        (grades(), "ordinal"),
        (grades() + 1, "ordinal"),
        (grades(levels=9).astype(int), "ordinal"),
        (grades(levels=4).astype(int), "labels"),
        (np.random.default_rng(0).random((50, 4)), "probabilities"),
        (np.random.default_rng(0).integers(0, 9, (50, 4)) / 8, "probabilities"),
        (np.random.default_rng(0).integers(0, 3, (50, 4)) / 2, "scores"),
        (np.random.default_rng(0).normal(size=(50, 4)), "scores"),
        (np.random.default_rng(0).integers(0, 200, (500, 4)), "scores"),
    ],
)
def test_what_votes_are(votes, kind):
    assert set(MajorityVote().fit(votes).kinds_) == {kind}


def test_names_of_classes_are_rarely_in_order():
    rng = np.random.default_rng(0)
    judged = []
    for seed in range(60):
        X, _ = gl.simulate_votes(400, [1] * 6, n_classes=int(rng.integers(4, 9)), random_state=seed)
        judged.append(are_in_order(X, int(X.max()) + 1))
    assert np.mean(judged) < 0.05


def test_five_grades_of_weak_voters_are_in_order_and_not_in_another():
    """Neighbours are hardly told apart: what shows the order is the one axis on which voters agree at all."""
    rng = np.random.default_rng(0)
    found, renamed = [], []
    for _ in range(30):
        side = 2 * rng.integers(0, 2, (500, 1)) - 1
        codes = np.clip(np.round(2 + 0.35 * side + rng.normal(0, 1.2, (500, 6))), 0, 4).astype(np.int8)
        found.append(are_in_order(codes, 5))
        renamed.append(are_in_order(np.array([2, 0, 3, 1, 4], dtype=np.int8)[codes], 5))
        assert found[-1] == are_in_order(4 - codes, 5)
    assert np.mean(found) > 0.8
    assert np.mean(renamed) < 0.1


def test_a_voter_beyond_one_states_no_balance():
    rng = np.random.default_rng(0)
    X = rng.random((200, 6))
    X[0, 2] = 1.009
    assert MajorityVote().fit(X).kinds_ == ("probabilities",) * 2 + ("scores",) + ("probabilities",) * 3


def test_what_is_refused():
    rng = np.random.default_rng(0)
    X = rng.random((50, 4))
    X[7, 2] = 1.009
    with pytest.raises(VotesError, match=r"1\.009 in row 7, column 2 is no probability; kind='scores' takes any"):
        MajorityVote(kind="probabilities").fit(X)
    X[3, 1] = np.inf
    with pytest.raises(VotesError, match=r"infinity \(inf\) in row 3, column 1"):
        MajorityVote().fit(X)
    with pytest.raises(VotesError, match="-1, 0 and 1, and it is not clear"):
        MajorityVote().fit(rng.integers(-1, 2, (50, 4)))
    with pytest.raises(VotesError, match="'a' in row 0, column 1 is no number"):
        MajorityVote(kind="scores").fit(np.array([[0.1, "a"], [0.3, 0.2]], dtype=object))
    with pytest.raises(ValueError, match="kind must be 'auto'"):
        MajorityVote(kind="grades").fit(X)
    with pytest.raises(ValueError, match="3D array"):
        MajorityVote().fit(rng.random((5, 3, 2)))
    with pytest.raises(VotesError, match="every voter always gives the same number"):
        MajorityVote(kind="scores").fit(np.ones((5, 3)))
    for options in (
        {"paper": gl.PaperOptions(em=False)},
        {"paper": gl.PaperOptions(start="two-stage")},
        {"abstain": "informative"},
    ):
        with pytest.raises(ValueError, match="for labels, and the votes are numbers"):
            LatentSML(**options).fit(draw()[0])


def test_kinds_of_single_voters():
    X, y = draw()
    X[:, 2] = (X[:, 2] > np.median(X[:, 2])).astype(float)
    X[:, 3] = np.clip(np.round(X[:, 3]), -3, 3)
    model = LatentSML(kind={2: "labels", 3: "ordinal"}).fit(X)
    assert model.kinds_ == ("scores", "scores", "labels", "ordinal", "scores", "scores")
    assert len(model.emission_[2][0]) == 2
    assert model.score(X, y) > 0.85
    with pytest.raises(gl.VotesError, match="Voter 3 gives 3 different numbers"):
        LatentSML(kind={3: "labels"}).fit(X)


@by_estimator
def test_a_voter_of_labels_among_scores_states_the_balance(estimator):
    X, y = draw(3000, balance=0.1, seed=3)
    alone = clone(estimator).fit(X)
    X = np.column_stack([X, y ^ (np.random.default_rng(0).random(3000) < 0.05)])
    model = clone(estimator).fit(X)
    assert model.kinds_ == (*("scores",) * 6, "labels")
    assert clone(estimator).set_params(kind="scores").fit(X).kinds_ == ("scores",) * 7
    if not isinstance(estimator, MajorityVote):  # which has no balance of its own
        assert abs(model.class_balance_ - X[:, 6].mean()) < 0.01 < abs(alone.class_balance_ - y.mean())
    low = np.column_stack([-X[:, :6], 1 - X[:, 6]])
    turned = clone(estimator).set_params(lower_is_positive=True).fit(low)
    np.testing.assert_allclose(turned.predict_proba(low), model.predict_proba(X))


def test_lower_probabilities_state_the_other_share():
    X, _ = draw(2000, balance=0.1, seed=3)
    P = 1 / (1 + np.exp(2 - X / X.std(axis=0)))
    model, turned = LatentSML().fit(P), LatentSML(lower_is_positive=True).fit(1 - P)
    assert model.kinds_ == turned.kinds_ == ("probabilities",) * 6
    assert model.class_balance_ == pytest.approx(turned.class_balance_)
    np.testing.assert_allclose(model.predict_proba(P), turned.predict_proba(1 - P), atol=1e-6)


def test_a_stream_finds_voters_of_labels_in_all_rows():
    X, y = draw(2000, seed=4)
    X = np.column_stack([X, y, y.astype(float)])
    X[1500, 7] = 0.3
    model = LatentSML().fit(gl.VoteStream(lambda: iter(np.array_split(X, 20))))
    assert model.kinds_ == LatentSML().fit(X).kinds_ == (*("scores",) * 6, "labels", "scores")


# -- fits ---------------------------------------------------------------------------------------------------


@by_estimator
def test_scores_are_combined(estimator):
    X, y = draw(missing=0.1)
    model = clone(estimator).fit(X)
    assert model.classes_.tolist() == [0, 1]
    assert roc_auc_score(y, model.decision_function(X)) > 0.93
    assert model.score(X, y) > 0.85
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert ((probability > 0) & (probability < 1)).all()
    assert (model.auc_ > 0.6).all()
    np.testing.assert_array_equal(model.direction_, 1)
    assert ((model.turning_point_ > np.nanmin(X, axis=0)) & (model.turning_point_ < np.nanmax(X, axis=0))).all()
    assert [table.shape[1] for table in model.emission_] == [len(cuts) + 1 for cuts in model.cuts_]
    for table in model.emission_:
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)
    assert (model.sensitivity_ + model.specificity_ > 1.1).all()


@by_estimator
def test_weights_are_repeated_rows(estimator):
    X, _ = draw(200)
    weights = np.random.default_rng(1).integers(0, 4, 200)
    one = clone(estimator).fit(X, sample_weight=weights)
    many = clone(estimator).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(one.decision_function(X), many.decision_function(X), atol=1e-6)


@by_estimator
def test_a_saved_model_keeps_its_edges(estimator, tmp_path):
    X, _ = draw(missing=0.1)
    model = clone(estimator).fit(X)
    model.save(tmp_path / "model.json")
    loaded = gl.load(tmp_path / "model.json")
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.kinds_ == model.kinds_


@by_estimator
def test_a_stream_gives_the_numbers_of_memory(estimator):
    X, _ = draw(500, missing=0.1)
    whole = clone(estimator).fit(X)
    stream = gl.VoteStream(lambda: (X[start : start + 90] for start in range(0, 500, 90)))
    streamed = clone(estimator).fit(stream)
    np.testing.assert_allclose(streamed.decision_function(stream), whole.decision_function(X), atol=1e-7)
    np.testing.assert_array_equal(np.concatenate(streamed.cuts_), np.concatenate(whole.cuts_))


@by_estimator
def test_parts_are_coded_by_the_first(estimator):
    X, _ = draw(500)
    if not hasattr(estimator, "partial_fit"):
        return
    model = clone(estimator).partial_fit(X[:300]).partial_fit(X[300:])
    np.testing.assert_array_equal(np.concatenate(model.cuts_), np.concatenate(clone(estimator).fit(X[:300]).cuts_))
    assert "500" in model.how_counted_
    with pytest.raises(ValueError, match="cut into different bins"):
        clone(estimator).partial_fit(X[:300]).merge(clone(estimator).partial_fit(X[300:]))


def test_probabilities_tell_the_class_balance():
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.05).astype(int)
    raw = y[:, None] * np.array([3.0, 2.8, 3.2, 2.9]) + rng.normal(size=(3000, 4))
    P = 1 / (1 + np.exp(-(3 * (raw - 1.5) + np.log(0.05 / 0.95))))
    model = LatentSML().fit(P)
    assert set(model.kinds_) == {"probabilities"}
    assert abs(model.class_balance_ - 0.05) < 0.02
    assert model.score(P, y) > 0.93


def test_the_users_cut_starts_and_labels():
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(800, 1))
    X = np.clip(np.round(5 + 1.5 * quality + rng.normal(size=(800, 6)) * 0.7), 0, 10)
    for estimator in (MajorityVote(), LatentSML()):
        shares = [clone(estimator).set_params(positive_from=cut).fit(X).predict(X).mean() for cut in (3, 5, 7)]
        assert shares[0] > shares[1] + 0.1 > shares[2] + 0.2


def test_a_voter_that_runs_the_other_way():
    X, y = draw(skill=(1.5, 1.3, 1.4, 1.2, 1.5))
    X[:, 3] *= -1
    model = LatentSML().fit(X)
    assert model.direction_.tolist() == [1, 1, 1, -1, 1]
    assert model.auc_[3] < 0.4
    told = LatentSML(lower_is_positive=[3]).fit(X)
    assert told.direction_.tolist() == [1, 1, 1, -1, 1]
    assert told.auc_[3] > 0.6
    assert told.score(X, y) > 0.85


def test_severity_is_in_units_of_the_scale():
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(1500, 1))
    X = np.clip(np.round(5 + 1.5 * quality - np.array([0, 0, 1.0, 0, -1.0]) + rng.normal(size=(1500, 5))), 0, 10)
    severity = LatentSML(kind="ordinal").fit(X).severity_
    np.testing.assert_allclose(severity, [0, 0, 1, 0, -1], atol=0.15)


def test_groups_are_found_from_ranks():
    rng = np.random.default_rng(5)
    y = rng.random(800) < 0.5
    parent = np.where(rng.random(800) < 0.75, y, ~y)
    X = np.column_stack([parent] * 4 + [y] * 8) * 1.6 + rng.normal(size=(800, 12))
    model = LatentSML().fit(np.exp(X))
    assert model.groups_.tolist() == [0, 0, 0, 0, *range(1, 9)]


def test_no_groups_are_guessed():
    """With half of the voters in a group, either half could be it: the model without groups hears both."""
    rng = np.random.default_rng(5)
    y = rng.random(800) < 0.5
    parent = np.where(rng.random(800) < 0.75, y, ~y)
    X = np.column_stack([parent] * 6 + [y] * 6) * 1.6 + rng.normal(size=(800, 12))
    with pytest.warns(gl.AmbiguousGroupingWarning, match=r"6 or 6 of 12 voters in groups.*No groups were used"):
        model = LatentSML().fit(X)
    assert model.n_groups_ == 12
    flat = LatentSML(structure="independent").fit(X)
    np.testing.assert_array_equal(model.predict(X), flat.predict(X))
    rows = {int(row): int(y[row]) for row in rng.choice(800, 30, replace=False)}
    settled = LatentSML().fit(X, anchors=rows)
    assert settled.groups_.tolist() == [0, 0, 0, 0, 0, 0, *range(1, 7)]
    assert settled.score(X, y) > model.score(X, y)


def test_one_scale_has_no_groups_and_careful_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1)) * 1.2 + rng.normal(size=(2000, 8)) * 0.6
    model = LatentSML().fit(X)
    assert model.n_groups_ == 8
    assert model.scale_or_classes_ < 0.7
    assert model.calibration_[0] < 0.5
    X, _ = draw(2000, skill=(3.0,) * 4)
    classes = LatentSML().fit(X)
    assert classes.scale_or_classes_ > 0.8


def test_few_items_have_no_groups():
    X, _ = draw(50)
    assert LatentSML().fit(np.column_stack([X, X[:, :2] + 0.01 * X[:, 2:4]])).fitted_.grouping.guard is None


def test_anchors_move_the_line():
    rng = np.random.default_rng(0)
    scale = rng.normal(size=2000)
    X = scale[:, None] + 0.3 * rng.normal(size=(2000, 6))
    y = (scale + rng.normal(size=2000) * 0.3 > 1.0).astype(int)
    model = LatentSML().fit(X)
    rows = rng.choice(2000, 40, replace=False)
    told = LatentSML().fit(X, anchors={int(row): int(y[row]) for row in rows})

    def loss(fitted):
        return gl_log_loss(y, fitted.predict_proba(X)[:, 1])

    assert loss(told) < loss(model) - 0.05


def gl_log_loss(y, p):
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return -np.mean(np.where(y > 0, np.log(p), np.log(1 - p)))


def test_everything_else_a_fitted_model_does():
    X, _ = draw(400, missing=0.1)
    model = LatentSML().fit(X)
    why = model.explain(X[:20])
    np.testing.assert_allclose(why.prior + why.by_group.sum(axis=1), why.log_odds, atol=1e-6)
    assert len(model.select(3)) == 3
    assert len(model.panels()) >= 2
    assert len(model.next_to_label(X, n=5).rows) == 5
    part = model.subset([0, 2, 4])
    assert part.predict(X[:, [0, 2, 4]]).shape == (400,)
    trusted = LatentSML().fit(X, trusted=[0], class_balance=0.4)
    assert trusted.predict(X).shape == (400,)


def test_the_oracle_counts_bins():
    X, y = draw()
    model = OracleCI().fit(X, y)
    assert roc_auc_score(y, model.decision_function(X)) > 0.95


def test_ranks_and_intercepts():
    np.testing.assert_allclose(
        weighted_ranks(np.array([3.0, 1.0, 3.0]), np.array([1.0, 2.0, 1.0])), [0.75, 0.25, 0.75]
    )
    odds = np.array([-1.0, 0.0, 2.0])
    total = total_of(np.stack([np.zeros(3), odds], axis=1), np.full((3, 2), 0.5), np.ones(3))
    line = keeping_means(total, np.array([0.7, 0.3]), Calibration(1.0, 0.5))
    assert line.temper == 1.0
    shifted = odds + np.log(line.class_balance / (1 - line.class_balance))
    np.testing.assert_allclose((1 / (1 + np.exp(-shifted))).mean(), 0.3)


@by_estimator
def test_nothing_is_said_of_labels_that_belongs_to_numbers(estimator):
    X, _ = gl.simulate_votes(200, [1] * 5, random_state=0)
    model = clone(estimator).fit(X)
    assert model.kinds_ == ("labels",) * 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(AttributeError, match="is for votes that are numbers"):
            _ = model.auc_


# -- files, the command line, Dask, the page --------------------------------------------------------------------


@pytest.fixture
def graded(tmp_path):
    """A file of grades 0 to 9 of six judges, with the truth."""
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.4).astype(int)
    X = np.clip(np.round(3 + 3 * y[:, None] + 1.3 * rng.normal(size=(300, 6))), 0, 9).astype(int)
    lines = ["item," + ",".join(f"judge {i}" for i in range(6)) + ",truth"]
    lines += [f"q{row},{','.join(map(str, X[row]))},{y[row]}" for row in range(300)]
    path = tmp_path / "grades.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, X, y


def test_the_command_line_says_how_numbers_were_read(graded, tmp_path, capsys):
    path, _, _ = graded
    assert main(["combine", str(path), "--truth", "truth", "-o", str(tmp_path / "labels.csv")]) == 0
    said = "".join(reversed(capsys.readouterr()))
    assert said.startswith("6 voters, grades 0-9 (ordered, higher = positive; --kind labels if they are names).")
    assert "Balanced accuracy against the truth: " in said
    assert main(["inspect", str(path), "--truth", "truth"]) == 0
    shown = capsys.readouterr().out
    assert "Where each voter turns" in shown
    assert "severity" in shown
    again = str(tmp_path / "again.csv")
    assert main(["combine", str(path), "--truth", "truth", "--positive-from", "8", "-o", again]) == 0
    assert "positive from 8" in capsys.readouterr().err
    classes = str(tmp_path / "classes.csv")
    assert main(["combine", str(path), "--ignore", "truth", "--kind", "labels", "-o", classes]) == 0
    assert "ordered" not in capsys.readouterr().err


def test_a_file_and_an_array_have_the_same_fit(graded):
    path, X, _ = graded
    of_file = LatentSML().fit(gl.read_votes(path, truth="truth").X)
    frame = pd.DataFrame(X.astype(float), columns=[f"judge {i}" for i in range(6)])
    of_array = LatentSML().fit(frame)
    assert of_file.kinds_ == of_array.kinds_ == ("ordinal",) * 6
    np.testing.assert_allclose(of_file.decision_function(frame), of_array.decision_function(frame))


def test_diagnosis_and_report_of_numbers(graded):
    _, X, y = graded
    model = LatentSML(kind="ordinal").fit(X)
    diagnosis = gl.diagnose(model, X, resamples=0)
    assert 0.7 < diagnosis.expectation("combined").balanced_accuracy <= 1
    summary = summarize(model, X, truth=y, resamples=0)
    assert summary["votes"]["n_voters"] == 6


def test_dask_cuts_the_bins_of_memory():
    dask_frame = pytest.importorskip("dask.dataframe")
    X, _ = draw(400)
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(6)])
    whole = DawidSkene().fit(frame)
    spread = DawidSkene().fit(dask_frame.from_pandas(frame, npartitions=3))
    np.testing.assert_array_equal(np.concatenate(spread.cuts_), np.concatenate(whole.cuts_))
    np.testing.assert_allclose(spread.decision_function(frame), whole.decision_function(frame), atol=1e-7)


# -- one fit behind labels, diagnosis, page, panels and questions -----------------------------------------------


def test_the_prior_turns_where_a_rare_class_begins():
    share = np.full((2, 8), 1 / 8)
    known = Ordered(share, np.array([8, 8]), midranks_of(share), balance=0.1)
    pseudo = known.pseudo_votes
    np.testing.assert_allclose(pseudo[:, 1].sum(axis=1) / pseudo.sum(axis=(1, 2)), 0.1)
    np.testing.assert_allclose(pseudo.sum(axis=1), 2 * known.strength * share)
    even = Ordered(share, np.array([8, 8]), midranks_of(share)).pseudo_votes
    odds, of_even = pseudo[:, 1] / pseudo[:, 0], even[:, 1] / even[:, 0]
    np.testing.assert_allclose(np.diff(np.log(odds / of_even), axis=1), 0, atol=1e-9)


def test_two_classes_must_be_clear_beyond_luck():
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.5
    ratio = np.where(y, 2.0, -2.0) + 2 * rng.normal(size=4000)  # means 4 apart, variance 4: T = 1
    many = scale_or_classes(ratio, y.astype(float), np.ones(4000))
    assert abs(many.value - 1) < 0.1
    few = scale_or_classes(ratio[:200], y[:200].astype(float), np.ones(200))
    assert few.error == pytest.approx(many.error * np.sqrt(20), rel=0.3)
    assert not few.of_two_classes(200)
    values = [scale_or_classes(part, mine.astype(float), np.ones(200)).value
              for part, mine in zip(ratio.reshape(20, 200), y.reshape(20, 200), strict=True)]  # fmt: skip
    assert np.std(values) == pytest.approx(few.error, rel=0.5)


def test_diagnosis_and_page_speak_of_the_fit_that_labels():
    X, y = draw(500, missing=0.05, seed=4)
    model = LatentSML().fit(X)
    diagnosis = gl.diagnose(model, X, resamples=0)
    np.testing.assert_allclose(diagnosis.auc, model.auc_)
    assert diagnosis.class_balance == model.class_balance_
    assert diagnosis.calibration == model.calibration_
    low, high = diagnosis.expectation("combined").interval
    assert 0.5 <= low < high <= 1
    assert np.isfinite(diagnosis.balanced_accuracy_interval).all()
    summary = summarize(model, X, truth=y, resamples=0)
    true = {row["method"]: row["balanced_accuracy"] for row in summary["truth"]["methods"]}
    assert true["combined"] == pytest.approx(model.score(X, y), abs=1e-4)
    assert true["majority vote"] == pytest.approx(MajorityVote(kind="scores").fit(X).score(X, y), abs=0.01)
    numbers = summary["numbers"]
    np.testing.assert_allclose([voter["auc"] for voter in numbers["voters"]], model.auc_, atol=1e-4)
    page = gl.report.render_html(summary)
    assert "What each voter means by its numbers" in page
    labels = gl.report.render_html(summarize(*_labelled(), resamples=0))
    assert "What each voter means" not in labels


def _labelled():
    X, _ = gl.simulate_votes(200, [1] * 6, random_state=0)
    return LatentSML().fit(X), X


def test_panels_of_numbers_are_judged_by_numbers():
    """What is expected of a panel is what its numbers reach, weighted by the model and counted by the mean rank."""
    X, y = draw(3000, balance=0.2, seed=1)
    model = LatentSML().fit(X)
    panels = model.panels()
    for panel in panels:
        columns = list(panel.voters)
        labels = model.subset(columns).predict(X[:, columns])
        assert panel.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, labels), abs=0.03)
        counted = MajorityVote().fit(X[:, columns]).predict(X[:, columns])
        assert panel.vote_accuracy == pytest.approx(balanced_accuracy_score(y, counted), abs=0.03)
    assert panels[-1].effective_votes > 5  # of six that are independent
    np.testing.assert_array_equal(model.select(3), panels[2].voters)


def test_a_panel_keeps_the_users_cut():
    X, _ = draw(2000, seed=2)
    X = 5 + X / X.std(axis=0)
    model = LatentSML(positive_from=6).fit(X)
    share = model.predict(X).mean()
    part = model.subset([0, 1, 4])
    assert part.predict(X[:, [0, 1, 4]]).mean() == pytest.approx(share, abs=0.02)


def test_questions_of_numbers_are_the_doubtful_items():
    rng = np.random.default_rng(5)
    y = rng.random(800) < 0.5
    parent = np.where(rng.random(800) < 0.75, y, ~y)
    X = np.column_stack([parent] * 4 + [y] * 8) * 1.6 + rng.normal(size=(800, 12))
    for votes in (X, np.clip(np.round(2 * X + 4), 0, 9)):
        model = LatentSML().fit(votes)
        asked = model.next_to_label(votes, n=10)
        probability = model.predict_proba(votes)[:, 1]
        sure = np.abs(probability - 0.5)
        labels = {tuple(said) for said in asked.codes[asked.divided].tolist()}
        assert labels <= {(0, 1), (1, 0)} or asked.codes.shape[1] > 2
        assert (sure[asked.rows[~asked.divided]] < sure.mean()).all()


def test_a_short_file_of_scores_keeps_its_voters(tmp_path):
    X, _ = draw(40, seed=2)
    frame = pd.DataFrame(X.round(3), columns=[f"judge {i}" for i in range(6)])
    frame.insert(0, "item", [f"q{i}" for i in range(40)])
    frame.to_csv(tmp_path / "short.csv", index=False)
    found = gl.read_votes(tmp_path / "short.csv")
    assert found.n_voters == 6


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_of_numbers_are_streamed(tmp_path, ending):
    X, y = draw(3000, missing=0.05)
    X[:, 0] = np.clip(np.round(X[:, 0]), -5, 5)
    frame = pd.DataFrame(X.round(2), columns=[f"judge {i}" for i in range(6)])
    frame.insert(0, "item", [f"q{i}" for i in range(len(X))])
    frame["truth"] = y
    path = tmp_path / f"scores.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    whole = LatentSML().fit(gl.read_votes(path, truth="truth").X)
    for batch_rows in (500, 1 << 16):
        stream = gl.VoteStream(path, truth="truth", batch_rows=batch_rows)
        model = LatentSML().fit(stream)
        np.testing.assert_array_equal(np.concatenate(model.cuts_), np.concatenate(whole.cuts_))
        np.testing.assert_allclose(model.auc_, whole.auc_, atol=1e-7)
        written = model.write_labels(stream, tmp_path / f"labels{batch_rows}.csv")
        assert written.balanced_accuracy == pytest.approx(whole.score(frame.iloc[:, 1:7], y), abs=1e-6)
    labels = pd.read_csv(tmp_path / "labels500.csv")
    assert labels["item"].tolist() == frame["item"].tolist()


# -- what users have ----------------------------------------------------------------------------------------

NAMES = [f"judge {letter}" for letter in "abcdef"]


def saved(tmp_path, X, names=NAMES):
    """Write votes as a user would, with a column of items."""
    frame = pd.DataFrame(X, columns=names)
    frame.insert(0, "item", [f"q{row}" for row in range(len(frame))])
    frame.to_csv(tmp_path / "votes.csv", index=False)
    return tmp_path / "votes.csv"


def screen(capsys, *arguments):
    """Return what the command line prints."""
    main([str(argument) for argument in arguments])
    shown = capsys.readouterr()
    return " ".join((shown.err + shown.out).split())


def grades(seed=0, low=1, high=10):
    X, y = draw(seed=seed)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.clip(np.round(1.8 * scaled + (low + high) / 2), low, high), y


def test_a_refusal_among_grades_is_one_question(tmp_path, capsys):
    X, y = grades()
    X = X.astype(object)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = "refused"
    path = saved(tmp_path, X)
    with pytest.raises(
        VotesError, match=r"'refused' in column 'judge a' stands among numbers; missing='refused'"
    ) as no:
        gl.read_votes(path)
    assert no.value.kind == "words-among-numbers"
    table = gl.read_votes(path, missing="refused")
    model = LatentSML().fit(table.X)
    assert model.kinds_ == ("ordinal",) * 6
    assert model.score(table.X, y) > 0.85
    assert len(gl.read_votes(path, kind="labels").votes.classes) > 8
    assert "--missing refused takes it for no vote" in screen(capsys, "inspect", path)
    words = np.array(["yes", "no", "1"], dtype=object)[np.random.default_rng(1).integers(3, size=(50, 4))]
    assert len(gl.read_votes(saved(tmp_path, words, list("abcd"))).votes.classes) == 3  # names of classes


def test_labels_and_scores_in_one_file(tmp_path, capsys):
    X, y = draw(seed=5)
    rng = np.random.default_rng(0)
    X = X / X.std(axis=0)
    rules = [y ^ (rng.random(len(y)) < 0.1) for _ in range(2)]
    path = saved(tmp_path, np.column_stack([X.round(3), *rules]), [*NAMES, "rule", "other rule"])
    table = gl.read_votes(path)
    assert table.votes.bins.kinds == (*("scores",) * 6, "labels", "labels")
    assert "8 voters, 6 with scores, 2 with labels (ordered, higher = positive" in screen(capsys, "inspect", path)
    told = gl.read_votes(path, kind={"rule": "scores"}).votes.bins.kinds
    assert told == (*("scores",) * 7, "labels")
    out = tmp_path / "labels.csv"
    shown = screen(capsys, "combine", path, "--kind", "rule=scores", "--kind", "other rule=scores", "-o", out)
    assert "8 voters, scores" in shown
    assert len(pd.read_csv(out)) == len(y)
    assert "one kind for all voters" in screen(capsys, "combine", path, "--kind", "scores", "--kind", "rule=labels")
    beside = np.column_stack([*rules, *rules, rng.random(len(y)).round(4) * 50])
    cost = gl.read_votes(saved(tmp_path, beside, ["a", "b", "c", "d", "cost"]))
    assert cost.n_voters == 4  # one column of numbers beside labels is no voter


def test_grades_without_names_of_classes_are_positive_or_negative(tmp_path, capsys):
    X, _ = grades(1)
    shown = screen(capsys, "inspect", saved(tmp_path, X.astype(int)))
    assert "Where each voter turns to positive" in shown
    assert "share of 'positive'" in shown
    assert "share of '1'" not in shown
    named = LatentSML(classes=["fail", "pass"], kind="ordinal").fit(X)
    assert "share of pass" in named._repr_html_()
    picture = LatentSML().fit(X)._repr_html_()
    assert "share of positive" in picture
    assert picture.count("<rect") >= 6 * 5  # a bar for every bin of every voter
    assert "<svg" not in LatentSML(kind="labels").fit(np.where(X > 5, 1, 0))._repr_html_().split("</thead>")[-1]


def test_probabilities_of_a_rare_class_are_not_compared_at_the_middle_rank():
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.02
    P = 1 / (1 + np.exp(4 - y[:, None] * np.array([4, 3.5, 3, 3.2, 2.5]) - rng.normal(size=(4000, 5))))
    with warnings.catch_warnings():
        warnings.simplefilter("error", gl.VotesWarning)
        model = LatentSML().fit(P)
    assert model.kinds_ == ("probabilities",) * 5
    assert model.score(P, y.astype(int)) > 0.95


@pytest.mark.parametrize(
    ("votes", "sentence"),
    [
        (lambda X: np.column_stack([X[:, :5], -X[:, 5]]), r"Runs against the others: 'f'; is lower positive there"),
        (lambda X: np.column_stack([X[:, :5], np.where(X[:, 5] > np.quantile(X[:, 5], 0.96), 9.0, 1.0)]),
         r"Nine answers in ten are the same number or nearly so: 'f'"),
        (lambda X: np.column_stack([X[:, :5], np.full(len(X), 3.0)]), r"Always the same vote from 'f': ignored"),
        (lambda X: X[:50], r"50 items for 6 voters: too few to find groups from numbers"),
        (lambda X: np.column_stack([X[:, :2], -X[:, 2:4], X[:, 4:]]), r"The mean rank of the votes would label"),
    ],
)  # fmt: skip
def test_what_is_warned_of(votes, sentence):
    X, _ = draw(600, skill=(1.6,) * 6)
    with pytest.warns(gl.VotesWarning, match=sentence):
        LatentSML().fit(pd.DataFrame(votes(X), columns=list("abcdef")))


# -- everything a fitted model does, for every kind -----------------------------------------------------------------


def of_kind(kind):
    """Draw votes of a kind, some of them missing."""
    X, y = draw(500, seed=7)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    if kind == "ordinal":
        scaled = np.clip(np.round(1.5 * scaled + 3), 1, 5)
    elif kind == "probabilities":
        scaled = 1 / (1 + np.exp(-2 * scaled))
    elif kind == "mixed":
        scaled[:, 0], scaled[:, 1] = scaled[:, 0] > 0.5, np.round(3 * scaled[:, 1])
    scaled[np.random.default_rng(1).random(scaled.shape) < 0.05] = np.nan
    return scaled, y


@pytest.mark.parametrize("kind", ["ordinal", "probabilities", "scores", "mixed"])
def test_a_model_of_every_kind_does_everything(kind, tmp_path):
    X, y = of_kind(kind)
    fresh = LatentSML(kind="ordinal" if kind == "ordinal" else "auto")
    model = clone(fresh).fit(X)
    expected = ("labels", *("scores",) * 5) if kind == "mixed" else (kind,) * 6
    assert model.kinds_ == expected
    labels = model.predict(X)
    assert balanced_accuracy_score(y, labels) > 0.8
    # public facts of every voter
    assert len(model.cuts_) == len(model.emission_) == 6
    assert model.auc_.shape == model.turning_point_.shape == model.direction_.shape == (6,)
    assert np.isfinite(model.scale_or_classes_)
    # weights are repeated rows
    weights = np.random.default_rng(2).integers(0, 3, len(X))
    np.testing.assert_allclose(
        clone(fresh).fit(X, sample_weight=weights).auc_,
        clone(fresh).fit(np.repeat(X, weights, axis=0)).auc_,
        atol=1e-9,
    )
    # anchors, an audit, the model file
    anchors = {row: int(y[row]) for row in range(0, 120, 3)}
    told = clone(fresh).fit(X, anchors=anchors)
    assert gl_log_loss(y, told.predict_proba(X)[:, 1]) < gl_log_loss(y, model.predict_proba(X)[:, 1]) + 0.02
    plan = gl.audit(model, X, n=40)
    outcome = plan.estimate({int(row): int(y[row]) for row in plan.rows})
    assert outcome.value["balanced_accuracy"] > 0.7
    model.save(tmp_path / "model.json")
    loaded = gl.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), labels)
    assert loaded.kinds_ == model.kinds_
    # explanations, questions, panels
    why = model.explain(X[:30])
    np.testing.assert_allclose(why.prior + why.by_group.sum(axis=1), why.log_odds, atol=1e-6)
    assert len(model.next_to_label(X, n=7).rows) == 7
    assert len(set(model.select(3))) == 3
    # what is claimed of the labels is claimed of these labels
    summary = summarize(model, X, resamples=0)
    share = summary["votes"]["class_shares"][1]
    assert share == pytest.approx(model.class_balance_, abs=1e-3)
