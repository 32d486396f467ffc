"""What can be trusted: the diagnosis as a part of the summary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.diagnosis import Diagnosis
from goldless.plain import as_number, interval, rounded
from goldless.report.opened import Opened
from goldless.report.summary import CalibrationPart, DiagnosisPart, NearDuplicate, SameWrong

_SAME_WRONG = 12  # pairs


def diagnosis_part(opened: Opened, diagnosis: Diagnosis) -> DiagnosisPart:
    """Return what can be trusted."""
    voters = diagnosis.voters
    return DiagnosisPart(
        verdict=diagnosis.verdict,
        use=diagnosis.use,
        advice=diagnosis.advice,
        dependence=diagnosis.dependence,
        cannot_tell=list(diagnosis.cannot_tell),
        independence_pvalue=as_number(diagnosis.independence_pvalue),
        fit_pvalue=as_number(diagnosis.fit_pvalue),
        calibration=CalibrationPart(
            rounded(diagnosis.calibration.temper), [rounded(share) for share in diagnosis.calibration.class_prior]
        ),
        class_shares_interval=_of_classes(diagnosis.class_balance_interval, opened.n_classes),
        class_shares_model_interval=_of_classes(diagnosis.class_balance_model_interval, opened.n_classes),
        effective_votes_by_class=[rounded(value, 2) for value in diagnosis.effective_votes_by_class],
        effective_votes_by_class_interval=[interval(ends, 2) for ends in diagnosis.effective_votes_by_class_interval],
        n_resamples=diagnosis.n_resamples,
        near_duplicates=[
            NearDuplicate(
                voters=[pair.first, pair.second],
                names=[voters[pair.first], voters[pair.second]],
                agreement=rounded(pair.agreement),
                correlation=rounded(pair.correlation),
            )
            for pair in diagnosis.near_duplicates
        ],
        weak_groups=[[voters[voter] for voter in group] for group in diagnosis.weak_groups],
        families=list(diagnosis.families),
        same_wrong_answer=_same_wrong_pairs(diagnosis),
        without=dict(diagnosis.without),
        said_without=diagnosis.said_without(),
    )


def _of_classes(ends: NDArray[np.float64], n_classes: int) -> list[tuple[float, float] | None]:
    """Return the interval of each class; of two the negative class has what is left."""
    if n_classes == 2:
        low, high = ends
        ends = np.array([[1 - high, 1 - low], [low, high]])
    return [interval(pair) for pair in ends]


def _same_wrong_pairs(diagnosis: Diagnosis) -> list[SameWrong]:
    """Return the pairs that clearly give the same wrong answer more often than others, the largest lift first."""
    found, voters = diagnosis.same_wrong_answer, diagnosis.voters
    if found is None:
        return []
    return [
        SameWrong(
            voters=[one, other],
            names=[voters[one], voters[other]],
            lift=rounded(found.lift[one, other]),
            standard_error=rounded(found.standard_error[one, other]),
            n_items=rounded(found.items[one, other], 1),
        )
        for one, other in found.clear_pairs()[:_SAME_WRONG]
    ]
