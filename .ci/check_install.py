"""Check what `pip install .` alone gives: no experiments, and all of goldless can be imported without any extra."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from importlib.metadata import files
from importlib.util import find_spec

import goldless

installed = {file.parts[0] for file in files("goldless") or ()}
others = sorted(name for name in installed if name not in ("goldless", "..") and not name.endswith(".dist-info"))
if others or find_spec("goldless.experiments") is not None:
    sys.exit(f"pip install . brings more than goldless: {others or 'experiments'}")
for module in pkgutil.walk_packages(goldless.__path__, "goldless."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
