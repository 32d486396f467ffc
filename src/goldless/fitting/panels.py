"""Panels of a fitted estimator: names and costs become columns, and chosen columns become names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.maths.correlations import effective_votes_of
from goldless.maths.panels import Panel, PanelChooser, worth_their_cost


def choose_panel(
    model: Any,
    k: int | None,
    cost: Mapping | ArrayLike | None,
    budget: float | None,
    include: Iterable,
    exclude: Iterable,
) -> NDArray:
    """Return the voters of a panel of k, or of the best panel within a budget."""
    n_voters = model.n_features_in_
    forced, barred = _forced(model, include, exclude)
    available = n_voters - len(barred)
    if k is not None and not max(len(forced), 1) <= k <= available:
        but = f" ({len(barred)} of {n_voters} are excluded)" if len(barred) else ""
        raise ValueError(f"a panel has between {max(len(forced), 1)} and {available} voters, got {k}{but}")
    if budget is None:
        if k is None:
            raise ValueError("say how large the panel may be: its size k, or cost and budget")
        if cost is not None:
            raise ValueError("with cost, say the budget too; panels(cost=...) lists panels for every budget")
        prices = np.ones(n_voters)
        chosen = _chooser(model, prices, forced, barred).path(k)
        chosen += [voter for voter in _by_accuracy(model).tolist() if voter not in chosen and voter not in barred]
        return _named(model, chosen[:k])
    if cost is None:
        raise ValueError("a budget needs cost=, the cost of each voter")
    prices = costs_of(model, cost)
    if not budget >= prices[forced].sum():
        forced_cost = f", less than the {prices[forced].sum():g} of the voters to include" if len(forced) else ""
        raise ValueError(f"the budget is {budget:g}{forced_cost}; it must not be negative")
    chooser = _chooser(model, prices, forced, barred)
    panels = _judged(model, chooser, chooser.grown(k, budget))
    if not panels:
        cheapest = np.delete(prices, barred).min()
        raise ValueError(f"no panel costs {budget:g} or less: the cheapest voter costs {cheapest:g}")
    best = max(panels, key=lambda panel: (panel.worth, -panel.cost))
    return _named(model, list(best.voters))


def worthwhile_panels(
    model: Any, cost: Mapping | ArrayLike | None, include: Iterable, exclude: Iterable
) -> tuple[Panel, ...]:
    """Return the panels that no cheaper one equals, cheapest first."""
    forced, barred = _forced(model, include, exclude)
    if len(barred) == model.n_features_in_:
        raise ValueError("all voters are excluded")
    prices = np.ones(model.n_features_in_) if cost is None else costs_of(model, cost)
    chooser = _chooser(model, prices, forced, barred)
    panels = worth_their_cost(_judged(model, chooser, chooser.grown()))
    return tuple(replace(panel, voters=tuple(_named(model, list(panel.voters)).tolist())) for panel in panels)


def judge_panels(
    model: Any, panels: Iterable[Iterable], cost: Mapping | ArrayLike | None = None
) -> tuple[Panel, ...]:
    """Return given panels with what can be expected of them."""
    prices = np.ones(model.n_features_in_) if cost is None else costs_of(model, cost)
    none = np.array([], dtype=np.int64)
    chooser = _chooser(model, prices, none, none)
    return tuple(_judged(model, chooser, [columns_of(model, voters).tolist() for voters in panels]))


def _judged(model: Any, chooser: PanelChooser, panels: Iterable[list[int]]) -> list[Panel]:
    """Return panels of columns with what can be expected of them."""
    echo = model._sample_.echo()
    return [_judge(model, chooser, echo, voters) for voters in panels]


def _judge(
    model: Any, chooser: PanelChooser, echo: tuple[NDArray[np.float64], NDArray[np.bool_]], voters: list[int]
) -> Panel:
    return Panel(
        voters=tuple(voters),
        cost=chooser.cost(voters),
        balanced_accuracy=_combined_accuracy(model, voters),
        vote_accuracy=chooser.accuracy(voters)[1],
        effective_votes=effective_votes_of(*echo, voters),
    )


def _combined_accuracy(model: Any, voters: list[int]) -> float:
    """Return the expected balanced accuracy of the model's own combination of some voters."""
    sample = model._sample_.subset(voters)
    signs = np.sign(model.latent_model_.subset(np.array(voters)).log_likelihood_ratio(sample.codes))
    return float(0.5 + 0.25 * (sample.weights[1] - sample.weights[0]).astype(np.float64) @ signs)


def columns_of(model: Any, voters: Iterable) -> NDArray[np.int64]:
    """Return the columns of voters given by name, or by column number."""
    names = getattr(model, "feature_names_in_", None)
    position = {} if names is None else {name: column for column, name in enumerate(names.tolist())}
    found = []
    for voter in [voters] if isinstance(voters, str) else list(voters):
        if voter in position:
            found.append(position[voter])
        elif isinstance(voter, Integral) and 0 <= int(voter) < model.n_features_in_:
            found.append(int(voter))
        else:
            raise ValueError(f"there is no voter {str(voter)!r}")
    return np.array(found, dtype=np.int64)


def costs_of(model: Any, cost: Mapping | ArrayLike) -> NDArray[np.float64]:
    """Return one cost for each voter, checked."""
    n_voters = model.n_features_in_
    names = getattr(model, "feature_names_in_", None)
    shown = list(range(n_voters)) if names is None else names.tolist()
    if isinstance(cost, Mapping):
        columns = columns_of(model, cost)
        prices = np.full(n_voters, np.nan)
        prices[columns] = [float(price) for price in cost.values()]
        lacking = np.setdiff1d(np.arange(n_voters), columns)
        if len(lacking):
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise ValueError(f"no cost is given for voter {str(shown[lacking[0]])!r}{more}")
    else:
        prices = np.asarray(cost, dtype=np.float64)
        if prices.shape != (n_voters,):
            raise ValueError(f"cost must be one number for each of {n_voters} voters, got shape {prices.shape}")
    wrong = np.flatnonzero(~(prices >= 0) | np.isinf(prices))
    if len(wrong):
        voter, price = shown[wrong[0]], prices[wrong[0]]
        raise ValueError(f"the cost of voter {str(voter)!r} is {price:g}; it must be a number of 0 or more")
    return prices


def _forced(model: Any, include: Iterable, exclude: Iterable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    forced, barred = (np.array(list(dict.fromkeys(columns_of(model, some).tolist())), dtype=np.int64)
                      for some in (include, exclude))  # fmt: skip
    both = np.intersect1d(forced, barred)
    if len(both):
        raise ValueError(f"voter {str(_named(model, [int(both[0])])[0])!r} is both included and excluded")
    return forced, barred


def _chooser(
    model: Any, prices: NDArray[np.float64], forced: NDArray[np.int64], barred: NDArray[np.int64]
) -> PanelChooser:
    """Return the chooser among voters that may be chosen, one of each set of exact copies: the cheapest."""
    copy_of = model.latent_model_.copy_of
    taken = set(copy_of[forced].tolist())
    pool: list[int] = []
    for voter in sorted(_by_accuracy(model).tolist(), key=lambda voter: prices[voter]):
        if voter not in barred and copy_of[voter] not in taken:
            taken.add(copy_of[voter])
            pool.append(voter)
    ordered = [voter for voter in _by_accuracy(model).tolist() if voter in set(pool)]
    sample = model._sample_
    votes = np.where(sample.codes < 0, 0, 2 * sample.codes - 1).astype(np.int8)
    return PanelChooser(votes, sample.weights, prices, forced, np.array(ordered, dtype=np.int64))


def _by_accuracy(model: Any) -> NDArray[np.int64]:
    """Return the voters, most accurate first, each original before its copies."""
    originals = model.latent_model_.copy_of == np.arange(model.n_features_in_)
    return np.lexsort([-model.balanced_accuracy_, ~originals])


def _named(model: Any, chosen: list[int]) -> NDArray:
    names = getattr(model, "feature_names_in_", None)
    columns = np.array(chosen, dtype=np.int64)
    return columns if names is None else names[columns]
