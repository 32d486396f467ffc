"""Labels of items on their way into a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

import goldless as gl
from goldless.cli.display import line, show
from goldless.cli.options import Options
from goldless.cli.work import counted_labels, known_facts, print_notes
from goldless.io.files import VotesFile
from goldless.report.items import together
from goldless.votes.alphabet import codes_of
from goldless.votes.votes import Votes
from goldless.words import percent, shortened

_FOR_SPREADSHEETS = (".csv", ".tsv")


def labels_of(options: Options, model: Any, table: VotesFile) -> tuple[np.ndarray, np.ndarray]:
    """Return the code of every label and the probabilities of the classes; what is known stays."""
    votes = table.votes
    classes = votes.classes.tolist()
    codes, probability = codes_of(model.predict(votes), votes.classes), model.predict_proba(votes)
    for row, label in known_facts(options, table).get("anchors", {}).items():
        codes[row] = classes.index(label)
        probability[row] = np.eye(len(classes))[codes[row]]
    return codes, probability


def contradictions(codes: np.ndarray, probability: np.ndarray) -> list[str]:
    """Say for how many items the label is not the class with the highest probability."""
    other = int((probability.max(axis=1) > probability[np.arange(len(codes)), codes] + 1e-9).sum())
    if not other:
        return []
    are = "labels are" if other > 1 else "label is"
    return [
        f"{other:,} {are} not the class with the highest probability: labels weigh all classes alike, probabilities "
        "count how frequent each is."
    ]


def support_of(model: Any, votes: Votes) -> np.ndarray:
    """Return how many voters support the positive class of each item, a group counted once."""
    codes = np.asarray(votes.codes)
    groups = np.asarray(getattr(model, "groups_", np.arange(votes.n_voters)))
    positive = codes == votes.n_classes - 1
    return np.stack([positive[:, groups == group].any(axis=1) for group in np.unique(groups)], axis=1).sum(axis=1)


def balanced_accuracy_of(truth: np.ndarray, codes: np.ndarray) -> float | None:
    """Return the balanced accuracy of labels where the truth is known, None if it is nowhere."""
    known = truth >= 0
    if not known.any():
        return None
    return round(gl.balanced_accuracy(truth[known], codes[known]), 4)


def nothing_scored(truth: str | None) -> str:
    """Say that the truth is empty."""
    return f"Nothing was scored: no item has a label in {shortened(str(truth))!r}."


def formulas_in(path: str | None, *texts: Iterable[Any]) -> list[str]:
    """Return a warning if a table of text holds what a spreadsheet would run; names are kept as they were given."""
    if path is None or not path.lower().endswith(_FOR_SPREADSHEETS):
        return []
    found = next((text for part in texts for text in map(str, part) if _is_formula(text)), None)
    if found is None:
        return []
    return [
        f"Names are kept as they are, and a spreadsheet would run {shortened(found)!r} as a formula: import the file "
        "as text."
    ]


def formulas_in_file(path: str) -> list[str]:
    """Return the same warning of a table that was written in batches: items and labels are its first two columns."""
    import pyarrow as pa
    from pyarrow import compute, csv

    if not path.lower().endswith(_FOR_SPREADSHEETS):
        return []
    parsing = csv.ParseOptions(delimiter="\t" if path.lower().endswith(".tsv") else ",", newlines_in_values=True)
    with csv.open_csv(path, parse_options=parsing) as table:
        names = table.schema.names[:2]
    columns = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), include_columns=names)
    with csv.open_csv(path, parse_options=parsing, convert_options=columns) as table:
        for batch in table:
            may_be = (part.filter(compute.match_substring_regex(part, "^[=+@\t\r-]")) for part in batch.columns)
            if found := formulas_in(path, *(part.to_pylist() for part in may_be)):
                return found
    return []


def _is_formula(text: str) -> bool:
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def print_labelled(options: Options, facts: dict[str, Any]) -> None:
    """Say how many items got each label, and how good the labels are where the truth is known."""
    print_notes(facts["how"], facts["warnings"])
    score = facts.get("balanced_accuracy")
    scored = "" if score is None else f" Balanced accuracy against the truth: {percent(score)}."
    labelled = f"Labelled {facts['n_items']:,} items: {counted_labels(facts['labelled'])}.{scored}"
    if options.output in (None, "-"):
        show([line(labelled)], sys.stderr)
    else:
        show([line(labelled), line(f"Wrote {options.output}.")])


def explanation_columns(model: Any, votes: Votes) -> dict[str, list]:
    """Return by header: log-odds in all, by the class balance and by each group, and whom to ask next.

    Log-odds are those of the positive class or, of more than two classes, of the most probable class against the
    next; then two columns name these.
    """
    why = model.explain(votes)
    names = votes.voter_names
    columns: dict[str, list] = {}
    if votes.n_classes > 2:
        classes = [str(label) for label in votes.classes.tolist()]
        columns["most_probable"] = [classes[code] for code in why.label.tolist()]
        columns["runner_up"] = [classes[code] for code in why.runner_up.tolist()]
    columns["log-odds"] = why.log_odds.round(3).tolist()
    columns["prior_log_odds"] = np.broadcast_to(why.prior, why.log_odds.shape).round(3).tolist()
    for group, voters in enumerate(why.groups):
        columns[f"from {together(names, voters)}"] = why.by_group[:, group].round(3).tolist()
    if abs(why.other).max(initial=0.0) > 1e-6:
        columns["from item subtypes"] = why.other.round(3).tolist()
    columns["next_voter"] = [names[voter] if voter >= 0 else "a new voter" for voter in why.next_voter.tolist()]
    columns["expected_gain_bits"] = why.next_gain.round(4).tolist()
    return columns
