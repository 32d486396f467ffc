"""The tree model on sparse rows: likelihoods, and what every pass of EM adds up.

All sums are those over packed rows (:mod:`goldless.kernels.tree`); a voter that is silent is not visited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled
from goldless.kernels.sparse import Codes, SparseCodes
from goldless.kernels.threads import ordered_map, row_chunks
from goldless.kernels.tree import in_fours

_TINY = 1e-300
_CHUNK_ROWS = 1 << 15
_ROWS_AT_ONCE = 1 << 12  # what they read stays in the cache until it is counted
_VOTES_OF_A_PIECE = 1 << 16  # fewer are not cut
_MOST_PIECES = 16
_TABLES_AT_ONCE = 4


@dataclass(frozen=True, eq=False)
class SparseLayout:
    """Votes laid out for passes of EM."""

    starts: NDArray[np.int64]  # (n_rows + 1,): where the votes of each row start
    cells: NDArray[np.uint32]  # (n_votes,): uint32: voter times symbols plus symbol of every vote, row after row
    counts: NDArray[np.float64]  # (n_rows,): how many items each row stands for
    n_voters: int
    n_symbols: int
    # tables that earlier passes have left: fresh memory costs as much as a pass
    spare: list[NDArray[np.float64]] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, codes: Codes, n_symbols: int, counts: NDArray[np.float64]) -> SparseLayout:
        """Lay out rows."""
        if isinstance(codes, SparseCodes):
            return cls(codes.starts, codes.cells(n_symbols), counts, codes.n_voters, n_symbols)
        from goldless.kernels.flat import lay_out  # brings Numba along

        starts, cells = np.empty(len(codes) + 1, dtype=np.int64), np.empty(codes.size + 1, dtype=np.uint32)
        lay_out(codes, n_symbols, starts, cells)
        return cls(starts, cells[: starts[-1]], counts, codes.shape[1], n_symbols)

    def empty_table(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return a table of zeros."""
        try:
            table = self.spare.pop()
        except IndexError:
            return np.zeros(shape)
        if table.shape != shape:
            return np.zeros(shape)
        table.fill(0.0)
        return table

    @cached_property
    def pieces(self) -> list[slice]:
        """Pieces of the rows, of about as many votes each.

        They depend on the votes alone, so any number of threads gives the same bits. Each has a table of its own, so
        there are no more than their votes fill.
        """
        n_rows, n_votes = len(self.starts) - 1, int(self.starts[-1])
        work, filled = max(n_votes, n_rows), 4 * self.n_voters * self.n_symbols
        n_pieces = int(np.clip(min(work // _VOTES_OF_A_PIECE, work // max(filled, 1)), 1, _MOST_PIECES))
        places = np.searchsorted(self.starts + np.arange(n_rows + 1), np.linspace(0, n_votes + n_rows, n_pieces + 1))
        places[0], places[-1] = 0, n_rows
        return [slice(int(first), int(last)) for first, last in pairwise(places)]


@dataclass(frozen=True, eq=False)
class SparseTree:
    """A tree model as the arrays that passes over sparse rows read."""

    # (n_voters * n_symbols, n_parent_states): log-probability of every vote in each state of the voter's parent
    log_votes: NDArray[np.float64]
    latent_of: NDArray[np.int64]  # (n_voters,): number of the latent that a voter hangs on, -1 for the hub itself
    # (n_latents, n_latent_states, n_states): Pr(alpha = a | state) of those groups that have a latent of their own
    rates: NDArray[np.float64]
    log_prior: NDArray[np.float64]  # (n_states,)
    n_symbols: int

    @classmethod
    def of(
        cls,
        log_votes: NDArray[np.float64],
        groups: NDArray[np.int64],
        latents: NDArray[np.float64],
        has_latent: NDArray[np.bool_],
        prior: NDArray[np.float64],
    ) -> SparseTree:
        """Return the arrays of a model, as :class:`goldless.maths.tree.TreeModel` holds it."""
        number = np.where(has_latent, np.cumsum(has_latent) - 1, -1)
        n_voters, n_parents, n_symbols = log_votes.shape
        return cls(
            np.ascontiguousarray(log_votes.transpose(0, 2, 1)).reshape(n_voters * n_symbols, n_parents),
            number[groups],
            np.ascontiguousarray(latents[has_latent]),
            np.log(np.maximum(prior, _TINY)),
            n_symbols,
        )

    def hub_log_likelihood(self, codes: SparseCodes) -> NDArray[np.float64]:
        """Return log Pr(votes of the row | state of the hub), shape (n_rows, n_states)."""
        from goldless.kernels.flat import collect

        cells, out = self._cells(codes), np.empty((len(codes), len(self.log_prior)))
        even = np.zeros(len(self.log_prior))

        def fill(rows: slice) -> None:
            starts = codes.starts[rows.start : rows.stop + 1]
            if self._is_flat:
                collect(starts, cells, self.log_votes, even, out[rows])
            else:
                _evaluate(starts, cells, self.log_votes, self.latent_of, self.rates, self.n_symbols, out[rows])

        ordered_map(fill, row_chunks(len(codes), _CHUNK_ROWS))
        return out

    def _cells(self, codes: SparseCodes) -> NDArray[np.uint32]:
        if codes.n_voters != len(self.latent_of) or codes.symbols.max(initial=0) >= self.n_symbols:
            raise ValueError(
                f"votes of {len(self.latent_of)} voters for one of {self.n_symbols} symbols are needed, got others"
            )
        return codes.cells(self.n_symbols)

    def expect(self, layout: SparseLayout) -> SparseSums:
        """Return what the rows add to an E-step."""

        def add(rows: slice, sums: SparseSums) -> float:
            if self._is_flat:
                return self._share(layout, rows, sums, self._collect)
            starts, counts = layout.starts[rows.start : rows.stop + 1], layout.counts[rows]
            return float(
                _expect(
                    starts, layout.cells, counts, self.log_votes, self.latent_of, self.rates, self.log_prior,
                    self.n_symbols, sums.labels, sums.latents, sums.voted, sums.votes,
                )
            )  # fmt: skip

        return self._sum(layout, add)

    @property
    def _is_flat(self) -> bool:
        """Whether every voter hangs on the hub."""
        return not len(self.rates) and self.log_votes.shape[1] == len(self.log_prior)

    def _collect(
        self, layout: SparseLayout, rows: slice, hub: NDArray[np.float64], tops: NDArray[np.float64]
    ) -> None:
        """Fill ``hub`` with what some rows say of the states, as a share of what they say of the likeliest."""
        from goldless.kernels.flat import collect, lower  # brings Numba along

        collect(layout.starts[rows.start : rows.stop + 1], layout.cells, self.log_votes, self.log_prior, hub)
        lower(hub, tops)
        np.exp(hub, out=hub)  # of many at once these are cheap

    def _share(self, layout: SparseLayout, rows: slice, sums: SparseSums, fill: Callable[..., None]) -> float:
        """Count the votes of some rows by the states that ``fill`` finds likely, if every voter hangs on the hub."""
        from goldless.kernels.flat import count, share

        log_likelihood = 0.0
        # what rows read stays in the cache until it is counted, unless the tables are larger than the cache anyway
        at_once = max(min(max(_ROWS_AT_ONCE, len(self.log_votes)), rows.stop - rows.start), 1)
        hubs, all_tops, all_totals = np.empty((at_once, len(self.log_prior))), np.zeros(at_once), np.empty(at_once)
        items = np.zeros((at_once, sums.votes.shape[1]))
        for first in range(rows.start, rows.stop, at_once):
            here = slice(first, min(first + at_once, rows.stop))
            starts, counts, n_rows = layout.starts[first : here.stop + 1], layout.counts[here], here.stop - first
            hub, tops, totals = hubs[:n_rows], all_tops[:n_rows], all_totals[:n_rows]
            fill(layout, here, hub, tops)
            share(counts, hub, totals, sums.labels, items)
            count(starts, layout.cells, items, sums.votes)
            np.log(totals, out=totals)
            totals += tops
            log_likelihood += float(np.einsum("i,i->", counts, totals))  # not by BLAS, whose threads would wait
        return log_likelihood

    def unit_votes(self, layout: SparseLayout, hub: NDArray[np.float64] | None) -> SparseSums:
        """Return what starts EM: every group, and every voter alone, has one soft vote on the rows it votes on.

        ``hub`` is the start of Pr(state | votes); by default the mean over units of their mean vote.
        """
        given = hub is not None
        n_states = len(self.log_prior)
        start = np.empty((0, n_states)) if hub is None else np.ascontiguousarray(hub)
        named = np.tile(np.eye(self.n_symbols), (len(self.latent_of), 1)) if self._is_flat else start

        def mean_votes(layout: SparseLayout, rows: slice, out: NDArray[np.float64], tops: Any) -> None:
            from goldless.kernels.flat import collect

            if given:
                np.copyto(out, start[rows])
                return
            starts = layout.starts[rows.start : rows.stop + 1]
            collect(starts, layout.cells, named, np.zeros(n_states), out)
            out[starts[1:] == starts[:-1], 0] = 1.0  # a row without votes is for the first

        def add(rows: slice, sums: SparseSums) -> float:
            if self._is_flat:
                return self._share(layout, rows, sums, mean_votes)
            _unit_votes(
                layout.starts[rows.start : rows.stop + 1], layout.cells, layout.counts[rows], self.latent_of,
                self.n_symbols, given, start[rows] if given else start, sums.labels, sums.latents, sums.votes,
            )  # fmt: skip
            return 0.0

        return self._sum(layout, add)

    def _sum(self, layout: SparseLayout, add: Callable[[slice, SparseSums], float]) -> SparseSums:
        """Go through the rows, a table of votes for each piece of them."""
        if len(self.latent_of) != layout.n_voters or self.n_symbols != layout.n_symbols:
            raise ValueError(f"a model of {len(self.latent_of)} voters, and votes of {layout.n_voters}")
        n_latents, n_latent, n_states = self.rates.shape

        n_cells, n_parents = self.log_votes.shape
        width = in_fours(n_parents) if self._is_flat else n_parents

        def of_rows(rows: slice) -> SparseSums:
            votes = layout.empty_table((n_cells, width))
            latents, voted = np.zeros((n_latents, n_latent, n_states)), np.zeros((n_latents, n_states))
            sums = SparseSums(np.zeros(n_states), latents, voted, votes, 0.0)
            return replace(sums, log_likelihood=add(rows, sums))

        total: SparseSums | None = None
        for start in range(0, len(layout.pieces), _TABLES_AT_ONCE):
            for part in ordered_map(of_rows, layout.pieces[start : start + _TABLES_AT_ONCE]):
                if total is None:
                    total = part
                else:
                    total = total.plus(part)
                    layout.spare.append(part.votes)
        assert total is not None
        votes = total.votes
        if width > n_parents:
            votes = np.ascontiguousarray(votes[:, :n_parents])
            layout.spare.append(total.votes)
        return replace(total, votes=votes.reshape(layout.n_voters, self.n_symbols, n_parents))


@dataclass(frozen=True, eq=False)
class SparseSums:
    """What a pass adds up over sparse rows. Sums of two blocks of rows add."""

    labels: NDArray[np.float64]  # (n_states,): expected items of each state
    # (n_latents, n_latent_states, n_states): expected items with (alpha, state), over the rows where the group votes
    latents: NDArray[np.float64]
    voted: NDArray[np.float64]  # (n_latents, n_states): expected items of each state where the group votes
    votes: NDArray[np.float64]  # (n_voters, n_symbols, n_parent_states): expected (vote, state of the voter's parent)
    log_likelihood: float

    def __add__(self, other: SparseSums) -> SparseSums:
        names = ("labels", "latents", "voted", "votes", "log_likelihood")
        return SparseSums(*(getattr(self, name) + getattr(other, name) for name in names))

    def plus(self, other: SparseSums) -> SparseSums:
        """Return the sums over both blocks, in place of the first."""
        for name in ("labels", "latents", "voted", "votes"):
            getattr(self, name).__iadd__(getattr(other, name))
        return replace(self, log_likelihood=self.log_likelihood + other.log_likelihood)


@compiled
def _touch(latent, slot, touched, n_touched, sums):
    """Give the latent of a vote a place on its row, with sums of zero; return how many have one."""
    if slot[latent] >= 0:
        return n_touched
    slot[latent] = n_touched
    touched[n_touched] = latent
    for a in range(sums.shape[1]):
        sums[n_touched, a] = 0.0
    return n_touched + 1


@compiled
def _read_row(
    first, last, cells, log_votes, latent_of, rates, n_symbols, slot, touched, evidence, mixed, hub
):  # fmt: skip
    """Collect what a row says to the hub; return how many groups with a latent vote on it.

    ``evidence[k, a]`` becomes Pr(votes of the k-th of them | alpha = a), the largest 1, and ``mixed[k, s]`` its mean
    given the state.
    """
    n_states, n_latent, n_touched = hub.size, rates.shape[1], 0
    for vote in range(first, last):
        cell = np.int64(cells[vote])
        latent = latent_of[cell // n_symbols]
        if latent < 0:
            for state in range(n_states):
                hub[state] += log_votes[cell, state]
            continue
        n_touched = _touch(latent, slot, touched, n_touched, evidence)
        for a in range(n_latent):
            evidence[slot[latent], a] += log_votes[cell, a]
    for place in range(n_touched):
        latent, top = touched[place], evidence[place, 0]
        slot[latent] = -1
        for a in range(1, n_latent):
            top = max(top, evidence[place, a])
        for a in range(n_latent):
            evidence[place, a] = np.exp(evidence[place, a] - top)
        for state in range(n_states):
            mean = 0.0
            for a in range(n_latent):
                mean += rates[latent, a, state] * evidence[place, a]
            mixed[place, state] = max(mean, _TINY)
            hub[state] += top + np.log(mixed[place, state])
    return n_touched


@compiled
def _evaluate(starts, cells, log_votes, latent_of, rates, n_symbols, out):
    n_latents, n_latent, n_states = rates.shape
    slot, touched = np.full(n_latents, -1), np.zeros(n_latents, dtype=np.int64)
    evidence, mixed = np.empty((n_latents, n_latent)), np.empty((n_latents, n_states))
    hub = np.empty(n_states)
    for row in range(starts.size - 1):
        for state in range(n_states):
            hub[state] = 0.0
        _read_row(
            starts[row], starts[row + 1], cells, log_votes, latent_of, rates, n_symbols, slot, touched, evidence,
            mixed, hub,
        )  # fmt: skip
        for state in range(n_states):
            out[row, state] = hub[state]


@compiled
def _to_shares(hub):
    """Turn log-weights into shares of their sum; return the logarithm of the sum."""
    top, total = hub[0], 0.0
    for state in range(1, hub.size):
        top = max(top, hub[state])
    for state in range(hub.size):
        hub[state] = np.exp(hub[state] - top)
        total += hub[state]
    for state in range(hub.size):
        hub[state] /= total
    return top + np.log(total)


@compiled
def _expect(
    starts, cells, counts, log_votes, latent_of, rates, log_prior, n_symbols, labels, latents, voted, votes
):  # fmt: skip
    """Find the state of every row and count its votes; return the log-likelihood."""
    n_latents, n_latent, n_states = rates.shape
    slot, touched = np.full(n_latents, -1), np.zeros(n_latents, dtype=np.int64)
    evidence, mixed = np.empty((n_latents, n_latent)), np.empty((n_latents, n_states))
    log_likelihood, hub = 0.0, np.empty(n_states)
    for row in range(starts.size - 1):
        count = counts[row]
        for state in range(n_states):
            hub[state] = log_prior[state]
        n_touched = _read_row(
            starts[row], starts[row + 1], cells, log_votes, latent_of, rates, n_symbols, slot, touched, evidence,
            mixed, hub,
        )  # fmt: skip
        log_likelihood += count * _to_shares(hub)
        for state in range(n_states):
            hub[state] *= count
            labels[state] += hub[state]
        for place in range(n_touched):
            latent = touched[place]
            slot[latent] = place
            for state in range(n_states):
                voted[latent, state] += hub[state]
            for a in range(n_latent):  # evidence becomes the expected items with alpha = a
                share = 0.0
                for state in range(n_states):
                    joint = hub[state] * rates[latent, a, state] * evidence[place, a] / mixed[place, state]
                    latents[latent, a, state] += joint
                    share += joint
                evidence[place, a] = share
        _count_votes(starts[row], starts[row + 1], cells, latent_of, n_symbols, slot, hub, evidence, 1.0, votes)
        for place in range(n_touched):
            slot[touched[place]] = -1
    return log_likelihood


@compiled
def _count_votes(first, last, cells, latent_of, n_symbols, slot, hub, of_latents, count, votes):
    """Add the votes of a row to the table: by the state of the hub, or of the voter's latent."""
    for vote in range(first, last):
        cell = np.int64(cells[vote])
        latent = latent_of[cell // n_symbols]
        if latent < 0:
            for state in range(hub.size):
                votes[cell, state] += hub[state]
        else:
            for a in range(of_latents.shape[1]):
                votes[cell, a] += count * of_latents[slot[latent], a]


@compiled
def _unit_votes(starts, cells, counts, latent_of, n_symbols, given, start, labels, latents, votes):
    n_latents, n_latent, n_states = latents.shape
    slot, touched = np.full(n_latents, -1), np.zeros(n_latents, dtype=np.int64)
    means, hub = np.empty((n_latents, n_latent)), np.empty(n_states)
    for row in range(starts.size - 1):
        count, n_touched, n_units = counts[row], 0, 0
        for state in range(n_states):
            hub[state] = start[row, state] if given else 0.0
        for vote in range(starts[row], starts[row + 1]):
            latent, symbol = latent_of[cells[vote] // n_symbols], cells[vote] % n_symbols
            if latent < 0:
                n_units += 1
                if not given:
                    hub[symbol] += 1.0
                continue
            n_touched = _touch(latent, slot, touched, n_touched, means)
            means[slot[latent], symbol] += 1.0
        for place in range(n_touched):
            n_units += 1
            size = 0.0
            for a in range(n_latent):
                size += means[place, a]
            for a in range(n_latent):
                means[place, a] /= size
                if not given:
                    hub[a] += means[place, a]
        if not given:
            if n_units == 0:
                hub[0] = 1.0
            for state in range(n_states):
                hub[state] /= max(n_units, 1)
        for state in range(n_states):
            hub[state] *= count
            labels[state] += hub[state]
        for place in range(n_touched):
            for a in range(n_latent):
                for state in range(n_states):
                    latents[touched[place], a, state] += means[place, a] * hub[state]
        _count_votes(starts[row], starts[row + 1], cells, latent_of, n_symbols, slot, hub, means, count, votes)
        for place in range(n_touched):
            slot[touched[place]] = -1
