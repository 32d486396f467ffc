"""The summary of a report as values: what is in it, of which type, and what it means.

The JSON Schema and the page of the documentation are made of these classes (:mod:`goldless.report.schema`), so what
is written here is what users read. Lists "by class" have an entry for each of ``votes.classes``, in that order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from goldless.plain import plain_tree

SCHEMA = "goldless-report"
SCHEMA_VERSION = 3

Interval = tuple[float, float]
Matrix = list[list[float]]

# -- what there are many of -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """What is expected of one way to label the items."""

    method: Annotated[str, "``combined``, ``Dawid-Skene``, ``majority vote``, ``voter thought best`` or ``panel``."]
    balanced_accuracy: Annotated[
        float, "Mean over the classes of the share of items labelled rightly, as the model expects it."
    ]
    interval: Annotated[
        Interval | None,
        "90 % interval of what was true of real panels that looked like this one; None where no real panels say.",
    ]
    model_interval: Annotated[
        Interval | None,
        "95 % interval if the model holds; a panel has none, because it was chosen by the model that judges it.",
    ]
    held: Annotated[
        float | None,
        "How often the combined labels were better on real panels; in the row of the combined labels, "
        "better than the majority vote.",
    ]
    detail: Annotated[str | None, "Name of the voter, or size of the panel."]
    coverage: Annotated[
        float | None, "Share of the items that this voter voted on; the others count as guesses of it."
    ] = None


@dataclass(frozen=True)
class Group:
    """A group of two or more voters that share errors; the largest comes first."""

    name: Annotated[str, "A, B, ..."]
    index: Annotated[int, "Its number in ``model.groups_``."]
    voters: Annotated[list[int], "Its voters."]
    recall: Annotated[list[float], "How often the common source of the group is right, by class."]
    balanced_accuracy: Annotated[float, "Mean of that."]
    shared: Annotated[str | None, "Family that most of its voters share, and not all voters do."]
    stability: Annotated[float | None, "How often two members are found together over resamples."]
    one_more: Annotated[float | None, "Effective votes that one more such voter would add."]
    one_more_interval: Annotated[Interval | None, "95 % interval."]


@dataclass(frozen=True)
class Voter:
    """A voter; voters come in the order of the columns."""

    index: Annotated[int, "Its column, from 0."]
    name: str
    group: Annotated[str | None, "Name of its group; None if it is alone."]
    recall: Annotated[
        list[float],
        "Estimated share of the items of each class that it calls so; of two classes specificity and sensitivity.",
    ]
    recall_interval: Annotated[list[Interval | None], "95 % intervals; None for a voter that says nothing."]
    balanced_accuracy: Annotated[float, "Mean of ``recall``."]
    balanced_accuracy_interval: Annotated[
        Interval | None, "90 % interval of what was true of such voters of real panels."
    ]
    balanced_accuracy_model_interval: Annotated[Interval | None, "95 % interval if the model holds."]
    confusion: Annotated[
        Matrix | None,
        "Estimated Pr(vote | class), a row for each class; None where all voters together would have too "
        "many numbers.",
    ]
    coverage: Annotated[float, "Share of the items it voted on."]
    vote_shares: Annotated[list[float], "Share of its votes for each class."]
    uniqueness: Annotated[
        float,
        "Share of independent information: 1 if its errors are independent of all others, 1/k for one of k copies.",
    ]
    uniqueness_interval: Annotated[Interval | None, "95 % interval."]
    panel: Annotated[int | None, "Its place in the panel, from 1."]
    copy_of: Annotated[str | None, "Name of the voter it repeats."]
    informative: Annotated[bool, "Whether it says anything: it uses more than one class, or abstains on some items."]


@dataclass(frozen=True)
class Choice:
    """A panel worth its size."""

    voters: Annotated[list[str], "Names, in the order of choice."]
    balanced_accuracy: Annotated[float, "Expected if votes are weighted."]
    vote_accuracy: Annotated[float, "Expected if votes are simply counted."]
    effective_votes: float


@dataclass(frozen=True)
class PanelPart:
    """The suggested panel."""

    voters: Annotated[list[int], "Its voters, in the order of choice."]
    names: Annotated[list[str], "Their names."]
    effective_votes: Annotated[list[float], "Of the first voter, the first two, and so on."]
    balanced_accuracy: Annotated[float, "Expected."]
    choices: Annotated[list[Choice], "Panels worth their size, smallest first."]


@dataclass(frozen=True)
class NearDuplicate:
    """Two voters whose errors are nearly the same."""

    voters: Annotated[list[int], "The two."]
    names: Annotated[list[str], "Their names."]
    agreement: Annotated[float, "Share of common items on which they agree."]
    correlation: Annotated[float, "Correlation of their votes within the classes."]


@dataclass(frozen=True)
class SameWrong:
    """Two voters that give the same wrong answer more often than others do."""

    voters: Annotated[list[int], "The two."]
    names: Annotated[list[str], "Their names."]
    lift: Annotated[
        float,
        "Share of the items on which both are wrong where their answers are the same, less what the "
        "popularity of the answers among the other voters makes likely.",
    ]
    standard_error: Annotated[float, "Its standard error."]
    n_items: Annotated[float, "Number of items on which both are wrong."]


@dataclass(frozen=True)
class Pattern:
    """A row of votes on which voters disagree; the commonest come first."""

    votes: Annotated[
        list[int], "Code of each voter's vote: the position of the class in ``votes.classes``, -1 for none."
    ]
    count: Annotated[int, "Items with these votes."]
    share: Annotated[float, "Their share."]
    vote_counts: Annotated[list[int], "Number of votes for each class."]
    probabilities: Annotated[list[float], "Probability of each class."]
    label: Annotated[int, "Code of the combined label."]
    majority: Annotated[int, "Code of the majority's label."]


@dataclass(frozen=True)
class Because:
    """A group, or a voter that is alone, and what it adds on an item."""

    source: Annotated[str, "Name of the group or of the voter."]
    log_odds: Annotated[float, "Log-odds it adds."]


@dataclass(frozen=True)
class Item:
    """An item that the model is least sure of, one for each pattern."""

    item: Annotated[str, "Its name, or its number from 1."]
    row: Annotated[int, "Its row, from 0."]
    alike: Annotated[int, "Other items with the same votes."]
    votes: Annotated[list[int], "As those of a pattern."]
    vote_counts: Annotated[list[int], "As those of a pattern."]
    probabilities: Annotated[list[float], "As those of a pattern."]
    label: Annotated[int, "As those of a pattern."]
    majority: Annotated[int, "As those of a pattern."]
    compared: Annotated[
        list[int],
        "Codes of the two classes that log-odds compare: of two classes positive and negative, of more the "
        "most probable class and the next.",
    ]
    because: Annotated[list[Because], "Who adds most, both sides shown."]
    ask: Annotated[
        str | None, "The voter without a vote on the item whose vote would tell most; None if all have voted."
    ]
    gain: Annotated[float, "Bits that one more vote would tell."]


@dataclass(frozen=True)
class RunnerUp:
    """Another number of groups on the residual path."""

    n_groups: int
    residual: float


@dataclass(frozen=True)
class OtherGrouping:
    """Another grouping that explains the votes."""

    groups: Annotated[list[int], "Group of each voter."]
    margin: Annotated[float, "How much worse it fits, in prices of one voter in a group."]
    labels_changed: Annotated[float, "Share of the labels it would change."]


@dataclass(frozen=True)
class GuardPart:
    """Whether groups that were found explain more than that some items are hard for everybody."""

    groups: Annotated[list[int], "Group of each voter that the search found."]
    without_groups: Annotated[float, "Log-likelihood of the votes without groups."]
    with_groups: Annotated[float, "Log-likelihood of the votes with them."]
    with_levels: Annotated[
        float | None,
        "Log-likelihood without groups but with easy and hard items; None if such a model could not be fitted.",
    ]
    kept: Annotated[bool, "Whether the groups were used."]


@dataclass(frozen=True)
class Scored:
    """A way to label the items, scored against the truth."""

    method: Annotated[str, "As in ``expected``."]
    balanced_accuracy: Annotated[float | None, "Mean over the classes of the share labelled rightly."]
    accuracy: Annotated[float | None, "Share of all items labelled rightly."]


@dataclass(frozen=True)
class ScoredVoter:
    """A voter, scored against the truth."""

    recall: Annotated[list[float | None], "Share of right votes, by class; None where there is nothing to measure."]
    balanced_accuracy: Annotated[float | None, "Mean over the classes that the truth has."]


@dataclass(frozen=True)
class ItemTable:
    """All items with their votes and labels, packed: bytes are little-endian and in base64."""

    n_rows: Annotated[int, "Items in the table."]
    sampled: Annotated[bool, "Whether these are some of the items only, evenly spread over the rows."]
    doubt_up_to: Annotated[
        float, "Items whose label is at most so probable need a look: the least certain tenth, if below 0.9."
    ]
    names: Annotated[list[str] | None, "Names of the items; None if their numbers, from 1, are their names."]
    rows: Annotated[str | None, "Row of each item, from 0, as uint32; None if these are all rows in order."]
    patterns: Annotated[str, "Number of each item's pattern of votes, as uint32: what follows is by pattern."]
    n_patterns: Annotated[int, "Number of patterns."]
    bits: Annotated[int, "Bits of a vote: 2, 4 or 8."]
    votes: Annotated[
        str,
        "Votes, each pattern in whole bytes and the first voter in the lowest bits: 0 none, otherwise the "
        "code plus 1.",
    ]
    labels: Annotated[
        str,
        "Codes of the combined label, of the majority's, and of the most probable class besides the "
        "combined label, as uint8.",
    ]
    majority: Annotated[
        str,
        "Codes of the combined label, of the majority's, and of the most probable class besides the "
        "combined label, as uint8.",
    ]
    runner_up: Annotated[
        str,
        "Codes of the combined label, of the majority's, and of the most probable class besides the "
        "combined label, as uint8.",
    ]
    probability: Annotated[str, "Probability of the combined label, as uint16: 65535 is 1."]
    truth: Annotated[
        str | None,
        "Code of the true label of each item (not pattern), as int8, -1 if it is not known; None without any.",
    ]


@dataclass(frozen=True)
class ChangePart:
    """One number that changed between two batches of votes."""

    what: Annotated[str, "Which number: of a voter, of a pair of voters, or of the classes."]
    voters: Annotated[list[str], "The voter, the pair, or nobody."]
    before: Annotated[float, "Estimates in the two batches."]
    after: Annotated[float, "Estimates in the two batches."]
    pvalue: Annotated[float, "P-value of no change, corrected for the number of tests of its kind."]


@dataclass(frozen=True)
class Drift:
    """A voter in two batches of votes."""

    name: str
    before: Annotated[float, "Balanced accuracy in the two batches, each estimated by itself."]
    after: Annotated[float, "Balanced accuracy in the two batches, each estimated by itself."]
    pvalue: Annotated[float | None, 'The smallest corrected p-value of "as often right as before" over the classes.']
    drifted: Annotated[bool, "Whether that is below the level."]


@dataclass(frozen=True)
class AuditRow:
    """A number that an audit measured."""

    what: Annotated[str, "``balanced accuracy``, ``accuracy``, ``recall of`` a class or ``share of`` a class."]
    value: Annotated[float | None, "None if no labelled item is of the class."]
    interval: Annotated[Interval | None, "95 % interval."]


# -- parts ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VotesPart:
    """The votes, and how common the classes are."""

    n_items: Annotated[int, "Number of items."]
    n_voters: Annotated[int, "Number of voters."]
    n_patterns: Annotated[int, "Number of distinct rows of votes."]
    coverage: Annotated[float, "Share of votes cast."]
    votes_per_item: Annotated[float, "Mean number of votes of an item."]
    classes: Annotated[list[str], "The classes as text; of two, negative and positive."]
    class_shares: Annotated[list[float], "Estimated share of the items of each class."]
    vote_shares: Annotated[list[float], "Share of the votes cast for each class."]


@dataclass(frozen=True)
class Answer:
    """The answer."""

    headline: Annotated[str, "The answer in one sentence."]
    in_short: Annotated[str, "The same in a few words, to send on."]
    limits: Annotated[
        list[str],
        "What limits the answer, in sentences that belong beside it: why the votes cannot tell how good the "
        "labels are, and why some items should be labelled first.",
    ]
    advice: Annotated[list[str], "What to do, most important first."]
    verdict: Annotated[str | None, "The estimator's own sentence on the groups."]
    ambiguous: Annotated[bool, "Whether another grouping that changes labels cannot be ruled out."]
    chance: Annotated[float, "Balanced accuracy of a guess: one over the number of classes."]
    n_groups: Annotated[int, "Number of groups of two or more voters."]
    n_sources: Annotated[int, "The same with voters that are alone, each counted as one."]
    n_echoing: Annotated[int, "Number of voters in groups."]
    effective_votes: Annotated[float, "How many voters with independent errors these are worth."]
    effective_votes_interval: Annotated[Interval | None, "95 % interval."]
    expected: Annotated[list[Expected], "What is expected of the ways to label the items."]
    on_real_panels: Annotated[
        str,
        "In a sentence: what the model expects of the combined labels, and what was true of real panels "
        "like this one.",
    ]
    unexplained: Annotated[float, "Share of the squared covariances that the model leaves over, beyond chance."]
    differs_from_majority: Annotated[int, "Items whose combined label is not that of the majority."]


@dataclass(frozen=True)
class Matrices:
    """Pictures of pairs: rows and columns by voter, the diagonal set to 0."""

    echo: Annotated[
        Matrix, "Correlation of the votes within the classes, zero where it is negative or may well be chance."
    ]
    score: Annotated[Matrix, "Score of every pair."]
    covariance: Annotated[
        Matrix, "Covariance of the votes: two labels are coded -1 and +1, more as corners of a regular simplex."
    ]
    fitted: Annotated[Matrix, "Covariance in the model."]
    left_over: Annotated[Matrix, "Their difference."]
    co_membership: Annotated[Matrix | None, "Share of resamples in which two voters share a group."]
    same_wrong_answer: Annotated[
        Matrix | None,
        "Of more than two classes: how much more often two voters that are both wrong give the same answer "
        "than others do.",
    ]


@dataclass(frozen=True)
class CalibrationPart:
    """How to calibrate probabilities."""

    temper: Annotated[float, "Factor on the log-likelihood of the votes."]
    class_shares: Annotated[list[float], "Class shares to count with."]


@dataclass(frozen=True)
class DiagnosisPart:
    """What can be trusted."""

    verdict: Annotated[str, "Which labels to use, with figures."]
    use: Annotated[str, "What the advice is: ``combined``, ``independent``, ``majority``, ``voter`` or ``unknown``."]
    advice: Annotated[str, "The same in plain words."]
    dependence: Annotated[str, "Whether voters depend on each other, in a sentence."]
    cannot_tell: Annotated[list[str], "Reasons why the votes cannot tell how good the labels are."]
    independence_pvalue: Annotated[float | None, 'P-value of "the voters are independent given the truth".']
    fit_pvalue: Annotated[float | None, 'P-value of "the groups explain what the voters share".']
    calibration: CalibrationPart
    class_shares_interval: Annotated[
        list[Interval | None], "90 % intervals of what was true of the class shares of real panels."
    ]
    class_shares_model_interval: Annotated[list[Interval | None], "95 % intervals if the model holds."]
    effective_votes_by_class: Annotated[list[float], "Effective votes among the items of each class."]
    effective_votes_by_class_interval: Annotated[list[Interval | None], "95 % intervals."]
    n_resamples: Annotated[int, "How often the groups were searched again."]
    near_duplicates: list[NearDuplicate]
    weak_groups: Annotated[
        list[list[str]],
        "Names of voters that labels or intervals count together, and whose dependence cannot be told from chance.",
    ]
    families: Annotated[list[str | None], "Family of each voter, as given or as names share it."]
    same_wrong_answer: Annotated[
        list[SameWrong], "Of more than two classes: the clearest pairs, the largest lift first."
    ]
    without: Annotated[dict[str, str], "What has no number, and why."]
    said_without: Annotated[list[str], "The same in sentences."]


@dataclass(frozen=True)
class StructurePart:
    """How the groups were found."""

    asked: Annotated[str, "``paper``, ``search``, ``independent`` or ``given``."]
    n_groups: Annotated[int, "Number of sources, voters that are alone counted."]
    n_groups_on_path: Annotated[
        int, "Number of groups of the grouping that is used, copies and constant voters left out."
    ]
    residual: Annotated[float | None, "Its residual."]
    residual_path: Annotated[
        list[tuple[int, float | None]],
        "Number of groups and residual by Algorithm 2 of the paper, whichever way the groups were found; "
        "empty for fewer than 4 or more than 150 voters, and for more than two classes.",
    ]
    runners_up: Annotated[list[RunnerUp], "Other numbers of groups on that path, best first."]
    alternatives: Annotated[list[OtherGrouping], "Other groupings, nearest first."]
    guard: Annotated[GuardPart | None, "Of more than two classes, if groups were found."]
    overdispersion: Annotated[float | None, "Misfit of the covariance, 1 when the model holds."]
    converged: Annotated[bool | None, "Whether EM converged; None if there was none."]
    n_iter: Annotated[int | None, "Number of passes of EM."]


@dataclass(frozen=True)
class TruthPart:
    """Everything scored against known labels."""

    n_scored: Annotated[int, "Items with a known label."]
    class_shares: Annotated[list[float], "Their share of each class."]
    methods: Annotated[list[Scored], "Ways to label the items."]
    confusion: Annotated[list[list[int]], "Items of each true class (rows) that got each combined label."]
    voters: Annotated[list[ScoredVoter], "By column."]
    conditional: Annotated[
        list[Matrix] | None,
        "Covariance of the votes among the items of each class (C- and C+ of two); None where there would "
        "be too many numbers.",
    ]


@dataclass(frozen=True)
class NumberVoter:
    """What a voter that gives numbers means by them, without labels."""

    kind: Annotated[str, "``ordinal``, ``probabilities`` or ``scores``."]
    turning_point: Annotated[
        float | None,
        "Number from which it means the positive class (up to which, if it runs the other way); None if it "
        "never turns.",
    ]
    direction: Annotated[int, "1 if high numbers mean the positive class, -1 if low ones do, 0 if neither."]
    auc: Annotated[
        float,
        "How often it ranks a positive item above a negative one. The level is that of the consensus, not "
        "of the truth.",
    ]
    severity: Annotated[
        float | None, "How much lower its numbers are than those of all on items of one class; None for scores."
    ]
    edges: Annotated[
        list[float], "Smallest number of every bin but the first (of the last first, where low numbers are positive)."
    ]
    answers: Annotated[list[float], "Share of its answers in each bin."]
    positive: Annotated[
        list[float], "Probability of the positive class in each bin, the classes taken as equally frequent."
    ]


@dataclass(frozen=True)
class NumbersPart:
    """Votes that are numbers: grades, probabilities or scores."""

    scale_or_classes: Annotated[
        float | None, "About 1 if the numbers are of two classes, clearly less if they are of one continuous scale."
    ]
    positive_from: Annotated[float | None, "The user's own cut."]
    voters: Annotated[list[NumberVoter], "By column."]


@dataclass(frozen=True)
class CallsPart:
    """Votes that list only items which some voters call, as files of variant calls do."""

    at_least: Annotated[int, "How many calls list an item."]
    unseen: Annotated[float, "Candidate items with fewer calls: estimated, or as given."]
    unseen_interval: Annotated[Interval, "95 % interval of the estimate."]
    given: Annotated[bool, "Whether the number was given."]
    sensitivity: Annotated[
        list[float], "Of each voter, by column: the share of the real items, seen or not, that it calls."
    ]
    precision: Annotated[
        list[float], "Of each voter, by column: the share of its calls that are real (positive predictive value)."
    ]


@dataclass(frozen=True)
class AuditPart:
    """What an audit measured: items drawn at random and labelled by hand."""

    n_labelled: Annotated[int, "Items labelled, items that nobody could tell, and labels found wrong."]
    n_unsure: Annotated[int, "Items labelled, items that nobody could tell, and labels found wrong."]
    n_wrong: Annotated[int, "Items labelled, items that nobody could tell, and labels found wrong."]
    measured: list[AuditRow]


@dataclass(frozen=True)
class AgainstPart:
    """What changed since another batch of votes by the same voters."""

    title: Annotated[str, "Name of the other batch."]
    n_items: Annotated[int, "Its items."]
    verdict: Annotated[str, "What changed, in a sentence."]
    level: Annotated[float, "Probability of any false alarm within each kind of change."]
    classes: Annotated[list[str], "The classes, in the order of the shares."]
    class_shares_before: Annotated[list[float], "Estimated share of each class in the two batches."]
    class_shares_after: Annotated[list[float], "Estimated share of each class in the two batches."]
    effective_votes_before: float
    effective_votes_after: float
    changes: Annotated[list[ChangePart], "What changed at this level, most certain first within each kind."]
    voters: Annotated[list[Drift], "All voters that are in both batches, those that drifted first."]
    only_before: Annotated[list[str], "Voters that are in one of the batches only, and are not compared."]
    only_after: Annotated[list[str], "Voters that are in one of the batches only, and are not compared."]


@dataclass(frozen=True)
class Summary:
    """Everything a report shows."""

    schema: Annotated[str, "``goldless-report``."]
    schema_version: int
    goldless_version: Annotated[str, "The version that wrote it."]
    title: Annotated[str, "Name of the votes."]
    source: Annotated[str | None, "How they were read."]
    method: Annotated[str, "Class of the estimator."]
    votes: VotesPart
    answer: Answer
    groups: list[Group]
    voters: list[Voter]
    order: Annotated[list[int], "Voters in the order of the figures: by group, best first, then those alone."]
    panel: PanelPart
    matrices: Annotated[Matrices | None, "None for more than 300 voters."]
    diagnosis: DiagnosisPart
    patterns: list[Pattern]
    items: list[Item]
    structure: StructurePart
    warnings: Annotated[list[str], "What should make the reader careful."]
    unknowable: Annotated[list[str], "What no method can find out from votes alone."]
    truth: Annotated[TruthPart | None, "Only if the truth was given."]
    table: Annotated[ItemTable | None, "All items; None if none were asked for."]
    audit: Annotated[AuditPart | None, "Only if there was one."]
    against: Annotated[AgainstPart | None, "Only if there was another batch to compare with."]
    calls: Annotated[CallsPart | None, "Only if the votes list what some voters call, and no more."]
    numbers: Annotated[NumbersPart | None, "Only if the votes are numbers."] = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, strings, lists and dictionaries, ready for JSON."""
        return plain_tree(self)
