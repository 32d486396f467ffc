"""What a fit learns, as one frozen value: estimators, diagnosis, report and model file know nothing beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.fitting.calibration import Calibration
from goldless.fitting.cut import Cut
from goldless.fitting.facts import Facts
from goldless.fitting.risk import ENOUGH_LABELS, Risk
from goldless.kernels.sparse import Codes, SparseCodes, codes_of_voters, tally
from goldless.maths.ordered import share_above
from goldless.maths.rates import log_rates
from goldless.maths.tree import TreeModel, merge_copies
from goldless.votes.bins import Bins
from goldless.votes.rows import PatternTable
from goldless.votes.sample import VoteSample
from goldless.votes.sparse import SparseRows

_TIE = 1e-9  # log-likelihoods closer than this are a tie


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another grouping that explains the votes.

    Attributes
    ----------
    groups : ndarray of shape (n_voters,)
        Its groups.
    margin : float
        How much worse it fits, in units of the price of one voter in a group.
    labels_changed : float
        Share of the items whose label it would change.
    """

    groups: NDArray[np.int64]
    margin: float
    labels_changed: float


@dataclass(frozen=True, eq=False)
class Guard:
    """Whether groups explain more than that some items are hard for everybody (more than two classes)."""

    groups: NDArray[np.int64]  # (n_voters,): the groups that the search found
    # without_groups, with_groups, with_levels: log-likelihood of the votes without groups, with them, and without
    # them but with easy and hard items
    without_groups: float
    with_groups: float
    with_levels: float
    kept: bool  # whether the groups were believed


@dataclass(frozen=True, eq=False)
class Grouping:
    """How the voters were grouped, and what else would explain the votes."""

    # covariance, score: (n_compared, n_compared): covariance of the votes, and the score of every pair (eq. score);
    # of more than 1,000 voters the score is left out (shape (0, 0))
    covariance: NDArray[np.float64]
    score: NDArray[np.float64]
    # v_on, v_off: (n_voters,): loadings within and across groups (Lemma 1)
    v_on: NDArray[np.float64]
    v_off: NDArray[np.float64]
    residual: float  # residual of the grouping (eq. res)
    residual_path: dict[int, float]  # residual for each number of groups that the paper's rule tried
    overdispersion: float  # misfit of the covariance model: 1 when it holds
    alternatives: tuple[Alternative, ...]  # other groupings, nearest first
    ambiguous: bool  # whether one of them would change labels and is so near that the votes cannot decide
    verdict: str  # in a sentence: what was found, and how sure that is
    guard: Guard | None = None  # for more than two classes, if groups were found: whether they were believed
    # (n_fitted,): groupings of the fitted voters that the search met, best first
    candidates: tuple[NDArray[np.int64], ...] = ()
    # (n_compared,): columns of the voters that were compared two by two, of a crowd those that share enough items;
    # None if all
    compared: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Convergence:
    """How EM ended."""

    log_likelihood: float  # of the votes, and of the known labels if there are any
    n_iter: int  # number of passes
    converged: bool
    gap: float  # what the last step gained in log-likelihood per item


@dataclass(frozen=True, eq=False)
class Settled:
    """The groupings weighed by what is known besides the votes."""

    # models of the fitted voters that differ in their labels, the one of the votes alone first
    candidates: tuple[TreeModel, ...]
    weights: NDArray[np.float64]  # (n_candidates,): how probable each is, given the facts
    right: NDArray[np.int64]  # (n_candidates,): how many of the known labels each predicts
    n_known: int  # how many labels are known

    @property
    def best(self) -> int:
        """The most probable candidate."""
        return int(np.argmax(self.weights))


@dataclass(frozen=True, eq=False)
class Unseen:
    """Items that are not among the votes because fewer than ``at_least`` voters call them.

    Attributes
    ----------
    at_least : int
        How many calls an item needs to be seen.
    items : float
        How many unseen items there are: estimated, or as given.
    interval : ndarray of shape (2,)
        95 % interval of the estimate.
    given : bool
        Whether the number was given.
    """

    at_least: int
    items: float
    interval: NDArray[np.float64]
    given: bool = False

    def __str__(self) -> str:
        low, high = (f"{end:,.0f}" for end in self.interval)
        if self.given:
            return f"{self.items:,.0f} candidate items that nobody called, as given (the votes say {low} to {high})."
        who = "nobody" if self.at_least == 1 else f"fewer than {self.at_least} voters"
        return f"About {self.items:,.0f} candidate items that {who} called (95 % interval {low} to {high})."


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit learns of votes."""

    classes: NDArray  # (n_classes,): labels; of two, (negative, positive)
    voters: NDArray | None  # (n_voters,): names of the voters
    model: TreeModel  # the model of all voters, its states the classes. For a majority vote: agreement with it
    # (n_classes,): the classes in the order that decides a tie: those with more votes first
    tie_order: NDArray[np.int64]
    how_counted: str  # in a sentence: how many items and patterns there were, and how passes over them went
    informative: NDArray[np.bool_]  # (n_voters,): which voters say something; the others have no influence
    # what labels come from, averaged: models of the fitted voters and, behind these, of whether some of them vote.
    # Empty if it is `model`
    evidence: tuple[TreeModel, ...] = ()
    columns: NDArray[np.int64] | None = None  # (n_fitted,): columns of X behind the fitted voters
    abstainers: NDArray[np.int64] | None = None  # those of the fitted voters whose silence is a vote
    # (n_voters, n_classes): how often voters agree with the averaged posterior, if `evidence` is more than the model
    recall: NDArray[np.float64] | None = None
    calibration: Calibration | None = None  # what probabilities count with, if not the class balance of the model
    # what probabilities are printed with, if they are less sure than the model's own
    probability_line: Calibration | None = None
    cut: Cut | None = None  # where labels of two classes are cut by `decision="mean"`
    convergence: Convergence | None = None  # how EM ended, if there was one
    balance_items: float = 0.0  # pseudo-items of each class that were left of the prior
    pseudo_votes: tuple[float, float] = (0.5, 0.5)  # pseudo-votes (right, wrong) of every row that EM counted with
    grouping: Grouping | None = None  # how the voters were grouped, if that was a question
    facts: Facts | None = None  # what was known besides the votes
    settled: Settled | None = None  # the groupings weighed by that
    sample: VoteSample | None = None  # votes to judge panels by
    risk: Risk | None = None  # what goes before a disaster, of two classes and groups that were searched
    patterns: PatternTable | SparseRows | None = None  # all votes so far, if they came in parts
    bins: Bins | None = None  # how numbers became codes; None if votes are labels
    # (n_voters, n_symbols): share of the answers of each voter in each bin; None if votes are labels
    symbol_share: NDArray[np.float64] | None = None
    # log-likelihood ratio from which an item is positive: 0, unless the user cuts numbers at one of his own
    number_cut: float = 0.0
    # of numbers: T, about 1 if the votes are of two classes and clearly less if they are of one scale
    separation: float | None = None
    # items that too few voters call to be among the votes, if that is how votes were listed
    unseen: Unseen | None = None
    # (n_classes,): classes that at most half of the voters ever say. That voters disagree is no evidence of such a
    # class: it is no label where none of those who vote says it
    seldom: NDArray[np.bool_] | None = None

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.model.n_voters

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_symbols(self) -> int:
        """Number of codes that a vote may have."""
        return len(self.classes) if self.bins is None else self.bins.n_symbols

    @property
    def at_risk(self) -> str | None:
        """Why the labels need a check before they are used, in a sentence; None if they do not, or had one."""
        n_known = 0 if self.facts is None else len(self.facts.rows)
        if self.risk is None or not self.risk.high or n_known >= ENOUGH_LABELS:
            return None
        return self.risk.sentence

    @cached_property
    def confusion(self) -> NDArray[np.float64]:
        """Pr(vote | Y) of every voter, shape (n_voters, n_classes, n_classes); rows are the truth."""
        confusion = self.model.confusion
        if self.recall is None:
            return confusion
        # the recalls of the averaged posterior, wrong answers as in the model
        wrong = confusion * (1 - np.eye(self.n_classes))
        share = wrong / np.maximum(wrong.sum(axis=2, keepdims=True), 1e-300)
        return np.eye(self.n_classes) * self.recall[:, :, None] + share * (1 - self.recall)[:, :, None]

    @property
    def recalls(self) -> NDArray[np.float64]:
        """Pr(vote = Y | Y) of every voter and class, shape (n_voters, n_classes)."""
        if self.bins is not None:
            says_positive = emission_leans(self.model.confusion)
            return np.stack(
                [
                    (self.model.confusion[:, 0] * ~says_positive).sum(axis=1),
                    (self.model.confusion[:, 1] * says_positive).sum(axis=1),
                ],
                axis=1,
            )
        return self.model.recall if self.recall is None else self.recall

    # -- labels ---------------------------------------------------------------------------------------------

    def read_evidence(self, codes: Codes) -> Codes:
        """Return what the models of the evidence read of rows of codes."""
        assert self.columns is not None
        assert self.abstainers is not None
        core = merge_copies(codes, self.model.copy_of)
        if not np.array_equal(self.columns, np.arange(core.shape[1])):
            core = codes_of_voters(core, self.columns)
        return with_silence(core, self.abstainers)

    def log_likelihood(self, codes: Codes) -> NDArray[np.float64]:
        """Return log Pr(votes | Y) of rows of codes, less that of the first class; a column for each class."""
        if self.evidence:
            rows = self.read_evidence(codes)
            evidence = averaged([model.class_evidence(rows) for model in self.evidence])
        else:
            evidence = self.model.class_evidence(codes)
        return evidence - self.number_cut * np.arange(self.n_classes) if self.number_cut else evidence

    def log_posterior(
        self, log_likelihood: NDArray[np.float64], calibration: Calibration | None = None
    ) -> NDArray[np.float64]:
        """Return log Pr(Y | votes) from the log-likelihood, up to a constant of each row."""
        known = self.calibration if calibration is None else calibration
        if known is None:
            return log_likelihood + log_rates(self.model.class_prior)
        return known.temper * log_likelihood + log_rates(np.asarray(known.class_prior))

    @property
    def printed(self) -> Calibration | None:
        """What printed probabilities count with, if not the class balance of the model."""
        return self.calibration if self.probability_line is None else self.probability_line

    def said_only(self, codes: Codes, log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log-odds in which a class that few voters ever say is last where none of those who vote says it."""
        if self.seldom is None:
            return log_odds
        votes = tally(codes, self.n_symbols)
        unsaid = self.seldom & (votes == 0) & (votes.sum(axis=1, keepdims=True) > 0)
        return np.where(unsaid, log_odds.min(axis=1, keepdims=True) - 1, log_odds)

    def decide(self, log_odds: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the class with the largest log-odds; of several, the one with most votes at fit."""
        columns = log_odds.T[self.tie_order]
        enough = columns.max(axis=0) - _TIE
        place = np.zeros(len(log_odds), dtype=np.int64)
        for number in range(len(columns) - 1, 0, -1):
            place[columns[number] >= enough] = number
        place[columns[0] >= enough] = 0
        return self.tie_order[place]

    # -- names ----------------------------------------------------------------------------------------------

    def columns_of(self, voters: Iterable) -> NDArray[np.int64]:
        """Return the columns of voters given by name, or by column number."""
        position = {} if self.voters is None else {name: column for column, name in enumerate(self.voters.tolist())}
        found = []
        for voter in [voters] if isinstance(voters, str) else list(voters):
            if voter in position:
                found.append(position[voter])
            elif isinstance(voter, Integral) and 0 <= int(voter) < self.n_voters:
                found.append(int(voter))
            else:
                raise ValueError(f"there is no voter {str(voter)!r}")
        return np.array(found, dtype=np.int64)

    def names_of(self, columns: ArrayLike) -> NDArray:
        """Return the names of columns, or their numbers if voters have no names."""
        columns = np.asarray(columns, dtype=np.int64)
        return columns if self.voters is None else self.voters[columns]

    # -- parts ----------------------------------------------------------------------------------------------

    def subset(self, voters: Iterable) -> Fitted:
        """Return the fit of some of the voters, with what was learnt from all.

        Kinds of items and abstention belong to all voters together and are left out; so is what is known of the
        search, but for the covariance.
        """
        columns = self.columns_of(voters)
        grouping = self.grouping
        model = self.model.subset(columns)
        originals = np.flatnonzero((model.copy_of == np.arange(model.n_voters)) & self.informative[columns])
        if grouping is not None:
            compared, places = None, columns
            if grouping.compared is not None:
                number = np.full(self.n_voters, -1)
                number[grouping.compared] = np.arange(len(grouping.compared))
                compared = np.flatnonzero(number[columns] >= 0)
                places = number[columns[compared]]
            block = np.ix_(places, places)
            grouping = replace(
                grouping,
                compared=compared,
                covariance=grouping.covariance[block],
                score=grouping.score[block] if grouping.score.size else grouping.score,
                v_on=grouping.v_on[columns],
                v_off=grouping.v_off[columns],
                alternatives=(),
                guard=None,
                candidates=(),
            )
        return replace(
            self,
            voters=None if self.voters is None else self.voters[columns],
            model=model,
            informative=self.informative[columns],
            evidence=(),
            columns=originals,
            abstainers=np.array([], dtype=np.int64),
            recall=None if self.recall is None else self.recall[columns],
            calibration=None if self.calibration is None else Calibration(1.0, self.calibration.class_prior),
            probability_line=self.printed,  # of fewer voters it is too careful, not too sure
            cut=None,
            grouping=grouping,
            facts=None,
            settled=None,
            sample=None if self.sample is None else self.sample.subset(columns),
            risk=None,
            patterns=None,
            bins=None if self.bins is None else self.bins.subset(columns),
            symbol_share=None if self.symbol_share is None else self.symbol_share[columns],
            number_cut=self._number_cut_of(model, columns),
        )

    def _number_cut_of(self, part: TreeModel, columns: NDArray[np.int64]) -> float:
        """Return the cut of some of the voters: as many items of the sample are positive as by that of all."""
        if not self.number_cut or self.sample is None:
            return 0.0
        codes, items = self.sample.codes, self.sample.n_items @ self.sample.weights.astype(np.float64)
        positive = self.model.log_likelihood_ratio(codes) > self.number_cut
        of_part = part.log_likelihood_ratio(np.ascontiguousarray(codes[:, columns]))
        return share_above(of_part, items, float(items @ positive / items.sum()))


def emission_leans(confusion: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which symbols of each voter are likelier if Y is positive, shape (n_voters, n_symbols)."""
    return confusion[:, 1] > confusion[:, 0]


def with_silence(codes: Codes, voters: NDArray[np.int64]) -> Codes:
    """Add, for some voters, a vote on whether they vote at all.

    Given the state of a voter's parent, Pr(vote, voted) = Pr(voted) Pr(vote | voted), so a second voter beside the
    first says all there is to say.
    """
    if isinstance(codes, SparseCodes):
        if len(voters):
            raise ValueError("abstain='informative' is not for a crowd: there silence says who was asked.")
        return codes
    if not len(voters):
        return np.ascontiguousarray(codes)
    return np.ascontiguousarray(np.hstack([codes, (codes[:, voters] >= 0).astype(np.int8)]))


def averaged(log_likelihoods: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Average log-likelihoods of the classes as posteriors with an even prior; less that of the first class."""
    if len(log_likelihoods) == 1:
        return log_likelihoods[0]
    if log_likelihoods[0].shape[1] == 2:
        mean = np.mean([np.tanh((part[:, 1] - part[:, 0]) / 2) for part in log_likelihoods], axis=0)
        ratio = 2 * np.arctanh(mean.clip(-1 + 1e-15, 1 - 1e-15))
        return np.stack([np.zeros(len(ratio)), ratio], axis=1)
    logarithm = log_rates(np.mean([probabilities(part) for part in log_likelihoods], axis=0))
    return logarithm - logarithm[:, :1]


def probabilities(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities behind their logarithms, which are known up to a constant of each row."""
    joint = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)
