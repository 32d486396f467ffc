"""What votes are: names of classes, or numbers with an order, such as grades, probabilities and scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import Note, VotesError
from goldless.votes.pairs import PairTables

KINDS = ("labels", "ordinal", "probabilities", "scores")
MOST_GRADES = 20  # different whole numbers; more are scores
_FEW_CODES = 5  # whole numbers 0, 1, ... of an integer array, up to so many, are codes of classes
_FEWEST_GRADES = 4  # with three numbers one order in three looks right by chance
_SLACK = 0.1  # how far beyond 0 and 1 numbers may be beside probabilities of other voters
_MOST_VOTERS = 0.75  # must stay within 0 and 1
_CODES_OF_NOTHING = (-1.0, -9.0, -99.0, -999.0, 77.0, 88.0, 98.0, 99.0, 998.0, 999.0, 9999.0)
_JUDGED_VOTERS = 60
_ONE_AXIS = 2.0  # times as long as the next: of weak grades 2.7 and more, of names of 4 to 16 classes 1.0 to 2.1
_FEW_WHOLE = 1 << 10  # whole numbers this close together have a table
JUDGED_ITEMS = 4_000  # rows from which the order of grades is judged


@dataclass(frozen=True, eq=False)
class NumberRules:
    """What the user says about votes that are numbers."""

    kind: Any = "auto"  # "auto", or one of "labels", "ordinal", "probabilities" and "scores"
    lower_is_positive: Any = False  # which voters mean positive by low numbers: none, all, or those that are named
    positive_from: float | None = None  # the smallest number that is positive
    # words, word_voters, word_classes: of voters that say words beside numbers of others, once they were looked at:
    # the number of each word (1 positive, 0 negative), who they are, and the words if they are one pair
    words: Mapping[str, int] = field(default_factory=dict)
    word_voters: tuple = ()
    word_classes: tuple = ()

    @classmethod
    def of(cls, kind: Any = "auto", lower_is_positive: Any = None, positive_from: Any = None) -> NumberRules:
        """Check what was passed as parameters."""
        for one in kind.values() if isinstance(kind, Mapping) else [kind]:
            if one not in ("auto", *KINDS):
                raise ValueError(
                    f"kind must be 'auto', {', '.join(map(repr, KINDS))}, or one for each voter, got {one!r}"
                )
        if lower_is_positive is None or isinstance(lower_is_positive, bool):
            lower: Any = bool(lower_is_positive)
        else:
            lower = (lower_is_positive,) if isinstance(lower_is_positive, str | int) else tuple(lower_is_positive)
        if positive_from is not None and (isinstance(positive_from, bool) or not isinstance(positive_from, Number)):
            raise ValueError(f"positive_from must be a number, got {positive_from!r}")
        return cls(kind, lower, None if positive_from is None else float(positive_from))  # type: ignore[arg-type]

    @property
    def are_stated(self) -> bool:
        """Whether anything is said."""
        return self.kind != "auto" or bool(self.lower_is_positive) or self.positive_from is not None

    @property
    def are_labels(self) -> bool:
        """Whether all votes are said to be labels."""
        return isinstance(self.kind, str) and self.kind == "labels"

    @property
    def are_numbers(self) -> bool:
        """Whether votes are said to be numbers."""
        if self.lower_is_positive or self.positive_from is not None or isinstance(self.kind, Mapping):
            return not self.are_labels
        return self.kind not in ("auto", "labels")

    def kinds(self, judged: tuple[str, ...], voters: NDArray | None) -> tuple[str, ...]:
        """Return the kind of every voter: what is said of it, or else how its numbers look."""
        kinds = list(judged)
        for voter, kind in self.kind.items() if isinstance(self.kind, Mapping) else ():
            if kind != "auto":
                kinds[column_of(voter, voters, len(kinds))] = kind
        return tuple(kinds)

    def check_voters(self, names: Collection) -> None:
        """Refuse what is said of voters that are not there."""
        said = list(self.kind) if isinstance(self.kind, Mapping) else []
        said += [] if isinstance(self.lower_is_positive, bool) else list(self.lower_is_positive)
        for voter in said:
            if voter not in names and not isinstance(voter, int | np.integer):
                raise no_voter(voter, len(names))

    def sign(self, voters: NDArray | None, n_voters: int) -> NDArray[np.int64]:
        """Return -1 for every voter that means positive by low numbers, else 1."""
        sign = np.ones(n_voters, dtype=np.int64)
        if isinstance(self.lower_is_positive, bool):
            sign[:] = -1 if self.lower_is_positive else 1
            if isinstance(self.kind, Mapping):  # of two words one is positive
                sign[[column_of(voter, voters, n_voters) for voter in self.word_voters]] = 1
            return sign
        for voter in self.lower_is_positive:
            sign[column_of(voter, voters, n_voters)] = -1
        return sign


NOTHING_SAID = NumberRules()


def column_of(voter: Any, voters: NDArray | None, n_voters: int, why: str = "") -> int:
    """Return the column of a voter given by name or by number; ``why`` says in an error what it was named for."""
    if voters is not None and voter in (names := list(voters)):
        return names.index(voter)
    if isinstance(voter, int | np.integer) and not isinstance(voter, bool) and 0 <= voter < n_voters:
        return int(voter)
    raise no_voter(voter, n_voters, why)


def no_voter(voter: Any, n_voters: int, why: str = "") -> VotesError:
    """Return the error of a voter that is not there."""
    seen = f"there is no voter {voter!r}{why} among the {n_voters} columns"
    return VotesError("unknown-voter", seen, where={"voter": voter})


def judge_labels(labels: Iterable, codes_of_classes: bool) -> str:
    """Return what different labels look like: "labels", "grades" (to be judged by their order) or a kind of numbers.

    ``labels``: different labels that occur, none of them missing; ``codes_of_classes``: whether they come from an
    array of integers, as codes of classes do.
    """
    found = list(labels)
    if len(found) <= 2 or not all(isinstance(label, Number) and not isinstance(label, bool) for label in found):
        return "labels"
    numbers = np.array(found, dtype=np.float64)
    whole = bool((numbers == np.floor(numbers)).all())
    if whole and set(found) == {-1, 0, 1}:
        return "labels"  # which are refused: the middle one may be a missing vote
    if numbers.min() >= 0 and numbers.max() <= 1:
        return "scores" if set(found) <= {0, 0.5, 1} else "probabilities"
    if not whole or len(found) > MOST_GRADES:
        return "scores"
    if len(found) < _FEWEST_GRADES:
        return "labels"
    if codes_of_classes and len(found) <= _FEW_CODES and sorted(found) == list(range(len(found))):
        return "labels"
    return "grades"


def judge_range(answers: NDArray[np.float64]) -> tuple[str, ...]:
    """Return what many different numbers of every voter look like: "probabilities" or "scores".

    They are probabilities if those of most voters lie within 0 and 1, and the others hardly exceed them, as where
    probabilities were smoothed: such a voter says scores, for it cannot state a class balance.
    """
    voted = ~np.isnan(answers).all(axis=0)
    lowest, highest = (np.full(answers.shape[1], np.nan) for _ in range(2))
    lowest[voted], highest[voted] = np.nanmin(answers[:, voted], axis=0), np.nanmax(answers[:, voted], axis=0)
    inside, near = (~voted | ((lowest >= -slack) & (highest <= 1 + slack)) for slack in (0.0, _SLACK))
    if near.all() and inside.mean() > _MOST_VOTERS:
        return tuple("probabilities" if within else "scores" for within in inside)
    return ("scores",) * answers.shape[1]


def labels_among(kinds: tuple[str, ...], answers: Sequence[NDArray[np.float64]]) -> tuple[str, ...]:
    """Return kinds that were judged from numbers, with voters that only say 0 and 1 among scores as labels.

    ``answers``: what each voter says: all its answers, or the different ones.
    """
    if "ordinal" in kinds or all(np.isin(said, (0, 0.5, 1)).all() for said in answers):
        return kinds
    return tuple(
        "labels" if kind == "scores" and np.isin((0, 1), said).all() and np.isin(said, (0, 1)).all() else kind
        for kind, said in zip(kinds, answers, strict=True)
    )


def check_labels(kinds: tuple[str, ...], levels: Sequence[NDArray[np.float64]], voters: NDArray | None) -> None:
    """Refuse a voter that is to say labels, and says more than two numbers."""
    for voter, (kind, found) in enumerate(zip(kinds, levels, strict=True)):
        if kind == "labels" and len(found) > 2:
            name = voter if voters is None else voters[voter]
            raise VotesError(
                "labels-among-numbers",
                f"Voter {name!r} gives {len(found)} different numbers: labels beside numbers of others are two",
                "kind-ordinal",
            )


def judge_grades(answers: NDArray[np.float64], levels: Iterable) -> str | tuple[str, ...]:
    """Return whether whole numbers are grades or names of classes, "ordinal" or "labels".

    Of voters that say 0 and 1 beside grades of others, what each says: labels, and grades.

    Parameters
    ----------
    answers : ndarray of shape (n_items, n_voters)
        Numbers, NaN where missing.
    levels : iterable
        The different numbers.
    """
    found = list(levels)
    if are_in_order(ranks_as_codes(answers, found), len(found)):
        return "ordinal"
    binary = ((answers == 0) | (answers == 1) | np.isnan(answers)).all(axis=0)
    if not binary.any() or (~binary).sum() < 2:
        return "labels"
    graded = answers[:, ~binary]
    levels_of_grades = np.unique(graded[~np.isnan(graded)])
    if judge_labels(levels_of_grades.tolist(), True) != "grades":
        return "labels"
    if not are_in_order(ranks_as_codes(graded, levels_of_grades), len(levels_of_grades)):
        return "labels"
    return tuple("labels" if two else "ordinal" for two in binary)


def are_in_order(codes: NDArray[np.int8], n_symbols: int) -> bool:
    """Whether voters disagree as if the symbols had this order: mostly between neighbours.

    Two symbols are alike if votes on one item are these two more often than by chance. Of three symbols a < b < c in
    order, a and c are the least alike. Among names of classes this holds for a third of all triples, among grades for
    nearly all: of 10 graded panels for 73 % or more, of 11 others with 4 to 16 classes for 42 % or less. Where voters
    are weak such triples are noise, and what they agree on at all says more: see :func:`_stand_on_one_axis`.
    """
    busiest = np.argsort(-(codes >= 0).sum(axis=0), kind="stable")[:_JUDGED_VOTERS]
    judged = np.ascontiguousarray(codes[:, np.sort(busiest)])
    tables = PairTables.of(judged, n_symbols).tables
    of_pairs = tables[:, :, ~np.eye(tables.shape[-1], dtype=bool)].astype(np.float64)
    together = of_pairs.sum(axis=2)
    together += together.T
    total = together.sum()
    if not total:
        return False
    share = together.sum(axis=1) / total
    alike = together / np.maximum(np.outer(share, share) * total, 1e-300)
    a, b, c = np.array([(i, j, k) for i in range(n_symbols) for j in range(i) for k in range(j)]).T
    weight = np.minimum(np.minimum(share[a], share[b]), share[c])
    right = alike[a, c] <= np.minimum(alike[a, b], alike[b, c])
    needed = min(1 / 3 + 0.9 / np.sqrt(n_symbols - 2), 1.0)
    return bool(weight @ right >= needed * weight.sum() * (1 - 1e-9)) or _stand_on_one_axis(of_pairs)


def _stand_on_one_axis(of_pairs: NDArray[np.float64]) -> bool:
    """Whether one axis explains on what voters agree beyond chance, and the symbols stand on it in their order.

    The axes are those of correspondence analysis. Grades that speak of one question have one; names of classes have
    one for each class but one, and none is much longer than the next.

    Parameters
    ----------
    of_pairs : ndarray of shape (n_symbols, n_symbols, n_pairs)
        How often the two voters of each pair say each two symbols.
    """
    first, second = of_pairs.sum(axis=1), of_pairs.sum(axis=0)
    by_chance = np.einsum("sp,tp->st", first / np.maximum(first.sum(axis=0), 1), second)
    excess = of_pairs.sum(axis=2) - by_chance
    by_chance += by_chance.T
    share = by_chance.sum(axis=1) / by_chance.sum()
    if not share.all():
        return False
    lengths, axes = np.linalg.eigh((excess + excess.T) / np.sqrt(np.outer(share, share)))
    steps = np.diff(axes[:, -1] / np.sqrt(share))
    return bool(lengths[-1] > _ONE_AXIS * max(lengths[-2], 0.0) and (np.all(steps > 0) or np.all(steps < 0)))


def check_numbers(answers: NDArray[np.float64], kinds: tuple[str, ...], place: Any) -> None:
    """Refuse infinities, and probabilities outside 0 to 1; ``place(row, column)`` says where."""
    infinite = np.isinf(answers)
    if infinite.any():
        row, column = map(int, np.argwhere(infinite)[0])
        raise VotesError(
            "infinite",
            f"Input contains infinity ({answers[row, column]}) in {place(row, column)}: a score is a finite number",
            "nan-is-missing",
            {"row": row, "column": column},
        )
    of_probabilities = np.array([kind == "probabilities" for kind in kinds])
    if of_probabilities.any():
        with np.errstate(invalid="ignore"):
            outside = ((answers < 0) | (answers > 1)) & of_probabilities
        if outside.any():
            row, column = map(int, np.argwhere(outside)[0])
            raise VotesError(
                "no-probability",
                f"{float(answers[row, column])!r} in {place(row, column)} is no probability",
                "kind-scores",
                {"row": row, "column": column, "label": float(answers[row, column])},
            )


def code_of_nothing(numbers: Iterable, are_labels: bool) -> float | None:
    """Return a number among others that often stands for no vote, such as -1 or 99; None if there is none.

    ``are_labels``: whether the numbers are names of classes, and no grades or scores.
    """
    found = np.unique(np.array(list(numbers), dtype=np.float64))
    if len(found) < (4 if are_labels else 3):
        return None
    for code in _CODES_OF_NOTHING:
        rest = found[found != code]
        if len(rest) < len(found) and rest.min() >= 0 and rest.max() <= (1e9 if code < 0 else MOST_GRADES):
            return code
    return None


def refuse_code_of_nothing(numbers: Iterable, are_labels: bool, said: Iterable = ()) -> None:
    """Ask of a number among votes that often stands for no vote; ``said`` are numbers that mean it anyway."""
    code = code_of_nothing(set(numbers) - set(said), are_labels)
    if code is not None:
        raise VotesError(
            "code-of-nothing",
            f"{code:g} stands among numbers from 0 on, and may mean that there is no vote"
            if code < 0
            else f"{code:g} stands among smaller numbers, and may mean that there is no vote",
            "code-of-nothing",
            {"label": code},
            word=f"{code:g}",
        )


def ranks_as_codes(answers: NDArray[np.float64], labels: Iterable) -> NDArray[np.int8]:
    """Return the codes of numbers among the different ones, in order; -1 where missing."""
    levels = np.sort(np.array(list(labels), dtype=np.float64))
    if len(levels) and (levels == np.floor(levels)).all() and levels[-1] - levels[0] < _FEW_WHOLE:  # are looked up
        missing = np.isnan(answers)
        numbers = np.where(missing, levels[0], answers)
        if numbers.size and numbers.min() >= levels[0] and numbers.max() <= levels[-1]:
            code_of = np.searchsorted(levels, np.arange(levels[0], levels[-1] + 1)).astype(np.int8)
            return np.where(missing, np.int8(-1), code_of[np.ceil(numbers - levels[0]).astype(np.intp)])
    codes = np.searchsorted(levels, answers).clip(max=len(levels) - 1).astype(np.int8)
    return np.where(np.isnan(answers), np.int8(-1), codes)


def reading_of_numbers(
    answers: NDArray[np.float64],
    kinds: tuple[str, ...],
    sign: NDArray[np.int64],
    positive_from: float | None,
    positive_word: Sequence[str] = (),
) -> Note:
    """Say how numbers were read: what they are, which way they run, and what to pass if they are names of classes."""
    words = {"ordinal": "grades"}
    ends = f"{np.nanmin(answers):g}-{np.nanmax(answers):g}" if np.nanmin(answers) >= 0 else ""
    found = list(dict.fromkeys(kinds))
    what = ", ".join(
        (f"{kinds.count(kind)} with " if len(found) > 1 else "") + words.get(kind, kind) for kind in found
    )
    if found == ["ordinal"] and ends:
        what = f"grades {ends}"
    low = int((sign < 0).sum())
    way = f"lower = positive for {low}" if 0 < low < len(sign) else f"{'lower' if low else 'higher'} = positive"
    cut = "" if positive_from is None else f", positive from {positive_from:g}"
    cut += "".join(f", {word!r} = positive" for word in positive_word)
    return Note(f"{len(kinds)} voters, {what} (ordered, {way}{cut}", "if-names")
