"""What each command does: read, fit, and hand the figures to text, JSON or a page."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import goldless as gl
from goldless.cli.costs import named_voters
from goldless.cli.errors import in_options
from goldless.cli.explain import explanation_columns
from goldless.cli.facts import describe_questions, facts_of, question_rows
from goldless.cli.families import families_from
from goldless.cli.names import voter_names
from goldless.cli.numbers import number_lines
from goldless.cli.output import Progress, check_output, write_output
from goldless.cli.screens import inspect_screen
from goldless.cli.streaming import combine_stream, is_streamed
from goldless.cli.terminal import Style, clean
from goldless.cli.variants import call_lines
from goldless.io.files import VotesFile, read_votes
from goldless.io.write_back import Labels, writer_for
from goldless.io.writing import check_ending, table_bytes
from goldless.report import render_html, summarize
from goldless.votes.votes import Votes

FITTING, CHECKING = "Fitting", "Checking"
TIES = ("tie", "Tie", "TIE")
_PAGE = "report.html"


def inspect(arguments: argparse.Namespace) -> None:
    """Print a screen of what the votes say."""
    table, model, said = read_and_fit(arguments)
    summary = summary_of(arguments, table, model, said)
    if arguments.json:
        write_json(summary)
        return
    write_lines(
        inspect_screen(
            summary,
            Style(),
            everyone=arguments.all,
            quiet=arguments.quiet,
            file=same_file(arguments),
            notes=notes_of(table),
        )
    )
    if table.reading is not None:
        write_lines(number_lines(model, table.votes, Style()))
    if summary["calls"] is not None:
        write_lines(call_lines(summary, Style()))


def report(arguments: argparse.Namespace) -> None:
    """Write the page."""
    if arguments.json and arguments.output == "-":
        raise ValueError("--json and -o - both print: name a file for the page, or leave out one of them")
    output = arguments.output or (None if arguments.json else _PAGE)
    if output is not None:
        check_output(output, arguments.force, arguments.file)
    table, model, said = read_and_fit(arguments)
    summary = summary_of(arguments, table, model, said)
    if output is not None:
        with Progress("Drawing", arguments.quiet):
            page = render_html(summary).encode()
        write_output(output, page)
    if arguments.json:
        write_json(summary)
    elif not arguments.quiet and output != "-":
        tell_reader(table, said)
        write_lines(
            [
                clean(summary["answer"]["headline"]),
                f"Wrote {output} ({len(page) / 1e6:.2g} MB): open it in a browser.",
            ]
        )


def combine(arguments: argparse.Namespace) -> None:
    """Write a label and its probability for every item."""
    check_output(arguments.output, arguments.force, arguments.file)
    to_screen = arguments.output in (None, "-")
    if not to_screen and writer_for(arguments.output, None) is None and not _is_device(arguments.output):
        check_ending(arguments.output)
    check_method(arguments)
    if is_streamed(arguments):
        combine_stream(arguments)
        return

    def check(table: VotesFile) -> None:
        """Refuse, before the fit, to write what the votes are not."""
        if not to_screen:
            writer_for(arguments.output, table)

    table, model, said = read_and_fit(arguments, check)
    votes = table.votes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        codes, probability = _labels(arguments, model, table)
    said = [*said, *(str(warning.message) for warning in caught), *_contradictions(codes, probability)]
    items = range(1, votes.n_items + 1) if votes.items is None else votes.items.tolist()
    names = [_text(label) for label in votes.classes.tolist()]
    shown = shown_classes(len(names))
    header = [table.item_title, "label", *(f"probability of {name}" for name in names[shown])]
    labelled = np.bincount(codes, minlength=len(names)).tolist()
    facts: dict[str, Any] = {
        "n_items": votes.n_items,
        "classes": names,
        "labelled": dict(zip(names, labelled, strict=True)),
        "how": how_of(table),
        "warnings": [*notes_of(table), *said],
        "output": arguments.output,
    }
    if table.truth is not None:
        facts["balanced_accuracy"] = _balanced(table.truth, codes)
    columns = [list(items), [names[code] for code in codes.tolist()], *probability[:, shown].round(4).T.tolist()]
    if arguments.explain:
        more = explanation_columns(model, votes)
        header += list(more)
        columns += list(more.values())
    if not to_screen:
        facts["warnings"] += formulas_in(arguments.output, columns[0], header, names)
    if to_screen and arguments.json:
        keys = ["item", "label", *(header[2:] if len(names) > 2 else ["probability", *header[3:]])]
        rows = zip(map(_text, columns[0]), *columns[1:], strict=True)
        write_json({**facts, "items": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    write_back = None if to_screen else writer_for(arguments.output, table)
    if write_back is not None:
        unseen = getattr(model.fitted_.unseen, "items", None)
        data = write_back(Labels(table, codes, probability, _support(model, votes), unseen))
    else:
        data = table_bytes(header, columns, arguments.output or "-")
    write_output(arguments.output, data)
    if arguments.json:
        write_json(facts)
    elif not arguments.quiet:
        tell(how_of(table), facts["warnings"])
        counted = counted_labels(facts["labelled"])
        scored = (
            f" Balanced accuracy against the truth: {100 * facts['balanced_accuracy']:.1f} %."
            if "balanced_accuracy" in facts
            else ""
        )
        line = f"Labelled {votes.n_items:,} items: {counted}.{scored}"
        if to_screen:
            sys.stderr.write(line + "\n")
        else:
            write_lines([line, f"Wrote {arguments.output}."])


def ask(arguments: argparse.Namespace) -> None:
    """Name items to label, with a gap for the label."""
    check_output(arguments.output, arguments.force, arguments.file)
    table, model, said = read_and_fit(arguments)
    votes = table.votes
    questions = model.next_to_label(votes, arguments.n)
    names = [_text(label) for label in votes.classes.tolist()]
    shown = shown_classes(len(names))
    if arguments.output not in (None, "-"):
        check_ending(arguments.output)
    rows = question_rows(questions, votes, model.predict_proba(votes)[:, shown])
    sentence = describe_questions(questions, len(rows))
    header = [table.item_title, "label", *(f"probability of {name}" for name in names[shown]), "why"]
    if arguments.output not in (None, "-") or not arguments.json:
        columns = list(zip(*rows, strict=True)) or [()] * len(header)
        write_output(arguments.output, table_bytes(header, columns, arguments.output or "-"))
    if arguments.json:
        keys = ["item", *(header[2:-1] if len(names) > 2 else ["probability"]), "why"]
        write_json(
            {
                "items": [dict(zip(keys, [row[0], *row[2:]], strict=True)) for row in rows],
                "open": questions.open,
                "n_readings": questions.n_readings,
                "enough": questions.enough,
                "how": how_of(table),
                "warnings": [*notes_of(table), *said],
                "output": arguments.output,
            }
        )
    elif not arguments.quiet:
        tell_reader(table, said)
        filled = "the file" if arguments.output in (None, "-") else arguments.output
        sys.stderr.write(f"{sentence}\nFill in the labels, then pass {filled} as --anchors.\n")


def _labels(arguments: argparse.Namespace, model: Any, table: VotesFile) -> tuple[np.ndarray, np.ndarray]:
    """Return the code of every label and the probabilities of the classes; what is known stays."""
    votes = table.votes
    classes = votes.classes.tolist()
    code_of = {label: code for code, label in enumerate(classes)}
    codes = np.array([code_of[label] for label in model.predict(votes).tolist()])
    probability = model.predict_proba(votes)
    for row, label in known_facts(arguments, table).get("anchors", {}).items():
        codes[row], probability[row] = code_of[label], np.eye(len(classes))[code_of[label]]
    return codes, probability


def _is_device(path: str) -> bool:
    return Path(path).exists() and not Path(path).is_file()


def _contradictions(codes: np.ndarray, probability: np.ndarray) -> list[str]:
    """Say for how many items the label is not the class with the highest probability."""
    other = int((probability.max(axis=1) > probability[np.arange(len(codes)), codes] + 1e-9).sum())
    if not other:
        return []
    are = "labels are" if other > 1 else "label is"
    return [
        f"{other:,} {are} not the class with the highest probability: labels weigh all classes alike, probabilities "
        "count how frequent each is."
    ]


def _support(model: Any, votes: Votes) -> np.ndarray:
    """Return how many voters support the positive class of each item, a group counted once."""
    codes, groups = np.asarray(votes.codes), np.asarray(model.groups_)
    positive = codes == votes.n_classes - 1
    return np.stack([positive[:, groups == group].any(axis=1) for group in np.unique(groups)], axis=1).sum(axis=1)


def shown_classes(n_classes: int) -> slice:
    """Return the classes whose probability is written: of two the positive one, of more all."""
    return slice(1, 2) if n_classes == 2 else slice(None)


def counted_labels(labelled: dict[str, int]) -> str:
    """Return how many items got each label, in words."""
    counts = [f"{count:,} {clean(name)}" for name, count in labelled.items()]
    return " and ".join(counts) if len(counts) == 2 else ", ".join(counts)


# -- shared -------------------------------------------------------------------------------------------------


def read_and_fit(
    arguments: argparse.Namespace, check: Callable[[VotesFile], None] | None = None
) -> tuple[VotesFile, Any, list[str]]:
    """Read the file, check it, and fit a model; return them with what was said on the way."""
    source: Any = sys.stdin.buffer if arguments.file == "-" else arguments.file
    with Progress("Reading", arguments.quiet) as progress:
        table = read_votes(
            source,
            **reading_options(arguments),
            progress=progress.update,
        )
    if arguments.tie == "half":
        table = table.with_ties_halfway(TIES)
    if check is not None:
        check(table)
    only = getattr(arguments, "only", None)
    if only is not None:
        names = voter_names(table.votes)
        chosen = [names.index(name) for name in named_voters([only], names)]
        table = replace(table, votes=table.votes.of_voters(chosen))
    with Progress(FITTING, arguments.quiet):
        if getattr(arguments, "method", None) == "majority":
            return table, gl.MajorityVote().fit(table.votes), []
        model, said = fit(table, arguments.structure, **known_facts(arguments, table))
    return table, model, said


def known_facts(arguments: argparse.Namespace, table: VotesFile) -> dict[str, Any]:
    """Return what is known besides the votes: from options, from a file of known labels, from golden tasks."""
    facts = facts_of(arguments, table.votes)
    if arguments.golden:
        if not table.gold:
            raise ValueError("--golden: the file has no golden tasks with a known label")
        facts["anchors"] = {**table.gold, **facts.get("anchors", {})}
    return facts


def check_method(arguments: argparse.Namespace) -> None:
    """Refuse options that the majority vote has no use for."""
    if arguments.method != "majority":
        return
    for option in ("structure", "anchors", "class_balance", "trusted", "explain", "golden"):
        if getattr(arguments, option):
            raise ValueError(f"--method majority counts votes and has no use for --{option.replace('_', '-')}")


def notes_of(table: VotesFile) -> list[str]:
    """Return what may have been read otherwise than it was meant, in sentences."""
    return [in_options(note) for note in table.notes]


def how_of(table: VotesFile) -> str:
    """Return how a file was read; of numbers first how these were."""
    return table.how if table.reading is None else f"{in_options(table.reading)} {table.how}"


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how a table is to be read, whether into memory or in batches."""
    return {
        "format": arguments.format,
        "item": arguments.item,
        "voter": arguments.voter,
        "label": arguments.label,
        "table": arguments.table,
        "question": arguments.question,
        "pairs": arguments.pairs,
        "every_call": arguments.every_call,
        "repeats": arguments.repeats,
        "id_column": arguments.id_column,
        "truth": arguments.truth,
        "ignore": arguments.ignore,
        "missing": [*arguments.missing, *(TIES if arguments.tie == "missing" else ())],
        "positive": arguments.positive,
        "classes": None if arguments.classes is None else [label.strip() for label in arguments.classes.split(",")],
        "kind": arguments.kind,
        "lower_is_positive": _lower_is_positive(arguments.lower_is_positive),
        "positive_from": arguments.positive_from,
        "delimiter": arguments.delimiter,
        "header": False if arguments.no_header else None,
        "encoding": arguments.encoding,
    }


def _lower_is_positive(voters: list[str | None] | None) -> bool | list[str]:
    """Return which voters mean positive by low numbers: none, all if no name is given, or those named."""
    if voters is None:
        return False
    return True if None in voters else [voter for voter in voters if voter is not None]


def fit(table: VotesFile, structure: str | None = None, **facts: Any) -> tuple[Any, list[str]]:
    """Fit the default model, with what is known besides the votes; return it and its warnings as sentences."""
    options: dict[str, Any] = {} if structure is None else {"structure": structure}
    options["at_least"] = facts.pop("at_least", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = gl.LatentSML(**options).fit(table.votes, **facts)
    unseen = [] if model.fitted_.unseen is None else [str(model.fitted_.unseen)]
    return model, [*(str(warning.message) for warning in caught), *unseen]


def same_file(arguments: argparse.Namespace) -> str:
    """Return how to name the same file, read in the same way, in another command."""
    words = ["FILE" if arguments.file == "-" else arguments.file]  # what came from a pipe is gone
    for name in (
        *(
            "format",
            "question",
            "table",
            "item",
            "voter",
            "label",
            "id_column",
            "truth",
            "ignore",
            "missing",
            "tie",
            "positive",
            "structure",
        ),
        *("positive_from",),
        *("delimiter", "encoding", "anchors", "class_balance", "trusted"),
    ):
        given = getattr(arguments, name)
        given = None if name == "encoding" and given == "utf-8" else given
        given = ",".join(f"{key}={share:g}" for key, share in given.items()) if isinstance(given, dict) else given
        for value in given if isinstance(given, list) else [given]:
            option = "--as" if name == "format" else f"--{name.replace('_', '-')}"
            words += [] if value is None else [option, str(value)]
    words += [] if arguments.kind == "auto" else ["--kind", arguments.kind]
    words += [] if arguments.repeats == "refuse" else ["--repeats", arguments.repeats]
    for voter in arguments.lower_is_positive or ():
        words += ["--lower-is-positive", *([] if voter is None else [voter])]
    for name in ("golden", "every_call"):
        words += [f"--{name.replace('_', '-')}"] if getattr(arguments, name) else []
    return shlex.join([*words, "--no-header"] if arguments.no_header else words)


def summary_of(
    arguments: argparse.Namespace,
    table: VotesFile,
    model: Any,
    said: list[str],
    panel: Sequence[int] | None = None,
    resamples: int | None = None,
) -> dict[str, Any]:
    """Return the summary of a model of the votes in a file."""
    with Progress(CHECKING, arguments.quiet) as progress:
        return summarize(
            model,
            table.votes,
            truth=table.truth,
            panel_size=getattr(arguments, "k", 5),
            panel=panel,
            families=families_from(arguments, voter_names(table.votes)),
            title=getattr(arguments, "title", None) or (Path(table.name).name if arguments.file != "-" else "votes"),
            source=how_of(table),
            warnings=[*notes_of(table), *said],
            resamples=resamples,
            progress=progress.update,
        )


def tell_reader(table: VotesFile, said: list[str]) -> None:
    """Say how the file was read and what was odd, on standard error."""
    tell(how_of(table), [*notes_of(table), *said])


def tell(how: str, warned: Sequence[str]) -> None:
    """Say how votes were read and what was odd, on standard error; names in it cannot drive the terminal."""
    style = Style(sys.stderr)
    lines = [style(clean(how), "dim"), *(style("! ", "yellow") + clean(sentence) for sentence in warned)]
    sys.stderr.write("\n".join(lines) + "\n")


def formulas_in(path: str, *texts: Iterable[Any]) -> list[str]:
    """Return a warning if a table of text holds what a spreadsheet would run; names are kept as they were given."""
    if path.lower().endswith((".jsonl", ".ndjson", ".parquet", ".pq")):
        return []
    found = next((text for part in texts for text in map(str, part) if _is_formula(text)), None)
    if found is None:
        return []
    shown = found if len(found) <= 40 else found[:39] + "…"
    return [
        f"Names are kept as they are, and a spreadsheet would run {shown!r} as a formula: import the file as text."
    ]


def _is_formula(text: str) -> bool:
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def _balanced(truth: np.ndarray, codes: np.ndarray) -> float:
    known = truth >= 0
    return round(gl.balanced_accuracy(truth[known], codes[known]), 4)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def write_json(document: Any) -> None:
    """Print one JSON document."""
    write_text(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")


def write_lines(lines: list[str]) -> None:
    """Print lines."""
    write_text("\n".join(lines) + "\n")


def write_text(text: str) -> None:
    """Print text, with question marks for what the terminal cannot show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
