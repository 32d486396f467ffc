"""Where labels of two classes are cut: votes say how items are ordered, and less well where the truth cuts.

A log-likelihood ratio s is cut at zero if the model is right. On real votes it is not: voters share errors that no
tree of groups explains, s is far too sure, and its zero is moved by what the voters have in common. The order of the
items suffers much less. So the ratio is tempered to a spread that real votes have, p = sigmoid(t s / sd(s)), and the
items are cut at the mean of p, as if as many were positive as the tempered probabilities say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from goldless.kernels.sparse import Codes, codes_of_voters, tally
from goldless.maths.tree import TreeModel, merge_copies
from goldless.votes.passes import VoteSums

if TYPE_CHECKING:
    from goldless.fitting.fitted import Fitted

# Measured on 75 real panels; the result is flat in all of these (a temper of 1.5 or 3.5 costs less than 0.05 points).
TEMPER = 2.6  # spread of the tempered log-odds, in standard deviations
_LEAST_SPREAD = 0.5  # added to the standard deviation, so that votes which say nothing are not blown up
_LARGEST_RATIO = 60.0  # log-odds beyond this say the same
_LARGEST_CUT = 4.0  # log-odds
_FEW_ITEMS = 1000  # below, groups are uncertain and the ratio without them is averaged in
_SAME_SIGN = 0.85  # share of the labels that both must agree on
_MODEL_MISFITS = 1.5  # over-dispersion from which a model's own cut is not believed
_RAREST = 0.1  # share of a class below which the mean of tempered probabilities is no guide
_MOST_MOVED = 0.15  # share of the items between zero and a cut that is believed
_PRIOR_VARIANCE = 0.5  # of the weights that known labels move
_MEAN_VOTE = 1.5  # spread of the mean vote, which is between -1 and 1
VOTE_TEMPER = 3.75  # the same for the mean vote alone


@dataclass(frozen=True, eq=False)
class Cut:
    """What is compared with a threshold to label items of two classes.

    The log-likelihood ratio of the fit, those of other models of the fitted voters, and the mean vote (-1 to 1), each
    with its factor. An item is positive if their sum is larger than ``at``.
    """

    at: float  # the threshold
    # (1 + n_models + 1,): factor of the ratio of the fit, of each model, and of the mean vote
    factors: NDArray[np.float64]
    models: tuple[TreeModel, ...] = ()  # other models of the fitted voters

    def log_odds(self, fitted: Fitted, codes: Codes, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what decides for rows of codes, a column for each class; zero for an item without a vote."""
        score = terms_of(fitted, self.models, codes, evidence) @ self.factors - self.at
        if not len(fitted.abstainers if fitted.abstainers is not None else ()):
            score = np.where(tally(_said(fitted, codes), 2).any(axis=1), score, 0.0)
        return np.stack([np.zeros(len(score)), score], axis=1)


def terms_of(
    fitted: Fitted, models: tuple[TreeModel, ...], codes: Codes, evidence: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the ratio of the fit, of other models, and the mean vote of rows of codes, a column each."""
    ratios = [evidence[:, 1] - evidence[:, 0]]
    if models:
        assert fitted.columns is not None
        core = codes_of_voters(merge_copies(codes, fitted.model.copy_of), fitted.columns)
        ratios += [model.log_likelihood_ratio(core) for model in models]
    clipped = [ratio.clip(-_LARGEST_RATIO, _LARGEST_RATIO) for ratio in ratios]
    return np.stack([*clipped, mean_votes(_said(fitted, codes))], axis=1)


def _said(fitted: Fitted, codes: Codes) -> Codes:
    """Return the votes of the voters that say something."""
    return codes_of_voters(codes, np.flatnonzero(fitted.informative))


def mean_votes(codes: Codes) -> NDArray[np.float64]:
    """Return the mean of the votes -1 and +1 on every row; zero where nobody votes."""
    votes = tally(codes, 2)
    return (votes[:, 1] - votes[:, 0]) / np.maximum(votes.sum(axis=1), 1)


def tempered_cut(sums: VoteSums, score: Callable[[Codes], NDArray[np.float64]], temper: float) -> float | None:
    """Return the log-odds of the mean of ``sigmoid(temper * score)`` over items; None without items.

    In the units of the score, that is divided by the temper.
    """
    total, items = sums.sum(partial(_mean_probability, score, temper))
    return None if not items else float(logit(np.clip(total / items, 1e-9, 1 - 1e-9)) / temper)


def _mean_probability(
    score: Callable, temper: float, codes: Codes, counts: NDArray[np.float64]
) -> tuple[float, float]:
    return float(counts @ expit(temper * score(codes))), float(counts.sum())


@dataclass(frozen=True, eq=False)
class KnownItems:
    """Items with a known label: their votes, the codes of their labels, and how many items each stands for."""

    codes: Codes
    labels: NDArray[np.int64]
    items: NDArray[np.float64]


def find_cut(
    sums: VoteSums,
    fitted: Fitted,
    flat: Callable[[], TreeModel],
    known: KnownItems | None = None,
    other: TreeModel | None = None,
) -> Cut:
    """Find where to cut from the votes of a fit, and from known labels if there are any.

    ``sums``: the votes of all voters; ``fitted``: the fit of two classes; ``flat``: returns the model of the fitted
    voters without groups; ``known``: items with a known label; ``other``: the grouping that labels most otherwise,
    for known labels to choose.

    Notes
    -----
    With fewer than 1,000 items groups are uncertain: where the ratio without groups agrees in 85 % of the labels, the
    mean of both is used, in equal spread. The cut is moved from zero only where the model's own is not to be
    believed: with kinds of items, few items or a clear misfit, if the prior on the class balance was needed and
    neither class is rare. And it is not moved into a crowd of items, whose order says little: with three votes an
    item, half of all items would turn positive. On 11 of 121 classes against the rest, of the panels of more classes,
    the cut would pass 15 % of the items, and cost 9 points; so it would on none of the 75 panels it was made for.

    Known labels choose weights of the ratio of the fit, of that without groups, of the mean vote and of the other
    grouping, by logistic regression with a normal prior on the weights, whose mean is what is used without labels.
    Weights are not negative: of items that were chosen because groupings differ on them, a few would otherwise turn
    all labels round.
    """
    few = sums.n_items < _FEW_ITEMS
    grouping = fitted.grouping
    misfits = grouping is not None and grouping.overdispersion > _MODEL_MISFITS
    own = not (few or misfits or len(fitted.evidence) > 1)
    # most fits need no pass over the votes to be cut where their model does
    positive = 0.0 if own or fitted.balance_items <= 0.5 else _Moments.of(sums, fitted, ()).positive[0]
    if not _RAREST <= positive <= 1 - _RAREST:
        return Cut(0.0, np.array([1.0, 0.0]))
    both = few and _Moments.of(sums, fitted, (flat(),)).same_sign[1] >= _SAME_SIGN
    models: tuple[TreeModel, ...] = (flat(),) if both else ()
    if known is not None:
        models = (flat(),) if other is None else (flat(), other)
    weights = np.zeros(len(models) + 2)
    weights[: 1 + both] = TEMPER / (1 + both)
    return _weighted(sums, fitted, models, weights, known)


def _weighted(
    sums: VoteSums,
    fitted: Fitted,
    models: tuple[TreeModel, ...],
    weights: NDArray[np.float64],
    known: KnownItems | None,
) -> Cut:
    """Return the cut of terms with these weights, or with those that known labels make of them."""
    spread = _Moments.of(sums, fitted, models).spread
    scale = np.append(1 / spread[:-1], _MEAN_VOTE)
    intercept = 0.0
    if known is not None:
        terms = terms_of(fitted, models, known.codes, fitted.log_likelihood(known.codes)) * scale
        weights, intercept = nonnegative_stack(terms, known.labels, known.items, weights)
    unit = spread[0] / TEMPER  # all in units of the ratio of the fit
    factors = weights * scale * unit
    moved = partial(_score, fitted, models, factors, intercept * unit)
    at = (tempered_cut(sums, moved, 1 / unit) or 0.0) - intercept * unit
    # what known labels say of the cut counts like the rest of it: labels of doubtful items, which are asked for, can
    # make weights so small that their share alone would decide all other items
    score = partial(_score, fitted, models, factors, 0.0)
    passed, items = sums.sum(partial(_between, score, min(at, 0.0), max(at, 0.0)))
    if passed > _MOST_MOVED * items:
        at = 0.0
    return Cut(float(np.clip(at, -_LARGEST_CUT, _LARGEST_CUT)), factors, models)


def _between(
    score: Callable, low: float, high: float, codes: Codes, counts: NDArray[np.float64]
) -> tuple[float, float]:
    scores = score(codes)
    return float(counts @ ((low < scores) & (scores <= high))), float(counts.sum())


def nonnegative_stack(
    terms: NDArray[np.float64], labels: NDArray[np.int64], items: NDArray[np.float64], centre: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return weights and intercept of a logistic regression with a normal prior and weights that are not negative.

    ``terms`` (n_known, n_terms); ``labels`` (n_known,): 0 or 1; ``items`` (n_known,): how many items each row stands
    for; ``centre`` (n_terms,): weights without any label: the mean of the prior.
    """
    from scipy.optimize import minimize

    centre = np.append(centre, 0.0)
    design, sign = np.column_stack([terms, np.ones(len(terms))]), 2.0 * labels - 1

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin, away = sign * (design @ weights), weights - centre
        value = items @ np.logaddexp(0, -margin) + away @ away / (2 * _PRIOR_VARIANCE)
        return float(value), -design.T @ (items * sign * expit(-margin)) + away / _PRIOR_VARIANCE

    bounds = [(0.0, None)] * terms.shape[1] + [(None, None)]
    found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found[:-1], float(found[-1])


def _score(
    fitted: Fitted, models: tuple[TreeModel, ...], factors: NDArray[np.float64], intercept: float, codes: Codes
) -> NDArray[np.float64]:
    return terms_of(fitted, models, codes, fitted.log_likelihood(codes)) @ factors + intercept


@dataclass(frozen=True, eq=False)
class _Moments:
    """Of each term over all items.

    ``spread`` is the standard deviation and half a unit, ``positive`` the share above zero, ``same_sign`` the share
    of the items on which a term has the sign of the first.
    """

    spread: NDArray[np.float64]
    positive: NDArray[np.float64]
    same_sign: NDArray[np.float64]

    @classmethod
    def of(cls, sums: VoteSums, fitted: Fitted, models: tuple[TreeModel, ...]) -> _Moments:
        """Go through the votes once."""
        items, total, squares, positive, same = sums.sum(partial(_moment_sums, fitted, models))
        items = max(items, 1.0)
        variance = np.maximum(squares / items - (total / items) ** 2, 0.0)
        return cls(np.sqrt(variance) + _LEAST_SPREAD, positive / items, same / items)


def _moment_sums(
    fitted: Fitted, models: tuple[TreeModel, ...], codes: Codes, counts: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    terms = terms_of(fitted, models, codes, fitted.log_likelihood(codes))
    same = np.sign(terms) == np.sign(terms[:, :1])
    return float(counts.sum()), counts @ terms, counts @ terms**2, counts @ (terms > 0), counts @ same
