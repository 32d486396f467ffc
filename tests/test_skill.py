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


def test_another_grouping_must_pay_for_its_parameters():
    """Without groups: two rates for each of four voters and two shares, against two rates of the group."""
    alone, pair = np.arange(4), np.array([0, 0, 1, 2])
    half = np.log(500) / 2
    grouped = Explained(pair, -900.0, -899.0)
    least = -900.0 + (2 * 4 + 2 - 2) * half  # what the other must explain with kinds of items
    dear, worth_it = (Explained(alone, -950.0, least + more) for more in (-0.1, 0.1))
    assert best_root(grouped, [alone], lambda _: dear, 500) is grouped
    assert best_root(grouped, [alone], lambda _: worth_it, 500) is worth_it


def test_true_groups_are_kept():
    """Where votes have groups and nothing else, easy and hard items explain nothing, and nothing is doubted."""
    for seed in range(12):
        X, _ = gl.simulate_votes(2_000, [4] + [1] * 8, imbalance=0.3, group_accuracy=(0.65, 0.9), random_state=seed)
        assert len(np.unique(fit(X).groups_[:4])) == 1


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "least"), [("magic_1000_half_1", 82.5), ("musk2_1000_half_3", 89.0), ("musk2_500_half_2", 85.5)]
)
def test_forests_are_not_taken_for_an_echo(data_folder, name, least):
    """Ensembles on which the search took the best voters for a group: 76.8, 80.2 and 82.0 before."""
    with np.load(data_folder / f"weka/{name}.npz") as file:
        X, y = file["votes"], file["truth"]
    assert 100 * fit(X).score(X, y) > least
