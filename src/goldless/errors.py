"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


class VotesWarning(UserWarning):
    """Something about the votes deserves a look, and the message says what was done about it."""


def warn_user(message: str, category: type[Warning] = VotesWarning) -> None:
    """Warn about the first line on the stack that is not of this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class AmbiguousReadingWarning(VotesWarning):
    """Two readings explain the votes almost equally well, and the message says what would settle it."""
