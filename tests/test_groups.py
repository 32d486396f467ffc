"""Algorithm 2 and the appendix algorithm for the ideal setting."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldless as gl
import references
from goldless import LatentModel, assign_groups, ideal_groups, random_model, residual
from goldless.maths.checks import relabel
from goldless.maths.clustering import ScoreClustering, candidate_counts
from strategies import seeds, symmetric_matrices


def well_separated_model(rng, sizes):
    """A model whose v_on and v_off differ clearly, as Lemma 2 asks."""
    return random_model(sizes, imbalance=rng.uniform(-0.5, 0.5), group_accuracy=(0.7, 0.9), random_state=rng)


@given(seed=seeds)
def test_lemma_2_where_determinants_vanish(seed):
    """M_ijkl = 0 if three or more share a group, or all four pairs of the determinant are in different groups."""
    model = well_separated_model(np.random.default_rng(seed), [3, 2, 1, 1])
    R, c = model.population_covariance(), model.groups
    for i, j, k, l in itertools.permutations(range(model.n_voters), 4):
        left, right = R[i, j] * R[k, l], R[i, l] * R[k, j]
        three_alike = max(np.bincount(c[[i, j, k, l]])) >= 3
        all_pairs_differ = c[i] != c[j] and c[j] != c[k] and c[k] != c[l] and c[l] != c[i]
        vanishes = abs(left - right) <= 1e-10 * max(abs(left), abs(right))
        assert vanishes == (three_alike or all_pairs_differ)


@given(seed=seeds, sizes=st.sampled_from([[3, 2, 1, 1], [4, 3, 2], [2, 2, 2, 1], [5, 1, 1, 1], [1] * 6]))
def test_ideal_groups_are_the_true_ones(seed, sizes):
    """Up to the single voters, which all hang on Y and come out as one group."""
    model = well_separated_model(np.random.default_rng(seed), sizes)
    alone = np.bincount(model.groups)[model.groups] == 1
    expected = relabel(np.where(alone, -1, model.groups))
    np.testing.assert_array_equal(ideal_groups(model.population_covariance()), expected)


@given(matrix=symmetric_matrices(5, 6))
def test_ideal_groups_follow_the_appendix_algorithm(matrix):
    """Each voter joins the first group whose first member has the same pattern of zeros."""
    groups = ideal_groups(matrix, tol=1e-9)
    first = {}
    for voter, group in enumerate(groups):
        for other, member in first.items():
            if other < group:
                assert not references.same_group(matrix, member, voter, 1e-9)
        if group in first:
            assert references.same_group(matrix, first[group], voter, 1e-9)
        first.setdefault(group, voter)


def test_ideal_groups_with_four_voters_see_nothing():
    assert not ideal_groups(np.outer([1, 2, 3, 4], [1, 2, 3, 4])).any()


@pytest.mark.parametrize("sizes", [[5] + [1] * 15, [6, 4, 3] + [1] * 5, [3, 3, 3, 3]])
def test_paper_recovers_clear_groups_from_the_population(sizes, rng):
    """Without noise the true number of groups has residual zero, and is found."""
    model = random_model(sizes, group_accuracy=(0.7, 0.8), random_state=rng)
    found = assign_groups(model.population_covariance())
    multiple = np.bincount(model.groups)[model.groups] > 1
    np.testing.assert_array_equal(relabel(found.groups[multiple]), relabel(model.groups[multiple]))
    assert found.residual < 1e-8


def test_every_number_of_groups_is_a_candidate(rng):
    matrix = rng.normal(size=(6, 6))
    found = assign_groups(matrix + matrix.T)
    assert list(found.residual_path) == [1, 2, 3, 4, 5, 6]
    assert found.residual == min(found.residual_path.values())
    assert found.residual == pytest.approx(residual(matrix + matrix.T, found.groups).value)


def test_no_dependence_is_reported_as_no_groups():
    v = np.linspace(0.2, 0.8, 7)
    assert assign_groups(np.outer(v, v)).n_groups == 7


def test_three_voters_are_always_independent(rng):
    matrix = rng.uniform(0.1, 0.5, (3, 3))
    assert assign_groups(matrix + matrix.T).n_groups == 3


def test_groups_can_be_fixed_or_offered(rng):
    matrix = rng.normal(size=(8, 8))
    matrix = matrix + matrix.T
    assert assign_groups(matrix, n_groups=3).n_groups <= 3
    assert set(assign_groups(matrix, n_groups=[2, 5]).residual_path) == {2, 5}
    with pytest.raises(ValueError, match="between 1 and 8"):
        assign_groups(matrix, n_groups=9)
    with pytest.raises(ValueError, match="method"):
        assign_groups(matrix, method="guess")


def test_permuting_voters_permutes_the_groups(rng):
    model = random_model([5, 4, 1, 1, 1, 1], group_accuracy=(0.7, 0.8), random_state=rng)
    covariance = np.cov(2.0 * model.sample(5000, rng)[0].T - 1)
    order = rng.permutation(len(covariance))
    found = assign_groups(covariance)
    permuted = assign_groups(covariance[np.ix_(order, order)])
    np.testing.assert_array_equal(permuted.groups, relabel(found.groups[order]))
    assert permuted.residual == pytest.approx(found.residual, rel=1e-6)


def test_clustering_finds_blocks(rng):
    truth = rng.permutation(np.repeat([0, 1, 2], 5))
    score = np.where(truth[:, None] == truth[None, :], 1.0, 0.1) + 0.01 * rng.random((15, 15))
    score = (score + score.T) / 2
    np.fill_diagonal(score, 0)
    np.testing.assert_array_equal(ScoreClustering(score).cluster(3), relabel(truth))


def test_a_score_of_zero_can_be_clustered():
    assert ScoreClustering(np.zeros((5, 5))).cluster(2).max() <= 1


def test_candidates_stay_few_for_many_voters():
    assert candidate_counts(150) == list(range(1, 151))
    counts = candidate_counts(3000)
    assert counts[0] == 1
    assert counts[-1] == 3000
    assert len(counts) < 110


def test_population_of_the_paper_model_with_equal_groups():
    model = LatentModel(
        np.repeat(np.arange(4), 3),
        0.5,
        np.full(4, 0.75),
        np.full(4, 0.75),
        np.full(12, 0.9),
        np.full(12, 0.85),
    )
    np.testing.assert_array_equal(assign_groups(model.population_covariance()).groups, model.groups)


def test_search_finds_what_the_paper_misses(rng):
    """Seven dependent voters of twenty: Algorithm 2 does not recover them, the search does."""
    model = random_model([7] + [1] * 13, group_accuracy=(0.6, 0.8), random_state=rng)
    covariance = np.cov(2.0 * model.sample(10_000, rng)[0].T - 1)
    np.testing.assert_array_equal(assign_groups(covariance, "search", n_items=10_000).groups, model.groups)
    assert not np.array_equal(assign_groups(covariance, "paper").groups, model.groups)
    with pytest.raises(ValueError, match="needs n_items"):
        assign_groups(covariance, "search")


@pytest.mark.real_data
def test_panels_of_near_copies_are_clustered(data_folder):
    """183 judges of a few models: the fast decomposition does not converge for every number of groups."""
    with np.load(data_folder / "panels" / "judge_reife_llmbar_adversarial.npz") as file:
        X, y = file["votes"], file["truth"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        labels = gl.LatentSML(structure="paper", missing=0 if (X == 0).any() else None).fit_predict(X)
    assert gl.balanced_accuracy(y, labels) > 0.5
