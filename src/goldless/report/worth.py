"""How much voters are worth together: estimates from the fitted latent model, without labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.maths.latent_model import LatentModel
from goldless.maths.selection import separation

_RIDGE = 1e-9


def effective_votes(model: LatentModel, voters: NDArray[np.integer] | None = None) -> float:
    """Return how many independent voters of average quality would tell the classes apart as well as these do.

    ``d' C^-1 d`` is the separation of the classes by the votes (:func:`goldless.maths.selection.separation`); voters
    that are independent given the label add theirs. So the number is the separation of all, divided by the mean
    separation of one: m for m independent voters, 1 for m copies. It is an estimate: as good as the fitted model,
    and for items on which everybody votes.

    Examples
    --------
    >>> from goldless.maths.latent_model import independent_model
    >>> round(effective_votes(independent_model(0.5, [0.7, 0.8, 0.9], [0.7, 0.8, 0.9])), 6)
    3.0
    """
    chosen = np.arange(model.n_voters) if voters is None else np.asarray(voters)
    alone = np.array([separation(model, [int(voter)]) for voter in chosen])
    if alone.sum() <= 0:
        return 0.0
    originals = chosen[np.unique(model.copy_of[chosen], return_index=True)[1]]
    together = separation(model, [int(voter) for voter in originals])
    return float(np.clip(together / alone.mean(), min(1.0, len(chosen)), len(chosen)))


def uniqueness(model: LatentModel) -> NDArray[np.float64]:
    """Return the share of each voter's variance, within a class, that the votes of the others do not explain.

    ``1 / (C_ii (C^-1)_ii)`` with C the mean of C+ and C- in the model: 1 for a voter independent of all others
    given the label, 0 for an exact copy.
    """
    positive, negative = model.conditional_covariance()
    within = (positive + negative) / 2
    copies = np.bincount(model.copy_of, minlength=model.n_voters)[model.copy_of] > 1
    originals = np.flatnonzero(model.copy_of == np.arange(model.n_voters))
    block = within[np.ix_(originals, originals)] + _RIDGE * np.eye(len(originals))
    share = np.ones(model.n_voters)
    share[originals] = 1 / (np.diag(block) * np.diag(np.linalg.inv(block)))
    return np.where(copies, 0.0, np.clip(share, 0.0, 1.0))


def expected_balanced_accuracy(
    labels: NDArray[np.integer], posterior: NDArray[np.float64], counts: NDArray[np.integer]
) -> float:
    """Return the balanced accuracy of labels if the posterior of the fitted model is right.

    Parameters
    ----------
    labels : ndarray of shape (n_patterns,)
        0 and 1.
    posterior : ndarray of shape (n_patterns,)
        Pr(Y positive | votes).
    counts : ndarray of shape (n_patterns,)
        Items with each pattern.
    """
    positive, negative = counts * posterior, counts * (1 - posterior)
    sensitivity = positive @ (labels == 1) / max(positive.sum(), 1e-300)
    specificity = negative @ (labels == 0) / max(negative.sum(), 1e-300)
    return float((sensitivity + specificity) / 2)


def unexplained_share(
    covariance: NDArray[np.float64], fitted: NDArray[np.float64], standard_error: NDArray[np.float64]
) -> float:
    """Return the share of the squared covariances that the model leaves over, beyond what chance leaves."""
    off = ~np.eye(len(covariance), dtype=bool)
    known = off & np.isfinite(covariance) & np.isfinite(standard_error)
    total = float((covariance[known] ** 2).sum())
    left = float(((covariance - fitted)[known] ** 2 - standard_error[known] ** 2).sum())
    return float(np.clip(left / total, 0.0, 1.0)) if total > 0 else 0.0
