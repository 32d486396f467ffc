"""Check a built site: it loads nothing from another host, and every picture and page it names is there.

python docs/check_site.py SITE
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "source": "srcset", "iframe": "src", "link": "href"}
_CSS_URL = re.compile(r"(?:url\(|@import )[\"']?(https?:)?//")


class Page(HTMLParser):
    """Addresses that a page loads, and those it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect addresses."""
        values = dict(attrs)
        if tag in _LOADED and values.get("rel") != "canonical":
            self.loaded += [address for address in [values.get(_LOADED[tag])] if address]
        if tag == "a" and values.get("href"):
            self.linked.append(values["href"] or "")


def faults(site: Path) -> list[str]:
    """Return what is wrong with the site, a line each."""
    found = []
    for file in sorted(site.rglob("*.html")):
        page = Page()
        page.feed(file.read_text())
        name = file.relative_to(site)
        for address in page.loaded + page.linked:
            parts = urlsplit(address)
            if parts.scheme == "data":  # it stands in the page itself
                continue
            if parts.scheme or parts.netloc:
                if address in page.loaded:
                    found.append(f"{name} loads {address}")
                continue
            if file.name != "404.html" and parts.path and not (file.parent / unquote(parts.path)).exists():
                found.append(f"{name} names {address}, which is not there")
    styles = [file for file in sorted(site.rglob("*.css")) if _CSS_URL.search(file.read_text())]
    return found + [f"{file.relative_to(site)} loads from another host" for file in styles]


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1]))
    sys.stdout.write("".join(line + "\n" for line in wrong))
    sys.exit(bool(wrong))
