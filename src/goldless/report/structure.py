"""How the groups were found: the residual path of the paper, the grouping that was used, and the runners-up."""

from __future__ import annotations

from typing import Any

from goldless.diagnosis.residual_path import residual_path
from goldless.maths.covariance import CovarianceEstimate
from goldless.maths.rank_one import filled_covariance
from goldless.maths.tree import LatentModel
from goldless.plain import as_number, plain_tree


def structure_of(model: Any, latent: LatentModel, estimate: CovarianceEstimate) -> dict[str, Any]:
    """Return how the grouping was found; what a structure finder offers is passed on when it is plain."""
    structure = getattr(model, "structure", "independent")
    found = residual_path(latent, filled_covariance(estimate), getattr(model, "residual_path_", None))
    others = sorted((value, count) for count, value in found.path.items() if count != found.n_groups)
    return {
        "asked": structure if isinstance(structure, str) else "given",
        "n_groups": int(latent.n_groups),
        "n_groups_on_path": found.n_groups,
        "residual": as_number(found.residual),
        "residual_path": [[count, as_number(value)] for count, value in sorted(found.path.items())],
        "runners_up": [{"n_groups": count, "residual": as_number(value)} for value, count in others[:4]],
        "rootings": plain_tree(getattr(model, "rootings_", None)),
        "overdispersion": as_number(getattr(model, "overdispersion_", None)),
        "converged": getattr(model, "converged_", None),
        "n_iter": getattr(model, "n_iter_", None),
    }
