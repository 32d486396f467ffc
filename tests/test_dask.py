"""On a real cluster of worker processes: the same numbers, also when a worker dies."""

import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import ExitStack

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import goldless as gl
from goldless.cli import main
from goldless.errors import VotesError
from goldless.votes.dask import DaskEngine
from references_votes import assert_looks_are_those_of_memory
from research.fuzz.clusters import small_cluster

pytestmark = pytest.mark.filterwarnings("default")  # those of Dask are its own affair

N_ITEMS, N_VOTERS = 150_000, 26


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="1GiB"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture(scope="module")
def frame():
    """Votes of so many voters that patterns hardly repeat."""
    X, _ = gl.simulate_votes(N_ITEMS, [4] + [1] * (N_VOTERS - 4), random_state=1)
    return pd.DataFrame((X == 1).astype(np.int8), columns=[f"voter {i}" for i in range(N_VOTERS)])


@pytest.fixture(scope="module")
def in_memory(frame):
    model = gl.LatentSML().fit(frame)
    assert "sample" in model.how_counted_
    return model


def assert_same(model, expected, frame):
    np.testing.assert_array_equal(model.covariance_, expected.covariance_)  # the counts, bit for bit
    np.testing.assert_array_equal(model.groups_, expected.groups_)
    np.testing.assert_allclose(model.sensitivity_, expected.sensitivity_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.specificity_, expected.specificity_, rtol=0, atol=1e-9)
    assert model.class_balance_ == pytest.approx(expected.class_balance_, abs=1e-9, rel=0)
    np.testing.assert_array_equal(model.predict(frame), expected.predict(frame))


def test_a_dask_frame_is_the_frame_and_only_small_arrays_come_back(client, frame, in_memory, monkeypatch):
    import dask.dataframe as dd

    sizes = []
    total = DaskEngine.sum

    def weighed(self, function):
        result = total(self, function)
        sizes.append(len(pickle.dumps(result)) + len(pickle.dumps(function)))
        return result

    monkeypatch.setattr(DaskEngine, "sum", weighed)
    done = []
    votes = dd.from_pandas(frame, npartitions=5)
    model = gl.LatentSML().fit(gl.VoteStream(votes, progress=done.append))
    assert_same(model, in_memory, frame)
    assert max(sizes) < 1_000_000  # the sample of patterns is the largest
    assert done[-1] == 1.0
    np.testing.assert_array_equal(model.predict(votes), in_memory.predict(frame))


def test_what_is_seen_of_single_items_on_a_cluster_is_what_is_seen_in_memory(client):
    import dask.dataframe as dd

    X, _ = gl.simulate_votes(1500, groups=[4] + [1] * 6, missing_rate=0.1, random_state=0)
    names = [f"case {i:04d}" for i in range(1500)]
    frame = pd.DataFrame(X, index=names, columns=[f"voter {i}" for i in range(10)])
    assert_looks_are_those_of_memory(dd.from_pandas(frame, npartitions=3, sort=False), frame)


def test_a_killed_worker_changes_nothing(client, frame, in_memory, monkeypatch):
    import dask.dataframe as dd

    victims = list(client.run(os.getpid).values())[:1]
    total = DaskEngine.sum

    def sum_and_kill(self, function):
        if victims:
            os.kill(victims.pop(), signal.SIGKILL)  # its blocks are gone, and have to be made again
        return total(self, function)

    monkeypatch.setattr(DaskEngine, "sum", sum_and_kill)
    model = gl.LatentSML().fit(dd.from_pandas(frame, npartitions=4))
    assert not victims
    assert_same(model, in_memory, frame)


def test_a_partition_that_kills_its_workers_ends_one_fit_and_not_the_next(client):
    """Dask gives up after four workers; the cluster is then as good as before."""
    from dask import bag
    from distributed import KilledWorker

    def rows(number, deadly=False):
        if deadly and number == 1:
            os._exit(1)
        return gl.simulate_votes(2000, groups=[3, 1, 1, 1, 1], random_state=number)[0]

    parts = bag.from_sequence(range(4), npartitions=4)
    with pytest.raises(KilledWorker):
        gl.LatentSML().fit(parts.map(rows, deadly=True))
    client.wait_for_workers(2, timeout=120)
    X = np.concatenate([rows(number) for number in range(4)])
    again = gl.LatentSML().fit(parts.map(rows))
    np.testing.assert_array_equal(again.predict_proba(X), gl.LatentSML().fit(X).predict_proba(X))


def test_a_bag_of_blocks_with_few_patterns_is_the_table_bit_for_bit(client, frame):
    import dask.bag as db

    few = frame.iloc[:40_000, :9]
    bag = db.from_sequence([few.iloc[i : i + 7000].to_numpy() for i in range(0, 40_000, 7000)], npartitions=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        expected, model = gl.LatentSML().fit(few.to_numpy()), gl.LatentSML().fit(bag)
    np.testing.assert_array_equal(model.sensitivity_, expected.sensitivity_)
    assert model.how_counted_ == expected.how_counted_


def late_words(n_items=6000, n_voters=9, n_late=500):
    """Votes of three classes, one of which only the last rows hold; it is sorted before the others."""
    X, _ = gl.simulate_votes(n_items, [3] + [1] * (n_voters - 3), n_classes=3, missing_rate=0.1, random_state=4)
    codes = np.where(np.isnan(X.astype(float)), -1, X).astype(int)
    codes[:-n_late][codes[:-n_late] == 2] = 1
    words = np.array(["no", "yes", "maybe", None], dtype=object)[codes]
    return pd.DataFrame(words, columns=[f"voter {i}" for i in range(n_voters)], dtype=object)


@pytest.mark.parametrize("kind", ["frame", "bag", "files", "without a cluster"])
def test_three_classes_one_of_them_late(kind, request, tmp_path, monkeypatch):
    import dask.bag as db
    import dask.dataframe as dd

    warnings.simplefilter("ignore", gl.AmbiguousGroupingWarning)  # until pytest resets it after the test
    words = late_words()
    if kind != "without a cluster":
        client = request.getfixturevalue("client")
    if kind == "bag":
        votes = db.from_sequence([words.iloc[i : i + 700] for i in range(0, 6000, 700)], npartitions=4)
    elif kind == "files":
        monkeypatch.setattr("goldless.io.readers.stream._HEAD_ROWS", 256)
        parquet.write_table(pa.Table.from_pandas(words), tmp_path / "votes.parquet", row_group_size=700)
        votes = gl.VoteStream(tmp_path / "votes.parquet", batch_rows=128, client=client)
    else:
        votes = dd.from_pandas(words, npartitions=5)
    anchors = {3: "no", 5999: "maybe", 17: "yes"}
    for facts in ({}, {"anchors": anchors}):
        expected, model = gl.LatentSML().fit(words, **facts), gl.LatentSML().fit(votes, **facts)
        assert model.classes_.tolist() == ["maybe", "no", "yes"]
        np.testing.assert_array_equal(model.groups_, expected.groups_)
        np.testing.assert_allclose(model.confusion_, expected.confusion_, rtol=0, atol=1e-12)
        np.testing.assert_allclose(model.class_balance_, expected.class_balance_, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(model.predict(votes), expected.predict(words))
        np.testing.assert_allclose(model.predict_proba(votes), expected.predict_proba(words), rtol=0, atol=1e-12)


def test_one_pass_counts_and_one_more_if_labels_are_new(client, frame, monkeypatch):
    import dask.dataframe as dd

    passes = []
    total = DaskEngine.sum
    monkeypatch.setattr(DaskEngine, "sum", lambda self, function: passes.append(function) or total(self, function))
    few = frame.iloc[:20_000, :9]
    gl.MajorityVote().fit(dd.from_pandas(few, npartitions=3))
    assert len(passes) == 1
    passes.clear()
    words = late_words()
    gl.MajorityVote().fit(dd.from_pandas(words, npartitions=6))
    assert len(passes) == 2


def test_a_label_that_the_fit_never_saw_is_named_from_a_worker(client):
    import dask.dataframe as dd

    words = late_words()
    model = gl.DawidSkene().fit(words.replace("maybe", "no"))
    votes = dd.from_pandas(words, npartitions=3)
    said = r"Partition 2 of the votes: Unknown label 'maybe' in row \d+, column 'voter \d'.*; unknown='missing'"
    with pytest.raises(VotesError, match=said) as caught:
        model.predict(votes)
    assert (caught.value.kind, caught.value.where["partition"]) == ("unknown-label", 2)
    np.testing.assert_array_equal(
        model.predict(votes, unknown="missing"), model.predict(words.replace("maybe", None))
    )


@pytest.mark.parametrize("numbers", [False, True], ids=["labels", "numbers"])
def test_a_partition_may_have_its_columns_in_another_order(client, numbers):
    """A voter is its name; what is not there, or not in the first, is named with its partition."""
    import dask.dataframe as dd
    from dask import delayed

    rng = np.random.default_rng(0)
    truth = rng.random(3000) < 0.4
    spread = np.array([1, 6, 1, 30, 1])
    frame = pd.DataFrame(truth[:, None] * spread + rng.normal(size=(3000, 5)) * spread / 2, columns=list("abcde"))
    frame = frame if numbers else frame > spread / 2
    parts = [frame[:1000], frame[1000:2000][list("cadeb")], frame[2000:][list("edcba")]]
    votes = dd.from_delayed(list(map(delayed, parts)), meta=frame[:0], verify_meta=False)
    model, expected = gl.LatentSML().fit(votes), gl.LatentSML().fit(frame)
    np.testing.assert_allclose(model.sensitivity_, expected.sensitivity_, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(votes), expected.predict(frame))
    parts[2] = parts[2].rename(columns={"b": "other"})
    with pytest.raises(VotesError, match="Partition 2 of the votes: a column 'other' where") as caught:
        gl.LatentSML().fit(dd.from_delayed(list(map(delayed, parts)), meta=frame[:0], verify_meta=False))
    assert caught.value.where == {"partition": 2, "column": "other"}


def test_combine_on_a_cluster(client, cluster, frame, tmp_path, capsys):
    (tmp_path / "votes").mkdir()
    few = frame.iloc[:20_000, :9]
    for number in range(2):
        part = few.iloc[10_000 * number : 10_000 * (number + 1)].reset_index(names="item")
        parquet.write_table(pa.Table.from_pandas(part), tmp_path / "votes" / f"{number}.parquet", row_group_size=3000)
    output = tmp_path / "labels.parquet"
    address = cluster.scheduler_address
    words = ["combine", str(tmp_path / "votes"), "--engine", "dask", "--scheduler", address, "-o", str(output)]
    assert main(words) == 0
    assert "Labelled 20,000 items" in capsys.readouterr().out
    written = parquet.read_table(output)
    assert written.column("item").to_pylist() == list(range(20_000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        labels = gl.LatentSML().fit(few).predict(few)
    assert written.column("label").to_pylist() == labels.tolist()


def test_a_lost_scheduler_is_one_line_and_leaves_the_old_output(tmp_path):
    from distributed import Client

    out, votes = tmp_path / "out" / "labels.parquet", tmp_path / "votes.parquet"
    out.parent.mkdir()
    out.write_bytes(b"what was there before")
    X, _ = gl.simulate_votes(500, groups=[1] * 5, random_state=0)
    parquet.write_table(pa.table({f"voter {i}": column for i, column in enumerate(X.T)}), votes)
    command = [sys.executable, "-m", "goldless.cli", "combine", str(votes), "-o", str(out), "--force"]
    with small_cluster() as (scheduler, address), ExitStack() as later:
        with Client(address, timeout="60s") as client:
            client.wait_for_workers(2, timeout=120)
            for worker in client.run(os.getpid).values():
                os.kill(worker, signal.SIGSTOP)  # so that nothing is finished before
                later.callback(os.kill, worker, signal.SIGCONT)
            command += ["--engine", "dask", "--scheduler", address]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            later.callback(process.kill)
            while not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.1)
        scheduler.kill()
        _, said = process.communicate(timeout=240)
    assert process.returncode == 1
    assert re.fullmatch(r"goldless: the Dask cluster was lost before the labels were whole \(\w+\).*\n", said), said
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    assert out.read_bytes() == b"what was there before"


def test_a_folder_larger_than_a_workers_memory(tmp_path):
    """No worker is killed for its memory or started anew, and the numbers are those of the stream."""
    from distributed import Client, LocalCluster

    n_files, limit = 5, 550 << 20
    X, _ = gl.simulate_votes(140_000, [4] + [1] * 106, random_state=2)
    columns = {f"voter {i}": (X[:, i] == 1).astype(np.float64) for i in range(X.shape[1])}
    parquet.write_table(pa.table(columns), tmp_path / "0.parquet", row_group_size=70_000)
    for number in range(1, n_files):
        shutil.copy(tmp_path / "0.parquet", tmp_path / f"{number}.parquet")
    assert n_files * 8 * X.size > limit  # what a worker would need to hold the votes as they are read
    expected = gl.DawidSkene().fit(tmp_path)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=limit) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=120)
        before = client.run(os.getpid)
        model = gl.DawidSkene().fit(gl.VoteStream(tmp_path, client=client))
        assert client.run(os.getpid) == before
    assert "sample" in model.how_counted_
    for name in ("sensitivity_", "specificity_"):
        np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A long table in no order, in row groups, and what it is in memory."""
    rng = np.random.default_rng(2)
    n_items, n_workers = 1500, 900
    truth, items = rng.integers(0, 3, n_items), np.repeat(np.arange(n_items), 5)
    workers = np.concatenate([rng.choice(n_workers, 5, replace=False) for _ in range(n_items)])
    right = rng.random(len(items)) < rng.uniform(0.5, 0.95, n_workers)[workers]
    labels = np.where(right, truth[items], rng.integers(0, 3, len(items)))
    order = rng.permutation(len(items))
    frame = pd.DataFrame({"task": items, "worker": workers, "answer": labels}).iloc[order].reset_index(drop=True)
    path = tmp_path_factory.mktemp("crowd") / "long.parquet"
    frame.to_parquet(path, index=False, row_group_size=2000)
    return frame, path, gl.read_votes(path)


@pytest.mark.parametrize("memory_limit", [0, 1 << 28], ids=["on the cluster", "kept"])
@pytest.mark.parametrize("kind", ["file", "frame"])
def test_long_tables_are_joined_by_item_on_the_cluster(kind, memory_limit, crowd, client, tmp_path):
    import dask.dataframe as dd

    frame, path, table = crowd
    source = path if kind == "file" else dd.from_pandas(frame, npartitions=3)
    stream = gl.VoteStream(source, client=client, memory_limit=memory_limit)
    model, expected = gl.DawidSkene().fit(stream), gl.DawidSkene().fit(table)
    assert ("read again" in model.how_counted_) == (memory_limit == 0)
    np.testing.assert_array_equal(model.feature_names_in_, table.voters)
    np.testing.assert_allclose(model.confusion_, expected.confusion_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(stream), expected.predict(table))
    model.predict_to(stream, tmp_path / "labels.csv")
    assert pd.read_csv(tmp_path / "labels.csv")["task"].tolist() == table.items.tolist()


def test_two_labels_in_a_long_table_on_the_cluster_are_named(crowd, client):
    import dask.dataframe as dd

    frame, _, _ = crowd
    again = frame.iloc[[5]].assign(answer=(frame["answer"][5] + 1) % 3)
    twice = dd.from_pandas(pd.concat([frame, again], ignore_index=True), npartitions=2)
    with pytest.raises(VotesError, match="two different labels") as error:
        gl.VoteStream(twice, client=client).open()
    assert error.value.where["item"] == frame["task"][5]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_of_numbers_are_counted_on_the_cluster(ending, client, tmp_path, monkeypatch):
    """Bins are cut from what the workers count: the numbers of memory, also of voters that say labels."""
    rng = np.random.default_rng(0)
    truth = rng.random(3000) < 0.3
    X = truth[:, None] * 1.5 + rng.normal(size=(3000, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 5] = truth ^ (rng.random(3000) < 0.1)
    frame = pd.DataFrame(X.round(3), columns=[f"judge {i}" for i in range(6)])
    frame.insert(0, "item", [f"q{i}" for i in range(3000)])
    path = tmp_path / f"votes.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        parquet.write_table(pa.Table.from_pandas(frame), path, row_group_size=700)
    votes = gl.VoteStream(path, client=client)
    monkeypatch.setattr("goldless.io.open.levels_of_blocks", None)  # nothing is counted here
    model, expected = gl.LatentSML().fit(votes), gl.LatentSML().fit(frame.iloc[:, 1:])
    assert model.kinds_ == expected.kinds_ == (*("scores",) * 5, "labels")
    np.testing.assert_array_equal(np.concatenate(model.cuts_), np.concatenate(expected.cuts_))
    np.testing.assert_allclose(model.auc_, expected.auc_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(votes), expected.predict(frame.iloc[:, 1:]))
