"""Bombs: small files that unpack to large ones, promise what they lack or are very deep; refused in little memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from research.fuzz.campaign import Failure
from research.fuzz.promises import check_message

_MOST_MEGABYTES = 1000
_FEW_BYTES = 200 << 20  # what is allowed where a bomb of the usual size takes too long to make
_ZEROS = b"0" * (1 << 20)


def prepare(folder: Path) -> list[Path]:
    """Make the bombs."""
    for name, make in _BOMBS.items():
        make(folder / name)
    return [folder / name for name in sorted(_BOMBS)]


def trial(made: list[Path], rng: np.random.Generator, folder: Path) -> str:
    """Have a process of its own read a bomb."""
    path = made[rng.integers(len(made))]
    name = path.name
    limit = {"GOLDLESS_MAX_BYTES": str(_FEW_BYTES)} if name.startswith("real") else {}
    command = [sys.executable, "-m", "goldless.cli", "inspect", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=25, env={**os.environ, **limit})
    if done.returncode not in (1, 2):
        raise Failure(f"{name}: ended with {done.returncode}: {done.stderr[-300:]}")
    lines = done.stderr.strip().splitlines()
    if len(lines) != 1:
        raise Failure(f"{name}: {len(lines)} lines: {done.stderr[-300:]}")
    check_message(lines[0])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if peak > _MOST_MEGABYTES:
        raise Failure(f"{name}: {peak:,.0f} MB")
    return "refused"


def _gzip(path: Path, head: bytes, body: bytes, times: int) -> None:
    """Write gzip of many members, all but the first the same."""
    path.write_bytes(gzip.compress(head) + gzip.compress(body) * times)


def _zip(path: Path, members: dict[str, tuple[bytes, int]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, (part, times) in members.items():
            with packed.open(name, "w", force_zip64=True) as member:
                for _ in range(times):
                    member.write(part)


def _npy(shape: tuple, kind: str = "<f8") -> bytes:
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def _forged_npz(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("votes.npy", _npy((10**6, 10**6)) + b"\0" * 64)


def _forged_npy(path: Path) -> None:
    path.write_bytes(_npy((10**6, 10**6)) + b"\0" * 64)


def _parquet(path: Path) -> None:
    block = pa.table(
        {f"v{i}": pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 22, np.int8)), ["a"]) for i in range(8)}
    )
    with parquet.ParquetWriter(path, block.schema, compression="zstd") as writer:
        for _ in range(40):
            writer.write_table(block)


def _deep(path: Path) -> None:
    path.write_text("[" * 200_000 + "]" * 200_000)


def _deep_lines(path: Path) -> None:
    path.write_text('{"a": ' * 100_000 + "1" + "}" * 100_000 + "\n")


def _laughs(path: Path) -> None:
    lines = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    sheet = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{lines}]><worksheet>&a11;</worksheet>'
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("[Content_Types].xml", "<Types/>")
        packed.writestr("xl/workbook.xml", sheet)
        packed.writestr("xl/_rels/workbook.xml.rels", sheet)
        packed.writestr("xl/worksheets/sheet1.xml", sheet)
    path.write_bytes(stream.getvalue())


def _eval(path: Path) -> None:
    _zip(path, {"header.json": (b'{"eval": {}}', 1), "summaries.json": (_ZEROS, 300)})


def _many_columns(path: Path) -> None:
    path.write_bytes(b",".join(b"v%d" % i for i in range(10**6)) + b"\n")


def _one_line(path: Path) -> None:
    _gzip(path, b'a,b,c\n"', _ZEROS, 5000)


def _numbers(path: Path) -> None:
    path.write_text(json.dumps([{"item": i, "judge": f"j{j}", "score": 10**300} for i in range(9) for j in range(3)]))


_BOMBS: dict[str, Callable[[Path], None]] = {
    "zeros.csv.gz": lambda path: _gzip(path, b"a,b,c\n", b"0,1,0\n" * (1 << 17), 8000),
    "line.csv.gz": _one_line,
    "sites.vcf.gz": lambda path: _gzip(path, b"##fileformat=VCFv4.2\n", b"##x\n" * (1 << 18), 5000),
    "real.npz": lambda path: _zip(path, {"votes.npy": (_npy((10**4, 10**5), "|i1") + _ZEROS, 300)}),
    "forged.npz": _forged_npz,
    "forged.npy": _forged_npy,
    "rows.parquet": _parquet,
    "deep.json": _deep,
    "deep.jsonl": _deep_lines,
    "laughs.xlsx": _laughs,
    "real.xlsx": lambda path: _zip(path, {"[Content_Types].xml": (b"<Types/>", 1), "xl/workbook.xml": (_ZEROS, 300)}),
    "real.eval": _eval,
    "wide.csv": _many_columns,
    "numbers.json": _numbers,
}
