"""Which items to label next: those whose labels would best separate groupings that votes cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from goldless.errors import renamed
from goldless.fitting.alternatives import NOTABLE_CHANGE
from goldless.fitting.fitted import Fitted, probabilities
from goldless.fitting.numbers import RankedVotes
from goldless.fitting.risk import ENOUGH_LABELS
from goldless.fitting.settling import LARGEST_RATIO, candidate_models, habitual_weights
from goldless.kernels.sparse import Codes, codes_of_voters
from goldless.maths.em import Dirichlet
from goldless.maths.ordered import STRENGTH
from goldless.maths.rates import log_rates
from goldless.maths.tree import TreeModel, merge_copies
from goldless.shown import Shown
from goldless.votes.passes import VoteSums
from goldless.votes.rows import PatternTable
from goldless.votes.sparse import SparseRows, counted_rows

_TEMPER = 0.3  # how far to believe a grouping's log-odds; real votes depend more than modelled
_LARGEST_PRIOR_ODDS = 3.0
_DOUBT = 0.02  # weight of an item's own doubt, so that the hardest items are asked once groupings agree
_DECISIVE = np.log(19.0)  # log-odds of 95 to 5
_REPEATED = 0.5  # a second label for the same pattern of votes tells less
_LEAST_WEIGHT = 1e-3  # groupings less probable than this are ruled out
_JUDGED_BY = 20  # labels by whose mean worth the number that is needed is found, however many are asked for


@dataclass(frozen=True, eq=False)
class Questions(Shown):
    """Items worth a label.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Rows of X, most useful first.
    enough : int or None
        How many such labels are likely to settle what is open, None if no number of them is likely to. Where nothing
        is open it is 0, or what a check of labels at risk needs (``fitted_.at_risk``).
    n_groupings : int
        How many groupings of the votes differ in their labels.
    open : bool
        Whether the votes leave open which grouping is right: what the fit itself says (``ambiguous_``).
    codes : ndarray of shape (n, n_groupings)
        Codes of the labels that each grouping gives these rows, the most probable grouping first.
    doubt : ndarray of shape (n,)
        How far the label of each row is from certain, from 0 to 1: its entropy, as a share of that of a guess.
    items : ndarray of shape (n,) or None
        Names of these items (the index of a frame), if they have names: what ``anchors`` of a fit may name.
    """

    rows: NDArray[np.int64]
    enough: int | None
    n_groupings: int
    open: bool
    codes: NDArray[np.int64]
    doubt: NDArray[np.float64]
    items: NDArray | None = None

    n_readings = renamed("n_readings", "n_groupings")
    said = renamed("said", "codes")

    @property
    def settles(self) -> str:
        """Whether labels of such items are likely to tell which grouping is right, and how many, in a clause."""
        if self.enough is None:
            return "labels would hardly tell which is right"
        return f"{f'about {self.enough}' if self.enough else 'a few'} labels are likely to tell which is right"

    @property
    def sentence(self) -> str:
        """What labels of these items would be good for."""
        if self.open:
            return f"Another grouping fits almost as well; {self.settles}."
        agreed = "no other grouping that fits as well would change many labels"
        if self.enough:
            return (
                f"N{agreed[1:]}, but on panels like this labels failed more often: label at least {self.enough} of "
                "these items before you use the labels."
            )
        return f"N{agreed[1:]}. Labels of these items would help most all the same."

    @property
    def item_names(self) -> list[Any]:
        """Names of the items, or their rows."""
        return self.rows.tolist() if self.items is None else list(self.items)

    @property
    def divided(self) -> NDArray[np.bool_]:
        """Which rows the groupings label differently: these tell which is right, the others are merely doubtful."""
        return (self.codes != self.codes[:, :1]).any(axis=1)


def questions_of(fitted: Fitted, codes: Codes, n: int = 20, weights: NDArray[np.int64] | None = None) -> Questions:
    """Choose items whose labels would best separate the groupings that the votes of a fit leave open.

    ``codes`` (n_items, n_voters): the votes of the fit. Rows that had a known label are not asked again; ``n``: how
    many items to choose; ``weights`` (n_items,): how many items each row stands for.
    """
    voters = np.arange(fitted.n_voters) if fitted.columns is None else fitted.columns
    core = codes_of_voters(merge_copies(codes, fitted.model.copy_of), voters)
    table = counted_rows(core, fitted.n_symbols, weights)
    if fitted.settled is not None:
        candidates, probable = fitted.settled.candidates, fitted.settled.weights
    else:
        model = fitted.model.subset(voters)
        prior = _prior_of(fitted, model.groups, voters)
        groupings = () if fitted.grouping is None else fitted.grouping.candidates
        candidates = candidate_models(VoteSums.of_table(table), model, groupings, prior)
        probable = habitual_weights(len(candidates))
    known = np.array([], dtype=np.int64) if fitted.facts is None else fitted.facts.rows
    temper = _TEMPER if fitted.printed is None or fitted.bins is None else min(_TEMPER, fitted.printed.temper)
    found = choose_questions(table, candidates, probable, n, known[known < len(codes)], temper)
    is_open = fitted.grouping is not None and fitted.grouping.ambiguous
    enough = found.enough if is_open else 0
    if fitted.at_risk is not None and enough is not None:
        enough = max(enough, ENOUGH_LABELS - len(known))
    return replace(found, open=is_open, enough=enough)


def _prior_of(fitted: Fitted, groups: NDArray[np.int64], voters: NDArray[np.int64]) -> Dirichlet:
    """Return the pseudo-counts that another grouping is fitted with."""
    of_classes = partial(Dirichlet.of_classes, groups, fitted.n_classes, *fitted.pseudo_votes, fitted.balance_items)
    if fitted.bins is None or fitted.symbol_share is None:
        return of_classes()
    ranked = RankedVotes(fitted.bins.subset(voters), fitted.symbol_share[voters])
    overdispersion = 1.0 if fitted.grouping is None else fitted.grouping.overdispersion
    ordered = replace(ranked.ordered, strength=overdispersion * STRENGTH)
    return of_classes(ordered=ordered).with_known_prior(ranked.class_prior)


def choose_questions(
    table: PatternTable | SparseRows,
    groupings: tuple[TreeModel, ...],
    weights: NDArray[np.float64],
    n: int,
    known: NDArray[np.int64],
    temper: float = _TEMPER,
) -> Questions:
    """Choose items by how much their label is expected to tell about which grouping is right.

    That is the mutual information of label and grouping, H(mean p) - mean H(p), with p the probabilities of the
    classes under each grouping; to this comes a little of the item's own doubt.

    ``table``: patterns of the groupings' voters, with the pattern of each row; ``weights`` (n_groupings,): how
    probable each is; ``n``: how many items to choose; ``known``: rows that have a label already; ``temper``: how far
    to believe a grouping's log-odds.
    """
    open_groupings = np.flatnonzero(weights >= _LEAST_WEIGHT)
    groupings, weights = tuple(groupings[number] for number in open_groupings), weights[open_groupings]
    weights = weights / weights.sum()
    evidence = [grouping.class_evidence(table.codes) for grouping in groupings]
    evidence = [np.maximum(part - part.max(axis=1, keepdims=True), -LARGEST_RATIO) for part in evidence]
    # one class balance for all: groupings are to be told apart by which items are of a class, not by how many
    prior = log_rates(groupings[int(np.argmax(weights))].class_prior)
    prior = np.maximum(prior - prior.max(), -_LARGEST_PRIOR_ODDS)
    posterior = np.array([probabilities(temper * part + prior) for part in evidence])
    even = np.array([probabilities(temper * part) for part in evidence])
    told = _entropy(np.tensordot(weights, posterior, 1)) - weights @ _entropy(posterior)
    useful = told + _DOUBT * _entropy(np.tensordot(weights, even, 1))
    free = np.ones(len(table.inverse), dtype=bool)
    free[known] = False
    rows = _spread_over_patterns(useful, table.inverse, free, max(n, _JUDGED_BY))
    labels = np.array([part.argmax(axis=1) for part in evidence])
    enough = _labels_needed(table, labels, posterior, weights, rows[:_JUDGED_BY])
    asked = table.inverse[rows[:n]]
    codes = labels[np.argsort(-weights, kind="stable")][:, asked].T
    doubt = _entropy(np.tensordot(weights, even, 1))[asked] / np.log(posterior.shape[2])
    return Questions(rows[:n], enough, len(groupings), bool(enough != 0), codes, doubt)


def _spread_over_patterns(
    useful: NDArray[np.float64], pattern_of_row: NDArray[np.int64], free: NDArray[np.bool_], n: int
) -> NDArray[np.int64]:
    """Take rows of the most useful patterns; a pattern is worth half as much each time it was taken."""
    rows = np.flatnonzero(free)
    by_pattern = rows[np.argsort(pattern_of_row[rows], kind="stable")]
    left = np.bincount(pattern_of_row[rows], minlength=len(useful))
    next_row = np.concatenate([[0], np.cumsum(left)[:-1]])
    worth = np.where(left > 0, useful, -np.inf)
    chosen = []
    for _ in range(min(n, len(rows))):
        pattern = int(np.argmax(worth))
        chosen.append(by_pattern[next_row[pattern]])
        next_row[pattern] += 1
        left[pattern] -= 1
        worth[pattern] = worth[pattern] * _REPEATED if left[pattern] else -np.inf
    return np.array(chosen, dtype=np.int64)


def _labels_needed(
    table: PatternTable | SparseRows,
    labels: NDArray[np.int64],
    posterior: NDArray[np.float64],
    weights: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> int | None:
    """Return how many labels like those of ``rows`` would raise any other grouping, if it is right, to 95 %."""
    best = int(np.argmax(weights))
    changed = (labels != labels[best]) @ table.counts / table.n_items
    rivals = np.flatnonzero(changed > NOTABLE_CHANGE)
    if not len(rivals):
        return 0
    asked = posterior[:, table.inverse[rows]]
    gain = (asked[rivals] * np.log(asked[rivals] / asked[best])).sum(axis=(1, 2))
    needed = (np.log(weights[best] / weights[rivals]) + _DECISIVE) / np.maximum(gain / max(len(rows), 1), 1e-12)
    most = int(np.ceil(needed.max()))
    return most if most <= table.n_items else None


def _entropy(posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    return entr(posterior).sum(axis=-1)
