"""The part of the report on voters that give numbers: what each means by them."""

from __future__ import annotations

import numpy as np

from goldless.fitting.fitted import Fitted
from goldless.fitting.number_facts import auc_of, direction_of, emission_of, severity_of, turning_point_of
from goldless.plain import rounded
from goldless.report.summary import NumbersPart, NumberVoter


def numbers_part(fitted: Fitted) -> NumbersPart | None:
    """Return what every voter means by its numbers; None if votes are labels."""
    bins, share = fitted.bins, fitted.symbol_share
    if bins is None or share is None:
        return None
    facts = zip(turning_point_of(fitted), direction_of(fitted), auc_of(fitted), severity_of(fitted), strict=True)
    voters = []
    for voter, (point, direction, auc, severity) in enumerate(facts):
        table = emission_of(fitted)[voter]
        positive = table[1] / np.maximum(table.sum(axis=0), 1e-300)
        voters.append(
            NumberVoter(
                kind=bins.kinds[voter],
                turning_point=None if np.isnan(point) else rounded(point),
                direction=int(direction),
                auc=rounded(auc),
                severity=None if np.isnan(severity) else rounded(severity, 3),
                edges=[rounded(bins.sign[voter] * edge, 6) for edge in bins.edges[voter]],
                answers=[rounded(part) for part in share[voter, : len(positive)]],
                positive=[rounded(part) for part in positive],
            )
        )
    separation = None if fitted.separation is None else rounded(fitted.separation, 3)
    return NumbersPart(separation, bins.positive_from, voters)
