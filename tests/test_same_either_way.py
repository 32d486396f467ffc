"""What is done in another way for many votes than for few gives the same: numbers, order, labels, errors."""

from __future__ import annotations

import numpy as np
import pytest

from goldless.io.encode import encode_votes
from goldless.kernels import evaluate
from goldless.kernels.evaluate import sums_of_votes
from goldless.kernels.threads import ordered_map
from goldless.votes import rows
from goldless.votes.alphabet import Alphabet, distinct_labels
from goldless.votes.bins import Bins
from goldless.votes.rows import PatternTable, Rows


@pytest.mark.parametrize("n_threads", ["1", "2", "5"])
def test_tasks_keep_their_order_and_the_first_error_is_raised(monkeypatch, n_threads):
    monkeypatch.setenv("GOLDLESS_NUM_THREADS", n_threads)
    assert ordered_map(lambda task: task**2, range(50)) == [task**2 for task in range(50)]
    nested = ordered_map(lambda task: ordered_map(lambda inner: task + inner, range(4)), range(4))
    assert nested == [[task + inner for inner in range(4)] for task in range(4)]

    def refuse(task):
        if task >= 7:
            raise ValueError(f"task {task}")
        return task

    with pytest.raises(ValueError, match="task 7"):
        ordered_map(refuse, range(50))
    assert ordered_map(str, [1, 2, 3]) == ["1", "2", "3"]  # and the threads work on


@pytest.mark.parametrize("n_states", [3, 4, 10, 13])
def test_sums_of_votes_have_the_same_bits_for_few_rows_and_many(n_states, rng, monkeypatch):
    codes = rng.integers(-1, 5, (400, 7)).astype(np.int8)
    log_votes = np.log(rng.dirichlet(np.ones(5), (7, n_states)))
    few = sums_of_votes(codes, log_votes)
    said = (codes[:, :, None] == np.arange(5)).astype(float)
    np.testing.assert_allclose(few, np.einsum("niv,isv->ns", said, log_votes), rtol=1e-12)
    monkeypatch.setattr(evaluate, "_FEW_CELLS", 0)
    np.testing.assert_array_equal(sums_of_votes(codes, log_votes), few)


@pytest.mark.parametrize("n_voters", [1, 5, 9, 40])
def test_rows_are_sorted_alike_whether_they_repeat_or_not(n_voters, rng, monkeypatch):
    codes = rng.integers(-1, 4, (3000, n_voters)).astype(np.int8)
    codes[1000:2000] = codes[:1000]
    counts = rng.integers(1, 4, len(codes))
    monkeypatch.setattr(rows, "_FEW_ROWS", 0)
    tables = []
    for repeats in (True, False):
        monkeypatch.setattr(rows, "_repeat", lambda bits, repeats=repeats: repeats)
        tables.append(PatternTable.of(codes, 4, counts))
    hashed, by_word = tables
    for name in ("bits", "counts", "inverse", "codes"):
        np.testing.assert_array_equal(getattr(hashed, name), getattr(by_word, name))
    np.testing.assert_array_equal(by_word.codes[by_word.inverse], codes)
    keys = [row.tobytes() for row in by_word.bits]
    assert keys == sorted(set(keys))
    assert Rows.of(codes[:1], 4).distinct().n_patterns == 1


def test_codes_of_rows_in_memory_are_those_that_their_bits_hold(rng):
    codes = rng.integers(-1, 3, (200, 11)).astype(np.int8)
    packed = Rows.of(codes, 3)
    vars(packed)["codes"] = codes
    np.testing.assert_array_equal(packed.distinct().codes, PatternTable.of(codes, 3).codes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("missing", [False, True])
def test_labels_of_many_votes_are_found_and_coded_as_those_of_few(dtype, missing, rng):
    labels = np.array([2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 40]).astype(dtype)
    votes = labels[rng.integers(0, len(labels), (3000, 9))]
    if missing and votes.dtype.kind == "f":
        votes[5, 3] = np.nan
    found = [label for label in distinct_labels(votes) if label == label]
    assert sorted(found) == sorted(labels.tolist())
    alphabet = Alphabet(labels)
    codes = alphabet.codes(votes)
    for row in (0, 5, 2999):
        assert codes[row].tolist() == [alphabet.code(label) for label in votes[row]]
    in_a_row = Alphabet(np.arange(2, 13).astype(dtype))
    np.testing.assert_array_equal(in_a_row.codes(votes)[votes == 11], 9)
    assert (in_a_row.codes(votes)[votes == 40] == -2).all()


def test_numbers_fall_into_the_bins_that_a_search_finds(rng):
    edges = tuple(np.sort(rng.normal(size=size)) for size in (0, 1, 7, 24))
    sign = np.array([1, -1, 1, -1])
    bins = Bins(("scores",) * 4, edges, sign, np.zeros((4, 25)))
    answers = rng.normal(size=(500, 4))
    answers[::7, 2] = edges[2][3]  # on an edge
    answers[1, :] = np.nan
    answers[2, :] = 1e300
    expected = np.stack(
        [
            np.searchsorted(own, turn * column, side="right")
            for own, turn, column in zip(edges, sign, answers.T, strict=True)
        ],
        axis=1,
    )
    np.testing.assert_array_equal(bins.codes(answers), np.where(np.isnan(answers), -1, expected))


def test_votes_are_coded_into_an_array_of_their_own(rng):
    votes = rng.integers(0, 3, (4000, 5)).astype(np.int8)
    encoded = encode_votes(votes, kind="labels")
    assert not np.shares_memory(encoded.codes, votes)
    np.testing.assert_array_equal(encoded.codes, votes)
