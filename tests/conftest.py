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
    """The folder of real votes; without it real-data tests are skipped, except in CI, where that is a failure."""
    folder = os.environ.get("GOLDLESS_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    if os.environ.get("CI"):
        pytest.fail(f"CI must run the real-data tests, but GOLDLESS_DATA={folder!r} is not a folder")
    pytest.skip("set GOLDLESS_DATA to the folder of real votes")
