"""``python -m research.fuzz [NAME ...] --minutes 30``: all fuzzers or some, and what came of them."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from research.fuzz.campaign import FUZZERS, one_trial, run

# how the time is shared: files have the most ways to be wrong
_SHARES = {"files": 6, "calls": 3, "models": 3, "kills": 2, "bombs": 1, "pages": 1, "clusters": 2}


def main() -> int:
    """Run the campaign; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m research.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FUZZERS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=2.0, help="time of all together (default 2)")
    parser.add_argument("--most", type=int, help="at most so many trials of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="TRIAL", help="make one trial again, and show all of it")
    parser.add_argument("-o", "--output", type=Path, help="write the counts to this file, as JSON")
    arguments = parser.parse_args()
    names = arguments.names or list(FUZZERS)
    if arguments.only is not None:
        fuzzer = import_module(f"research.fuzz.{names[0]}")
        with tempfile.TemporaryDirectory() as folder:
            made = fuzzer.prepare(Path(folder))
            print(json.dumps(one_trial(fuzzer, made, arguments.seed, arguments.only), indent=1))
        return 0
    found = []
    for name in names:
        seconds = 60 * arguments.minutes * _SHARES[name] / sum(_SHARES[other] for other in names)
        counts = run(name, arguments.seed, seconds, arguments.most)
        found.append(counts)
        print(counts, flush=True)
        for failure in counts.failures[:20]:
            print(f"  trial {failure['trial']}: {failure['failed'].splitlines()[0]}", flush=True)
    if arguments.output is not None:
        arguments.output.write_text(json.dumps([counts.as_dict() for counts in found], indent=1))
    return int(any(counts.failures for counts in found))


if __name__ == "__main__":
    sys.exit(main())
