"""The simulated panels of the demo: LLM judges of which four are one family, callers of which three share an engine.

The rates are made up, the names are nobody's, and the truth is known because it was drawn first.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import goldless as gl
from goldless.estimators.latent import LatentSML
from goldless.estimators.majority import MajorityVote


class SimulatedPanel(NamedTuple):
    """Votes with what they are, and the truth, for scoring only."""

    title: str
    votes: gl.Votes
    truth: NDArray[np.int8]
    at_least: int


def simulated_panels(seed: int) -> list[SimulatedPanel]:
    """Draw the panels."""
    rng = np.random.default_rng(seed)
    judges = [
        "atlas-large",
        "atlas-large-rerun",
        "atlas-medium",
        "atlas-small",
        *["boreal", "cedar", "delta", "ember", "fjord", "gale", "harbor"],
    ]
    rates = np.array([0.95, 0.94, 0.93, 0.90, 0.80, 0.77, 0.82, 0.74, 0.72, 0.70, 0.71])
    codes, truth = _draw(rng, 600, 0.6, n_echoing=4, source=0.70, sensitivity=rates, specificity=rates)
    codes[rng.random(codes.shape) < 0.03] = -1  # answers that could not be parsed
    answers = SimulatedPanel("11 LLM judges, 4 of one family", _votes(codes, ("fail", "pass"), judges), truth, 0)
    callers = [
        *(f"assembler-{i}" for i in (1, 2, 3)),
        *["pileup-1", "pileup-2", "network", "haplotype", "joint", "graph", "local", "strict"],
    ]
    codes, truth = _draw(
        rng,
        3_000,
        0.1,
        n_echoing=3,
        source=0.88,
        sensitivity=np.array([0.95, 0.94, 0.92, 0.80, 0.85, 0.90, 0.78, 0.82, 0.80, 0.75, 0.60]),
        specificity=np.array([0.97, 0.96, 0.95, 0.93, 0.90, 0.95, 0.97, 0.94, 0.95, 0.92, 0.99]),
    )
    called = (codes == 1).any(axis=1)  # a site that nobody called is in no file of calls
    sites = _votes(codes[called], ("no", "variant"), callers)
    return [answers, SimulatedPanel("11 variant callers, 3 share an engine", sites, truth[called], 1)]


def claimed_and_true(panel: SimulatedPanel) -> dict[str, float]:
    """Return what the fit claims of its labels and what is true of them, and of the majority vote."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LatentSML(at_least=panel.at_least or None).fit(panel.votes)
        expected = gl.diagnose(model, panel.votes, resamples=0).expected[0]
        labels, majority = model.predict(panel.votes), MajorityVote().fit_predict(panel.votes)
    truth = panel.votes.classes[panel.truth]
    return {
        "majority": gl.balanced_accuracy(truth, majority),
        "claimed": expected.balanced_accuracy,
        "true": gl.balanced_accuracy(truth, labels),
    }


def _draw(
    rng: np.random.Generator,
    n_items: int,
    positive: float,
    *,
    n_echoing: int,
    source: float,
    sensitivity: NDArray[np.float64],
    specificity: NDArray[np.float64],
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Draw votes and truth: the first voters look at a source that is right so often, the others at the truth."""
    n_alone = len(sensitivity) - n_echoing
    groups = [0] * n_echoing + list(range(1, n_alone + 1))
    right = [source] + [1.0] * n_alone
    codes, truth, _ = gl.LatentModel(groups, positive, right, right, sensitivity, specificity).sample(n_items, rng)
    return codes, truth


def _votes(codes: NDArray[np.int8], classes: tuple[str, str], names: list[str]) -> gl.Votes:
    return gl.Votes(codes, np.array(classes), np.array(names, dtype=object), None)
