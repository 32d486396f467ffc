"""Hostile names: voters, items and labels that are scripts, formulas or commands stay text wherever they appear."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import goldless as gl
from research.fuzz.campaign import Failure
from research.fuzz.promises import Refused, attempt

_HOSTILE = [
    "<script>document.title='hacked'</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "javascript:alert(1)", "\" onmouseover=\"document.title='hacked'", "'><svg/onload=document.title='hacked'>",
    "{{ 7*7 }}{% raw %}", "=cmd|' /C calc'!A1", "+1+1", "@SUM(1)", "-2+3", "\x1b]0;hacked\x07", "\x1b[2J",
    "\u202egnp", "a\nb", "a\tb", "a\r", "a;b=1", "##INFO=<ID=x>", "$(reboot)", "`reboot`", "; rm -rf /",
    "../../etc/passwd", "%s%n",
    "[x](javascript:alert(1))", "a|b", "\u0000", "\ufeff", "\u0131\u0307", "x" * 3000, "\ud7ff", "#voter=1&item=2",
    "__proto__",
    "constructor", "toString", "nan", "null", "true", "1e5",
]  # fmt: skip
_NAME = r'[^\s;=,|"%<>\\]+'
_VCF_LINE = re.compile(
    r'##(fileformat=VCFv4\.2|contig=<ID=[^\s,"<>()\[\]{}\\=*][^\s,"<>()\[\]{}\\]*>|INFO=<ID=\w+,Number=.,Type=\w+,'
    rf'Description="[^"]+">|goldless=<version=[\w.+]+,callers="{_NAME}(,{_NAME})*",items=\d+(,unseen=\d+)?>)'
    r"|#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    rf"|[^\s#=]\S*\t\d+\t\.\tA\tG\t\.\t\.\tCALLERS={_NAME}(,{_NAME})*;NCALLERS=\d+;GOLDLESS_P=[^;]+;GOLDLESS_NEFF=\S+"
)
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


def prepare(folder: Path) -> Any:
    """Open a browser, if there is one."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and chromedriver):
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(chromedriver))


def trial(made: Any, rng: np.random.Generator, folder: Path) -> str:
    """Give votes hostile names, and look at everything that shows them."""
    frame = _votes(rng)
    try:
        page = attempt(lambda: gl.report(frame, folder / "page.html"))
    except Refused:  # two labels that differ in blanks only are one
        return "refused"
    if "<script>document" in page._repr_html_():
        raise Failure("a notebook shows a name as a script")
    _check_terminal(frame, folder)
    check_vcf([str(name) for name in rng.permutation(_HOSTILE)], rng, folder)
    if made is None:
        return "no browser"
    made.get((folder / "page.html").as_uri())
    said = [entry["message"] for entry in made.get_log("browser") if "hacked" not in entry["message"]]
    if said:
        raise Failure(f"the browser says {said[0][:300]}")
    with contextlib.suppress(Exception):
        alert = made.switch_to.alert.text
        raise Failure(f"an alert: {alert}")
    if "hacked" in made.title and made.execute_script("return document.title === 'hacked'"):
        raise Failure("a name ran as a script")
    return "inert"


def _votes(rng: np.random.Generator) -> pd.DataFrame:
    n, m = 60, int(rng.integers(3, 9))
    truth = rng.integers(0, 2, n)
    codes = np.where(rng.random((n, m)) < 0.75, truth[:, None], 1 - truth[:, None])
    labels = [str(label) for label in rng.choice(_HOSTILE[:20], 2, replace=False)]
    voters = [str(name) for name in rng.choice(_HOSTILE, m, replace=False)]
    frame = pd.DataFrame(np.array(labels, dtype=object)[codes], columns=voters)
    frame.index = pd.Index([f"{_HOSTILE[rng.integers(len(_HOSTILE))]} {number}" for number in range(n)])
    return frame


def _check_terminal(frame: pd.DataFrame, folder: Path) -> None:
    """Raise if a terminal would obey a name, or a spreadsheet would compute one."""
    from goldless.cli import main

    path = folder / "votes.csv"
    frame.to_csv(path, index_label="id")
    for command in (["inspect", str(path)], ["combine", str(path), "-o", str(folder / "labels.csv")]):
        out, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
            main(command)
        text = out.getvalue() + said.getvalue()
        odd = {char for char in text if ord(char) < 32 and char not in "\n\t"} | ({"\u202e"} & set(text))
        if odd:
            raise Failure(f"{command[0]} prints {sorted(odd)!r}")
    if (folder / "labels.csv").exists():
        with (folder / "labels.csv").open(newline="", encoding="utf-8") as stream:
            if len(list(csv.reader(stream))) != len(frame) + 1:
                raise Failure("labels.csv has another number of rows than items")


def check_vcf(names: list[str], rng: np.random.Generator, folder: Path) -> None:
    """Raise if the VCF file of callers and contigs with such names is not read as it was meant, or not inert."""
    from goldless.cli import main

    calls, out = folder / "calls", folder / "labels.vcf"
    calls.mkdir()
    contigs = ["1", *(name for name in names if set("\t\n").isdisjoint(name) and name.strip("\r") == name)][:4]
    contigs = [contig for contig in contigs if not contig.startswith("#")]
    callers = [name for name in names if set("/\0").isdisjoint(name) and len(os.fsencode(name)) < 200][:5]
    real = rng.random(80) < 0.5
    for caller in callers:
        called = rng.random(80) < np.where(real, 0.9, 0.2)
        records = [f"{contigs[n % len(contigs)]}\t{n + 1}\t.\tA\tG\t.\tPASS\t.\n" for n in np.flatnonzero(called)]
        text = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n" + "".join(records)
        (calls / f"{caller}.vcf").write_bytes(os.fsencode(text))
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        if main(["combine", str(calls), "-o", str(out), "-q"]) != 0:
            raise Failure(f"no VCF file of callers {callers!r} and contigs {contigs!r}: {said.getvalue()[-300:]}")
    text = out.read_bytes().decode()
    odd = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n", "\t"}
    if odd:
        raise Failure(f"a VCF file holds {sorted(odd)!r}")
    for line in text.splitlines():
        if not _VCF_LINE.fullmatch(line):
            raise Failure(f"a line of a VCF file is {line!r}")
    before, after = gl.read_votes(calls), gl.read_votes(out)
    counts = [sorted(np.asarray(table.votes.codes == 1).sum(axis=0).tolist()) for table in (before, after)]
    if before.n_items != after.n_items or counts[0] != counts[1]:
        raise Failure(f"a VCF file of callers {callers!r} and contigs {contigs!r} is read in another way")


os.environ.setdefault("MPLBACKEND", "agg")
