"""95 % intervals from the observed information of the latent model, on the log-odds scale.

The class balance is free here: the weak prior that steadies it in the fit would pull every interval with it. When the
covariance model misfits, variances are multiplied by its over-dispersion. An interval is stretched, if need be, to
hold the estimate it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.diagnosis.refit import PanelVotes
from goldless.maths.tree import log_odds, probability

_Z = 1.959963984540054  # 95 %
_SINGULAR = 1e-9


@dataclass(frozen=True)
class Uncertainty:
    """The sampling error of a fitted model on its votes."""

    panel: PanelVotes

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the log-odds of all rates: very large where nothing determines them, zero if known."""
        scores = self.panel.scores
        open_rates = np.flatnonzero(~self.panel.known.fixed(scores.n_parameters))
        information = scores.observed_information + np.diag(scores.prior_information(self.panel.rate_prior))
        information = information[np.ix_(open_rates, open_rates)]
        values, vectors = np.linalg.eigh((information + information.T) / 2)
        values = np.maximum(values, _SINGULAR * max(float(values[-1]), 1.0))
        covariance = np.zeros((scores.n_parameters, scores.n_parameters))
        covariance[np.ix_(open_rates, open_rates)] = (vectors / values) @ vectors.T
        return self.panel.overdispersion * covariance

    def accuracy_errors(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return standard errors of sensitivity, specificity and balanced accuracy of the core voters."""
        up, down = (gradients[: len(self.panel.voters)] for gradients in self.panel.scores.accuracy_gradients())
        return self._error(up), self._error(down), self._error((up + down) / 2)

    @property
    def balance_error(self) -> float:
        """Standard error of the class balance."""
        rate = self.panel.free_model.class_balance
        return float(np.sqrt(self.covariance[-1, -1]) * rate * (1 - rate))

    def _error(self, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(np.maximum(((gradients @ self.covariance) * gradients).sum(axis=1), 0.0))

    def log_odds_variance(self) -> NDArray[np.float64]:
        """Return the sampling variance of the log-odds of Y of every pattern."""
        variance = np.empty(len(self.panel.core_codes))
        for block in self.panel.scores.blocks():
            variance[block.rows] = ((block.contrast @ self.covariance) * block.contrast).sum(axis=1)
        return np.maximum(variance, 0.0)

    def expected_accuracies(self, labels: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected balanced accuracies of ways to label, and the covariance of their errors.

        The error is that of the parameters, and that of the truth of these very items: the interval is one for the
        balanced accuracy that a check of all items would find.

        Parameters
        ----------
        labels : ndarray of shape (n_ways, n_patterns)
            1 positive, 0 negative, 1/2 for a coin.
        """
        scores, counts = self.panel.scores, self.panel.table.counts
        posterior = scores.model.posterior(scores.codes)
        positives = max(float(counts @ posterior), 1e-9)
        negatives = max(float(counts @ (1 - posterior)), 1e-9)
        sensitivity = labels @ (counts * posterior) / positives
        specificity = (1 - labels) @ (counts * (1 - posterior)) / negatives
        # derivative of the balanced accuracy by the posterior of one item
        slope = (labels - sensitivity[:, None]) / (2 * positives)
        slope -= (1 - labels - specificity[:, None]) / (2 * negatives)
        open_part = counts * posterior * (1 - posterior)
        gradient = np.zeros((len(labels), scores.n_parameters))
        for block in scores.blocks():
            gradient += (slope[:, block.rows] * open_part[block.rows]) @ block.contrast
        of_parameters = gradient @ self.covariance @ gradient.T
        of_items = (slope * open_part) @ slope.T
        return (sensitivity + specificity) / 2, of_parameters + of_items


def interval(centre: ArrayLike, error: ArrayLike, estimate: ArrayLike) -> NDArray[np.float64]:
    """Return 95 % intervals of rates, shape (..., 2), normal on the log-odds scale.

    Parameters
    ----------
    centre, error : array-like
        Rates in the middle of the intervals and their standard errors.
    estimate : array-like
        The estimates that are reported, which the intervals hold.
    """
    rates = np.asarray(centre, dtype=np.float64).clip(1e-9, 1 - 1e-9)
    reach = _Z * np.asarray(error) / (rates * (1 - rates))
    middle = log_odds(rates)
    ends = np.stack([probability(middle - reach), probability(middle + reach)], axis=-1)
    return np.stack([np.minimum(ends[..., 0], estimate), np.maximum(ends[..., 1], estimate)], axis=-1)
