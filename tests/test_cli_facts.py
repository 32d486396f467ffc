"""Known labels on the command line: ask for them, fill them in, pass them back."""

import csv
import json

import numpy as np
import pytest

import goldless as gl
from goldless.cli import main


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    assert main(["simulate", "--items", "600", "--groups", "3,1,1,1,1,1", "--seed", "4", "-q", "-o", str(path)]) == 0
    return path


def read(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def test_labels_asked_for_can_be_filled_in_and_passed_back(votes, tmp_path, capsys):
    asked, known, labels = tmp_path / "ask.csv", tmp_path / "known.csv", tmp_path / "labels.csv"
    assert main(["ask", str(votes), "--ignore", "truth", "-n", "6", "-o", str(asked)]) == 0
    assert "Fill in the labels, then pass" in capsys.readouterr().err
    truth = {row["item"]: row["truth"] for row in read(votes)}
    rows = read(asked)
    assert len({row["item"] for row in rows}) == 6
    assert all(row["label"] == "" for row in rows)
    with known.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["item", "label"])
        writer.writerows([row["item"], truth[row["item"]]] for row in rows)
    assert main(["combine", str(votes), "--ignore", "truth", "--anchors", str(known), "-o", str(labels), "-q"]) == 0
    given = {row["item"]: row["label"] for row in read(labels)}
    assert all(given[row["item"]] == truth[row["item"]] for row in rows)


def test_ask_as_json(votes, capsys):
    assert main(["ask", str(votes), "--ignore", "truth", "-n", "3", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["items"]) == 3
    assert {"n_groupings", "enough", "how", "warnings"} <= set(answer)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,label\n999999,yes\n", "line 2: there is no item '999999'"),
        ("item,label\n1,perhaps\n", "line 2: the label 'perhaps' is not one of the votes' labels"),
        ("item,label\n1,yes\n1,no\n", "line 3: item '1' has two different labels"),
        ("item,label\n1,\n", "has no known labels"),
        ("a,b\n1,2\n", "its columns are 'a', 'b'"),
        ("", "its columns are missing"),
        ("item,label\n\xff\n", "cannot read the known labels"),
    ],
)
def test_known_labels_that_make_no_sense_are_one_line(votes, text, words, tmp_path, capsys):
    known = tmp_path / "known.csv"
    known.write_bytes(text.encode("latin-1"))
    assert main(["inspect", str(votes), "--ignore", "truth", "--anchors", str(known)]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert len(error.strip().splitlines()) == 1


def test_a_missing_file_of_labels_is_one_line(votes, capsys):
    assert main(["inspect", str(votes), "--ignore", "truth", "--anchors", "nowhere.csv"]) == 1
    assert "cannot read the known labels in nowhere.csv: no such file" in capsys.readouterr().err


def test_other_facts(votes, capsys):
    options = ["--ignore", "truth", "--class-balance", "0.4", "--trusted", "voter 4, voter 5", "--json"]
    assert main(["inspect", str(votes), *options]) == 0
    assert json.loads(capsys.readouterr().out)["votes"]["class_shares"][1] == pytest.approx(0.4, abs=0.01)


def test_known_labels_of_a_class_that_only_late_rows_hold(tmp_path, monkeypatch):
    monkeypatch.setattr("goldless.io.readers.stream._HEAD_ROWS", 64)
    X, _ = gl.simulate_votes(900, [1] * 7, n_classes=3, random_state=2, voter_accuracy=(0.8, 0.9))
    X = X.astype(int)
    X[:600][X[:600] == 0] = 1
    words = np.array(["a", "b", "c"])[X]
    rows = [f"i{number}," + ",".join(row) for number, row in enumerate(words)]
    lines = ["item," + ",".join(f"v{i}" for i in range(7)), *rows]
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "known.csv").write_text("item,label\ni3,b\ni899,a\n")
    votes, known, labels = (str(tmp_path / f"{name}.csv") for name in ("votes", "known", "labels"))
    assert main(["combine", votes, "--engine", "stream", "--anchors", known, "-o", labels, "-q"]) == 0
    written = (tmp_path / "labels.csv").read_text().splitlines()
    assert written[0].startswith("item,label,probability of a,probability of b")
    assert written[900].startswith("i899,a,")
