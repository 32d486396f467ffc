"""Make the reports of the gallery: python docs/gallery.py FOLDER; the site does so when it is built.

With ``GOLDLESS_DATA`` they show real votes, else simulated ones, and say so. They are not part of the repository.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import goldless as gl


class Shown(NamedTuple):
    """A report: its title, votes with names of voters, and truth."""

    title: str
    votes: Any
    truth: Any


REAL = {
    "judges": ("panels/judge_llmbar_all", "65 LLM judges on LLMBar (Zeng et al. 2023)"),
    "classes": ("panels/crowd_snow_wsd", "three word senses, by a crowd (Snow et al. 2008)"),
    "scores": ("scores/metric_frank_cnndm", "15 metrics of factual summaries (FRANK, Pagnoni et al. 2021)"),
    "crowd": ("panels/crowd_rte", "164 workers on textual entailment (Snow et al. 2008)"),
}


def shown(name: str, data: str | None) -> Shown:
    """Return the votes of a report: real ones if there is a folder of them."""
    import pandas as pd

    if not data:
        return _simulated(name)
    path, title = REAL[name]
    with np.load(Path(data) / f"{path}.npz") as file:
        is_score = path.startswith("scores")
        votes, truth = file["scores" if is_score else "votes"], file["truth"]
        voters = (
            file["voters"].tolist() if "voters" in file.files else [f"voter {i + 1}" for i in range(votes.shape[1])]
        )
    if is_score:
        return Shown(title, pd.DataFrame(votes, columns=voters), (truth > 0).astype(int))
    words = np.array(["no", "", "yes"] if truth.min() < 0 else ["", "first", "second", "third"])
    labels = pd.DataFrame(words[votes + 1], columns=voters).replace("", None)
    return Shown(title, labels, words[truth + 1])


def _simulated(name: str) -> Shown:
    import pandas as pd

    n_classes, missing = 3 if name == "classes" else 2, 0.7 if name == "crowd" else 0.0
    X, y = gl.simulate_votes(600, [4] + [1] * 11, n_classes=n_classes, missing_rate=missing, random_state=0)
    if name == "scores":
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(600, 12)) + 1.2 * (y > 0)[:, None], (y > 0).astype(int)
    frame = pd.DataFrame(X, columns=[f"voter {i + 1}" for i in range(X.shape[1])])
    return Shown(f"{name}, simulated", frame.replace(0, None) if missing else frame, y)


def build(folder: Path, data: str | None = None) -> list[Path]:
    """Write the reports into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in REAL:
            found = shown(name, data)
            model = gl.LatentSML(kind="scores" if name == "scores" else "labels").fit(found.votes)
            page = gl.report(found.votes, model=model, truth=found.truth, title=found.title, resamples=20)
            made.append(page.save(folder / f"{name}.html"))
    return made


if __name__ == "__main__":
    build(Path(sys.argv[1]), os.environ.get("GOLDLESS_DATA"))
