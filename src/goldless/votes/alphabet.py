"""What votes may say: which labels are the classes, which mean that there is no vote, and their codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.errors import VotesError
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.plain import is_number, plain
from goldless.votes.kinds import NOTHING_SAID, NumberRules, refuse_code_of_nothing

MISSING = -1
UNKNOWN = -2  # a label that is neither a class nor missing; never leaves the rooms that read votes
MAX_CLASSES = 100
MISSING_TOKENS = frozenset(
    {
        *("", "NA", "N/A", "n/a", "N.A.", "n.a.", "NaN", "nan", "NULL", "null", "None", "<NA>", ".", "?"),
        *("#N/A", "#NAME?", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NULL!", "abstain", "Abstain", "ABSTAIN"),
    }
)
_TEXT_OF_NOTHING = frozenset({"NaN", "nan", "<NA>", "NA", "N/A", "n/a", "NaT", "None", "NULL", "null"})
DASHES = frozenset({"-", "--", "\u2013", "\u2014"})  # no vote, unless :func:`dash_is_label`
MAYBE_MISSING = frozenset(  # words that may be a class, and may mean that there is no vote
    {
        *("missing", "unknown", "unsure", "not sure", "uncertain", "skip", "skipped", "ignore", "ignored", "error"),
        *("invalid", "failed", "failure", "no answer", "no response", "undecided", "idk", "don't know"),
        *("cannot tell", "can't tell", "not applicable", "refused", "refusal", "timeout", "blank", "no label"),
    }
)
VOTES_AT_ONCE = 1 << 18  # votes: what is made of so many stays in the cache
TOO_EARLY = ("one-class", "no-votes", "unknown-positive")  # what more votes may mend
_LONGEST = 1000  # characters of a label
_CLOSE = 1 << 12  # integers that lie so close have a table of all between them
_MANY = 8  # more distinct labels than this are found by sorting
_MANY_BYTES = 32  # or of bytes, which are compared fastest, more than these

Place = Callable[[Any], str]  # says where a label first occurs, such as " in row 3, column 'ann'"


class NewLabels(Exception):
    """Votes hold labels that are neither classes nor missing."""

    def __init__(self, labels: Iterable):
        super().__init__(frozenset(labels))

    @property
    def labels(self) -> frozenset:
        """The labels."""
        return self.args[0]

    def __add__(self, other: Any) -> NewLabels:
        return NewLabels(self.labels | other.labels) if isinstance(other, NewLabels) else self

    __radd__ = __add__


@dataclass(frozen=True, eq=False)
class LabelRules:
    """What the user says about labels before any vote is read."""

    classes: NDArray | None = None  # (n_classes,): all the classes, in order; None if they are the labels that occur
    missing: tuple = ()  # labels that mean "no vote"
    positive: Any = None  # of two classes the one to call positive
    # {"unlisted", "unseen", "missing"}: what a label besides the listed classes is: an error of the user's list, an
    # error because a fit never saw it, or no vote
    unknown: str = "unlisted"
    numbers: NumberRules = NOTHING_SAID  # whether votes are numbers and not labels, and which way they run

    @classmethod
    def of(
        cls,
        classes: ArrayLike | None = None,
        missing: Any = None,
        positive: Any = None,
        unknown: str = "unlisted",
        numbers: NumberRules | None = None,
    ) -> LabelRules:
        """Check what was passed as parameters."""
        for name, label in (("missing", missing), ("positive", positive)):
            if isinstance(label, list | tuple | set | dict | np.ndarray):
                raise TypeError(f"{name} must be one label, got the {type(label).__name__} {label!r}.")
        if isinstance(classes, str):
            raise TypeError(f"classes must be a list of labels, got the one string {classes!r}.")
        listed_classes = None if classes is None else as_classes(list(classes))  # type: ignore[arg-type]
        absent = () if is_missing(missing) else (missing,)
        return cls(listed_classes, absent, positive, unknown, numbers or NOTHING_SAID)

    def besides(self, others: LabelRules) -> LabelRules:
        """Return these rules with what they leave open said by others, and the missing labels of both."""
        return replace(
            self,
            classes=others.classes if self.classes is None else self.classes,
            missing=(*self.missing, *others.missing),
            positive=others.positive if self.positive is None and self.classes is None else self.positive,
            numbers=self.numbers if self.numbers.are_stated else others.numbers,
        )

    def alphabet_draft(self, text: bool = False) -> Alphabet:
        """Return an alphabet without labels, which knows what means "no vote"."""
        return Alphabet(np.array([]), self, text)

    def alphabet(self, labels: Iterable, *, text: bool = False, place: Place = lambda label: "") -> Alphabet:
        """Return the alphabet of votes that hold these labels, or say why there is none.

        ``labels``: distinct labels that occur; those that mean "no vote" may be among them; ``text``: whether they
        come from a file, where a number may be written as text; ``place``: says where a label is, for messages.
        """
        draft = self.alphabet_draft(text)
        labels = list(labels)
        if text:  # a dash is judged by what stands beside it
            draft = replace(draft, values=as_classes(labels if self.classes is None else list(self.classes)))
        if self.classes is not None:
            values = as_read(self.classes) if text else list(self.classes)
            _check_listed(values, draft)
        else:
            found = [label for label in dict.fromkeys(labels) if not draft.means_missing(label)]
            values = sorted_labels(_joined(as_read(found)) if text else found, place)
            if not self.numbers.are_labels and all(isinstance(v, Number) and not isinstance(v, bool) for v in values):
                refuse_code_of_nothing(values, are_labels=True)
            _check_found(values, place)
        return replace(draft, values=as_classes(self.ordered(values, draft)))

    def ordered(self, values: list, draft: Alphabet) -> list:
        """Put the positive class last."""
        if self.positive is None:
            return values
        if not any(draft.same(label, self.positive) for label in values):
            raise VotesError(
                "unknown-positive",
                f"The positive label {short_repr(self.positive)} is not one of the labels {listed(values)}",
                where={"label": self.positive},
            )
        if len(values) > 2:
            raise VotesError(
                "positive-of-many",
                f"A positive label is for two classes, and there are {len(values)}: {listed(values)}",
                "choose-positive",
            )
        return sorted(values, key=lambda label: draft.same(label, self.positive))


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The labels that votes may be, and their codes."""

    values: NDArray  # (n_classes,): the classes; of two, (negative, positive)
    rules: LabelRules = LabelRules()  # what the user said about labels
    # whether labels come from files: 1, "1" and "1.0" are one label, and an empty field, NA or null is none
    text: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def grows(self) -> bool:
        """Whether a label that is neither a class nor missing becomes a class."""
        return self.rules.classes is None

    def grown(self, labels: Iterable) -> Alphabet:
        """Return the alphabet of these and more labels, as if all had been there from the start."""
        return self.rules.alphabet([*self.values, *labels], text=self.text)

    def extended(self, labels: Iterable) -> Alphabet:
        """Return the alphabet with more labels after those it has, whose codes stay."""
        values = [*self.values, *(label for label in labels if self.code(label) == UNKNOWN)]
        _check_number(values)
        return replace(self, values=as_classes(values))

    def settled(self) -> Alphabet:
        """Return the alphabet that takes labels it does not have for no vote."""
        return replace(self, rules=replace(self.rules, classes=self.values, unknown="missing"))

    def codes_in(self, other: Alphabet) -> NDArray[np.int8]:
        """Return the code in another alphabet for every code in this one; -1 stays, by its position at the end."""
        return np.array([*(other.code(label) for label in self.values), MISSING], dtype=np.int8)

    # -- one label --------------------------------------------------------------------------------------------

    def code(self, label: Any) -> int:
        """Return the code of a label: -1 missing, 0 and more a class, -2 none of these."""
        if is_missing(label):
            return MISSING
        try:
            return self._known[type(label), label]
        except KeyError:
            code = self._known[type(label), label] = self._code(label)
            return code

    @cached_property
    def _known(self) -> dict[tuple[type, Any], int]:
        """The labels whose code was asked for."""
        return {}

    @cached_property
    def _positions(self) -> dict[Any, int]:
        """The code of every class."""
        return {label: code for code, label in enumerate(self.values)}

    @cached_property
    def _folded(self) -> dict[str, int]:
        """The code of every class that is text, in small letters."""
        return {label.casefold(): code for code, label in enumerate(self.values) if isinstance(label, str)}

    def _code(self, label: Any) -> int:
        if self.means_missing(label):
            return MISSING
        found = self._positions.get(label, UNKNOWN)
        if self.text and found == UNKNOWN:
            found = next((code for code, value in enumerate(self.values) if same_text(label, value)), UNKNOWN)
        if self.text and found == UNKNOWN and self.grows and isinstance(label, str):
            found = self._folded.get(label.strip().casefold(), UNKNOWN)
        return MISSING if found == UNKNOWN and self._drops else found

    def means_missing(self, label: Any) -> bool:
        """Whether a label means that there is no vote."""
        if is_missing(label) or (self.text and isinstance(label, str) and self._is_blank(label.strip())):
            return True
        return any(self.same(label, missing) for missing in self.rules.missing)

    def _is_blank(self, text: str) -> bool:
        if text not in DASHES or (not self.grows and text in self.values):
            return text in MISSING_TOKENS
        return not dash_is_label(self.values)

    @property
    def _drops(self) -> bool:
        """Whether an unknown label is no vote."""
        return not self.grows and self.rules.unknown == "missing"

    def same(self, label: Any, other: Any) -> bool:
        """Whether two labels are one; in files one may be the text of the other."""
        return same_text(label, other) if self.text else bool(label == other)

    def unknown(self, label: Any, place: str, **where: Any) -> VotesError:
        """Return the error of a label that is neither a class nor missing."""
        label = plain(label)
        return VotesError(
            "unknown-label",
            f"Unknown label {short_repr(label)} in {place}: the classes are {listed(self.values)}",
            self.rules.unknown,
            {**where, "label": label},
        )

    # -- many labels ------------------------------------------------------------------------------------------

    def codes(self, values: NDArray) -> NDArray[np.int8]:
        """Return the codes of an array of labels of any shape, as :meth:`code` does."""
        if values.dtype == object or self.text:  # by hashing, because objects such as pandas.NA do not compare
            flat = values.ravel().tolist()
            code_of = {label: self.code(label) for label in set(flat)}
            return np.fromiter(map(code_of.__getitem__, flat), np.int8, len(flat)).reshape(values.shape)
        if values.ndim == 2 and values.size > VOTES_AT_ONCE:
            if _are_codes(values, self.values):
                return values.view(np.int8)
            codes = np.empty(values.shape, dtype=np.int8)

            def fill(rows: slice) -> None:
                codes[rows] = self._compare(values[rows])

            ordered_map(fill, row_chunks(len(values), max(VOTES_AT_ONCE // values.shape[1], 1)))
            return codes
        return self._compare(values)

    def _compare(self, values: NDArray) -> NDArray[np.int8]:
        """Return the codes of an array that holds no objects, one comparison for every class."""
        if len(self.values) > 2:
            values = _as_integers(values)
        span = _close_integers(values) if len(self.values) > 2 else None
        if span is not None:  # the codes of all integers between the ends, once
            codes = self._compare(span)
            if (np.diff(codes) == 1).all():  # whole numbers in a row
                return (values - span[0]).astype(np.int8) + codes[0]
            return np.take(codes, (values - span[0]).astype(np.intp, copy=False))
        if len(self.values) == 2:
            is_negative, is_positive = (_equals(values, label) for label in self.values)
            codes, other = is_positive.view(np.int8), ~(is_negative | is_positive)
        else:
            codes, other = np.full(values.shape, UNKNOWN, dtype=np.int8), np.ones(values.shape, dtype=bool)
            for code, label in enumerate(self.values):
                here = _equals(values, label)
                codes[here] = code
                other &= ~here
        if other.any():
            labels = values[other]
            absent = labels != labels
            for missing in self.rules.missing:
                absent |= _equals(labels, missing)
            codes[other] = np.where(absent, MISSING, MISSING if self._drops else UNKNOWN)
        return codes

    def strangers(self, values: NDArray) -> set:
        """Return the labels of an array that are neither classes nor missing; a few if there are very many."""
        return set(list(distinct_labels(values[self.codes(values) == UNKNOWN]))[: MAX_CLASSES + 1])


def _are_codes(values: NDArray, classes: NDArray) -> bool:
    """Whether labels are the codes 0 and 1 already, one byte each, so that they need no copy."""
    if values.dtype not in (np.int8, np.uint8, np.bool_) or not values.flags.c_contiguous:
        return False
    if not all(isinstance(label, Number | np.bool_) for label in classes) or list(classes) != [0, 1]:
        return False
    flat = values.reshape(-1).view(np.uint8)
    return max(ordered_map(lambda rows: flat[rows].max(), row_chunks(len(flat), VOTES_AT_ONCE))) <= 1


def _equals(values: NDArray, label: Any) -> NDArray[np.bool_]:
    """Compare an array that holds no objects with a label; a label of another type equals nothing."""
    return values == label if np.isscalar(label) else np.zeros(values.shape, dtype=bool)


def _as_integers(values: NDArray) -> NDArray:
    """Return many whole numbers as integers, in which they are looked up; everything else as it is."""
    if values.dtype.kind != "f" or values.size <= 2 * _CLOSE:
        return values
    for kind in (np.int8, np.int16):
        with np.errstate(invalid="ignore"):
            whole = values.astype(kind)
        if (whole == values).all():
            return whole
    return values


def _close_integers(values: NDArray) -> NDArray | None:
    """Return all integers from the lowest to the highest of many, if they are few; else None."""
    if values.dtype.kind not in "iu" or values.size <= 2 * _CLOSE:
        return None
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest >= min(_CLOSE, int(np.iinfo(values.dtype).max)):  # differences must fit in the type
        return None
    return values.min() + np.arange(highest - lowest + 1).astype(values.dtype)


def dash_is_label(labels: Iterable) -> bool:
    """Whether a dash among labels is one of them: beside a plus, or beside one other label only."""
    texts = {str(label).strip() for label in labels} - DASHES
    return len(texts) == 1 or any(text and not text.strip("+") for text in texts)


def codes_of(labels: ArrayLike, classes: NDArray) -> NDArray[np.int64]:
    """Return the codes of labels that are all among some classes."""
    return Alphabet(classes).codes(np.asarray(labels)).astype(np.int64)


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or NA."""
    if label is None:
        return True
    try:
        return bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True


def same_text(label: Any, other: Any) -> bool:
    """Whether two labels of files are one, where one of them may be the text of the other."""
    label, other = (part.strip() if isinstance(part, str) else plain(part) for part in (label, other))
    if str(label) == str(other):
        return True
    try:
        return float(label) == float(other)
    except (TypeError, ValueError):
        return False


# -- which labels are classes -------------------------------------------------------------------------------


def distinct_labels(values: NDArray) -> Iterable:
    """Return the distinct labels of an array, missing ones perhaps among them."""
    if values.dtype == object:
        return set(values.ravel().tolist())
    if values.dtype.kind in "iub" and values.size > VOTES_AT_ONCE and values.flags.c_contiguous:
        flat = values.reshape(-1)
        chunks = row_chunks(len(flat), VOTES_AT_ONCE)
        ends = ordered_map(lambda rows: (flat[rows].min(), flat[rows].max()), chunks)
        lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
        if int(highest) - int(lowest) == 1:
            return lowest, highest
        return {label for part in ordered_map(lambda rows: distinct_labels(flat[rows]), chunks) for label in part}
    if values.dtype.kind == "f":
        whole = _as_integers(values)
        if whole.dtype.kind == "i":
            return {float(label) for label in distinct_labels(whole)}
    span = _close_integers(values)
    if span is not None and values.itemsize == 1 and len(span) <= _MANY_BYTES:
        return span[[(values == label).any() for label in span]]
    if span is not None and len(span) > _MANY:
        occurs = np.zeros(len(span), dtype=bool)
        occurs[values - span[0]] = True
        return span[occurs]
    labels: list = []
    rest = values == values
    while rest.any():  # a pass for each label, since a few are expected
        if len(labels) == _MANY:
            return np.unique(values)
        labels.append(values.flat[rest.argmax()])
        rest &= values != labels[-1]
    return labels


def sorted_labels(labels: Iterable, place: Place = lambda label: "") -> list:
    """Return labels sorted; refuse infinities and a mixture of types."""
    labels = list(labels)
    for label in labels:
        if isinstance(label, float | np.floating) and np.isinf(label):
            raise VotesError(
                "infinite",
                f"Input contains infinity ({plain(label)}){place(label)}: votes are labels",
                "nan-is-missing",
                {"label": plain(label)},
            )
    kinds = {_kind(label): label for label in sorted(labels, key=repr, reverse=True)}
    if len(kinds) > 1:
        (one, first), (other, second) = sorted(kinds.items(), reverse=True)[:2]
        raise VotesError(
            "mixed-types",
            f"Labels of different types: {one} such as {short_repr(first)} and {other} such as {short_repr(second)}"
            f"{place(second)}",
            "one-type",
            {"label": plain(second)},
        )
    try:
        return sorted(labels)
    except TypeError:  # labels without an order, such as members of an Enum
        return sorted(labels, key=repr)


def as_classes(labels: list) -> NDArray:
    """Return labels as an array, of objects if they are no plain values of one kind."""
    if all(np.isscalar(label) for label in labels) and len({isinstance(label, str) for label in labels}) <= 1:
        return np.array(labels)
    classes = np.empty(len(labels), dtype=object)
    classes[:] = labels
    return classes


def as_read(labels: Iterable) -> list:
    """Return labels of a file: as numbers if all of them are, so that 1 and 1.0 are one label; else as they are.

    >>> as_read(["1", "1.0", "2"])
    [1, 2]
    >>> as_read(["1", "x", 2])
    ['1', 'x', '2']
    """
    return list(dict.fromkeys(reading_of(labels).values()))


def _joined(labels: list) -> list:
    """Return labels, of those that differ in capital letters only the one in small letters."""
    last: dict[Any, Any] = {}
    for label in labels:
        key = label.casefold() if isinstance(label, str) else label
        last[key] = max(last[key], label) if key in last and isinstance(label, str) else last.get(key, label)
    return list(last.values())


def reading_of(labels: Iterable) -> dict[Any, Any]:
    """Return each label of a file as it is to be read."""
    labels = [plain(label) for label in labels]
    read = [label.strip() if isinstance(label, str) else label for label in labels]
    if not any(isinstance(label, str) for label in labels) or any(isinstance(label, bool) for label in labels):
        return dict(zip(labels, read, strict=True))
    try:
        return dict(zip(labels, map(_number, read), strict=True))
    except (TypeError, ValueError, OverflowError):
        return dict(zip(labels, map(str, read), strict=True))


def _number(text: Any) -> int | float:
    number = float(text)
    if not np.isfinite(number):
        raise ValueError
    return int(number) if number == int(number) else number


def _check_found(labels: list, place: Place) -> None:
    """Refuse labels that are no classes, or of which it is not clear which are."""
    _check_number(labels)
    for label in labels:
        if isinstance(label, str) and len(label) > _LONGEST:
            raise VotesError(
                "long-label",
                f"A text of {len(label):,} characters, {short_repr(label)}, is no label{place(label)}",
                "drop-columns",
                {"label": label[:_LONGEST]},
            )
    if len(labels) < 2:
        seen = f"only one class occurs in the votes ({short_repr(labels[0])})" if labels else "all votes are missing"
        raise VotesError("one-class" if labels else "no-votes", f"Nothing to combine: {seen}")
    if len(labels) == 2:
        return
    if all(isinstance(label, Number) for label in labels) and set(labels) == {-1, 0, 1}:
        raise VotesError(
            "ambiguous-missing",
            "The labels are -1, 0 and 1, and it is not clear which one is a missing vote",
            "ambiguous-missing",
        )
    spelt: dict[str, str] = {}
    for label in labels:
        if isinstance(label, str) and (other := spelt.setdefault(" ".join(label.casefold().split()), label)) != label:
            what = "capital letters" if label.casefold() == other.casefold() else "capital letters or blanks"
            raise VotesError(
                "spelling",
                f"The labels {short_repr(other)} and {short_repr(label)} differ in {what} only",
                "spelling",
                {"label": plain(label)},
            )
    for label in labels:
        if isinstance(label, str) and (not label.strip() or label.strip() in _TEXT_OF_NOTHING):
            raise VotesError(
                "text-of-nothing",
                f"The label {short_repr(label)}{place(label)} may mean that there is no vote",
                "text-of-nothing",
                {"label": plain(label)},
                word=repr(plain(label)),
            )


def _check_number(labels: list) -> None:
    if len(labels) > MAX_CLASSES:
        raise VotesError(
            "too-many-labels",
            f"The votes hold at least {len(labels)} different labels, such as {listed(labels)}",
            "scores" if all(map(is_number, labels)) else "names-among-labels",
        )


def _check_listed(labels: list, draft: Alphabet) -> None:
    """Refuse a list of classes that cannot be one."""
    if len(labels) < 2:
        raise VotesError("classes", f"Two classes or more must be listed, got {listed(labels) or 'none'}")
    _check_number(labels)
    for number, label in enumerate(labels):
        if any(draft.same(label, other) for other in labels[:number]):
            raise VotesError(
                "classes", f"The listed classes hold {short_repr(label)} twice", where={"label": plain(label)}
            )
        if draft.means_missing(label):
            raise VotesError(
                "classes", f"{short_repr(label)} is listed as a class and as 'no vote'", where={"label": plain(label)}
            )


def are_probabilities(labels: Iterable) -> bool:
    """Whether labels are numbers from 0 to 1, some of them neither."""
    try:
        numbers = {float(label) for label in labels}
    except (TypeError, ValueError):
        return False
    return all(0 <= number <= 1 for number in numbers) and bool(numbers - {0.0, 1.0})


# -- labels in messages -------------------------------------------------------------------------------------


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "strings"
    if isinstance(label, Number | np.bool_):
        return "numbers"
    return f"values of type {type(label).__name__}"


def listed(labels: Iterable) -> str:
    """Return the first few labels for a message."""
    labels = list(labels)
    return ", ".join(map(short_repr, labels[:5])) + (", ..." if len(labels) > 5 else "")


def short_repr(label: Any) -> str:
    """Return a label for a message, cut if it is long."""
    text = repr(plain(label))
    return text if len(text) <= 60 else text[:59] + "…"
