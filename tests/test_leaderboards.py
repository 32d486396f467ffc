"""Leaderboards: panels read, peers asked, everything scored alike, pages that say where a peer is ahead."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.metrics import log_loss

import goldless as gl
from research.experiments import few_labels, few_labels_summary, leaderboard, panels, panels_summary, peers, render
from research.experiments.board import Board, interval
from research.experiments.command import main
from research.experiments.framework import Settings
from research.experiments.panel import Panel, make_panel, read_folder, simulated_crowds
from research.experiments.peers import PeerProcess
from research.experiments.runner import record_text, run_experiment
from research.experiments.scoring import calibration_error, scored


def voted(n_items, n_voters, n_classes, rng, missing=0.0):
    """Classes and votes that are right seven times in ten."""
    truth = rng.integers(0, n_classes, n_items)
    right = rng.random((n_items, n_voters)) < 0.7
    votes = np.where(right, truth[:, None], rng.integers(0, n_classes, (n_items, n_voters)))
    return np.where(rng.random(votes.shape) < missing, -1, votes), truth


# -- panels -------------------------------------------------------------------------------------------------


def test_signs_and_classes_are_the_same_panel(rng):
    votes, truth = voted(60, 5, 2, rng, 0.2)
    signs = make_panel(np.where(votes < 0, 0, 2 * votes - 1), 2 * truth - 1)
    classes = make_panel(votes, truth)
    np.testing.assert_array_equal(signs.votes, classes.votes)
    np.testing.assert_array_equal(signs.truth, classes.truth)
    assert signs.facts == classes.facts
    assert signs.facts["n_classes"] == 2
    assert signs.facts["missing"] == pytest.approx((votes < 0).mean())


def test_numbers_are_told_apart_and_cut_where_a_user_would(rng):
    truth = rng.integers(0, 2, 50)
    chances = make_panel(np.clip(rng.random((50, 3)), 0.01, 0.99), truth)
    grades = make_panel(rng.integers(1, 6, (50, 3)), truth, "ordinal")
    scores = make_panel(rng.normal(size=(50, 3)), truth)
    assert [panel.kind for panel in (chances, grades, scores)] == ["probabilities", "ordinal", "scores"]
    np.testing.assert_array_equal(chances.codes, chances.votes > 0.5)
    np.testing.assert_array_equal(scores.codes.sum(axis=0), [25, 25, 25])
    assert make_panel(rng.normal(size=(9000, 3)), rng.integers(0, 2, 9000)).votes.shape == (4000, 3)


@pytest.mark.parametrize(
    ("votes", "said"),
    [(np.zeros((4, 2)), "2 voters: three are needed"), (np.zeros(4), "no table of items by voters")],
)
def test_what_is_no_panel_is_refused(votes, said):
    with pytest.raises(ValueError, match=said):
        make_panel(votes, np.zeros(4))


def test_simulated_crowds_are_sparse_and_the_same_each_time():
    crowds = simulated_crowds(200, 40, 5)
    assert set(crowds) == {"simulated_plain", "simulated_clickers", "simulated_copies"}
    for panel in crowds.values():
        assert ((panel.votes >= 0).sum(axis=1) == 5).all()
        assert panels.is_sparse(panel)
    right = {name: (panel.votes == panel.truth[:, None])[panel.votes >= 0].mean() for name, panel in crowds.items()}
    assert right["simulated_clickers"] < right["simulated_plain"] - 0.03


# -- scores -------------------------------------------------------------------------------------------------


def test_scores_are_what_slow_sums_say(rng):
    truth = rng.integers(-1, 3, 300)  # -1 is not known
    probabilities = rng.dirichlet(np.ones(3), 300)
    labels = probabilities.argmax(axis=1)
    found = scored(truth, labels, probabilities)
    known = truth >= 0
    assert found["accuracy"] == np.mean([labels[i] == truth[i] for i in range(300) if truth[i] >= 0])
    recalls = [np.mean(labels[truth == code] == code) for code in range(3)]
    assert found["recall"] == pytest.approx(np.mean(recalls))
    assert found["log_loss"] == pytest.approx(log_loss(truth[known], probabilities[known]), abs=2e-3)
    top, gap = probabilities[known].max(axis=1), 0.0
    for low in np.arange(10) / 10:
        inside = (top >= low) & (top < low + 0.1)
        if inside.any():
            gap += inside.mean() * abs(top[inside].mean() - (labels[known] == truth[known])[inside].mean())
    assert found["calibration"] == pytest.approx(gap)
    assert "auc" not in found


def test_certainty_that_is_right_is_perfect_and_one_that_is_wrong_is_bounded():
    truth = np.array([0, 1, 1, 0])
    right = scored(truth, truth, np.eye(2)[truth])
    assert right == pytest.approx({"accuracy": 1, "recall": 1, "log_loss": 0, "calibration": 0, "auc": 1}, abs=2e-3)
    wrong = scored(truth, 1 - truth, np.eye(2)[1 - truth])
    assert wrong["log_loss"] == pytest.approx(-np.log(1e-3), abs=0.01)
    assert calibration_error(truth, np.eye(2)[1 - truth]) == 1


def test_intervals_draw_families_whole():
    """Ten panels of one family are one draw: the interval is as wide as that of two panels."""
    values = np.array([1.0] * 10 + [3.0])
    assert interval(values, ["a"] * 10 + ["b"]) == (1.0, 3.0)
    low, high = interval(values, [str(number) for number in range(11)])
    assert 1.0 <= low < high < 2
    assert interval(np.array([2.0, 2.0]), ["a", "b"]) == (2.0, 2.0)


# -- peers --------------------------------------------------------------------------------------------------


def test_the_adapter_answers_many_jobs_and_survives_failures(rng):
    """Run with this interpreter and the adapter's own check in place of a package."""
    process = PeerProcess(sys.executable)
    for n_items, n_classes in ((30, 2), (50, 4)):
        codes = rng.integers(-1, n_classes, (n_items, 5)).astype(np.int8)
        answers, found = process.ask("check", ["majority", "fail", "spin"], codes, n_classes, 0.2)
        counts = np.stack([(codes == code).sum(axis=1) for code in range(n_classes)], axis=1)
        labels, probabilities = found["majority"]
        np.testing.assert_array_equal(labels, counts.argmax(axis=1))
        np.testing.assert_allclose(probabilities, (counts + 1) / (counts + 1).sum(axis=1, keepdims=True))
        assert answers["majority"]["seconds"] >= 0
        assert answers["fail"] == {"skipped": "RuntimeError: failed as asked"}
        assert answers["spin"] == {"skipped": "not done after 0.2 s of CPU time"}
        assert set(found) == {"majority"}
    process.close()


def test_a_peer_that_does_not_answer_is_skipped():
    process = PeerProcess(sys.executable)
    answers, labels = process.ask("check", ["majority"], np.zeros((3, 3), np.int8), 2, -12)  # no patience at all
    assert answers == {"majority": {"skipped": "its process ended or did not answer"}}
    assert labels == {}


def test_a_peer_that_ended_before_it_was_asked_is_closed_in_silence():
    process = PeerProcess(sys.executable)
    pipe = subprocess.PIPE
    process._process = ended = subprocess.Popen([sys.executable, "-c", ""], stdin=pipe, stdout=pipe, text=True)
    ended.wait()
    ended.stdin.write("a question that stays in the buffer")
    process.close()
    assert process._process is None


SMALL = Panel(np.array([[1, 0, 1], [0, 0, -1], [-1, -1, 1]], np.int8), np.array([1, 0, 0]))


def _no_install(command, **_):
    raise subprocess.CalledProcessError(1, command, stderr="looking\nERROR: No matching distribution\n")


def test_a_peer_that_cannot_be_installed_is_skipped_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDLESS_CACHE", str(tmp_path))
    monkeypatch.setattr(peers.subprocess, "run", _no_install)
    peer = peers.Peer("nothing", ("nothing==0",), {"method": "nothing at all"})
    assert peers.why_missing(peer) == "it is not installed"
    reason = peers.install(peer)
    assert reason == "nothing==0 could not be installed: ERROR: No matching distribution"
    assert peers.why_missing(peer) == reason
    assert panels.run_peer(peer, "method", SMALL, 1.0) == {"skipped": reason}


def test_a_peer_is_asked_and_scored(tmp_path, monkeypatch):
    monkeypatch.setattr(peers.Peer, "folder", tmp_path)
    monkeypatch.setattr(peers.Peer, "python", Path(sys.executable))
    (tmp_path / "ready").touch()
    peer = peers.Peer("check", (), {"majority": "majority", "fail": "fails"})
    found = panels.run_peer(peer, "majority", SMALL, 30.0)
    assert found["recall"] == 0.75
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert {"log_loss", "calibration", "auc", "cpu_seconds", "memory_mb"} <= set(found)
    assert panels.run_peer(peer, "fail", SMALL, 30.0) == {"skipped": "RuntimeError: failed as asked"}
    panels._process(peer.python).close()


def test_slow_methods_come_last_and_are_spared_large_panels(rng, tmp_path):
    for name, n_items in (("a_small", 20), ("b_large", 200)):
        votes, truth = voted(n_items, 4, 2, rng)
        np.savez(tmp_path / f"{name}.npz", votes=votes, truth=truth)
    settings = Settings(peers=True, data=str(tmp_path), most_votes=100)
    units = panels.units("panels", settings)
    methods = [unit.parameters.get("method") for unit in units]
    assert methods[:2] == [None, None]
    first_slow = min(methods.index(method) for method in peers.SLOW)
    assert set(methods[first_slow:]) == set(peers.SLOW)
    left_out = {
        (unit.parameters["method"], unit.parameters["panel"]) for unit in units if "left_out" in unit.parameters
    }
    assert left_out == {(method, "b_large") for method in peers.SLOW}


# -- pages --------------------------------------------------------------------------------------------------


def _entries(recalls, log_losses=None):
    """Finished units of made-up methods: macro recalls by method and panel; None is out of time."""
    units = []
    for method, by_panel in recalls.items():
        for panel, recall in by_panel.items():
            facts = {"n_items": 100, "n_voters": 5, "n_classes": 2, "missing": 0.0}
            measured = {"skipped": "not done after 1 s of CPU time"}
            if recall is not None:
                loss = {} if log_losses is None else {"log_loss": log_losses[method], "calibration": 0.1}
                measured = {"recall": recall, "accuracy": recall, "cpu_seconds": 0.5, "memory_mb": 1.0, **loss}
                measured |= {"ambiguous": False} if method == "search" else {}
            parameters = {"panel": panel, "family": panel.split("_")[0]}
            units.append({"parameters": parameters, "result": {**facts, "methods": {method: measured}}})
    return units


def tables_of(recalls, log_losses=None, name="panels"):
    return {table.name: table for table in panels_summary.summarise(name, _entries(recalls, log_losses)).tables}


def test_who_finished_few_panels_does_not_decide_which_are_common():
    names = ["a_1", "a_2", "b_1", "b_2", "c_1"]
    found = {
        "vote": dict.fromkeys(names, 0.7),
        "search": dict.fromkeys(names, 0.8),
        "DawidSkene": dict(zip(names, [0.7, 0.7, 0.7, 0.7, None], strict=True)),
        "MACE": dict(zip(names, [0.95, None, None, None, None], strict=True)),
    }
    board = Board(_entries(found))
    assert board.common == names[:4]
    tables = tables_of(found)
    header, rows = tables["leaderboard"].header, {row[0]: row for row in tables["leaderboard"].rows}
    assert header[1] == "macro recall % on 4 common panels"
    assert rows["LatentSML()"][1:3] == [80.0, 5]
    assert rows["crowd-kit DawidSkene"][1:4] == [70.0, 4, 70.0]
    assert rows["crowd-kit MACE"][1:4] == [None, 1, 95.0]
    skipped = {row[0]: row[1:] for row in tables["skipped"].rows}
    assert skipped["crowd-kit MACE"] == ["not done after 1 s of CPU time", 4, "a_2, b_1, b_2, c_1"]
    assert "AUC %" not in header


def test_where_a_peer_is_ahead_it_is_said():
    found = {
        "vote": {"a_1": 0.6, "b_1": 0.8},
        "search": {"a_1": 0.8, "b_1": 0.9},
        "MACE": {"a_1": 0.79, "b_1": 0.95},
        "MMSR": {"a_1": 0.6, "b_1": 0.9},
    }
    table = tables_of(found, {"vote": 0.5, "search": 0.4, "MACE": 0.3, "MMSR": 0.6})["peers"]
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["crowd-kit MACE"] == [2, -2.0, -5.0, 1.0, 1, 1, "b_1", 5.0, 1.0, 1.0]
    assert rows["crowd-kit MMSR"] == [2, 10.0, 0.0, 20.0, 1, 0, "b_1", 0.0, 1.0, 1.0]
    assert "a peer is ahead of `LatentSML()`: crowd-kit MACE by 2.00 points (2 panels)" in table.note
    assert "In log loss a peer is ahead of it: crowd-kit MACE by 0.100 (2 panels)." in table.note
    assert "In calibration error no peer is ahead of it." in table.note
    assert "b (crowd-kit MACE by 5.0)" in table.note
    assert "On 1 of 2 panels" in table.note
    assert (
        "Without the family a, where it leads by the most, `LatentSML()` has 90.0 % on the 1 common panels"
        in table.note
    )
    assert "of our other methods: crowd-kit MACE 95.0 %." in table.note
    found["MACE"] = {"a_1": 0.7, "b_1": 0.9}
    quiet = tables_of(found)["peers"].note
    assert "On average no peer is ahead" in quiet
    assert "In no family" in quiet
    assert "On no panel" in quiet


def test_numbers_are_compared_with_the_mean_rank():
    found = {"mean_rank": {"a_1": 0.7}, "mean": {"a_1": 0.6}, "search": {"a_1": 0.65}}
    tables = tables_of(found, name="scores")
    assert "over mean rank" in tables["leaderboard"].header
    assert tables["losses"].rows == [["a_1", 65.0, 70.0, -5.0, "no"]]
    said = 'ahead of `LatentSML()` in the mean: in macro recall MajorityVote(kind="scores"), mean rank by 5.00;'
    assert said in tables["leaderboard"].note
    assert "mean by" not in tables["leaderboard"].note


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two panels of two classes, one with gaps; one of three; a sparse crowd; numbers; and a file that is none."""
    place = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(5)
    for number, missing in enumerate((0.0, 0.3)):
        X, y = gl.simulate_votes(300, [1] * 6, group_accuracy=(0.8, 1), missing_rate=missing, random_state=number)
        np.savez(place / f"human_{number}.npz", votes=np.nan_to_num(X).astype(np.int8), truth=y)
    votes, truth = voted(150, 5, 3, rng)
    np.savez(place / "human_three.npz", votes=votes.astype(np.int8), truth=truth)
    votes, truth = voted(150, 25, 2, rng, 0.8)
    np.savez(place / "crowd_few_votes.npz", votes=votes.astype(np.int8), truth=truth)
    np.savez(place / "judge_grades.npz", scores=truth[:, None] + rng.normal(size=(150, 4)), truth=2 * truth - 1)
    np.savez(place / "crowd_x.npz", other=np.zeros(3))
    return place


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("panels", {"human_0", "human_1", "crowd_few_votes"}),
        ("classes", {"human_three"}),
        ("scores", {"judge_grades"}),
    ],
)
def test_a_folder_of_panels_becomes_a_leaderboard(name, shown, folder, tmp_path, capsys):
    arguments = ["run", name, "--workers", "1", "--data", str(folder), "-o", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert "LatentSML()" in capsys.readouterr().out
    record = render.read_record(tmp_path / "out" / "record.json")
    page = (tmp_path / "out" / "index.md").read_text()
    assert "no arrays votes (or scores) and truth" in page
    assert "Peers were not run" in page
    done = {unit["parameters"]["panel"]: unit["result"] for unit in record["units"]}
    assert set(done) == {*shown, "crowd_x"}
    for panel in shown:
        found = done[panel]["methods"]["search"]
        assert {"recall", "accuracy", "log_loss", "calibration", "cpu_seconds", "memory_mb"} <= set(found)
    if name == "panels":
        X, y = gl.simulate_votes(300, [1] * 6, group_accuracy=(0.8, 1), random_state=0)
        expected = gl.balanced_accuracy(y, gl.DawidSkene().fit_predict(X))
        assert done["human_0"]["methods"]["dawid_skene"]["recall"] == pytest.approx(expected, rel=1e-5)
    if name == "scores":
        assert {"mean", "median", "mean_rank", "summa", "cut_vote"} <= set(done["judge_grades"]["methods"])


def test_crowds_are_sparse_panels_and_simulated_ones(folder):
    found = panels.CONTESTS["crowds"].panels(Settings(data=str(folder)))
    names = [name for name, panel in found.items() if isinstance(panel, Panel)]
    assert names == ["crowd_few_votes", "simulated_plain", "simulated_clickers", "simulated_copies"]
    family = panels.CONTESTS["crowds"].family
    assert [family(name) for name in names] == ["few", *["simulated"] * 3]


@pytest.mark.real_data
def test_real_panels_are_where_they_belong(data_folder):
    settings = Settings(data=str(data_folder))
    counts = {name: len(contest.panels(settings)) for name, contest in panels.CONTESTS.items()}
    assert counts == {"panels": 75, "classes": 13, "scores": 42, "crowds": 16}
    assert not any(isinstance(panel, str) for panel in read_folder(data_folder / "panels").values())


# -- one more row -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def records(folder, tmp_path_factory):
    """A folder with the record of a leaderboard without peers."""
    place = tmp_path_factory.mktemp("records")
    record = run_experiment(panels.EXPERIMENTS["panels"], place / "run", Settings(data=str(folder)), workers=1)
    (place / "panels.json").write_text(record_text(record))
    return place


def test_a_panel_is_one_more_row(folder, records, tmp_path, capsys):
    words = ["--panel", str(folder / "human_1.npz"), "--records", str(records)]
    assert leaderboard.main([*words, "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    every, own = out.split("mine_human_1: every method")
    rows = [line for line in every.splitlines() if line.startswith("| ")][2:]
    assert [row.split("|")[1].strip() for row in rows] == ["crowd_few_votes", "human_0", "human_1", "mine_human_1"]
    assert rows[2].split("|")[2:] == rows[3].split("|")[2:]  # the same panel, the same figures
    assert "LatentSML()" in own
    assert "mine_human_1" in (tmp_path / "index.md").read_text()
    assert len(json.loads((records / "panels.json").read_text())["units"]) == 4  # the record itself is as it was


def test_any_file_that_goldless_reads_is_a_panel(rng, records, tmp_path, capsys):
    votes, truth = voted(80, 5, 2, rng)
    words = np.array(["no", "yes"])
    frame = pandas.DataFrame(words[votes], columns=list("abcde")).assign(gold=words[truth])
    frame.to_csv(tmp_path / "mine.csv", index=False)
    panel = leaderboard.read(tmp_path / "mine.csv", "gold")
    np.testing.assert_array_equal(panel.votes, votes)
    np.testing.assert_array_equal(panel.truth, truth)
    assert leaderboard.main(["--panel", str(tmp_path / "mine.csv"), "--records", str(records)]) == 1
    assert "--truth COLUMN" in capsys.readouterr().err
    assert leaderboard.main(["--panel", str(tmp_path / "nowhere.npz"), "--records", str(records)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    numbers = pandas.DataFrame(truth[:, None] + rng.normal(size=(80, 3)), columns=list("abc")).assign(gold=truth)
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    assert leaderboard.board_of(leaderboard.read(tmp_path / "numbers.csv", "gold")) == "scores"
    three = Panel(*voted(50, 4, 3, rng))
    assert leaderboard.board_of(three) == "classes"
    assert leaderboard.board_of(panel) == "panels"
    assert leaderboard.board_of(Panel(*voted(50, 25, 3, rng, 0.9))) == "crowds"


# -- a few labels -------------------------------------------------------------------------------------------


def test_known_labels_are_kept_and_the_rest_is_scored_alone(rng):
    votes, truth = voted(100, 5, 2, rng)
    panel, known = Panel(votes, truth), np.arange(40)
    found = few_labels.score(panel, 1 - truth, known)
    assert found["rest"] == 0
    assert found["recall"] == pytest.approx(
        gl.balanced_accuracy(truth, np.where(np.arange(100) < 40, truth, 1 - truth))
    )
    assert few_labels.score(panel, truth, known) == {"recall": 1, "rest": 1}


def test_a_quick_run_on_few_labels(folder, tmp_path):
    experiment = few_labels.EXPERIMENT
    settings = experiment.settings(quick=True, data=str(folder))
    record = run_experiment(experiment, tmp_path, settings, workers=1)
    ways = {way for unit in record["units"] for way in unit["result"]["found"]}
    assert ways == {"asked", "random", "vote", "naive_bayes", "logistic", "audit"}
    for unit in record["units"]:
        for way, by_count in unit["result"]["found"].items():
            for count, figures in by_count.items():
                if way == "audit":
                    assert 0 < figures["width"] < 1
                elif int(count) == 50:
                    assert figures["recall"] > 0.5
    summary = render.summary_of(record)
    tables = {table.name: table for table in summary.tables}
    first = tables["labels"].rows[0]
    assert first[:2] == ["LatentSML(), labels asked for", 0]
    assert first[5] == 0.0
    shown = [row[:3] for row in tables["audit"].rows]
    assert shown == [["two", 30, 3], ["two", 50, 3], ["two", 100, 2]]  # not above 60 % of the items
    assert len(render.write_run(record, tmp_path)) >= 9


def test_a_plain_way_that_is_ahead_is_named():
    entries = []
    for way, recall in (("asked", 0.8), ("logistic", 0.83), ("naive_bayes", 0.7)):
        found = {way: {"20": {"recall": recall, "rest": recall}}}
        if way == "asked":
            found[way]["0"] = {"recall": 0.75, "rest": 0.75}
        facts = {"n_items": 100, "n_voters": 5, "n_classes": 2, "missing": 0.0}
        entries.append({"parameters": {"panel": "a_1", "family": "a"}, "result": {**facts, "found": found}})
    _, said, worse = few_labels_summary.summarise(entries).paragraphs
    assert "logistic regression on the votes with 20 labels (+3.00 points in the mean" in said
    assert "naive Bayes" not in said
    assert worse == "On no panel do labels asked for make it worse by more than 2 points."
    entries[0]["result"]["found"]["asked"]["20"] = {"recall": 0.7, "rest": 0.7}
    assert (
        "worse by more than 2 points on a_1 (20 labels, -5.0)." in few_labels_summary.summarise(entries).paragraphs[2]
    )
