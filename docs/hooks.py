"""What the site does besides mkdocs.yml: a place for pages nobody listed, Sphinx roles as plain code, the gallery."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

_ROLE = re.compile(r":(?:func|class|meth|mod|attr):<code>~?([^<]+)</code>")


def on_config(config: Any) -> Any:
    """List generated results under Results, and any other page that the navigation forgot under Guides."""
    docs = Path(config.docs_dir)
    listed = set(_pages(config.nav))
    results, others = [], []
    for file in sorted(docs.rglob("*.md"), key=lambda file: (file.stem != "index", file)):
        name = file.relative_to(docs).as_posix()
        if name not in listed:
            (results if name.startswith("results/") else others).append({_title(file): name})
    for section in config.nav:
        if "Guides" in section:
            section["Guides"].extend(others)
    if results:
        config.nav.insert(-1, {"Results": results})
    return config


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name functions as Sphinx does; show the name."""
    return _ROLE.sub(r"<code>\1</code>", html)


def on_post_build(config: Any) -> None:
    """Make the reports of the gallery."""
    sys.path.insert(0, config.docs_dir)
    import gallery

    gallery.build(Path(config.site_dir) / "gallery", os.environ.get("GOLDLESS_DATA"))


def _pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    entries = nav.values() if isinstance(nav, dict) else nav
    return [page for entry in entries for page in _pages(entry)]


def _title(file: Path) -> str:
    heading = re.search(r"^# (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return heading[1] if heading else file.stem
