"""Strong voters are not an echo: easy and hard items decide between roots that covariances cannot tell apart."""

import warnings

import numpy as np
import pytest

import goldless as gl
from goldless.fitting.skill import Explained, best_root, takes_skill_for_echo


def fit(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        return gl.LatentSML().fit(X)


def test_groups_that_leave_nothing_to_easy_and_hard_items_are_doubted():
    alone, pair = np.arange(4), np.array([0, 0, 1, 2])
    flat = Explained(alone, -1000.0, -900.0)
    assert takes_skill_for_echo(Explained(pair, -890.0, -885.0), flat)
    assert not takes_skill_for_echo(Explained(pair, -890.0, -850.0), flat)


def test_a_group_must_pay_for_itself():
    """Four rates a group, log(n) / 2 each."""
    alone, pair = np.arange(4), np.array([0, 0, 1, 2])
    price = 2 * np.log(500)
    grouped = Explained(pair, -900.0, -900.0 + price - 0.1)
    assert best_root(grouped, [alone], lambda groups: Explained(groups, -950.0, -900.0), 500).groups is alone
    dearer = Explained(pair, -900.0, -900.0 + price + 0.1)
    assert best_root(dearer, [alone], lambda groups: Explained(groups, -950.0, -900.0), 500) is dearer


def test_true_groups_are_kept():
    for seed in range(3):
        X, _ = gl.simulate_votes(5_000, groups=[5, 4] + [1] * 6, random_state=seed)
        groups = fit(X).groups_
        assert len(np.unique(groups[:5])) == 1
        assert len(np.unique(groups[5:9])) == 1


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "least"), [("magic_1000_half_1", 82.5), ("musk2_1000_half_3", 89.0), ("musk2_500_half_2", 85.5)]
)
def test_forests_are_not_taken_for_an_echo(data_folder, name, least):
    """Ensembles on which the search took the best voters for a group: 76.8, 80.2 and 82.0 before."""
    with np.load(data_folder / f"weka/{name}.npz") as file:
        X, y = file["votes"], file["truth"]
    assert 100 * fit(X).score(X, y) > least


@pytest.mark.real_data
def test_a_panel_of_readers_keeps_its_nine_points(data_folder):
    with np.load(data_folder / "panels/mrmc_tony.npz") as file:
        X, y = file["votes"], file["truth"]
    model = fit(np.where(X == 0, np.nan, X)) if (X == 0).any() else fit(X)
    assert model.fitted_.grouping.guard is not None
    assert "skill" in model.verdict_
    assert 100 * model.score(X, y) > 79
