"""Look through what goldless stands on, offline: imports are declared, bounded below, free, and fit together.

It knows no list of vulnerable versions, which is out of date the day it is written: it keeps the list of packages
short and known, so that such a list has little to be asked about.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there

ROOT = Path(__file__).parents[1]
FREE = re.compile(
    r"BSD|MIT|Apache|PSF|Python Software Foundation|ISC|MPL|0BSD|Unlicense|HPND|Zlib|CC0", re.IGNORECASE
)
ALSO = {
    "pandas",
    "polars",
    "typing-extensions",
}  # frames that users bring; names for types, imported by checkers only


def imported() -> dict[str, Path]:
    """Return the packages that the code imports, each with a file that does."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], path)
    return {name: path for name, path in found.items() if name not in sys.stdlib_module_names | {"goldless"}}


def needs(name: str) -> set[str]:
    """Return what a package needs itself; nothing of one that is not installed."""
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        return set()
    return {canonicalize_name(Requirement(line).name) for line in lines}


def licence(name: str) -> str:
    """Return what a package says of its licence."""
    said = distribution(name).metadata
    words = [said.get("License-Expression"), said.get("License"), *said.get_all("Classifier", [])]
    return " ".join(word for word in words if word and not word.startswith("Topic"))


def problems() -> list[str]:
    """Return what is wrong, a sentence each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = [
        *project["dependencies"],
        *(line for name in extras if name not in ("test", "docs", "dev") for line in extras[name]),
    ]
    every = [Requirement(line) for line in (*users, *(line for lines in extras.values() for line in lines))]
    found = [
        f"{requirement} has no lowest version, or is not from the package index"
        for requirement in every
        if requirement.name != "goldless" and (requirement.url or ">=" not in str(requirement.specifier))
    ]
    declared = {canonicalize_name(Requirement(line).name) for line in users}
    carried = declared | {name for package in declared for name in needs(package)}  # as jinja2 brings markupsafe
    of_module = packages_distributions()
    tests = {canonicalize_name(Requirement(line).name) for line in extras["test"]}
    for module, path in imported().items():
        names = {canonicalize_name(name) for name in of_module.get(module, [module])}
        if not names & (carried | tests | ALSO):
            found.append(f"{path.relative_to(ROOT)} imports {module}, which pyproject.toml does not declare")
    for name in sorted(declared - {"goldless"}):
        try:
            if not FREE.search(words := licence(name)):
                found.append(f"{name} has a licence that nobody looked at: {words[:80]!r}")
        except PackageNotFoundError:
            pass  # an extra that is not installed here
    return found


if __name__ == "__main__":
    wrong = problems()
    fitting = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    if fitting.returncode and "No module named pip" not in fitting.stderr:
        wrong += fitting.stdout.splitlines()
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    sys.exit(bool(wrong))
