"""Votes from files: every format gives the same votes, and a bad file one clear line."""

import gzip
import io
import json
import os
import warnings
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import goldless as gl
from goldless.cli.errors import in_options
from goldless.io.files import VotesFileError, read_votes
from goldless.io.readers import base
from goldless.io.readers import text as text_columns

WIDE = "id,ann,bob,eve\na,yes,no,yes\nb,no,no,\nc,yes,yes,no\nd,no,NA,no\n"
CODES = np.array([[1, 0, 1], [0, 0, -1], [1, 1, 0], [0, -1, 0]])


def read(text, **options):
    data = text.encode() if isinstance(text, str) else text
    return read_votes(io.BytesIO(data), **options)


def long_table(text=WIDE):
    frame = pd.read_csv(io.StringIO(text))
    return frame.melt(id_vars="id", var_name="worker", value_name="label").rename(columns={"id": "task"})


def assert_wide(table):
    np.testing.assert_array_equal(table.votes.codes, CODES)
    assert table.votes.classes.tolist() == ["no", "yes"]
    assert table.votes.voters.tolist() == ["ann", "bob", "eve"]
    assert table.votes.items.tolist() == ["a", "b", "c", "d"]


# -- formats agree ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("quote", [False, True])
def test_every_delimiter_and_line_end(delimiter, newline, quote):
    text = WIDE.replace("yes", '"yes"') if quote else WIDE
    assert_wide(read(text.replace(",", delimiter).replace("\n", newline)))


def test_the_last_line_may_lack_its_end_and_a_mark_may_stand_first():
    assert_wide(read(WIDE.rstrip("\n")))
    assert_wide(read("\ufeff" + WIDE))
    assert_wide(read("\ufeff" + WIDE.replace("yes", '"yes"')))
    assert_wide(read(WIDE + "\n\n"))
    assert_wide(read(gzip.compress(WIDE.encode())))
    assert_wide(read(WIDE.encode("utf-16"), encoding="utf-16"))


def test_spaces_and_words_for_no_vote(rng):
    labels = np.array(["yes", "no", "", " yes ", "NA", "a long label indeed"])
    votes = labels[rng.choice(6, size=(3000, 7), p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05])]
    text = "\n".join([",".join(f"v{i}" for i in range(7)), *(",".join(row) for row in votes)]) + "\n"
    codes = read(text, missing=["a long label indeed"]).votes.codes
    np.testing.assert_array_equal(codes, np.select([votes == "yes", votes == " yes ", votes == "no"], [1, 1, 0], -1))


def test_quotes_that_begin_late_in_a_large_file(monkeypatch):
    monkeypatch.setattr(text_columns, "BLOCK", 100)
    lines = ["a,b,c", *["yes,no,no"] * 100, '"yes",yes,"ye\ns"', *["no,no,yes"] * 100]
    codes = read("\n".join(lines), missing=["ye\ns"]).votes.codes
    assert codes.shape == (201, 3)
    assert codes[100].tolist() == [1, 1, -1]
    assert codes[101].tolist() == [0, 0, 1]


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "jsonl"])
@pytest.mark.parametrize("long", [False, True])
def test_formats_agree(kind, long, tmp_path):
    frame = long_table() if long else pd.read_csv(io.StringIO(WIDE))
    path = tmp_path / f"votes.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        getattr(frame, f"to_{kind}")(path)
    table = read_votes(path)
    assert_wide(table)
    assert ("long" in table.how) == long


def test_arrays(tmp_path):
    votes = np.array([[1, -1, 1], [-1, 0, 1]], dtype=np.int8)
    np.savez(tmp_path / "votes.npz", votes=votes, voters=["a", "b", "c"], truth=np.array([1, -1]))
    table = read_votes(tmp_path / "votes.npz", missing=[0], truth="truth")
    np.testing.assert_array_equal(table.votes.codes, [[1, 0, 1], [0, -1, 1]])
    assert table.truth.tolist() == [1, 0]
    assert table.votes.voters.tolist() == ["a", "b", "c"]
    note = read_votes(tmp_path / "votes.npz", missing=[0]).notes[0]
    assert str(note) == "The array 'truth' was not read; to score against it, pass truth='truth'."
    assert "pass --truth truth" in in_options(note)


# -- shape --------------------------------------------------------------------------------------------------


def test_a_long_table_by_given_columns():
    text = "q,who,said,when\n1,x,up,mon\n1,y,down,tue\n2,x,down,wed\n2,y,,thu\n"
    table = read(text, item="q", voter="who", label="said")
    np.testing.assert_array_equal(table.votes.codes, [[1, 0], [0, -1]])
    assert table.votes.voters.tolist() == ["x", "y"]
    assert "long ('q', 'who', 'said')" in table.how
    with pytest.raises(VotesFileError, match=r"three columns; name the others by voter=\.\.\. and label=\.\.\."):
        read(text, item="q")


def test_repeated_votes_count_once_and_contradictions_are_named():
    text = "item,voter,label\n1,x,up\n1,x,up\n1,y,down\n"
    assert "1 row repeats" in str(read(text).notes[0])
    with pytest.raises(VotesFileError, match="voter 'x' gave item '1' two different labels"):
        read(text.replace("1,x,up\n1,x,up", "1,x,up\n1,x,down"))


def test_a_file_without_a_header():
    table = read("0,1,1\n1,1,0\n0,0,0\n")
    assert table.votes.codes.shape == (3, 3)
    assert table.votes.voters[0] == "column 1"
    assert "without a header" in table.how


def test_truth_is_split_off_and_never_a_voter():
    text = WIDE.replace("eve", "truth").replace(",\n", ",no\n")
    table = read(text, truth="truth")
    assert table.votes.voters.tolist() == ["ann", "bob"]
    assert table.truth.tolist() == [1, 0, 0, 0]
    left = read(text)
    assert left.votes.voters.tolist() == ["ann", "bob"]
    assert str(left.notes[0]) == (
        "Column 'truth' was left out, for its name says that it is the truth; "
        "to score against it, pass truth='truth'."
    )
    assert left.truth is None
    long = "item,voter,label,gold\n1,x,up,up\n1,y,down,up\n2,x,down,\n"
    assert read(long, truth="gold").truth.tolist() == [1, -1]
    with pytest.raises(VotesFileError, match="the truth holds 'maybe'"):
        read(text.replace("yes,no,yes", "yes,no,maybe"), truth="truth")


def test_numbers_written_differently_are_one_label():
    assert read("a,b,c\n1,0,1.0\n0.0,1,00\n").votes.classes.tolist() == [0, 1]


def test_labels_that_differ_in_capitals_only_are_joined_and_said(tmp_path):
    text = "a,b,c\nYes,no,yes\nyes,No,no\n no,YES,no\n"
    table = read(text)
    assert table.votes.classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(table.votes.codes, [[1, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert "'No' = 'no'" in str(table.notes[0])
    (tmp_path / "votes.csv").write_text(text)
    streamed = gl.VoteStream(tmp_path / "votes.csv").open()
    np.testing.assert_array_equal(np.concatenate([r.codes for r, _ in streamed.rows(lambda r: r)]), table.votes.codes)


def test_numbers_that_are_no_labels_are_read_as_they_are():
    table = read("id,a,b\nx,0.1,0.3\ny,0.5,\nz,0.25,1\n")
    np.testing.assert_array_equal(table.votes.answers, [[0.1, 0.3], [0.5, np.nan], [0.25, 1]])
    assert (table.n_items, table.n_voters, table.n_votes) == (3, 2, 5)
    assert table.voters == ["a", "b"]
    grades = read("a,b\n" + "".join(f"{i % 90},{i % 90 + 20}\n" for i in range(400)))
    assert grades.votes.bins is not None
    assert grades.n_votes == 800


def test_columns_that_are_no_votes_are_left_out_in_one_message():
    lines = [f"{i},en,{'mf'[i % 2]},{i * 1.5},{'yn'[i % 2]},{'yn'[i % 3 == 0]},{'yn'[i % 5 == 0]}" for i in range(60)]
    table = read("\n".join(["id,language,sex,seconds,a,b,c", *lines]))
    assert table.votes.voters.tolist() == ["a", "b", "c"]
    assert [str(note) for note in table.notes] == [
        "Left out, for they share no label with the others: columns 'language', 'sex', 'seconds'."
    ]


def test_missing_and_positive_as_text():
    table = read("a,b,c\n1,0,-1\n-1,1,1\n", missing=["0"], positive="-1")
    assert table.votes.classes.tolist() == [1, -1]
    np.testing.assert_array_equal(table.votes.codes, [[0, -1, 1], [1, 0, 0]])
    with pytest.raises(VotesFileError, match=r"pass missing=0 if .*, missing=-1 if .*, classes=.-1, 0, 1. for three"):
        read("a,b,c\n1,0,-1\n-1,1,1\n")


def test_estimators_take_what_was_read(rng, tmp_path):
    X, _ = gl.simulate_votes(2000, groups=[3, 1, 1, 1, 1], random_state=1)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    frame.to_csv(tmp_path / "votes.csv", index=False)
    table = read_votes(tmp_path / "votes.csv")
    one, other = (gl.LatentSML(structure="paper").fit(votes) for votes in (table.votes, frame))
    np.testing.assert_array_equal(one.groups_, other.groups_)
    np.testing.assert_array_equal(one.predict(table.votes), other.predict(frame))
    assert one.feature_names_in_.tolist() == list("abcdefg")
    turned = gl.encode_votes(table.votes, positive=-1)
    np.testing.assert_array_equal(turned.codes, 1 - table.votes.codes)
    np.testing.assert_array_equal(one.predict(turned), other.predict(frame))


# -- bad files ----------------------------------------------------------------------------------------------

BAD = {
    "empty": (b"", "is empty"),
    "only spaces": (b" \n \n", "is empty"),
    "header only": (b"a,b,c\n", "a header but no rows"),
    "ragged": (b"a,b,c\nyes,no,yes\nyes,no\n", "line 3 has 2 fields where the first line has 3"),
    "ragged later": (b"a,b\n" + b"yes,no\n" * 5000 + b"yes,no,no\n", "line 5002 has 3 fields"),
    "binary": (bytes(range(256)) * 10, "is not text"),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0", "is a picture"),
    "one column": (b"a:b:c\nyes:no:yes\n", "only one column when cut at commas"),
    "same names": (b"a,b,a\nyes,no,yes\nno,no,yes\n", "two columns named 'a'"),
    "many columns": (
        b",".join(b"v%d" % i for i in range(10**6)) + b"\n" + b"1," * 10**6 + b"0\n",
        "more than 10,000 columns",
    ),
    "huge field": (b'a,b\n"' + b"x" * 10**6 + b'",no\n', "A text of 1,000,000 characters"),
    "huge plain field": (b"a,b\n" + b"x" * 10**6 + b",no\nyes,no\n", "A text of 1,000,000 characters"),
    "open quote": (b'a,b\nyes,no\n"yes,no\n' + b"yes,no\n" * 500, "line 3 has 1 field where the first line has 2"),
    "latin-1": ("a,b\noui,non\nété,oui\n".encode("latin-1"), "pass its encoding=..., such as latin-1"),
    "latin-1 header": ("é,b\noui,non\nnon,oui\n".encode("latin-1"), "pass its encoding=..., such as latin-1"),
    "one class": (b"a,b,c\nyes,yes,yes\nyes,yes,yes\n", "only one class"),
    "all missing": (b"a,b,c\nNA,,NA\n,null,\n", "all votes are missing"),
    "text": (b"a,b,note\n" + b"".join(b"yes,no,n%d\n" % i for i in range(60)), "shares no label with the others"),
    "bad json": (b'{"a": 1}\n{"a": \n', "line 2 is not JSON"),
    "json lists": (b'{"a": [1, 2]}\n{"a": [1, 2, 3]}\n', "hold lists without a list of their voters"),
    "json object": (b'{"a": 1}\n', "holds one JSON object, not votes on several items"),
    "json scalar": (b'{"a": 1}\n3\n', "line 2 is not a JSON object"),
    "cut parquet": (b"PAR1" + b"\0" * 50, "damaged Parquet"),
    "cut npz": (b"PK\x03\x04" + b"\0" * 50, "is a damaged zip file"),
    "cut gzip": (gzip.compress(WIDE.encode())[:-12], "is a damaged gzip file"),
    "damaged gzip": (gzip.compress(WIDE.encode() * 50)[:40] + b"\xff" * 40, "is a damaged gzip file"),
    "long label": (b"a,b,c\nyes,no," + b"x" * 10**5 + b"\nno,no,yes\n", "A text of 100,000 characters, 'xxx"),
    "items as a voter": (
        b"a,b,n\n" + b"".join(b"1,0,%d\n" % i for i in range(101)),
        "if it names the items, pass it as id_column=...; if it is no voter, as ignore=...",
    ),
    "long by other names": (
        b"Frage,Wer,Urteil\n"
        + b"".join(b"%d,%s,%s\n" % (i // 3, b"uvw"[i % 3 :][:1], b"ny"[i % 2 :][:1]) for i in range(60)),
        "pass item='Frage' voter='Wer' label='Urteil', or the first two the other way round",
    ),
    "json array of numbers": (b"[1, 2]", "element 0 of the array is not a JSON object"),
    "empty json array": (b"[]", "is an empty JSON array"),
    "cut json array": (b'[{"a": 1, "b": 0}', "line 1 is not JSON"),
}


def zipped(**files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


BAD["spreadsheet"] = (zipped(**{"[Content_Types].xml": "<Types/>"}), "is a spreadsheet that cannot be read")
BAD["zip"] = (zipped(notes="hello"), "is a zip file without files of votes")


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_clear_line(case, tmp_path):
    data, said = BAD[case]
    path = tmp_path / ("votes.json" if "json array" in case else "votes.txt")
    path.write_bytes(data)
    for source in (path,) if path.suffix == ".json" else (path, io.BytesIO(data)):
        with pytest.raises(VotesFileError) as stop:
            read_votes(source)
        assert said in str(stop.value)
        assert "\n" not in str(stop.value)
        assert len(str(stop.value)) < 400 + len(str(path))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "npz", "parquet", "feather"])
@pytest.mark.parametrize("streamed", [False, True])
def test_damaged_bytes_are_read_or_refused_in_one_line(kind, streamed, rng, tmp_path):
    votes = rng.choice(["yes", "no"], (300, 4)).tolist()
    frame = pl.DataFrame(votes, schema=list("abcd"), orient="row")
    path = tmp_path / f"votes.{kind}"
    if kind == "npz":
        np.savez(path, votes=np.array(votes))
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    elif kind == "feather":
        feather.write_feather(frame.to_pandas(), path, compression="uncompressed")
    else:
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind](path)
    whole = path.read_bytes()
    for _ in range(150):
        data = bytearray(whole[: rng.integers(len(whole) // 2, len(whole) + 1)])
        for place in rng.integers(0, len(data), rng.integers(1, 20)):
            data[place] = rng.integers(256)
        path.write_bytes(data)
        assert "\n" not in (said := refusal(path, streamed))
        assert len(said) < 500 + len(str(path))


def refusal(path, streamed):
    """Return why a file is refused, or nothing if it can be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of votes that are odd and no more
        try:
            gl.MajorityVote().fit(gl.VoteStream(path)) if streamed else read_votes(path)
        except ValueError as error:
            return str(error)
    return ""


@pytest.mark.parametrize("streamed", [False, True])
def test_an_arrow_file_that_points_outside_its_bytes_is_refused(streamed, tmp_path):
    ends = pa.py_buffer(np.array([0, 3, 2**30, 5], dtype=np.int32))
    column = pa.StringArray.from_buffers(3, ends, pa.py_buffer(b"yesno"))
    table = pa.table({"a": column, "b": pa.array(["yes", "no", "yes"])})
    with pa.OSFile(str(tmp_path / "votes.feather"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    assert "offset" in refusal(tmp_path / "votes.feather", streamed)


def test_long_tables_keep_the_order_of_the_file_in_every_format(tmp_path):
    rows = [
        (f"{item}", f"v{voter}", "yes" if (item + voter) % 2 else "no")
        for item in range(30)
        for voter in range(9, 0, -1)
    ]
    frame = pl.DataFrame(rows, schema=["item", "voter", "label"], orient="row")
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        votes = read_votes(tmp_path / name).votes
        assert votes.items.tolist() == [str(item) for item in range(30)]
        assert votes.voters.tolist() == [f"v{voter}" for voter in range(9, 0, -1)]


def test_a_misspelt_column_is_recognised():
    with pytest.raises(VotesFileError, match=r"the truth column 'Anne' is not in .*; did you mean 'ann'\?"):
        read(WIDE, truth="Anne")


def test_latin_1_when_told():
    text = "a,b\noui,non\nété,oui\nnon,oui\n"
    assert read(text.encode("latin-1"), encoding="latin-1", missing=["été"]).votes.classes.tolist() == ["non", "oui"]


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    with pytest.raises(VotesFileError, match="no such file"):
        read_votes(tmp_path / "nothing.csv")
    with pytest.raises(VotesFileError, match="is a folder without files of votes"):
        read_votes(tmp_path)
    with pytest.raises(VotesFileError, match=r"no file matches .*\*\.csv"):
        read_votes(tmp_path / "*.csv")
    secret = tmp_path / "secret.csv"
    secret.write_text(WIDE)
    secret.chmod(0)
    if os.access(secret, os.R_OK):  # root reads everything

        def refuse(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(base.Path, "open", refuse)
    with pytest.raises(VotesFileError, match="permission denied"):
        read_votes(secret)


def test_pickles_are_never_loaded(tmp_path):
    np.savez(tmp_path / "votes.npz", votes=np.array([["a", None]], dtype=object))
    with pytest.raises(VotesFileError, match="never loaded"):
        read_votes(tmp_path / "votes.npz")


def test_an_unknown_column_is_named_with_those_there_are():
    with pytest.raises(VotesFileError, match=r"the truth column 'gold' is not in .* 'ann', 'bob', 'eve'"):
        read(WIDE, truth="gold")


def test_json_lines_may_lack_keys():
    lines = [{"x": "up", "y": "down"}, {"x": "down"}, {"y": "up", "z": None}]
    table = read("\n".join(map(json.dumps, lines)))
    np.testing.assert_array_equal(table.votes.codes, [[1, 0, -1], [0, -1, -1], [-1, 1, -1]])


# -- more than two classes ----------------------------------------------------------------------------------

COLOURS = "id,ann,bob,eve,truth\na,red,green,red,red\nb,green,green,,green\nc,blue,red,blue,blue\nd,blue,NA,green,\n"
COLOUR_CODES = np.array([[2, 1, 2], [1, 1, -1], [0, 2, 0], [0, -1, 1]])


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "jsonl", "npz"])
@pytest.mark.parametrize("long", [False, True])
def test_three_classes_in_every_format(kind, long, tmp_path):
    frame = pd.read_csv(io.StringIO(COLOURS))
    if kind == "npz":
        votes = frame[["ann", "bob", "eve"]].fillna("").to_numpy().astype("U5")
        truth = frame["truth"].fillna("").to_numpy().astype("U5")
        np.savez(tmp_path / "votes.npz", votes=votes, truth=truth)
    else:
        if long:
            frame = frame.melt(id_vars=["id", "truth"], var_name="worker", value_name="label")
        path = tmp_path / f"votes.{kind}"
        if kind == "csv":
            frame.to_csv(path, index=False)
        elif kind == "jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            getattr(frame.astype("category") if not long else frame, f"to_{kind}")(path)
    table = read_votes(tmp_path / f"votes.{kind}", truth="truth")
    assert table.votes.classes.tolist() == ["blue", "green", "red"]
    np.testing.assert_array_equal(table.votes.codes, COLOUR_CODES)
    assert table.truth.tolist() == [2, 1, 0, -1]


def test_a_truth_that_nobody_votes_for_needs_listed_classes():
    text = COLOURS.replace("blue,blue\n", "blue,white\n")
    with pytest.raises(
        VotesFileError, match=r"the truth holds 'white', but .*'red'; list all classes in classes=..."
    ):
        read(text, truth="truth")
    table = read(text, truth="truth", classes=["red", "green", "blue", "white"])
    assert table.truth.tolist() == [0, 1, 3, -1]
    assert table.votes.codes.max() == 2


def test_listed_classes_may_be_text_of_numbers():
    table = read("a,b,c\n1,0,-1\n-1,1,1\n", classes=["-1", "0", "1"])
    assert table.votes.classes.tolist() == [-1, 0, 1]
    np.testing.assert_array_equal(table.votes.codes, [[2, 1, 0], [0, 2, 2]])
    with pytest.raises(VotesFileError, match=r"Unknown label -1 in row 0, column 'c'.*; add it to classes=..."):
        read("a,b,c\n1,0,-1\n-1,1,1\n", classes=["0", "1"])


def test_rules_that_fire_on_one_class_each_are_voters():
    lines = ["sport,money,music,art", *["s,,,", ",m,,", ",,u,", "s,,,a", ",m,u,"] * 5]
    assert read("\n".join(lines)).votes.classes.tolist() == ["a", "m", "s", "u"]


def test_words_of_a_dictionary_that_no_row_has_are_no_classes(tmp_path):
    column = pa.DictionaryArray.from_arrays(pa.array([1, 2, 1], pa.int8()), ["?", "no", "yes"])
    parquet.write_table(pa.table({"a": column, "b": column, "c": column}), tmp_path / "votes.parquet")
    assert read_votes(tmp_path / "votes.parquet").votes.classes.tolist() == ["no", "yes"]


def test_a_long_file_of_one_class_can_be_labelled(tmp_path):
    frame = long_table()
    model = gl.MajorityVote().fit(read(WIDE).votes)
    frame[frame.label == "yes"].to_csv(tmp_path / "yes.csv", index=False)
    assert set(model.predict(tmp_path / "yes.csv")) == {"yes"}
    np.savez(tmp_path / "codes.npz", votes=np.full((2, 3), "yes"), voters=["ann", "bob", "eve"])
    assert set(model.predict(tmp_path / "codes.npz")) == {"yes"}
