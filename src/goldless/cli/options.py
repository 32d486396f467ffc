"""Options that commands share, and how a command is declared; nothing heavy is imported here."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

from goldless.words import nearest

Run = Callable[["Options"], None]
Decorator = Callable[[Any], Any]
_ABOUT_FILE = (
    "FILE is a file, a folder or a pattern in any format that `goldless formats` lists; - is standard input."
)


class Options(SimpleNamespace):
    """The options of one call, by their names."""


class Option(click.Option):
    """An option that belongs to a section of the help."""

    def __init__(self, *parts: Any, section: str = "Options", **settings: Any):
        super().__init__(*parts, **settings)
        self.section = section


class Help(click.Command):
    """Help with sections of options, and examples at its end."""

    def __init__(self, *parts: Any, examples: str = "", **settings: Any):
        settings.setdefault("context_settings", {"help_option_names": ["-h", "--help"], "max_content_width": 100})
        super().__init__(*parts, **settings)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for given in self.get_params(ctx):
            record = given.get_help_record(ctx) if isinstance(given, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(given, "section", "Options"), []).append(record)
        for title in sorted(sections, key=lambda name: name != "Options"):
            with formatter.section(title):
                formatter.write_dl(sections[title])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, as they are."""
        if self.examples:
            formatter.write(f"\nexamples:\n{self.examples}")


class Command(Help):
    """A command whose wrong usage is one short line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; one too many is refused in our words."""
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if ctx.args and not ctx.resilient_parsing:
            ctx.fail(f"unexpected argument {ctx.args[0]!r} (quote names that contain spaces)")
        return rest


def command(name: str, summary: str, examples: str) -> Callable[[Run], Command]:
    """Make a command of a function that takes its options in one namespace."""

    def made(run: Run) -> Command:
        params: list[click.Parameter] = list(reversed(getattr(run, "__click_params__", [])))
        about = summary[0].upper() + summary[1:] + "."
        if any(parameter.name == "file" for parameter in params):
            about += f"\n\n{_ABOUT_FILE}"
        return Command(
            name=name,
            callback=lambda **given: run(_checked(Options(**given))),
            params=[*params, *_common()],
            help=about,
            short_help=summary,
            examples=examples,
        )

    return made


def _checked(options: Options) -> Options:
    """Refuse a file that is not there before anything heavy is imported."""
    for name in ("file", "other", "against"):
        path = getattr(options, name, None)
        if path not in (None, "-") and not os.path.lexists(path) and not glob.has_magic(path):
            raise ValueError(f"cannot read {path}: no such file or directory")
    return options


def option(*parts: Any, **settings: Any) -> Decorator:
    """Declare an option."""
    return click.option(*parts, cls=Option, **settings)


def _common() -> list[click.Parameter]:
    return [
        Option(["-q", "--quiet"], is_flag=True, help="say nothing but the result"),
        Option(["--json"], is_flag=True, help="print one JSON document instead of text"),
        Option(["--traceback"], is_flag=True, help="show where in the program an error came up"),
    ]


def choice(*values: str) -> click.ParamType:
    """Return the type of an option that takes one of a few words."""
    return _Choice(values)


class _Choice(click.Choice):
    """A choice that offers what a misspelt word may have meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        choices = list(self.choices)
        if value not in choices:
            self.fail(
                f"there is no {value!r}{nearest(str(value), choices)} (there are {', '.join(choices)})", param, ctx
            )
        return value


def output(text: str) -> Decorator:
    """Declare -o and --force."""
    return _all(
        option("-o", "--output", metavar="FILE", type=_FILE, help=text),
        option("--force", is_flag=True, help="overwrite the output if it exists"),
    )


class _FileName(click.ParamType):
    """The name of a file, as it was given; shells complete it."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


_FILE = _FileName()


def _all(*decorators: Decorator) -> Decorator:
    """Return a decorator that applies several, the first one first in the help."""

    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


# -- types --------------------------------------------------------------------------------------------------

POSITIVE = click.IntRange(min=1)


def amount(text: str) -> float:
    """Read an amount of 0 or more."""
    return _bounded(text, 0, sys.float_info.max, "an amount of 0 or more")


def points(text: str) -> float:
    """Read a number of points between 0 and 50."""
    return _bounded(text, 0.01, 49.99, "a number of points between 0 and 50")


def share(text: str) -> float:
    """Read a share from 0 to below 1."""
    return _bounded(text, 0, 1 - 1e-9, "a share from 0 to below 1")


def balance(text: str) -> float | dict[str, float]:
    """Read a share, or the share of each class by its name; a name may hold =, and commas separate names."""
    if "=" not in text:
        return share(text)
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        try:
            shares[name.strip()] = share(value)
        except click.BadParameter:
            raise click.BadParameter(f"{part!r} is not a class and its share, such as a=0.5") from None
    return shares


def imbalance(text: str) -> float:
    """Read a number between -1 and 1."""
    return _bounded(text, -1 + 1e-9, 1 - 1e-9, "between -1 and 1")


def _bounded(text: str, low: float, high: float, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not low <= number <= high:
        raise click.BadParameter(f"{text} is not {what}")
    return number


def sizes(text: str) -> list[int]:
    """Read sizes of groups such as 5,3,1,1."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise click.BadParameter(f"{text!r} is not a list of sizes such as 5,3,1,1")
    return found


class _Kind(click.ParamType):
    """What votes are, of all voters or of one: ``scores``, or ``judge=ordinal``."""

    name = "kind"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        voter, _, kind = str(value).rpartition("=")
        return voter, choice("auto", "labels", "ordinal", "probabilities", "scores").convert(kind, param, ctx)


def delimiter(text: str) -> str:
    """Read one character, or its name."""
    text = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}.get(text, text)
    if len(text) != 1:
        raise click.BadParameter(f"{text!r} is not one character")
    return text


# -- sections -----------------------------------------------------------------------------------------------

_READING = "How the file is read (found out and stated, unless given)"
_KNOWN = "Known facts"
_LARGE = "Votes that do not fit in memory"
EVERY_VOTER = ""  # --lower-is-positive without a name


def _read(*parts: Any, **settings: Any) -> Decorator:
    return option(*parts, section=_READING, **settings)


reading = _all(
    click.argument("file", metavar="FILE", type=_FILE),
    _read("--as", "format", metavar="NAME", help="format, one of those that `goldless formats` lists"),
    _read("--item", metavar="COLUMN", help="long table: column that names the items"),
    _read("--voter", metavar="COLUMN", help="long table: column that names the voters"),
    _read("--label", metavar="COLUMN", help="long table: column of the votes"),
    _read("--id-column", metavar="COLUMN", help="wide table: column that names the items"),
    _read("--truth", metavar="COLUMN", help="column (or VCF file) of true labels, for scoring only"),
    _read("--golden", is_flag=True, help="take the known labels of golden tasks for anchors"),
    _read("--question", metavar="NAME", help="which question, task or metric, where there are several"),
    _read("--table", metavar="NAME", help="sheet of a workbook, table or query of a database"),
    _read(
        "--pairs",
        type=choice("agree", "games"),
        default="agree",
        help="comparisons in both orders: one vote if they agree and a tie if not (default), or two votes",
    ),
    _read("--every-call", is_flag=True, help="VCF: take calls that a caller's own filter rejects for calls"),
    _read(
        "--repeats",
        type=choice("refuse", "first", "last", "most"),
        default="refuse",
        help="long table: what counts of different labels of one voter for one item (default: refuse them)",
    ),
    _read("--ignore", metavar="COLUMN", multiple=True, help="column that holds no votes (may be repeated)"),
    _read("--missing", metavar="LABEL", multiple=True, help="label that means no vote (may be repeated)"),
    _read(
        "--tie",
        type=choice("class", "missing", "half"),
        help="what the label tie means: a class of its own (default), no vote, or half a vote for each class",
    ),
    _read("--positive", metavar="LABEL", help="of two labels, or words beside numbers, the one to call positive"),
    _read(
        "--kind",
        type=_Kind(),
        multiple=True,
        metavar="[VOTER=]KIND",
        help="what votes are: labels (names of classes), or numbers for a positive class: ordinal, probabilities or "
        "scores (default auto: look at them); may be repeated for single voters",
    ),
    _read(
        "--lower-is-positive",
        is_flag=False,
        flag_value=EVERY_VOTER,
        multiple=True,
        metavar="[VOTER]",
        help="this voter (without a name: every voter) means positive by low numbers; may be repeated",
    ),
    _read("--positive-from", type=float, metavar="NUMBER", help="the smallest number that means positive, such as 4"),
    _read(
        "--classes",
        metavar="LABELS",
        help="labels there may be, in order, as a,b,c (default: those that occur); with --kind ordinal, grades",
    ),
    _read("--delimiter", type=delimiter, metavar="CHAR", help="what separates columns of text; tab is tab"),
    _read("--no-header", is_flag=True, help="the first line is votes"),
    _read("--encoding", default="utf-8", metavar="NAME", help="encoding of text (default utf-8)"),
)

second_file = click.argument("other", metavar="OTHER", type=_FILE)
fitting = _all(
    option(
        "--structure",
        type=choice("search", "paper", "independent"),
        help="how dependent voters are found: by search (default), as in the paper, or not at all",
    ),
    option(
        "--families",
        metavar="HOW",
        help="families of voters: prefix (the first part of their names), a column of a long CSV, or a CSV with the "
        "columns voter, family (default: names that share their first part, where not all do); labels ignore them",
    ),
    option(
        "--anchors",
        metavar="FILE",
        type=_FILE,
        section=_KNOWN,
        help="known labels of a few items: a CSV of item and label",
    ),
    option(
        "--at-least",
        type=int,
        metavar="N",
        section=_KNOWN,
        help="items are in the file only because at least N voters call them positive, as in merged calls; 0: "
        "not so (default: as the file says)",
    ),
    option(
        "--class-balance",
        type=balance,
        metavar="P",
        section=_KNOWN,
        help="known share of the positive class; of more than two classes of each, such as a=0.5,b=0.3,c=0.2",
    ),
    option(
        "--trusted", metavar="NAMES", section=_KNOWN, help="voters that judge for themselves and well, with commas"
    ),
)

engine = _all(
    option(
        "--engine",
        type=choice("memory", "stream", "dask", "spark"),
        section=_LARGE,
        help="read all at once, in batches, or on a Dask or Spark cluster (default: batches for folders and large "
        "files)",
    ),
    option(
        "--scheduler",
        metavar="ADDRESS",
        section=_LARGE,
        help="address of the Dask scheduler or Spark master (default: start workers here)",
    ),
)


def named_file(flag: str, **settings: Any) -> Decorator:
    """Declare an option that names a file to read."""
    return option(flag, metavar="FILE", type=_FILE, **settings)
