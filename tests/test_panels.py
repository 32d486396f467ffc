"""Panels: chosen by what they are expected to get right, with costs, and with voters forced in and out."""

import warnings
from itertools import combinations, pairwise

import numpy as np
import pandas
import pytest

import goldless as gl
from goldless.fitting.panels import judge_panels
from goldless.maths.panels import PanelChooser, TwoClassJudge, worth_their_cost
from goldless.votes.sample import _MOST_PATTERNS, VoteSample

NAMES = [f"v{i}" for i in range(12)]
GROUPS = np.array([0] * 4 + [1] * 3 + [2, 3, 4, 5, 6])


@pytest.fixture(scope="module")
def votes():
    X, y = gl.simulate_votes(4000, [4, 3] + [1] * 5, 0.3, random_state=5)
    return pandas.DataFrame(X, columns=NAMES), y


@pytest.fixture(scope="module")
def model(votes):
    return gl.LatentSML(structure=GROUPS).fit(votes[0])


COST = dict(zip(NAMES, [3, 1, 2, 5, 1, 4, 2, 2, 1, 6, 3, 2], strict=True))


def chooser_of(codes, weights, cost=None):
    m = codes.shape[1]
    judge = TwoClassJudge(codes, weights)
    return PanelChooser(judge, np.ones(m) if cost is None else cost, np.array([], int), np.arange(m))


def slow_vote_accuracy(codes, weights, voters):
    """Count the votes of every pattern, one by one."""
    right = [0.0, 0.0]
    for row, (negative, positive) in zip(codes, weights.T, strict=True):
        total = sum(int(row[voter]) for voter in voters)
        right[0] += negative * (1 if total < 0 else 0.5 if total == 0 else 0)
        right[1] += positive * (1 if total > 0 else 0.5 if total == 0 else 0)
    return sum(right) / 2


def random_votes(rng, n=200, m=6):
    codes = rng.choice([-1, 0, 1], (n, m), p=[0.4, 0.1, 0.5]).astype(np.int8)
    weights = rng.random((2, n)) * np.exp(codes @ rng.random(m) * [[-1.0], [1.0]])
    return codes, weights / weights.sum(axis=1, keepdims=True)


def test_counted_votes_are_counted(rng):
    codes, weights = random_votes(rng)
    chooser = chooser_of(codes, weights)
    for voters in ([2], [0, 3], [1, 4, 5], [0, 1, 2, 3, 4, 5]):
        weighted, counted = chooser.accuracy(voters)
        assert counted == pytest.approx(slow_vote_accuracy(codes, weights, voters), abs=1e-6)
        assert weighted >= counted


def test_each_voter_of_a_path_is_the_one_that_adds_most(rng):
    codes, weights = random_votes(rng)
    chooser = chooser_of(codes, weights)
    best = max(range(6), key=lambda voter: chooser.accuracy([voter])[1])
    assert chooser.path(1) == [best]
    three = chooser.path(3)
    mean = {voter: sum(chooser.accuracy([*three[:2], voter])) / 2 for voter in range(6) if voter not in three[:2]}
    assert three[2] == max(mean, key=mean.get)


def test_panels_are_nested(model):
    longest = model.select(12).tolist()
    assert sorted(longest) == sorted(NAMES)
    for size in range(1, 12):
        assert model.select(size).tolist() == longest[:size]


def test_the_order_of_voters_and_of_items_changes_nothing(votes, model, rng):
    X, _ = votes
    order = rng.permutation(12)
    shuffled = X.iloc[rng.permutation(len(X)), order]
    other = gl.LatentSML(structure=GROUPS[order]).fit(shuffled)
    assert other.select(5).tolist() == model.select(5).tolist()
    assert [panel.voters for panel in other.panels(cost=COST)] == [panel.voters for panel in model.panels(cost=COST)]


def test_labels_may_be_renamed(votes, model):
    X, _ = votes
    renamed = X.replace({-1: "no", 1: "yes"})
    assert gl.LatentSML(structure=GROUPS).fit(renamed).select(5).tolist() == model.select(5).tolist()


def test_a_clone_is_chosen_last_and_changes_nothing_before(votes, model):
    X, _ = votes
    first = model.select(1)[0]
    other = gl.LatentSML(structure=[*GROUPS, GROUPS[NAMES.index(first)]])
    with pytest.warns(gl.VotesWarning, match="Exact copies"):
        other.fit(X.assign(clone=X[first]))
    assert other.select(12).tolist() == model.select(12).tolist()
    assert other.select(13)[-1] == "clone"
    # a cheaper copy stands in for its original, and an excluded one too
    cost = {**COST, "clone": 0.5}
    assert all(first not in panel.voters for panel in other.panels(cost=cost))
    assert any("clone" in panel.voters for panel in other.panels(cost=cost))
    assert other.select(1, exclude=[first]).tolist() == ["clone"]


def test_voters_are_forced_in_and_out(model):
    panel = model.select(4, include=["v7", "v2"], exclude=["v0"]).tolist()
    assert panel[:2] == ["v7", "v2"]
    assert len(panel) == 4
    assert "v0" not in panel
    assert model.select(2, include=["v7", "v2"]).tolist() == ["v7", "v2"]
    for panel in model.panels(cost=COST, include=["v3"], exclude=["v0", "v1"]):
        assert "v3" in panel.voters
        assert not {"v0", "v1"} & set(panel.voters)


def test_equal_costs_are_no_costs(model):
    panels = model.panels()
    again = model.panels(cost=dict.fromkeys(NAMES, 2.5))
    assert [panel.voters for panel in again] == [panel.voters for panel in panels]
    assert [panel.cost for panel in again] == [2.5 * panel.cost for panel in panels]
    for panel in panels:
        assert list(panel.voters) == model.select(len(panel.voters)).tolist()


def test_dearer_panels_give_more(model):
    panels = model.panels(cost=COST)
    assert len(panels) >= 3
    for cheap, dear in pairwise(panels):
        assert cheap.cost <= dear.cost
        assert dear.worth > cheap.worth - 1e-3
        assert dear.worth > cheap.worth or dear.effective_votes > cheap.effective_votes
    for panel in panels:
        assert panel.cost == sum(COST[name] for name in panel.voters)
        assert panel.vote_accuracy == pytest.approx(panel.balanced_accuracy, abs=0.2)
        assert 1 <= panel.effective_votes <= len(panel.voters)
    assert worth_their_cost(panels) == panels


def test_expected_accuracy_is_near_the_truth_when_the_model_holds(votes, model):
    X, y = votes
    for panel in model.panels():
        if len(panel.voters) % 2:
            names = list(panel.voters)
            assert model.subset(names).score(X[names], y) == pytest.approx(panel.balanced_accuracy, abs=0.03)


@pytest.mark.parametrize("budget", [1, 4, 7.5, 11, 40])
def test_a_budget_is_kept_and_well_spent(model, budget):
    chosen = model.select(cost=COST, budget=budget).tolist()
    assert sum(COST[name] for name in chosen) <= budget
    worth = {panel.voters: panel.worth for panel in model.panels(cost=COST)}
    affordable = [panel.worth for panel in model.panels(cost=COST) if panel.cost <= budget]
    if tuple(chosen) in worth and affordable:
        assert worth[tuple(chosen)] >= max(affordable) - 1e-3


def test_the_budget_is_spent_nearly_as_well_as_by_trying_everything(rng):
    """Against all panels of seven voters, on ten random tables."""
    lost = []
    for _ in range(10):
        codes, weights = random_votes(rng, m=7)
        cost = rng.integers(1, 6, 7).astype(float)
        chooser = chooser_of(codes, weights, cost)
        budget = float(rng.integers(5, 14))
        everything = [
            list(voters)
            for size in range(1, 8)
            for voters in combinations(range(7), size)
            if cost[list(voters)].sum() <= budget
        ]
        best = max(sum(chooser.accuracy(voters)) / 2 for voters in everything)
        found = max(sum(chooser.accuracy(voters)) / 2 for voters in chooser.grown(budget=budget))
        lost.append(best - found)
    assert max(lost) < 0.03
    assert np.median(lost) < 0.005


def test_a_budget_and_a_size_both_hold(model):
    panel = model.select(2, cost=COST, budget=100)
    assert len(panel) <= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "say how large"),
        ({"k": 13}, "between 1 and 12"),
        ({"k": 0}, "between 1 and 12"),
        ({"k": 12, "exclude": ["v0"]}, r"between 1 and 11 voters, got 12 \(1 of 12 are excluded\)"),
        ({"k": 1, "include": ["v0", "v1"]}, "between 2 and 12"),
        ({"k": 3, "include": ["nobody"]}, "no voter 'nobody'"),
        ({"k": 3, "include": ["v0"], "exclude": ["v0"]}, "'v0' is both"),
        ({"k": 3, "cost": COST}, "say the budget too"),
        ({"budget": 3}, "a budget needs cost"),
        ({"budget": 0.5, "cost": COST}, "no panel costs 0.5 or less: the cheapest voter costs 1"),
        ({"budget": -1, "cost": COST}, "must not be negative"),
        ({"budget": 2, "cost": COST, "include": ["v0"]}, "less than the 3 of the voters to include"),
        ({"budget": 9, "cost": {"v0": 1}}, "no cost is given for voter 'v1' and 10 more"),
        ({"budget": 9, "cost": {**COST, "x": 1}}, "no voter 'x'"),
        ({"budget": 9, "cost": {**COST, "v3": -2}}, "cost of voter 'v3' is -2"),
        ({"budget": 9, "cost": {**COST, "v3": np.nan}}, "cost of voter 'v3' is nan"),
        ({"budget": 9, "cost": [1, 2]}, "one number for each of 12 voters"),
    ],
)
def test_what_cannot_be_chosen_is_refused(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        model.select(**arguments)


def test_a_saved_model_chooses_the_same(model, tmp_path):
    model.save(tmp_path / "model.json")
    again = gl.load(tmp_path / "model.json")
    assert again.select(7).tolist() == model.select(7).tolist()
    assert again.panels(cost=COST) == model.panels(cost=COST)
    part = again.subset(model.select(5))
    assert set(part.select(2)) <= set(model.select(5))


def test_a_large_table_is_sampled_evenly(rng):
    n = 3 * _MOST_PATTERNS
    codes = np.unpackbits(np.arange(n, dtype=">u4").view(np.uint8).reshape(n, 4), axis=1)[:, 12:].astype(np.int8)
    counts, posterior = rng.integers(1, 9, n), rng.random(n)
    sample = VoteSample.of(codes, counts, np.stack([1 - posterior, posterior], axis=1))
    assert sample.weights.shape[1] <= _MOST_PATTERNS
    np.testing.assert_allclose(sample.weights.sum(axis=1), 1, rtol=1e-5)
    for label, share in enumerate((1 - posterior, posterior)):
        exact = (counts * share) @ codes / (counts * share).sum()
        np.testing.assert_allclose(sample.weights[label] @ sample.codes, exact, atol=0.02)


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "error"), [("S1", 2.0), ("S2", 2.8), ("S3", 2.5)])
def test_five_callers_of_dream_by_simple_vote(name, error, data_folder):
    """The paper's table of five-voter panels: L-SML 2.0, 2.8, 2.5."""
    with np.load(data_folder / "dream" / f"{name}.npz") as file:
        X, y = file["votes"], file["truth"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        panel = gl.LatentSML().fit(X).select(5)
    assert 100 * gl.balanced_error(y, gl.MajorityVote().fit_predict(X[:, panel])) <= error


def test_panels_and_the_diagnosis_count_effective_votes_alike(votes, model):
    diagnosis = gl.diagnose(model, votes[0], resamples=0)
    for panel in model.panels():
        columns = [NAMES.index(name) for name in panel.voters]
        assert panel.effective_votes == pytest.approx(diagnosis.effective_votes_of(columns), abs=1e-4)
    everyone = judge_panels(model.fitted_, [NAMES])[0]
    assert everyone.effective_votes == pytest.approx(diagnosis.effective_votes, abs=1e-4)


def test_a_voter_that_says_nothing_is_no_effective_vote(votes):
    X = votes[0].assign(quiet=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gl.LatentSML(structure=np.append(GROUPS, 7)).fit(X)
    with_it, without = judge_panels(model.fitted_, [["v0", "v7", "quiet"], ["v0", "v7"]])
    assert with_it.effective_votes == without.effective_votes
