"""The paper's artificial data (m = 20, n = 10^4, one group of dependent voters)."""

import numpy as np
import pytest

import goldless as gl


def draw(size, seed):
    return gl.simulate_votes(10_000, [size] + [1] * (20 - size), random_state=seed, return_model=True)


@pytest.mark.parametrize("size", range(1, 11))
def test_with_the_true_groups_em_is_close_to_the_oracle(size):
    """Within 0.3 points of Oracle-L, mean of ten draws."""
    excess = []
    for seed in range(10):
        X, y, truth = draw(size, 1000 * size + seed)
        fitted = gl.LatentSML(structure=truth.groups).fit(X)
        oracle = gl.OracleLatent(truth).fit(X)
        excess.append(gl.balanced_error(y, fitted.predict(X)) - gl.balanced_error(y, oracle.predict(X)))
    assert 100 * np.mean(excess) <= 0.3


def test_independent_voters_are_no_trouble():
    """Without dependence L-SML with no groups is SML+EM."""
    X, _, _ = draw(1, 7)
    independent = gl.LatentSML(structure="independent").fit(X)
    spectral = gl.SpectralMetaLearner().fit(X)
    assert np.mean(independent.predict(X) != spectral.predict(X)) < 0.001


def test_dependence_ruins_sml_and_not_lsml():
    X, y, truth = draw(6, 11)
    grouped = gl.LatentSML(structure=truth.groups).fit(X)
    assert gl.SpectralMetaLearner().fit(X).score(X, y) < grouped.score(X, y) - 0.05


def test_adding_a_clone_changes_no_label():
    X, _, _ = draw(5, 3)
    with pytest.warns(gl.VotesWarning, match="Exact copies among the voters: column 20 of column 7"):
        doubled = gl.LatentSML(structure="paper").fit(np.column_stack([X, X[:, 7]]))
    model = gl.LatentSML(structure="paper").fit(X)
    np.testing.assert_array_equal(doubled.predict(np.column_stack([X, X[:, 7]])), model.predict(X))
    assert doubled.groups_[20] == doubled.groups_[7]
    np.testing.assert_allclose(doubled.balanced_accuracy_[:20], model.balanced_accuracy_, atol=1e-12)
