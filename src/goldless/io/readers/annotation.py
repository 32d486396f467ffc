"""Exports of annotation tools in JSON, and of weak supervision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goldless.errors import Note, VotesError
from goldless.io.readers.base import File, Read, ReaderOptions, Roles, chosen, empty_file, long_table, read_long
from goldless.io.readers.records import Document, JsonFormat, parse_json

SEVERAL = " + "  # between the choices of one answer

# -- Label Studio -------------------------------------------------------------------------------------------


def label_studio_item(task: dict, number: int) -> Any:
    """Return how a task is called: its id, or its number from 1."""
    return task.get("id", number + 1)


def _label_studio(documents: list[Document], options: ReaderOptions) -> Read:
    (document,) = documents
    name, tasks = document.file.name, document.records
    rows: list[tuple[Any, str, str, Any]] = []
    skipped = gold = 0
    for number, task in enumerate(tasks):
        item = label_studio_item(task, number)
        for given in task.get("annotations") or task.get("completions") or ():
            if given.get("was_cancelled"):
                skipped += 1
                continue
            gold += bool(given.get("ground_truth"))
            rows += [(item, _annotator(given), *answer) for answer in _answers(given.get("result") or ())]
        for given in task.get("predictions") or ():
            if isinstance(given, dict):
                voter = str(given.get("model_version") or "prediction")
                rows += [(item, voter, *answer) for answer in _answers(given.get("result") or ())]
    if not rows:
        raise empty_file(name, "was read as Label Studio tasks and holds no choices, ratings or pairwise answers")
    question = chosen([row[2] for row in rows], "questions", name, options)
    notes = []
    if skipped:
        notes.append(Note(f"{skipped:,} cancelled annotation{'s were' if skipped > 1 else ' was'} left out"))
    if gold:
        notes.append(Note(f"{gold:,} annotations are marked as ground truth and were read as votes"))
    votes = [(item, voter, label) for item, voter, asked, label in rows if asked == question]
    return read_long(votes, f"Label Studio tasks, question {question!r}", name, notes, question=question)


def _annotator(annotation: dict) -> str:
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        return str(who.get("email") or who.get("id"))
    return "annotator" if who is None else str(who)


def _answers(results: Sequence[dict]) -> list[tuple[str, Any]]:
    """Return the question and the answer of each result that chooses one of several."""
    found: list[tuple[str, Any]] = []
    for result in results:
        kind, value = result.get("type"), result.get("value") or {}
        if kind == "choices" and value.get("choices"):
            found.append((str(result.get("from_name")), SEVERAL.join(map(str, value["choices"]))))
        elif kind == "rating":
            found.append((str(result.get("from_name")), value.get("rating")))
        elif kind == "pairwise":
            found.append((str(result.get("from_name")), value.get("selected")))
    return found


# -- Argilla, doccano, Prodigy ------------------------------------------------------------------------------


def _argilla(documents: list[Document], options: ReaderOptions) -> Read:
    (document,) = documents
    records, name = document.records, document.file.name
    end = ".responses"
    records = [_flat_argilla(record) for record in records]
    asked = [key[: -len(end)] for record in records for key in record if key.endswith(end)]
    if not asked:
        return _argilla_1(records, name)
    question = chosen(asked, "questions", name, options)
    rows, drafts = [], 0
    for number, record in enumerate(records):
        item = record.get("id", number + 1)
        labels = record.get(f"{question}.responses") or ()
        users = record.get(f"{question}.responses.users") or [f"user {n + 1}" for n in range(len(labels))]
        states = record.get(f"{question}.responses.status") or ["submitted"] * len(labels)
        for user, label, state in zip(users, labels, states, strict=False):
            if state == "submitted":
                rows.append((item, str(user), _plain(label)))
            else:
                drafts += 1
        if record.get(f"{question}.suggestion") is not None:
            agent = record.get(f"{question}.suggestion.agent") or "suggestion"
            rows.append((item, str(agent), _plain(record[f"{question}.suggestion"])))
    notes = [Note(f"{drafts:,} responses that are not submitted were left out")] if drafts else []
    return read_long(rows, f"Argilla records, question {question!r}", name, notes, question=question)


def _flat_argilla(record: dict) -> dict:
    """Return a record with keys such as ``label.responses``, as Argilla flattens it."""
    if not isinstance(record.get("responses"), dict):
        return record
    flat = {key: value for key, value in record.items() if key not in ("responses", "suggestions")}
    for question, given in record["responses"].items():
        flat[f"{question}.responses"] = [one.get("value") for one in given or ()]
        flat[f"{question}.responses.users"] = [one.get("user_id") for one in given or ()]
        flat[f"{question}.responses.status"] = [one.get("status") or "submitted" for one in given or ()]
    for question, given in (record.get("suggestions") or {}).items():
        flat.setdefault(f"{question}.responses", [])
        flat[f"{question}.suggestion"] = given.get("value")
        flat[f"{question}.suggestion.agent"] = given.get("agent")
    return flat


def _argilla_1(records: list[dict], name: str) -> Read:
    """Read records of the first version: annotation and prediction beside each other."""
    rows: list[tuple] = []
    for number, record in enumerate(records):
        item = record.get("id", number + 1)
        if record.get("annotation") is not None:
            rows.append((item, str(record.get("annotation_agent") or "annotation"), _plain(record["annotation"])))
        if record.get("prediction"):
            best = max(record["prediction"], key=lambda guess: guess.get("score", 0))
            rows.append((item, str(record.get("prediction_agent") or "prediction"), best.get("label")))
    return read_long(rows, "Argilla records (version 1)", name)


def _plain(value: Any) -> Any:
    """Return an answer as a plain value: of a list its only element."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 else SEVERAL.join(map(str, value)) or None
    if isinstance(value, dict):
        return value.get("value")
    return value


def _doccano(documents: list[Document], options: ReaderOptions) -> Read:
    rows = []
    for document in documents:
        for number, record in enumerate(document.records):
            item = record.get("id", record.get("text", number + 1))
            label = record.get("label", record.get("labels"))
            rows.append((item, document.file.stem, _plain(label)))
    return read_long(rows, "doccano exports, each file one annotator", str(Path(documents[0].file.name)))


def _prodigy(documents: list[Document], options: ReaderOptions) -> Read:
    records = [record for document in documents for record in document.records]
    name = documents[0].file.name
    by_input: dict[Any, set] = {}
    for record in records:
        by_input.setdefault(record["_input_hash"], set()).add(record.get("label"))
    several_labels = any(len(labels) > 1 for labels in by_input.values())
    choice = any("accept" in record for record in records)
    rows = []
    for record in records:
        answer = record.get("answer")
        if choice:
            label = _plain(record.get("accept") or []) if answer == "accept" else None
        else:
            label = answer if answer in ("accept", "reject") else None
        item = record.get("_task_hash" if several_labels and not choice else "_input_hash")
        rows.append((item, str(record.get("_annotator_id") or record.get("_session_id") or "annotator"), label))
    how = "Prodigy annotations" + (", choices" if choice else ", accept or reject")
    return read_long(rows, how, name, classes=None if choice else ("reject", "accept"))


# -- Ground Truth, wrench -----------------------------------------------------------------------------------


def _ground_truth(documents: list[Document], options: ReaderOptions) -> Read:
    rows, merged = [], []
    for document in documents:
        here = []
        for number, record in enumerate(document.records):
            item = record.get("source-ref") or record.get("source") or record.get("datasetObjectId", number + 1)
            for answers in _all_workers(record):
                for answer in answers:
                    content = (answer.get("annotationData") or {}).get("content")
                    here.append((item, str(answer["workerId"]), _worker_label(content)))
        rows += here
        if not here:
            merged.append(document.file.name)
    if not rows:
        raise VotesError(
            "merged-only",
            f"{merged[0]} is a manifest of SageMaker Ground Truth, which holds the merged label only",
            "all-workers",
            {"file": merged[0]},
        )
    notes = [Note(f"{name} holds merged labels only and was left out") for name in merged]
    return read_long(rows, "SageMaker Ground Truth, annotations of all workers", documents[0].file.name, notes)


def _all_workers(value: Any) -> list:
    """Return the lists of annotations from all workers, wherever they are in a record."""
    if isinstance(value, dict):
        if isinstance(value.get("annotations"), list) and all("workerId" in part for part in value["annotations"]):
            return [value["annotations"]]
        found = [value["annotationsFromAllWorkers"]] if "annotationsFromAllWorkers" in value else []
        return found + [part for inner in value.values() if isinstance(inner, dict) for part in _all_workers(inner)]
    return []


def _worker_label(content: Any) -> Any:
    """Return the label in what a worker sent: the first plain value of its JSON."""
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            return content
    while isinstance(content, dict | list):
        if not content:
            return None
        content = next(iter(content.values())) if isinstance(content, dict) else content[0]
    return content


def _wrench(documents: list[Document], options: ReaderOptions) -> Read:
    (document,) = documents
    words = {}
    path = document.file.path
    if path is not None and (path.parent / "label.json").is_file():
        words = parse_json(File(path.parent / "label.json")).value
    rows = []
    for item, record in document.value.items():
        truth = record.get("label")
        truth = words.get(str(truth), truth)
        for number, label in enumerate(record["weak_labels"], 1):
            rows.append((item, f"rule {number}", None if label == -1 else words.get(str(label), label), truth))
    if not rows:
        raise empty_file(document.file.name)
    roles = Roles("item", "voter", "label", truth="truth")
    table = long_table(rows, ("item", "voter", "label", "truth"))
    return Read(table, "wrench weak labels, -1 abstains", roles)


FORMATS = (
    JsonFormat(
        "label_studio", "Label Studio JSON", ("annotations", "result", "from_name", "type", "value"), _label_studio
    ),
    JsonFormat("argilla", "Argilla records in JSON", ("id", "_server_id"), _argilla),
    JsonFormat("prodigy", "Prodigy db-out lines", ("_input_hash", "_task_hash", "answer"), _prodigy, True),
    JsonFormat(
        *("ground_truth", "SageMaker Ground Truth, all workers", ("workerId", "annotationData"), _ground_truth, True)
    ),
    JsonFormat(
        *("ground_truth", "SageMaker Ground Truth manifest", ("human-annotated", "job-name"), _ground_truth, True),
        without=("workerId",),
    ),
    JsonFormat("wrench", "wrench train.json", ("weak_labels", "label", "data"), _wrench),
    JsonFormat(
        *("argilla", "Argilla records (version 1)", ("annotation", "annotation_agent", "prediction"), _argilla)
    ),
    JsonFormat("argilla", "Argilla records", ("id",), _argilla, pattern=rb'\.responses\.users"\s*:'),
    JsonFormat("label_studio", "Label Studio JSON", ("completions", "result", "from_name", "type"), _label_studio),
    JsonFormat(
        *("doccano", "doccano exports, one file an annotator", ("text", "label"), _doccano, True),
        pattern=rb'"label"\s*:\s*\[',
        without=("_input_hash", "weak_labels", "annotators", "annotations"),
    ),
)
