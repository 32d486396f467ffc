"""``python -m goldless.cli``."""

import sys

from goldless.cli import main

if __name__ == "__main__":
    sys.exit(main())
