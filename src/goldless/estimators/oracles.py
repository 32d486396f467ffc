"""Oracles: what could be had if accuracies, or the whole model, were known. For comparison only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goldless.estimators.latent_base import LatentEstimator
from goldless.fitting.core import as_counts
from goldless.io.encode import encode_truth
from goldless.maths.tree import LatentModel, independent_model
from goldless.votes.pairs import PairCounts


class OracleCI(LatentEstimator):
    """The best linear combination under conditional independence, from the true accuracies (Oracle-CI).

    Unlike everything else here, ``fit`` reads the true labels.

    Parameters
    ----------
    decision : {"ml", "map"}, default="ml"
        "ml" takes the larger likelihood, "map" the more probable class.
    missing, positive : label, optional
        A label that means "no vote", and the label to call positive.

    Attributes
    ----------
    latent_model_ : LatentModel
        Every voter alone with Y, with its accuracy on the true labels.
    """

    _min_voters = 1

    def __init__(self, *, decision: str = "ml", missing: Any = None, positive: Any = None):
        self.decision = decision
        self.missing = missing
        self.positive = positive

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> OracleCI:
        """Count how often each voter is right on the labels ``y``."""
        if y is None:
            raise ValueError("OracleCI requires y to be passed, but the target y is None: it needs the truth.")
        votes = self._read_for_fit(self._read(X, reset=True), sample_weight)
        truth = encode_truth(y, votes.votes)
        # the truth is counted as one more voter, the last
        counts = PairCounts.of(np.column_stack([votes.votes.codes, truth]), votes.weights)
        true_positive = counts.both_positive[-1, votes.voters]
        false_negative = counts.first_positive[-1, votes.voters] - true_positive
        false_positive = counts.first_positive[votes.voters, -1] - true_positive
        true_negative = counts.both[-1, votes.voters] - true_positive - false_negative - false_positive
        model = independent_model(
            float(counts.positive_votes[-1] / counts.votes_cast[-1]),
            _share(true_positive, false_negative),
            _share(true_negative, false_positive),
        )
        self.latent_model_ = votes.embed(model)
        return self


class OracleLatent(LatentEstimator):
    """Maximum likelihood under the true latent model (Oracle-L).

    Parameters
    ----------
    latent_model : LatentModel
        The model the votes were drawn from.
    decision : {"ml", "map"}, default="ml"
        "ml" takes the larger likelihood, "map" the more probable class.
    missing, positive : label, optional
        A label that means "no vote", and the label to call positive.

    Attributes
    ----------
    latent_model_ : LatentModel
        The model that was given.
    """

    _min_voters = 1

    def __init__(
        self,
        latent_model: LatentModel | None = None,
        *,
        decision: str = "ml",
        missing: Any = None,
        positive: Any = None,
    ):
        self.latent_model = latent_model
        self.decision = decision
        self.missing = missing
        self.positive = positive

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> OracleLatent:
        """Learn the names of the classes; everything else is given."""
        if not isinstance(self.latent_model, LatentModel):
            raise ValueError("OracleLatent needs the true model: OracleLatent(latent_model).")
        votes = self._read(X, reset=True)
        if self.latent_model.n_voters != votes.n_voters:
            raise ValueError(f"the model has {self.latent_model.n_voters} voters, the votes have {votes.n_voters}.")
        weights = as_counts(sample_weight, votes.n_items)
        counts = PairCounts.of(votes.codes, weights)
        self._tie_code_ = int(2 * counts.positive_votes.sum() > counts.votes_cast.sum())
        self.latent_model_ = self.latent_model
        return self


def _share(right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the share that is right, with half an item on each side so that no rate is 0 or 1."""
    return (right + 0.5) / (right + wrong + 1.0)
