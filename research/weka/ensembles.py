"""Sixteen voters as the paper has them, trained by Weka 3.6 at its defaults, and the recording of their votes.

How the voters are trained was fixed before any draw was made, by what the paper's own votes on Magic show: forests
of ten trees, logistic model trees, linear support vector machines, Gaussian naive Bayes, about 500 items each. Each
voter draws its items from one half of the table; the other half is of items that nobody was trained on.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.whole_file import whole_file
from research.experiments.datasets import load_uci

VERSION = "3.6.14"
JAR_SHA256 = "fcdc5315cb9054b396d2e1bac7e007800b01b3d2221cca6afb065f6821e60b42"
TABLES = ("magic", "spambase", "musk")
SIZES = (500, 1000)  # the first matches the accuracies of the paper's own voters on Magic
FIRST_DRAW = 100  # earlier ones were looked at when sizes and groups were chosen
DRAWS = 20
FOLDER = Path(__file__).parent / "recorded"
_SOURCE = Path(__file__).parent / "Vote.java"
_SEED = 1510_05830
_VOTERS = {  # family: how many, the class of Weka and all its options
    "forest": (4, "weka.classifiers.trees.RandomForest", "-I 10 -K 0 -S {seed}"),
    "logistic model tree": (3, "weka.classifiers.trees.LMT", "-I -1 -M 15 -W 0.0"),
    "svm": (
        4,
        "weka.classifiers.functions.SMO",
        "-C 1.0 -L 0.001 -P 1.0E-12 -N 0 -V -1 -W 1 "
        '-K "weka.classifiers.functions.supportVector.PolyKernel -C 250007 -E 1.0"',
    ),
    "naive bayes": (5, "weka.classifiers.bayes.NaiveBayes", ""),
}
VOTERS = tuple(family for family, (count, *_) in _VOTERS.items() for _ in range(count))


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The votes of one draw.

    Attributes
    ----------
    draw : int
        Number of the draw.
    votes : ndarray of shape (n_items, n_voters)
        Votes -1 and +1 on all items of the table, in its order.
    unseen : ndarray of bool of shape (n_items,)
        Which items no voter could be trained on.
    """

    draw: int
    votes: NDArray[np.int8]
    unseen: NDArray[np.bool_]


def record(name: str, size: int, jar: Path, draws: int = DRAWS, folder: Path = FOLDER) -> Path:
    """Train the ensembles of a table that are not yet recorded, and write all of them to one file."""
    _check_tools(jar)
    features, labels = load_uci(name)
    path = folder / f"{name}_{size}.npz"
    done = _read(path) if path.is_file() else {"draws": np.array([], dtype=np.int64)}
    kept = {key: list(done[key]) for key in ("votes", "training", "half") if key in done}
    numbers = done["draws"].tolist()
    with tempfile.TemporaryDirectory() as scratch:
        classes = _compile(jar, Path(scratch))
        for draw in range(FIRST_DRAW, FIRST_DRAW + draws):
            if draw in numbers:
                continue
            half, training = split(len(labels), size, draw)
            votes = _train(features, labels, training, draw, f"{classes}:{jar}", Path(scratch))
            made = {"votes": np.packbits(votes), "training": training, "half": np.packbits(half)}
            for key, value in made.items():
                kept.setdefault(key, []).append(value)
            numbers.append(draw)
            folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as draft, draft.open("wb") as file:
                arrays: dict[str, Any] = {key: np.stack(values) for key, values in kept.items()}
                arrays |= {"draws": np.array(numbers), "n_items": np.array(len(labels)), "version": np.array(VERSION)}
                np.savez_compressed(file, **arrays)
    return path


def split(n_items: int, size: int, draw: int) -> tuple[NDArray[np.bool_], NDArray[np.uint16]]:
    """Return which items may be trained on, and the training rows of every voter, shape (n_voters, size)."""
    rng = np.random.default_rng([_SEED, n_items, size, draw])
    shuffled = rng.permutation(n_items)
    half = np.zeros(n_items, dtype=bool)
    half[shuffled[: n_items // 2]] = True
    return half, np.stack([rng.choice(shuffled[: n_items // 2], size, replace=False) for _ in VOTERS]).astype(
        np.uint16
    )


def recorded(name: str, size: int, folder: Path = FOLDER) -> list[Ensemble]:
    """Return the recorded ensembles of a table; none if there are none."""
    path = folder / f"{name}_{size}.npz"
    if not path.is_file():
        return []
    file = _read(path)
    n_items = int(file["n_items"])
    found = []
    for draw, packed, half in zip(file["draws"].tolist(), file["votes"], file["half"], strict=True):
        bits = np.unpackbits(packed, count=n_items * len(VOTERS)).reshape(n_items, len(VOTERS))
        found.append(Ensemble(draw, 2 * bits.astype(np.int8) - 1, np.unpackbits(half, count=n_items) == 0))
    return found


def _read(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return dict(file)


def _check_tools(jar: Path) -> None:
    """Say in a sentence what is missing."""
    if shutil.which("javac") is None:
        raise ValueError("Weka needs Java 17 (javac and java), which is not installed here; recorded votes need none")
    if not jar.is_file():
        raise ValueError(f"there is no {jar}; Debian's package weka has weka.jar, version {VERSION}")
    found = hashlib.sha256(jar.read_bytes()).hexdigest()
    if found != JAR_SHA256:
        raise ValueError(f"{jar} is not Weka {VERSION} as we recorded it: its SHA-256 is {found}")


def _compile(jar: Path, scratch: Path) -> Path:
    """Compile the program that trains and votes, and return the folder of its class."""
    subprocess.run(["javac", "-nowarn", "-cp", str(jar), "-d", str(scratch), str(_SOURCE)], check=True)
    return scratch


def _train(
    features: NDArray, labels: NDArray, training: NDArray[np.uint16], draw: int, path: str, scratch: Path
) -> NDArray[np.uint8]:
    """Return the votes 0 and 1 of all voters on all items, shape (n_items, n_voters)."""
    table, jobs, votes = scratch / "table", scratch / "jobs", scratch / "votes"
    rows = np.column_stack([features, labels > 0]).astype("<f8")
    table.write_bytes(np.array([len(features), features.shape[1]], dtype="<i4").tobytes() + rows.tobytes())
    programs = [program for count, *program in _VOTERS.values() for _ in range(count)]
    lines = [
        "\t".join([program, options.format(seed=draw * len(VOTERS) + voter), " ".join(map(str, items))])
        for voter, ((program, options), items) in enumerate(zip(programs, training.tolist(), strict=True))
    ]
    jobs.write_text("\n".join(lines) + "\n")
    subprocess.run(["java", "-cp", path, "Vote", str(table), str(jobs), str(votes)], check=True)
    return np.frombuffer(votes.read_bytes(), dtype=np.uint8).reshape(len(VOTERS), -1).T
