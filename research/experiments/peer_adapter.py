"""Runs another package on a panel of votes, inside that package's own environment.

A stand-alone script: it needs numpy and the package, not goldless. It reads one JSON job a line on standard input,
``{"package", "methods", "votes", "labels", "timeout"}``: ``votes`` is an npz with ``codes`` (items by voters, -1
missing, 0 and 1), ``labels`` the npz to write (int8, one array a method). It answers one JSON line a job: for each
method what it took, or the reason why there is no label. It ends with its input.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int8]


def _crowd_kit(name: str) -> Callable[[Codes], NDArray]:
    import pandas as pd
    from crowdkit import aggregation

    def label(codes: Codes) -> NDArray:
        items, voters = np.nonzero(codes >= 0)
        table = pd.DataFrame({"task": items, "worker": voters, "label": codes[items, voters].astype(int)})
        found = getattr(aggregation, name)().fit_predict(table)
        labels = np.full(len(codes), int(found.mean() >= 0.5))  # an item without votes gets the commoner label
        labels[found.index.to_numpy()] = found.to_numpy()
        return labels

    return label


def _snorkel(name: str) -> Callable[[Codes], NDArray]:
    import torch
    from snorkel.labeling.model import LabelModel

    torch.set_num_threads(1)

    def label(codes: Codes) -> NDArray:
        model = LabelModel(cardinality=2, verbose=False)
        votes = codes.astype(int)
        model.fit(votes, n_epochs=500, seed=0, progress_bar=False)
        probability = model.predict_proba(votes)[:, 1]
        if np.isnan(probability).any():
            raise ValueError("its probabilities are NaN")
        return (probability > 0.5).astype(int)

    return label


def _cleanlab(name: str) -> Callable[[Codes], NDArray]:
    from cleanlab.multiannotator import get_label_quality_multiannotator

    def label(codes: Codes) -> NDArray:
        votes = np.where(codes >= 0, codes, np.nan).astype(float)
        known = (codes >= 0).any(axis=1)
        votes = votes[known][:, (codes[known] >= 0).any(axis=0)]
        # it asks for a classifier's probabilities; there are no features, so it gets the shares of the votes
        positive = ((codes[known] == 1).sum(axis=1) + 1) / ((codes[known] >= 0).sum(axis=1) + 2)
        found = get_label_quality_multiannotator(
            votes,
            np.column_stack([1 - positive, positive]),
            return_detailed_quality=False,
            return_annotator_stats=False,
            verbose=False,
        )["label_quality"]["consensus_label"].to_numpy()
        labels = np.full(len(codes), int(found.mean() >= 0.5))
        labels[known] = found
        return labels

    return label


def _check(name: str) -> Callable[[Codes], NDArray]:
    """Majority vote without any package, to check the adapter itself; "spin" and "fail" do what they say."""

    def label(codes: Codes) -> NDArray:
        while name == "spin":
            pass
        if name == "fail":
            raise RuntimeError("failed\nas asked")
        return ((codes == 1).sum(axis=1) > (codes == 0).sum(axis=1)).astype(int)

    return label


PACKAGES = {"crowd-kit": _crowd_kit, "snorkel": _snorkel, "cleanlab": _cleanlab, "check": _check}


def _measured() -> Any:
    """Load the neighbour ``measure.py`` without putting this folder on the path: its names would hide others."""
    spec = importlib.util.spec_from_file_location("goldless_measure", Path(__file__).with_name("measure.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.measured


def _out_of_time(*_: Any) -> None:
    raise TimeoutError


def do(job: dict[str, Any], measured: Any) -> dict[str, Any]:
    """Run the methods of one job."""
    with np.load(job["votes"], allow_pickle=False) as file:
        codes = file["codes"]
    answer: dict[str, Any] = {}
    labels: dict[str, NDArray] = {}
    for name in job["methods"]:
        try:
            label = PACKAGES[job["package"]](name)
            if hasattr(signal, "setitimer"):
                signal.signal(signal.SIGPROF, _out_of_time)  # CPU time: a busy machine is not the method's fault
                signal.setitimer(signal.ITIMER_PROF, job["timeout"])
            try:
                found, measures = measured(label, codes)
            finally:
                if hasattr(signal, "setitimer"):
                    signal.setitimer(signal.ITIMER_PROF, 0)
        except TimeoutError:
            answer[name] = {"skipped": f"not done after {job['timeout']:g} s of CPU time"}
        except Exception as error:
            text = " ".join(str(error).split())[:160]
            answer[name] = {"skipped": f"{type(error).__name__}: {text}"}
        else:
            answer[name] = measures
            labels[name] = np.asarray(found).astype(np.int8)
    np.savez(job["labels"], **labels)  # type: ignore[arg-type]
    return answer


def _leave_with(parent: int) -> None:
    """End when the process that asked is gone, also in the middle of a job."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    """Answer jobs until the input ends; what packages print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if str(Path(__file__).parent) in sys.path:
        sys.path.remove(str(Path(__file__).parent))
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    measured = _measured()
    for line in sys.stdin:
        answers.write(json.dumps(do(json.loads(line), measured)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
