"""The public estimators: each is the plain one with what scikit-learn adds, which takes a second to import.

The command line, diagnoses and pages use the plain ones.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from goldless.estimators import dawid_skene, latent, majority, oracles, spectral
from goldless.shown import Shown


class Learner(BaseEstimator):
    """What scikit-learn adds: parameters by name, clones, tags, and what a notebook shows before the fit."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def _repr_html_(self) -> str:
        """Return a small table for notebooks; what scikit-learn shows if not fitted."""
        return Shown._repr_html_(self) if "fitted_" in vars(self) else super()._repr_html_()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        if "fitted_" not in vars(self):
            return super()._repr_mimebundle_(**options)
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class DawidSkene(Learner, dawid_skene.DawidSkene):
    __doc__ = dawid_skene.DawidSkene.__doc__


class LatentSML(Learner, latent.LatentSML):
    __doc__ = latent.LatentSML.__doc__


class MajorityVote(Learner, majority.MajorityVote):
    __doc__ = majority.MajorityVote.__doc__


class OracleCI(Learner, oracles.OracleCI):
    __doc__ = oracles.OracleCI.__doc__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class OracleLatent(Learner, oracles.OracleLatent):
    __doc__ = oracles.OracleLatent.__doc__


class SpectralMetaLearner(Learner, spectral.SpectralMetaLearner):
    __doc__ = spectral.SpectralMetaLearner.__doc__
