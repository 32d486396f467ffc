"""The command line: a thin layer over the public API.

Exit codes: 0, 1 for an error of the user's or of the machine's with one clear line, 2 for wrong usage.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from goldless.cli.parser import build_parser

_OK, _ERROR, _INTERRUPTED = 0, 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return _OK
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - closed with the process
        return _OK
    except OSError as error:
        return _say(
            f"cannot write or read {error.filename or 'the output'}: {(error.strerror or str(error)).lower()}"
        )
    except (ValueError, TypeError) as error:
        return _say(" ".join(str(error).split()))
    except MemoryError:
        return _say("not enough memory for these votes")
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return _INTERRUPTED
    return _OK


def _say(message: str) -> int:
    """Print an error as one line."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - closed with the process
    sys.stderr.write(f"goldless: {message}\n")
    return _ERROR
