"""Richer hubs: kinds of items, such as easy and hard ones, within each class.

Errors are also shared because some items are hard for everybody. Here the hub has several states for each class;
groups and single voters hang on it as before, and EM is as exact. A state says how items cluster, not which class
they are, so every state carries the share of its items that are of each class.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from goldless.maths.em import Dirichlet, EMResult, run_em
from goldless.maths.em_large import finish_em
from goldless.maths.tree import TreeModel
from goldless.progress import part
from goldless.votes.passes import VoteSums

_START_CERTAINTY = 0.8  # weight of an item on its own bin when EM starts
_ITERATIONS = 100
_TOL = 1e-5
_LEVELS_OF_TWO_CLASSES = (2, 3)
_LEVELS = (2,)  # of more classes: three lose on real panels, though likelihood asks for them


LevelsFit = tuple[EMResult, Dirichlet]


def supported_levels(
    votes: VoteSums, model: TreeModel, log_likelihood: float, prior: Dirichlet, two: LevelsFit | None = None
) -> tuple[TreeModel, ...]:
    """Return the hubs with kinds of items that the votes support: two in each class, then for two classes three.

    A hub is supported if its gain in log-likelihood passes the BIC price, log(n) / 2 for each parameter. On real,
    misspecified votes the likelihood always asks for more states, so it decides whether there are kinds of items and
    not how many; those supported are averaged with the model without. Of two classes each state keeps the share of
    positive items that the model without sees in it: a state it leaves open stays open.

    If the table is a sample, the sample decides, and hubs that it supports are finished on all votes.

    ``model``: the model whose states are the classes; ``log_likelihood``: of the table under it; ``prior``:
    pseudo-counts behind it; ``two``: the fit with two kinds of items, if it was made before.
    """
    supported: list[TreeModel] = []
    tried = _LEVELS_OF_TWO_CLASSES if model.n_classes == 2 else _LEVELS
    for number, levels in enumerate(tried):
        with part("looking for kinds of items", number / len(tried), (number + 1) / len(tried)):
            found = two if two is not None and levels == 2 else fit_levels(votes, model, prior, levels)
        if found is None:
            break
        fitted, level_prior = found
        price = 0.5 * np.log(votes.table.n_items) * (fitted.model.n_states - model.n_classes) * (model.n_groups + 1)
        if fitted.log_likelihood - log_likelihood <= price:
            break
        if votes.engine is not None:
            fitted = finish_em(
                fitted.model, votes.expect_table, votes.expect, prior=level_prior, max_iter=_ITERATIONS, tol=_TOL
            )
        supported.append(_with_classes(votes, fitted.model, model))
    return tuple(supported)


def fit_levels(votes: VoteSums, model: TreeModel, prior: Dirichlet, levels: int) -> LevelsFit | None:
    """Fit a hub with so many kinds of items in each class; None if the model sees one class only."""
    evidence = model.class_evidence(votes.table.codes)
    labels = evidence.argmax(axis=1)
    if (labels == labels[0]).all():
        return None
    level_prior = _level_prior(model, prior, levels)
    packed = votes.packed(model.groups)
    start = level_prior.maximise(packed.unit_votes(_start_states(evidence, votes.table.counts, levels)))
    return run_em(start, packed.expect, prior=level_prior, max_iter=_ITERATIONS, tol=_TOL), level_prior


def _level_prior(model: TreeModel, prior: Dirichlet, levels: int) -> Dirichlet:
    """Return the pseudo-counts of a hub with so many states for each class."""
    n_classes = model.n_classes
    label = np.repeat(np.arange(n_classes), levels)
    n_states = len(label)
    start = TreeModel(
        model.groups,
        np.full(n_states, 1 / n_states),
        np.full((model.n_groups, n_classes, n_states), 1 / n_classes),
        np.full((model.n_voters, n_states, model.n_symbols), 1 / model.n_symbols),
        state_class=np.eye(n_classes)[label],
    )
    items = np.full(n_states, (prior.balance + 0.5) / levels)
    return Dirichlet(start, label, items, prior.right, prior.wrong, prior.pooled, silent=prior.silent)


def _start_states(evidence: NDArray[np.float64], counts: NDArray[np.integer], levels: int) -> NDArray[np.float64]:
    """Cut the items of each class into equal shares by how clear they are: start of Pr(state | votes)."""
    n_rows, n_classes = evidence.shape
    labels = evidence.argmax(axis=1)
    ordered = np.sort(evidence, axis=1)
    margin = (ordered[:, -1] - ordered[:, -2]) * np.where(labels == 0, -1.0, 1.0)
    states = np.empty(n_rows, dtype=np.int64)
    for label in range(n_classes):
        members = np.flatnonzero(labels == label)
        order = members[np.argsort(margin[members], kind="stable")]
        middle = np.cumsum(counts[order]) - counts[order] / 2
        share = (middle / max(float(counts[order].sum()), 1.0) * levels).astype(np.int64)
        states[order] = label * levels + np.minimum(share, levels - 1)
    n_states = n_classes * levels
    start = np.full((n_rows, n_states), (1 - _START_CERTAINTY) / (n_states - 1))
    start[np.arange(n_rows), states] = _START_CERTAINTY
    return start


def _with_classes(votes: VoteSums, levels: TreeModel, model: TreeModel) -> TreeModel:
    """Return the hub whose states have the share of each class that the model without kinds sees in them."""
    if model.n_classes > 2:
        return levels
    items, of_class = votes.sum(partial(_class_shares, levels, model))
    share = of_class / np.maximum(items, 1e-9)
    prior = float(of_class.sum() / max(float(items.sum()), 1e-9))
    return replace(levels, state_class=np.stack([1 - share, share], axis=1), class_prior=np.array([1 - prior, prior]))


def _class_shares(
    levels: TreeModel, model: TreeModel, codes: NDArray[np.int8], counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the items of each state, and those of them that the two-state model sees as positive."""
    states = levels.state_posterior(codes)
    return counts @ states, (counts * model.posterior(codes)[:, 1]) @ states
