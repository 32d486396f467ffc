"""Run the tutorial, and make a page of it: python docs/notebook.py [--write].

Without ``--write`` it says whether ``tutorial.ipynb`` and ``tutorial.md`` show what the cells give today. Cells are
run as Jupyter runs them, in one namespace, in a folder with the files of ``examples/``; the value of the last line of
a cell is shown. A notebook is JSON, so nothing but Python is needed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from run_pages import DOCS, in_a_folder, plain

NOTEBOOK = DOCS / "tutorial.ipynb"
PAGE = DOCS / "tutorial.md"
_FROM = "<!-- made from tutorial.ipynb by docs/notebook.py -->"


def executed(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Run the cells of code in order; yield each with its outputs, as a notebook stores them."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with in_a_folder():
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] == "code":
                yield cell, _outputs("".join(cell["source"]), namespace, f"cell {number}")


def _outputs(source: str, namespace: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Run a cell and return what it prints, warnings included, and what its last expression is worth."""
    tree, last, printed = ast.parse(source), None, io.StringIO()
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *_, **__: printed.write(f"{category.__name__}: {message}\n")
        exec(compile(tree, name, "exec"), namespace)
        value = None if last is None else eval(compile(last, name, "eval"), namespace)
    found = []
    if printed.getvalue():
        text = plain(printed.getvalue()).splitlines(keepends=True)
        found.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": plain(repr(value)).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = [line + "\n" for line in value._repr_html_().splitlines() if line.strip()]
        found.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return found


def words(outputs: list[dict[str, Any]]) -> str:
    """Return the text of outputs, without pictures."""
    return "".join("".join(output.get("text") or output["data"]["text/plain"]) for output in outputs)


def page(notebook: dict[str, Any]) -> str:
    """Return the notebook, as it is stored, as a page of the site."""
    parts = [_FROM]
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            pictures = output.get("data", {}).get("text/html")
            text = "".join(pictures) if pictures else f'```text title="Output"\n{words([output])}```'
            parts.append(f'<div class="cell">\n{text}</div>' if pictures else text)
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> int:
    """Compare, or write; return 1 if something is out of date."""
    stored = NOTEBOOK.read_text(encoding="utf-8")
    notebook = json.loads(stored)
    for cell, outputs in executed(notebook):
        cell["outputs"] = outputs
    made = {NOTEBOOK: json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", PAGE: page(notebook)}
    stale = [file for file, text in made.items() if not file.exists() or file.read_text(encoding="utf-8") != text]
    for file in stale:
        if "--write" in arguments:
            file.write_text(made[file], encoding="utf-8")
        sys.stdout.write(f"{file.name}: {'written' if '--write' in arguments else 'out of date'}\n")
    return int(bool(stale) and "--write" not in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
