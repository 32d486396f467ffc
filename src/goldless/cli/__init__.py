"""The command line: a thin layer over the public API.

Exit codes: 0, 1 for an error of the user's or of the machine's with one clear line, 2 for wrong usage.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from goldless.cli.parser import build_parser
from goldless.errors import VotesError

_OK, _ERROR, _INTERRUPTED = 0, 1, 130
_LONGEST = 1000


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return _OK
    try:
        module, function = arguments.run.split(":")
        getattr(import_module(f"goldless.cli.{module}"), function)(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - closed with the process
        return _OK
    except OSError as error:
        what = f"read or write {error.filename}" if error.filename else "write to standard output"
        return _say(f"cannot {what}: {(error.strerror or str(error)).lower()}")
    except VotesError as error:
        from goldless.cli.errors import in_options

        return _say(in_options(error))
    except (ValueError, TypeError) as error:
        return _say(str(error))
    except MemoryError:
        return _say("not enough memory for these votes")
    except KeyboardInterrupt:
        _say("stopped; nothing is left half-written")
        return _INTERRUPTED
    return _OK


def _say(message: str) -> int:
    """Print an error as one line, of characters that a terminal shows and does not obey."""
    from goldless.cli.terminal import clean

    message = clean(" ".join(message.split()))
    message = message if len(message) <= _LONGEST else message[: _LONGEST - 1] + "…"
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - closed with the process
    start = "\r\x1b[K" if sys.stderr.isatty() else ""  # over what a bar, or ^C, has left there
    sys.stderr.write(f"{start}goldless: {message}\n")
    return _ERROR
