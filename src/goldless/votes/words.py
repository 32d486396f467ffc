"""Words of some voters beside numbers of others: which of two words is the positive one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from goldless.errors import VotesError
from goldless.plain import is_number
from goldless.votes.alphabet import LabelRules, listed, short_repr

_PAIRS = """
    yes/no y/n true/false t/f pass/fail passed/failed passes/fails good/bad correct/incorrect right/wrong
    correct/wrong accept/reject accepted/rejected approve/reject approved/rejected accept/decline positive/negative
    pos/neg ok/not_ok present/absent valid/invalid relevant/irrelevant relevant/not_relevant like/dislike
    supported/unsupported supported/not_supported success/failure succeeded/failed satisfied/unsatisfied
    acceptable/unacceptable met/not_met
"""
USUAL = {
    word.replace("_", " "): number
    for pair in _PAIRS.split()
    for word, number in zip(pair.split("/"), (1, 0), strict=True)
}


def folded(word: str) -> str:
    """Return a word without its spelling."""
    return " ".join(word.casefold().replace("_", " ").split())


def are_words(values: Iterable) -> bool:
    """Whether there are values, and all are text that is no number."""
    found = list(values)
    return bool(found) and all(isinstance(value, str) and not is_number(value) for value in found)


def are_usual(values: Iterable, rules: LabelRules) -> bool:
    """Whether it is known of all words which way they point: from what the user says, or as everybody uses them."""
    found = {folded(value) for value in values}
    if rules.classes is not None:
        return found <= set(map(folded, map(str, rules.classes)))
    if isinstance(rules.positive, str) and folded(rules.positive) in found:
        return len(found) <= 2
    return all(word in USUAL for word in found)


def are_ordered_words(rules: LabelRules) -> bool:
    """Whether the user lists words, more than two, as grades in their order."""
    listed_words = () if rules.classes is None else rules.classes.tolist()
    return rules.numbers.kind == "ordinal" and len(listed_words) > 2 and are_words(listed_words)


def with_ordered_words(voters: Iterable, rules: LabelRules) -> LabelRules:
    """Return rules by which words are grades: each its place among the listed classes."""
    assert rules.classes is not None
    number = {folded(str(word)): place for place, word in enumerate(rules.classes)}
    return replace(rules, classes=None, numbers=replace(rules.numbers, words=number, word_voters=tuple(voters)))


def with_words(words: Mapping[Any, Iterable[str]], rules: LabelRules) -> LabelRules:
    """Return rules by which the words of some voters, beside numbers of others, are numbers: 1 if positive, else 0.

    Parameters
    ----------
    words : mapping
        The different words of each voter that says words.
    rules : LabelRules
        What the user says.
    """
    spelt: dict[int, dict[str, str]] = {0: {}, 1: {}}
    positive = folded(rules.positive) if isinstance(rules.positive, str) else None
    turned = USUAL.get(positive or "", 1) == 0  # such as positive="fail"
    number = {word: side ^ turned for word, side in USUAL.items()}
    ends = None if rules.classes is None else [folded(str(label)) for label in rules.classes]
    words = {voter: list(found) for voter, found in words.items()}
    said = {folded(word) for found in words.values() for word in found}
    if positive is not None and not is_number(positive) and positive not in said | USUAL.keys():
        seen = f"The positive label {short_repr(rules.positive)} is not one of the words {listed(sorted(said))}"
        raise VotesError("unknown-positive", seen, where={"label": rules.positive})
    for voter, found in words.items():
        of_voter = {folded(word): word for word in sorted(found, reverse=True)}
        for word, spelling in of_voter.items():
            if ends is not None and len(ends) == 2 and word in ends:
                number[word] = ends.index(word)
            elif word == positive or (positive in of_voter and len(of_voter) == 2):
                number[word] = int(word == positive)
            elif word not in USUAL:
                raise _unclear(voter, list(of_voter.values()))
            spelt[number[word]].setdefault(word, spelling)
    known = rules.numbers.kind if isinstance(rules.numbers.kind, Mapping) else {}
    kinds = {**known, **dict.fromkeys(words, "labels")}
    pair = tuple(next(iter(spelt[side].values()), "") for side in (0, 1))
    one_pair = len(spelt[0]) == len(spelt[1]) == 1
    numbers = replace(
        rules.numbers,
        kind=kinds,
        words=number,
        word_voters=tuple(words),
        word_classes=pair if one_pair else (),
    )
    positive_of_numbers = None if rules.classes is None else rules.positive  # which word is positive is said now
    return replace(rules, numbers=numbers, positive=positive_of_numbers)


def _unclear(voter: Any, words: list[str]) -> VotesError:
    """Return the error of words of which nobody knows which is the positive one."""
    where = {"column": voter}
    if len(words) > 2:
        return VotesError(
            "labels-among-numbers",
            f"Voter {voter!r} says {len(words)} words, {listed(sorted(words))}, beside numbers of others: labels "
            "beside numbers are two",
            "words-missing",
            where,
        )
    said = " and ".join(map(short_repr, sorted(words)))
    return VotesError(
        "which-positive",
        f"Voter {voter!r} says {said} beside numbers of others, and nobody says which of them is positive",
        "which-positive",
        where,
        word=repr(max(words)),
    )
