"""Panels of a fit: names and costs become columns, and chosen columns become names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldless.families import families_of
from goldless.fitting.fitted import Fitted
from goldless.fitting.number_facts import cut_fit
from goldless.maths.correlations import effective_votes_of
from goldless.maths.ordered import midranks_of
from goldless.maths.panels import ClassesJudge, Judge, Panel, PanelChooser, judge_of, worth_their_cost
from goldless.shown import Shown
from goldless.words import listed, percent


class Panels(tuple[Panel, ...], Shown):
    """Panels, in order: a tuple that a notebook shows as a table.

    Examples
    --------
    >>> panels = Panels([Panel(("ann", "bob"), 2.0, 0.9, 0.88, 1.8)])
    >>> panels
    size accuracy  votes  voters
       2   90.0 %    1.8  ann, bob
    >>> panels.to_frame().index.tolist()
    [2]
    """

    def __repr__(self) -> str:
        rows = (
            f"{len(panel.voters):>4}  {percent(panel.balanced_accuracy):>7}  {panel.effective_votes:>5.1f}  "
            + listed(panel.voters)
            for panel in self
        )
        return "\n".join(["size accuracy  votes  voters", *rows])

    def to_frame(self) -> Any:
        """Return them as a pandas frame, a row for each panel, its size as index."""
        import pandas as pd

        columns = ("cost", "balanced_accuracy", "vote_accuracy", "effective_votes", "voters")
        found = {name: [getattr(panel, name) for panel in self] for name in columns}
        return pd.DataFrame(found, index=pd.Index([len(panel.voters) for panel in self], name="size"))


def choose_panel(
    fitted: Fitted,
    k: int | None,
    cost: Mapping | ArrayLike | None,
    budget: float | None,
    include: Iterable,
    exclude: Iterable,
    families: Any = None,
) -> NDArray:
    """Return the voters of a panel of k, or of the best panel within a budget."""
    n_voters = fitted.n_voters
    of_voters = families_of([str(name) for name in fitted.names_of(np.arange(n_voters))], families)
    forced, barred = _forced(fitted, include, exclude)
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
        chosen = _chooser(fitted, prices, forced, barred, of_voters).path(k)
        chosen += [voter for voter in _by_accuracy(fitted).tolist() if voter not in chosen and voter not in barred]
        return fitted.names_of(chosen[:k])
    if cost is None:
        raise ValueError("a budget needs cost=, the cost of each voter")
    prices = costs_of(fitted, cost)
    if not budget >= prices[forced].sum():
        forced_cost = f", less than the {prices[forced].sum():g} of the voters to include" if len(forced) else ""
        raise ValueError(f"the budget is {budget:g}{forced_cost}; it must not be negative")
    chooser = _chooser(fitted, prices, forced, barred)
    panels = _judged(fitted, chooser, chooser.grown(k, budget))
    if not panels:
        cheapest = np.delete(prices, barred).min()
        raise ValueError(f"no panel costs {budget:g} or less: the cheapest voter costs {cheapest:g}")
    best = max(panels, key=lambda panel: (panel.worth, -panel.cost))
    return fitted.names_of(list(best.voters))


def worthwhile_panels(
    fitted: Fitted, cost: Mapping | ArrayLike | None, include: Iterable, exclude: Iterable
) -> Panels:
    """Return the panels that no cheaper one equals, cheapest first."""
    forced, barred = _forced(fitted, include, exclude)
    if len(barred) == fitted.n_voters:
        raise ValueError("all voters are excluded")
    prices = np.ones(fitted.n_voters) if cost is None else costs_of(fitted, cost)
    chooser = _chooser(fitted, prices, forced, barred)
    panels = worth_their_cost(_judged(fitted, chooser, chooser.grown()))
    return Panels(replace(panel, voters=tuple(fitted.names_of(list(panel.voters)).tolist())) for panel in panels)


def judge_panels(
    fitted: Fitted, panels: Iterable[Iterable], cost: Mapping | ArrayLike | None = None
) -> tuple[Panel, ...]:
    """Return given panels with what can be expected of them."""
    prices = np.ones(fitted.n_voters) if cost is None else costs_of(fitted, cost)
    none = np.array([], dtype=np.int64)
    chooser = _chooser(fitted, prices, none, none)
    return tuple(_judged(fitted, chooser, [fitted.columns_of(voters).tolist() for voters in panels]))


def _judged(fitted: Fitted, chooser: PanelChooser, panels: Iterable[list[int]]) -> list[Panel]:
    """Return panels of columns with what can be expected of them."""
    votes = cut_fit(fitted).sample  # how far voters err together is a question of votes, not of numbers
    assert votes is not None
    echo = votes.echo()
    return [_judge(fitted, chooser, echo, voters) for voters in panels]


def _judge(
    fitted: Fitted, chooser: PanelChooser, echo: tuple[NDArray[np.float64], NDArray[np.bool_]], voters: list[int]
) -> Panel:
    return Panel(
        voters=tuple(voters),
        cost=chooser.cost(voters),
        balanced_accuracy=_combined_accuracy(fitted, voters),
        vote_accuracy=chooser.accuracy(voters)[1],
        effective_votes=effective_votes_of(*echo, voters),
    )


def _combined_accuracy(fitted: Fitted, voters: list[int]) -> float:
    """Return the expected balanced accuracy of the model's own combination of some voters, a tie as half right."""
    part = fitted.subset(voters)
    sample = part.sample
    assert sample is not None
    evidence = part.model.class_evidence(sample.codes) - part.number_cut * np.arange(part.n_classes)
    best = evidence == evidence.max(axis=1, keepdims=True)
    right = best / best.sum(axis=1, keepdims=True)
    return float((sample.weights.astype(np.float64) * right.T).sum(axis=1).mean())


def costs_of(fitted: Fitted, cost: Mapping | ArrayLike) -> NDArray[np.float64]:
    """Return one cost for each voter, checked."""
    n_voters = fitted.n_voters
    shown = fitted.names_of(np.arange(n_voters)).tolist()
    if isinstance(cost, Mapping):
        columns = fitted.columns_of(cost)
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


def _forced(fitted: Fitted, include: Iterable, exclude: Iterable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    forced, barred = (np.array(list(dict.fromkeys(fitted.columns_of(some).tolist())), dtype=np.int64)
                      for some in (include, exclude))  # fmt: skip
    both = np.intersect1d(forced, barred)
    if len(both):
        raise ValueError(f"voter {str(fitted.names_of([int(both[0])])[0])!r} is both included and excluded")
    return forced, barred


def _chooser(
    fitted: Fitted,
    prices: NDArray[np.float64],
    forced: NDArray[np.int64],
    barred: NDArray[np.int64],
    families: tuple[str | None, ...] | None = None,
) -> PanelChooser:
    """Return the chooser among voters that may be chosen, one of each set of exact copies: the cheapest.

    Voters that are expected to do worse than chance may not be, unless all are.
    """
    copy_of, accuracy = fitted.model.copy_of, fitted.recalls.mean(axis=1)
    good = accuracy >= min(1 / fitted.n_classes, accuracy.max())
    taken = set(copy_of[forced].tolist())
    pool: list[int] = []
    for voter in sorted(_by_accuracy(fitted).tolist(), key=lambda voter: prices[voter]):
        if good[voter] and voter not in barred and copy_of[voter] not in taken:
            taken.add(copy_of[voter])
            pool.append(voter)
    ordered = [voter for voter in _by_accuracy(fitted).tolist() if voter in set(pool)]
    if fitted.sample is None:
        raise ValueError(f"panels are judged voter by voter, and {fitted.n_voters:,} are too many: take a subset.")
    return PanelChooser(_judge_of(fitted), prices, forced, np.array(ordered, dtype=np.int64), families)


def _judge_of(fitted: Fitted) -> Judge:
    """Return the judge of panels: of numbers as they are, unless the user cuts them."""
    if fitted.bins is None or fitted.bins.positive_from is not None:
        fitted = cut_fit(fitted)
        assert fitted.sample is not None
        return judge_of(fitted.sample.codes, fitted.sample.weights, fitted.confusion)
    assert fitted.sample is not None
    assert fitted.symbol_share is not None
    ranks = midranks_of(fitted.symbol_share)
    shares = np.stack([1 - ranks, ranks], axis=1)
    return ClassesJudge(fitted.sample.codes, fitted.sample.weights, fitted.model.confusion, shares)


def _by_accuracy(fitted: Fitted) -> NDArray[np.int64]:
    """Return the voters, most accurate first, each original before its copies."""
    originals = fitted.model.copy_of == np.arange(fitted.n_voters)
    return np.lexsort([-fitted.recalls.mean(axis=1), ~originals])
