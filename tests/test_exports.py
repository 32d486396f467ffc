"""The public names are pinned: a change here is a change for every user."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import goldless

PUBLIC = [
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


def test_public_names_are_pinned():
    assert goldless.__all__ == PUBLIC


def test_every_public_name_is_there_and_documented():
    for name in PUBLIC:
        assert inspect.getdoc(getattr(goldless, name)), name


def test_every_public_name_has_an_example():
    """Examples are run with all docstrings (test_docs.py)."""
    for name in PUBLIC:
        assert ">>>" in inspect.getdoc(getattr(goldless, name)), name


def test_names_of_earlier_versions_answer_and_say_their_new_name():
    with pytest.warns(FutureWarning, match="now AmbiguousGroupingWarning"):
        assert goldless.AmbiguousReadingWarning is goldless.AmbiguousGroupingWarning
    X, _ = goldless.simulate_votes(400, groups=[3, 1, 1, 1, 1], random_state=0)
    model = goldless.LatentSML().fit(X)
    questions, diagnosis = model.next_to_label(X, 3), goldless.diagnose(model, X, resamples=0)
    pairs = [(model, "rootings_", "alternatives_"), (questions, "n_readings", "n_groupings")]
    pairs += [(questions, "said", "codes"), (diagnosis, "readings", "alternatives")]
    for value, old, new in pairs:
        with pytest.warns(FutureWarning, match=f"^{old} is now {new}; ") as caught:
            assert getattr(value, old) is getattr(value, new)
        assert caught[0].filename == __file__


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


def test_one_version_everywhere():
    root = Path(__file__).parents[1]
    assert f"version: {goldless.__version__}\n" in (root / "CITATION.cff").read_text()
    assert f"## {goldless.__version__}" in (root / "CHANGELOG.md").read_text()
