"""Long tables that do not fit in memory, joined by item: an external merge, on disk or on a cluster.

Lines are split by a hash of the item, so that each part holds all votes on its items; every part is grouped by item;
the rows are cut by where their item first occurs, and put in that order. Each step works on one part at a time, and
the same functions serve files here and tasks elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from goldless.errors import VotesError
from goldless.io.readers.columns import TOKENS, nested_column, whole_array
from goldless.kernels.sparse import SparseCodes, hash_texts
from goldless.votes.alphabet import listed
from goldless.votes.long import LongVotes, TwoLabels
from goldless.votes.sparse import SparseRows

LINES_OF_A_PART = 1 << 21
_MOST_PARTS = 256
MOST_LABELS = 126  # classes and words for "no vote", as int8


class Names:
    """Distinct values in order of appearance, and their numbers.

    Attributes
    ----------
    values : pyarrow.Array or None
        The values so far.
    """

    def __init__(self, values: Any = None):
        self.values = values

    def add(self, column: Any) -> None:
        """Take in the values of a column."""
        found = column.drop_null().unique()
        if self.values is None:
            self.values = found
            return
        found = _as_type(found, self.values.type)
        fresh = found.filter(pc.invert(pc.is_in(found, self.values)))
        if len(fresh):
            self.values = pa.concat_arrays([self.values, fresh])

    def numbers(self, column: Any) -> NDArray[np.int32]:
        """Return the number of every value of a column, -1 where there is none."""
        if self.values is None or not len(self.values):
            return np.full(len(column), -1, dtype=np.int32)
        encoded = _as_type(column, self.values.type).dictionary_encode()
        code_of = pc.index_in(encoded.dictionary, self.values).fill_null(-1).to_numpy(zero_copy_only=False)
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.append(code_of, -1).astype(np.int32)[places]

    def __len__(self) -> int:
        return 0 if self.values is None else len(self.values)


def _as_type(column: Any, kind: Any) -> Any:
    """Return a column as values of a type: files of one table may differ in how wide their numbers are."""
    return column if column.type == kind else column.cast(kind)


def plain_column(title: str, column: Any, name: str) -> Any:
    """Return a column of a long table as one array of plain values; what means nothing is null.

    Spaces around text do not count, as in :func:`~goldless.io.readers.columns.column_of`.
    """
    array = whole_array(column)
    if pa.types.is_nested(array.type):
        raise nested_column(title, array.type, name)
    if pa.types.is_dictionary(array.type):
        return _plain_values(array.dictionary).take(array.indices)
    return _plain_values(array)


def _plain_values(array: Any) -> Any:
    kind = array.type
    if pa.types.is_large_string(kind) or pa.types.is_string(kind):
        trimmed = pc.utf8_trim_whitespace(array).cast(pa.string())
        return pc.if_else(pc.is_in(trimmed, TOKENS), pa.scalar(None, pa.string()), trimmed)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return array.cast(pa.int64())
    if pa.types.is_floating(kind):
        wide = array.cast(pa.float64())
        return pc.if_else(pc.is_nan(wide), pa.scalar(None, pa.float64()), wide)
    return array


def _hashes(values: Any) -> NDArray[np.uint64]:
    """Return a hash of every value: the same for the same value, wherever it is."""
    texts = values if pa.types.is_string(values.type) else None
    if texts is None and pa.types.is_int64(values.type):
        data = np.frombuffer(values.buffers()[1], dtype=np.uint8)
        offsets = 8 * np.arange(values.offset, values.offset + len(values) + 1, dtype=np.int64)
    else:
        texts = values.cast(pa.string()) if texts is None else texts
        _, ends, held = texts.buffers()
        data = np.empty(0, np.uint8) if held is None else np.frombuffer(held, dtype=np.uint8)
        offsets = np.frombuffer(ends, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    hashes = np.empty(len(values), dtype=np.uint64)
    hash_texts(offsets, data, hashes)
    return hashes


# -- the steps ----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class LongNames:
    """The voters, labels and true labels of a long table, as they come."""

    voters: Names
    labels: Names
    truths: Names
    # n_lines, n_nameless, n_said: lines, lines without an item or a voter, and votes
    n_lines: int = 0
    n_nameless: int = 0
    n_said: int = 0

    @classmethod
    def none(cls) -> LongNames:
        """Return no names."""
        return cls(Names(), Names(), Names())

    def add(self, lines: LongLines) -> None:
        """Take in the names of some lines."""
        self.voters.add(lines.voters)
        self.labels.add(lines.labels)
        if lines.truths is not None:
            self.truths.add(lines.truths)
        known = pc.and_(pc.is_valid(lines.items), pc.is_valid(lines.voters))
        self.n_lines += len(lines.items)
        self.n_nameless += len(lines.items) - pc.sum(known).as_py()
        self.n_said += pc.sum(pc.and_(known, pc.is_valid(lines.labels))).as_py() or 0
        if len(self.labels) > MOST_LABELS:
            some = listed(self.labels.values.slice(0, 2).to_pylist())
            raise VotesError(
                "too-many-labels",
                f"the long table holds more than {MOST_LABELS} different labels, such as {some}",
                "scores",
            )

    def joined(self, other: LongNames) -> LongNames:
        """Return the names of these lines and of later ones."""
        both = LongNames(Names(self.voters.values), Names(self.labels.values), Names(self.truths.values))
        for own, more in ((both.voters, other.voters), (both.labels, other.labels), (both.truths, other.truths)):
            if more.values is not None:
                own.add(more.values)
        both.n_lines, both.n_nameless = self.n_lines + other.n_lines, self.n_nameless + other.n_nameless
        both.n_said = self.n_said + other.n_said
        return both


@dataclass(frozen=True, eq=False)
class LongLines:
    """Lines of a long table, as plain Arrow columns."""

    items: Any
    voters: Any
    labels: Any
    truths: Any = None

    @classmethod
    def of(cls, table: Any, titles: Sequence[str | None], name: str) -> LongLines:
        """Return the columns of items, voters, labels and perhaps truth of a table or record batch."""
        return cls(*(None if t is None else plain_column(t, table.column(t), name) for t in titles))

    def coded(self, names: LongNames, first_line: int) -> Any:
        """Return items, numbers of voters and labels, and line numbers; lines without an item are left out."""
        columns = {
            "item": self.items,
            "voter": names.voters.numbers(self.voters),
            "label": names.labels.numbers(self.labels).astype(np.int8),
            "line": np.arange(first_line, first_line + len(self.items)),
        }
        if self.truths is not None:
            columns["truth"] = names.truths.numbers(self.truths)
        table = pa.table(columns)
        return table if not self.items.null_count else table.filter(pc.is_valid(table["item"]))


def n_parts_for(n_lines: int) -> int:
    """Return into how many parts so many lines are split."""
    return int(np.clip(-(-n_lines // LINES_OF_A_PART), 1, _MOST_PARTS))


def split_lines(table: Any, n_parts: int) -> list[Any]:
    """Split coded lines by their items, in order within each part."""
    if n_parts == 1:
        return [table]
    hashes = _hashes(table["item"].combine_chunks())
    part = (hashes % np.uint64(n_parts)).astype(np.uint16)
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(n_parts + 1))
    ordered = table.take(pa.array(order))
    return [ordered.slice(ends[number], ends[number + 1] - ends[number]) for number in range(n_parts)]


@dataclass(frozen=True, eq=False)
class Grouped:
    """The rows of some items, in the order of the lines where the items first occur."""

    rows: Any  # a row an item: its name, `line`, lists `voters` and `symbols`, and perhaps `truth`
    # n_repeated, n_changed: as of `LongVotes`
    n_repeated: int
    n_changed: int


def group_lines(
    tables: Sequence[Any], n_voters: int, symbol_of: NDArray[np.int8], repeats: str, clash: Callable[..., VotesError]
) -> Grouped:
    """Group the lines of a part by item; ``clash`` words that a voter, or the truth, says two things of an item."""
    table = pa.concat_tables(tables)
    items = table["item"].combine_chunks().dictionary_encode()
    item, line = items.indices.to_numpy(), table["line"].to_numpy()
    n_items = len(items.dictionary)
    label = np.append(symbol_of, np.int8(-1))[table["label"].to_numpy()]
    try:
        votes = LongVotes.of(item, table["voter"].to_numpy(), label, n_items, n_voters, repeats)
    except TwoLabels as found:
        raise clash(items.dictionary[found.item].as_py(), found.voter) from None
    codes, first = votes.sparse, np.full(n_items, np.iinfo(np.int64).max)
    np.minimum.at(first, item, line)
    columns = {
        "item": items.dictionary,
        "line": first,
        "voters": _lists(codes.starts, codes.voters),
        "symbols": _lists(codes.starts, codes.symbols),
    }
    if "truth" in table.column_names:
        truth, known = table["truth"].to_numpy(), np.full(n_items, -1, dtype=np.int32)
        known[item[truth >= 0]] = truth[truth >= 0]
        other = np.flatnonzero((truth >= 0) & (known[item] != truth))
        if len(other):
            raise clash(items.dictionary[int(item[other[0]])].as_py(), None)
        columns["truth"] = known
    return Grouped(pa.table(columns), votes.n_repeated, votes.n_changed)


def _lists(starts: NDArray[np.int64], values: NDArray) -> Any:
    return pa.LargeListArray.from_arrays(pa.array(starts), pa.array(values))


def line_bounds(rows: Any, n_parts: int) -> NDArray[np.int64]:
    """Return the lines that cut rows into parts of about as many votes, from those of one part: a fair sample."""
    if n_parts == 1 or not rows.num_rows:
        return np.empty(0, dtype=np.int64)
    work = np.cumsum(1 + pc.list_value_length(rows["voters"]).to_numpy())
    places = np.searchsorted(work, work[-1] * np.arange(1, n_parts) / n_parts)
    return rows["line"].to_numpy()[places]


def cut_rows(rows: Any, bounds: NDArray[np.int64]) -> list[Any]:
    """Cut rows that are in order at some lines."""
    ends = [0, *np.searchsorted(rows["line"].to_numpy(), bounds).tolist(), rows.num_rows]
    return [rows.slice(first, last - first) for first, last in pairwise(ends)]


def arrange_rows(tables: Sequence[Any]) -> Any:
    """Put rows in the order of the lines where their items first occur."""
    table = pa.concat_tables(tables)
    order = np.argsort(table["line"].to_numpy(), kind="stable")
    return table.take(pa.array(order)).combine_chunks()


def rows_of(table: Any, n_voters: int, code_of: NDArray[np.int8], n_symbols: int) -> SparseRows:
    """Return arranged rows as votes; ``code_of`` has the code of every symbol, -1 for no vote."""
    voters, symbols = (whole_array(table.column(name)) for name in ("voters", "symbols"))
    starts = voters.offsets.to_numpy()
    first, last = (int(starts[0]), int(starts[-1])) if len(starts) else (0, 0)
    said = symbols.values.to_numpy()[first:last] if len(symbols) else np.empty(0, np.int8)
    who = voters.values.to_numpy()[first:last] if len(voters) else np.empty(0, np.int32)
    codes = SparseCodes(starts - first if len(starts) else np.zeros(1, np.int64), who, said, n_voters)
    return SparseRows.of(codes.recoded(np.append(code_of, np.int8(-1))), n_symbols)


def batches_of_lines(lines: Iterable[LongLines], n_lines: int) -> Iterator[LongLines]:
    """Yield lines of a few small batches together: splitting costs as much for few lines as for many."""
    held: list[LongLines] = []
    for more in lines:
        held.append(more)
        if sum(len(part.items) for part in held) >= n_lines:
            yield _stacked(held)
            held = []
    if held:
        yield _stacked(held)


def _stacked(parts: list[LongLines]) -> LongLines:
    def column(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else pa.concat_arrays([_as_type(one, arrays[0].type) for one in arrays])

    return LongLines(column("items"), column("voters"), column("labels"), column("truths"))
