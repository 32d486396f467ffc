"""What a fit says of every voter that gives numbers, without labels: AUC, turning point, direction and severity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from goldless.fitting.calibration import Calibration
from goldless.fitting.fitted import Fitted, emission_leans
from goldless.maths import ordered
from goldless.maths.tree import TreeModel
from goldless.votes.sample import VoteSample


def emission_of(fitted: Fitted) -> list[NDArray[np.float64]]:
    """Return Pr(bin | Y) of every voter, each of shape (2, n_bins)."""
    assert fitted.bins is not None
    tables = zip(fitted.model.confusion, fitted.bins.n_bins, strict=True)
    return [table[:, :n_bins] for table, n_bins in tables]


def auc_of(fitted: Fitted) -> NDArray[np.float64]:
    """Return how often each voter ranks a positive item above a negative one, ties counted half.

    The level is that of the consensus, not of the truth; what it tells is the order of the voters.
    """
    return ordered.auc_of(fitted.model.confusion)


def direction_of(fitted: Fitted) -> NDArray[np.int64]:
    """Return 1 for voters whose high numbers mean positive, -1 for those whose low ones do, and 0 for neither."""
    assert fitted.bins is not None
    confusion, n_bins = fitted.model.confusion, fitted.bins.n_bins
    falls, rises = ordered.falling(confusion, n_bins), ordered.falling(confusion[:, ::-1], n_bins)
    return fitted.bins.sign * (rises.astype(np.int64) - falls.astype(np.int64))


def turning_point_of(fitted: Fitted) -> NDArray[np.float64]:
    """Return the number of each voter at which its answer turns to positive.

    A voter whose high numbers mean positive means yes from there on, one whose low numbers do up to there. Not a
    number for a voter that never turns.
    """
    assert fitted.bins is not None
    points = np.full(fitted.n_voters, np.nan)
    leans = emission_leans(fitted.model.confusion)
    for voter, edges in enumerate(fitted.bins.edges):
        changes = np.flatnonzero(np.diff(leans[voter, : len(edges) + 1].astype(np.int8)))
        if len(changes):
            points[voter] = fitted.bins.sign[voter] * edges[changes[0]]
    return points


def severity_of(fitted: Fitted) -> NDArray[np.float64]:
    """Return how much lower the numbers of each voter are than those of all, on items of the same class.

    In the unit of the scale; not a number for scores, whose scales cannot be compared. Both classes count by their
    balance, so a voter that saw other items is not called severe for it.
    """
    assert fitted.bins is not None
    comparable = np.array([kind in ("ordinal", "probabilities") for kind in fitted.bins.kinds])
    comparable &= fitted.informative
    expected = np.einsum("icv,iv->ic", fitted.model.confusion, np.nan_to_num(fitted.bins.means))
    severity = np.full(fitted.n_voters, np.nan)
    for kind in dict.fromkeys(fitted.bins.kinds):
        alike = comparable & np.array([own == kind for own in fitted.bins.kinds])
        if alike.sum() > 1:
            severity[alike] = (expected[alike].mean(axis=0) - expected[alike]) @ fitted.model.class_prior
    return severity


# -- votes cut where voters turn -----------------------------------------------------------------------------


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
