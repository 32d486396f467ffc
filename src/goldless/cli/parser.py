"""Commands and their options."""

from __future__ import annotations

import argparse
import math
import sys
from importlib.metadata import version

from goldless.cli.completion import SHELLS
from goldless.cli.examples import EXAMPLES
from goldless.cli.usage import Parser


def build_parser() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="goldless",
        description="Combine voters that may echo each other, when there is no gold label.",
        epilog=EXAMPLES[None],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"goldless {version('goldless')}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, run: str, summary: str, *parents: Parser) -> Parser:
        command = subparsers.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=EXAMPLES[name],
            parents=list(parents),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run)
        return command

    common, reading, fitting = _common(), _reading(), _fitting()

    demo = add("demo", "demo:run", "do the main job on real votes: inspect, combine, select, report, score", common)
    demo.add_argument(
        "--seed", type=int, default=1, help="seed of the ensemble (default 1; on seed 0 the majority happens to win)"
    )
    _output(demo, "report to write (default goldless-demo.html in a new temporary folder)")

    inspect = add(
        "inspect",
        "commands:inspect",
        "say who echoes whom, how good each voter is, what to do",
        common,
        reading,
        fitting,
    )
    inspect.add_argument("--all", action="store_true", help="list every voter, however many there are")

    combine = add(
        "combine", "commands:combine", "write one label and its probability for every item", common, reading, fitting
    )
    combine.add_argument(
        "--explain",
        action="store_true",
        help="add log-odds by group and, for each item, whose further vote would tell most",
    )
    combine.add_argument(
        "--method",
        choices=("combined", "majority"),
        default="combined",
        help="how votes are combined: weighed by the model (default), or counted",
    )
    combine.add_argument("--only", metavar="VOTERS", help="combine these voters only, with commas between")
    _output(
        combine,
        "file to write; its ending says what: .csv .tsv .jsonl .json .parquet .feather .vcf .vcf.gz, or for a tool "
        "such as .label_studio.json (default: standard output)",
    )
    _engine(combine)

    select = add(
        "select",
        "select:select",
        "name a small panel of accurate voters that do not echo each other",
        common,
        reading,
        fitting,
    )
    select.add_argument(
        "-k", type=_positive, metavar="K", help="size of the panel (default 5); with --budget, the most it may have"
    )
    select.add_argument("--costs", metavar="FILE", help="cost of each voter: a file with the columns voter, cost")
    select.add_argument(
        "--budget", type=_amount, metavar="B", help="what the panel may cost, in the units of --costs"
    )
    for option, what in (("include", "must"), ("exclude", "must not")):
        select.add_argument(
            f"--{option}",
            metavar="VOTERS",
            action="append",
            default=[],
            help=f"voters that {what} be in the panel, with commas between (may be repeated)",
        )

    ask = add(
        "ask",
        "commands:ask",
        "name the items whose labels would tell most, ready to fill in",
        common,
        reading,
        fitting,
    )
    ask.add_argument("-n", type=_positive, default=20, metavar="N", help="how many items (default 20)")
    _output(ask, "file to write, .csv or .tsv, to fill in and pass as --anchors (default: standard output)")

    audit = add(
        "audit",
        "audit:audit",
        "measure how good the labels are, from a few labels of items drawn at random",
        common,
        reading,
        fitting,
    )
    audit.add_argument("-n", type=_positive, default=30, metavar="N", help="how many items to draw (default 30)")
    audit.add_argument("--seed", type=int, default=0, help="seed of the draw (default 0)")
    audit.add_argument("--labels", metavar="FILE", help="the items that were drawn, with their labels filled in")
    audit.add_argument(
        "--sequential",
        action="store_true",
        help="let the intervals hold however often one looks (so it is anyway if only the first lines have labels)",
    )
    audit.add_argument(
        "--cross-fit",
        action="store_true",
        help="measure the labels of a fit with the same labels as anchors too",
    )
    _output(audit, "file to write, .csv or .tsv, to fill in and pass as --labels (default: standard output)")

    report = add(
        "report",
        "commands:report",
        "write a page with the whole picture, to open and to send on",
        common,
        reading,
        fitting,
    )
    _output(report, "page to write (default report.html; with --json none, unless it is named)")
    report.add_argument("-k", type=_positive, default=5, metavar="K", help="size of the suggested panel (default 5)")
    report.add_argument("--title", help="title of the page (default: the name of the file)")

    simulate = add(
        "simulate", "simulate:simulate", "draw votes from the model of the paper, with their truth", common
    )
    simulate.add_argument("--items", type=_positive, default=10_000, help="number of items (default 10000)")
    simulate.add_argument(
        "--groups",
        type=_sizes,
        default=[5] + [1] * 15,
        help="sizes of the groups, such as 5,3,1,1 (default 5 and fifteen times 1)",
    )
    simulate.add_argument(
        "--classes", type=_classes, default=2, metavar="C", help="number of classes, from 2 to 100 (default 2)"
    )
    simulate.add_argument(
        "--imbalance", type=_imbalance, default=0.0, help="class imbalance, from -1 to 1 (default 0)"
    )
    simulate.add_argument("--missing-rate", type=_share, default=0.0, help="share of missing votes (default 0)")
    simulate.add_argument("--seed", type=int, default=0, help="seed (default 0)")
    simulate.add_argument("--long", action="store_true", help="write one row a vote instead of one row an item")
    _output(simulate, "file to write (default: standard output)")

    add("formats", "formats:run", "list the formats that votes are read from, and written to", common)

    completion = add("completion", "completion:run", "print a completion script for a shell")
    completion.add_argument("shell", choices=SHELLS)
    return parser


def _common() -> Parser:
    parent = Parser(add_help=False)
    parent.add_argument("-q", "--quiet", action="store_true", help="say nothing but the result")
    parent.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    return parent


def _reading() -> Parser:
    parent = Parser(add_help=False)
    parent.add_argument(
        "file",
        metavar="FILE",
        help="file, folder or pattern in any format that `goldless formats` lists; - is standard input",
    )
    group = parent.add_argument_group("how the file is read (found out and stated, unless given)")
    group.add_argument(
        "--as", dest="format", metavar="NAME", help="format, one of those that `goldless formats` lists"
    )
    group.add_argument("--item", metavar="COLUMN", help="long table: column that names the items")
    group.add_argument("--voter", metavar="COLUMN", help="long table: column that names the voters")
    group.add_argument("--label", metavar="COLUMN", help="long table: column of the votes")
    group.add_argument("--id-column", metavar="COLUMN", help="wide table: column that names the items")
    group.add_argument("--truth", metavar="COLUMN", help="column (or VCF file) of true labels, for scoring only")
    group.add_argument("--golden", action="store_true", help="take the known labels of golden tasks for anchors")
    group.add_argument("--question", metavar="NAME", help="which question, task or metric, where there are several")
    group.add_argument("--table", metavar="NAME", help="sheet of a workbook, table or query of a database")
    group.add_argument(
        "--pairs",
        choices=("agree", "games"),
        default="agree",
        help="comparisons in both orders: one vote if they agree and a tie if not (default), or two votes",
    )
    group.add_argument(
        "--every-call", action="store_true", help="VCF: take calls that a caller's own filter rejects for calls"
    )
    group.add_argument(
        "--ignore", metavar="COLUMN", action="append", default=[], help="column that is no vote (may be repeated)"
    )
    group.add_argument(
        "--missing", metavar="LABEL", action="append", default=[], help="label that means no vote (may be repeated)"
    )
    group.add_argument(
        "--tie",
        choices=("class", "missing", "half"),
        help="what the label tie means: a class of its own (default), no vote, or half a vote for each class",
    )
    group.add_argument("--positive", metavar="LABEL", help="of two labels the one to call positive")
    group.add_argument(
        "--kind",
        choices=("auto", "labels", "ordinal", "probabilities", "scores"),
        default="auto",
        help="what votes are: names of classes, or numbers for a positive class (default: look at them)",
    )
    group.add_argument(
        "--lower-is-positive",
        nargs="?",
        action="append",
        metavar="VOTER",
        help="this voter (without a name: every voter) means positive by low numbers; may be repeated",
    )
    group.add_argument(
        "--positive-from", type=float, metavar="NUMBER", help="the smallest number that means positive, such as 4"
    )
    group.add_argument(
        "--classes", metavar="LABELS", help="labels there may be, in order, as a,b,c (default: those that occur)"
    )
    group.add_argument(
        "--delimiter", type=_delimiter, metavar="CHAR", help="what separates columns of text; tab is tab"
    )
    group.add_argument("--no-header", action="store_true", help="the first line is votes")
    group.add_argument("--encoding", default="utf-8", help="encoding of text (default utf-8)")
    return parent


def _fitting() -> Parser:
    parent = Parser(add_help=False)
    parent.add_argument(
        "--structure",
        choices=("search", "paper", "independent"),
        help="how echoes are found: by search (default), as in the paper, or not at all",
    )
    parent.add_argument(
        "--families",
        metavar="HOW",
        help="families of voters: prefix (the first part of their names), a column of a long CSV, or a CSV with the "
        "columns voter, family (default: names that share their first part, where not all do); labels ignore them",
    )
    known = parent.add_argument_group("what is known besides the votes")
    known.add_argument("--anchors", metavar="FILE", help="known labels of a few items: a CSV of item and label")
    known.add_argument(
        "--at-least",
        type=int,
        metavar="N",
        help="items are in the file only because at least N voters call them positive, as in merged calls; 0: "
        "not so (default: as the file says)",
    )
    known.add_argument(
        "--class-balance",
        type=_balance,
        metavar="P",
        help="known share of the positive class; of more than two classes of each, such as a=0.5,b=0.3,c=0.2",
    )
    known.add_argument("--trusted", metavar="NAMES", help="voters that judge for themselves and well, with commas")
    return parent


def _engine(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("votes that do not fit in memory")
    group.add_argument(
        "--engine",
        choices=("memory", "stream", "dask", "spark"),
        help="read all at once, in batches, or on a Dask or Spark cluster (default: batches for folders and large "
        "files)",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of the Dask scheduler or Spark master (default: start workers here)",
    )


def _output(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=text)
    parser.add_argument("--force", action="store_true", help="overwrite the output if it exists")


def _positive(text: str) -> int:
    return _bounded(int(text), text, 1, math.inf, "a positive number")  # type: ignore[return-value]


def _amount(text: str) -> float:
    return _bounded(float(text), text, 0, sys.float_info.max, "an amount of 0 or more")


def _classes(text: str) -> int:
    return _bounded(int(text), text, 2, 100, "a number of classes from 2 to 100")  # type: ignore[return-value]


def _share(text: str) -> float:
    return _bounded(float(text), text, 0, 1 - 1e-9, "a share from 0 to below 1")


def _balance(text: str) -> float | dict[str, float]:
    """Return a share, or the share of each class by its name; a name may hold = and commas hold names apart."""
    if "=" not in text:
        return _share(text)
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.rpartition("=")
        try:
            shares[name.strip()] = _share(share)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{part!r} is not a class and its share, such as a=0.5") from None
    return shares


def _imbalance(text: str) -> float:
    return _bounded(float(text), text, -1 + 1e-9, 1 - 1e-9, "between -1 and 1")


def _bounded(number: float, text: str, low: float, high: float, what: str) -> float:
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"{text} is not {what}")
    return number


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of sizes such as 5,3,1,1")
    return sizes


def _delimiter(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text
