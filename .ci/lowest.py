"""Print the lowest versions that pyproject.toml declares, as constraints for pip: lowest.py 3.10.

Taken are the core dependencies and the extras that users install; those of tests, pages and linters stay free.
"""

from __future__ import annotations

import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there

FREE = ("test", "docs", "dev")


def lowest(project: dict, python: str) -> dict[str, Version]:
    """Return the highest of the lower bounds that hold on a version of Python, by the name of the package."""
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name in extras if name not in FREE for line in extras[name])]
    found: dict[str, Version] = {}
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        holds = requirement.marker is None or requirement.marker.evaluate({"python_version": python})
        if name == project["name"] or not holds:
            continue
        bounds = [Version(bound.version) for bound in requirement.specifier if bound.operator == ">="]
        if not bounds:
            raise SystemExit(f"pyproject.toml names no lowest version in {str(requirement)!r}")
        found[name] = max([*bounds, found.get(name, bounds[0])])
    return found


if __name__ == "__main__":
    declared = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    for package, version in lowest(declared["project"], sys.argv[1]).items():
        sys.stdout.write(f"{package}=={version}\n")
