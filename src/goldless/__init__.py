"""Combine voters that may echo each other, when there is no gold label.

>>> import goldless as gl
>>> X, y = gl.simulate_votes(10_000, groups=[5] + [1] * 15, random_state=0)
>>> model = gl.LatentSML().fit(X)
>>> int((model.groups_ == 0).sum())   # the five that echo each other
5
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

if _TYPE_CHECKING:
    from goldless.diagnosis import AuditOutcome, AuditPlan, Comparison, Diagnosis, audit, compare, diagnose
    from goldless.errors import AmbiguousGroupingWarning, LabelsAtRiskWarning, VotesError, VotesWarning
    from goldless.estimators.ensemble import VoterEnsemble
    from goldless.estimators.learners import (
        DawidSkene,
        LatentSML,
        MajorityVote,
        OracleCI,
        OracleLatent,
        SpectralMetaLearner,
    )
    from goldless.fitting.paper import PaperOptions
    from goldless.io.encode import encode_votes
    from goldless.io.files import read_votes
    from goldless.io.open import VoteStream
    from goldless.maths.clustering import GroupAssignment, assign_groups
    from goldless.maths.ideal import ideal_groups
    from goldless.maths.panels import Panel
    from goldless.maths.rank_one import complete_rank_one, residual
    from goldless.maths.score import score_matrix
    from goldless.maths.selection import select_voters
    from goldless.maths.tree import TreeModel
    from goldless.maths.tree_makers import LatentModel
    from goldless.metrics import balanced_accuracy, balanced_error, conditional_covariance
    from goldless.report.make import report
    from goldless.simulate import random_model, simulate_votes
    from goldless.votes.votes import Votes

__version__ = "0.2.0"

__all__ = [
    "AmbiguousGroupingWarning",
    "AuditOutcome",
    "AuditPlan",
    "Comparison",
    "DawidSkene",
    "Diagnosis",
    "GroupAssignment",
    "LabelsAtRiskWarning",
    "LatentModel",
    "LatentSML",
    "MajorityVote",
    "OracleCI",
    "OracleLatent",
    "Panel",
    "PaperOptions",
    "SpectralMetaLearner",
    "TreeModel",
    "VoteStream",
    "VoterEnsemble",
    "Votes",
    "VotesError",
    "VotesWarning",
    "assign_groups",
    "audit",
    "balanced_accuracy",
    "balanced_error",
    "compare",
    "complete_rank_one",
    "conditional_covariance",
    "diagnose",
    "encode_votes",
    "ideal_groups",
    "load",
    "random_model",
    "read_votes",
    "report",
    "residual",
    "score_matrix",
    "select_voters",
    "simulate_votes",
]


_HOME = {
    name: module
    for module, names in {
        "goldless.simulate": ("random_model", "simulate_votes"),
        "goldless.diagnosis": (
            "AuditOutcome",
            "AuditPlan",
            "Comparison",
            "Diagnosis",
            "audit",
            "compare",
            "diagnose",
        ),
        "goldless.estimators.ensemble": ("VoterEnsemble",),
        "goldless.estimators.learners": (
            "DawidSkene",
            "LatentSML",
            "MajorityVote",
            "OracleCI",
            "OracleLatent",
            "SpectralMetaLearner",
        ),
        "goldless.maths.clustering": ("GroupAssignment", "assign_groups"),
        "goldless.maths.ideal": ("ideal_groups",),
        "goldless.maths.tree": ("TreeModel",),
        "goldless.maths.tree_makers": ("LatentModel",),
        "goldless.fitting.paper": ("PaperOptions",),
        "goldless.maths.panels": ("Panel",),
        "goldless.maths.rank_one": ("complete_rank_one", "residual"),
        "goldless.maths.score": ("score_matrix",),
        "goldless.maths.selection": ("select_voters",),
        "goldless.metrics": ("balanced_accuracy", "balanced_error", "conditional_covariance"),
        "goldless.io.encode": ("encode_votes",),
        "goldless.io.files": ("read_votes",),
        "goldless.votes.votes": ("Votes",),
        "goldless.io.open": ("VoteStream",),
        "goldless.errors": ("AmbiguousGroupingWarning", "LabelsAtRiskWarning", "VotesError", "VotesWarning"),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: a worker of a cluster that counts votes needs few of them."""
    if name == "report":  # a room that can be called
        return _import_module("goldless.report")
    if name == "AmbiguousReadingWarning":
        from goldless.errors import warn_user

        warn_user(f"{name} is now AmbiguousGroupingWarning; the old name goes in the next version.", FutureWarning)
        return __getattr__("AmbiguousGroupingWarning")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load(path: Any) -> Any:
    """Return a fitted estimator from a file written by its ``save`` method.

    Raises
    ------
    ValueError
        If the file is not a goldless model, is damaged, or has a version this release does not read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(500, groups=[1] * 5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gl.DawidSkene().fit(X).save(Path(folder) / "model.json")
    ...     model = gl.load(Path(folder) / "model.json")
    >>> type(model).__name__
    'DawidSkene'
    """
    from goldless.estimators.persistence import load_estimator

    known = ("DawidSkene", "LatentSML", "MajorityVote", "OracleCI", "OracleLatent", "SpectralMetaLearner")
    return load_estimator(path, {name: __getattr__(name) for name in known})
