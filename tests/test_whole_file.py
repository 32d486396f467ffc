"""Files are whole or not there; nothing else in their folder or in the process changes."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

import goldless as gl
from goldless.whole_file import whole_file


def written(path, text="new"):
    with whole_file(path) as draft:
        draft.write_text(text)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o077, 0o000])
def mask(request):
    before = os.umask(request.param)
    yield request.param
    assert os.umask(before) == request.param, "the process's mask was changed"


def test_a_new_file_has_the_mode_that_the_process_gives(tmp_path, mask):
    written(tmp_path / "model.json")
    assert mode(tmp_path / "model.json") == 0o666 & ~mask


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o644, 0o664])
def test_a_file_keeps_its_mode(tmp_path, bits):
    path = tmp_path / "model.json"
    path.write_text("old")
    path.chmod(bits)
    with whole_file(path) as draft:
        assert mode(draft) & ~bits == 0 or mode(draft) == 0o600, "more can be read of the draft than of the file"
        draft.write_text("new")
    assert mode(path) == bits
    assert path.read_text() == "new"


def test_the_mask_is_never_touched(tmp_path, monkeypatch):
    """Another thread that makes a file at that moment would make it open to all."""
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("umask was called"))
    written(tmp_path / "model.json")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    written(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_link_to_nothing_is_not_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError, match="link to a file that does not exist"):
        written(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "model.json").write_text("old")

    def interrupted():
        with whole_file(tmp_path / "model.json") as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    assert (tmp_path / "model.json").read_text() == "old"


def test_a_pipe_gets_all_of_it_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    X, _ = gl.simulate_votes(50, groups=[1] * 5, random_state=0)
    model = gl.DawidSkene().fit(X)
    model.save(tmp_path / "model.json")
    with ThreadPoolExecutor() as readers:
        received = readers.submit(pipe.read_bytes)
        model.save(pipe)
        assert received.result() == (tmp_path / "model.json").read_bytes()
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "pipe"]


def test_a_device_stays_a_device(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("devices cannot be made here")
    with whole_file(device) as draft:
        draft.write_text("new")
    assert device.is_char_device()
    assert [*tmp_path.iterdir()] == [device]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"), whole_file(tmp_path):
        pass


def test_no_draft_can_be_foreseen(tmp_path):
    names = []
    for _ in range(3):
        with whole_file(tmp_path / "model.json") as draft:
            draft.write_text("")
            names.append(draft.name)
    assert len(set(names)) == 3
    assert not any(str(os.getpid()) == name.rsplit(".", 1)[1] for name in names)


def test_without_a_folder_for_the_cache_all_works_with_one_warning(tmp_path):
    """As in a container whose home and packages are read-only."""
    import subprocess
    import sys

    code = """
import warnings
from numba.core import caching
for impl in vars(caching).values():
    if hasattr(impl, "_locator_classes"):
        impl._locator_classes = []
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import goldless as gl
    X, _ = gl.simulate_votes(400, groups=[1] * 12, random_state=0)
    assert gl.LatentSML().fit(X).predict(X).shape == (400,)
assert sum("NUMBA_CACHE_DIR" in str(warning.message) for warning in said) == 1, [str(w.message) for w in said]
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
