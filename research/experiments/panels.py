"""A leaderboard on real panels of votes: our methods, and the packages a user would pick instead."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from research.experiments.board import OURS
from research.experiments.framework import Experiment, Settings, Unit
from research.experiments.measure import measured
from research.experiments.panels_summary import summarise
from research.experiments.peers import PEERS, SLOW, Peer, PeerProcess, install, why_missing

_MAKERS: dict[str, Callable[[], Any]] = {
    "vote": lambda: gl.MajorityVote(),
    "textbook": lambda: gl.DawidSkene(prior=(0, 0), balance_prior=0, decision="map"),
    "dawid_skene": lambda: gl.DawidSkene(),
    "sml_em": lambda: gl.SpectralMetaLearner(),
    "paper": lambda: gl.LatentSML(structure="paper"),
    "independent": lambda: gl.LatentSML(structure="independent"),
    "search": lambda: gl.LatentSML(),
}
assert set(_MAKERS) == set(OURS)


def _folder(settings: Settings) -> Path:
    folder = settings.data or os.environ.get("GOLDLESS_DATA")
    if not folder:
        raise ValueError("panels needs a folder of panels: set GOLDLESS_DATA, or pass --data DIR")
    inner = Path(folder) / "panels"
    return inner if inner.is_dir() else Path(folder)


def prepare(settings: Settings, say: Callable[[str], None]) -> None:
    """Make the peers' environments, if they are wanted."""
    for peer in PEERS if settings.peers else ():
        reason = install(peer, say)
        if reason:
            say(f"{peer.package} is skipped: {reason}")


def units(settings: Settings) -> list[Unit]:
    """One unit for each panel and, of the peers, each method; panels that are not binary are listed as skipped."""
    folder = _folder(settings)
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise ValueError(f"there is no .npz file of votes in {folder}")
    index_file = folder / "index.json"
    index = json.loads(index_file.read_text(encoding="utf-8")) if index_file.is_file() else {}
    found = []
    for path in paths:
        name = path.stem
        entry = index.get(name, {})
        reason = _unfit(path, entry)
        common = {"panel": name, "family": name.split("_")[0]}
        if reason:
            found.append(Unit(f"{name}, skipped", {**common, "skipped": reason}))
            continue
        found.append(Unit(f"{name}, goldless", {**common, "package": "goldless"}))
        for peer in PEERS if settings.peers else ():
            pinned = {"package": peer.package, "requirements": list(peer.requirements), "timeout": settings.timeout}
            for method in peer.methods:
                asked = {**common, **pinned, "method": method}
                if method in SLOW and settings.most_votes is not None and _n_votes(path) > settings.most_votes:
                    asked["left_out"] = (
                        f"more than {settings.most_votes:,} votes: not given to a slow method in this run"
                    )
                found.append(Unit(f"{name}, {peer.package} {method}", asked))
    if settings.quick:
        small = [unit for unit in found if "skipped" in unit.parameters][:1]
        return small + [unit for unit in found if unit.parameters["family"] in ("human", "mrmc")][:6]
    return found


def _unfit(path: Path, entry: dict[str, Any]) -> str | None:
    """Return why a panel cannot be used, or None."""
    if entry.get("multiclass"):
        return f"{entry.get('n_classes', 'more than two')} classes: methods here are for two"
    with np.load(path, allow_pickle=False) as file:
        if not {"votes", "truth"} <= set(file.files):
            return "no arrays votes and truth"
        votes, truth = file["votes"], file["truth"]
    if not set(np.unique(votes).tolist()) <= {-1, 0, 1} or set(np.unique(truth).tolist()) != {-1, 1}:
        return "votes are not -1, 0 (missing) and +1, or the truth is not -1 and +1"
    return None if votes.shape[1] >= 3 else f"{votes.shape[1]} voters: three are needed"


def _n_votes(path: Path) -> int:
    with np.load(path, allow_pickle=False) as file:
        return int((file["votes"] != 0).sum())


def run(unit: Unit, settings: Settings, seed: int) -> dict[str, Any]:
    """Run one package on one panel."""
    parameters = unit.parameters
    if "skipped" in parameters:
        return {"skipped": parameters["skipped"]}
    with np.load(_folder(settings) / f"{parameters['panel']}.npz", allow_pickle=False) as file:
        X, y = file["votes"], file["truth"]
    facts = {"n_items": X.shape[0], "n_voters": X.shape[1], "missing": float((X == 0).mean())}
    if parameters["package"] == "goldless":
        return {**facts, "methods": _ours(X, y)}
    method = parameters["method"]
    if "left_out" in parameters:
        return {**facts, "methods": {method: {"skipped": parameters["left_out"]}}}
    peer = next(peer for peer in PEERS if peer.package == parameters["package"])
    return {**facts, "methods": {method: _theirs(peer, method, X, y, settings.timeout)}}


@lru_cache(maxsize=1)
def _warm_up() -> None:
    """Compile, or load what was compiled, before anything is timed."""
    X, _ = gl.simulate_votes(300, [4] + [1] * 5, missing_rate=0.2, random_state=0)
    for make in _MAKERS.values():
        make().fit(X).predict(X)


def _ours(X: NDArray[np.int8], y: NDArray[np.int8]) -> dict[str, Any]:
    missing = 0 if (X == 0).any() else None
    results: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        _warm_up()
        for name, make in _MAKERS.items():

            def label(make: Callable[[], Any] = make) -> tuple[Any, NDArray]:
                model = make().set_params(missing=missing).fit(X)
                return model, model.predict(X)

            try:
                (model, labels), measures = measured(label)
            except ValueError as error:
                results[name] = {"skipped": " ".join(str(error).split())[:160]}
                continue
            results[name] = {"accuracy": gl.balanced_accuracy(y, labels), **measures}
            if name == "search":
                results[name] |= {"ambiguous": model.ambiguous_, "n_groups": model.n_groups_}
    return results


@cache
def _process(python: Path) -> PeerProcess:
    return PeerProcess(python)


def _theirs(peer: Peer, method: str, X: NDArray[np.int8], y: NDArray[np.int8], timeout: float) -> dict[str, Any]:
    reason = why_missing(peer)
    if reason:
        return {"skipped": reason}
    codes = np.where(X == 0, -1, (X + 1) // 2).astype(np.int8)
    answers, labels = _process(peer.python).ask(peer.package, [method], codes, timeout)
    scores = {
        name: {"accuracy": gl.balanced_accuracy(y, 2 * found.astype(int) - 1)} for name, found in labels.items()
    }
    return answers[method] | scores.get(method, {})


EXPERIMENT = Experiment(
    "panels",
    "Real panels, and the peers",
    1,
    units,
    run,
    summarise,
    foreign=lambda unit: unit.parameters.get("package", "goldless") != "goldless",
    prepare=prepare,
)
