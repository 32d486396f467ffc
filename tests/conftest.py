"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "goldless", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("goldless")


@pytest.fixture(params=os.environ.get("GOLDLESS_TEST_SEEDS", "42").split(","))
def seed(request):
    """A seed, 42 by default; GOLDLESS_TEST_SEEDS=1,2,3 runs the tests on others, so none lives on a lucky one."""
    return int(request.param)


@pytest.fixture
def rng(seed):
    """A generator made from the seed."""
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real votes; without it real-data tests are skipped."""
    folder = os.environ.get("GOLDLESS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip(f"set GOLDLESS_DATA to the folder of real votes, got {folder!r}")
    return Path(folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI a real-data test that is skipped, for whatever reason, has failed."""
    report = yield
    real = item.get_closest_marker("real_data") or "data_folder" in getattr(item, "fixturenames", ())
    if report.skipped and not hasattr(report, "wasxfail") and real and os.environ.get("CI"):
        report.outcome, report.longrepr = "failed", f"CI must run this test on real data, but: {report.longrepr[2]}"
    return report


FEW = {
    "goldless.kernels.packing": "_FEW_BYTES",
    "goldless.kernels.tree": "_FEW_CELLS",
    "goldless.kernels.tree_tables": "_FEW_UNITS",
    "goldless.kernels.vote_shares": "_FEW_CELLS",
    "goldless.votes.grouped": "_FEW_PRODUCTS",
    "goldless.votes.pairs": "_FEW_PRODUCTS",
    "goldless.votes.rows": "_FEW_ROWS",
}


@pytest.fixture(params=["numpy", "kernels"], scope="module")
def small_and_large(request):
    """Small panels go through numpy, larger ones through kernels: the tests that ask for this go through both."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "kernels":
            for module, limit in FEW.items():
                patch.setattr(f"{module}.{limit}", -1)
        yield request.param
