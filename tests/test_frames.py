"""Votes in data frames: every library, with names and index."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from goldless import DawidSkene, LatentSML, MajorityVote, encode_votes, simulate_votes

STRINGS = {"ann": ["no", "yes", None, "no"], "bob": ["yes", "yes", "no", None]}
NUMBERS = {"ann": [0, 1, None, 0], "bob": [1, 1, 0, None]}
BOOLS = {"ann": [False, True, None, False], "bob": [True, True, False, None]}
CODES = np.array([[0, 1], [1, 1], [-1, 0], [0, -1]], dtype=np.int8)


def pandas_of(dtype, columns):
    return pd.DataFrame({name: pd.array(column, dtype=dtype) for name, column in columns.items()})


def arrow_dictionary(columns):
    return pa.table({name: pa.array(column).dictionary_encode() for name, column in columns.items()})


FRAMES = {
    "pandas object": lambda: pd.DataFrame(STRINGS, dtype=object),
    "pandas object with NaN": lambda: pd.DataFrame(STRINGS, dtype=object).fillna(np.nan),
    "pandas object with NA": lambda: pd.DataFrame(STRINGS, dtype=object).fillna(pd.NA),
    "pandas str": lambda: pd.DataFrame(STRINGS),
    "pandas string": lambda: pandas_of("string", STRINGS),
    "pandas categorical": lambda: pd.DataFrame(STRINGS).astype("category"),
    "pandas arrow strings": lambda: pandas_of(pd.ArrowDtype(pa.string()), STRINGS),
    "pandas float": lambda: pd.DataFrame(NUMBERS, dtype=float),
    "pandas Int64": lambda: pandas_of("Int64", NUMBERS),
    "pandas categorical of numbers": lambda: pandas_of("Int64", NUMBERS).astype("category"),
    "pandas arrow numbers": lambda: pandas_of("int64[pyarrow]", NUMBERS),
    "pandas boolean": lambda: pandas_of("boolean", BOOLS),
    "polars strings": lambda: pl.DataFrame(STRINGS),
    "polars categorical": lambda: pl.DataFrame(STRINGS, schema=dict.fromkeys(STRINGS, pl.Categorical)),
    "polars enum": lambda: pl.DataFrame(STRINGS, schema=dict.fromkeys(STRINGS, pl.Enum(["yes", "no", "?"]))),
    "polars numbers": lambda: pl.DataFrame(NUMBERS),
    "polars floats with NaN": lambda: pl.DataFrame(NUMBERS, schema=dict.fromkeys(NUMBERS, pl.Float32)).fill_null(
        float("nan")
    ),
    "polars booleans": lambda: pl.DataFrame(BOOLS),
    "polars lazy": lambda: pl.LazyFrame(NUMBERS),
    "pyarrow strings": lambda: pa.table(STRINGS),
    "pyarrow dictionary": lambda: arrow_dictionary(STRINGS),
    "pyarrow numbers": lambda: pa.table(NUMBERS),
    "pyarrow booleans": lambda: pa.table(BOOLS),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_every_frame_gives_the_same_codes(make):
    votes = encode_votes(make())
    np.testing.assert_array_equal(votes.codes, CODES)
    assert votes.voters.tolist() == ["ann", "bob"]
    assert votes.classes.tolist() in (["no", "yes"], [0, 1], [False, True])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("polars numbers", "i"), ("pandas Int64", "i"), ("pyarrow numbers", "i"), ("pandas boolean", "b"),
     ("polars booleans", "b"), ("pyarrow booleans", "b"), ("pandas categorical", "U"), ("polars strings", "U")],
)  # fmt: skip
def test_missing_votes_do_not_change_the_type_of_the_classes(name, kind):
    assert encode_votes(FRAMES[name]()).classes.dtype.kind == kind


@pytest.mark.parametrize("missing", [0, -1])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_label_in_frames(frame, missing):
    columns = {"a": [-1, 0, 1], "b": [1, 1, -1]}
    expected = encode_votes(np.array(list(columns.values())).T, missing=missing)
    np.testing.assert_array_equal(encode_votes(frame(columns), missing=missing).codes, expected.codes)


def test_a_column_without_votes_is_missing():
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        votes = encode_votes(frame({"a": [0, 1], "b": [None, None], "c": [1, 0]}))
        np.testing.assert_array_equal(votes.codes, [[0, -1, 1], [1, -1, 0]])


def test_columns_of_different_number_types_are_one_binary_problem():
    frame = pl.DataFrame({"a": [0, 1], "b": [0.0, 1.0], "c": [False, True]})
    np.testing.assert_array_equal(encode_votes(frame).codes, [[0, 0, 0], [1, 1, 1]])


def test_index_of_a_pandas_frame_is_kept():
    frame = pd.DataFrame(STRINGS, index=["w", "x", "y", "z"])
    assert encode_votes(frame).items.tolist() == ["w", "x", "y", "z"]
    assert encode_votes(pl.DataFrame(STRINGS)).items is None


def test_columns_named_by_numbers_have_no_names():
    votes = encode_votes(pd.DataFrame([[0, 1], [1, 0]]))
    assert votes.voters is None
    assert encode_votes(pd.DataFrame([[0, 1], [1, 0]], columns=[0, "a"])).voters is None


def test_duplicate_names_are_refused():
    with pytest.raises(ValueError, match="Two columns have the name 'a'"):
        encode_votes(pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]))


def test_anything_that_speaks_arrow_is_a_frame():
    duckdb = pytest.importorskip("duckdb")
    frame = pa.table(STRINGS)
    relation = duckdb.sql("select * from frame")
    np.testing.assert_array_equal(encode_votes(relation).codes, CODES)
    np.testing.assert_array_equal(encode_votes(pa.RecordBatchReader.from_stream(frame)).codes, CODES)


# -- frames and estimators ----------------------------------------------------------------------------------

VOTES, TRUTH = simulate_votes(300, groups=[1] * 5, random_state=3)
NAMES = [f"voter {letter}" for letter in "abcde"]


def to_pandas(X, names=NAMES):
    return pd.DataFrame(X, columns=list(names))


def to_polars(X, names=NAMES):
    return pl.DataFrame(X, schema=list(names))


def to_lazy(X, names=NAMES):
    return to_polars(X, names).lazy()


def to_arrow(X, names=NAMES):
    return to_polars(X, names).to_arrow()


LIBRARIES = [to_pandas, to_polars, to_lazy, to_arrow]


@pytest.mark.parametrize("to_frame", LIBRARIES)
@pytest.mark.parametrize("estimator", [MajorityVote(), DawidSkene(), LatentSML(structure="independent")], ids=repr)
def test_a_frame_is_its_array_with_names(estimator, to_frame):
    expected = estimator.fit(VOTES).predict(VOTES)
    fitted = estimator.fit(to_frame(VOTES))
    assert fitted.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(fitted.predict(to_frame(VOTES)), expected)


@pytest.mark.parametrize("to_frame", LIBRARIES)
@pytest.mark.parametrize("estimator", [MajorityVote(), LatentSML(structure="independent")], ids=repr)
def test_columns_in_another_order_are_matched_by_name(estimator, to_frame):
    model = estimator.fit(to_frame(VOTES))
    turned = to_frame(VOTES[:, ::-1], NAMES[::-1])
    np.testing.assert_array_equal(model.predict(turned), model.predict(to_frame(VOTES)))


@pytest.mark.parametrize("to_frame", LIBRARIES)
def test_unknown_and_lost_names_are_named(to_frame):
    model = MajorityVote().fit(to_frame(VOTES))
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- new\n.*now missing:\n- voter e\n"):
        model.predict(to_frame(VOTES, [*NAMES[:4], "new"]))


def test_names_on_one_side_only_are_a_warning():
    named, plain = MajorityVote().fit(to_pandas(VOTES)), MajorityVote().fit(VOTES)
    with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
        named.predict(VOTES)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="X has feature names, but MajorityVote was fitted without"):
        plain.predict(to_polars(VOTES))


def test_names_are_forgotten_when_fitted_again_without():
    assert not hasattr(MajorityVote().fit(to_pandas(VOTES)).fit(VOTES), "feature_names_in_")


def test_a_panel_is_called_by_name():
    panel = LatentSML(structure="independent").fit(to_polars(VOTES)).select(2)
    assert set(panel) < set(NAMES)


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("n_labels", [2, 5, 9])
@pytest.mark.parametrize("dtype", ["object", "string"])
def test_text_of_pandas_is_the_same_whether_or_not_objects_come_again(dtype, n_labels, copied, rng):
    labels = [f"label {number}" for number in range(n_labels)]
    numbers = rng.integers(-2, n_labels, (300, 4))
    nothing = {-1: None, -2: np.nan}
    told = np.array([[nothing.get(n, labels[n]) for n in row] for row in numbers.tolist()], dtype=object)
    if copied:  # every vote an object of its own
        told = np.array([["".join(list(x)) if isinstance(x, str) else x for x in row] for row in told], dtype=object)
    votes = encode_votes(pd.DataFrame(told, columns=list("abcd")).astype(dtype))
    np.testing.assert_array_equal(votes.codes, np.maximum(numbers, -1))
    assert votes.classes.tolist() == labels
