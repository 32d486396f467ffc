"""Write the tables of docs/report-schema.md from the classes of the summary: python docs/schema_page.py."""

import types
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from goldless.report.schema import PLAIN, descriptions_of, parts_of
from goldless.report.summary import Summary

PAGE = Path(__file__).parent / "report-schema.md"


def schema_page() -> str:
    """Return the tables of the documentation: one for each class of the summary."""
    lines = []
    for kind in parts_of(Summary):
        hints, about = get_type_hints(kind), descriptions_of(kind)
        title = "The summary" if kind is Summary else kind.__name__
        lines += [f"### {title}", "", (kind.__doc__ or "").split("\n")[0], ""]
        lines += ["| key | type | what |", "|---|---|---|"]
        lines += [f"| `{entry.name}` | {_named(hints[entry.name])} | {about[entry.name]} |" for entry in fields(kind)]
        lines.append("")
    return "\n".join(lines)


def _named(hint: Any) -> str:
    """Return a type in words."""
    if is_dataclass(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"  # type: ignore[union-attr]
    if hint in PLAIN:
        return PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_named(one) for one in inner)
    if origin is list:
        return f"list of {_named(inner[0])}"
    if origin is tuple:
        return f"pair of {' and '.join(dict.fromkeys(_named(one) for one in inner))}"
    return f"object of {_named(inner[1])}"


def main() -> None:
    """Put the tables between their marks."""
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition("<!-- schema -->\n")
    _, end, after = rest.partition("<!-- end -->")
    PAGE.write_text(before + mark + schema_page() + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
