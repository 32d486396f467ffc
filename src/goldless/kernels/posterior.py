"""What votes say of the hub and of every latent, row by row in numpy: the E-step of any number of states.

Arrays have a column for each row of votes, and a row for each state: loops over rows are loops over neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SMALL = 1e-140


class Message(NamedTuple):
    """What the votes of a group say of the hub."""

    rates: NDArray[np.float64]  # (n_latent_states, n_states): Pr(alpha = a | hub)
    log_scale: NDArray[np.float64]  # (n_rows,): logarithm of what likelihoods are divided by
    # (n_latent_states, n_rows): of the votes of the group for each value of its latent, the largest 1
    likelihood: NDArray[np.float64]
    mixed: NDArray[np.float64]  # (n_states, n_rows): its mean over the latent given each state of the hub

    @classmethod
    def of(cls, evidence: NDArray[np.float64], rates: NDArray[np.float64]) -> Message:
        """Return the message of log-likelihoods of shape (n_latent_states, n_rows).

        Every row has the same bits whatever rows stand around it.
        """
        top = evidence.max(axis=0)
        likelihood = np.exp(evidence - top)
        mixed = rates[0][:, None] * likelihood[0]
        for of_value, likely in zip(rates[1:], likelihood[1:], strict=True):
            mixed += of_value[:, None] * likely
        return cls(rates, top, likelihood, np.maximum(mixed, _SMALL))


class Posterior(NamedTuple):
    """What rows expect, times the items they stand for."""

    hub: NDArray[np.float64]  # (n_states, n_rows): items in each state of the hub
    latents: list[NDArray[np.float64]]  # (n_latent_states, n_states): items with (alpha, hub), of every message
    # (n_latent_states, n_rows): items with each value of the latent, of every message
    parents: list[NDArray[np.float64]]
    log_likelihood: float  # of all rows


def posterior(hub: NDArray[np.float64], messages: Sequence[Message], counts: NDArray[np.float64]) -> Posterior:
    """Return what rows expect.

    ``hub`` (n_states, n_rows): log-probability of each state plus the log-likelihood of the votes without those of
    the messages; overwritten; ``counts`` (n_rows,): how many items each row stands for.
    """
    scale = np.zeros(hub.shape[1])
    for message in messages:
        hub += np.log(message.mixed)
        scale += message.log_scale
    top = hub.max(axis=0)
    hub -= top
    np.exp(hub, out=hub)
    total = hub.sum(axis=0)
    log_likelihood = float(counts @ (top + scale + np.log(total)))
    hub *= counts / total
    latents, parents = [], []
    for message in messages:
        share = hub / message.mixed
        latents.append(message.rates * (message.likelihood @ share.T))
        parents.append(message.likelihood * (message.rates @ share))
    return Posterior(hub, latents, parents, log_likelihood)
