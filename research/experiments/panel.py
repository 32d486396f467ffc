"""Panels with known truth: votes on classes, or grades and scores, from ``.npz`` files or simulated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.benchmarks.scores import natural_cut

MOST_SCORED = 4000  # rows of a panel of numbers, evenly spaced
_GRADES = 12  # so many distinct whole numbers or fewer are grades


@dataclass(frozen=True)
class Panel:
    """Votes and their truth.

    Attributes
    ----------
    votes : array of shape (n_items, n_voters)
        Classes 0 to C - 1 with -1 for no vote, or numbers with NaN for none.
    truth : array of shape (n_items,)
        Classes; -1 where it is not known. For scoring only.
    kind : str
        "classes", or what numbers are: "probabilities", "ordinal", "scores", "mixed".
    """

    votes: NDArray[Any]
    truth: NDArray[np.int64]
    kind: str = "classes"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where there is no vote."""
        return self.votes < 0 if self.kind == "classes" else np.isnan(self.votes)

    @property
    def n_classes(self) -> int:
        """Number of classes that are voted for or true."""
        most = self.truth.max() if self.kind != "classes" else max(self.truth.max(), self.votes.max())
        return max(int(most) + 1, 2)

    @property
    def codes(self) -> NDArray[np.int8]:
        """Votes as classes, -1 for none; numbers are cut where a user would: one half, mid-scale, or the median."""
        if self.kind == "classes":
            return self.votes.astype(np.int8)
        cut = natural_cut(self.votes, self.kind)
        return np.where(np.isnan(cut), -1, cut).astype(np.int8)

    def thinned(self, most: int) -> Panel:
        """Return at most so many items, evenly spaced."""
        rows = np.unique(np.linspace(0, len(self.votes) - 1, min(most, len(self.votes))).astype(int))
        return replace(self, votes=self.votes[rows], truth=self.truth[rows])

    @property
    def facts(self) -> dict[str, Any]:
        """What a table says of a panel."""
        n_items, n_voters = self.votes.shape
        missing = float(self.missing.mean())
        return {"n_items": n_items, "n_voters": n_voters, "n_classes": self.n_classes, "missing": missing}


def make_panel(votes: NDArray[Any], truth: NDArray[Any], kind: str | None = None) -> Panel:
    """Make a panel of arrays as they are in files.

    Votes -1 and +1 with 0 for none if that is what the truth is; else classes 0 to C - 1 with -1 for none; other
    numbers are scores, of two classes. ``kind`` says what numbers are; without it they are looked at.
    """
    if votes.ndim != 2 or truth.shape != votes.shape[:1]:
        raise ValueError("votes are no table of items by voters with one truth each")
    if votes.shape[1] < 3:
        raise ValueError(f"{votes.shape[1]} voters: three are needed")
    if kind in (None, "classes"):
        seen, true = set(np.unique(votes).tolist()), set(np.unique(truth).tolist())
        if seen <= {-1, 0, 1} and true <= {-1, 1}:
            return Panel(
                np.where(votes == 0, -1, (votes + 1) // 2).astype(np.int8), (truth.astype(np.int64) + 1) // 2
            )
        if (
            all(value == int(value) and -1 <= value < 100 for value in seen if value == value)
            and not np.isnan(votes.astype(float)).any()
        ):
            return Panel(votes.astype(np.int8), truth.astype(np.int64))
    numbers = votes.astype(float)
    return Panel(numbers, (truth > 0).astype(np.int64), kind or kind_of(numbers)).thinned(MOST_SCORED)


def kind_of(numbers: NDArray[np.float64]) -> str:
    """Return what numbers look like: probabilities, a few grades, or scores."""
    values = np.unique(numbers[~np.isnan(numbers)])
    if values[0] >= 0 and values[-1] <= 1:
        return "probabilities"
    return "ordinal" if len(values) <= _GRADES and (values == values.round()).all() else "scores"


def read_panel(path: Path, about: Mapping[str, Any] | None = None) -> Panel:
    """Read a panel from an ``.npz`` file with ``votes`` or ``scores``, and ``truth``."""
    with np.load(path, allow_pickle=False) as file:
        votes = next((name for name in ("votes", "scores") if name in file.files), None)
        if votes is None or "truth" not in file.files:
            raise ValueError("no arrays votes (or scores) and truth")
        kind = None if votes == "votes" else (about or {}).get("kind")
        return make_panel(file[votes], file["truth"], kind)


@lru_cache(maxsize=2)
def read_folder(folder: Path) -> dict[str, Panel | str]:
    """Read every panel of a folder; a file that is none has the reason in place of a panel."""
    index_file = folder / "index.json"
    index = json.loads(index_file.read_text(encoding="utf-8")) if index_file.is_file() else {}
    found: dict[str, Panel | str] = {}
    for path in sorted(folder.glob("*.npz")):
        try:
            found[path.stem] = read_panel(path, index.get(path.stem))
        except ValueError as error:
            found[path.stem] = str(error)
    if not found:
        raise ValueError(f"there is no .npz file of votes in {folder}")
    return found


_CROWDS = {"plain": (0.0, 1), "clickers": (0.3, 1), "copies": (0.0, 20)}


@lru_cache(maxsize=1)
def simulated_crowds(n_items: int = 10_000, n_workers: int = 400, n_votes: int = 5) -> dict[str, Panel]:
    """Return crowds of workers with skills between .4 and .95, four classes, a few votes an item.

    In one, three workers of ten click at random; in one, workers are in rooms of twenty, and every second vote of a
    room is what its first worker would say.
    """
    found, n_classes = {}, 4
    for number, (name, (clickers, room)) in enumerate(_CROWDS.items()):
        rng = np.random.default_rng([2026, number])
        truth = rng.integers(0, n_classes, n_items)
        skill = np.where(rng.random(n_workers) < clickers, 1 / n_classes, rng.uniform(0.4, 0.95, n_workers))
        right = rng.random((n_items, n_workers)) < skill
        votes = np.where(right, truth[:, None], rng.integers(0, n_classes, (n_items, n_workers)))
        if room > 1:
            leader = votes[:, np.arange(n_workers) // room * room]
            votes = np.where(rng.random((n_items, n_workers)) < 0.5, leader, votes)
        asked = rng.random((n_items, n_workers)).argpartition(n_votes, axis=1)[:, :n_votes]
        shown = np.full((n_items, n_workers), -1, dtype=np.int8)
        np.put_along_axis(shown, asked, np.take_along_axis(votes, asked, axis=1).astype(np.int8), axis=1)
        found[f"simulated_{name}"] = Panel(shown, truth)
    return found
