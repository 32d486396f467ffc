"""Combine voters that may echo each other, when there is no gold label.

>>> import goldless as gl
>>> X, y = gl.simulate_votes(10_000, groups=[5] + [1] * 15, random_state=0)
>>> model = gl.LatentSML().fit(X)
>>> int((model.groups_ == 0).sum())   # the five that echo each other
5
"""

from __future__ import annotations

from importlib.metadata import version as _version
from typing import Any

from goldless.datasets import random_model, simulate_votes
from goldless.diagnosis import Comparison, Diagnosis, compare, diagnose
from goldless.estimators.dawid_skene import DawidSkene
from goldless.estimators.latent import LatentSML
from goldless.estimators.majority import MajorityVote
from goldless.estimators.oracles import OracleCI, OracleLatent
from goldless.estimators.persistence import load_estimator as _load_estimator
from goldless.estimators.spectral import SpectralMetaLearner
from goldless.maths.groups import GroupAssignment, assign_groups
from goldless.maths.ideal import ideal_groups
from goldless.maths.latent_model import LatentModel
from goldless.maths.panels import Panel
from goldless.maths.rank_one import complete_rank_one, residual
from goldless.maths.score import score_matrix
from goldless.maths.selection import select_voters
from goldless.metrics import balanced_accuracy, balanced_error
from goldless.votes.conditional import conditional_covariance
from goldless.votes.encoding import Votes, encode_votes
from goldless.votes.sources import VoteStream
from goldless.votes.warnings import AmbiguousReadingWarning, VotesWarning

__version__ = _version("goldless")

__all__ = [
    "AmbiguousReadingWarning",
    "Comparison",
    "DawidSkene",
    "Diagnosis",
    "GroupAssignment",
    "LatentModel",
    "LatentSML",
    "MajorityVote",
    "OracleCI",
    "OracleLatent",
    "Panel",
    "SpectralMetaLearner",
    "VoteStream",
    "Votes",
    "VotesWarning",
    "assign_groups",
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
    "residual",
    "score_matrix",
    "select_voters",
    "simulate_votes",
]


def load(path: Any) -> Any:
    """Return a fitted estimator from a file written by its ``save`` method.

    Raises
    ------
    ValueError
        If the file is not a goldless model, is damaged, or has a version this release does not read.
    """
    known = [DawidSkene, LatentSML, MajorityVote, OracleCI, OracleLatent, SpectralMetaLearner]
    return _load_estimator(path, {estimator.__name__: estimator for estimator in known})
