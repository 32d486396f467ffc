"""Panels of several kinds: words of some voters beside numbers of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import goldless as gl
from goldless.cli import main
from goldless.cli.errors import in_options

RNG = np.random.default_rng(0)
N = 400
Y = RNG.random(N) < 0.4
RIGHT = RNG.random(N) < 0.8
WORDS = np.where(Y == RIGHT, "pass", "fail")
NUMBERS = {
    "g1": np.clip(np.round(4 + 3 * Y + RNG.normal(0, 1.5, N)), 1, 10).astype(int),
    "g2": np.clip(np.round(3 + 3 * Y + RNG.normal(0, 1.5, N)), 1, 10).astype(int),
    "p1": np.round(1 / (1 + np.exp(1.5 - 3 * Y - RNG.normal(0, 1.5, N))), 3),
    "p2": np.round(1 / (1 + np.exp(1.5 - 3 * Y - RNG.normal(0, 1.5, N))), 3),
    "bin": ((RNG.random(N) < 0.8) == Y).astype(int),
}
PANEL = pd.DataFrame({"rule": WORDS, **NUMBERS}, index=[f"i{number}" for number in range(N)])
AS_NUMBERS = PANEL.assign(rule=(WORDS == "pass").astype(int))
KINDS = ("labels", "scores", "scores", "scores", "scores", "labels")
REFERENCE = gl.LatentSML().fit(AS_NUMBERS).predict(AS_NUMBERS)


def long(frame):
    return frame.rename_axis("item").reset_index().melt("item", var_name="voter", value_name="label")


@pytest.mark.parametrize(
    "votes",
    [
        PANEL,
        PANEL.to_numpy(dtype=object),
        PANEL.to_numpy(dtype=object).tolist(),
        PANEL.astype({"rule": "category"}),
        PANEL.assign(rule=WORDS == "pass"),
        PANEL.assign(rule=np.where(WORDS == "pass", " Yes", "NO")),
        pl.from_pandas(PANEL),
        pl.from_pandas(PANEL.assign(rule=WORDS == "pass")),
        [PANEL[:150], PANEL[150:]],
        long(PANEL),
    ],
    ids=["pandas", "objects", "lists", "category", "bool", "spelling", "polars", "polars bool", "blocks", "long"],
)
def test_words_beside_numbers_are_labels_of_two(votes):
    model = gl.LatentSML().fit(votes)
    assert model.kinds_ == KINDS
    labels = model.predict(votes)
    assert np.array_equal(labels == model.classes_[1], REFERENCE == 1)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "long.csv"])
def test_files_of_words_beside_numbers(tmp_path, ending):
    path = tmp_path / f"votes.{ending}"
    if ending == "csv":
        PANEL.to_csv(path, index_label="item")
    elif ending == "parquet":
        PANEL.to_parquet(path)
    elif ending == "jsonl":
        PANEL.reset_index(names="item").to_json(path, orient="records", lines=True)
    else:
        long(PANEL).to_csv(path, index=False)
    table = gl.read_votes(path)
    assert "2 with labels, 4 with scores (ordered, higher = positive, 'pass' = positive" in str(table.reading)
    expected = np.where(REFERENCE == 1, "pass", "fail").tolist()
    model = gl.LatentSML().fit(table)
    assert (model.kinds_, model.predict(table).tolist()) == (KINDS, expected)
    assert gl.LatentSML().fit(gl.VoteStream(path)).predict(gl.VoteStream(path)).tolist() == expected
    out = tmp_path / "labels.csv"
    assert main(["combine", str(path), "-o", str(out)]) == 0
    written = pd.read_csv(out, dtype=str)
    assert written["label"].tolist() == expected
    assert written.iloc[:, 0].tolist() == PANEL.index.tolist()


def test_a_fit_knows_its_words(tmp_path):
    model = gl.LatentSML().fit(PANEL)
    labels = model.predict(PANEL)
    model.save(tmp_path / "model.json")
    assert np.array_equal(gl.load(tmp_path / "model.json").predict(PANEL), labels)
    assert np.array_equal(model.predict(PANEL[PANEL.columns[::-1]]), labels)
    with pytest.raises(gl.VotesError, match=r"'maybe' in row 0, column 'rule' is not one of the words"):
        model.predict(PANEL.assign(rule="maybe"))
    assert model.predict(PANEL.assign(rule="maybe"), unknown="missing").shape == (N,)
    assert model.subset([0, 1, 2]).predict(PANEL[["rule", "g1", "g2"]]).shape == (N,)


def test_which_word_is_positive(tmp_path):
    letters = PANEL.assign(rule=np.where(WORDS == "pass", "A", "B"))
    with pytest.raises(gl.VotesError, match=r"nobody says which of them is positive; positive='B' says") as caught:
        gl.LatentSML().fit(letters)
    assert "--positive B" in in_options(caught.value)
    for said in ({"positive": "A"}, {"classes": ["B", "A"]}):
        model = gl.LatentSML(**said).fit(letters)
        assert np.array_equal(model.predict(letters) == "A", REFERENCE == 1)
    turned = gl.LatentSML(positive="fail", lower_is_positive=True).fit(PANEL.drop(columns="bin"))
    assert list(turned.classes_) == ["pass", "fail"]
    assert np.mean((turned.predict(PANEL.drop(columns="bin")) == "fail") == (REFERENCE == 0)) > 0.95
    with pytest.raises(gl.VotesError, match="The positive label 'paas' is not one of the words"):
        gl.LatentSML(positive="paas").fit(PANEL)
    path = tmp_path / "votes.csv"
    letters[["rule", "g1", "g2"]].to_csv(path)  # two letters may be anything: left out, and how to have it is said
    table = gl.read_votes(path)
    assert "'rule'; if it is a voter, pass kind={'rule': 'labels'}" in " ".join(map(str, table.notes))
    assert gl.read_votes(path, kind={"rule": "labels"}, positive="A").reading is not None


def test_what_is_no_verdict_beside_numbers_is_asked():
    three = PANEL.assign(rule=np.where(np.arange(N) % 7 == 0, "maybe", WORDS))
    with pytest.raises(gl.VotesError, match=r"says 3 words, 'fail', 'maybe', 'pass', beside numbers of others"):
        gl.LatentSML().fit(three)
    assert gl.LatentSML(missing="maybe").fit(three).kinds_ == KINDS
    with pytest.raises(gl.VotesError, match="holds words such as 'fail', column 1 numbers as text"):
        gl.LatentSML().fit(PANEL.to_numpy(dtype=str))
    with pytest.raises(
        gl.VotesError, match="holds words such as 'fail', column 2 numbers as text"
    ):  # the first says nothing
        gl.LatentSML(missing="").fit(np.column_stack([np.full(N, ""), PANEL.to_numpy(dtype=str)]))
    mixed = long(PANEL).astype(object)
    mixed.loc[mixed["voter"] == "g1", "label"] = [*PANEL["g1"][:-1].tolist(), "pass"]
    with pytest.raises(gl.VotesError, match="'pass' of voter 'g1' stands among numbers"):
        gl.read_votes(mixed)


def test_probabilities_beside_grades_are_asked(tmp_path):
    path = tmp_path / "votes.csv"
    PANEL.drop(columns="rule").to_csv(path)
    with pytest.raises(gl.VotesError, match=r"'p1', 'p2' hold numbers from 0 to 1") as caught:
        gl.read_votes(path)
    assert "--kind p1=probabilities --kind p2=probabilities; otherwise" in in_options(caught.value)
    said = gl.read_votes(path, kind={"p1": "probabilities", "p2": "probabilities"})
    assert said.votes.bins.kinds == ("scores", "scores", "probabilities", "probabilities", "labels")


def test_votes_of_0_and_1_beside_grades(tmp_path):
    """One voter of two labels must not make eleven classes of the grades of the others."""
    panel = PANEL[["g1", "g2", "bin"]]
    model = gl.LatentSML().fit(panel)
    assert model.kinds_ == ("ordinal", "ordinal", "labels")
    panel.to_csv(tmp_path / "votes.csv")
    table = gl.read_votes(tmp_path / "votes.csv")
    assert np.array_equal(gl.LatentSML().fit(table).predict(table), model.predict(panel))


def test_a_cut_of_the_users_own_is_for_numbers():
    """A voter that says pass is positive, though 1 is below the cut of the grades."""
    panel = PANEL[["rule", "g1", "g2"]]
    model = gl.MajorityVote(positive_from=7).fit(panel)
    assert model.fitted_.bins.above_cut[0].tolist()[:2] == [0.0, 1.0]


@pytest.mark.parametrize("positive", [None, "yes"])
def test_words_beside_0_and_1(positive):
    panel = pd.DataFrame(
        {"a": np.where(WORDS == "pass", "yes", "no"), "b": NUMBERS["bin"], "c": (np.roll(RIGHT, 7) == Y).astype(int)}
    )
    model = gl.LatentSML(positive=positive).fit(panel)
    assert list(model.classes_) == ["no", "yes"]
    assert model.score(panel, np.where(Y, "yes", "no")) > 0.7


def test_truth_and_words_need_not_be_spelt_alike(tmp_path):
    PANEL.assign(truth=Y.astype(int)).to_csv(tmp_path / "votes.csv")
    table = gl.read_votes(tmp_path / "votes.csv", truth="truth")
    assert np.array_equal(table.truth, Y)


def test_true_and_1_are_one_label():
    panel = pd.DataFrame({"a": WORDS == "pass", "b": NUMBERS["bin"], "c": np.roll(NUMBERS["bin"], 3)})
    model = gl.MajorityVote().fit(panel)
    assert model.fitted_.bins is None
    assert np.array_equal(model.predict(panel), gl.MajorityVote().fit(panel.astype(int)).predict(panel.astype(int)))
