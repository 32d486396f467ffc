"""Write the small files of votes that the examples and the quick starts read: python examples/make_files.py.

All of them are simulated from the model of the paper, so the truth is known and stands in the file, for scoring only.
The names say what each file stands for; nobody's real tool was measured here.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import goldless as gl

FOLDER = Path(__file__).parent


def write_judges(folder: Path) -> None:
    """600 answers marked pass or fail by nine LLM judges; four of them are one model family."""
    judges = {
        **dict.fromkeys(("atlas-large", "atlas-large-rerun", "atlas-medium", "atlas-small"), 0),
        **dict.fromkeys(("boreal", "cedar", "delta", "ember", "fjord"), None),
    }
    reliability = [0.95, 0.94, 0.93, 0.90, 0.80, 0.77, 0.82, 0.74, 0.72]
    codes, truth = sample(600, 0.6, judges, reliability, source=0.70, seed=5)
    rng = np.random.default_rng(6)
    codes[rng.random(codes.shape) < 0.03] = -1  # answers that could not be parsed
    rows = ([f"answer-{i:03d}", *named(row, "fail", "pass")] for i, row in enumerate(codes, 1))
    write_csv(folder / "judges.csv", ["item", *judges, "truth"], with_truth(rows, truth, "fail", "pass"))


def write_variants(folder: Path) -> None:
    """Sites seen by at least one of nine variant callers, as `bcftools isec` writes them; three share an engine."""
    callers = {
        **dict.fromkeys(("assembler-1", "assembler-2", "assembler-3"), 0),
        **dict.fromkeys(("pileup-1", "pileup-2", "network", "haplotype", "joint", "strict"), None),
    }
    sensitivity = [0.95, 0.94, 0.92, 0.80, 0.85, 0.90, 0.78, 0.82, 0.60]
    specificity = [0.97, 0.96, 0.95, 0.93, 0.90, 0.95, 0.97, 0.94, 0.99]
    codes, truth = sample(6_000, 0.1, callers, sensitivity, specificity, source=0.88, seed=7)
    seen = codes.any(axis=1)  # a site that nobody called is not in the file
    codes, truth = codes[seen], truth[seen]
    rng = np.random.default_rng(8)
    positions = np.sort(rng.choice(100_000, len(codes), replace=False)) + 1
    bases = [rng.choice(list("ACGT"), 2, replace=False) for _ in codes]
    with (folder / "sites.txt").open("w") as file:
        for position, (ref, alt), row in zip(positions, bases, codes, strict=True):
            file.write("\t".join(["chr20", str(position), ref, alt, "".join(map(str, row))]) + "\n")
    keys = [f"chr20:{position}" for position in positions]
    write_csv(folder / "sites_truth.csv", ["site", "truth"], zip(keys, truth, strict=True))
    (folder / "callers.txt").write_text("\n".join(callers) + "\n")


def write_crowd(folder: Path) -> None:
    """500 pictures, each looked at by seven of 24 workers; three of the workers copy from each other."""
    workers = {f"w{i:02d}": 0 if i in (4, 11, 19) else None for i in range(1, 25)}
    rng = np.random.default_rng(9)
    rates = rng.uniform(0.6, 0.9, 24)
    reliability = [0.97 if group == 0 else rate for group, rate in zip(workers.values(), rates, strict=True)]
    codes, truth = sample(500, 0.4, workers, reliability, source=0.6, seed=10)
    rows = []
    for task, row in enumerate(codes):
        for worker in np.sort(rng.choice(24, 7, replace=False)):
            label, right = ("cat", "other")[1 - row[worker]], ("cat", "other")[1 - truth[task]]
            rows.append([f"picture-{task + 1:03d}", list(workers)[worker], label, right])
    write_csv(folder / "crowd.csv", ["task", "worker", "label", "truth"], rows)


def write_rules(folder: Path) -> None:
    """1,500 messages and ten labelling functions: 1 spam, 0 ham, -1 abstain, as Snorkel writes them."""
    rules = {
        **dict.fromkeys(("has_link", "has_shortener", "link_at_end"), 0),
        **dict.fromkeys(("says_subscribe", "says_free", "all_capitals", "has_phone", "short_reply"), None),
        **dict.fromkeys(("names_the_song", "thanks"), None),
    }
    reliability = [0.93, 0.90, 0.92, 0.85, 0.78, 0.72, 0.80, 0.83, 0.81, 0.76]
    codes, truth = sample(1_500, 0.45, rules, reliability, source=0.75, seed=11)
    rng = np.random.default_rng(12)
    codes[rng.random(codes.shape) < 0.4] = -1
    np.savez(folder / "rules.npz", L=codes, voters=np.array(list(rules)), truth=truth)


def sample(
    n_items: int,
    positive: float,
    voters: dict[str, int | None],
    sensitivity: list[float],
    specificity: list[float] | None = None,
    *,
    source: float,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw votes and truth; voters of group 0 look at a source that is right so often, the others at the truth."""
    groups, alone = [], 1
    for group in voters.values():
        groups.append(alone if group is None else group)
        alone += group is None
    order = list(dict.fromkeys(groups))
    rates = [source if group == 0 else 1.0 for group in order]
    numbered = [order.index(group) for group in groups]
    model = gl.LatentModel(numbered, positive, rates, rates, sensitivity, specificity or sensitivity)
    codes, truth, _ = model.sample(n_items, np.random.default_rng(seed))
    return codes, truth


def named(codes: np.ndarray, negative: str, positive: str) -> list[str]:
    return [("", negative, positive)[code + 1] for code in codes]


def with_truth(rows: object, truth: np.ndarray, negative: str, positive: str) -> object:
    for row, label in zip(rows, truth, strict=True):
        yield [*row, (negative, positive)[label]]


def write_csv(path: Path, header: list[str], rows: object) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main(folder: Path = FOLDER) -> None:
    """Write all files."""
    for write in (write_judges, write_variants, write_crowd, write_rules):
        write(folder)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
