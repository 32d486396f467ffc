"""Groups are named only where they are there; names of voters help people; advice comes with a command."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import goldless as gl
from goldless.cli import main
from goldless.cli.display import rendered
from goldless.cli.screens import inspect_screen
from goldless.diagnosis.reference_class import reference_class
from goldless.families import all_of_one, families_of, shared_family
from goldless.maths.structure.partitions import groups_of_two_or_more


def fit(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.VotesWarning)
        return gl.LatentSML(**options).fit(X)


def crowd(seed, m=20, n=300, k=5):
    """Independent workers, each item judged by a few of them."""
    rng = np.random.default_rng(seed)
    y, accuracy = rng.integers(0, 2, n), rng.uniform(0.55, 0.95, m)
    X = np.full((n, m), np.nan)
    for item in range(n):
        workers = rng.choice(m, k, replace=False)
        X[item, workers] = np.where(rng.random(k) < accuracy[workers], y[item], 1 - y[item])
    return X


@pytest.fixture(scope="module")
def of_crowds():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = []
        for seed in range(6):
            X = crowd(seed)
            model = gl.LatentSML().fit(X)
            found.append((model, gl.diagnose(model, X, resamples=0)))
    return found


def test_no_group_is_named_in_independent_sparse_crowds(of_crowds):
    for model, diagnosis in of_crowds:
        assert diagnosis.groups == ()
        in_labels = [test.voters for test in diagnosis.group_tests]
        assert len(in_labels) == (np.bincount(model.groups_) > 1).sum()
        assert set(in_labels) <= set(diagnosis.weak_groups)


def test_one_decision_is_behind_the_test_the_groups_and_the_sentences(of_crowds):
    for _, diagnosis in of_crowds:
        assert "depend on others" not in diagnosis.dependence
        assert "echo others" not in diagnosis.verdict
        rejected = diagnosis.independence_pvalue < 0.05
        assert diagnosis.dependence.startswith("No dependence found") != rejected


@pytest.mark.parametrize(("seed", "share", "reason"), [(7, 0.45, "test"), (3, 0.3, "stability")])
def test_a_group_that_is_not_named_says_what_could_have_been_told(seed, share, reason):
    """Two voters that copy a third now and then: labels count with the group, and nobody is accused."""
    X, rng = crowd(seed, n=600, k=10), np.random.default_rng(seed)
    for voter in (1, 2):
        taken = ~np.isnan(X[:, 0]) & ~np.isnan(X[:, voter]) & (rng.random(len(X)) < share)
        X[taken, voter] = X[taken, 0]
    model = gl.LatentSML().fit(X)
    diagnosis = gl.diagnose(model, X, resamples=0)
    assert model.n_groups_ < 20
    assert diagnosis.groups == ()
    (test,) = diagnosis.group_tests
    assert test.voters in diagnosis.weak_groups
    assert test.reason == reason
    assert 0.1 < test.detectable <= 1
    assert "depend on others" not in diagnosis.dependence
    rejected = diagnosis.independence_pvalue < 0.05
    assert ("cannot be told" if rejected else "from a correlation of") in diagnosis.dependence


def test_true_groups_of_four_are_named_in_dense_panels():
    named, found = 0, 0
    for seed in range(4):
        X, _ = gl.simulate_votes(1500, groups=[4] + [1] * 8, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = gl.LatentSML().fit(X)
        diagnosis = gl.diagnose(model, X, resamples=0)
        if (np.bincount(model.groups_) == 4).any():
            found += 1
            named += diagnosis.groups == groups_of_two_or_more(model.groups_)
            assert diagnosis.independence_pvalue < 0.05
    assert found >= 2
    assert named == found


def test_good_voters_that_agree_on_twenty_items_are_not_called_copies():
    rng = np.random.default_rng(0)
    X, y = np.full((600, 24), np.nan), rng.integers(0, 2, 600)
    for first in range(0, 600, 20):  # items come in pages of twenty, each judged by four
        for worker in rng.choice(22, 4, replace=False):
            X[first : first + 20, worker] = y[first : first + 20] ^ (rng.random(20) < 0.2)
    X[:20, 22:] = y[:20, None]  # two that judged one page, and all of it rightly
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gl.LatentSML().fit(X)
        sparse = gl.diagnose(model, X, resamples=0)
        dense, _ = gl.simulate_votes(500, groups=[1] * 6, random_state=0)
        twice = np.column_stack([dense, dense[:, 2]])
        copied = gl.diagnose(gl.LatentSML().fit(twice), twice, resamples=0)
    assert (23, 22) in sparse.copies  # that their votes are the same is a fact
    assert not any({22, 23} <= set(group) for group in sparse.groups)  # that one repeats the other is not
    assert copied.groups == ((2, 6),)


def test_groups_that_the_user_gave_are_named():
    X, _ = gl.simulate_votes(300, groups=[1] * 8, random_state=0)
    model = gl.LatentSML(structure=[0, 0, 0, 1, 2, 3, 4, 5]).fit(X)
    diagnosis = gl.diagnose(model, X)
    assert diagnosis.groups == ((0, 1, 2),)
    assert [test.reason for test in diagnosis.group_tests] == ["given"]


# -- families -----------------------------------------------------------------------------------------------


def test_families_are_what_names_share():
    names = ["PaLM2/a", "PaLM2/b", "gpt-4o|x", "gpt-4o|y", "forest 3", "alone"]
    assert families_of(names) == ("PaLM2", "PaLM2", "gpt", "gpt", None, None)
    assert families_of([f"voter {number}" for number in range(5)]) == (None,) * 5  # all alike: that says nothing
    assert families_of([f"voter {number}" for number in range(2)], "prefix") == ("voter", "voter")
    assert families_of(["a", "b"], {"a": "x"}) == ("x", None)
    assert families_of(["a", "b"], ["x", "y"]) == ("x", "y")
    with pytest.raises(ValueError, match="no voter"):
        families_of(["alpha", "beta"], {"alpah": "x"})
    with pytest.raises(ValueError, match="one for each"):
        families_of(["a", "b"], ["x"])


def test_groups_are_named_by_what_sets_their_members_apart():
    families = ("x", "x", "x", "y", None, "y")
    assert shared_family(families, [0, 1, 2]) == "x"
    assert shared_family(families, [0, 3, 4]) is None
    assert shared_family(("x",) * 4, [0, 1]) is None  # everybody is
    assert all_of_one(families, [0, 1]) == "All 2 of the panel share the name 'x': they may share errors too."
    assert all_of_one(families, [0, 3]) is None


def test_a_panel_prefers_families_that_are_not_in_it_yet():
    X, _ = gl.simulate_votes(2000, groups=[1] * 10, random_state=2)
    model = gl.LatentSML(structure="independent").fit(X)
    best = model.select(3).tolist()
    families = ["x" if voter in best else "y" for voter in range(10)]
    chosen = model.select(3, families=families).tolist()
    assert chosen[0] == best[0]
    labels = model.predict(X)
    again = gl.LatentSML(structure="independent").fit(X)
    assert (again.predict(X) == labels).all()  # families change no label
    assert model.select(3, families=[None] * 10).tolist() == best


def test_families_come_from_names_a_file_or_a_column(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["simulate", "--items", "300", "--groups", "1,1,1,1,1", "--seed", "3", "--long", "-o", "long.csv"])
    with open("long.csv") as stream:
        header, *lines = stream.read().splitlines()
    place = header.split(",").index("voter")
    (tmp_path / "long.csv").write_text(
        "\n".join([f"{header},model", *(f"{line},{'xy'[line.split(',')[place] == 'voter 2']}" for line in lines)])
    )
    (tmp_path / "families.csv").write_text("voter,family\n" + "".join(f"voter {n},z\n" for n in range(1, 6)))
    read = ["--item", "item", "--voter", "voter", "--label", "label", "-k", "2", "--json"]
    found = {}
    for given in ("prefix", "families.csv", "model"):
        capsys.readouterr()
        assert main(["select", "long.csv", *read, "--families", given]) == 0, given
        found[given] = capsys.readouterr().out
    assert "share the name 'voter'" in found["prefix"]
    assert "share the name 'z'" in found["families.csv"]
    assert main(["select", "long.csv", *read, "--families", "nothing"]) != 0
    assert "nothing" in capsys.readouterr().err


# -- one voice ----------------------------------------------------------------------------------------------


def test_the_command_below_the_advice_does_what_it_says(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["simulate", "--items", "400", "--groups", "1,1,1,1,1,1", "--seed", "3", "-o", "votes.csv"])
    capsys.readouterr()
    main(["inspect", "votes.csv", "--ignore", "truth"])
    shown = capsys.readouterr().out
    command = next(line for line in shown.splitlines() if "combine votes.csv" in line)
    for advice, option in (("Use the majority", "--method majority"), ("before you use", "--anchors ask.csv")):
        assert (advice in shown) == (option in command)
    assert "best single voter" not in shown
    assert main(["combine", "votes.csv", "--ignore", "truth", "--method", "majority", "-o", "labels.csv"]) == 0
    assert main(["combine", "votes.csv", "--ignore", "truth", "--only", "voter 2", "-o", "one.csv"]) == 0
    votes = [line.split(",") for line in (tmp_path / "votes.csv").read_text().splitlines()]
    labels = [line.split(",")[1] for line in (tmp_path / "one.csv").read_text().splitlines()]
    assert [row[votes[0].index("voter 2")] for row in votes[1:]] == labels[1:]
    assert main(["combine", "votes.csv", "--ignore", "truth", "--method", "majority", "--structure", "paper"]) != 0


def test_the_number_of_labels_needed_does_not_depend_on_how_many_are_asked():
    X, _ = gl.simulate_votes(600, groups=[5] + [1] * 6, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gl.LatentSML().fit(X)
    asked = [model.next_to_label(X, n) for n in (1, 5, 20, 60)]
    assert len({questions.enough for questions in asked}) == 1
    assert [len(questions.rows) for questions in asked] == [1, 5, 20, 60]
    for questions in asked:
        assert questions.open == model.ambiguous_
        assert questions.codes.shape == (len(questions.rows), questions.n_groupings)
        assert ((questions.doubt >= 0) & (questions.doubt <= 1)).all()


def test_of_four_voters_no_pair_is_accused():
    """Votes show that four voters come in two pairs, and never which of the two echoes."""
    X, _ = gl.simulate_votes(20_000, [2, 1, 1], group_accuracy=(0.8, 0.8), random_state=3)
    with pytest.warns(gl.AmbiguousGroupingWarning):
        model = gl.LatentSML().fit(X)
    diagnosis = gl.diagnose(model, X, resamples=0)
    assert [test.reason for test in diagnosis.group_tests] == ["voters"]
    assert diagnosis.groups == ()
    assert diagnosis.weak_groups
    assert "cannot be told" in diagnosis.dependence


# -- one screen, one voice ----------------------------------------------------------------------------------


def test_where_no_dependence_is_found_no_voter_is_said_to_share(of_crowds):
    """Of 190 pairs that share few items some correlate by chance: the table must not tell what the test denies."""
    some = [diagnosis for _, diagnosis in of_crowds if diagnosis.dependence.startswith("No dependence found")]
    assert len(some) >= 4
    for diagnosis in some:
        np.testing.assert_array_equal(diagnosis.uniqueness, 1)
        np.testing.assert_array_equal(diagnosis.echo, np.eye(20))
        assert diagnosis.effective_votes == 20
        low, high = diagnosis.effective_votes_interval
        assert 1 <= low < high == 20
        assert (diagnosis.uniqueness_interval[:, 0] < 1).all()
        assert diagnosis.uniqueness_interval[:, 0].sum() == pytest.approx(low)


def test_copies_are_counted_in_the_sentence_about_dependence():
    X, _ = gl.simulate_votes(400, groups=[1] * 8, group_accuracy=(0.7, 0.8), random_state=4)
    found = diagnosed_of(np.column_stack([X, X[:, :2]]))
    assert found.groups == ((0, 8), (1, 9))
    assert found.dependence.startswith("4 of 10 voters depend on others, in 2 groups")


def diagnosed_of(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gl.diagnose(gl.LatentSML().fit(X), X, resamples=0)


def test_a_model_that_looks_for_no_groups_does_not_say_that_they_cannot_be_told():
    X, _ = gl.simulate_votes(3_000, groups=[4] + [1] * 8, random_state=0)
    assert diagnosed_of(X).groups == ((0, 1, 2, 3),)
    for model in (gl.DawidSkene(), gl.LatentSML(structure="independent")):
        found = gl.diagnose(model.fit(X), X, resamples=0)
        assert found.groups == ()
        assert found.dependence == (
            "The 12 voters share more than independent ones would, and this model looks for no groups."
        )


def test_groups_that_were_given_do_not_reject_independence():
    X, _ = gl.simulate_votes(500, groups=[1] * 8, group_accuracy=(0.7, 0.8), random_state=4)
    model = gl.LatentSML(structure=[0, 0, 0, 1, 2, 3, 4, 5]).fit(X)
    assert gl.diagnose(model, X, resamples=0).independence_pvalue > 0.001


def test_the_voter_with_the_highest_estimate_is_never_one_that_is_worse_than_chance():
    """Labels may leave weak groups out that expectations count with; voters are judged by one of the two."""
    for seed in range(8):
        X, _ = gl.simulate_votes(300, groups=[4, 3] + [1] * 4, group_accuracy=(0.5, 0.7), random_state=seed)
        found = diagnosed_of(X)
        best = found.expectation("voter thought best")
        assert found.balanced_accuracy[best.column] == found.balanced_accuracy.max()
        assert best.balanced_accuracy == pytest.approx(found.balanced_accuracy.max())
        low, high = best.model_interval
        assert low <= best.balanced_accuracy <= high


@pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers"])
def test_the_voter_with_the_highest_estimate_has_one_interval(kind):
    """As a way to label and in the table of voters, on paper and for programs; its copy has it too."""
    rng = np.random.default_rng(3)
    if kind == "numbers":
        X = rng.integers(0, 2, (400, 1)) + rng.normal(0, 1, (400, 6))
    else:
        n_classes = 2 if kind == "two classes" else 3
        X, _ = gl.simulate_votes(600, groups=[1] * 8, n_classes=n_classes, random_state=1)
        X = np.column_stack([X, X])
    model = fit(X)
    found = gl.diagnose(model, X, resamples=0)
    best = found.expectation("voter thought best")
    same = [best.column] if kind == "numbers" else [best.column % 8, best.column % 8 + 8]
    for voter in same:
        assert found.balanced_accuracy[voter] == pytest.approx(best.balanced_accuracy)
        assert found.balanced_accuracy_interval[voter] == pytest.approx(best.interval)
    others = reference_class(2 if kind != "three classes" else 3, kind == "numbers").of_voters(
        found.balanced_accuracy, np.full(X.shape[1], len(X)), len(found.classes)
    )
    rest = np.setdiff1d(np.arange(X.shape[1]), same)
    np.testing.assert_allclose(found.balanced_accuracy_interval[rest], others[rest])
    summary = gl.report.summarize(model, X, diagnosis=found)
    row = next(row for row in summary["answer"]["expected"] if row["method"] == "voter thought best")
    assert summary["voters"][best.column]["balanced_accuracy_interval"] == row["interval"]


def test_the_best_voter_with_gaps_has_the_interval_of_the_items_it_votes_on_and_its_gaps_are_said():
    X, _ = gl.simulate_votes(1000, groups=[1] * 8, random_state=1)
    X[::40] = 0  # an item in forty
    X[::40, 1:4] = 1
    model = fit(X, missing=0)
    found = gl.diagnose(model, X, resamples=0)
    best, majority = found.expectation("voter thought best"), found.expectation("majority vote")
    own = found.balanced_accuracy[best.column]
    assert best.balanced_accuracy < own  # it guesses where it does not vote
    ends = reference_class(2).of_labels("voter thought best", own, majority.balanced_accuracy, 2)
    assert found.balanced_accuracy_interval[best.column] == pytest.approx(ends)
    summary = gl.report.summarize(model, X, diagnosis=found)
    said = f"{best.voter} votes on 98 % of items; the others count as guesses"
    assert said in rendered(inspect_screen(summary)).replace("\u00a0", " ")
    assert "votes on 98 % of items; the others count as guesses" in gl.report.render_html(summary).replace(
        "\u00a0", " "
    )


def test_the_same_labels_have_the_same_figures():
    X, _ = gl.simulate_votes(300, groups=[1, 1, 1], group_accuracy=(0.6, 0.7), random_state=1)
    found = diagnosed_of(X)
    combined, majority = found.expectation("combined"), found.expectation("majority vote")
    model = gl.LatentSML().fit(X)
    assert (model.predict(X) == gl.MajorityVote().fit(X).predict(X)).all()
    assert combined.balanced_accuracy == pytest.approx(majority.balanced_accuracy)
    assert combined.interval == majority.interval
    assert combined.model_interval == pytest.approx(majority.model_interval)


def test_the_card_does_not_say_that_no_echo_was_found_where_independence_is_rejected():
    """Seven voters of three classes, of whom three share a source: that they share can be told, and not who."""
    X, _ = gl.simulate_votes(
        400, groups=[3] + [1] * 4, n_classes=3, missing_rate=0.1, random_state=5, group_accuracy=(0.6, 0.85)
    )
    model = fit(X)
    answer = gl.report.summarize(model, X, resamples=0)["answer"]
    assert "share more than independent ones would" in answer["headline"]
    assert answer["in_short"] == "7 voters share errors: whose, cannot be told"
    X, _ = gl.simulate_votes(400, groups=[1] * 7, random_state=5)
    answer = gl.report.summarize(fit(X), X, resamples=0)["answer"]
    assert answer["in_short"] == "7 voters, no echo found"


def test_a_panel_has_one_figure_on_every_screen(tmp_path, capsys):
    file = str(tmp_path / "votes.csv")
    assert main(["simulate", "--items", "300", "--groups", "3,1,1,1,1,1", "-o", file]) == 0
    assert main(["select", file, "--ignore", "truth", "-k", "8", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    expected = {row["method"]: row for row in result["expected"]}
    assert result["panel_balanced_accuracy"] == expected["combined"]["balanced_accuracy"]
    assert expected["panel"]["interval"] == expected["combined"]["interval"]
    for k in (3, 5):
        assert main(["select", file, "--ignore", "truth", "-k", str(k), "--json"]) == 0
        part = json.loads(capsys.readouterr().out.splitlines()[-1])
        chosen = [step["voter"] for step in part["panel"]]
        same = [row for row in part["panels"] if sorted(row["voters"]) == sorted(chosen)]
        assert all(row["balanced_accuracy"] == part["panel_balanced_accuracy"] for row in same)
        of_panel = next(row for row in part["expected"] if row["method"] == "panel")
        assert of_panel["balanced_accuracy"] == part["panel_balanced_accuracy"]


def test_of_few_voters_the_first_line_says_what_the_test_says():
    X, _ = gl.simulate_votes(200, groups=[1] * 4, group_accuracy=(0.6, 0.8), random_state=1)
    model = gl.LatentSML().fit(X)
    summary = gl.report.summarize(model, X, resamples=0)
    assert summary["answer"]["headline"] == summary["diagnosis"]["dependence"]


def test_numbers_of_many_voters_are_not_expected_to_be_worse_than_those_of_one():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 1)) + rng.normal(0, 1, (400, 6))
    found = diagnosed_of(X)
    combined, best = found.expectation("combined"), found.expectation("voter thought best")
    assert combined.balanced_accuracy > best.balanced_accuracy == pytest.approx(found.balanced_accuracy.max())
    assert combined.printed < combined.balanced_accuracy  # by which real panels are compared
