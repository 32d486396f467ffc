"""Settle by facts what votes leave open: weigh the readings of the votes by how well they foretell known labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, logsumexp

from goldless.fitting.alternatives import NOTABLE_CHANGE, describe_groups
from goldless.fitting.core import FitVotes
from goldless.fitting.facts import Facts
from goldless.fitting.fit import fit_tree
from goldless.maths.checks import relabel
from goldless.maths.em import KnownRates, RatePrior
from goldless.maths.structure.partitions import rerootings
from goldless.maths.tree import LatentModel, log_odds
from goldless.votes.patterns import PatternTable

_READINGS_WEIGHED = 12
_SAME_LABELS = 0.01  # readings that differ in a smaller share of the labels are one
_FIRST_READING = 0.9  # what the reading of the votes alone is worth against all others together
_FLIPPED = 1e-4  # what a reading is worth with the classes exchanged: most independent units beat a coin
_TEMPERS = (0.05, 0.1, 0.2, 0.4, 0.8)  # how far to believe a reading's log-odds; real votes depend more than modelled
_SHIFTS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)  # log-odds of the classes among items with known labels
LARGEST_RATIO = 20.0  # no reading is surer of a label than this, in log-odds
_BALANCE_ERROR = np.log(2.0)  # standard error of a reading's class balance on real votes, in log-odds
CERTAIN = 1 - 1e-6  # rate of the voter that speaks known labels
_SETTLED = 0.95  # a reading this probable needs no further facts
_ITERATIONS = 60
_TOL = 1e-5


class Settled(NamedTuple):
    """The readings weighed.

    Attributes
    ----------
    candidates : tuple of LatentModel
        Readings of the fitted voters that differ in their labels, the one of the votes alone first.
    weights : ndarray of shape (n_candidates,)
        How probable each is, given the facts.
    right : ndarray of shape (n_candidates,)
        How many of the known labels each foretells.
    n_known : int
        How many labels are known.
    """

    candidates: tuple[LatentModel, ...]
    weights: NDArray[np.float64]
    right: NDArray[np.int64]
    n_known: int

    @property
    def best(self) -> int:
        """The most probable reading."""
        return int(np.argmax(self.weights))

    def is_open(self, table: PatternTable) -> bool:
        """Whether a reading that is still probable would change many labels."""
        positive = [
            self.candidates[number].log_likelihood_ratio(table.codes) > 0
            for number in (self.best, *np.flatnonzero(self.weights > 1 - _SETTLED))
        ]
        return any(table.counts @ (other != positive[0]) > NOTABLE_CHANGE * table.n_items for other in positive[1:])


def candidate_readings(
    table: PatternTable, model: LatentModel, groupings: Iterable[NDArray[np.int64]], prior: RatePrior
) -> tuple[LatentModel, ...]:
    """Fit other groupings and, if there are any, none at all; keep those that label otherwise than all before."""
    kept, labels = [model], [model.log_likelihood_ratio(table.codes) > 0]
    others = list(groupings)[: _READINGS_WEIGHED + 1]
    for groups in [*others, np.arange(model.n_voters)] if others else []:
        if groups.max() == 0 or any(np.array_equal(groups, other.groups) for other in kept):
            continue
        other = fit_tree(table, groups, prior, _ITERATIONS, _TOL).model
        positive = other.log_likelihood_ratio(table.codes) > 0
        if all(table.counts @ (positive != known) >= _SAME_LABELS * table.n_items for known in labels):
            kept.append(other)
            labels.append(positive)
    return tuple(kept)


def habitual_weights(n_readings: int) -> NDArray[np.float64]:
    """Return what each reading is worth before the facts: nine tenths for that of the votes alone."""
    if n_readings == 1:
        return np.ones(1)
    return np.array([_FIRST_READING] + [(1 - _FIRST_READING) / (n_readings - 1)] * (n_readings - 1))


def settle(
    votes: FitVotes,
    facts: Facts,
    model: LatentModel,
    groupings: Iterable[NDArray[np.int64]],
    prior: RatePrior,
) -> Settled:
    """Weigh the readings of the votes by facts.

    Re-rooting leaves the distribution of the votes as it was, so the reading of the votes alone (fewest voters in
    groups) is only a habit: it gets nine tenths of the weight before the facts, the other readings share the rest,
    and each reading with its classes exchanged gets a ten-thousandth of its own: items that separate readings are
    often those on which the usual reading errs, and a few of them must not turn everything round. Known labels
    multiply the weight by how well the reading foretells them. Its log-odds are too sure on real votes, by an unknown
    factor, so this is averaged over factors and over class balances. A known class balance counts against readings
    that estimate another one; their estimates are taken to be good to a factor of two in the odds. Trusted voters are
    alone with Y, and beat a coin.
    """
    trusted = np.unique(votes.core_voter[facts.trusted])
    trusted = trusted[trusted >= 0]
    table = votes.table
    if len(trusted):
        groupings = _with_voters_alone([model.groups, *groupings], trusted)
        first = fit_tree(table, groupings[0], prior, _ITERATIONS, _TOL).model
        readings = candidate_readings(table, first, groupings[1:], prior)
        readings = tuple(reading for reading in readings if _are_alone(reading.groups, trusted))
    else:
        readings = candidate_readings(table, model, groupings, prior)
    habit = habitual_weights(len(readings))
    candidates = (*readings, *(reading.flipped() for reading in readings))
    balances = np.array([candidate.log_prior_odds for candidate in candidates])
    log_weights = np.log(np.concatenate([habit, _FLIPPED * habit]))
    if len(trusted):
        accuracy = [candidate.balanced_accuracy[trusted].mean() for candidate in candidates]
        log_weights = np.where(np.array(accuracy) >= 0.5, log_weights, -np.inf)
    if facts.class_balance is not None:
        error = (log_odds(np.array(facts.class_balance)) - balances) / _BALANCE_ERROR
        log_weights = log_weights - error**2 / 2
    codes = np.ascontiguousarray(votes.known.codes[:, votes.voters])
    positive = facts.labels == 1
    ratios = np.array([candidate.log_likelihood_ratio(codes) for candidate in candidates])
    if len(facts.rows):
        log_weights = log_weights + label_evidence(ratios, positive, votes.known.weights)
    weights = np.exp(log_weights - logsumexp(log_weights))
    return Settled(candidates, weights, ((ratios > 0) == positive).sum(axis=1), len(facts.rows))


def describe_settled(settled: Settled, n_voters: int) -> str:
    """Return one sentence on the reading that the facts chose."""
    best, used = settled.best, describe_groups(settled.candidates[settled.best].groups, n_voters)
    readings = len(settled.candidates) // 2
    if best >= readings:
        used += ", and the voters' labels mean the opposite of what they say"
    sure = f"{100 * settled.weights[best]:.0f} %"
    why = f"given what is known besides the votes, this reading has a probability of {sure}"
    if settled.n_known:
        why += f" and foretells {settled.right[best]} of the {settled.n_known} known labels"
        if best:
            why += f", against {settled.right[0]} for the reading of the votes alone"
    if readings == 1 and best == 0:
        why += "; no other reading of the votes would change labels"
    return f"{used}; {why}."


def label_evidence(
    ratios: NDArray[np.float64], positive: NDArray[np.bool_], items: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log Pr(known labels | votes) under each reading, averaged over tempers and shifts of its log-odds.

    Items with known labels are seldom a random sample, so the balance of the classes among them is open, and the
    same for all readings: a reading gains by telling the labels apart, not by guessing how many there are of each.

    Parameters
    ----------
    ratios : ndarray of shape (n_readings, n_known)
        Log-likelihood ratio of each item with a known label.
    positive : ndarray of shape (n_known,)
    items : ndarray of shape (n_known,)
        How many items each stands for.
    """
    towards = np.where(positive, 1.0, -1.0)
    told = ratios.clip(-LARGEST_RATIO, LARGEST_RATIO)
    terms = [log_expit(towards * (temper * told + shift)) @ items for temper in _TEMPERS for shift in _SHIFTS]
    return logsumexp(terms, axis=0) - np.log(len(terms))


def with_label_voter(model: LatentModel) -> LatentModel:
    """Return the model with one more voter, alone and certain, that speaks the known labels."""
    one = np.ones(1)
    return LatentModel(
        groups=np.append(model.groups, model.n_groups),
        class_balance=model.class_balance,
        group_sensitivity=np.concatenate([model.group_sensitivity, one]),
        group_specificity=np.concatenate([model.group_specificity, one]),
        sensitivity_given_group=np.concatenate([model.sensitivity_given_group, CERTAIN * one]),
        specificity_given_group=np.concatenate([model.specificity_given_group, CERTAIN * one]),
    )


def _with_voters_alone(groupings: list[NDArray[np.int64]], trusted: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return groupings in which trusted voters are alone: as they are, re-rooted, or with the voters taken out."""
    found = [groups for groups in groupings if _are_alone(groups, trusted)]
    if not found:
        found = [groups for groups in rerootings(groupings[0]) if _are_alone(groups, trusted)]
    if not found:
        taken_out = groupings[0].copy()
        taken_out[trusted] = len(taken_out) + np.arange(len(trusted))
        found = [relabel(taken_out)]
    return found


def _are_alone(groups: NDArray[np.int64], voters: NDArray[np.int64]) -> bool:
    return bool((np.bincount(groups)[groups[voters]] == 1).all())


def known_rates(votes: FitVotes, facts: Facts, prior: RatePrior, n_columns: int) -> KnownRates:
    """Return the prior of EM on the fitted voters and ``n_columns`` in all, the last of which speaks known labels."""
    sensitivity, specificity = np.full(n_columns, np.nan), np.full(n_columns, np.nan)
    for column in np.flatnonzero(~np.isnan(facts.sensitivity) & (votes.core_voter >= 0)):
        sensitivity[votes.core_voter[column]] = facts.sensitivity[column]
        specificity[votes.core_voter[column]] = facts.specificity[column]
    sensitivity[-1] = specificity[-1] = CERTAIN
    return KnownRates(prior, sensitivity, specificity, facts.class_balance)
