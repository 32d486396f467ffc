"""Write what records say into pages of docs/ that people write: comparison, what to expect, diagnosis.

python -m research.benchmarks.claim_pages

A block stands between ``<!-- measured: NAME -->`` and ``<!-- end -->``, as those of :mod:`.cost_page`. Nobody types
what was measured: each block is a function of a record.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from research.benchmarks.cost_page import DOCS, filled
from research.experiments.framework import Summary
from research.experiments.render import read_record, summary_of

Block = Callable[[Any], str]


@cache
def results(name: str) -> Summary:
    """Return the summary of a record of results."""
    return summary_of(read_record(DOCS / "results" / "records" / f"{name}.json"))


def shown(experiment: str, name: str, record: Any = None) -> str:
    """Return a table of a page of results, with its note and a link to the page."""
    found = next(each for each in results(experiment).tables if each.name == name)
    return f"{found.markdown()}\n{found.note} [The record's page](results/{experiment}.md)."


PAGES: dict[str, tuple[str | None, dict[str, Block]]] = {
    "comparison": (
        None,
        {name: partial(shown, "today", name) for name in ("judges", "crowd", "rules", "callers", "scores")},
    ),
}


def written(name: str) -> str:
    """Return a page with its blocks made from the records."""
    source, blocks = PAGES[name]
    record = json.loads((DOCS / source).read_text(encoding="utf-8")) if source else {}
    return filled((DOCS / f"{name}.md").read_text(encoding="utf-8"), record, blocks)


def main() -> None:
    """Write the pages."""
    for name in PAGES:
        (DOCS / f"{name}.md").write_text(written(name), encoding="utf-8")


if __name__ == "__main__":
    main()
