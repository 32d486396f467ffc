"""The summary of a report as values: what is in it, of which type, and what it means.

The JSON Schema and the page of the documentation are made of these classes (:mod:`goldless.report.schema`), so what
is written here is what users read. Lists "by class" have an entry for each of ``votes.classes``, in that order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from goldless.plain import plain_tree
from goldless.report.rows import (
    AuditRow,
    ChangePart,
    Drift,
    Expected,
    Group,
    GuardPart,
    Interval,
    Item,
    ItemTable,
    Matrix,
    NearDuplicate,
    OtherGrouping,
    PanelPart,
    Pattern,
    RunnerUp,
    SameWrong,
    Scored,
    ScoredVoter,
    Voter,
)

SCHEMA = "goldless-report"
SCHEMA_VERSION = 3


@dataclass(frozen=True)
class VotesPart:
    """The votes, and how common the classes are.

    Attributes
    ----------
    n_items : int
        Number of items.
    n_voters : int
        Number of voters.
    n_patterns : int
        Number of distinct rows of votes.
    coverage : float
        Share of votes cast.
    votes_per_item : float
        Mean number of votes of an item.
    classes : list of str
        The classes as text; of two, negative and positive.
    class_shares : list of float
        Estimated share of the items of each class.
    vote_shares : list of float
        Share of the votes cast for each class.
    """

    n_items: int
    n_voters: int
    n_patterns: int
    coverage: float
    votes_per_item: float
    classes: list[str]
    class_shares: list[float]
    vote_shares: list[float]


@dataclass(frozen=True)
class Answer:
    """The answer.

    Attributes
    ----------
    headline : str
        The answer in one sentence.
    in_short : str
        The same in a few words, to send on.
    limits : list of str
        What limits the answer, in sentences that belong beside it: why the votes cannot tell how good the labels are,
        and why some items should be labelled first.
    advice : list of str
        What to do, most important first.
    verdict : str or None
        The estimator's own sentence on the groups.
    ambiguous : bool
        Whether another grouping that changes labels cannot be ruled out.
    chance : float
        Balanced accuracy of a guess: one over the number of classes.
    n_groups : int
        Number of groups of two or more voters.
    n_sources : int
        The same with voters that are alone, each counted as one.
    n_echoing : int
        Number of voters in groups.
    effective_votes : float
        How many voters with independent errors these are worth.
    effective_votes_interval : pair or None
        95 % interval.
    expected : list of Expected
        What is expected of the ways to label the items.
    on_real_panels : str
        In a sentence: what the model expects of the combined labels, and what was true of real panels like this one.
    unexplained : float
        Share of the squared covariances that the model leaves over, beyond chance.
    differs_from_majority : int
        Items whose combined label is not that of the majority.
    """

    headline: str
    in_short: str
    limits: list[str]
    advice: list[str]
    verdict: str | None
    ambiguous: bool
    chance: float
    n_groups: int
    n_sources: int
    n_echoing: int
    effective_votes: float
    effective_votes_interval: Interval | None
    expected: list[Expected]
    on_real_panels: str
    unexplained: float
    differs_from_majority: int


@dataclass(frozen=True)
class Matrices:
    """Pictures of pairs: rows and columns by voter, the diagonal set to 0.

    Attributes
    ----------
    echo : matrix
        Correlation of the votes within the classes, zero where it is negative or may well be chance.
    score : matrix
        Score of every pair.
    covariance : matrix
        Covariance of the votes: two labels are coded -1 and +1, more as corners of a regular simplex.
    fitted : matrix
        Covariance in the model.
    left_over : matrix
        Their difference.
    co_membership : matrix or None
        Share of resamples in which two voters share a group.
    same_wrong_answer : matrix or None
        Of more than two classes: how much more often two voters that are both wrong give the same answer than others
        do.
    """

    echo: Matrix
    score: Matrix
    covariance: Matrix
    fitted: Matrix
    left_over: Matrix
    co_membership: Matrix | None
    same_wrong_answer: Matrix | None


@dataclass(frozen=True)
class CalibrationPart:
    """How to calibrate probabilities.

    Attributes
    ----------
    temper : float
        Factor on the log-likelihood of the votes.
    class_shares : list of float
        Class shares to count with.
    """

    temper: float
    class_shares: list[float]


@dataclass(frozen=True)
class DiagnosisPart:
    """What can be trusted.

    Attributes
    ----------
    verdict : str
        Which labels to use, with figures.
    use : str
        What the advice is: ``combined``, ``independent``, ``majority``, ``voter`` or ``unknown``.
    advice : str
        The same in plain words.
    dependence : str
        Whether voters depend on each other, in a sentence.
    cannot_tell : list of str
        Reasons why the votes cannot tell how good the labels are.
    independence_pvalue : float or None
        P-value of "the voters are independent given the truth".
    fit_pvalue : float or None
        P-value of "the groups explain what the voters share".
    calibration : CalibrationPart
    class_shares_interval : list of pairs or None
        90 % intervals of what was true of the class shares of real panels.
    class_shares_model_interval : list of pairs or None
        95 % intervals if the model holds.
    effective_votes_by_class : list of float
        Effective votes among the items of each class.
    effective_votes_by_class_interval : list of pairs or None
        95 % intervals.
    n_resamples : int
        How often the groups were searched again.
    near_duplicates : list of NearDuplicate
    weak_groups : list of list of str
        Names of voters that labels or intervals count together, and whose dependence cannot be told from chance.
    families : list of str or None
        Family of each voter, as given or as names share it.
    same_wrong_answer : list of SameWrong
        Of more than two classes: the clearest pairs, the largest lift first.
    without : dict of str to str
        What has no number, and why.
    said_without : list of str
        The same in sentences.
    """

    verdict: str
    use: str
    advice: str
    dependence: str
    cannot_tell: list[str]
    independence_pvalue: float | None
    fit_pvalue: float | None
    calibration: CalibrationPart
    class_shares_interval: list[Interval | None]
    class_shares_model_interval: list[Interval | None]
    effective_votes_by_class: list[float]
    effective_votes_by_class_interval: list[Interval | None]
    n_resamples: int
    near_duplicates: list[NearDuplicate]
    weak_groups: list[list[str]]
    families: list[str | None]
    same_wrong_answer: list[SameWrong]
    without: dict[str, str]
    said_without: list[str]


@dataclass(frozen=True)
class StructurePart:
    """How the groups were found.

    Attributes
    ----------
    asked : str
        ``paper``, ``search``, ``independent`` or ``given``.
    n_groups : int
        Number of sources, voters that are alone counted.
    n_groups_on_path : int
        Number of groups of the grouping that is used, copies and constant voters left out.
    residual : float or None
        Its residual.
    residual_path : list of pairs
        Number of groups and residual by Algorithm 2 of the paper, whichever way the groups were found; empty for
        fewer than 4 or more than 150 voters, and for more than two classes.
    runners_up : list of RunnerUp
        Other numbers of groups on that path, best first.
    alternatives : list of OtherGrouping
        Other groupings, nearest first.
    guard : GuardPart or None
        Of more than two classes, if groups were found.
    overdispersion : float or None
        Misfit of the covariance, 1 when the model holds.
    converged : bool or None
        Whether EM converged; None if there was none.
    n_iter : int or None
        Number of passes of EM.
    """

    asked: str
    n_groups: int
    n_groups_on_path: int
    residual: float | None
    residual_path: list[tuple[int, float | None]]
    runners_up: list[RunnerUp]
    alternatives: list[OtherGrouping]
    guard: GuardPart | None
    overdispersion: float | None
    converged: bool | None
    n_iter: int | None


@dataclass(frozen=True)
class TruthPart:
    """Everything scored against known labels.

    Attributes
    ----------
    n_scored : int
        Items with a known label.
    class_shares : list of float
        Their share of each class.
    methods : list of Scored
        Ways to label the items.
    confusion : matrix of int
        Items of each true class (rows) that got each combined label.
    voters : list of ScoredVoter
        By column.
    conditional : list of matrix or None
        Covariance of the votes among the items of each class (C- and C+ of two); None where there would be too many
        numbers.
    """

    n_scored: int
    class_shares: list[float]
    methods: list[Scored]
    confusion: list[list[int]]
    voters: list[ScoredVoter]
    conditional: list[Matrix] | None


@dataclass(frozen=True)
class NumberVoter:
    """What a voter that gives numbers means by them, without labels.

    Attributes
    ----------
    kind : str
        ``ordinal``, ``probabilities`` or ``scores``.
    turning_point : float or None
        Number from which it means the positive class (up to which, if it runs the other way); None if it never turns.
    direction : int
        1 if high numbers mean the positive class, -1 if low ones do, 0 if neither.
    auc : float
        How often it ranks a positive item above a negative one. The level is that of the consensus, not of the truth.
    severity : float or None
        How much lower its numbers are than those of all on items of one class; None for scores.
    edges : list of float
        Smallest number of every bin but the first (of the last first, where low numbers are positive).
    answers : list of float
        Share of its answers in each bin.
    positive : list of float
        Probability of the positive class in each bin, the classes taken as equally frequent.
    """

    kind: str
    turning_point: float | None
    direction: int
    auc: float
    severity: float | None
    edges: list[float]
    answers: list[float]
    positive: list[float]


@dataclass(frozen=True)
class NumbersPart:
    """Votes that are numbers: grades, probabilities or scores.

    Attributes
    ----------
    scale_or_classes : float or None
        About 1 if the numbers are of two classes, clearly less if they are of one continuous scale.
    positive_from : float or None
        The user's own cut.
    voters : list of NumberVoter
        By column.
    """

    scale_or_classes: float | None
    positive_from: float | None
    voters: list[NumberVoter]


@dataclass(frozen=True)
class CallsPart:
    """Votes that list only items which some voters call, as files of variant calls do.

    Attributes
    ----------
    at_least : int
        How many calls list an item.
    unseen : float
        Candidate items with fewer calls: estimated, or as given.
    unseen_interval : pair
        95 % interval of the estimate.
    given : bool
        Whether the number was given.
    sensitivity : list of float
        Of each voter, by column: the share of the real items, seen or not, that it calls.
    precision : list of float
        Of each voter, by column: the share of its calls that are real (positive predictive value).
    """

    at_least: int
    unseen: float
    unseen_interval: Interval
    given: bool
    sensitivity: list[float]
    precision: list[float]


@dataclass(frozen=True)
class AuditPart:
    """What an audit measured: items drawn at random and labelled by hand.

    Attributes
    ----------
    n_labelled, n_unsure, n_wrong : int
        Items labelled, items that nobody could tell, and labels found wrong.
    measured : list of AuditRow
    """

    n_labelled: int
    n_unsure: int
    n_wrong: int
    measured: list[AuditRow]


@dataclass(frozen=True)
class AgainstPart:
    """What changed since another batch of votes by the same voters.

    Attributes
    ----------
    title : str
        Name of the other batch.
    n_items : int
        Its items.
    verdict : str
        What changed, in a sentence.
    level : float
        Probability of any false alarm within each kind of change.
    classes : list of str
        The classes, in the order of the shares.
    class_shares_before, class_shares_after : list of float
        Estimated share of each class in the two batches.
    effective_votes_before, effective_votes_after : float
    changes : list of ChangePart
        What changed at this level, most certain first within each kind.
    voters : list of Drift
        All voters that are in both batches, those that drifted first.
    only_before, only_after : list of str
        Voters that are in one of the batches only, and are not compared.
    """

    title: str
    n_items: int
    verdict: str
    level: float
    classes: list[str]
    class_shares_before: list[float]
    class_shares_after: list[float]
    effective_votes_before: float
    effective_votes_after: float
    changes: list[ChangePart]
    voters: list[Drift]
    only_before: list[str]
    only_after: list[str]


@dataclass(frozen=True)
class Summary:
    """Everything a report shows.

    Attributes
    ----------
    schema : str
        ``goldless-report``.
    schema_version : int
    goldless_version : str
        The version that wrote it.
    title : str
        Name of the votes.
    source : str or None
        How they were read.
    method : str
        Class of the estimator.
    votes : VotesPart
    answer : Answer
    groups : list of Group
    voters : list of Voter
    order : list of int
        Voters in the order of the figures: by group, best first, then those alone.
    panel : PanelPart
    matrices : Matrices or None
        None for more than 300 voters.
    diagnosis : DiagnosisPart
    patterns : list of Pattern
    items : list of Item
    structure : StructurePart
    warnings : list of str
        What should make the reader careful.
    unknowable : list of str
        What no method can find out from votes alone.
    truth : TruthPart or None
        Only if the truth was given.
    table : ItemTable or None
        All items; None if none were asked for.
    audit : AuditPart or None
        Only if there was one.
    against : AgainstPart or None
        Only if there was another batch to compare with.
    calls : CallsPart or None
        Only if the votes list what some voters call, and no more.
    numbers : NumbersPart or None
        Only if the votes are numbers.
    """

    schema: str
    schema_version: int
    goldless_version: str
    title: str
    source: str | None
    method: str
    votes: VotesPart
    answer: Answer
    groups: list[Group]
    voters: list[Voter]
    order: list[int]
    panel: PanelPart
    matrices: Matrices | None
    diagnosis: DiagnosisPart
    patterns: list[Pattern]
    items: list[Item]
    structure: StructurePart
    warnings: list[str]
    unknowable: list[str]
    truth: TruthPart | None
    table: ItemTable | None
    audit: AuditPart | None
    against: AgainstPart | None
    calls: CallsPart | None
    numbers: NumbersPart | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, strings, lists and dictionaries, ready for JSON."""
        return plain_tree(self)
