"""The command line on three classes and on ten, and on verdicts of judges with ties."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import goldless as gl
from goldless import VotesError, read_votes
from goldless.cli import main


def write(path, classes, n_voters, n_items, seed, missing=0.1):
    """Write votes that are right in about two of three cases, with their truth."""
    rng = np.random.default_rng(seed)
    n_classes = len(classes)
    truth = rng.integers(n_classes, size=n_items)
    right = rng.random((n_items, n_voters)) < rng.uniform(0.55, 0.85, n_voters)
    votes = np.where(right, truth[:, None], rng.integers(n_classes, size=(n_items, n_voters)))
    gaps = rng.random(votes.shape) < missing
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["item", *(f"voter {i + 1}" for i in range(n_voters)), "truth"])
        for item in range(n_items):
            cells = ["" if gap else classes[vote] for vote, gap in zip(votes[item], gaps[item], strict=True)]
            writer.writerow([f"i{item + 1}", *cells, classes[truth[item]]])
    return path


def test_simulated_classes_can_be_read_back(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    assert main(["simulate", "--items", "200", "--classes", "4", "--groups", "1,1,1,1", "-q", "-o", str(path)]) == 0
    assert main(["combine", str(path), "--truth", "truth", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == list("abcd")
    assert main(["simulate", "--classes", "3", "--imbalance", "0.2"]) == 1


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    return {
        "three": write(folder / "three.csv", ["cat", "dog", "fish"], 20, 600, seed=1),
        "ten": write(folder / "ten.csv", [f"digit {i}" for i in range(10)], 6, 800, seed=2),
        "judges": write(folder / "judges.csv", ["A", "B", "tie"], 6, 500, seed=3),
    }


def read(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def test_inspect_fits_one_screen_for_twenty_voters(files, monkeypatch, capsys):
    monkeypatch.chdir(files["three"].parent)
    assert main(["inspect", "three.csv", "--truth", "truth"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 80
    assert "balanced accuracy (chance: 33.3 %)" in out
    assert "rec: per cent right on cat, dog, fish" in " ".join(out.split())
    for voter in range(1, 21):
        assert f"voter {voter}" in out


@pytest.mark.parametrize("name", ["three", "ten"])
def test_every_command_takes_many_classes(name, files, tmp_path, capsys):
    path = str(files[name])
    n_classes = {"three": 3, "ten": 10}[name]
    assert main(["inspect", path, "--truth", "truth", "--structure", "independent"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines()[:-3])) <= 80
    page = tmp_path / "page.html"
    assert main(["report", path, "--truth", "truth", "--structure", "independent", "-o", str(page)]) == 0
    assert "How common each class is" in page.read_text()
    assert main(["select", path, "--ignore", "truth", "-k", "3", "--structure", "independent"]) == 0
    assert "Expected balanced accuracy: this panel" in " ".join(capsys.readouterr().out.split())
    assert main(["ask", path, "--ignore", "truth", "-n", "3", "--json"]) == 0
    asked = json.loads(capsys.readouterr().out)["items"]
    assert len(asked) == 3
    assert len(asked[0]) == 2 + n_classes  # the item, its probabilities, and why it is asked
    assert asked[0]["why"]


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_combine_writes_a_probability_for_every_class(engine, files, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    options = ["--truth", "truth", "--engine", engine, "-o", str(out)]
    assert main(["combine", str(files["three"]), *options]) == 0
    assert "Balanced accuracy against the truth" in capsys.readouterr().out
    rows = read(out)
    columns = [f"probability of {name}" for name in ("cat", "dog", "fish")]
    assert list(rows[0]) == ["item", "label", *columns]
    votes = gl.io.files.read_votes(str(files["three"]), truth="truth").votes
    assert [row["label"] for row in rows] == gl.LatentSML().fit_predict(votes).tolist()
    for row in rows[:50]:
        assert sum(float(row[column]) for column in columns) == pytest.approx(1, abs=2e-4)


def test_combine_explains_the_label_against_the_next(files, tmp_path):
    out = tmp_path / "why.csv"
    options = ["--ignore", "truth", "--structure", "independent", "--explain", "-o", str(out), "-q"]
    assert main(["combine", str(files["ten"]), *options]) == 0
    for row in read(out)[:20]:
        parts = [float(value) for name, value in row.items() if name.startswith("from ")]
        assert row["most_probable"] != row["runner_up"]
        total = sum(parts) + float(row["prior_log_odds"])
        assert total == pytest.approx(float(row["log-odds"]), abs=0.02)
        assert float(row["log-odds"]) >= 0


def test_known_labels_of_any_class(files, tmp_path, capsys):
    known = tmp_path / "known.csv"
    known.write_text("item,label\ni1,fish\ni2,dog\ni3,cat\n")
    out = tmp_path / "labels.csv"
    assert main(["combine", str(files["three"]), "--ignore", "truth", "--anchors", str(known), "-o", str(out)]) == 0
    rows = read(out)
    assert [row["label"] for row in rows[:3]] == ["fish", "dog", "cat"]
    assert rows[0]["probability of fish"] == "1.0"
    known.write_text("item,label\ni1,bird\n")
    assert main(["inspect", str(files["three"]), "--ignore", "truth", "--anchors", str(known)]) == 1
    assert "'bird' is not one of the votes' labels" in capsys.readouterr().err


def test_the_share_of_every_class_may_be_known(files, capsys):
    options = ["--ignore", "truth", "--structure", "independent", "--json", "--class-balance"]
    assert main(["inspect", str(files["three"]), *options, "cat=0.5,dog=0.3,fish=0.2"]) == 0
    shares = json.loads(capsys.readouterr().out)["votes"]["class_shares"]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.01)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("0.4", "--class-balance needs the share of each of 3 classes, such as cat=0.33,dog=0.33,fish=0.33"),
        ("cat=0.5,dog=0.5", "--class-balance has no share for 'fish'"),
        ("cat=0.5,dog=0.3,fsh=0.2", "--class-balance names 'fsh', which is no class; did you mean 'fish'?"),
        ("cat=0.5,dog=0.3,fish=0.3", "positive shares that sum to 1; these sum to 1.1"),
    ],
)
def test_shares_that_make_no_sense_are_one_line(given, said, files, capsys):
    assert main(["inspect", str(files["three"]), "--ignore", "truth", "--class-balance", given]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_two_classes_may_be_named_too(tmp_path, capsys):
    path = write(tmp_path / "two.csv", ["no", "yes"], 5, 300, seed=4)
    for given in ("0.3", "no=0.7,yes=0.3"):
        assert main(["inspect", str(path), "--ignore", "truth", "--class-balance", given, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["votes"]["class_shares"][1] == pytest.approx(0.3, abs=0.01)


def test_a_tie_is_a_class_or_no_vote_or_half_a_vote(files, tmp_path, capsys):
    path = str(files["judges"])
    both = ["A", "B"]
    for option, classes in (([], [*both, "tie"]), (["--tie", "missing"], both), (["--tie", "half"], both)):
        assert main(["combine", path, "--ignore", "truth", "--json", *option]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["classes"] == classes
        assert set(found["labelled"]) == set(classes)
    out = tmp_path / "labels.csv"
    stream = ["--engine", "stream", "--tie", "missing", "-o", str(out)]
    assert main(["combine", path, "--ignore", "truth", *stream]) == 0
    assert {row["label"] for row in read(out)} == {"A", "B"}
    assert main(["inspect", path, "--ignore", "truth", "--tie", "missing"]) == 0
    assert "--tie missing" in " ".join(capsys.readouterr().out.split())
    assert main(["inspect", path, "--truth", "truth", "--tie", "half"]) == 0
    assert "a tie is half a vote for each class" in " ".join(capsys.readouterr().out.split())
    assert main(["combine", path, "--engine", "stream", "--tie", "half", "-o", str(tmp_path / "other.csv")]) == 1
    assert "--tie half goes with --engine memory" in capsys.readouterr().err


def test_a_tie_half_way_counts_for_both_classes(rng):
    y = rng.integers(0, 2, 400)
    said = np.where(rng.random((400, 5)) < 0.9, y[:, None], 1 - y[:, None])
    labels = np.where(rng.random((400, 5)) < 0.3, "tie", np.where(said == 1, "B", "A"))
    table = read_votes(pd.DataFrame(labels, columns=list("abcde"))).with_ties_halfway(["tie"])
    assert table.votes.classes.tolist() == ["A", "B"]
    votes = (labels == "B").sum(axis=1) - (labels == "A").sum(axis=1)
    consensus = gl.MajorityVote().fit(table).predict_proba(table)[:, 1]
    assert (np.sign(np.round(consensus - consensus[votes == 0].mean(), 2)) * np.sign(votes) >= 0).all()
    model = gl.LatentSML().fit(table)
    assert (model.predict(table) == np.array(["A", "B"])[y]).mean() > 0.9
    swapped = np.where(labels == "tie", "tie", np.where(labels == "A", "B", "A"))
    other = read_votes(pd.DataFrame(swapped, columns=list("abcde"))).with_ties_halfway(["tie"])
    np.testing.assert_allclose(
        gl.LatentSML().fit(other).predict_proba(other)[:, 0], model.predict_proba(table)[:, 1], atol=1e-3
    )
    with pytest.raises(VotesError, match="half way between two classes, and there are 3"):
        read_votes(pd.DataFrame(np.where(rng.random((400, 5)) < 0.1, "C", labels))).with_ties_halfway(["tie"])
