"""Our methods on a panel, and the plain ways that need no package: labels, probabilities, and what they took."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from research.benchmarks.scores import natural_cut
from research.experiments.measure import measured
from research.experiments.panel import Panel
from research.experiments.runner import one_thread
from research.experiments.scoring import scored

MAKERS: dict[str, Callable[[], Any]] = {
    "vote": lambda: gl.MajorityVote(),
    "mean_rank": lambda: gl.MajorityVote(kind="scores"),
    "textbook": lambda: gl.DawidSkene(prior=(0, 0), balance_prior=0, decision="map"),
    "dawid_skene": lambda: gl.DawidSkene(),
    "sml_em": lambda: gl.SpectralMetaLearner(),
    "summa": lambda: gl.SpectralMetaLearner(),
    "paper": lambda: gl.LatentSML(structure="paper"),
    "independent": lambda: gl.LatentSML(structure="independent"),
    "search": lambda: gl.LatentSML(),
    "cut_vote": lambda: gl.MajorityVote(),
    "cut_search": lambda: gl.LatentSML(),
}
PLAIN: dict[str, Callable[..., NDArray]] = {"mean": np.nanmean, "median": np.nanmedian}  # of numbers
_BY_CLASS = ("cut_vote", "cut_search")  # of numbers, but given their cut votes


def run_ours(panel: Panel, methods: Sequence[str]) -> dict[str, Any]:
    """Return for each method its scores and what it took, or why it was skipped."""
    results: dict[str, Any] = {}
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")
        _warm_up(panel.kind, panel.n_classes > 2)
        for name in methods:
            try:
                results[name] = _plain(panel, name) if name in PLAIN else _fitted(panel, name)
            except ValueError as error:
                results[name] = {"skipped": " ".join(str(error).split())[:160]}
    return results


@lru_cache(maxsize=3)
def _warm_up(kind: str, many: bool) -> None:
    """Compile, or load what was compiled, before anything is timed."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3 if many else 2, (300, 1))
    votes = np.where(rng.random((300, 9)) < 0.7, truth, rng.integers(0, truth.max() + 1, (300, 9)))
    votes[:, 1] = np.where(rng.random(300) < 0.9, votes[:, 0], votes[:, 1])
    gaps = np.where(rng.random(votes.shape) < 0.2, -1, votes)
    tables = [votes, gaps] if kind == "classes" else [votes + rng.normal(size=votes.shape)]
    for make in MAKERS.values():
        for table in tables:
            with suppress(ValueError):  # a method that is not for these
                make().set_params(missing=-1 if table is gaps else None).fit(table).predict_proba(table)


def _fitted(panel: Panel, name: str) -> dict[str, Any]:
    votes = panel.codes if name in _BY_CLASS else panel.votes
    labelled = votes.dtype.kind == "i"
    missing = -1 if labelled and (votes < 0).any() else None

    def label() -> tuple[Any, NDArray, NDArray]:
        model = MAKERS[name]().set_params(missing=missing).fit(votes)
        return model, model.predict(votes), model.predict_proba(votes)

    (model, labels, given), measures = measured(label)
    if labelled:
        probabilities = np.zeros((len(labels), panel.n_classes))
        probabilities[:, np.asarray(model.classes_).astype(int)] = given
    else:  # of numbers two classes, whatever they are called
        labels, probabilities = labels == model.classes_[1], given
    order = np.asarray(model.decision_function(votes), dtype=float) if panel.n_classes == 2 else None
    result = {**scored(panel.truth, np.asarray(labels).astype(int), probabilities, order), **measures}
    return result | ({"ambiguous": model.ambiguous_, "n_groups": model.n_groups_} if name == "search" else {})


def _plain(panel: Panel, name: str) -> dict[str, Any]:
    def label() -> tuple[NDArray, NDArray]:
        middle = PLAIN[name](panel.votes, axis=1)
        middle = np.where(np.isnan(middle), np.nanmedian(middle), middle)
        return middle, natural_cut(middle[:, None], panel.kind)[:, 0]

    (middle, labels), measures = measured(label)
    probabilities = np.stack([1 - middle, middle], axis=1) if panel.kind == "probabilities" else None
    return {**scored(panel.truth, labels.astype(int), probabilities, middle), **measures}
