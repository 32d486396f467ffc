"""What there are many of in a summary: voters, groups, panels, items, each as a value.

The JSON Schema and the page of the documentation are made of these classes and of those in
:mod:`goldless.report.summary`, so what is written here is what users read. Lists "by class" have an entry for each of
``votes.classes``, in that order.
"""

from __future__ import annotations

from dataclasses import dataclass

Interval = tuple[float, float]
Matrix = list[list[float]]


@dataclass(frozen=True)
class Expected:
    """What is expected of one way to label the items.

    Attributes
    ----------
    method : str
        ``combined``, ``Dawid-Skene``, ``majority vote``, ``voter thought best`` or ``panel``.
    balanced_accuracy : float
        Mean over the classes of the share of items labelled rightly, as the model expects it.
    interval : pair or None
        90 % interval of what was true of real panels that looked like this one; None where no real panels say.
    model_interval : pair or None
        95 % interval if the model holds; a panel has none, because it was chosen by the model that judges it.
    held : float or None
        How often the combined labels were better on real panels; in the row of the combined labels, better than the
        majority vote.
    detail : str or None
        Name of the voter, or size of the panel.
    coverage : float or None
        Share of the items that this voter voted on; the others count as guesses of it.
    """

    method: str
    balanced_accuracy: float
    interval: Interval | None
    model_interval: Interval | None
    held: float | None
    detail: str | None
    coverage: float | None = None


@dataclass(frozen=True)
class Group:
    """A group of two or more voters that share errors; the largest comes first.

    Attributes
    ----------
    name : str
        A, B, ...
    index : int
        Its number in ``model.groups_``.
    voters : list of int
        Its voters.
    recall : list of float
        How often the common source of the group is right, by class.
    balanced_accuracy : float
        Mean of that.
    shared : str or None
        Family that most of its voters share, and not all voters do.
    stability : float or None
        How often two members are found together over resamples.
    one_more : float or None
        Effective votes that one more such voter would add.
    one_more_interval : pair or None
        95 % interval.
    """

    name: str
    index: int
    voters: list[int]
    recall: list[float]
    balanced_accuracy: float
    shared: str | None
    stability: float | None
    one_more: float | None
    one_more_interval: Interval | None


@dataclass(frozen=True)
class Voter:
    """A voter; voters come in the order of the columns.

    Attributes
    ----------
    index : int
        Its column, from 0.
    name : str
    group : str or None
        Name of its group; None if it is alone.
    recall : list of float
        Estimated share of the items of each class that it calls so; of two classes specificity and sensitivity.
    recall_interval : list of pairs or None
        95 % intervals; None for a voter that says nothing.
    balanced_accuracy : float
        Mean of ``recall``.
    balanced_accuracy_interval : pair or None
        90 % interval of what was true of such voters of real panels.
    balanced_accuracy_model_interval : pair or None
        95 % interval if the model holds.
    confusion : matrix or None
        Estimated Pr(vote | class), a row for each class; None where all voters together would have too many numbers.
    coverage : float
        Share of the items it voted on.
    vote_shares : list of float
        Share of its votes for each class.
    uniqueness : float
        Share of independent information: 1 if its errors are independent of all others, 1/k for one of k copies.
    uniqueness_interval : pair or None
        95 % interval.
    panel : int or None
        Its place in the panel, from 1.
    copy_of : str or None
        Name of the voter it repeats.
    informative : bool
        Whether it says anything: it uses more than one class, or abstains on some items.
    """

    index: int
    name: str
    group: str | None
    recall: list[float]
    recall_interval: list[Interval | None]
    balanced_accuracy: float
    balanced_accuracy_interval: Interval | None
    balanced_accuracy_model_interval: Interval | None
    confusion: Matrix | None
    coverage: float
    vote_shares: list[float]
    uniqueness: float
    uniqueness_interval: Interval | None
    panel: int | None
    copy_of: str | None
    informative: bool


@dataclass(frozen=True)
class Choice:
    """A panel worth its size.

    Attributes
    ----------
    voters : list of str
        Names, in the order of choice.
    balanced_accuracy : float
        Expected if votes are weighted.
    vote_accuracy : float
        Expected if votes are simply counted.
    effective_votes : float
    """

    voters: list[str]
    balanced_accuracy: float
    vote_accuracy: float
    effective_votes: float


@dataclass(frozen=True)
class PanelPart:
    """The suggested panel.

    Attributes
    ----------
    voters : list of int
        Its voters, in the order of choice.
    names : list of str
        Their names.
    effective_votes : list of float
        Of the first voter, the first two, and so on.
    balanced_accuracy : float
        Expected.
    choices : list of Choice
        Panels worth their size, smallest first.
    """

    voters: list[int]
    names: list[str]
    effective_votes: list[float]
    balanced_accuracy: float
    choices: list[Choice]


@dataclass(frozen=True)
class NearDuplicate:
    """Two voters whose errors are nearly the same.

    Attributes
    ----------
    voters : list of int
        The two.
    names : list of str
        Their names.
    agreement : float
        Share of common items on which they agree.
    correlation : float
        Correlation of their votes within the classes.
    """

    voters: list[int]
    names: list[str]
    agreement: float
    correlation: float


@dataclass(frozen=True)
class SameWrong:
    """Two voters that give the same wrong answer more often than others do.

    Attributes
    ----------
    voters : list of int
        The two.
    names : list of str
        Their names.
    lift : float
        Share of the items on which both are wrong where their answers are the same, less what the popularity of the
        answers among the other voters makes likely.
    standard_error : float
        Its standard error.
    n_items : float
        Number of items on which both are wrong.
    """

    voters: list[int]
    names: list[str]
    lift: float
    standard_error: float
    n_items: float


@dataclass(frozen=True)
class Pattern:
    """A row of votes on which voters disagree; the commonest come first.

    Attributes
    ----------
    votes : list of int
        Code of each voter's vote: the position of the class in ``votes.classes``, -1 for none.
    count : int
        Items with these votes.
    share : float
        Their share.
    vote_counts : list of int
        Number of votes for each class.
    probabilities : list of float
        Probability of each class.
    label : int
        Code of the combined label.
    majority : int
        Code of the majority's label.
    """

    votes: list[int]
    count: int
    share: float
    vote_counts: list[int]
    probabilities: list[float]
    label: int
    majority: int


@dataclass(frozen=True)
class Because:
    """A group, or a voter that is alone, and what it adds on an item.

    Attributes
    ----------
    source : str
        Name of the group or of the voter.
    log_odds : float
        Log-odds it adds.
    """

    source: str
    log_odds: float


@dataclass(frozen=True)
class Item:
    """An item that the model is least sure of, one for each pattern.

    Attributes
    ----------
    item : str
        Its name, or its number from 1.
    row : int
        Its row, from 0.
    alike : int
        Other items with the same votes.
    votes, vote_counts, probabilities, label, majority : list or int
        As those of a pattern.
    compared : list of int
        Codes of the two classes that log-odds compare: of two classes positive and negative, of more the most
        probable class and the next.
    because : list of Because
        Who adds most, both sides shown.
    ask : str or None
        The voter without a vote on the item whose vote would tell most; None if all have voted.
    gain : float
        Bits that one more vote would tell.
    """

    item: str
    row: int
    alike: int
    votes: list[int]
    vote_counts: list[int]
    probabilities: list[float]
    label: int
    majority: int
    compared: list[int]
    because: list[Because]
    ask: str | None
    gain: float


@dataclass(frozen=True)
class RunnerUp:
    """Another number of groups on the residual path.

    Attributes
    ----------
    n_groups : int
    residual : float
    """

    n_groups: int
    residual: float


@dataclass(frozen=True)
class OtherGrouping:
    """Another grouping that explains the votes.

    Attributes
    ----------
    groups : list of int
        Group of each voter.
    margin : float
        How much worse it fits, in prices of one voter in a group.
    labels_changed : float
        Share of the labels it would change.
    """

    groups: list[int]
    margin: float
    labels_changed: float


@dataclass(frozen=True)
class GuardPart:
    """Whether groups that were found explain more than that some items are hard for everybody.

    Attributes
    ----------
    groups : list of int
        Group of each voter that the search found.
    without_groups : float
        Log-likelihood of the votes without groups.
    with_groups : float
        Log-likelihood of the votes with them.
    with_levels : float or None
        Log-likelihood without groups but with easy and hard items; None if such a model could not be fitted.
    kept : bool
        Whether the groups were used.
    """

    groups: list[int]
    without_groups: float
    with_groups: float
    with_levels: float | None
    kept: bool


@dataclass(frozen=True)
class Scored:
    """A way to label the items, scored against the truth.

    Attributes
    ----------
    method : str
        As in ``expected``.
    balanced_accuracy : float or None
        Mean over the classes of the share labelled rightly.
    accuracy : float or None
        Share of all items labelled rightly.
    """

    method: str
    balanced_accuracy: float | None
    accuracy: float | None


@dataclass(frozen=True)
class ScoredVoter:
    """A voter, scored against the truth.

    Attributes
    ----------
    recall : list of float or None
        Share of right votes, by class; None where there is nothing to measure.
    balanced_accuracy : float or None
        Mean over the classes that the truth has.
    """

    recall: list[float | None]
    balanced_accuracy: float | None


@dataclass(frozen=True)
class ItemTable:
    """All items with their votes and labels, packed: bytes are little-endian and in base64.

    Attributes
    ----------
    n_rows : int
        Items in the table.
    sampled : bool
        Whether these are some of the items only, evenly spread over the rows.
    doubt_up_to : float
        Items whose label is at most so probable need a look: the least certain tenth, if below 0.9.
    names : list of str or None
        Names of the items; None if their numbers, from 1, are their names.
    rows : str or None
        Row of each item, from 0, as uint32; None if these are all rows in order.
    patterns : str
        Number of each item's pattern of votes, as uint32: what follows is by pattern.
    n_patterns : int
        Number of patterns.
    bits : int
        Bits of a vote: 2, 4 or 8.
    votes : str
        Votes, each pattern in whole bytes and the first voter in the lowest bits: 0 none, otherwise the code plus 1.
    labels, majority, runner_up : str
        Codes of the combined label, of the majority's, and of the most probable class besides the combined label, as
        uint8.
    probability : str
        Probability of the combined label, as uint16: 65535 is 1.
    truth : str or None
        Code of the true label of each item (not pattern), as int8, -1 if it is not known; None without any.
    """

    n_rows: int
    sampled: bool
    doubt_up_to: float
    names: list[str] | None
    rows: str | None
    patterns: str
    n_patterns: int
    bits: int
    votes: str
    labels: str
    majority: str
    runner_up: str
    probability: str
    truth: str | None


@dataclass(frozen=True)
class ChangePart:
    """One number that changed between two batches of votes.

    Attributes
    ----------
    what : str
        Which number: of a voter, of a pair of voters, or of the classes.
    voters : list of str
        The voter, the pair, or nobody.
    before, after : float
        Estimates in the two batches.
    pvalue : float
        P-value of no change, corrected for the number of tests of its kind.
    """

    what: str
    voters: list[str]
    before: float
    after: float
    pvalue: float


@dataclass(frozen=True)
class Drift:
    """A voter in two batches of votes.

    Attributes
    ----------
    name : str
    before, after : float
        Balanced accuracy in the two batches, each estimated by itself.
    pvalue : float or None
        The smallest corrected p-value of "as often right as before" over the classes.
    drifted : bool
        Whether that is below the level.
    """

    name: str
    before: float
    after: float
    pvalue: float | None
    drifted: bool


@dataclass(frozen=True)
class AuditRow:
    """A number that an audit measured.

    Attributes
    ----------
    what : str
        ``balanced accuracy``, ``accuracy``, ``recall of`` a class or ``share of`` a class.
    value : float or None
        None if no labelled item is of the class.
    interval : pair or None
        95 % interval.
    """

    what: str
    value: float | None
    interval: Interval | None
