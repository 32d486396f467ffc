"""What was learnt of voters that say numbers, as it is of votes for two classes: each cut at its turning point.

Cutting changes the model of no voter: it is exactly the marginal distribution of the cut votes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.calibration import Calibration
from goldless.fitting.fitted import Fitted, emission_leans
from goldless.maths.tree import TreeModel
from goldless.votes.sample import VoteSample


def cut_codes(fitted: Fitted, codes: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return codes of bins as votes for the class that makes the bin likelier."""
    leans = emission_leans(fitted.model.confusion).astype(np.int8)
    cut = leans[np.arange(codes.shape[1]), np.maximum(codes, 0)]
    return np.where(codes < 0, np.int8(-1), cut)


def cut_fit(fitted: Fitted) -> Fitted:
    """Return what was learnt of numbers as what it says of votes cut at the turning points; of labels as it is."""
    if fitted.bins is None:
        return fitted
    model = cut_model(fitted.model)
    originals = fitted.columns
    if originals is None:
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
