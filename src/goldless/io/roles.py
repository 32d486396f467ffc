"""What the columns of a table are: votes, names of items, truth, or none of these; a wide table or a long one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import Note, VotesError
from goldless.io.readers.base import ReaderOptions, Roles
from goldless.io.readers.columns import Column, Columns
from goldless.plain import is_number
from goldless.votes.alphabet import MAX_CLASSES, LabelRules, are_probabilities, as_classes, listed
from goldless.votes.kinds import JUDGED_ITEMS, NumberRules, judge_grades, judge_labels, refuse_code_of_nothing
from goldless.votes.long import REPEATS
from goldless.votes.words import (
    are_ordered_words,
    are_usual,
    are_words,
    folded,
    with_ordered_words,
    with_words,
)
from goldless.words import nearest

_ITEM_NAMES = (
    *("item", "item_id", "itemid", "task", "task_id", "taskid", "example", "example_id", "question", "question_id"),
    *("sample", "sample_id", "instance", "instance_id", "unit", "unit_id", "document", "doc", "doc_id", "variant"),
    *("site", "row", "row_id", "trace_id", "traceid", "span_id", "pair_id", "prompt_id", "image", "image_id"),
    *("case", "record", "message", "tweet", "review", "patient", "query", "conversation", "uid", "uuid", "url"),
    *("id", "index", "unnamed:_0", "__index_level_0__", "", "text", "prompt", "sentence", "comment", "instruction"),
)

VOTER_NAMES = (
    *("voter", "worker", "workerid", "annotator", "judge", "rater", "caller", "coder", "reader", "labeler"),
    *("labeller", "grader", "evaluator", "performer", "reviewer", "assessor", "participant", "respondent"),
    *("expert", "physician", "radiologist", "observer", "contributor", "student", "source", "classifier", "user"),
    *("llm", "judge_model", "model"),
)

LABEL_NAMES = (
    *("label", "vote", "answer", "response", "verdict", "rating", "class", "annotation", "annotations", "judgement"),
    *("judgment", "call", "grade", "prediction", "pred", "decision", "choice", "category", "diagnosis", "outcome"),
    *("winner", "preferred", "preference", "selection", "sentiment", "code", "tag", "target", "value", "score"),
)
_ENDINGS = ("_id", "_name", "s")  # of names of voters and labels

TRUTH_NAMES = {
    *("truth", "gold", "golden", "label", "labels", "target", "expected", "y_true", "true_label", "gold_label"),
    *("ground_truth", "groundtruth", "gold_standard", "answer_key", "is_correct_gold", "golden_label", "gold_answer"),
    *("correct_answer", "correct_label", "true_class", "reference", "actual", "gt", "correct"),
}
SURELY_TRUTH = {"truth", "gold", "y_true", "true_label", "gold_label", "ground_truth", "groundtruth", "gold_standard"}
_MADE_OF_VOTES = {
    *("consensus", "consensus_label", "majority", "majority_vote", "majority_label", "final", "final_label"),
    *("agg_label", "final_answer", "adjudicated", "adjudicated_label", "aggregated", "aggregated_label"),
    *("goldless", "n_votes", "goldless_label", "goldless_p", "goldless_probability", "agreement", "votes"),
    *("num_votes", "n_annotators", "mean", "average", "avg", "median", "std", "stdev", "variance"),
}
_OF_ALL_VOTERS = ("final_", "consensus_", "majority_", "aggregated_", "adjudicated_", "mean_", "average_", "avg_")
_NOTED_BESIDE = {  # words in names of columns of numbers that stand beside votes
    *("cost", "price", "usd", "latency", "time", "seconds", "duration", "ms", "tokens", "length", "confidence"),
    *("conf", "certainty", "sureness", "trust", "weight", "temperature", "prob", "proba", "probability", "score"),
    *("perplexity"),
}
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_RARE_WORDS = 0.25  # of the votes: more are no refusals
_FEW_WORDS = 2  # words among numbers, which may mean that a voter said nothing
_ENOUGH_VOTERS = 2  # so many columns must be left before one is taken for no voter at all
_FEW_LABELS = 10  # that many there may be on however few items
_OWN_VALUES = 3  # a column of so many values that no other has is no voter
_FEWEST_COUNTED = 20  # rows that show that columns are counts
_MOST_WORDS = 1000  # distinct values of a column that are compared with those of others


@dataclass(frozen=True)
class ReadOptions(ReaderOptions):
    """What a user may say about votes; see :func:`goldless.read_votes`."""

    rules: LabelRules = field(default_factory=LabelRules)
    id_column: str | None = None
    ignore: frozenset[str] = frozenset()
    format: str | None = None
    repeats: str = "refuse"

    def __post_init__(self) -> None:
        if self.pairs not in ("agree", "games"):
            raise ValueError(f"pairs must be 'agree' or 'games', got {self.pairs!r}")
        if self.repeats not in REPEATS:
            raise ValueError(f"repeats must be one of {REPEATS}, got {self.repeats!r}")

    @property
    def names_columns(self) -> bool:
        """Whether the user said which columns are which."""
        return any((self.item, self.voter, self.label, self.id_column))


def rules_said(
    kind: Any, lower_is_positive: Any, positive_from: float | None, classes: Any, missing: Any, positive: Any
) -> LabelRules:
    """Return what a user says about the labels or numbers of a source; ``missing`` is one label or several."""
    numbers = NumberRules.of(kind, lower_is_positive, positive_from)
    listed = None if classes is None else as_classes(list(classes))
    missing = (missing,) if isinstance(missing, str | int | float) else tuple(missing)
    return LabelRules(listed, missing, positive, numbers=numbers)


def check_names(names: Collection[str], options: ReadOptions, name: str) -> None:
    """Refuse names of columns that are not there, and a column that is to be two things."""
    roles = {"item": "item", "voter": "voter", "label": "label", "truth": "truth", "id_column": "id"}
    given = [role for role in roles if getattr(options, role) is not None]
    for role, other in combinations(given, 2):
        if getattr(options, role) == getattr(options, other):
            column = getattr(options, role)
            raise VotesError(
                "two-roles",
                f"column {column!r} of {name} cannot be two things",
                "one-role",
                {"file": name, "column": column},
                lacking=[role, other],
            )
    for role in given:
        _check_name(getattr(options, role), f"{roles[role]} column", names, name)
    check_ignored(names, options, name)


def check_ignored(names: Collection[str], options: ReadOptions, name: str) -> None:
    """Refuse names of columns to leave out that are not there."""
    for ignored in sorted(options.ignore):
        _check_name(ignored, "column to ignore", names, name)


def _check_name(wanted: str, role: str, names: Collection[str], name: str) -> None:
    if wanted in names:
        return
    there = ", ".join(repr(column) for column in list(names)[:8]) + (", ..." if len(names) > 8 else "")
    raise VotesError(
        "unknown-column",
        f"the {role} {wanted!r} is not in {name}" + (nearest(wanted, names) or f"; its columns are {there}"),
        where={"file": name, "column": wanted},
    )


def long_roles(names: Sequence[str], options: ReadOptions) -> Roles | None:
    """Return the columns of a long table by what the user says and by usual names, or None for a wide table.

    The last part of a name with dots will do, as of ``judge.model``.
    """
    asked = (options.item, options.voter, options.label)
    if options.id_column is not None and not any(asked):
        return None
    usable = [title for title in reversed(names) if title not in (options.truth, *options.ignore)]
    last = {plain_title(title.rpartition(".")[2]): title for title in usable}
    plain = {name.removesuffix(end): title for end in _ENDINGS for name, title in last.items()}
    plain |= last
    plain |= {plain_title(title): title for title in usable}
    found: list[str | None] = []
    for given, known in zip(asked, (_ITEM_NAMES, VOTER_NAMES, LABEL_NAMES), strict=True):
        taken = {*asked, *found}
        found.append(
            given or next((plain[word] for word in known if word in plain and plain[word] not in taken), None)
        )
    item, voter, label = found
    if item is not None and voter is not None and label is not None:
        return Roles(item, voter, label)
    if any(asked):
        lacking = [role for role, column in zip(("item", "voter", "label"), found, strict=True) if column is None]
        raise VotesError("lacking-column", "a long table needs three columns", "lacking-roles", lacking=lacking)
    return None


def label_title(titles: Sequence[str]) -> str | None:
    """Return the title that is most usual for votes, if one is."""
    plain = {plain_title(title): title for title in reversed(titles)}
    return next((plain[word] for word in LABEL_NAMES if word in plain), None)


ROW_NUMBERS = ("", "unnamed:_0", "__index_level_0__", "level_0")  # as pandas calls the index of a frame it saves


def names_items(titles: Sequence[str]) -> bool:
    """Whether a column has a usual name for items."""
    return any(plain in _ITEM_NAMES and plain not in ROW_NUMBERS for plain in map(plain_title, titles))


def plain_title(title: str) -> str:
    """Return a title without its spelling."""
    return title.strip().lower().replace(" ", "_").replace("-", "_")


@dataclass(frozen=True, eq=False)
class WideRoles:
    """What the columns of a wide table are."""

    items: Column | None  # the column that names the items
    voters: list[Column]  # the columns of votes
    notes: tuple[Note, ...] = ()  # which columns were left out
    scores: bool = False  # whether the votes are numbers and no labels
    gold: Column | None = None  # known labels of some items
    rules: LabelRules | None = None  # where words stand beside numbers, rules that know the words


def wide_roles(table: Columns, options: ReadOptions, name: str) -> WideRoles:
    """Tell the columns of votes from names of items, from the truth and from what is none of these."""
    by_name = {column.name: column for column in table.columns}
    rest = [column for column in table.columns if column.name != options.truth and column.name not in options.ignore]
    items = by_name[options.id_column] if options.id_column is not None else _id_column(rest, table.named)
    voters = [column for column in rest if column is not items]
    voters = [c for c in voters if c.values or not (table.named and plain_title(c.name).startswith("unnamed:"))]
    if not voters:
        raise no_votes_left(name)
    notes = _repeated_names(items)
    truths = [column for column in voters if _is_truth(column.name)] if table.named else []
    if len(truths) < len(voters) and options.truth is None:
        notes += [truth_note(column.name) for column in truths]
        voters = [column for column in voters if column not in truths]
    gold = next((column for column in truths if column not in voters and (column.positions < 0).any()), None)
    made = _made_of_votes(voters, table.named)
    rules = with_words_of_columns([column for column in voters if column not in made], options.rules, table.named)
    worded = None if rules is options.rules else rules
    options = replace(options, rules=rules)
    left, said = _no_votes(voters, options, table.named)
    voters = [column for column in voters if column not in left]
    people = [column for column in left if _names_voters(column.name)]
    if people and table.named and _repeated_names(items) and len(voters) > 1:
        of_votes = ", ".join(repr(short(column.name)) for column in voters[:6])
        raise VotesError(
            "several-questions",
            f"column {short(people[0].name)!r} of {name} names voters, and several columns may hold their votes: "
            f"{of_votes}",
            "name-label",
            {"file": name, "column": people[0].name},
            first=repr(voters[0].name),
        )
    if left and (not table.named or _hardly_share(voters)):  # what is no vote has a name, where votes have none
        raise _stranger(left[0], name)
    _refuse_counts(voters, options, name)
    scores = are_numbers(voters, options.rules)
    if not scores:
        _refuse_what_is_no_vote(voters, options, name)
    return WideRoles(items, voters, (*notes, *said), scores, gold, worded)


def _refuse_counts(voters: Sequence[Column], options: ReadOptions, name: str) -> None:
    """Refuse columns of whole numbers that sum to the same in every row: they count votes, or mark one class each."""
    if options.rules.numbers.are_stated or options.rules.classes is not None or len(voters) < 2:
        return
    counted = [c for c in voters if len(c.values) > 1 and is_numeric(c) and not _has_fractions(c)]
    if len(counted) < 2 or len(counted) < len(voters) - 1 or len(counted[0].positions) < _FEWEST_COUNTED:
        return
    rows = np.column_stack([column_of_numbers(column, options.rules) for column in counted])
    sums = rows.sum(axis=1)
    if rows.min() >= 0 and (sums == sums[0]).all() and sums[0] >= 1:
        names = ", ".join(repr(short(column.name)) for column in counted[:4])
        raise VotesError(
            "counts",
            f"columns {names} of {name} sum to {sums[0]:g} in every row: they count votes for each class",
            "counts",
            {"file": name, "column": counted[0].name},
        )


def truth_note(title: str) -> Note:
    """Say that a column was left out because it is the truth."""
    seen = f"Column {title!r} was left out, for its name says that it is the truth"
    return Note(seen, "score-truth", {"column": repr(title)})


def with_words_of_columns(columns: Sequence[Column], rules: LabelRules, named: bool) -> LabelRules:
    """Return rules that know the words of some columns, where others hold numbers; the same rules if that is not so.

    Words that everybody uses for a verdict, or of which the user says which is positive, are votes beside numbers
    that are no labels themselves; other words only if the user says that they are labels.
    """
    numbers = rules.numbers
    numbers.check_voters([column.name for column in columns])
    if are_ordered_words(rules):
        return with_ordered_words([column.name for column in columns], rules)
    if numbers.are_labels or (isinstance(numbers.kind, str) and numbers.kind != "auto"):
        return rules
    said = dict(numbers.kind) if isinstance(numbers.kind, Mapping) else {}
    draft = rules.alphabet_draft(text=True)
    voted = {c.name: [value for value in c.values if not draft.means_missing(value)] for c in columns}
    texts = [c for c in columns if are_words(voted[c.name])]
    numeric = [c for c in columns if is_numeric(c) or (voted[c.name] and all(map(is_number, voted[c.name])))]
    words = [c for c in texts if said.get(c.name, "auto") == "labels"]
    if numeric and set(said.values()) - {"auto", "labels"}:  # some are said to be numbers
        words += [c for c in texts if c not in words and c.name not in said and are_usual(voted[c.name], rules)]
    elif not words and len(numeric) >= _ENOUGH_VOTERS and not (named and _noted_beside([*numeric, *texts])):
        usual = [c for c in texts if len(set(map(folded, voted[c.name]))) > 1 and are_usual(voted[c.name], rules)]
        words = usual if usual and _on_scales(numeric) else []
    if not words or not numeric:
        return rules
    return with_words({c.name: voted[c.name] for c in words}, rules)


def _on_scales(columns: Sequence[Column]) -> bool:
    """Whether numbers lie within 0 and 1, or else share a scale with the others that do not."""
    others = [column for column in columns if not all(0 <= float(value) <= 1 for value in column.values)]
    return not others or _share_a_scale(others)


def _repeated_names(items: Column | None) -> list[Note]:
    """Say that rows have the same name."""
    repeated = 0 if items is None else int((items.positions >= 0).sum()) - len(items.values)
    if items is None or not repeated:
        return []
    rows = "1 row repeats" if repeated == 1 else f"{repeated:,} rows repeat"
    return [Note(f"{rows} a name in column {short(items.name)!r}; each row was read as an item of its own")]


def _no_votes(columns: list[Column], options: ReadOptions, named: bool) -> tuple[list[Column], list[Note]]:
    """Return the columns that are neither votes nor the truth, and words on them."""
    notes = []
    made = _made_of_votes(columns, named)
    if made:
        notes.append(_left_out(made, "their names say that they were made of the votes"))
    if options.rules.classes is not None:
        return made, notes
    words = options.rules.numbers.word_voters
    rest = [column for column in columns if column not in made and column.name not in words]
    if words:
        said = _said_of(options.rules)
        left = [c for c in rest if c.name not in said and are_words(c.values)]
        left += [column for column in rest if column not in left and _are_times(column)]
        if left:
            notes.append(_left_out(left, "they share no label with the others"))
        return [*made, *left], notes
    all_scores = options.rules.numbers.are_numbers or (all(map(is_numeric, rest)) and _are_fractions(rest))
    times = [column for column in rest if _are_times(column)]
    others = [column for column in rest if column not in times]
    times = times if len(others) >= _ENOUGH_VOTERS else []
    strange = [] if all_scores else [*times, *_metadata([column for column in rest if column not in times])]
    beside = _noted_beside([column for column in rest if column not in strange]) if named else []
    left = [column for column in rest if column in strange or column in beside]
    if left:
        kept = [column for column in rest if column not in left]
        _refuse_probabilities_beside([column for column in strange if column not in times], kept, named)
        reasons = ["share no label with the others"] * bool(strange) + ["are noted beside votes"] * bool(beside)
        of_words = next(
            (c for c in strange if c not in times and len(words_of(c)) == 2 and are_words(c.values)), None
        )
        note = _left_out(left, f"they {' or '.join(reasons)}")
        if of_words is not None and all(map(is_numeric, kept)):
            kind = {"column": repr({of_words.name: "labels"})}
            note = Note(note.seen, "words-voter", kind)
        notes.append(note)
    return [*made, *left], notes


def _refuse_probabilities_beside(left: Sequence[Column], kept: Sequence[Column], named: bool) -> None:
    """Ask of several columns of numbers from 0 to 1 beside other numbers: they may be votes, too."""
    found = [c for c in left if is_numeric(c) and are_probabilities(c.values) and _has_fractions(c)]
    if len(found) < 2 or not all(map(is_numeric, kept)):
        return
    if named and {word for c in found for word in re.split(r"[^a-z0-9]+", plain_title(c.name))} & _NOTED_BESIDE:
        return
    kinds = {column.name: "probabilities" for column in found}
    names = ", ".join(repr(short(column.name)) for column in found[:4])
    raise VotesError(
        "mixed-numbers",
        f"columns {names} hold numbers from 0 to 1, and the others hold other numbers",
        "mixed-numbers",
        {"column": found[0].name},
        column=repr(kinds),
    )


def _made_of_votes(columns: Sequence[Column], named: bool) -> list[Column]:
    """Return the columns whose names say that they were made of votes, if others are left."""
    made = [column for column in columns if named and _is_made_of_votes(plain_title(column.name))]
    return made if len(columns) - len(made) >= _ENOUGH_VOTERS else []


def _is_made_of_votes(title: str) -> bool:
    """Whether a title is that of a column made of votes, such as `final_decision`; `mean_teacher` is a voter."""
    rest = next((title.removeprefix(start) for start in _OF_ALL_VOTERS if title.startswith(start)), "")
    return title in _MADE_OF_VOTES or rest.removesuffix("s") in LABEL_NAMES


def _said_of(rules: LabelRules) -> Collection:
    """Return the voters of which the user says what they are."""
    return rules.numbers.kind if isinstance(rules.numbers.kind, Mapping) else ()


def _names_voters(title: str) -> bool:
    """Whether a column has a usual name for voters."""
    plain = plain_title(title)
    return plain in VOTER_NAMES or any(plain.removesuffix(end) in VOTER_NAMES for end in _ENDINGS)


def _are_times(column: Column) -> bool:
    """Whether a column holds moments, which are no votes."""
    return bool(column.values) and all(isinstance(v, str) and _TIME.match(v) for v in column.values[:_MOST_WORDS])


def _left_out(columns: Sequence[Column], why: str) -> Note:
    """Say which columns are no votes, and why."""
    names = ", ".join(repr(short(column.name)) for column in columns[:8])
    more = f" and {len(columns) - 8} more" if len(columns) > 8 else ""
    return Note(f"Left out, for {why}: {'columns' if len(columns) > 1 else 'column'} {names}{more}")


def _noted_beside(columns: Sequence[Column]) -> list[Column]:
    """Return the columns of numbers that by their names stand beside votes: how sure a voter is, what it costs.

    Such as ``cost``, or ``ann_score`` beside ``ann``; if two columns or more are votes without a fraction.
    """
    names = [plain_title(column.name) for column in columns]

    def is_beside(column: Column) -> bool:
        plain = plain_title(column.name)
        words = set(re.split(r"[^a-z0-9]+", plain))
        return bool(words & _NOTED_BESIDE) or any(plain.startswith((f"{o}_", f"{o}.", f"{o}:")) for o in names if o)

    found = [column for column in columns if is_numeric(column) and is_beside(column)]
    rest = [column for column in columns if column not in found]
    if len(rest) < _ENOUGH_VOTERS or any(is_numeric(column) and _has_fractions(column) for column in rest):
        return []
    own = set().union(*map(words_of, rest))
    return [column for column in found if not words_of(column) <= own]


def _has_fractions(column: Column) -> bool:
    return any(float(value) % 1 for value in column.values)


def no_votes_left(name: str) -> VotesError:
    """Return the error of a table whose columns are all something else than votes."""
    return VotesError("no-columns", f"{name} has no column of votes left", where={"file": name})


def _is_truth(title: str) -> bool:
    """Whether the name of a column says that it holds true labels."""
    plain = plain_title(title)
    return plain in TRUTH_NAMES or plain.endswith(("_gold", "_truth")) or plain.startswith(("gold_", "truth_"))


def _refuse_what_is_no_vote(voters: list[Column], options: ReadOptions, name: str) -> None:
    for column in voters:
        if len(column.values) > MAX_CLASSES:
            scores = are_probabilities(column.values)
            raise VotesError(
                "scores" if scores else "too-many-labels",
                f"column {short(column.name)!r} of {name} holds {len(column.values):,} different "
                f"{'numbers from 0 to 1' if scores else 'values'}, such as {listed(column.values[:2])}",
                "scores" if scores else "not-votes",
                {"file": name, "column": column.name},
            )
    words = {word for column in voters for word in words_of(column)}
    many = options.rules.classes is None and len(words) > _OWN_VALUES
    if many and (stranger := _worst_stranger(voters)) is not None:
        raise _stranger(stranger, name)
    n_items = len(voters[0].positions)
    if many and len(words) > max(n_items, _FEW_LABELS):
        seen = f"{name} holds {len(words):,} different values in {n_items:,} rows, which are too many for labels"
        raise VotesError("too-many-labels", seen, "long-or-drop", {"file": name})
    questions = _questions(voters) if many else []
    if len(questions) > 1:
        of_each = ", ".join(f"{short(columns[0].name)!r} and {short(columns[1].name)!r}" for columns in questions[:3])
        raise VotesError(
            "several-questions",
            f"columns of {name} answer {len(questions)} questions, for they have no label in common: {of_each}"
            + (", ..." if len(questions) > 3 else ""),
            "ignore-others",
            {"file": name},
        )


def _hardly_share(columns: Sequence[Column]) -> bool:
    """Whether two columns are left, and most of their labels are those of one alone."""
    words = [words_of(column) for column in columns if column.values]
    return len(words) == 2 and 2 * len(words[0] & words[1]) < len(words[0] | words[1])


def _stranger(column: Column, name: str) -> VotesError:
    """Return the error of a column that holds no votes on the question of the others."""
    return VotesError(
        "no-common-label",
        f"column {short(column.name)!r} of {name} shares no label with the others, so they are not votes on "
        "one question",
        "long-or-drop",
        {"file": name, "column": column.name},
    )


def _questions(columns: Sequence[Column]) -> list[list[Column]]:
    """Return columns of text by the question they answer: those of one share labels, directly or through others.

    Voters that know one class each, as rules do, answer no question of their own.
    """
    found: list[tuple[set[str], list[Column]]] = []
    for column in columns:
        own = {str(value).casefold() for value in column.values if isinstance(value, str)}
        if len(own) < 2:
            continue
        alike = [part for part in found if not own.isdisjoint(part[0])]
        found = [part for part in found if own.isdisjoint(part[0])]
        found.append((own.union(*(w for w, _ in alike)), [*(c for _, of_part in alike for c in of_part), column]))
    return [of_question for _, of_question in found if len(of_question) > 1]


def words_of(column: Column) -> set:
    """Return the values of a column without their spelling: numbers as numbers, text in small letters."""
    return {_word(value) for value in column.values[:_MOST_WORDS]}


def _word(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value).casefold()


def _metadata(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that are no votes, if the others are: those that share no label with any of them.

    A voter may know one class of its own, as rules do that fire on it or not at all: so a column of one or two values
    is taken for a voter if it has gaps.
    """
    numeric = [column for column in columns if is_numeric(column)]
    if len(numeric) == len(columns):
        left = _other_numbers(columns) or _strangers(columns)
        # three scores on one scale, and more than there are labels: voters of both kinds
        mixed = len(left) > max(len(columns) - len(left), 2) and _share_a_scale(left)
        return [] if mixed else left
    texts = [column for column in columns if column not in numeric]
    words = [words_of(column) for column in texts if len(column.values) <= MAX_CLASSES]
    sharing = sum(any(own & other for other in words if other is not own) for own in words)
    if numeric and sharing >= max(len(numeric), 2) and not any(o & words_of(c) for o in words for c in numeric):
        left = [*numeric, *_strangers(texts)]  # labels, with numbers beside them such as how sure a voter is
        return [column for column in columns if column in left]
    return _strangers(columns)


def _other_numbers(columns: Sequence[Column]) -> list[Column]:
    """Return the columns of numbers that have more values of their own than all others have together.

    Numbers from 0 to 1 may be probabilities beside votes of 0 and 1, so they are not judged.
    """
    rest = sorted(columns, key=lambda column: len(column.values))
    while len(rest) > _ENOUGH_VOTERS:
        others = set().union(*map(words_of, rest[:-1]))
        if len(words_of(rest[-1]) - others) <= max(len(others), 2) or are_probabilities(rest[-1].values):
            break
        rest.pop()
    words = list(map(words_of, rest))
    shared = any(one & other for number, one in enumerate(words) for other in words[:number])
    return [column for column in columns if column not in rest] if shared else []


def _strangers(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that share no label with any other, if others do."""
    words = [words_of(column) for column in columns]
    numeric = [column for column in columns if is_numeric(column)]
    few = [number for number, column in enumerate(columns) if len(column.values) <= MAX_CLASSES]
    apart = {
        number
        for number, column in enumerate(columns)
        if number not in few
        or (
            column.values
            and all(words[number].isdisjoint(words[other]) for other in few if other != number)
            and (len(words[number]) >= _OWN_VALUES or bool((column.positions >= 0).all()))  # it is no rule
        )
    }
    kept = [number for number in range(len(columns)) if number not in apart]
    if not apart:
        return []
    if len(kept) >= _ENOUGH_VOTERS and any(words[i] & words[j] for i in kept for j in kept if i < j):
        return [columns[number] for number in sorted(apart)]
    scores = [column for column in numeric if len(column.values) > 2]
    if len(scores) >= _ENOUGH_VOTERS and _share_a_scale(scores):  # numbers beside texts
        return [column for column in columns if not is_numeric(column)]
    return []


def _share_a_scale(columns: Sequence[Column]) -> bool:
    """Whether columns lie in ranges that overlap, as scores of one thing do; words among the numbers do not count."""
    numbers = [[float(value) for value in column.values if is_number(value)] for column in columns]
    return all(numbers) and max(map(min, numbers)) <= min(map(max, numbers))


def _are_fractions(columns: Sequence[Column]) -> bool:
    """Whether columns of numbers are measured and no labels: each has several with a fraction, on one scale."""
    fractions = [sum(float(value) != np.floor(float(value)) for value in column.values) for column in columns]
    return len(columns) >= _ENOUGH_VOTERS and min(fractions) > 2 and _share_a_scale(columns)


def is_numeric(column: Column) -> bool:
    """Whether a column holds numbers only."""
    try:
        return bool(column.values) and all(float(value) == float(value) for value in column.values)
    except (TypeError, ValueError):
        return False


def are_numbers(
    columns: Sequence[Column], rules: LabelRules, answers: Callable[[], NDArray[np.float64]] | None = None
) -> bool:
    """Whether columns hold numbers and no labels: as the user says, or as they look.

    ``answers`` returns the numbers of every voter in a column, if the columns are not those of voters.
    """
    said = rules.numbers
    filled = [column for column in columns if column.values]
    if said.are_labels or (rules.classes is not None and not said.are_numbers) or not filled:
        return False
    if said.are_numbers:
        return True
    draft = rules.alphabet_draft(text=True)
    voted = [[value for value in column.values if not draft.means_missing(value)] for column in filled]
    words = {value for values in voted for value in values if not is_number(value)}
    if words:
        if len(words) <= _FEW_WORDS and answers is None:
            _refuse_words_among_numbers(filled, rules, sorted(words, key=str))
        return False
    endless = next((c for c, v in zip(filled, voted, strict=True) if any(math.isinf(float(x)) for x in v)), None)
    if endless is not None:
        raise VotesError(
            "infinite",
            f"column {short(endless.name)!r} holds infinity, which is no vote",
            "nan-is-missing",
            {"column": endless.name},
        )
    values = {float(value) for of_column in voted for value in of_column}
    if len(values) > 2:
        refuse_code_of_nothing(values, are_labels=all(value.is_integer() for value in values))
    if len(values) > MAX_CLASSES:
        return answers is not None or (len(filled) >= _ENOUGH_VOTERS and _share_a_scale(filled))
    whole = [int(value) if value.is_integer() else value for value in values]
    judged = judge_labels(whole, codes_of_classes=True)
    if judged != "grades":
        return judged != "labels"
    table = np.column_stack([column_of_numbers(column, rules) for column in filled]) if answers is None else answers()
    return judge_grades(table[:JUDGED_ITEMS], values) != "labels"


def _refuse_words_among_numbers(columns: Sequence[Column], rules: LabelRules, words: list) -> None:
    """Refuse a word or two among what would otherwise be numbers: they may be refusals, or classes."""
    cast = sum(int((column.positions >= 0).sum()) for column in columns)
    said = sum(
        int((column.positions == number).sum())
        for column in columns
        for number, value in enumerate(column.values)
        if value in words
    )
    if said < _RARE_WORDS * cast and are_numbers(columns, replace(rules, missing=(*rules.missing, *words))):
        column = next(column for column in columns if words[0] in column.values)
        raise VotesError(
            "words-among-numbers",
            f"{short(words[0])!r} in column {short(column.name)!r} stands among numbers",
            "refusal",
            {"column": column.name, "label": words[0]},
            word=repr(short(words[0])),
        )


def column_of_numbers(
    column: Column, rules: LabelRules, words: Mapping[str, int] | None = None
) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where a vote is missing; ``words`` of a column of several voters."""
    draft = rules.alphabet_draft(text=True)
    if words is None:
        words = rules.numbers.words if column.name in rules.numbers.word_voters else {}
    try:
        values = [
            np.nan
            if draft.means_missing(value)
            else words[folded(value)]
            if words and isinstance(value, str) and folded(value) in words
            else float(value)
            for value in column.values
        ]
    except (TypeError, ValueError):
        strange = next(
            value
            for value in column.values
            if not is_number(value) and not draft.means_missing(value) and folded(str(value)) not in words
        )
        if words:
            raise VotesError(
                "unknown-label",
                f"{short(str(strange))!r} in column {short(column.name)!r} is not one of the words of this voter, "
                f"{listed(rules.numbers.word_classes or ('yes', 'no'))}",
                "words-missing",
                {"column": column.name, "label": strange},
            ) from None
        raise VotesError(
            "no-number",
            f"{short(str(strange))!r} in column {short(column.name)!r} is no number, and the votes are to be numbers",
            "kind-labels",
            {"column": column.name, "label": strange},
        ) from None
    return np.array([*values, np.nan])[column.positions]


def _worst_stranger(columns: Sequence[Column]) -> Column | None:
    """Return a column of several values that no other column has, if that is odd.

    Voters may each know one class, as rules do that fire on it or not at all. A column of three words of its own is
    no such voter, nor one of two where no two columns share a word.
    """
    words = [{str(value).casefold() for value in column.values if isinstance(value, str)} for column in columns]
    apart = [
        number
        for number, own in enumerate(words)
        if own and own.isdisjoint(set().union(*words[:number], *words[number + 1 :]))
    ]
    others = [number for number in range(len(columns)) if columns[number].values]
    least = 2 if apart == others else _OWN_VALUES
    found = max(apart, key=lambda number: len(words[number]), default=None)
    if found is None or len(others) < 2 or len(words[found]) < least:
        return None
    return columns[found]


def _id_column(columns: Sequence[Column], named: bool) -> Column | None:
    """Return the column that names items: by its name, or the first by holding many values that no other holds."""
    if len(columns) < 2:
        return None
    first, others = columns[0], columns[1:]
    if named and plain_title(first.name) in _ITEM_NAMES:
        if len(first.values) > 2:
            return first
        own = len(first.values) == len(first.positions)  # two rows
        if own and not any(words_of(first) & words_of(column) for column in others):
            return first
    # numbers with fractions are scores, and name no items
    if len(first.values) > 3 and not (is_numeric(first) and _has_fractions(first)):
        if len(first.values) == len(first.positions):
            return first
        votes = {value for column in others if len(column.values) <= MAX_CLASSES for value in column.values}
        if votes and not votes.intersection(first.values):
            return first
    if named:  # anywhere else a name must say it, and every row have its own
        for column in others:
            if plain_title(column.name) in _ITEM_NAMES and len(column.values) == len(column.positions) > 2:
                return column
    return None


def short(value: Any, length: int = 40) -> str:
    """Return a value for a message, cut if it is long."""
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"
