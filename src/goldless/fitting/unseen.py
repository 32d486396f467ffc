"""How many items nobody called: the truncated likelihood of caller files, two classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.errors import warn_user
from goldless.fitting.core import FitVotes
from goldless.fitting.fitted import Unseen
from goldless.fitting.given_groups import FitOptions, fit_given
from goldless.fitting.groups import find_groups
from goldless.fitting.solve import FREE_BALANCE
from goldless.kernels.sparse import tally
from goldless.maths.em import Dirichlet, run_em
from goldless.maths.tree import TreeModel
from goldless.votes.grouped import grouped
from goldless.votes.unseen import UnseenRows

FEWEST_CALLERS = 4  # three have as many rates as there are patterns that are seen
_Z = 1.959963984540054
_ROUNDS = 4  # of counting and looking for groups
_RESAMPLES = 20
_FEW_RESAMPLES = 8  # of many patterns
_MANY_PATTERNS = 1 << 12
_ITERATIONS = 200
_TOL = 1e-7
_IMPLAUSIBLE = 10.0  # times the upper end of the interval: no number of candidate items, whatever else it counts


def check_unseen(votes: FitVotes, at_least: Any) -> None:
    """Say why rows that too few voters call cannot be counted, if they cannot."""
    if votes.n_classes != 2:
        raise ValueError(f"at_least is for two classes, called or not, and the votes have {votes.n_classes}.")
    if at_least != int(at_least) or at_least < 1:
        raise ValueError(f"at_least must be a whole number of calls, at least 1, got {at_least!r}")
    cast, n_items = votes.counted.sketch.pairs.cast, votes.counted.sketch.n_voted_items
    always = np.flatnonzero(cast[1] == n_items)
    if len(always):
        raise ValueError(
            f"{votes.votes.voter_name(int(always[0]))} calls every item, so the items that it does not call are not "
            "known to be missing: leave it out."
        )
    if votes.sums.n_voters < FEWEST_CALLERS:
        raise ValueError(
            f"at_least needs {FEWEST_CALLERS} different voters, and there are {votes.sums.n_voters}: with fewer, "
            "items that nobody called cannot be told from rates."
        )
    fewest = _fewest_calls(votes)
    if fewest < at_least:
        raise ValueError(f"at_least={at_least}, but there is an item that only {fewest} voter(s) call.")


def with_unseen(votes: FitVotes, at_least: int, n_known: float | None = None) -> FitVotes:
    """Return the votes with the rows that too few voters call."""
    copies = np.bincount(votes.core_voter[votes.core_voter >= 0], minlength=votes.sums.n_voters)
    rows = UnseenRows.of(votes.table, int(at_least), copies, n_known)
    return replace(votes, sums=replace(votes.sums, unseen=rows, _packed={}))


def _fewest_calls(votes: FitVotes) -> int:
    """Return the fewest calls of an item that has a vote."""
    table = votes.counted.sketch.table
    of_rows = tally(table.codes, 2)
    calls, voted = of_rows[:, 1], of_rows.any(axis=1)
    return int(calls[voted & (table.counts > 0)].min())


def seen_in_covariance(votes: FitVotes, model: TreeModel) -> FitVotes:
    """Return the votes whose covariance counts the unseen rows as a model expects them.

    Truncation makes all voters look as if they avoided each other; the moments of all items are those of the items
    seen with the unseen ones added.
    """
    assert votes.sums.unseen is not None
    return replace(votes, unseen=votes.sums.unseen.rows(model, votes.n_items))


def count_unseen(votes: FitVotes, at_least: int, model: TreeModel, prior: Dirichlet) -> Unseen:
    """Count the unseen items under a model, with an interval from resampled items.

    The interval is normal on the log scale. Its variance is that of refits to resampled items, and that of the number
    itself given the rates, which is negative binomial: (1 + n0 / n) / n0 of the logarithm.
    """
    rows = votes.sums.unseen
    assert rows is not None
    n_known, n_items = rows.n_known, float(votes.n_items)
    rows = replace(rows, n_known=None)
    prior = prior.with_balance(FREE_BALANCE)  # a prior on the class balance would bias the number
    free = _refit(votes, votes.table.counts, rows, model, prior)
    items = float(rows.items(free, n_items)[0].sum())
    rng = np.random.default_rng(0)
    counts = votes.table.counts
    n_resamples = _RESAMPLES if len(counts) <= _MANY_PATTERNS else _FEW_RESAMPLES
    logarithms = []
    for _ in range(n_resamples):
        resampled = rng.multinomial(int(counts.sum()), counts / counts.sum())
        again = _refit(votes, resampled, rows, free, prior)
        logarithms.append(np.log(max(float(rows.items(again, n_items)[0].sum()), 1e-9)))
    own = (1 + items / n_items) / max(items, 1e-9)
    reach = _Z * np.sqrt(np.var(logarithms, ddof=1) + own)
    interval = items * np.exp(np.array([-reach, reach]))
    if n_known is not None and n_known > _IMPLAUSIBLE * interval[1]:
        raise ValueError(
            f"unseen={n_known:,.0f} is not a number of candidate items: the votes say about {items:,.0f} "
            f"({interval[0]:,.0f} to {interval[1]:,.0f}). Positions that nobody would ever call, as in the length of "
            "a genome, are no candidates: with them two false calls together look impossible, and every pair of "
            "calls true. Leave unseen out."
        )
    return Unseen(int(at_least), items if n_known is None else float(n_known), interval, n_known is not None)


def _refit(
    votes: FitVotes, counts: NDArray[np.integer], rows: UnseenRows, model: TreeModel, prior: Dirichlet
) -> TreeModel:
    """Fit again with other counts of the rows seen."""
    table = replace(votes.table, counts=np.asarray(counts, dtype=np.int64))
    passes = grouped(table, model.groups, rows)
    return run_em(model, passes.expect, prior=prior, max_iter=_ITERATIONS, tol=_TOL).model


def seen_if(votes: FitVotes, options: FitOptions) -> FitOptions:
    """Return the options with how many calls an item needs to be seen: as the user says, or else as the votes do.

    What only the votes say is no reason to refuse them: if unseen items cannot be counted, that is said.
    """
    at_least, listed = options.at_least, votes.votes.at_least
    if at_least == 0:
        return replace(options, at_least=None)
    if at_least is None and listed is None:
        return options
    wanted = replace(options, at_least=listed if at_least is None else at_least)
    try:
        if not options.em or options.start == "two-stage" or options.abstain == "informative":
            raise ValueError("at_least enters through EM from votes: leave em, start and abstain at their defaults.")
        check_unseen(votes, wanted.at_least)
    except ValueError as error:
        if at_least is not None:
            raise
        warn_user(f"Items that nobody called are not counted: {error}")
        return options
    return wanted


def add_unseen(votes: FitVotes, options: FitOptions) -> FitVotes:
    """Return the votes with the rows that too few voters call, in EM and in the covariance, if there are such rows.

    How many there are hangs on the groups, and what groups are found on the covariance: a few rounds, from no groups.
    """
    if options.at_least is None:
        return votes
    votes = with_unseen(votes, options.at_least, options.n_unseen)
    groups, overdispersion = np.arange(votes.sums.n_voters), 1.0
    for _ in range(_ROUNDS):
        model = fit_given(votes, options, groups, overdispersion).result.model
        votes = seen_in_covariance(votes, model)
        if isinstance(options.structure, str) and options.structure == "independent":
            break
        found = find_groups(votes, options.structure, options.n_groups)
        if np.array_equal(found.groups, groups):
            break
        groups, overdispersion = found.groups, found.overdispersion
    return votes


def unseen_of(votes: FitVotes, options: FitOptions, model: TreeModel, prior: Dirichlet) -> Unseen | None:
    """Return how many items too few voters call to be listed, if that is how votes were listed."""
    if options.at_least is None:
        return None
    return count_unseen(votes, options.at_least, model, prior.for_groups(model.groups))
