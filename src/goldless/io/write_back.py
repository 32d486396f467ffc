"""Labels written back into what people use: VCF with two more INFO fields, and rows that annotation tools import."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.readers.annotation import SEVERAL, label_studio_item
from goldless.io.readers.base import File, ReaderOptions
from goldless.io.readers.eval_logs import (
    inspect_items,
    inspect_logs,
    lm_eval_items,
    promptfoo_items,
    promptfoo_results,
)
from goldless.io.readers.records import Document, parse_json
from goldless.io.readers.registry import sniff
from goldless.io.readers.vcf import alleles, item_name, lines_of
from goldless.io.tables import VotesFile
from goldless.io.writing import as_lines, as_text
from goldless.kernels.sparse import dense_codes
from goldless.words import clean

AGENT = "goldless"


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of the items of a file."""

    table: VotesFile  # the votes, which know their items, their files and their format
    codes: NDArray[np.integer]  # (n_items,): code of each label
    probability: NDArray[np.float64]  # (n_items, n_classes)
    # (n_items,): supporting voters of the positive class, a group that shares errors counted once
    support: NDArray[np.float64] | None = None
    unseen: float | None = None  # how many candidate items nobody called, if that was counted
    cut: float | None = None  # variants with a smaller probability are marked in the FILTER of a VCF file

    @property
    def classes(self) -> list:
        """The labels, as Python's own values."""
        assert self.table.votes is not None
        return self.table.votes.classes.tolist()

    @property
    def names(self) -> list:
        """Names of the items; their numbers from 1 where they have none."""
        return self.table.votes.item_names

    def by_item(self) -> dict[str, tuple[Any, float]]:
        """Return the label of each item and its probability."""
        sure = self.probability[np.arange(len(self.codes)), self.codes]
        labels = [self.classes[code] for code in self.codes.tolist()]
        return {str(n): (label, round(p, 4)) for n, label, p in zip(self.names, labels, sure.tolist(), strict=True)}

    def positive(self) -> NDArray[np.float64]:
        """Return the probability of the positive class, of more than two that of the label."""
        if len(self.classes) == 2:
            return self.probability[:, 1]
        return self.probability[np.arange(len(self.codes)), self.codes]


Writer = Callable[[Labels], bytes]


def writer_for(path: str, table: VotesFile | None) -> Writer | None:
    """Return what writes labels to a file with such an ending, None for a plain table.

    ``.vcf`` and ``.vcf.gz`` go with variant calls; ``.<format>.json``, ``.jsonl`` and ``.csv``, such as
    ``labels.langfuse.csv``, are what that tool imports.
    """
    name = path.lower()
    if name.endswith((".vcf", ".vcf.gz")):
        if table is not None and table.format not in ("vcf", "isec"):
            raise VotesError("output", f"{path}: labels are written as VCF only if the votes are variant calls")
        return lambda labels: bgzip(write_vcf(labels)) if name.endswith(".gz") else write_vcf(labels)
    for tool, (ending, write) in TOOLS.items():
        if name.endswith(f".{tool}{ending}"):
            if table is not None and table.format != tool:
                raise VotesError("output", f"{path}: the votes were not read from {tool}, so they have no rows there")
            if table is not None and not table.files:
                raise VotesError("output", f"{path}: votes from standard input have no file to be written back to")
            return write
    return None


# -- VCF ----------------------------------------------------------------------------------------------------

_INFO = (
    '##INFO=<ID=GOLDLESS_P,Number=A,Type=Float,Description="Probability that the variant is real, from the callers '
    'alone">',
    '##INFO=<ID=GOLDLESS_NEFF,Number=A,Type=Float,Description="Supporting callers, a group that shares errors '
    'counted once">',
)


_LOW = "GoldlessLow"
_SITE = re.compile(r"(.*):(\d+):(.*?):(.*)", re.DOTALL)  # names of contigs may hold a colon
_NO_CALLER = re.compile(r'[\s;=,|"%<>\\]|^\.?$')  # what ends a value of INFO, and what means that there is none
_NO_CONTIG = re.compile(r"""[\s,"'`\\()\[\]{}<>]|^[*=#]|^$""")  # what the format allows in no name of a contig
_NO_ALLELE = re.compile(r"\s|^$")


def write_vcf(labels: Labels) -> bytes:
    """Return the records of the input with two more INFO fields; of several inputs, one record a variant."""
    table = labels.table
    p = dict(zip(map(str, labels.names), labels.positive().tolist(), strict=True))
    support = labels.support if labels.support is not None else np.zeros(len(labels.codes))
    n_eff = dict(zip(map(str, labels.names), support.tolist(), strict=True))
    about = f'##goldless=<version={version("goldless")},callers="{",".join(_words(table.voters, _NO_CALLER))}"'
    about += f",items={table.n_items}" + (f",unseen={labels.unseen:.0f}>" if labels.unseen is not None else ">")
    header: tuple[str, ...] = (*_INFO, about)
    if labels.cut is not None:
        header = (f'##FILTER=<ID={_LOW},Description="GOLDLESS_P below {labels.cut:g}">', *header)
    if table.format == "vcf" and len(table.files) == 1:
        lines = _annotated(File(table.files[0]), p, n_eff, labels.cut, header)
    else:
        lines = _sites(labels, p, n_eff, header)
    return ("\n".join(lines) + "\n").encode()


def _words(names: Iterable[str], barred: re.Pattern[str]) -> list[str]:
    """Return names without control characters and what else is barred; two that become one are numbered."""
    words: dict[str, None] = {}
    for name in names:
        stem = barred.sub("_", clean(name))
        numbered = (f"{stem}_{number}" for number in count(2))
        words[next(word for word in chain([stem], numbered) if word not in words)] = None
    return list(words)


def _filter(before: str, sure: Sequence[float], cut: float | None) -> str:
    """Return the FILTER of a record: that none of its variants reaches the cut is added, that one does is passed."""
    if cut is None or not sure:
        return before
    if max(sure) >= cut:
        return "PASS" if before in (".", "") else before
    return _LOW if before in (".", "", "PASS") else f"{before};{_LOW}"


def _annotated(
    file: File, p: dict[str, float], n_eff: dict[str, float], cut: float | None, header: Sequence[str]
) -> Iterator[str]:
    """Yield every line of a file, the records with what was found added."""
    for line in lines_of(file):
        if line.startswith("#CHROM"):
            yield from header
        if line.startswith("#") or not line:
            yield line
            continue
        fields = line.split("\t")
        names = [item_name(site) for site in alleles(fields)]
        if any(name in p for name in names):
            added = f"GOLDLESS_P={_numbers(names, p)};GOLDLESS_NEFF={_numbers(names, n_eff)}"
            fields[7] = added if fields[7] in (".", "") else f"{fields[7]};{added}"
            fields[6] = _filter(fields[6], [p[name] for name in names if name in p], cut)
        yield "\t".join(fields)


def _numbers(names: list[str], values: dict[str, float]) -> str:
    return ",".join(f"{values[name]:.4g}" if name in values else "." for name in names)


def _sites(labels: Labels, p: dict[str, float], n_eff: dict[str, float], header: Sequence[str]) -> Iterator[str]:
    """Yield a file of the variants alone, in the order of the votes, with who called each."""
    votes = labels.table.votes
    assert votes is not None
    names = list(map(str, labels.names))
    sites = [found.groups() for found in map(_SITE.fullmatch, names) if found is not None]
    contigs = list(dict.fromkeys(contig for contig, *_ in sites))
    contig_as = dict(zip(contigs, _words(contigs, _NO_CONTIG), strict=True))
    yield "##fileformat=VCFv4.2"
    yield from (f"##contig=<ID={contig}>" for contig in contig_as.values())
    yield '##INFO=<ID=CALLERS,Number=.,Type=String,Description="Callers that found this variant">'
    yield '##INFO=<ID=NCALLERS,Number=1,Type=Integer,Description="Number of callers">'
    yield from header
    yield "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    called = dense_codes(votes.codes) == 1
    voters = np.array(_words(labels.table.voters, _NO_CALLER))
    for number, (name, site) in enumerate(zip(names, sites, strict=True)):
        contig, position = contig_as[site[0]], site[1]
        reference, alternative = (_NO_ALLELE.sub("_", clean(allele)) for allele in site[2:])
        who = voters[called[number]].tolist()
        found = f"GOLDLESS_P={p[name]:.4g};GOLDLESS_NEFF={n_eff[name]:.4g}"
        info = f"CALLERS={','.join(who) or '.'};NCALLERS={len(who)};{found}"
        yield "\t".join(
            [contig, position, ".", reference, alternative, ".", _filter(".", [p[name]], labels.cut), info]
        )


_BGZF_BLOCK = 65280
_BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def bgzip(data: bytes) -> bytes:
    """Return data as blocked gzip, which tabix indexes and every gzip reads."""
    parts = []
    for start in range(0, len(data), _BGZF_BLOCK):
        block = data[start : start + _BGZF_BLOCK]
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(block) + packer.flush()
        header = struct.pack("<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(packed) + 25)
        parts.append(header + packed + struct.pack("<II", zlib.crc32(block), len(block)))
    return b"".join(parts) + _BGZF_END


# -- tools --------------------------------------------------------------------------------------------------


def _only(labels: Labels) -> Document:
    """Return the only file of the votes, parsed."""
    return parse_json(File(labels.table.files[0]))


def _documents(labels: Labels) -> list[Document]:
    """Return all files of the votes, parsed."""
    return [parse_json(File(path)) for path in labels.table.files]


def _written(labels: Labels, values: list[Any], n_placed: int | None = None) -> bytes:
    """Return JSON, a line a value, in which so many labels have found their place: by default one in each value."""
    if not (len(values) if n_placed is None else n_placed):
        seen = f"no item of {labels.table.name} was found again in its file, so nothing was written"
        raise VotesError("output", seen)
    return as_lines(values)


def _label_studio(labels: Labels) -> bytes:
    """Return tasks with a prediction each, to be imported."""
    found, tasks = labels.by_item(), _only(labels).records
    template = _template(tasks, labels.table.question)
    out, placed = [], 0
    for number, task in enumerate(tasks):
        label = found.get(str(label_studio_item(task, number)))
        new = {"data": task.get("data", {}), **({"id": task["id"]} if "id" in task else {})}
        if label is not None and template is not None:
            answer = {**template, "value": _choice(template["type"], label[0])}
            new["predictions"] = [{"model_version": AGENT, "score": label[1], "result": [answer]}]
            placed += 1
        out.append(new)
    return _written(labels, [out], placed)


def _choice(kind: str, label: Any) -> dict[str, Any]:
    """Return an answer as Label Studio holds it."""
    if kind == "choices":
        return {"choices": str(label).split(SEVERAL)}
    return {"rating": label} if kind == "rating" else {"selected": label}


def _template(tasks: list[dict], question: str) -> dict | None:
    """Return the first answer to a question, for its names."""
    for task in tasks:
        annotations = task.get("annotations") or task.get("completions") or ()
        for given in (*annotations, *(task.get("predictions") or ())):
            for result in given.get("result") or ():
                if result.get("from_name") == question and result.get("type") in ("choices", "rating", "pairwise"):
                    return {key: result[key] for key in ("type", "from_name", "to_name") if key in result}
    return None


def _argilla(labels: Labels) -> bytes:
    """Return records with a suggestion each."""
    found, records, question = labels.by_item(), _only(labels).records, labels.table.question
    placed = 0
    for number, record in enumerate(records):
        label = found.get(str(record.get("id", number + 1)))
        if label is None:
            continue
        placed += 1
        suggestion = {"value": label[0], "score": label[1], "agent": AGENT}
        if isinstance(record.get("responses"), dict):
            record["suggestions"] = {**(record.get("suggestions") or {}), question: suggestion}
        else:
            parts = (("", "value"), (".score", "score"), (".agent", "agent"))
            record |= {f"{question}.suggestion{end}": suggestion[key] for end, key in parts}
    return _written(labels, [records], placed)


def _prodigy(labels: Labels) -> bytes:
    """Return one line an item for the recipe ``review``."""
    found, done, out = labels.by_item(), set[str](), []
    for record in (record for document in _documents(labels) for record in document.records):
        key = next((str(record.get(k)) for k in ("_input_hash", "_task_hash") if str(record.get(k)) in found), None)
        if key is None or key in done:
            continue
        done.add(key)
        label, p = found[key]
        answer = {"answer": label}
        if label not in ("accept", "reject"):
            answer = {"answer": "accept", "accept": str(label).split(SEVERAL)}
        out.append({**record, **answer, "_annotator_id": AGENT, "_session_id": AGENT, "goldless_p": p})
    return _written(labels, out)


def _lm_eval(labels: Labels) -> bytes:
    """Return the first line of each item, of whatever model, with the label and its probability."""
    found, out = labels.by_item(), dict[str, dict]()
    for _, record, item in lm_eval_items(_documents(labels)):
        if item in found and item not in out:
            label, p = found[item]
            out[item] = {**record, "goldless_label": label, "goldless_p": p}
    return _written(labels, list(out.values()))


def _inspect(labels: Labels) -> bytes:
    """Return one line a sample, to stand beside the log; of several logs with the name of each."""
    found, logs = labels.by_item(), inspect_logs([File(path) for path in labels.table.files])
    if labels.table.question:
        logs = [log for log in logs if str(log["eval"].get("task")) == labels.table.question]
    out = dict[str, dict]()
    for log, sample, item in inspect_items(logs):
        if item in found and item not in out:
            label, p = found[item]
            name = {"log": Path(log["file"].name).name} if len(logs) > 1 else {}
            where = {**name, "id": sample["id"], "epoch": sample.get("epoch", 1)}
            out[item] = {**where, "goldless_label": label, "goldless_p": p}
    return _written(labels, list(out.values()))


def _langfuse(labels: Labels) -> bytes:
    """Return scores as the API of Langfuse takes them; a score of an observation names its trace, too."""
    kind = "BOOLEAN" if set(labels.classes) <= {0, 1} else "CATEGORICAL"
    of_session = re.sub("[^a-z]", "", labels.table.item_title.lower()) == "sessionid"
    traces = _traces(labels)
    rows = []
    for name, (label, p) in labels.by_item().items():
        on = [traces[name], name] if name in traces else [name, ""]
        value = int(label) if kind == "BOOLEAN" else label
        rows.append([*on[: 2 if traces else 1], AGENT, value, kind, "API", f"probability {p}"])
    keys = ["sessionId" if of_session else "traceId", *(["observationId"] if traces else [])]
    return as_text([*keys, "name", "value", "dataType", "source", "comment"], rows)


def _traces(labels: Labels) -> dict[str, str]:
    """Return the trace of every observation that the file of the votes has scores of."""
    file = File(labels.table.files[0])
    sniffed = sniff(file)
    assert sniffed is not None
    table = sniffed[1].open([file], ReaderOptions()).table
    plain = {re.sub("[^a-z]", "", title.lower()): title for title in table.column_names}
    if "observationid" not in plain:
        return {}
    columns = (table[plain[key]].to_pylist() for key in ("observationid", "traceid"))
    return {str(one): str(trace) for one, trace in zip(*columns, strict=True) if one not in (None, "")}


def _phoenix(labels: Labels) -> bytes:
    """Return annotations as Phoenix takes them."""
    rows = [[name, AGENT, "CODE", label, p] for name, (label, p) in labels.by_item().items()]
    return as_text(["span_id", "annotation_name", "annotator_kind", "label", "score"], rows)


def _langsmith(labels: Labels) -> bytes:
    """Return feedback as LangSmith takes it."""
    sure = labels.positive().round(4).tolist()
    return as_text(["run_id", "key", "score"], [[name, AGENT, p] for name, p in zip(labels.names, sure, strict=True)])


def _promptfoo(labels: Labels) -> bytes:
    """Return the results with a named score each."""
    value = _only(labels).value
    found = labels.by_item()
    results = promptfoo_results(value)
    sure = dict(zip(map(str, labels.names), labels.positive().round(4).tolist(), strict=True))
    placed = 0
    for result, name in zip(results, promptfoo_items(results), strict=True):
        item = name if name in found else " ".join(name.split(" ")[:2])  # where prompts vote, items are tests
        if item in found:
            result["namedScores"] = {**(result.get("namedScores") or {}), AGENT: sure[item]}
            placed += 1
    return _written(labels, [value], placed)


TOOLS: dict[str, tuple[str, Writer]] = {
    "label_studio": (".json", _label_studio),
    "argilla": (".json", _argilla),
    "promptfoo": (".json", _promptfoo),
    "prodigy": (".jsonl", _prodigy),
    "lm_eval": (".jsonl", _lm_eval),
    "inspect": (".jsonl", _inspect),
    "langfuse": (".csv", _langfuse),
    "phoenix": (".csv", _phoenix),
    "langsmith": (".csv", _langsmith),
}
