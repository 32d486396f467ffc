"""The command line: a thin layer over the public API.

Exit codes: 0, 1 for an error of the user's or of the machine's with one clear line, 2 for wrong usage.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from goldless.errors import VotesError

_OK, _ERROR, _USAGE, _INTERRUPTED = 0, 1, 2, 130
_LONGEST = 1000
_TRACEBACK = "--traceback"
_COMPLETION = "_GOLDLESS_COMPLETE"  # what the script of `goldless completion` sets


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; wrong usage, help and the version leave by SystemExit."""
    from goldless.cli.app import app

    if _COMPLETION in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(app(), {}, "goldless", _COMPLETION, os.environ[_COMPLETION])
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with app().make_context("goldless", words) as context:
            context.command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:  # the help or the version was asked for
        raise SystemExit(stop.exit_code) from None
    except click.UsageError as error:
        raise SystemExit(_wrong_usage(error)) from None
    except KeyboardInterrupt:
        _print_error("stopped; nothing is left half-written")
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - closed with the process
        return _OK
    except Exception as error:
        if _TRACEBACK in words:
            import traceback

            traceback.print_exc()
        _print_error(_in_one_line(error))
        return _ERROR
    return _OK


def _in_one_line(error: Exception) -> str:
    """Return what went wrong; what nobody foresaw is a defect, and the line says how to report it."""
    if isinstance(error, OSError):
        what = f"read or write {error.filename}" if error.filename else "write to standard output"
        return f"cannot {what}: {(error.strerror or str(error)).lower()}"
    if isinstance(error, VotesError):
        from goldless.cli.errors import in_options

        return in_options(error)
    if isinstance(error, (ValueError, TypeError)) and str(error):
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory for these votes"
    return (
        f"unforeseen {type(error).__name__}: {error}. This is a defect of goldless: please report it, with what "
        f"{_TRACEBACK} shows and, if you may, the file"
    )


def _wrong_usage(error: click.UsageError) -> int:
    """Print what was not understood, and where to read more."""
    path = error.ctx.command_path if error.ctx is not None else "goldless"
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:  # click words it in other ways by version
        from goldless.words import nearest

        options = [flag for given in error.ctx.command.get_params(error.ctx) for flag in given.opts]
        message = f"there is no option {error.option_name}{nearest(error.option_name, options)}"
    _print_error(f"{message[:1].lower()}{message[1:]}", path)
    sys.stderr.write(f"{path} --help has the options and examples.\n")
    return _USAGE


def _print_error(message: str, program: str = "goldless") -> None:
    """Print an error as one line, of characters that a terminal shows and does not obey."""
    from goldless.words import clean

    message = clean(" ".join(message.split()))
    message = message if len(message) <= _LONGEST else message[: _LONGEST - 1] + "…"
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - closed with the process
    start = "\r\x1b[K" if sys.stderr.isatty() else ""  # over what a bar, or ^C, has left there
    sys.stderr.write(f"{start}{program}: {message}\n")
