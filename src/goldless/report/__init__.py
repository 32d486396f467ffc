"""The report: a fitted model and its votes become a plain dictionary, and that becomes a page.

>>> import goldless as gl
>>> from goldless.report import summarize
>>> X, _ = gl.simulate_votes(10_000, groups=[5] + [1] * 15, random_state=0)
>>> summary = summarize(gl.LatentSML().fit(X), X)
>>> summary["groups"][0]["voters"]
[0, 1, 2, 3, 4]
"""

from __future__ import annotations

from goldless.report.html import render_html
from goldless.report.schema import json_schema
from goldless.report.summarize import summarize
from goldless.report.summary import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION", "json_schema", "render_html", "summarize"]
