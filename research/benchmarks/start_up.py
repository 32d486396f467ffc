"""Import time and the first call with a warm kernel cache, in fresh processes.

Targets: `import goldless` adds under 0.2 s to importing its dependencies; the first call takes under 1 s.
"""

from __future__ import annotations

import subprocess
import sys

from research.benchmarks.timing import print_table

DEPENDENCIES = """
import time; start = time.perf_counter()
import numpy, scipy.cluster.hierarchy, scipy.linalg, scipy.optimize, scipy.sparse.csgraph, scipy.special
import scipy.spatial.distance, sklearn.base, numba
import sklearn.utils.validation
"""
AFTER = {
    "dependencies": "print(time.perf_counter() - start)",
    "goldless on top": "start = time.perf_counter(); import goldless; print(time.perf_counter() - start)",
    "first fit and predict": """
import goldless as gl
X, y = gl.simulate_votes(1000, groups=[5] + [1] * 10)
start = time.perf_counter(); gl.LatentSML().fit(X).predict(X); print(time.perf_counter() - start)
""",
}


def main() -> None:
    rows = []
    for name, code in AFTER.items():
        runs = [
            float(
                subprocess.run(
                    [sys.executable, "-c", DEPENDENCIES + code], capture_output=True, check=True, text=True
                ).stdout
            )
            for _ in range(5)
        ]
        rows.append((name, f"{min(runs):.3f}"))
    print_table("Start-up, best of five fresh processes", ("", "s"), rows)


if __name__ == "__main__":
    main()
