"""The score matrix (eq. score)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import references
from goldless import LatentModel, score_matrix
from goldless.kernels.score import score_by_sets, score_by_sorting
from strategies import latent_models, symmetric_matrices


def relative_gap(left, right):
    return np.abs(left - right).max() / max(np.abs(right).max(), 1e-300)


@pytest.mark.parametrize("algorithm", [score_by_sets, score_by_sorting])
@given(matrix=symmetric_matrices(3, 10))
def test_both_algorithms_equal_the_naive_sum(algorithm, matrix):
    score = algorithm(matrix)
    np.fill_diagonal(score, 0)
    expected = references.score_matrix(matrix)
    assert np.abs(score - expected).max() <= 1e-12 * max(expected.max(), 1)


@pytest.mark.parametrize("n_voters", [3, 4, 5, 8, 13, 21, 30, 40])
@pytest.mark.parametrize("algorithm", [score_by_sets, score_by_sorting])
def test_equals_the_sum_over_pairs_up_to_forty_voters(algorithm, n_voters, rng):
    matrix = rng.normal(size=(n_voters, n_voters))
    matrix = matrix + matrix.T
    expected = np.zeros_like(matrix)
    for i in range(n_voters):
        for j in range(n_voters):
            others = [k for k in range(n_voters) if k not in (i, j)]
            terms = np.abs(
                matrix[i, j] * matrix[np.ix_(others, others)] - np.outer(matrix[others, j], matrix[i, others])
            )
            expected[i, j] = terms.sum() - np.trace(terms)
    score = algorithm(matrix)
    np.fill_diagonal(score, 0)
    np.fill_diagonal(expected, 0)
    assert np.abs(score - expected).max() <= 1e-12 * max(expected.max(), 1)


def test_algorithms_agree_on_near_rank_one_matrices(rng):
    """Slopes almost coincide here, which is where sorting by short keys has to be finished in full precision."""
    v = rng.uniform(0.2, 0.9, 120)
    matrix = np.outer(v, v) * (1 + 1e-9 * rng.normal(size=(120, 120)))
    matrix = (matrix + matrix.T) / 2
    left, right = score_by_sets(matrix), score_by_sorting(matrix)
    np.fill_diagonal(left, 0)
    np.fill_diagonal(right, 0)
    scale = (np.abs(matrix).max() ** 2) * 120**2
    assert np.abs(left - right).max() <= 1e-13 * scale


def test_three_voters_have_an_empty_sum():
    assert not score_matrix(np.ones((3, 3))).any()


def test_diagonal_is_not_read(rng):
    matrix = rng.normal(size=(6, 6))
    matrix = matrix + matrix.T
    changed = matrix + np.diag(rng.normal(size=6))
    np.testing.assert_array_equal(score_matrix(matrix), score_matrix(changed))


@given(matrix=symmetric_matrices(4, 9), data=st.data())
def test_permuting_voters_permutes_the_score(matrix, data):
    order = data.draw(st.permutations(range(len(matrix))))
    permuted = score_matrix(matrix[np.ix_(order, order)])
    np.testing.assert_allclose(permuted, score_matrix(matrix)[np.ix_(order, order)], rtol=1e-11, atol=1e-12)


@given(model=latent_models(4, 9, max_groups=1))
def test_one_group_has_score_zero(model):
    """A rank-one covariance is conditional independence: nothing to see."""
    assert np.abs(score_matrix(model.population_covariance())).max() < 1e-12


@pytest.mark.parametrize("n_voters", [30, 250])
def test_thread_count_does_not_change_a_bit(n_voters, rng, monkeypatch):
    matrix = rng.normal(size=(n_voters, n_voters))
    matrix = matrix + matrix.T
    results = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("GOLDLESS_NUM_THREADS", threads)
        results.append(score_matrix(matrix))
        results.append(score_matrix(matrix, method="sampled", n_samples=20, return_error=True)[0])
    for later in (2, 4):
        np.testing.assert_array_equal(results[0], results[later])
        np.testing.assert_array_equal(results[1], results[later + 1])


def test_sampled_score_errs_as_much_as_it_says(rng):
    """Errors in units of the stated standard error have variance one."""
    matrix = rng.normal(size=(25, 25))
    matrix = matrix + matrix.T
    exact = score_matrix(matrix)
    sampled, error = score_matrix(matrix, method="sampled", n_samples=500, return_error=True)
    upper = np.triu_indices(25, 1)
    z = (sampled - exact)[upper] / error[upper]
    assert 0.8 < z.std() < 1.2
    assert abs(z.mean()) < 0.25


def test_sampling_with_another_seed_draws_anew(rng):
    matrix = rng.normal(size=(8, 8))
    matrix = matrix + matrix.T
    one, two = (score_matrix(matrix, method="sampled", n_samples=10, random_state=s) for s in (0, 1))
    assert not np.array_equal(one, two)


def test_scores_within_the_group_stand_out():
    """Lemma 4 in practice: in a model with clear groups the smallest score within beats the largest across."""
    model = LatentModel(
        np.repeat(np.arange(10), 2),
        0.5,
        np.full(10, 0.8),
        np.full(10, 0.8),
        np.full(20, 0.9),
        np.full(20, 0.9),
    )
    score = score_matrix(model.population_covariance())
    same = model.groups[:, None] == model.groups[None, :]
    np.fill_diagonal(same, False)
    across = model.groups[:, None] != model.groups[None, :]
    assert score[same].min() > score[across].max()


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 3), n_groups=st.integers(4, 8))
def test_lemma_4_bounds(seed, size, n_groups):
    """In the symmetric case: s_ij > m^2 (1 - 3/K) delta^2 |c_ij| within a group, < 2 m^2 / K (1 - 2/K) across."""
    rng = np.random.default_rng(seed)
    m = size * n_groups
    gamma = rng.uniform(0.6, 0.95)
    accuracy = rng.uniform(0.6, 0.95, (2, m))
    model = LatentModel(
        np.repeat(np.arange(n_groups), size),
        0.5,
        np.full(n_groups, gamma),
        np.full(n_groups, gamma),
        *accuracy,
    )
    score = score_matrix(model.population_covariance())
    within = model.groups[:, None] == model.groups[None, :]
    np.fill_diagonal(within, False)
    positive, negative = model.conditional_covariance()
    np.testing.assert_allclose(positive[within], negative[within], atol=1e-12)
    delta = (2 * model.balanced_accuracy - 1).min() * (1 - 1e-9)
    # the proof counts pairs (k, l) with large m; with finite groups their exact number is (K-1)(K-2) size^2
    exact_pairs = (n_groups - 1) * (n_groups - 2) * size**2
    lower = exact_pairs * delta**2 * np.abs(positive)
    assert (score[within] >= lower[within] * (1 - 1e-9)).all()
    assert (score[within] > (m**2 * (1 - 3 / n_groups) * delta**2 * np.abs(positive))[within] * (1 - 1e-9)).all()
    across = model.groups[:, None] != model.groups[None, :]
    assert (score[across] < 2 * m**2 / n_groups * (1 - 2 / n_groups)).all()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="square"):
        score_matrix(np.ones((3, 4)))
    with pytest.raises(ValueError, match="not symmetric"):
        score_matrix(np.arange(16.0).reshape(4, 4))
    with pytest.raises(ValueError, match="not finite at"):
        score_matrix(np.array([[0, np.nan, 1], [np.nan, 0, 1], [1, 1, 0]]))
    with pytest.raises(ValueError, match="method"):
        score_matrix(np.ones((4, 4)), method="guess")
    with pytest.raises(ValueError, match="n_samples"):
        score_matrix(np.ones((4, 4)), method="sampled", n_samples=1)
