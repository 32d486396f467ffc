"""Defects that were once found by hand, and stay mended."""

import numpy as np
import pandas as pd
import pytest

import goldless as gl
from goldless import cli

LINES = ["a,b,c", *(["y,n,y", "n,n,y", "y,y,n"] * 20)]


@pytest.mark.parametrize("votes", [[[1 + 2j, 0, 1], [0, 1j, 1]], np.array([[1j, 0, 1], [0, 1, 1j]])])
def test_complex_numbers_are_no_votes(votes):
    with pytest.raises((ValueError, TypeError)) as raised:
        gl.MajorityVote().fit(votes)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("value", ["99999-01-01", "2026-13-45", "9" * 400, "-1e-400"])
def test_dates_out_of_range_and_endless_numbers_are_read_or_refused_in_one_line(value, tmp_path, capsys):
    path = tmp_path / "votes.csv"
    path.write_text("\n".join([*LINES, f"{value},y,n"]) + "\n")
    assert cli.main(["combine", str(path), "-o", str(tmp_path / "labels.csv")]) in (0, 1)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "unforeseen" not in said


@pytest.mark.parametrize("flag", [[], ["--traceback"]])
def test_what_nobody_foresaw_is_one_line_that_says_how_to_report_it(flag, tmp_path, monkeypatch, capsys):
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(LINES) + "\n")

    def fail(*_, **__):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("goldless.cli.work.read_votes", fail)
    assert cli.main(["combine", str(path), *flag]) == 1
    said = capsys.readouterr().err.strip()
    assert "unforeseen ZeroDivisionError: division by zero. This is a defect of goldless: please report it" in said
    assert ("Traceback" in said) == bool(flag)
    assert len(said.splitlines()) == 1 or flag


@pytest.mark.parametrize("text", ["[" * 200_000 + "]" * 200_000, '{"a": ' * 100_000 + "1" + "}" * 100_000 + "\n"])
def test_deep_json_is_called_deep(text, tmp_path):
    (tmp_path / "votes.json").write_text(text)
    with pytest.raises(gl.VotesError, match="nested too deeply"):
        gl.read_votes(tmp_path / "votes.json")


def test_a_folder_with_one_part_of_another_type_is_read_or_refused_in_one_line(tmp_path, capsys):
    folder = tmp_path / "votes"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(3):
        X = pd.DataFrame(rng.integers(0, 2, (30, 4)), columns=list("abcd"))
        (X.astype(str) if number == 1 else X).to_parquet(folder / f"{number}.parquet")
    for engine in ("memory", "stream"):
        code = cli.main(["combine", str(folder), "--engine", engine, "-o", str(tmp_path / f"{engine}.csv"), "-q"])
        said = capsys.readouterr().err.strip()
        assert code == 0 or len(said.splitlines()) == 1
        assert "unforeseen" not in said
        assert (tmp_path / f"{engine}.csv").exists() == (code == 0)


def test_a_voter_to_ignore_that_is_not_there_is_refused_whatever_the_file(tmp_path, capsys):
    X, _ = gl.simulate_votes(40, groups=[1] * 4, random_state=0)
    np.savez(tmp_path / "votes.npz", votes=X)
    for ignored in ("nope", "0"):
        assert (
            cli.main(["combine", str(tmp_path / "votes.npz"), "--ignore", ignored, "-o", str(tmp_path / "out.csv")])
            == 1
        )
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"the column to ignore {ignored!r} is not in" in said
    assert not (tmp_path / "out.csv").exists()
    assert gl.read_votes(tmp_path / "votes.npz", ignore=["voter 2"]).n_voters == 3
