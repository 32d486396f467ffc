"""Rows of votes that name their voters: what a long table is, where most voters are silent on most items.

A row is a list of (voter, symbol). Work and memory follow the number of votes, and never items times voters. All
sums over rows are those over packed rows (:mod:`goldless.kernels.tree`); a voter that is silent is not visited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled
from goldless.kernels.threads import ordered_map, row_chunks

_TINY = 1e-300
_CHUNK_ROWS = 1 << 15
_VOTES_OF_A_PIECE = 1 << 16  # fewer are not cut
_MOST_PIECES = 16
_BYTES_OF_TABLES = 1 << 26  # what the tables of all pieces may take together


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Rows of votes that name their voters: the matrix of codes, as far as it is not missing.

    Attributes
    ----------
    starts : ndarray of shape (n_rows + 1,)
        Where the votes of each row start.
    voters : ndarray of shape (n_votes,)
        int32: the voter of every vote; they ascend within a row.
    symbols : ndarray of shape (n_votes,)
        int8: what it says, from 0.
    n_voters : int
        Number of voters.
    """

    starts: NDArray[np.int64]
    voters: NDArray[np.int32]
    symbols: NDArray[np.int8]
    n_voters: int

    @classmethod
    def of(cls, codes: NDArray[np.int8]) -> SparseCodes:
        """Return the votes of a matrix of codes, -1 where there is none."""
        rows, voters = np.nonzero(codes >= 0)
        starts = np.searchsorted(rows, np.arange(len(codes) + 1))
        return cls(starts.astype(np.int64), voters.astype(np.int32), codes[rows, voters], codes.shape[1])

    @classmethod
    def empty(cls, n_rows: int, n_voters: int) -> SparseCodes:
        """Return rows without a vote."""
        return cls(np.zeros(n_rows + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int8), n_voters)

    def check(self) -> None:
        """Raise if the arrays do not fit together, as those of a file may not."""
        starts, voters = self.starts, self.voters
        whole = starts.ndim == 1 and len(starts) > 0 and starts[0] == 0 and starts[-1] == len(voters)
        if not (whole and (np.diff(starts) >= 0).all() and voters.shape == self.symbols.shape):
            raise ValueError("rows of votes do not fit together")
        if len(voters) and (voters.min() < 0 or voters.max() >= self.n_voters or self.symbols.min() < 0):
            raise ValueError("a vote is of no voter, or says nothing")

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of voters."""
        return len(self), self.n_voters

    @property
    def n_votes(self) -> int:
        """Number of votes."""
        return len(self.symbols)

    @property
    def nbytes(self) -> int:
        """Memory that the votes take."""
        return self.starts.nbytes + self.voters.nbytes + self.symbols.nbytes

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of votes of each row."""
        return np.diff(self.starts)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row of every vote."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def __getitem__(self, rows: Any) -> SparseCodes:
        """Return some rows: a slice, numbers, or which."""
        if isinstance(rows, slice):
            first, last, step = rows.indices(len(self))
            if step == 1:
                last = max(first, last)
                begin, end = self.starts[first], self.starts[last]
                starts = self.starts[first : last + 1] - begin
                return SparseCodes(starts, self.voters[begin:end], self.symbols[begin:end], self.n_voters)
            rows = np.arange(first, last, step)
        rows = np.asarray(rows)
        chosen = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
        lengths = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        votes = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], lengths)
        return SparseCodes(starts, self.voters[votes], self.symbols[votes], self.n_voters)

    def dense(self) -> NDArray[np.int8]:
        """Return the matrix of codes, -1 where there is no vote: for few rows or few voters."""
        codes = np.full(self.shape, -1, dtype=np.int8)
        codes[self.rows, self.voters] = self.symbols
        return codes

    def keep(self, votes: NDArray[np.bool_]) -> SparseCodes:
        """Return the rows with some of the votes left out."""
        before = np.concatenate([[0], np.cumsum(votes)]).astype(np.int64)
        return SparseCodes(before[self.starts], self.voters[votes], self.symbols[votes], self.n_voters)

    def of_voters(self, chosen: NDArray[np.integer]) -> SparseCodes:
        """Return the votes of some voters, renumbered in the order given, on all rows."""
        number = np.full(self.n_voters, -1, dtype=np.int32)
        number[chosen] = np.arange(len(chosen), dtype=np.int32)
        voters = number[self.voters]
        kept = self.keep(voters >= 0)
        renumbered = SparseCodes(kept.starts, voters[voters >= 0], kept.symbols, len(chosen))
        ascending = len(chosen) < 2 or bool((np.diff(chosen) > 0).all())
        return renumbered if ascending else renumbered.sorted()

    def sorted(self) -> SparseCodes:
        """Return the rows with their voters in order; of two votes of a voter the one that came first stays first."""
        order = np.lexsort((self.voters, self.rows))
        return SparseCodes(self.starts, self.voters[order], self.symbols[order], self.n_voters)

    def merged(self, copy_of: NDArray[np.int64]) -> SparseCodes:
        """Return the rows with the votes of copies given to their originals: of several the first voter's counts."""
        if (copy_of == np.arange(len(copy_of))).all():
            return self
        voters = copy_of[self.voters].astype(np.int32)
        moved = SparseCodes(self.starts, voters, self.symbols, self.n_voters).sorted()
        rows = moved.rows
        first = np.ones(moved.n_votes, dtype=bool)
        first[1:] = (np.diff(rows) > 0) | (np.diff(moved.voters) > 0)
        return moved.keep(first)

    def with_voter(self, symbols: NDArray[np.int8]) -> SparseCodes:
        """Return the rows with one more voter, the last, that says this on every row; nothing where it is -1."""
        here = symbols >= 0
        places = self.starts[1:][here]
        voters = np.insert(self.voters, places, np.int32(self.n_voters))
        starts = self.starts + np.concatenate([[0], np.cumsum(here)])
        return SparseCodes(starts, voters, np.insert(self.symbols, places, symbols[here]), self.n_voters + 1)

    def recoded(self, code_of: NDArray[np.int8]) -> SparseCodes:
        """Return the rows in other codes; ``code_of`` has the new one of every code, -1 for no vote."""
        symbols = code_of[self.symbols]
        kept = self.keep(symbols >= 0)
        return SparseCodes(kept.starts, kept.voters, symbols[symbols >= 0], self.n_voters)

    def tally(self, n_symbols: int) -> NDArray[np.int64]:
        """Return the votes of every row for each symbol, shape (n_rows, n_symbols)."""
        flat = np.bincount(self.rows * n_symbols + self.symbols, minlength=len(self) * n_symbols)
        return flat.reshape(len(self), n_symbols)

    def cast(self, n_symbols: int, counts: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
        """Return the votes of every voter for each symbol, (n_symbols, n_voters); rows count ``counts`` times."""
        flat = self.symbols.astype(np.int64) * self.n_voters + self.voters
        found = np.zeros(n_symbols * self.n_voters, dtype=np.int64)
        if counts is None:
            found += np.bincount(flat, minlength=len(found))
        else:
            np.add.at(found, flat, np.asarray(counts, dtype=np.int64)[self.rows])
        return found.reshape(n_symbols, self.n_voters)

    def weighted(self, weights: NDArray[np.float64], n_symbols: int) -> NDArray[np.float64]:
        """Return, for every voter and symbol, the weights of the rows where it says so.

        Parameters
        ----------
        weights : ndarray of shape (n_rows, n_columns)
        n_symbols : int

        Returns
        -------
        ndarray of shape (n_voters, n_columns, n_symbols)
        """
        out = np.zeros((self.n_voters, n_symbols, weights.shape[1]))
        _scatter(self.starts, self.voters, self.symbols, np.ascontiguousarray(weights, dtype=np.float64), out)
        return out.transpose(0, 2, 1)


Codes = NDArray[np.int8] | SparseCodes  # rows of votes: a matrix with gaps, or lists


def dense_codes(codes: Codes) -> NDArray[np.int8]:
    """Return rows as a matrix with gaps: for few rows or few voters."""
    return codes.dense() if isinstance(codes, SparseCodes) else codes


def codes_of_voters(codes: Codes, voters: NDArray[np.integer]) -> Codes:
    """Return the columns of some voters."""
    if isinstance(codes, SparseCodes):
        return codes.of_voters(voters)
    return np.ascontiguousarray(codes[:, voters])


def first_vote(codes: Codes, symbol: int) -> tuple[int, int] | None:
    """Return the first row and voter that hold a symbol; None if nobody says it."""
    if isinstance(codes, SparseCodes):
        found = np.flatnonzero(codes.symbols == symbol)[:1]
        if not len(found):
            return None
        return int(np.searchsorted(codes.starts, found[0], side="right")) - 1, int(codes.voters[found[0]])
    places = np.argwhere(codes == symbol)[:1]
    return (int(places[0, 0]), int(places[0, 1])) if len(places) else None


def tally(codes: Codes, n_symbols: int) -> NDArray[np.int64]:
    """Return the votes of every row for each symbol, shape (n_rows, n_symbols)."""
    if isinstance(codes, SparseCodes):
        return codes.tally(n_symbols)
    return np.stack([(codes == symbol).sum(axis=1) for symbol in range(n_symbols)], axis=1)


def weighted_votes(codes: Codes, weights: NDArray[np.float64], n_symbols: int) -> NDArray[np.float64]:
    """Return, for every voter, the weights of the rows where it says a symbol: (n_voters, n_columns, n_symbols)."""
    if isinstance(codes, SparseCodes):
        return codes.weighted(weights, n_symbols)
    return np.stack([weights.T @ (codes == symbol) for symbol in range(n_symbols)], axis=2).transpose(1, 0, 2)


@dataclass(frozen=True, eq=False)
class SparseLayout:
    """Votes laid out for passes of EM: by rows, and by what is said.

    Attributes
    ----------
    starts : ndarray of shape (n_rows + 1,)
        Where the votes of each row start.
    cells : ndarray of shape (n_votes,)
        uint32: voter times symbols plus symbol of every vote, row after row.
    counts : ndarray of shape (n_rows,)
        How many items each row stands for.
    cell_starts : ndarray of shape (n_voters * n_symbols + 1,)
        Where the rows start in which each voter says each symbol.
    cell_rows : ndarray of shape (n_votes,)
        uint32: these rows.
    n_voters, n_symbols : int
    """

    starts: NDArray[np.int64]
    cells: NDArray[np.uint32]
    counts: NDArray[np.float64]
    cell_starts: NDArray[np.int64]
    cell_rows: NDArray[np.uint32]
    n_voters: int
    n_symbols: int

    @classmethod
    def of(cls, codes: SparseCodes, n_symbols: int, counts: NDArray[np.float64]) -> SparseLayout:
        """Lay out rows."""
        cells = codes.voters.astype(np.uint32) * np.uint32(n_symbols) + codes.symbols.astype(np.uint32)
        n_cells = codes.n_voters * n_symbols
        ends = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=n_cells))]).astype(np.int64)
        rows = np.empty(codes.n_votes, dtype=np.uint32)
        _sort_by_cell(codes.starts, cells, ends[:-1].copy(), rows)
        return cls(codes.starts, cells, counts, ends, rows, codes.n_voters, n_symbols)

    @cached_property
    def row_pieces(self) -> list[slice]:
        """Pieces of the rows that depend on the rows alone: any number of threads gives the same bits."""
        return _pieces(self.starts)

    @cached_property
    def cell_pieces(self) -> list[slice]:
        """Pieces of the cells."""
        return _pieces(self.cell_starts)


def _pieces(starts: NDArray[np.int64]) -> list[slice]:
    """Cut rows into pieces of about as many votes."""
    n_rows, n_votes = len(starts) - 1, int(starts[-1])
    n_pieces = int(np.clip(max(n_votes, n_rows) // _VOTES_OF_A_PIECE, 1, _MOST_PIECES))
    places = np.searchsorted(starts + np.arange(n_rows + 1), np.linspace(0, n_votes + n_rows, n_pieces + 1))
    places[0], places[-1] = 0, n_rows
    return [slice(int(first), int(last)) for first, last in pairwise(places)]


@dataclass(frozen=True, eq=False)
class SparseTree:
    """A tree model as the arrays that passes over sparse rows read.

    Attributes
    ----------
    log_votes : ndarray of shape (n_voters * n_symbols, n_parent_states)
        Log-probability of every vote in each state of the voter's parent.
    latent_of : ndarray of shape (n_voters,)
        Number of the latent that a voter hangs on, -1 for the hub itself.
    rates : ndarray of shape (n_latents, n_latent_states, n_states)
        Pr(alpha = a | state) of those groups that have a latent of their own.
    log_prior : ndarray of shape (n_states,)
    n_symbols : int
    """

    log_votes: NDArray[np.float64]
    latent_of: NDArray[np.int64]
    rates: NDArray[np.float64]
    log_prior: NDArray[np.float64]
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
        self._check(codes)
        out = np.empty((len(codes), len(self.log_prior)))
        cells = codes.voters.astype(np.uint32) * np.uint32(self.n_symbols) + codes.symbols.astype(np.uint32)

        def fill(rows: slice) -> None:
            starts = codes.starts[rows.start : rows.stop + 1]
            _evaluate(starts, cells, self.log_votes, self.latent_of, self.rates, self.n_symbols, out[rows])

        ordered_map(fill, row_chunks(len(codes), _CHUNK_ROWS))
        return out

    def latent_posterior(self, codes: SparseCodes) -> NDArray[np.float64]:
        """Return Pr(alpha = a | all votes) of the groups that have a latent, shape (n_rows, n_latents, n_latent)."""
        self._check(codes)
        out = np.empty((len(codes), *self.rates.shape[:2]))
        cells = codes.voters.astype(np.uint32) * np.uint32(self.n_symbols) + codes.symbols.astype(np.uint32)
        _latents(codes.starts, cells, self.log_votes, self.latent_of, self.rates, self.log_prior, self.n_symbols, out)
        return out

    def _check(self, codes: SparseCodes) -> None:
        if codes.n_voters != len(self.latent_of) or codes.symbols.max(initial=0) >= self.n_symbols:
            raise ValueError(
                f"votes of {len(self.latent_of)} voters for one of {self.n_symbols} symbols are needed, got others"
            )

    def expect(self, layout: SparseLayout) -> SparseSums:
        """Return what the rows add to an E-step."""
        if not len(self.rates):
            return self._sum(layout, partial(self._expect_flat, layout))

        def fill(rows: slice, hub: NDArray[np.float64], sums: SparseSums) -> float:
            return float(
                _expect(
                    layout.starts[rows.start : rows.stop + 1], layout.cells, layout.counts[rows], self.log_votes,
                    self.latent_of, self.rates, self.log_prior, self.n_symbols, hub[rows], sums.labels, sums.latents,
                    sums.voted, sums.votes,
                )
            )  # fmt: skip

        return self._sum(layout, fill)

    def _expect_flat(self, layout: SparseLayout, rows: slice, hubs: NDArray[np.float64], sums: SparseSums) -> float:
        """Find the state of some rows if every voter hangs on the hub: exponentials of many at once are cheap."""
        hub, counts, top = hubs[rows], layout.counts[rows], np.empty(rows.stop - rows.start)
        _collect(layout.starts[rows.start : rows.stop + 1], layout.cells, self.log_votes, self.log_prior, hub, top)
        np.exp(hub, out=hub)
        total = np.empty(len(top))
        _share(hub, counts, total, sums.labels)
        return float(np.einsum("i,i->", counts, top + np.log(total)))  # not by BLAS, whose threads would wait

    def unit_votes(self, layout: SparseLayout, hub: NDArray[np.float64] | None) -> SparseSums:
        """Return what starts EM: every group, and every voter alone, has one soft vote on the rows it votes on.

        ``hub`` is the start of Pr(state | votes); by default the mean over units of their mean vote.
        """
        given = hub is not None
        start = np.empty((0, len(self.log_prior))) if hub is None else np.ascontiguousarray(hub)

        def fill(rows: slice, out: NDArray[np.float64], sums: SparseSums) -> float:
            _unit_votes(
                layout.starts[rows.start : rows.stop + 1], layout.cells, layout.counts[rows], self.latent_of,
                self.n_symbols, given, start[rows] if given else start, out[rows], sums.labels, sums.latents,
                sums.votes,
            )  # fmt: skip
            return 0.0

        return self._sum(layout, fill)

    def _sum(
        self, layout: SparseLayout, fill: Callable[[slice, NDArray[np.float64], SparseSums], float]
    ) -> SparseSums:
        """Go through the rows, then through what each voter says: voters on the hub need only the state of the rows.

        Votes of voters on a latent are added up row by row, in a table for each piece of the rows.
        """
        if len(self.latent_of) != layout.n_voters or self.n_symbols != layout.n_symbols:
            raise ValueError(f"a model of {len(self.latent_of)} voters, and votes of {layout.n_voters}")
        n_latents, n_latent, n_states = self.rates.shape
        hub = np.empty((len(layout.starts) - 1, n_states))

        def of_rows(rows: slice) -> SparseSums:
            sums = SparseSums(
                np.zeros(n_states),
                np.zeros((n_latents, n_latent, n_states)),
                np.zeros((n_latents, n_states)),
                np.zeros(self.log_votes.shape if n_latents else (0, self.log_votes.shape[1])),
                0.0,
            )
            return sums.with_log_likelihood(fill(rows, hub, sums))

        total: SparseSums | None = None
        at_once = int(np.clip(_BYTES_OF_TABLES // max(self.log_votes.nbytes, 1), 2, _MOST_PIECES))
        for start in range(0, len(layout.row_pieces), at_once):
            for part in ordered_map(of_rows, layout.row_pieces[start : start + at_once]):
                total = part if total is None else total.plus(part)
        assert total is not None
        votes = total.votes if n_latents else np.empty(self.log_votes.shape)

        def of_cells(cells: slice) -> None:
            _gather(
                layout.cell_starts,
                layout.cell_rows,
                hub,
                self.latent_of,
                self.n_symbols,
                cells.start,
                cells.stop,
                votes,
            )

        ordered_map(of_cells, layout.cell_pieces)
        shape = (layout.n_voters, self.n_symbols, votes.shape[1])
        return SparseSums(total.labels, total.latents, total.voted, votes.reshape(shape), total.log_likelihood)


@dataclass(frozen=True, eq=False)
class SparseSums:
    """What a pass adds up over sparse rows. Sums of two blocks of rows add.

    Attributes
    ----------
    labels : ndarray of shape (n_states,)
        Expected items of each state.
    latents : ndarray of shape (n_latents, n_latent_states, n_states)
        Expected items with (alpha, state), over the rows where the group votes.
    voted : ndarray of shape (n_latents, n_states)
        Expected items of each state where the group votes.
    votes : ndarray of shape (n_voters, n_symbols, n_parent_states)
        Expected (vote, state of the voter's parent).
    log_likelihood : float
    """

    labels: NDArray[np.float64]
    latents: NDArray[np.float64]
    voted: NDArray[np.float64]
    votes: NDArray[np.float64]
    log_likelihood: float

    def plus(self, other: SparseSums) -> SparseSums:
        """Return the sums over both blocks, in place of the first."""
        self.labels.__iadd__(other.labels)
        self.latents.__iadd__(other.latents)
        self.voted.__iadd__(other.voted)
        self.votes.__iadd__(other.votes)
        return self.with_log_likelihood(self.log_likelihood + other.log_likelihood)

    def with_log_likelihood(self, log_likelihood: float) -> SparseSums:
        """Return the same sums with this log-likelihood."""
        return SparseSums(self.labels, self.latents, self.voted, self.votes, log_likelihood)


@compiled
def _scatter(starts, voters, symbols, weights, out):
    for row in range(starts.size - 1):
        for vote in range(starts[row], starts[row + 1]):
            for column in range(weights.shape[1]):
                out[voters[vote], symbols[vote], column] += weights[row, column]


@compiled
def _sort_by_cell(starts, cells, places, rows):
    """Put the rows of every cell side by side; ``places`` are where they start, and are moved on."""
    for row in range(starts.size - 1):
        for vote in range(starts[row], starts[row + 1]):
            rows[places[cells[vote]]] = row
            places[cells[vote]] += 1


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
        place = slot[latent]
        if place < 0:
            place = n_touched
            slot[latent] = place
            touched[place] = latent
            n_touched += 1
            for a in range(n_latent):
                evidence[place, a] = 0.0
        for a in range(n_latent):
            evidence[place, a] += log_votes[cell, a]
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
def _collect(starts, cells, log_votes, log_prior, hubs, tops):
    """Add up what voters on the hub say of each state, less the largest sum of the row.

    Four states at a time, then two, then one: sums that stay in registers are twice as fast as those in an array.
    """
    n_states = log_prior.size
    for row in range(starts.size - 1):
        first, last, top, state = starts[row], starts[row + 1], -np.inf, 0
        while n_states - state >= 4:
            a, b, c, d = log_prior[state], log_prior[state + 1], log_prior[state + 2], log_prior[state + 3]
            for vote in range(first, last):
                cell = np.int64(cells[vote])
                a += log_votes[cell, state]
                b += log_votes[cell, state + 1]
                c += log_votes[cell, state + 2]
                d += log_votes[cell, state + 3]
            hubs[row, state], hubs[row, state + 1], hubs[row, state + 2], hubs[row, state + 3] = a, b, c, d
            top = max(top, max(max(a, b), max(c, d)))
            state += 4
        if n_states - state >= 2:
            a, b = log_prior[state], log_prior[state + 1]
            for vote in range(first, last):
                cell = np.int64(cells[vote])
                a += log_votes[cell, state]
                b += log_votes[cell, state + 1]
            hubs[row, state], hubs[row, state + 1] = a, b
            top = max(top, max(a, b))
            state += 2
        if state < n_states:
            a = log_prior[state]
            for vote in range(first, last):
                a += log_votes[np.int64(cells[vote]), state]
            hubs[row, state] = a
            top = max(top, a)
        tops[row] = top
        for state in range(n_states):
            hubs[row, state] -= top


@compiled
def _share(hubs, counts, totals, labels):
    """Scale every row to sum to its count."""
    n_rows, n_states = hubs.shape
    for row in range(n_rows):
        total = 0.0
        for state in range(n_states):
            total += hubs[row, state]
        totals[row] = total
        for state in range(n_states):
            hubs[row, state] = counts[row] * (hubs[row, state] / total)
            labels[state] += hubs[row, state]


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
def _latents(starts, cells, log_votes, latent_of, rates, log_prior, n_symbols, out):
    n_latents, n_latent, n_states = rates.shape
    slot, touched = np.full(n_latents, -1), np.zeros(n_latents, dtype=np.int64)
    evidence, mixed = np.empty((n_latents, n_latent)), np.empty((n_latents, n_states))
    hub = np.empty(n_states)
    for row in range(starts.size - 1):
        for state in range(n_states):
            hub[state] = log_prior[state]
        n_touched = _read_row(
            starts[row], starts[row + 1], cells, log_votes, latent_of, rates, n_symbols, slot, touched, evidence,
            mixed, hub,
        )  # fmt: skip
        _to_shares(hub)
        for latent in range(n_latents):
            for a in range(n_latent):
                out[row, latent, a] = 0.0
                for state in range(n_states):
                    out[row, latent, a] += hub[state] * rates[latent, a, state]
        for place in range(n_touched):
            latent = touched[place]
            for a in range(n_latent):
                share = 0.0
                for state in range(n_states):
                    share += hub[state] * rates[latent, a, state] * evidence[place, a] / mixed[place, state]
                out[row, latent, a] = share


@compiled
def _expect(
    starts, cells, counts, log_votes, latent_of, rates, log_prior, n_symbols, hubs, labels, latents, voted, votes
):  # fmt: skip
    """Find the state of every row; count the votes of voters on latents. Returns the log-likelihood."""
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
            hubs[row, state] = hub[state]
            labels[state] += hub[state]
        if n_touched == 0:
            continue
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
        for vote in range(starts[row], starts[row + 1]):
            latent = latent_of[cells[vote] // n_symbols]
            if latent >= 0:
                place = slot[latent]
                for a in range(n_latent):
                    votes[cells[vote], a] += evidence[place, a]
        for place in range(n_touched):
            slot[touched[place]] = -1
    return log_likelihood


@compiled
def _gather(cell_starts, cell_rows, hubs, latent_of, n_symbols, first, last, votes):
    """Count the votes of voters on the hub: the states of the rows where they say each symbol."""
    n_states, n_parents = hubs.shape[1], votes.shape[1]
    for cell in range(first, last):
        if latent_of[cell // n_symbols] >= 0:
            continue
        begin, end, state = cell_starts[cell], cell_starts[cell + 1], 0
        while n_states - state >= 4:
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for place in range(begin, end):
                row = np.int64(cell_rows[place])
                a += hubs[row, state]
                b += hubs[row, state + 1]
                c += hubs[row, state + 2]
                d += hubs[row, state + 3]
            votes[cell, state], votes[cell, state + 1], votes[cell, state + 2], votes[cell, state + 3] = a, b, c, d
            state += 4
        if n_states - state >= 2:
            a, b = 0.0, 0.0
            for place in range(begin, end):
                row = np.int64(cell_rows[place])
                a += hubs[row, state]
                b += hubs[row, state + 1]
            votes[cell, state], votes[cell, state + 1] = a, b
            state += 2
        if state < n_states:
            a = 0.0
            for place in range(begin, end):
                a += hubs[np.int64(cell_rows[place]), state]
            votes[cell, state] = a
            state += 1
        while state < n_parents:
            votes[cell, state] = 0.0
            state += 1


@compiled
def _unit_votes(starts, cells, counts, latent_of, n_symbols, given, start, hubs, labels, latents, votes):
    n_latents, n_latent, n_states = latents.shape
    slot, touched = np.full(n_latents, -1), np.zeros(n_latents, dtype=np.int64)
    means, size, hub = np.empty((n_latents, n_latent)), np.empty(n_latents), np.empty(n_states)
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
            place = slot[latent]
            if place < 0:
                place = n_touched
                slot[latent] = place
                touched[place] = latent
                n_touched += 1
                size[place] = 0.0
                for a in range(n_latent):
                    means[place, a] = 0.0
            means[place, symbol] += 1.0
            size[place] += 1.0
        for place in range(n_touched):
            n_units += 1
            for a in range(n_latent):
                means[place, a] /= size[place]
                if not given:
                    hub[a] += means[place, a]
        if not given:
            if n_units == 0:
                hub[0] = 1.0
            for state in range(n_states):
                hub[state] /= max(n_units, 1)
        for state in range(n_states):
            hub[state] *= count
            hubs[row, state] = hub[state]
            labels[state] += hub[state]
        for place in range(n_touched):
            for a in range(n_latent):
                for state in range(n_states):
                    latents[touched[place], a, state] += means[place, a] * hub[state]
        if n_touched == 0:
            continue
        for vote in range(starts[row], starts[row + 1]):
            latent = latent_of[cells[vote] // n_symbols]
            if latent >= 0:
                for a in range(n_latent):
                    votes[cells[vote], a] += count * means[slot[latent], a]
        for place in range(n_touched):
            slot[touched[place]] = -1
