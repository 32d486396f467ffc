"""``python -m research.fuzz.page [FILE ...]``: add what campaigns kept to docs/reliability.json, write its page."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from research.fuzz.campaign import FUZZERS, Counts, read_counts, write_counts

DOCS = Path(__file__).parents[2] / "docs"
_START, _END = "<!-- counts -->\n", "<!-- end -->\n"
_WHAT = {
    "files": "damaged files through every reader",
    "calls": "odd calls of estimators",
    "models": "forged models",
    "kills": "killed processes that write",
    "bombs": "bombs and forged counts",
    "pages": "hostile names: page, terminal, CSV, VCF, notebook",
    "clusters": "killed Dask workers and schedulers",
}


def table(counted: list[Counts]) -> str:
    """Return the counts of all seeds as a table."""
    lines = ["| what | trials | failed at first | fail now | ended in | most memory |", "|---|---|---|---|---|---|"]
    for name in FUZZERS:
        if not (parts := [one for one in counted if one.name == name]):
            continue
        outcomes = sum((one.outcomes for one in parts), Counter())
        failing, mended = sum(len(one.failures) for one in parts), sum(len(one.mended) for one in parts)
        cells = [
            _WHAT[name],
            f"{sum(one.n_trials for one in parts):,}",
            f"{failing + mended}",
            f"{failing}",
            ", ".join(f"{count:,} {what}" for what, count in outcomes.most_common()),
            f"{max(one.megabytes for one in parts):,.0f} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def page(text: str, counted: list[Counts]) -> str:
    """Return the page with these counts."""
    before, rest = text.split(_START)
    return before + _START + table(counted) + _END + rest.split(_END)[1]


def without_places(one: Counts) -> Counts:
    """Return counts whose failures are one sentence each: where files lay on a machine is nobody's business."""

    def sentence(failure: dict) -> dict:
        first = failure["failed"].splitlines()[0]
        return {
            **failure,
            "failed": re.sub(
                r"(?<![^\s\"'])/(?:[^\s\"'/]+/)*?(?=(src|research)/|[^\s\"'/]+[\s\"']|[^\s\"'/]+$)", "", first
            ),
        }

    return replace(one, failures=[*map(sentence, one.failures)], mended=[*map(sentence, one.mended)])


def main() -> None:
    """Take in the counts of files; those of the same fuzzer and seed are replaced."""
    known = {(one.name, one.seed): one for one in read_counts(DOCS / "reliability.json")}
    for name in sys.argv[1:]:
        known.update({(one.name, one.seed): one for one in read_counts(Path(name))})
    write_counts(DOCS / "reliability.json", [without_places(one) for one in known.values()])
    path = DOCS / "reliability.md"
    path.write_text(page(path.read_text(), list(known.values())))


if __name__ == "__main__":
    main()
