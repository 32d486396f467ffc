"""Import time, the first call, the first commands, and what it costs to compile, in fresh processes.

Targets: `import goldless` adds under 0.1 s to importing its dependencies. Of CPU, user and system: `goldless demo`
with an empty cache of kernels 8 s, `goldless inspect` of 600 items x 12 voters 4 s, with a warm cache 1.5 s, a wrong
file name 0.3 s. Measure in an environment that holds what `pip install .` brings, and nothing else.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

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
COLD = """
import json, time
from numba.core import event
spent, stack = {}, []

class Listener(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        stack.append([f"{function.__module__}.{function.__name__}", time.process_time(), 0.0])

    def on_end(self, event):
        name, start, of_others = stack.pop()
        taken = time.process_time() - start
        spent[name] = spent.get(name, 0.0) + taken - of_others
        if stack:
            stack[-1][2] += taken

event.register("numba:compile", Listener())
import goldless as gl
X, y = gl.simulate_votes(600, groups=[3] + [1] * 9, random_state=0)
start = time.process_time()
gl.LatentSML().fit(X).predict(X)
print(json.dumps({"fit and predict": time.process_time() - start, **spent}))
"""


def run(code: str, **variables: str) -> str:
    """Run code in a fresh process and return what it prints."""
    environment = {**os.environ, **variables}
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout


def cpu_seconds(folder: str, *words: str) -> float:
    """Return the CPU seconds, user and system, of a command that is run in a folder, its cache of kernels there."""
    command = [sys.executable, "-c", "import sys; from goldless.cli import main; sys.exit(main())", *words]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": f"{folder}/cache"}
    subprocess.run(command, capture_output=True, cwd=folder, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_commands() -> list[tuple[str, str]]:
    """Return what the first commands cost, each cold one with an empty cache of kernels."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        run(f"""
import goldless as gl, numpy as np
X, _ = gl.simulate_votes(600, groups=[3] + [1] * 9, random_state=0)
names = ",".join(f"voter {{i}}" for i in range(12))
np.savetxt({str(Path(one) / "votes.csv")!r}, X, fmt="%d", delimiter=",", header=names, comments="")
""")
        spent = {
            "goldless demo, cold": cpu_seconds(other, "demo", "--no-open"),
            "goldless inspect, cold": cpu_seconds(one, "inspect", "votes.csv"),
            "the same, warm (best of three)": min(cpu_seconds(one, "inspect", "votes.csv") for _ in range(3)),
            "a wrong file name": cpu_seconds(one, "inspect", "nothing.csv"),
        }
    return [(name, f"{seconds:.2f}") for name, seconds in spent.items()]


def main() -> None:
    print_table("First commands, 600 items x 12 voters", ("", "CPU s"), first_commands())
    rows = []
    for name, code in AFTER.items():
        rows.append((name, f"{min(float(run(DEPENDENCIES + code)) for _ in range(5)):.3f}"))
    print_table("Start-up, best of five fresh processes", ("", "s"), rows)
    with tempfile.TemporaryDirectory() as folder:
        cold = json.loads(run(COLD, NUMBA_CACHE_DIR=folder))
        warm = json.loads(run(COLD, NUMBA_CACHE_DIR=folder))
    total = cold.pop("fit and predict")
    rows = [(name, f"{seconds:.2f}") for name, seconds in sorted(cold.items(), key=lambda pair: -pair[1])]
    rows = [("fit and predict, cold", f"{total:.2f}"), ("the same, warm", f"{warm['fit and predict']:.2f}"), *rows]
    print_table("Compiling for 600 items x 12 voters, one fresh process", ("", "CPU s"), rows)


if __name__ == "__main__":
    main()
