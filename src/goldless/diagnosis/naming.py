"""Which groups of voters may be named: the one decision behind every sentence about who depends on whom.

A group says something about people's work, so labels may count with groups that nobody would be told of. A group is
named if three things hold.

*Shared items.* Each member voted on enough items together with other members.

*A test of its own.* The likelihood of all votes with the group, against the same model with its members independent
given Y. Twice the gain, divided by the over-dispersion, is compared with a chi-square with as many degrees of freedom
as the latent of the group has parameters; the p-value is multiplied by the number of groups of that size that could
have been chosen, and by the number of sizes (Bonferroni). So the chance that any group is named although all voters
are independent is at most 5 %, however the groups were searched for.

*Stability.* The same test rejects again in at least four of five resamples of the items. Whether a new search finds
the same voters together (``co_membership``) is another question: it may hang the same tree on another root.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, gammaln

from goldless.diagnosis.refit import PanelVotes
from goldless.diagnosis.result import GroupTest
from goldless.maths.structure.partitions import groups_of_two_or_more
from goldless.maths.tree import TreeModel
from goldless.progress import tell

LEVEL = 0.05
_FEWEST_SHARED = 20  # items with other members, counted for each of them; below, a likelihood ratio is no chi-square
_FEWEST_VOTERS = 5  # of four, votes may show that they come in two pairs, and never which of the pairs echoes
_STABLE = 0.8  # share of resamples in which the test rejects again; evidence just at the threshold has one half
_RESAMPLES = 200


def judge_groups(panel: PanelVotes, rng: np.random.Generator) -> tuple[GroupTest, ...]:
    """Judge every group of two or more voters of a model, the largest first."""
    groups = panel.free_fit.model.groups
    sizes = np.bincount(groups)
    found = sorted(np.flatnonzero(sizes > 1).tolist(), key=lambda group: (-sizes[group], group))
    judged = []
    for number, group in enumerate(found):
        tell("testing groups", number / len(found))
        judged.append(_judge(panel, np.flatnonzero(groups == group), rng))
    return tuple(judged)


def named_groups(panel: PanelVotes, tests: tuple[GroupTest, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the columns of the groups that are named, the largest first; exact copies are a group too."""
    groups = panel.latent.n_voters + np.where(
        told_copies(panel), panel.latent.copy_of, np.arange(panel.votes.n_voters)
    )
    for number, test in enumerate(tests):
        if test.named:
            groups[list(test.voters)] = number
    return groups_of_two_or_more(groups)


def told_copies(panel: PanelVotes) -> NDArray[np.bool_]:
    """Return which voters repeat another so often that chance is ruled out, at the same family-wise level.

    Two good voters that share twenty items may well give the same votes on all of them. Given all votes, a voter
    of its accuracy says the same as the other with probability Pr(vote) on each item, independently.
    """
    copy_of = panel.latent.copy_of
    copies = np.flatnonzero(copy_of != np.arange(len(copy_of)))
    told = np.zeros(len(copy_of), dtype=bool)
    n_pairs = len(copy_of) * (len(copy_of) - 1) / 2
    confusion, codes, counts = panel.fitted.confusion, panel.table.codes, panel.table.counts
    for voter in copies.tolist():
        both = np.flatnonzero((codes[:, voter] >= 0) & (codes[:, copy_of[voter]] >= 0))
        chance = (panel.posterior[both] * confusion[voter][:, codes[both, voter]].T).sum(axis=1)
        told[voter] = counts[both] @ np.log(chance.clip(1e-12, 1.0)) + np.log(n_pairs) < np.log(LEVEL)
    return told


def weak_groups(panel: PanelVotes, tests: tuple[GroupTest, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the columns of groups that are not named: those of the labels, then those of intervals only."""
    mine, wider = panel.free_fit.model.groups, panel.free_model.groups
    known = {tuple(panel.voters[mine == group].tolist()) for group in np.flatnonzero(np.bincount(mine) > 1)}
    found = [tuple(panel.voters[wider == group].tolist()) for group in np.flatnonzero(np.bincount(wider) > 1)]
    return tuple(test.voters for test in tests if not test.named) + tuple(of for of in found if of not in known)


def _judge(panel: PanelVotes, members: NDArray[np.int64], rng: np.random.Generator) -> GroupTest:
    """Judge the group of some core voters."""
    shared = panel.core.pairs.both[np.ix_(members, members)].astype(np.float64)
    np.fill_diagonal(shared, 0.0)
    fewest, needed = int(shared.sum(axis=1).min()), _needed_gain(panel, len(members))
    # a correlation of r adds about r^2 / 2 an item and pair to the log-likelihood
    detectable = min(1.0, float(np.sqrt(2 * needed / max(shared.sum() / 2, 1e-9))))
    own = panel.latent.copy_of == np.arange(panel.votes.n_voters)
    inside = np.isin(panel.latent.copy_of, panel.voters[members]) & (own | told_copies(panel))
    voters = tuple(np.flatnonzero(inside).tolist())
    if panel.groups_given:
        return GroupTest(voters, 0.0, 1.0, fewest, detectable, True, "given")
    gains, counts = _gains(panel, members), panel.core.counts
    pvalue = _family_wise(panel, len(members), float(counts @ gains))
    resampled = rng.poisson(counts, (_RESAMPLES, len(counts))) @ gains
    stability = float((resampled >= needed).mean())
    lacking = {
        "voters": len(panel.voters) < _FEWEST_VOTERS,
        "shared items": fewest < _FEWEST_SHARED,
        "test": pvalue > LEVEL,
        "stability": stability < _STABLE,
    }
    reason = next((name for name, lacks in lacking.items() if lacks), "found")
    return GroupTest(voters, pvalue, stability, fewest, detectable, reason == "found", reason)


def _gains(panel: PanelVotes, members: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return by how much the group raises the log-likelihood of each pattern of the core voters."""
    with_group = panel.free_fit.model
    without = _best_without(panel, with_group, members)
    codes = panel.core.codes
    return with_group.log_likelihood(codes) - without.log_likelihood(codes)


def _best_without(panel: PanelVotes, model: TreeModel, members: NDArray[np.int64]) -> TreeModel:
    """Return the model with some voters independent given Y: the better of two fits, from where it is and anew."""
    start = model.dissolved(members)
    fits = [panel.refit_from(start), panel.fit_with_groups(start.groups)]
    return max(fits, key=lambda fit: fit.log_likelihood).model


def _choices(n_voters: int, size: int) -> float:
    """Return the logarithm of the number of groups of a size, times the number of sizes."""
    return float(gammaln(n_voters + 1) - gammaln(size + 1) - gammaln(n_voters - size + 1) + np.log(n_voters - 1))


def _family_wise(panel: PanelVotes, size: int, gain: float) -> float:
    """Return the p-value of a gain in log-likelihood, corrected for the choice of the group."""
    with np.errstate(divide="ignore"):  # of a very large gain it is zero
        log_p = np.log(chdtrc(_parameters(panel), 2 * max(gain, 0.0) / panel.overdispersion))
    return float(np.exp(min(log_p + _choices(len(panel.voters), size), 0.0)))


def _needed_gain(panel: PanelVotes, size: int) -> float:
    """Return the gain in log-likelihood from which on a group of a size is told from chance."""
    log_p = np.log(LEVEL) - _choices(len(panel.voters), size)
    return float(panel.overdispersion * chdtri(_parameters(panel), np.exp(max(log_p, -700.0))) / 2)


def _parameters(panel: PanelVotes) -> int:
    """Return how many parameters the latent of a group has."""
    return panel.n_classes * (panel.n_classes - 1)
