"""Panels of voters."""

import numpy as np
import pandas
import pytest

import goldless as gl
from goldless.maths.selection import select_voters, separation
from goldless.maths.tree_makers import embed


def echo_model():
    """Three good voters that echo each other, and three weaker ones that do not."""
    return gl.LatentModel(
        [0, 0, 0, 1, 2, 3],
        0.5,
        [0.85, 1, 1, 1],
        [0.85, 1, 1, 1],
        [0.98, 0.97, 0.96, 0.75, 0.74, 0.73],
        [0.98, 0.97, 0.96, 0.75, 0.74, 0.73],
    )


def test_one_voter_of_each_group_comes_first():
    np.testing.assert_array_equal(select_voters(echo_model(), 4), [0, 3, 4, 5])


def test_larger_panels_continue_by_what_each_adds():
    chosen = select_voters(echo_model(), 6)
    assert sorted(chosen) == list(range(6))
    assert set(chosen[:4]) == {0, 3, 4, 5}


def test_panels_are_nested():
    model = gl.random_model([4, 3, 2, 1, 1], random_state=3)
    for size in range(1, model.n_voters):
        np.testing.assert_array_equal(select_voters(model, size + 1)[:size], select_voters(model, size))


def test_copies_come_last():
    model = embed(echo_model(), np.array([0, 0, 1, 2, 3, 4, 5]), np.full((7, 2), 0.5))
    assert select_voters(model, 7)[-1] == 1


def test_an_echo_adds_less_than_an_independent_voter():
    model = echo_model()
    alone = separation(model, [0])
    assert separation(model, [0, 1]) - alone < separation(model, [0, 3]) - alone


def test_a_panel_predicts_alone(rng):
    X, y = gl.simulate_votes(5000, [5] + [1] * 15, random_state=1)
    model = gl.LatentSML(subtypes=False).fit(X)
    panel = model.select(5)
    part = model.subset(panel)
    assert part.score(X[:, panel], y) > 0.6
    hidden = np.full(X.shape, np.nan)
    hidden[:, panel] = X[:, panel]
    np.testing.assert_array_equal(part.predict(X[:, panel]), model.predict(hidden))


def test_panels_of_a_frame_are_names():
    X, _ = gl.simulate_votes(500, [1] * 5, random_state=1)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = gl.LatentSML(structure="independent").fit(frame)
    panel = model.select(3)
    assert set(panel) <= set("abcde")
    assert len(model.subset(panel).predict(frame[panel])) == 500
    with pytest.raises(ValueError, match="no voter 'z'"):
        model.subset(["z"])


def test_sizes_out_of_range_are_refused():
    with pytest.raises(ValueError, match="between 1 and 6"):
        select_voters(echo_model(), 7)
