"""Votes from files, folders and blocks give the numbers of the same votes in memory."""

import enum
import gc
import itertools
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from sklearn.base import clone

import goldless as gl
from goldless.errors import VotesError
from goldless.estimators import latent, sampled
from goldless.io import merge
from goldless.io.files import read_votes
from goldless.kernels.sparse import SparseCodes
from goldless.votes import counted, engine, passes, sketch
from goldless.votes.engine import StreamEngine
from goldless.votes.rows import PatternTable, Rows
from goldless.votes.sketch import count_stream
from goldless.votes.sparse import SparseRows, joined_sparse
from references_votes import assert_looks_are_those_of_memory

pytestmark = pytest.mark.filterwarnings("ignore::goldless.AmbiguousGroupingWarning")  # not what is tested here

N_ITEMS = 3000
ESTIMATORS = {
    "majority": gl.MajorityVote(),
    "dawid-skene": gl.DawidSkene(),
    "sml": gl.SpectralMetaLearner(),
    "sml without em": gl.SpectralMetaLearner(em=False),
    "search": gl.LatentSML(),
    "paper": gl.LatentSML(structure="paper"),
}
by_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())
with_missing = pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "missing"])


def draw(missing=0.0, seed=5, n_items=N_ITEMS):
    """Votes as strings, None where there is none, and codes."""
    X, _ = gl.simulate_votes(n_items, [3] + [1] * 9, -0.2, missing_rate=missing, random_state=seed)
    words = np.where(np.isnan(X.astype(float)), None, np.where(X == 1, "yes", "no"))
    return pd.DataFrame(words, columns=[f"voter {i}" for i in range(X.shape[1])], dtype=object)


def cut(frame, n_rows):
    return [frame.iloc[start : start + n_rows] for start in range(0, len(frame), n_rows)]


def per_voter(model):
    return np.stack([model.sensitivity_, model.specificity_])


def assert_same_model(one, other, tolerance=0.0):
    np.testing.assert_allclose(per_voter(one), per_voter(other), rtol=0, atol=tolerance)
    assert one.class_balance_ == pytest.approx(other.class_balance_, abs=tolerance, rel=0)
    if isinstance(one, gl.LatentSML):
        np.testing.assert_array_equal(one.groups_, other.groups_)


@pytest.fixture
def many(monkeypatch):
    """Take a few hundred patterns for many, so that the sample and the passes over all votes are used."""
    for module in (sketch, counted, passes):
        monkeypatch.setattr(module, "MANY_PATTERNS", 300)
    monkeypatch.setattr(sketch, "SAMPLE_PATTERNS", 200)
    monkeypatch.setattr(sketch, "_ROWS_TO_JUDGE", 500)


# -- the same numbers ---------------------------------------------------------------------------------------


@by_estimator
@with_missing
def test_blocks_are_the_table_bit_for_bit_while_patterns_are_few(estimator, missing):
    frame = draw(missing)
    whole = clone(estimator).fit(frame)
    for source in (lambda: iter(cut(frame, 700)), iter(cut(frame, 1234))):
        assert_same_model(clone(estimator).fit(source), whole)
    np.testing.assert_array_equal(whole.predict(cut(frame, 990)), whole.predict(frame))
    np.testing.assert_array_equal(whole.predict_proba(iter(cut(frame, 990))), whole.predict_proba(frame))


@pytest.mark.parametrize("name", ["majority", "dawid-skene", "search"])
@with_missing
def test_many_patterns_through_a_sample_give_the_optimum_on_all(name, missing, many):
    """In memory, from blocks of any size, in memory or read again: the same to 1e-9; and near plain EM."""
    words = draw(missing, n_items=2000)
    frame = pd.DataFrame(np.where(words.isna(), np.nan, words == "yes").astype(float))
    in_memory = clone(ESTIMATORS[name]).fit(frame)
    assert "sample" in in_memory.how_counted_
    for n_rows, limit in ((700, None), (499, 0)):
        options = {} if limit is None else {"memory_limit": limit}
        streamed = clone(ESTIMATORS[name]).fit(gl.VoteStream(cut(frame, n_rows), **options))
        assert_same_model(streamed, in_memory, 1e-9)
        assert ("read again" in streamed.how_counted_) == (limit == 0)
        np.testing.assert_array_equal(streamed.predict(frame), in_memory.predict(frame))


@pytest.mark.parametrize("memory_limit", [0, 1 << 28], ids=["read again", "in memory"])
@pytest.mark.parametrize("name", ["dawid-skene", "sml without em", "search"])
def test_pieces_of_any_size_are_the_same_bits_of_many_patterns_too(name, memory_limit, many, monkeypatch):
    monkeypatch.setattr(engine, "CHUNK_ROWS", 256)
    frame = pd.DataFrame((draw(n_items=2000) == "yes").astype(np.int8))
    cuts = (frame.iloc[start:stop] for start, stop in itertools.pairwise([0, 1, 255, 256, 1100, 1100, 1999, 2000]))
    first, *others = (
        clone(ESTIMATORS[name]).fit(gl.VoteStream(pieces, memory_limit=memory_limit))
        for pieces in (cut(frame, 7), cut(frame, 300), cut(frame, 1999), list(cuts))
    )
    assert "sample" in first.how_counted_
    for other in others:
        assert_same_model(other, first)
        np.testing.assert_array_equal(other.predict_proba(frame), first.predict_proba(frame))


def test_crowds_in_pieces_of_any_size_are_the_same_bits(monkeypatch):
    monkeypatch.setattr(engine, "CHUNK_ROWS", 64)
    rows = [
        SparseRows.of(SparseCodes.of(codes), 2)
        for codes in np.split(np.random.default_rng(5).integers(-1, 2, (300, 5)).astype(np.int8), [10, 11, 200])
    ]
    whole = joined_sparse(rows)
    for parts in (rows, [whole]):
        blocks = list(engine.in_blocks(parts))
        assert [block.n_rows for block in blocks] == [64, 64, 64, 64, 44]
        np.testing.assert_array_equal(joined_sparse(blocks).codes.dense(), whole.codes.dense())


def test_the_sample_changes_where_em_starts_and_not_where_it_ends(many, monkeypatch):
    frame = draw(n_items=5000)
    through_sample = gl.DawidSkene(tol=1e-12).fit(frame)
    for module in (sketch, counted):
        monkeypatch.setattr(module, "MANY_PATTERNS", 10**9)
    plain = gl.DawidSkene(tol=1e-12).fit(frame)
    assert "sample" not in plain.how_counted_
    np.testing.assert_allclose(per_voter(through_sample), per_voter(plain), atol=1e-5)


def test_order_and_blocks_change_no_count(many, rng):
    codes = rng.integers(-1, 2, (4000, 11)).astype(np.int8)

    def counted_in(order, n_rows, limit=None):
        parts = [codes[order[i : i + n_rows]] for i in range(0, len(codes), n_rows)]
        return count_stream(StreamEngine(lambda: (lambda part=part: Rows.of(part) for part in parts)), limit)[0]

    first = counted_in(np.arange(4000), 4000)
    for n_rows, limit in ((1, None), (333, 0), (1024, None)):
        other = counted_in(rng.permutation(4000), n_rows, limit)
        np.testing.assert_array_equal(other.pairs.tables, first.pairs.tables)
        np.testing.assert_array_equal(other.table.bits, first.table.bits)
        np.testing.assert_array_equal(other.table.counts, first.table.counts)
        assert (other.n_items, other.n_empty) == (first.n_items, first.n_empty)
    assert first.is_sample
    assert 100 < first.table.n_patterns <= 200


def test_patterns_that_repeat_go_on_being_collapsed(many, rng):
    rows = rng.integers(0, 2, (400, 12)).astype(np.int8)
    codes = rows[rng.integers(0, 400, 20_000)]
    parts = np.split(codes, 20)
    counted, engine = count_stream(StreamEngine(lambda: (lambda part=part: Rows.of(part) for part in parts)), None)
    expected = PatternTable.of(codes)
    assert expected.n_patterns <= sum(part.n_rows for part in engine.parts) < 20 * 400
    assert counted.n_items == engine.sum(lambda rows: rows.n_items) == 20_000


def test_threads_change_no_bit(many, monkeypatch):
    frame = (draw(n_items=1500) == "yes").astype(np.int8)
    models = []
    for threads in ("1", "3"):
        monkeypatch.setenv("GOLDLESS_NUM_THREADS", threads)
        models.append(gl.LatentSML().fit(gl.VoteStream(cut(frame, 500), memory_limit=0)))
    assert_same_model(*models)
    assert models[0].log_likelihood_ == models[1].log_likelihood_


# -- files --------------------------------------------------------------------------------------------------


def write(frame, path, kind):
    table = pa.Table.from_pandas(frame.reset_index(names="item"), preserve_index=False)
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=700)
    elif kind == "feather":
        feather.write_feather(table, path)
    else:
        csv.write_csv(table, path)


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
@with_missing
def test_files_and_folders_are_the_table(kind, missing, tmp_path):
    frame = draw(missing)
    write(frame, tmp_path / f"votes.{kind}", kind)
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(cut(frame, 1100)):
        write(part, tmp_path / "parts" / f"{number:03d}.{kind}", kind)
    expected = gl.LatentSML().fit(frame)
    for path in (tmp_path / f"votes.{kind}", str(tmp_path / "parts")):
        model = gl.LatentSML().fit(gl.VoteStream(path, batch_rows=512))
        assert_same_model(model, expected)
        assert list(model.feature_names_in_) == list(frame.columns)
        np.testing.assert_array_equal(model.predict(path), expected.predict(frame))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ([0, 1, None, 1], pa.int8()),
        ([0.0, 1.0, float("nan"), 1.0], pa.float64()),
        ([False, True, None, True], pa.bool_()),
        (["no", "yes", None, "yes"], pa.string()),
        (["no", "yes", None, "yes"], pa.dictionary(pa.int8(), pa.string())),
        (["no", "yes", "NA", "yes"], pa.large_string()),
    ],
    ids=["integers", "floats", "booleans", "strings", "dictionary", "tokens"],
)
def test_every_type_of_column_is_read_as_in_memory(column, kind, tmp_path):
    """Also in slices that do not start at a byte."""
    votes = {f"v{i}": pa.array((column * 40)[i:] + (column * 40)[:i], kind) for i in range(6)}
    parquet.write_table(pa.table(votes), tmp_path / "votes.parquet")
    source = gl.VoteStream(tmp_path / "votes.parquet", batch_rows=37).open(classes=None, missing=None, positive=None)
    expected = np.array([[0, 1, -1, 1][(row + i) % 4] for row in range(160) for i in range(6)]).reshape(160, 6)
    codes = np.concatenate([make().codes for make in source.passes.engine.open()])
    np.testing.assert_array_equal(codes, expected)


def test_small_long_tables_and_other_kinds_are_read_into_memory(tmp_path):
    frame = draw()
    long = frame.reset_index(names="item").melt("item", var_name="worker", value_name="label")
    long.to_csv(tmp_path / "long.csv", index=False)
    np.savez(tmp_path / "votes.npz", votes=(frame == "yes").to_numpy().astype(np.int8))
    expected = gl.DawidSkene().fit(frame)
    assert_same_model(gl.DawidSkene().fit(tmp_path / "long.csv"), expected, 1e-9)
    assert_same_model(gl.DawidSkene().fit(tmp_path / "votes.npz"), expected, 1e-9)


def test_both_classes_may_be_far_from_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr("goldless.io.readers.stream._HEAD_ROWS", 8)
    frame = draw()
    frame.iloc[:200] = "no"
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "votes.parquet")
    assert_same_model(gl.DawidSkene().fit(tmp_path / "votes.parquet"), gl.DawidSkene().fit(frame))
    assert_same_model(gl.DawidSkene().fit(cut(frame, 10)), gl.DawidSkene().fit(frame))


# -- what is odd --------------------------------------------------------------------------------------------


def test_labels_besides_the_listed_classes_are_named_with_their_place(tmp_path):
    frame = draw()
    frame.iloc[2500, 3] = "maybe"
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "votes.parquet")
    model = gl.LatentSML(classes=["no", "yes"])
    said = (
        r"Unknown label 'maybe' in row {}, column 'voter 3': the classes are 'no', 'yes'; add it to classes=..., or"
    )
    with pytest.raises(VotesError, match=said.format(2500)) as caught:
        model.fit(tmp_path / "votes.parquet")
    place = {"file": str(tmp_path / "votes.parquet"), "row": 2500, "column": "voter 3", "label": "maybe"}
    assert (caught.value.kind, caught.value.where) == ("unknown-label", place)
    with pytest.raises(VotesError, match="Block 25 of the votes: " + said.format(0)) as caught:
        model.fit(cut(frame, 100))
    assert caught.value.where["block"] == 25
    model = gl.LatentSML(missing="maybe").fit(tmp_path / "votes.parquet")
    assert_same_model(model, gl.LatentSML(missing="maybe").fit(frame))


def test_labels_that_the_fit_never_saw_are_errors_or_missing(tmp_path):
    frame = draw()
    model = gl.DawidSkene().fit(frame)
    strange, gap = frame.copy(), frame.copy()
    strange.iloc[2500, 3], gap.iloc[2500, 3] = "maybe", None
    strange.to_csv(tmp_path / "votes.csv", index=False)
    for source in (strange, cut(strange, 700), iter(cut(strange, 700)), tmp_path / "votes.csv"):
        with pytest.raises(VotesError, match=r"Unknown label 'maybe' .*; unknown='missing' takes it for no vote"):
            model.predict(source)
    for source in (strange, cut(strange, 700), tmp_path / "votes.csv"):
        np.testing.assert_array_equal(model.predict(source, unknown="missing"), model.predict(gap))
        np.testing.assert_array_equal(model.predict_proba(source, unknown="missing"), model.predict_proba(gap))
        np.testing.assert_array_equal(
            model.decision_function(source, unknown="missing"), model.decision_function(gap)
        )
        by_label = model.predict_to(source, tmp_path / "labels.csv", unknown="missing")
        assert by_label == {label: int((model.predict(gap) == label).sum()) for label in ("no", "yes")}
    np.testing.assert_array_equal(model.explain(strange, unknown="missing").log_odds, model.explain(gap).log_odds)
    with pytest.raises(ValueError, match="unknown must be 'error' or 'missing', got 'skip'"):
        model.predict(frame, unknown="skip")


def test_a_folder_must_have_the_same_voters_everywhere(tmp_path):
    frame = draw()
    write(frame, tmp_path / "a.parquet", "parquet")
    write(frame.rename(columns={"voter 2": "other"}), tmp_path / "b.parquet", "parquet")
    with pytest.raises(VotesError, match=r"b.parquet has no column 'voter 2', which the first file has"):
        gl.MajorityVote().fit(tmp_path)


def test_blocks_must_have_the_same_columns():
    frame = draw()
    with pytest.raises(
        ValueError, match="Block 1 of the votes: 3 columns where the first has 12, no column 'voter 3'"
    ):
        gl.MajorityVote().fit([frame, frame.iloc[:, :3]])
    numbers = _numbers()
    with pytest.raises(VotesError, match="Block 1 of the votes: a column 'f' where the first has another") as caught:
        gl.MajorityVote().fit([numbers, numbers.rename(columns={"b": "f"})])
    assert caught.value.where == {"block": 1, "column": "f"}
    with pytest.raises(ValueError, match="Block 1 of the votes: a column 'other' where the first has another"):
        gl.MajorityVote().fit([frame, frame.rename(columns={"voter 2": "other"})])


def _numbers():
    rng = np.random.default_rng(0)
    truth = rng.random(2000) < 0.4
    X = truth[:, None] * np.array([1.5, 8, 1.5, 40, 2]) + rng.normal(size=(2000, 5)) * np.array([1, 6, 1, 30, 1])
    return pd.DataFrame(X, columns=list("abcde"))


class _Answer(enum.Enum):
    no = "no"
    yes = "yes"


def _scrambled(frame, n_rows=500):
    """Blocks of rows, each with its columns in another order."""
    rng = np.random.default_rng(1)
    blocks = cut(frame, n_rows)
    return [blocks[0], *(block[rng.permutation(frame.columns)] for block in blocks[1:])]


@pytest.mark.parametrize("make", [draw, _numbers], ids=["labels", "numbers"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "votes", "objects", "parquet", "csv"])
def test_columns_of_a_block_may_be_in_another_order(make, kind, tmp_path):
    """A voter is its name: blocks and parts of a folder whose columns are in another order change nothing."""
    frame = make()
    blocks = _scrambled(frame)
    if kind in ("parquet", "csv"):
        for number, block in enumerate(blocks):
            write(block, tmp_path / f"{number}.{kind}", kind)
        source = tmp_path
    else:
        convert = {
            "pandas": lambda block: block,
            "polars": pl.from_pandas,
            "arrow": lambda block: pa.Table.from_pandas(block, preserve_index=False),
            "votes": gl.encode_votes if make is draw else lambda block: block.astype(object),
            "objects": lambda block: block.map(_Answer) if make is draw else block.astype(object),  # not for Arrow
        }[kind]
        source = [convert(block) for block in blocks]
    whole = frame.map(_Answer) if kind == "objects" and make is draw else frame
    model, expected = gl.LatentSML().fit(source), gl.LatentSML().fit(whole)
    assert_same_model(model, expected, 1e-12)
    np.testing.assert_array_equal(model.predict(source), expected.predict(whole))


def test_what_is_not_blocks_is_refused():
    with pytest.raises(TypeError, match=r"yields blocks, each a table .* yields a int"):
        gl.MajorityVote().fit(iter([1, 2]))
    with pytest.raises(ValueError, match="Nothing to combine: all votes are missing"):
        gl.MajorityVote().fit(iter([]))


def test_an_iterator_of_too_many_patterns_says_what_to_pass_instead(many):
    blocks = cut(draw(0.3), 500)
    with pytest.raises(ValueError, match="an iterator can be read only once; pass a path, or a callable"):
        gl.LatentSML().fit(gl.VoteStream(iter(blocks), memory_limit=0))
    assert "in memory" in gl.LatentSML().fit(iter(blocks)).how_counted_  # within the limit one pass is enough


@pytest.mark.parametrize(
    "estimator",
    [
        gl.SpectralMetaLearner(em=False),
        gl.SpectralMetaLearner(em=False, imbalance="tensor"),
        gl.LatentSML(paper=gl.PaperOptions(em=False)),
        gl.LatentSML(structure=[0] * 9 + [1, 1, 2], paper=gl.PaperOptions(em=False, latent_values="hard")),
        gl.LatentSML(structure=[0, 0, 0, *range(1, 10)], paper=gl.PaperOptions(em=False, imbalance="tensor")),
    ],
    ids=["sml", "tensor", "search", "hard, a large group", "tensor of groups"],
)
@with_missing
def test_moments_of_very_many_patterns_are_those_of_all(estimator, missing, many, monkeypatch):
    """Through passes over blocks, in memory or read again, as from one table."""
    frame = draw(missing, n_items=1500)
    streams = [gl.VoteStream(cut(frame, 400), memory_limit=limit) for limit in (0, 1 << 28)]
    in_memory, *streamed = [clone(estimator).fit(votes) for votes in (frame, *streams)]
    assert "sample" in in_memory.how_counted_
    for module in (sketch, counted, passes):
        monkeypatch.setattr(module, "MANY_PATTERNS", 10**9)
    plain = clone(estimator).fit(frame)
    assert "sample" not in plain.how_counted_
    for model in (in_memory, *streamed):
        assert_same_model(model, plain, 1e-9)
        np.testing.assert_array_equal(model.predict(frame), plain.predict(frame))


def test_weights_go_with_votes_in_memory():
    blocks = cut(draw(), 500)
    with pytest.raises(ValueError, match="sample_weight is not supported for streams"):
        gl.LatentSML().fit(blocks, sample_weight=np.ones(N_ITEMS))


def test_items_without_votes_are_counted_over_all_blocks():
    frame = draw(0.1)
    frame.iloc[1777] = None
    frame.iloc[2000] = None
    with pytest.warns(gl.VotesWarning, match=r"2 item\(s\) without any vote, the first in row 1777"):
        gl.DawidSkene().fit(cut(frame, 500))


def test_frames_of_other_kinds_are_blocks_too():
    frame = draw()
    expected = gl.MajorityVote().fit(frame)
    for source in (
        [pl.from_pandas(part) for part in cut(frame, 800)],
        pa.Table.from_pandas(frame, preserve_index=False).to_batches(900),
        [(part == "yes").to_numpy() for part in cut(frame, 640)],
        iter(pa.Table.from_pandas(frame, preserve_index=False).to_reader(900)),
        itertools.chain(cut(frame, 1000)),
    ):
        assert_same_model(gl.MajorityVote().fit(source), expected)


# -- what is known besides the votes -------------------------------------------------------------------------


def labelled_rows(seed=5, missing=0.0, n_items=2000, n_known=25):
    """Votes 0 and 1 (NaN: none), and known labels of some rows, not in order."""
    X, y = gl.simulate_votes(n_items, [3] + [1] * 9, -0.2, missing_rate=missing, random_state=seed)
    rows = np.random.default_rng(seed).permutation(n_items)[:n_known]
    return pd.DataFrame((X + 1) / 2), {int(row): int(y[row] == 1) for row in rows}


FACTS = {
    "labels": lambda labels: {"anchors": labels},
    "class balance": lambda labels: {"class_balance": 0.35},
    "trusted": lambda labels: {"trusted": {7: (0.8, 0.7)}},
    "all": lambda labels: {"anchors": labels, "class_balance": 0.4, "trusted": [8]},
}


@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS.keys())
@pytest.mark.parametrize("few", [True, False], ids=["few patterns", "many patterns"])
def test_facts_mean_the_same_for_votes_that_are_streamed(facts, few, request):
    if not few:
        request.getfixturevalue("many")
    frame, labels = labelled_rows(missing=0.2, n_items=1000)
    known = facts(labels)
    in_memory = gl.LatentSML(subtypes=few).fit(frame, **known)
    streamed = gl.LatentSML(subtypes=few).fit(gl.VoteStream(cut(frame, 333), memory_limit=0), **known)
    assert_same_model(streamed, in_memory, 0.0 if few else 1e-9)
    assert streamed.verdict_ == in_memory.verdict_
    np.testing.assert_array_equal(streamed.anchored_rows_, in_memory.anchored_rows_)
    np.testing.assert_array_equal(streamed.predict(frame), in_memory.predict(frame))


@pytest.mark.parametrize("known", [{}, {"class_balance": 0.4}], ids=["alone", "with facts"])
def test_abstention_speaks_in_a_stream_as_in_memory(known, many):
    frame, _ = labelled_rows(missing=0.3, n_items=1000)
    in_memory = gl.LatentSML(abstain="informative").fit(frame, **known)
    assert "sample" in in_memory.how_counted_
    streamed = gl.LatentSML(abstain="informative").fit(gl.VoteStream(cut(frame, 450), memory_limit=0), **known)
    assert_same_model(streamed, in_memory, 1e-9)
    np.testing.assert_array_equal(streamed.predict(frame), in_memory.predict(frame))


def test_known_labels_through_a_sample_end_where_they_end_on_all_patterns(many, monkeypatch):
    frame, labels = labelled_rows(n_items=3000)
    through_sample = gl.LatentSML(structure="independent", tol=1e-12).fit(frame, anchors=labels)
    for module in (sketch, counted):
        monkeypatch.setattr(module, "MANY_PATTERNS", 10**9)
    plain = gl.LatentSML(structure="independent", tol=1e-12).fit(frame, anchors=labels)
    assert "sample" not in plain.how_counted_
    np.testing.assert_allclose(per_voter(through_sample), per_voter(plain), atol=1e-5)


def test_known_labels_of_an_iterator_are_picked_in_its_one_pass():
    frame, labels = labelled_rows()
    expected = gl.LatentSML().fit(frame, anchors=labels)
    assert_same_model(gl.LatentSML().fit(iter(cut(frame, 300)), anchors=labels), expected)
    column = [labels.get(row) for row in range(len(frame))]
    assert_same_model(gl.LatentSML().fit(cut(frame, 300), anchors=column), expected)
    given = gl.LatentSML().fit_predict(cut(frame, 300), anchors=labels)
    assert {row: given[row] for row in labels} == labels


@pytest.mark.parametrize(
    ("anchors", "words"),
    [
        ({5000: 1}, "rows 0 to 1999 of X, got 5000"),
        ({5000: None}, "rows 0 to 1999 of X, got 5000"),
        ({-1: 1}, r"\(from 0\) to labels, got -1"),
        ([1, 0], "each of 2000 rows, got 2"),
    ],
)
def test_rows_that_a_stream_does_not_have_are_refused(anchors, words):
    frame, _ = labelled_rows()
    with pytest.raises(ValueError, match=words):
        gl.LatentSML().fit(cut(frame, 500), anchors=anchors)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_items_of_files_are_found_by_name(kind, tmp_path):
    frame = draw().rename(lambda row: f"item {row}")
    write(frame, tmp_path / f"votes.{kind}", kind)
    found = gl.VoteStream(tmp_path / f"votes.{kind}", batch_rows=512).find_rows(["item 1700", "item 3", "nobody"])
    assert found == {"item 1700": 1700, "item 3": 3}
    write(frame.reset_index(drop=True), tmp_path / f"numbers.{kind}", kind)
    assert gl.VoteStream(tmp_path / f"numbers.{kind}").find_rows([2999]) == {2999: 2999}
    assert gl.VoteStream([(frame == "yes").to_numpy()]).find_rows([1, 3000, 3001]) == {1: 0, 3000: 2999}


# -- labels that come late ------------------------------------------------------------------------------------


def draw_late(missing=0.1, n_items=2400, n_voters=8, n_late=300):
    """Votes of four classes, two of which only the last rows hold, one sorted before and one after the others."""
    X, _ = gl.simulate_votes(
        n_items,
        [3] + [1] * (n_voters - 3),
        n_classes=4,
        missing_rate=missing,
        random_state=3,
        voter_accuracy=(0.7, 0.9),
    )
    codes = np.where(np.isnan(X.astype(float)), -1, X).astype(int)
    early = codes[:-n_late]
    codes[:-n_late] = np.where(early >= 2, early - 2, early)  # only the first two classes
    words = np.array(["m", "k", "z", "a", None], dtype=object)[codes]
    return pd.DataFrame(words, columns=[f"voter {i}" for i in range(n_voters)], dtype=object)


def assert_same_classes(model, expected, frame, tolerance=1e-12):
    assert model.classes_.tolist() == expected.classes_.tolist() == ["a", "k", "m", "z"]
    np.testing.assert_array_equal(model.predict(frame), expected.predict(frame))
    np.testing.assert_allclose(model.confusion_, expected.confusion_, rtol=0, atol=tolerance)
    np.testing.assert_allclose(model.class_balance_, expected.class_balance_, rtol=0, atol=tolerance)


LATE = {"majority": gl.MajorityVote(), "dawid-skene": gl.DawidSkene(), "search": gl.LatentSML()}


@pytest.mark.parametrize("estimator", LATE.values(), ids=LATE.keys())
@pytest.mark.parametrize("kind", ["list", "callable", "iterator", "iterator of codes"])
def test_labels_of_late_blocks_are_classes_as_in_memory(estimator, kind):
    frame = draw_late()
    blocks = cut(frame, 300)
    source = {
        "list": blocks,
        "callable": lambda: iter(blocks),
        "iterator": iter(blocks),
        "iterator of codes": (gl.encode_votes(block) for block in blocks),
    }[kind]
    assert_same_classes(clone(estimator).fit(source), clone(estimator).fit(frame), frame)


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_labels_far_from_the_start_of_files_are_classes_as_in_memory(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("goldless.io.readers.stream._HEAD_ROWS", 64)
    frame = draw_late()
    expected = gl.LatentSML().fit(frame)
    write(frame, tmp_path / f"votes.{kind}", kind)
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(cut(frame, 700)):
        write(part, tmp_path / "parts" / f"{number:03d}.{kind}", kind)
    for path in (tmp_path / f"votes.{kind}", tmp_path / "parts"):
        model = gl.LatentSML().fit(gl.VoteStream(path, batch_rows=256))
        assert_same_classes(model, expected, frame)
        np.testing.assert_array_equal(model.predict(path), expected.predict(frame))
        anchors = {5: "a", 7: "z", 9: "k"}
        model, expected_too = (gl.LatentSML().fit(votes, anchors=anchors) for votes in (path, frame))
        assert_same_classes(model, expected_too, frame)
    found = gl.VoteStream(tmp_path / f"votes.{kind}").find_rows([2399])
    assert found == {2399: 2399}


@pytest.mark.parametrize("memory_limit", [0, 1 << 28])
@pytest.mark.parametrize("once", [False, True])
def test_late_labels_among_many_patterns(once, memory_limit, many):
    frame = draw_late(missing=0.3)
    expected = gl.DawidSkene().fit(frame)
    assert "sample" in expected.how_counted_
    blocks = cut(frame, 500)
    stream = gl.VoteStream(iter(blocks) if once else blocks, memory_limit=memory_limit)
    if once and not memory_limit:
        with pytest.raises(VotesError, match="can be read only once"):
            gl.DawidSkene().fit(stream)
        return
    assert_same_classes(gl.DawidSkene().fit(stream), expected, frame, 1e-9)


def test_each_pass_of_a_source_learns_all_new_labels():
    opened = []

    def blocks():
        opened.append(None)
        return iter(np.split(np.array([[0, 1], [1, 1]] * 25 + [[number, number] for number in range(2, 32)]), 8))

    gl.MajorityVote().fit(gl.VoteStream(blocks))
    few = len(opened)
    opened.clear()
    gl.MajorityVote(classes=list(range(32))).fit(gl.VoteStream(blocks))
    assert few - len(opened) <= 2  # one look for the first labels, one pass that meets the others


@pytest.mark.parametrize(
    ("late", "words"),
    [("mixed", "Labels of different types"), ("scores", r"at least \d+ different labels"), ("inf", "infinity")],
)
def test_late_labels_that_are_no_classes_are_refused(late, words):
    first = np.array([[0.0, 1, 1], [1, 0, 0]] * 20)
    last = {"mixed": np.array([["x"] * 3]), "scores": np.arange(600.0).reshape(200, 3), "inf": first - np.inf}[late]
    for source in ([first, last], iter([first, last])):
        with pytest.raises(VotesError, match=words):
            gl.MajorityVote().fit(source)


def test_one_stage_methods_refuse_a_third_label_that_comes_late():
    frame = draw_late()
    with pytest.raises(ValueError, match="SpectralMetaLearner is for two classes, and the votes have 4"):
        gl.SpectralMetaLearner().fit(cut(frame, 300))
    with pytest.raises(VotesError, match="A positive label is for two classes, and there are 4"):
        gl.MajorityVote(positive="k").fit(cut(frame, 300))


def test_numbers_of_text_files_stay_numbers_until_a_word_comes(tmp_path, monkeypatch):
    monkeypatch.setattr("goldless.io.readers.stream._HEAD_ROWS", 16)
    lines = ["a,b,c", *["0,1,1", "1,0,1.0"] * 20]
    for late, classes in (("2,1,0", [0, 1, 2]), ("x,1,0", ["0", "1", "x"]), ("2.5,1,0", [0, 1, 2.5])):
        path = tmp_path / "votes.csv"
        path.write_text("\n".join([*lines, late]) + "\n")
        assert gl.MajorityVote().fit(path).classes_.tolist() == classes
        in_memory = read_votes(path, kind="labels").votes.classes.tolist()
        assert [label for label in in_memory if label != "1.0"] == classes  # a word leaves 1 and 1.0 two labels


# -- long tables --------------------------------------------------------------------------------------------


def draw_long(n_items=1500, n_workers=900, seed=3):
    """A long table of a crowd in no order: names of items and workers, and words; some without a label."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_items)
    items = np.repeat(np.arange(n_items), 6)
    workers = np.concatenate([rng.choice(n_workers, 6, replace=False) for _ in range(n_items)])
    right = rng.random(len(items)) < rng.uniform(0.4, 0.95, n_workers)[workers]
    labels = np.where(right, truth[items], rng.integers(0, 3, len(items)))
    words = np.array(["ant", "bee", "cow"], dtype=object)[labels]
    words[rng.random(len(items)) < 0.02] = None
    order = rng.permutation(len(items))
    names = np.array([f"nr {item}, né" for item in range(n_items)], dtype=object)
    table = {"item": names[items], "worker": [f"w{worker}" for worker in workers], "label": words}
    frame = pd.DataFrame({**table, "key": np.array(["ant", "bee", "cow"], dtype=object)[truth[items]]})
    return frame.iloc[order].reset_index(drop=True)


@pytest.fixture
def parts(monkeypatch):
    """Take a thousand lines for many, so that parts are split, cut and put in order."""
    monkeypatch.setattr(merge, "LINES_OF_A_PART", 1000)
    monkeypatch.setattr(sketch, "SAMPLE_VOTES", 3000)


@pytest.mark.parametrize("kind", ["parquet", "csv", "feather", "folder", "sorted"])
def test_long_tables_are_merged_by_item_on_disk(kind, parts, tmp_path):
    frame = draw_long()
    if kind == "sorted":
        frame = frame.sort_values("item", kind="stable")
    path = tmp_path / f"long.{'parquet' if kind == 'sorted' else kind}"
    if kind == "folder":
        path.mkdir()
        for number, part in enumerate(cut(frame, 3500)):
            part.to_parquet(path / f"part-{number}.parquet", index=False)
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        write_table = {"csv": csv.write_csv, "feather": feather.write_feather}.get(kind, parquet.write_table)
        write_table(table, path)
    table = read_votes(path, ignore=["key"])
    in_memory = gl.DawidSkene().fit(table)
    for memory_limit in (0, 1 << 18):  # read again at every pass, and kept as they are
        stream = gl.VoteStream(path, ignore=["key"], memory_limit=memory_limit)
        model = gl.DawidSkene().fit(stream)
        assert ("read again" in model.how_counted_) == (memory_limit == 0)
        np.testing.assert_array_equal(model.feature_names_in_, table.voters)
        np.testing.assert_allclose(model.confusion_, in_memory.confusion_, atol=1e-9)
        np.testing.assert_array_equal(model.predict(stream), in_memory.predict(table))
        model.predict_to(stream, tmp_path / "labels.csv")
        written = pd.read_csv(tmp_path / "labels.csv")
        assert written["item"].tolist() == [str(item) for item in table.items]  # the order of the input
        assert stream.find_rows([table.items[700]]) == {table.items[700]: 700}


@pytest.mark.parametrize("estimator", [gl.LatentSML(), gl.MajorityVote()], ids=["search", "majority"])
def test_merged_tables_are_fitted_as_in_memory(estimator, parts, tmp_path):
    """Also a group of voters that share enough items, a label that comes late, truth, and known labels."""
    frame = draw_long()
    rng = np.random.default_rng(1)
    key = frame.drop_duplicates("item")
    source = np.where(rng.random(len(key)) < 0.6, key["key"], rng.permutation(key["key"]))
    for voter in range(14):
        said = np.where(rng.random(len(key)) < 0.85, source if voter < 4 else key["key"], rng.permutation(key["key"]))
        frame = pd.concat([frame, key.assign(worker=f"busy {voter}", label=said)])
    frame.iloc[-1, frame.columns.get_loc("label")] = "owl"
    frame.to_parquet(tmp_path / "long.parquet", index=False)
    table = read_votes(tmp_path / "long.parquet", truth="key")
    stream = gl.VoteStream(tmp_path / "long.parquet", truth="key", memory_limit=0)
    facts = {} if isinstance(estimator, gl.MajorityVote) else {"anchors": {0: "ant", 40: "cow"}}
    expected, model = (clone(estimator).fit(X, **facts) for X in (table, stream))
    np.testing.assert_array_equal(model.classes_, ["ant", "bee", "cow", "owl"])
    np.testing.assert_allclose(model.predict_proba(stream), expected.predict_proba(table), atol=1e-6)
    if facts:
        np.testing.assert_array_equal(model.groups_, expected.groups_)
        assert model.n_groups_ < model.n_features_in_
    score = model.write_labels(stream, tmp_path / "labels.parquet").balanced_accuracy
    truth = np.array([*table.votes.classes, None], dtype=object)[table.truth]
    assert score == pytest.approx(gl.balanced_accuracy(truth, expected.predict(table)), abs=1e-3)


def test_a_voter_may_answer_again_in_a_long_table_that_is_merged(parts, tmp_path):
    frame = draw_long()
    again = frame.iloc[:50].assign(label="bee")
    path = tmp_path / "long.parquet"
    pd.concat([frame, again]).to_parquet(path, index=False)
    stream = gl.VoteStream(path, ignore=["key"], memory_limit=0)
    with pytest.raises(VotesError, match="two different labels") as refused:
        stream.open()
    assert refused.value.where["voter"] in set(frame["worker"])
    for repeats in ("first", "last", "most"):
        stream = gl.VoteStream(path, ignore=["key"], memory_limit=0, repeats=repeats)
        with pytest.warns(gl.VotesWarning) as said:
            model = gl.MajorityVote().fit(stream)
        table = read_votes(path, ignore=["key"], repeats=repeats)
        assert {str(note) for note in table.notes} <= {str(warning.message) for warning in said}
        np.testing.assert_array_equal(model.predict_proba(stream), gl.MajorityVote().fit(table).predict_proba(table))
    with pytest.raises(ValueError, match="repeats"):
        gl.VoteStream(path, repeats="all")


def test_labels_of_a_merged_table_that_the_fit_never_saw(parts, tmp_path):
    frame = draw_long(n_items=900)
    frame.to_parquet(tmp_path / "fit.parquet", index=False)
    model = gl.DawidSkene().fit(gl.VoteStream(tmp_path / "fit.parquet", ignore=["key"], memory_limit=0))
    frame.iloc[777, frame.columns.get_loc("label")] = "owl"
    frame.to_parquet(tmp_path / "new.parquet", index=False)
    stream = gl.VoteStream(tmp_path / "new.parquet", ignore=["key"], memory_limit=0)
    with pytest.raises(VotesError, match="Unknown label 'owl' in row") as error:
        model.predict(stream)
    assert error.value.where["column"] == frame["worker"][777]
    assert len(model.predict(stream, unknown="missing")) == 900


def test_a_merged_table_of_few_voters_is_packed(parts, tmp_path):
    frame = draw(0.3)
    long = frame.reset_index(names="item").melt("item", var_name="worker", value_name="label")
    long.to_parquet(tmp_path / "long.parquet", index=False)
    stream = gl.VoteStream(tmp_path / "long.parquet", memory_limit=0)
    model = gl.LatentSML().fit(stream)
    assert "patterns" in model.how_counted_
    assert_same_model(model, gl.LatentSML().fit(frame), 1e-9)


def test_nothing_of_a_merge_stays_behind(parts, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    draw_long(n_items=900).to_parquet(tmp_path / "long.parquet", index=False)
    stream = gl.VoteStream(tmp_path / "long.parquet", ignore=["key"], memory_limit=0)
    source = stream.open()
    assert [path.name for path in tmp_path.glob("goldless-*/*")] == ["merged.arrow"]
    del stream, source
    gc.collect()
    assert not list(tmp_path.glob("goldless-*"))


def test_a_diagnosis_of_a_stream_says_what_was_drawn(monkeypatch):
    """Of a stream that is too long for memory a random sample is looked at, and its rows are those of the stream."""
    from goldless.estimators import sampled

    X, _ = gl.simulate_votes(6000, groups=[4] + [1] * 6, random_state=0)
    names = np.array([f"case {i}" for i in range(6000)])
    frames = [pd.DataFrame(X[i : i + 1000], index=names[i : i + 1000]) for i in range(0, 6000, 1000)]
    model = gl.LatentSML().fit(X)
    whole = gl.diagnose(model, X, resamples=0)
    assert gl.diagnose(model, gl.VoteStream(frames), resamples=0).verdict == whole.verdict  # all of it fits
    monkeypatch.setattr(sampled, "ITEMS_DRAWN", 3000)
    drawn = gl.diagnose(model, gl.VoteStream(frames), resamples=0)
    assert drawn.n_items == 3000
    assert "random sample of 3,000 of 6,000 items" in drawn.cannot_tell[-1]
    assert "random sample" not in drawn.verdict  # to look at a sample is no reason to doubt the labels
    wider = np.diff(drawn.sensitivity_interval).mean() / np.diff(whole.sensitivity_interval).mean()
    assert 1.2 < wider < 1.7  # about the root of two
    assert max(drawn.next_to_label) > 3000
    found = sampled.in_memory(model, gl.VoteStream(frames))
    np.testing.assert_array_equal(found.votes.items, names[found.rows])
    np.testing.assert_array_equal(found.votes.classes[found.votes.codes], X[found.rows])


@pytest.mark.parametrize("kind", ["path", "blocks"])
def test_what_is_seen_of_single_items_of_a_stream_is_what_is_seen_in_memory(kind, tmp_path):
    X, _ = gl.simulate_votes(1500, groups=[4] + [1] * 6, missing_rate=0.1, random_state=0)
    frame = pd.DataFrame(X, index=pd.Index([f"case {i}" for i in range(1500)], name="case"))
    frame.columns = [f"voter {i}" for i in range(10)]
    frame.reset_index().to_parquet(tmp_path / "votes.parquet", row_group_size=400)
    blocks = [frame.iloc[start : start + 400] for start in range(0, 1500, 400)]
    assert_looks_are_those_of_memory(gl.VoteStream(blocks if kind == "blocks" else tmp_path / "votes.parquet"), frame)


def test_questions_and_diagnosis_of_a_sample_know_the_labels_of_the_stream(monkeypatch):
    """Items with a known label are in every sample, are not asked again, and count with the rows of the sample."""
    from goldless.estimators import sampled

    X, y = gl.simulate_votes(2000, groups=[4] + [1] * 6, random_state=0)
    blocks = [X[start : start + 500] for start in range(0, 2000, 500)]
    monkeypatch.setattr(sampled, "ITEMS_DRAWN", 1000)
    first = gl.LatentSML().fit(X).next_to_label(gl.VoteStream(blocks), 10)
    known = {int(row): y[row] for row in [*first.rows, 17, 1999]}
    model = gl.LatentSML().fit(gl.VoteStream(blocks), anchors=known)
    drawn = sampled.in_memory(model, gl.VoteStream(blocks))
    np.testing.assert_array_equal(drawn.rows[drawn.model.fitted_.facts.rows], sorted(known))
    assert not set(model.next_to_label(gl.VoteStream(blocks), 200).rows) & set(known)
    looked = gl.diagnose(model, gl.VoteStream(blocks), resamples=0)
    assert not set(looked.next_to_label) & set(known)
    assert gl.report(gl.VoteStream(blocks), model=model, resamples=0).summary["votes"]["n_items"] == len(drawn.rows)


def test_numbers_of_a_stream_are_looked_at_through_a_sample(monkeypatch):
    from goldless.estimators import sampled

    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2000, 6)) + (rng.random(2000) < 0.5)[:, None]
    blocks = [scores[start : start + 500] for start in range(0, 2000, 500)]
    model = gl.LatentSML().fit(gl.VoteStream(blocks))
    whole = gl.diagnose(model, scores, resamples=0)
    assert gl.diagnose(model, gl.VoteStream(blocks), resamples=0).verdict == whole.verdict
    np.testing.assert_array_equal(model.explain(gl.VoteStream(blocks)).log_odds, model.explain(scores).log_odds)
    monkeypatch.setattr(sampled, "ITEMS_DRAWN", 1000)
    drawn = gl.diagnose(model, gl.VoteStream(blocks), resamples=0)
    assert drawn.n_items == 1000
    np.testing.assert_array_equal(drawn.auc, whole.auc)  # of the fit


def test_explanations_that_memory_does_not_hold_are_refused(monkeypatch):
    from goldless.fitting import explain

    X, _ = gl.simulate_votes(3000, groups=[1] * 6, random_state=0)
    model = gl.LatentSML().fit(X)
    monkeypatch.setattr(explain, "_MOST_HELD", 2000 * 6 * 8)
    with pytest.raises(ValueError, match="too many items"):
        model.explain(gl.VoteStream([X[:1000], X[1000:2000], X[2000:]]))


@pytest.mark.parametrize("n_voters", [9, 17])
def test_all_patterns_of_few_voters_are_counted_in_a_table(n_voters):
    """The same sketch and the same patterns as by collapsing."""
    from goldless.votes.engine import StreamEngine
    from goldless.votes.rows import Rows
    from goldless.votes.sketch import Sketch, count_all_patterns, count_stream

    X, _ = gl.simulate_votes(300_000, groups=[3] + [1] * (n_voters - 3), random_state=1)
    codes = (X == 1).astype(np.int8)
    stream = StreamEngine(
        lambda: (partial(Rows.of, codes[i : i + 65_536], 2) for i in range(0, 300_000, 65_536)), n_rows=300_000
    )
    table = count_all_patterns(stream, n_voters, 2)
    expected, _ = count_stream(stream, None)
    found = Sketch.of(table, patterns=table)
    np.testing.assert_array_equal(found.pairs.tables, expected.pairs.tables)
    np.testing.assert_array_equal(found.table.bits, expected.table.bits)
    np.testing.assert_array_equal(found.table.counts, expected.table.counts)
    codes[299_999, 0] = -1
    assert count_all_patterns(stream, n_voters, 2) is None  # a vote is missing


@pytest.mark.parametrize("make", [gl.LatentSML, latent.LatentSML])
def test_a_sample_of_a_stream_with_known_labels(make, monkeypatch):
    """Of the public estimator, and of that which the command line uses."""
    monkeypatch.setattr(sampled, "ITEMS_DRAWN", 400)
    X, y = gl.simulate_votes(2_000, [3] + [1] * 6, random_state=4)
    blocks = [X[start : start + 500] for start in range(0, 2_000, 500)]
    known = {row: y[row] for row in range(0, 1_900, 100)}
    model = make().fit(blocks, anchors=known)
    drawn = sampled.in_memory(model, blocks)
    assert set(known) <= set(drawn.rows.tolist())
    np.testing.assert_array_equal(drawn.rows[drawn.model.fitted_.facts.rows], sorted(known))
    assert not set(model.next_to_label(blocks, n=20).rows.tolist()) & set(known)
    np.testing.assert_array_equal(model.fitted_.facts.rows, sorted(known))  # the model itself is as it was


@pytest.mark.parametrize("options", [{"pairs": "both"}, {"repeats": "twice"}, {"batch_rows": 0}])
def test_an_option_that_is_none_is_refused_before_anything_is_read(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        gl.VoteStream("nowhere.parquet", **options)
