"""The public estimators: each is the plain one with scikit-learn's ``BaseEstimator``, which takes a second to import.

The command line, diagnoses and pages use the plain ones.
"""

from __future__ import annotations

from sklearn.base import BaseEstimator

from goldless.estimators import dawid_skene, latent, majority, oracles, spectral


class DawidSkene(dawid_skene.DawidSkene, BaseEstimator):
    __doc__ = dawid_skene.DawidSkene.__doc__


class LatentSML(latent.LatentSML, BaseEstimator):
    __doc__ = latent.LatentSML.__doc__


class MajorityVote(majority.MajorityVote, BaseEstimator):
    __doc__ = majority.MajorityVote.__doc__


class OracleCI(oracles.OracleCI, BaseEstimator):
    __doc__ = oracles.OracleCI.__doc__


class OracleLatent(oracles.OracleLatent, BaseEstimator):
    __doc__ = oracles.OracleLatent.__doc__


class SpectralMetaLearner(spectral.SpectralMetaLearner, BaseEstimator):
    __doc__ = spectral.SpectralMetaLearner.__doc__
