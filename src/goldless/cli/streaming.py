"""``goldless combine`` for votes that do not fit in memory: in batches, or on a Dask or Spark cluster."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import goldless as gl
from goldless.cli import labels
from goldless.cli.display import write_json
from goldless.cli.facts import facts_of
from goldless.cli.labels import print_labelled
from goldless.cli.options import Options
from goldless.cli.output import Progress
from goldless.cli.work import reading_options, simple_method
from goldless.errors import warnings_said
from goldless.estimators.latent import LatentSML
from goldless.io.write_back import writer_for
from goldless.io.writing import IN_BATCHES, check_ending

_IN_MEMORY = "The truth was not scored: this kind of file is read all at once; pass --engine memory."
_LARGE_FILE = 1 << 28  # bytes: larger files are read in batches unless told otherwise


def is_streamed(arguments: Options) -> bool:
    """Whether votes are to be read in batches."""
    if arguments.scheduler is not None and arguments.engine not in ("dask", "spark"):
        raise ValueError("--scheduler goes with --engine dask or spark")
    if arguments.engine is not None:
        return arguments.engine != "memory"
    path = Path(arguments.file)
    if arguments.file == "-" or is_written_back(arguments.output):
        return False
    files = [path] if path.is_file() else path.rglob("*") if path.is_dir() else ()
    return sum(file.stat().st_size for file in files if file.is_file()) > _LARGE_FILE and not arguments.explain


def is_written_back(output: str | None) -> bool:
    """Whether labels go into what a tool takes, which is written whole."""
    return output not in (None, "-") and writer_for(str(output), None) is not None


def combine_stream(arguments: Options) -> None:
    """Fit and label batch by batch."""
    if arguments.file == "-":
        raise ValueError("standard input can be read only once: name a file or a folder, or leave out --engine")
    if arguments.output in (None, "-"):
        raise ValueError("labels of many items are written batch by batch: name a file with -o")
    for option in ("explain", "only"):
        if getattr(arguments, option):
            raise ValueError(f"--{option} goes with --engine memory")
    if arguments.tie == "half":
        raise ValueError("--tie half goes with --engine memory")
    if is_written_back(arguments.output):
        raise ValueError(f"{arguments.output} is written from votes in memory: leave out --engine")
    check_ending(arguments.output, IN_BATCHES)
    options: dict[str, Any] = {} if arguments.structure is None else {"structure": arguments.structure}
    with _cluster(arguments) as client:
        with Progress("Counting and fitting", arguments.quiet) as progress:
            options_of_stream = {**reading_options(arguments), "progress": progress.update}
            stream = gl.VoteStream(arguments.file, **options_of_stream, client=client)
            with warnings_said() as of_fit:
                facts = facts_of(arguments, stream)
                options["at_least"] = facts.pop("at_least", None)
                simple = simple_method(arguments)
                model = LatentSML(**options).fit(stream, **facts) if simple is None else simple.fit(stream)
        with Progress("Labelling", arguments.quiet), warnings_said() as of_labels:
            written = _write_labels(model, stream, arguments.output, facts.get("anchors"))
    warned = [*of_fit, *of_labels, *labels.formulas_in_file(arguments.output)]
    counts = {str(label): count for label, count in written.by_label.items()}
    n_items, score = sum(counts.values()), written.balanced_accuracy
    if arguments.truth is not None and score is None:
        warned.append(labels.nothing_scored(arguments.truth) if written.confusion is not None else _IN_MEMORY)
    found = {
        "n_items": n_items,
        "classes": list(counts),
        "labelled": counts,
        "how": model.how_counted_,
        "warnings": warned,
        "output": arguments.output,
        **({} if score is None else {"balanced_accuracy": round(score, 4)}),
    }
    if arguments.json:
        write_json(found)
    elif not arguments.quiet:
        print_labelled(arguments, found)


def _write_labels(model: Any, stream: Any, output: str, anchors: Any) -> Any:
    """Write the labels, and say in one line why they cannot be written."""
    try:
        return model.write_labels(stream, output, anchors)
    except OSError as error:
        found = re.search(r"\[errno (\d+)\]", str(error), re.IGNORECASE)  # as Arrow tells it
        reason = os.strerror(int(found[1])) if found else error.strerror or str(error)
        raise ValueError(f"cannot write {output}: {reason.lower()}") from None


@contextmanager
def _cluster(arguments: Options) -> Iterator[Any]:
    """Yield a client of the cluster that was asked for, None if none was."""
    if arguments.engine == "spark":
        with spark_session(arguments.scheduler) as session:
            yield session
        return
    if arguments.engine != "dask":
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--engine dask needs Dask: pip install 'dask[distributed]' pandas") from None
    for name in ("distributed", "distributed.client"):  # Dask gives each a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what is lost is said once, by us
    try:
        client = Client(arguments.scheduler, timeout="10s") if arguments.scheduler else Client(dashboard_address=None)
    except OSError as error:
        raise ValueError(f"no Dask scheduler answers at {arguments.scheduler}: {error}") from None
    try:
        yield client
    except Exception as error:
        if client.status == "running" and not _is_of_dask(error):
            raise
        raise ValueError(
            f"the Dask cluster was lost before the labels were whole ({type(error).__name__}); nothing was written"
        ) from None
    finally:
        client.close(timeout=5)


def _is_of_dask(error: Exception) -> bool:
    """Whether an error tells of lost workers or a lost scheduler, and not of the votes."""
    return type(error).__module__.partition(".")[0] in ("distributed", "concurrent", "tornado", "asyncio")


# -- Spark ---------------------------------------------------------------------------------------------------


@contextmanager
def spark_session(master: str | None) -> Iterator[Any]:
    """Yield the running session, or start one: on this machine, or by the address of a master."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ValueError("--engine spark needs Spark: pip install 'goldless[spark]', and Java 17") from None
    running = SparkSession.getActiveSession()
    if running is not None and master is None:
        yield running
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("goldless").master(master or "local[*]")
    builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    if master is None:
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise ValueError(f"Spark did not start: {str(error).splitlines()[0]}") from None
    try:
        yield session
    finally:
        session.stop()
