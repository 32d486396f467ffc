"""Sparse rows: what a long table gives without being made dense is what the same votes give as a matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import goldless as gl
from goldless.fitting.crowd import main_voters
from goldless.kernels.sparse import SparseCodes, tally, weighted_votes
from goldless.kernels.sparse_tree import SparseLayout
from goldless.maths.tree import TreeModel
from goldless.maths.tree_makers import independent_model
from goldless.report import summarize
from goldless.votes.engine import MemoryEngine
from goldless.votes.long import LongVotes, TwoLabels
from goldless.votes.passes import VoteSums, grouped
from goldless.votes.rows import PatternTable
from goldless.votes.sparse import SparsePairs, SparseRows, joined_sparse
from goldless.votes.votes import Votes
from strategies import codes_for, tree_models

pytestmark = pytest.mark.filterwarnings("ignore::goldless.VotesWarning")


def crowd(n_items, n_voters, n_classes, missing_rate, seed=0, n_echoes=4):
    """Return votes of which the first few voters repeat one source, most of them missing."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    truth = rng.choice(n_classes, n_items, p=shares)
    source = np.where(rng.random(n_items) < 0.7, truth, rng.integers(0, n_classes, n_items))
    votes = np.empty((n_items, n_voters), dtype=np.int8)
    for voter in range(n_voters):
        echo = voter < n_echoes
        right = rng.random(n_items) < (0.92 if echo else rng.uniform(0.55, 0.9))
        votes[:, voter] = np.where(right, source if echo else truth, rng.integers(0, n_classes, n_items))
    votes[rng.random(votes.shape) < missing_rate] = -1
    return votes


def both_ways(codes, n_classes):
    """Return the same votes as a matrix with gaps, and as lists."""
    return Votes(codes, np.arange(n_classes)), Votes(SparseCodes.of(codes), np.arange(n_classes))


ESTIMATORS = {
    "majority": gl.MajorityVote,
    "dawid_skene": gl.DawidSkene,
    "search": gl.LatentSML,
    "groups": lambda: gl.LatentSML(structure=np.maximum(np.arange(30) - 3, 0), subtypes=True),
    "independent": lambda: gl.LatentSML(structure="independent"),
    "spectral": gl.SpectralMetaLearner,
    "tensor": lambda: gl.SpectralMetaLearner(imbalance="tensor", em=False),
}


@pytest.mark.parametrize("missing_rate", [0.5, 0.9, 0.97])
@pytest.mark.parametrize(
    ("name", "n_classes"),
    [(name, n) for name in ESTIMATORS for n in (2, 4) if n == 2 or name not in ("spectral", "tensor")],
)
def test_sparse_rows_give_what_a_matrix_gives(name, n_classes, missing_rate):
    matrix, lists = both_ways(crowd(1500, 30, n_classes, missing_rate), n_classes)
    of_matrix, of_lists = ESTIMATORS[name]().fit(matrix), ESTIMATORS[name]().fit(lists)
    np.testing.assert_allclose(of_lists.confusion_, of_matrix.confusion_, atol=1e-8)
    np.testing.assert_allclose(of_lists.predict_proba(lists), of_matrix.predict_proba(matrix), atol=1e-7)
    np.testing.assert_array_equal(of_lists.predict(lists), of_matrix.predict(matrix))
    np.testing.assert_array_equal(of_lists.predict(matrix), of_matrix.predict(lists))
    if name in ("search", "groups"):
        np.testing.assert_array_equal(of_lists.groups_, of_matrix.groups_)
        assert of_lists.verdict_ == of_matrix.verdict_


@settings(max_examples=40, deadline=None)
@given(data=st.data(), model=tree_models())
def test_one_pass_over_lists_is_one_pass_over_a_matrix(data, model):
    codes, _ = data.draw(codes_for(model))
    lists = SparseCodes.of(codes)
    np.testing.assert_array_equal(lists.dense(), codes)
    for name in ("log_likelihood", "class_evidence", "posterior", "state_posterior", "group_posterior"):
        np.testing.assert_allclose(getattr(model, name)(lists), getattr(model, name)(codes), atol=1e-9)
    if not len(codes) or (model.copy_of != np.arange(model.n_voters)).any():
        return
    table = PatternTable.of(codes, model.n_symbols)
    rows = SparseRows.of(SparseCodes.of(table.codes), model.n_symbols, table.counts)
    of_matrix, of_lists = (grouped(part, model.groups).expect(model) for part in (table, rows))
    for name in ("labels", "latents", "votes", "log_likelihood"):
        np.testing.assert_allclose(getattr(of_lists, name), getattr(of_matrix, name), rtol=1e-9, atol=1e-9)
    if model.states_are_classes and model.n_symbols == model.n_classes:
        of_matrix, of_lists = (grouped(part, model.groups).unit_votes() for part in (table, rows))
        for name in ("labels", "latents", "votes"):
            np.testing.assert_allclose(getattr(of_lists, name), getattr(of_matrix, name), atol=1e-9)


def test_a_pass_is_the_sum_over_rows_by_the_book(rng):
    """Expected counts against the joint distribution of hub, latent and votes, item by item."""
    latents = np.stack([0.6 * np.eye(3) + 0.4 / 3, np.eye(3), np.eye(3)])
    votes = 0.5 * np.eye(3) + 0.5 * rng.dirichlet(np.ones(3), (4, 3))
    model = TreeModel([0, 0, 1, 2], [0.5, 0.3, 0.2], latents, votes)
    codes = rng.integers(-1, 3, (50, 4)).astype(np.int8)
    labels, of_latents, of_votes, log_likelihood = np.zeros(3), np.zeros((3, 3)), np.zeros((4, 3, 3)), 0.0
    for row in codes:
        joint = model.prior[None, :] * latents[0]  # alpha, hub
        for voter in (0, 1):
            if row[voter] >= 0:
                joint = joint * votes[voter, :, row[voter]][:, None]
        for voter in (2, 3):
            if row[voter] >= 0:
                joint = joint * votes[voter, :, row[voter]][None, :]
        log_likelihood += np.log(joint.sum())
        joint = joint / joint.sum()
        labels += joint.sum(axis=0)
        of_latents += joint
        for voter in np.flatnonzero(row >= 0):
            of_votes[voter, :, row[voter]] += joint.sum(axis=1 if voter < 2 else 0)
    found = grouped(SparseRows.of(SparseCodes.of(codes), 3), model.groups).expect(model)
    np.testing.assert_allclose(found.labels, labels)
    np.testing.assert_allclose(found.latents[0], of_latents)
    np.testing.assert_allclose(found.votes, of_votes, atol=1e-12)
    assert found.log_likelihood == pytest.approx(log_likelihood)


def test_pieces_and_threads_change_no_bit(monkeypatch):
    codes = crowd(20_000, 200, 3, 0.9, n_echoes=3)
    model = gl.DawidSkene().fit(Votes(codes, np.arange(3))).latent_model_
    rows = SparseRows.of(SparseCodes.of(codes), 3)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("GOLDLESS_NUM_THREADS", threads)
        found.append(grouped(rows, model.groups).expect(model))
    for name in ("labels", "latents", "votes"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
    assert found[0].log_likelihood == found[1].log_likelihood


def test_rows_of_lists_are_rows_of_a_matrix(rng):
    codes = crowd(300, 12, 3, 0.6)
    lists, chosen = SparseCodes.of(codes), rng.permutation(12)[:7]
    np.testing.assert_array_equal(lists[10:50].dense(), codes[10:50])
    np.testing.assert_array_equal(lists[::3].dense(), codes[::3])
    np.testing.assert_array_equal(lists[codes[:, 0] >= 0].dense(), codes[codes[:, 0] >= 0])
    np.testing.assert_array_equal(lists.of_voters(chosen).dense(), codes[:, chosen])
    np.testing.assert_array_equal(tally(lists, 3), tally(codes, 3))
    weights = rng.random((300, 2))
    np.testing.assert_allclose(weighted_votes(lists, weights, 3), weighted_votes(codes, weights, 3))
    spoken = rng.integers(-1, 3, 300).astype(np.int8)
    np.testing.assert_array_equal(lists.with_voter(spoken).dense(), np.column_stack([codes, spoken]))
    rows, counts = SparseRows.of(lists, 3), rng.integers(0, 4, 300)
    table = PatternTable.of(codes, 3, counts)
    weighted = SparseRows.of(lists, 3, counts)
    np.testing.assert_array_equal(weighted.pairs.voters(np.arange(12)).tables, table.pairs.tables)
    np.testing.assert_array_equal(weighted.pairs.cast, table.pairs.cast)
    np.testing.assert_array_equal(rows.voted(chosen), (codes[:, chosen] >= 0).any(axis=1))
    halves = joined_sparse([rows.take(slice(0, 120)), rows.take(slice(120, 300))])
    np.testing.assert_array_equal(halves.codes.dense(), codes)


def test_copies_in_lists_are_found_and_count_once():
    codes = crowd(400, 9, 3, 0.6)
    codes[:, 8] = codes[:, 5]
    matrix, lists = both_ways(codes, 3)
    rows = SparseRows.of(lists.codes, 3)
    np.testing.assert_array_equal(rows.pairs.first_copies(), PatternTable.of(codes, 3).pairs.first_copies())
    codes = codes.copy()
    codes[::2, 5] = -1  # later the copy votes where the original does not
    with pytest.warns(gl.VotesWarning, match="copies"):
        model = gl.LatentSML().fit(matrix)
    more, in_lists = both_ways(codes, 3)
    np.testing.assert_allclose(model.predict_proba(in_lists), model.predict_proba(more), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_known_labels_enter_lists_as_they_enter_a_matrix(n_classes):
    codes = crowd(800, 20, n_classes, 0.7)
    matrix, lists = both_ways(codes, n_classes)
    anchors = {row: int(codes[row][codes[row] >= 0][0]) for row in range(0, 200, 7) if (codes[row] >= 0).any()}
    of_matrix, of_lists = (gl.LatentSML().fit(votes, anchors=anchors) for votes in (matrix, lists))
    np.testing.assert_allclose(of_lists.confusion_, of_matrix.confusion_, atol=1e-7)


def test_parts_of_lists_add_and_are_saved(tmp_path):
    codes = crowd(600, 25, 3, 0.85)
    _, lists = both_ways(codes, 3)
    whole = gl.DawidSkene().fit(lists)
    model = gl.DawidSkene()
    for start in range(0, 600, 200):
        model.partial_fit(Votes(lists.codes[start : start + 200], np.arange(3)))
    np.testing.assert_allclose(model.confusion_, whole.confusion_, atol=1e-9)
    model.save(tmp_path / "model.json")
    again = gl.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(lists), model.predict_proba(lists))
    np.testing.assert_allclose(again.partial_fit(lists).confusion_, gl.DawidSkene().fit(
        Votes(SparseCodes.of(np.vstack([codes, codes])), np.arange(3))).confusion_, atol=1e-9)  # fmt: skip


def test_a_large_crowd_compares_only_voters_that_share_enough(rng):
    """Of 700 voters four share a source and many items; most share next to none."""
    n_items, n_voters = 3000, 700
    truth = rng.integers(0, 3, n_items)
    source = np.where(rng.random(n_items) < 0.6, truth, rng.integers(0, 3, n_items))
    codes = np.full((n_items, n_voters), -1, dtype=np.int8)
    for voter in range(n_voters):
        busy = voter < 14
        asked = rng.random(n_items) < (0.6 if busy else 0.004)
        says = np.where(rng.random(n_items) < 0.85, source if voter < 4 else truth, rng.integers(0, 3, n_items))
        codes[asked, voter] = says[asked]
    lists = Votes(SparseCodes.of(codes), np.arange(3))
    model = gl.LatentSML().fit(lists)
    grouping = model.fitted_.grouping
    np.testing.assert_array_equal(grouping.compared, np.arange(14))
    assert grouping.covariance.shape == grouping.score.shape == (14, 14)
    assert len(set(model.groups_[:4].tolist())) == 1
    assert model.n_groups_ == n_voters - 3
    few = model.subset([0, 1, 5, 600])
    assert few.fitted_.grouping.covariance.shape == (3, 3)
    assert (model.predict(lists) == truth).mean() > 0.9
    with pytest.raises(ValueError, match="too many"):
        gl.SpectralMetaLearner().fit(Votes(SparseCodes.of(np.minimum(codes, 1)), np.arange(2)))


def test_in_a_crowd_without_common_items_everybody_is_alone(rng):
    items, voters = np.repeat(np.arange(2000), 3), rng.integers(0, 1500, 6000)
    votes = LongVotes.of(items, voters, rng.integers(0, 2, 6000), 2000, 1500, repeats="first")
    model = gl.LatentSML().fit(Votes(votes.codes, np.array(["no", "yes"])))
    assert model.n_groups_ == 1500
    assert model.overdispersion_ == 1.0


def test_an_abstention_of_a_crowd_is_no_vote():
    _, lists = both_ways(crowd(300, 10, 2, 0.7), 2)
    with pytest.raises(ValueError, match="who was asked"):
        gl.LatentSML(abstain="informative").fit(lists)


# -- long tables --------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-1, 5), st.integers(-1, 4), st.integers(-1, 2)), max_size=40))
@pytest.mark.parametrize("repeats", ["first", "last", "most"])
def test_a_long_table_keeps_one_answer_by_the_rule(repeats, lines):
    found = LongVotes.of(*(np.array([line[i] for line in lines], dtype=int) for i in range(3)), 6, 5, repeats)
    said: dict[tuple[int, int], list[int]] = {}
    for item, voter, symbol in lines:
        if min(item, voter, symbol) >= 0:
            said.setdefault((item, voter), []).append(symbol)
    expected = np.full((6, 5), -1)
    for place, answers in said.items():
        rule = {"first": answers[0], "last": answers[-1], "most": max(answers, key=answers.count)}
        expected[place] = rule[repeats]
    np.testing.assert_array_equal(found.codes, expected)
    assert found.n_repeated == sum(len(answers) - 1 for answers in said.values())
    assert found.n_changed == sum(len(set(answers)) > 1 for answers in said.values())


def test_two_labels_are_refused_by_default():
    assert LongVotes.of([0, 0], [1, 1], [1, 1], 1, 2).n_repeated == 1
    with pytest.raises(TwoLabels) as error:
        LongVotes.of([0, 3, 3], [1, 2, 2], [1, 0, 1], 4, 3)
    assert (error.value.item, error.value.voter) == (3, 2)


def test_sums_over_lists_need_no_matrix(monkeypatch):
    """A fit of many voters and its labels never ask for the matrix."""
    codes = crowd(500, 600, 3, 0.98)
    monkeypatch.setattr(SparseCodes, "dense", lambda self: pytest.fail("made dense"))
    _, lists = both_ways(codes, 3)
    for make in (gl.MajorityVote, gl.DawidSkene, gl.LatentSML):
        make().fit(lists).predict_proba(lists)
    assert VoteSums.of_table(SparseRows.of(lists.codes, 3)).n_items == 500


def test_a_page_of_a_crowd_shows_those_that_matter_and_gives_no_advice_from_few_votes():
    codes = crowd(1500, 600, 3, 0.97)
    _, lists = both_ways(codes, 3)
    model = gl.LatentSML().fit(lists)
    summary = summarize(model, lists, families=[f"family {voter % 3}" for voter in range(600)], resamples=0)
    assert len(summary["voters"]) == 60
    assert summary["diagnosis"]["use"] == "unknown"
    assert any("60 of 600 voters" in warning and "worse than chance" in warning for warning in summary["warnings"])
    columns = main_voters(model.fitted_, lists.codes)
    n_votes = (codes >= 0).sum(axis=0)
    accuracy = np.where(n_votes >= 20, model.balanced_accuracy_, np.nan)
    assert {np.nanargmax(accuracy), np.nanargmin(accuracy), n_votes.argmax()} <= set(columns.tolist())


@pytest.mark.parametrize("n_states", [2, 3, 4, 5, 7, 8, 10, 13, 16, 21])
@pytest.mark.parametrize("n_voters", [3, 40, 700])
def test_the_e_step_of_voters_on_the_hub_is_that_of_plain_sums(n_states, n_voters, rng):
    n_symbols = 4
    codes = rng.integers(-1, n_symbols, (300, n_voters)).astype(np.int8)
    codes[7] = -1  # a row without a vote
    counts = rng.integers(1, 4, len(codes)).astype(float)
    spread = 1.0 if n_voters < 700 else 0.05  # products of so many votes, some of them hardly possible, would vanish
    confusion = rng.dirichlet(np.full(n_symbols, spread), (n_voters, n_states)).clip(1e-12, 1.0)
    model = independent_model(rng.dirichlet(np.ones(n_states)), confusion)
    voted = (codes[:, :, None] == np.arange(n_symbols)).astype(float)
    joint = np.log(model.prior) + np.einsum("niv,isv->ns", voted, np.log(confusion))
    posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None]) * counts[:, None]
    for layout in (
        SparseLayout.of(codes, n_symbols, counts),
        SparseLayout.of(SparseCodes.of(codes), n_symbols, counts),
    ):
        found = model.sparse_tree().expect(layout)
        np.testing.assert_allclose(found.votes, np.einsum("niv,ns->ivs", voted, posterior), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.labels, posterior.sum(axis=0))
        np.testing.assert_allclose(found.log_likelihood, counts @ np.logaddexp.reduce(joint, axis=1))


@pytest.mark.parametrize("streamed", [False, True])
def test_voters_that_share_enough_are_those_of_the_products(streamed, rng):
    codes = rng.integers(-1, 3, (300, 40)).astype(np.int8)
    codes[rng.random(codes.shape) < rng.uniform(0.4, 0.95, 40)] = -1
    counts = rng.integers(0, 3, len(codes))
    voted = (codes >= 0).astype(float)
    shared = voted.T @ (counts[:, None] * voted)
    np.fill_diagonal(shared, 0)
    rows = SparseRows.of(SparseCodes.of(codes), 3, counts)
    pairs = SparsePairs(rows, MemoryEngine([rows]) if streamed else None)
    for n_shared in (0.5, 10, 25.3, 40, 1000):
        left = np.arange(40)
        while True:
            partners = (shared[np.ix_(left, left)] >= n_shared).sum(axis=1)
            if (partners >= 2).all():
                break
            left = left[partners >= 2]
        np.testing.assert_array_equal(pairs.sharing(np.arange(40), n_shared, 2, 40), left)
        if not streamed:
            assert (pairs._most_partners(np.arange(40), n_shared) >= (shared >= n_shared).sum(axis=1)).all()
