"""Run the code of the pages and compare what it prints with what the pages show.

python docs/run_pages.py            compare, and say where a page is out of date
python docs/run_pages.py --write    write what the code prints into the pages
python docs/run_pages.py --write docs/anchors.md      only this page

How a page is read: its ``python`` blocks run in order in one namespace, its ``bash`` blocks line by line, all in
one temporary folder that holds the files of ``examples/``; ``research`` is found as in the clone. A ``text`` block
titled Output right behind one is what it prints; "..." in it stands for anything. A block with a file's name as its
title is written to that file. A comment ``<!-- not run: reason -->`` right before a block says that it is not run,
and why.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldless.cli import main as goldless

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
EXAMPLES = ROOT / "examples"
_FENCE = re.compile(r"^```(\w*)(.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
_DECIMAL = re.compile(r"\d*\.\d+")
_WIDTH = 80
_SHELL = re.compile(r"[|<>;&$*`]")


@dataclass(frozen=True)
class Block:
    """A block of code in a page: lines ``first`` to ``last`` (from 0, without the fences)."""

    language: str
    title: str
    text: str
    first: int
    last: int
    not_run: str = ""


@dataclass(frozen=True)
class Step:
    """A block that was run: what it printed, and the block that shows it, if there is one."""

    block: Block
    printed: str
    shown: Block | None

    @property
    def is_shown(self) -> bool:
        """Whether the page shows what was printed, to the letter."""
        if self.shown is None:
            return not self.printed
        return doctest.OutputChecker().check_output(self.shown.text, self.printed, doctest.ELLIPSIS)

    @property
    def agrees(self) -> bool:
        """The same, but the last digit after a point may be one off: machines round differently."""
        if self.is_shown or self.shown is None:
            return self.is_shown
        if _DECIMAL.sub("0.0", self.shown.text) != _DECIMAL.sub("0.0", self.printed):
            return False
        pairs = zip(_DECIMAL.findall(self.shown.text), _DECIMAL.findall(self.printed), strict=True)
        return all(_one_off(shown, printed) for shown, printed in pairs)


def _one_off(shown: str, printed: str) -> bool:
    """Whether two decimals have as many digits and differ by one in the last at most."""
    digits = len(shown.partition(".")[2])
    return len(printed.partition(".")[2]) == digits and round(abs(float(shown) - float(printed)) * 10**digits) <= 1


def pages() -> list[Path]:
    """Return every page of the site with code, generated ones left out."""
    found = (page for page in DOCS.rglob("*.md") if "results" not in page.relative_to(DOCS).parts)
    return sorted(page for page in found if page.name != "tutorial.md")


def blocks(text: str) -> list[Block]:
    """Return the blocks of code of a page."""
    found: list[Block] = []
    lines, number, reason = text.splitlines(), 0, ""
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence:
            last = lines.index("```", number + 1)
            title = _TITLE.search(fence[2])
            body = "".join(line + "\n" for line in lines[number + 1 : last])
            found.append(Block(fence[1], title[1] if title else "", body, number + 1, last, reason))
            number = last
        if fence or lines[number].strip():
            comment = _NOT_RUN.match(lines[number])
            reason = comment[1] if comment else ""
        number += 1
    return found


def run_page(page: Path) -> Iterator[Step]:
    """Run the blocks of a page in a new folder and yield what each printed."""
    found = blocks(page.read_text())
    namespace = {"__name__": "__main__"}
    with in_a_folder():
        for number, block in enumerate(found):
            following = found[number + 1] if number + 1 < len(found) else None
            shown = following if following is not None and following.title == "Output" else None
            if block.not_run or block.title == "Output":
                continue
            if "." in block.title:
                Path(block.title).write_text(block.text)
            elif block.language == "python":
                yield Step(block, _python(block, namespace, page.name), shown)
            elif block.language == "bash":
                yield Step(block, "".join(map(_command, block.text.splitlines())), shown)


@contextlib.contextmanager
def in_a_folder() -> Iterator[None]:
    """Work in a new folder that holds the files of the examples."""
    with tempfile.TemporaryDirectory() as folder, _inside(Path(folder)):
        yield


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder with the example files, a plain terminal of 80 columns and `goldless` on the path."""
    for file in EXAMPLES.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    command = folder / "bin" / "goldless"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m goldless.cli "$@"\n')
    command.chmod(0o755)
    wanted = {"COLUMNS": "80", "MPLBACKEND": "Agg", "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
    wanted["PYTHONPATH"] = str(ROOT)
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        with _chdir(folder):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextlib.contextmanager
def _chdir(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _python(block: Block, namespace: dict, page: str) -> str:
    """Run Python and return what it prints, warnings included, as a terminal would show them."""
    printed = io.StringIO()
    code = compile("\n" * block.first + block.text, page, "exec")
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *_, **__: printed.write(f"{category.__name__}: {message}\n")
        exec(code, namespace)
    return plain(printed.getvalue())


def _command(line: str) -> str:
    """Run one line of a shell and return what it prints; goldless itself runs in this process."""
    line = line.partition(" #")[0].strip()
    if not line:
        return ""
    if line.startswith("goldless ") and not _SHELL.search(line):
        printed = io.StringIO()
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            contextlib.suppress(SystemExit),
        ):
            goldless(shlex.split(line)[1:])
        return plain(printed.getvalue())
    line = re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", line)
    run = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if run.returncode:
        raise RuntimeError(f"{line}: exit code {run.returncode}\n{run.stdout}")
    return plain(run.stdout)


def plain(text: str) -> str:
    """Fold long lines between words, as a terminal does, and leave out spaces that nobody sees."""
    folded = []
    for line in text.splitlines():
        folded += (
            [line]
            if len(line) <= _WIDTH
            else textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
        )
    return "".join(line.rstrip() + "\n" for line in folded)


def write_page(page: Path) -> bool:
    """Write what the code prints into the page; return whether that changed it."""
    text = page.read_text()
    lines = text.splitlines()
    for step in reversed(list(run_page(page))):
        if step.is_shown:
            continue
        printed = step.printed.splitlines()
        if step.shown is not None:
            lines[step.shown.first : step.shown.last] = printed
        else:
            lines[step.block.last + 1 : step.block.last + 1] = ["", '```text title="Output"', *printed, "```"]
    changed = "\n".join(lines) + "\n"
    if changed != text:
        page.write_text(changed)
    return changed != text


def main(arguments: Sequence[str]) -> int:
    """Compare or write; return how many pages were out of date or failed."""
    write = "--write" in arguments
    chosen = [Path(name).resolve() for name in arguments if name != "--write"] or pages()
    failed = 0
    for page in chosen:
        name = page.relative_to(DOCS) if page.is_relative_to(DOCS) else page
        try:
            if write:
                sys.stdout.write(f"{name}: {'written' if write_page(page) else 'up to date'}\n")
                continue
            for step in run_page(page):
                if not step.agrees:
                    failed += 1
                    sys.stdout.write(
                        f"{name}:{step.block.first}: the page shows something else than\n{step.printed}\n"
                    )
        except Exception:
            failed += 1
            sys.stdout.write(f"{name}:\n{traceback.format_exc()}\n")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
