"""EM on very many items by few passes over them: a sample shows the way, all items say where it leads.

Let E(theta) be the expected counts of all items and S(theta) those of a sample, scaled to as many items. Around a
model theta_0 the two differ by nearly the same counts D = E(theta_0) - S(theta_0), so EM on the sample with D added
to its counts ends close to where EM on all items would; a pass over all items at that point gives a new D. Each pass
over all items thus does the work of many plain steps: the distance to the optimum shrinks by about 1 / sqrt(items in
the sample).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from goldless.maths.em import Dirichlet, EMResult, ExpectedCounts, run_em
from goldless.maths.tree import TreeModel

_FLOOR = 1e-300
_INNER_TOL = 1e-10


def finish_em(
    start: TreeModel,
    on_sample: Callable[[TreeModel], ExpectedCounts],
    on_all: Callable[[TreeModel], ExpectedCounts],
    *,
    prior: Dirichlet,
    max_iter: int,
    tol: float,
) -> EMResult:
    """Run EM to convergence on all items, most of its steps on a sample of them.

    ``start``: where to start: best the optimum on the sample; ``on_sample`` and ``on_all``: one pass over the sample
    and over all items: the expected counts under a model; ``prior``: pseudo-counts and the M-step; ``max_iter``: most
    passes over all items, and most steps on the sample between two of them; ``tol``: stop when a pass over all items
    finds at most this gain in log-likelihood per item. In the result ``n_iter`` counts passes over all items, and the
    objective is that of all items.
    """
    model, best = start, start
    counts = on_all(model)
    objective = [counts.log_likelihood + prior.log_density(model)]
    n_items = max(float(counts.labels.sum()), 1.0)
    gap, n_passes = np.inf, 1
    while n_passes < max_iter:
        of_sample = on_sample(model)
        corrected = _Corrected(on_sample, n_items / max(float(of_sample.labels.sum()), 1.0), counts, of_sample)
        model = run_em(model, corrected, prior=prior, max_iter=max_iter, tol=min(tol, _INNER_TOL)).model
        new_counts = on_all(model)
        n_passes += 1
        new_objective = new_counts.log_likelihood + prior.log_density(model)
        gap = (new_objective - objective[-1]) / n_items
        if gap <= 0.0:  # as good as it gets, or the sample leads astray: plain steps decide
            plain = run_em(best, on_all, prior=prior, max_iter=max_iter, tol=tol)
            return replace(plain, n_iter=plain.n_iter + n_passes)
        best, counts = model, new_counts
        objective.append(new_objective)
        if gap <= tol:
            break
    return EMResult(
        model=prior.maximise(counts),
        log_likelihood=counts.log_likelihood,
        objective=np.array(objective),
        n_iter=n_passes,
        converged=bool(gap <= tol),
        gap=float(gap),
    )


class _Corrected:
    """The expected counts of the sample, scaled, plus what all items showed beyond them at one model."""

    def __init__(
        self,
        on_sample: Callable[[TreeModel], ExpectedCounts],
        scale: float,
        of_all: ExpectedCounts,
        of_sample: ExpectedCounts,
    ):
        self._on_sample, self._scale = on_sample, scale
        self._labels = of_all.labels - scale * of_sample.labels
        self._latents = of_all.latents - scale * of_sample.latents
        self._votes = of_all.votes - scale * of_sample.votes

    def __call__(self, model: TreeModel) -> ExpectedCounts:
        counts, scale = self._on_sample(model), self._scale
        # the counts added are linear in the log-parameters, so the sum has an objective that EM never lowers
        extra = (
            (self._labels * _log(model.prior)).sum()
            + (self._latents * _log(model.latents)).sum()
            + (self._votes * model.log_votes).sum()
        )
        return ExpectedCounts(
            np.maximum(scale * counts.labels + self._labels, 0.0),
            np.maximum(scale * counts.latents + self._latents, 0.0),
            np.maximum(scale * counts.votes + self._votes, 0.0),
            scale * counts.log_likelihood + float(extra),
        )


def _log(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(rates, _FLOOR))
