"""What an experiment is: units of work, a function on each, a summary of all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from research.experiments.figures import Figure
from research.experiments.tables import Table


@dataclass(frozen=True)
class Settings:
    """What the user asked for.

    All but ``data``, the folder of real data, is part of the record. ``timeout`` and ``most_votes`` are the CPU
    seconds a peer may take and the largest panel a slow one is given.
    """

    draws: int = 1
    quick: bool = False
    seed: int = 0
    peers: bool = False
    data: str | None = None
    timeout: float = 120.0
    most_votes: int | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The part that decides what is computed."""
        asked = {"draws": self.draws, "quick": self.quick, "seed": self.seed, "peers": self.peers}
        return asked | ({"timeout": self.timeout, "most_votes": self.most_votes} if self.peers else {})


@dataclass(frozen=True)
class Unit:
    """One piece of work: its name, unique in the experiment, and what the function needs to know (plain JSON)."""

    key: str
    parameters: dict[str, Any]

    def seed(self, settings: Settings) -> int:
        """Return the seed of the unit: the same for the same name, whatever else is run and in which order."""
        digest = hashlib.sha256(f"{settings.seed}/{self.key}".encode()).digest()
        return int.from_bytes(digest[:6], "big")


@dataclass(frozen=True)
class Difference:
    """A figure of ours beside the paper's; ``key`` names the sentence that explains it in ``notes.json``."""

    key: str
    what: str
    here: float
    paper: float
    tolerance: float
    unit: str = "%"

    @property
    def differs(self) -> bool:
        """Whether the two are further apart than the paper's rounding allows."""
        return abs(self.here - self.paper) > self.tolerance


@dataclass(frozen=True)
class Summary:
    """What a page shows: paragraphs, tables, figures, and the comparison with the paper."""

    paragraphs: Sequence[str]
    tables: Sequence[Table]
    figures: Sequence[Figure]
    differences: Sequence[Difference] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment.

    Attributes
    ----------
    name, title : str
        Name on the command line, and heading of its page.
    version : int
        To be raised when a unit's result changes its meaning: stored units of another version are done again.
    units : callable (Settings) -> list of Unit
    run : callable (Unit, Settings, int) -> dict
        Does one unit with its seed; the result is plain JSON.
    summarise : callable (list of dict) -> Summary
        A pure function of the finished units, each ``{"key", "parameters", "seed", "result"}``.
    draws, quick_draws : int or None
        Random draws by default; None where nothing is drawn.
    alone : bool
        Whether units run one after the other, because they measure time.
    foreign : callable (Unit) -> bool, optional
        Says whether a unit runs other packages only: it is then good whatever the sources of goldless are.
    prepare : callable (Settings, callable) -> None, optional
        Runs once before any unit; the callable takes a line of text for the user.
    """

    name: str
    title: str
    version: int
    units: Callable[[Settings], list[Unit]]
    run: Callable[[Unit, Settings, int], dict[str, Any]]
    summarise: Callable[[list[dict[str, Any]]], Summary]
    draws: int | None = None
    quick_draws: int | None = None
    alone: bool = False
    foreign: Callable[[Unit], bool] = lambda unit: False
    prepare: Callable[[Settings, Callable[[str], None]], None] | None = field(default=None)

    def settings(self, draws: int | None = None, quick: bool = False, **others: Any) -> Settings:
        """Return settings with this experiment's number of draws unless one is given."""
        if draws is not None and self.draws is None:
            raise ValueError(f"{self.name} draws nothing at random; leave --draws out")
        default = self.quick_draws if quick else self.draws
        return Settings(draws=draws or default or 1, quick=quick, **others)


def plain(value: Any) -> Any:
    """Return a value as plain JSON: numbers to six digits, NaN and infinities as None."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"a result must be plain JSON, got {type(value).__name__}")
