"""The command line."""

import io
import json

import pytest

from goldless.cli import main, render_demo, run_demo
from goldless.terminal import Style


def test_demo_prints_tables(capsys):
    assert main(["demo", "--items", "2000"]) == 0
    out = capsys.readouterr().out
    assert "echo each other" in out
    assert "Oracle-L" in out
    assert "\x1b[" not in out  # no colours outside a terminal
    assert max(map(len, out.splitlines())) <= 100


def test_demo_as_json_has_the_same_figures(capsys):
    assert main(["demo", "--items", "2000", "--seed", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == run_demo(2000, 5, 3)


def test_demo_finds_the_group_and_stays_near_the_oracle():
    result = run_demo(10_000, 5, 0)
    assert len({voter["group"] for voter in result["voters"][:5]}) == 1
    errors = list(result["balanced_error"].values())
    assert errors[2] < errors[0]
    assert errors[2] < errors[1]
    assert errors[2] - errors[3] < 0.01


def test_demo_in_colour():
    lines = render_demo(run_demo(1000, 4, 1), Style(io.StringIO(), colour=True))
    assert any("\x1b[1m" in line for line in lines)


def test_plain_text_where_unicode_is_not_to_be_had():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    style = Style(stream)
    "\n".join([style.bar(0.5, 10), style.rule(5)]).encode("ascii")


def test_an_error_is_one_line_and_exit_code_one(capsys):
    assert main(["demo", "--group", "21"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "goldless: the group has 21 voters, but there are only 20\n"
    assert captured.out == ""


def test_wrong_usage_has_exit_code_two(capsys):
    for arguments in (["demo", "--items", "0"], ["fly"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2


def test_version_and_help(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("goldless 0.")
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out
