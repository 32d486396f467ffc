"""The paper's own data: figures of its tables."""

import warnings

import numpy as np
import pytest

import goldless as gl

pytestmark = pytest.mark.real_data


def load(data_folder, name):
    with np.load(data_folder / f"{name}.npz") as file:
        return file["votes"], file["truth"]


def error(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)  # DREAM holds exact copies
        return 100 * gl.balanced_error(y, estimator.fit(X).predict(X))


@pytest.mark.parametrize(
    ("name", "mean", "best", "vote", "sml_em"),
    [("S1", 6.1, 1.7, 2.8, 1.7), ("S2", 8.7, 1.8, 4.0, 2.8), ("S3", 8.3, 2.5, 4.3, 2.3)],
)
def test_dream_table(data_folder, name, mean, best, vote, sml_em):
    """Table 1 of the paper: single voters, majority vote and SML+EM."""
    X, y = load(data_folder, f"dream/{name}")
    single = np.array([100 * gl.balanced_error(y, column) for column in X.T])
    assert single.mean() == pytest.approx(mean, abs=0.1)
    assert single.min() == pytest.approx(best, abs=0.1)
    assert error(gl.MajorityVote(), X, y) == pytest.approx(vote, abs=0.1)
    assert error(gl.SpectralMetaLearner(), X, y) == pytest.approx(sml_em, abs=0.1)


def test_dream_patterns_repeat(data_folder):
    """S1: 92,362 items but 6,426 distinct patterns."""
    X, _ = load(data_folder, "dream/S1")
    from goldless.votes.rows import PatternTable

    table = PatternTable.of(((X + 1) // 2).astype(np.int8))
    assert (table.n_items, table.n_patterns) == (92_362, 6_426)


def test_dream_score_marks_dependent_pairs(data_folder):
    """A high score is a reliable sign of dependence given the truth (Fig. 3 of the paper)."""
    X, y = load(data_folder, "dream/S1")
    votes = gl.encode_votes(X)
    covariance = np.cov(2.0 * votes.codes.T - 1)
    positive, negative = gl.conditional_covariance(X, y)
    upper = np.triu_indices(len(covariance), 1)
    score, conditional = gl.score_matrix(covariance)[upper], ((positive + negative) / 2)[upper]
    highest = np.argsort(-score)[:100]
    assert (conditional[highest] > np.quantile(conditional, 0.9)).mean() > 0.5  # by chance it would be 0.1


def test_magic_groups_beat_independence(data_folder):
    """MAGIC: with the known families as groups L-SML is better than SML+EM by more than two points."""
    families = np.repeat([0, 1, 2, 3], [4, 3, 4, 5])
    singles_and_groups = np.where(families < 2, np.arange(16), 16 + families)
    for block in (1, 2, 3):
        X, y = load(data_folder, f"magic/magic_{block}")
        grouped = error(gl.LatentSML(structure=singles_and_groups), X, y)
        assert grouped < error(gl.SpectralMetaLearner(), X, y) - 2


def test_a_panel_with_missing_votes(data_folder):
    """A real panel with a third of the votes missing: finite answers, better than a coin."""
    X, y = load(data_folder, "panels/bio_gavin_clinvarnew")
    assert (X == 0).mean() > 0.3
    model = gl.LatentSML(missing=0).fit(X)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, y) > 0.7
