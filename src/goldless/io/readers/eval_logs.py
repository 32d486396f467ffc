"""Logs of evaluations by models and judges: each is read plainly, without the package that wrote it."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldless.errors import Note
from goldless.io.readers.base import (
    CERTAIN,
    UNZIP_ERRORS,
    File,
    Read,
    ReaderOptions,
    chosen,
    damaged,
    read_long,
    refuse_large,
)
from goldless.io.readers.records import NOT_THE_SCHEMA, Document, JsonFormat, find_records, not_the_schema, parse_json

_TIE = "tie"


def _names(documents: Sequence[Document]) -> str:
    return documents[0].file.name if len(documents) == 1 else str(_folder(documents[0]).parent)


def _folder(document: Document) -> Path:
    return Path(document.file.name).parent


def _distinct(values: Iterable[Any]) -> list:
    return list(dict.fromkeys(values))


def _joined(*parts: Any) -> str:
    return " ".join(str(part) for part in parts if part is not None and part != "")


# -- Inspect ------------------------------------------------------------------------------------------------


class InspectReader:
    """Logs of Inspect: ``.eval``, a zip file of JSON (deflate or zstd), and ``.json``."""

    name, title, together = "inspect", "Inspect AI logs (.eval and .json)", True

    def sniff(self, file: File) -> float | None:
        """Return that it is a zip file of a log, or that its keys are there."""
        if file.head.startswith(b"PK\x03\x04"):
            return CERTAIN if file.ending == ".eval" or b"_journal/start.json" in file.head[:200] else None
        known = {"eval", "task", "task_id", "model"} <= file.keys and not {"eval_id", "run_id"}.isdisjoint(file.keys)
        return CERTAIN if known else None

    def open(self, files: Sequence[File], options: ReaderOptions) -> Read:
        """Read logs; each sample of each epoch is an item, each scorer a voter; of one scorer each model."""
        try:
            return self._read(files, options)
        except NOT_THE_SCHEMA as error:
            raise not_the_schema(files, self.title, error) from None

    def _read(self, files: Sequence[File], options: ReaderOptions) -> Read:
        name = files[0].name if len(files) == 1 else str(Path(files[0].name).parent)
        logs = _of_one_task(inspect_logs(files), name, options)
        epochs = _epochs(logs)
        rows, notes = [], []
        of_models = _of_models(logs)
        for log, sample, item in inspect_items(logs):
            about = log["eval"]
            for scorer, score in _scores(sample).items():
                value = score.get("value") if isinstance(score, dict) and "value" in score else score
                voter = str(about.get("model")) if of_models else log["voters"].get(scorer, scorer)
                if isinstance(value, dict):
                    rows += [(item, f"{voter}.{key}", _grade(part)) for key, part in value.items()]
                elif not isinstance(value, list):
                    rows.append((item, voter, _grade(value)))
        for log in logs:
            about = log["eval"]
            if any(isinstance((one.get("options") or {}).get("model"), list) for one in about.get("scorers") or []):
                notes.append(
                    Note(
                        "A scorer with a list of models keeps only their common vote in the log; several scorers "
                        "with one model each keep every vote"
                    )
                )
        rows, more = _one_kind_of_grade(rows)
        how = "an Inspect log" if len(logs) == 1 else f"{len(logs)} Inspect logs"
        how += ", each model a voter" if of_models else ""
        how += ", each epoch of a sample an item" if epochs > 1 else ""
        letters = {label for _, _, label in rows if label is not None} <= {"C", "I"}
        classes, question = ("I", "C") if letters else None, options.question or ""
        return read_long(rows, how, name, (*notes[:1], *more), classes=classes, question=question)


def inspect_logs(files: Sequence[File]) -> list[dict]:
    """Return logs as they are read: what they are of, how scorers are called, their samples."""
    logs = []
    for file in files:
        log = _inspect_zip(file) if file.head.startswith(b"PK") else _inspect_json(file)
        logs.append({**log, "voters": _judges(log["eval"].get("scorers") or []), "file": file})
    return logs


def inspect_items(logs: Sequence[dict]) -> Iterator[tuple[dict, dict, str]]:
    """Yield every sample with its log and how its item is called: by id and epoch, and by what logs differ in."""
    of_models, epochs = _of_models(logs), _epochs(logs)
    titles = [_joined(log["eval"].get("task"), "" if of_models else log["eval"].get("model")) for log in logs]
    for log, title in zip(logs, titles, strict=True):
        for sample in log["samples"]:
            epoch = f"#{sample.get('epoch', 1)}" if epochs > 1 else ""
            yield log, sample, _joined(title if len(set(titles)) > 1 else "", f"{sample['id']}{epoch}")


def _epochs(logs: Sequence[dict]) -> int:
    return max((sample.get("epoch", 1) for log in logs for sample in log["samples"]), default=1)


def _scores(sample: dict) -> dict[str, Any]:
    """Return the scores of a sample by their scorer; the first logs had one."""
    return sample.get("scores") or ({"scorer": sample["score"]} if sample.get("score") else {})


def _of_models(logs: Sequence[dict]) -> bool:
    """Whether one scorer marks the answers of several models, so that these are the voters."""
    scorers = {scorer for log in logs for sample in log["samples"] for scorer in _scores(sample)}
    return len(scorers) == 1 and len({log["eval"].get("model") for log in logs}) > 1


def _of_one_task(logs: list[dict], name: str, options: ReaderOptions) -> list[dict]:
    """Return the logs of the task that the user asks for; of several only if the same scorers judge all."""
    tasks = _distinct(str(log["eval"].get("task")) for log in logs)
    scorers = [{scorer for sample in log["samples"] for scorer in _scores(sample)} for log in logs]
    if options.question is None and (len(tasks) == 1 or all(of_log == scorers[0] for of_log in scorers)):
        return logs
    task = chosen(tasks, "tasks", name, options)
    return [log for log in logs if str(log["eval"].get("task")) == task]


def _inspect_json(file: File) -> dict:
    log = parse_json(file).value
    return {"eval": log["eval"], "samples": log.get("samples") or []}


def _inspect_zip(file: File) -> dict:
    """Read the header and the summaries of a log, and samples only where the summaries lack their scores."""
    try:
        data = file.read()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            refuse_large(file.name, sum(member.file_size for member in archive.infolist()))
            names = set(archive.namelist())
            header = "header.json" if "header.json" in names else "_journal/start.json"
            about = json.loads(_member(data, archive, header))["eval"]
            if "summaries.json" in names:
                samples = json.loads(_member(data, archive, "summaries.json"))
            else:
                parts = sorted(name for name in names if re.match(r"_journal/summaries/\d+\.json", name))
                samples = [sample for part in parts for sample in json.loads(_member(data, archive, part))]
            if not any(sample.get("scores") for sample in samples):
                members = [name for name in archive.namelist() if name.startswith("samples/")]
                samples = [json.loads(_member(data, archive, name)) for name in members]
    except (*UNZIP_ERRORS, KeyError, ValueError, pa.ArrowException) as error:
        raise damaged(file.name, "Inspect log", error) from None
    return {"eval": about, "samples": samples}


_ZSTD = 93


def _member(data: bytes, archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a member of a zip file; what is compressed with zstd Arrow unpacks, for zipfile does so only late."""
    entry = archive.getinfo(name)
    if entry.compress_type != _ZSTD:
        return archive.read(name)
    start = entry.header_offset
    lengths = int.from_bytes(data[start + 26 : start + 28], "little") + int.from_bytes(
        data[start + 28 : start + 30], "little"
    )
    packed = data[start + 30 + lengths :][: entry.compress_size]
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return stream.read(entry.file_size)


def _judges(scorers: Sequence[dict]) -> dict[str, str]:
    """Return the name of each scorer: of its judge, if it has one and no other scorer has it."""
    keys: list[str] = []
    models: list[str | None] = []
    for scorer in scorers:
        base = str(scorer.get("name", "")).rpartition("/")[2]
        earlier = sum(key.rstrip("0123456789") == base or key == base for key in keys)
        keys.append(base if not earlier else f"{base}{earlier}")
        model = (scorer.get("options") or {}).get("model")
        models.append(model.get("model") if isinstance(model, dict) else model if isinstance(model, str) else None)
    return {
        key: model if model and models.count(model) == 1 else key for key, model in zip(keys, models, strict=True)
    }


def _grade(value: Any) -> Any:
    """Return a grade; NaN and what is no plain value are missing."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if isinstance(value, str | int | float | bool) else None


_LETTERS = {"C": "C", "I": "I", "P": "P", "N": "N", True: "C", False: "I"}  # 1 and 0 equal True and False


def _one_kind_of_grade(rows: list[tuple]) -> tuple[list[tuple], tuple[Note, ...]]:
    """Return grades in letters where any scorer gives letters; scorers of other numbers are left out then."""
    grades: dict[str, set] = {}
    for _, voter, label in rows:
        grades.setdefault(voter, set()).update(() if label is None else (label,))
    if not any(isinstance(label, str) for labels in grades.values() for label in labels):
        return rows, ()
    strange = [voter for voter, labels in grades.items() if any(label not in _LETTERS for label in labels)]
    if len(strange) == len(grades):
        return rows, ()
    kept = [(i, voter, None if y is None else _LETTERS[y]) for i, voter, y in rows if voter not in strange]
    if not strange:
        return kept, ()
    return kept, (Note(f"Left out, for they give other marks than the rest: {', '.join(map(repr, strange))}"),)


# -- lm-evaluation-harness, HELM, RewardBench: one model a file ----------------------------------------------


def lm_eval_items(documents: Sequence[Document]) -> Iterator[tuple[Document, dict, str]]:
    """Yield every record with how its item is called: by its task, document and filter."""
    filters = _distinct(record.get("filter") for document in documents for record in document.records)
    tasks = _distinct(_task_of(document) for document in documents)
    for document in documents:
        task = _task_of(document) if len(tasks) > 1 else ""
        for record in document.records:
            yield document, record, _joined(task, record["doc_id"], record.get("filter") if len(filters) > 1 else "")


def _lm_eval(documents: list[Document], options: ReaderOptions) -> Read:
    metrics = _distinct(m for d in documents for record in d.records for m in record.get("metrics") or ())
    if not metrics:
        known = ("doc_id", "doc", "target", "filter", "arguments", "resps", "filtered_resps")
        record = documents[0].records[0]
        metrics = [k for k, v in record.items() if k not in known and isinstance(v, int | float | bool)]
    metric = chosen(metrics, "metrics", _names(documents), options)
    folders = _distinct(_folder(document).name for document in documents)
    rows = []
    for document, record, item in lm_eval_items(documents):
        voter = _folder(document).name if len(folders) > 1 else document.file.stem
        rows.append((item, voter, record.get(metric)))
    return read_long(rows, f"lm-evaluation-harness samples, metric {metric!r}", _names(documents))


def _task_of(document: Document) -> str:
    return re.sub(r"_\d{4}-\d\d-\d\dT.*$", "", document.file.stem.removeprefix("samples_"))


def _helm(documents: list[Document], options: ReaderOptions) -> Read:
    metrics = _distinct(
        stat["name"]["name"] for document in documents for record in document.records for stat in record["stats"]
    )
    scored = [m for m in metrics if m.endswith("match") or m in ("exact_match", "quasi_exact_match")] or metrics
    metric = chosen(scored if options.question is None else metrics, "metrics", _names(documents), options)
    runs = {id(document): _folder(document).name for document in documents}
    scenarios = _distinct(_without_model(run) for run in runs.values())
    trials = max((r.get("train_trial_index") or 0 for d in documents for r in d.records), default=0)
    rows = []
    for document in documents:
        run = runs[id(document)]
        model = re.search(r"model=([^,/]+)", run)
        for record in document.records:
            perturbed = (record.get("perturbation") or {}).get("name")
            item = _joined(
                _without_model(run) if len(scenarios) > 1 else "",
                record["instance_id"],
                perturbed,
                record["train_trial_index"] if trials else "",
            )
            values = [stat.get("mean") for stat in record["stats"] if stat["name"]["name"] == metric]
            rows += [(item, model[1] if model else run, value) for value in values[:1]]
    return read_long(rows, f"HELM per-instance stats, metric {metric!r}", _names(documents))


def _without_model(run: str) -> str:
    return re.sub(r",?model=[^,/]+", "", run)


def _rewardbench(documents: list[Document], options: ReaderOptions) -> Read:
    rows = []
    for document in documents:
        voter = document.file.stem.removesuffix("_outputs")
        for record in document.records:
            label = record.get("results")
            if label is None:
                chosen, rejected = record.get("scores_chosen"), record.get("scores_rejected")
                label = None if chosen is None or rejected is None else int(chosen > rejected)
            rows.append((record["id"], voter, label))
    return read_long(rows, "RewardBench outputs: 1 if the chosen answer got the higher reward", _names(documents))


# -- promptfoo ----------------------------------------------------------------------------------------------


def promptfoo_results(value: Any) -> list[dict]:
    """Return the results of a file of promptfoo of any version, or of its lines."""
    if isinstance(value, dict) and isinstance(value.get("data"), dict):  # as it is shared
        value = value["data"]
    inner = value if isinstance(value, list) else value["results"]
    return inner if isinstance(inner, list) else inner["results"]


def _provider(result: dict) -> str:
    provider = result.get("provider") or {}
    return str(provider.get("label") or provider.get("id") or "" if isinstance(provider, dict) else provider)


def promptfoo_items(results: Sequence[dict]) -> list[str]:
    """Return how each output that was judged is called: by its test, prompt and provider."""
    tests, prompts, providers = (_distinct(map(of, results)) for of in (_test_of, _prompt_of, _provider))
    return [
        _joined(
            f"test {tests.index(_test_of(result))}",
            f"prompt {prompts.index(_prompt_of(result))}" if len(prompts) > 1 else "",
            _provider(result) if len(providers) > 1 else "",
        )
        for result in results
    ]


def _promptfoo(documents: list[Document], options: ReaderOptions) -> Read:
    (document,) = documents
    results = promptfoo_results(document.value)
    rows: list[tuple] = []
    for result, item in zip(results, promptfoo_items(results), strict=True):
        parts = (result.get("gradingResult") or {}).get("componentResults") or ()
        voters = [_asserting(part.get("assertion") or {}) for part in parts]
        for number, (part, voter) in enumerate(zip(parts, voters, strict=True)):
            again = f"#{voters[:number].count(voter) + 1}" if voters.count(voter) > 1 else ""
            rows.append((item, _joined(voter, again), part.get("pass"), part.get("score")))
    how = "promptfoo results, each assertion a voter"
    tests, prompts, providers = (_distinct(map(of, results)) for of in (_test_of, _prompt_of, _provider))
    if not rows and len(prompts) * len(providers) > 1:
        how = "promptfoo results without assertions, each prompt and provider a voter"
        for result in results:
            voter = _joined(_prompt_of(result) if len(prompts) > 1 else "", _provider(result))
            item = f"test {tests.index(_test_of(result))}"
            rows.append((item, voter, result.get("success"), result.get("score")))
    return read_long(rows, how, document.file.name, classes=(False, True))


def _asserting(assertion: dict) -> str:
    """Return how an assertion is called: by its metric, or by its type and the model that judges."""
    provider = assertion.get("provider")
    judge = provider.get("id", "") if isinstance(provider, dict) else provider
    return str(assertion.get("metric") or _joined(assertion.get("type"), judge) or "assertion")


def _test_of(result: dict) -> str:
    return str(result["testIdx"]) if "testIdx" in result else json.dumps(result.get("vars"), sort_keys=True)


def _prompt_of(result: dict) -> str:
    prompt = result.get("prompt") or {}
    if isinstance(prompt, str):
        return prompt
    return str(prompt.get("label") or prompt.get("display") or prompt.get("raw") or result.get("promptIdx", ""))


# -- OpenAI evals, DeepEval, Braintrust ---------------------------------------------------------------------


def _openai_log(documents: list[Document], options: ReaderOptions) -> Read:
    rows = []
    for document in documents:
        spec = next((record["spec"] for record in document.records if "spec" in record), dict[str, Any]())
        voter = ", ".join(spec.get("completion_fns") or ()) or document.file.stem
        rows += [
            (record["sample_id"], voter, record["data"].get("correct"))
            for record in document.records
            if record.get("type") == "match"
        ]
    return read_long(rows, "OpenAI evals log: is the sampled answer correct", _names(documents))


def _openai_export(documents: list[Document], options: ReaderOptions) -> Read:
    rows = []
    for document in documents:
        runs = _distinct(record.get("run_id") for record in document.records)
        for record in document.records:
            item = _joined(record.get("run_id") if len(runs) > 1 else "", record["data_source_idx"])
            passes, grades = record.get("passes") or {}, record.get("grades") or {}
            rows += [(item, grader, passes[grader], grades.get(grader)) for grader in passes]
    return read_long(rows, "OpenAI evals export: does each grader pass the item", _names(documents))


def _deepeval(documents: list[Document], options: ReaderOptions) -> Read:
    (document,) = documents
    cases = _cases(document.value)
    given = [case.get("metricsData") or case.get("metrics_data") or () for case in cases]
    metrics = _distinct(metric["name"] for case in given for metric in case)
    models = _distinct(_evaluation_model(metric) for case in given for metric in case)
    rows = []
    for number, case in enumerate(cases):
        for metric in given[number]:
            voter = _joined(
                metric["name"] if len(metrics) > 1 or len(models) < 2 else "",
                _evaluation_model(metric) if len(models) > 1 else "",
            )
            label = None if metric.get("error") else metric.get("success")
            rows.append((case.get("name") or f"case {number}", voter, label, metric.get("score")))
    return read_long(rows, "DeepEval test run, each metric and judge a voter", document.file.name)


def _cases(run: Any) -> list[dict]:
    """Return the test cases of a run, which may be wrapped."""
    keys = ("testCases", "test_cases", "test_results", "conversationalTestCases", "conversational_test_cases")
    if not any(key in run for key in keys):
        run = next(inner for inner in run.values() if isinstance(inner, dict) and any(key in inner for key in keys))
    return [case for key in keys for case in run.get(key) or ()]


def _evaluation_model(metric: dict) -> str | None:
    return metric.get("evaluationModel") or metric.get("evaluation_model")


def _braintrust(documents: list[Document], options: ReaderOptions) -> Read:
    (document,) = documents
    rows = [
        (record.get("id", number), voter, score)
        for number, record in enumerate(find_records(document)[0])
        for voter, score in (record.get("scores") or {}).items()
    ]
    return read_long(rows, "Braintrust experiment, each score a voter", document.file.name)


# -- comparisons in pairs -----------------------------------------------------------------------------------


def _alpaca(documents: list[Document], options: ReaderOptions) -> Read:
    records = [record for document in documents for record in document.records]
    pairs = _distinct((record.get("generator_1"), record.get("generator_2")) for record in records)
    weighted, rows = set(), []
    names: dict[tuple, str] = {}
    taken: dict[str, list[str]] = {}
    for record in records:
        preference = record.get("preference")
        if preference in (0, 1.5):
            label: Any = _TIE  # 0 in older files
        elif preference is None or preference != preference:
            label = None
        else:
            label = "output_1" if preference < 1.5 else "output_2"
            if preference not in (1, 2):
                weighted.add(str(record["annotator"]))
        pair = f"[{record.get('generator_1')} / {record.get('generator_2')}]" if len(pairs) > 1 else ""
        item = _joined(record["instruction"], pair)
        key = (item, record.get("dataset"), record.get("output_1"), record.get("output_2"))
        if key not in names:  # an instruction may occur twice
            again = len(taken.get(item, ()))
            names[key] = f"{item} ({again + 1})" if again else item
            taken.setdefault(item, []).append(names[key])
        rows.append((names[key], str(record["annotator"]), label))
    notes = []
    if weighted:
        notes.append(Note(f"Weighted preferences of {', '.join(sorted(weighted))} were cut at 1.5"))
    if len(pairs) > 1:
        notes.append(Note(f"{len(pairs)} pairs of models are compared; only equal pairs are one item"))
    return read_long(rows, "AlpacaEval annotations: which output is better", _names(documents), tuple(notes))


def _judge(record: dict) -> str:
    judge = record.get("judge")
    return str(judge[0] if isinstance(judge, list) else judge)


def _mt_single(documents: list[Document], options: ReaderOptions) -> Read:
    records = [record for document in documents for record in document.records]
    models = _distinct(record.get("model") for record in records)
    rows = [
        (
            _joined(r["question_id"], f"turn {r.get('turn', 1)}", r.get("model") if len(models) > 1 else ""),
            _judge(r),
            None if r.get("score") == -1 else r.get("score"),  # -1: no score was found in the judgment
        )
        for r in records
    ]
    return read_long(rows, "MT-Bench grades of single answers", _names(documents))


def _mt_pair(documents: list[Document], options: ReaderOptions) -> Read:
    records = [record for document in documents for record in document.records]
    pairs = _distinct((record["model_1"], record["model_2"]) for record in records)
    rows: list[tuple] = []
    for record in records:
        models = f"{record['model_1']} / {record['model_2']}" if len(pairs) > 1 else ""
        item = _joined(record["question_id"], f"turn {record.get('turn', 1)}", models)
        games = [record.get("g1_winner"), record.get("g2_winner")]  # mapped to models already: no flip
        rows += _pair_votes(item, _judge(record), [None if game == "error" else game for game in games], options)
    return read_long(rows, f"MT-Bench comparisons, {_games(options)}", _names(documents))


def _pair_votes(item: str, judge: str, games: list, options: ReaderOptions) -> Iterator[tuple]:
    """Yield one vote for two games (a tie if they differ), or one for each."""
    if options.pairs == "games":
        yield from ((item, f"{judge}, game {number}", game) for number, game in enumerate(games, 1))
    else:
        first, second = games
        both = first is not None and second is not None
        yield item, judge, (first if first == second else _TIE) if both else None


def _games(options: ReaderOptions) -> str:
    if options.pairs == "games":
        return "each order of the answers a vote"
    return "a vote where both orders of the answers agree, a tie where they differ"


_FLIPPED = {"A>B": "B>A", "B>A": "A>B", "A=B": "A=B"}


def _judgebench(documents: list[Document], options: ReaderOptions) -> Read:
    rows: list[tuple] = []
    for document in documents:
        for record in document.records:
            games = [_FLIPPED[d] if (d := j.get("decision")) in _FLIPPED else None for j in record["judgments"]]
            first = _FLIPPED[games[0]] if games[0] else None  # only the second is in swapped order
            order = [first, games[1] if len(games) > 1 else None]
            order = [_TIE if game == "A=B" else game for game in order]
            asked = record["judgments"][0].get("judgment")
            model = asked.get("judge_model") if isinstance(asked, dict) else None
            voter = " ".join(str(part) for part in (record.get("judge_name"), model) if part) or document.file.stem
            if len(games) > 1:
                rows += _pair_votes(str(record["pair_id"]), voter, order, options)
            else:
                rows.append((str(record["pair_id"]), voter, order[0]))
    return read_long(rows, f"JudgeBench judgments, {_games(options)}", _names(documents))


def _arena(documents: list[Document], options: ReaderOptions) -> Read:
    records = [record for document in documents for record in document.records]
    pairs = _distinct((record["model_a"], record["model_b"]) for record in records)
    rows = [
        (
            _joined(r["question_id"], f"{r['model_a']} / {r['model_b']}" if len(pairs) > 1 else ""),
            _judge(r),
            _TIE if str(r["winner"]).startswith("tie") else r["winner"],
        )
        for r in records
    ]
    return read_long(rows, "Arena battles", _names(documents))


FORMATS = (
    JsonFormat(
        "lm_eval", "lm-evaluation-harness samples_*.jsonl", ("doc_id", "resps", "filtered_resps"), _lm_eval, True
    ),
    JsonFormat("helm", "HELM per_instance_stats.json", ("instance_id", "train_trial_index", "stats"), _helm, True),
    JsonFormat("rewardbench", "RewardBench outputs", ("scores_chosen", "scores_rejected"), _rewardbench, True),
    JsonFormat(
        "promptfoo", "promptfoo results (versions 2 to 4)", ("results", "prompt", "success", "vars"), _promptfoo
    ),
    JsonFormat("promptfoo", "promptfoo results", ("results", "testIdx", "success", "gradingResult"), _promptfoo),
    JsonFormat(
        *("promptfoo", "promptfoo results in lines", ("testIdx", "promptIdx", "success", "vars"), _promptfoo),
        without=("results",),
    ),
    JsonFormat("openai_evals_log", "OpenAI evals log", ("spec", "completion_fns", "sample_id"), _openai_log, True),
    JsonFormat("openai_evals", "OpenAI evals export", ("data_source_idx", "grades"), _openai_export, True),
    JsonFormat("deepeval", "DeepEval test runs", ("testCases", "metricsData"), _deepeval),
    JsonFormat("deepeval", "DeepEval test runs", ("metrics_data", "success", "threshold"), _deepeval),
    JsonFormat(
        *("braintrust", "Braintrust experiments", ("id", "scores", "input", "output"), _braintrust),
        without=("eval_id", "results"),
    ),
    JsonFormat(
        "alpaca_eval", "AlpacaEval annotations.json", ("annotator", "preference", "generator_1"), _alpaca, True
    ),
    JsonFormat("mt_bench_single", "MT-Bench grades", ("question_id", "judge", "score", "turn"), _mt_single, True),
    JsonFormat("mt_bench_pair", "MT-Bench comparisons", ("question_id", "g1_winner", "g2_winner"), _mt_pair, True),
    JsonFormat("judgebench", "JudgeBench judgments", ("pair_id", "judgments", "decision"), _judgebench, True),
    JsonFormat("arena", "Arena battles", ("question_id", "model_a", "model_b", "winner"), _arena, True),
)
