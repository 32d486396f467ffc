"""The pattern table is an exact summary of the items, whatever their order, chunks or threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldless.votes.order import own_order
from goldless.votes.rows import PatternTable, Rows
from references_votes import pattern_counts

pytestmark = pytest.mark.usefixtures("small_and_large")


@st.composite
def weighted_codes(draw, max_items=60, max_voters=20, n_voters=None):
    """Codes of two to ten symbols, with or without missing votes, many or few repeated rows, and counts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(1, max_voters)) if n_voters is None else n_voters
    symbols = draw(st.sampled_from([2, 3, 10]))
    rows = rng.integers(draw(st.sampled_from([-1, 0])), symbols, (draw(st.integers(1, 30)), m)).astype(np.int8)
    codes = rows[rng.integers(0, len(rows), draw(st.integers(0, max_items)))]
    return codes, rng.integers(0, draw(st.sampled_from([2, 9, 2**40])), len(codes))


def assert_same_table(one, other):
    """Equal bit for bit."""
    np.testing.assert_array_equal(one.bits, other.bits)
    np.testing.assert_array_equal(one.counts, other.counts)
    assert one.counts.dtype == other.counts.dtype == np.int64
    assert (one.n_voters, one.complete) == (other.n_voters, other.complete)


@given(weighted_codes())
def test_rows_and_counts_are_those_of_a_dictionary(block):
    codes, weights = block
    table = PatternTable.of(codes, counts=weights)
    found = dict(zip(map(tuple, table.codes.tolist()), table.counts.tolist(), strict=True))
    assert found == dict(pattern_counts(codes, weights))
    assert table.n_patterns == len(found)
    assert table.n_items == weights.sum()


@given(weighted_codes())
def test_inverse_rebuilds_the_items(block):
    codes, _ = block
    table = PatternTable.of(codes)
    np.testing.assert_array_equal(table.codes[table.inverse], codes)


@given(weighted_codes())
def test_weights_are_repetition(block):
    codes, weights = block
    weights = weights % 5
    repeated = PatternTable.of(np.repeat(codes, weights, axis=0))
    weighted = PatternTable.of(codes[weights > 0], counts=weights[weights > 0])
    assert_same_table(weighted, repeated)


@given(weighted_codes(), st.randoms(use_true_random=False))
def test_order_of_the_items_is_irrelevant(block, random):
    codes, weights = block
    order = list(range(len(codes)))
    random.shuffle(order)
    assert_same_table(PatternTable.of(codes[order], counts=weights[order]), PatternTable.of(codes, counts=weights))


@given(weighted_codes(n_voters=7), weighted_codes(n_voters=7))
def test_tables_add_to_the_table_of_all(one, other):
    """Also when only one of them has missing votes, or none has items."""
    both = PatternTable.of(np.concatenate([one[0], other[0]]), counts=np.concatenate([one[1], other[1]]))
    total = PatternTable.of(one[0], counts=one[1]) + PatternTable.of(other[0], counts=other[1])
    assert_same_table(total, both)
    np.testing.assert_array_equal(total.inverse, both.inverse)
    assert_same_table(PatternTable.of(other[0], counts=other[1]) + PatternTable.of(one[0], counts=one[1]), both)


def test_any_chunking_gives_the_same_table(rng):
    codes = rng.integers(-1, 2, (1000, 6)).astype(np.int8)
    whole = PatternTable.of(codes)
    for cuts in ([500], [1, 2, 3], [999], list(range(100, 1000, 100))):
        parts = [PatternTable.of(part) for part in np.split(codes, cuts)]
        assert_same_table(sum(parts[1:], start=parts[0]), whole)


def test_tables_of_different_voters_do_not_add():
    three, four = (PatternTable.of(np.zeros((2, m), dtype=np.int8)) for m in (3, 4))
    with pytest.raises(ValueError, match="cannot merge: 3 voters and 4 voters"):
        three + four


@given(weighted_codes(n_voters=9), st.permutations(range(9)), st.integers(1, 9))
def test_some_voters_are_the_table_of_their_columns(block, order, k):
    codes, weights = block
    chosen = np.array(order[:k])
    table = PatternTable.of(codes, counts=weights)
    part = table.voters(chosen)
    assert_same_table(part, PatternTable.of(np.ascontiguousarray(codes[:, chosen]), counts=weights))
    np.testing.assert_array_equal(part.codes[part.inverse], table.codes[:, chosen])


@given(weighted_codes(n_voters=4, max_items=20), st.integers(1, 4))
def test_informative_items_are_those_with_a_vote(block, k):
    codes, weights = block
    kept = (codes[:, :k] >= 0).any(axis=1) & (weights > 0)
    expected = PatternTable.of(np.ascontiguousarray(codes[kept, :k]), counts=weights[kept])
    assert_same_table(PatternTable.of(codes, counts=weights).informative(np.arange(k)), expected)


@pytest.mark.parametrize("missing", [False, True])
def test_threads_change_nothing(rng, monkeypatch, missing):
    codes = rng.integers(-1 if missing else 0, 2, (70_000, 13)).astype(np.int8)
    tables = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("GOLDLESS_NUM_THREADS", threads)
        tables.append(PatternTable.of(codes))
    assert tables[0].n_patterns > 2000  # the hash table has grown
    for table in tables[1:]:
        assert_same_table(table, tables[0])
        np.testing.assert_array_equal(table.inverse, tables[0].inverse)


def test_a_table_without_missing_votes_is_packed_tighter(rng):
    codes = rng.integers(0, 2, (50, 16)).astype(np.int8)
    assert PatternTable.of(codes).bits.shape[1] == 2
    codes[0, 0] = -1
    assert PatternTable.of(codes).bits.shape[1] == 4
    codes[0, 0] = 2  # two bits a vote, and the plane of missing votes between them
    assert PatternTable.of(codes).bits.shape[1] == 6
    assert PatternTable.of(codes).complete


@pytest.mark.parametrize("n_symbols", [2, 3, 4, 5, 16, 17, 100])
@pytest.mark.parametrize("missing", [False, True])
def test_packed_rows_keep_every_code(rng, n_symbols, missing):
    codes = rng.integers(-1 if missing else 0, n_symbols, (50, 21)).astype(np.int8)
    rows = Rows.of(codes)
    np.testing.assert_array_equal(rows.codes, codes)
    assert rows.complete is not missing
    np.testing.assert_array_equal(rows.voted(np.array([3, 4])), (codes[:, [3, 4]] >= 0).any(axis=1))


# -- voters in their own order ------------------------------------------------------------------------------


def circle(n_voters, *apart):
    """Every voter says yes on its own item and on some of those of its neighbours: all are alike."""
    return np.array([[(j - i) % n_voters in apart for j in range(n_voters)] for i in range(n_voters)], dtype=np.int8)


def in_own_order(codes, counts):
    table = PatternTable.of(np.ascontiguousarray(codes[:, own_order(codes, counts)]), 3, counts)
    return table.codes, table.counts


@pytest.mark.parametrize(
    "codes",
    [
        *(
            np.random.default_rng(seed).integers(-1, 3, (2 + seed % 7, 2 + seed)).astype(np.int8)
            for seed in range(10)
        ),
        *(circle(n_voters, 0, 1, 3) for n_voters in (4, 7, 12)),
        np.hstack([circle(6, 0), circle(6, 0, 2, 4)]),
        np.hstack([circle(7, 0, 1, 3), circle(7, 0, 1, 3), 1 - circle(7, 0, 1, 3)]),  # copies and their opposites
    ],
)
def test_the_order_of_voters_follows_from_their_votes(codes, rng):
    """Put in their own order, votes are the same table whatever order voters and items came in."""
    counts = rng.integers(1, 3, len(codes)) if len(codes) % 2 else np.ones(len(codes), dtype=np.int64)
    expected = in_own_order(codes, counts)
    for _ in range(5):
        rows, voters = rng.permutation(len(codes)), rng.permutation(codes.shape[1])
        found = in_own_order(codes[rows][:, voters], counts[rows])
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
