"""What research/fuzz found: sentences of other libraries, which name neither file nor place, and worse."""

import json
import zipfile

import numpy as np
import pytest

import goldless as gl
from goldless.cli import main
from goldless.fitting.calibration import soft_logistic_line


def refused(path, sentence, **options):
    with pytest.raises(gl.VotesError, match=sentence) as raised:
        gl.read_votes(path, **options)
    assert str(path.parent) in str(raised.value)
    assert len(str(raised.value)) < 2000


@pytest.mark.parametrize("position", ["10q1", "2026-13-45", "9" * 5000, "²", "-1"])
def test_a_position_that_is_no_number(position, tmp_path):
    (tmp_path / "sites.txt").write_text(f"1\t100\tA\tG\t101\n1\t{position}\tA\tG\t110\n")
    refused(tmp_path / "sites.txt", "line 2 is not a variant and 3 zeros and ones")
    header = '##fileformat=VCFv4.2\n##INFO=<ID=CALLERS,Number=.,Type=String,Description="x">\n#CHROM\tPOS\n'
    (tmp_path / "calls.vcf").write_text(f"{header}1\t{position}\t.\tA\tG\t.\tPASS\tCALLERS=a,b\n")
    refused(tmp_path / "calls.vcf", "damaged VCF file: line 4 is not a record")


@pytest.mark.parametrize("words", [b"\xab", b"{", b'{"0": "ham"} x', b"[1]"])
def test_names_of_labels_beside_a_file_that_are_none(words, tmp_path):
    record = '{"label": 0, "weak_labels": [0, 1, -1], "data": {"text": "x"}}'
    (tmp_path / "train.json").write_text(f'{{"0": {record}, "1": {record}}}')
    (tmp_path / "label.json").write_bytes(words)
    refused(tmp_path / "train.json", "label.json|looks like wrench")


def test_text_in_another_encoding_in_a_stream(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    path.write_bytes("a,b,c\nja,nö,ja\nnö,nö,ja\n".encode("latin-1"))
    assert main(["combine", str(path), "--engine", "stream", "-o", str(tmp_path / "labels.csv")]) == 1
    assert f"{path} is not utf-8 text (byte 0xf6)" in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "labels.csv").exists()


@pytest.mark.parametrize("point", [0xD800, 0x110000, 0xFFFFFFFF])
def test_an_array_with_characters_that_do_not_exist(point, tmp_path):
    voters = np.array(["abc", "def", "ghi"])
    np.savez(tmp_path / "votes.npz", votes=np.array([[0, 1, 1], [1, 0, 1]]), voters=voters)
    with zipfile.ZipFile(tmp_path / "votes.npz") as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    members["voters.npy"] = members["voters.npy"].replace(b"b\0\0\0", point.to_bytes(4, "little"))
    with zipfile.ZipFile(tmp_path / "votes.npz", "w") as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    refused(tmp_path / "votes.npz", "characters that do not exist")


def test_copies_in_two_given_groups_count_the_same_in_any_order():
    """The two groups are one, whichever of the copies comes first."""
    X, _ = gl.simulate_votes(400, groups=[3, 1, 1, 1, 1], missing_rate=0.2, random_state=1)
    X, groups = np.column_stack([X, X[:, 0]]), np.array([0, 0, 0, 1, 2, 3, 4, 4])
    fits = []
    for order in (np.arange(8), np.arange(8)[::-1], np.roll(np.arange(8), 1)):
        with pytest.warns(gl.VotesWarning, match="Exact copies"):
            model = gl.LatentSML(structure=groups[order]).fit(X[:, order])
        fits.append(model.predict_proba(X[:, order]))
        shown = model.groups_[np.argsort(order)]
        assert len(set(shown[[0, 1, 2, 6, 7]])) == 1
        assert len(set(shown)) == 4
    for other in fits[1:]:
        np.testing.assert_allclose(other, fits[0], rtol=0, atol=1e-6)


def test_a_name_of_any_length_makes_no_long_message(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(f"{'x' * 5000},b,c\n{'y' * 5000},n,n\nn,y,y\n")
    refused(path, "A text of 5,000 characters")


@pytest.mark.parametrize("shape", [(3, 1 << 61), (1 << 61, 3)])
def test_a_sparse_matrix_that_says_it_is_endless(shape, tmp_path):
    parts = {"data": np.array([1, 2, 1]), "indices": np.array([0, 1, 2]), "indptr": np.array([0, 1, 2, 3])}
    shape_of = {"shape": np.array(shape), "format": np.array(b"csr" if shape[0] == 3 else b"csc")}
    np.savez(tmp_path / "votes.npz", **parts, **shape_of)
    refused(tmp_path / "votes.npz", "GOLDLESS_MAX_BYTES to a larger number")


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_columns_that_are_left_out_of_a_fit_are_left_out_of_its_labels(engine, tmp_path):
    rng = np.random.default_rng(0)
    grades = np.round(rng.random((60, 1)) * 0.6 + rng.random((60, 4)) * 0.4, 4)
    lines = [f"q{i},['ctx'],a,{','.join(map(str, row))}" for i, row in enumerate(grades)]
    path, out = tmp_path / "votes.csv", tmp_path / "labels.csv"
    path.write_text("\n".join(["question,context,answer,one,two,three,four", *lines]) + "\n")
    assert main(["combine", str(path), "--engine", engine, "-o", str(out), "-q"]) == 0
    assert len(out.read_text().splitlines()) == 61


def test_a_ragged_table_with_an_endless_field_is_one_line(tmp_path):
    """Python's own reader, which finds the line, takes no field so long."""
    lines = ["item,a,b,c", *(f"{i},x,y,x" for i in range(150_000)), "last,x," + "y" * 200_000 + ",x", "odd,x,y"]
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    refused(tmp_path / "votes.csv", r"line \d+ has 3 fields where the first line has 4")


@pytest.mark.parametrize("word", ["refused", "w" * 1500])
def test_a_word_among_grades_is_one_line(word, tmp_path, rng):
    grades = np.clip(3 + 2 * (np.arange(300) % 2)[:, None] + rng.integers(-1, 2, (300, 5)), 1, 7).astype(object)
    grades[3, 0] = word
    text = "\n".join(",".join(map(str, row)) for row in grades)
    (tmp_path / "votes.csv").write_text(f"a,b,c,d,e\n{text}\n")
    with pytest.raises(gl.VotesError, match="in column 'a' stands among numbers") as raised:
        gl.read_votes(tmp_path / "votes.csv")
    assert len(str(raised.value)) < 300


def test_a_word_in_every_column_of_scores_is_one_line(tmp_path):
    """It does not count in the range of the numbers."""
    rows = [[i + 0.5, i + 0.25, i + 0.75] for i in range(300)]
    for i in range(0, 300, 9):
        rows[i][i // 9 % 3] = "a"
    text = "\n".join(",".join(map(str, row)) for row in rows)
    (tmp_path / "votes.csv").write_text(f"x,y,z\n{text}\n")
    with pytest.raises(gl.VotesError, match="'a' in column 'x' stands among numbers"):
        gl.read_votes(tmp_path / "votes.csv")
    assert gl.read_votes(tmp_path / "votes.csv", missing=["a"]).votes.n_voters == 3


def test_log_odds_that_differ_by_rounding_make_no_line():
    """Three voters that rank three items in a circle: every label is as likely, and rounding drew a line."""
    said = np.array([[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]])
    assert soft_logistic_line(np.outer([0, 1e-9, 2e-9], [0, 1]), said, np.ones(3)) is None
    assert soft_logistic_line(np.outer([-2.0, 0.0, 2.0], [0, 1]), said, np.ones(3)) is not None


def test_a_model_that_is_endlessly_sure_is_refused(tmp_path):
    X, _ = gl.simulate_votes(200, groups=[1] * 6, random_state=0)
    gl.LatentSML().fit(X).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["fitted"]["of"]["probability_line"]["of"]["temper"] = 1e308
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="1e\\+308 times as sure"):
        gl.load(tmp_path / "model.json")


@pytest.mark.parametrize(
    "starts", [[0, 2, 1, 4], [0, 5, 0, 4], [0, -1000, 3, 4], [0, 2, 2**31 - 1, 4], [0, 6, 2**29, -(2**28)]]
)
def test_a_sparse_matrix_whose_rows_start_anywhere_is_one_line(starts, tmp_path):
    """What stands in damaged starts of rows is no place in memory: scipy reads there, and the process ends."""
    arrays = {"data": np.ones(4, np.int8), "indices": np.array([0, 1, 1, 2], np.int32)}
    starts = np.array(starts, np.int32)
    np.savez(tmp_path / "votes.npz", indptr=starts, shape=np.array([3, 3]), format=np.array(b"csr"), **arrays)
    refused(tmp_path / "votes.npz", "damaged")
