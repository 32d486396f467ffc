"""Experiments: units kept, runs continued, records that say everything, pages made from records alone."""

import copy
import dataclasses
import email.message
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import urllib.response
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import goldless as gl
from research.experiments import (
    NAMES,
    artificial,
    datasets,
    dream,
    find_experiment,
    origin,
    panels,
    render,
    runner,
    uci_variants,
)
from research.experiments.command import main
from research.experiments.ensemble import LogisticModelTree, make_ensemble, voter_names
from research.experiments.framework import Difference, Settings, Unit, plain
from research.experiments.measure import measured
from research.experiments.published import chosen_step, published_labels
from research.experiments.store import UnitStore, write_whole
from research.experiments.tables import Table
from research.weka import ensembles
from research.weka.__main__ import main as weka_command

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "docs" / "results" / "records"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A quick run of the artificial data, in this process."""
    folder = tmp_path_factory.mktemp("artificial")
    settings = artificial.EXPERIMENT.settings(draws=1, quick=True)
    record = runner.run_experiment(artificial.EXPERIMENT, folder, settings, workers=1)
    return folder, record


def lasting(record):
    """The part of a record that does not tell when and where."""
    return {name: value for name, value in record.items() if name != "run"}


# -- records ------------------------------------------------------------------------------------------------


def test_a_record_says_everything(quick):
    folder, record = quick
    assert json.loads((folder / "record.json").read_text()) == record
    assert set(record) == {"schema_version", "experiment", "experiment_version", "parameters", "units", "run"}
    assert record["parameters"] == {"draws": 1, "quick": True, "seed": 0, "peers": False}
    for unit in record["units"]:
        assert set(unit) == {"key", "parameters", "seed", "result"}
        assert unit["seed"] == Unit(unit["key"], {}).seed(Settings())
    run = record["run"]
    assert len(run["unit_seconds"]) == len(record["units"])
    assert run["versions"]["numpy"] == np.__version__
    assert {"started", "finished", "workers", "commit", "sources", "versions", "machine"} <= set(run)
    assert set(run["machine"]) == {"system", "processor", "cores", "memory_gb"}


def test_a_record_is_what_was_computed(quick):
    _, record = quick
    unit = record["units"][0]
    X, y = gl.simulate_votes(
        unit["parameters"]["n_items"], unit["parameters"]["groups"], 0.0, random_state=unit["seed"]
    )
    error = gl.balanced_error(y, gl.MajorityVote().fit_predict(X))
    assert unit["result"]["error"]["vote"] == pytest.approx(error, rel=1e-5)


def test_seeds_depend_on_the_unit_alone():
    units = artificial.units(artificial.EXPERIMENT.settings(draws=2))
    more = artificial.units(artificial.EXPERIMENT.settings(draws=3))
    seeds = {unit.key: unit.seed(Settings(draws=2)) for unit in units}
    assert len(set(seeds.values())) == len(units)
    assert all(unit.seed(Settings(draws=3)) == seeds[unit.key] for unit in more if unit.key in seeds)
    assert units[0].seed(Settings(seed=1)) != units[0].seed(Settings(seed=0))


def test_results_are_plain():
    assert plain({"a": np.float64(1 / 3), 2: [np.int8(1), np.bool_(True), np.nan, None, "x"], "b": np.arange(2)}) == {
        "a": 0.333333,
        "2": [1, True, None, None, "x"],
        "b": [0, 1],
    }
    with pytest.raises(TypeError, match="plain JSON, got object"):
        plain(object())


# -- interruptions ------------------------------------------------------------------------------------------


def test_a_killed_run_continues_and_gives_the_same_record(quick, tmp_path):
    """Killed for good, workers and all, after the first unit; then run again, with another number of workers."""
    command = [sys.executable, "-m", "research.experiments", "run", "artificial", "--quick", "--draws", "1"]
    words = [*command, "--workers", "2", "-q", "-o", str(tmp_path)]
    process = subprocess.Popen(words, start_new_session=True, cwd=ROOT)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("units/*.json")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = sorted(tmp_path.glob("units/*.json"))
    assert done
    before = {path: path.stat().st_mtime_ns for path in done}
    while _alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(process.pid)  # no worker outlives the run
    before |= {path: path.stat().st_mtime_ns for path in tmp_path.glob("units/*.json")}
    settings = artificial.EXPERIMENT.settings(draws=1, quick=True)
    said = []
    record = runner.run_experiment(artificial.EXPERIMENT, tmp_path, settings, workers=1, say=said.append)
    assert lasting(record) == lasting(quick[1])
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    assert len(before) == len(record["units"]) or said == [
        f"{len(before)} of {len(record['units'])} units are done already"
    ]


def _alive(group):
    """Whether a process of the session still runs."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == group and fields[0] != "Z":
            return True
    return False


def test_a_stored_unit_is_used_only_if_it_is_the_same(tmp_path):
    unit = Unit("size 3, draw 0", {"size": 3})
    store = UnitStore(tmp_path, "made with this")
    assert store.load(unit, 7) is None
    stored = store.save(unit, 7, {"error": 0.1}, 1.5)
    assert store.load(unit, 7) == stored
    assert store.load(unit, 8) is None
    assert store.load(Unit("size 3, draw 0", {"size": 4}), 7) is None
    assert UnitStore(tmp_path, "made with that").load(unit, 7) is None
    (path,) = tmp_path.glob("units/*")
    path.write_text(path.read_text()[:-20])  # cut short, as no atomic write leaves it
    assert store.load(unit, 7) is None


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    write_whole(tmp_path / "a.txt", "old")
    with pytest.raises(TypeError):
        write_whole(tmp_path / "a.txt", 1)
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_the_fingerprint_follows_the_sources():
    assert origin.source_hash() == origin.source_hash()
    assert len(origin.source_hash()) == 16


def test_what_others_computed_outlives_our_sources(tmp_path, monkeypatch):
    """After a change of ours, a unit that only runs other packages is kept, ours are done again."""
    units = [Unit("ours", {"package": "goldless"}), Unit("theirs", {"package": "other"})]
    done = []

    def run(unit, settings, seed):
        done.append(unit.key)
        return {"skipped": "nothing to do", "seed": seed}

    experiment = dataclasses.replace(
        panels.EXPERIMENTS["panels"], units=lambda settings: units, run=run, prepare=None
    )
    monkeypatch.setattr(runner, "find_experiment", lambda name: experiment)
    runner.run_experiment(experiment, tmp_path, Settings(), workers=1)
    monkeypatch.setattr(origin, "source_hash", lambda: "changed")
    runner.run_experiment(experiment, tmp_path, Settings(), workers=1)
    assert done == ["ours", "theirs", "ours"]
    runner.run_experiment(experiment, tmp_path, Settings(), workers=1, fresh=True)
    assert done[3:] == ["ours", "theirs"]


# -- pages --------------------------------------------------------------------------------------------------


def test_pages_are_a_pure_function_of_the_record(quick):
    _, record = quick
    before = copy.deepcopy(record)
    again = json.loads(json.dumps(record))
    assert render.page(again) == render.page(record)
    assert render.index({"artificial": again}) == render.index({"artificial": record})
    for one, two in zip(render.summary_of(record).tables, render.summary_of(again).tables, strict=True):
        assert one.csv() == two.csv()
    one, two = (render.summary_of(each).figures[0].files() for each in (record, again))
    assert one == two
    assert record == before
    other = copy.deepcopy(record)
    other["units"][0]["result"]["error"]["vote"] += 0.1
    assert render.page(other) != render.page(record)


def test_a_table_is_raw_in_csv_and_rounded_in_markdown():
    table = Table("t", "T", ["", "x"], [["a|b", 1.23456], ["c", None]], ["", ".1f"])
    assert table.csv() == ",x\na|b,1.23456\nc,\n"
    assert table.markdown() == "|  | x |\n| --- | ---: |\n| a\\|b | 1.2 |\n| c |  |\n"
    with pytest.raises(ValueError, match="2 cells under 1 headings"):
        Table("t", "T", ["x"], [[1, 2]], [""])


def test_a_difference_has_the_longest_note_that_fits():
    sentences = {"dream/challenge-1": "general", "dream/challenge-1/paper": "special"}
    assert render.note_of("dream", "challenge-1/paper/S1", sentences) == "special"
    assert render.note_of("dream", "challenge-1/search/S1", sentences) == "general"
    assert render.note_of("dream", "challenge-2/paper/S1", sentences) is None
    assert not Difference("k", "w", 1.64, 1.6, 0.05).differs
    assert Difference("k", "w", 1.66, 1.6, 0.05).differs


def test_records_that_are_none_are_refused(tmp_path, quick, capsys):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ValueError, match="not a record"):
        render.read_record(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("no")
    assert main(["render", str(tmp_path), "-o", str(tmp_path / "out")]) == 1
    assert "it is no JSON" in capsys.readouterr().err
    for part, word in (("schema_version", "this reads"), ("experiment_version", "this is version")):
        (tmp_path / "x.json").write_text(json.dumps({**quick[1], part: 99}))
        with pytest.raises(ValueError, match=word):
            render.read_record(tmp_path / "x.json")
    for place in (tmp_path / "nowhere", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(ValueError, match="there is no record"):
            render.find_records([place])


def committed():
    if not RECORDS.is_dir():
        pytest.skip("the records are in the repository, not in the package")
    return render.find_records([RECORDS])


def test_the_committed_pages_are_those_of_the_committed_records():
    """Nothing in docs/results is typed by hand; figures are only looked for, since libraries draw differently."""
    records, folder = committed(), RECORDS.parent
    assert (folder / "index.md").read_text() == render.index(records)
    for name, record in records.items():
        summary = render.summary_of(record)
        assert (folder / f"{name}.md").read_text() == render.page(record, summary, f"{name}/"), name
        for table in summary.tables:
            assert (folder / name / f"{table.name}.csv").read_text() == table.csv()
        for figure in summary.figures:
            assert (folder / name / f"{figure.name}.svg").is_file()
            assert (folder / name / f"{figure.name}.png").is_file()


def test_every_difference_from_the_paper_is_explained():
    for name, record in committed().items():
        assert not record["parameters"]["quick"]
        for difference in render.summary_of(record).differences:
            assert not difference.differs or render.note_of(name, difference.key, render.notes()), difference


# -- the command --------------------------------------------------------------------------------------------


def test_the_command_runs_and_renders(quick, tmp_path, capsys):
    folder, _ = quick  # everything is done there: nothing is computed again
    arguments = ["run", "artificial", "--quick", "--draws", "1", "-o", str(folder)]
    assert main([*arguments, "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["files"]
    text = (folder / "index.md").read_text()
    assert "Quick sizes" in text
    assert "python -m research.experiments run artificial --draws 1 --quick -o artificial" in text
    for name in names:
        if name.endswith((".svg", ".csv")):
            assert name in text
        assert (folder / name).stat().st_size > 0
    assert "accuracy-by-size.svg" in names
    assert {f"{n[:-4]}.png" for n in names if n.endswith(".svg")} <= set(names)
    assert main(["render", str(folder), "-o", str(tmp_path / "pages")]) == 0
    assert (tmp_path / "pages" / "index.md").exists()
    assert (tmp_path / "pages" / "artificial" / "accuracy-by-size.png").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["render", "nowhere", "-o", "d"], "there is no record nowhere"),
        (["run", "dream", "--draws", "3", "-o", "d"], "draws nothing at random"),
        (["run", "dream", "-o", "d"], "set GOLDLESS_DATA"),
        (["run", "panels", "-o", "d"], "set GOLDLESS_DATA"),
        (["run", "artificial", "-o", __file__], "is a file"),
    ],
)
def test_wrong_use_is_one_clear_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GOLDLESS_DATA", raising=False)
    assert main(words) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [[], ["run", "artificial"], ["run", "x", "-o", "d"], ["run", "uci", "record", "-o", "d"], ["render", "-o", "d"]],
)
def test_wrong_words_are_refused_with_the_usage(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("usage: python -m research.experiments")


def test_an_interruption_says_that_the_run_can_go_on(tmp_path, monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("research.experiments.command.run_experiment", stop)
    assert main(["run", "artificial", "-o", str(tmp_path)]) == 130
    assert "the same command continues in" in capsys.readouterr().err


def test_every_experiment_can_be_found():
    assert [find_experiment(name).name for name in NAMES] == list(NAMES)
    with pytest.raises(ValueError, match="there is no experiment 'x'"):
        find_experiment("x")


# -- data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turned", [False, True])
def test_matlab_matrices_are_read_by_shape(turned, tmp_path, rng):
    votes, truth = rng.integers(0, 2, (50, 7)), rng.integers(0, 2, 50)
    savemat(tmp_path / "S1.mat", {"Z": votes.T if turned else votes, "labels": truth, "note": "text"})
    X, y = datasets.load_matrix_votes(tmp_path / "S1.mat")
    np.testing.assert_array_equal(X, 2 * votes - 1)
    np.testing.assert_array_equal(y, 2 * truth - 1)


def test_dream_reads_the_challenges_own_matrices(tmp_path, rng):
    """S2 as a .mat of zeros and ones, callers in rows, in a folder without the others."""
    votes = rng.integers(0, 2, (40, 12))
    votes[:2] = [[0], [1]]
    savemat(tmp_path / "S2.mat", {"calls": votes.T, "truth": rng.integers(0, 2, 40)})
    settings = Settings(data=str(tmp_path), quick=True)
    units = dream.units(settings)
    assert [unit.parameters for unit in units][:2] == [{"data": "S2"}, {"data": "S2", "score": 10}]
    result = dream.run(units[1], settings, seed=0)
    assert result["n_voters"] == 10
    said = []
    dream.prepare(settings, said.append)
    assert said == ["not found, and left out: S1, S3"]


def test_matlab_files_without_votes_are_refused(tmp_path, rng):
    savemat(tmp_path / "a.mat", {"y": np.arange(5)})
    with pytest.raises(ValueError, match="no matrix of votes"):
        datasets.load_matrix_votes(tmp_path / "a.mat")
    savemat(tmp_path / "b.mat", {"Z": rng.integers(0, 2, (50, 7)), "a": np.ones(50), "b": np.ones(50)})
    with pytest.raises(ValueError, match="one vector of 50 true labels, found 2"):
        datasets.load_matrix_votes(tmp_path / "b.mat")
    savemat(tmp_path / "c.mat", {"Z": rng.integers(0, 5, (50, 7)), "a": np.ones(50)})
    with pytest.raises(ValueError, match="two numbers"):
        datasets.load_matrix_votes(tmp_path / "c.mat")


def test_a_table_is_fetched_once_and_then_guarded(tmp_path, monkeypatch, rng):
    """Without a network: what OpenML would send is made here."""
    table = datasets.UciTable("toy.npz", 1, "yes", (30, 4), 10, None)
    monkeypatch.setitem(datasets.UCI_TABLES, "toy", table)
    monkeypatch.setenv("GOLDLESS_CACHE", str(tmp_path))
    monkeypatch.delenv("GOLDLESS_DATA", raising=False)
    names, values = ["id", "name", "a", "b", "c", "d"], rng.normal(size=(30, 6))
    labels = np.array(["yes"] * 10 + ["no"] * 20)
    fetched = []

    class Bunch:
        data, target, feature_names, categories = values, labels, names, {"name": ["x"]}

    def fetch(name):
        fetched.append(name)
        return datasets.table_of_openml(Bunch, table)

    monkeypatch.setattr(datasets, "fetch_uci", fetch)
    X, y = datasets.load_uci("toy")
    np.testing.assert_array_equal(X, values[:, 2:].astype(np.float32))
    assert (y == 1).sum() == 10
    datasets.load_uci("toy")
    assert fetched == ["toy"]
    np.savez(tmp_path / "uci" / "toy.npz", X=X + 1, y=y)
    with pytest.raises(ValueError, match="its checksum has changed"):
        datasets.load_uci("toy")
    (tmp_path / "uci" / "toy.npz").unlink()
    monkeypatch.setitem(datasets.UCI_TABLES, "toy", datasets.UciTable("toy.npz", 1, "yes", (30, 4), 10, "0" * 64))
    with pytest.warns(gl.VotesWarning, match="another edition"):
        datasets.load_uci("toy")
    monkeypatch.setitem(datasets.UCI_TABLES, "toy", datasets.UciTable("toy.npz", 1, "yes", (31, 4), 10, None))
    (tmp_path / "uci" / "toy.npz").unlink()
    with pytest.raises(ValueError, match="should be 31 x 4"):
        datasets.load_uci("toy")


class _OpenML(urllib.request.HTTPSHandler):
    """Stands in for OpenML: answers what it knows, keeps what it was asked, and never touches a network."""

    def __init__(self, pages):
        super().__init__()
        self.pages, self.asked = pages, []

    def https_open(self, request):
        path = request.selector
        self.asked.append(path)
        if path not in self.pages:
            raise urllib.error.URLError("no such page")
        page = io.BytesIO(self.pages[path])
        answer = urllib.response.addinfourl(page, email.message.Message(), request.full_url, 200)
        answer.msg = "OK"
        return answer


@pytest.fixture
def openml(tmp_path, monkeypatch, rng):
    """A table on OpenML as Musk is: an identifier, a column of names, features, and labels; and what is in it."""
    values, labels = rng.normal(size=(30, 4)).astype(np.float32), ["1"] * 10 + ["0"] * 20
    columns = ["ID", "molecule", "a", "b", "c", "d", "class"]
    kinds = {"molecule": "nominal", "class": "nominal"}
    nominal = {"molecule": "{x,y}", "class": "{0,1}"}
    arff = "@RELATION musk\n" + "".join(f"@ATTRIBUTE {c} {nominal.get(c, 'NUMERIC')}\n" for c in columns) + "@DATA\n"
    for number, (row, label) in enumerate(zip(values, labels, strict=True)):
        arff += ",".join([str(number), "xy"[number % 2], *(f"{v:.9g}" for v in row), label]) + "\n"
    data = arff.encode()
    about = {
        "id": "77",
        "name": "musk",
        "version": "1",
        "format": "ARFF",
        "status": "active",
        "description": "made up",
    }
    about |= {
        "url": "https://openml.org/data/v1/download/7/musk.arff",
        "file_id": "7",
        "default_target_attribute": "class",
    }
    about |= {"md5_checksum": hashlib.md5(data).hexdigest()}
    features = [
        {
            "index": str(at),
            "name": column,
            "data_type": kinds.get(column, "numeric"),
            "is_target": str(column == "class").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for at, column in enumerate(columns)
    ]
    api = "/api/v1/json/data"
    pages = {
        f"{api}/77": {"data_set_description": about},
        f"{api}/features/77": {"data_features": {"feature": features}},
        f"{api}/qualities/77": {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "30.0"}]}},
    }
    server = _OpenML({path: json.dumps(page).encode() for path, page in pages.items()})
    server.pages["/data/v1/download/7/musk.arff"] = data
    monkeypatch.setattr(urllib.request, "_opener", None)
    urllib.request.install_opener(urllib.request.build_opener(server))
    monkeypatch.setenv("GOLDLESS_CACHE", str(tmp_path))
    monkeypatch.delenv("GOLDLESS_DATA", raising=False)
    checksum = datasets.content_checksum(values, np.array([1] * 10 + [-1] * 20))
    monkeypatch.setitem(datasets.UCI_TABLES, "toy", datasets.UciTable("toy.npz", 77, "1", (30, 4), 10, checksum))
    return server, values


def test_a_table_comes_from_openml_is_kept_and_is_what_it_should_be(openml):
    """All of the way: description, columns, file and its checksum, then our cache without any question."""
    server, values = openml
    X, y = datasets.load_uci("toy")  # the checksum is the known one: no warning
    np.testing.assert_array_equal(X, values)
    np.testing.assert_array_equal(y, [1] * 10 + [-1] * 20)
    asked = list(server.asked)
    assert "/data/v1/download/7/musk.arff" in asked
    datasets.load_uci("toy")
    assert server.asked == asked


@pytest.mark.filterwarnings("ignore:Invalid cache")
def test_a_file_that_is_not_what_openml_says_is_refused(openml, tmp_path):
    server, _ = openml
    server.pages["/data/v1/download/7/musk.arff"] += b"30,x,0,0,0,0,1\n"
    with pytest.raises(ValueError, match="md5 checksum"):
        datasets.load_uci("toy")
    assert not (tmp_path / "uci").exists()


@pytest.mark.filterwarnings("ignore:A network error")
def test_without_a_network_the_way_out_is_named(openml, monkeypatch):
    server, _ = openml
    server.pages.clear()
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(
        ValueError, match=r"data set 77 of OpenML, could not be fetched .* put toy.npz with arrays X and y"
    ):
        datasets.load_uci("toy")


def test_the_checksum_of_a_table_knows_content_not_order(rng):
    X, y = rng.normal(size=(20, 3)).astype(np.float32), rng.integers(0, 2, 20)
    order = rng.permutation(20)
    assert datasets.content_checksum(X, y) == datasets.content_checksum(X[order], y[order])
    assert datasets.content_checksum(X, y) != datasets.content_checksum(X, 1 - y)


def test_the_step_of_smallest_residual_has_more_groups_than_asked():
    path = [
        {"K": 3, "residual": 1.0},
        {"K": 5, "residual": 0.5},
        {"K": 8, "residual": 0.6},
        {"K": 9, "residual": 0.7},
    ]
    assert chosen_step(path)["K"] == 5
    assert chosen_step(path, 5)["K"] == 8
    assert chosen_step(path[:2], 5)["K"] == 5


@pytest.mark.parametrize("key", ["quarter", "shared"])
def test_voters_vote_on_items_that_none_was_trained_on(key, rng, monkeypatch):
    features = rng.normal(size=(2400, 3))
    labels = np.where(features.sum(axis=1) > 0, 1, -1).astype(np.int8)
    seen = []

    def votes_of(ensemble, features, labels, training, voted_on):
        seen.append((len(ensemble), training, voted_on))
        return np.ones((len(voted_on), len(ensemble)), np.int8)

    monkeypatch.setattr(uci_variants, "votes_of", votes_of)
    X, y, size = uci_variants.train(uci_variants.VARIANTS[key], features, labels, seed=5)
    [(many, training, voted_on)] = seen
    assert (many, len(training), X.shape) == (16, 16, (len(y), 16))
    assert {len(own) for own in training} == {size} == {{"quarter": 25, "shared": 1000}[key]}
    assert not set(np.concatenate(training)) & set(voted_on)
    assert len(voted_on) == (1200 if key == "shared" else 2400 - 16 * size)


@pytest.mark.parametrize("name", ensembles.TABLES)
def test_recorded_voters_of_weka_were_trained_on_one_half(name):
    n_items = datasets.UCI_TABLES[name].shape[0]
    for size in ensembles.SIZES:
        with np.load(ensembles.FOLDER / f"{name}_{size}.npz") as file:
            training, version = file["training"], str(file["version"])
        found = ensembles.recorded(name, size)
        assert (version, training.shape[1:], len(found)) == (ensembles.VERSION, (16, size), len(training))
        for ensemble, rows in zip(found, training, strict=True):
            assert ensemble.votes.shape == (n_items, len(ensembles.VOTERS))
            assert ensemble.unseen.sum() == n_items - n_items // 2
            assert not ensemble.unseen[rows].any()


@pytest.mark.real_data
def test_recorded_voters_are_as_accurate_as_the_papers_own_on_magic(data_folder):
    _, y = datasets.load_uci("magic", data_folder / "uci")
    accuracy = {family: [] for family in ensembles.VOTERS}
    for ensemble in ensembles.recorded("magic", 500):
        for family, column in zip(ensembles.VOTERS, ensemble.votes.T, strict=True):
            accuracy[family].append(gl.balanced_accuracy(y, column))
    said = {"forest": 0.803, "logistic model tree": 0.787, "svm": 0.740, "naive bayes": 0.648}
    assert {family: np.mean(values) for family, values in accuracy.items()} == pytest.approx(said, abs=0.012)


def test_what_weka_needs_is_said_in_a_sentence(tmp_path, capsys):
    jar = tmp_path / "weka.jar"
    assert weka_command(["--jar", str(jar), "magic", "500"]) == 1
    jar.write_bytes(b"another version")
    assert weka_command(["--jar", str(jar), "magic", "500"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert all(line.startswith("research.weka: ") for line in said)


def test_the_published_way_agrees_where_nothing_is_in_doubt():
    X, y = gl.simulate_votes(5000, [6, 3] + [1] * 8, group_accuracy=(0.9, 1), voter_accuracy=(0.9, 1), random_state=0)
    labels, imbalance = published_labels(X, np.array([0] * 6 + [1] * 3 + list(range(2, 10))))
    assert gl.balanced_error(y, labels) < 0.01
    assert abs(imbalance) < 0.1


def test_a_logistic_model_tree_fits_what_neither_part_can(rng):
    """Two slopes, one on each side of a split: neither a line nor one split would do."""
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] > 0, X[:, 1] < 1, X[:, 1] > 1).astype(int)
    half = slice(0, 300)
    tree = LogisticModelTree().fit(X[half], y[half])
    assert (tree.predict(X[300:]) == y[300:]).mean() > 0.9
    assert len(tree.leaves_) == 2
    same = LogisticModelTree().fit(np.arange(8.0)[:, None], [0] * 4 + [1] * 4)
    np.testing.assert_array_equal(same.predict([[0.0], [7.0]]), [0, 1])


def test_the_ensemble_is_the_papers():
    names = [name for name, _ in make_ensemble(0)]
    assert names == voter_names()
    assert len(names) == 16


# -- real data ----------------------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["magic", "spambase", "musk"])
def test_local_tables_pass_their_checks(name, data_folder):
    X, y = datasets.load_uci(name, data_folder / "uci")
    assert (X.shape, set(np.unique(y))) == (datasets.UCI_TABLES[name].shape, {-1, 1})


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["uci", "dream"])
def test_quick_runs_on_real_data(name, data_folder, tmp_path, capsys):
    arguments = ["run", name, "--quick", "--workers", "1", "-q", "--data", str(data_folder)]
    assert main([*arguments, "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""
    record = render.read_record(tmp_path / "record.json")
    assert str(data_folder) not in json.dumps(record)
    assert (tmp_path / "index.md").stat().st_size > 1000


# -- measures -----------------------------------------------------------------------------------------------


def test_scaling_measures_time_and_memory(tmp_path):
    experiment = find_experiment("scaling")
    record = runner.run_experiment(experiment, tmp_path, experiment.settings(quick=True))
    for unit in record["units"]:
        for method in ("vote", "dawid_skene", "sml_em", "paper", "search"):
            assert unit["result"][method]["seconds"] > 0
    assert len(render.write_run(record, tmp_path)) == 11


def test_memory_is_the_rise_during_the_call():
    _, measures = measured(lambda: np.ones(8_000_000).sum())
    assert measures["seconds"] > 0
    assert measures["cpu_seconds"] > 0
    assert measures["memory_mb"] is None or 50 < measures["memory_mb"] < 200
