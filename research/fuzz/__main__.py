"""``python -m research.fuzz [NAME ...] --minutes 30``: all fuzzers or some, and what came of them."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from research.fuzz.campaign import FUZZERS, Counts, make_again, one_trial, read_counts, run, write_counts

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
    parser.add_argument("--keep", type=Path, metavar="FILE", help="go on from the counts in this file, and keep them")
    parser.add_argument("--again", action="store_true", help="make the failed trials in --keep again, and no others")
    arguments = parser.parse_args()
    names = arguments.names or list(FUZZERS)
    if arguments.only is not None:
        return _show(names[0], arguments.seed, arguments.only)
    kept = [] if arguments.keep is None else read_counts(arguments.keep)
    if not arguments.again:
        for name in names:
            if not any((one.name, one.seed) == (name, arguments.seed) for one in kept):
                kept.append(Counts(name, arguments.seed))
    chosen = [one for one in kept if one.name in names and (arguments.again or one.seed == arguments.seed)]

    def keep(_: Counts) -> None:
        if arguments.keep is not None:
            write_counts(arguments.keep, kept)

    for counts in chosen:
        if arguments.again:
            keep(make_again(counts))
        else:
            share = _SHARES[counts.name] / sum(_SHARES[name] for name in names)
            run(counts, 60 * arguments.minutes * share, arguments.most, keep)
        print(counts, flush=True)
        for failure in counts.failures[:20]:
            print(f"  trial {failure['trial']}: {failure['failed'].splitlines()[0]}", flush=True)
    return int(any(counts.failures for counts in chosen))


def _show(name: str, seed: int, number: int) -> int:
    """Make one trial again, in this process."""
    fuzzer = import_module(f"research.fuzz.{name}")
    with tempfile.TemporaryDirectory() as made_in:
        made = fuzzer.prepare(Path(made_in))
        print(json.dumps(one_trial(fuzzer, made, seed, number), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
