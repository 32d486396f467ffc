"""What somebody may have meant by a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


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
