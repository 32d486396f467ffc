"""What is wrong with votes, as values that say it to anybody; and warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_PACKAGE = __name__.partition(".")[0]

# What to do, by key. {name} and {name:value} are parameters, spelt as the reader of the message writes them; other
# words in braces are arguments of the hint.
HINTS = {
    "ambiguous-missing": "pass {missing:0} if -1 and 1 are the classes, {missing:-1} if 0 and 1 are, "
    "{classes:[-1, 0, 1]} for three classes, or {kind:'ordinal'} for three grades",
    "scores": "are these scores? {kind:'scores'} takes numbers",
    "few-classes": "votes name one of a few classes; name the column of another question by {label}",
    "if-names": "{kind:'labels'} if they are names)",
    "kind-scores": "{kind:'scores'} takes any numbers; if it means 'no vote', pass it as {missing}",
    "kind-ordinal": "{kind:'ordinal'} takes them for grades",
    "kind-labels": "{kind:'labels'} takes them for names of classes",
    "which-positive": "{positive:{word}} says that it is this one",
    "words-missing": "if one means 'no vote', pass it as {missing}",
    "if-classes": "{kind:'labels'} if they are names of classes",
    "grades-in-words": "{kind:'ordinal'} with {classes:{column}} takes them for grades in this order",
    "words-voter": "if it is a voter, pass {kind:{column}}",
    "mixed-numbers": "if they are votes, pass {kind:{column}}; otherwise name them in {ignore}",
    "one-class-of-three": "of probabilities of several classes take those of one, such as X[:, :, 1], or the class "
    "that each voter finds most probable, X.argmax(axis=2)",
    "text-of-numbers": "pass a frame, a list, or an array of dtype=object",
    "refusal": "{missing:{word}} takes it for no vote, {kind:'labels'} for a class",
    "code-of-nothing": "{missing:{word}} takes it for no vote, {kind:'labels'} for a class, {kind:'scores'} for a "
    "number",
    "counts": "the vote of each voter is needed, in a column of its own",
    "name-label": "name those that are the votes by {label:{first}}",
    "text-of-nothing": "{missing:{word}} takes it for no vote; as a class, list it in {classes}",
    "names-among-labels": "does a column name the items, or hold no votes at all? Leave it out",
    "spelling": "spell them alike, or list the classes in {classes}",
    "one-type": "give all votes as one type",
    "nan-is-missing": "a missing vote is NaN",
    "unlisted": "add it to {classes}, or pass it as {missing} if it means 'no vote'",
    "unseen": "{unknown:'missing'} takes it for no vote",
    "list-classes": "list all classes in {classes}",
    "choose-positive": "leave out {positive}, or name all but two labels as {missing}",
    "not-votes": "if it names the items, pass it as {id_column}; if it is no voter, as {ignore}; if each row is one "
    "vote, name its columns by {item}, {voter} and {label}",
    "ignore-others": "name the columns of the others in {ignore}",
    "drop-columns": "if some columns are no votes, name them in {ignore} or {id_column}",
    "long-or-drop": "if each row is one vote, name its columns by {item}, {voter} and {label}; otherwise name what "
    "is no vote in {ignore}",
    "items-or-voters": "pass {item:{one}} {voter:{other}} {label:{votes}}, or the first two the other way round",
    "one-role": "name another column by {lacking}",
    "lacking-roles": "name the others by {lacking}",
    "name-array": "name it by {label}",
    "name-truth": "if it holds the truth, pass {truth:{column}}",
    "tie": "if a tie is no answer, pass {missing:{column}}",
    "if-no-vote": "if it means 'no vote', pass {missing:{column}}",
    "score-truth": "to score against it, pass {truth:{column}}",
    "own-names": "give every voter its own name",
    "rows-are-items": "rows are items and columns are voters",
    "keep-one": "keep one of them",
    "say-which": "{repeats:'last'} (or first, most) says which counts",
    "list-of-voters": "give each voter a column, or put their names in a list of the same length",
    "plain-values": "votes are plain values",
    "encoding": "save it as UTF-8, or pass its {encoding}, such as latin-1 or utf-16",
    "delimiter": "if another character separates its columns, pass it as {delimiter}",
    "open-quote": "is a quotation mark left open?",
    "known-formats": "goldless formats lists what votes are read from",
    "list-formats": "goldless formats lists them",
    "as-json": "{format:'json'} takes it for JSON of no special kind",
    "name-question": "name one, such as {question:{first}}",
    "name-table": "name one, such as {table:{first}}",
    "name-file": "name one of them, such as {first}",
    "one-voter": "a file of each voter in one folder will do; if each row is one vote, name its columns by {item}, "
    "{voter} and {label}",
    "more-voters": "votes of several voters on the same items are compared: pass a folder with those of the others",
    "more-votes": "several votes on the same item are needed",
    "wrong-guess": "if that is not what they are, name the columns by {item}, {voter} and {label}",
    "more-callers": "pass a folder with the files of other callers on the same sample",
    "every-call": "{every_call:True} takes them for calls",
    "at-least": "{at_least:1} if not",
    "samples-are-callers": "if they are callers of one sample, as bcftools merge writes them, pass "
    "{format:'vcf_samples'}; otherwise pass a folder of the callers' files",
    "isec-all": "run bcftools isec -n +1",
    "use-truth-file": "to score against it, pass its name as {truth}",
    "all-workers": "read the files with annotations of all workers",
    "full-report": "download the full report",
    "golden": "{golden:True} makes anchors of them",
    "as-csv": "save it as CSV",
    "json-object": 'each line is one object, such as {{"judge": "yes"}}',
    "no-pickle": "save votes as numbers or fixed-width strings",
    "one-kind": "keep one kind in a folder",
    "install": "pip install {library}",
    "leave-alone": "votes are gone through several times: copy the file, or wait until it is whole",
    "allow-more": "read it in a stream, or set the environment variable GOLDLESS_MAX_BYTES to a larger number",
    "drawn-only": "only items that an audit drew can measure; labels that were chosen may be used as anchors",
    "read-again": "pass a path, or a callable that returns a new iterator",
}
_PARAMETERS = (
    *("missing", "classes", "positive", "unknown", "id_column", "ignore", "item", "voter", "label", "truth"),
    *("encoding", "delimiter", "format", "every_call", "at_least", "repeats", "golden", "table", "question"),
    *("kind", "positive_from", "lower_is_positive"),
)

_LONGEST_SEEN = 1000  # characters
Spell = Callable[[str, str | None], str]


def in_python(name: str, value: str | None = None) -> str:
    """Spell a parameter, and perhaps its value, as Python does."""
    return f"{name}=..." if value is None else f"{name}={value}"


class VotesError(ValueError):
    """Votes cannot be read or used; the message is one line with what was seen, where, and what to do.

    Parameters
    ----------
    kind : str
        What is wrong, in a word: one that programs may compare with.
    seen : str
        What was seen, and where, in words.
    hint : str, optional
        What to do: a key of ``HINTS``.
    where : mapping, optional
        The place: file, block, row, column, label, as far as they are known.
    **arguments
        What the hint needs to be said; a list of names is one of parameters.

    Examples
    --------
    >>> import goldless as gl
    >>> try:
    ...     gl.encode_votes([["yes", "no", "maybe"]], classes=["no", "yes"])
    ... except gl.VotesError as error:
    ...     print(error.kind)
    unknown-label
    """

    def __init__(
        self, kind: str, seen: str, hint: str | None = None, where: Mapping[str, Any] | None = None, **arguments: Any
    ):
        if len(seen) > _LONGEST_SEEN:  # a name may be of any length
            seen = f"{seen[: _LONGEST_SEEN - 300]} … {seen[-300:]}"
        super().__init__(seen)
        self.kind, self.seen, self.hint = kind, seen, hint
        self.where, self.arguments = dict(where or {}), arguments

    def words(self, spell: Spell = in_python) -> str:
        """Return the message, its parameters spelt in a given way."""
        return _worded(self.seen, self.hint, self.arguments, spell)

    def within(self, outer: str, **where: Any) -> VotesError:
        """Return the error with the name of what it was found in before it."""
        return VotesError(self.kind, f"{outer}: {self.seen}", self.hint, {**where, **self.where}, **self.arguments)

    def __str__(self) -> str:
        return self.words()

    def __reduce__(self) -> Any:
        return _remade, (self.kind, self.seen, self.hint, self.where, self.arguments)


def _remade(kind: str, seen: str, hint: str | None, where: dict, arguments: dict) -> VotesError:
    return VotesError(kind, seen, hint, where, **arguments)


@dataclass(frozen=True)
class Note:
    """Something that was read in one way and may have been meant in another."""

    # seen, hint, arguments: as of a `VotesError`
    seen: str
    hint: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def words(self, spell: Spell = in_python) -> str:
        """Return the sentence, its parameters spelt in a given way."""
        said = _worded(self.seen, self.hint, self.arguments, spell)
        return said if said.endswith("?") else f"{said}."

    def __str__(self) -> str:
        return self.words()


def _worded(seen: str, hint: str | None, arguments: Mapping[str, Any], spell: Spell) -> str:
    """Return what was seen, and what to do."""
    if hint is None:
        return seen
    named: dict[str, Any] = {name: _Parameter(name, spell) for name in _PARAMETERS}
    for name, value in arguments.items():
        named[name] = " and ".join(spell(part, None) for part in value) if isinstance(value, list) else value
    return f"{seen}; {HINTS[hint].format_map(named)}"


class _Parameter:
    """A parameter in a hint: formatted, it is spelt as the reader writes it."""

    def __init__(self, name: str, spell: Spell):
        self._name, self._spell = name, spell

    def __format__(self, value: str) -> str:
        return self._spell(self._name, value or None)


class VotesWarning(UserWarning):
    """Something about the votes deserves a look, and the message says what was done about it.

    Examples
    --------
    >>> import warnings
    >>> import goldless as gl
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gl.VotesWarning)
    ...     model = gl.LatentSML().fit([["a", "b"], ["b", "b"], ["a", "a"]])
    >>> model.n_features_in_
    2
    """


def warn_user(message: str, category: type[Warning] = VotesWarning) -> None:
    """Warn about the first line on the stack that is not of this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def warnings_said() -> Iterator[list[str]]:
    """Yield a list that holds the warnings of the block, as sentences, when it ends."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said.extend(str(warning.message) for warning in caught)


def renamed(old: str, new: str) -> Any:
    """Return a property under the name an attribute had in an earlier version, which says its name of today."""

    def value(self: Any) -> Any:
        warn_user(f"{old} is now {new}; the old name goes in the next version.", FutureWarning)
        return getattr(self, new)

    return property(value, doc=f"The name of ``{new}`` in earlier versions.")


class LabelsAtRiskWarning(VotesWarning):
    """Labels of votes like these went badly wrong more often than others, and the message says what to do first.

    Examples
    --------
    >>> import goldless as gl
    >>> issubclass(gl.LabelsAtRiskWarning, gl.VotesWarning)
    True
    """


class AmbiguousGroupingWarning(VotesWarning):
    """Two groupings explain the votes almost equally well, and the message says what would decide.

    Examples
    --------
    >>> import goldless as gl
    >>> issubclass(gl.AmbiguousGroupingWarning, gl.VotesWarning)
    True
    """
