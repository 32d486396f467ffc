"""Numbers and names as users read them: the only formatter of per cent, p-values, intervals and names.

>>> percent(0.8125), percent(0.9997), percent(None)
('81.2 %', '> 99.9 %', 'unknown')
>>> percent_interval((0.551, 0.88)), p_value(0.0004), p_value(0.0312)
('55-88 %', 'p < 0.001', 'p = 0.031')
>>> listed(["a", "b", "c", "d"], most=2)
'a, b and 2 more'
>>> shortened("claude-3-5-sonnet-20241022", 15)
'claude-…0241022'
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

_LONGEST_NAME = 40
_UNTESTED = "cannot be tested"


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in per cent; an estimate below 1 is never a round 100 %."""
    if share is None:
        return "unknown"
    if digits <= 1 and 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{100 * share:.{digits}f} %"


def chance(probability: float) -> str:
    """Return a probability in per cent; never a round 0 or 100 %, since no estimate is certain."""
    if not 0.0005 <= probability <= 0.9995:
        return "> 99.9 %" if probability > 0.5 else "< 0.1 %"
    return percent(probability)


def percent_interval(ends: Sequence[float] | None, digits: int = 0) -> str:
    """Return an interval of shares in per cent, or a dash if there is none."""
    if ends is None:
        return "-"
    return "-".join(f"{100 * end:.{digits}f}" for end in ends) + " %"


def p_value(value: float | None) -> str:
    """Return a p-value."""
    if value is None:
        return _UNTESTED
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def listed(names: Iterable[object], most: int = 6, shown: Callable[[str], str] | None = None) -> str:
    """Return the first few names, and how many more there are; ``shown`` says how each is written."""
    found = [str(name) for name in names]
    write = shortened if shown is None else shown
    first = ", ".join(write(name) for name in found[:most])
    return f"{first} and {len(found) - most} more" if len(found) > most else first


def class_names(classes: Iterable[object], of_numbers: bool) -> list[str]:
    """Return the classes as text; those that numbers tell apart and nobody named are negative and positive."""
    names = [str(label) for label in classes]
    return ["negative", "positive"] if of_numbers and names == ["0", "1"] else names


def shortened(name: str, width: int = _LONGEST_NAME) -> str:
    """Return a name that fits, cut in its middle, for names of voters often differ at their end."""
    if cell_width(name) <= width:
        return name
    start, end = "", ""
    while cell_width(start) + cell_width(end) < width - 1:
        start, end = (name[: len(start) + 1], end) if len(start) <= len(end) else (start, name[-len(end) - 1 :])
    while cell_width(start) + cell_width(end) > width - 1:  # the last letter was a wide one
        start = start[:-1]
    return f"{start}…{end}"


def cell_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide letters two, accents that combine none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def clean(text: str) -> str:
    r"""Replace control characters, which a terminal would obey.

    >>> clean("a\x1b[31m")
    'a?[31m'
    """
    return "".join("?" if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter for letter in text)


def nearest(wanted: str, names: Iterable[str]) -> str:
    """Return a question that offers the name most like the one that is not there, or nothing.

    >>> nearest("Truht", ["item", "truth"])
    "; did you mean 'truth'?"
    >>> nearest("colour", ["item", "truth"])
    ''
    """
    by_spelling = {name.casefold().strip(): name for name in names}
    close = get_close_matches(wanted.casefold().strip(), by_spelling, n=1, cutoff=0.6)
    return f"; did you mean {by_spelling[close[0]]!r}?" if close else ""
