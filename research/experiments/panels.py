"""Leaderboards on panels of votes: our methods, and the packages a user would pick instead.

One way to do it for votes on two classes, on more, for grades and scores, and for sparse crowds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from research.experiments.framework import Experiment, Settings, Unit
from research.experiments.ours import run_ours
from research.experiments.panel import Panel, read_folder, simulated_crowds
from research.experiments.panels_summary import summarise
from research.experiments.peers import PEERS, SLOW, Peer, PeerProcess, install, why_missing
from research.experiments.scoring import scored

_SPARSE, _CROWD = 0.5, 20  # share of missing votes and number of voters from which on a panel is a sparse crowd


@dataclass(frozen=True)
class Contest:
    """Which panels a leaderboard has, and which of our methods.

    Attributes
    ----------
    folder : str
        Where its panels are in the folder of data.
    ours : tuple of str
        Methods, by the names of :mod:`research.experiments.ours`.
    takes : callable (Panel) -> bool
    origin : int
        Which word of a panel's name says its family.
    more : callable () -> dict of Panel
        Panels that are not in the folder.
    """

    folder: str
    ours: tuple[str, ...]
    takes: Callable[[Panel], bool]
    origin: int = 0
    more: Callable[[], dict[str, Panel]] = dict

    def panels(self, settings: Settings) -> dict[str, Panel | str]:
        """Return its panels by name; a file that is none has the reason in place of a panel."""
        folder = settings.data or os.environ.get("GOLDLESS_DATA")
        if not folder:
            raise ValueError("leaderboards need a folder of panels: set GOLDLESS_DATA, or pass --data DIR")
        inner = Path(folder) / self.folder
        found = read_folder(inner if inner.is_dir() else Path(folder)) | self.more()
        return {name: panel for name, panel in found.items() if isinstance(panel, str) or self.takes(panel)}

    def family(self, name: str) -> str:
        """Return the family of a panel: panels of one family are not independent of each other."""
        words = name.split("_")
        return words[0] if words[0] == "simulated" else words[min(self.origin, len(words) - 1)]


def is_sparse(panel: Panel) -> bool:
    """Whether a panel is a crowd of which each item sees a few."""
    return panel.kind == "classes" and panel.votes.shape[1] >= _CROWD and panel.missing.mean() > _SPARSE


_SHARED = ("vote", "dawid_skene", "independent", "search")
CONTESTS = {
    "panels": Contest(
        "panels",
        ("vote", "textbook", "dawid_skene", "sml_em", "paper", "independent", "search"),
        lambda panel: panel.kind == "classes" and panel.n_classes == 2,
    ),
    "classes": Contest("panels", _SHARED, lambda panel: panel.kind == "classes" and panel.n_classes > 2),
    "scores": Contest(
        "scores",
        ("mean", "median", "mean_rank", "cut_vote", "cut_search", "dawid_skene", "summa", "independent", "search"),
        lambda panel: panel.kind != "classes",
    ),
    "crowds": Contest("panels", _SHARED, is_sparse, origin=1, more=simulated_crowds),
}
_TITLES = {
    "panels": "Real panels, and the peers",
    "classes": "Panels of more than two classes",
    "scores": "Panels of grades and scores",
    "crowds": "Sparse crowds",
}


def prepare(settings: Settings, say: Callable[[str], None]) -> None:
    """Make the peers' environments, if they are wanted."""
    for peer in PEERS if settings.peers else ():
        reason = install(peer, say)
        if reason:
            say(f"{peer.package} is skipped: {reason}")


def units(name: str, settings: Settings) -> list[Unit]:
    """One unit for each panel and, of the peers, each method: ours on all panels first, slow methods last."""
    contest, found = CONTESTS[name], []
    panels = contest.panels(settings)
    if settings.quick:
        panels = dict(list(panels.items())[:3])
    for panel_name, panel in panels.items():
        common = {"panel": panel_name, "family": contest.family(panel_name)}
        found.append(
            Unit(f"{panel_name}, skipped", {**common, "skipped": panel})
            if isinstance(panel, str)
            else Unit(f"{panel_name}, goldless", {**common, "package": "goldless"})
        )
    pairs = [(peer, method) for peer in PEERS for method in peer.methods] if settings.peers else []
    for peer, method in sorted(pairs, key=lambda pair: pair[1] in SLOW):
        pinned = {"package": peer.package, "requirements": list(peer.requirements), "timeout": settings.timeout}
        for panel_name, panel in panels.items():
            if not isinstance(panel, str):
                asked = {"panel": panel_name, "family": contest.family(panel_name), **pinned, "method": method}
                found.append(
                    Unit(f"{panel_name}, {peer.package} {method}", asked | _left_out(method, panel, settings))
                )
    return found


def _left_out(method: str, panel: Panel, settings: Settings) -> dict[str, str]:
    if method not in SLOW or settings.most_votes is None or (~panel.missing).sum() <= settings.most_votes:
        return {}
    return {"left_out": f"more than {settings.most_votes:,} votes: not given to a slow method in this run"}


def run(name: str, unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Run one package on one panel."""
    parameters = unit.parameters
    if "skipped" in parameters:
        return {"skipped": parameters["skipped"]}
    contest = CONTESTS[name]
    panel = contest.panels(settings)[parameters["panel"]]
    assert isinstance(panel, Panel)
    return {**panel.facts, "methods": run_package(panel, parameters, contest.ours, settings.timeout)}


def run_package(panel: Panel, parameters: dict[str, Any], ours: tuple[str, ...], timeout: float) -> dict[str, Any]:
    """Return what methods of one package did on a panel."""
    if parameters["package"] == "goldless":
        return run_ours(panel, ours)
    method = parameters["method"]
    if "left_out" in parameters:
        return {method: {"skipped": parameters["left_out"]}}
    peer = next(peer for peer in PEERS if peer.package == parameters["package"])
    return {method: run_peer(peer, method, panel, timeout)}


@cache
def _process(python: Path) -> PeerProcess:
    return PeerProcess(python)


def run_peer(peer: Peer, method: str, panel: Panel, timeout: float) -> dict[str, Any]:
    """Return the scores of a peer and what it took, or why it was skipped."""
    reason = why_missing(peer)
    if reason:
        return {"skipped": reason}
    answers, found = _process(peer.python).ask(peer.package, [method], panel.codes, panel.n_classes, timeout)
    return answers[method] | (scored(panel.truth, *found[method]) if method in found else {})


EXPERIMENTS = {
    name: Experiment(
        name,
        _TITLES[name],
        2,
        partial(units, name),
        partial(run, name),
        partial(summarise, name),
        foreign=lambda unit: unit.parameters.get("package", "goldless") != "goldless",
        prepare=prepare,
    )
    for name in CONTESTS
}
