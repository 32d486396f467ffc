"""Tables over byte values: the same as Bayes' rule voter by voter, for any size of group and hub."""

import dataclasses

import numpy as np
import pytest

from goldless import LatentModel
from goldless.kernels.packing import PackingPlan
from goldless.maths.checks import relabel
from goldless.maths.subtypes import SubtypeModel
from goldless.votes.passes import GroupedPatterns
from goldless.votes.patterns import PatternTable
from references_votes import unit_votes

SIZES = {"small": [3, 1, 2, 1, 1], "one byte": [8, 5, 1], "wide": [12, 1, 9, 4, 1, 1, 23]}
by_sizes = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
with_missing = pytest.mark.parametrize("missing", [0.0, 0.4], ids=["complete", "missing"])


def draw_groups(sizes, rng):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rng.shuffle(groups)
    return relabel(groups)


def draw_model(groups, n_states, rng):
    n_groups = groups.max() + 1
    weights = rng.dirichlet(np.ones(n_states))
    return SubtypeModel(
        groups=groups,
        state_weights=weights,
        state_is_positive=np.arange(n_states) >= n_states // 2,
        positive_share=np.linspace(0, 1, n_states),
        positive_prior=0.5,
        group_positive=rng.uniform(0.05, 0.95, (n_groups, n_states)),
        vote_positive=rng.uniform(0.05, 0.95, (len(groups), n_states)),
    )


def draw_codes(groups, missing, rng, n_rows=40):
    codes = rng.integers(0, 2, (n_rows, len(groups))).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = -1
    return codes


def slow_expectation(model, codes, counts):
    """E-step of one hub by Bayes' rule, row by row, group by group, voter by voter."""
    n_states, groups = model.n_states, model.groups
    labels = np.zeros(n_states)
    latents = np.zeros((groups.max() + 1, 2, n_states))
    votes = np.zeros((len(groups), n_states, 2))
    log_likelihood = 0.0
    for row, count in zip(codes, counts, strict=True):
        of_vote = [lambda p, code=code: 1.0 if code < 0 else (p if code else 1 - p) for code in row]
        hub, latent = model.state_weights.copy(), {}
        for group in range(groups.max() + 1):
            members = np.flatnonzero(groups == group)
            if len(members) == 1:
                hub *= [of_vote[members[0]](p) for p in model.vote_positive[members[0]]]
                continue
            given = [np.prod([of_vote[i](model.vote_positive[i, a]) for i in members]) for a in (0, 1)]
            joint = np.array([(1 - model.group_positive[group]) * given[0], model.group_positive[group] * given[1]])
            hub *= joint.sum(axis=0)
            latent[group] = joint / joint.sum(axis=0)
        log_likelihood += count * np.log(hub.sum())
        hub *= count / hub.sum()
        labels += hub
        for i, code in enumerate(row):
            alone = groups[i] not in latent
            parent = hub if alone else latent[groups[i]] @ hub
            if code >= 0:
                votes[i, : len(parent), code] += parent
        for group, of_group in latent.items():
            latents[group] += of_group * hub
    return labels, latents, votes, log_likelihood


@by_sizes
@with_missing
@pytest.mark.parametrize("n_states", [2, 4])
def test_a_pass_is_bayes_rule(sizes, missing, n_states, rng):
    groups = draw_groups(sizes, rng)
    model = draw_model(groups, n_states, rng)
    codes, counts = draw_codes(groups, missing, rng), rng.integers(1, 4, 40)
    assert_pass_is_bayes_rule(model, codes, counts)


def assert_pass_is_bayes_rule(model, codes, counts):
    computed = GroupedPatterns(PatternTable.of(codes, counts), model.groups).expect(model)
    labels, latents, votes, log_likelihood = slow_expectation(model, codes, counts)
    np.testing.assert_allclose(computed.labels, labels, atol=1e-9)
    np.testing.assert_allclose(computed.latents, latents, atol=1e-9)
    np.testing.assert_allclose(computed.votes, votes, atol=1e-9)
    assert computed.log_likelihood == pytest.approx(log_likelihood, rel=1e-9)


@pytest.mark.parametrize("n_states", [2, 6])
@pytest.mark.parametrize("doubt", [1e-2, 1e-5], ids=["sure", "very sure"])
def test_a_pass_is_bayes_rule_where_groups_outvote_many_who_are_alone(n_states, doubt, rng):
    """Messages of many sure groups are products too small to weigh against a sum of logarithms as they are."""
    groups = draw_groups([9] * 14 + [1] * 16, rng)
    model, alone = draw_model(groups, n_states, rng), np.bincount(groups) == 1
    is_odd = np.arange(n_states) % 2 == 1
    model = dataclasses.replace(
        model,
        group_positive=np.where(is_odd, 1 - doubt, doubt) * np.ones((len(alone), 1)),
        vote_positive=np.where(is_odd, 0.999, 0.001) * np.ones((len(groups), 1)),
    )
    side = rng.integers(0, 2, (40, 1))
    said = np.where(alone, 1 - side, side)[:, groups]
    codes = np.where(rng.random(said.shape) < 0.02, 1 - said, said).astype(np.int8)
    assert_pass_is_bayes_rule(model, codes, rng.integers(1, 4, 40))


@by_sizes
@with_missing
def test_a_group_with_two_latent_states_is_a_mixture(sizes, missing, rng):
    groups = draw_groups(sizes, rng)
    n_groups, n_voters = groups.max() + 1, len(groups)
    rates = rng.uniform(0.1, 0.9, (2, n_groups)), rng.uniform(0.1, 0.9, (2, n_voters))
    model = LatentModel(groups, 0.3, *rates[0], *rates[1])
    codes = draw_codes(groups, missing, rng)
    expected, latent = np.zeros((len(codes), 2)), np.zeros((len(codes), n_groups, 2, 2))
    for group in range(n_groups):
        members = groups == group
        positive = np.stack([1 - model.specificity_given_group, model.sensitivity_given_group])[:, members]
        said = codes[:, None, members]
        given = np.where(said < 0, 1.0, np.where(said == 1, positive, 1 - positive)).prod(axis=2)
        joint = given[:, :, None] * model.group_rates[group]
        expected += np.log(joint.sum(axis=1))
        latent[:, group] = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.class_log_likelihood(codes), expected, atol=1e-9)
    np.testing.assert_allclose(model.log_likelihood_ratio(codes), expected[:, 1] - expected[:, 0], atol=1e-9)
    hub = np.stack([1 - model.posterior(codes), model.posterior(codes)], axis=1)
    np.testing.assert_allclose(model.group_posterior(codes), (latent[:, :, 1] * hub[:, None]).sum(axis=2), atol=1e-9)


@by_sizes
@with_missing
@pytest.mark.parametrize("given", [False, True], ids=["own start", "given start"])
def test_every_unit_has_one_soft_vote_to_start(sizes, missing, given, rng):
    groups = draw_groups(sizes, rng)
    codes = draw_codes(groups, missing, rng)
    codes[:2] = -1 if missing else codes[:2]
    table = PatternTable.of(codes, rng.integers(1, 4, 40))
    hub = rng.dirichlet(np.ones(4), table.n_patterns) if given else None
    counts = GroupedPatterns(table, groups).unit_votes(hub)
    labels, latents, votes = unit_votes(table, groups, hub)
    np.testing.assert_allclose(counts.labels, labels, atol=1e-9)
    np.testing.assert_allclose(counts.latents, latents, atol=1e-9)
    np.testing.assert_allclose(counts.votes, votes, atol=1e-9)


@by_sizes
@with_missing
def test_packing_keeps_every_vote_and_leaves_out_who_is_left_out(sizes, missing, rng):
    groups = draw_groups(sizes, rng)
    codes = draw_codes(groups, missing, rng)
    plan = PackingPlan.for_groups(np.where(groups == 1, -1, groups), 3 if missing else 2)
    packed = plan.pack(codes)
    for byte, (start, stop) in enumerate(zip(plan.byte_start[:-1], plan.byte_start[1:], strict=True)):
        rest = packed[:, byte].astype(int)
        for voter in plan.voters[start:stop]:
            np.testing.assert_array_equal(rest % plan.n_states - (plan.n_states - 2), codes[:, voter])
            rest //= plan.n_states
    assert sorted(plan.voters) == list(np.flatnonzero(groups != 1))
    assert not packed[:, plan.n_bytes :].any()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_many_voters_of_mixed_groups_are_packed_digit_by_digit(missing, rng):
    groups = rng.permutation(np.repeat(np.arange(120), 3))
    codes = rng.integers(0, 2, (50, 360)).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = -1
    plan = PackingPlan.for_groups(groups, 3 if missing else 2)
    packed = plan.pack(codes)
    for voter, byte, weight in zip(
        plan.voters,
        np.repeat(np.arange(plan.n_bytes), np.diff(plan.byte_start)),
        plan.n_states ** (np.arange(360) - np.repeat(plan.byte_start[:-1], np.diff(plan.byte_start))),
        strict=True,
    ):
        digit = packed[:, byte].astype(int) // weight % plan.n_states
        np.testing.assert_array_equal(digit - (plan.n_states - 2), codes[:, voter])


def test_groups_share_bytes_but_never_cross_them(rng):
    groups = draw_groups([6, 2, 5, 3, 1, 1, 9], rng)
    plan = PackingPlan.for_groups(groups, 2)
    assert plan.n_bytes == 5  # 6 + 2, 5 + 3, 1 + 1 and two bytes for the nine
    assert plan.n_narrow == 3
