"""Resampled counts: how the effective votes and the groups would vary over other items of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldless.diagnosis.intervals import Uncertainty
from goldless.diagnosis.refit import FEWEST_TO_SEE_ECHOES, LARGEST_SEARCHED, PanelVotes
from goldless.diagnosis.worth import one_more, single_accuracies
from goldless.fitting.fitted import probabilities
from goldless.fitting.risk import expected_balanced_accuracy
from goldless.maths.correlations import effective_votes, uniqueness, within_class_correlations
from goldless.maths.rates import log_rates
from goldless.maths.structure.search import likely_partitions, search_structure
from goldless.progress import part, tell
from goldless.votes.pairs import PairTables

_WORTH_RESAMPLES, _WORTH_RESAMPLES_OF_MANY = 60, 20  # of two classes, and of more, which take longer
_MOST_RESAMPLES, _FEWEST_RESAMPLES = 25, 8
_SEARCH_BUDGET = 1.5e7  # resamples times the cube of the number of voters
_PARTITIONS_COMPARED = 400  # of nine voters or fewer: the best on the items at hand, at either price


def default_resamples(panel: PanelVotes) -> int:
    """Return how often to search again: 25 times up to 84 voters, fewer for more.

    Never where the model's groups do not come from a search or were not believed, and for more than 200 voters.
    """
    n_voters = len(panel.voters)
    if not panel.searched or panel.groups_doubted or n_voters > LARGEST_SEARCHED:
        return 0
    return int(np.clip(_SEARCH_BUDGET / n_voters**3, _FEWEST_RESAMPLES, _MOST_RESAMPLES))


def why_not_searched_again(panel: PanelVotes) -> str:
    """Return why there is no co-membership."""
    n_voters = len(panel.voters)
    if n_voters < FEWEST_TO_SEE_ECHOES:
        return "with three voters or fewer dependence cannot be seen"
    if n_voters > LARGEST_SEARCHED:
        return f"with more than {LARGEST_SEARCHED} voters the groups are not searched again"
    if panel.groups_doubted:
        return "groups were found, but easy and hard items explain them as well, so none are used"
    return "no resamples were asked for" if panel.searched else "the groups do not come from a search"


class Resampled(NamedTuple):
    """What varies when the items are resampled."""

    worth: NDArray[np.float64]  # (n_resamples, n_classes + 1): effective votes: in each class, pooled
    uniqueness: NDArray[np.float64]  # (n_resamples, n_core): share of each voter that is its own
    # (n_resamples, n_groups): what one more voter like those of each group of two or more would add
    one_more: NDArray[np.float64]
    correlation_error: NDArray[np.float64]  # (n_core, n_core): standard error of the pooled correlations
    # by how much a model expects too much of the labels it makes itself, and of the voter it takes for the best
    optimism: tuple[float, float]


def resample(
    panel: PanelVotes, uncertainty: Uncertainty, are_clear: NDArray[np.bool_], rng: np.random.Generator
) -> Resampled:
    """Resample items, and let the model follow.

    Every pattern's count is drawn anew (Poisson); the rates follow by one Newton step, and the posterior with them.
    The optimism is how much better the labels of a resampled model, and the voter it takes for the best, look to it
    than to the model at hand (Efron 1983). The effective votes count with the correlations that are clear on the
    items at hand: which of the others pass for clear varies far more among resamples than among samples.
    """
    scores, counts, dependent = panel.scores, panel.table.counts, bool(are_clear.any())
    n_resamples = _WORTH_RESAMPLES if panel.n_classes == 2 else _WORTH_RESAMPLES_OF_MANY
    drawn = rng.poisson(counts, (n_resamples, len(counts)))
    steps = np.zeros((n_resamples, scores.n_parameters))
    for block in scores.blocks():
        steps += (drawn[:, block.rows] - counts[block.rows]) @ block.score
    steps = np.clip(uncertainty.sampling_covariance.times(steps), -3.0, 3.0)
    now = scores.model.posterior(scores.codes)
    worth, own, more, optimism = [], [], [], []
    total, squares = np.zeros((2, len(panel.voters), len(panel.voters)))
    for number, (resampled, step) in enumerate(zip(drawn, steps, strict=True)):
        tell("measuring what is certain", number / n_resamples)
        model = scores.stepped(step)
        evidence = model.class_log_likelihood(scores.codes)
        posterior = probabilities(evidence + log_rates(model.class_prior))
        best = np.argmax(single_accuracies(panel.core_codes, posterior, resampled))
        chosen = evidence.argmax(axis=1), panel.core_codes[:, best]
        seen_by_itself = [expected_balanced_accuracy(way, posterior, resampled) for way in chosen]
        optimism.append(np.subtract(seen_by_itself, [expected_balanced_accuracy(way, now, counts) for way in chosen]))
        correlations = within_class_correlations(panel.core_codes, resampled, posterior)
        total, squares = total + correlations.pooled, squares + correlations.pooled**2
        same = correlations.clear(are_clear)
        clear = correlations.clear() if dependent else same
        worth.append([effective_votes(of) for of in (*same.by_class, same.pooled)])
        own.append(uniqueness(clear.pooled))
        more.append(list(one_more(clear.pooled, panel.free_fit.model.groups).values()))
    mean = total / n_resamples
    variance = np.maximum(squares / n_resamples - mean**2, 0.0) * n_resamples / (n_resamples - 1)
    of_labels, of_best = np.maximum(np.mean(optimism, axis=0), 0.0)
    return Resampled(
        np.array(worth), np.array(own), np.array(more), np.sqrt(variance), (float(of_labels), float(of_best))
    )


def co_membership(
    panel: PanelVotes, resamples: int, rng: np.random.Generator, progress: Callable[[float], None] | None = None
) -> NDArray[np.float64]:
    """Return how often every two core voters share a group when the items are resampled and searched again."""
    core = panel.core
    together = np.zeros((core.n_voters, core.n_voters))
    likely = likely_partitions(core.pairs.covariance(), core.n_items, _PARTITIONS_COMPARED) if resamples else None
    for done in range(resamples):
        counts = rng.multinomial(core.n_items, core.counts / core.n_items)
        estimate = PairTables.of(core.codes, core.n_symbols, counts).covariance()
        with part("resampling the votes", done / resamples, (done + 1) / resamples):
            groups = search_structure(estimate, core.n_items, among=likely).groups
        together += groups[:, None] == groups[None, :]
        if progress is not None:
            progress((done + 1) / resamples)
    return together / max(resamples, 1)
