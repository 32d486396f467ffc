"""Examples in docstrings, in the README and on the pages run, and print what they show."""

import contextlib
import doctest
import importlib
import importlib.util
import io
import json
import pkgutil
import re
import runpy
import sys
from pathlib import Path

import pytest

import goldless
from research.benchmarks import board, cost_page

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(goldless.__path__, "goldless.") if "__main__" not in module.name
)
README = ROOT / "README.md"
EXAMPLES = sorted(file for file in (ROOT / "examples").glob("*.py") if file.name != "make_files.py")


def load(path):
    """Import a script by its path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


pages = load(ROOT / "docs" / "run_pages.py")


@pytest.mark.parametrize("name", ["goldless", *MODULES])
def test_docstring_examples(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


def test_readme_examples():
    results = doctest.testfile(str(README), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted > 5
    assert results.failed == 0


def test_readme_has_both_commands():
    text = README.read_text()
    assert "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/goldless demo" in text
    assert "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/pytest" in text


def test_every_module_says_what_it_is():
    for name in ["goldless", *MODULES]:
        assert importlib.import_module(name).__doc__, name


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.stem)
def test_pages_show_what_their_code_prints(page):
    """After a change on purpose: python docs/run_pages.py --write."""
    for step in pages.run_page(page):
        assert step.agrees, (
            f"{page.name}, line {step.block.first}: run docs/run_pages.py --write; printed\n{step.printed}"
        )


def test_the_tutorial_runs_and_shows_what_it_prints():
    """After a change on purpose: python docs/notebook.py --write."""
    tutorial = load(ROOT / "docs" / "notebook.py")
    stored = json.loads(tutorial.NOTEBOOK.read_text())
    assert tutorial.page(stored) == tutorial.PAGE.read_text()
    for cell, outputs in tutorial.executed(stored):
        shown, printed = tutorial.words(cell["outputs"]), tutorial.words(outputs)
        block = pages.Block("python", "", "", 0, 0)
        assert pages.Step(block, printed, pages.Block("text", "Output", shown, 0, 0)).agrees, printed
        assert [sorted(one.get("data", ())) for one in cell["outputs"]] == [
            sorted(one.get("data", ())) for one in outputs
        ]


def test_the_last_digit_may_be_one_off():
    """And nothing else: neither a word, nor a whole number, nor a digit by two."""

    def agrees(shown, printed):
        block = pages.Block("python", "", "", 0, 0)
        return pages.Step(block, printed, pages.Block("text", "Output", shown, 0, 0)).agrees

    assert agrees("p = 0.250, 12.3 %\n", "p = 0.251, 12.2 %\n")
    assert agrees("5 of ... voters\n", "5 of 9 voters\n")
    for other in ("p = 0.252\n", "p = 0.25\n", "q = 0.250\n", "p = 0.250 \n"):
        assert not agrees("p = 0.250\n", other)
    assert not agrees("5 of 9\n", "5 of 8\n")


def test_blocks_that_do_not_run_are_few():
    """Every block of Python or shell is run, except a few that say why not."""
    found = [block for page in pages.pages() for block in pages.blocks(page.read_text())]
    code = [block for block in found if block.language in ("python", "bash")]
    left_out = [block for block in code if block.not_run]
    assert len(code) > 50
    assert len(left_out) <= 0.1 * len(code)


def test_every_block_has_a_language_that_is_known():
    known = ("python", "bash", "text", "csv", "json", "yaml")
    for page in pages.pages():
        for block in pages.blocks(page.read_text()):
            assert block.language in known, f"{page.name}, line {block.first}"


@pytest.mark.parametrize("page", [README, *pages.pages()], ids=lambda page: page.stem)
def test_pages_name_files_that_are_there(page):
    """Links and pictures work in the repository as they stand, and every page names scripts that exist."""
    text = page.read_text()
    named = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) + re.findall(r'src(?:set)?="([^"]+)"', text)
    for address in named:
        if "://" not in address:
            assert (page.parent / address).exists(), address
    for script in re.findall(r"`((?:examples|research|docs)/[\w./-]+)`", text):
        assert (ROOT / script).exists(), script


def test_files_of_the_examples_are_those_their_script_makes(tmp_path):
    load(ROOT / "examples" / "make_files.py").main(tmp_path)
    made = sorted(tmp_path.iterdir())
    assert len(made) > 4
    for file in made:
        assert (ROOT / "examples" / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_examples_run(script):
    """Each fits on a screen, runs without a warning, and ends by beating the majority, as it says."""
    assert len(script.read_text().splitlines()) <= 55
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script), run_name="__main__")
    errors = dict(re.findall(r"^(MajorityVote|LatentSML) +([\d.]+) % wrong", printed.getvalue(), re.MULTILINE))
    assert float(errors["LatentSML"]) < float(errors["MajorityVote"])


def test_there_is_an_example_for_everybody():
    starts = sorted((ROOT / "docs" / "quickstart").glob("*.md"))
    assert len(starts) == len(EXAMPLES) == 5
    for page, script in zip(starts, EXAMPLES, strict=True):
        assert f"examples/{script.name}" in page.read_text()


def test_the_reference_has_every_public_name():
    shown = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)", (ROOT / "docs/api.md").read_text(), re.M)}
    assert set(goldless.__all__) - shown == set()


@pytest.mark.parametrize("name", cost_page.TABLES)
def test_the_pages_on_cost_show_what_was_measured(name):
    """After a benchmark: python -m research.benchmarks.cost_page."""
    page, tables = (ROOT / "docs" / f"{name}.md").read_text(), cost_page.TABLES[name]
    record = json.loads((ROOT / "docs" / f"{name}.json").read_text())
    assert cost_page.filled(page, record, tables) == page
    assert page.count("<!-- measured: ") == page.count("<!-- end -->") == len(tables)


@pytest.mark.parametrize("page", board.PAGES, ids=lambda page: page.stem)
def test_pages_show_what_was_measured_on_real_panels(page):
    """After a run: python -m research.benchmarks.board draw."""
    text = page.read_text()
    assert board.filled(text) == text
    assert text.count("<!-- board: ") == text.count("<!-- end -->") >= 1


def test_words_that_left_do_not_come_back():
    """Sentences users could not read at once, and names that statistics has a word for."""
    left = ("foretell", "in all but name", "hints, not findings", "nothing hangs on", "before it settled")
    left += ("mere echo", "as often as it hears", "best single voter", "row an item and", "rather too high")
    left += ("bits that would tell", "weights without groups", "Weak echoes", "two readings", "rooting:", "a coin:")
    texts = [*pages.pages(), README, *(ROOT / "src").rglob("*.j2"), *(ROOT / "src/goldless/cli").glob("*.py")]
    for file in [*texts, ROOT / "src/goldless/report/sentences.py", ROOT / "src/goldless/fitting/alternatives.py"]:
        text = file.read_text().lower()
        assert [words for words in left if words.lower() in text] == [], file.name
