"""The public names are pinned: a change here is a change for every user."""

from __future__ import annotations

import inspect
import subprocess
import sys

import goldless

PUBLIC = [
    "AmbiguousReadingWarning",
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


def test_public_names_are_pinned():
    assert goldless.__all__ == PUBLIC


def test_every_public_name_is_there_and_documented():
    for name in PUBLIC:
        assert inspect.getdoc(getattr(goldless, name)), name


def test_every_public_name_has_an_example():
    """Examples are run with all docstrings (test_docs.py)."""
    for name in PUBLIC:
        assert ">>>" in inspect.getdoc(getattr(goldless, name)), name


def test_nothing_else_is_in_sight():
    """Apart from sub-packages, names without an underscore are public ones."""
    visible = {name for name, value in vars(goldless).items() if name[0] != "_" and not inspect.ismodule(value)}
    assert visible - {"annotations"} - set(PUBLIC) <= {"Any"}


def test_no_optional_library_is_imported():
    """Importing goldless takes numpy, scipy, scikit-learn and numba; what else there is comes when it is needed."""
    optional = ("pandas", "polars", "pyarrow", "jinja2", "matplotlib", "dask")
    code = (
        "import sys, sklearn.base; before = set(sys.modules); import goldless; "
        f"print(sorted(set({optional}) & (set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
