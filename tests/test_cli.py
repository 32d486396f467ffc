"""The command line: figures, files written whole, one clear line for an error."""

import csv
import io
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time

import click
import numpy as np
import pytest

import goldless as gl
from goldless.cli import main, output
from goldless.cli.app import app
from goldless.cli.display import program, rendered, sentence, table, wants_colours, write_text
from goldless.io.files import read_votes
from goldless.progress import listening
from goldless.words import cell_width, clean, shortened
from research.experiments.demo_votes import FILE, train_voters


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    """A file of simulated votes with their truth."""
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    assert main(["simulate", "--items", "2000", "-q", "-o", str(path)]) == 0
    return path


def run(*arguments, **options):
    """Run in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "goldless.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


# -- inspect ------------------------------------------------------------------------------------------------


def test_inspect_fits_one_screen_for_twenty_voters(votes, monkeypatch, capsys):
    monkeypatch.chdir(votes.parent)
    assert main(["inspect", "votes.csv", "--truth", "truth"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 80
    assert "\x1b[" not in out  # no colours outside a terminal
    assert "worth about" in out
    assert re.search(r"^combined labels +\d+-\d+ % +\d+\.\d % +\d+\.\d %", out, re.MULTILINE)
    assert "  goldless report votes.csv --truth truth -o report.html" in lines  # never cut, to be pasted
    for voter in range(1, 21):
        assert f"voter {voter}" in out


def test_inspect_stays_readable_for_two_hundred_voters(tmp_path, capsys):
    X, _ = gl.simulate_votes(1000, [20, 10, 5] + [1] * 165, random_state=0)
    np.savez(tmp_path / "many.npz", votes=X)
    path = str(tmp_path / "many.npz")
    assert main(["inspect", path, "--structure", "independent"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 60
    assert max(len(line) for line in lines if not line.startswith("  goldless ")) <= 80
    assert main(["inspect", path, "--structure", "independent", "--all"]) == 0
    assert "voter 200" in capsys.readouterr().out


def test_inspect_keeps_names_apart_in_eighty_columns(tmp_path, capsys):
    X, _ = gl.simulate_votes(300, [1] * 16, random_state=0)
    names = [f"an annotator with a long name, number {i}" for i in range(13)] + [
        "老师" * 9,
        "e\u0301" * 30,
        "\x1b[31m" * 9,
    ]
    np.savez(tmp_path / "long.npz", votes=X, voters=names)
    assert main(["inspect", str(tmp_path / "long.npz"), "--structure", "independent"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    lines = out[re.search("^Who is good +acc ", out, re.MULTILINE).start() : out.index("acc: balanced")].splitlines()
    assert max(map(cell_width, lines)) <= 80
    assert len({cell_width(line[: line.index("|")]) for line in lines[1:]}) == 1
    for number in range(13):
        assert re.search(rf"…[^|]*r {number} ", out)
    assert shortened("abcdefgh", 8) == "abcdefgh"
    assert shortened("abcdefgh", 7) == "abc…fgh"
    assert all(cell_width(shortened("老师" * 9, width)) in (width - 1, width) for width in range(4, 20))


@pytest.mark.parametrize("groups", [[1] * 8, [4, 1, 1, 1, 1]], ids=["alone", "groups"])
def test_no_figure_of_a_voter_is_cut_off_in_eighty_columns(groups, tmp_path, capsys):
    X, _ = gl.simulate_votes(600, groups, n_classes=3, random_state=2)
    np.savez(tmp_path / "three.npz", votes=X)
    assert main(["inspect", str(tmp_path / "three.npz"), "--classes", "0,1,2"]) == 0
    out = capsys.readouterr().out
    rows = out[out.index("Who is good") : out.index("acc: balanced accuracy;")]
    assert "…" not in rows
    assert rows.count("*") == 5  # those of the panel


def test_inspect_says_in_plain_words_what_has_no_interval(tmp_path, capsys):
    X, _ = gl.simulate_votes(300, [1] * 3, group_accuracy=(0.7, 0.9), random_state=1)
    np.savez(tmp_path / "three.npz", votes=X)
    assert main(["inspect", str(tmp_path / "three.npz")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "No interval for the effective votes, the effective votes in each class, what is each voter's own" in out
    assert "with three voters or fewer dependence cannot be seen" in out
    assert "No test of independence" in out
    assert "pvalue" not in out


def test_inspect_as_json_is_the_summary(votes, capsys):
    assert main(["inspect", str(votes), "--ignore", "truth", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["schema_version"] == 3
    assert summary["votes"]["n_voters"] == 20
    assert summary["truth"] is None


def test_a_truth_that_was_not_named_is_pointed_out(votes, capsys):
    assert main(["inspect", str(votes)]) == 0
    assert "pass --truth truth" in " ".join(capsys.readouterr().out.split())


def test_standard_input(votes, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(votes.read_bytes())))
    assert main(["inspect", "-", "--truth", "truth", "-q"]) == 0
    assert "voter 7" in capsys.readouterr().out


# -- combine and select -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_combine_writes_what_the_estimator_says(votes, suffix, tmp_path, capsys):
    out = tmp_path / f"labels.{suffix}"
    assert main(["combine", str(votes), "--truth", "truth", "-o", str(out)]) == 0
    assert "Balanced accuracy against the truth" in capsys.readouterr().out
    if suffix == "jsonl":
        labels = [json.loads(line)["label"] for line in out.read_text().splitlines()]
    else:
        labels = [line.split("," if suffix == "csv" else "\t")[1] for line in out.read_text().splitlines()[1:]]
    X = gl.simulate_votes(2000, random_state=0)[0]
    expected = gl.LatentSML().fit_predict(X)
    assert labels == ["yes" if label == 1 else "no" for label in expected]


def test_combine_to_the_screen_is_pure(votes, capsys):
    assert main(["combine", str(votes), "--ignore", "truth"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("item,label,probability of yes\n1,")
    assert len(captured.out.splitlines()) == 2001
    assert "Labelled 2,000 items" in captured.err
    assert main(["combine", str(votes), "--ignore", "truth", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["items"]) == document["n_items"] == 2000


def test_the_three_methods_of_combine(votes, capsys):
    X, _ = gl.simulate_votes(2000, random_state=0)
    for method, estimator in {"majority": gl.MajorityVote(), "dawid-skene": gl.DawidSkene()}.items():
        assert main(["combine", str(votes), "--ignore", "truth", "--method", method, "-q"]) == 0
        labels = [line.split(",")[1] for line in capsys.readouterr().out.splitlines()[1:]]
        assert labels == ["yes" if label == 1 else "no" for label in estimator.fit_predict(X)]
    assert main(["combine", str(votes), "--method", "dawid-skene", "--trusted", "voter 1"]) == 1
    assert capsys.readouterr().err == "goldless: --method dawid-skene has no use for --trusted\n"
    written = []
    for method in ("combined", "latent"):  # the old name, for one version
        assert main(["combine", str(votes), "--ignore", "truth", "--method", method, "-q"]) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]


def test_compare_names_the_voter_that_got_worse(tmp_path, capsys):
    X, _ = gl.simulate_votes(4000, groups=[1] * 6, random_state=1, group_accuracy=(0.8, 0.95))
    X = X.astype(int)
    X[2000::3, 2] *= -1
    names = [str(tmp_path / name) for name in ("before.npz", "after.npz")]
    for name, part in zip(names, (X[:2000], X[2000:]), strict=True):
        np.savez(name, votes=part, voters=list("abcdef"))
    assert main(["compare", *names]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The accuracy of c changed")
    assert re.search(r"^c +(sensitivity|specificity) +0\.\d+ +0\.\d+ +p < 0\.001$", out, re.MULTILINE)
    assert main(["compare", *names, "--json"]) == 0
    assert {tuple(change["voters"]) for change in json.loads(capsys.readouterr().out)["changes"]} == {("c",)}
    page = tmp_path / "changes.html"
    assert main(["report", names[1], "--against", names[0], "-o", str(page), "-q"]) == 0
    assert "before.npz" in page.read_text()


def test_select(votes, capsys):
    assert main(["select", str(votes), "--truth", "truth", "-k", "3"]) == 0
    assert "Expected balanced accuracy: this panel" in " ".join(capsys.readouterr().out.split())
    assert main(["select", str(votes), "--ignore", "truth", "-k", "3", "--json"]) == 0
    panel = [step["voter"] for step in json.loads(capsys.readouterr().out)["panel"]]
    assert main(["select", str(votes), "--ignore", "truth", "-k", "3", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines() == panel
    assert main(["select", str(votes), "-k", "99"]) == 1


def test_long_and_wide_give_the_same_labels(tmp_path, capsys):
    labels = []
    for options in ([], ["--long"]):
        path = tmp_path / f"votes{len(options)}.csv"
        simulate = ["simulate", "--items", "1000", "--missing-rate", "0.3", "-q", "-o", str(path)]
        assert main([*simulate, *options]) == 0
        assert main(["combine", str(path), "--truth", "truth", "-q", "--structure", "independent"]) == 0
        labels.append(capsys.readouterr().out)
    assert sorted(labels[0].splitlines()) == sorted(labels[1].splitlines())


# -- demo ---------------------------------------------------------------------------------------------------


def test_demo(tmp_path, capsys):
    page = tmp_path / "demo.html"
    assert main(["demo", "-o", str(page)]) == 0
    out = capsys.readouterr().out
    assert "Now look at the hidden truth" in out
    assert "goldless report votes.csv -o report.html" in out
    assert page.read_text().startswith("<!doctype html>") or "<!doctype html>" in page.read_text()[:200]


def test_the_demo_writes_into_this_folder_and_over_nothing_but_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "goldless-demo.html"
    page.write_text("precious")
    assert main(["demo"]) == 1
    assert page.read_text() == "precious"
    page.unlink()
    for _ in range(2):  # its own page is written anew
        assert main(["demo", "--json"]) == 0
    made = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert made["output"] == "goldless-demo.html"
    assert os.listdir(tmp_path) == ["goldless-demo.html"]
    assert len(made["simulated"]) == 2
    for found in made["simulated"].values():
        assert found["true"] > found["majority"]
        assert abs(found["claimed"] - found["true"]) < 0.03


def test_commands_to_paste_name_the_program_as_it_was_called(tmp_path, monkeypatch):
    place = tmp_path / "of mine" / "bin"
    place.mkdir(parents=True)
    script = place / "goldless"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(script)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == f"'{script}'"
    monkeypatch.setenv("PATH", str(place))
    assert program() == "goldless"
    monkeypatch.setattr("sys.argv", ["-c"])
    assert program() == "goldless"


def test_the_votes_of_the_demo_are_those_of_classifiers_trained_on_other_items():
    shipped = read_votes(FILE, id_column="item", truth="truth")
    names, items, votes, truth = train_voters()
    assert shipped.voters == names
    assert list(shipped.votes.items) == [f"digit {item}" for item in items]
    np.testing.assert_array_equal(shipped.truth, truth)
    assert (shipped.votes.codes == votes).mean() > 0.98  # all, with the scikit-learn that made them
    assert "CC BY 4.0" in (FILE.parent / "SOURCE.txt").read_text()


@pytest.mark.parametrize("command", [["inspect", "votes.csv"], ["combine", "votes.csv", "--method", "majority"]])
def test_what_takes_long_to_import_is_left_out_where_it_is_not_needed(command, tmp_path):
    X, _ = gl.simulate_votes(100, groups=[1] * 5, random_state=0)
    np.savetxt(tmp_path / "votes.csv", X, fmt="%d", delimiter=",", header="a,b,c,d,e", comments="")
    code = f"import sys; from goldless.cli import main; main({command!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    slow = {"sklearn", "scipy.stats", "scipy.optimize", "matplotlib"}
    slow |= {"numba"} if "majority" in command else set()
    assert not slow & set(done.stderr.split())


# -- errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["inspect", "combine", "select", "report"])
def test_a_bad_file_is_one_line_and_exit_code_one(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, data in {"empty.csv": b"", "junk.csv": bytes(range(256)), "ragged.csv": b"a,b,c\n1,0,1\n1,0\n"}.items():
        (tmp_path / name).write_bytes(data)
        assert main([command, name]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert re.fullmatch(r"goldless: [^\n]+\n", captured.err)
    assert main([command, "nothing.csv"]) == 1
    assert capsys.readouterr().err == "goldless: cannot read nothing.csv: no such file or directory\n"
    assert sorted(os.listdir(tmp_path)) == ["empty.csv", "junk.csv", "ragged.csv"]  # nothing half-written


@pytest.mark.parametrize(
    "rows", ["1\n0\n1\n", "1,0\n0,0\n1,1\n", "1,1,1\n0,0,0\n1,1,1\n"], ids=["one", "two", "all agree"]
)
def test_fewer_than_three_different_voters_are_labelled_and_nothing_is_claimed(rows, tmp_path, capsys):
    header = "item," + ",".join("abc"[: len(rows.split("\n")[0]) // 2 + 1])
    lines = [f"{i},{row}" for i, row in enumerate((rows * 40).split())]
    (tmp_path / "few.csv").write_text("\n".join([header, *lines]) + "\n")
    path = str(tmp_path / "few.csv")
    if rows.startswith("1\n"):  # one voter is taken for a wrong guess, unless the format is named
        assert main(["combine", path]) == 1
        assert "with one column of votes, 'a'; a file of each voter in one folder" in capsys.readouterr().err
    named = ["--as", "csv"] if rows.startswith("1\n") else []
    for command in ("combine", "ask", "select"):
        assert main([command, path, *named]) == 0, capsys.readouterr().err
    assert main(["report", path, *named, "-o", str(tmp_path / "few.html")]) == 0
    capsys.readouterr()
    assert main(["inspect", path, *named]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "The votes cannot tell how good the labels are: fewer than three different voters" in out
    assert "1 voters are" not in out
    assert main(["inspect", path, *named, "--structure", "paper"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["inspct", "votes.csv"], "goldless: there is no command 'inspct'; did you mean 'inspect'?"),
        (
            ["inspect", "votes.csv", "--thruth", "y"],
            "goldless inspect: there is no option --thruth; did you mean '--truth'?",
        ),
        (["combine", "f", "--engine", "strem"], "there is no 'strem'; did you mean 'stream'?"),
        (
            ["inspect", "my", "votes.csv"],
            "goldless inspect: unexpected argument 'votes.csv' (quote names that contain spaces)",
        ),
    ],
)
def test_misspelt_words_are_recognised(arguments, said, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 2
    assert err.endswith("--help has the options and examples.\n")


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["inspect", "--help"], ["inspect", "nothing.csv"], ["compare", "a", "b"]]
)
def test_what_needs_no_votes_imports_nothing_heavy(arguments):
    code = f"""
import sys
from goldless.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
print({{"numpy", "numba", "pyarrow", "rich", "importlib.metadata"}} & set(sys.modules))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "set()"


def test_what_nobody_foresaw_is_one_line_that_says_how_to_report_it(votes, monkeypatch, capsys):
    def fail(*_, **__):
        raise RecursionError("too\ndeep")

    monkeypatch.setattr("goldless.cli.work.read_votes", fail)
    assert main(["inspect", str(votes)]) == 1
    error = capsys.readouterr().err
    assert re.fullmatch(
        r"goldless: unforeseen RecursionError: too deep\. .* please report it.*--traceback.*\n", error
    )
    assert main(["inspect", str(votes), "--traceback"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupt_is_one_line(votes, monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("goldless.cli.work.read_votes", stop)
    assert main(["report", str(votes), "-o", str(votes.parent / "never.html")]) == 130
    assert capsys.readouterr().err == "goldless: stopped; nothing is left half-written\n"
    assert not (votes.parent / "never.html").exists()


def test_wrong_usage_has_exit_code_two(capsys):
    for arguments in (["simulate", "--items", "0"], ["fly"], ["select", "f", "-k", "x"], ["inspect"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
    assert "goldless inspect: missing argument 'FILE'" in capsys.readouterr().err


def test_an_existing_output_is_kept_unless_forced(votes, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    out.write_text("precious")
    for command in ("combine", "report"):
        assert main([command, str(votes), "-o", str(out)]) == 1
        assert "pass --force to overwrite" in capsys.readouterr().err
        assert out.read_text() == "precious"
    assert main(["combine", str(votes), "-o", str(out), "--force"]) == 0
    assert out.read_text().startswith("item,label")
    assert main(["combine", str(votes), "-o", str(tmp_path / "no" / "labels.csv")]) == 1
    assert main(["combine", str(votes), "-o", str(tmp_path)]) == 1


@pytest.mark.parametrize("command", ["combine", "ask", "report"])
def test_the_votes_are_never_overwritten(command, votes, tmp_path, capsys):
    held = votes.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(votes)
    for same in (votes, link, votes.parent / "." / votes.name):
        assert main([command, str(votes), "-o", str(same), "--force"]) == 1
        assert "holds the votes, which are never overwritten" in capsys.readouterr().err
    assert votes.read_bytes() == held
    assert main(["combine", str(votes.parent), "-o", str(votes.parent / "labels.csv")]) == 1
    assert "would be read as votes" in capsys.readouterr().err


def test_json_and_a_file_are_both_written(votes, tmp_path, capsys):
    for command, name in (("ask", "ask.csv"), ("report", "page.html"), ("combine", "labels.csv")):
        assert main([command, str(votes), "--ignore", "truth", "--json", "-o", str(tmp_path / name)]) == 0
        assert json.loads(capsys.readouterr().out)
        assert (tmp_path / name).stat().st_size > 100
    assert main(["simulate", "--items", "3", "--json"]) == 0
    simulated = json.loads(capsys.readouterr().out)
    assert len(simulated["rows"]) == 3
    assert len(simulated["columns"]) == len(simulated["rows"][0]) == 22


def test_a_full_disk_is_one_line(votes, capsys):
    for command in ("combine", "report"):
        assert main([command, str(votes), "-o", "/dev/full"]) == 1
        assert capsys.readouterr().err == "goldless: cannot write /dev/full: no space left on device\n"
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "goldless.cli", "combine", votes, "-q"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert result.returncode == 1
    assert result.stderr.decode().splitlines() == [
        "goldless: cannot write to standard output: no space left on device"
    ]


def test_an_output_that_does_not_fit_leaves_nothing(votes, tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    out = tmp_path / "labels.csv"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    result = run("combine", votes, "-o", out, preexec_fn=small_files, env=environment)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == f"goldless: cannot write {out}: file too large"
    assert os.listdir(tmp_path) == []


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "labels.csv"
    target.write_text("old")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ValueError, match="no space left on device"):
        output.write_output(str(target), b"new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["labels.csv"]


def test_a_reader_that_goes_away(votes):
    command = f"{shlex.quote(sys.executable)} -m goldless.cli combine {shlex.quote(str(votes))} -q | head -n 1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert result.stdout == "item,label,probability of yes\n"
    assert result.stderr == ""
    assert result.returncode == 0


# -- panels with costs --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """Votes of four voters, and what they cost."""
    folder = tmp_path_factory.mktemp("four")
    X, _ = gl.simulate_votes(800, [1] * 4, random_state=2)
    rows = ['item,a,b,c,"d, the last"']
    rows += [f"{i}," + ",".join("yes" if vote > 0 else "no" for vote in row) for i, row in enumerate(X)]
    (folder / "votes.csv").write_text("\n".join(rows) + "\n")
    (folder / "costs.csv").write_text('voter,cost\na,1\nb,2.5\nc,1\n"d, the last",4\n')
    return folder


def select_json(capsys, *arguments):
    assert main(["select", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_budget_from_a_file_of_costs(four, capsys):
    result = select_json(capsys, four / "votes.csv", "--costs", four / "costs.csv", "--budget", "4.5")
    assert result["panel_cost"] == sum(step["cost"] for step in result["panel"]) <= 4.5
    costs = [panel["cost"] for panel in result["panels"]]
    assert costs == sorted(costs)
    assert main(["select", str(four / "votes.csv"), "--costs", str(four / "costs.csv"), "-k", "4"]) == 0
    out = capsys.readouterr().out
    assert "cost" in out
    assert "Panels worth their cost" in out
    assert main(["select", str(four / "votes.csv"), "-q", "-k", "2", "--include", "c,a"]) == 0
    assert capsys.readouterr().out == "c\na\n"


def test_a_name_with_a_comma_is_one_voter(four, capsys):
    result = select_json(capsys, four / "votes.csv", "-k", "2", "--include", "d, the last", "--exclude", "a,b")
    assert [step["voter"] for step in result["panel"]] == ["d, the last", "c"]


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ("voter,cost\na,1\nb,2\nc,1\n", "no cost for voter 'd, the last'"),
        ("a,1\n", "no cost for voter 'b' and 2 more"),
        ("a,1\nz,1\n", "there is no voter 'z' in the votes"),
        ("a,1\na,2\n", "line 2: 'a' is there twice"),
        ("a,1\nb,-2\n", "line 2: the cost of 'b' is -2; it must be a number of 0 or more"),
        ("a,1\nb,cheap\n", "line 2: 'cheap' is not a cost"),
        ("a,1\nb,nan\n", "line 2: the cost of 'b' is nan"),
        ("a,1,2\n", "line 1: expected a voter and its cost, found 3 column(s)"),
        ("", "holds no costs"),
        ("voter,cost\n", "holds no costs"),
        (b"\xff\xfe\x00", "is not text in UTF-8"),
        (None, "no such file or directory"),
    ],
)
def test_bad_costs_are_one_clear_line(four, tmp_path, capsys, costs, message):
    path = tmp_path / "costs.csv"
    if costs is not None:
        path.write_bytes(costs if isinstance(costs, bytes) else costs.encode())
    assert main(["select", str(four / "votes.csv"), "--costs", str(path), "--budget", "5"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "3"], "--budget needs --costs"),
        (["-k", "5"], "-k 5 is more than the 4 voters there are"),
        (["-k", "2", "--include", "nobody"], "there is no voter 'nobody'; the first is 'a'"),
        (["-k", "4", "--exclude", "a"], "between 1 and 3 voters, got 4"),
        (["-k", "2", "--exclude", "a", "--include", "a"], "'a' is both included and excluded"),
    ],
)
def test_panels_that_cannot_be(four, capsys, options, message):
    assert main(["select", str(four / "votes.csv"), *options]) == 1
    assert message in capsys.readouterr().err


def test_combine_explains(four, tmp_path, capsys):
    out = tmp_path / "why.csv"
    assert main(["combine", str(four / "votes.csv"), "--explain", "-o", str(out)]) == 0
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    parts = ["prior_log_odds", "from a", "from b", "from c", "from d, the last"]
    for row in rows[:20]:
        assert sum(float(row[part]) for part in parts) == pytest.approx(float(row["log-odds"]), abs=0.01)
        assert row["next_voter"] == "a new voter"
    assert main(["combine", str(four / "votes.csv"), "--explain", "--json"]) == 0
    assert "from a" in json.loads(capsys.readouterr().out.splitlines()[-1])["items"][0]


# -- the terminal -------------------------------------------------------------------------------------------


def test_names_cannot_drive_the_terminal(tmp_path, capsys):
    X, _ = gl.simulate_votes(500, [1] * 5, random_state=0)
    names = ["\x1b[31mred", "<script>alert(1)</script>", "=cmd|' /C calc'!A1", "a\u202eb", "line\x07"]
    np.savez(tmp_path / "v.npz", votes=X, voters=names)
    assert main(["inspect", str(tmp_path / "v.npz")]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "<script>alert(1)</script>" in out
    assert clean("a\x1bb\nc") == "a?b?c"


def test_names_that_a_spreadsheet_would_run_are_kept_and_pointed_out(tmp_path, capsys):
    X, _ = gl.simulate_votes(60, [1] * 5, random_state=0)
    items = ["=cmd|' /C calc'!A1", *(f"-{i}" for i in range(59))]
    np.savez(tmp_path / "v.npz", votes=X, items=items)
    for name, warned in (("l.csv", True), ("l.tsv", True), ("l.jsonl", False)):
        assert main(["combine", str(tmp_path / "v.npz"), "-o", str(tmp_path / name)]) == 0
        assert ("a spreadsheet would run" in capsys.readouterr().err) == warned
        assert "=cmd|' /C calc'!A1" in (tmp_path / name).read_text()
    np.savez(tmp_path / "v.npz", votes=X, items=[*items[1:], "60"])  # numbers are no formulas
    assert main(["combine", str(tmp_path / "v.npz"), "-o", str(tmp_path / "n.csv")]) == 0
    assert "spreadsheet" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["combine"], ["combine", "--engine", "stream"], ["ask"], ["audit"]], ids=lambda words: words[-1]
)
def test_every_way_to_write_a_table_points_out_formulas(command, tmp_path, capsys):
    X, _ = gl.simulate_votes(60, [1] * 5, random_state=0)
    lines = [f"=1+{i},{','.join('ny'[int(vote > 0)] for vote in row)}" for i, row in enumerate(X)]
    (tmp_path / "votes.csv").write_text("\n".join(["id,a,b,c,d,e", *lines]) + "\n")
    assert main([command[0], str(tmp_path / "votes.csv"), *command[1:], "-o", str(tmp_path / "out.csv")]) == 0
    assert "a spreadsheet would run" in capsys.readouterr().err


def test_colours_where_they_are_wanted(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    for value, coloured in (("1", False), ("", True)):  # an empty NO_COLOR forbids nothing
        monkeypatch.setenv("NO_COLOR", value)
        assert wants_colours(Terminal()) == coloured
        assert not wants_colours(io.StringIO())
        assert ("\x1b[" in rendered([sentence("x", "bold red")], Terminal())) == coloured
    assert rendered([sentence("x", "bold red")], io.StringIO()) == "x\n"


def test_a_terminal_without_unicode_gets_the_nearest_letters():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    write_text(rendered([sentence("one", bullet="•"), sentence("老")], stream), stream)
    stream.flush()
    assert stream.buffer.getvalue() == b"* one\n?\n"


def test_narrow_terminals_cut_tables_and_never_commands(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    rows = [["a voter with quite a long name", "0.75", "0.60-0.88"]] * 2
    text = rendered([table(["voter", "accuracy", "interval"], rows, "<>>")])
    assert max(map(len, text.splitlines())) <= 40
    long = rendered([sentence("--id-column " + "x" * 60)])
    assert "x" * 60 in long


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with output.Progress("Reading") as progress:
        while progress._bar is None:
            time.sleep(0.01)
        progress.update(0.25)
        progress.take("a stage", 0.5)
        progress.take("a stage", 0.4)  # a bar never goes back
        assert progress._bar.tasks[0].completed == 0.5
    assert "Reading" in terminal.getvalue()
    for quiet, stream in ((True, Terminal()), (False, io.StringIO())):
        monkeypatch.setattr(sys, "stderr", stream)
        with output.Progress("Reading", quiet=quiet) as progress:
            progress.take("a stage", 0.5)
        assert stream.getvalue() == ""


def test_the_library_tells_its_stages_and_nobody_hears_by_default(votes):
    heard = []
    X, _ = gl.simulate_votes(2000, [4, 3] + [1] * 8, random_state=3)
    quiet = gl.LatentSML().fit(X)
    with listening(lambda stage, share: heard.append((stage, share))):
        told = gl.LatentSML().fit(X)
    np.testing.assert_array_equal(told.groups_, quiet.groups_)
    assert {"searching for groups", "estimating accuracies"} <= {stage for stage, _ in heard}
    assert all(0 <= share <= 1 for _, share in heard)


# -- help ---------------------------------------------------------------------------------------------------


def test_version_and_help(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("goldless 0.")
    assert main([]) == 0
    assert "inspect" in capsys.readouterr().out


def helps():
    group = app()
    ctx = click.Context(group, info_name="goldless")
    yield group.get_help(ctx)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        yield command.get_help(click.Context(command, ctx, info_name=name))


def test_examples_of_the_help_work_when_pasted(tmp_path, monkeypatch, capsys):
    """Each block of examples, in a new folder; lines that need a shell in a shell."""
    blocks = [text.partition("examples:\n")[2] for text in helps()]
    assert all(blocks)  # every command has examples
    in_shell = []
    for number, block in enumerate(blocks):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        for text in block.splitlines():
            line = re.split("   +", text.strip())[0]
            if line.startswith("printf "):
                subprocess.run(["bash", "-c", line], check=True)
            elif "|" in line or "$(" in line:
                in_shell.append(f"cd {tmp_path / str(number)}; {line}")
            elif line:
                assert line.startswith("goldless ")
                if number:  # as it stands once, then smaller, to save time
                    line = line.replace("simulate -o", "simulate --items 500 -o")
                assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    assert len(in_shell) == 5
    function = f'goldless() {{ {shlex.quote(sys.executable)} -m goldless.cli "$@"; }}'
    script = "\n".join(["set -eo pipefail", function, *in_shell])
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "0" / "report.html").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, tmp_path, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_GOLDLESS_COMPLETE" in script
    if shutil.which(shell):  # it is at least a script of that shell
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
    words = {
        "ins": "inspect",
        "report --trut": "--truth",
        "combine v.csv --engine s": "stream",
        "completion z": "zsh",
    }
    for typed, offered in words.items():
        line = ["goldless", *typed.split(" ")]
        asked = {"COMP_WORDS": " ".join(line), "COMP_CWORD": str(len(line) - 1)}
        if shell == "fish":
            asked["COMP_CWORD"] = line[-1]
        result = run(env={**os.environ, **asked, "_GOLDLESS_COMPLETE": f"{shell}_complete"})
        assert offered in re.split(r"[,\t\n]", result.stdout), (typed, result.stdout)
