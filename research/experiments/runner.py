"""Run an experiment: all cores, every finished unit kept, one record at the end."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from multiprocessing import connection
from pathlib import Path
from typing import Any

from research.experiments import find_experiment, origin
from research.experiments.framework import Experiment, Settings, Unit, plain
from research.experiments.store import UnitStore, to_json, write_whole

SCHEMA_VERSION = 1
RECORD = "record.json"
_for_good = ExitStack()  # what a worker enters and never leaves


def run_experiment(
    experiment: Experiment,
    folder: Path,
    settings: Settings,
    *,
    workers: int | None = None,
    fresh: bool = False,
    progress: Callable[[float], None] = lambda share: None,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Run what is not yet done of an experiment, write its record and return it.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        Where units and the record go. Units found there, made with the same sources and settings, are not done again.
    settings : Settings
    workers : int, optional
        Processes; by default one for each core, and one where time is measured. One runs in this process.
    fresh : bool, default=False
        Whether to do everything again.
    progress, say : callable
        Take the share that is done, and a line of text.

    Returns
    -------
    dict
        ``schema_version``, ``experiment``, ``experiment_version``, ``parameters``, ``units`` (each with ``key``,
        ``parameters``, ``seed``, ``result``) are the same whenever and however often the run was interrupted, apart
        from measured times; ``run`` says with what, where and how long.
    """
    started = datetime.now(timezone.utc)
    if experiment.prepare is not None:
        experiment.prepare(settings, say)
    units = experiment.units(settings)
    if not units:
        raise ValueError(f"{experiment.name}: there is nothing to do")
    if len({unit.key for unit in units}) < len(units):
        raise AssertionError(f"{experiment.name}: two units have the same name")
    libraries, sources, commit = origin.versions(), origin.source_hash(), origin.commit()
    common = [experiment.name, experiment.version, settings.quick]
    ours = UnitStore(folder, _fingerprint([*common, libraries, sources]))
    foreign = UnitStore(folder, _fingerprint(common))
    stores = {unit.key: foreign if experiment.foreign(unit) else ours for unit in units}
    done: dict[str, dict[str, Any]] = {}
    for unit in units:
        stored = None if fresh else stores[unit.key].load(unit, unit.seed(settings))
        if stored is not None:
            done[unit.key] = stored
    waiting = [unit for unit in units if unit.key not in done]
    if done and waiting:
        say(f"{len(done)} of {len(units)} units are done already")
    workers = 1 if experiment.alone else workers or _cores()
    finished = _in_process if workers == 1 else _in_processes
    progress(len(done) / len(units))
    for unit, result, seconds in finished(experiment, waiting, settings, workers):
        done[unit.key] = stores[unit.key].save(unit, unit.seed(settings), result, seconds)
        progress(len(done) / len(units))
    entries = [done[unit.key] for unit in units]
    record = {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment.name,
        "experiment_version": experiment.version,
        "parameters": settings.parameters,
        "units": [{name: entry[name] for name in ("key", "parameters", "seed", "result")} for entry in entries],
        "run": {
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "workers": workers,
            "unit_seconds": [entry["seconds"] for entry in entries],
            "commit": commit,
            "sources": sources,
            "versions": libraries,
            "machine": origin.machine(),
        },
    }
    write_whole(folder / RECORD, record_text(record))
    return record


def record_text(record: dict[str, Any]) -> str:
    """Return a record as JSON with one line a unit, so that changes can be read."""
    head = {name: value for name, value in record.items() if name != "units"}
    units = ",\n".join("  " + to_json(unit).strip() for unit in record["units"])
    return to_json(head, indent=1).rstrip()[:-2] + ',\n "units": [\n' + units + "\n ]\n}\n"


def _fingerprint(made_with: list[Any]) -> str:
    return hashlib.sha256(to_json(made_with).encode()).hexdigest()[:16]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Finished = Iterator[tuple[Unit, dict[str, Any], float]]


def _in_process(experiment: Experiment, units: list[Unit], settings: Settings, workers: int) -> Finished:
    for unit in units:
        yield (unit, *_do(experiment.name, unit, settings))


def _in_processes(experiment: Experiment, units: list[Unit], settings: Settings, workers: int) -> Finished:
    """Yield units as they finish. Workers are new processes: a fork would copy locks that threads hold."""
    if not units:
        return
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(min(workers, len(units)), mp_context=context, initializer=_start_worker)
    try:
        queue = iter(units)
        running: dict[Future, Unit] = {}
        while True:
            for unit in queue:  # a few ahead, so that an interruption loses little and nobody waits
                running[pool.submit(_do, experiment.name, unit, settings)] = unit
                if len(running) >= 2 * workers:
                    break
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield (running.pop(future), *future.result())
    except BrokenProcessPool:
        raise ValueError(
            f"a worker of {experiment.name} died, perhaps for want of memory; what is finished is kept: run the same "
            "command again, with fewer --workers"
        ) from None
    except BaseException:  # an interruption: what runs is given up, what is finished is kept
        for worker in multiprocessing.active_children():
            if worker not in others:
                worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _do(name: str, unit: Unit, settings: Settings) -> tuple[dict[str, Any], float]:
    """Do one unit."""
    start = time.perf_counter()
    try:
        result = find_experiment(name).run(unit, settings, unit.seed(settings))
    except ValueError as error:
        raise ValueError(f"{name}, {unit.key}: {error}") from None
    return plain(result), time.perf_counter() - start


@contextmanager
def one_thread() -> Iterator[None]:
    """Let goldless and numpy use one thread: threads that wait for each other on a busy machine cost CPU time."""
    from threadpoolctl import threadpool_limits

    before = os.environ.get("GOLDLESS_NUM_THREADS")
    os.environ["GOLDLESS_NUM_THREADS"] = "1"
    try:
        with threadpool_limits(1):
            yield
    finally:
        os.environ.pop("GOLDLESS_NUM_THREADS") if before is None else os.environ.update(GOLDLESS_NUM_THREADS=before)


def _start_worker() -> None:
    """One thread for each worker, and no worker without its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    _for_good.enter_context(one_thread())
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave_with_parent() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()
