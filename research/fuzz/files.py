"""Damaged files through every reader: each trial damages one file and reads it, in Python or on the command line."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet
from scipy import sparse

import goldless as gl
from research.fuzz.campaign import Failure
from research.fuzz.promises import Refused, attempt, check_labels, check_message, check_refusal

_OPEN_NAMES = ("office", "table", "text", "manifest")
_LARGEST_FIT = 200_000  # cells of a panel that is fitted, too
_ODD = [
    b"inf", b"-Infinity", b"1e400", b"-1e-400", b"nan", b"NaN", b"9" * 400, b"-1", b"0", b"1.5", b"true", b"null",
    b"2026-13-45", b"99999-01-01", b"1+2j", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b'""', b"'", b",", b"\t",
    b"\r", b"\n\n", b"\r\n", b"[", b"]", b"{", b"}", b"[" * 2000, b'{"a":' * 500, b"=cmd()", b"\x1b[31m",
    "ü\u202e\u0000".encode(), "🙂".encode(), b"PK\x03\x04", b"\x1f\x8b\x08", b"##", b"#CHROM", b"PAR1", b"ARROW1",
]  # fmt: skip


def prepare(folder: Path) -> list[Path]:
    """Make a file of every kind; return them, and the samples of users' files where they are."""
    folder = folder / "own"
    folder.mkdir()
    own_files(folder)
    found = [folder / name for name in sorted(os.listdir(folder))]
    samples = os.environ.get("GOLDLESS_DATA")
    if samples and (Path(samples) / "formats").is_dir():
        found += sorted(path for path in (Path(samples) / "formats").iterdir() if path.is_dir())
    return found


def trial(made: list[Path], rng: np.random.Generator, folder: Path) -> str:
    """Damage one file of one sample, and read the sample."""
    source = made[rng.integers(len(made))]
    target = folder / source.name
    if source.is_dir():
        shutil.copytree(source, target, copy_function=shutil.copyfile)
        files = sorted(path for path in target.rglob("*") if path.is_file() and path.name != "SOURCE.txt")
        hurt = files[rng.integers(len(files))]
        named = hurt if rng.random() < 0.6 else target
    else:
        shutil.copyfile(source, target)
        hurt = named = target
    hurt.write_bytes(damage(hurt.read_bytes(), rng))
    if rng.random() < 0.3:
        return by_command_line(named, rng)
    try:
        read = attempt(lambda: gl.read_votes(named))
        if read.votes.n_items * read.votes.n_voters > _LARGEST_FIT:
            return "read"
        learner = [gl.MajorityVote, gl.DawidSkene, gl.LatentSML][rng.integers(3)]
        model = attempt(lambda: learner().fit(read.X))
    except Refused:
        return "refused"
    check_labels(model, read.X, read.votes.n_items)
    return "answered"


def by_command_line(path: Path, rng: np.random.Generator) -> str:
    """Read a file by a command; it must end with 0 and an answer, or with 1 or 2, a line and no output."""
    out = path.parent / f"out.{['csv', 'json', 'parquet', 'vcf'][rng.integers(4)]}"
    command = [
        ["inspect", str(path)],
        ["select", str(path)],
        ["ask", str(path)],
        ["combine", str(path)],
        ["combine", str(path), "-o", str(out)],
        ["combine", str(path), "-o", str(out), "--engine", "stream"],
    ][rng.integers(6)]
    code, _ = run_command(command)
    if code == 0:
        return "printed"
    if out.exists():
        raise Failure(f"{command[0]} ended with {code} and left an output")
    return "refused"


def run_command(command: list[str]) -> tuple[int, str]:
    """Return how a command ends, and what it said beside its answer; it must end in 0, or in 1 or 2 and one line."""
    from goldless import cli

    out, said = io.StringIO(), io.StringIO()
    errors: list[Exception] = []
    in_one_line = cli._in_one_line

    def remember(error: Exception) -> str:
        errors.append(error)
        return in_one_line(error)

    cli._in_one_line = remember
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            code: Any = cli.main(command)
    except SystemExit as stopped:
        code = stopped.code
    finally:
        cli._in_one_line = in_one_line
    for error in errors:
        check_refusal(error)
    if code not in (0, 1, 2):
        raise Failure(f"{command[0]} ended with {code}")
    lines = said.getvalue().strip().splitlines()
    if code:
        check_message(lines[-1] if lines else "")
    if "Traceback" in said.getvalue() or any("unforeseen" in line for line in lines):
        raise Failure(f"{command[0]}: {lines[-1]}")
    return code, said.getvalue()


# -- damage -------------------------------------------------------------------------------------------------


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with one to four kinds of damage; what is packed is damaged inside, half of the times."""
    if data[:2] == b"\x1f\x8b" and rng.random() < 0.5:
        with contextlib.suppress(OSError, EOFError):
            return gzip.compress(damage(gzip.decompress(data), rng), 1)
    if data[:4] == b"PK\x03\x04" and rng.random() < 0.6:
        with contextlib.suppress(Exception):
            return _damage_inside(data, rng)
    for _ in range(rng.integers(1, 5)):
        data = _WAYS[rng.integers(len(_WAYS))](data, rng)
    return data


def _damage_inside(data: bytes, rng: np.random.Generator) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    hurt = sorted(members)[rng.integers(len(members))]
    members[hurt] = damage(members[hurt], rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return stream.getvalue()


def _place(data: bytes, rng: np.random.Generator) -> int:
    """Return a place, in the first hundred bytes as often as anywhere."""
    return int(rng.integers(min(len(data), 100 if rng.random() < 0.5 else len(data)) + 1))


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    hurt = bytearray(data)
    for _ in range(rng.integers(1, 20)):
        if hurt:
            hurt[_place(data, rng) % len(hurt)] = int(rng.integers(256))
    return bytes(hurt)


def _cut_off(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: _place(data, rng)]


def _cut_out(data: bytes, rng: np.random.Generator) -> bytes:
    start = _place(data, rng)
    return data[:start] + data[start + int(rng.integers(1, 400)) :]


def _repeat(data: bytes, rng: np.random.Generator) -> bytes:
    start, length = _place(data, rng), int(rng.integers(1, 300))
    return data[: start + length] + data[start : start + length] * int(rng.integers(1, 5)) + data[start + length :]


def _put_in(data: bytes, rng: np.random.Generator) -> bytes:
    start = _place(data, rng)
    return data[:start] + _ODD[rng.integers(len(_ODD))] + data[start:]


def _replace_value(data: bytes, rng: np.random.Generator) -> bytes:
    """Put something odd in the place of one value of text."""
    cuts = [i for i, byte in enumerate(data[:200_000]) if byte in b',\t\n:"[] ;|']
    if len(cuts) < 3:
        return _put_in(data, rng)
    at = int(rng.integers(len(cuts) - 1))
    return data[: cuts[at] + 1] + _ODD[rng.integers(len(_ODD))] + data[cuts[at + 1] :]


def _shuffle_lines(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines if rng.random() < 0.5 else lines[: i + 1] + lines[j:])


def _other_text(data: bytes, rng: np.random.Generator) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(["utf-16", "utf-16-le", "latin-1", "utf-8-sig"][rng.integers(4)], "replace")


_WAYS: list[Callable[[bytes, np.random.Generator], bytes]] = [
    _flip, _cut_off, _cut_out, _repeat, _put_in, _replace_value, _replace_value, _shuffle_lines, _other_text,
]  # fmt: skip


# -- files of our own ---------------------------------------------------------------------------------------


def own_files(folder: Path) -> None:
    """Write the same votes in every form that needs no other package to write."""
    X, _ = gl.simulate_votes(40, groups=[3, 1, 1, 1], random_state=0)
    voters = [f"judge {number}" for number in range(X.shape[1])]
    names = [f"item-{number}" for number in range(len(X))]
    words = np.where(X > 0, "yes", "no")
    wide = pa.table({"id": names, **{voter: words[:, i].tolist() for i, voter in enumerate(voters)}})
    rows = [(names[i], voters[j], str(words[i, j])) for i in range(len(X)) for j in range(X.shape[1])]
    long = pa.table(dict(zip(("item", "worker", "label"), map(list, zip(*rows, strict=True)), strict=True)))
    grades = np.random.default_rng(0).integers(1, 11, X.shape)
    csv.write_csv(wide, folder / "wide.csv")
    csv.write_csv(long, folder / "long.csv")
    csv.write_csv(wide, folder / "wide.tsv", csv.WriteOptions(delimiter="\t"))
    csv.write_csv(pa.table({v: grades[:, i] for i, v in enumerate(voters)}), folder / "grades.csv")
    parquet.write_table(wide, folder / "wide.parquet")
    parquet.write_table(long, folder / "long.parquet")
    feather.write_feather(wide, folder / "wide.feather", compression="uncompressed")
    np.savez(folder / "votes.npz", votes=X, voters=np.array(voters), items=np.array(names))
    np.savez_compressed(folder / "packed.npz", votes=X)
    np.save(folder / "L.npy", np.where(X > 0, 1, 0))
    records = [dict(zip(("item", "judge", "verdict"), row, strict=True)) for row in rows]
    (folder / "lines.jsonl").write_text("\n".join(map(json.dumps, records)))
    (folder / "array.json").write_text(json.dumps(records, indent=2))
    nested = [
        {"id": n, "scores": {v: int(g) for v, g in zip(voters, r, strict=True)}}
        for n, r in zip(names, grades, strict=True)
    ]
    (folder / "nested.json").write_text(json.dumps(nested))
    with gzip.open(folder / "wide.csv.gz", "wb") as packed:
        packed.write((folder / "wide.csv").read_bytes())
    with contextlib.closing(sqlite3.connect(folder / "votes.sqlite")) as base:
        base.execute("create table votes (item text, worker text, label text)")
        base.executemany("insert into votes values (?, ?, ?)", rows)
        base.commit()
    lines = ["##fileformat=VCFv4.2", '##INFO=<ID=CALLERS,Number=.,Type=String,Description="callers">']
    lines += ["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
    for number, row in enumerate(X):
        callers = ",".join(f"caller{j}" for j in range(X.shape[1]) if row[j] > 0)
        if callers:
            lines.append(f"1\t{1000 + number}\t.\tA\tG\t50\tPASS\tCALLERS={callers}")
    (folder / "callers.vcf").write_text("\n".join(lines) + "\n")
    with gzip.open(folder / "callers.vcf.gz", "wb") as packed:
        packed.write((folder / "callers.vcf").read_bytes())
    sites = [f"1\t{1000 + i}\tA\tG\t{''.join('01'[int(v > 0)] for v in row)}" for i, row in enumerate(X)]
    (folder / "sites.txt").write_text("\n".join(sites) + "\n")
    sparse.save_npz(folder / "sparse.npz", sparse.csr_matrix(np.where(X > 0, 1, 2)))
    _write_ods(
        folder / "wide.ods", [["id", *voters], *([name, *row] for name, row in zip(names, words, strict=True))]
    )
    with contextlib.suppress(ImportError):
        _write_duckdb(folder / "votes.duckdb", rows)


def _write_ods(path: Path, rows: list[list[str]]) -> None:
    """Write a sheet of text as OpenOffice does, as little as readers need."""
    kind = "application/vnd.oasis.opendocument"
    names = "".join(f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in _OPEN_NAMES)
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    lines = "".join(f"<table:table-row>{''.join(map(cell.format, row))}</table:table-row>" for row in rows)
    body = f'<office:body><office:spreadsheet><table:table table:name="votes">{lines}</table:table>'
    content = f"<office:document-content{names}>{body}</office:spreadsheet></office:body></office:document-content>"
    entry = '<manifest:file-entry manifest:full-path="{}" manifest:media-type="{}"/>'
    entries = entry.format("/", f"{kind}.spreadsheet") + entry.format("content.xml", "text/xml")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", f"{kind}.spreadsheet", zipfile.ZIP_STORED)
        packed.writestr("content.xml", content)
        packed.writestr("META-INF/manifest.xml", f"<manifest:manifest{names}>{entries}</manifest:manifest>")


def _write_duckdb(path: Path, rows: list[tuple[str, str, str]]) -> None:
    import duckdb

    with duckdb.connect(str(path)) as base:
        base.execute("create table votes (item text, worker text, label text)")
        base.executemany("insert into votes values (?, ?, ?)", rows)
