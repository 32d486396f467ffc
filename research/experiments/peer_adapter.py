"""Runs another package on a panel of votes, inside that package's own environment.

A stand-alone script: it needs numpy and the package, not goldless. It reads one JSON job a line on standard input,
``{"package", "methods", "votes", "labels", "n_classes", "timeout"}``: ``votes`` is an npz with ``codes`` (items by
voters, -1 missing, 0 to C - 1), ``labels`` the npz to write: one array of labels a method and, where it has them, of
``"<method> probabilities"``. It answers one JSON line a job: for each method what it took, or the reason why there is
no label. It ends with its input.
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
Found = tuple[NDArray, NDArray | None]  # labels and, where there are any, probabilities
Labeller = Callable[[Codes, int], Found]


def _crowd_kit(name: str) -> Labeller:
    import pandas as pd
    from crowdkit import aggregation

    def label(codes: Codes, n_classes: int) -> Found:
        items, voters = np.nonzero(codes >= 0)
        table = pd.DataFrame({"task": items, "worker": voters, "label": codes[items, voters].astype(int)})
        model = getattr(aggregation, name)()
        found = model.fit_predict(table)
        shares = getattr(model, "probas_", None)
        if shares is not None:
            shares = shares.reindex(columns=range(n_classes), fill_value=0.0).loc[found.index].fillna(0.0).to_numpy()
        return _spread(len(codes), found.index.to_numpy(), found.to_numpy().astype(int), shares)

    return label


def _spread(n_items: int, known: NDArray, labels: NDArray, shares: NDArray | None) -> Found:
    """Labels of all items: one without votes gets the commonest label, and the mean of the probabilities."""
    everywhere = np.full(n_items, np.bincount(labels).argmax())
    everywhere[known] = labels
    if shares is None:
        return everywhere, None
    probabilities = np.tile(shares.mean(axis=0), (n_items, 1))
    probabilities[known] = shares
    return everywhere, probabilities


def _certain(probabilities: NDArray) -> Found:
    if np.isnan(probabilities).any():
        raise ValueError("its probabilities are NaN")
    return probabilities.argmax(axis=1), probabilities


def _snorkel(name: str) -> Labeller:
    import torch
    from snorkel.labeling.model import LabelModel

    torch.set_num_threads(1)

    def label(codes: Codes, n_classes: int) -> Found:
        model = LabelModel(cardinality=n_classes, verbose=False)
        votes = codes.astype(int)
        model.fit(votes, n_epochs=500, seed=0, progress_bar=False)
        return _certain(model.predict_proba(votes))

    return label


def _cleanlab(name: str) -> Labeller:
    from cleanlab.multiannotator import get_label_quality_multiannotator

    def label(codes: Codes, n_classes: int) -> Found:
        votes = np.where(codes >= 0, codes, np.nan).astype(float)
        known = (codes >= 0).any(axis=1)
        votes = votes[known][:, (codes[known] >= 0).any(axis=0)]
        # it asks for a classifier's probabilities; there are no features, so it gets the shares of the votes
        counts = np.stack([(codes[known] == code).sum(axis=1) for code in range(n_classes)], axis=1)
        found = get_label_quality_multiannotator(
            votes,
            (counts + 1) / (counts.sum(axis=1, keepdims=True) + n_classes),
            return_detailed_quality=False,
            return_annotator_stats=False,
            verbose=False,
        )["label_quality"]
        labels, quality = found["consensus_label"].to_numpy(), found["consensus_quality_score"].to_numpy()
        # it gives the probability of its label alone: the others share the rest
        shares = np.tile(((1 - quality) / (n_classes - 1))[:, None], (1, n_classes))
        shares[np.arange(len(labels)), labels] = quality
        return _spread(len(codes), np.nonzero(known)[0], labels, shares)

    return label


def _flyingsquid(name: str) -> Labeller:
    import logging

    logging.disable(logging.WARNING)
    from flyingsquid.label_model import LabelModel

    def label(codes: Codes, n_classes: int) -> Found:
        if n_classes > 2:
            raise ValueError("it is for two classes")
        votes = np.where(codes < 0, 0, 2 * codes.astype(int) - 1)
        model = LabelModel(votes.shape[1])
        model.fit(votes, class_balance=np.array([0.5, 0.5]))  # its default
        return _certain(model.predict_proba(votes, verbose=False))

    return label


def _skweak(name: str) -> Labeller:
    import pandas as pd
    from skweak.generative import NaiveBayes

    def label(codes: Codes, n_classes: int) -> Found:
        known = np.nonzero((codes >= 0).any(axis=1))[0]
        names = [f"voter{number:06d}" for number in range(codes.shape[1])]
        table = pd.DataFrame(codes[known].astype(int), columns=names)  # all items as the spans of one document
        model = NaiveBayes("all", [str(code) for code in range(n_classes)])
        model._fit([table])
        labels, shares = _certain(model.aggregate(table).to_numpy())
        return _spread(len(codes), known, labels, shares)

    return label


def _check(name: str) -> Labeller:
    """Majority vote without any package, to check the adapter itself; "spin" and "fail" do what they say."""

    def label(codes: Codes, n_classes: int) -> Found:
        while name == "spin":
            pass
        if name == "fail":
            raise RuntimeError("failed\nas asked")
        counts = np.stack([(codes == code).sum(axis=1) for code in range(n_classes)], axis=1) + 1.0
        return counts.argmax(axis=1), counts / counts.sum(axis=1, keepdims=True)

    return label


PACKAGES: dict[str, Callable[[str], Labeller]] = {
    "crowd-kit": _crowd_kit,
    "snorkel": _snorkel,
    "cleanlab": _cleanlab,
    "flyingsquid": _flyingsquid,
    "skweak": _skweak,
    "check": _check,
}


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
    arrays: dict[str, NDArray] = {}
    for name in job["methods"]:
        try:
            label = PACKAGES[job["package"]](name)
            if hasattr(signal, "setitimer"):
                signal.signal(signal.SIGPROF, _out_of_time)  # CPU time: a busy machine is not the method's fault
                signal.setitimer(signal.ITIMER_PROF, job["timeout"])
            try:
                found, measures = measured(label, codes, job["n_classes"])
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
            arrays |= {
                key: array
                for key, array in zip((name, f"{name} probabilities"), found, strict=True)
                if array is not None
            }
    np.savez(job["labels"], **arrays)  # type: ignore[arg-type]
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
