"""The groups: how they were found, and pictures of pairs of voters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.diagnosis import Diagnosis
from goldless.diagnosis.residual_path import residual_path
from goldless.estimators.latent import LatentSML
from goldless.fitting.fitted import Grouping
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.rank_one import filled_covariance
from goldless.maths.score import score_matrix
from goldless.plain import as_number
from goldless.report.opened import Opened
from goldless.report.summary import GuardPart, Matrices, Matrix, OtherGrouping, RunnerUp, StructurePart


def structure_part(opened: Opened, estimate: CovarianceEstimate) -> StructurePart:
    """Return how the grouping was found."""
    asked = opened.model.structure if isinstance(opened.model, LatentSML) else "independent"
    grouping, ended = opened.fitted.grouping, opened.fitted.convergence
    searched = grouping is not None and isinstance(opened.model, LatentSML)
    known = grouping.residual_path if grouping is not None else None
    found = residual_path(opened.tree, filled_covariance(estimate), known)
    others = sorted((value, count) for count, value in found.path.items() if count != found.n_groups)
    return StructurePart(
        asked=asked if isinstance(asked, str) else "given",
        n_groups=opened.tree.n_groups,
        n_groups_on_path=found.n_groups,
        residual=as_number(found.residual),
        residual_path=[(count, as_number(value)) for count, value in sorted(found.path.items())],
        runners_up=[RunnerUp(count, float(f"{value:.6g}")) for value, count in others[:4]],
        alternatives=[] if grouping is None else _alternatives(grouping),
        guard=None if grouping is None else _guard(grouping),
        overdispersion=as_number(grouping.overdispersion) if searched and grouping is not None else None,
        converged=None if ended is None else bool(ended.converged),
        n_iter=None if ended is None else int(ended.n_iter),
    )


def _alternatives(grouping: Grouping) -> list[OtherGrouping]:
    return [
        OtherGrouping(other.groups.tolist(), float(other.margin), float(other.labels_changed))
        for other in grouping.alternatives
    ]


def _guard(grouping: Grouping) -> GuardPart | None:
    guard = grouping.guard
    if guard is None:
        return None
    return GuardPart(
        groups=guard.groups.tolist(),
        without_groups=round(float(guard.without_groups), 1),
        with_groups=round(float(guard.with_groups), 1),
        with_levels=round(float(guard.with_levels), 1) if np.isfinite(guard.with_levels) else None,
        kept=guard.kept,
    )


# -- pictures of pairs ---------------------------------------------------------------------------------------


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
