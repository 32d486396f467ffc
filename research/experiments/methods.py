"""The methods of the paper's tables, fitted to one panel and scored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import goldless as gl


def fit_methods(X: NDArray[np.int8], y: NDArray[np.int8]) -> dict[str, Any]:
    """Fit every method that both the DREAM and the UCI tables show; only the oracle sees the labels."""
    return {
        "vote": gl.MajorityVote().fit(X),
        "sml_em": gl.SpectralMetaLearner().fit(X),
        "oracle_ci": gl.OracleCI().fit(X, y),
        "paper": gl.LatentSML(structure="paper").fit(X),
        "search": gl.LatentSML().fit(X),
    }


def errors_of(models: dict[str, Any], X: NDArray[np.int8], y: NDArray[np.int8]) -> dict[str, float]:
    """Return the balanced error of each method, and the mean and the best of the single voters."""
    single = single_errors(X, y)
    errors = {"mean": single.mean(), "best": single.min()}
    return errors | {name: gl.balanced_error(y, model.predict(X)) for name, model in models.items()}


def single_errors(X: NDArray[np.int8], y: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the balanced error of each voter alone."""
    return np.array([gl.balanced_error(y, column) for column in X.T])
