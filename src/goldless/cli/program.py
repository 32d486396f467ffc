"""How to call this program again: in a line that can be pasted where it was called."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

_NAME = "goldless"


def program() -> str:
    """Return ``goldless``, or the path it was called by where the shell would not find that name."""
    called = sys.argv[0]
    if Path(called).stem != _NAME or not os.path.exists(called):
        return _NAME
    found = shutil.which(_NAME)
    return _NAME if found is not None and os.path.samefile(found, called) else shlex.quote(called)
