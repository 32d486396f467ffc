"""The structure search, its prices, and the readings it reports."""

import itertools
import warnings

import numpy as np
import pytest
import sklearn.base
from hypothesis import given
from hypothesis import strategies as st

import goldless as gl
from goldless.maths.checks import relabel
from goldless.maths.structure import search
from goldless.maths.structure.descent import Covariances, Grouping
from goldless.maths.structure.partitions import indistinguishable, rerootings, set_partitions, voters_in_groups
from goldless.maths.structure.prices import group_prices, weak_group_prices
from goldless.maths.structure.search import covariance_misfit, likely_partitions, search_structure
from goldless.votes.pairs import PairTables
from references import with_rates
from strategies import seeds


def covariance_of(model, n_items, rng):
    return PairTables.of(model.sample(n_items, rng)[0]).covariance()


def slow_residual(covariance, weight, groups, loading, coupling):
    """The weighted residual, term by term."""
    total = 0.0
    for i, j in itertools.combinations(range(len(groups)), 2):
        factor = 1.0 if groups[i] == groups[j] else coupling[groups[i]] * coupling[groups[j]]
        total += weight[i, j] * (covariance[i, j] - factor * loading[i] * loading[j]) ** 2
    return total


@given(seed=seeds)
def test_the_residual_is_the_sum_over_pairs(seed):
    rng = np.random.default_rng(seed)
    groups = relabel(rng.integers(0, 4, 7))
    covariance = rng.normal(size=(7, 7))
    covariance = covariance + covariance.T
    weight = rng.random((7, 7)) * (rng.random((7, 7)) < 0.8)
    weight = (weight + weight.T) * ~np.eye(7, dtype=bool)
    loading, coupling = rng.normal(size=7), rng.random(7)
    state = Grouping(groups, np.bincount(groups, minlength=7), loading, coupling)
    data = Covariances(covariance, weight)
    assert data.refit(state, 0) == pytest.approx(slow_residual(covariance, weight, groups, loading, coupling))


@given(seed=seeds)
def test_the_true_structure_fits_the_population(seed):
    """The model with m + K parameters is exact (appendix, eq. lin_dep)."""
    rng = np.random.default_rng(seed)
    model = gl.random_model([4, 3, 1, 1, 1], group_accuracy=(0.65, 0.85), random_state=rng)
    covariance = model.population_covariance()
    weight = np.ones_like(covariance) - np.eye(10)
    size = np.bincount(model.groups, minlength=10)
    state = Grouping(model.groups.copy(), size, model.v_on.copy(), np.where(size > 1, 0.7, 1.0))
    assert Covariances(covariance, weight).refit(state, 3000, 1e-12) < 1e-6


@pytest.mark.parametrize("sizes", [[5] + [1] * 15, [6, 4, 3] + [1] * 12, [8] + [1] * 12])
def test_groups_are_found(sizes, rng):
    model = gl.random_model(sizes, group_accuracy=(0.6, 0.8), random_state=rng)
    found = search_structure(covariance_of(model, 20_000, rng), 20_000)
    np.testing.assert_array_equal(found.groups, model.groups)
    assert found.overdispersion < 1.5
    assert found.readings[0].objective == min(reading.objective for reading in found.readings)


@pytest.mark.parametrize("n_voters", [5, 12, 20])
def test_independent_voters_are_left_alone(n_voters, rng):
    model = gl.random_model([1] * n_voters, random_state=rng)
    assert voters_in_groups(search_structure(covariance_of(model, 5000, rng), 5000).groups) == 0


def test_an_adversarial_group_is_found(rng):
    """A group whose latent runs against the truth (t < 0)."""
    base = gl.random_model([5] + [1] * 12, group_accuracy=(0.7, 0.8), random_state=rng)
    against = gl.LatentModel(
        base.groups,
        0.5,
        np.where(np.arange(13) == 0, 0.25, base.group_sensitivity),
        np.where(np.arange(13) == 0, 0.25, base.group_specificity),
        base.sensitivity_given_group,
        base.specificity_given_group,
    )
    found = search_structure(covariance_of(against, 20_000, rng), 20_000)
    np.testing.assert_array_equal(found.groups, base.groups)
    assert found.couplings[0] * found.loadings[:5].mean() * found.loadings[5:].mean() < 0


def test_permuting_voters_permutes_the_structure(rng):
    model = gl.random_model([5, 3] + [1] * 8, group_accuracy=(0.6, 0.8), random_state=rng)
    codes = model.sample(5000, rng)[0]
    order = rng.permutation(16)
    found, permuted = (
        search_structure(PairTables.of(np.ascontiguousarray(votes)).covariance(), 5000)
        for votes in (codes, codes[:, order])
    )
    np.testing.assert_array_equal(permuted.groups, relabel(found.groups[order]))
    assert permuted.objective == pytest.approx(found.objective, rel=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_all_partitions_are_listed_once(n):
    bell = [1, 2, 5, 15, 52, 203][n - 1]
    partitions = set_partitions(n)
    assert len(partitions) == bell - 1  # all but the single group
    assert len({row.tobytes() for row in partitions}) == len(partitions)
    for row in partitions:
        np.testing.assert_array_equal(relabel(row), row)


def test_small_panels_compare_all_partitions(rng):
    model = gl.random_model([3, 1, 1, 1, 1], group_accuracy=(0.6, 0.7), random_state=rng)
    found = search_structure(covariance_of(model, 50_000, rng), 50_000)
    np.testing.assert_array_equal(found.groups, model.groups)


def test_three_voters_have_no_structure(rng):
    model = gl.random_model([1] * 3, random_state=rng)
    found = search_structure(covariance_of(model, 1000, rng), 1000)
    np.testing.assert_array_equal(found.groups, [0, 1, 2])
    assert len(found.readings) == 1


@given(sizes=st.lists(st.integers(1, 4), min_size=2, max_size=5))
def test_rerooting_a_single_group_twice_returns_it(sizes):
    """With one group, its members and the rest change places."""
    groups = relabel(np.repeat(np.arange(len(sizes)), sizes))
    n_multiple = sum(size > 1 for size in sizes)
    if n_multiple == 1:
        (rooted,) = rerootings(groups)
        if (np.bincount(rooted) > 1).sum() == 1:
            np.testing.assert_array_equal(rerootings(rooted)[0], groups)


def test_a_group_of_one_is_free_and_larger_groups_cost_more():
    price = group_prices(20, 9.0, 2.0)
    assert price[0] == price[1] == 0
    assert (np.diff(price[1:]) > 0).all()
    np.testing.assert_allclose(group_prices(20, 9.0)[2:], 9.0 * np.arange(2, 21))


def test_weak_voters_count_for_the_root_before_they_are_worth_a_place_in_a_group():
    """Nine echo, eleven do not, four of them nearly random: by price alone seven against nine decide (3 of 10)."""
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        drawn = gl.random_model([9] + [1] * 11, group_accuracy=(0.6, 0.7), random_state=rng)
        rates = np.repeat([0.8, 0.7, 0.515], [9, 7, 4])
        model = with_rates(drawn, sensitivity_given_group=rates, specificity_given_group=rates)
        groups = search_structure(covariance_of(model, 10_000, rng), 10_000).groups
        found += np.array_equal(groups[:9], np.zeros(9)) and voters_in_groups(groups) == 9
    assert found >= 6


def test_dependence_shows_as_overdispersion(rng):
    apart = gl.random_model([1] * 12, random_state=rng)
    together = gl.random_model([4] + [1] * 8, group_accuracy=(0.7, 0.8), random_state=rng)
    assert covariance_misfit(covariance_of(apart, 5000, rng)) < 2
    assert covariance_misfit(covariance_of(together, 5000, rng)) > 4
    assert covariance_misfit(covariance_of(together, 5000, rng), together.groups) < 2


# -- the estimator ------------------------------------------------------------------------------------------


def test_half_and_half_is_always_ambiguous():
    """Two readings tie exactly when the group is as large as the rest, and the user is told."""
    for seed in range(8):
        X, _ = gl.simulate_votes(10_000, [10] + [1] * 10, random_state=seed)
        with pytest.warns(gl.AmbiguousGroupingWarning, match="a few labelled items, a known class balance or one"):
            model = gl.LatentSML().fit(X)
        assert model.ambiguous_
        assert "almost equally well" in model.verdict_


@pytest.mark.parametrize("n_voters", [4, 6, 8, 12])
def test_independent_voters_are_not_called_ambiguous(n_voters):
    """A pair more in a group that explains nothing is not another reading."""
    X, _ = gl.simulate_votes(5000, [1] * n_voters, group_accuracy=(0.7, 1.0), random_state=n_voters)
    model = gl.LatentSML().fit(X)
    assert not model.ambiguous_


def test_errors_that_no_grouping_explains_are_told(rng):
    """Two sources of shared errors, with four voters that listen to both, are no tree."""
    y = rng.choice([-1, 1], 20_000)
    accuracy = np.full((20_000, 12), 0.85)
    X = np.where(rng.random((20_000, 12)) < accuracy, y[:, None], -y[:, None])
    assert "Voters share more than" not in gl.LatentSML().fit(X).verdict_
    for listeners in (np.arange(8), np.arange(4, 12)):
        misled = (
            (rng.random(20_000) < 0.3)[:, None]
            & (np.isin(np.arange(12), listeners))
            & (rng.random((20_000, 12)) < 0.7)
        )
        X = np.where(misled, -y[:, None], X)
    assert "Voters share more than the groups explain (residual" in gl.LatentSML().fit(X).verdict_


def test_readings_are_reported_with_margins_and_changes():
    X, _ = gl.simulate_votes(10_000, [5] + [1] * 15, random_state=0)
    model = gl.LatentSML().fit(X)
    assert not model.ambiguous_
    assert model.alternatives_
    for rooting in model.alternatives_:
        assert rooting.groups.shape == (20,)
        assert rooting.margin >= 0
        assert 0 <= rooting.labels_changed <= 1
    margins = [rooting.margin for rooting in model.alternatives_]
    assert margins == sorted(margins)


@pytest.mark.parametrize("imbalance", [-0.8, 0.0, 0.6])
def test_several_groups_come_close_to_the_oracle(imbalance):
    X, y, truth = gl.simulate_votes(
        20_000, [6, 4, 3] + [1] * 12, imbalance, group_accuracy=(0.6, 0.85), random_state=5, return_model=True
    )
    model = gl.LatentSML().fit(X)
    np.testing.assert_array_equal(model.groups_, truth.groups)
    assert model.score(X, y) > gl.OracleLatent(truth).fit(X).score(X, y) - 0.004
    assert model.subtype_models_ == ()  # there are none, and none are found


def test_clones_change_nothing_under_the_search():
    X, _ = gl.simulate_votes(5000, [4] + [1] * 10, random_state=2)
    with pytest.warns(gl.VotesWarning, match="Exact copies"):
        doubled = gl.LatentSML().fit(np.column_stack([X, X[:, 0], X[:, 9]]))
    model = gl.LatentSML().fit(X)
    np.testing.assert_array_equal(doubled.predict(np.column_stack([X, X[:, 0], X[:, 9]])), model.predict(X))
    assert doubled.groups_[14] == doubled.groups_[0]


def test_few_items_are_not_searched():
    X, _ = gl.simulate_votes(25, [3] + [1] * 10, random_state=0)
    model = gl.LatentSML().fit(X)
    assert model.n_groups_ == 13
    assert "only 25 items for 13 voters" in model.verdict_


def test_missing_votes_do_not_hide_the_group():
    X, _, truth = gl.simulate_votes(30_000, [5] + [1] * 10, missing_rate=0.3, random_state=1, return_model=True)
    np.testing.assert_array_equal(gl.LatentSML().fit(X).groups_, truth.groups)


def test_a_model_with_subtypes_survives_saving(tmp_path):
    """Items that are hard for everybody: the hub gets more states, and they are saved with the model."""
    rng = np.random.default_rng(0)
    y = rng.random(6000) < 0.5
    hard = rng.random(6000) < 0.5
    accuracy = np.where(hard[:, None], rng.uniform(0.5, 0.6, 12), rng.uniform(0.85, 0.95, 12))
    right = rng.random((6000, 12)) < accuracy
    X = np.where(right == y[:, None], 1, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        model = gl.LatentSML().fit(X)
    assert model.subtype_models_
    model.save(tmp_path / "model.json")
    loaded = gl.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert len(loaded.alternatives_) == len(model.alternatives_)
    majority = gl.MajorityVote().fit_predict(X)
    assert gl.balanced_error(y.astype(int), model.predict(X)) <= gl.balanced_error(y.astype(int), majority)


def test_informative_abstention_reads_silence():
    """Rules that fire on one class: with silence heard, items are labelled better; without gaps nothing changes."""
    rng = np.random.default_rng(1)
    y = np.where(rng.random(4000) < 0.5, 1, -1)
    X = np.full((4000, 12), np.nan)
    for rule in range(12):
        side = 1 if rule % 4 else -1  # nine rules for one class: their silence speaks for the other
        fires = rng.random(4000) < np.where(y == side, 0.4, 0.08)
        X[fires, rule] = side
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        plain = gl.LatentSML().fit(X)
        heard = gl.LatentSML(abstain="informative").fit(X)
    assert heard.score(X, y) > plain.score(X, y) + 0.005
    assert heard.sensitivity_.shape == (12,)


def test_abstention_that_never_happens_changes_nothing():
    X, _ = gl.simulate_votes(5000, [4] + [1] * 10, random_state=2)
    heard, plain = (gl.LatentSML(abstain=how).fit(X) for how in ("informative", "ignore"))
    np.testing.assert_array_equal(heard.predict(X), plain.predict(X))
    with pytest.raises(ValueError, match="abstain must be"):
        gl.LatentSML(abstain="maybe").fit(X)


# -- what cannot be known ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_voters", [3, 4, 5, 6])
def test_what_votes_cannot_tell_apart(n_voters, rng):
    """Groupings said to be one model fit alike to the last digit."""
    sizes = {3: [1, 1, 1], 4: [2, 1, 1], 5: [2, 1, 1, 1], 6: [3, 1, 1, 1]}[n_voters]
    model = gl.random_model(sizes, group_accuracy=(0.7, 0.8), random_state=rng)
    noise = rng.normal(size=(n_voters, n_voters)) / 300
    covariance = model.population_covariance() + noise + noise.T
    weight = np.ones((n_voters, n_voters)) - np.eye(n_voters)
    partitions = set_partitions(n_voters)
    residual = {}
    for row in partitions:
        size = np.bincount(row, minlength=n_voters)
        loading = np.sqrt(np.abs(covariance).mean()) * np.ones(n_voters)
        start = Grouping(row.copy(), size, loading, np.where(size > 1, 0.7, 1.0))
        residual[row.tobytes()] = Covariances(covariance, weight).refit(start, 20_000, 1e-13)
    for row in partitions:
        same = {other.tobytes() for other in indistinguishable(row)}
        for other in partitions:
            if other.tobytes() in same:
                assert residual[other.tobytes()] == pytest.approx(residual[row.tobytes()], abs=1e-7)
    classes = {frozenset(other.tobytes() for other in indistinguishable(row)) for row in partitions}
    assert len(classes) == {3: 1, 4: 4, 5: 26, 6: 146}[n_voters]
    if n_voters == 3:
        assert max(residual.values()) < 1e-9


def test_three_voters_are_told_what_cannot_be_known():
    X, _ = gl.simulate_votes(2000, [1, 1, 1], group_accuracy=(0.7, 0.9), random_state=0)
    assert "between three voters no number of items can show it" in gl.LatentSML().fit(X).verdict_


@pytest.mark.parametrize("n_voters", [1, 2])
def test_one_or_two_voters_are_labelled_by_and_told_that_it_is_a_guess(n_voters):
    """What is left when others are constant or copies: agreement gives the label, and nothing is claimed."""
    X, _ = gl.simulate_votes(400, [1] * 5, random_state=3)
    votes = np.column_stack([X[:, :n_voters], X[:, :1], np.full((400, 2), X.max())])
    with pytest.warns(gl.VotesWarning) as warned:
        model = gl.LatentSML().fit(votes)
    few = "Only one voter uses both classes" if n_voters == 1 else "Only 2 different voters use both classes"
    assert any(few in str(warning.message) for warning in warned)
    assert "cannot show who is right" in model.verdict_
    agree = (votes[:, :n_voters] == votes[:, :1]).all(axis=1)
    np.testing.assert_array_equal(model.predict(votes)[agree], votes[agree, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        alone = gl.LatentSML().fit(X[:, :n_voters])
        diagnosis = gl.diagnose(model, votes)
    np.testing.assert_array_equal(alone.predict(X[:, :n_voters]), model.predict(votes))
    assert "cannot show who is right" in diagnosis.verdict


def test_which_of_two_pairs_echoes_is_left_open():
    """Four voters: the pair found and the pair of the others fit alike, and the user is told."""
    base = gl.random_model([2, 1, 1], random_state=4)
    model = with_rates(
        base,
        group_sensitivity=[0.75, 1, 1],
        group_specificity=[0.75, 1, 1],
        sensitivity_given_group=[0.95, 0.95, 0.8, 0.75],
        specificity_given_group=[0.95, 0.95, 0.8, 0.75],
        class_balance=0.5,
    )
    codes = model.sample(20_000, 3)[0]
    with pytest.warns(gl.AmbiguousGroupingWarning):
        fitted = gl.LatentSML().fit(codes)
    assert fitted.alternatives_[0].margin == pytest.approx(0.0, abs=1e-3)
    others = {tuple(other) for other in indistinguishable(fitted.groups_)}
    assert {tuple(rooting.groups) for rooting in fitted.alternatives_[:1]} <= others


def test_nine_voters_are_enumerated(rng):
    model = gl.random_model([4, 2, 1, 1, 1], group_accuracy=(0.6, 0.7), random_state=rng)
    found = search_structure(covariance_of(model, 50_000, rng), 50_000)
    np.testing.assert_array_equal(found.groups, model.groups)
    assert len(found.readings) == 32


# -- hard cases ---------------------------------------------------------------------------------------------


def hard_model(sizes, seed, imbalance=0.0, **ranges):
    """A random model, and its votes; ranges replace the rates of group latents, members or the last single voters."""
    rng = np.random.default_rng(seed)
    model = gl.random_model(sizes, imbalance, group_accuracy=(0.6, 0.85), random_state=rng)
    shared = np.bincount(model.groups) > 1
    grouped = shared[model.groups]
    late = ~grouped & (np.arange(len(grouped)) >= 8)
    changes = {}
    for side in ("sensitivity", "specificity"):
        of_group, of_voter = getattr(model, f"group_{side}"), getattr(model, f"{side}_given_group")
        if "latents" in ranges:
            of_group = np.where(shared, rng.uniform(*ranges["latents"], len(of_group)), of_group)
        for chosen, name in ((grouped, "members"), (late, "late")):
            if name in ranges:
                of_voter = np.where(chosen, rng.uniform(*ranges[name], len(of_voter)), of_voter)
        changes |= {f"group_{side}": of_group, f"{side}_given_group": of_voter}
    return with_rates(model, **changes), rng


@pytest.mark.parametrize(
    ("sizes", "imbalance", "ranges"),
    [
        ([5] + [1] * 15, -0.95, {}),
        ([5] + [1] * 15, 0.95, {}),
        ([2] + [1] * 12, 0.0, {"members": (0.99, 0.99)}),  # a clone with 1 % flips
        ([6] + [1] * 12, 0.0, {"members": (0.99, 0.99)}),
        ([1] * 28, 0.0, {"late": (0.48, 0.52)}),  # eight voters and twenty near-random ones
        ([5] + [1] * 12, 0.0, {"latents": (0.15, 0.4)}),  # a group that runs against the truth
        ([14, 3, 2] + [1] * 9, 0.0, {}),  # a group much larger than the rest
    ],
)
def test_hard_cases_come_close_to_the_oracle(sizes, imbalance, ranges):
    """The groups are found, and labels are at most one point worse than those of the true model."""
    truth, rng = hard_model(sizes, [3, len(sizes)], imbalance, **ranges)
    codes, y, _ = truth.sample(60_000 if imbalance else 20_000, rng)  # a class of one in forty needs items
    model = gl.LatentSML().fit(codes)
    np.testing.assert_array_equal(model.groups_, truth.groups)
    assert model.score(codes, y) > gl.OracleLatent(truth).fit(codes).score(codes, y) - 0.01


def test_one_group_larger_than_the_rest_is_read_the_other_way_round():
    """No votes can tell a group of 14 and 6 alone from its reverse; the verdict says that simplicity decided."""
    X, _, truth = gl.simulate_votes(10_000, [14] + [1] * 6, random_state=14, return_model=True)
    model = gl.LatentSML().fit(X)
    np.testing.assert_array_equal(model.groups_, rerootings(truth.groups)[0])
    assert "fits equally well" in model.verdict_
    assert any(np.array_equal(rooting.groups, truth.groups) for rooting in model.alternatives_)


def test_near_duplicates_change_hardly_anything():
    """A clone with 1 % flips is grouped with its original, and fewer than 2 % of the labels change."""
    X, _ = gl.simulate_votes(10_000, [1] * 12, group_accuracy=(0.7, 0.9), random_state=5)
    flips = np.random.default_rng(6).random((len(X), 3)) < 0.01
    echoes = np.where(flips, -X[:, [0]], X[:, [0]])
    model, with_echoes = gl.LatentSML().fit(X), gl.LatentSML().fit(np.hstack([X, echoes]))
    np.testing.assert_array_equal(with_echoes.groups_[12:], with_echoes.groups_[0])
    assert with_echoes.n_groups_ == 12
    assert np.mean(with_echoes.predict(np.hstack([X, echoes])) != model.predict(X)) < 0.02


@pytest.mark.parametrize("estimator", [gl.LatentSML(), gl.DawidSkene()])
def test_the_balance_prior_gives_way_to_clear_votes(estimator):
    """2,000 items, one in ten positive: the prior towards one half would cost a point or more."""
    rng = np.random.default_rng(8)
    truth = gl.random_model([1] * 20, -0.8, group_accuracy=(0.7, 0.95), random_state=rng)
    codes, _, _ = truth.sample(2000, rng)
    assert estimator.fit(codes).class_balance_ == pytest.approx(0.1, abs=0.03)
    held = sklearn.base.clone(estimator).set_params(balance_prior=1000.0).fit(codes)
    assert held.class_balance_ > 0.2  # a prior that was asked for is kept


def test_the_balance_prior_stays_where_a_class_would_be_tiny():
    """Rules that nearly all vote for one class: freeing the balance would empty a class."""
    X, _ = gl.simulate_votes(90, [1] * 12, imbalance=0.5, random_state=1)
    model = gl.LatentSML().fit(X)
    assert 0.2 < model.class_balance_ < 0.8


def test_resamples_compare_only_likely_groupings_and_find_the_same(rng):
    model = gl.random_model([3] + [1] * 4, group_accuracy=(0.6, 0.8), random_state=rng)
    codes = model.sample(400, rng)[0]
    likely = likely_partitions(PairTables.of(codes).covariance(), 400, 100)
    assert len(likely) < len(set_partitions(7)) / 2
    for _ in range(5):
        estimate = PairTables.of(codes[rng.integers(400, size=400)]).covariance()
        among, everywhere = (search_structure(estimate, 400, among=rows) for rows in (likely, None))
        np.testing.assert_array_equal(among.groups, everywhere.groups)
    assert likely_partitions(PairTables.of(codes[:, :3].copy()).covariance(), 400, 10) is None


def echoing_pair(correlation, n_items, n_voters, rng):
    """Votes of equally good voters, two of whom share errors with a given correlation within each class."""
    y = rng.random(n_items) < 0.5
    right = rng.random((n_items, n_voters)) < 0.7
    right[:, 1] = np.where(rng.random(n_items) < correlation, right[:, 0], right[:, 1])
    return (right == y[:, None]).astype(np.int8)


@pytest.mark.parametrize(("n_items", "n_voters"), [(300, 7), (2000, 12)])
def test_how_faint_an_echo_can_be_and_still_show(n_items, n_voters, rng):
    found = {}
    for times in (0.0, 0.5, 2.0):
        results = []
        for _ in range(20):
            price = group_prices(n_voters, np.log(n_items), 2.0)[2]
            correlation = times * np.sqrt(price / n_items) / 0.84  # in units of the spread within a class
            estimate = PairTables.of(echoing_pair(correlation, n_items, n_voters, rng)).covariance()
            results.append(search_structure(estimate, n_items))
        found[times] = np.mean([result.groups[0] == result.groups[1] for result in results])
        faintest = np.median([result.faintest_pair for result in results])
        assert faintest == pytest.approx(np.sqrt(price / n_items), rel=0.15)  # of voters with even votes
    assert found[0.0] == 0
    assert found[0.5] <= 0.1
    assert found[2.0] >= 0.8


def test_the_verdict_says_how_faint_an_echo_could_hide(rng):
    few, many = (gl.random_model([1] * 8, random_state=1).sample(n, rng)[0] for n in (150, 20_000))
    model = gl.LatentSML().fit(few)
    assert model.n_groups_ == 8
    assert "detectable from a correlation of 0.3" in model.verdict_
    assert "detectable from" not in gl.LatentSML().fit(many).verdict_


def test_a_lower_price_finds_weaker_groups(rng):
    model = gl.random_model([3] + [1] * 11, group_accuracy=(0.75, 0.8), random_state=rng)
    estimate = covariance_of(model, 1000, rng)
    weak, extended = (search_structure(estimate, 1000, prices=p) for p in (weak_group_prices(14, 1000), None))
    assert voters_in_groups(weak.groups) >= voters_in_groups(extended.groups)


def test_linear_algebra_has_one_thread_during_the_search_and_as_many_as_before_after_it(rng, monkeypatch):
    """The user's process is left as it was, also if the search fails."""
    from threadpoolctl import ThreadpoolController

    def n_threads():
        libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        return [library.num_threads for library in libraries]

    estimate = PairTables.of(rng.integers(0, 2, (500, 12)).astype(np.int8)).covariance()
    during, before = [], n_threads()
    linkage_starts = search._Problem.linkage_starts

    def watched(problem, price):
        during.append(n_threads())
        return linkage_starts(problem, price)

    monkeypatch.setattr(search._Problem, "linkage_starts", watched)
    search_structure(estimate, 500)
    assert n_threads() == before
    assert set(during[0]) <= {1}

    def failing(problem, price):
        raise MemoryError

    monkeypatch.setattr(search._Problem, "linkage_starts", failing)
    with pytest.raises(MemoryError):
        search_structure(estimate, 500)
    assert n_threads() == before


def test_a_search_does_not_go_round_in_circles(monkeypatch):
    """Cliques of four with no item in common leave much open: moves promise what no fit keeps."""
    rng = np.random.default_rng(1)
    codes = np.full((12, 600, 12, 4), -1, dtype=np.int8)
    for clique in range(12):
        truth, accuracy = rng.integers(0, 4, 600), rng.uniform(0.4, 0.95, 4)
        right = rng.random((600, 4)) < accuracy
        codes[clique, :, clique] = np.where(right, truth[:, None], rng.integers(0, 4, (600, 4)))
    estimate = PairTables.of(codes.reshape(-1, 48), 4).covariance()
    looks, best_moves = [], Covariances.best_moves
    monkeypatch.setattr(Covariances, "best_moves", lambda *inputs: looks.append(1) or best_moves(*inputs))
    found = search_structure(estimate, 12 * 600)
    assert found.groups.tolist() == list(range(48))
    assert len(looks) < 10_000  # 100,000 before
