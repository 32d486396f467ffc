"""Rows of votes that name their voters: what a long table is, where most voters are silent on most items.

A row is a list of (voter, symbol). Work and memory follow the number of votes, and never items times voters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldless.kernels.compiled import compiled


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Rows of votes that name their voters: the matrix of codes, as far as it is not missing."""

    starts: NDArray[np.int64]  # (n_rows + 1,): where the votes of each row start
    voters: NDArray[np.int32]  # (n_votes,): int32: the voter of every vote; they ascend within a row
    symbols: NDArray[np.int8]  # (n_votes,): int8: what it says, from 0
    n_voters: int  # number of voters

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

    def cells(self, n_symbols: int) -> NDArray[np.uint32]:
        """Return voter times symbols plus symbol of every vote."""
        return self.voters.astype(np.uint32) * np.uint32(n_symbols) + self.symbols.astype(np.uint32)

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
        if symbols.min(initial=0) >= 0:
            return replace(self, symbols=symbols)
        kept = self.keep(symbols >= 0)
        return SparseCodes(kept.starts, kept.voters, symbols[symbols >= 0], self.n_voters)

    def tally(self, n_symbols: int) -> NDArray[np.int64]:
        """Return the votes of every row for each symbol, shape (n_rows, n_symbols)."""
        flat = np.bincount(self.rows * n_symbols + self.symbols, minlength=len(self) * n_symbols)
        return flat.reshape(len(self), n_symbols)

    def cast(self, n_symbols: int, counts: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
        """Return the votes of every voter for each symbol, (n_symbols, n_voters); rows count ``counts`` times."""
        found = np.zeros((n_symbols, self.n_voters), dtype=np.int64)
        of_rows = np.ones(len(self), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
        _count_cast(self.starts, self.voters, self.symbols, of_rows, found)
        return found

    def voter_hashes(self) -> NDArray[np.uint64]:
        """Return a sum of hashes for each voter that is the same for two voters with the same votes on the same rows.

        Sums over two blocks of rows add. A row is known by what is said on it, so its place does not matter.
        """
        hashes = np.zeros(self.n_voters, dtype=np.uint64)
        _add_hashes(self.starts, self.voters, self.symbols, hashes)
        return hashes

    def weighted(self, weights: NDArray[np.float64], n_symbols: int) -> NDArray[np.float64]:
        """Return, for every voter and symbol, the weights of the rows where it says so.

        ``weights`` (n_rows, n_columns). Returns (n_voters, n_columns, n_symbols).
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


def recoded(codes: Codes, code_of: NDArray[np.int8]) -> Codes:
    """Return rows in other codes; ``code_of`` has the new one of every code, and -1 at the end for no vote."""
    return codes.recoded(code_of) if isinstance(codes, SparseCodes) else code_of[codes]


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


@compiled
def _scatter(starts, voters, symbols, weights, out):
    for row in range(starts.size - 1):
        for vote in range(starts[row], starts[row + 1]):
            for column in range(weights.shape[1]):
                out[voters[vote], symbols[vote], column] += weights[row, column]


@compiled
def _count_cast(starts, voters, symbols, counts, cast):
    for row in range(starts.size - 1):
        for vote in range(starts[row], starts[row + 1]):
            cast[symbols[vote], voters[vote]] += counts[row]


@compiled
def count_shared(starts, voters, number, counts, shared):
    """Count the items that numbered voters share with those of each bucket, who have a number with the same end."""
    n_buckets = shared.shape[1]
    for row in range(starts.size - 1):
        for vote in range(starts[row], starts[row + 1]):
            own = number[voters[vote]]
            if own < 0:
                continue
            for place in range(starts[row], starts[row + 1]):
                other = number[voters[place]]
                if other >= 0 and other != own:
                    shared[own, other & (n_buckets - 1)] += counts[row]


@compiled
def count_partners(column_starts, rows, row_starts, voters, counts, n_shared, partners):
    """Count for every voter the others with whom it shares so many items; work follows the pairs of votes."""
    n_voters = column_starts.size - 1
    shared, met = np.zeros(n_voters), np.empty(n_voters, dtype=np.int64)
    for voter in range(n_voters):
        n_met = 0
        for place in range(column_starts[voter], column_starts[voter + 1]):
            row = rows[place]
            if counts[row] <= 0.0:
                continue
            for vote in range(row_starts[row], row_starts[row + 1]):
                other = voters[vote]
                if shared[other] == 0.0:
                    met[n_met] = other
                    n_met += 1
                shared[other] += counts[row]
        for number in range(n_met):
            other = met[number]
            if other != voter and shared[other] >= n_shared:
                partners[voter] += 1
            shared[other] = 0.0


@compiled
def _mixed(number):
    """Return a hash of a whole number (SplitMix64)."""
    number += np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@compiled
def _add_hashes(starts, voters, symbols, hashes):
    for row in range(starts.size - 1):
        whole = np.uint64(0)
        for vote in range(starts[row], starts[row + 1]):
            whole += _mixed(np.uint64(voters[vote]) * np.uint64(128) + np.uint64(symbols[vote]))
        for vote in range(starts[row], starts[row + 1]):
            hashes[voters[vote]] += _mixed(whole ^ np.uint64(symbols[vote]))


@compiled
def hash_texts(offsets, data, hashes):
    """Hash texts that lie one after the other in bytes (FNV-1a, mixed); also other values, as their bytes."""
    for number in range(offsets.size - 1):
        found = np.uint64(0xCBF29CE484222325)
        for place in range(offsets[number], offsets[number + 1]):
            found = (found ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        hashes[number] = _mixed(found)
