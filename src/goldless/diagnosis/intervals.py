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
from scipy.linalg import lapack

from goldless.diagnosis.information import OfState, PatternScores
from goldless.diagnosis.refit import PanelVotes
from goldless.fitting.fitted import probabilities
from goldless.fitting.risk import label_shares
from goldless.maths.rates import log_odds, log_rates, probability

_Z = 1.959963984540054  # 95 %
_SINGULAR = 1e-9
_PATTERNS_SHRUNK = 2000


@dataclass(frozen=True, eq=False)
class ParameterCovariance:
    """Covariance of parameters that are correlated within parts."""

    parts: tuple[NDArray[np.int64], ...]  # parameters of each part
    blocks: tuple[NDArray[np.float64], ...]  # their covariance

    def times(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return vectors, one a row, times the covariance."""
        product = np.zeros_like(vectors)
        for part, block in zip(self.parts, self.blocks, strict=True):
            product[:, part] = vectors[:, part] @ block
        return product

    def errors(self, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard errors of what has these gradients, one a row."""
        return np.sqrt(np.maximum((self.times(gradients) * gradients).sum(axis=1), 0.0))


@dataclass(frozen=True)
class Uncertainty:
    """The sampling error of a fitted model on its votes."""

    panel: PanelVotes

    @cached_property
    def sampling_covariance(self) -> ParameterCovariance:
        """Covariance of all parameters if the model holds: very large if nothing determines them, zero if known."""
        scores, blocks = self.panel.scores, []
        fixed = self.panel.known.fixed(scores)
        prior = scores.prior_information(self.panel.rate_prior(scores.model.groups))
        for part, observed, of_prior in zip(scores.parts, scores.observed_information, prior, strict=True):
            free = np.flatnonzero(~fixed[part])
            information = (observed + of_prior)[np.ix_(free, free)]
            covariance = np.zeros(observed.shape)
            covariance[np.ix_(free, free)] = _inverse((information + information.T) / 2)
            blocks.append(covariance)
        return ParameterCovariance(scores.parts, tuple(blocks))

    @cached_property
    def covariance(self) -> ParameterCovariance:
        """The same, widened by the over-dispersion."""
        found = self.sampling_covariance
        return ParameterCovariance(found.parts, tuple(self.panel.overdispersion * block for block in found.blocks))

    def accuracy_errors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return standard errors of the recalls, shape (n_core, n_classes), and of the balanced accuracies."""
        of_recalls, of_means = [], []
        for voter in range(len(self.panel.voters)):
            gradients = self._dense(self.panel.scores.recall_gradients(voter))
            of_recalls.append(self.covariance.errors(gradients))
            of_means.append(self.covariance.errors(gradients.mean(axis=0, keepdims=True))[0])
        return np.array(of_recalls), np.array(of_means)

    @property
    def prior_errors(self) -> NDArray[np.float64]:
        """Standard errors of the class shares."""
        return self.covariance.errors(self._dense(self.panel.scores.prior_gradients()))

    def _dense(self, gradients: OfState) -> NDArray[np.float64]:
        dense = np.zeros((len(gradients.values), self.panel.scores.n_parameters))
        dense[:, gradients.columns] = gradients.values
        return dense

    @cached_property
    def log_odds_shrinkage(self) -> float:
        """Mean factor by which averaging over the uncertainty of the rates shrinks log-odds (MacKay 1992).

        Those of the most probable class against the next; with more than two classes on some of the patterns.
        """
        scores = self.panel.scores
        if self.panel.n_classes > 2:
            some = np.unique(np.linspace(0, len(scores.codes) - 1, _PATTERNS_SHRUNK).astype(np.int64))
            scores = PatternScores(scores.codes[some], scores.counts[some], scores.model)
        total = 0.0
        for block in scores.blocks():
            variance = self.covariance.errors(block.contrast()) ** 2
            total += float(scores.counts[block.rows] @ (1 / np.sqrt(1 + np.pi / 8 * variance)))
        return total / float(scores.counts.sum())

    def expected_accuracies(self, labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected balanced accuracies of ways to label, and the covariance of their errors.

        The error is that of the parameters, and that of the truth of these very items: the interval is one for the
        balanced accuracy that a check of all items would find. How open the truth is comes from log-odds that are
        averaged over the uncertainty of the rates; those of the fitted model are too sure.

        ``labels`` (n_ways, n_patterns): codes of the labels, -1 where a die is thrown.
        """
        scores, counts = self.panel.scores, self.panel.table.counts
        posterior = scores.model.posterior(scores.codes)
        n_classes = posterior.shape[1]
        items = counts[:, None] * posterior
        total = np.maximum(items.sum(axis=0), 1e-9)
        shares = np.stack([label_shares(way, n_classes) for way in labels])
        recalls = np.einsum("wpc,pc->wc", shares, items) / total
        # derivative of the balanced accuracy by the posterior of one item, less its mean over the classes
        slope = (shares - recalls[:, None, :]) / (n_classes * total)
        slope -= np.einsum("wpc,pc->wp", slope, posterior)[:, :, None]
        gradient = np.zeros((len(labels), scores.n_parameters))
        for block in scores.blocks():
            for state, (columns, values) in enumerate(block.by_state):
                gradient[:, columns] += (slope[:, block.rows, state] * items[block.rows, state]) @ values
        of_parameters = self.covariance.times(gradient) @ gradient.T
        unsure = probabilities(self.log_odds_shrinkage * log_rates(posterior))
        slope -= np.einsum("wpc,pc->wp", slope, unsure)[:, :, None]
        of_items = np.einsum("wpc,vpc,pc->wv", slope, slope, counts[:, None] * unsure, optimize=True)
        return recalls.mean(axis=1), of_parameters + of_items


def _inverse(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of an information matrix, very large in directions that nothing determines."""
    if not len(information):
        return information
    factor, failed = lapack.dpotrf(information, lower=1)
    if not failed:
        inverse, _ = lapack.dpotri(factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        # the norms bound the smallest and the largest eigenvalue
        if np.linalg.norm(inverse) * max(float(np.linalg.norm(information)), 1.0) * _SINGULAR < 1:
            return inverse
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, _SINGULAR * max(float(values[-1]), 1.0))
    return (vectors / values) @ vectors.T


def interval(centre: ArrayLike, error: ArrayLike, estimate: ArrayLike) -> NDArray[np.float64]:
    """Return 95 % intervals of rates, shape (..., 2), normal on the log-odds scale.

    A rate nearer to 0 or 1 than its error is moved off by it: there, log-odds say nothing.

    ``centre`` and ``error``: rates in the middle of the intervals and their standard errors; ``estimate``: the
    estimates that are reported, which the intervals hold.
    """
    edge = np.clip(error, 1e-9, 0.5)
    rates = np.clip(np.asarray(centre, dtype=np.float64), edge, 1 - edge)
    reach = _Z * np.asarray(error) / (rates * (1 - rates))
    middle = log_odds(rates)
    ends = np.stack([probability(middle - reach), probability(middle + reach)], axis=-1)
    return np.stack([np.minimum(ends[..., 0], estimate), np.maximum(ends[..., 1], estimate)], axis=-1)
