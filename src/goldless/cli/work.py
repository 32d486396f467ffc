"""What commands share: read a file, fit a model, summarize it, and name the same file again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from goldless.cli.display import line, show
from goldless.cli.errors import in_options
from goldless.cli.facts import facts_of
from goldless.cli.options import EVERY_VOTER, Options
from goldless.cli.output import Progress
from goldless.cli.small_tables import families_from, named_voters
from goldless.errors import warnings_said
from goldless.estimators.dawid_skene import DawidSkene
from goldless.estimators.latent import LatentSML
from goldless.estimators.majority import MajorityVote
from goldless.io.files import VotesFile, read_votes
from goldless.io.tables import TIES
from goldless.report import summarize
from goldless.words import clean

FITTING, CHECKING = "Fitting", "Checking"

_AS_THEY_ARE = (  # options that have the name and the value of the parameter
    *(
        "format",
        "item",
        "voter",
        "label",
        "table",
        "question",
        "pairs",
        "every_call",
        "repeats",
        "id_column",
        "truth",
    ),
    *("positive", "positive_from", "delimiter", "encoding"),
)
_REPEATED = (  # options that say how a file is read, in a command to paste
    *("format", "question", "table", "item", "voter", "label", "id_column", "truth", "ignore", "missing", "tie"),
    *("positive", "structure", "positive_from", "delimiter", "encoding", "anchors", "class_balance", "trusted"),
)


def shown_classes(n_classes: int) -> slice:
    """Return the classes whose probability is written: of two the positive one, of more all."""
    return slice(1, 2) if n_classes == 2 else slice(None)


def counted_labels(labelled: dict[str, int]) -> str:
    """Return how many items got each label, in words."""
    counts = [f"{count:,} as {clean(name)}" for name, count in labelled.items()]
    return " and ".join(counts) if len(counts) == 2 else ", ".join(counts)


def read(arguments: Options) -> VotesFile:
    """Read the file."""
    source: Any = sys.stdin.buffer if arguments.file == "-" else arguments.file
    with Progress("Reading", arguments.quiet) as progress:
        table = read_votes(source, **reading_options(arguments), progress=progress.update)
    if arguments.tie is not None:  # what ties are was said
        table = replace(table, notes=tuple(note for note in table.notes if note.hint != "tie"))
    return table.with_ties_halfway(TIES) if arguments.tie == "half" else table


def read_and_fit(
    arguments: Options, check: Callable[[VotesFile], None] | None = None
) -> tuple[VotesFile, Any, list[str]]:
    """Read the file, check it, and fit a model; return them with its warnings."""
    table = read(arguments)
    if check is not None:
        check(table)
    only = getattr(arguments, "only", None)
    if only is not None:
        names = table.votes.voter_names
        chosen = [names.index(name) for name in named_voters([only], names)]
        table = replace(table, votes=table.votes.of_voters(chosen))
    with Progress(FITTING, arguments.quiet):
        simple = simple_method(arguments)
        if simple is not None:
            return table, *fit_of(simple, table)
        model, warned = fit(table, arguments.structure, **known_facts(arguments, table))
    return table, model, warned


def known_facts(arguments: Options, table: VotesFile) -> dict[str, Any]:
    """Return what is known besides the votes: from options, from a file of known labels, from golden tasks."""
    facts = facts_of(arguments, table.votes)
    if arguments.golden:
        if not table.gold:
            raise ValueError("--golden: the file has no golden tasks with a known label")
        facts["anchors"] = {**table.gold, **facts.get("anchors", {})}
    return facts


def notes_of(table: VotesFile) -> list[str]:
    """Return what may have been read otherwise than it was meant, in sentences."""
    return [in_options(note) for note in table.notes]


def how_of(table: VotesFile) -> str:
    """Return how a file was read; of numbers first how these were."""
    return table.how if table.reading is None else f"{in_options(table.reading)} {table.how}"


def reading_options(arguments: Options) -> dict[str, Any]:
    """Return how a table is to be read, whether into memory or in batches."""
    return {
        **{name: getattr(arguments, name) for name in _AS_THEY_ARE},
        "ignore": list(arguments.ignore),
        "missing": [*arguments.missing, *(TIES if arguments.tie == "missing" else ())],
        "classes": None if arguments.classes is None else [label.strip() for label in arguments.classes.split(",")],
        "kind": _kind(arguments.kind),
        # all voters if one is named by nothing, or those named, or none
        "lower_is_positive": EVERY_VOTER in arguments.lower_is_positive or list(arguments.lower_is_positive) or False,
        "header": False if arguments.no_header else None,
    }


def _kind(given: Sequence[tuple[str, str]]) -> str | dict[str, str]:
    """Return what votes are: of all voters, or of those that are named."""
    of_all = [kind for voter, kind in given if not voter]
    if len(of_all) > 1 or (of_all and len(given) > 1):
        raise ValueError("--kind: say one kind for all voters, or VOTER=KIND for each that is to be read otherwise")
    return of_all[0] if of_all else dict(given) or "auto"


def simple_method(arguments: Options) -> Any:
    """Return the estimator that was asked for instead of the default model, or None."""
    methods = {"majority": MajorityVote, "dawid-skene": DawidSkene}
    made = methods.get(getattr(arguments, "method", ""))
    return None if made is None else made()


def fit(table: VotesFile, structure: str | None = None, **facts: Any) -> tuple[Any, list[str]]:
    """Fit the default model, with what is known besides the votes; return it and its warnings as sentences."""
    options: dict[str, Any] = {} if structure is None else {"structure": structure}
    options["at_least"] = facts.pop("at_least", None)
    model, warned = fit_of(LatentSML(**options), table, **facts)
    unseen = [] if model.fitted_.unseen is None else [str(model.fitted_.unseen)]
    return model, [*warned, *unseen]


def fit_of(model: Any, table: VotesFile, **facts: Any) -> tuple[Any, list[str]]:
    """Fit an estimator; return it and its warnings as sentences."""
    with warnings_said() as said:
        model.fit(table.votes, **facts)
    return model, said


def same_file(arguments: Options) -> str:
    """Return how to name the same file, read in the same way, in another command."""
    words = ["FILE" if arguments.file == "-" else arguments.file]  # what came from a pipe is gone
    for name in _REPEATED:
        given = getattr(arguments, name)
        given = None if name == "encoding" and given == "utf-8" else given
        given = ",".join(f"{key}={share:g}" for key, share in given.items()) if isinstance(given, dict) else given
        for value in given if isinstance(given, tuple) else [given]:
            option = "--as" if name == "format" else f"--{name.replace('_', '-')}"
            words += [] if value is None else [option, str(value)]
    for voter, kind in arguments.kind:
        words += ["--kind", f"{voter}={kind}" if voter else kind]
    words += [] if arguments.repeats == "refuse" else ["--repeats", arguments.repeats]
    for voter in arguments.lower_is_positive:
        words += ["--lower-is-positive", *([] if voter == EVERY_VOTER else [voter])]
    for name in ("golden", "every_call"):
        words += [f"--{name.replace('_', '-')}"] if getattr(arguments, name) else []
    return shlex.join([*words, "--no-header"] if arguments.no_header else words)


def summary_of(
    arguments: Options,
    table: VotesFile,
    model: Any,
    warned: list[str],
    panel: Sequence[int] | None = None,
    resamples: int | None = None,
    against: Any = None,
) -> dict[str, Any]:
    """Return the summary of a model of the votes in a file."""
    with Progress(CHECKING, arguments.quiet) as progress:
        return summarize(
            model,
            table.votes,
            truth=table.truth,
            panel_size=getattr(arguments, "k", 5),
            panel=panel,
            families=families_from(arguments, table.votes.voter_names),
            title=getattr(arguments, "title", None) or (Path(table.name).name if arguments.file != "-" else "votes"),
            source=how_of(table),
            warnings=[*notes_of(table), *warned],
            resamples=resamples,
            against=against,
            progress=progress.update,
        )


def print_notes(how: str, warned: Sequence[str]) -> None:
    """Print how votes were read and what was odd, on standard error; names in it cannot drive the terminal."""
    show([line(clean(how), "dim"), *(line(f"! {clean(warning)}", "yellow") for warning in warned)], sys.stderr)


def print_reading(table: VotesFile, warned: list[str]) -> None:
    """Print how a file was read and what was odd, on standard error."""
    print_notes(how_of(table), [*notes_of(table), *warned])


def class_names(votes: Any) -> list[str]:
    """Return the classes as text."""
    return ["" if label is None else str(label) for label in votes.classes.tolist()]
