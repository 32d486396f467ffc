"""Labels to files, votes in parts, and votes counted elsewhere."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.base import clone

import goldless as gl
from goldless.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::goldless.AmbiguousGroupingWarning")  # not what is tested here

ESTIMATORS = {"majority": gl.MajorityVote(), "dawid-skene": gl.DawidSkene(), "search": gl.LatentSML()}
by_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())


@pytest.fixture(scope="module")
def frame():
    X, _ = gl.simulate_votes(2000, [3] + [1] * 7, missing_rate=0.1, random_state=3)
    names = [f"voter {i}" for i in range(X.shape[1])]
    items = pd.Index([f"item {i:04d}" for i in range(len(X))], name="name")
    return pd.DataFrame(np.where(X == 1, "yes", np.where(X == -1, "no", None)), items, names, dtype=object)


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("votes")
    for number in range(4):
        part = frame.iloc[500 * number : 500 * (number + 1)]
        parquet.write_table(
            pa.Table.from_pandas(part.reset_index(), preserve_index=False), folder / f"{number}.parquet"
        )
    return folder


# -- predict_to ---------------------------------------------------------------------------------------------


@by_estimator
@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv"])
def test_labels_are_written_in_order_with_the_names_of_the_items(estimator, ending, frame, folder, tmp_path):
    model = clone(estimator).fit(frame)
    labels, probability = model.predict(frame), model.predict_proba(frame)[:, 1]
    for source in (frame, folder, gl.VoteStream(folder, batch_rows=77), [frame.iloc[:700], frame.iloc[700:]]):
        path = tmp_path / f"labels.{ending}"
        counts = model.predict_to(source, path)
        if ending == "parquet":
            written = parquet.read_table(path).to_pandas()
        else:
            written = pd.read_csv(path, sep="," if ending == "csv" else "\t")
        key = "item" if isinstance(source, list | pd.DataFrame) else "name"  # files are keyed by their own column
        assert list(written.columns) == [key, "label", "probability of yes"]
        assert list(written[key]) == list(frame.index)
        assert list(written["label"]) == list(labels)
        rounding = 0 if ending == "parquet" else 5.1e-5
        np.testing.assert_allclose(written["probability of yes"], probability, rtol=0, atol=rounding)
        assert counts == {"no": int((labels == "no").sum()), "yes": int((labels == "yes").sum())}


def test_items_without_names_are_numbered(frame, tmp_path):
    model = gl.MajorityVote().fit(frame.to_numpy())
    model.predict_to([frame.to_numpy()[:900], frame.to_numpy()[900:]], tmp_path / "labels.csv")
    assert list(pd.read_csv(tmp_path / "labels.csv")["item"]) == list(range(1, 2001))


def test_labels_are_written_whole_or_not_at_all(frame, tmp_path):
    model = gl.MajorityVote().fit(frame)

    def breaks():
        yield frame.iloc[:1000]
        raise RuntimeError("the disk is gone")

    path = tmp_path / "labels.csv"
    path.write_text("as it was")
    with pytest.raises(RuntimeError, match="the disk is gone"):
        model.predict_to(lambda: breaks(), path)
    assert path.read_text() == "as it was"
    assert [file.name for file in tmp_path.iterdir()] == ["labels.csv"]
    with pytest.raises(ValueError, match=r"a file that ends in \.csv.* got .*labels\.xls"):
        model.predict_to(frame, tmp_path / "labels.xls")


# -- partial_fit, merge, counts -----------------------------------------------------------------------------


@by_estimator
def test_parts_one_by_one_are_the_fit_of_all(estimator, frame):
    whole = clone(estimator).fit(frame)
    grown = clone(estimator)
    for start in range(0, 2000, 667):
        grown.partial_fit(frame.iloc[start : start + 667])
    merged = clone(estimator).partial_fit(frame.iloc[:300]).merge(clone(estimator).partial_fit(frame.iloc[300:]))
    for model in (grown, merged):
        np.testing.assert_array_equal(model.sensitivity_, whole.sensitivity_)
        np.testing.assert_array_equal(model.specificity_, whole.specificity_)
        assert model.class_balance_ == whole.class_balance_
        np.testing.assert_array_equal(model.predict(frame), whole.predict(frame))


def test_fit_starts_afresh(frame):
    model = gl.DawidSkene().partial_fit(frame.iloc[:1000])
    model.fit(frame.iloc[1000:])
    np.testing.assert_array_equal(model.sensitivity_, gl.DawidSkene().fit(frame.iloc[1000:]).sensitivity_)
    with pytest.raises(ValueError, match="merge needs two estimators fitted by partial_fit"):
        model.merge(model)


def test_parts_must_fit_together(frame):
    model = gl.DawidSkene().partial_fit(frame)
    with pytest.raises(ValueError, match="X has 4 features, but DawidSkene is expecting 10 features"):
        model.partial_fit(frame.iloc[:, :4])
    renamed = gl.DawidSkene().partial_fit(frame.rename(columns={"voter 1": "other"}))
    with pytest.raises(ValueError, match="feature names should match"):
        model.merge(renamed)


def test_labels_of_later_parts_become_classes(frame):
    """A part with a new label is as if all votes had come at once, also when a part shows one label only."""
    later = frame.replace("yes", "maybe")
    whole = gl.DawidSkene().fit(pd.concat([frame, later, frame.replace("yes", "no")]))
    model = gl.DawidSkene().partial_fit(frame).partial_fit(later).partial_fit(frame.replace("yes", "no"))
    assert model.classes_.tolist() == whole.classes_.tolist() == ["maybe", "no", "yes"]
    np.testing.assert_array_equal(model.confusion_, whole.confusion_)
    merged = gl.DawidSkene().partial_fit(frame).merge(gl.DawidSkene().partial_fit(later))
    assert merged.classes_.tolist() == ["maybe", "no", "yes"]


def test_the_first_part_may_show_one_class_if_both_are_named(frame):
    only_no = frame.iloc[:50].replace("yes", "no")
    model = gl.MajorityVote()
    with pytest.raises(ValueError, match="only one class occurs"):
        model.partial_fit(only_no)
    with pytest.warns(gl.VotesWarning, match="Nobody votes for 'yes'"):
        model.partial_fit(only_no, classes=["no", "yes"])
    model.partial_fit(frame.iloc[50:])
    expected = gl.MajorityVote().fit(pd.concat([only_no, frame.iloc[50:]]))
    np.testing.assert_array_equal(model.sensitivity_, expected.sensitivity_)


# -- command line -------------------------------------------------------------------------------------------


def test_combine_writes_parquet_batch_by_batch(frame, folder, tmp_path, capsys):
    output = tmp_path / "labels.parquet"
    assert main(["combine", str(folder), "-o", str(output), "--json", "--engine", "stream"]) == 0
    facts = json.loads(capsys.readouterr().out)
    model = gl.LatentSML().fit(frame)
    assert facts["n_items"] == 2000
    assert facts["labelled"]["yes"] == int((model.predict(frame) == "yes").sum())
    assert "counted once" in facts["how"]
    assert parquet.read_table(output).column("name").to_pylist() == list(frame.index)
    assert main(["combine", str(folder), "-o", str(output)]) == 1
    assert "exists; pass --force" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "stream"], "name a file with -o"),
        (["--engine", "stream", "-o", "labels.csv", "--explain"], "--explain goes with --engine memory"),
        (["--scheduler", "tcp://nowhere:1"], "--scheduler goes with --engine dask"),
    ],
)
def test_combine_says_what_does_not_go_together(words, message, folder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["combine", str(folder), *words]) == 1
    assert message in capsys.readouterr().err


def test_a_stream_is_scored_and_keeps_known_labels_as_votes_in_memory_do(frame, tmp_path, capsys):
    """Truth only scores: the same figures, the same labels, batch by batch."""
    truth = np.where(np.arange(len(frame)) % 7 == 0, "", np.where(np.arange(len(frame)) % 3 == 0, "yes", "no"))
    frame.assign(truth=truth).to_csv(tmp_path / "votes.csv", index_label="item")
    known = frame.index[[1500, 3, 700]]
    (tmp_path / "known.csv").write_text("item,label\n" + "".join(f"{name},no\n" for name in known))
    facts = {}
    for engine in ("memory", "stream"):
        output = str(tmp_path / f"{engine}.csv")
        words = [str(tmp_path / "votes.csv"), "--truth", "truth", "--anchors", str(tmp_path / "known.csv")]
        assert main(["combine", *words, "--class-balance", "0.4", "--engine", engine, "-o", output, "--json"]) == 0
        facts[engine] = json.loads(capsys.readouterr().out)
    for name in ("balanced_accuracy", "labelled", "n_items", "classes"):
        assert facts["stream"][name] == facts["memory"][name]
    one, other = (pd.read_csv(tmp_path / f"{engine}.csv", index_col="item") for engine in facts)
    pd.testing.assert_frame_equal(one, other)
    assert (other.loc[known, "label"] == "no").all()


def test_truth_without_names_of_items_leaves_the_numbers_of_the_rows(frame, tmp_path, capsys):
    votes = pa.Table.from_pandas(frame.assign(truth="yes"), preserve_index=False)
    parquet.write_table(votes, tmp_path / "votes.parquet")
    words = [str(tmp_path / "votes.parquet"), "--truth", "truth", "-o", str(tmp_path / "labels.parquet")]
    assert main(["combine", *words]) == 0
    assert "Balanced accuracy against the truth" in capsys.readouterr().out
    assert parquet.read_table(tmp_path / "labels.parquet").column("item").to_pylist() == list(range(1, 2001))


def test_a_strange_true_label_is_named(frame, tmp_path, capsys):
    votes = pa.Table.from_pandas(frame.assign(truth="maybe"), preserve_index=False)
    parquet.write_table(votes, tmp_path / "votes.parquet")
    words = [str(tmp_path / "votes.parquet"), "--truth", "truth", "-o", str(tmp_path / "labels.parquet")]
    assert main(["combine", *words]) == 1
    assert "the truth holds 'maybe', but the votes are 'no', 'yes'" in capsys.readouterr().err
    assert not (tmp_path / "labels.parquet").exists()
