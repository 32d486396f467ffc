"""A file that changes while it is streamed is noticed, and cannot end the process."""

import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import goldless as gl
from goldless.io.readers.stream import TableReader, understand
from goldless.io.roles import ReadOptions

WRITERS = {"csv": csv.write_csv, "parquet": parquet.write_table, "feather": feather.write_feather}


@pytest.fixture(params=WRITERS)
def votes(request, tmp_path):
    X, _ = gl.simulate_votes(60_000, groups=[3, 1, 1, 1], random_state=0)
    path = tmp_path / f"votes.{request.param}"
    WRITERS[request.param](pa.table({f"v{i}": column for i, column in enumerate(X.T)}), path)
    return path


def passes(path):
    files = understand(path, ReadOptions(), TableReader(batch_rows=1000))
    return lambda: [make() for make in files.makers()]


def test_the_next_pass_finds_another_file(votes):
    go = passes(votes)
    first = go()
    assert len(go()) == len(first)
    table = {"csv": csv.read_csv, "parquet": parquet.read_table, "feather": feather.read_table}[votes.suffix[1:]](
        votes
    )
    WRITERS[votes.suffix[1:]](table.slice(1), votes)
    with pytest.raises(gl.VotesError, match=r"changed while it was read; .* copy the file") as raised:
        go()
    assert raised.value.kind == "changed"


def test_a_file_that_is_written_again_as_it_was_counts_as_changed(votes):
    go = passes(votes)
    os.utime(votes, ns=(1, 1))
    with pytest.raises(gl.VotesError, match="changed while it was read"):
        go()


def test_a_file_that_is_cut_off_in_the_middle_of_a_pass(votes):
    files = understand(votes, ReadOptions(), TableReader(batch_rows=1000))
    makers = files.makers()
    next(makers)()
    os.truncate(votes, os.path.getsize(votes) // 3)
    with pytest.raises(gl.VotesError, match="changed while it was read"):
        _ = [make() for make in makers]


def test_a_fit_of_a_file_that_stays_is_the_fit_of_its_votes(votes):
    X, _ = gl.simulate_votes(60_000, groups=[3, 1, 1, 1], random_state=0)
    streamed = gl.DawidSkene().fit(gl.VoteStream(votes))
    np.testing.assert_allclose(streamed.sensitivity_, gl.DawidSkene().fit(X).sensitivity_, atol=1e-9)
