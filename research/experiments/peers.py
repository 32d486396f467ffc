"""Other packages, each in an environment of its own with pinned versions."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.experiments.datasets import cache_folder

_PATIENCE = 10  # times the CPU time allowed, by the clock
Labelled = tuple[NDArray[np.int64], NDArray[np.float64] | None]  # labels and, where there are any, probabilities
_ADAPTER = Path(__file__).with_name("peer_adapter.py")


@dataclass(frozen=True)
class Peer:
    """A package, what its environment holds, and the methods that are run: name, and how the page calls it."""

    package: str
    requirements: tuple[str, ...]
    methods: dict[str, str]

    @property
    def folder(self) -> Path:
        """Where its environment is; another version is another folder."""
        pins = hashlib.sha256(" ".join([*self.requirements, sys.version]).encode()).hexdigest()[:8]
        return cache_folder() / "peers" / f"{self.package}-{pins}"

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


PEERS = (
    Peer(
        "crowd-kit",
        (
            "crowd-kit==1.4.2",
            "numpy==2.4.6",
            "pandas==3.1.1",
            "scikit-learn==1.6.1",
        ),  # its Wawa fails with newer ones
        {
            "DawidSkene": "crowd-kit DawidSkene",
            "OneCoinDawidSkene": "crowd-kit OneCoinDawidSkene",
            "Wawa": "crowd-kit Wawa",
            "MajorityVote": "crowd-kit MajorityVote",
            "MMSR": "crowd-kit MMSR",
            "GLAD": "crowd-kit GLAD",
            "MACE": "crowd-kit MACE",
        },
    ),
    Peer("snorkel", ("snorkel==0.10.0", "numpy==2.4.6", "torch==2.15.0"), {"LabelModel": "snorkel LabelModel"}),
    Peer("cleanlab", ("cleanlab==2.7.1", "numpy==1.26.4", "pandas==3.0.6"), {"crowdlab": "cleanlab CROWDLAB"}),
    # names no dependencies; the last pgmpy that has what it imports
    Peer("flyingsquid", ("flyingsquid==0.0.0a0", "pgmpy==0.1.25", "numpy==2.2.6"), {"Triplets": "FlyingSquid"}),
    Peer("skweak", ("skweak==0.3.3", "numpy==2.4.6", "pandas==3.1.1"), {"NaiveBayes": "skweak NaiveBayes"}),
)
SLOW = ("MMSR", "GLAD", "MACE")  # ten seconds and more for ten thousand votes, MMSR for many voters


def install(peer: Peer, say: Callable[[str], None] = lambda text: None) -> str | None:
    """Make the environment of a peer unless it is there; return None, or the reason why it cannot be had."""
    ready, failed = peer.folder / "ready", peer.folder.with_suffix(".failed")
    if ready.is_file():
        return None
    say(f"installing {peer.requirements[0]} in an environment of its own")
    shutil.rmtree(peer.folder, ignore_errors=True)
    peer.folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(peer.folder)], check=True, capture_output=True, text=True)
        pip = [str(peer.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *peer.requirements], check=True, capture_output=True, text=True, env=_clean())
    except (OSError, subprocess.CalledProcessError) as error:
        lines = [line for line in (getattr(error, "stderr", None) or str(error)).splitlines() if "ERROR" in line]
        reason = f"{' '.join(peer.requirements)} could not be installed" + (f": {lines[0][:120]}" if lines else "")
        shutil.rmtree(peer.folder, ignore_errors=True)
        failed.write_text(reason, encoding="utf-8")
        return reason
    failed.unlink(missing_ok=True)
    ready.touch()
    return None


def why_missing(peer: Peer) -> str | None:
    """Return None if the peer's environment is there, else the reason."""
    if (peer.folder / "ready").is_file():
        return None
    failed = peer.folder.with_suffix(".failed")
    return failed.read_text(encoding="utf-8") if failed.is_file() else "it is not installed"


def _clean() -> dict[str, str]:
    """The environment without this interpreter's paths, and one thread, as our own workers have."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return kept | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class PeerProcess:
    """A running adapter: started once, asked for many panels, since importing a package takes longer than most."""

    def __init__(self, python: Path | str):
        self._python = str(python)
        self._process: subprocess.Popen[str] | None = None
        atexit.register(self.close)

    def ask(
        self, package: str, methods: list[str], codes: NDArray[np.int8], n_classes: int, timeout: float
    ) -> tuple[dict[str, Any], dict[str, Labelled]]:
        """Return, for each method, what was measured or why it was skipped, and labels with their probabilities."""
        with tempfile.TemporaryDirectory(prefix="goldless-") as folder:
            votes, labels = Path(folder) / "votes.npz", Path(folder) / "labels.npz"
            np.savez(votes, codes=codes)
            job = {"package": package, "methods": methods, "votes": str(votes), "labels": str(labels)}
            line = json.dumps({**job, "n_classes": n_classes, "timeout": timeout})
            answer = self._exchange(line, _PATIENCE * timeout * len(methods) + 120)
            if not answer:
                self.close()
                return {name: {"skipped": "its process ended or did not answer"} for name in methods}, {}
            with np.load(labels, allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
            return json.loads(answer), {
                name: (found[name], found.get(f"{name} probabilities")) for name in methods if name in found
            }

    def _exchange(self, line: str, patience: float) -> str:
        """Send a line and return the answer, or nothing when patience ends: the process is then killed."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [self._python, str(_ADAPTER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=_clean(),
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(patience, process.kill)
        timer.start()
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            return process.stdout.readline()
        except OSError:
            return ""
        finally:
            timer.cancel()

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):  # what was not yet sent to an ended process cannot be sent at closing either
                    stream.close()
        self._process = None
