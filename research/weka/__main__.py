"""``python -m research.weka --jar weka.jar magic 500``: train the ensembles of a table with Weka, and record them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from research.weka.ensembles import DRAWS, SIZES, TABLES, VERSION, record


def main(argv: Sequence[str] | None = None) -> int:
    """Train, record, and return the exit code; what is recorded already is not trained again."""
    parser = argparse.ArgumentParser(prog="python -m research.weka", description=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("size", type=int, choices=SIZES, help="items that each voter is trained on")
    parser.add_argument("--jar", type=Path, required=True, help=f"weka.jar of version {VERSION}")
    parser.add_argument("--draws", type=int, default=DRAWS)
    arguments = parser.parse_args(argv)
    try:
        print(record(arguments.table, arguments.size, arguments.jar, arguments.draws))
    except ValueError as error:
        sys.stderr.write(f"research.weka: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
