"""What people have is read right at the first try: every format, its traps, and the questions it may raise."""

import gzip
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from inspect import getsource
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import goldless as gl
from goldless.cli import main
from goldless.errors import VotesError
from goldless.io.readers import registry
from goldless.io.readers.base import Read, Roles
from goldless.io.readers.presets import Preset
from goldless.io.readers.vcf import trimmed
from goldless.io.write_back import TOOLS
from goldless.votes.votes import Votes

SAMPLES = Path(os.environ.get("GOLDLESS_DATA", "nowhere")) / "formats"

# items, voters, votes: counted from the raw files by other means than our readers
COUNTS = {
    "alpaca_eval": (120, 3, 180),
    "appen": (60, 6, 360),
    "argilla": (60, 7, 420),
    "bcftools_isec": (52, 6, 312),
    "braintrust": (60, 6, 360),
    "crowdkit": (60, 6, 360),
    "deepeval": (60, 6, 360),
    "excel": (60, 6, 360),
    "groundtruth": (60, 6, 360),
    "inspect_ai/multi_scorer_zstd_v0.3.285.eval": (24, 5, 120),
    "kaggle_folder": (60, 6, 360),
    "kaggle_proba_folder": (60, 6, 360),
    "label_studio/synthetic_csv_export.csv": (60, 6, 360),
    "label_studio/synthetic_export_multi_annotator.json": (60, 7, 353),
    "langfuse": (60, 6, 360),
    "langsmith": (60, 6, 360),
    "lm_eval": (60, 3, 180),
    "mturk": (60, 6, 360),
    "openai_evals_export": (2, 3, 6),
    "phoenix": (60, 6, 360),
    "prodigy": (60, 6, 354),
    "promptfoo/output.csv": (5, 2, 10),
    "promptfoo/v1_simple-cli_output.json": (4, 2, 8),
    "promptfoo/v3_output.json": (5, 2, 10),
    "ragas": (60, 4, 240),
    "rewardbench": (60, 3, 180),
    "snorkel/L_sparse_v0.9.npz": (60, 6, 250),
    "snorkel/L_train.npy": (60, 6, 250),
    "snorkel/L_train.npz": (60, 6, 250),
    "sqlite": (60, 6, 360),
    "survivor/merged.vcf": (52, 6, 312),
    "survivor/sarek_consensus.vcf": (52, 6, 312),
    "toloka": (60, 6, 360),
    "vcf_single_callers": (21, 3, 61),
    "vcf_somaticseq/Consensus.sSNV.vcf.gz": (78, 6, 468),
    "vcf_somaticseq_joined/present_na.csv": (153, 7, 806),
    "wrench": (60, 6, 243),
}

# one clear line where one voter, or one vote an item, is all there is, or where two readings are possible
QUESTIONS = {
    "arena": ("one-vote", "one vote an item: 60 votes of 20 voters on 60 items"),
    "doccano": ("one-voter", "votes of one voter, 'example', on 3 items"),
    "groundtruth/output.manifest": ("merged-only", "holds the merged label only"),
    "helm": ("one-voter", "votes of one voter, 'org_m1', on 60 items"),
    "kaggle_folder/judge-a.csv": ("one-voter", "one column of votes, 'target'; a file of each voter in one folder"),
    "label_studio": ("several", "holds 3 files of Label Studio JSON"),
    "mt_bench": ("several", "holds files of several formats"),
    "mt_bench/gpt-4_pair.jsonl": ("one-voter", "votes of one voter, 'gpt-4', on 160 items"),
    "mt_bench/gpt-4_single.jsonl": ("one-voter", "votes of one voter, 'gpt-4', on 160 items"),
    "openai_evals_log": ("one-voter", "votes of one voter, 'gpt-4', on 60 items"),
    "promptfoo/redteam_tracing_results.json": ("one-vote", "10 votes of 2 voters on 10 items"),
    "snorkel": ("several", "holds 3 files of numpy"),
    "snorkel/L_train.pkl": ("pickle", "never loaded"),
    "survivor": ("several", "name callers in different ways"),
    "vcf_single_callers/NA12878-10-gatk.vcf": ("one-voter", "the calls of one caller"),
    "vcf_somaticseq_joined": ("several", "6 tables that differ in their columns"),
    "zooniverse": ("several", "holds 2 tasks: 'T0', 'T1'; name one, such as question='T0'"),
}


@pytest.mark.real_data
@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", COUNTS)
def test_samples_are_read_right_at_the_first_try(name):
    table = gl.read_votes(SAMPLES / name)
    assert (table.n_items, table.n_voters, table.n_votes) == COUNTS[name]
    assert table.how.startswith("Read as ")


@pytest.mark.real_data
@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", QUESTIONS)
def test_what_cannot_be_votes_is_one_clear_line(name):
    kind, words = QUESTIONS[name]
    with pytest.raises(VotesError) as caught:
        gl.read_votes(SAMPLES / name)
    assert caught.value.kind == kind
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.real_data
@pytest.mark.usefixtures("data_folder")
def test_a_format_that_is_named_is_read_even_with_one_voter():
    games = gl.read_votes(SAMPLES / "mt_bench/gpt-4_pair.jsonl", pairs="games")
    assert (games.n_items, games.n_voters, games.n_votes) == (160, 2, 160 + 139)
    table = gl.read_votes(SAMPLES / "helm", format="helm")
    assert (table.n_items, table.n_voters, table.n_votes) == (60, 1, 60)
    subjects = gl.read_votes(SAMPLES / "zooniverse", question="T0", format="zooniverse")
    assert (subjects.n_items, subjects.n_voters, subjects.n_votes) == (7, 1, 7)


@pytest.mark.real_data
@pytest.mark.usefixtures("data_folder")
def test_seven_somatic_callers_joined_are_nearly_right():
    """Absent is not "no": with zeros instead the labels would tell SNVs from indels, 77.8 % right."""
    every = gl.read_votes(SAMPLES / "vcf_somaticseq", truth="Varsim.somatic.truth.vcf", every_call=True)
    table = gl.read_votes(SAMPLES / "vcf_somaticseq", truth="Varsim.somatic.truth.vcf")
    for one in (table, every):
        labels = gl.LatentSML().fit(one).predict(one)
        assert gl.balanced_accuracy(one.truth, labels) >= 0.96
    filtered = (table.votes.codes != every.votes.codes).sum()
    assert filtered == 24  # each of them is no vote
    assert (every.votes.codes - table.votes.codes).sum() == 2 * filtered
    table = every
    assert (table.n_items, table.n_voters, table.at_least) == (153, 7, 1)
    joined = pd.read_csv(SAMPLES / "vcf_somaticseq_joined" / "present_na.csv").set_index("site")
    assert set(map(str, table.items)) == set(joined.index)
    ours = pd.DataFrame(table.votes.codes, index=table.items, columns=table.voters)
    theirs = joined.loc[table.items, table.voters].fillna(-1).astype(int)
    assert (ours != theirs).any(axis=1).sum() <= 1  # four bases for four, which the study takes for an indel
    np.testing.assert_array_equal(table.truth, joined.loc[table.items, "truth"])
    notes = " ".join(map(str, table.notes))
    assert "Missing, not 'no', where a caller never calls a type (Scalpel: SNV" in notes
    assert "MuSE: indel" in notes


# -- small samples of our own -------------------------------------------------------------------------------


def write(folder, **files):
    for name, value in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = value if isinstance(value, str) else json.dumps(value)
        path.write_text(text)
    return folder


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def table_like(table, voters, rows, classes=None):
    """Check voters and codes of a table; rows are by items."""
    assert table.voters == voters
    np.testing.assert_array_equal(table.votes.codes, rows)
    if classes is not None:
        assert table.votes.classes.tolist() == classes


def test_json_of_any_shape(tmp_path):
    records = [{"id": i, "ann": "yn"[i % 2], "bob": "yn"[i % 3 > 0], "eve": "y"} for i in range(6)]
    expected = gl.read_votes(pd.DataFrame(records)).votes.codes
    for name, value in {
        "array.json": records,
        "pretty.json": json.dumps(records, indent=2),
        "lines.jsonl": lines(records),
        "wrapped.json": {"meta": {"n": 6}, "data": {"rows": records}},
        "columns.json": {key: [record[key] for record in records] for key in records[0]},
        "nested.json": [{"id": r["id"], "votes": {k: r[k] for k in ("ann", "bob", "eve")}} for r in records],
        "by_id.json": {str(r["id"]): {k: r[k] for k in ("ann", "bob", "eve")} for r in records},
    }.items():
        write(tmp_path, **{name: value})
        np.testing.assert_array_equal(gl.read_votes(tmp_path / name).votes.codes, expected)


def test_nested_votes_of_judges(tmp_path):
    rows = [
        {"prompt": {"id": p}, "judge": {"model": m, "version": 2}, "verdict": {"label": "gb"[(p + len(m)) % 2]}}
        for p in range(4)
        for m in ("a", "bb", "cc")
    ]
    write(tmp_path, **{"votes.json": rows})
    table = gl.read_votes(tmp_path / "votes.json", item="prompt.id", voter="judge.model", label="verdict.label")
    assert (table.n_items, table.n_voters, table.n_votes) == (4, 3, 12)
    exploded = [
        {"id": p, "votes": [{"judge": m, "label": "gb"[(p + len(m)) % 2]} for m in ("a", "bb", "cc")]}
        for p in range(4)
    ]
    parallel = [
        {"id": p, "annotators": ["a", "bb", "cc"], "annotations": ["gb"[(p + n) % 2] for n in (1, 2, 2)]}
        for p in range(4)
    ]
    for value in (exploded, parallel):
        np.testing.assert_array_equal(gl.read_votes(value).votes.codes, table.votes.codes)


def test_everything_in_memory_comes_through_the_same_door():
    frame = pd.DataFrame({"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x", "y", "y", "y"]})
    duckdb = pytest.importorskip("duckdb")
    matrix = scipy.sparse.csr_matrix([[1, 2, 0], [2, 2, 1]])
    for source in (
        frame,
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        duckdb.sql("select * from frame"),
        frame.to_dict("records"),
    ):
        table = gl.read_votes(source)
        table_like(table, ["a", "b"], [[0, 1], [1, 1]], ["x", "y"])
        np.testing.assert_array_equal(
            gl.encode_votes(source if not hasattr(source, "fetchall") else frame).codes, table.votes.codes
        )
    table_like(gl.read_votes(matrix), ["voter 1", "voter 2", "voter 3"], [[0, 1, -1], [1, 1, 0]], [1, 2])
    np.testing.assert_array_equal(gl.encode_votes(matrix).codes, [[0, 1, -1], [1, 1, 0]])


def test_estimators_take_what_the_door_takes(tmp_path):
    X, _ = gl.simulate_votes(300, groups=[1] * 5, random_state=1)
    wide = pd.DataFrame(X, columns=list("abcde"))
    expected = gl.DawidSkene().fit(wide).predict(wide)
    long = wide.reset_index(names="item").melt("item", var_name="voter", value_name="label")
    for source in (
        long,
        pl.from_pandas(long),
        long.to_dict("records"),
        gl.read_votes(long),
        scipy.sparse.csr_matrix(X),
    ):
        np.testing.assert_array_equal(gl.DawidSkene().fit(source).predict(source), expected)
    for voter in wide:
        wide[[voter]].reset_index(names="id").to_csv(tmp_path / f"{voter}.csv", index=False)
    np.testing.assert_array_equal(gl.DawidSkene().fit(tmp_path).predict(str(tmp_path)), expected)
    np.testing.assert_array_equal(gl.DawidSkene().fit(tmp_path / "*.csv").predict(tmp_path), expected)


def test_langfuse_is_never_read_as_one_voter():
    rows = [
        {
            "id": f"s{t}{j}",
            "traceId": t,
            "name": j,
            "value": int((t + len(j)) % 2),
            "stringValue": "",
            "source": "EVAL",
            "dataType": "BOOLEAN",
            "observationId": None,
        }
        for t in range(4)
        for j in ("a", "bb", "ccc")
    ]
    assert gl.read_votes(rows).voters == ["a", "bb", "ccc"]
    with pytest.raises(VotesError, match="votes of one voter, 'EVAL'"):
        gl.read_votes(pd.DataFrame(rows)[["id", "source", "value"]])


def test_crowds_leave_out_what_was_rejected_and_know_their_golden_tasks():
    appen = pd.DataFrame(
        {
            "_unit_id": [1, 1, 1, 2, 2, 2],
            "_worker_id": list("abcabc"),
            "_tainted": ["false"] * 5 + ["true"],
            "_trust": 0.9,
            "sick": list("ynyynn"),
            "sick_gold": ["y"] * 3 + [""] * 3,
        }
    )
    table = gl.read_votes(appen)
    assert table.n_votes == 5
    assert table.gold == {0: "y"}
    assert "1 row of tainted work was left out" in str(table.notes[0])
    mturk = pd.DataFrame(
        {
            "HITId": [1, 1, 2, 2],
            "WorkerId": list("abab"),
            "AssignmentStatus": ["Approved", "Rejected"] * 2,
            "Answer.mood.good": [True, False, False, True],
            "Answer.mood.bad": [False, True, True, False],
        }
    )
    with pytest.raises(VotesError, match="one voter"):
        gl.read_votes(mturk)
    kept = gl.read_votes(mturk.assign(AssignmentStatus="Approved"))
    table_like(kept, ["a", "b"], [[1, 0], [0, 1]], ["bad", "good"])


def test_alpaca_ties_old_and_new_and_failed_judges(tmp_path):
    def record(judge, preference, instruction="q", reference="r"):
        return {
            "instruction": instruction,
            "annotator": judge,
            "preference": preference,
            "generator_1": reference,
            "generator_2": "m",
            "output_1": "",
            "output_2": "",
        }

    write(
        tmp_path,
        a__annotations_json=[record("a", 0), record("a", 2, "p")],
        b__annotations_json=[record("b", 1.5), record("b", None, "p")],
        c__annotations_json=[record("c", 1.2), record("c", 1.9, "p")],
    )
    for path in list(tmp_path.rglob("*_json")):
        path.rename(path.with_name("annotations.json"))
    table = gl.read_votes(tmp_path)
    table_like(table, ["a", "b", "c"], [[2, 2, 0], [1, -1, 1]], ["output_1", "output_2", "tie"])
    assert "Weighted preferences of c were cut at 1.5" in str(table.notes[0])


def test_only_the_second_game_of_judgebench_is_flipped(tmp_path):
    def record(pair, first, second):
        return {"pair_id": pair, "label": "A>B", "judgments": [{"decision": first}, {"decision": second}]}

    write(
        tmp_path,
        **{
            "x.jsonl": lines([record("1", "A>B", "B>A"), record("2", "A>B", "A>B")]),
            "y.jsonl": lines([record("1", "B>A", "A>B"), record("2", "A>B", None)]),
        },
    )
    table = gl.read_votes(tmp_path)
    table_like(table, ["x", "y"], [[0, 1], [2, -1]], ["A>B", "B>A", "tie"])


def test_models_of_one_kind_of_judge_are_voters_of_their_own(tmp_path):
    """As JudgeBench writes them: the kind of judge beside each pair, its model within each judgment."""

    def record(pair, model, decision):
        judgment = {"judge_model": model, "prompt": "..."}
        return {
            "pair_id": pair,
            "judge_name": "reward_model",
            "judgments": [{"judgment": judgment, "decision": decision}],
        }

    for model, decisions in {"m-7b": ("A>B", "B>A"), "m-20b": ("B>A", "B>A")}.items():
        write(tmp_path, **{f"{model}.jsonl": lines([record(str(i), model, d) for i, d in enumerate(decisions)])})
    table_like(gl.read_votes(tmp_path), ["reward_model m-20b", "reward_model m-7b"], [[1, 0], [1, 1]], ["A>B", "B>A"])


def eval_log(method=zipfile.ZIP_DEFLATED):
    scorers = [{"name": "model_graded_qa", "options": {"model": {"model": f"judge-{j}"}}} for j in "abc"]
    keys = ("model_graded_qa", "model_graded_qa1", "model_graded_qa2")
    samples = [
        {
            "id": i,
            "epoch": e,
            "scores": {key: {"value": "CI"[(i + n) % 2] if i else float("nan")} for n, key in enumerate(keys)},
        }
        for e in (1, 2)
        for i in range(3)
    ]
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m", "scorers": scorers}}))
        archive.writestr("summaries.json", json.dumps(samples))
    return data.getvalue()


def test_inspect_logs_name_the_judges_and_keep_epochs_apart(tmp_path):
    (tmp_path / "log.eval").write_bytes(eval_log())
    table = gl.read_votes(tmp_path / "log.eval")
    assert table.voters == ["judge-a", "judge-b", "judge-c"]
    assert (table.n_items, table.n_votes) == (6, 12)  # NaN is no vote
    assert table.votes.classes.tolist() == ["I", "C"]
    (tmp_path / "log.eval").write_bytes(eval_log()[:-30])
    with pytest.raises(VotesError, match="damaged Inspect log"):
        gl.read_votes(tmp_path / "log.eval")


def test_logs_of_different_tasks_are_not_joined_without_a_word(tmp_path):
    """Three logs of two tasks were read as one panel."""

    def log(task, *scorers):
        samples = [
            {"id": i, "epoch": 1, "scores": {s: {"value": "CI"[(i + n) % 3 > 0]} for n, s in enumerate(scorers)}}
            for i in range(6)
        ]
        return json.dumps({"eval": {"task": task, "task_id": "1", "eval_id": "2", "model": "m"}, "samples": samples})

    write(tmp_path, **{"a.json": log("ethics", "x", "y"), "b.json": log("maths", "y", "z")})
    with pytest.raises(VotesError, match="holds 2 tasks: 'ethics', 'maths'; name one, such as question='ethics'"):
        gl.read_votes(tmp_path)
    assert gl.read_votes(tmp_path, question="maths").voters == ["y", "z"]
    write(tmp_path, **{"b.json": log("maths", "x", "y")})
    table = gl.read_votes(tmp_path)  # the same scorers judge both
    assert (table.n_items, table.n_voters) == (12, 2)


def test_each_filter_of_a_document_is_an_item_of_its_own(tmp_path):
    for model in ("m1", "m2"):
        records = [
            {
                "doc_id": d,
                "resps": [],
                "filtered_resps": [],
                "filter": f,
                "metrics": ["acc"],
                "acc": float((d + len(f)) % 2),
            }
            for d in range(3)
            for f in ("strict", "flex")
        ]
        write(tmp_path, **{f"{model}__samples_task_2026-01-01T00-00-00.jsonl": lines(records)})
    table = gl.read_votes(tmp_path)
    assert (table.n_items, table.voters, table.n_votes) == (6, ["m1", "m2"], 12)


def test_label_studio_and_who_completed_it(tmp_path):
    def answer(choice, **more):
        return {
            "result": [{"type": "choices", "from_name": "q", "to_name": "t", "value": {"choices": [choice]}}],
            **more,
        }

    tasks = [
        {
            "id": 7,
            "data": {"t": "x"},
            "annotations": [
                answer("A", completed_by=1),
                answer("B", completed_by={"id": 2, "email": "e"}),
                answer("B", completed_by=3, was_cancelled=True),
            ],
            "predictions": [answer("A", model_version="v1")],
        },
        {
            "id": 9,
            "data": {"t": "y"},
            "annotations": [answer("B", completed_by=1), answer("B", completed_by={"id": 2, "email": "e"})],
        },
    ]
    write(tmp_path, **{"tasks.json": tasks})
    table = gl.read_votes(tmp_path / "tasks.json")
    table_like(table, ["1", "e", "v1"], [[0, 1, 0], [1, 1, -1]], ["A", "B"])
    assert "1 cancelled annotation was left out" in str(table.notes[0])


def test_databases_and_workbooks(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    rows = [(t, w, "xy"[(t + len(w)) % 2]) for t in range(3) for w in ("a", "bb")]
    base = sqlite3.connect(tmp_path / "votes.db")
    base.execute("create table votes (task, worker, label)")
    base.execute("create table other (x)")
    base.executemany("insert into votes values (?, ?, ?)", rows)
    base.commit()
    base.close()
    with pytest.raises(VotesError, match=r"holds 2 tables: 'votes', 'other'; name one, such as table='votes'"):
        gl.read_votes(tmp_path / "votes.db")
    for table in ("votes", "select * from votes"):
        assert gl.read_votes(tmp_path / "votes.db", table=table).n_votes == 6
    with duckdb.connect(str(tmp_path / "votes.duckdb")) as base:
        base.execute("create table votes (task int, worker text, label text)")
        base.executemany("insert into votes values (?, ?, ?)", rows)
    assert gl.read_votes(tmp_path / "votes.duckdb").n_votes == 6
    (tmp_path / "votes.xlsx").write_bytes(
        workbook([["id", "a", "b"], ["x", "yes", 1], ["y", "no", None], ["z", "no", "no"]])
    )
    table = gl.read_votes(tmp_path / "votes.xlsx", classes=["yes", "no", "1"])
    table_like(table, ["a", "b"], [[0, 2], [1, -1], [1, 1]])


def test_sheets_of_other_programs(tmp_path):
    pytest.importorskip("python_calamine")
    space = 'xmlns:{0}="urn:oasis:names:tc:opendocument:xmlns:{0}:1.0"'
    rows = [["id", "a", "b"], ["x", "yes", "no"], ["y", "no", "no"], ["z", "no", "yes"]]
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    body = "".join(f"<table:table-row>{''.join(map(cell.format, row))}</table:table-row>" for row in rows)
    names = " ".join(map(space.format, ("office", "table", "text")))
    sheet = f'<office:spreadsheet><table:table table:name="S">{body}</table:table></office:spreadsheet>'
    with zipfile.ZipFile(tmp_path / "votes.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        manifest = 'xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
        archive.writestr("META-INF/manifest.xml", f"<m:manifest {manifest}/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content {names}><office:body>{sheet}</office:body></office:document-content>",
        )
    table = gl.read_votes(tmp_path / "votes.ods")
    table_like(table, ["a", "b"], [[1, 0], [0, 0], [0, 1]], ["no", "yes"])
    assert table.how.startswith("Read as Excel, sheet 'S'")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 600)
    with pytest.raises(VotesError, match="spreadsheet that cannot be read"):
        gl.read_votes(tmp_path / "old.xls")


def workbook(rows):
    """An .xlsx of one sheet, as small as they come."""
    main_space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    cells = ""
    for r, row in enumerate(rows, 1):
        cells += f'<row r="{r}">'
        for c, value in zip("ABCDEF", row, strict=False):
            if isinstance(value, str):
                cells += f'<c r="{c}{r}" t="inlineStr"><is><t>{value}</t></is></c>'
            elif value is not None:
                cells += f'<c r="{c}{r}"><v>{value}</v></c>'
        cells += "</row>"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main_space}" xmlns:r="{links}"><sheets>'
            '<sheet name="S" r:id="r1"/></sheets></workbook>',
        )
        archive.writestr("xl/_rels/workbook.xml.rels", '<R><Relationship Id="r1" Target="worksheets/s.xml"/></R>')
        archive.writestr(
            "xl/worksheets/s.xml", f'<worksheet xmlns="{main_space}"><sheetData>{cells}</sheetData></worksheet>'
        )
    return data.getvalue()


# -- what columns are ---------------------------------------------------------------------------------------


def panel(n=30):
    """Votes of four voters, of which no two are alike."""
    say = lambda i, j: "yes" if (i * 7 + j * 3 + i * j) % 3 else "no"  # noqa: E731
    return pd.DataFrame({v: [say(i, j) for i in range(n)] for j, v in enumerate("abcd")})


def sources(frame, tmp_path):
    """A frame in every form that the door takes."""
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    duckdb = pytest.importorskip("duckdb")
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    yield from (tmp_path / "t.csv", tmp_path / "t.parquet", frame, pl.from_pandas(frame), arrow, arrow.to_reader())
    yield from (duckdb.sql("select * from frame"), frame.to_dict("records"))


@pytest.mark.parametrize("title", ["truth", "Gold", "label", "target", "expected", "ground truth", "a_gold", "gt"])
def test_the_truth_is_no_voter_whatever_it_came_in(title, tmp_path):
    frame = panel()
    frame[title] = frame["a"].str.upper()
    for source in sources(frame, tmp_path):
        table = gl.read_votes(source)
        assert table.voters == list("abcd")
        assert f"Column {title!r} was left out" in str(table.notes[0])
        scored = gl.read_votes(frame, truth=title)
        np.testing.assert_array_equal(scored.truth, scored.votes.codes[:, 0])
    with pytest.raises(VotesError, match="one column of votes, 'a'"):
        gl.read_votes(frame[["a", title]])


def test_golden_tasks_of_a_wide_table(tmp_path):
    frame = panel().assign(gold=["yes", "no", *[None] * 28])
    assert gl.read_votes(frame).gold == {0: "yes", 1: "no"}
    frame.to_csv(tmp_path / "v.csv", index=False)
    run("combine", tmp_path / "v.csv", "--golden", "-o", tmp_path / "o.csv", "-q")
    assert pd.read_csv(tmp_path / "o.csv")["label"].tolist()[:2] == ["yes", "no"]


def test_what_is_noted_beside_votes_is_left_out_and_all_named_in_one_message(tmp_path):
    notes = {"length": range(10, 40), "day": "2024-01-01", "lang": ["en", "de", "fr"] * 10, "text": None}
    frame = panel().assign(**notes, a_sure=np.linspace(0, 1, 30), b_sure=np.linspace(0, 1, 30)[::-1])
    frame["text"] = [f"text {i}" for i in range(30)]
    for source in sources(frame, tmp_path):
        table = gl.read_votes(source)
        assert table.voters == list("abcd")
        assert "columns 'length', 'day', 'lang', 'a_sure', 'b_sure'" in str(table.notes[0])
        assert len(table.notes) == 1
    numbers = (panel() == "yes").astype(int).assign(words=np.arange(30) % 9, age=np.arange(20, 50))
    assert gl.read_votes(numbers).voters == list("abcd")
    saved = panel().assign(item=[f"q{i}" for i in range(30)])
    saved.to_csv(tmp_path / "saved.csv")  # with the numbers of its rows
    assert gl.read_votes(tmp_path / "saved.csv").items.tolist() == saved["item"].tolist()


def test_labels_that_differ_in_capitals_or_blanks_only_are_joined(tmp_path):
    frame = panel().replace({"yes": "not sure"})
    expected = gl.read_votes(frame).votes.codes
    frame["a"] = frame["a"].str.upper()
    frame["b"] = "  " + frame["b"].str.replace(" ", "   ").str.title()
    for source in sources(frame, tmp_path):
        table = gl.read_votes(source)
        np.testing.assert_array_equal(table.votes.codes, expected)
        assert "Labels that differ in capital letters or blanks only were joined" in str(table.notes[0])


def test_lists_of_annotators_and_their_labels_in_frames(tmp_path):
    frame = panel()
    lists = pd.DataFrame({"text": [f"t{i}" for i in range(30)], "annotators": [list("abcd")] * 30})
    lists["labels"] = frame.values.tolist()
    for source in (lists, pl.from_pandas(lists), pa.Table.from_pandas(lists), lists.to_dict("records")):
        table = gl.read_votes(source)
        table_like(table, list("abcd"), gl.read_votes(frame).votes.codes, ["no", "yes"])
    with pytest.raises(VotesError, match="hold lists without a list of their voters"):
        gl.read_votes(lists[["text", "labels"]])
    turned = {v: {f"q{i}": frame[v][i] for i in range(30)} for v in frame}  # more items than voters
    write(tmp_path, **{"turned.json": turned})
    assert gl.read_votes(tmp_path / "turned.json").voters == list("abcd")


@pytest.mark.parametrize("kind", ["labels", "scores"])
def test_what_counts_of_several_answers_is_a_stated_rule(kind, tmp_path):
    values = [0.1, 0.4, 0.4, 0.9] if kind == "scores" else ["x", "y", "y", "z"]
    rows = [(1, "a", value) for value in values]
    rows += [(i, v, values[(i + n) % 4]) for i in (1, 2, 3) for n, v in enumerate("bcd")]
    frame = pd.DataFrame([*rows, (2, "a", values[0])], columns=["item", "voter", "label"])
    with pytest.raises(VotesError, match=r"voter 'a' gave item 1? ?'?1?'? ?two different labels; repeats='last'"):
        gl.read_votes(frame, kind=kind)
    for rule, expected in {"first": values[0], "last": values[3], "most": 0.45 if kind == "scores" else "y"}.items():
        table = gl.read_votes(frame, kind=kind, repeats=rule)
        assert "of different answers of a voter on an item" in table.how
        found = table.votes.answers[0, 0] if kind == "scores" else table.votes.classes[table.votes.codes[0, 0]]
        assert found == expected
    frame.to_csv(tmp_path / "v.csv", index=False)
    assert main(["combine", str(tmp_path / "v.csv"), "--kind", kind, "-q", "--repeats", "last"]) == 0


# -- more versions ------------------------------------------------------------------------------------------


def test_one_scorer_of_several_models_makes_the_models_voters(tmp_path):
    for model in "abc":
        samples = [
            {"id": i, "epoch": 1, "scores": {"match": {"value": "CI"[(i + ord(model)) % 2]}}} for i in range(6)
        ]
        about = {"task": "t", "task_id": "1", "run_id": "2", "model": model}
        write(tmp_path, **{f"{model}.json": {"eval": about, "samples": samples}})
    table = gl.read_votes(tmp_path)
    assert (table.voters, table.n_items) == (["a", "b", "c"], 6)
    assert "each model a voter" in table.how


def test_assertions_of_one_kind_are_told_apart_and_lines_are_read(tmp_path):
    parts = [[{"pass": (i + j) % 3 > 0, "assertion": {"type": "llm-rubric"}} for j in range(3)] for i in range(6)]
    results = [
        {"testIdx": i, "promptIdx": 0, "success": True, "vars": {}, "gradingResult": {"componentResults": part}}
        for i, part in enumerate(parts)
    ]
    write(tmp_path, **{"out.jsonl": lines(results)})
    table = gl.read_votes(tmp_path / "out.jsonl")
    assert table.voters == ["llm-rubric #1", "llm-rubric #2", "llm-rubric #3"]
    assert table.format == "promptfoo"


BAD = {
    "picture.csv": (b"\x89PNG\r\n", "is a picture"),
    "empty.vcf": (b"##fileformat=VCFv4.2\n#CHROM\tPOS\n", "holds no calls"),
    "bad.vcf": (b"##fileformat=VCFv4.2\n1\tx\t.\tA\tG\t.\tPASS\t.\n", "line 2 is not a record"),
    "log.json": (
        b'{"eval": {"task": 1, "task_id": 1, "run_id": 1, "model": 1}, "samples": [{"scores": {"a": 1}}]}',
        "looks like Inspect AI logs",
    ),
    "mturk.csv": (b"HITId,WorkerId\n1,a\n1,b\n", "has no questions, so it holds no votes"),
    "zoo.csv": (b'subject_ids,user_name,annotations\n1,a,"{""x"":1}"\n', "is not a JSON list of tasks"),
    "workers.csv": (b"task,worker,label\n1,a,x\n1,a,y\n1,b,x\n", "two different labels; repeats='last'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_clear_line(name, tmp_path):
    (tmp_path / name).write_bytes(BAD[name][0])
    with pytest.raises(VotesError) as caught:
        gl.read_votes(tmp_path / name)
    assert BAD[name][1] in str(caught.value)
    assert "\n" not in str(caught.value)


# -- variant calls ------------------------------------------------------------------------------------------


def vcf(*records, info=(), samples=()):
    head = [
        "##fileformat=VCFv4.2",
        *(f'##INFO=<ID={tag},Number=.,Type=String,Description="{what}">' for tag, what in info),
    ]
    columns = [
        "#CHROM",
        "POS",
        "ID",
        "REF",
        "ALT",
        "QUAL",
        "FILTER",
        "INFO",
        *(["FORMAT", *samples] if samples else []),
    ]
    return "\n".join([*head, "\t".join(columns), *("\t".join(map(str, record)) for record in records)]) + "\n"


def call(position, ref="A", alt="G", filters="PASS", info=".", contig="1", *genotypes):
    return (contig, position, ".", ref, alt, ".", filters, info, *(("GT", *genotypes) if genotypes else ()))


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        (("1", 5, "CTT", "CT"), ("1", 5, "CT", "C")),
        (("1", 5, "ACG", "ATG"), ("1", 6, "C", "T")),
        (("1", 5, "a", "g"), ("1", 5, "A", "G")),
        (("1", 5, "N", "<DEL>"), ("1", 5, "N", "<DEL>")),
    ],
)
def test_variants_are_trimmed(variant, expected):
    assert trimmed(*variant) == expected


def test_callers_are_joined_and_absent_is_not_no(tmp_path):
    write(
        tmp_path,
        **{
            "one.snv.vcf": vcf(call(10), call(20, "A", "G,T"), call(30, filters="low")),
            "one.indel.vcf": vcf(call(50, "AT", "A")),
            "two.vcf": vcf(call(10), call(30), call(50, "CATT", "CAT"), call(50, "AT", "A", ".")),
            "three.vcf": vcf(call(20, "A", "T"), call(10)),  # never calls an indel
            "truth.vcf": vcf(call(10)),
        },
    )
    table = gl.read_votes(tmp_path)
    found = {
        item: dict(zip(table.voters, row, strict=True))
        for item, row in zip(table.items, table.votes.codes.tolist(), strict=True)
    }
    assert found == {
        "1:10:A:G": {"one": 1, "three": 1, "two": 1},
        "1:20:A:G": {"one": 1, "three": 0, "two": 0},
        "1:20:A:T": {"one": 1, "three": 1, "two": 0},
        "1:30:A:G": {"one": -1, "three": 0, "two": 1},  # its own filter rejects it: neither yes nor no
        "1:50:AT:A": {"one": 1, "three": -1, "two": 1},
        "1:51:AT:A": {"one": 0, "three": -1, "two": 1},
    }
    assert table.at_least == 1
    said = " ".join(map(str, table.notes))
    assert "truth.vcf was left out" in said
    assert "(three: indel)" in said
    assert gl.read_votes(tmp_path, truth="truth.vcf").truth.tolist() == [1, 0, 0, 0, 0, 0]
    assert gl.read_votes(tmp_path, every_call=True).votes.codes.sum() == table.votes.codes.sum() + 2
    assert "1 calls that a caller's own filter rejects were read as no vote" in said


def test_what_only_filters_reject_is_labelled_and_not_fitted(tmp_path):
    rng = np.random.default_rng(1)
    real = rng.random(300) < 0.4
    callers = {}
    for name in "abcde":
        called = np.where(real, rng.random(300) < 0.85, rng.random(300) < 0.12)
        callers[name] = [
            call(10 * i, filters="PASS" if rng.random() < 0.9 else "weak") for i in np.flatnonzero(called)
        ]
    callers["a"] += [call(10 * i, filters="junk") for i in range(300, 900)]  # candidates that it writes and rejects
    write(tmp_path, **{f"{name}.vcf": vcf(*records) for name, records in callers.items()})
    table = gl.read_votes(tmp_path)
    calls = (table.votes.codes == 1).any(axis=1)
    assert (~calls).sum() >= 600
    model = gl.LatentSML().fit(table)
    alone = gl.LatentSML().fit(Votes(table.votes.codes[calls], table.votes.classes, table.votes.voters, at_least=1))
    np.testing.assert_allclose(model.confusion_, alone.confusion_, atol=1e-9)
    assert model.unseen_.items == pytest.approx(alone.unseen_.items)
    assert not model.predict(table)[~calls].any()
    assert gl.LatentSML(at_least=0).fit(table).class_balance_ < model.class_balance_  # all rows, if that is asked for


def test_samples_are_callers_only_if_somebody_says_so(tmp_path):
    trio = [call(1, "A", "G", "PASS", ".", "1", "0/1", "1/1", "./.")]
    trio += [call(2, "A", "G", "PASS", ".", "1", "0/0", "0/1", "1|1")]
    text = vcf(*trio, samples="abc")
    write(tmp_path, **{"trio.vcf": text})
    with pytest.raises(VotesError, match=r"holds 3 samples and does not say who called them.*format='vcf_samples'"):
        gl.read_votes(tmp_path / "trio.vcf")
    rows = [[1, 1, 0], [0, 1, 1]]
    table_like(gl.read_votes(tmp_path / "trio.vcf", format="vcf_samples"), ["a", "b", "c"], rows)
    write(tmp_path, **{"merged.vcf": text.replace("#CHROM", "##bcftools_mergeCommand=merge\n#CHROM")})
    table_like(gl.read_votes(tmp_path / "merged.vcf"), ["a", "b", "c"], rows)


def test_files_of_one_caller_are_not_two(tmp_path):
    write(tmp_path, **{"s.strelka.snvs.vcf": vcf(call(1)), "s.strelka.indels.vcf": vcf(call(2, "AT", "A"))})
    with pytest.raises(VotesError, match="hold the calls of one caller"):
        gl.read_votes(tmp_path)
    write(tmp_path, **{"s.mutect2.filtered.vcf": vcf(call(1), call(2, "AT", "A"))})
    assert gl.read_votes(tmp_path).voters == ["mutect2", "strelka"]


def test_what_isec_left_out_cannot_be_learnt_from(tmp_path):
    write(tmp_path, **{"sites.txt": "1\t1\tA\tG\t110\n1\t2\tA\tG\t011\n", "README.txt": "bcftools isec -n=2 -p o"})
    with pytest.raises(VotesError, match=r"lists only what bcftools isec -n=2 chose.*run bcftools isec -n \+1"):
        gl.read_votes(tmp_path)


def test_bcf_is_read_as_the_vcf_it_holds(tmp_path):
    pysam = pytest.importorskip("pysam")
    callers = vcf(call(1, info="CALLERS=a,b"), call(2, info="CALLERS=b,c"), info=[("CALLERS", "x")])
    write(tmp_path, **{"v.vcf": callers.replace("#CHROM", "##contig=<ID=1>\n#CHROM")})
    text = pysam.VariantFile(str(tmp_path / "v.vcf"))
    with text, pysam.VariantFile(str(tmp_path / "v.bcf"), "wb", header=text.header) as binary:
        for record in text:
            binary.write(record)
    table_like(gl.read_votes(tmp_path / "v.bcf"), ["a", "b", "c"], [[1, 1, 0], [0, 1, 1]], [0, 1])


def test_sets_name_all_callers_wherever_their_names_come(tmp_path):
    records = [call(1, info="set=Intersection"), call(2, info="set=a-filterInb"), call(3, info="set=c")]
    write(tmp_path, **{"s.vcf": vcf(*records, info=[("set", "x")])})
    table_like(gl.read_votes(tmp_path / "s.vcf"), ["a", "b", "c"], [[1, 1, 1], [1, -1, 0], [0, 0, 1]])
    assert gl.read_votes(tmp_path / "s.vcf", every_call=True).votes.codes[1].tolist() == [1, 1, 0]


def test_files_that_name_their_callers(tmp_path):
    callers = vcf(call(1, info="CALLERS=a,b"), call(2, info="CALLERS=b,c;N=2"), info=[("CALLERS", "x")])
    vector = vcf(call(1, info="SUPP_VEC=110"), call(2, info="SUPP_VEC=011"), info=[("SUPP_VEC", "x")], samples="abc")
    tool = vcf(
        call(1, info="XYZ=1,1,0"),
        call(2, info="XYZ=0,1,1"),
        info=[("XYZ", "Calling decision of the 3 algorithms: a, b, c")],
    )
    merged = vcf(
        call(1, "A", "G", "PASS", ".", "1", "0/1", "1/1", "./."),
        call(2, "A", "G", "PASS", ".", "1", "0/0", "0/1", "1|1"),
        samples="abc",
    )
    merged = merged.replace("#CHROM", "##bcftools_mergeVersion=1.20\n#CHROM")
    combined = vcf(call(1, info="set=a-b"), call(2, info="set=b-c"), info=[("set", "x")])
    for number, text in enumerate((callers, vector, tool, merged, combined)):
        write(tmp_path, **{f"{number}.vcf": text})
        table = gl.read_votes(tmp_path / f"{number}.vcf")
        table_like(table, ["a", "b", "c"], [[1, 1, 0], [0, 1, 1]], [0, 1])
        assert table.at_least == 2
    (tmp_path / "5.vcf.gz").write_bytes(gzip.compress(callers.encode()))
    assert gl.read_votes(tmp_path / "5.vcf.gz").voters == ["a", "b", "c"]
    write(tmp_path, isec__sites_txt="1\t1\tA\tG\t110\n1\t2\tA\tG\t011\n")
    (tmp_path / "isec" / "sites_txt").rename(tmp_path / "isec" / "sites.txt")
    write(
        tmp_path / "isec",
        **{"README.txt": "bcftools isec -n+2 -p o\n" + "".join(f"o/{n}\tfor stripped\t{n}.vcf.gz\n" for n in "abc")},
    )
    table = gl.read_votes(tmp_path / "isec")
    table_like(table, ["a", "b", "c"], [[1, 1, 0], [0, 1, 1]], [0, 1])
    assert table.at_least == 2


# -- written back -------------------------------------------------------------------------------------------


def run(*words):
    assert main([str(word) for word in words]) == 0


def test_variants_get_two_more_fields_in_the_order_of_the_input(tmp_path, capsys):
    rng = np.random.default_rng(0)
    records = []
    for position in range(1, 121):
        real = rng.random() < 0.5
        called = [c for c in "abcde" if rng.random() < (0.9 if real else 0.15)] or ["a"]
        records.append(call(position * 10, info=f"DP=7;CALLERS={','.join(called)}"))
    write(tmp_path, **{"calls.vcf": vcf(*records, info=[("CALLERS", "x")])})
    run("combine", tmp_path / "calls.vcf", "-o", tmp_path / "out.vcf.gz", "-q")
    packed = (tmp_path / "out.vcf.gz").read_bytes()
    assert packed[:4] == b"\x1f\x8b\x08\x04"
    assert packed.endswith(bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000"))
    out = gzip.decompress(packed).decode().splitlines()
    before = (tmp_path / "calls.vcf").read_text().splitlines()
    kept = [line for line in out if not line.startswith(("##INFO=<ID=GOLDLESS", "##goldless"))]
    assert [line.partition(";GOLDLESS_P=")[0] for line in kept] == before
    values = [float(line.partition("GOLDLESS_P=")[2].partition(";")[0]) for line in out if line[0] != "#"]
    again = gl.read_votes(tmp_path / "out.vcf.gz")  # what was written is read like the input
    np.testing.assert_array_equal(again.votes.codes, gl.read_votes(tmp_path / "calls.vcf").votes.codes)
    run("combine", tmp_path / "calls.vcf", "-o", tmp_path / "labels.csv", "-q")
    assert (tmp_path / "labels.csv").read_text().startswith("site,label,probability of 1\n1:10:A:G,")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "labels.csv")["probability of 1"], values, atol=1e-4)
    assert main(["combine", str(tmp_path / "calls.vcf"), "-o", str(tmp_path / "labels.xlsx")]) == 1
    assert "ends in .csv, .tsv" in capsys.readouterr().err


def crowd(tmp_path, items=40):
    X, _ = gl.simulate_votes(items, groups=[1] * 5, imbalance=0.1, random_state=3)
    return pd.DataFrame(np.where(X > 0, "spam", "ham"), columns=list("abcde"))


def test_the_ending_decides_and_the_users_own_column_is_the_key(tmp_path, capsys):
    frame = crowd(tmp_path)
    frame.index = [f"case {i}" for i in range(len(frame))]
    frame.reset_index(names="doc_id").iloc[::-1].to_csv(tmp_path / "votes.csv", index=False)
    readers = {
        "csv": pd.read_csv,
        "tsv": lambda p: pd.read_csv(p, sep="\t"),
        "json": pd.read_json,
        "parquet": pd.read_parquet,
        "jsonl": lambda p: pd.read_json(p, lines=True),
        "feather": pd.read_feather,
    }
    for ending, back in readers.items():
        run("combine", tmp_path / "votes.csv", "-o", tmp_path / f"out.{ending}", "-q")
        labels = back(tmp_path / f"out.{ending}")
        assert labels.columns.tolist() == ["doc_id", "label", "probability of spam"]
        assert labels.doc_id.tolist() == frame.index[::-1].tolist()
    assert main(["combine", str(tmp_path / "votes.csv"), "-o", str(tmp_path / "o.langfuse.csv")]) == 1
    assert "the votes were not read from langfuse" in capsys.readouterr().err


def test_rows_that_tools_import(tmp_path):
    frame = crowd(tmp_path)
    scores = [
        {"traceId": f"t{i}", "name": v, "value": int(frame[v][i] == "spam"), "stringValue": "", "dataType": "BOOLEAN"}
        for i in frame.index
        for v in frame
    ]
    pd.DataFrame(scores).to_csv(tmp_path / "scores.csv", index=False)
    run("combine", tmp_path / "scores.csv", "-o", tmp_path / "out.langfuse.csv", "-q")
    out = pd.read_csv(tmp_path / "out.langfuse.csv")
    assert out.traceId.tolist() == [f"t{i}" for i in frame.index]
    assert set(out.name) == {"goldless"}
    assert set(out.value) == {0, 1}
    tasks = [
        {
            "id": i,
            "data": {"text": f"x{i}"},
            "annotations": [
                {
                    "completed_by": v,
                    "result": [
                        {"type": "choices", "from_name": "q", "to_name": "text", "value": {"choices": [frame[v][i]]}}
                    ],
                }
                for v in frame
            ],
        }
        for i in frame.index
    ]
    write(tmp_path, **{"tasks.json": tasks})
    run("combine", tmp_path / "tasks.json", "-o", tmp_path / "out.label_studio.json", "-q")
    back = json.loads((tmp_path / "out.label_studio.json").read_text())
    assert [task["data"]["text"] for task in back] == [f"x{i}" for i in frame.index]
    prediction = back[0]["predictions"][0]
    assert prediction["model_version"] == "goldless"
    assert 0.5 <= prediction["score"] <= 1
    assert prediction["result"][0]["from_name"] == "q"
    records = [
        {
            "id": f"r{i}",
            "_server_id": "x",
            "q.responses": frame.loc[i].tolist(),
            "q.responses.users": list("abcde"),
            "q.responses.status": ["submitted"] * 5,
        }
        for i in frame.index
    ]
    write(tmp_path, **{"records.json": records})
    run("combine", tmp_path / "records.json", "-o", tmp_path / "out.argilla.json", "-q")
    assert json.loads((tmp_path / "out.argilla.json").read_text())[0]["q.suggestion.agent"] == "goldless"
    marks = [
        {
            "_input_hash": i,
            "_task_hash": -i,
            "answer": "accept" if frame[v][i] == "spam" else "reject",
            "_annotator_id": v,
            "text": f"x{i}",
        }
        for i in frame.index
        for v in frame
    ]
    write(tmp_path, **{"marks.jsonl": lines(marks)})
    run("combine", tmp_path / "marks.jsonl", "-o", tmp_path / "out.prodigy.jsonl", "-q")
    reviewed = [json.loads(line) for line in (tmp_path / "out.prodigy.jsonl").read_text().splitlines()]
    assert [line["_input_hash"] for line in reviewed] == list(frame.index)
    assert {line["answer"] for line in reviewed} == {"accept", "reject"}


def choices(frame, **names):
    """What five voters say of every item, as answers of Label Studio."""
    kinds = {"type": "choices", "to_name": "text", **names}
    return [
        [{"completed_by": v, "result": [{**kinds, "value": {"choices": [frame[v][i]]}}]} for v in frame]
        for i in frame.index
    ]


def files_of_tools(frame):
    """The same votes in the files of tools that labels are written back to."""
    passed = frame == "spam"
    yield (
        "label_studio",
        "tasks.json",
        [
            {"id": 9 + i, "data": {"text": "x"}, "annotations": [*choices(frame, from_name="q")[i], *other]}
            for i, other in zip(frame.index, choices(frame, from_name="other"), strict=True)
        ],
    )
    flat = {"q.responses.users": list(frame), "q.responses.status": ["submitted"] * 5}
    yield "argilla", "flat.json", [{"id": f"r{i}", "q.responses": frame.loc[i].tolist(), **flat} for i in frame.index]
    yield (
        "argilla",
        "nested.json",
        [
            {"id": i, "_server_id": "s", "responses": {"q": [{"value": frame[v][i], "user_id": v} for v in frame]}}
            for i in frame.index
        ],
    )
    yield (
        "prodigy",
        "marks.jsonl",
        [
            {"_input_hash": i, "_task_hash": -i, "answer": "accept", "accept": [frame[v][i]], "_annotator_id": v}
            for i in frame.index
            for v in frame
        ],
    )
    yield (
        "langfuse",
        "scores.jsonl",
        [
            {
                "traceId": f"t{i // 2}",
                "observationId": f"o{i}",
                "name": v,
                "value": int(passed[v][i]),
                "dataType": "BOOLEAN",
            }
            for i in frame.index
            for v in frame
        ],
    )
    yield (
        "phoenix",
        "spans.jsonl",
        [
            {"span_id": f"s{i}", "annotation_name": v, "annotator_kind": "LLM", "label": frame[v][i]}
            for i in frame.index
            for v in frame
        ],
    )
    yield (
        "langsmith",
        "results.jsonl",
        [
            {"id": f"run-{i}", "input.q": "x", **{f"feedback.{v}": int(passed[v][i]) for v in frame}}
            for i in frame.index
        ],
    )
    yield (
        "promptfoo",
        "out.json",
        {
            "results": {
                "version": 3,
                "results": [
                    {
                        "testIdx": i,
                        "promptIdx": 0,
                        "prompt": {"raw": "p"},
                        "vars": {},
                        "success": True,
                        "namedScores": {"old": 1},
                        "gradingResult": {
                            "componentResults": [
                                {"pass": bool(passed[v][i]), "assertion": {"type": "llm-rubric", "provider": v}}
                                for v in frame
                            ]
                        },
                    }
                    for i in frame.index
                ],
            }
        },
    )
    yield (
        "inspect",
        "log.json",
        {
            "eval": {"task": "t", "task_id": "1", "eval_id": "2", "model": "m"},
            "samples": [
                {"id": i // 2, "epoch": i % 2 + 1, "scores": {v: {"value": "IC"[int(passed[v][i])]} for v in frame}}
                for i in frame.index
            ],
        },
    )


@pytest.mark.parametrize("number", range(9))
def test_what_is_written_is_read_back(number, tmp_path):
    frame = crowd(tmp_path)
    tool, name, content = list(files_of_tools(frame))[number]
    write(tmp_path, **{name: lines(content) if name.endswith("jsonl") else content})
    source = tmp_path / name
    more = ["--question", "q"] if tool == "label_studio" else []
    table = gl.read_votes(source, question="q" if more else None)
    assert (table.format, table.n_items, table.n_voters) == (tool, len(frame), 5)
    run("combine", source, *more, "-o", tmp_path / "labels.csv", "-q")
    expected = pd.read_csv(tmp_path / "labels.csv", dtype=str)
    ending = dict(TOOLS)[tool][0]
    out = tmp_path / f"out.{tool}{ending}"
    run("combine", source, *more, "-o", out, "-q")
    labels, p = expected["label"].tolist(), expected.iloc[:, 2].astype(float).tolist()
    positive = expected.columns[2].removeprefix("probability of ")
    sure = [one if label == positive else 1 - one for label, one in zip(labels, p, strict=True)]
    if tool in ("label_studio", "argilla", "prodigy", "langfuse", "phoenix"):
        again = gl.read_votes(out, format=tool)
        column = again.votes.codes[:, again.voters.index("goldless")]
        assert [str(again.votes.classes[code]) for code in column] == labels
        assert list(map(str, again.items)) == expected.iloc[:, 0].tolist()
    if tool == "label_studio":
        tasks = json.loads(out.read_text())
        assert {task["predictions"][0]["result"][0]["from_name"] for task in tasks} == {"q"}
        assert [task["predictions"][0]["score"] for task in tasks] == pytest.approx(sure)
    elif tool == "langfuse":  # an observation has its trace beside it
        assert pd.read_csv(out)["traceId"].tolist() == [f"t{i // 2}" for i in frame.index]
    elif tool == "langsmith":
        rows = pd.read_csv(out)
        assert rows.columns.tolist() == ["run_id", "key", "score"]
        assert rows.run_id.tolist() == [f"run-{i}" for i in frame.index]
        assert rows.score.tolist() == pytest.approx(p)
    elif tool == "promptfoo":
        scores = [result["namedScores"] for result in json.loads(out.read_text())["results"]["results"]]
        assert [score["goldless"] for score in scores] == pytest.approx(p)
        assert {score["old"] for score in scores} == {1}
        assert gl.read_votes(out).n_votes == table.n_votes
    elif tool == "inspect":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert [(row["id"], row["epoch"]) for row in rows] == [(i // 2, i % 2 + 1) for i in frame.index]
        assert [row["goldless_label"] for row in rows] == labels


def test_a_mark_before_text_is_no_part_of_it(tmp_path):
    frame = crowd(tmp_path)
    files = {
        name: lines(content) if name.endswith("jsonl") else content for _, name, content in files_of_tools(frame)
    }
    files |= {
        "callers.vcf": vcf(*(call(10 * i, info=f"CALLERS={'a,b,c'[: 1 + 2 * (i % 3)]}") for i in range(9))),
        "sites.txt": "".join(f"1\t{10 * i + 1}\tA\tG\t{i % 8:03b}\n" for i in range(9)),
        "wide.csv": frame.to_csv(index=False),
        "names.tsv": frame.to_csv(sep="\t", index=False, header=False),
    }
    for name, content in files.items():
        folder = tmp_path / "one by one"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write(folder, **{name: content})
        options = {"question": "q"} if name == "tasks.json" else {}
        plain, data = gl.read_votes(folder / name, **options), (folder / name).read_bytes()
        for marked, packed in ((name, lambda data: data), (f"{name}.gz", gzip.compress)):
            (folder / marked).write_bytes(packed(b"\xef\xbb\xbf" + data))
            read = gl.read_votes(folder / marked, **options)
            assert read.format == plain.format
            assert read.voters == plain.voters
            assert np.array_equal(read.votes.codes, plain.votes.codes)


def test_lines_of_lm_eval_are_written_for_every_task(tmp_path):
    frame = crowd(tmp_path)
    for task in ("x", "y"):
        for v in frame:
            records = [
                {
                    "doc_id": i,
                    "resps": [],
                    "filtered_resps": [],
                    "metrics": ["acc"],
                    "acc": float(frame[v][i] == "spam"),
                }
                for i in frame.index
            ]
            write(tmp_path, **{f"runs__{v}__samples_{task}_2026-01-01T00-00-00.jsonl": lines(records)})
    run("combine", tmp_path / "runs", "-o", tmp_path / "out.lm_eval.jsonl", "-q")
    rows = [json.loads(line) for line in (tmp_path / "out.lm_eval.jsonl").read_text().splitlines()]
    assert len(rows) == 80
    run("combine", tmp_path / "runs", "-o", tmp_path / "labels.csv", "-q")
    labels = pd.read_csv(tmp_path / "labels.csv")
    p, positive = labels.iloc[:, 2], labels["label"] == 1
    np.testing.assert_allclose([row["goldless_p"] for row in rows], np.where(positive, p, 1 - p), atol=1e-4)


def test_callers_files_give_one_file_that_tools_of_the_trade_take(tmp_path):
    pysam = pytest.importorskip("pysam")
    rng = np.random.default_rng(0)
    real = rng.random(200) < 0.5
    for name in ("a", "b c;d", "e", "f", "g"):
        found = np.flatnonzero(np.where(real, rng.random(200) < 0.9, rng.random(200) < 0.1))
        records = [call(10 + 5 * i, filters="PASS" if rng.random() < 0.9 else "low") for i in found]
        write(tmp_path, **{f"{name}.vcf": vcf(*records)})
    run("combine", str(tmp_path / "*.vcf"), "-o", tmp_path / "joined.vcf.gz", "-q", "--force")
    pysam.tabix_index(str(tmp_path / "joined.vcf.gz"), preset="vcf")
    table = gl.read_votes(str(tmp_path / "*.vcf"))
    with pysam.VariantFile(str(tmp_path / "joined.vcf.gz")) as file:
        header, records = str(file.header), list(file)
    assert [f"{r.chrom}:{r.pos}:{r.ref}:{r.alts[0]}" for r in records] == list(table.items)
    assert [r.info["NCALLERS"] for r in records] == (table.votes.codes == 1).sum(axis=1).tolist()
    assert all(0 <= r.info["GOLDLESS_P"][0] <= 1 for r in records)
    assert "unseen=" in header


# -- plug-ins -----------------------------------------------------------------------------------------------


class Dots:
    """A format of our own: lines of item.voter.label."""

    name, title, together = "dots", "lines of item.voter.label", False

    def sniff(self, file):
        return 1.0 if file.head.startswith(b"#dots") else None

    def open(self, files, options):
        rows = [line.split(".") for line in files[0].read().decode().splitlines()[1:]]
        return Read(
            pa.table(list(map(list, zip(*rows, strict=True))), names=["i", "v", "y"]), "dots", Roles("i", "v", "y")
        )


def test_plug_ins_take_the_same_road(tmp_path, monkeypatch, capsys):
    class Point:
        name = "dots"

        def load(self):
            return Dots

    monkeypatch.setattr(registry, "entry_points", lambda group: [Point()] if group == "goldless.readers" else [])
    for cached in (registry._plugins, registry.all_readers, registry.all_presets):
        cached.cache_clear()
    try:
        (tmp_path / "votes.dots").write_text("#dots\n1.a.x\n1.b.y\n2.a.y\n2.b.y\n")
        table = gl.read_votes(tmp_path / "votes.dots")
        table_like(table, ["a", "b"], [[0, 1], [1, 1]])
        assert table.how.startswith("Read as dots, long ('i', 'v', 'y')")
        assert main(["formats"]) == 0
        assert "lines of item.voter.label" in capsys.readouterr().out
    finally:
        monkeypatch.undo()
        for cached in (registry._plugins, registry.all_readers, registry.all_presets):
            cached.cache_clear()


def test_a_plug_in_that_is_installed_is_found(tmp_path):
    """A package on the path, with the entry point in its metadata, in a process of its own."""
    site = tmp_path / "site"
    write(
        site,
        **{
            "toy-1.0.dist-info__METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
            "toy-1.0.dist-info__entry_points.txt": "[goldless.readers]\ndots = toy:Dots\nbroken = toy:nothing\n",
            "toy.py": "import pyarrow as pa\nfrom goldless.io.readers.base import Read, Roles\n\n\n"
            + getsource(Dots),
        },
    )
    (tmp_path / "votes.dots").write_text(
        "#dots\n" + "".join(f"{i}.{v}.{'xy'[i % 2]}\n" for i in range(9) for v in "abc")
    )
    run = [sys.executable, "-m", "goldless.cli"]
    there = {**os.environ, "PYTHONPATH": str(site), "COLUMNS": "200"}
    listed = subprocess.run([*run, "formats"], env=there, capture_output=True, text=True, check=True)
    assert "lines of item.voter.label" in listed.stdout
    assert "The plug-in 'broken' of goldless.readers cannot be loaded" in listed.stderr
    for more in ([], ["--as", "dots"]):
        command = [*run, "combine", str(tmp_path / "votes.dots"), *more, "--method", "majority"]
        done = subprocess.run(command, env=there, capture_output=True, text=True, check=True)
        assert len(done.stdout.splitlines()) == 10
        assert "Read as dots, long ('i', 'v', 'y'): 27 votes of 3 voters on 9 items" in done.stderr


def test_formats_are_listed_and_a_wrong_name_is_corrected(capsys, tmp_path):
    assert main(["formats", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {"csv", "langfuse", "inspect", "vcf", "label_studio", "mturk"} <= said["read"].keys()
    assert ".vcf.gz" in said["write"]
    (tmp_path / "v.csv").write_text("a,b\n1,0\n0,0\n")
    assert main(["inspect", str(tmp_path / "v.csv"), "--as", "langfus"]) == 1
    assert "there is no format 'langfus'" in capsys.readouterr().err
    assert all(isinstance(preset, Preset) for preset in registry.all_presets())
