"""Examples in docstrings and the README run and say the truth."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import goldless

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(goldless.__path__, "goldless.") if "__main__" not in module.name
)
README = Path(__file__).parent.parent / "README.md"


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
