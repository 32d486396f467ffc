"""Wrong usage: what was not understood, and what may have been meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from goldless.spelling import nearest


class Parser(argparse.ArgumentParser):
    """A parser that offers what a misspelt word may have meant.

    ``run`` of the namespace it returns names the function of the command, ``module:function`` below
    :mod:`goldless.cli`: what a command needs is imported when it runs, so that help and completion come at once.
    """

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments; what is left over is an error of the command it was given to."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            command = subparsers_of(self).get(found.command, self)
            command.refuse(rest)
        return found

    def refuse(self, rest: Sequence[str]) -> NoReturn:
        """Stop because of arguments that are none."""
        word = rest[0].split("=")[0]
        options = [option for action in self._actions for option in action.option_strings]
        if word.startswith("-"):
            self.error(f"there is no option {word}{nearest(word, options)}")
        self.error(f"there is one {rest[0]!r} too many: a name with spaces needs quotation marks")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(
                action, f"there is no {value!r}{nearest(str(value), choices)} (there are {', '.join(choices)})"
            )

    def error(self, message: str) -> NoReturn:
        """Stop with the usage, the reason, and where to read more."""
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n{self.prog} --help has the options and examples.\n")


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Return the parsers of the commands by their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}
