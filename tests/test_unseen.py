"""Rows that nobody called: fits of what at least c voters call are fits of all candidate items."""

from __future__ import annotations

import numpy as np
import pytest

import goldless as gl
from goldless.kernels.sparse import SparseCodes
from goldless.maths.em import Dirichlet, run_em
from goldless.maths.tree_makers import independent_rates
from goldless.votes.passes import grouped
from goldless.votes.rows import PatternTable
from goldless.votes.unseen import UnseenRows
from goldless.votes.votes import Votes

pytestmark = pytest.mark.filterwarnings("ignore::goldless.VotesWarning")


def callers(n_voters, share, n_grouped=0, seed=0, n_items=12_000):
    """Return calls of all candidate sites and which are real, as in the study of truncation."""
    rng = np.random.default_rng(seed)
    real = rng.random(n_items) < share
    source = np.where(real, rng.random(n_items) < 0.85, rng.random(n_items) < 0.15)
    calls = []
    for voter in range(n_voters):
        of = source if voter < n_grouped else real
        sensitivity = 0.9 if voter < n_grouped else rng.uniform(0.55, 0.9)
        specificity = 0.93 if voter < n_grouped else rng.uniform(0.85, 0.97)
        calls.append(np.where(of, rng.random(n_items) < sensitivity, rng.random(n_items) >= specificity))
    return np.stack(calls, axis=1).astype(np.int8), real.astype(np.int8)


def error(model, votes, truth):
    return 100 * (1 - gl.balanced_accuracy(truth, model.predict(votes)))


@pytest.mark.parametrize(
    ("n_voters", "share", "n_grouped", "structure"),
    [(7, 0.3, 0, "search"), (5, 0.1, 0, "independent"), (7, 0.3, 3, [0, 0, 0, 1, 2, 3, 4]), (7, 0.3, 3, "search")],
)
def test_a_file_of_calls_is_as_good_as_all_sites(n_voters, share, n_grouped, structure):
    votes, truth = callers(n_voters, share, n_grouped)
    seen = votes.any(axis=1)
    whole = gl.LatentSML(structure=structure).fit(votes)
    file = gl.LatentSML(structure=structure, at_least=1).fit(votes[seen])
    assert error(file, votes[seen], truth[seen]) < error(whole, votes[seen], truth[seen]) + 0.2
    np.testing.assert_allclose(file.specificity_, whole.specificity_, atol=0.02)
    assert file.class_balance_ == pytest.approx(whole.class_balance_, abs=0.02)
    as_is = gl.LatentSML(structure=structure).fit(votes[seen])
    assert np.abs(as_is.specificity_ - whole.specificity_).max() > 0.05  # what it mends
    low, high = file.unseen_.interval
    assert 0.8 * low < (~seen).sum() < 1.2 * high
    assert low < file.unseen_.items < high
    precision = [truth[votes[:, voter] == 1].mean() for voter in range(n_voters)]
    np.testing.assert_allclose(file.precision_, precision, atol=0.03)


def test_intervals_of_the_number_cover_it():
    far = []
    for seed in range(5):
        votes, _ = callers(7, 0.3, seed=100 + seed, n_items=4000)
        seen = votes.any(axis=1)
        unseen = gl.DawidSkene(at_least=1).fit(votes[seen]).unseen_
        far.append(np.log(unseen.items / (~seen).sum()) / np.log(unseen.interval[1] / unseen.items) * 1.96)
    assert np.abs(far).max() < 3.5
    assert abs(np.mean(far)) < 1.2


def test_at_least_two_calls():
    votes, truth = callers(7, 0.2, seed=3)
    seen = votes.sum(axis=1) >= 2
    whole, file = gl.DawidSkene().fit(votes), gl.DawidSkene(at_least=2).fit(votes[seen])
    as_is = gl.DawidSkene().fit(votes[seen])
    assert np.abs(file.specificity_ - whole.specificity_).max() < 0.1
    assert np.abs(as_is.specificity_ - whole.specificity_).max() > 0.2
    assert error(file, votes[seen], truth[seen]) <= error(as_is, votes[seen], truth[seen])


def test_the_conditional_likelihood_never_falls_and_is_that_of_the_rows_seen(rng):
    model = independent_rates(0.3, rng.uniform(0.5, 0.9, 5), rng.uniform(0.7, 0.95, 5))
    codes = model.sample(3000, rng)[0]
    codes[:, 0] = np.where(rng.random(3000) < 0.3, -1, codes[:, 0])  # rows of several sets of voters
    codes = codes[(codes == 1).any(axis=1)]
    table = PatternTable.of(codes, 2)
    unseen = UnseenRows.of(table, 1, np.ones(5, dtype=np.int64))
    passes = grouped(table, model.groups, unseen)
    hidden = np.where(codes >= 0, 0, -1).astype(np.int8)
    by_hand = model.log_likelihood(codes) - np.log1p(-np.exp(model.log_likelihood(hidden)))
    assert passes.expect(model).log_likelihood == pytest.approx(by_hand.sum(), rel=1e-9)
    assert len(unseen.codes) == 2
    prior = Dirichlet.of_classes(model.groups, 2, 1.0, 0.5, 1.0)
    found = run_em(model, passes.expect, prior=prior, max_iter=60, tol=1e-9)
    assert (np.diff(found.objective) >= -1e-7).all()


def test_lists_are_truncated_as_a_matrix_is():
    votes, _ = callers(6, 0.3, n_items=2000)
    votes = votes[votes.any(axis=1)]
    in_lists = Votes(SparseCodes.of(votes), np.array([0, 1]))
    of_matrix, of_lists = (gl.DawidSkene(at_least=1).fit(X) for X in (votes, in_lists))
    np.testing.assert_allclose(of_lists.confusion_, of_matrix.confusion_, atol=1e-6)


def test_votes_say_themselves_that_rows_are_missing_and_the_user_may_say_otherwise(tmp_path):
    votes, _ = callers(6, 0.3)
    listed = Votes(votes[votes.any(axis=1)], np.array([0, 1]), at_least=1)
    model = gl.LatentSML().fit(listed)
    assert model.unseen_.at_least == 1
    assert "candidate items that nobody called" in str(model.unseen_)
    model.save(tmp_path / "model.json")
    assert gl.load(tmp_path / "model.json").unseen_.items == model.unseen_.items
    with pytest.raises(AttributeError):
        _ = gl.LatentSML(at_least=0).fit(listed).unseen_
    few = Votes(listed.codes[:, :3][listed.codes[:, :3].any(axis=1)], np.array([0, 1]), at_least=1)
    with pytest.warns(gl.VotesWarning, match="not counted: at_least needs 4 different voters"):
        gl.LatentSML().fit(few)
    with pytest.raises(ValueError, match="needs 4 different voters"):
        gl.LatentSML(at_least=1).fit(few)


def test_the_length_of_a_genome_is_no_number_of_candidates():
    votes, _ = callers(6, 0.3)
    seen = votes[votes.any(axis=1)]
    model = gl.LatentSML(at_least=1)
    with pytest.raises(ValueError, match="length of a genome"):
        model.fit(seen, unseen=3_100_000_000)
    told = model.fit(seen, unseen=len(votes) - len(seen))
    assert told.unseen_.given
    assert told.unseen_.items == len(votes) - len(seen)
    whole = gl.LatentSML().fit(votes)
    np.testing.assert_allclose(told.specificity_, whole.specificity_, atol=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda votes: votes.__setitem__((slice(None), 0), 1), "calls every item"),
        (lambda votes: votes.__setitem__((0, slice(None)), 0), "only 0 voter"),
    ],
)
def test_what_cannot_be_truncated_is_said(change, message):
    votes, _ = callers(5, 0.3, n_items=2000)
    votes = votes[votes.any(axis=1)]
    change(votes)
    with pytest.raises(ValueError, match=message):
        gl.DawidSkene(at_least=1).fit(votes)


def test_more_than_two_classes_have_no_calls():
    X, _ = gl.simulate_votes(500, [1] * 6, n_classes=3, random_state=0)
    with pytest.raises(ValueError, match="two classes"):
        gl.LatentSML(at_least=1).fit(X)
