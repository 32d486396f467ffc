"""The report: a fitted model and its votes become a plain dictionary, and that becomes a page.

``gl.report(votes)`` does all of it; the parts are here:

>>> import goldless as gl
>>> from goldless.report import summarize
>>> X, _ = gl.simulate_votes(10_000, groups=[5] + [1] * 15, random_state=0)
>>> summary = summarize(gl.LatentSML().fit(X), X)
>>> summary["groups"][0]["voters"]
[0, 1, 2, 3, 4]
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from goldless.report.html import render_html
from goldless.report.make import Report, report
from goldless.report.schema import json_schema
from goldless.report.summarize import summarize
from goldless.report.summary import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION", "Report", "json_schema", "render_html", "report", "summarize"]


class _Room(ModuleType):
    """The room that is also the function of its name: ``gl.report(votes)``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Report:
        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
