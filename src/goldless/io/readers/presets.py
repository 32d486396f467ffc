"""Tables of tools, known by the names of their columns, whatever kind of file they came in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from goldless.errors import Note, VotesError
from goldless.io.readers.base import Read, ReaderOptions, Roles, long_table, several
from goldless.words import listed


@dataclass(frozen=True)
class Preset:
    """A kind of table, told by its columns.

    Attributes
    ----------
    name, title : str
    fits : callable
        Whether a table with these columns is of this kind.
    read : callable
        Takes what a reader gave, its columns and the options; returns it with roles.
    """

    name: str
    title: str
    fits: Callable[[frozenset[str]], bool]
    read: Callable[[Read, ReaderOptions, str], Read]


CROWDKIT = "crowdkit"


def _text(column: Any) -> Any:
    """Return a column as text, each value by itself."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _lower(column: Any) -> Any:
    return pc.utf8_lower(pc.utf8_trim_whitespace(_text(column)))


def _keep(read: Read, mask: Any, why: str) -> Read:
    """Return the rows where a mask holds, and say how many were left out."""
    kept = read.table.filter(mask)
    lost = read.table.num_rows - kept.num_rows
    if not lost:
        return read
    note = Note(f"{lost:,} row{'s' if lost > 1 else ''} {why} {'were' if lost > 1 else 'was'} left out")
    return replace(read, table=kept, notes=(*read.notes, note))


def _with_left_out(read: Read, left: Sequence[str], why: str) -> tuple[Note, ...]:
    """Return the notes on what was read, and which columns were left out."""
    return (*read.notes, Note(f"Left out, for they are {why}: {listed(left, 6, repr)}")) if left else read.notes


def _one(found: Sequence[str], what: str, name: str, options: ReaderOptions) -> str:
    """Return the column that the user asked for, or the only one."""
    if options.label in found:
        return str(options.label)
    if options.question is not None:
        for title in found:
            if title == options.question or title.rpartition(":")[2].rpartition(".")[2] == options.question:
                return title
    if not found:
        raise VotesError("no-columns", f"{name} has no {what}, so it holds no votes", where={"file": name})
    if len(found) != 1 or options.question is not None:
        raise several(name, what, found, "question")
    return found[0]


def _as(read: Read, how: str, roles: Roles, **more: Any) -> Read:
    return replace(read, how=f"{how} ({read.how})", roles=roles, certain=True, **more)


# -- crowds -------------------------------------------------------------------------------------------------


def _crowdkit(read: Read, options: ReaderOptions, name: str) -> Read:
    voter = "worker" if "worker" in read.table.column_names else "performer"
    return _as(read, "crowd-kit's task, worker, label", Roles("task", voter, "label"))


def _mturk(read: Read, options: ReaderOptions, name: str) -> Read:
    if "AssignmentStatus" in read.table.column_names:
        status = _lower(read.table["AssignmentStatus"])
        read = _keep(read, pc.fill_null(pc.not_equal(status, "rejected"), True), "of rejected assignments")
    answers = [title for title in read.table.column_names if title.startswith("Answer.")]
    if answers == ["Answer.taskAnswers"]:
        return _mturk_json(read, options, name)
    chosen: dict[str, list[str]] = {}
    for title in answers:  # Answer.sentiment.positive, Answer.sentiment.negative: true or false
        question, _, choice = title.removeprefix("Answer.").rpartition(".")
        if question and choice and _are_switches(read.table[title]):
            chosen.setdefault(question, []).append(title)
    switches = {question: titles for question, titles in chosen.items() if len(titles) > 1}
    if len(switches) == 1 and len(answers) == len(next(iter(switches.values()))):
        return _mturk_switches(read, *next(iter(switches.items())))
    title = _one(answers, "questions", name, options)
    return _as(read, f"MTurk results, {title!r}", Roles("HITId", "WorkerId", title))


def _are_switches(column: Any) -> bool:
    return {value for value in pc.unique(_lower(column)).to_pylist() if value} <= {"true", "false"}


def _mturk_switches(read: Read, question: str, titles: list[str]) -> Read:
    on = [pc.equal(_lower(read.table[title]), "true").to_pylist() for title in titles]
    names = [title.rpartition(".")[2] for title in titles]
    labels = [
        next((name for name, is_on in zip(names, row, strict=True) if is_on), None) for row in zip(*on, strict=True)
    ]
    table = read.table.append_column(f"Answer.{question}", pa.array(labels))
    roles = Roles("HITId", "WorkerId", f"Answer.{question}")
    return _as(replace(read, table=table), f"MTurk results, 'Answer.{question}'", roles)


def _mturk_json(read: Read, options: ReaderOptions, name: str) -> Read:
    """Read answers that are JSON: one object, or a list of one, of questions and answers."""
    rows = []
    columns = (read.table[title].to_pylist() for title in ("HITId", "WorkerId", "Answer.taskAnswers"))
    for hit, worker, text in zip(*columns, strict=True):
        try:
            given = json.loads(text) if text else {}
        except ValueError:
            continue
        for key, value in (given[0] if isinstance(given, list) and given else given or {}).items():
            if isinstance(value, dict):  # a choice: true or false by its name
                value = next((choice for choice, is_on in value.items() if is_on), None)
            rows.append((hit, worker, key, value))
    questions = list(dict.fromkeys(row[2] for row in rows))
    question = _one(questions, "questions", name, options)
    votes = [(hit, worker, value) for hit, worker, key, value in rows if key == question]
    table = long_table(votes, ("HITId", "WorkerId", question))
    return _as(replace(read, table=table), f"MTurk results, {question!r}", Roles("HITId", "WorkerId", question))


def _appen(read: Read, options: ReaderOptions, name: str) -> Read:
    names = read.table.column_names
    if "_worker_id" not in names:
        raise VotesError(
            "merged-only", f"{name} is an aggregated report of Appen, without votes", "full-report", {"file": name}
        )
    if "_tainted" in names:
        read = _keep(
            read, pc.fill_null(pc.not_equal(_lower(read.table["_tainted"]), "true"), True), "of tainted work"
        )
    asked = [title for title in names if f"{title}_gold" in names]
    if not asked:
        asked = _varying(
            read.table, "_unit_id", [t for t in names if not t.startswith("_") and not t.endswith("_gold")]
        )
    label = _one(asked, "questions", name, options)
    gold = f"{label}_gold" if f"{label}_gold" in names else None
    return _as(read, f"Appen full report, {label!r}", Roles("_unit_id", "_worker_id", label, gold=gold))


def _varying(table: pa.Table, item: str, titles: Sequence[str]) -> list[str]:
    """Return the columns that differ between rows of one item, and not in every row: asked, not shown or noted."""
    found = []
    for title in titles:
        if len(pc.unique(_text(table[title]))) == table.num_rows > 2:
            continue
        pairs = pa.table({"item": _text(table[item]), "value": _text(table[title])})
        n_pairs = pairs.group_by(["item", "value"]).aggregate([]).num_rows
        if n_pairs > len(pc.unique(pairs["item"])):
            found.append(title)
    return found


def _toloka(read: Read, options: ReaderOptions, name: str) -> Read:
    names = read.table.column_names
    if "ASSIGNMENT:status" in names:
        status = _lower(read.table["ASSIGNMENT:status"])
        approved = pc.is_in(status, pa.array(["approved", "submitted"]))
        read = _keep(read, approved, "that are not approved")
    label = _one([title for title in names if title.startswith("OUTPUT:")], "questions", name, options)
    gold = label.replace("OUTPUT:", "GOLDEN:", 1)
    inputs = [title for title in names if title.startswith("INPUT:")]
    item = "ASSIGNMENT:task_id" if "ASSIGNMENT:task_id" in names else _one(inputs, "inputs", name, options)
    roles = Roles(item, "ASSIGNMENT:worker_id", label, gold=gold if gold in names else None)
    return _as(read, f"Toloka assignments, {label!r}", roles)


def _zooniverse(read: Read, options: ReaderOptions, name: str) -> Read:
    names = ("subject_ids", "user_name", "annotations")
    rows, tasks = [], dict[str, None]()
    flows = read.table["workflow_id"].to_pylist() if "workflow_id" in read.table.column_names else []
    several_flows = len(set(flows)) > 1
    for number, (subject, user, text) in enumerate(zip(*(read.table[t].to_pylist() for t in names), strict=True)):
        try:
            given = json.loads(text) if text else []
            if not all(isinstance(task, dict) for task in given):
                raise ValueError
        except (ValueError, TypeError):
            raise VotesError(
                "json", f"{name}: 'annotations' is not a JSON list of tasks: {text[:40]!r}", where={"file": name}
            ) from None
        for task in given:
            asked = f"{flows[number]} {task.get('task')}" if several_flows else str(task.get("task"))
            tasks[asked] = None
            rows.append((subject, user, asked, task.get("value")))
    asked = _one(list(tasks), "tasks", name, options)
    votes, seen, repeated = [], set(), 0
    for subject, user, task, value in rows:
        if task != asked:
            continue
        if (subject, user) in seen:  # only a user's first classification of a subject counts
            repeated += 1
            continue
        seen.add((subject, user))
        votes.append((subject, user, value if isinstance(value, str | int | float | bool) else json.dumps(value)))
    notes = read.notes
    if repeated:
        notes += (Note(f"{repeated:,} later classifications by the same user were left out"),)
    table = long_table(votes, ("subject_ids", "user_name", asked))
    return _as(replace(read, table=table, notes=notes), f"Zooniverse, task {asked!r}", Roles(*table.column_names))


# -- judges -------------------------------------------------------------------------------------------------


def _plain(title: str) -> str:
    return re.sub(r"[^a-z0-9]", "", title.lower())


def _coalesce(table: pa.Table, titles: Sequence[str]) -> Any:
    """Return the first of several columns that is filled, row by row."""
    columns = [_text(table[title]) for title in titles]
    blank = [pc.if_else(pc.equal(column, ""), None, column) for column in columns]
    return pc.coalesce(*blank)


def _langfuse(read: Read, options: ReaderOptions, name: str) -> Read:
    table = read.table
    by = {_plain(title): title for title in reversed(table.column_names)}
    on = [by[key] for key in ("observationid", "traceid", "sessionid") if key in by]
    filled = [title for title in on if table[title].null_count < table.num_rows and _filled(table[title])]
    item = filled[0] if len(filled) == 1 else "item"
    if len(filled) != 1:
        table = table.append_column("item", _coalesce(table, filled or on))
    voter = by["name"]
    if {"source", "authoruserid"} <= by.keys():
        human = pc.fill_null(pc.equal(_text(table[by["source"]]), "ANNOTATION"), False)
        author = pc.coalesce(_text(table[by["authoruserid"]]), pa.scalar(""))
        both = pc.binary_join_element_wise(_text(table[voter]), author, " by ")
        named = pc.if_else(pc.and_(human, pc.not_equal(author, "")), both, _text(table[voter]))
        table = table.set_column(table.column_names.index(voter), voter, named)
    read, label = replace(read, table=table), by["value"]
    if "datatype" in by:
        kinds = set(pc.unique(_text(table[by["datatype"]])).to_pylist()) - {None, ""}
        if len(kinds) > 1 and kinds & {"BOOLEAN", "CATEGORICAL"} and "NUMERIC" in kinds:
            kept = pc.fill_null(pc.not_equal(_text(table[by["datatype"]]), "NUMERIC"), False)
            read = _keep(read, kept, "of numeric scores")
            kinds -= {"NUMERIC"}
        if "CATEGORICAL" in kinds and "stringvalue" in by:
            label = by["stringvalue"]
    return _as(read, "Langfuse scores", Roles(item, voter, label))


def _filled(column: Any) -> bool:
    return any(value not in (None, "") for value in pc.unique(_text(column)).to_pylist())


def _phoenix(read: Read, options: ReaderOptions, name: str) -> Read:
    names = read.table.column_names
    item = "span_id" if "span_id" in names else "context.span_id"
    voter = "annotation_name" if "annotation_name" in names else "name"
    labels = [title for title in ("label", "result.label") if title in names and _filled(read.table[title])]
    score = next((title for title in ("score", "result.score") if title in names), None)
    if not labels and score is None:
        raise VotesError("no-columns", f"{name} has neither labels nor scores", where={"file": name})
    roles = Roles(item, voter, labels[0] if labels else score, score=score if labels else None)
    return _as(read, "Phoenix annotations", roles)


def _langsmith(read: Read, options: ReaderOptions, name: str) -> Read:
    names = read.table.column_names
    voters = tuple(title for title in names if title.startswith("feedback."))
    left = [title for title in names if title not in voters and title != "id"]
    notes = _with_left_out(read, left, "no feedback")
    return _as(
        read,
        "LangSmith test results, each feedback a voter",
        Roles("id" if "id" in names else None, voters=voters),
        notes=notes,
    )


_RAGAS_TEXT = {
    *("user_input", "retrieved_contexts", "response", "reference", "reference_contexts", "question", "answer"),
    *("contexts", "ground_truth", "ground_truths", "rubrics", "multi_responses", "reference_tool_calls"),
}


def _ragas(read: Read, options: ReaderOptions, name: str) -> Read:
    names = read.table.column_names
    item = next((title for title in names if _plain(title) in ("id", "index", "sampleid", "questionid")), None)
    found = {title: _numbers(read.table[title]) for title in names if title not in _RAGAS_TEXT and title != item}
    scores = {title: values for title, values in found.items() if values}
    voters = tuple(title for title, values in scores.items() if min(values) >= 0 and max(values) <= 1)
    voters = voters or tuple(scores)
    if not voters:
        raise VotesError("no-columns", f"{name} has no column of scores", where={"file": name})
    left = [title for title in found if title not in voters]
    notes = _with_left_out(read, left, "no scores from 0 to 1")
    return _as(read, "Ragas scores, each metric a voter", Roles(item, voters=voters), notes=notes)


def _numbers(column: Any) -> list[float]:
    """Return the different numbers of a column; none if it holds anything else."""
    if pa.types.is_nested(column.type):
        return []
    try:
        found = [float(value) for value in pc.unique(_text(column)).to_pylist() if value not in (None, "")]
    except ValueError:
        return []
    return [value for value in found if value == value]


def _promptfoo(read: Read, options: ReaderOptions, name: str) -> Read:
    """Read cells such as "[PASS] (1.00) text"."""
    table, voters = read.table, []
    for number, title in enumerate(table.column_names):
        marks = pc.struct_field(pc.extract_regex(_text(table[title]), r"^\[(?P<mark>PASS|FAIL|ERROR)\]"), "mark")
        if marks.null_count < table.num_rows:
            voters.append(title)
            marks = pc.if_else(pc.equal(marks, "ERROR"), None, marks)
            table = table.set_column(number, title, marks)
    short = {t: t if len(t) <= 60 else f"prompt {number}: {t[:40]}…" for number, t in enumerate(voters, 1)}
    table = table.rename_columns([short.get(title, title) for title in table.column_names])
    how = "promptfoo's table, each prompt a voter"
    return _as(replace(read, table=table), how, Roles(voters=tuple(short.values())), classes=("FAIL", "PASS"))


def _is_promptfoo(names: frozenset[str]) -> bool:
    return any(re.match(r'(\[[^\]]+\] )?\{?"?(raw|display|label)"?\W', title) for title in names)


def _label_studio(read: Read, options: ReaderOptions, name: str) -> Read:
    known = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"}
    asked = _varying(read.table, "id", [title for title in read.table.column_names if title not in known])
    if not asked:
        asked = [title for title in read.table.column_names if title not in known]
    label = _one(asked, "questions", name, options)
    return _as(read, f"Label Studio table, question {label!r}", Roles("id", "annotator", label))


def _arena(read: Read, options: ReaderOptions, name: str) -> Read:
    """Read battles: which of two models is better, or a tie, which both may be good or bad for."""
    table = read.table
    judge = "judge" if "judge" in table.column_names else "judge_name"
    pairs = pc.binary_join_element_wise(_text(table["model_a"]), _text(table["model_b"]), " / ")
    several_pairs = len(pc.unique(pairs)) > 1
    item = _text(table["question_id"])
    item = pc.binary_join_element_wise(item, pairs, ", ") if several_pairs else item
    winner = _text(table["winner"])
    label = pc.if_else(pc.starts_with(winner, "tie"), "tie", winner)
    made = pa.table({"item": item, "voter": _text(table[judge]), "label": label})
    return _as(replace(read, table=made), "Arena battles", Roles("item", "voter", "label"))


PRESETS = (
    Preset(
        "arena_csv",
        "Arena battles (CSV)",
        lambda n: {"question_id", "model_a", "model_b", "winner"} <= n and bool({"judge", "judge_name"} & n),
        _arena,
    ),
    Preset("mturk", "Amazon Mechanical Turk batch results", lambda n: {"HITId", "WorkerId"} <= n, _mturk),
    Preset(
        "appen",
        "Appen (Figure Eight) full report",
        lambda n: (
            {"_unit_id", "_trust"} <= n
            or {"_unit_id", "_worker_id"} <= n
            or ("_unit_id" in n and any(t.endswith(":confidence") for t in n))
        ),
        _appen,
    ),
    Preset("toloka", "Toloka assignments", lambda n: "ASSIGNMENT:worker_id" in n, _toloka),
    Preset(
        "zooniverse",
        "Zooniverse classifications",
        lambda n: {"subject_ids", "user_name", "annotations"} <= n,
        _zooniverse,
    ),
    Preset(
        "langfuse",
        "Langfuse scores (CSV or JSON)",
        lambda n: {"traceid", "name", "value"} <= {_plain(t) for t in n},
        _langfuse,
    ),
    Preset(
        "phoenix",
        "Arize Phoenix annotations",
        lambda n: (
            bool({"span_id", "context.span_id"} & n) and ("annotation_name" in n or {"name", "annotator_kind"} <= n)
        ),
        _phoenix,
    ),
    Preset(
        "langsmith",
        "LangSmith test results",
        lambda n: sum(t.startswith("feedback.") for t in n) > 0 and any(t.startswith(("input", "output")) for t in n),
        _langsmith,
    ),
    Preset(
        "label_studio_csv",
        "Label Studio CSV and JSON-MIN",
        lambda n: {"annotator", "annotation_id", "id"} <= n,
        _label_studio,
    ),
    Preset(
        "ragas",
        "Ragas scores",
        lambda n: {"user_input", "response"} <= n or {"question", "answer", "contexts"} <= n,
        _ragas,
    ),
    Preset("promptfoo_csv", "promptfoo table (CSV)", _is_promptfoo, _promptfoo),
    Preset(
        CROWDKIT,
        "crowd-kit's task, worker, label",
        lambda n: {"task", "label"} <= n and bool({"worker", "performer"} & n),
        _crowdkit,
    ),
)
