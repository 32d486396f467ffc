"""Choose a small panel from a model alone, by the rule of the paper; see panels.py for the rule that sees votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldless.maths.tree import TreeModel


def select_voters(model: TreeModel, size: int, accuracy: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """Return the voters of a diverse panel, in the order they were chosen.

    First the most accurate voter of each group, best groups first (the paper's rule). When the panel is
    larger than the number of groups, further rounds take at most one more voter of each group, in the order
    of what it adds to the voters already chosen: the gain in :func:`separation`. Exact copies of a chosen
    voter come last.

    Parameters
    ----------
    model : TreeModel
        Fitted model.
    size : int
        Number of voters wanted, from 1 to ``model.n_voters``.
    accuracy : ndarray of shape (n_voters,), optional
        Balanced accuracy of each voter; by default that of the model.

    Examples
    --------
    >>> import goldless as gl
    >>> X, _ = gl.simulate_votes(2_000, groups=[4] + [1] * 4, random_state=0)
    >>> len(select_voters(gl.DawidSkene().fit(X).latent_model_, 3))
    3
    """
    if not 1 <= size <= model.n_voters:
        raise ValueError(f"a panel has between 1 and {model.n_voters} voters, got {size}")
    accuracy = model.balanced_accuracy if accuracy is None else accuracy
    by_accuracy = np.argsort(-accuracy, kind="stable")
    originals = model.copy_of == np.arange(model.n_voters)
    pool = [int(voter) for voter in by_accuracy if originals[voter]]
    copies = [int(voter) for voter in by_accuracy if not originals[voter]]
    chosen: list[int] = []
    while pool and len(chosen) < size:
        in_round: set[int] = set()
        first_round = not chosen
        while len(chosen) < size:
            candidates = [voter for voter in pool if int(model.groups[voter]) not in in_round]
            if not candidates:
                break
            best = candidates[0] if first_round else max(candidates, key=lambda v: separation(model, [*chosen, v]))
            chosen.append(best)
            pool.remove(best)
            in_round.add(int(model.groups[best]))
    return np.array((chosen + copies)[:size], dtype=np.int64)


def separation(model: TreeModel, voters: list[int]) -> float:
    """Return how far apart a panel's votes lie under the two labels, as a squared Mahalanobis distance.

    ``d' C^-1 d`` with d the difference of mean votes between the classes and C the mean of C+ and C- within the
    model. A voter that only repeats what others of its group say adds little.
    """
    positive, negative = model.conditional_covariance()
    within = (positive + negative) / 2
    difference = 2 * (model.sensitivity + model.specificity - 1)[voters]
    block = within[np.ix_(voters, voters)]
    return float(difference @ np.linalg.solve(block + 1e-9 * np.eye(len(voters)), difference))
