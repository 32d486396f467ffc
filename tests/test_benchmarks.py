"""Benchmarks: every script can be imported, and the one of all methods runs."""

import importlib
import json
import pkgutil

import pytest

from research import benchmarks
from research.benchmarks.methods import main


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(benchmarks.__path__)])
def test_every_benchmark_can_be_imported_and_says_what_it_is(name):
    assert importlib.import_module(f"research.benchmarks.{name}").__doc__


def test_methods_are_compared_with_a_sum(capsys):
    main(["--items", "300", "--voters", "6", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert [figure["method"] for figure in result["methods"]][-1] == "L-SML"
    assert all(figure["ratio"] > 0 and figure["balanced_accuracy"] > 0.4 for figure in result["methods"])
    main(["--items", "300", "--voters", "12"])
    assert "| L-SML |" in capsys.readouterr().out


def test_too_few_voters_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--voters", "3"])
    assert "4 voters" in capsys.readouterr().err
