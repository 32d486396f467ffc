"""Voters that say numbers, seen as voters of two labels: each cut at its own turning point.

What is claimed of single voters and of pairs of them (intervals, tests, effective votes, panels, the page) is claimed
of these votes. Cutting changes the model of no voter: it is exactly the marginal distribution of the cut votes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.calibration import Calibration
from goldless.fitting.fitted import Fitted, emission_leans
from goldless.maths.tree import TreeModel
from goldless.votes.sample import VoteSample
from goldless.votes.votes import Votes


def as_labels(model: Any, X: Any) -> tuple[Any, Any]:
    """Return a fitted model and votes as they are if they are labels, else every voter cut at its turning point."""
    fitted = vars(model).get("fitted_")
    if fitted is None or fitted.bins is None:
        return model, X
    votes = model._read(X, reset=False)
    seen = type(model)(**model.get_params())
    seen.fitted_ = cut_fit(fitted)
    return seen, Votes(cut_codes(fitted, votes.codes), fitted.classes, votes.voters, votes.items)


def cut_codes(fitted: Fitted, codes: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return codes of bins as votes for the class that makes the bin likelier."""
    leans = emission_leans(fitted.model.confusion).astype(np.int8)
    cut = leans[np.arange(codes.shape[1]), np.maximum(codes, 0)]
    return np.where(codes < 0, np.int8(-1), cut)


def cut_fit(fitted: Fitted) -> Fitted:
    """Return what was learnt of numbers as what it says of the votes that are cut at the turning points."""
    model = cut_model(fitted.model)
    originals = np.flatnonzero((model.copy_of == np.arange(model.n_voters)) & fitted.informative)
    sample = fitted.sample
    if sample is not None:
        sample = VoteSample.of_codes(cut_codes(fitted, sample.codes), sample)
    return replace(
        fitted,
        model=model,
        evidence=(model.subset(originals),) if fitted.evidence else (),
        columns=originals,
        abstainers=np.array([], dtype=np.int64),
        calibration=Calibration(1.0, model.class_balance),
        probability_line=None,
        settled=None,
        sample=sample,
        patterns=None,
        bins=None,
        symbol_share=None,
        number_cut=0.0,
    )


def cut_model(model: TreeModel) -> TreeModel:
    """Return the model of the votes of two labels that ordered symbols become at each voter's turning point."""
    leans = emission_leans(model.confusion)
    positive = (model.votes * leans[:, None, :]).sum(axis=2).clip(0.0, 1.0)
    return replace(model, votes=np.stack([1 - positive, positive], axis=2))
