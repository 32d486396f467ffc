"""Pages from records: a pure function, so that no figure on a page is ever typed by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from research.experiments import NAMES, find_experiment
from research.experiments.framework import Difference, Summary
from research.experiments.headlines import headlines
from research.experiments.runner import RECORD, SCHEMA_VERSION
from research.experiments.store import write_whole

_MADE = "<!-- written by `python -m research.experiments render`; do not edit -->"
_PARTS = {"schema_version", "experiment", "experiment_version", "parameters", "units", "run"}


def read_record(path: Path) -> dict[str, Any]:
    """Read a record and check that it is one."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{path} is not a record of an experiment: it is no JSON") from None
    if not isinstance(record, dict) or not set(record) >= _PARTS:
        raise ValueError(f"{path} is not a record of an experiment")
    if record["schema_version"] != SCHEMA_VERSION:
        raise ValueError(
            f"{path} has version {record['schema_version']}, this reads {SCHEMA_VERSION}: run the experiment again"
        )
    experiment = find_experiment(record["experiment"])
    if record["experiment_version"] != experiment.version:
        raise ValueError(
            f"{path} was made by version {record['experiment_version']} of {experiment.name}, this is version "
            f"{experiment.version}: run the experiment again"
        )
    return record


def find_records(places: Iterable[str | Path]) -> dict[str, dict[str, Any]]:
    """Read the records named: files, folders of runs, or folders of records; one for each experiment."""
    found: dict[str, dict[str, Any]] = {}
    for place in map(Path, places):
        if place.is_dir():
            paths = [place / RECORD] if (place / RECORD).exists() else sorted(place.glob("*.json"))
            paths = paths or sorted(place.glob(f"*/{RECORD}"))
        else:
            paths = [place]
        if not paths:
            raise ValueError(f"there is no record in {place}; run one with -o {place} first")
        for path in paths:
            if not path.is_file():
                raise ValueError(f"there is no record {path}")
            record = read_record(path)
            if record["experiment"] in found:
                raise ValueError(f"two records of {record['experiment']}, the second is {path}; name one")
            found[record["experiment"]] = record
    return {name: found[name] for name in NAMES if name in found}


def summary_of(record: dict[str, Any]) -> Summary:
    """Return the summary of a record."""
    return find_experiment(record["experiment"]).summarise(record["units"])


def notes() -> dict[str, str]:
    """Return the sentences that explain where we differ from the paper, by key ``experiment/key``."""
    return json.loads(Path(__file__).with_name("notes.json").read_text(encoding="utf-8"))


def note_of(name: str, key: str, sentences: dict[str, str]) -> str | None:
    """Return the sentence for a difference: of its key, or of the longest beginning of it that has one."""
    parts = key.split("/")
    for length in range(len(parts), 0, -1):
        sentence = sentences.get("/".join([name, *parts[:length]]))
        if sentence:
            return sentence
    return None


def page(record: dict[str, Any], summary: Summary | None = None, figures: str = "") -> str:
    """Return the page of a record in Markdown.

    Parameters
    ----------
    record : dict
    summary : Summary, optional
        That of the record, if it is at hand.
    figures : str
        Folder of the figures and CSV files, as the page sees it, with a slash at the end.
    """
    experiment = find_experiment(record["experiment"])
    summary = summary or summary_of(record)
    lines = [f"# {experiment.title}", "", _MADE, "", _provenance(record), ""]
    for paragraph in summary.paragraphs:
        lines += [paragraph, ""]
    for figure in summary.figures:
        file = f"{figures}{figure.name}.svg"  # a link, since a telephone shows it small
        lines += [f"[![{figure.title}]({file})]({file})", "", f"*{figure.title}*", ""]
    for table in summary.tables:
        shown = [table.markdown(), *([table.note, ""] if table.note else [])]
        if table.shared:
            shown = [f"<!-- --8<-- [start:{table.name}] -->", *shown, f"<!-- --8<-- [end:{table.name}] -->", ""]
        lines += [f"## {table.title}", "", *shown]
        lines += [f"[CSV]({figures}{table.name}.csv)", ""]
    if summary.differences:
        lines += ["## Beside the paper", "", *_compared(experiment.name, summary.differences), ""]
    for remark in summary.remarks:
        lines += [remark, ""]
    lines += ["## Do it again", "", "```bash", _command(record), "```", ""]
    return "\n".join(lines)


def _provenance(record: dict[str, Any]) -> str:
    run, parameters = record["run"], record["parameters"]
    version, machine = run["versions"], run["machine"]
    sure = f"commit {run['commit']}" if run["commit"] else f"sources {run['sources']}"
    experiment = find_experiment(record["experiment"])
    drawn = f"{parameters['draws']} draws, seed {parameters['seed']}; " if experiment.draws is not None else ""
    seconds = sum(run["unit_seconds"])
    took = f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"
    return (
        f"{len(record['units'])} units of work, {drawn}{took} of computing; goldless {version['goldless']} "
        f"({sure}), Python {version['python']}, numpy {version['numpy']}, scikit-learn {version['scikit-learn']}; "
        f"{machine['cores']} cores ({machine['processor'] or machine['system']}), {run['finished'][:10]}."
        + (" **Quick sizes, to try the command: not results.**" if parameters["quick"] else "")
    )


def _compared(name: str, differences: Iterable[Difference]) -> list[str]:
    """Say for each figure of the paper whether ours is the same, and where not, why."""
    differences, sentences = list(differences), notes()
    lines, unexplained = [], []
    by_note: dict[str, list[Difference]] = {}
    for difference in differences:
        if difference.differs:
            note = note_of(name, difference.key, sentences)
            by_note.setdefault(note, []).append(difference) if note else unexplained.append(difference)
    same = sum(not difference.differs for difference in differences)
    lines.append(f"{same} of {len(differences)} figures agree with the paper to its rounding.")
    for sentence, group in by_note.items():
        lines += ["", f"- {sentence}", *(f"    - {_said(difference)}" for difference in group)]
    if unexplained:
        lines += ["", "- Different, and we do not know why:", *(f"    - {_said(d)}" for d in unexplained)]
    return lines


def _said(difference: Difference) -> str:
    gap = difference.here - difference.paper
    change = f"{gap:+.0f}" if abs(gap) >= 10 else f"{gap:+.2g}"
    return (
        f"{difference.what}: {difference.here:.3g} {difference.unit} here, "
        f"{difference.paper:.3g} in the paper ({change})"
    )


def _command(record: dict[str, Any]) -> str:
    parameters, name = record["parameters"], record["experiment"]
    words = ["python -m research.experiments run", name]
    experiment = find_experiment(name)
    if experiment.draws is not None and parameters["draws"] != experiment.draws:
        words.append(f"--draws {parameters['draws']}")
    words += [f"--seed {parameters['seed']}"] if parameters["seed"] else []
    words += ["--quick"] if parameters["quick"] else []
    if parameters["peers"]:
        words.append(f"--peers --timeout {parameters['timeout']:g}")
        words += [f"--most-votes {parameters['most_votes']}"] if parameters["most_votes"] else []
    return " ".join([*words, f"-o {name}"])


def write_run(record: dict[str, Any], folder: Path) -> list[str]:
    """Write the page, tables and figures of one run beside its record; return the names of the files."""
    summary = summary_of(record)
    produced: dict[str, str | bytes] = {"index.md": page(record, summary)}
    for table in summary.tables:
        produced[f"{table.name}.csv"] = table.csv()
        produced[f"{table.name}.md"] = table.markdown()
    for figure in summary.figures:
        produced.update(figure.files())
    for name, data in produced.items():
        write_whole(folder / name, data)
    return sorted(produced)


def render(records: dict[str, dict[str, Any]], folder: Path) -> list[str]:
    """Write one page for each record and an index of them; return the names of the files."""
    summaries = {name: summary_of(record) for name, record in records.items()}
    produced: dict[str, str | bytes] = {"index.md": index(records, summaries)}
    for name, record in records.items():
        summary = summaries[name]
        produced[f"{name}.md"] = page(record, summary, f"{name}/")
        for table in summary.tables:
            produced[f"{name}/{table.name}.csv"] = table.csv()
        for figure in summary.figures:
            produced.update({f"{name}/{file}": data for file, data in figure.files().items()})
    for path, data in produced.items():
        write_whole(folder / path, data)
    return sorted(produced)


def index(records: dict[str, dict[str, Any]], summaries: dict[str, Summary] | None = None) -> str:
    """Return the first page: what is better than what others do, what is not, and the list of the other pages."""
    summaries = summaries or {name: summary_of(record) for name, record in records.items()}
    better, not_better = headlines(summaries)
    lines = ["# Results", "", _MADE, ""]
    for title, sentences in (("What is better, by how much, on what", better), ("What is not", not_better)):
        if sentences:
            lines += [f"## {title}", "", *(f"- {sentence}" for sentence in sentences), ""]
    lines += [
        "Every method has its defaults and sees no label; truth is for scoring only. Our defaults were chosen with "
        "scores on the real panels in view, those of others were not. "
        "[What to expect of labels](../what-to-expect.md) says how often our own claims hold, "
        "[beside what people do today](../comparison.md) has the code.",
        "",
        "## All pages",
        "",
        "Each is written from a record of a run, with the figures of the paper (Jaffe, Fetaya, Nadler, Jiang and "
        "Kluger, *Unsupervised Ensemble Learning with Dependent Classifiers*) beside ours where it has any.",
        "",
        "| page | units | run | agrees with the paper |",
        "|---|---:|---|---:|",
    ]
    for name, record in records.items():
        differences = summaries[name].differences
        same = sum(not difference.differs for difference in differences)
        agrees = f"{same} of {len(differences)}" if differences else ""
        run = record["run"]
        sure = run["commit"] or run["sources"]
        title = find_experiment(name).title
        lines.append(f"| [{title}]({name}.md) | {len(record['units'])} | {run['finished'][:10]}, {sure} | {agrees} |")
    lines += ["", "```bash", "python -m research.experiments render docs/results/records -o docs/results", "```", ""]
    return "\n".join(lines)
