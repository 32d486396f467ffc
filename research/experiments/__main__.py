"""``python -m research.experiments``."""

import sys

from research.experiments.command import main

if __name__ == "__main__":
    sys.exit(main())
