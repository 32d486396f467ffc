"""Where it must work: read-only containers, without a home or a network, in threads, forks and new processes."""

import multiprocessing
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import goldless as gl
from goldless.kernels.bits import row_hashes

X = gl.simulate_votes(400, groups=[3, 1, 1, 1, 1], random_state=0)[0]
NO_NETWORK = """
import socket
def refuse(*_, **__):
    raise OSError("there is no network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
"""
FIT = """
import warnings
warnings.simplefilter("always")
import goldless as gl
from goldless.cli import main
X, _ = gl.simulate_votes(400, groups=[3, 1, 1, 1, 1], random_state=0)
print(gl.LatentSML().fit(X).predict_proba(X).sum(axis=0).tolist())
assert main(["simulate", "--items", "300", "-o", "votes.csv"]) == 0
assert main(["report", "votes.csv", "-o", "page.html"]) == 0
"""
SURROUNDINGS = {
    "a home that cannot be written to": {"HOME": "/dev/null"},
    "no home": {"HOME": None, "XDG_CACHE_HOME": None, "USER": None},
    "a cache that cannot be written to": {"NUMBA_CACHE_DIR": "/dev/null/cache"},
    "eight threads": {"GOLDLESS_NUM_THREADS": "8"},
}


def answer(_=None):
    return gl.LatentSML().fit(X).predict_proba(X)


@pytest.mark.parametrize("case", SURROUNDINGS)
def test_it_works_without_what_it_need_not_have(case, tmp_path):
    wanted = {**os.environ, **SURROUNDINGS[case]}
    known = {name: value for name, value in wanted.items() if value is not None}
    call = [sys.executable, "-c", NO_NETWORK + FIT]
    done = subprocess.run(call, env=known, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == str(answer().sum(axis=0).tolist())
    assert "Traceback" not in done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") <= 1  # one line, where no other folder will do
    assert (tmp_path / "page.html").exists()


def without_the_rights_of_root():
    """Return what a command begins with so that files of others and of itself can be read-only; skip if nothing."""
    if os.geteuid():
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root can write everywhere")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def test_it_works_where_the_package_and_the_home_are_read_only(tmp_path):
    first = without_the_rights_of_root()
    home, packages, work = (tmp_path / name for name in ("home", "packages", "work"))
    for folder in (home, packages, work):
        folder.mkdir()
    shutil.copytree(Path(gl.__file__).parent, packages / "goldless", ignore=shutil.ignore_patterns("__pycache__"))
    folders = [home, packages, *(path for path in packages.rglob("*") if path.is_dir())]
    known = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    known |= {"HOME": str(home), "PYTHONPATH": str(packages)}
    refused = """
import os
import goldless
for folder in (os.environ["HOME"], os.path.dirname(goldless.__file__)):
    try:
        open(os.path.join(folder, "x"), "w")
    except OSError:
        continue
    raise SystemExit(f"{folder} can be written to")
"""
    for folder in folders:
        folder.chmod(0o555)
    try:
        call = [*first, sys.executable, "-c", refused + NO_NETWORK + FIT]
        done = subprocess.run(call, env=known, cwd=work, capture_output=True, text=True)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == str(answer().sum(axis=0).tolist())
    assert "Traceback" not in done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1


def test_a_disk_without_room_for_compiled_code_is_one_warning(tmp_path):
    no_room = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
"""
    hashes = """
import numpy as np
from goldless.kernels.bits import row_hashes
print(row_hashes(np.arange(6, dtype=np.uint8).reshape(3, 2)).tolist())
"""
    known = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for room, warned in ((no_room, 1), ("", 0)):  # and what was left behind does no harm to who has room
        call = [sys.executable, "-c", room + hashes]
        done = subprocess.run(call, env=known, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == str(row_hashes(np.arange(6, dtype=np.uint8).reshape(3, 2)).tolist())
        assert done.stderr.count("NUMBA_CACHE_DIR") == warned


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # newer Pythons warn of threads beside a fork
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes_of_a_process_that_has_fitted_give_the_same_bits(way, monkeypatch):
    monkeypatch.setenv("GOLDLESS_NUM_THREADS", "2")
    expected = answer()  # its threads do not live on in a fork
    with ProcessPoolExecutor(2, multiprocessing.get_context(way)) as pool:
        for found in pool.map(answer, range(3)):
            np.testing.assert_array_equal(found, expected)


def test_eight_threads_at_once_give_the_same_bits():
    expected = answer()
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(answer, range(16)):
            np.testing.assert_array_equal(found, expected)
