"""Write what the last campaigns counted (docs/reliability.json) into docs/reliability.md."""

from __future__ import annotations

import json
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_START, _END = "<!-- counts -->\n", "<!-- end -->\n"
_WHAT = {
    "files": "damaged files through every reader",
    "calls": "odd calls of estimators",
    "models": "forged models",
    "kills": "killed processes that write",
    "bombs": "bombs and forged counts",
    "pages": "hostile names: page, terminal, CSV, notebook",
    "clusters": "killed Dask workers and schedulers",
}


def table(counted: list[dict]) -> str:
    """Return the counts as a table."""
    lines = ["| what | trials | failed | ended in | most memory |", "|---|---|---|---|---|"]
    for one in counted:
        ends = ", ".join(f"{count:,} {what}" for what, count in sorted(one["outcomes"].items(), key=lambda e: -e[1]))
        cells = [
            _WHAT[one["name"]],
            f"{one['trials']:,}",
            str(len(one["failures"])),
            ends,
            f"{one['megabytes']:,} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def page(text: str, counted: list[dict]) -> str:
    """Return the page with these counts."""
    before, rest = text.split(_START)
    return before + _START + table(counted) + _END + rest.split(_END)[1]


if __name__ == "__main__":
    path = DOCS / "reliability.md"
    path.write_text(page(path.read_text(), json.loads((DOCS / "reliability.json").read_text())))
