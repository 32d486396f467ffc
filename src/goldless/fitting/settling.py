"""Settle by facts what votes leave open: weigh groupings by how well they predict known labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from goldless.fitting.alternatives import NOTABLE_CHANGE, describe_groups
from goldless.fitting.core import FitVotes
from goldless.fitting.facts import Facts
from goldless.fitting.fitted import Settled
from goldless.fitting.solve import fit_groups
from goldless.kernels.sparse import codes_of_voters
from goldless.maths.checks import relabel
from goldless.maths.em import Dirichlet
from goldless.maths.ordered import auc_of
from goldless.maths.rates import log_rates
from goldless.maths.structure.partitions import rerootings
from goldless.maths.tree import TreeModel
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable
from goldless.votes.sparse import SparseRows

_GROUPINGS_WEIGHED = 12
_SAME_LABELS = 0.01  # models that differ in a smaller share of the labels are one
_FIRST = 0.9  # what the grouping of the votes alone is worth against all others together
_FLIPPED = 1e-4  # what a model is worth with the two classes exchanged: most independent units beat a coin
_TEMPERS = (0.05, 0.1, 0.2, 0.4, 0.8)  # how far to believe a model's log-odds; real votes depend more than modelled
_SHIFTS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)  # log-odds of a class among items with known labels
LARGEST_RATIO = 20.0  # no model is surer of a label than this, in log-odds
_BALANCE_ERROR = np.log(2.0)  # standard error of a model's class balance on real votes, in log-odds
_SETTLED = 0.95  # a grouping this probable needs no further facts
_ITERATIONS = 60
_TOL = 1e-5


def is_open(settled: Settled, table: PatternTable | SparseRows) -> bool:
    """Whether a candidate that is still probable would change many labels."""
    labels = [
        labels_of(settled.candidates[number], table)
        for number in (settled.best, *np.flatnonzero(settled.weights > 1 - _SETTLED))
    ]
    return any(table.counts @ (other != labels[0]) > NOTABLE_CHANGE * table.n_items for other in labels[1:])


def most_different(settled: Settled, table: PatternTable | SparseRows) -> TreeModel | None:
    """Return the candidate, classes as they are, that differs in most labels from the best; None if none does."""
    used = labels_of(settled.candidates[settled.best], table)
    changed = [float(table.counts @ (labels_of(other, table) != used)) for other in _as_they_are(settled)]
    most = int(np.argmax(changed))
    return settled.candidates[most] if changed[most] > 0 else None


def _as_they_are(settled: Settled) -> tuple[TreeModel, ...]:
    """Return the candidates with their classes as they are: of two classes each is there with them exchanged, too."""
    candidates = settled.candidates
    return candidates[: len(candidates) // 2] if candidates[0].n_classes == 2 else candidates


def labels_of(model: TreeModel, table: PatternTable | SparseRows) -> NDArray[np.int64]:
    """Return the class of largest likelihood of every pattern."""
    return model.class_evidence(table.codes).argmax(axis=1)


def candidate_models(
    votes: VoteSums, model: TreeModel, groupings: Iterable[NDArray[np.int64]], prior: Dirichlet
) -> tuple[TreeModel, ...]:
    """Fit other groupings and, if there are any, none at all; keep those that label otherwise than all before."""
    table = votes.table
    kept, labels = [model], [labels_of(model, table)]
    others = list(groupings)[: _GROUPINGS_WEIGHED + 1]
    for groups in [*others, np.arange(model.n_voters)] if others else []:
        if groups.max() == 0 or any(np.array_equal(groups, other.groups) for other in kept):
            continue
        other = fit_groups(votes, groups, prior, _ITERATIONS, _TOL).model
        of_other = labels_of(other, table)
        if all(table.counts @ (of_other != known) >= _SAME_LABELS * table.n_items for known in labels):
            kept.append(other)
            labels.append(of_other)
    return tuple(kept)


def habitual_weights(n_candidates: int) -> NDArray[np.float64]:
    """Return what each candidate is worth before the facts: nine tenths for that of the votes alone."""
    if n_candidates == 1:
        return np.ones(1)
    return np.array([_FIRST] + [(1 - _FIRST) / (n_candidates - 1)] * (n_candidates - 1))


def settle(
    votes: FitVotes, facts: Facts, model: TreeModel, groupings: Iterable[NDArray[np.int64]], prior: Dirichlet
) -> Settled:
    """Weigh the groupings of the votes by facts.

    Re-rooting leaves the distribution of the votes as it was, so the grouping of the votes alone (fewest voters in
    groups) is only a habit: it gets nine tenths of the weight before the facts, the others share the rest, and of two
    classes each with its classes exchanged gets a ten-thousandth of its own: items that separate groupings are
    often those on which the usual one errs, and a few of them must not turn everything round. Known labels
    multiply the weight by how well the model predicts them. Its log-odds are too sure on real votes, by an unknown
    factor, so this is averaged over factors and over class balances. A known class balance counts against models
    that estimate another one; their estimates are taken to be good to a factor of two in the odds. Trusted voters are
    alone with Y, and beat a coin.
    """
    trusted = np.unique(votes.core_voter[facts.trusted])
    trusted = trusted[trusted >= 0]
    if len(trusted):
        groupings = _with_voters_alone([model.groups, *groupings], trusted)
        first = fit_groups(votes.sums, groupings[0], prior, _ITERATIONS, _TOL).model
        models = candidate_models(votes.sums, first, groupings[1:], prior)
        models = tuple(candidate for candidate in models if _are_alone(candidate.groups, trusted))
    else:
        models = candidate_models(votes.sums, model, groupings, prior)
    habit, candidates = habitual_weights(len(models)), models
    log_weights = np.log(habit)
    if votes.n_classes == 2:
        candidates = (*models, *(candidate.flipped() for candidate in models))
        log_weights = np.concatenate([log_weights, np.log(_FLIPPED * habit)])
    if len(trusted):
        chance = 1 / votes.n_classes
        accuracy = np.array([_accuracies(candidate)[trusted].mean() for candidate in candidates])
        log_weights = np.where(accuracy >= chance, log_weights, -np.inf)
    if facts.class_prior is not None:
        balances = np.array([log_rates(candidate.class_prior) for candidate in candidates])
        error = (log_rates(facts.class_prior) - balances) / _BALANCE_ERROR
        error = error - error.mean(axis=1, keepdims=True)
        log_weights = log_weights - (error**2).sum(axis=1)  # of two classes, half the squared error of the log-odds
    codes = codes_of_voters(votes.counted.picked.codes, votes.voters)
    evidence = np.array([candidate.class_evidence(codes) for candidate in candidates])
    labels = facts.labels.astype(np.int64)
    if len(facts.rows):
        log_weights = log_weights + label_evidence(evidence, labels, votes.counted.picked.weights)
    weights = np.exp(log_weights - logsumexp(log_weights))
    return Settled(candidates, weights, (evidence.argmax(axis=2) == labels).sum(axis=1), len(facts.rows))


def _accuracies(model: TreeModel) -> NDArray[np.float64]:
    """Return how well each voter tells the classes, at least so well as by chance if it runs the right way."""
    return model.balanced_accuracy if model.n_symbols == model.n_classes else auc_of(model.confusion)


def describe_settled(settled: Settled, n_voters: int) -> str:
    """Return one sentence on the grouping that the facts chose."""
    best, used = settled.best, describe_groups(settled.candidates[settled.best].groups, n_voters)
    n_models = len(_as_they_are(settled))
    if best >= n_models:
        used += ", with the two classes swapped"
    sure = f"{100 * settled.weights[best]:.0f} %"
    given = "the known labels" if settled.n_known else "what is known"
    why = f"Given {given}, this grouping has a probability of {sure}"
    if settled.n_known:
        why += f" and predicts {settled.right[best]} of the {settled.n_known} known labels"
        if best:
            why += f", against {settled.right[0]} for that of the votes alone"
    if n_models == 1 and best == 0:
        why += ". No other grouping would change labels"
    return f"{used}. {why}."


def label_evidence(
    evidence: NDArray[np.float64], labels: NDArray[np.int64], items: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log Pr(known labels | votes) under each candidate, averaged over tempers and shifts of its log-odds.

    Items with known labels are seldom a random sample, so the balance of the classes among them is open, and the
    same for all candidates: one gains by telling the labels apart, not by guessing how many there are of each.

    ``evidence`` (n_candidates, n_known, n_classes): log-likelihood of the classes of each item with a known label;
    ``labels`` (n_known,): their codes; ``items`` (n_known,): how many items each stands for.
    """
    n_classes = evidence.shape[2]
    against_best = evidence - evidence.max(axis=2, keepdims=True)
    told = np.maximum(against_best, -LARGEST_RATIO)
    shifts = [shift * (np.arange(n_classes) == label) for label in range(n_classes) for shift in _SHIFTS]
    terms = []
    for temper in _TEMPERS:
        for shift in shifts:
            log_posterior = log_softmax(temper * told + shift, axis=2)
            terms.append(log_posterior[:, np.arange(len(labels)), labels] @ items)
    return logsumexp(terms, axis=0) - np.log(len(terms))


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


def known_rates(votes: FitVotes, facts: Facts, prior: Dirichlet, model: TreeModel) -> Dirichlet:
    """Return the prior of EM on a model whose last voter speaks the known labels, with what is known."""
    known = np.full(model.votes.shape, np.nan)
    n_classes = votes.n_classes
    for column in np.flatnonzero(~np.isnan(facts.confusion[:, 0, 0]) & (votes.core_voter >= 0)):
        known[votes.core_voter[column], :n_classes, :n_classes] = facts.confusion[column]
    known[-1] = model.votes[-1]
    stated = prior.known_prior if facts.class_prior is None else facts.class_prior
    return replace(prior.for_groups(model.groups).with_known_prior(stated), known_votes=known)
