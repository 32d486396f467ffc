"""The Spark session of ``goldless combine --engine spark``, and the files that it reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import goldless as gl

_ENDINGS = (".parquet", ".pq", ".csv")


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


def spark_stream(session: Any, path: str, options: dict[str, Any]) -> gl.VoteStream:
    """Return files, one below the other in the order of their names, as a stream that Spark reads."""
    source = Path(path)
    files = sorted(source.rglob("*")) if source.is_dir() else [source]
    files = [file for file in files if file.suffix.lower() in _ENDINGS]
    if not files:
        raise ValueError(f"Spark reads Parquet and CSV files, and {path} is none: leave out --engine")
    frame = reduce(lambda one, other: one.union(other), (_read(session, file) for file in files))
    if all(options.get(name) is None for name in ("item", "voter", "label")):
        # which columns are votes is found out as of other files, from the first
        opened = gl.VoteStream(str(files[0]), **{**options, "progress": None}).open()
        voters = () if opened.voters is None else opened.voters.tolist()
        others = [name for name in frame.columns if name not in voters]
        item = getattr(opened, "item_title", None)
        ignored = {*options.get("ignore", ()), *(name for name in others if name != item)}
        options = {**options, "id_column": item if item in others else None, "ignore": ignored, "truth": None}
    return gl.VoteStream(frame, **options)


def _read(session: Any, file: Path) -> Any:
    """Read a file in its own order."""
    if file.suffix.lower() == ".csv":
        return session.read.csv(str(file), header=True, inferSchema=True).coalesce(1)
    return session.read.parquet(str(file))
