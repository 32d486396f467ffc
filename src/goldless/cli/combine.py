"""``goldless combine``: one label and its probability for every item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from goldless.cli.options import Options, choice, command, engine, fitting, option, output, reading

if TYPE_CHECKING:
    from goldless.io.files import VotesFile

_LATENT, _OLD_LATENT = "latent", "combined"
# what the simpler methods have no use for
_OF_THE_MODEL = ("structure", "anchors", "class_balance", "trusted", "explain", "golden")


@command(
    "combine",
    "write one label and its probability for every item",
    """\
  goldless simulate -o votes.csv
  goldless combine votes.csv -o labels.csv
  goldless combine votes.csv | head -n 3
  goldless combine votes.csv --method majority -o counted.csv
  goldless combine votes.csv --explain -o why.csv
  goldless combine votes.csv --engine stream -o labels.parquet
""",
)
@reading
@fitting
@option(
    "--method",
    type=choice("majority", "dawid-skene", _LATENT, _OLD_LATENT),
    metavar="[majority|dawid-skene|latent]",
    default=_LATENT,
    help="votes counted, weighted as if voters were independent, or weighted with groups counted once (default)",
)
@option(
    "--explain", is_flag=True, help="add log-odds by group and, for each item, whose further vote would tell most"
)
@option("--only", metavar="VOTERS", help="combine these voters only, with commas between")
@option("--cut", type=float, metavar="P", help="in a .vcf file, mark variants of a smaller probability in FILTER")
@output(
    "file to write; its ending says what: .csv .tsv .jsonl .json .parquet .feather .vcf .vcf.gz, or for a tool such "
    "as .label_studio.json (default: standard output)"
)
@engine
def run(options: Options) -> None:
    """Write the labels."""
    from goldless.cli.output import check_output
    from goldless.cli.streaming import combine_stream, is_streamed
    from goldless.io.write_back import writer_for
    from goldless.io.writing import check_ending

    check_output(options.output, options.force, options.file)
    _check_cut(options)
    if options.output not in (None, "-") and writer_for(options.output, None) is None and not _is_device(options):
        check_ending(options.output)
    _check_method(options)
    (combine_stream if is_streamed(options) else _combine)(options)


def _combine(options: Options) -> None:
    """Read all votes at once, and write their labels."""
    import numpy as np

    from goldless.cli import labels
    from goldless.cli.display import write_json
    from goldless.cli.labels import explanation_columns
    from goldless.cli.output import write_output
    from goldless.cli.work import class_names, how_of, notes_of, read_and_fit, shown_classes
    from goldless.errors import warnings_said
    from goldless.io.write_back import Labels, writer_for
    from goldless.io.writing import table_bytes

    to_screen = options.output in (None, "-")

    def check(table: VotesFile) -> None:
        """Refuse, before the fit, to write what the votes are not."""
        if not to_screen:
            writer_for(options.output, table)

    table, model, warned = read_and_fit(options, check)
    votes = table.votes
    with warnings_said() as said:
        codes, probability = labels.labels_of(options, model, table)
    warned = [*warned, *said, *labels.contradictions(codes, probability)]
    names = class_names(votes)
    shown = shown_classes(len(names))
    header = [table.item_title, "label", *(f"probability of {name}" for name in names[shown])]
    labelled = np.bincount(codes, minlength=len(names)).tolist()
    facts: dict[str, Any] = {
        "n_items": votes.n_items,
        "classes": names,
        "labelled": dict(zip(names, labelled, strict=True)),
        "how": how_of(table),
        "warnings": [*notes_of(table), *warned],
        "output": options.output,
    }
    if table.truth is not None:
        score = labels.balanced_accuracy_of(table.truth, codes)
        if score is None:
            facts["warnings"].append(labels.nothing_scored(options.truth))
        else:
            facts["balanced_accuracy"] = score
    columns = [votes.item_names, [names[code] for code in codes.tolist()], *probability[:, shown].round(4).T.tolist()]
    if options.explain:
        more = explanation_columns(model, votes)
        header += list(more)
        columns += list(more.values())
    if not to_screen:
        facts["warnings"] += labels.formulas_in(options.output, columns[0], header, names)
    if to_screen and options.json:
        keys = ["item", "label", *(header[2:] if len(names) > 2 else ["probability", *header[3:]])]
        rows = zip(["" if item is None else str(item) for item in columns[0]], *columns[1:], strict=True)
        write_json({**facts, "items": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    write_back = None if to_screen else writer_for(options.output, table)
    if write_back is not None:
        unseen = getattr(model.fitted_.unseen, "items", None)
        data = write_back(Labels(table, codes, probability, labels.support_of(model, votes), unseen, options.cut))
    else:
        data = table_bytes(header, columns, options.output or "-")
    write_output(options.output, data)
    if options.json:
        write_json(facts)
    elif not options.quiet:
        labels.print_labelled(options, facts)


def _is_device(options: Options) -> bool:
    from pathlib import Path

    return Path(options.output).exists() and not Path(options.output).is_file()


def _check_cut(options: Options) -> None:
    """Refuse a cut that is no probability, or of what has no FILTER."""
    if options.cut is None:
        return
    if not 0 <= options.cut <= 1:
        raise ValueError(f"--cut is a probability from 0 to 1, got {options.cut:g}")
    if not (options.output or "").lower().endswith((".vcf", ".vcf.gz")):
        raise ValueError("--cut marks variants in the FILTER of a VCF file: write one, such as -o labels.vcf.gz")


def _check_method(options: Options) -> None:
    """Refuse options that the chosen method has no use for; the old name of the default is taken for one version."""
    if options.method == _OLD_LATENT:
        options.method = _LATENT
    if options.method == _LATENT:
        return
    for name in _OF_THE_MODEL:
        if getattr(options, name):
            raise ValueError(f"--method {options.method} has no use for --{name.replace('_', '-')}")
