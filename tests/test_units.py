"""Tables over byte values: the same as Bayes' rule voter by voter, for any size of group and hub."""

import dataclasses

import numpy as np
import pytest

from goldless import TreeModel
from goldless.kernels.packing import PackingPlan
from goldless.maths.checks import relabel
from goldless.votes.grouped import GroupedCodes, GroupedPatterns
from goldless.votes.rows import PatternTable
from references_votes import unit_votes
from strategies import random_rows

SIZES = {"small": [3, 1, 2, 1, 1], "one byte": [8, 5, 1], "wide": [12, 1, 9, 4, 1, 1, 23]}
by_sizes = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
with_missing = pytest.mark.parametrize("missing", [0.0, 0.4], ids=["complete", "missing"])
of_classes = pytest.mark.parametrize("n_classes", [2, 3, 10])

pytestmark = pytest.mark.usefixtures("small_and_large")


def draw_groups(sizes, rng):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rng.shuffle(groups)
    return relabel(groups)


def draw_model(groups, n_classes, levels, rng):
    """A hub with several states for each class; symbols are the classes."""
    n_groups, n_states = groups.max() + 1, n_classes * levels
    return TreeModel(
        groups,
        random_rows(rng, n_states),
        random_rows(rng, n_groups, n_states, n_classes).transpose(0, 2, 1),
        random_rows(rng, len(groups), n_states, n_classes),
        state_class=random_rows(rng, n_states, n_classes),
    )


def draw_codes(groups, missing, rng, n_classes=2, n_rows=40):
    codes = rng.integers(0, n_classes, (n_rows, len(groups))).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = -1
    return codes


def slow_expectation(model, codes, counts):
    """E-step of one hub by Bayes' rule, row by row, group by group, voter by voter."""
    groups, n_latent = model.groups, model.latents.shape[1]
    labels, latents, votes = np.zeros(model.n_states), np.zeros(model.latents.shape), np.zeros(model.votes.shape)
    log_likelihood = 0.0
    for row, count in zip(codes, counts, strict=True):
        # Pr(vote of each voter | state of its parent)
        of_vote = [
            model.votes[i, :, code] if code >= 0 else np.ones(model.votes.shape[1]) for i, code in enumerate(row)
        ]
        hub, latent = model.prior.copy(), {}
        for group in range(model.n_groups):
            members = np.flatnonzero(groups == group)
            if not model.has_latent[group]:
                hub *= of_vote[members[0]][: model.n_states]
                continue
            given = np.prod([of_vote[i][:n_latent] for i in members], axis=0)
            joint = given[:, None] * model.latents[group]
            hub *= joint.sum(axis=0)
            latent[group] = joint / joint.sum(axis=0)
        log_likelihood += count * np.log(hub.sum())
        hub *= count / hub.sum()
        labels += hub
        for i, code in enumerate(row):
            parent = latent[groups[i]] @ hub if groups[i] in latent else hub
            if code >= 0:
                votes[i, : len(parent), code] += parent
        for group, of_group in latent.items():
            latents[group] += of_group * hub
    return labels, latents, votes, log_likelihood


@by_sizes
@with_missing
@of_classes
@pytest.mark.parametrize("levels", [1, 2])
def test_a_pass_is_bayes_rule(sizes, missing, n_classes, levels, rng):
    groups = draw_groups(sizes, rng)
    model = draw_model(groups, n_classes, levels, rng)
    codes, counts = draw_codes(groups, missing, rng, n_classes), rng.integers(1, 4, 40)
    assert_pass_is_bayes_rule(model, codes, counts)


def assert_pass_is_bayes_rule(model, codes, counts):
    table = PatternTable.of(codes, model.n_symbols, counts)
    labels, latents, votes, log_likelihood = slow_expectation(model, codes, counts)
    for way in (GroupedPatterns, GroupedCodes):
        computed = way(table, model.groups).expect(model)
        np.testing.assert_allclose(computed.labels, labels, atol=1e-9)
        np.testing.assert_allclose(computed.latents, latents, atol=1e-9)
        np.testing.assert_allclose(computed.votes, votes, atol=1e-9)
        assert computed.log_likelihood == pytest.approx(log_likelihood, rel=1e-9)
    likeliest = [way(table, model.groups).labels(model) for way in (GroupedPatterns, GroupedCodes)]
    np.testing.assert_array_equal(*likeliest)


@pytest.mark.parametrize("n_states", [2, 6])
@pytest.mark.parametrize("doubt", [1e-2, 1e-5], ids=["sure", "very sure"])
def test_a_pass_is_bayes_rule_where_groups_outvote_many_who_are_alone(n_states, doubt, rng):
    """Messages of many sure groups are products too small to weigh against a sum of logarithms as they are."""
    groups = draw_groups([9] * 14 + [1] * 16, rng)
    model, alone = draw_model(groups, 2, n_states // 2, rng), np.bincount(groups) == 1
    is_odd = np.arange(n_states) % 2 == 1
    of_latent, of_vote = np.where(is_odd, 1 - doubt, doubt), np.where(is_odd, 0.999, 0.001)
    model = dataclasses.replace(
        model,
        latents=np.tile(np.stack([1 - of_latent, of_latent]), (len(alone), 1, 1)),
        votes=np.tile(np.stack([1 - of_vote, of_vote], axis=1), (len(groups), 1, 1)),
    )
    side = rng.integers(0, 2, (40, 1))
    said = np.where(alone, 1 - side, side)[:, groups]
    codes = np.where(rng.random(said.shape) < 0.02, 1 - said, said).astype(np.int8)
    assert_pass_is_bayes_rule(model, codes, rng.integers(1, 4, 40))


@by_sizes
@with_missing
@of_classes
def test_a_group_is_a_mixture_over_its_latent(sizes, missing, n_classes, rng):
    groups = draw_groups(sizes, rng)
    model = dataclasses.replace(draw_model(groups, n_classes, 1, rng), state_class=None, class_prior=None)
    codes = draw_codes(groups, missing, rng, n_classes)
    expected, latent = np.zeros((len(codes), n_classes)), np.zeros((len(codes), *model.latents.shape))
    for group in range(model.n_groups):
        given = np.ones((len(codes), n_classes))
        for voter in np.flatnonzero(groups == group):
            given *= np.where(codes[:, voter, None] < 0, 1.0, model.votes[voter][:, codes[:, voter]].T)
        joint = given[:, :, None] * model.latents[group]
        expected += np.log(joint.sum(axis=1))
        latent[:, group] = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.class_evidence(codes), expected - expected[:, :1], atol=1e-9)
    joint = np.exp(expected) * model.prior
    np.testing.assert_allclose(model.log_likelihood(codes), np.log(joint.sum(axis=1)), atol=1e-9)
    hub = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.posterior(codes), hub, atol=1e-9)
    np.testing.assert_allclose(model.group_posterior(codes), (latent * hub[:, None, None]).sum(axis=3), atol=1e-9)


@of_classes
def test_classes_are_mixtures_of_the_states_of_a_hub(n_classes, rng):
    groups = draw_groups([3, 1, 2, 1], rng)
    model = draw_model(groups, n_classes, 2, rng)
    codes = draw_codes(groups, 0.2, rng, n_classes)
    posterior = model.state_posterior(codes) @ model.state_class
    np.testing.assert_allclose(model.posterior(codes), posterior, atol=1e-9)
    likelihood = np.log(posterior / model.class_prior)
    np.testing.assert_allclose(model.class_evidence(codes), likelihood - likelihood[:, :1], atol=1e-9)


@by_sizes
@with_missing
@of_classes
@pytest.mark.parametrize("given", [False, True], ids=["own start", "given start"])
def test_every_unit_has_one_soft_vote_to_start(sizes, missing, n_classes, given, rng):
    groups = draw_groups(sizes, rng)
    codes = draw_codes(groups, missing, rng, n_classes)
    codes[:2] = -1 if missing else codes[:2]
    table = PatternTable.of(codes, n_classes, rng.integers(1, 4, 40))
    hub = rng.dirichlet(np.ones(2 * n_classes), table.n_patterns) if given else None
    labels, latents, votes = unit_votes(table, groups, hub)
    for way in (GroupedPatterns, GroupedCodes):
        counts = way(table, groups).unit_votes(hub)
        np.testing.assert_allclose(counts.labels, labels, atol=1e-9)
        np.testing.assert_allclose(counts.latents, latents, atol=1e-9)
        np.testing.assert_allclose(counts.votes, votes, atol=1e-9)


@by_sizes
@with_missing
@pytest.mark.parametrize("n_symbols", [2, 3, 7, 100])
def test_packing_keeps_every_vote_and_leaves_out_who_is_left_out(sizes, missing, n_symbols, rng):
    groups = draw_groups(sizes, rng)
    codes = draw_codes(groups, missing, rng, n_symbols)
    plan = PackingPlan.for_groups(np.where(groups == 1, -1, groups), n_symbols, bool(missing))
    packed = plan.pack(codes)
    for byte, (start, stop) in enumerate(zip(plan.byte_start[:-1], plan.byte_start[1:], strict=True)):
        rest = packed[:, byte].astype(int)
        for voter in plan.voters[start:stop]:
            np.testing.assert_array_equal(rest % plan.radix - plan.missing, codes[:, voter])
            rest //= plan.radix
    assert sorted(plan.voters) == list(np.flatnonzero(groups != 1))
    assert not packed[:, plan.n_bytes :].any()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_many_voters_of_mixed_groups_are_packed_digit_by_digit(missing, rng):
    groups = rng.permutation(np.repeat(np.arange(120), 3))
    codes = rng.integers(0, 2, (50, 360)).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = -1
    plan = PackingPlan.for_groups(groups, 2, bool(missing))
    packed = plan.pack(codes)
    for voter, byte, weight in zip(
        plan.voters,
        np.repeat(np.arange(plan.n_bytes), np.diff(plan.byte_start)),
        plan.radix ** (np.arange(360) - np.repeat(plan.byte_start[:-1], np.diff(plan.byte_start))),
        strict=True,
    ):
        digit = packed[:, byte].astype(int) // weight % plan.radix
        np.testing.assert_array_equal(digit - plan.missing, codes[:, voter])


def test_groups_share_bytes_but_never_cross_them(rng):
    groups = draw_groups([6, 2, 5, 3, 1, 1, 9], rng)
    plan = PackingPlan.for_groups(groups, 2, missing=False)
    assert plan.n_bytes == 5  # 6 + 2, 5 + 3, 1 + 1 and two bytes for the nine
    assert plan.n_narrow == 3


@of_classes
@with_missing
def test_a_row_has_the_same_bits_alone_and_among_many(n_classes, missing, rng):
    """Alone it is read by numpy, among many by a kernel."""
    groups = draw_groups([3, 1, 1, 2, 9, 1], rng)
    model = dataclasses.replace(draw_model(groups, n_classes, 1, rng), state_class=None, class_prior=None)
    codes = np.tile(draw_codes(groups, missing, rng, n_classes), (400, 1))
    together = model.class_evidence(codes)
    for row in range(5):
        np.testing.assert_array_equal(model.class_evidence(codes[row : row + 1])[0], together[row])
