"""Models from rates, from confusions, and of all voters from that of some."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.maths.checks import relabel
from goldless.maths.tree import TreeModel, first_like


def LatentModel(
    groups: ArrayLike,
    class_balance: float,
    group_sensitivity: ArrayLike,
    group_specificity: ArrayLike,
    sensitivity_given_group: ArrayLike,
    specificity_given_group: ArrayLike,
    copy_of: ArrayLike | None = None,
) -> TreeModel:
    """Return the model of two classes from its rates.

    Parameters
    ----------
    groups : array-like of shape (n_voters,)
        Group of each voter, the assignment function c; numbered 0, 1, ... in order of first appearance.
    class_balance : float
        Pr(Y = positive).
    group_sensitivity, group_specificity : array-like of shape (n_groups,)
        Pr(alpha_k = positive | Y = positive) and Pr(alpha_k = negative | Y = negative). A voter that is alone
        in its group usually has both equal to 1, so that alpha_k is Y.
    sensitivity_given_group, specificity_given_group : array-like of shape (n_voters,)
        Pr(f_i = positive | alpha = positive) and Pr(f_i = negative | alpha = negative).
    copy_of : array-like of shape (n_voters,), optional
        ``copy_of[i] = j`` says that voter i repeats voter j exactly and is no evidence of its own.

    Examples
    --------
    >>> model = LatentModel([0, 0, 1], 0.5, [0.8, 1], [0.8, 1], [0.9, 0.9, 0.7], [0.9, 0.9, 0.7])
    >>> model.sensitivity.round(2)
    array([0.74, 0.74, 0.7 ])
    >>> model.posterior([[1, 1, 0], [-1, -1, 1]])[:, 1].round(3)
    array([0.621, 0.7  ])
    """
    n_voters, n_groups = np.size(groups), int(np.max(groups, initial=-1)) + 1
    balance = _rates("class_balance", class_balance, ())
    of_groups = [
        _rates(name, values, (n_groups,))
        for name, values in (("group_specificity", group_specificity), ("group_sensitivity", group_sensitivity))
    ]
    of_voters = [
        _rates(name, values, (n_voters,))
        for name, values in (
            ("specificity_given_group", specificity_given_group),
            ("sensitivity_given_group", sensitivity_given_group),
        )
    ]
    return TreeModel(
        np.asarray(groups),
        np.array([1 - balance, balance]),
        _two_by_two(*of_groups).transpose(0, 2, 1),
        _two_by_two(*of_voters),
        copy_of=copy_of,  # type: ignore[arg-type]  # None and lists are taken too
    )


def _two_by_two(right_negative: NDArray[np.float64], right_positive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return tables [given, said] from how often each of two is said rightly."""
    return np.stack(
        [
            np.stack([right_negative, 1 - right_negative], axis=-1),
            np.stack([1 - right_positive, right_positive], axis=-1),
        ],
        axis=-2,
    )


def independent_model(prior: ArrayLike, confusion: ArrayLike) -> TreeModel:
    """Return the model of Dawid and Skene: every voter alone with Y.

    ``prior`` (n_classes,): Pr(Y); ``confusion`` (n_voters, n_classes, n_symbols): Pr(vote | Y) of each voter.
    """
    confusion = np.asarray(confusion, dtype=np.float64)
    n_voters, n_classes, _ = confusion.shape
    return TreeModel(np.arange(n_voters), np.asarray(prior), np.tile(np.eye(n_classes), (n_voters, 1, 1)), confusion)


def independent_rates(class_balance: float, sensitivity: ArrayLike, specificity: ArrayLike) -> TreeModel:
    """Return the model of two classes in which every voter is alone with Y, from their rates."""
    ones = np.ones(np.size(sensitivity))
    return LatentModel(np.arange(len(ones)), class_balance, ones, ones, sensitivity, specificity)


def embed(core: TreeModel, core_voter: NDArray[np.int64], symbol_share: NDArray[np.float64]) -> TreeModel:
    """Return the model of all voters from the model of the distinct, informative ones.

    ``core``: model of the voters that were fitted; its states are the classes; ``core_voter`` (n_voters,): voter of
    the core that each voter repeats, or -1 for a voter that carries no information; ``symbol_share`` (n_voters,
    n_symbols): share of each voter's votes for each symbol. A voter without information says a symbol with this
    probability whatever Y is.
    """
    n_voters = len(core_voter)
    known = core_voter >= 0
    groups = relabel(np.where(known, core.groups[core_voter], core.n_groups + np.arange(n_voters)))
    first = np.unique(groups, return_index=True)[1]
    copy_of = np.where(known, first_like(core_voter), np.arange(n_voters))
    of_core = core.latents[core.groups[core_voter[first]]]
    return TreeModel(
        groups=groups,
        prior=core.prior,
        latents=np.where(known[first][:, None, None], of_core, np.eye(core.n_states)),
        votes=np.where(known[:, None, None], core.votes[core_voter], symbol_share[:, None, :]),
        copy_of=copy_of,
    )


def _rates(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    rates = np.array(values, dtype=np.float64)
    if rates.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {rates.shape}")
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError(f"{name} must lie between 0 and 1")
    return rates
