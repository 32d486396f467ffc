"""Why items get their labels, and which need one more vote."""

import numpy as np
import pytest

import goldless as gl
from goldless.fitting.explain import explain_patterns
from goldless.maths.tree_makers import embed


def random_case(rng, groups=(3, 2, 1, 1), n=40, missing=0.3):
    model = gl.random_model(groups, random_state=int(rng.integers(1000)))
    codes, _, _ = model.sample(n, rng)
    return model, np.where(rng.random(codes.shape) < missing, -1, codes).astype(np.int8)


def explain(model, codes):
    return explain_patterns(model, codes, model.class_evidence(codes))


def test_the_parts_add_up(rng):
    model, codes = random_case(rng)
    why = explain(model, codes)
    np.testing.assert_allclose(why.prior + why.by_group.sum(axis=1), why.log_odds, atol=1e-9)
    np.testing.assert_allclose(why.other, 0, atol=1e-9)
    np.testing.assert_allclose(why.probability, model.posterior(codes)[:, 1], atol=1e-12)


def test_a_group_adds_what_its_votes_alone_would(rng):
    model, codes = random_case(rng)
    why = explain(model, codes)
    for group, voters in enumerate(why.groups):
        alone = np.full_like(codes, -1)
        alone[:, voters] = codes[:, voters]
        np.testing.assert_allclose(why.by_group[:, group], model.log_likelihood_ratio(alone), atol=1e-9)


def test_the_next_vote_is_weighed_by_trying_both_answers(rng):
    """Slow version: add the vote, ask the model again, and average the entropies."""
    model, codes = random_case(rng, n=15)
    why = explain(model, codes)

    def entropy(p):
        return -(p * np.log2(p)).sum()

    for row, item in enumerate(codes):
        before = model.posterior(item[None])[0]
        gains = {}
        for voter in np.flatnonzero(item < 0):
            left = 0.0
            for vote in (0, 1):
                asked = item.copy()
                asked[voter] = vote
                chance = np.exp(model.log_likelihood(asked[None]) - model.log_likelihood(item[None]))[0]
                left += chance * entropy(model.posterior(asked[None])[0])
            gains[voter] = entropy(before) - left
        if gains:
            assert why.next_gain[row] == pytest.approx(max(gains.values()), abs=1e-9)
            assert gains[why.next_voter[row]] == pytest.approx(max(gains.values()), abs=1e-9)
        else:
            assert why.next_voter[row] == -1
            assert why.next_gain[row] >= 0


def test_clones_share_one_vote(rng):
    """A clone adds nothing and is never asked; an echo adds less than an independent voter as good."""
    model, codes = random_case(rng)
    cloned = embed(model, np.array([0, 0, 1, 2, 3, 4, 5, 6]), np.full((8, 2), 0.5))
    why, again = explain(model, codes), explain(cloned, codes[:, [0, 0, 1, 2, 3, 4, 5, 6]])
    np.testing.assert_allclose(again.by_group, why.by_group, atol=1e-12)
    assert not (again.next_voter == 1).any()
    echo = gl.LatentModel([0, 0, 0, 1], 0.5, [0.8, 1], [0.8, 1], [0.95] * 3 + [0.77], [0.95] * 3 + [0.77])
    one, three = (explain(echo, np.array([row], dtype=np.int8)) for row in ([1, -1, -1, -1], [1, 1, 1, -1]))
    assert one.by_group[0, 0] < three.by_group[0, 0] < np.log(0.8 / 0.2)
    assert three.next_voter[0] == 3
    np.testing.assert_array_equal(three.groups[0], [0, 1, 2])


def test_an_undecided_item_needs_a_vote_most(rng):
    model = gl.LatentModel([0, 1, 2, 3], 0.5, [1] * 4, [1] * 4, [0.8] * 4, [0.8] * 4)
    why = explain(model, np.array([[1, 1, 1, -1], [1, 0, -1, -1], [1, 1, -1, -1]], dtype=np.int8))
    assert why.neediest(2).tolist() == [1, 2]
    assert (np.diff(why.next_gain[[1, 2, 0]]) < 0).all()


def test_estimators_explain_items_in_their_order(rng):
    X, _ = gl.simulate_votes(600, [1] * 6, missing_rate=0.3, random_state=4)
    X = X[(X == X).any(axis=1)]
    model = gl.LatentSML(structure="independent").fit(X)
    why = model.explain(X)
    np.testing.assert_allclose(why.probability, model.predict_proba(X)[:, 1], atol=1e-12)
    np.testing.assert_allclose(why.prior + why.by_group.sum(axis=1) + why.other, why.log_odds, atol=1e-9)
    order = rng.permutation(len(X))
    shuffled = model.explain(X[order])
    np.testing.assert_array_equal(shuffled.next_voter, why.next_voter[order])
    np.testing.assert_array_equal(shuffled.by_group, why.by_group[order])
    assert np.isnan(X[np.flatnonzero(why.next_voter >= 0), why.next_voter[why.next_voter >= 0]].astype(float)).all()


def test_a_count_of_votes_has_no_model_to_explain_them_by():
    counted = gl.MajorityVote().fit([["a", "b", "a"], ["b", "b", "a"], ["b", "a", "b"]])
    assert not hasattr(counted, "latent_model_")
    with pytest.raises(TypeError, match="MajorityVote counts votes, and has no model"):
        counted.explain([["a", "b", "a"]])


def test_few_classes_of_ours_stand_behind_an_estimator():
    for kind in (gl.LatentSML, gl.MajorityVote, gl.OracleCI):
        ours = [base for base in kind.__mro__ if base.__module__.startswith("goldless")]
        assert len(ours) == 3, ours
