"""Pictures of every pair of voters, as numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.diagnosis import Diagnosis
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.score import score_matrix
from goldless.report.opened import Opened
from goldless.report.summary import Matrices, Matrix

_MOST_VOTERS = 300


def matrices_part(opened: Opened, estimate: CovarianceEstimate, diagnosis: Diagnosis) -> Matrices | None:
    """Return the pictures of pairs, the diagonal as zero; None for more voters than a picture can show."""
    if opened.tree.n_voters > _MOST_VOTERS:
        return None
    grouping = opened.fitted.grouping
    covariance, fitted = estimate.covariance, opened.tree.population_covariance()
    score = np.asarray(score_matrix(covariance)) if grouping is None or not grouping.score.size else grouping.score
    together, same_wrong = diagnosis.co_membership, diagnosis.same_wrong_answer
    return Matrices(
        echo=round_matrix(diagnosis.echo),
        score=round_matrix(score),
        covariance=round_matrix(covariance),
        fitted=round_matrix(fitted),
        left_over=round_matrix(covariance - fitted),
        co_membership=None if together is None else round_matrix(together),
        same_wrong_answer=None if same_wrong is None else round_matrix(same_wrong.lift),
    )


def round_matrix(matrix: NDArray) -> Matrix:
    """Return a matrix off the diagonal, to three digits of its largest entry."""
    off = np.where(np.eye(len(matrix), dtype=bool), 0.0, np.nan_to_num(matrix))
    return (off.round(decimals_of(off)) + 0.0).tolist()


def decimals_of(matrix: NDArray) -> int:
    """Return how many decimals show three digits of the largest entry."""
    largest = np.abs(matrix).max(initial=0.0)
    return 3 if largest <= 0 else int(np.clip(2 - np.floor(np.log10(largest)), 0, 12))
