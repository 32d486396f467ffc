"""Votes of any type to codes, and back."""

from __future__ import annotations

import datetime
import enum
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldless import encode_votes
from goldless.votes.alphabet import MISSING, UNKNOWN, Alphabet, LabelRules, NewLabels, as_read, distinct_labels

CODES = np.array([[0, 1, -1], [1, 1, 0], [-1, 0, 1], [0, 0, 1]], dtype=np.int8)


class Verdict(enum.Enum):
    """Labels without an order."""

    HAM = "ham"
    SPAM = "spam"


def as_objects(codes, negative, positive, nothing=None):
    """Write codes out in the given labels, as an object array."""
    X = np.empty(codes.shape, dtype=object)
    for place in np.ndindex(codes.shape):
        X[place] = (nothing, negative, positive)[codes[place] + 1]
    return X


PAIRS = {
    "int": (0, 1),
    "negative int": (-1, 1),
    "large int": (7, 2**40),
    "float": (0.5, 1.5),
    "bool": (False, True),
    "str": ("no", "yes"),
    "empty str": ("", "x"),
    "bytes": (b"a", b"b"),
    "date": (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)),
    "decimal": (Decimal("0.1"), Decimal("0.2")),
    "tuple": (("a", 1), ("b",)),
    "enum": (Verdict.HAM, Verdict.SPAM),
}


@pytest.mark.parametrize("nothing", [None, np.nan, float("nan"), pd.NA, pd.NaT], ids=repr)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_two_labels_of_any_type_are_a_binary_problem(pair, nothing):
    votes = encode_votes(as_objects(CODES, *pair, nothing))
    np.testing.assert_array_equal(votes.codes, CODES)
    assert votes.codes.dtype == np.int8
    assert votes.classes.shape == (2,)
    assert tuple(votes.classes) == pair


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1], dtype=np.int8),
        np.array([-1, 1]),
        np.array([0, 200], dtype=np.uint8),
        np.array([0.0, 1.0]),
        np.array([0.0, 1.0], dtype=np.float32),
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array([b"no", b"yes"]),
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
        np.array([1, 2], dtype="timedelta64[s]"),
    ],
    ids=lambda labels: labels.dtype.str,
)
def test_classes_keep_the_type_of_the_array(labels):
    complete = np.array([[0, 1, 1], [1, 0, 1]])
    votes = encode_votes(labels[complete])
    np.testing.assert_array_equal(votes.codes, complete)
    assert votes.classes.dtype == labels.dtype
    np.testing.assert_array_equal(votes.classes, labels)


@pytest.mark.parametrize("nothing", ["nan", "NaT"])
def test_missing_values_of_float_and_time_arrays(nothing):
    kind = {"nan": "float64", "NaT": "datetime64[D]"}[nothing]
    X = np.array([["0", "1", nothing], ["1", nothing, "0"]]).astype(kind)
    np.testing.assert_array_equal(encode_votes(X).codes, [[0, 1, -1], [1, -1, 0]])


@given(
    labels=st.one_of(
        st.lists(st.integers(-(2**60), 2**60), min_size=2, max_size=2, unique=True),
        st.lists(st.text(max_size=4), min_size=2, max_size=2, unique=True),
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2, unique=True),
        st.just([False, True]),
    ),
    codes=st.lists(st.tuples(*[st.integers(-1, 1)] * 4), min_size=1, max_size=12),
    as_list=st.booleans(),
)
def test_codes_to_labels_and_back(labels, codes, as_list):
    negative, positive = sorted(labels)
    codes = np.array([[0, 1, 0, 1], *codes], dtype=np.int8)  # both classes occur
    X = as_objects(codes, negative, positive)
    votes = encode_votes(X.tolist() if as_list else X)
    np.testing.assert_array_equal(votes.codes, codes)
    back = as_objects(votes.codes, *votes.classes.tolist())
    assert back.tolist() == X.tolist()


@pytest.mark.parametrize("dtype", ["int8", "float64", "U3", "object"])
def test_memory_layout_is_irrelevant(dtype):
    X = np.array(["0", "1"])[np.array([[0, 1, 1], [1, 0, 0], [1, 1, 0]])].astype(dtype)
    expected = encode_votes(X)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    for same in (np.asfortranarray(X), X[::-1][::-1], wide):
        votes = encode_votes(same)
        np.testing.assert_array_equal(votes.codes, expected.codes)
        assert votes.codes.flags.c_contiguous


def test_the_input_is_left_alone():
    for X in (np.array([[0.0, 1, np.nan]]), np.array([["a", None, "b"]], dtype=object)):
        before = X.copy()
        encode_votes(X, missing="c").codes[:] = 0
        np.testing.assert_array_equal(X, before)


def test_lists_with_a_string_and_nan_keep_nan_missing():
    """Numpy alone would make the string 'nan' of it."""
    np.testing.assert_array_equal(encode_votes([["a", np.nan], ["b", "a"]]).codes, [[0, -1], [1, 0]])


def test_masked_entries_are_missing():
    X = np.ma.array([[0, 1, 5], [1, 0, 1]], mask=[[0, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(encode_votes(X).codes, [[0, 1, -1], [1, -1, 1]])


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy 1")
def test_numpy_strings_with_missing_entries():
    X = np.array([["a", None, "b"]], dtype=np.dtypes.StringDType(na_object=None))
    np.testing.assert_array_equal(encode_votes(X).codes, [[0, -1, 1]])


@pytest.mark.parametrize("dtype", ["int8", "int64", "float64", "object"])
@pytest.mark.parametrize(
    ("missing", "classes", "codes"), [(0, [-1, 1], [[0, -1, 1], [1, 0, 0]]), (-1, [0, 1], [[-1, 0, 1], [1, -1, -1]])]
)
def test_missing_names_the_label_that_is_no_vote(dtype, missing, classes, codes):
    votes = encode_votes(np.array([[-1, 0, 1], [1, -1, -1]]).astype(dtype), missing=missing)
    assert votes.classes.tolist() == classes
    np.testing.assert_array_equal(votes.codes, codes)


@pytest.mark.parametrize("dtype", ["int8", "float32", "object"])
def test_minus_one_zero_one_is_refused_with_the_two_ways_out(dtype):
    with pytest.raises(ValueError, match=r"missing=0 if .* missing=-1 if"):
        encode_votes(np.array([[-1, 0, 1]]).astype(dtype))


def test_missing_may_be_a_string_and_may_not_occur():
    votes = encode_votes([["yes", "skip"], ["no", "yes"]], missing="skip")
    np.testing.assert_array_equal(votes.codes, [[1, -1], [0, 1]])
    np.testing.assert_array_equal(encode_votes([[0, 1]], missing="skip").codes, [[0, 1]])
    np.testing.assert_array_equal(encode_votes([[0, 1]], missing=np.nan).codes, [[0, 1]])


@pytest.mark.parametrize("X", [[["spam", "ham", None]], [[1, 0, None]]])
def test_positive_chooses_the_second_class(X):
    votes = encode_votes(X, positive=X[0][1])
    assert votes.classes.tolist() == X[0][:2]
    np.testing.assert_array_equal(votes.codes, [[0, 1, -1]])


def test_known_classes_code_items_that_hold_only_one():
    votes = encode_votes([["spam", "spam", None]], classes=["ham", "spam"])
    np.testing.assert_array_equal(votes.codes, [[1, 1, -1]])


def test_a_class_may_be_written_in_another_number_type():
    """1, 1.0, True and numpy's ones are one label."""
    X = np.array([[1, True, 1.0, np.int8(1)], [0, False, 0.0, np.float32(0)]], dtype=object)
    np.testing.assert_array_equal(encode_votes(X).codes, [[1] * 4, [0] * 4])
    np.testing.assert_array_equal(encode_votes(X, classes=np.array([0, 1], dtype=np.int8)).codes, [[1] * 4, [0] * 4])


# -- alphabets ----------------------------------------------------------------------------------------------


@given(
    labels=st.lists(st.text("abcdefgh", min_size=1, max_size=3), min_size=2, max_size=30, unique=True),
    first=st.integers(2, 30),
)
def test_an_alphabet_that_grows_is_that_of_all_labels(labels, first):
    whole = LabelRules().alphabet(labels)
    head = LabelRules().alphabet(labels[:first])
    assert head.grown(labels[first:]).values.tolist() == whole.values.tolist() == sorted(labels)
    longer = head.extended(labels[first:])
    assert longer.values[: len(head)].tolist() == head.values.tolist()
    codes = longer.codes(np.array(labels))
    np.testing.assert_array_equal(longer.codes_in(whole)[codes], whole.codes(np.array(labels)))


@given(votes=st.lists(st.sampled_from([0, 1, 2, 7, -1, None]), min_size=1, max_size=30))
def test_one_label_is_coded_as_many(votes):
    alphabet = LabelRules(missing=(-1,)).alphabet([0, 1, 2])
    expected = [alphabet.code(label) for label in votes]
    assert alphabet.codes(np.array(votes, dtype=object)).tolist() == expected
    numbers = np.array([np.nan if label is None else label for label in votes], dtype=float)
    assert alphabet.codes(numbers).tolist() == expected


def test_unknown_labels_are_told_from_missing_ones():
    growing, fixed = LabelRules().alphabet(["a", "b"]), LabelRules(np.array(["a", "b"])).alphabet(())
    lenient = growing.settled()
    assert [alphabet.code("x") for alphabet in (growing, fixed, lenient)] == [UNKNOWN, UNKNOWN, MISSING]
    assert lenient.codes(np.array(["x", "a"])).tolist() == [MISSING, 0]
    assert [alphabet.grows for alphabet in (growing, fixed, lenient)] == [True, False, False]
    assert growing.strangers(np.array(["a", "x", "y", "x"])) == {"x", "y"}


def test_new_labels_add():
    assert (NewLabels("a") + NewLabels("b") + 3).labels == {"a", "b"}
    assert sum([1, 2, NewLabels("a")], NewLabels("c")).labels == {"a", "c"}


@pytest.mark.parametrize(
    ("labels", "read"),
    [
        (["1", "1.0", "2"], [1, 2]),
        (["1", "x"], ["1", "x"]),
        ([1, "x"], ["1", "x"]),
        ([1, "2"], [1, 2]),
        ([" yes ", "yes"], ["yes"]),
        ([True, False], [True, False]),
        (["inf", "1"], ["inf", "1"]),
    ],
)
def test_labels_of_files_are_numbers_if_all_are(labels, read):
    assert as_read(labels) == read
    alphabet = Alphabet(np.array(read), text=True)
    assert all(alphabet.code(label) >= 0 for label in labels)


def test_several_classes_keep_their_type_and_order():
    X = np.array([[3, 1, 2], [2, 2, 1]], dtype=np.int16)
    votes = encode_votes(X)
    assert votes.classes.dtype == np.int16
    np.testing.assert_array_equal(votes.codes, X - 1)
    given = encode_votes(X, classes=[3, 2, 1])
    np.testing.assert_array_equal(given.codes, 3 - X)
    assert encode_votes(given).classes.tolist() == [3, 2, 1]
    np.testing.assert_array_equal(encode_votes(given, classes=[1, 2, 3]).codes, votes.codes)
    lenient = encode_votes(X, classes=[1, 2], unknown="missing")
    np.testing.assert_array_equal(lenient.codes, [[-1, 0, 1], [1, 1, 0]])
    np.testing.assert_array_equal(encode_votes(given, classes=[1, 2], unknown="missing").codes, lenient.codes)


def test_large_arrays_of_three_labels_are_coded_in_parts():
    X = np.tile(np.array([[0, 2, 5], [5, 5, 2]], dtype=np.int8), (150_000, 1))
    codes = encode_votes(X).codes
    np.testing.assert_array_equal(codes[:2], [[0, 1, 2], [2, 2, 1]])
    np.testing.assert_array_equal(codes, np.tile(codes[:2], (150_000, 1)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
@pytest.mark.parametrize("labels", [(3, 5, 7, 11), (0, 1, 2, 120), (0, 100, 127)])
def test_many_integers_are_coded_as_few_are(dtype, labels):
    """Many are looked up in a table of all integers between them, few are compared with every class."""
    alphabet = Alphabet(np.array(labels), LabelRules.of(None, 9))
    values = np.random.default_rng(0).choice([*labels, 9, 10], (6000, 3)).astype(dtype)
    few = np.concatenate([alphabet.codes(values[rows : rows + 500]) for rows in range(0, 6000, 500)])
    np.testing.assert_array_equal(alphabet.codes(values), few)
    assert set(np.unique(few)) == {MISSING, UNKNOWN, *range(len(labels))}
    assert set(distinct_labels(values)) == set(np.unique(values))
