"""A real-data test may be skipped on a desk, and never in CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.real_data
def test_without_its_file():
    pytest.skip("no such file")

def test_with_the_folder(data_folder):
    pass

@pytest.mark.real_data
def test_that_runs():
    pass

def test_of_something_else():
    pytest.skip("not here")

@pytest.mark.real_data
@pytest.mark.xfail(reason="known")
def test_that_fails_as_expected():
    raise AssertionError
"""


@pytest.mark.parametrize(
    ("ci", "line"),
    [("", "1 passed, 3 skipped, 1 xfailed"), ("true", "1 failed, 1 passed, 1 skipped, 1 xfailed, 1 error")],
)
def test_a_skipped_real_data_test_fails_in_ci(ci, line, tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    real_data\n")
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "GOLDLESS_DATA")}
    environment |= {"PYTHONPATH": str(Path(__file__).parent), **({"CI": ci} if ci else {})}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert run.returncode == (1 if ci else 0), run.stdout
    assert line in run.stdout
    assert ("CI must run this test on real data, but: Skipped: no such file" in run.stdout) == bool(ci)
