"""Bad input gets one clear sentence that names the place and the way out; odd input a warning, and no influence."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from goldless import (
    DawidSkene,
    LatentSML,
    MajorityVote,
    OracleCI,
    OracleLatent,
    PaperOptions,
    SpectralMetaLearner,
    VotesError,
    VoteStream,
    VotesWarning,
    balanced_accuracy,
    conditional_covariance,
    encode_votes,
    random_model,
    simulate_votes,
)
from goldless.cli.errors import in_options
from goldless.errors import HINTS

X, Y = simulate_votes(400, groups=[3, 1, 1, 1], random_state=0, voter_accuracy=(0.75, 0.9), group_accuracy=(0.7, 0.9))
LEARNERS = [
    MajorityVote(),
    DawidSkene(),
    SpectralMetaLearner(),
    SpectralMetaLearner(em=False, imbalance="tensor"),
    LatentSML(structure="paper"),
    LatentSML(structure="independent", paper=PaperOptions(em=False)),
    OracleCI(),
]
by_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def table(*rows):
    return np.array(rows, dtype=object)


REFUSED = {
    "sparse": (scipy.sparse.csr_matrix([[0, 1]]), ValueError, "only one class occurs"),
    "one dimension": ([0, 1, 1], ValueError, "Expected 2D array, got 1D .* Reshape your data"),
    "three dimensions": (np.zeros((2, 2, 2)), ValueError, "Expected 2D array, got 3D"),
    "None": (None, TypeError, "got a NoneType"),
    "ragged": ([[0, 1], [1]], ValueError, "rows have different lengths"),
    "no items": (np.empty((0, 3)), ValueError, r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
    "no voters": (np.empty((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
    "empty frame": (pl.DataFrame(), ValueError, r"0 sample\(s\)"),
    "complex": (np.array([[0, 1j]]), ValueError, "Complex data not supported"),
    "infinite": ([[0, 1], [1, np.inf]], ValueError, r"infinity \(inf\) in row 1, column 1: .* NaN"),
    "infinite in a frame": (pd.DataFrame({"a": [0, 1], "b": [-np.inf, 1]}), ValueError, "in row 0, column 'b'"),
    "infinite object": (table([0, 1, np.inf]), ValueError, "in row 0, column 2"),
    "many": (
        np.arange(600).astype(str).reshape(60, 10),
        VotesError,
        r"at least 600 different labels, such as '0', '1', '10', '100', '101', \.\.\.; are these scores\?",
    ),
    "capitals": (table(["Yes", "no"], ["yes", None]), VotesError, "'Yes' and 'yes' differ in capital letters only"),
    "minus one, zero, one": (
        [[-1, 0, 1]],
        VotesError,
        r"missing=0 if .*, missing=-1 if .*, classes=\[-1, 0, 1\] for three classes, or kind='ordinal'",
    ),
    "one class": ([[1, 1], [1, 1]], ValueError, r"only one class occurs in the votes \(1\)"),
    "all missing": ([[None, np.nan]], ValueError, "all votes are missing"),
    "mixed types": (table([1, "a"], [0, "b"]), ValueError, "such as 'a' and numbers such as 0 in row 1, column 0"),
    "mixed list": ([[1, "a"]], ValueError, "Labels of different types"),
    "mixed columns": (pd.DataFrame({"n": [0, 1], "s": ["a", "b"]}), ValueError, "different types.*column 'n'"),
    "lists": (table([0, None], [1, None]), TypeError, "the vote in row 1, column 1 is a list"),
    "lists in a frame": (pl.DataFrame({"a": [[1], [0]]}), TypeError, "the vote in row 0, column 'a' is a"),
    "same name": (pd.DataFrame([[0, 1]], columns=["a", "a"]), ValueError, "Two columns have the name 'a'"),
}  # fmt: skip
REFUSED["lists"][0][1, 1] = [1, 0]


@pytest.mark.parametrize(("votes", "error", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_votes_that_cannot_be_read_are_refused(votes, error, sentence):
    for reader in (encode_votes, MajorityVote().fit, LatentSML().fit):
        with pytest.raises(error, match=sentence) as raised:
            reader(votes)
        assert "\n" not in str(raised.value)


def test_a_path_to_nothing():
    with pytest.raises(ValueError, match=r"cannot read votes\.csv: no such file"):
        LatentSML().fit("votes.csv")


@pytest.mark.parametrize("name", ["missing", "positive"])
def test_several_labels_where_one_is_asked(name):
    with pytest.raises(TypeError, match=rf"{name} must be one label, got the list \[0, 1\]"):
        encode_votes([[0, 1]], **{name: [0, 1]})


def test_positive_that_never_occurs():
    with pytest.raises(ValueError, match="The positive label 'yes' is not one of the labels 0, 1"):
        encode_votes([[0, 1]], positive="yes")


@by_learner
def test_fewer_voters_than_needed(learner):
    if learner._least_voters() == 3:
        with pytest.raises(ValueError, match=r"needs 3 voters, got 2 .* use MajorityVote"):
            learner.fit(X[:, :2])
    elif learner._voters_to_judge:
        with pytest.warns(VotesWarning, match=r"Only 2 different .* are a guess"):
            learner.fit(X[:, :2])
    else:
        learner.fit(X[:, :2], Y)


@by_learner
def test_fewer_voters_that_say_something_than_needed(learner):
    silent = np.column_stack([np.ones((400, 3)), np.full((400, 1), np.nan), X[:, :1]])
    if learner._least_voters() == 3:
        with pytest.warns(VotesWarning), pytest.raises(ValueError, match=r"needs 3 different .* only 1 among 5"):
            learner.fit(silent)
    else:
        with pytest.warns(VotesWarning):
            learner.fit(silent, Y)


def test_a_vote_without_any_voter_that_uses_both_classes():
    with pytest.warns(VotesWarning), pytest.raises(ValueError, match="none of 2 voters uses both classes"):
        MajorityVote().fit([[0, 1], [0, 1]])


# -- classes that are listed ---------------------------------------------------------------------------------

THREE = np.array([[-1, 0, 1], [0, 0, 1], [1, 1, 1], [-1, -1, 0]] * 10)


def test_listed_classes_settle_what_minus_one_zero_and_one_mean():
    votes = encode_votes(THREE, classes=[-1, 0, 1])
    np.testing.assert_array_equal(votes.codes, THREE + 1)
    model = MajorityVote(classes=[-1, 0, 1]).fit(THREE)
    assert model.classes_.tolist() == [-1, 0, 1]
    np.testing.assert_array_equal(model.predict(THREE[1:4]), [0, 1, -1])
    np.testing.assert_array_equal(MajorityVote(classes=[1, 0, -1]).fit(THREE).classes_, [1, 0, -1])
    as_stream = MajorityVote().fit(VoteStream(np.split(THREE, 8), classes=[-1, 0, 1]))
    np.testing.assert_array_equal(as_stream.predict(THREE), model.predict(THREE))


def test_a_class_that_nobody_votes_for_is_a_warning():
    votes = np.where(X == 1, "yes", "no")
    with pytest.warns(VotesWarning, match="Nobody votes for 'maybe'"):
        model = DawidSkene(classes=["maybe", "no", "yes"]).fit(votes)
    assert model.predict_proba(votes).shape == (400, 3)
    np.testing.assert_array_equal(model.predict(votes), DawidSkene().fit(votes).predict(votes))


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [
        (["no"], "Two classes or more must be listed, got 'no'"),
        (["no", "yes", "no"], "The listed classes hold 'no' twice"),
        (["no", "yes", "skip"], "'skip' is listed as a class and as 'no vote'"),
        (
            ["no", "maybe"],
            r"Unknown label 'yes' in row 0, column 0: the classes are 'no', 'maybe'; add it to classes=...",
        ),
    ],
)
def test_lists_of_classes_that_cannot_be(classes, sentence):
    with pytest.raises(VotesError, match=sentence):
        MajorityVote(classes=classes, missing="skip").fit(table(["yes", "no", "no"], ["no", "yes", None]))


def test_one_string_is_no_list_of_classes():
    with pytest.raises(TypeError, match="classes must be a list of labels, got the one string 'ab'"):
        MajorityVote(classes="ab").fit(table(["a", "b"]))


def test_a_positive_class_is_one_of_two():
    assert encode_votes([["a", "b"]], classes=["b", "a"], positive="b").classes.tolist() == ["a", "b"]
    with pytest.raises(
        VotesError, match=r"A positive label is for two classes, and there are 3: .*; leave out positive="
    ):
        encode_votes([["a", "b", "c"]], positive="c")


def test_facts_of_classes_that_are_not_there():
    votes = np.array([["a", "b", "c"], ["b", "b", "a"], ["c", "c", "c"], ["a", "a", "b"]] * 30)
    with pytest.raises(
        VotesError, match="anchors: Unknown label 'd' of row 7: the classes are 'a', 'b', 'c'; list all"
    ):
        LatentSML().fit(votes, anchors={3: "a", 7: "d"})
    with pytest.raises(ValueError, match=r"class_balance must be positive shares that sum to 1, got a sum of 1\.1"):
        LatentSML().fit(votes, class_balance=[0.5, 0.3, 0.3])


# -- the same error in other words -----------------------------------------------------------------------------


def raised(votes, **rules):
    with pytest.raises(VotesError) as caught:
        encode_votes(votes, **rules)
    return caught.value


def test_errors_say_what_they_are_and_where():
    error = raised([["a", "b"], ["b", "x"]], classes=["a", "b"])
    assert (error.kind, error.hint, error.where) == ("unknown-label", "unseen", {"row": 1, "column": 1, "label": "x"})
    again = pickle.loads(pickle.dumps(error.within("votes", file="votes")))
    assert str(again) == f"votes: {error}"
    assert again.where == {"file": "votes", **error.where}


def test_python_names_parameters_and_the_command_line_options(tmp_path):
    error = raised([[-1, 0, 1]])
    assert "pass missing=0 if -1 and 1 are the classes, missing=-1 if" in str(error)
    assert "pass --missing 0 if -1 and 1 are the classes, --missing -1 if" in in_options(error)
    assert in_options(error).endswith("--classes=-1,0,1 for three classes, or --kind ordinal for three grades")
    unseen = raised([["x"]], classes=["a", "b"])
    assert in_options(unseen) == "Unknown label 'x' in row 0, column 0: the classes are 'a', 'b'"
    path = tmp_path / "votes.csv"
    path.write_text("a,b,n\n" + "".join(f"1,0,{row}\n" for row in range(200)))
    for read in (LatentSML().fit, lambda path: LatentSML().fit(VoteStream(path))):
        with pytest.raises(VotesError, match=r"pass it as id_column=\.\.\.; if it is no voter, as ignore=") as caught:
            read(path)
        assert "--" not in str(caught.value)
        assert "pass it as --id-column; if it is no voter, as --ignore" in in_options(caught.value)


@pytest.mark.parametrize("hint", HINTS)
def test_every_hint_can_be_said_to_everybody(hint):
    arguments = {"lacking": ["item", "voter"], "library": "pyarrow", "column": "'truth'", "option": ["table"]}
    arguments |= {"word": "'refused'", "first": "'a.csv'", "one": "'q'", "other": "'who'", "votes": "'said'"}
    error = VotesError("kind", "seen", hint, **arguments)
    assert "{" not in str(error).replace('{"judge"', "")
    assert "=..." not in in_options(error)


# -- at predict ---------------------------------------------------------------------------------------------


@by_learner
def test_not_fitted(learner):
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(clone(learner), method)(X)
    with pytest.raises(NotFittedError):
        clone(learner).save("never.json")


@by_learner
def test_labels_unseen_at_fit_are_named(learner):
    learner.fit(X, Y)
    for strange in (7, np.inf):
        votes = X[:3].astype(float)
        votes[2, 1] = strange
        with pytest.raises(ValueError, match=rf"Unknown label {float(strange)} in row 2, column 1: .* -1, 1"):
            learner.predict(votes)


def test_labels_of_another_type_are_unknown():
    model = MajorityVote().fit(X)
    with pytest.raises(ValueError, match="Unknown label 'yes' in row 0, column 0: the classes are -1, 1"):
        model.predict(np.full((2, X.shape[1]), "yes"))


@by_learner
def test_wrong_number_of_columns(learner):
    with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 6 features as input"):
        learner.fit(X, Y).predict(X[:, :4])


def test_no_items_to_predict():
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        MajorityVote().fit(X).predict(X[:0])


# -- weights, truth and parameters --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.ones(3), r"one count for each of 400 rows, got shape \(3,\)"),
        (np.ones((400, 1)), r"got shape \(400, 1\)"),
        (np.r_[1.0, 0.5, np.ones(398)], r"whole number, not 0.5 \(row 1\)"),
        (np.r_[np.ones(399), -1], r"whole number, not -1.0 \(row 399\)"),
        (np.r_[np.ones(399), np.nan], "finite numbers"),
        (np.array(["a"] * 400), "finite numbers"),
        (np.zeros(400), "zero everywhere"),
        (np.full(400, 2.0**52), r"fewer than 2\*\*53"),
        (np.full(400, 1e300), r"fewer than 2\*\*53"),
    ],
)
def test_weights_that_count_nothing(weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        DawidSkene().fit(X, sample_weight=weights)


@pytest.mark.parametrize(
    ("truth", "sentence"),
    [
        (Y[:5], r"one label for each of 400 items, got shape \(5,\)"),
        (np.where(np.arange(400) == 7, 3, Y), r"y holds 3 in row 7: .* -1, 1"),
        (np.where(np.arange(400) == 7, np.nan, Y), "y holds nan in row 7"),
        (np.full(400, "yes"), "y holds 'yes' in row 0"),
    ],
)
def test_truth_that_does_not_belong_to_the_votes(truth, sentence):
    with pytest.raises(ValueError, match=sentence):
        OracleCI().fit(X, truth)
    with pytest.raises(ValueError, match=sentence):
        conditional_covariance(X, truth)


def test_oracles_need_their_knowledge():
    with pytest.raises(ValueError, match="requires y"):
        OracleCI().fit(X)
    with pytest.raises(ValueError, match="needs the true model"):
        OracleLatent().fit(X)
    with pytest.raises(ValueError, match="the model has 3 voters, the votes have 6"):
        OracleLatent(random_model([1, 1, 1])).fit(X)


def test_covariance_within_a_class_needs_two_items():
    with pytest.raises(ValueError, match="two items of each class"):
        conditional_covariance([[0, 1, 0], [1, 1, 0], [0, 0, 1]], [0, 1, 0])


@pytest.mark.parametrize(
    ("truth", "labels", "sentence"),
    [([], [], "no items"), ([0, 1], [0], "equal length"), ([0, np.nan], [0, 1], "no label for item 1"),
     (["a", None], ["a", "b"], "no label for item 1")],
)  # fmt: skip
def test_scores_of_nothing(truth, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        balanced_accuracy(truth, labels)


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (DawidSkene(decision="mean"), "decision must be 'ml' or 'map', got 'mean'"),
        (OracleCI(decision="mean"), "decision must be 'ml' or 'map', got 'mean'"),
        (DawidSkene(prior=(1,)), "prior must be two pseudo-counts"),
        (SpectralMetaLearner(prior=(1, -1)), "prior must be two pseudo-counts"),
        (DawidSkene(max_iter=0), "max_iter must be at least 1, got 0"),
        (SpectralMetaLearner(imbalance=1.0), "between -1 and 1"),
        (SpectralMetaLearner(imbalance="guess"), "imbalance must be a number or one of"),
        (LatentSML(structure="guess"), "structure must be .* got 'guess'"),
        (LatentSML(structure=[0, 1]), "one group for each of 6 voters"),
    ],
    ids=repr,
)
def test_parameters_are_checked_at_fit(estimator, sentence):
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(X, Y)


@by_learner
def test_a_fit_that_fails_leaves_nothing_of_an_earlier_one(learner):
    model = clone(learner).fit(X, Y)
    with pytest.raises(ValueError, match="only one class occurs"):
        model.fit(np.ones_like(X), Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


# -- what carries no information changes nothing ------------------------------------------------------------

USELESS = {
    "constant": np.ones(400),
    "other constant": -np.ones(400),
    "all missing": np.full(400, np.nan),
}


def accuracies(model):
    return np.stack([model.sensitivity_, model.specificity_, model.balanced_accuracy_])


@by_learner
@pytest.mark.parametrize("column", USELESS.values(), ids=USELESS.keys())
@pytest.mark.parametrize("position", [0, 6])
def test_a_voter_without_information_changes_nothing(learner, column, position, seed):
    """Labels and accuracies of the others are the same bits; its own balanced accuracy is one half."""
    votes, truth = simulate_votes(400, groups=[3, 1, 1, 1], missing_rate=0.1, random_state=seed + 1)
    alone = clone(learner).fit(votes, truth)
    crowded = np.insert(votes, position, column, axis=1)
    sentence = "No votes at all from" if np.isnan(column).all() else "Always the same vote from"
    with pytest.warns(VotesWarning) as caught:
        model = clone(learner).fit(crowded, truth)
    sentence += f" column {position}: ignored (accuracy set to 0.5)."
    assert [str(warning.message) for warning in caught] == [sentence]
    others = np.arange(7) != position
    np.testing.assert_array_equal(accuracies(model)[:, others], accuracies(alone))
    assert model.balanced_accuracy_[position] == 0.5
    assert model.class_balance_ == alone.class_balance_
    np.testing.assert_array_equal(model.predict(crowded), alone.predict(votes))
    np.testing.assert_allclose(model.predict_proba(crowded), alone.predict_proba(votes), rtol=0, atol=1e-12)


@by_learner
def test_an_item_without_votes_changes_nothing(learner):
    """Its own label is that of a tie, or the more probable class if that is what decides."""
    votes, truth = simulate_votes(300, groups=[3, 1, 1, 1], imbalance=0.3, missing_rate=0.1, random_state=8)
    alone = clone(learner).fit(votes, truth)
    empty = np.insert(votes, [0, 5, 300], np.nan, axis=0)
    truth_too = np.insert(truth, [0, 5, 300], alone.classes_[[0, 1, 1]])
    with pytest.warns(VotesWarning, match=r"3 item\(s\) without any vote, the first in row 0") as caught:
        model = clone(learner).fit(empty, truth_too)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(accuracies(model), accuracies(alone))
    is_empty = np.isnan(empty).all(axis=1)
    labels = model.predict(empty)
    np.testing.assert_array_equal(labels[~is_empty], alone.predict(votes))
    by_balance = getattr(learner, "decision", "ml") == "map"
    assert set(labels[is_empty]) == {np.sign(model.imbalance_ if by_balance else np.nansum(votes))}
    assert np.isfinite(model.predict_proba(empty)).all()


def test_rows_of_no_weight_are_not_there():
    votes, _ = simulate_votes(200, groups=[1] * 5, random_state=4)
    weighted = np.vstack([votes, np.full((2, 5), np.nan), votes[:7]])
    model = DawidSkene().fit(weighted, sample_weight=np.r_[np.ones(200), np.zeros(9)])
    np.testing.assert_array_equal(accuracies(model), accuracies(DawidSkene().fit(votes)))


# -- warnings -----------------------------------------------------------------------------------------------


def test_voters_are_named_as_in_the_frame():
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(same=1, silent=np.nan, copy=X[:, 2])
    with pytest.warns(VotesWarning) as caught:
        MajorityVote().fit(frame)
    messages = sorted(str(warning.message) for warning in caught)
    assert [re.findall(r"'(.*?)'", message) for message in messages] == [["same"], ["copy", "c"], ["silent"]]
    assert {warning.filename for warning in caught} == {__file__}


def test_many_odd_voters_are_one_warning():
    with pytest.warns(VotesWarning, match=r"column 6, .* and 4 more") as caught:
        MajorityVote().fit(np.column_stack([X, np.ones((400, 9), dtype=int)]))
    assert len(caught) == 1


def test_exact_copies_are_named_and_their_effect_is_said():
    copied = np.column_stack([X, X[:, 1]])
    with pytest.warns(VotesWarning, match="copies among the voters: column 6 of column 1; each still counts"):
        DawidSkene().fit(copied)
    with pytest.warns(VotesWarning, match="column 6 of column 1; a voter and its copies count as one"):
        LatentSML().fit(copied)


def test_a_transposed_matrix_is_suspected():
    votes, _ = simulate_votes(30, groups=[1] * 100, random_state=0)
    with pytest.warns(VotesWarning, match="100 columns but only 30 rows: .* pass the transpose"):
        MajorityVote().fit(votes)


def test_ordinary_votes_raise_no_warning():
    """Warnings are errors here, so that fitting is the test."""
    for learner in LEARNERS:
        clone(learner).fit(X, Y).predict_proba(X)
