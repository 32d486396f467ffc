"""On a real Spark session with two workers: the same numbers as in memory."""

import gc
import os
import shutil
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import goldless as gl
from goldless.cli import main
from goldless.errors import VotesError
from references_votes import assert_looks_are_those_of_memory

pytest.importorskip("pyspark", reason="pyspark is not installed", exc_type=ImportError)
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # those of Spark are its own affair
    pytest.mark.skipif(shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="there is no Java"),
]

N_ITEMS, N_VOTERS = 150_000, 26


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame():
    """Votes of so many voters that patterns hardly repeat; a name of a voter has what Spark takes for syntax."""
    X, _ = gl.simulate_votes(N_ITEMS, [4] + [1] * (N_VOTERS - 4), random_state=1)
    frame = pd.DataFrame((X == 1).astype(np.int8), columns=[f"voter.{i} `x`" for i in range(N_VOTERS)])
    frame.insert(3, "case", [f"case {i}" for i in range(N_ITEMS)])
    return frame


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("votes")
    for number in range(5):
        part = frame.iloc[number * 30_000 : (number + 1) * 30_000]
        parquet.write_table(pa.Table.from_pandas(part, preserve_index=False), path / f"{number}.parquet")
    return path


@pytest.fixture(scope="module")
def in_memory(frame):
    model = gl.LatentSML().fit(frame.drop(columns="case"))
    assert "sample" in model.how_counted_
    return model


def read(spark, folder):
    """Return the files in their order: Spark would read the largest first."""
    parts = [spark.read.parquet(str(path)).coalesce(1) for path in sorted(folder.iterdir())]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole


def test_a_spark_frame_is_the_frame(spark, frame, folder, in_memory, tmp_path):
    votes = gl.VoteStream(read(spark, folder), id_column="case")
    model = gl.LatentSML().fit(votes)
    np.testing.assert_array_equal(model.covariance_, in_memory.covariance_)  # the counts, bit for bit
    np.testing.assert_array_equal(model.groups_, in_memory.groups_)
    np.testing.assert_allclose(model.sensitivity_, in_memory.sensitivity_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.specificity_, in_memory.specificity_, rtol=0, atol=1e-9)
    expected = in_memory.predict(frame.drop(columns="case"))
    np.testing.assert_array_equal(model.predict(votes), expected)
    model.predict_to(votes, tmp_path / "labels.parquet")
    labels = parquet.read_table(tmp_path / "labels.parquet")
    assert labels.column("case").to_pylist()[:3] == ["case 0", "case 1", "case 2"]
    np.testing.assert_array_equal(labels.column("label").to_numpy(), expected)


@pytest.fixture(scope="module")
def small(frame, tmp_path_factory):
    """The first items in two files, and as a frame without their names."""
    path = tmp_path_factory.mktemp("few")
    for number, start in enumerate((0, 2500)):
        part = frame.iloc[start : start + 2500]
        parquet.write_table(pa.Table.from_pandas(part, preserve_index=False), path / f"{number}.parquet")
    return path, frame.iloc[:5000].drop(columns="case")


def test_known_labels_are_rows_of_the_frame(spark, small):
    path, votes = small
    stream = gl.VoteStream(read(spark, path), id_column="case")
    assert stream.find_rows(["case 7", "case 4000"]) == {"case 7": 7, "case 4000": 4000}
    anchors = {7: 1, 4000: 0, 4999: 1}
    one, other = gl.LatentSML().fit(stream, anchors=anchors), gl.LatentSML().fit(votes, anchors=anchors)
    np.testing.assert_allclose(one.sensitivity_, other.sensitivity_, rtol=0, atol=1e-9)


def test_what_is_seen_of_single_items_is_what_is_seen_in_memory(spark):
    X, _ = gl.simulate_votes(1500, groups=[4] + [1] * 6, missing_rate=0.1, random_state=0)
    names = pd.Index([f"case {i}" for i in range(1500)], name="case")
    frame = pd.DataFrame(X, index=names, columns=[f"voter {i}" for i in range(10)])
    votes = gl.VoteStream(spark.createDataFrame(frame.reset_index()), id_column="case")
    assert_looks_are_those_of_memory(votes, frame)


def test_a_long_frame_is_the_wide_one(spark):
    X, _ = gl.simulate_votes(3000, [3] + [1] * 6, n_classes=3, missing_rate=0.2, random_state=4)
    wide = pd.DataFrame(X).map(lambda value: None if pd.isna(value) else f"class {int(value)}")
    wide.index, wide.columns = [f"item {i:05d}" for i in range(3000)], [f"voter {i}" for i in range(9)]
    long = wide.stack().rename_axis(["item", "voter"]).rename("answer").reset_index()
    assert set(long.answer) == {"class 0", "class 1", "class 2"}
    votes = gl.VoteStream(
        spark.createDataFrame(long.sample(frac=1, random_state=0)), item="item", voter="voter", label="answer"
    )
    model, expected = gl.LatentSML().fit(votes), gl.LatentSML().fit(wide)
    np.testing.assert_allclose(model.confusion_, expected.confusion_, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(votes), expected.predict(wide))
    twice = spark.createDataFrame(pd.concat([long, long.iloc[:1]]))
    with pytest.raises(VotesError, match="votes more than once"):
        gl.LatentSML().fit(gl.VoteStream(twice, item="item", voter="voter", label="answer"))


def test_labels_that_come_late_and_labels_that_may_not_come(spark):
    """The classes are those of the whole frame, not of the rows that are looked at first."""
    X, _ = gl.simulate_votes(40_000, [3] + [1] * 5, random_state=2)
    words = pd.DataFrame(np.where(X == 1, "yes", "no"), columns=[f"v{i}" for i in range(8)])
    words.iloc[-50:, 0] = "maybe"
    frame = spark.createDataFrame(words)
    model = gl.DawidSkene().fit(frame)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    np.testing.assert_allclose(model.confusion_, gl.DawidSkene().fit(words).confusion_, rtol=0, atol=1e-9)
    with pytest.raises(VotesError, match="maybe"):
        gl.DawidSkene(classes=["no", "yes"]).fit(frame)


def drawn(kind, n_items=4000):
    """Votes of one type, some of them missing where the type has that."""
    X, _ = gl.simulate_votes(n_items, [3] + [1] * 5, missing_rate=0.1, random_state=3)
    if kind == "boolean":
        return pa.array((X == 1).ravel().tolist(), pa.bool_()), X.shape
    missing = np.isnan(X)
    values = np.random.default_rng(0).normal(X == 1) if kind == "score" else (X == 1) + 1
    types = {"byte": pa.int8(), "short": pa.int16(), "int": pa.int32(), "whole": pa.int8(), "text": pa.string()}
    return (
        pa.array(
            values.ravel()
            if kind in ("score", "float")
            else values.astype(int).astype(str).ravel().tolist()
            if kind == "text"
            else values.astype(int).ravel(),
            types.get(kind, pa.float64()),
            mask=None if kind == "whole" else missing.ravel(),
        ),
        X.shape,
    )


@pytest.mark.parametrize("kind", ["boolean", "byte", "whole", "short", "int", "float", "score", "text", "mixed"])
def test_votes_of_every_type_are_those_of_memory(kind, spark):
    """Numbers of one type go from Spark in lists, all else in columns: nobody can tell."""
    flat, (n_items, n_voters) = drawn("int" if kind == "mixed" else kind)
    columns = [flat.take(np.arange(voter, n_items * n_voters, n_voters)) for voter in range(n_voters)]
    if kind == "mixed":
        columns[1:3] = [columns[1].cast(pa.int64()), columns[2].cast(pa.int16())]
    table = pa.table(columns, names=[f"v{voter}" for voter in range(n_voters)])
    model, expected = gl.LatentSML().fit(spark.createDataFrame(table)), gl.LatentSML().fit(table)
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.classes_.dtype == expected.classes_.dtype
    np.testing.assert_array_equal(model.groups_, expected.groups_)
    np.testing.assert_allclose(model.confusion_, expected.confusion_, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(spark.createDataFrame(table)), expected.predict(table))


def test_labels_come_in_pieces_and_in_order(spark, frame, folder, in_memory, monkeypatch, tmp_path):
    """However many rows a partition has: five million in one piece took more memory than Spark's driver has."""
    monkeypatch.setattr("goldless.votes.spark._FETCHED", 1 << 18)
    fetched = []
    where = type(read(spark, folder)).where
    monkeypatch.setattr(type(read(spark, folder)), "where", lambda *words: fetched.append(words) or where(*words))
    stream = gl.VoteStream(read(spark, folder), id_column="case")
    in_memory.predict_to(stream, tmp_path / "labels.parquet")
    labels = parquet.read_table(tmp_path / "labels.parquet")
    assert len(fetched) > 10
    assert labels.column("case").to_pylist() == frame["case"].tolist()
    np.testing.assert_array_equal(labels.column("label").to_numpy(), in_memory.predict(frame.drop(columns="case")))


def test_results_of_many_partitions_are_added_where_they_are(spark, small):
    _, votes = small
    frame = spark.createDataFrame(votes.iloc[:2000, :6]).repartition(40)
    model, expected = gl.DawidSkene().fit(frame), gl.DawidSkene().fit(votes.iloc[:2000, :6])
    np.testing.assert_allclose(model.confusion_, expected.confusion_, rtol=0, atol=1e-9)


def test_what_a_fit_kept_is_let_go_with_it(spark, small):
    path, _ = small
    kept = spark.sparkContext._jsc.getPersistentRDDs
    gc.collect()
    before = kept().size()
    stream = gl.VoteStream(read(spark, path), id_column="case")
    model = gl.DawidSkene().fit(stream)
    model.predict(stream)
    del stream
    gc.collect()
    assert kept().size() == before


def test_files_that_workers_read_are_the_files(spark, frame, folder, in_memory, tmp_path):
    """Names, votes and truth, as on Dask: Spark only says who reads which piece."""
    told = []
    stream = gl.VoteStream(folder, client=spark, progress=told.append)
    model = gl.LatentSML().fit(stream)
    assert told[-1] == 1.0
    np.testing.assert_array_equal(model.covariance_, in_memory.covariance_)
    np.testing.assert_allclose(model.confusion_, in_memory.confusion_, rtol=0, atol=1e-9)
    model.predict_to(stream, tmp_path / "labels.parquet")
    labels = parquet.read_table(tmp_path / "labels.parquet")
    assert labels.column("case").to_pylist() == frame["case"].tolist()
    np.testing.assert_array_equal(labels.column("label").to_numpy(), in_memory.predict(frame.drop(columns="case")))


@pytest.mark.parametrize("kind", ["words", "scores", "long"])
def test_files_of_text_numbers_and_votes_are_read_by_spark_as_here(kind, spark, tmp_path):
    X, _ = gl.simulate_votes(3000, [3] + [1] * 5, missing_rate=0.1, random_state=1)
    wide = pd.DataFrame(X, columns=[f"v{i}" for i in range(8)], index=pd.Index(range(3000), name="case"))
    wide = wide.map(lambda value: {1: "yes", -1: "no"}.get(value, "NA"))
    if kind == "scores":
        wide = pd.DataFrame(X, columns=wide.columns).fillna(0.5) + np.random.default_rng(2).normal(size=X.shape)
        wide.index.name = "case"
    if kind == "long":
        wide = wide.stack().rename_axis(["item", "voter"]).rename("label")
    for part in range(2):
        wide.iloc[part * len(wide) // 2 : (part + 1) * len(wide) // 2].reset_index().to_csv(
            tmp_path / f"{part}.csv", index=False
        )
    stream = gl.VoteStream(tmp_path, client=spark)
    model, expected = gl.LatentSML().fit(stream), gl.LatentSML().fit(gl.VoteStream(tmp_path))
    np.testing.assert_allclose(model.confusion_, expected.confusion_, rtol=0, atol=1e-9)
    assert model.classes_.tolist() == expected.classes_.tolist()


def test_wrong_columns_are_named(spark):
    frame = spark.createDataFrame(pd.DataFrame({"a": [0, 1], "b": [1, 1], "c": [0, 1]}))
    with pytest.raises(VotesError, match="no column 'd'"):
        gl.LatentSML().fit(gl.VoteStream(frame, id_column="d"))
    with pytest.raises(VotesError, match="no column 'who'"):
        gl.LatentSML().fit(gl.VoteStream(frame, item="a", voter="who", label="c"))
    with pytest.raises(VotesError, match="no rows"):
        gl.LatentSML().fit(frame.where("a > 5"))


def test_the_command_line_combines_on_spark(spark, small, tmp_path):
    path, votes = small
    output = tmp_path / "labels.csv"
    words = ["combine", str(path), "--engine", "spark", "--id-column", "case", "-o", str(output), "-q"]
    assert main(words) == 0
    labels = pd.read_csv(output)
    assert labels["case"].tolist()[:2] == ["case 0", "case 1"]
    np.testing.assert_array_equal(labels["label"], gl.LatentSML().fit(votes).predict(votes))
