"""The counting pass is a value that adds: any tree of sums over parts of the votes gives the same bits."""

import numpy as np
import pytest

from goldless.votes import sketch as sketch_module
from goldless.votes.rows import Rows
from goldless.votes.sketch import Sketch


@pytest.mark.parametrize("n_symbols", [2, 5])
@pytest.mark.parametrize("many", [20, 1 << 17], ids=["a sample", "all patterns"])
def test_any_tree_of_sums_is_the_same(rng, monkeypatch, many, n_symbols):
    monkeypatch.setattr(sketch_module, "MANY_PATTERNS", many)
    monkeypatch.setattr(sketch_module, "SAMPLE_PATTERNS", min(many, 10))
    codes = rng.integers(-1, n_symbols, (600, 5)).astype(np.int8)
    codes[137] = -1
    whole = Sketch.of(Rows.of(codes, n_symbols))
    assert whole.is_sample == (many == 20)
    for _ in range(10):
        cuts = np.sort(rng.integers(1, 600, 6))
        parts = [Sketch.of(Rows.of(part, n_symbols)) for part in np.split(codes, cuts) if len(part)]
        while len(parts) > 1:  # neighbours, because the first empty row is counted from the first part
            first = int(rng.integers(0, len(parts) - 1))
            parts[first : first + 2] = [parts[first] + parts[first + 1]]
        total = parts[0]
        np.testing.assert_array_equal(total.pairs.tables, whole.pairs.tables)
        np.testing.assert_array_equal(total.table.codes, whole.table.codes)
        np.testing.assert_array_equal(total.table.counts, whole.table.counts)
        assert (total.limit, total.n_rows, total.n_items) == (whole.limit, whole.n_rows, whole.n_items)
        assert (total.n_empty, total.first_empty) == (whole.n_empty, whole.first_empty)
