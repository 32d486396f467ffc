"""Oracles: what could be had if accuracies, or the whole model, were known. For comparison only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from goldless.estimators.base import VoteEstimator
from goldless.fitting.core import as_counts
from goldless.fitting.fitted import Fitted
from goldless.io.encode import encode_truth
from goldless.kernels.sparse import dense_codes
from goldless.maths.tree import TreeModel
from goldless.maths.tree_makers import independent_model
from goldless.votes.pairs import PairTables

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(eq=False, repr=False, kw_only=True)
class OracleCI(VoteEstimator):
    """The best linear combination under conditional independence, from the true accuracies (Oracle-CI).

    Unlike everything else here, ``fit`` reads the true labels.

    Parameters
    ----------
    decision : {"ml", "map"}, default="ml"
        "ml" takes the larger likelihood, "map" the more probable class.
    missing, positive, classes, kind, lower_is_positive, positive_from : optional
        How votes are read: as of :class:`~goldless.LatentSML`.

    Attributes
    ----------
    latent_model_ : TreeModel
        Every voter alone with Y, with its accuracy on the true labels.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y = gl.simulate_votes(2_000, groups=[4] + [1] * 8, random_state=0)
    >>> round(gl.OracleCI().fit(X, y).score(X, y), 2)
    0.79
    """

    _min_voters = 1
    _needs_truth = True

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Count how often each voter is right on the labels ``y``."""
        if y is None:
            raise ValueError("OracleCI requires y to be passed, but the target y is None: it needs the truth.")
        votes = self._read_for_fit(self._read(X, reset=True), sample_weight)
        truth = encode_truth(y, votes.votes)
        # the truth is counted as one more voter, the last; half an item more in every class and vote
        weights = votes.counted.weights
        n_classes, n_symbols = votes.n_classes, votes.votes.n_symbols
        codes = np.column_stack([dense_codes(votes.votes.codes), truth])
        tables = PairTables.of(codes, n_symbols, weights).tables
        said = tables[:n_classes, :, -1, votes.voters].transpose(2, 0, 1) + 1 / n_symbols
        items = np.einsum("cc->c", tables[:n_classes, :n_classes, -1, -1])
        model = independent_model(items / items.sum(), said / said.sum(axis=2, keepdims=True))
        return self._store(votes.fitted(model))


@dataclass(eq=False, repr=False)
class OracleLatent(VoteEstimator):
    """Maximum likelihood under the true latent model (Oracle-L).

    Parameters
    ----------
    latent_model : TreeModel
        The model the votes were drawn from.
    decision : {"ml", "map"}, default="ml"
        "ml" takes the larger likelihood, "map" the more probable class.
    missing, positive, classes, lower_is_positive, positive_from : optional
        How votes are read: as of :class:`~goldless.LatentSML`.
    kind : default="labels"
        Labels are the only votes that a model draws.

    Attributes
    ----------
    latent_model_ : TreeModel
        The model that was given.

    Examples
    --------
    >>> import goldless as gl
    >>> X, y, drawn = gl.simulate_votes(2_000, groups=[4] + [1] * 8, random_state=0, return_model=True)
    >>> round(gl.OracleLatent(drawn).fit(X).score(X, y), 2)
    0.79
    """

    latent_model: TreeModel | None = None
    kind: Any = field(default="labels", kw_only=True)

    _min_voters = 1

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the names of the classes; everything else is given."""
        if not isinstance(self.latent_model, TreeModel):
            raise ValueError("OracleLatent needs the true model: OracleLatent(latent_model).")
        votes = self._read(X, reset=True)
        if votes.bins is not None:
            raise ValueError("OracleLatent is for labels: the symbols of a model have no edges among numbers.")
        if self.latent_model.n_voters != votes.n_voters:
            raise ValueError(f"the model has {self.latent_model.n_voters} voters, the votes have {votes.n_voters}.")
        if self.latent_model.n_classes != votes.n_classes:
            raise ValueError(f"the model has {self.latent_model.n_classes} classes, the votes {votes.n_classes}.")
        cast = PairTables.of(dense_codes(votes.codes), votes.n_classes, as_counts(sample_weight, votes.n_items)).cast
        return self._store(
            Fitted(
                classes=votes.classes,
                voters=votes.voters,
                model=self.latent_model,
                tie_order=np.argsort(-cast.sum(axis=1), kind="stable"),
                how_counted=f"{votes.n_items:,} items.",
                informative=np.ones(votes.n_voters, dtype=bool),
            )
        )
