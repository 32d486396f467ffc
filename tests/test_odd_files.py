"""Files and options that once ended in a traceback or in half a result: now one line, or a whole result."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import goldless as gl
from goldless.cli import main

ROWS = "item,a,b,c,truth\n" + "".join(f"{i},{'yn'[i % 2]},{'yn'[i % 3 == 0]},{'yn'[i % 2]},\n" for i in range(60))


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(ROWS)
    return path


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_an_empty_truth_is_said_and_labels_are_written(engine, votes, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    assert main(["combine", str(votes), "--truth", "truth", "--engine", engine, "-o", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 61
    assert "Nothing was scored: no item has a label in 'truth'" in " ".join(capsys.readouterr().err.split())


def test_a_column_cannot_be_the_truth_and_name_the_items(votes, capsys):
    assert main(["combine", str(votes), "--truth", "truth", "--id-column", "truth"]) == 1
    said = capsys.readouterr().err.strip()
    assert "column 'truth'" in said
    assert "cannot be two things; name another column by --truth and --id-column" in said
    assert len(said.splitlines()) == 1


def test_all_voters_of_an_array_ignored(tmp_path):
    np.savez(tmp_path / "votes.npz", votes=np.array([[0, 1], [1, 0]]))
    with pytest.raises(gl.VotesError, match="has no column of votes left"):
        gl.read_votes(tmp_path / "votes.npz", ignore=["voter 1", "voter 2"])


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e400"])
def test_infinity_is_no_vote(value, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(f"a,b,c\n1,{value},0\n0,1,1\n1,1,0\n")
    with pytest.raises(gl.VotesError, match="column 'b' holds infinity, which is no vote"):
        gl.read_votes(path)
    assert value in gl.read_votes(path, kind="labels").votes.classes  # as a name it is one like others


def test_an_encoding_that_nobody_knows(votes, capsys):
    assert main(["inspect", str(votes), "--encoding", "nope"]) == 1
    assert "unknown encoding: nope" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"\x93NUMPY\x01\x00\x0a\x00{'descr': [", b"\x93NUMPY\x07\x00", b"\x93NUMPY"])
def test_a_header_that_is_no_header(data, tmp_path):
    (tmp_path / "L.npy").write_bytes(data)
    with pytest.raises(gl.VotesError, match="its header is not that of an array"):
        gl.read_votes(tmp_path / "L.npy")


def test_an_array_that_promises_more_than_there_is(tmp_path):
    np.save(tmp_path / "L.npy", np.zeros((3, 4), dtype=np.int8))
    data = (tmp_path / "L.npy").read_bytes()
    (tmp_path / "L.npy").write_bytes(data.replace(b"(3, 4), }", b"(99, 4),}"))
    with pytest.raises(gl.VotesError, match="its header promises 396 bytes"):
        gl.read_votes(tmp_path / "L.npy")


def test_packed_text_may_be_no_larger_than_allowed(votes, tmp_path, monkeypatch):
    import gzip

    path = tmp_path / "votes.csv.gz"
    path.write_bytes(gzip.compress(ROWS.encode() + b"x,y,n,y,\n" * 10_000_000))
    monkeypatch.setenv("GOLDLESS_MAX_BYTES", str(1 << 28))
    with pytest.raises(gl.VotesError, match="GOLDLESS_MAX_BYTES to a larger number") as raised:
        gl.read_votes(path)
    assert raised.value.kind == "too-large"


def test_a_tiny_parquet_file_of_very_many_rows(tmp_path, monkeypatch):
    """Runs of one row take no place in Parquet: the file is refused by the size it states, or streamed."""
    X, _ = gl.simulate_votes(40, groups=[1] * 5, random_state=0)
    path, n_rows = tmp_path / "votes.parquet", 40 * 25_000
    columns = [np.repeat(column, n_rows // 40) for column in X.T]
    parquet.write_table(pa.table(columns, names=list("abcde")), path)
    del columns
    assert path.stat().st_size < 20_000
    limit = 8 << 20
    assert limit < 4 * 5 * n_rows
    monkeypatch.setenv("GOLDLESS_MAX_BYTES", str(limit))
    usual, watched = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(watched)
    try:
        with pytest.raises(gl.VotesError, match="GOLDLESS_MAX_BYTES to a larger number") as raised:
            gl.read_votes(path)
        assert raised.value.kind == "too-large"
        assert watched.max_memory() < 1 << 16
        streamed = gl.MajorityVote().fit(path).predict_to(path, tmp_path / "labels.parquet")
        assert watched.max_memory() < limit
    finally:
        pa.set_memory_pool(usual)
    monkeypatch.setenv("GOLDLESS_MAX_BYTES", str(1 << 30))
    table = gl.read_votes(path)
    assert table.n_items == sum(streamed.values()) == n_rows


@pytest.mark.parametrize("name", ["votes.xlsx", "log.eval", "votes.npz"])
def test_damage_inside_a_zip_file(name, tmp_path):
    member = {"votes.xlsx": "xl/workbook.xml", "log.eval": "header.json", "votes.npz": "votes.npy"}[name]
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(member, "some text that is packed " * 50)
        packed.writestr("xl/_rels/workbook.xml.rels", "<x/>")
    data = bytearray((tmp_path / name).read_bytes())
    start = 30 + len(member)
    data[start : start + 12] = b"\xff" * 12
    (tmp_path / name).write_bytes(bytes(data))
    with pytest.raises(gl.VotesError, match=name):
        gl.read_votes(tmp_path / name)


# -- tables as people save them -----------------------------------------------------------------------------

VOTERS = ("ann", "bob", "cat", "dan")
MARKS = np.random.default_rng(3).random((12, 4)) < 0.5  # what each voter says of each item


def table(yes="yes", no="no", cut=",", end="\n", head=True, more=(), gap=None):
    """Return a wide table as text; ``more`` are columns (name, value of a row), ``gap`` stands for two votes."""
    lines = [cut.join(["id", *VOTERS, *(name for name, _ in more)])] if head else []
    for row, marks in enumerate(MARKS):
        cells = [yes if mark else no for mark in marks]
        if gap is not None and row in (2, 5):
            cells[1] = gap
        lines.append(cut.join([f"q{row}", *cells, *(str(value(row)) for _, value in more)]))
    return end.join(lines) + end


def zipped(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, text in files.items():
            packed.writestr(name if name == "README" else f"{name}.csv", text)
    return stream.getvalue()


SAVED = {
    "bom.csv": b"\xef\xbb\xbf" + table().encode(),
    "utf-16.csv": table().encode("utf-16"),
    "old mac.csv": table(end="\r").encode(),
    "windows.csv": table(end="\r\n").encode(),
    "semicolons.csv": table(cut=";").encode(),
    "excel.csv": ("sep=;\n" + table(cut=";")).encode(),
    "comments.csv": ("# made in March\n# by a tool, as it says\n" + table()).encode(),
    "header is a comment.csv": ("# made in March\n#" + table()).encode(),
    "title.csv": ("Votes of March\n\n" + table()).encode(),
    "title cells.csv": ("Votes,,,,\n" + table()).encode(),
    "comma at the end.csv": table().replace("\n", ",\n").encode(),
    "no header.csv": table(head=False).encode(),
    "votes.csv.gz": gzip.compress(table().encode()),
    "votes.csv.bz2": bz2.compress(table().encode()),
    "votes.csv.xz": lzma.compress(table().encode()),
    "votes.csv.zst": pa.compress(table().encode(), codec="zstd", asbytes=True),
    "packed, and its name does not say so.csv": gzip.compress(table().encode()),
}


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("name", SAVED)
def test_tables_as_people_save_them(name, engine, tmp_path):
    path = tmp_path / name
    path.write_bytes(SAVED[name])
    if engine == "memory":
        found = gl.read_votes(path)
        np.testing.assert_array_equal(found.votes.codes, MARKS)
        assert found.items.tolist() == [f"q{row}" for row in range(12)]
        assert [str(note) for note in found.notes] == []
    else:
        named = gl.VoteStream(path).find_rows(["q11"])
        assert named == {"q11": 11}
        labels = gl.MajorityVote().fit(gl.VoteStream(path)).predict(gl.VoteStream(path))
        np.testing.assert_array_equal(
            labels, gl.MajorityVote().fit(MARKS).predict(MARKS).astype(int).choose(["no", "yes"])
        )


def test_a_zip_file_is_read_as_the_folder_it_packs(tmp_path):
    (tmp_path / "one.zip").write_bytes(zipped(votes=table(), README="votes of March"))
    np.testing.assert_array_equal(gl.read_votes(tmp_path / "one.zip").votes.codes, MARKS)
    files = {
        voter: "id,vote\n" + "".join(f"q{row},{'ny'[int(mark)]}\n" for row, mark in enumerate(MARKS[:, number]))
        for number, voter in enumerate(VOTERS)
    }
    (tmp_path / "many.zip").write_bytes(zipped(**files))
    found = gl.read_votes(tmp_path / "many.zip")
    assert found.voters == list(VOTERS)
    np.testing.assert_array_equal(found.votes.codes, MARKS)


@pytest.mark.parametrize("engine", [gl.read_votes, gl.VoteStream])
@pytest.mark.parametrize("gap", ["", "NA", "n/a", ".", "-", "--", "?", "#N/A", "null", "ABSTAIN"])
@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("1", "0")])
def test_what_people_write_where_there_is_no_vote(gap, yes, no, engine, tmp_path):
    (tmp_path / "votes.csv").write_text(table(yes, no, gap=gap))
    expected = np.where(MARKS, 1, 0)
    expected[[2, 5], 1] = -1
    source = engine(tmp_path / "votes.csv")
    model = gl.DawidSkene().fit(source)
    plain = gl.DawidSkene(missing=-1).fit(expected)
    assert [str(label) for label in model.classes_] == [no, yes]
    np.testing.assert_allclose(model.predict_proba(source), plain.predict_proba(expected), atol=1e-12)


@pytest.mark.parametrize("engine", [gl.read_votes, gl.VoteStream])
@pytest.mark.parametrize("yes", ["+", "x"])
def test_signs_are_labels(yes, engine, tmp_path):
    (tmp_path / "votes.csv").write_text(table(yes, "-"))
    model = gl.MajorityVote().fit(engine(tmp_path / "votes.csv"))
    assert sorted(model.classes_) == sorted([yes, "-"])
    expected = gl.MajorityVote().fit(MARKS).predict(MARKS)
    labels = model.predict(engine(tmp_path / "votes.csv"))
    tied = MARKS.sum(axis=1) == 2
    np.testing.assert_array_equal((labels == yes)[~tied], expected[~tied])


@pytest.mark.parametrize("engine", [gl.read_votes, gl.VoteStream])
def test_words_that_may_mean_no_vote_are_said(engine, tmp_path, recwarn):
    (tmp_path / "votes.csv").write_text(table(gap="unknown"))
    source = engine(tmp_path / "votes.csv")
    notes = getattr(source, "notes", ())
    if engine is gl.VoteStream:
        source.open()
        notes = [warning.message for warning in recwarn]
    said = " ".join(map(str, notes))
    assert "'unknown' was read as a class; if it means 'no vote', pass missing='unknown'" in said


def test_percentages_and_decimal_commas_are_numbers(tmp_path):
    numbers = np.random.default_rng(1).integers(0, 101, (40, 3))
    plain = "a,b,c\n" + "".join(",".join(f"{v / 100:.2f}" for v in row) + "\n" for row in numbers)
    percent = "a,b,c\n" + "".join(",".join(f"{v} %" for v in row) + "\n" for row in numbers)
    commas = "a;b;c\n" + "".join(";".join(f"{v / 100:.2f}".replace(".", ",") for v in row) + "\n" for row in numbers)
    for name, text in {"plain": plain, "percent": percent, "commas": commas}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    expected = gl.read_votes(tmp_path / "plain.csv")
    for name, said in (("percent", "Percentages were read"), ("commas", "were read as decimal points")):
        found = gl.read_votes(tmp_path / f"{name}.csv")
        np.testing.assert_allclose(found.votes.answers, expected.votes.answers)
        assert any(said in str(note) for note in found.notes)
        with pytest.warns(gl.VotesWarning, match=said):
            labels = gl.LatentSML().fit(gl.VoteStream(tmp_path / f"{name}.csv")).predict(found)
        np.testing.assert_array_equal(labels, gl.LatentSML().fit(expected).predict(expected))


def test_choices_with_a_comma_are_no_decimal_numbers(tmp_path):
    texts = ["1", "2", "1,2"]
    lines = [";".join(texts[(row * k) % 3] for k in (1, 2, 1)) for row in range(9)]
    (tmp_path / "votes.csv").write_text("\n".join(["a;b;c", *lines]))
    assert gl.read_votes(tmp_path / "votes.csv").votes.classes.tolist() == ["1", "1,2", "2"]


BESIDE = {
    "cost": lambda row: row / 11,  # from 0 to 1, both among them
    "ann_confidence": lambda row: 1 - row / 20,
    "latency_ms": lambda row: 100 * row,
    "majority_vote": lambda row: row % 2,
    "goldless_p": lambda row: row / 11,
    "correct": lambda row: row % 2,
}


@pytest.mark.parametrize("engine", [gl.read_votes, gl.VoteStream])
@pytest.mark.parametrize("name", BESIDE)
def test_numbers_beside_votes_are_no_voters(name, engine, tmp_path, recwarn):
    (tmp_path / "votes.csv").write_text(table("1", "0", more=[(name, BESIDE[name])]))
    source = engine(tmp_path / "votes.csv")
    assert list(gl.MajorityVote().fit(source).feature_names_in_) == list(VOTERS)
    notes = [w.message for w in recwarn] if engine is gl.VoteStream else source.notes
    assert len(notes) == 1
    assert repr(name) in str(notes[0])


def test_probabilities_beside_votes_may_be_voters(tmp_path):
    (tmp_path / "votes.csv").write_text(table("1", "0", more=[("eve", lambda row: row / 11)]))
    assert gl.read_votes(tmp_path / "votes.csv").voters == [*VOTERS, "eve"]


def test_rows_of_one_name_and_a_line_of_totals_are_said(tmp_path):
    (tmp_path / "twice.csv").write_text(table() + table(head=False)[:1] + "0,yes,no,yes,no\n")
    (note,) = gl.read_votes(tmp_path / "twice.csv").notes
    assert str(note) == "1 row repeats a name in column 'id'; each row was read as an item of its own."
    (tmp_path / "total.csv").write_text(table() + "Total,5,6,7,8\n")
    (note,) = gl.read_votes(tmp_path / "total.csv").notes
    assert "are numbers: '5', '6', '7', '8'; is a line no item?" in str(note)


def test_a_ragged_line_below_comments_is_named(tmp_path):
    (tmp_path / "votes.csv").write_text("# one\n# two\n" + table() + "q99,yes\n")
    with pytest.raises(gl.VotesError, match="line 16 has 2 fields where the first line has 5"):
        gl.read_votes(tmp_path / "votes.csv")


# -- folders, objects and calls as people have them ---------------------------------------------------------


def yes_no(mark):
    return "yes" if mark else "no"


def rows_of(number):
    """Return item and vote of a voter on every item."""
    return [(f"q{row}", yes_no(mark)) for row, mark in enumerate(MARKS[:, number])]


FILES_OF_A_VOTER = {
    "text beside": ("id,text,label", lambda number, item, vote: f"{item},some text of {item},{vote}"),
    "confidence beside": ("id,label,confidence", lambda number, item, vote: f"{item},{vote},0.{number}{item[1:]}"),
    "reasons beside": ("question_id,prediction,reason", lambda number, item, vote: f"{item},{vote},r{number}{item}"),
    "truth beside": ("id,target,label", lambda number, item, vote: f"{item},yes,{vote}"),
}


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("case", FILES_OF_A_VOTER)
def test_a_folder_of_voters_with_more_than_votes_in_their_files(case, engine, tmp_path):
    head, line = FILES_OF_A_VOTER[case]
    for number, voter in enumerate(VOTERS):
        body = [line(number, item, vote) for item, vote in rows_of(number)]
        (tmp_path / f"{voter}.csv").write_text("\n".join([head, *body]))
    found = gl.read_votes(tmp_path) if engine == "memory" else gl.VoteStream(tmp_path).open
    if engine == "stream":
        with pytest.warns(gl.VotesWarning, match="Left out"):
            found = found()
    assert list(found.voters) == list(VOTERS)
    codes = found.votes.codes if engine == "memory" else found.codes
    np.testing.assert_array_equal(codes, MARKS)


def test_parts_of_a_wide_table_with_row_numbers_stay_parts(tmp_path):
    head, *lines = table().splitlines()
    for part in range(3):
        body = [f"{row},{line}" for row, line in enumerate(lines[4 * part : 4 * part + 4])]
        (tmp_path / f"part-{part}.csv").write_text("\n".join([f",{head}", *body]))
    np.testing.assert_array_equal(gl.read_votes(tmp_path).votes.codes, MARKS)


def test_of_several_fields_of_each_voter_the_vote_is_read():
    records = [
        {
            "id": row,
            "judged": {
                v: {"score": row / 9, "verdict": yes_no(m), "why": f"r{row}"} for v, m in zip(VOTERS, ms, strict=True)
            },
        }
        for row, ms in enumerate(MARKS)
    ]
    found = gl.read_votes(records)
    assert found.voters == list(VOTERS)
    np.testing.assert_array_equal(found.votes.codes, MARKS)
    assert "Of each voter 'verdict' was read; left out: 'score', 'why'." in map(str, found.notes)
    for record in records:
        record["judged"] = {v: {"one": f["verdict"], "two": f["verdict"]} for v, f in record["judged"].items()}
    with pytest.raises(
        gl.VotesError, match="holds 2 fields for each voter: 'one', 'two'; name the columns of the others"
    ):
        gl.read_votes(records)


CALLS = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def test_contigs_with_and_without_chr_are_one(tmp_path):
    for number, voter in enumerate(VOTERS):
        contig = "chr1" if number < 2 else "1"
        lines = [f"{contig}\t{100 + row}\t.\tA\tG\t.\tPASS\t.\n" for row in np.flatnonzero(MARKS[:, number])]
        (tmp_path / f"{voter}.vcf").write_text(CALLS + "".join(lines))
    found = gl.read_votes(tmp_path)
    called = MARKS.any(axis=1)
    np.testing.assert_array_equal(found.votes.codes, MARKS[called])
    assert {item.partition(":")[0] for item in found.items} == {"chr1"}
    assert "'1' and 'chr1' were read as one contig." in map(str, found.notes)


@pytest.mark.parametrize("tag", ["CALLERS", "SUPP_VEC", "set"])
def test_callers_that_the_header_does_not_declare(tag, tmp_path):
    words = {
        "CALLERS": lambda marks: ",".join(np.array(VOTERS)[marks]),
        "SUPP_VEC": lambda marks: "".join(map(str, marks.astype(int))),
        "set": lambda marks: "Intersection" if marks.all() else "-".join(np.array(VOTERS)[marks]),
    }
    called = MARKS[MARKS.any(axis=1)]
    lines = [f"1\t{row}\t.\tA\tG\t.\tPASS\t{tag}={words[tag](marks)}\n" for row, marks in enumerate(called, 1)]
    (tmp_path / "calls.vcf").write_text(CALLS + "".join(lines))
    found = gl.read_votes(tmp_path / "calls.vcf")
    order = range(4) if tag == "SUPP_VEC" else [VOTERS.index(voter) for voter in found.voters]
    np.testing.assert_array_equal(found.votes.codes, called[:, list(order)])


def test_the_way_out_can_be_pasted(tmp_path, capsys):
    votes = "HITId,WorkerId,Answer.a,Answer.b\n" + "".join(
        f"h{row},{voter},{yes_no(mark)},{yes_no(not mark)}\n"
        for row, marks in enumerate(MARKS)
        for voter, mark in zip(VOTERS, marks, strict=True)
    )
    (tmp_path / "batch.csv").write_text(votes)
    assert main(["inspect", str(tmp_path / "batch.csv")]) == 1
    said = capsys.readouterr().err.strip()
    assert said.endswith("name one, such as --question Answer.a")
    asked = said.rpartition("such as ")[2].split()
    assert main(["combine", str(tmp_path / "batch.csv"), *asked, "-o", str(tmp_path / "out.csv")]) == 0


@pytest.mark.parametrize("several", [False, True])
def test_a_cut_marks_variants_in_the_filter(several, tmp_path, capsys):
    called = MARKS[MARKS.any(axis=1)]
    contig = "HLA-A*01:01:01:01"  # a name with colons in it
    if several:
        (tmp_path / "in").mkdir()
        for number, voter in enumerate(VOTERS):
            lines = [f"{contig}\t{row}\t.\tA\tG\t.\tPASS\t.\n" for row in np.flatnonzero(called[:, number]) + 1]
            (tmp_path / "in" / f"{voter}.vcf").write_text(CALLS + "".join(lines))
    else:
        who = [",".join(np.array(VOTERS)[marks]) for marks in called]
        lines = [f"{contig}\t{row}\t.\tA\tG\t.\tq10\tCALLERS={names}\n" for row, names in enumerate(who, 1)]
        (tmp_path / "in").write_text(CALLS + "".join(lines))
    out = tmp_path / "out.vcf"
    assert main(["combine", str(tmp_path / "in"), "--cut", "0.5", "-o", str(out)]) == 0
    text = out.read_text()
    assert '##FILTER=<ID=GoldlessLow,Description="GOLDLESS_P below 0.5">' in text
    records = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    assert [(record[0], int(record[1])) for record in records] == [(contig, row + 1) for row in range(len(called))]
    for record in records:
        low = float(record[7].partition("GOLDLESS_P=")[2].partition(";")[0]) < 0.5
        assert (
            record[6]
            == ({True: "GoldlessLow", False: "PASS"} if several else {True: "q10;GoldlessLow", False: "q10"})[low]
        )
    assert {"GoldlessLow", "PASS"} <= {record[6].removeprefix("q10;").replace("q10", "PASS") for record in records}
    for cut, name in (("1.5", "out2.vcf"), ("0.5", "out.csv")):
        assert main(["combine", str(tmp_path / "in"), "--cut", cut, "-o", str(tmp_path / name)]) == 1
        assert "--cut" in capsys.readouterr().err


@pytest.mark.parametrize("engine", [gl.read_votes, gl.VoteStream])
def test_what_a_format_calls_no_vote_is_none_when_a_model_labels_it(engine, tmp_path):
    matrix = np.where(np.arange(48).reshape(12, 4) % 7 == 0, -1, MARKS)
    np.save(tmp_path / "L.npy", matrix)
    labels = gl.MajorityVote().fit(engine(tmp_path / "L.npy")).predict(engine(tmp_path / "L.npy"))
    np.testing.assert_array_equal(labels, gl.MajorityVote(missing=-1).fit(matrix).predict(matrix))
    listed = gl.read_votes(tmp_path / "L.npy", classes=[-1, 0, 1])
    assert listed.n_votes == 48


def test_scores_in_the_first_column_do_not_name_items(tmp_path, rng):
    """Each row has its own value, as names have; but names are no fractions."""
    truth = rng.random(200) < 0.4
    scores = {f"model {i}": (10 * rng.normal(size=200) + 15 * truth).round(3) for i in range(5)}
    lines = [",".join(scores), *(",".join(map(str, row)) for row in zip(*scores.values(), strict=True))]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(lines) + "\n")
    assert gl.read_votes(path).voters == list(scores)


def crowd(rng, n_items=300, n_workers=12, accuracy=0.8):
    """Return rows of item, worker, label as crowds give them: five votes an item, most of them by few workers."""
    share = rng.dirichlet(np.full(n_workers, 0.5)) * 0.8 + 0.2 / n_workers
    truth = rng.integers(3, size=n_items)
    return [
        (item, worker, truth[item] if rng.random() < accuracy else rng.integers(3))
        for item in range(n_items)
        for worker in rng.choice(n_workers, 5, replace=False, p=share)
    ]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(("numbers", "shuffled"), [(False, False), (False, True), (True, False)])
def test_one_vote_a_row_is_seen_by_what_columns_hold(order, named, numbers, shuffled, rng, tmp_path):
    rows = crowd(rng)
    if shuffled:
        rng.shuffle(rows)
    spelt = "{}" if numbers else "w{}"
    texts = [(f"{100 + i}", spelt.format(20 + int(w)), f"{label}") for i, w, label in rows]
    lines = ["\t".join(row[place] for place in order) for row in texts]
    titles = ["\t".join(["hit", "turker", "said"][place] for place in order)] if named else []
    path = tmp_path / "labels.txt"
    path.write_text("\n".join([*titles, *lines]) + "\n")
    table = gl.read_votes(path)
    assert (table.n_items, table.n_voters, table.n_votes) == (300, 12, 1500)
    assert "names the items" in str(table.notes[0])
    told = gl.read_votes(path, **dict(zip(("item", "voter", "label"), table.how.split("'")[1::2], strict=True)))
    np.testing.assert_array_equal(told.votes.items, table.votes.items)
    stream = gl.VoteStream(path, memory_limit=0)
    labels = gl.MajorityVote().fit(stream).predict(stream)
    with pytest.warns(gl.VotesWarning, match="names the items"):
        np.testing.assert_array_equal(labels, gl.MajorityVote().fit(path).predict(table.X))


def test_which_column_names_items_is_asked_where_votes_do_not_tell(rng, tmp_path, capsys):
    """Labels by chance; and labels that agree within the names of a column in which few have most of the votes."""
    chance = [f"w{worker}\turl{item}\t{rng.choice(['yes', 'no'])}" for item in range(9) for worker in range(9)]
    often = {worker: 0.95 if worker < 3 else 0.1 for worker in range(30)}
    torn = [
        f"w{worker}\turl{item}\t{'yes' if worker % 2 else 'no'}"
        for item in range(200)
        for worker in range(30)
        if rng.random() < often[worker]
    ]
    for lines in (chance, torn):
        path = tmp_path / "labels.tsv"
        path.write_text("\n".join(lines) + "\n")
        assert main(["combine", str(path)]) == 1
        said = capsys.readouterr().err
        assert "could name the items" in said
        assert "--item 'column 1' --voter 'column 2' --label 'column 3'" in said


def test_grades_in_three_columns_are_no_votes_in_rows(rng, tmp_path):
    """Few values, many pairs, and even sorted by one of them."""
    skill = rng.normal(size=80)
    grades = np.clip(np.round(5 + 2 * skill[:, None] + rng.normal(size=(80, 3))), 0, 10).astype(int)
    for table in (grades, grades[np.argsort(grades[:, 0], kind="stable")]):
        path = tmp_path / "grades.csv"
        path.write_text("a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in table))
        assert gl.read_votes(path).n_voters == 3


def test_columns_of_several_questions_are_not_one_panel(tmp_path, rng):
    mood, light = np.array(["sad", "happy", "angry"]), np.array(["day", "night"])
    columns = {f"mood_{i}": mood[rng.integers(3, size=50)] for i in range(3)}
    columns |= {f"light_{i}": light[rng.integers(2, size=50)] for i in range(2)}
    path = tmp_path / "faces.csv"
    path.write_text("\n".join([",".join(columns), *map(",".join, zip(*columns.values(), strict=True))]) + "\n")
    with pytest.raises(gl.VotesError, match=r"answer 2 questions.*'mood_0' and 'mood_1', 'light_0' and 'light_1'"):
        gl.read_votes(path)
    assert gl.read_votes(path, ignore=["light_0", "light_1"]).n_voters == 3


def test_rules_that_know_one_class_each_answer_one_question(tmp_path, rng):
    rules = {f"spam_{i}": np.where(rng.random(60) < 0.4, "spam", "") for i in range(3)}
    rules |= {f"ham_{i}": np.where(rng.random(60) < 0.4, "ham", "") for i in range(3)}
    path = tmp_path / "rules.csv"
    path.write_text("\n".join([",".join(rules), *map(",".join, zip(*rules.values(), strict=True))]) + "\n")
    assert gl.read_votes(path).n_voters == 6


def test_more_labels_than_rows_are_no_labels(tmp_path):
    rows = [["abcdefghijkl"[(2 * i + j) % 12] for j in range(4)] for i in range(8)]
    path = tmp_path / "events.csv"
    path.write_text("\n".join(["p,q,r,s", *map(",".join, rows)]) + "\n")
    with pytest.raises(gl.VotesError, match="different values in 8 rows"):
        gl.read_votes(path)


@pytest.mark.parametrize("truth", ["truth.csv", "gold.txt", "dogs.truth.tsv", "data_gt.csv"])
def test_a_file_of_truth_beside_answers_is_left_out(truth, tmp_path, rng):
    rows = crowd(rng)
    (tmp_path / "answer.csv").write_text("question,worker,answer\n" + "".join(f"{i},{w},{x}\n" for i, w, x in rows))
    (tmp_path / truth).write_text("question,truth\n" + "".join(f"{i},0\n" for i in range(300)))
    table = gl.read_votes(tmp_path)
    assert (table.n_items, table.n_voters) == (300, 12)
    assert str(table.notes[0]) == f"{truth} was left out, for its name says that it is the truth."
    stream = gl.VoteStream(tmp_path, memory_limit=0)
    assert len(gl.MajorityVote().fit(stream).predict(stream)) == 300


def test_voters_that_all_say_one_thing_are_named_as_what_is_wrong(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    path.write_text("a,b\n" + "yes,no\n" * 5)
    assert main(["combine", str(path)]) == 1
    assert "none of 2 voters uses both classes" in capsys.readouterr().err


def test_times_are_no_votes(tmp_path, rng):
    judges = {f"j{i}": np.where(rng.random(30) < 0.5, "yes", "no") for i in range(3)}
    times = {c: [f"2025-01-30 09:{row:02d}:51 UTC" for row in range(30)] for c in ("created_at", "updated_at")}
    columns = {**judges, **times}
    path = tmp_path / "votes.csv"
    path.write_text("\n".join([",".join(columns), *map(",".join, zip(*columns.values(), strict=True))]) + "\n")
    table = gl.read_votes(path)
    assert table.voters == list(judges)
    assert "'created_at', 'updated_at'" in str(table.notes[0])


def test_two_columns_that_share_a_word_are_no_panel(tmp_path, rng):
    """A table of prompts with their kinds, two of which happen to have one name in common."""
    kinds = {
        "function": rng.choice(["standard", "contextual", "copyright"], 60),
        "meaning": rng.choice(["crime", "harm", "illegal", "copyright"], 60),
        "tags": [f"tag {row}" for row in range(60)],
    }
    path = tmp_path / "prompts.csv"
    path.write_text("\n".join([",".join(kinds), *map(",".join, zip(*kinds.values(), strict=True))]) + "\n")
    with pytest.raises(gl.VotesError, match=r"column 'tags' .* shares no label with the others"):
        gl.read_votes(path)


def test_promptfoo_as_it_is_shared(tmp_path):
    def parts(i):
        rubric = {"type": "llm-rubric"}
        return [{"pass": (i + j) % 3 > 0, "assertion": {**rubric, "provider": f"m{j}"}} for j in (0, 1)]

    results = [
        {"prompt": {}, "success": True, "vars": {"q": i}, "gradingResult": {"componentResults": parts(i)}}
        for i in range(6)
    ]
    whole = {"version": 3, "createdAt": "", "results": {"version": 2, "results": results}, "config": {}}
    (tmp_path / "own.json").write_text(json.dumps(whole))
    (tmp_path / "shared.json").write_text(json.dumps({"data": whole}))
    own, shared = (gl.read_votes(tmp_path / f"{name}.json") for name in ("own", "shared"))
    assert own.voters == shared.voters
    np.testing.assert_array_equal(own.votes.codes, shared.votes.codes)


def test_many_answers_in_words_are_not_called_scores(tmp_path):
    lines = [f"{item},{worker},a drawing {item} {worker}" for item in range(60) for worker in "uvw"]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["item,worker,answer", *lines]) + "\n")
    with pytest.raises(gl.VotesError, match=r"180 different labels.*votes name one of a few classes"):
        gl.read_votes(path)
