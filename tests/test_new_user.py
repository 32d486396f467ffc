"""Files and frames as new users have them: each is read as it is meant, or one question is asked."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import goldless as gl
from goldless.cli import main
from goldless.cli.errors import in_options

RNG = np.random.default_rng(1)
N, VOTERS = 90, ["ann", "bob", "cyd", "dan", "eve"]
ITEMS = [f"q{n:02d}" for n in range(N)]
Y = RNG.random(N) < 0.45
SAYS = np.where(RNG.random((N, 5)) < np.linspace(0.75, 0.9, 5), Y[:, None], ~Y[:, None])
WORDS = pd.DataFrame(np.where(SAYS, "Yes", "No"), ITEMS, VOTERS)
GRADES = pd.DataFrame(
    np.clip(np.round(2.2 + 1.6 * Y[:, None] + RNG.normal(0, 0.8, (N, 5))), 1, 5).astype(int), ITEMS, VOTERS
)
NAMED = {1: "1 - very bad", 2: "2 - bad", 3: "3 - ok", 4: "4 - good", 5: "5 - very good"}
LIKERT = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"]


def long(frame):
    return frame.rename_axis("item").reset_index().melt("item", var_name="worker", value_name="label")


def saved(frame, path, **how):
    frame.to_csv(path, index_label="item", **how)
    return path


@pytest.mark.parametrize("table", ["wide", "long"])
@pytest.mark.parametrize(
    "spell",
    ["{}/5", "{} / 5", "{} out of 5", "Score: {}", "[[{}]]", "{}.0", "stars", "named"],
)
def test_grades_in_text(tmp_path, spell, table):
    text = {grade: spell.format(grade) for grade in NAMED}
    text = NAMED if spell == "named" else {g: "\u2605" * g for g in NAMED} if spell == "stars" else text
    frame = GRADES.replace(text)
    path = saved(frame, tmp_path / "v.csv") if table == "wide" else tmp_path / "v.csv"
    if table == "long":
        long(frame).to_csv(path, index=False)
    found = gl.read_votes(path)
    assert str(found.reading).startswith("5 voters, grades 1-5")
    expected = gl.LatentSML().fit(GRADES)
    model = gl.LatentSML().fit(found)
    assert np.array_equal(model.predict(found), expected.predict(GRADES))
    stream = gl.VoteStream(path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Text was read as grades")  # what a stream says of its reading is a warning
        assert np.array_equal(gl.LatentSML().fit(stream).predict(stream), expected.predict(GRADES))
    if spell != "{}.0":
        assert "Text was read as grades" in str(found.notes[0])
        assert len(gl.read_votes(path, kind="labels").votes.classes) == 5


def test_numbered_names_of_classes_are_names(tmp_path):
    truth = RNG.integers(0, 5, 400)
    codes = np.where(RNG.random((400, 5)) < 0.7, truth[:, None], RNG.integers(0, 5, (400, 5)))
    names = np.array(["1 - cat", "2 - dog", "3 - cow", "4 - hen", "5 - pig"])
    table = gl.read_votes(saved(pd.DataFrame(names[codes], columns=VOTERS), tmp_path / "v.csv"))
    assert table.votes.classes.tolist() == names.tolist()


def test_text_of_grades_in_memory_is_pointed_out():
    for frame in (GRADES.astype(str), GRADES.astype(str) + "/5"):
        with pytest.warns(gl.VotesWarning, match="was read as names of 5 classes; if it means grades"):
            gl.MajorityVote().fit(frame)


@pytest.mark.parametrize("lower", [False, True])
def test_words_in_an_order_are_grades(tmp_path, lower):
    frame = GRADES.replace(dict(enumerate(LIKERT, 1)))
    order = LIKERT[::-1] if lower else LIKERT
    expected = gl.LatentSML().fit(GRADES).predict(GRADES) == 1
    told = {"kind": "ordinal", "classes": order}
    model = gl.LatentSML(**told, lower_is_positive=lower).fit(frame)
    assert np.array_equal(model.predict(frame) == 1, expected)
    model.save(tmp_path / "model.json")
    assert np.array_equal(gl.load(tmp_path / "model.json").predict(frame) == 1, expected)
    path = saved(frame, tmp_path / "v.csv")
    long(frame).to_csv(tmp_path / "long.csv", index=False)
    for file in (path, tmp_path / "long.csv"):
        found = gl.read_votes(file, **told, lower_is_positive=lower)
        assert "grades 0-4" in str(found.reading)
        assert np.array_equal(gl.LatentSML().fit(found).predict(found) == 1, expected)
    stream = gl.VoteStream(path, **told, lower_is_positive=lower)
    assert np.array_equal(gl.LatentSML().fit(stream).predict(stream) == 1, expected)
    notes = gl.read_votes(path).notes
    assert f"kind='ordinal' with classes={LIKERT!r} takes them for grades" in str(notes[0])
    assert f"--kind ordinal with --classes='{','.join(LIKERT)}' takes" in in_options(notes[0])


def test_truth_beside_lists_of_annotators(tmp_path):
    path = tmp_path / "v.jsonl"
    rows = [
        {"text": f"t{n}", "annotators": VOTERS, "annotations": says.tolist(), "label": bool(y)}
        for n, (says, y) in enumerate(zip(SAYS, Y, strict=True))
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    table = gl.read_votes(path)
    assert "('text', 'annotators', 'annotations')" in table.how
    assert "'label' was left out, for its name says that it is the truth" in str(table.notes[0])
    assert np.array_equal(np.asarray(table.votes.codes), SAYS)
    assert np.array_equal(gl.read_votes(path, truth="label").truth, Y)


def test_battles_in_a_table(tmp_path):
    rows = [
        {
            "question_id": n,
            "model_a": "x",
            "model_b": "y",
            "winner": "tie (bothbad)" if n % 9 == k else "model_a" if SAYS[n, k] else "model_b",
            "judge": VOTERS[k],
            "tstamp": 1e9 + n,
        }
        for n in range(N)
        for k in range(5)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "arena.csv", index=False)
    table = gl.read_votes(tmp_path / "arena.csv")
    assert (table.format, table.votes.classes.tolist()) == ("arena_csv", ["model_a", "model_b", "tie"])
    (note,) = table.notes
    assert str(note) == "'tie' is a third class: 11.1 % of the votes; if a tie is no answer, pass missing='tie'."


@pytest.mark.parametrize("told", [[], ["--tie", "class"], ["--tie", "missing"], ["--tie", "half"]])
def test_a_tie_of_few_voters_is_said(tmp_path, capsys, told):
    frame = WORDS.copy()
    frame.loc[frame.index[::7], "ann"] = "tie"
    path = saved(frame, tmp_path / "v.csv")
    assert main(["combine", str(path), "-o", str(tmp_path / "out.csv"), *told]) == 0
    said = " ".join(capsys.readouterr().err.split())
    sentence = "'tie' is a third class: 2.9 % of the votes, and 1 of 5 voters say it; if a tie is no answer, pass"
    assert (sentence in said) == (not told)


def test_a_class_that_few_voters_know_needs_a_voter_who_says_it():
    """Voters that never tie disagree on hard items; that is no evidence of a tie."""
    votes = WORDS.to_numpy(dtype=object)
    votes[::6, 0] = "tie"
    model = gl.LatentSML().fit(votes)
    labels = model.predict(votes)
    assert not ((labels == "tie") & (votes != "tie").all(axis=1)).any()
    assert model.predict(np.full((1, 5), None)).shape == (1,)
    assert (model.decision_function(votes).argmax(axis=1) == np.searchsorted(model.classes_, labels)).all()


def test_two_rows_keep_their_names(tmp_path):
    table = gl.read_votes(
        saved(pd.DataFrame([["a", "b"], ["b", "b"]], ["q00", "q01"], ["x", "y"]), tmp_path / "v.csv")
    )
    assert table.votes.items.tolist() == ["q00", "q01"]


ASKED = {
    "trailing blanks": (
        WORDS.replace({"ann": {"Yes": "Yes "}}),
        "'Yes' and 'Yes ' differ in capital letters or blanks",
    ),
    "empty text": (
        WORDS.replace({"ann": {"No": ""}}),
        r"'' in row \d+, column 'ann' may mean .* missing='' takes it",
    ),
    "nan as text": (WORDS.replace({"ann": {"No": "nan"}}), r"'nan' in row \d+, column 'ann' may mean"),
    "numbers of items": (WORDS.assign(id=range(N)), "Labels of different types"),
    "names of items": (
        pd.concat([WORDS.assign(id=WORDS.index + end) for end in "ab"]),
        "does a column name the items",
    ),
    "three dimensions": (
        np.zeros((4, 3, 2)),
        r"shape \(4, 3, 2\); of probabilities of several classes take those of",
    ),
    "a Series": (WORDS["ann"], "Expected 2D array, got 1D"),
    "no such voter": (GRADES, "there is no voter 'zoe' among the 5 columns"),
}


@pytest.mark.parametrize(("votes", "sentence"), ASKED.values(), ids=ASKED)
def test_one_question(votes, sentence):
    told = {"kind": {"zoe": "ordinal"}} if "zoe" in sentence else {}
    with pytest.raises(ValueError, match=sentence):
        gl.MajorityVote(**told).fit(votes)
    if isinstance(votes, np.ndarray) or votes.ndim == 1 or told:
        with pytest.raises(ValueError, match=sentence):
            gl.read_votes(votes, **told)


def test_a_structured_array_has_named_voters():
    votes = np.array([tuple(row) for row in SAYS.astype(int)], dtype=[(name, "i1") for name in VOTERS])
    model = gl.MajorityVote().fit(votes)
    assert model.feature_names_in_.tolist() == VOTERS
    assert np.array_equal(model.predict(votes), gl.MajorityVote().fit(SAYS.astype(int)).predict(SAYS.astype(int)))
    assert gl.read_votes(votes).voters == VOTERS


def test_a_column_called_truth_is_pointed_out():
    with pytest.warns(gl.VotesWarning, match="Column 'truth' was read as a voter, though its name says"):
        gl.MajorityVote().fit(WORDS.assign(truth=np.where(Y, "Yes", "No")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gl.MajorityVote().fit(gl.read_votes(WORDS.assign(truth=np.where(Y, "Yes", "No"))))


def test_a_voter_that_is_not_there(tmp_path, capsys):
    path = saved(GRADES, tmp_path / "v.csv")
    for option in (["--kind", "zoe=ordinal"], ["--lower-is-positive", "zoe"]):
        assert main(["inspect", str(path), *option]) == 1
        assert "there is no voter 'zoe' among the 5 columns" in capsys.readouterr().err


MISSING = RNG.random((N, 5)) < 0.1
CLASSES = RNG.integers(0, 4, (N, 1)) * np.ones((1, 5), dtype=int)
CODED = {
    "Snorkel, four classes": (np.where(MISSING, -1, CLASSES), -1),
    "grades": (np.where(MISSING, -1, GRADES), -1),
    "a survey's 99": (np.where(MISSING, 99, GRADES), 99),
    "probabilities": (np.where(MISSING, -1, RNG.random((N, 5)).round(3)), -1),
    "many probabilities": (np.where(MISSING, -1, RNG.random((N, 5))), -1),
}


@pytest.mark.parametrize("where", ["memory", "file", "stream"])
@pytest.mark.parametrize(("votes", "code"), CODED.values(), ids=CODED)
def test_a_number_that_often_means_no_vote_is_asked(tmp_path, where, votes, code):
    path = saved(pd.DataFrame(votes, ITEMS, VOTERS), tmp_path / "v.csv")
    read = {"memory": lambda: gl.encode_votes(votes), "file": lambda: gl.read_votes(path)}
    read["stream"] = lambda: gl.VoteStream(path).open()
    with pytest.raises(gl.VotesError, match=rf"{code} stands among .* missing={code} takes it for no vote") as caught:
        read[where]()
    assert f"--missing {code} takes it" in in_options(caught.value)
    told = gl.read_votes(path, missing=[code]).votes
    assert told.n_votes == (~MISSING).sum()


COUNTS = pd.DataFrame({"n_yes": SAYS.sum(axis=1), "n_no": (~SAYS).sum(axis=1)}, ITEMS)
QUESTIONS = long(WORDS.replace({"Yes": 1, "No": 0})).rename(columns={"label": "toxic"}).assign(insult=1, threat=0)
QUESTIONS.loc[::3, ["insult", "threat"]] = [0, 1]
NO_PANEL = {
    "counts": (COUNTS, r"'n_yes', 'n_no' of votes sum to 5 in every row: they count votes"),
    "counts and total": (COUNTS.assign(total=5), r"'n_yes', 'n_no' of votes sum to 5 in every row"),
    "several questions": (QUESTIONS, r"'worker' of votes names voters, and several .* votes by label='toxic'"),
}


@pytest.mark.parametrize(("frame", "sentence"), NO_PANEL.values(), ids=NO_PANEL)
def test_what_is_no_panel_is_asked(frame, sentence):
    with pytest.raises(gl.VotesError, match=sentence):
        gl.read_votes(frame)
    if "label=" in sentence:
        assert gl.read_votes(frame, label="toxic").n_voters == 5


@pytest.mark.parametrize("shape", ["scores and verdicts", "judgments beside messages"])
def test_records_of_judges(tmp_path, shape):
    rows = []
    for n, says in enumerate(SAYS.tolist()):
        verdicts = {name: "pass" if said else "fail" for name, said in zip(VOTERS, says, strict=True)}
        if shape == "scores and verdicts":
            rows.append({"id": n, "scores": dict.fromkeys(VOTERS, 0.25 * (n % 4)), "verdicts": verdicts})
        else:
            judged = [{"judge": name, "verdict": verdict} for name, verdict in verdicts.items()]
            rows.append({"id": n, "input": [{"role": "user", "content": "hi"}], "judgments": judged})
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = gl.read_votes(tmp_path / "v.jsonl")
    assert (table.voters, table.votes.classes.tolist()) == (VOTERS, ["fail", "pass"])
    assert np.array_equal(np.asarray(table.votes.codes), SAYS)
    assert "eft out" in str(table.notes[0])


def test_marks_of_thousands_are_no_decimal_commas(tmp_path):
    scores = RNG.integers(200, 9_000, (N, 5))
    table = gl.read_votes(saved(pd.DataFrame(scores, ITEMS, VOTERS).map("{:,}".format), tmp_path / "v.csv"))
    assert str(table.notes[0]) == "Commas within numbers were read as marks of thousands."
    assert np.array_equal(table.votes.answers, scores)
    decimals = pd.DataFrame(scores / 10_000, ITEMS, VOTERS).map(lambda score: f"{score:.3f}".replace(".", ","))
    table = gl.read_votes(saved(decimals, tmp_path / "v.csv", sep=";"))
    assert "decimal points" in str(table.notes[0])


def test_means_of_voters_and_comments_are_no_voters(tmp_path):
    """A comment of one word that happens to be a verdict is no voter, nor is what was made of the votes."""
    frame = GRADES.assign(comment="y", mean=GRADES.mean(axis=1), final_decision=WORDS["ann"])
    table = gl.read_votes(saved(frame, tmp_path / "v.csv"))
    assert table.voters == VOTERS
    assert "'mean', 'final_decision'" in str(table.notes[0])


def test_a_voter_whose_name_begins_like_a_mean_is_a_voter(tmp_path):
    frame = GRADES.rename(columns={VOTERS[0]: "mean_teacher", VOTERS[1]: "final_model"})
    table = gl.read_votes(saved(frame, tmp_path / "v.csv"))
    assert table.voters == ["mean_teacher", "final_model", *VOTERS[2:]]


def test_labels_without_names_of_annotators_are_asked(tmp_path):
    path = tmp_path / "snli.jsonl"
    rows = [{"pairID": f"p{n}", "annotator_labels": WORDS.iloc[n].tolist(), "sentence": "a"} for n in range(N)]
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(gl.VotesError, match="'annotator_labels' hold lists without a list of their voters"):
        gl.read_votes(path)


def test_judges_who_prefer(tmp_path):
    frame = long(WORDS.replace({"Yes": "response_1", "No": "response_2"}))
    frame.rename(columns={"worker": "judge_model", "label": "preferred"}).assign(rationale="so").to_csv(
        tmp_path / "v.csv"
    )
    assert "('item', 'judge_model', 'preferred')" in gl.read_votes(tmp_path / "v.csv").how


def test_a_table_of_markdown(tmp_path):
    rows = [f"| {item} | {' | '.join(says)} |" for item, says in zip(ITEMS, WORDS.to_numpy(), strict=True)]
    head = [f"| item | {' | '.join(VOTERS)} |", "|---|" + ":--:|" * 5]
    (tmp_path / "v.txt").write_text("\n".join([*head, *rows]))
    table = gl.read_votes(tmp_path / "v.txt")
    assert (table.voters, table.votes.items.tolist(), table.votes.classes.tolist()) == (VOTERS, ITEMS, ["No", "Yes"])
    assert gl.MajorityVote().fit(tmp_path / "v.txt").feature_names_in_.tolist() == VOTERS
